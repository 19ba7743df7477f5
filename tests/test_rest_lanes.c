/* Rest positions and rotations of sixteen frames in lanes against the field that evaluates one vertex after the other.
 */
#include "runtime/kernels/kernel_set.h"
#include "beam.h"
#include "fem/smooth_weights.h"
#include "geometry/rotation.h"
#include "runtime/subspace/rest_lanes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The group of a set that these tests are about; NULL where this processor cannot run it. */
static const su_pose_kernels *kernels_of(const char *name)
{
    const su_kernel_set *set = su_kernel_set_choose(name);
    return set ? &set->pose : NULL;
}

enum { FRAMES = 16 };

/* A flesh whose vertices are its skin. smooth: of its rotations; NULL: of the tets around a vertex. turned: vertices,
 * from the last to the first, that are asked for. */
static void patch_of(const beam *b, const su_smooth_weights *smooth, int64_t turned, su_rest_patch *patch)
{
    int32_t *index = calloc((size_t)b->n, sizeof *index);
    double *one = calloc((size_t)b->n, sizeof *one), *none = calloc((size_t)(3 * b->n), sizeof *none);
    for (int64_t v = 0; v < b->n; v++) index[v] = (int32_t)v, one[v] = 1;
    su_model model = {.m = 1,
                      .n = b->n,
                      .t = b->t,
                      .nbar = b->n,
                      .vertices = b->vertices,
                      .tets = b->tets,
                      .neutral = b->vertices,
                      .ties = 1,
                      .shepard_index = index,
                      .shepard_weight = one,
                      .corrections = none};
    if (smooth)
        model.n1 = b->n + 1, model.z = smooth->entries, model.turn_start = smooth->start,
        model.turn_node = smooth->node, model.turn_weight = smooth->weight;
    int32_t *last = calloc((size_t)b->n, sizeof *last);
    for (int64_t k = 0; k < b->n; k++) last[k] = (int32_t)(b->n - 1 - k);
    assert_int_equal(su_rest_patch_create(&model, turned, turned < b->n ? last : NULL, turned, patch, NULL), SU_OK);
    free(index), free(one), free(none), free(last);
}

/* Frame f: bent, turned by f times 0.2 (so up to half a turn) and shaken by noise, in the last frames enough to invert
 * tets. */
static void shape(const beam *b, int f, double noise, double *x)
{
    double axis[3] = {0.6, 0, 0.8}, half = 0.5 * 0.2 * f,
           q[4] = {cos(half), sin(half) * axis[0], 0, sin(half) * axis[2]}, R[9];
    su_quaternion_matrix(q, R);
    beam_bend(b, 0.12 * f, x);
    for (int64_t v = 0; v < b->n; v++) {
        double at[3], *y = x + 3 * v;
        for (int c = 0; c < 3; c++) at[c] = y[c] + noise * sin(12.9898 * (double)((v + 1) * 3 + c + f) * 78.233);
        for (int c = 0; c < 3; c++) y[c] = R[3 * c] * at[0] + R[3 * c + 1] * at[1] + R[3 * c + 2] * at[2] + 0.1 * f;
    }
}

/* Largest entry of the lanes' rotations less the field's, at the vertices that the patch wants. */
static double largest_difference(const su_rest_patch *patch, su_rotation_field *field, const char *set, double noise,
                                 const beam *b, int frames)
{
    const su_pose_kernels *kernels = kernels_of(set);
    su_rest_lanes lanes;
    assert_int_equal(su_rest_lanes_create(patch, kernels, &lanes, NULL), SU_OK);
    int64_t n = b->n, wanted = patch->wanted, count = patch->vertex_count;
    su_arena arena = {0};
    double *x[2] = {su_arena_alloc(&arena, 24 * wanted, 8), su_arena_alloc(&arena, 24 * wanted, 8)}, most = 0;
    float *rotation = su_arena_alloc(&arena, 144 * wanted, 4), *nodes = su_arena_alloc(&arena, 144 * patch->nodes, 4);
    float *near = su_arena_alloc(&arena, 48 * count, 4), *moved = su_arena_alloc(&arena, 48 * patch->skin_count, 4);
    float *w = su_arena_alloc(&arena, FRAMES, 4);
    double *shapes = su_arena_alloc(&arena, FRAMES * 3 * n, 8), *skin = su_arena_alloc(&arena, FRAMES * 3 * n, 8);
    double *q = su_arena_alloc(&arena, 4 * n, 8);
    const double *skins[FRAMES];
    for (int f = 0; f < FRAMES; f++) {
        shape(b, f, noise, shapes + f * 3 * n);
        for (int64_t i = 0; i < patch->skin_count; i++)
            memcpy(skin + 3 * (f * n + i), shapes + 3 * (f * n + patch->skin[i]), 3 * sizeof *skin);
        skins[f] = skin + f * 3 * n, w[f] = 1;
    }
    su_rest_lanes_moved(&lanes, skins, moved);
    su_rest_lanes_positions(&lanes, SU_REST_FRAMES, moved, w, x, near);
    for (int f = 0; f < FRAMES; f++) /* to the rounding of displacements, of up to 2 m */
        for (int64_t i = 0; i < 3 * wanted; i++)
            assert_float_equal(x[f / 8][8 * i + f % 8], shapes[3 * (f * n + patch->vertices[i / 3]) + i % 3], 1.2e-7);
    su_rest_lanes_rotations(&lanes, SU_REST_FRAMES, near, nodes, rotation);
    for (int f = 0; f < frames; f++) {
        su_rotation_field_evaluate(field, shapes + f * 3 * n, q, 1);
        for (int64_t v = 0; v < wanted; v++) {
            double R[9];
            su_quaternion_matrix(q + 4 * (int64_t)patch->vertices[v], R);
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

/* length: over which rotations are smoothed, m; 0: not. few: rotations of the last vertices alone. */
static void compare_with_the_field(double length, bool few)
{
    beam b = beam_create(8, 3, 3, 1.0, 0.3, 0.3);
    su_smooth_weights smooth = {0};
    su_smoothing smoothing = {0};
    su_rotation_field *field;
    su_rest_patch patch;
    if (length > 0) {
        assert_int_equal(
            su_smooth_weights_create(&(su_tet_mesh){b.n, b.t, b.vertices, b.tets}, length, length, 1, &smooth, NULL),
            SU_OK);
        smoothing = (su_smoothing){smooth.nodes, smooth.start, smooth.node, smooth.weight};
        assert_true(smooth.nodes > 2);
    }
    patch_of(&b, length > 0 ? &smooth : NULL, few ? b.n / 8 : b.n, &patch);
    if (few) assert_true(patch.vertex_count < b.n && patch.skin_count < b.n); /* no more is read than that takes */
    if (few && length > 0) assert_true(patch.nodes > 0 && patch.nodes < smooth.nodes);
    assert_int_equal(
        su_rotation_field_create(&(su_tet_mesh){b.n, b.t, b.vertices, b.tets}, &smoothing, 0, NULL, &field, NULL),
        SU_OK);
    const char *sets[] = {"base", "avx2", "avx512"};
    for (int k = 0; k < 3; k++) {
        if (!kernels_of(sets[k])) continue;
        double plain = largest_difference(&patch, field, sets[k], 0, &b, FRAMES);
        double rough = largest_difference(&patch, field, sets[k], 0.02, &b, FRAMES);
        double wild = largest_difference(&patch, field, sets[k], 0.06, &b, 8);
        printf("# %s, smoothed over %.2f m%s: %.1e smooth, %.1e rough, %.1e with inverted tets\n", sets[k], length,
               few ? ", some vertices" : "", plain, rough, wild);
        assert_true(plain < 3e-6);
        assert_true(rough < 3e-5);
        assert_true(wild < 3e-5);
    }
    su_rotation_field_free(field);
    su_rest_patch_free(&patch);
    su_smooth_weights_free(&smooth);
    beam_free(&b);
}

static void lanes_agree_with_the_field(void **state)
{
    (void)state;
    compare_with_the_field(0, false);
    compare_with_the_field(0, true);
}

static void lanes_agree_with_the_smoothed_field(void **state)
{
    (void)state;
    compare_with_the_field(0.1, false);
    compare_with_the_field(0.1, true);
    compare_with_the_field(0.4, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_agree_with_the_field),
                                       cmocka_unit_test(lanes_agree_with_the_smoothed_field)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
