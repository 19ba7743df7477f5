/* A character driven live: plays a clip at a fixed rate as a game would, on one thread, and says how long parts take.
 *   live MODEL ANIM [steps a second] [height]   with a height: a floor there that the flesh presses on, and a breeze
 *   cc live.c $(pkg-config --cflags --libs supple-runtime) -lm
 * The clip (supple_clip.h) stands for a game's own rig: of a game with one only supple_clip_pose is another. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <supple_clip.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What a rig gives, what the flesh returns. */
typedef struct buffers {
    double *parameters, *points, *positions, root[16];
} buffers;

/* Steps through the clip and says what that took. */
static void play(supple_runtime *flesh, const supple_clip *clip, double rate, buffers *b)
{
    const int32_t *needed, *shown;
    int64_t count = supple_needed(flesh, &needed), out = supple_output_vertices(flesh, &shown), steps = 0, troubled = 0;
    double pose = 0, step = 0, read = 0, largest = 0;
    supple_clip_pose(clip, 0, b->parameters, b->points, b->root);
    supple_set_pose(flesh, b->parameters, b->points, b->root);
    for (double t = 1 / rate; t <= supple_clip_seconds(clip); t += 1 / rate, steps++) {
        supple_clip_pose(clip, t, b->parameters, b->points, b->root);
        double start = seconds();
        supple_set_pose(flesh, b->parameters, b->points, b->root);
        double posed = seconds();
        troubled += supple_step(flesh, 1 / rate) != 0;
        double stepped = seconds();
        supple_positions(flesh, b->positions);
        double done = seconds();
        pose += posed - start, step += stepped - posed, read += done - stepped;
        for (int64_t k = 0, j = 0; k < out; k++) {
            while (j < count && needed[j] < shown[k]) j++;
            for (int i = 0; i < 3; i++) largest = fmax(largest, fabs(b->positions[3 * k + i] - b->points[3 * j + i]));
        }
    }
    double n = steps > 0 ? 1e3 / (double)steps : 0;
    printf(
        "%lld steps at %g a second: pose %.3f ms, step %.3f ms, %lld positions %.3f ms; %lld steps in trouble, largest "
        "displacement %.4f m\n",
        (long long)steps, rate, pose * n, step * n, (long long)out, read * n, (long long)troubled, largest);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: live MODEL ANIM [steps a second] [height of a floor]\n");
        return 2;
    }
    double rate = argc > 3 ? atof(argv[3]) : 120;
    char message[300];
    supple_options options = {.contact_count = argc > 4 ? 300 : 0, .collider_count = 1};
    supple_runtime *flesh = supple_open(argv[1], &options, message, sizeof message);
    supple_clip *clip = flesh ? supple_clip_open(argv[2], flesh, message, sizeof message) : NULL;
    if (!clip || !(rate > 0)) {
        fprintf(stderr, "live: %s\n", clip ? "the rate is not above 0" : message);
        supple_clip_close(clip);
        supple_close(flesh);
        return 3;
    }
    if (argc > 4) {
        supple_collider ground = {.shape = SUPPLE_PLANE, .a = {0, atof(argv[4]), 0}, .b = {0, 1, 0}, .friction = 0.5};
        supple_set_colliders(flesh, 1, &ground); /* it stands: set once */
        supple_set_wind(flesh, (const double[]){2, 0, 0}, 1.2);
    }
    const int32_t *list;
    buffers b = {.parameters = calloc((size_t)supple_parameters(flesh) + 1, sizeof(double)),
                 .points = calloc(3 * (size_t)supple_needed(flesh, &list), sizeof(double)),
                 .positions = calloc(3 * (size_t)supple_output_vertices(flesh, &list), sizeof(double))};
    if (b.parameters && b.points && b.positions) play(flesh, clip, rate, &b);
    free(b.parameters), free(b.points), free(b.positions);
    supple_clip_close(clip);
    supple_close(flesh);
    return 0;
}
