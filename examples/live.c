/* A model driven live: plays a clip at a fixed rate as a game would, on one thread, and says how long the parts take.
 *   live MODEL ANIM [steps a second] [height]   with a height: a floor there that the flesh presses on, and a breeze
 * Only supple_runtime.h knows about the flesh; the clip stands for the game's own rig. */
#include "runtime/supple_runtime.h"

#include "io/stage/anim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The clip's column for a parameter of the model; -1: it has none. */
static int64_t column_of(const su_anim *anim, const char *name, int64_t index)
{
    for (int64_t k = 0; name && k < anim->s; k++) {
        const char *own = su_file_name(&anim->file, "param_names", k);
        if (own && strcmp(own, name) == 0) return k;
    }
    return name ? -1 : index;
}

/* The rig at time t, linear between frames: parameters, needed points, root (the nearest frame's). */
static void pose_rig(const su_anim *anim, double t, const int64_t *columns, int64_t s, int64_t count,
                     const int32_t *needed, double *p, double *points, double root[16])
{
    double at = fmin(fmax((t - anim->times[0]) / (anim->times[1] - anim->times[0]), 0), (double)(anim->F - 1) - 1e-9);
    int64_t f = (int64_t)at;
    double b = at - (double)f, a = 1 - b;
    for (int64_t k = 0; k < s; k++)
        p[k] = columns[k] < 0
                   ? 0
                   : a * anim->params[f * anim->s + columns[k]] + b * anim->params[(f + 1) * anim->s + columns[k]];
    for (int64_t k = 0; k < count; k++)
        for (int c = 0; c < 3; c++) {
            int64_t i = 3 * (int64_t)needed[k] + c;
            points[3 * k + c] =
                a * anim->points[3 * f * anim->nbar + i] + b * anim->points[3 * (f + 1) * anim->nbar + i];
        }
    memcpy(root, anim->root + 16 * (b < 0.5 ? f : f + 1), 16 * sizeof *root);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: live MODEL ANIM [steps a second] [height of a floor]\n");
        return 2;
    }
    double rate = argc > 3 ? atof(argv[3]) : 120;
    su_anim anim;
    su_error err = {0};
    char message[300];
    if (su_anim_load(argv[2], &anim, &err) != SU_OK || anim.F < 2) {
        fprintf(stderr, "live: %s\n", err.text[0] ? err.text : "the clip needs two frames");
        return 3;
    }
    supple_options options = {.contact_count = argc > 4 ? 300 : 0, .collider_count = 1};
    supple_runtime *flesh = supple_open(argv[1], &options, message, sizeof message);
    if (!flesh) {
        fprintf(stderr, "live: %s\n", message);
        su_anim_free(&anim);
        return 3;
    }
    if (argc > 4) {
        supple_collider ground = {.shape = SUPPLE_PLANE, .a = {0, atof(argv[4]), 0}, .b = {0, 1, 0}, .friction = 0.5};
        supple_set_colliders(flesh, 1, &ground); /* it stands: set once */
        supple_set_wind(flesh, (const double[]){2, 0, 0}, 1.2);
    }
    const int32_t *needed, *shown;
    int64_t count = supple_needed(flesh, &needed), out = supple_output_vertices(flesh, &shown),
            s = supple_parameters(flesh);
    double *p = calloc((size_t)s + 1, sizeof *p), *points = calloc((size_t)(3 * count), sizeof *points);
    double *positions = calloc((size_t)(3 * out), sizeof *positions), root[16];
    int64_t *columns = calloc((size_t)s + 1, sizeof *columns);
    for (int64_t k = 0; k < s; k++) columns[k] = column_of(&anim, supple_parameter_name(flesh, k), k);
    double end = anim.times[anim.F - 1], pose = 0, step = 0, read = 0, largest = 0;
    int64_t steps = 0, troubled = 0;
    pose_rig(&anim, anim.times[0], columns, s, count, needed, p, points, root);
    supple_set_pose(flesh, p, points, root);
    for (double t = anim.times[0] + 1 / rate; t <= end; t += 1 / rate, steps++) {
        pose_rig(&anim, t, columns, s, count, needed, p, points, root);
        double a = seconds();
        supple_set_pose(flesh, p, points, root);
        double b = seconds();
        troubled += supple_step(flesh, 1 / rate) != 0;
        double c = seconds();
        supple_positions(flesh, positions);
        double d = seconds();
        pose += b - a, step += c - b, read += d - c;
        for (int64_t k = 0, j = 0; k < out; k++) {
            while (j < count && needed[j] < shown[k]) j++;
            for (int i = 0; i < 3; i++) largest = fmax(largest, fabs(positions[3 * k + i] - points[3 * j + i]));
        }
    }
    double n = steps > 0 ? 1e3 / (double)steps : 0;
    printf(
        "%lld steps at %g a second: pose %.3f ms, step %.3f ms, %lld positions %.3f ms; %lld steps in trouble, largest "
        "displacement %.4f m\n",
        (long long)steps, rate, pose * n, step * n, (long long)out, read * n, (long long)troubled, largest);
    free(p), free(points), free(positions), free(columns);
    supple_close(flesh);
    su_anim_free(&anim);
    return 0;
}
