#include "beam.h"
#include "geometry/mat3.h"
#include "geometry/rotation_field.h"
#include "reduce/align/align.h"
#include "reduce/align/interpolate.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void openblas_set_num_threads(int);

static double *take(int64_t count)
{
    double *p = calloc((size_t)count, sizeof *p);
    assert_non_null(p);
    return p;
}

static uint64_t seed = 7;

static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(seed >> 11) / 9007199254740992.0;
    }
    return sum;
}

/* A random orthogonal matrix (k,k). */
static void random_orthogonal(int k, double *Q)
{
    double *tau = take(k);
    for (int i = 0; i < k * k; i++) Q[i] = normal();
    LAPACKE_dgeqrf(LAPACK_ROW_MAJOR, k, k, Q, k, tau);
    LAPACKE_dorgqr(LAPACK_ROW_MAJOR, k, k, k, Q, k, tau);
    free(tau);
}

/* Largest principal angle between the spans of two bases (r,n,3), rad. */
static double largest_angle(const beam *b, const double *mass, int r, const double *A, const double *B)
{
    int64_t rr = (int64_t)r * r;
    double *C = take(rr), *aa = take(rr), *bb = take(rr), *s = take(r), *dummy = take(r);
    assert_int_equal(su_mass_product(r, b->n, mass, A, B, C, 1, NULL), SU_OK);
    assert_int_equal(su_mass_product(r, b->n, mass, A, A, aa, 1, NULL), SU_OK);
    assert_int_equal(su_mass_product(r, b->n, mass, B, B, bb, 1, NULL), SU_OK);
    /* C <- La^-1 C Lb^-T */
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', r, aa, r), 0);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', r, bb, r), 0);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, r, r, 1, aa, r, C, r);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, r, r, 1, bb, r, C, r);
    LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', r, r, C, r, s, NULL, 1, NULL, 1, dummy);
    double angle = acos(fmin(1, s[r - 1]));
    free(C), free(aa), free(bb), free(s), free(dummy);
    return angle;
}

/* Rotation field of a shape. */
static void rotations_of(const beam *b, const double *x, double *q)
{
    su_rotation_field *field;
    assert_int_equal(
        su_rotation_field_create(&(su_tet_mesh){b->n, b->t, b->vertices, b->tets}, NULL, 0, NULL, &field, NULL), SU_OK);
    su_rotation_field_evaluate(field, x, q, 1);
    su_rotation_field_free(field);
}

/* `to` = rows of `from` mixed by Q within [first, first + k). */
static void mix(const beam *b, int first, int k, const double *Q, const double *from, double *to)
{
    int64_t size = 3 * b->n;
    for (int i = 0; i < k; i++)
        for (int64_t a = 0; a < size; a++) {
            double sum = 0;
            for (int j = 0; j < k; j++) sum += Q[i * k + j] * from[(first + j) * size + a];
            to[(first + i) * size + a] = sum;
        }
}

static void procrustes_recovers_a_known_rotation(void **state)
{
    (void)state;
    enum { R = 7 };
    beam b = beam_create(8, 2, 2, 1, 0.2, 0.25);
    int64_t size = 3 * b.n * R;
    double *mass = take(b.n), *U = take(size), *V = take(size), Q[16], P[9], angles[R];
    const int32_t region[R] = {0, 0, 0, 0, 1, 1, 1};
    beam_mass(&b, mass);
    beam_modes(&b, b.vertices, R, U, NULL);
    random_orthogonal(4, Q);
    random_orthogonal(3, P);
    mix(&b, 0, 4, Q, U, V);
    mix(&b, 4, 3, P, U, V);
    const su_alignment what = {.r = R, .n = b.n, .mass = mass, .mode_region = region};
    assert_int_equal(su_procrustes(&what, U, V, angles, 2, NULL), SU_OK);
    for (int64_t i = 0; i < size; i++) assert_float_equal(V[i], U[i], 1e-10);
    for (int k = 0; k < R; k++) assert_float_equal(angles[k], 0, 1e-6);

    /* Mixing across regions is not undone: what the regions hold is left to them. */
    mix(&b, 2, 4, Q, U, V);
    for (int i = 0; i < 2; i++) memcpy(V + i * 3 * b.n, U + i * 3 * b.n, (size_t)(3 * b.n) * sizeof *V);
    memcpy(V + 6 * 3 * b.n, U + 6 * 3 * b.n, (size_t)(3 * b.n) * sizeof *V);
    assert_int_equal(su_procrustes(&what, U, V, angles, 1, NULL), SU_OK);
    double C[R * R];
    assert_int_equal(su_mass_product(R, b.n, mass, V, U, C, 1, NULL), SU_OK);
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++)
            if (region[i] == region[j]) assert_float_equal(C[i * R + j], C[j * R + i], 1e-12);
    double block[9], values[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) block[3 * i + j] = C[(4 + i) * R + 4 + j];
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 3, block, 3, values), 0);
    assert_true(values[0] > -1e-12);
    for (int k = 0; k < 3; k++) assert_float_equal(cos(angles[4 + k]), values[2 - k], 1e-10);
    assert_true(angles[4] <= angles[5] && angles[5] <= angles[6]);
    beam_free(&b);
    free(mass), free(U), free(V);
}

static void the_tree_is_greedy(void **state)
{
    (void)state;
    /* Along a line 0, 1, 3, 7: a chain in that order whatever the numbering; the second parameter does not count. */
    const double params[] = {0, 5, 7, 1, 1, -3, 3, 9}, scale[] = {2, 0};
    int32_t parent[4], order[4];
    su_alignment_tree(4, 2, params, scale, parent, order);
    const int32_t parents[] = {-1, 3, 0, 2}, orders[] = {0, 2, 3, 1};
    assert_memory_equal(parent, parents, sizeof parents);
    assert_memory_equal(order, orders, sizeof orders);
}

static void permuted_modes_of_near_identical_beams(void **state)
{
    (void)state;
    /* PSSD Fig. 6: the two bending modes of a nearly square beam swap when width and height do. */
    enum { R = 2 };
    beam a = beam_create(12, 2, 2, 1, 0.1, 0.1001), c = beam_create(12, 2, 2, 1, 0.1001, 0.1);
    int64_t size = 3 * a.n * R;
    double *mass = take(a.n), *bases = take(2 * size), *U = take(size), *exact = take(size), *q = take(8 * a.n);
    double naive[4], angles[2 * R];
    const double params[] = {0, 1}, scale[] = {1}, half[] = {0.5, 0.5};
    const int32_t region[R] = {0, 0};
    int32_t parent[2];
    beam_mass(&a, mass);
    beam_modes(&a, a.vertices, R, bases, NULL);
    beam_modes(&c, c.vertices, R, bases + size, NULL);
    for (int64_t v = 0; v < 2 * a.n; v++) q[4 * v] = 1;
    /* Signs of modes are arbitrary; this choice is as good as any other. */
    for (int k = 0; k < R; k++) {
        double *u = bases + size + 3 * k * a.n, sum = 0;
        for (int64_t v = 0; v < a.n; v++) sum += mass[v] * su_dot3(u + 3 * v, bases + 3 * ((1 - k) * a.n + v));
        for (int64_t i = 0; i < 3 * a.n; i++) u[i] = sum < 0 ? -u[i] : u[i];
    }
    memcpy(exact, bases, (size_t)size * sizeof *exact);

    /* Columns blended as they come: the modes of the two beams lie across each other, the blend loses a direction. */
    for (int64_t i = 0; i < size; i++) U[i] = 0.5 * (bases[i] + bases[size + i]);
    for (int k = 0; k < R; k++) {
        double s = 0;
        for (int64_t v = 0; v < a.n; v++) s += mass[v] * su_dot3(U + 3 * (k * a.n + v), U + 3 * (k * a.n + v));
        for (int64_t i = 0; i < 3 * a.n; i++) U[3 * k * a.n + i] /= sqrt(s);
    }
    assert_int_equal(su_mass_product(R, a.n, mass, U, U, naive, 1, NULL), SU_OK);

    su_alignment what = {2, R, a.n, 1, params, scale, mass, q, region};
    assert_int_equal(su_align(&what, bases, parent, angles, 1, NULL), SU_OK);
    su_pose_bases blend = {2, R, a.n, bases, q, mass, SU_COROTATED};
    su_interpolate_basis(&blend, half, q, U, 1);
    double angle = largest_angle(&a, mass, R, U, exact);
    printf("# near-identical beams: naive columns %.6f parallel, aligned subspace %.2e rad off\n", fabs(naive[1]),
           angle);
    assert_true(fabs(naive[1]) > 0.999);
    assert_true(angle < 1e-3);
    beam_free(&a), beam_free(&c);
    free(mass), free(bases), free(U), free(exact), free(q);
}

static void a_turned_pose_has_the_same_modes(void **state)
{
    (void)state;
    /* PSSD Fig. 7: pose 1 is pose 0 turned by 90 degrees across the beam, and by 45 degrees half way. */
    enum { R = 6 };
    beam b = beam_create(10, 2, 3, 1, 0.12, 0.1);
    const double axis[3] = {0, 0, 1}, none[3] = {0, 0, 0};
    int64_t size = 3 * b.n * R;
    double *x = take(3 * b.n), *mid = take(3 * b.n), *mass = take(b.n), *bases = take(2 * size),
           *plain = take(2 * size);
    double *q = take(8 * b.n), *at = take(4 * b.n), *one = take(8 * b.n), *U = take(size), *exact = take(size);
    double angles[2 * R];
    const double params[] = {0, 1}, scale[] = {1}, half[] = {0.5, 0.5};
    const int32_t region[R] = {0};
    int32_t parent[2];
    beam_mass(&b, mass);
    beam_turn(&b, axis, M_PI / 2, none, x);
    beam_turn(&b, axis, M_PI / 4, none, mid);
    beam_modes(&b, b.vertices, R, bases, NULL);
    beam_modes(&b, x, R, bases + size, NULL);
    beam_modes(&b, mid, R, exact, NULL);
    memcpy(plain, bases, (size_t)(2 * size) * sizeof *plain);
    rotations_of(&b, b.vertices, q);
    rotations_of(&b, x, q + 4 * b.n);
    rotations_of(&b, mid, at);
    for (int64_t v = 0; v < 2 * b.n; v++) one[4 * v] = 1;

    su_alignment what = {2, R, b.n, 1, params, scale, mass, q, region};
    assert_int_equal(su_align(&what, bases, parent, angles, 1, NULL), SU_OK);
    su_pose_bases blend = {2, R, b.n, bases, q, mass, SU_COROTATED};
    su_interpolate_basis(&blend, half, at, U, 1);
    double ours = largest_angle(&b, mass, R, U, exact);

    what.rotations = one; /* Procrustes alone, without turning back */
    assert_int_equal(su_align(&what, plain, parent, angles, 1, NULL), SU_OK);
    su_pose_bases still = {2, R, b.n, plain, one, mass, SU_LINEAR};
    su_interpolate_basis(&still, half, one, U, 1);
    double only = largest_angle(&b, mass, R, U, exact);
    printf("# pose turned by 90 degrees: largest angle half way %.4f with Procrustes alone, %.2e rad turned back\n",
           only, ours);
    assert_true(ours < 1e-6);
    assert_true(only > 0.1);
    beam_free(&b);
    free(x), free(mid), free(mass), free(bases), free(plain), free(q), free(at), free(one), free(U), free(exact);
}

static void gram_is_exact(void **state)
{
    (void)state;
    enum { M = 3, R = 5 };
    beam b = beam_create(9, 2, 2, 1, 0.15, 0.2);
    int64_t size = 3 * b.n * R;
    double *x = take(3 * b.n), *q = take(4 * b.n * M), *mass = take(b.n), *bases = take(M * size);
    double gram[M * M * R * R], other[M * M * R * R], angles[M * R];
    const double params[] = {0, 0.4, 0.9}, scale[] = {1};
    const int32_t region[R] = {0};
    int32_t parent[M];
    beam_mass(&b, mass);
    for (int i = 0; i < M; i++) {
        beam_bend(&b, params[i], x);
        beam_modes(&b, x, R, bases + i * size, NULL);
        rotations_of(&b, x, q + 4 * i * b.n);
    }
    su_alignment what = {M, R, b.n, 1, params, scale, mass, q, region};
    assert_int_equal(su_align(&what, bases, parent, angles, 1, NULL), SU_OK);
    assert_int_equal(su_gram(M, R, b.n, mass, bases, gram, 1, NULL), SU_OK);
    assert_int_equal(su_gram(M, R, b.n, mass, bases, other, 2, NULL), SU_OK);
    assert_memory_equal(gram, other, sizeof gram);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            for (int k = 0; k < R; k++)
                for (int l = 0; l < R; l++) {
                    double sum = 0;
                    for (int64_t v = 0; v < b.n; v++)
                        sum += mass[v] *
                               su_dot3(bases + i * size + 3 * (k * b.n + v), bases + j * size + 3 * (l * b.n + v));
                    assert_float_equal(gram[((i * M + j) * R + k) * R + l], sum, 1e-12);
                    assert_true(gram[((i * M + j) * R + k) * R + l] == gram[((j * M + i) * R + l) * R + k]);
                    if (i == j) assert_float_equal(sum, k == l, 1e-9);
                }
    beam_free(&b);
    free(x), free(q), free(mass), free(bases);
}

static void example_poses_are_reproduced(void **state)
{
    (void)state;
    /* At an example pose the interpolated basis spans exactly the modes that were computed there, both ways. */
    enum { M = 2, R = 6 };
    beam b = beam_create(10, 2, 2, 1, 0.15, 0.2);
    int64_t size = 3 * b.n * R;
    double *x = take(3 * b.n), *q = take(4 * b.n * M), *mass = take(b.n), *bases = take(M * size), *U = take(size);
    double *exact = take(size), angles[M * R];
    const double params[] = {0, 1.2}, scale[] = {1}, there[] = {0, 1};
    const int32_t region[R] = {0};
    int32_t parent[M];
    beam_mass(&b, mass);
    for (int i = 0; i < M; i++) {
        beam_bend(&b, params[i], x);
        beam_modes(&b, x, R, bases + i * size, NULL);
        rotations_of(&b, x, q + 4 * i * b.n);
    }
    memcpy(exact, bases + size, (size_t)size * sizeof *exact);
    su_alignment what = {M, R, b.n, 1, params, scale, mass, q, region};
    assert_int_equal(su_align(&what, bases, parent, angles, 1, NULL), SU_OK);
    for (int mode = SU_COROTATED; mode <= SU_LINEAR; mode++) {
        su_pose_bases blend = {M, R, b.n, bases, q, mass, (su_interpolation)mode};
        su_interpolate_basis(&blend, there, q + 4 * b.n, U, 2);
        assert_true(largest_angle(&b, mass, R, U, exact) < 1e-6);
    }
    beam_free(&b);
    free(x), free(q), free(mass), free(bases), free(U), free(exact);
}

int main(void)
{
    openblas_set_num_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(procrustes_recovers_a_known_rotation),
        cmocka_unit_test(the_tree_is_greedy),
        cmocka_unit_test(permuted_modes_of_near_identical_beams),
        cmocka_unit_test(a_turned_pose_has_the_same_modes),
        cmocka_unit_test(gram_is_exact),
        cmocka_unit_test(example_poses_are_reproduced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
