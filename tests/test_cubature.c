#include "beam_space.h"
#include "core/threads.h"
#include "reduce/align/align.h"
#include "reduce/cubature/columns.h"
#include "reduce/cubature/cubature.h"
#include "core/random.h"
#include "reduce/cubature/elastic_rows.h"
#include "reduce/cubature/inertia_rows.h"
#include "reduce/cubature/pose_space.h"
#include "reduce/cubature/reduced_stiffness.h"
#include "reduce/cubature/selection.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void openblas_set_num_threads(int);

/* A beam of 300 vertices and 1,152 tets, three poses, 12 modes; every tet a candidate. */
typedef struct fixture {
    beam_space beam;
    su_pose_space space;
    int32_t *all_tets, *all_vertices;
    su_candidates tets; /* all of them */
} fixture;

enum { R = 12, M = 3 };

static int make_fixture(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const double angles[M] = {0, 0.8, 1.6};
    f->beam = beam_space_create(beam_create(12, 4, 4, 1, 0.25, 0.2), M, angles, R);
    if (su_pose_space_create(&f->space, &f->beam.tet, &f->beam.fit, &f->beam.basis, SU_NEOHOOKEAN, SU_COROTATED, 2,
                             NULL) != SU_OK)
        return -1;
    f->all_tets = calloc((size_t)f->space.t, sizeof(int32_t));
    f->all_vertices = calloc((size_t)f->space.n, sizeof(int32_t));
    for (int32_t e = 0; e < f->space.t; e++) f->all_tets[e] = e;
    for (int32_t v = 0; v < f->space.n; v++) f->all_vertices[v] = v;
    f->tets = (su_candidates){SU_POINT_TET, f->space.t, f->space.n, f->all_tets, f->all_vertices, f->beam.shape.tets};
    *state = f;
    return 0;
}

static int free_fixture(void **state)
{
    fixture *f = *state;
    su_pose_space_free(&f->space);
    beam_space_free(&f->beam);
    free(f->all_tets), free(f->all_vertices), free(f);
    return 0;
}

/* Rows at the example poses and, where between is set, at the middle of each pair of neighbours. */
static su_fit_problem make_problem(fixture *f, int samples, uint64_t seed, double amplitude, int between)
{
    su_pose_space *space = &f->space;
    su_fit_problem p = {.r = R, .groups = M, .points = &f->tets};
    p.station_count = M + (between ? M - 1 : 0);
    p.stations = calloc((size_t)p.station_count, sizeof *p.stations);
    double *x = calloc((size_t)(3 * space->n), sizeof *x);
    for (int64_t a = 0; a < p.station_count; a++) {
        su_place place;
        if (a < M) {
            assert_int_equal(su_place_at_pose(space, a, &place, NULL), SU_OK);
        } else {
            double angle = 0.5 * (f->beam.fit.params[a - M] + f->beam.fit.params[a - M + 1]);
            beam_bend(&f->beam.shape, angle, x);
            assert_int_equal(su_place_create(space, -1, &angle, x, &place, NULL), SU_OK);
        }
        su_sampling sampling = {.samples = samples, .amplitude = amplitude, .seed = seed, .stream = (uint64_t)a};
        su_station_rows *rows = &p.stations[a];
        assert_int_equal(su_elastic_rows(space, &place, &sampling, &f->tets, rows, NULL), SU_OK);
        rows->blend = calloc(M, sizeof(double));
        memcpy(rows->blend, place.positive, M * sizeof(double));
        rows->group = (int)place.pose;
        rows->importance = 1;
        su_place_free(&place);
    }
    free(x);
    return p;
}

static void free_problem(su_fit_problem *p)
{
    for (int64_t a = 0; a < p->station_count; a++) su_station_rows_free(&p->stations[a]);
    free(p->stations);
}

static void all_tets_with_weight_one_are_exact(void **state)
{
    fixture *f = *state;
    su_fit_problem p = make_problem(f, 6, 1, 0.05, 1);
    double *ones = calloc((size_t)(M * f->tets.count), sizeof *ones);
    su_error_pair errors[2 * M];
    for (int64_t k = 0; k < M * f->tets.count; k++) ones[k] = 1;
    assert_int_equal(su_fit_errors(&p, f->tets.count, f->all_tets, ones, 2, errors, NULL), SU_OK);
    for (int64_t a = 0; a < p.station_count; a++) assert_true(errors[a].rms < 1e-4);
    free(ones);
    free_problem(&p);
}

static void few_tets_reach_two_per_cent(void **state)
{
    fixture *f = *state;
    double started = su_seconds();
    su_fit_problem p = make_problem(f, 40, 1, 0.05, 1);
    double made = su_seconds();
    su_fit_settings settings = {.error = 0.02, .threads = 2};
    su_point_set set = {0};
    assert_int_equal(su_select_points(&p, &settings, &set, NULL), SU_OK);
    printf("# %lld of %lld tets for %.2f %% (rows %.2f s, search %.2f s)\n", (long long)set.count,
           (long long)f->tets.count, 100 * set.worst, made - started, su_seconds() - made);
    for (int64_t a = 0; a < p.station_count; a++)
        printf("# station %lld: mean %.2f %%, rms %.2f %%\n", (long long)a, 100 * set.errors[a].mean,
               100 * set.errors[a].rms);
    /* More points, less error, all the way up. */
    for (int k = 1; k < set.curve_count; k++) assert_true(set.curve[k].error < set.curve[k - 1].error);
    assert_true(set.worst <= 0.02);
    for (int64_t k = 0; k < M * set.count; k++) assert_true(set.weights[k] >= 0);
    const double amplitudes[] = {0.025, 0.05, 0.075};
    for (int k = 0; k < 3; k++) {
        su_fit_problem fresh = make_problem(f, 80, 99, amplitudes[k], 1);
        su_error_pair errors[2 * M];
        assert_int_equal(su_fit_errors(&fresh, set.count, set.points, set.weights, 2, errors, NULL), SU_OK);
        printf("# fresh at %.3f:", amplitudes[k]);
        for (int64_t a = 0; a < p.station_count; a++) printf(" %.2f", 100 * errors[a].mean);
        printf(" %%\n");
        for (int64_t a = 0; a < p.station_count; a++) assert_true(errors[a].mean < 0.03);
        free_problem(&fresh);
    }
    su_point_set_free(&set);
    free_problem(&p);
}

/* One set of weights for all stations, fewer rows than tets: weights leave members as fast as they come, no set is as
 * large as was asked for, and the search ends all the same. */
static void a_set_that_cannot_grow_ends(void **state)
{
    fixture *f = *state;
    su_fit_problem p = make_problem(f, 10, 1, 0.05, 0);
    su_point_set set = {0};
    p.groups = 1;
    for (int64_t a = 0; a < p.station_count; a++) p.stations[a].blend[0] = 1, p.stations[a].group = -1;
    assert_int_equal(su_select_points(&p, &(su_fit_settings){.count = f->tets.count, .threads = 2}, &set, NULL), SU_OK);
    printf("# %lld of %lld tets hold weights: %.4f %%\n", (long long)set.count, (long long)f->tets.count,
           100 * set.worst);
    assert_true(set.count < f->tets.count && set.worst < 1e-3);
    su_point_set_free(&set);
    free_problem(&p);
}

static void both_sets_train_without_shots(void **state)
{
    fixture *f = *state;
    su_training_places places;
    const su_shot_list no_shots = {.count = 0};
    su_training_plan plan = su_training_plan_make(&(su_training_case){.modes = R, .region_modes = R});
    const su_training training = {
        .space = &f->space, .plan = &plan, .places = &places, .moving = &places, .seed = 1, .memory = (int64_t)1 << 30};
    assert_int_equal(su_training_places_create(&f->space, &no_shots, &plan, 0, &places, NULL), SU_OK);
    assert_int_equal(places.count, M);
    su_cubature set, again;
    assert_int_equal(su_cubature_train(&training, &set, NULL), SU_OK);
    const su_point_set *tets = &set.tets, *vertices = &set.vertices;
    printf("# %lld tets %.2f %%, %lld vertices %.2f %%; rows %.2f s, tets %.2f s, vertices %.2f s\n",
           (long long)tets->count, 100 * tets->worst, (long long)vertices->count, 100 * vertices->worst,
           tets->seconds_rows, tets->seconds_choice, vertices->seconds_choice);
    assert_true(tets->worst <= plan.error && vertices->worst <= plan.error);
    assert_null(set.linear);
    for (int64_t k = 0; k < M * tets->count; k++) assert_true(tets->weights[k] >= 0);
    for (int64_t k = 0; k < vertices->count; k++) assert_true(vertices->weights[k] >= 0);
    su_error_pair tet_errors[2 * M], vertex_errors[2 * M];
    for (int k = 1; k <= 3; k++) {
        assert_int_equal(su_cubature_check(&training, &set, 15, 0.5 * k, tet_errors, vertex_errors, NULL), SU_OK);
        printf("# fresh at %.3f:", 0.025 * k);
        for (int64_t a = 0; a < places.count; a++)
            printf(" %.2f/%.2f", 100 * tet_errors[a].mean, 100 * vertex_errors[a].mean);
        printf(" %%\n");
        for (int64_t a = 0; a < places.count; a++)
            assert_true(tet_errors[a].mean < 0.03 && vertex_errors[a].mean < 0.03);
    }
    plan.tets = tets->count, plan.vertices = vertices->count; /* by count, which takes less time */
    su_cubature_free(&set);
    assert_int_equal(su_cubature_train(&training, &set, NULL), SU_OK);
    f->space.threads = 1;
    assert_int_equal(su_cubature_train(&training, &again, NULL), SU_OK);
    assert_int_equal(tets->count, again.tets.count);
    assert_int_equal(vertices->count, again.vertices.count);
    assert_memory_equal(tets->points, again.tets.points, (size_t)tets->count * sizeof *tets->points);
    assert_memory_equal(tets->weights, again.tets.weights, (size_t)(M * tets->count) * sizeof(double));
    assert_memory_equal(vertices->weights, again.vertices.weights, (size_t)vertices->count * sizeof(double));
    su_cubature_free(&set);
    su_cubature_free(&again);
    su_training_places_free(&places);
}

/* Reduced force f (R) and projected tangent K (R,R) at positions y, tet after tet. */
static void reduced_at(const su_pose_space *space, const double *U, const double *y, double *f, double *K)
{
    const su_elastic *elastic = &space->elastic;
    memset(f, 0, R * sizeof *f);
    memset(K, 0, R * R * sizeof *K);
    for (int64_t e = 0; e < space->t; e++) {
        double force[12], tangent[144];
        su_tet_elastic(elastic, y, e, true, force, tangent, NULL);
        for (int i = 0; i < R; i++)
            for (int a = 0; a < 12; a++) {
                double row = U[3 * (i * space->n + elastic->tets[4 * e + a / 3]) + a % 3];
                f[i] += row * force[a];
                for (int j = 0; j < R; j++)
                    for (int b = 0; b < 12; b++)
                        K[R * i + j] +=
                            row * tangent[12 * a + b] * U[3 * (j * space->n + elastic->tets[4 * e + b / 3]) + b % 3];
            }
    }
}

/* Errors at given states are how far the missing force would move the flesh from there, over how far it has moved, by
 * mass and by vertex; turned flesh has its own soft directions. */
static void errors_at_states_are_displacements(void **state)
{
    enum { STATES = 2 };
    fixture *f = *state;
    su_pose_space *space = &f->space;
    su_place place;
    int64_t n = space->n, size = 3 * n;
    const double *U = space->U;
    double *y = calloc((size_t)size, sizeof *y);
    double *ones = calloc((size_t)(M * space->t), sizeof *ones), K0[R * R], G[R * R], norm[R * R], mean = 0,
           expected = 0;
    double *weight = calloc((size_t)n, sizeof *weight);
    const double by_vertex = 0.3;
    assert_int_equal(su_place_at_pose(space, 0, &place, NULL), SU_OK);
    assert_int_equal(su_neutral_stiffness(space, K0, NULL), SU_OK);
    assert_int_equal(su_pose_space_enter(space, &place, NULL), SU_OK);
    const su_elastic *elastic = &space->elastic;
    for (int64_t k = 0; k < elastic->free_count; k++)
        mean += elastic->mass[elastic->free_vertex[k]] / (double)elastic->free_count;
    for (int64_t v = 0; v < n; v++) weight[v] = (1 - by_vertex) * elastic->mass[v] + by_vertex * mean;
    assert_int_equal(su_mass_product(R, n, weight, U, U, G, 1, NULL), SU_OK);
    assert_int_equal(su_displacement_norm(space, by_vertex, norm, NULL), SU_OK);
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++) {
            double product = 0;
            for (int k = 0; k < R; k++) product += norm[R * i + k] * norm[R * j + k];
            assert_true(fabs(product - G[R * i + j]) <= 1e-12 * sqrt(G[R * i + i] * G[R * j + j]));
        }
    /* Held in the neutral pose, where nothing is turned back; the lowest mode bends the tip by a fifth of the length.
     */
    double q[R] = {0}, most = 0;
    for (int64_t v = 0; v < n; v++)
        most = fmax(most, sqrt(U[3 * v] * U[3 * v] + U[3 * v + 1] * U[3 * v + 1] + U[3 * v + 2] * U[3 * v + 2]));
    q[0] = 0.2 / most;
    const double factors[STATES] = {1, 0.5};
    double states[STATES * R] = {0};
    for (int k = 0; k < STATES; k++) states[R * k] = factors[k] * q[0];
    for (int k = 0; k < STATES; k++) {
        double force[R], K[R * R], d[R], moved = 0, there = factors[k] * factors[k] * q[0] * q[0] * G[0];
        for (int64_t i = 0; i < size; i++) y[i] = place.rest[i] + states[R * k] * U[i];
        reduced_at(space, U, y, force, K);
        for (int i = 0; i < R; i++) d[i] = force[i] - factors[k] * q[0] * K0[R * i];
        assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', R, 1, K, R, d, 1), 0);
        for (int i = 0; i < R; i++)
            for (int j = 0; j < R; j++) moved += d[i] * G[R * i + j] * d[j];
        expected += moved / there / STATES;
    }
    su_station_rows rows = {.blend = calloc(M, sizeof(double)), .group = 0, .importance = 1};
    memcpy(rows.blend, place.positive, M * sizeof(double));
    assert_int_equal(su_state_rows(space, &place, STATES, states, (su_force_part){SU_FORCE_REMAINDER, K0, norm},
                                   &f->tets, &rows, NULL),
                     SU_OK);
    assert_int_equal(su_rows_basis(space, &f->tets, &rows.basis, NULL), SU_OK);
    su_fit_problem p = {.r = R, .groups = M, .station_count = 1, .points = &f->tets, .stations = &rows};
    su_error_pair error;
    assert_int_equal(su_fit_errors(&p, 0, f->all_tets, ones, 2, &error, NULL), SU_OK);
    printf("# without tets %.4f, by a solve %.4f\n", error.rms, sqrt(expected));
    assert_true(fabs(error.rms / sqrt(expected) - 1) < 1e-4 && error.rms > 0.1);
    for (int64_t k = 0; k < M * space->t; k++) ones[k] = 1;
    assert_int_equal(su_fit_errors(&p, space->t, f->all_tets, ones, 2, &error, NULL), SU_OK);
    assert_true(error.rms < 1e-4);
    su_point_set set = {0};
    assert_int_equal(su_select_points(&p, &(su_fit_settings){.error = 0.001, .threads = 2}, &set, NULL), SU_OK);
    printf("# %lld tets for %.3f %%\n", (long long)set.count, 100 * set.worst);
    assert_true(set.worst <= 0.001 && set.count <= STATES * R);
    su_point_set_free(&set);
    su_station_rows_free(&rows);
    su_place_free(&place);
    free(y), free(ones), free(weight);
}

/* Columns of vertices are kept in factors: products, those with the target, and residuals are those of the columns
 * themselves, over more samples than one single-precision sum takes. */
static void vertices_multiply_in_factors(void **state)
{
    enum { VERTICES = 9, SAMPLES = 700, LATER = 600, SOME = 2 };
    int32_t list[VERTICES];
    for (int32_t k = 0; k < VERTICES; k++) list[k] = k;
    su_candidates points = {SU_POINT_VERTEX, VERTICES, VERTICES, list, list, list};
    su_random random = su_random_seed(5, 1);
    su_station_rows rows = {.samples = SAMPLES,
                            .basis = calloc(VERTICES * 3 * R, sizeof(float)),
                            .force = calloc(SAMPLES * VERTICES * 3, sizeof(float)),
                            .target = calloc(SAMPLES * R, sizeof(double))};
    for (int k = 0; k < VERTICES * 3 * R; k++) rows.basis[k] = (float)su_random_normal(&random);
    for (int k = 0; k < SAMPLES * VERTICES * 3; k++) rows.force[k] = (float)su_random_normal(&random);
    for (int k = 0; k < SAMPLES * R; k++) rows.target[k] = su_random_normal(&random);
    su_fit_problem p = {.r = R, .groups = 1, .station_count = 1, .points = &points, .stations = &rows};
    double *A = calloc(VERTICES * SAMPLES * R, sizeof *A), size = SAMPLES * R;
    for (int e = 0; e < VERTICES; e++)
        for (int k = 0; k < SAMPLES * R; k++)
            for (int i = 0; i < 3; i++)
                A[e * SAMPLES * R + k] +=
                    (double)rows.force[(k / R * VERTICES + e) * 3 + i] * rows.basis[(3 * e + i) * R + k % R];
    float *columns = calloc((size_t)(VERTICES * su_vertex_columns.size(&p, 0)), sizeof *columns);
    double gram[SOME * VERTICES], dot[SOME], *residual = calloc(SAMPLES * R, sizeof *residual);
    assert_int_equal(su_vertex_columns.make(&p, 0, VERTICES, list, columns), SU_OK);
    assert_int_equal(su_vertex_columns.products(&p, 0, SOME, columns, VERTICES, columns, gram, dot), SU_OK);
    for (int e = 0; e < SOME; e++) {
        double expected = 0;
        for (int k = 0; k < SAMPLES * R; k++) expected += A[e * SAMPLES * R + k] * rows.target[k];
        assert_true(fabs(dot[e] - expected) < 1e-6 * size);
        for (int g = 0; g < VERTICES; g++) {
            expected = 0;
            for (int k = 0; k < SAMPLES * R; k++) expected += A[e * SAMPLES * R + k] * A[g * SAMPLES * R + k];
            assert_true(fabs(gram[e * VERTICES + g] - expected) < 1e-6 * size);
        }
    }
    const int64_t slot[SOME] = {7, 3};
    const double weights[SOME] = {0.5, 2};
    const su_column_set set = {SOME, slot, weights, columns};
    assert_int_equal(su_vertex_columns.residual(&p, 0, LATER, SAMPLES - LATER, &set, residual), SU_OK);
    for (int k = 0; k < (SAMPLES - LATER) * R; k++) {
        double expected = rows.target[LATER * R + k];
        for (int m = 0; m < SOME; m++) expected -= weights[m] * A[slot[m] * SAMPLES * R + LATER * R + k];
        assert_true(fabs(residual[k] - expected) < 1e-5);
    }
    su_station_rows_free(&rows);
    free(A), free(columns), free(residual);
    (void)state;
}

/* One basis turned to a bent pose: rows are turned back, so that the basis of the neutral frame makes of them what the
 * turned one makes of the forces there; all tets then meet the target, and all vertices. */
static void rows_of_bent_poses_are_of_one_basis(void **state)
{
    enum { STATES = 2 };
    fixture *f = *state;
    su_basis one = f->beam.basis;
    su_pose_space space;
    su_place bent;
    one.m = 1;
    assert_int_equal(
        su_pose_space_create(&space, &f->beam.tet, &f->beam.fit, &one, SU_NEOHOOKEAN, SU_COROTATED, 1, NULL), SU_OK);
    int64_t n = space.n;
    double *ones = calloc((size_t)space.t, sizeof *ones), K0[R * R], norm[R * R], q[STATES * R] = {0};
    for (int64_t k = 0; k < space.t; k++) ones[k] = 1;
    q[0] = 1e-2, q[R + 1] = -2e-2;
    assert_int_equal(su_place_at_pose(&space, 1, &bent, NULL), SU_OK);
    assert_int_equal(su_neutral_stiffness(&space, K0, NULL), SU_OK);
    assert_int_equal(su_displacement_norm(&space, 0.5, norm, NULL), SU_OK);
    su_station_rows tets = {.blend = calloc(1, sizeof(double)), .group = -1, .importance = 1};
    tets.blend[0] = 1;
    assert_int_equal(
        su_state_rows(&space, &bent, STATES, q, (su_force_part){SU_FORCE_REMAINDER, K0, norm}, &f->tets, &tets, NULL),
        SU_OK);
    su_candidates vertices = {SU_POINT_VERTEX, n, n, f->all_vertices, f->all_vertices, f->all_vertices};
    su_station_rows inertia = {.blend = calloc(1, sizeof(double)), .group = -1, .importance = 1};
    inertia.blend[0] = 1;
    su_inertia_sampling sampling = {
        .states = {.samples = STATES}, .given = q, .spin = 0.1, .least_field = 0.05, .turned_back = true};
    assert_int_equal(su_inertia_rows(&space, &bent, NULL, &sampling, &vertices, &inertia, NULL), SU_OK);
    assert_int_equal(su_pose_space_enter_neutral(&space, NULL), SU_OK);
    assert_int_equal(su_rows_basis(&space, &f->tets, &tets.basis, NULL), SU_OK);
    assert_int_equal(su_rows_basis(&space, &vertices, &inertia.basis, NULL), SU_OK);
    su_fit_problem of_tets = {.r = R, .groups = 1, .station_count = 1, .points = &f->tets, .stations = &tets},
                   of_vertices = {.r = R, .groups = 1, .station_count = 1, .points = &vertices, .stations = &inertia};
    su_error_pair error;
    assert_int_equal(su_fit_errors(&of_tets, 0, f->all_tets, ones, 2, &error, NULL), SU_OK);
    assert_true(error.rms > 1e-3);
    assert_int_equal(su_fit_errors(&of_tets, space.t, f->all_tets, ones, 2, &error, NULL), SU_OK);
    assert_true(error.rms < 1e-5);
    assert_int_equal(su_fit_errors(&of_vertices, n, f->all_vertices, ones, 2, &error, NULL), SU_OK);
    assert_true(inertia.samples > 9 && error.rms < 1e-5);
    su_station_rows_free(&tets), su_station_rows_free(&inertia);
    su_place_free(&bent);
    su_pose_space_free(&space);
    free(ones);
}

int main(void)
{
    openblas_set_num_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_tets_with_weight_one_are_exact, make_fixture, free_fixture),
        cmocka_unit_test(vertices_multiply_in_factors),
        cmocka_unit_test_setup_teardown(rows_of_bent_poses_are_of_one_basis, make_fixture, free_fixture),
        cmocka_unit_test_setup_teardown(errors_at_states_are_displacements, make_fixture, free_fixture),
        cmocka_unit_test_setup_teardown(both_sets_train_without_shots, make_fixture, free_fixture),
        cmocka_unit_test_setup_teardown(a_set_that_cannot_grow_ends, make_fixture, free_fixture),
        cmocka_unit_test_setup_teardown(few_tets_reach_two_per_cent, make_fixture, free_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
