/* The partition of unity that smooths rotations, and the smoothed field: sums, exactness, parts, limbs, spacing, width.
 */
#include "beam.h"
#include "box.h"
#include "fem/smooth_weights.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

static su_smooth_weights weights_of(int64_t n, const double *vertices, int64_t t, const int32_t *tets, double spacing,
                                    double length)
{
    su_smooth_weights out;
    su_error err = {0};
    if (su_smooth_weights_create(&(su_tet_mesh){n, t, vertices, tets}, spacing, length, 1, &out, &err) != SU_OK)
        fail_msg("%s", err.text);
    return out;
}

static su_smoothing smoothing_of(const su_smooth_weights *w)
{
    return (su_smoothing){w->nodes, w->start, w->node, w->weight};
}

/* Rows as su_smoothing promises them; every node reaches something. */
static void check_rows(int64_t n, const su_smooth_weights *w)
{
    int32_t *reached = calloc((size_t)w->nodes, sizeof *reached);
    assert_int_equal(w->start[0], 0);
    assert_int_equal(w->start[n], w->entries);
    for (int64_t v = 0; v < n; v++) {
        double sum = 0;
        assert_true(w->start[v + 1] > w->start[v]);
        for (int64_t k = w->start[v]; k < w->start[v + 1]; k++) {
            assert_in_range(w->node[k], 0, w->nodes - 1);
            if (k > w->start[v]) assert_true(w->node[k] > w->node[k - 1]);
            assert_true(w->weight[k] > 0);
            sum += w->weight[k], reached[w->node[k]] = 1;
        }
        assert_near(sum, 1, 1e-12);
    }
    for (int64_t k = 0; k < w->nodes; k++) assert_true(reached[k]);
    free(reached);
}

static void rows_sum_to_one(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(8, 5, 4, 1.6, 1.0, 0.8);
    box_mesh_jitter(&box, 0.3);
    static const double sizes[][2] = {{0.15, 0.15}, {0.4, 0.4}, {0.4, 0.1}, {0.2, 1.0}, {5, 5}, {0.01, 0.01}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        su_smooth_weights w = weights_of(box.n, box.vertices, box.t, box.tets, sizes[k][0], sizes[k][1]), again;
        check_rows(box.n, &w);
        printf("# spacing %g, length %g: %lld nodes, %.1f a vertex\n", sizes[k][0], sizes[k][1], (long long)w.nodes,
               (double)w.entries / (double)box.n);
        assert_int_equal(su_smooth_weights_create(&(su_tet_mesh){box.n, box.t, box.vertices, box.tets}, sizes[k][0],
                                                  sizes[k][1], 3, &again, NULL),
                         SU_OK);
        assert_int_equal(again.entries, w.entries);
        assert_memory_equal(again.node, w.node, (size_t)w.entries * sizeof *w.node);
        assert_memory_equal(again.weight, w.weight, (size_t)w.entries * sizeof *w.weight);
        su_smooth_weights_free(&w), su_smooth_weights_free(&again);
    }
    box_mesh_free(&box);
}

/* Where the whole flesh is deformed alike every mean is that deformation: its rotation comes out exactly, at every
 * vertex. */
static void affine_motion_gives_its_rotation(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(7, 4, 4, 1.6, 1.0, 0.8);
    box_mesh_jitter(&box, 0.3);
    su_smooth_weights w = weights_of(box.n, box.vertices, box.t, box.tets, 0.3, 0.3);
    su_smoothing smoothing = smoothing_of(&w);
    su_rotation_field *field;
    assert_int_equal(su_rotation_field_create(&(su_tet_mesh){box.n, box.t, box.vertices, box.tets}, &smoothing, 0, NULL,
                                              &field, NULL),
                     SU_OK);
    double *x = malloc((size_t)(3 * box.n) * sizeof *x), *q = malloc((size_t)(4 * box.n) * sizeof *q);
    for (int round = 0; round < 6; round++) {
        uint64_t seed = (uint64_t)round;
        double A[9], turn[3], half[4], Q[9], stretch[9], expected[9], R[9];
        for (int i = 0; i < 9; i++) stretch[i] = (i % 4 == 0) + 0.3 * box_random(&seed);
        for (int i = 0; i < 3; i++) turn[i] = 3 * box_random(&seed);
        su_quaternion_exp(turn, half);
        su_quaternion_matrix(half, Q);
        su_mul33(Q, stretch, A);
        su_nearest_rotation(A, expected);
        for (int64_t v = 0; v < box.n; v++) {
            su_mulv3(A, box.vertices + 3 * v, x + 3 * v);
            x[3 * v] += 10, x[3 * v + 2] -= 3;
        }
        su_rotation_field_evaluate(field, x, q, 1 + round % 2);
        for (int64_t v = 0; v < box.n; v++) {
            assert_true(q[4 * v] >= 0);
            su_quaternion_matrix(q + 4 * v, R);
            for (int i = 0; i < 9; i++) assert_near(R[i], expected[i], 1e-11);
        }
    }
    su_rotation_field_free(field);
    su_smooth_weights_free(&w);
    free(x), free(q);
    box_mesh_free(&box);
}

/* The definition, written out tet by tet: of each node the mean gradient by V phi, of each vertex the mean of the
 * nodes'. */
static void smoothed_field_is_the_definition(void **unused)
{
    (void)unused;
    beam b = beam_create(10, 3, 3, 1.0, 0.3, 0.3);
    su_smooth_weights w = weights_of(b.n, b.vertices, b.t, b.tets, 0.15, 0.15);
    su_smoothing smoothing = smoothing_of(&w);
    su_rotation_field *field, *some;
    double *x = malloc((size_t)(3 * b.n) * sizeof *x), *q = malloc((size_t)(4 * b.n) * sizeof *q), part[4 * 4];
    double *sum = calloc((size_t)(9 * w.nodes), sizeof *sum), *volume = calloc((size_t)w.nodes, sizeof *volume);
    const int32_t list[] = {77, 3, 50, 3}; /* out of order, one of them twice */
    assert_true(w.nodes > 4);
    beam_bend(&b, 1.5, x);
    for (int64_t i = 0; i < 3 * b.n; i++) x[i] += 0.04 * sin(12.9898 * (double)(i + 1) * 78.233);
    for (int64_t e = 0; e < b.t; e++) {
        double D[9], edges[9], inverse[9], F[9];
        const int32_t *v = b.tets + 4 * e;
        su_tet_edges(b.vertices + 3 * v[0], b.vertices + 3 * v[1], b.vertices + 3 * v[2], b.vertices + 3 * v[3], D);
        su_tet_edges(x + 3 * v[0], x + 3 * v[1], x + 3 * v[2], x + 3 * v[3], edges);
        double size = su_inverse3(D, inverse);
        su_mul33(edges, inverse, F);
        for (int c = 0; c < 4; c++)
            for (int64_t k = w.start[v[c]]; k < w.start[v[c] + 1]; k++) {
                volume[w.node[k]] += 0.25 * size * w.weight[k];
                for (int i = 0; i < 9; i++) sum[9 * w.node[k] + i] += 0.25 * size * w.weight[k] * F[i];
            }
    }
    assert_int_equal(
        su_rotation_field_create(&(su_tet_mesh){b.n, b.t, b.vertices, b.tets}, &smoothing, 0, NULL, &field, NULL),
        SU_OK);
    assert_int_equal(
        su_rotation_field_create(&(su_tet_mesh){b.n, b.t, b.vertices, b.tets}, &smoothing, 4, list, &some, NULL),
        SU_OK);
    su_rotation_field_evaluate(field, x, q, 1);
    su_rotation_field_evaluate(some, x, part, 2);
    for (int64_t v = 0; v < b.n; v++) {
        double mean[9] = {0}, R[9], E[9];
        for (int64_t k = w.start[v]; k < w.start[v + 1]; k++)
            for (int i = 0; i < 9; i++) mean[i] += w.weight[k] * sum[9 * w.node[k] + i] / volume[w.node[k]];
        su_nearest_rotation(mean, E);
        su_quaternion_matrix(q + 4 * v, R);
        for (int i = 0; i < 9; i++) assert_near(R[i], E[i], 1e-9);
    }
    for (int k = 0; k < 4; k++) assert_memory_equal(part + 4 * k, q + 4 * list[k], 4 * sizeof *q);
    su_rotation_field_free(field), su_rotation_field_free(some);
    su_smooth_weights_free(&w);
    free(x), free(q), free(sum), free(volume);
    beam_free(&b);
}

/* Folds of one cell, as skinning makes them, turn the plain field back and forth; the smoothed one hardly notices. */
static void folds_are_smoothed_away(void **unused)
{
    (void)unused;
    beam b = beam_create(16, 4, 4, 1.0, 0.25, 0.25);
    su_smooth_weights w = weights_of(b.n, b.vertices, b.t, b.tets, 0.1, 0.1);
    su_smoothing smoothing = smoothing_of(&w), none = {0};
    double *x = malloc((size_t)(3 * b.n) * sizeof *x), *q = malloc((size_t)(4 * b.n) * sizeof *q), most[2] = {0, 0};
    for (int64_t v = 0; v < b.n; v++) { /* a ripple from section to section */
        memcpy(x + 3 * v, b.vertices + 3 * v, 3 * sizeof *x);
        x[3 * v + 1] += (v / 25 % 4 < 2 ? 0.02 : -0.02);
    }
    for (int smooth = 0; smooth < 2; smooth++) {
        su_rotation_field *field;
        assert_int_equal(su_rotation_field_create(&(su_tet_mesh){b.n, b.t, b.vertices, b.tets},
                                                  smooth ? &smoothing : &none, 0, NULL, &field, NULL),
                         SU_OK);
        su_rotation_field_evaluate(field, x, q, 1);
        for (int64_t v = 0; v < b.n; v++) most[smooth] = fmax(most[smooth], 2 * acos(fmin(q[4 * v], 1)));
        su_rotation_field_free(field);
    }
    printf("# a ripple turns by %.3f rad, smoothed by %.3f\n", most[0], most[1]);
    assert_true(most[0] > 0.1 && most[1] < 0.4 * most[0]);
    su_smooth_weights_free(&w);
    free(x), free(q);
    beam_free(&b);
}

/* Two bodies that touch nowhere, one within a hair of the other: each has nodes of its own, however far apart nodes may
 * be. */
static void parts_have_nodes_of_their_own(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(4, 3, 3, 1.0, 0.6, 0.6);
    int64_t n = box.n, t = box.t;
    double *x = malloc((size_t)(6 * n) * sizeof *x);
    int32_t *tets = malloc((size_t)(8 * t) * sizeof *tets);
    for (int64_t i = 0; i < 3 * n; i++)
        x[i] = box.vertices[i], x[3 * n + i] = box.vertices[i] + (i % 3 == 1 ? 0.601 : 0);
    for (int64_t i = 0; i < 4 * t; i++) tets[i] = box.tets[i], tets[4 * t + i] = box.tets[i] + (int32_t)n;
    static const double spacings[] = {100, 0.3};
    for (int s = 0; s < 2; s++) {
        su_smooth_weights w = weights_of(2 * n, x, 2 * t, tets, spacings[s], 0.5);
        int8_t *owner = calloc((size_t)w.nodes, sizeof *owner);
        check_rows(2 * n, &w);
        for (int64_t v = 0; v < 2 * n; v++)
            for (int64_t k = w.start[v]; k < w.start[v + 1]; k++) owner[w.node[k]] |= v < n ? 1 : 2;
        for (int64_t k = 0; k < w.nodes; k++) assert_in_range(owner[k], 1, 2);
        if (s == 0) assert_int_equal(w.nodes, 2);
        free(owner);
        su_smooth_weights_free(&w);
    }
    free(x), free(tets);
    box_mesh_free(&box);
}

/* A fork of two prongs that lie a hundredth of their width apart. */
enum { ALONG = 12, ACROSS = 3, BASE = 2 };
static void limbs_beside_each_other_do_not_mix(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(ALONG, ACROSS, 1, ALONG, ACROSS, 1);
    int64_t t = 0;
    for (int64_t e = 0; e < box.t; e++) { /* the middle row of cells ends behind the base */
        int64_t cell = e / 6, i = cell / ACROSS, j = cell % ACROSS;
        if (j == 1 && i >= BASE) continue;
        memmove(box.tets + 4 * t++, box.tets + 4 * e, 4 * sizeof *box.tets);
    }
    for (int64_t v = 0; v < box.n; v++) {
        double *y = box.vertices + 3 * v + 1;
        if (*y > 1.5) *y -= 0.99;
    }
    su_smooth_weights w = weights_of(box.n, box.vertices, t, box.tets, 1.5, 1.5);
    int8_t *side = calloc((size_t)w.nodes, sizeof *side);
    check_rows(box.n, &w);
    for (int64_t v = 0; v < box.n; v++) {
        const double *x = box.vertices + 3 * v;
        if (x[0] < ALONG / 2) continue; /* through the base the way from one to the other is as long as 10 there */
        for (int64_t k = w.start[v]; k < w.start[v + 1]; k++) side[w.node[k]] |= x[1] < 1.005 ? 1 : 2;
    }
    int sides[4] = {0};
    for (int64_t k = 0; k < w.nodes; k++) sides[side[k]]++;
    printf("# %d and %d nodes of two prongs, %d of both, %d of neither\n", sides[1], sides[2], sides[3], sides[0]);
    assert_true(sides[1] > 2 && sides[2] > 2);
    assert_int_equal(sides[3], 0);
    free(side);
    su_smooth_weights_free(&w);
    box_mesh_free(&box);
}

/* distance (n): along edges from one vertex. */
static void distances(int64_t n, const double *vertices, int64_t t, const int32_t *tets, int64_t from, double *distance)
{
    for (int64_t v = 0; v < n; v++) distance[v] = v == from ? 0 : HUGE_VAL;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t e = 0; e < t; e++)
            for (int a = 0; a < 4; a++)
                for (int c = 0; c < 4; c++) {
                    int32_t v = tets[4 * e + a], u = tets[4 * e + c];
                    double through = distance[v] + su_distance3(vertices + 3 * (int64_t)v, vertices + 3 * (int64_t)u);
                    if (through < distance[u]) distance[u] = through, changed = true;
                }
    }
}

/* Without diffusion the weights are which node is nearest. Each such cell has a vertex, its node, from which no other
 * of it is farther than the spacing, along edges; and nodes lie no closer to each other than that. */
static void spacing_is_kept(void **unused)
{
    (void)unused;
    const double shortest = 1e-7; /* a length over which nothing is spread */
    box_mesh box = box_mesh_create(6, 4, 3, 1.8, 1.0, 0.8);
    box_mesh_jitter(&box, 0.3);
    double *all = malloc((size_t)(box.n * box.n) * sizeof *all);
    for (int64_t v = 0; v < box.n; v++) distances(box.n, box.vertices, box.t, box.tets, v, all + v * box.n);
    static const double spacings[] = {0.25, 0.5, 0.9};
    int64_t before = box.n + 1;
    for (int s = 0; s < 3; s++) {
        su_smooth_weights w = weights_of(box.n, box.vertices, box.t, box.tets, spacings[s], shortest);
        assert_int_equal(w.entries, box.n);
        double least = HUGE_VAL;
        for (int64_t k = 0; k < w.nodes; k++) {
            double radius = HUGE_VAL;
            for (int64_t c = 0; c < box.n; c++) {
                double most = 0;
                for (int64_t v = 0; v < box.n && w.node[c] == k; v++)
                    if (w.node[v] == k) most = fmax(most, all[c * box.n + v]);
                if (w.node[c] == k) radius = fmin(radius, most);
            }
            assert_true(radius <= spacings[s] * (1 + 1e-12));
            least = fmin(least, radius);
        }
        printf("# spacing %g: %lld nodes of %lld vertices\n", spacings[s], (long long)w.nodes, (long long)box.n);
        assert_true(w.nodes < before);
        /* nodes farther than the spacing from each other: no more than a ball of half that fits in */
        double ball = 4.0 / 3 * M_PI * pow(0.5 * spacings[s], 3),
               body = (1.8 + spacings[s]) * (1.0 + spacings[s]) * (0.8 + spacings[s]);
        if (s > 0) assert_true((double)w.nodes < 8 * body / ball);
        before = w.nodes;
        su_smooth_weights_free(&w);
    }
    free(all);
    box_mesh_free(&box);
}

/* In a long body the kernel of a node deviates by the length, along the axis, about the node's own cell. */
static void length_is_the_deviation(void **unused)
{
    (void)unused;
    static const double lengths[] = {0.5, 1.0};
    beam b = beam_create(200, 1, 1, 20.0, 0.1, 0.1);
    double *mass = malloc((size_t)b.n * sizeof *mass);
    beam_mass(&b, mass);
    for (int s = 0; s < 2; s++) {
        su_smooth_weights w = weights_of(b.n, b.vertices, b.t, b.tets, lengths[s], lengths[s]);
        su_smooth_weights cell = weights_of(b.n, b.vertices, b.t, b.tets, lengths[s], 1e-7);
        assert_int_equal(w.nodes, cell.nodes);
        double squares = 0;
        int count = 0;
        for (int32_t k = 0; k < w.nodes; k++) {
            double moments[2][3] = {{0}};
            for (int64_t v = 0; v < b.n; v++)
                for (int own = 0; own < 2; own++) {
                    const su_smooth_weights *from = own ? &cell : &w;
                    for (int64_t j = from->start[v]; j < from->start[v + 1]; j++)
                        for (int i = 0; i < 3 && from->node[j] == k; i++)
                            moments[own][i] += mass[v] * from->weight[j] * pow(b.vertices[3 * v], i);
                }
            double variance[2], middle = moments[0][1] / moments[0][0];
            for (int own = 0; own < 2; own++)
                variance[own] = moments[own][2] / moments[own][0] - pow(moments[own][1] / moments[own][0], 2);
            if (middle < 6 || middle > 14) continue; /* ends reflect */
            squares += variance[0] - variance[1], count++;
        }
        printf("# length %g: deviation %.3f over %d nodes\n", lengths[s], sqrt(squares / count), count);
        assert_true(count > 5);
        assert_near(sqrt(squares / count) / lengths[s], 1, 0.1); /* tails below a hundredth are cut off */
        su_smooth_weights_free(&w), su_smooth_weights_free(&cell);
    }
    free(mass);
    beam_free(&b);
}

static void flat_tets_are_refused(void **unused)
{
    (void)unused;
    const double flat[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0}, one[] = {1, 1, 1, 1};
    const int32_t tet[] = {0, 1, 2, 3}, start[] = {0, 1, 2, 3, 4}, node[] = {0, 0, 0, 0};
    const su_smoothing smoothing = {1, start, node, one};
    su_rotation_field *field = NULL;
    su_error err;
    assert_int_equal(su_rotation_field_create(&(su_tet_mesh){4, 1, flat, tet}, &smoothing, 0, NULL, &field, &err),
                     SU_INPUT);
    assert_null(field);
    assert_non_null(strstr(err.text, "tet 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_sum_to_one),
        cmocka_unit_test(affine_motion_gives_its_rotation),
        cmocka_unit_test(smoothed_field_is_the_definition),
        cmocka_unit_test(folds_are_smoothed_away),
        cmocka_unit_test(parts_have_nodes_of_their_own),
        cmocka_unit_test(limbs_beside_each_other_do_not_mix),
        cmocka_unit_test(spacing_is_kept),
        cmocka_unit_test(length_is_the_deviation),
        cmocka_unit_test(flat_tets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
