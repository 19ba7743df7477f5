/* Steklov-Poincare skinning: ex-rotated elasticity against its derivatives, invariances and the corotational law; its
 * solvers against each other, with and without contact; factors and rotations; flesh that nothing holds. */
#include "skin/contact_springs.h"
#include "skin/equilibrium.h"

#include "box.h"
#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "linalg/cholesky.h"
#include "linalg/single_blocks.h"
#include "skin/incomplete.h"
#include "physics/material.h"
#include "skin/boundary_response.h"
#include "skin/tet_rotations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

/* A box of flesh round a held bar along its axis, whose half behind x = 0.5 turns with angle. */
typedef struct fixture {
    box_mesh box;
    uint8_t *held, *outer;
    int32_t *bone_of;
    double *young, *poisson, *R, *Q, *x;
    su_ex_rotated body;
} fixture;

enum { CELLS = 6 };

static void fixture_create(fixture *f)
{
    su_error err;
    uint64_t seed = 3;
    f->box = box_mesh_create(2 * CELLS, CELLS, CELLS, 1, 0.5, 0.5);
    int64_t n = f->box.n, t = f->box.t;
    f->held = calloc((size_t)n, 1), f->outer = calloc((size_t)n, 1), f->bone_of = calloc((size_t)n, sizeof(int32_t));
    f->young = box_constant(t, 0), f->poisson = box_constant(t, 0.4);
    f->R = box_constant(9 * t, 0), f->Q = box_constant(9 * n, 0), f->x = box_constant(3 * n, 0);
    for (int64_t v = 0; v < n; v++) {
        int64_t k = v % (CELLS + 1), j = v / (CELLS + 1) % (CELLS + 1), i = v / (CELLS + 1) / (CELLS + 1);
        f->held[v] = j == CELLS / 2 && k == CELLS / 2 && i != CELLS;
        f->outer[v] = i == 0 || i == 2 * CELLS || j == 0 || j == CELLS || k == 0 || k == CELLS;
        f->bone_of[v] = f->held[v] ? i > CELLS : -1;
    }
    for (int64_t e = 0; e < t; e++) f->young[e] = 1000 * (2 + box_random(&seed));
    su_ex_rotated_mesh mesh = {n, t, f->box.vertices, f->box.tets, f->held, f->outer, f->young, f->poisson};
    assert_int_equal(su_ex_rotated_create(&mesh, &f->body, &err), SU_OK);
}

static void fixture_free(fixture *f)
{
    su_ex_rotated_free(&f->body);
    box_mesh_free(&f->box);
    free(f->held), free(f->outer), free(f->bone_of), free(f->young), free(f->poisson);
    free(f->R), free(f->Q), free(f->x);
}

/* The bone behind the middle turned by angle about z. */
static void bend(fixture *f, double angle)
{
    su_error err;
    su_bone_weights weights;
    const double middle[3] = {0.5, 0.25, 0.25};
    double bones[8] = {1, 0, 0, 0, cos(angle / 2), 0, 0, sin(angle / 2)};
    assert_int_equal(su_bone_weights_create(&(su_tets){f->box.n, f->box.t, f->box.vertices, f->box.tets}, 2, f->bone_of,
                                            1, &weights, &err),
                     SU_OK);
    su_bone_weights_rotate(&weights, bones, f->Q, f->R);
    for (int64_t v = 0; v < f->box.n; v++) {
        double arm[3];
        su_sub3(f->box.vertices + 3 * v, middle, arm);
        su_mulv3(f->Q + 9 * v, arm, f->x + 3 * v);
        for (int c = 0; c < 3; c++) f->x[3 * v + c] += middle[c];
    }
    su_bone_weights_free(&weights);
}

static void random_rotation(uint64_t *seed, double size, double R[9])
{
    double turn[3], q[4];
    for (int c = 0; c < 3; c++) turn[c] = size * box_random(seed);
    su_quaternion_exp(turn, q);
    su_quaternion_matrix(q, R);
}

/* y = A x */
static void multiply(const su_blocks *A, const double *x, double *y)
{
    memset(y, 0, (size_t)(3 * A->rows) * sizeof *y);
    su_blocks_add_product(A, 0, A->rows, 0, A->rows, 1, x, y);
}

/* ---- elasticity ---- */

static void forces_and_stiffness_are_derivatives(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    uint64_t seed = 9;
    su_error err;
    su_blocks K;
    int64_t size = 3 * f.body.count;
    double *force = box_constant(size, 0), *other = box_constant(size, 0), *d = box_constant(size, 0),
           *Kd = box_constant(size, 0), *y = box_constant(3 * f.box.n, 0);
    for (int64_t e = 0; e < f.box.t; e++) random_rotation(&seed, 2, f.R + 9 * e);
    for (int64_t i = 0; i < 3 * f.box.n; i++) f.x[i] = f.box.vertices[i] + 0.05 * box_random(&seed);
    for (int64_t i = 0; i < size; i++) d[i] = box_random(&seed);
    su_ex_rotated_force(&f.body, f.R, f.x, force);
    const double h = 1e-4;
    double energy[2];
    for (int side = 0; side < 2; side++) {
        memcpy(y, f.x, (size_t)(3 * f.box.n) * sizeof *y);
        for (int64_t k = 0; k < size; k++) y[3 * (int64_t)f.body.vertex[k / 3] + k % 3] += (side ? h : -h) * d[k];
        energy[side] = su_ex_rotated_energy(&f.body, f.R, y);
    }
    double along = 0, scale = 0;
    for (int64_t i = 0; i < size; i++) along -= force[i] * d[i], scale += fabs(force[i] * d[i]);
    assert_near((energy[1] - energy[0]) / (2 * h), along, 1e-8 * scale); /* quadratic: no error of the difference */
    assert_int_equal(su_blocks_clone(&f.body.pattern, &K, &err), SU_OK);
    su_ex_rotated_stiffness(&f.body, f.R, &K);
    multiply(&K, d, Kd);
    su_ex_rotated_force(&f.body, f.R, y, other); /* y = x + h d: forces are affine */
    for (int64_t i = 0; i < size; i++) other[i] = (force[i] - other[i]) / h - Kd[i];
    assert_true(largest(size, Kd) > 1);
    assert_near(largest(size, other), 0, 1e-7 * largest(size, Kd));
    su_blocks_free(&K);
    free(force), free(other), free(d), free(Kd), free(y);
    fixture_free(&f);
}

static void a_turn_of_everything_turns_forces(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    uint64_t seed = 4;
    double T[9], *force = box_constant(3 * f.body.count, 0), *turned = box_constant(3 * f.body.count, 0);
    bend(&f, 1.0);
    random_rotation(&seed, 2, T);
    double energy = su_ex_rotated_energy(&f.body, f.R, f.x);
    su_ex_rotated_force(&f.body, f.R, f.x, force);
    for (int64_t e = 0; e < f.box.t; e++) {
        double R[9];
        memcpy(R, f.R + 9 * e, sizeof R);
        su_mul33(T, R, f.R + 9 * e);
    }
    for (int64_t v = 0; v < f.box.n; v++) {
        su_mulv3(T, f.x + 3 * v, f.x + 3 * v);
        for (int c = 0; c < 3; c++) f.x[3 * v + c] += c + 1;
    }
    for (int64_t k = 0; k < f.body.count; k++) su_mulv3(T, force + 3 * k, force + 3 * k);
    su_ex_rotated_force(&f.body, f.R, f.x, turned);
    assert_true(energy > 0.1);
    assert_near(su_ex_rotated_energy(&f.body, f.R, f.x), energy, 1e-10 * energy);
    assert_near(difference(3 * f.body.count, force, turned), 0, 1e-10 * largest(3 * f.body.count, force));
    free(force), free(turned);
    fixture_free(&f);
}

/* With R the polar rotation it is the corotational law; with R off by a small angle it departs by as much. */
static void it_is_corotational_where_rotations_agree(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    uint64_t seed = 8;
    double off[2];
    for (int64_t i = 0; i < 3 * f.box.n; i++) f.x[i] = f.box.vertices[i] + 0.02 * box_random(&seed);
    for (int pass = 0; pass < 3; pass++) {
        double corotational = 0, most = 0, angle = pass == 0 ? 0 : pass == 1 ? 1e-3 : 2e-3;
        for (int64_t e = 0; e < f.box.t; e++) {
            const int32_t *c = f.box.tets + 4 * e;
            double now[9], rest[9], inverse[9], F[9], R[9], small[9], turn[3] = {angle, 0, 0}, q[4];
            su_tet_edges(f.x + 3 * c[0], f.x + 3 * c[1], f.x + 3 * c[2], f.x + 3 * c[3], now);
            su_tet_edges(f.box.vertices + 3 * c[0], f.box.vertices + 3 * c[1], f.box.vertices + 3 * c[2],
                         f.box.vertices + 3 * c[3], rest);
            su_inverse3(rest, inverse);
            su_mul33(now, inverse, F);
            su_nearest_rotation(F, R);
            su_quaternion_exp(turn, q);
            su_quaternion_matrix(q, small);
            su_mul33(small, R, f.R + 9 * e);
            corotational += f.body.volume[e] * su_material_energy(SU_COROTATIONAL, f.body.mu[e], f.body.lambda[e], F);
        }
        most = su_ex_rotated_energy(&f.body, f.R, f.x) - corotational;
        if (pass == 0)
            assert_near(most, 0, 1e-10 * corotational);
        else
            off[pass - 1] = most;
    }
    assert_true(off[0] > 0);
    assert_near(off[1] / off[0], 4, 0.1); /* the polar rotation is where the energy is least */
    fixture_free(&f);
}

/* ---- solvers ---- */

/* A floor that pushes what lies below it up. */
typedef struct floor_contact {
    const fixture *f;
    double height, stiffness;
    su_spring spring[4096];
} floor_contact;

static int64_t find_floor(void *context, const double *x, const su_spring **springs, double *energy)
{
    floor_contact *floor = context;
    int64_t count = 0;
    *energy = 0;
    for (int64_t v = 0; v < floor->f->box.n; v++) {
        double depth = floor->height - x[3 * v + 1];
        if (depth <= 0 || !floor->f->outer[v] || floor->f->held[v]) continue;
        floor->spring[count++] = (su_spring){.vertex = {(int32_t)v, (int32_t)v, (int32_t)v, (int32_t)v},
                                             .weight = {1, 0, 0, 0},
                                             .force = {0, floor->stiffness * depth, 0},
                                             .H = {0, 0, 0, 0, floor->stiffness, 0, 0, 0, 0}};
        *energy += 0.5 * floor->stiffness * depth * depth;
    }
    *springs = floor->spring;
    return count;
}

static void all_solvers_find_one_shape(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    bend(&f, 0.9);
    double *first = box_constant(3 * f.box.n, 0), *x = box_constant(3 * f.box.n, 0);
    static floor_contact floor;
    floor = (floor_contact){.f = &f, .height = 0.05, .stiffness = 300};
    for (int touching = 0; touching < 2; touching++)
        for (int method = SU_SKIN_DIRECT; method <= SU_SKIN_COUPLED; method++) {
            su_error err = {0};
            su_skin_factors *factors;
            su_pose_solver *solver;
            su_equilibrium_settings settings = {
                .tolerance = 1e-9, .inexact = 0.05, .most = 200, .surface = method == SU_SKIN_SURFACE};
            su_equilibrium_result result;
            su_skin_contacts contacts = {find_floor, NULL, &floor};
            assert_int_equal(su_skin_factors_create(&f.body, (su_skin_method)method, 4, 1, &factors, &err), SU_OK);
            assert_int_equal(su_pose_solver_create(factors, &solver, &err), SU_OK);
            assert_int_equal(su_pose_solver_set(solver, f.R, f.Q, &err), SU_OK);
            memcpy(x, f.x, (size_t)(3 * f.box.n) * sizeof *x);
            assert_int_equal(
                su_equilibrium_find(solver, &f.body, f.R, touching ? &contacts : NULL, &settings, x, &result, &err),
                SU_OK);
            assert_true(result.converged);
            assert_true((result.springs > 5) == touching);
            if (method == SU_SKIN_DIRECT) {
                memcpy(first, x, (size_t)(3 * f.box.n) * sizeof *x);
                assert_true(difference(3 * f.box.n, x, f.x) > 1e-3);
            }
            assert_near(difference(3 * f.box.n, x, first), 0, 1e-6 * sqrt(1.5));
            su_pose_solver_free(solver);
            su_skin_factors_free(factors);
        }
    free(first), free(x);
    fixture_free(&f);
}

/* ---- self-contact ---- */

typedef struct fold {
    su_contact_body body;
    su_contact_finder *finder;
    su_kept_pairs kept;
    su_spring_list springs;
} fold;

static int64_t find_fold(void *context, const double *x, const su_spring **springs, double *energy)
{
    fold *f = context;
    f->springs.count = 0, *energy = 0;
    int64_t count = su_springs_of_kept(&f->kept, x, SU_SKIN_SIDEWAYS, &f->springs, energy);
    *springs = f->springs.spring;
    return count;
}

static su_status meet_fold(void *context, const double *x, bool anew, su_error *err)
{
    fold *f = context;
    if (anew) su_kept_pairs_begin(&f->kept, NULL);
    return su_kept_pairs_aim(&f->kept, x, err);
}

/* Bent until it lies against itself, which has several equilibria: every solver ends in the same one, and what is
 * deepest there is shallow. */
static void all_solvers_find_one_fold(void **unused)
{
    (void)unused;
    fixture f;
    fold c = {0};
    su_error err = {0};
    fixture_create(&f);
    int64_t n = f.box.n, count;
    double *k = box_constant(n, 0), *first = box_constant(3 * n, 0), *x = box_constant(3 * n, 0);
    assert_int_equal(su_contact_body_create(n, f.box.vertices, f.box.t, f.box.tets, &c.body, &err), SU_OK);
    assert_int_equal(su_contact_finder_create(&c.body, 1, &c.finder, &err), SU_OK);
    su_contact_stiffness(&c.body, f.young, f.poisson, k);
    su_contact_finder_set_stiffness(c.finder, k);
    assert_int_equal(su_kept_pairs_create(&c.body, c.finder, &c.kept, &err), SU_OK);
    for (int method = SU_SKIN_DIRECT; method <= SU_SKIN_COUPLED; method++) {
        su_skin_factors *factors;
        su_pose_solver *solver;
        su_skin_contacts contacts = {find_fold, meet_fold, &c};
        su_equilibrium_settings settings = {.tolerance = 1e-7 * c.body.diagonal,
                                            .settled = 1e-3 * c.body.diagonal,
                                            .inexact = 0.05,
                                            .most = 2000,
                                            .surface = method == SU_SKIN_SURFACE};
        assert_int_equal(su_skin_factors_create(&f.body, (su_skin_method)method, 4, 1, &factors, &err), SU_OK);
        assert_int_equal(su_pose_solver_create(factors, &solver, &err), SU_OK);
        for (int degrees = 80; degrees <= 120; degrees += 20) { /* each from the rig's shape */
            su_equilibrium_result result;
            bend(&f, degrees * M_PI / 180);
            memcpy(x, f.x, (size_t)(3 * n) * sizeof *x);
            assert_int_equal(su_pose_solver_set(solver, f.R, f.Q, &err), SU_OK);
            su_kept_pairs_begin(&c.kept, NULL);
            assert_int_equal(su_equilibrium_find(solver, &f.body, f.R, &contacts, &settings, x, &result, &err), SU_OK);
            printf("# method %d, %d degrees: %d steps, %d pairs, last %.2g\n", method, degrees, result.steps,
                   (int)result.springs, result.moved);
            assert_true(result.converged);
        }
        const su_contact_pair *pairs;
        double deepest = 0;
        assert_int_equal(su_contact_find(c.finder, x, &pairs, &count, &err), SU_OK);
        for (int64_t i = 0; i < count; i++) deepest = fmax(deepest, pairs[i].depth);
        assert_true(count > 2);
        assert_true(deepest < 0.005 * c.body.diagonal);
        if (method == SU_SKIN_DIRECT) memcpy(first, x, (size_t)(3 * n) * sizeof *x);
        printf("# method %d: %d pairs, deepest %.2g, off %.2g\n", method, (int)count, deepest / c.body.diagonal,
               difference(3 * n, x, first) / c.body.diagonal);
        assert_near(difference(3 * n, x, first), 0, 1e-6 * c.body.diagonal);
        su_pose_solver_free(solver);
        su_skin_factors_free(factors);
    }
    free(first), free(x), free(k), free(c.springs.spring);
    su_kept_pairs_free(&c.kept), su_contact_finder_free(c.finder), su_contact_body_free(&c.body);
    fixture_free(&f);
}

/* ---- contacts that turn ---- */

/* One vertex whose shortest way always ends at one point, an edge that points inwards: the way turns as it moves. */
typedef struct notch {
    int32_t vertex;
    double end[3], normal[3], stiffness;
    su_spring spring;
} notch;

static int64_t find_notch(void *context, const double *x, const su_spring **springs, double *energy)
{
    notch *c = context;
    double way[3];
    su_sub3(c->end, x + 3 * (int64_t)c->vertex, way);
    double depth = fmax(su_dot3(way, c->normal), 0);
    c->spring = (su_spring){.vertex = {c->vertex}, .weight = {1}, .stiffness = c->stiffness};
    for (int i = 0; i < 3; i++) {
        c->spring.force[i] = c->stiffness * depth * c->normal[i];
        for (int j = 0; j < 3; j++) c->spring.H[3 * i + j] = c->stiffness * c->normal[i] * c->normal[j];
    }
    *springs = &c->spring, *energy = 0.5 * c->stiffness * depth * depth;
    return depth > 0;
}

static su_status meet_notch(void *context, const double *x, bool anew, su_error *err)
{
    (void)anew, (void)err;
    notch *c = context;
    double way[3];
    su_sub3(c->end, x + 3 * (int64_t)c->vertex, way);
    for (int i = 0; i < 3; i++) c->normal[i] = way[i] / su_norm3(way);
    return SU_OK;
}

/* The flesh gives way by a, 0.8 of the whole, so that a way which is turned by some angle comes back turned by
 * a / (1 - a) = 4 times that the other way: met where it has gone, it never settles. */
static void contacts_to_and_fro_settle(void **unused)
{
    (void)unused;
    fixture f;
    su_error err = {0};
    su_skin_factors *factors;
    su_pose_solver *solver;
    su_equilibrium_result result;
    fixture_create(&f);
    bend(&f, 0.5);
    int64_t n = f.box.n, count = f.body.count;
    double *x = box_constant(3 * n, 0), *again = box_constant(3 * n, 0), *r = box_constant(3 * count, 0),
           *d = box_constant(3 * count, 0);
    assert_int_equal(su_skin_factors_create(&f.body, SU_SKIN_VOLUME, 4, 1, &factors, &err), SU_OK);
    assert_int_equal(su_pose_solver_create(factors, &solver, &err), SU_OK);
    assert_int_equal(su_pose_solver_set(solver, f.R, f.Q, &err), SU_OK);
    const su_pose_solve alone = {.length = 1e-12};
    notch c = {.vertex = f.body.vertex[0]}; /* of the boundary */
    r[1] = 1;
    assert_int_equal(su_pose_solver_solve(solver, &alone, r, d, &err), SU_OK);
    c.stiffness = 4 / d[1];
    const su_skin_contacts contacts = {find_notch, meet_notch, &c};
    const su_equilibrium_settings settings = {.tolerance = 1e-6, .settled = 1e-4, .inexact = 0.01, .most = 200};
    memcpy(x, f.x, (size_t)(3 * n) * sizeof *x);
    assert_int_equal(su_equilibrium_find(solver, &f.body, f.R, NULL, &settings, x, &result, &err), SU_OK);
    for (int i = 0; i < 3; i++) c.end[i] = x[3 * (int64_t)c.vertex + i] + (i == 1 ? 0.02 : 0.005);
    assert_int_equal(su_equilibrium_find(solver, &f.body, f.R, &contacts, &settings, x, &result, &err), SU_OK);
    assert_true(result.converged);
    /* the place is one: met there, the way leads on to nowhere else */
    memcpy(again, x, (size_t)(3 * n) * sizeof *x);
    assert_int_equal(su_equilibrium_find(solver, &f.body, f.R, &contacts, &settings, again, &result, &err), SU_OK);
    assert_true(result.converged);
    assert_near(difference(3 * n, again, x), 0, 2 * settings.settled);
    su_pose_solver_free(solver), su_skin_factors_free(factors);
    free(x), free(again), free(r), free(d);
    fixture_free(&f);
}

/* Where all rings are kept it is the exact Schur complement. */
static void the_boundary_answers_as_the_whole(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    uint64_t seed = 12;
    su_error err;
    su_blocks K, S;
    su_sparse lower;
    su_cholesky *factor;
    int64_t outer = f.body.outer, count = f.body.count, inside = 3 * (count - outer);
    int32_t *position = malloc((size_t)count * sizeof *position);
    double *x = box_constant(3 * count, 0), *y = box_constant(3 * count, 0), *answer = box_constant(3 * outer, 0);
    for (int64_t e = 0; e < f.box.t; e++)
        for (int i = 0; i < 9; i++) f.R[9 * e + i] = i % 4 == 0;
    assert_int_equal(su_blocks_clone(&f.body.pattern, &K, &err), SU_OK);
    su_ex_rotated_stiffness(&f.body, f.R, &K);
    for (int64_t k = 0; k < count; k++) position[k] = k < outer ? -1 : (int32_t)(k - outer);
    assert_int_equal(su_blocks_lower(&K, position, count - outer, &lower, NULL, &err), SU_OK);
    assert_int_equal(su_cholesky_create(&lower, 1, &factor, &err), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &lower, &err), SU_OK);
    for (int64_t i = 0; i < 3 * outer; i++) x[i] = box_random(&seed);
    su_blocks_add_product(&K, outer, count, 0, outer, -1, x, y); /* K_ib x, into the interior */
    assert_int_equal(su_cholesky_solve(factor, 1, y + 3 * outer, x + 3 * outer, &err), SU_OK);
    (void)inside;
    memset(y, 0, (size_t)(3 * outer) * sizeof *y);
    su_blocks_add_product(&K, 0, outer, 0, count, 1, x, y);
    assert_int_equal(su_boundary_response_create(&f.body, &K, 100, 2, &S, &err), SU_OK);
    multiply(&S, x, answer);
    assert_near(difference(3 * outer, answer, y), 0, 1e-9 * largest(3 * outer, y));
    su_blocks_free(&S);
    /* few rings: a stiffer matrix, with the same sign along anything */
    assert_int_equal(su_boundary_response_create(&f.body, &K, 2, 1, &S, &err), SU_OK);
    multiply(&S, x, answer);
    double exact = 0, sparse = 0;
    for (int64_t i = 0; i < 3 * outer; i++) exact += x[i] * y[i], sparse += x[i] * answer[i];
    assert_true(sparse > exact && exact > 0);
    su_blocks_free(&S);
    su_blocks_free(&K);
    su_sparse_free(&lower);
    su_cholesky_free(factor);
    free(position), free(x), free(y), free(answer);
    fixture_free(&f);
}

/* A chain has no fill: the incomplete factor is the factor, to its three digits. */
static void an_incomplete_factor_of_a_chain_is_exact(void **unused)
{
    (void)unused;
    enum { LINKS = 40 };
    su_error err;
    su_incomplete *factor;
    uint64_t seed = 21;
    int64_t start[LINKS + 1] = {0};
    int32_t column[3 * LINKS];
    double value[27 * LINKS] = {0}, b[3 * LINKS], x[3 * LINKS], Ax[3 * LINKS];
    float work[SU_INCOMPLETE_STRIDE * LINKS];
    su_blocks A = {.rows = LINKS, .start = start, .column = column, .value = value};
    for (int r = 0; r < LINKS; r++) {
        for (int c = r - 1; c <= r + 1; c++) {
            if (c < 0 || c >= LINKS) continue;
            for (int i = 0; i < 9; i++)
                value[9 * A.entries + i] =
                    c == r ? 3 * (i % 4 == 0) : -(i % 4 == 0) - 0.1 * (i == 1 && c > r) - 0.1 * (i == 3 && c < r);
            column[A.entries++] = c;
        }
        start[r + 1] = A.entries;
    }
    for (int i = 0; i < 3 * LINKS; i++) b[i] = box_random(&seed);
    assert_int_equal(su_incomplete_create(&A, 0, LINKS, &factor, &err), SU_OK);
    assert_near(su_incomplete_shift(factor), 0, 0);
    su_incomplete_solve(factor, NULL, b, x, work);
    multiply(&A, x, Ax);
    assert_near(difference(3 * LINKS, Ax, b), 0, 1.0 / 256);
    /* turned: Q A^-1 Q' */
    double Q[9 * LINKS], turned[3 * LINKS], y[3 * LINKS];
    float turns[9 * LINKS];
    for (int r = 0; r < LINKS; r++) {
        double angle = 0.1 * r, own[9] = {cos(angle), -sin(angle), 0, sin(angle), cos(angle), 0, 0, 0, 1};
        memcpy(Q + 9 * r, own, sizeof own);
        su_mulv3(own, b + 3 * r, turned + 3 * r);
    }
    su_incomplete_order_turns(factor, Q, turns);
    su_incomplete_solve(factor, turns, turned, y, work);
    for (int r = 0; r < LINKS; r++) su_tmulv3(Q + 9 * r, y + 3 * r, y + 3 * r);
    assert_near(difference(3 * LINKS, y, x), 0, 1e-5);
    su_incomplete_free(factor);
}

/* Parts of a product, of rows and of columns, in single precision. */
static void products_in_single_precision_are_those_in_double(void **unused)
{
    (void)unused;
    fixture f;
    su_error err;
    su_blocks K;
    su_single_blocks single;
    uint64_t seed = 22;
    fixture_create(&f);
    bend(&f, 0.7);
    int64_t count = f.body.count, outer = f.body.outer, ends[] = {0, outer, count};
    double *x = box_constant(3 * count, 0), *y = box_constant(3 * count, 0), *z = box_constant(3 * count, 0);
    assert_int_equal(su_blocks_clone(&f.body.pattern, &K, &err), SU_OK);
    assert_int_equal(su_single_blocks_create(&f.body.pattern, &single, &err), SU_OK);
    su_ex_rotated_stiffness(&f.body, f.R, &K);
    su_single_blocks_set(&single, &K);
    for (int64_t i = 0; i < 3 * count; i++) x[i] = box_random(&seed);
    for (int part = 0; part < 4; part++) {
        const int64_t *rows = ends + part / 2, *columns = ends + part % 2;
        memset(y, 0, (size_t)(3 * count) * sizeof *y), memset(z, 0, (size_t)(3 * count) * sizeof *z);
        su_blocks_add_product(&K, rows[0], rows[1], columns[0], columns[1], -2, x, y);
        su_single_blocks_add_product(&single, rows[0], rows[1], columns[0], columns[1], -2, x, z);
        assert_near(difference(3 * count, z, y), 0, 1e-6 * largest(3 * count, y));
    }
    free(x), free(y), free(z);
    su_single_blocks_free(&single);
    su_blocks_free(&K);
    fixture_free(&f);
}

static void rotations_blend_between_bones(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    bend(&f, 1.2);
    double low = 10, high = -10;
    for (int64_t e = 0; e < f.box.t; e++) {
        double angle = atan2(f.R[9 * e + 3], f.R[9 * e]);
        low = fmin(low, angle), high = fmax(high, angle);
        assert_near(su_det3(f.R + 9 * e), 1, 1e-12);
    }
    assert_near(low, 0, 0.02);
    assert_near(high, 1.2, 0.02);
    assert_true(f.box.n > 0);
    for (int64_t v = 0; v < f.box.n; v++)
        if (f.bone_of[v] == 1) assert_near(atan2(f.Q[9 * v + 3], f.Q[9 * v]), 1.2, 1e-9);
    fixture_free(&f);
}

static void flesh_that_nothing_holds_is_refused(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(2, 2, 2, 1, 1, 1);
    uint8_t none[27] = {0}, one[27] = {1};
    double *young = box_constant(box.t, 1e3), *poisson = box_constant(box.t, 0.3);
    su_ex_rotated_mesh mesh = {box.n, box.t, box.vertices, box.tets, none, none, young, poisson};
    su_ex_rotated body = {0};
    su_error err = {0};
    assert_int_equal(su_ex_rotated_create(&mesh, &body, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "no vertex of the flesh is held"));
    mesh.held = one;
    assert_int_equal(su_ex_rotated_create(&mesh, &body, &err), SU_OK);
    su_ex_rotated_free(&body);
    int32_t alone[8] = {0, 9, 3, 1, 18, 21, 24, 26}; /* a part that shares nothing with what is held */
    mesh.t = 2, mesh.tets = alone;
    assert_int_equal(su_ex_rotated_create(&mesh, &body, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "hang on no held vertex"));
    free(young), free(poisson);
    box_mesh_free(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces_and_stiffness_are_derivatives),
        cmocka_unit_test(a_turn_of_everything_turns_forces),
        cmocka_unit_test(it_is_corotational_where_rotations_agree),
        cmocka_unit_test(all_solvers_find_one_shape),
        cmocka_unit_test(all_solvers_find_one_fold),
        cmocka_unit_test(contacts_to_and_fro_settle),
        cmocka_unit_test(the_boundary_answers_as_the_whole),
        cmocka_unit_test(an_incomplete_factor_of_a_chain_is_exact),
        cmocka_unit_test(products_in_single_precision_are_those_in_double),
        cmocka_unit_test(rotations_blend_between_bones),
        cmocka_unit_test(flesh_that_nothing_holds_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
