/* What contact of the flesh with itself costs in a reduced step, on one core: a shot is played with trained pairs, and
 * at each frame detection and response (a look at every pair, forces, tangents) are timed, the least of several times.
 * Usage: bench_pairs MODEL CONTACT ANIM; without files it says so. bench/self_contact makes some. */
#include "core/memory.h"
#include "core/threads.h"
#include "io/stage/anim.h"
#include "rig/shot.h"
#include "runtime/forces/trained_pairs.h"
#include "runtime/pack_model.h"
#include "runtime/reduced_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 200, FPS = 30 };

typedef struct bench {
    su_model file;
    su_pair_sets sets;
    su_anim anim;
    su_shot *shot;
    su_runtime_model model;
    su_stepper stepper;
    su_pose pose;
    su_pose_work work;
    su_pose_input input;
    su_contact contact;
    int64_t serial;
} bench;

static void check(su_status status, const su_error *err)
{
    if (status == SU_OK) return;
    fprintf(stderr, "bench_pairs: %s\n", err->text);
    exit(1);
}

static void open_all(bench *b, char **path)
{
    su_error err = {0};
    check(su_model_load(path[0], &b->file, &err), &err);
    check(su_pair_sets_load(path[1], &b->sets, &err), &err);
    check(su_anim_load(path[2], &b->anim, &err), &err);
    const su_shot_target target = {.rig = su_rig_of_model(&b->file), .nbar = b->file.nbar, .neutral = b->file.neutral};
    check(su_shot_create(&b->anim, path[2], &target, 0, NULL, &b->shot, NULL, &err), &err);
    check(su_runtime_model_create(&b->file, SU_COROTATED, b->sets.v, b->sets.vertices, &b->model, &err), &err);
    const su_step_settings step = {.beta = 0.008, .stiffness = 1, .newton = 4, .tolerance = 1e-6};
    check(su_stepper_create(&b->model, &step, &b->stepper, &err), &err);
    su_trained_pairs what = {&b->sets,
                             b->file.vertices,
                             b->model.points.extra_place,
                             b->model.points.extra_point,
                             su_model_contact_softness(&b->file),
                             0};
    check(su_trained_pairs_create(&what, &b->stepper.subspace, &b->contact, &err), &err);
    su_stepper_add_contact(&b->stepper, &b->contact);
    check(su_pose_create(&b->model, &b->pose, &err), &err);
    check(su_pose_work_create(&b->model, &b->work, &err), &err);
    check(su_pose_input_create(&b->model, true, &b->input, &err), &err);
}

static void set_pose(bench *b, int64_t frame, double fraction)
{
    const su_blend *none[1][2] = {{NULL, NULL}};
    su_shot_sample(b->shot, frame, fraction, b->input.p, b->input.Q, b->input.c);
    su_shot_sample_skin(b->shot, frame, fraction, b->model.patch.skin_count, b->model.patch.skin, 1, b->input.skin);
    su_blend_evaluate(&b->model, b->input.p, ++b->serial, &b->pose.blend);
    su_pose_evaluate(&b->model, 1, &b->input, none, &b->work, &b->pose);
}

/* Least seconds of choosing and looking at the state reached; of looking anew; of forces, and of forces and tangents.
 */
static void measure(bench *b, double seconds[4])
{
    int64_t lead = b->stepper.subspace.lead;
    double *out = su_calloc(lead, sizeof *out), *A = su_calloc(lead * lead, sizeof *A), *q = su_calloc(lead, sizeof *q);
    memcpy(q, b->stepper.now->q, (size_t)lead * sizeof *q);
    for (int i = 0; i < 4; i++) seconds[i] = INFINITY;
    for (int k = 0; k < REPEATS; k++) {
        double at[5] = {su_seconds()};
        b->contact.prepare(b->contact.self, &b->pose, &b->stepper.subspace, b->stepper.now, 0.01, out);
        at[1] = su_seconds();
        q[0] *= 1 + 1e-12; /* another q, so that pairs are looked for */
        b->contact.look(b->contact.self, q);
        at[2] = su_seconds();
        b->contact.evaluate(b->contact.self, q, out, NULL);
        at[3] = su_seconds();
        b->contact.evaluate(b->contact.self, q, out, A);
        at[4] = su_seconds();
        for (int i = 0; i < 4; i++) seconds[i] = fmin(seconds[i], at[i + 1] - at[i]);
    }
    free(out), free(A), free(q);
}

int main(int argc, char **argv)
{
    static bench b;
    const su_gravity none = {{0}, {0}};
    if (argc != 4) {
        printf("bench_pairs MODEL CONTACT ANIM: files of bench/self_contact\n");
        return 0;
    }
    open_all(&b, argv + 1);
    printf("r = %d, %d vertices read, %d pairs in %d sets\nframe  tested pressed  prepare     look    force  tangent, "
           "us\n",
           (int)b.file.r, (int)b.sets.v, (int)b.sets.p, (int)b.sets.z);
    set_pose(&b, 0, 0);
    su_stepper_start(&b.stepper, &b.pose, NULL, NULL, NULL, 1.0 / (3 * FPS));
    for (int64_t frame = 1; frame < su_shot_frames(b.shot); frame++) {
        double seconds[4];
        for (int k = 1; k <= 3; k++) {
            set_pose(&b, frame - 1, k / 3.0);
            if (su_stepper_advance(&b.stepper, &b.pose, 1.0 / (3 * FPS), &none, 0) != SU_STEP_OK)
                su_stepper_follow(&b.stepper, &b.pose, 1.0 / (3 * FPS));
        }
        su_trained_pairs_now now = su_trained_pairs_state(&b.contact);
        if (now.tested == 0) continue;
        measure(&b, seconds);
        printf("%5d  %6d %7d", (int)frame, (int)now.tested, (int)now.pressed);
        for (int i = 0; i < 4; i++) printf("  %7.1f", 1e6 * seconds[i]);
        printf("\n");
    }
    return 0;
}
