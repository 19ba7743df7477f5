/* Whole-mesh elasticity: energy, force and stiffness against each other, invariances, patch test, threads. */
#include "core/memory.h"
#include "fem/elastic.h"
#include "linalg/cholesky.h"
#include "beam.h"
#include "box.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lapacke.h>

typedef struct body {
    box_mesh box;
    su_elastic elastic;
    double *young, *poisson, *density;
} body;

static void body_create(body *b, int cells, su_material material, int64_t held_count, const int32_t *held)
{
    uint64_t state = 5;
    b->box = box_mesh_create(cells, cells, cells + 1, 1.0, 0.8, 1.3);
    box_mesh_jitter(&b->box, 0.15);
    b->young = box_constant(b->box.t, 0), b->poisson = box_constant(b->box.t, 0);
    b->density = box_constant(b->box.t, 0);
    for (int64_t e = 0; e < b->box.t; e++) {
        b->young[e] = 1000 * (2 + box_random(&state));
        b->poisson[e] = 0.3 + 0.15 * box_random(&state);
        b->density[e] = 1000 + 500 * box_random(&state);
    }
    su_error err;
    assert_int_equal(su_elastic_create(&b->elastic,
                                       &(su_elastic_body){.mesh = {b->box.n, b->box.t, b->box.vertices, b->box.tets},
                                                          .held_count = held_count,
                                                          .held = held,
                                                          .material = material,
                                                          .young = b->young,
                                                          .poisson = b->poisson,
                                                          .density = b->density},
                                       &err),
                     SU_OK);
}

static void body_free(body *b)
{
    su_elastic_free(&b->elastic);
    box_mesh_free(&b->box);
    free(b->young), free(b->poisson), free(b->density);
}

/* A bent and twisted copy of the vertices, scaled by `amount`. */
static double *deformed(const body *b, double amount, uint64_t seed)
{
    double *y = malloc(3 * (size_t)b->box.n * sizeof *y);
    for (int64_t v = 0; v < b->box.n; v++) {
        const double *x = b->box.vertices + 3 * v;
        double bend = amount * x[2] * x[2];
        y[3 * v] = x[0] + bend + 0.05 * amount * box_random(&seed);
        y[3 * v + 1] = x[1] * (1 + 0.3 * amount * x[2]) + 0.05 * amount * box_random(&seed);
        y[3 * v + 2] = x[2] - amount * x[0] * x[2] + 0.05 * amount * box_random(&seed);
    }
    return y;
}

/* turn (n,4): rotations that differ from vertex to vertex by up to about a radian over the body. */
static double *turns(const body *b, uint64_t seed)
{
    double *turn = malloc(4 * (size_t)b->box.n * sizeof *turn);
    for (int64_t v = 0; v < b->box.n; v++) {
        const double *x = b->box.vertices + 3 * v;
        double w[3] = {0.7 + 0.5 * x[0], -0.4 * x[2], 0.9 * x[1] - 0.3};
        for (int i = 0; i < 3; i++) w[i] += 0.1 * box_random(&seed);
        su_quaternion_exp(w, turn + 4 * v);
    }
    return turn;
}

/* A rest shape and, where turned is set, rotations for it. */
static void set_odd_rest(body *b, bool turned)
{
    double *rest = deformed(b, 0.3, 2), *turn = turned ? turns(b, 9) : NULL;
    su_elastic_set_rest(&b->elastic, rest, turn, 1);
    free(rest), free(turn);
}

static double norm(int64_t count, const double *a)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * a[i];
    return sqrt(sum);
}

/* Directional derivatives by central differences; errors must fall as the square of the step. */
static void differentiate(bool odd, bool turned)
{
    const int32_t held[] = {0, 3, 7, 11};
    for (int material = 0; material <= SU_TISSUE; material++) {
        body b;
        su_sparse K;
        uint64_t seed = 3;
        body_create(&b, 2, (su_material)material, 4, held);
        int64_t n = b.box.n, size = b.elastic.pattern.size;
        if (odd) set_odd_rest(&b, turned);
        double *y = deformed(&b, odd ? 0.4 : 0.2, 1), *moved = malloc(3 * (size_t)n * sizeof *y);
        double *force = malloc(3 * (size_t)n * sizeof *y), *up = malloc(3 * (size_t)n * sizeof *y);
        double *down = malloc(3 * (size_t)n * sizeof *y), *direction = calloc(3 * (size_t)n, sizeof *y);
        double *reduced = malloc((size_t)size * sizeof *y), *product = malloc((size_t)size * sizeof *y);
        for (int64_t f = 0; f < b.elastic.free_count; f++)
            for (int i = 0; i < 3; i++)
                direction[3 * b.elastic.free_vertex[f] + i] = reduced[3 * f + i] = box_random(&seed);
        assert_int_equal(su_sparse_clone_pattern(&b.elastic.pattern, &K, NULL), SU_OK);
        su_elastic_force(&b.elastic, y, force, 1);
        su_elastic_stiffness(&b.elastic, y, false, &K, 1);
        su_sparse_multiply(&K, reduced, product);
        double slope = 0, energy_error[2], force_error[2];
        for (int64_t i = 0; i < 3 * n; i++) slope += force[i] * direction[i];
        double size_of_slope = norm(3 * n, force) * norm(3 * n, direction); /* its sign and size are chance */
        for (int level = 0; level < 2; level++) {
            double h = level ? 2.5e-4 : 1e-3;
            for (int64_t i = 0; i < 3 * n; i++) moved[i] = y[i] + h * direction[i];
            double plus = su_elastic_energy(&b.elastic, moved, 1);
            su_elastic_force(&b.elastic, moved, up, 1);
            for (int64_t i = 0; i < 3 * n; i++) moved[i] = y[i] - h * direction[i];
            double minus = su_elastic_energy(&b.elastic, moved, 1);
            su_elastic_force(&b.elastic, moved, down, 1);
            energy_error[level] = fabs((plus - minus) / (2 * h) - slope) / size_of_slope;
            double difference = 0;
            for (int64_t f = 0; f < b.elastic.free_count; f++)
                for (int i = 0; i < 3; i++) {
                    int64_t dof = 3 * b.elastic.free_vertex[f] + i;
                    double d = (up[dof] - down[dof]) / (2 * h) - product[3 * f + i];
                    difference += d * d;
                }
            force_error[level] = sqrt(difference) / norm(size, product);
        }
        assert_true(energy_error[1] < 1e-5 && energy_error[1] < energy_error[0] / 8);
        assert_true(force_error[1] < 1e-4 && force_error[1] < force_error[0] / 8);
        su_sparse_free(&K);
        free(y), free(moved), free(force), free(up), free(down), free(direction), free(reduced), free(product);
        body_free(&b);
    }
}

static void test_force_and_stiffness(void **unused)
{
    (void)unused;
    differentiate(false, false);
    differentiate(true, false);
    differentiate(true, true);
}

/* A rigid motion of a deformed rest shape gives no force; energy and force are about the rest shape that was set. */
static void test_rigid_motion_is_free(void **unused)
{
    (void)unused;
    for (int material = 0; material <= SU_TISSUE; material++) {
        body b;
        body_create(&b, 3, (su_material)material, 0, NULL);
        int64_t n = b.box.n;
        double *rest = deformed(&b, 0.3, 2), *y = malloc(3 * (size_t)n * sizeof *y), r[9], turn[3] = {1, -2, 0.5}, q[4];
        double *force = malloc(3 * (size_t)n * sizeof *y), scale;
        su_elastic_force(&b.elastic, rest, force, 1);
        scale = norm(3 * n, force);
        su_elastic_set_rest(&b.elastic, rest, NULL, 1);
        assert_int_equal(b.elastic.collapsed, 0);
        su_quaternion_exp(turn, q);
        su_quaternion_matrix(q, r);
        for (int64_t v = 0; v < n; v++) {
            su_mulv3(r, rest + 3 * v, y + 3 * v);
            y[3 * v] += 4;
        }
        su_elastic_force(&b.elastic, y, force, 1);
        assert_true(scale > 1 && norm(3 * n, force) < 1e-12 * scale);
        assert_true(fabs(su_elastic_energy(&b.elastic, y, 1)) < 1e-12 * scale);
        free(rest), free(y), free(force);
        body_free(&b);
    }
}

/* Each tet's neutral shape, turned by the mean rotation of its corners, is free of stress where the flesh is: the rest
 * shape itself may be squashed flat or turned inside out, so that nothing counts as collapsed. */
static void test_turned_rest_is_free_of_stress(void **unused)
{
    (void)unused;
    for (int material = 0; material <= SU_TISSUE; material++)
        for (int flat = 0; flat < 2; flat++) {
            body b;
            body_create(&b, 3, (su_material)material, 0, NULL);
            int64_t n = b.box.n;
            double *rest = deformed(&b, 0.3, 2), *turn = turns(&b, 9), *force = malloc(3 * (size_t)n * sizeof *force);
            double *y = deformed(&b, 0.4, 3), worst = 0;
            if (flat)
                for (int64_t v = 0; v < n; v++) rest[3 * v + 1] *= v % 5 == 0 ? -0.5 : 0.01;
            su_elastic_set_rest(&b.elastic, rest, turn, 2);
            assert_int_equal(b.elastic.collapsed, 0);
            su_elastic_force(&b.elastic, y, force, 1);
            double scale = norm(3 * n, force);
            su_elastic_force(&b.elastic, rest, force, 1);
            assert_true(scale > 1 && norm(3 * n, force) < 1e-12 * scale);
            assert_true(fabs(su_elastic_energy(&b.elastic, rest, 1)) < 1e-12 * scale);
            /* F = 1 + edges(y - x) D_X^-1 R', as it is defined */
            for (int64_t e = 0; e < b.box.t; e++) {
                const int32_t *tet = b.box.tets + 4 * e;
                double mean[9] = {0}, R[9], own[9], D[9], at[9], from[9], DR[9], inverse[9], F[9], G[9];
                for (int c = 0; c < 4; c++) {
                    su_quaternion_matrix(turn + 4 * tet[c], own);
                    for (int i = 0; i < 9; i++) mean[i] += 0.25 * own[i];
                }
                su_nearest_rotation(mean, R);
                const double *X = b.box.vertices;
                su_tet_edges(X + 3 * tet[0], X + 3 * tet[1], X + 3 * tet[2], X + 3 * tet[3], D);
                su_tet_edges(y + 3 * tet[0], y + 3 * tet[1], y + 3 * tet[2], y + 3 * tet[3], at);
                su_tet_edges(rest + 3 * tet[0], rest + 3 * tet[1], rest + 3 * tet[2], rest + 3 * tet[3], from);
                for (int i = 0; i < 9; i++) at[i] -= from[i];
                su_mul33(R, D, DR);
                su_inverse3(DR, inverse);
                su_mul33(at, inverse, F);
                su_elastic_gradient(&b.elastic, y, e, G);
                for (int i = 0; i < 9; i++) worst = fmax(worst, fabs(F[i] + (i % 4 == 0) - G[i]));
                assert_true(fabs(b.elastic.volume[e] / b.elastic.neutral_volume[e] - 1) < 1e-15);
            }
            assert_true(worst < 1e-11);
            free(rest), free(turn), free(force), free(y);
            body_free(&b);
        }
}

/* Rest shape, rotations and flesh moved as one: the same energy, the same forces, turned. */
static void test_turned_rest_moves_rigidly(void **unused)
{
    (void)unused;
    for (int material = 0; material <= SU_TISSUE; material++) {
        body b;
        body_create(&b, 3, (su_material)material, 0, NULL);
        int64_t n = b.box.n;
        double *rest = deformed(&b, 0.3, 2), *turn = turns(&b, 9), *y = deformed(&b, 0.4, 3), *force[2], energy[2];
        const double w[3] = {1.1, -2, 0.5}, shift[3] = {4, -1, 2};
        double q[4], Q[9], difference = 0;
        su_quaternion_exp(w, q);
        su_quaternion_matrix(q, Q);
        for (int moved = 0; moved < 2; moved++) {
            for (int64_t v = 0; v < n && moved; v++) {
                double own[4];
                su_mulv3(Q, rest + 3 * v, rest + 3 * v), su_mulv3(Q, y + 3 * v, y + 3 * v);
                for (int i = 0; i < 3; i++) rest[3 * v + i] += shift[i], y[3 * v + i] += shift[i];
                su_quaternion_multiply(q, turn + 4 * v, own);
                memcpy(turn + 4 * v, own, sizeof own);
            }
            force[moved] = malloc(3 * (size_t)n * sizeof *y);
            su_elastic_set_rest(&b.elastic, rest, turn, 1);
            energy[moved] = su_elastic_energy(&b.elastic, y, 1);
            su_elastic_force(&b.elastic, y, force[moved], 1);
        }
        assert_true(energy[0] > 0.1 && fabs(energy[1] / energy[0] - 1) < 1e-11);
        for (int64_t v = 0; v < n; v++) {
            double expected[3];
            su_mulv3(Q, force[0] + 3 * v, expected);
            for (int i = 0; i < 3; i++) difference = fmax(difference, fabs(expected[i] - force[1][3 * v + i]));
        }
        assert_true(difference < 1e-11 * norm(3 * n, force[0]));
        free(rest), free(turn), free(y), free(force[0]), free(force[1]);
        body_free(&b);
    }
}

/* Where all turn alike the stiffness at rest is that of the neutral flesh, turned, whatever the rest shape: K = R K_X
 * R'. */
static void test_stiffness_of_equal_turns(void **unused)
{
    (void)unused;
    const int32_t held[] = {0, 5, 11};
    for (int material = 0; material <= SU_TISSUE; material++) {
        body b;
        su_sparse neutral, K;
        body_create(&b, 2, (su_material)material, 3, held);
        int64_t n = b.box.n, size = b.elastic.pattern.size;
        double *rest = deformed(&b, 0.3, 2), *turn = malloc(4 * (size_t)n * sizeof *turn);
        double *a = malloc((size_t)size * sizeof *a), *turned = malloc((size_t)size * sizeof *a);
        double *one = malloc((size_t)size * sizeof *a), *two = malloc((size_t)size * sizeof *a), q[4], R[9];
        uint64_t seed = 21;
        su_quaternion_exp((double[]){0.8, -1.7, 0.6}, q);
        su_quaternion_matrix(q, R);
        for (int64_t v = 0; v < n; v++) memcpy(turn + 4 * v, q, sizeof q);
        assert_int_equal(su_sparse_clone_pattern(&b.elastic.pattern, &neutral, NULL), SU_OK);
        assert_int_equal(su_sparse_clone_pattern(&b.elastic.pattern, &K, NULL), SU_OK);
        su_elastic_stiffness(&b.elastic, b.box.vertices, false, &neutral, 1);
        su_elastic_set_rest(&b.elastic, rest, turn, 1);
        su_elastic_stiffness(&b.elastic, rest, false, &K, 1);
        for (int round = 0; round < 5; round++) {
            double difference = 0;
            for (int64_t i = 0; i < size; i++) a[i] = box_random(&seed);
            for (int64_t i = 0; i < size; i += 3) su_tmulv3(R, a + i, turned + i);
            su_sparse_multiply(&K, a, one);
            su_sparse_multiply(&neutral, turned, two);
            for (int64_t i = 0; i < size; i += 3) su_mulv3(R, two + i, two + i);
            for (int64_t i = 0; i < size; i++) difference = fmax(difference, fabs(one[i] - two[i]));
            assert_true(difference < 1e-11 * norm(size, one));
        }
        su_sparse_free(&neutral), su_sparse_free(&K);
        free(rest), free(turn), free(a), free(turned), free(one), free(two);
        body_free(&b);
    }
}

/* Without held vertices K at rest has the six rigid motions and no more as null space. */
static void test_null_space(void **unused)
{
    (void)unused;
    for (int material = 0; material <= SU_TISSUE; material++) {
        body b;
        su_sparse K;
        body_create(&b, 2, (su_material)material, 0, NULL);
        int64_t size = b.elastic.pattern.size;
        assert_int_equal(su_sparse_clone_pattern(&b.elastic.pattern, &K, NULL), SU_OK);
        su_elastic_stiffness(&b.elastic, b.box.vertices, false, &K, 1);
        double *dense = calloc((size_t)(size * size), sizeof *dense), *w = malloc((size_t)size * sizeof *w);
        for (int64_t j = 0; j < size; j++)
            for (int64_t e = K.start[j]; e < K.start[j + 1]; e++) dense[j * size + K.row[e]] = K.value[e];
        assert_int_equal(LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'L', (int)size, dense, (int)size, w), 0);
        assert_true(fabs(w[0]) < 1e-10 * w[size - 1] && fabs(w[5]) < 1e-10 * w[size - 1]);
        assert_true(w[6] > 1e-5 * w[size - 1]);
        free(dense), free(w);
        su_sparse_free(&K);
        body_free(&b);
    }
}

/* Patch test: with one material an affine deformation leaves no force inside. */
static void test_patch(void **unused)
{
    (void)unused;
    const double A[9] = {1.1, 0.2, -0.1, 0.05, 0.9, 0.15, 0.1, -0.2, 1.2};
    for (int material = 0; material <= SU_TISSUE; material++) {
        body b;
        body_create(&b, 4, (su_material)material, 0, NULL);
        int64_t n = b.box.n, inside = 0;
        for (int64_t e = 0; e < b.box.t; e++) b.young[e] = 2000, b.poisson[e] = 0.4;
        su_elastic_set_material(&b.elastic, b.young, b.poisson);
        double *y = malloc(3 * (size_t)n * sizeof *y), *force = malloc(3 * (size_t)n * sizeof *y), worst = 0, most = 0;
        for (int64_t v = 0; v < n; v++) su_mulv3(A, b.box.vertices + 3 * v, y + 3 * v);
        su_elastic_force(&b.elastic, y, force, 1);
        for (int64_t v = 0; v < n; v++) {
            const double *x = b.box.vertices + 3 * v;
            bool interior =
                x[0] > 1e-9 && x[0] < 1 - 1e-9 && x[1] > 1e-9 && x[1] < 0.8 - 1e-9 && x[2] > 1e-9 && x[2] < 1.3 - 1e-9;
            double size = su_norm3(force + 3 * v);
            if (interior) worst = fmax(worst, size), inside++;
            most = fmax(most, size);
        }
        assert_true(inside == 3 * 3 * 4 && most > 1 && worst < 1e-12 * most);
        free(y), free(force);
        body_free(&b);
    }
}

/* Same bits for one, two and three threads, on a mesh of more than one batch. */
static void test_threads(void **unused)
{
    (void)unused;
    const int32_t held[] = {5, 6, 100};
    body b;
    su_sparse K[3];
    body_create(&b, 8, SU_NEOHOOKEAN, 3, held);
    assert_true(b.box.t > 3000);
    int64_t n = b.box.n;
    double *rest = deformed(&b, 0.3, 2), *turn = turns(&b, 9);
    double *y = deformed(&b, 0.2, 4), *force[3], energy[3];
    for (int k = 0; k < 3; k++) {
        assert_int_equal(su_sparse_clone_pattern(&b.elastic.pattern, &K[k], NULL), SU_OK);
        force[k] = malloc(3 * (size_t)n * sizeof *y);
        su_elastic_set_rest(&b.elastic, rest, turn, k + 1);
        energy[k] = su_elastic_energy(&b.elastic, y, k + 1);
        su_elastic_force(&b.elastic, y, force[k], k + 1);
        su_elastic_stiffness(&b.elastic, y, true, &K[k], k + 1);
        assert_memory_equal(&energy[k], &energy[0], sizeof *energy);
        assert_memory_equal(force[k], force[0], 3 * (size_t)n * sizeof **force);
        assert_memory_equal(K[k].value, K[0].value, (size_t)K[0].entries * sizeof(double));
    }
    for (int k = 0; k < 3; k++) su_sparse_free(&K[k]), free(force[k]);
    free(y), free(rest), free(turn);
    body_free(&b);
}

/* docs/formats.md, convention 8: a flattened or inverted tet takes its neutral shape, turned. */
static void test_collapsed_tets(void **unused)
{
    (void)unused;
    const double neutral[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    double inverse[9], volume, rest[12], F[9], D[9], R[9], turn[3] = {0.3, 1, -0.4}, q[4];
    su_quaternion_exp(turn, q);
    su_quaternion_matrix(q, R);
    const double heights[] = {0.11, 0.09, 0, -0.5};
    for (int k = 0; k < 4; k++) {
        memcpy(rest, neutral, sizeof rest);
        rest[11] = heights[k];
        for (int a = 0; a < 4; a++) su_mulv3(R, rest + 3 * a, rest + 3 * a);
        bool applied = su_tet_rest(neutral, rest, inverse, &volume);
        assert_int_equal(applied, k > 0);
        assert_true(fabs(volume - (k ? 1 : heights[k]) / 6) < 1e-15);
        su_tet_edges(neutral, neutral + 3, neutral + 6, neutral + 9, D);
        if (applied) { /* the neutral shape turned by R is free of strain */
            double RD[9];
            su_mul33(R, D, RD);
            su_mul33(RD, inverse, F);
            for (int i = 0; i < 9; i++) assert_true(fabs(F[i] - (i % 4 == 0)) < 1e-14);
        }
    }
    body b;
    body_create(&b, 2, SU_STVK, 0, NULL);
    double *y = malloc(3 * (size_t)b.box.n * sizeof *y);
    for (int64_t i = 0; i < 3 * b.box.n; i++) y[i] = b.box.vertices[i] * (i % 3 == 1 ? 0.05 : 1);
    su_elastic_set_rest(&b.elastic, y, NULL, 1);
    assert_int_equal(b.elastic.collapsed, b.box.t);
    free(y);
    body_free(&b);
}

static void test_mass(void **unused)
{
    (void)unused;
    body b;
    body_create(&b, 3, SU_STVK, 0, NULL);
    double total = 0, expected = 0;
    for (int64_t v = 0; v < b.box.n; v++) total += b.elastic.mass[v];
    for (int64_t e = 0; e < b.box.t; e++) expected += b.density[e] * b.elastic.neutral_volume[e];
    assert_true(fabs(total / expected - 1) < 1e-13);
    double volume = 0;
    for (int64_t e = 0; e < b.box.t; e++) volume += b.elastic.neutral_volume[e];
    assert_true(fabs(volume - 1.0 * 0.8 * 1.3) < 1e-13);
    body_free(&b);
}

static void test_bad_input(void **unused)
{
    (void)unused;
    su_error err;
    su_elastic elastic;
    double x[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 3, 3, 3}, one = 1, bad = 0.5, none = 0;
    int32_t good[4] = {0, 1, 2, 3}, inverted[4] = {0, 2, 1, 3}, far[4] = {0, 1, 2, 9}, held = 7;
    double nu = 0.3;
    assert_int_equal(
        su_elastic_create(
            &elastic,
            &(su_elastic_body){
                .mesh = {4, 1, x, inverted}, .material = SU_STVK, .young = &one, .poisson = &nu, .density = &one},
            &err),
        SU_INPUT);
    assert_int_equal(
        su_elastic_create(
            &elastic,
            &(su_elastic_body){
                .mesh = {4, 1, x, far}, .material = SU_STVK, .young = &one, .poisson = &nu, .density = &one},
            &err),
        SU_INPUT);
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {4, 1, x, good},
                                                          .held_count = 1,
                                                          .held = &held,
                                                          .material = SU_STVK,
                                                          .young = &one,
                                                          .poisson = &nu,
                                                          .density = &one},
                                       &err),
                     SU_INPUT);
    assert_int_equal(
        su_elastic_create(
            &elastic,
            &(su_elastic_body){
                .mesh = {4, 1, x, good}, .material = SU_STVK, .young = &one, .poisson = &bad, .density = &one},
            &err),
        SU_INPUT);
    assert_int_equal(
        su_elastic_create(
            &elastic,
            &(su_elastic_body){
                .mesh = {4, 1, x, good}, .material = SU_STVK, .young = &none, .poisson = &nu, .density = &one},
            &err),
        SU_INPUT);
    assert_int_equal(
        su_elastic_create(
            &elastic,
            &(su_elastic_body){
                .mesh = {5, 1, x, good}, .material = SU_STVK, .young = &one, .poisson = &nu, .density = &one},
            &err),
        SU_INPUT);
    assert_non_null(strstr(err.text, "vertex 4"));
    assert_int_equal(
        su_elastic_create(
            &elastic,
            &(su_elastic_body){
                .mesh = {4, 1, x, good}, .material = SU_STVK, .young = &one, .poisson = &nu, .density = &one},
            &err),
        SU_OK);
    su_elastic_free(&elastic);
}

/* A pose that presses tets flat: their stand-ins keep stiffness, and nothing is pushed at the rest shape itself. */
static void collapsed_tets_are_at_rest(void **unused)
{
    (void)unused;
    beam b = beam_create(3, 1, 1, 3.0, 1.0, 1.0);
    su_elastic flesh;
    assert_int_equal(su_elastic_create(&flesh,
                                       &(su_elastic_body){.mesh = {b.n, b.t, b.vertices, b.tets},
                                                          .held_count = b.held_count,
                                                          .held = b.held,
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = b.young,
                                                          .poisson = b.poisson,
                                                          .density = b.density},
                                       NULL),
                     SU_OK);
    double *x = calloc((size_t)(3 * b.n), sizeof *x), *f = calloc((size_t)(3 * b.n), sizeof *f);
    for (int64_t i = 0; i < 3 * b.n; i++) x[i] = b.vertices[i] * (i % 3 == 1 ? 0.02 : 1.0);
    su_elastic_set_rest(&flesh, x, NULL, 1);
    assert_int_equal(flesh.collapsed, b.t);
    su_elastic_force(&flesh, x, f, 1);
    double most = 0;
    for (int64_t i = 0; i < 3 * b.n; i++) most = fmax(most, fabs(f[i]));
    assert_true(most < 1e-6); /* of 1e5 Pa over 1 m^2 */
    assert_true(su_elastic_energy(&flesh, x, 1) < 1e-9);
    su_sparse K;
    su_cholesky *factor;
    assert_int_equal(su_sparse_clone_pattern(&flesh.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&flesh, x, false, &K, 1);
    assert_int_equal(su_cholesky_create(&flesh.pattern, 1, &factor, NULL), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &K, NULL), SU_OK);
    su_cholesky_free(factor);
    su_sparse_free(&K);
    su_elastic_free(&flesh);
    free(x), free(f);
    beam_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(collapsed_tets_are_at_rest),
                                       cmocka_unit_test(test_turned_rest_is_free_of_stress),
                                       cmocka_unit_test(test_turned_rest_moves_rigidly),
                                       cmocka_unit_test(test_stiffness_of_equal_turns),
                                       cmocka_unit_test(test_force_and_stiffness),
                                       cmocka_unit_test(test_rigid_motion_is_free),
                                       cmocka_unit_test(test_null_space),
                                       cmocka_unit_test(test_patch),
                                       cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_collapsed_tets),
                                       cmocka_unit_test(test_mass),
                                       cmocka_unit_test(test_bad_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
