/* Rest positions and rotations of sixteen frames in lanes against the field that evaluates one vertex after the other. */
#include "beam.h"
#include "geometry/rotation.h"
#include "runtime/rest_lanes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES = 16 };

/* A flesh whose vertices are its skin. */
static void patch_of(const beam *b, su_rest_patch *patch)
{
    int32_t *index = calloc((size_t)b->n, sizeof *index);
    double *one = calloc((size_t)b->n, sizeof *one), *none = calloc((size_t)(3 * b->n), sizeof *none);
    for (int64_t v = 0; v < b->n; v++) index[v] = (int32_t)v, one[v] = 1;
    su_model model = {.m = 1, .n = b->n, .t = b->t, .nbar = b->n, .vertices = b->vertices, .tets = b->tets,
                      .neutral = b->vertices, .ties = 1, .shepard_index = index, .shepard_weight = one, .corrections = none};
    assert_int_equal(su_rest_patch_create(&model, b->n, NULL, b->n, true, patch, NULL), SU_OK);
    free(index), free(one), free(none);
}

/* Frame f: bent, turned by f times 0.2 (so up to half a turn) and shaken by noise, in the last frames enough to invert tets. */
static void shape(const beam *b, int f, double noise, double *x)
{
    double axis[3] = {0.6, 0, 0.8}, half = 0.5 * 0.2 * f, q[4] = {cos(half), sin(half) * axis[0], 0, sin(half) * axis[2]}, R[9];
    su_quaternion_matrix(q, R);
    beam_bend(b, 0.12 * f, x);
    for (int64_t v = 0; v < b->n; v++) {
        double at[3], *y = x + 3 * v;
        for (int c = 0; c < 3; c++) at[c] = y[c] + noise * sin(12.9898 * (double)((v + 1) * 3 + c + f) * 78.233);
        for (int c = 0; c < 3; c++) y[c] = R[3 * c] * at[0] + R[3 * c + 1] * at[1] + R[3 * c + 2] * at[2] + 0.1 * f;
    }
}

static double largest_difference(const su_rest_patch *patch, const char *set, double noise, const beam *b, int frames)
{
    const su_pose_kernels *kernels = su_pose_kernels_choose(set);
    su_rest_lanes lanes;
    assert_int_equal(su_rest_lanes_create(patch, kernels, &lanes, NULL), SU_OK);
    int64_t n = b->n;
    su_arena arena = {0};
    double *x[2] = {su_arena_alloc(&arena, 24 * n, 8), su_arena_alloc(&arena, 24 * n, 8)}, most = 0;
    float *rotation = su_arena_alloc(&arena, 144 * n, 4);
    float *near = su_arena_alloc(&arena, 48 * n, 4), *moved = su_arena_alloc(&arena, 48 * n, 4);
    float *w = su_arena_alloc(&arena, FRAMES, 4), *nodes = su_arena_alloc(&arena, 144 * patch->nodes, 4);
    double *shapes = su_arena_alloc(&arena, FRAMES * 3 * n, 8);
    double *q = su_arena_alloc(&arena, 4 * n, 8), *rest = su_arena_alloc(&arena, 3 * n, 8), one = 1;
    const double *skins[FRAMES];
    for (int f = 0; f < FRAMES; f++) {
        shape(b, f, noise, shapes + f * 3 * n);
        skins[f] = shapes + f * 3 * n, w[f] = 1;
    }
    su_rest_lanes_moved(&lanes, skins, moved);
    su_rest_lanes_positions(&lanes, moved, w, x, near);
    for (int f = 0; f < FRAMES; f++)   /* to the rounding of displacements, of up to 2 m */
        for (int64_t i = 0; i < 3 * n; i++) assert_float_equal(x[f / 8][8 * i + f % 8], skins[f][i], 1.2e-7);
    su_rest_lanes_rotations(&lanes, near, nodes, rotation);
    for (int f = 0; f < frames; f++) {
        su_rest_patch_evaluate(patch, shapes + f * 3 * n, &one, rest, q);
        for (int64_t v = 0; v < n; v++) {
            double R[9];
            su_quaternion_matrix(q + 4 * v, R);
            for (int k = 0; k < 9; k++) {
                double d = fabs((double)rotation[144 * v + 16 * k + f] - R[k]);
                most = d <= most ? most : d;
            }
        }
    }
    su_arena_free(&arena);
    su_rest_lanes_free(&lanes);
    return most;
}

static void lanes_agree_with_the_field(void **state)
{
    (void)state;
    beam b = beam_create(8, 3, 3, 1.0, 0.3, 0.3);
    su_rest_patch patch;
    patch_of(&b, &patch);
    const char *sets[] = {"base", "avx2", "avx512"};
    for (int k = 0; k < 3; k++) {
        if (!su_pose_kernels_choose(sets[k])) continue;
        double smooth = largest_difference(&patch, sets[k], 0, &b, FRAMES), rough = largest_difference(&patch, sets[k], 0.02, &b, FRAMES);
        double wild = largest_difference(&patch, sets[k], 0.06, &b, 8);
        printf("# %s: %.1e smooth, %.1e rough, %.1e with inverted tets\n", sets[k], smooth, rough, wild);
        assert_true(smooth < 3e-6);
        assert_true(rough < 3e-5);
        assert_true(wild < 3e-5);
    }
    su_rest_patch_free(&patch);
    beam_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_agree_with_the_field)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
