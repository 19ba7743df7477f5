/* Singular values, nearest rotations, quaternions, rigid fits. */
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lapacke.h>

static uint64_t state = 7;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / (double)(1ull << 52) - 1.0;
}

static void check_rotation(const double r[9])
{
    double product[9];
    su_mult33(r, r, product);
    for (int i = 0; i < 9; i++) assert_true(fabs(product[i] - (i % 4 == 0)) < 4e-15);
    assert_true(fabs(su_det3(r) - 1) < 4e-15);
}

static void random_rotation(double r[9])
{
    double q[4], norm = 0;
    for (int i = 0; i < 4; i++) q[i] = uniform(), norm += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrt(norm);
    su_quaternion_matrix(q, r);
}

static void check_svd(const double m[9])
{
    double u[9], s[3], v[9], us[9], back[9], copy[9], lapack[3], work[2], scale = 0;
    su_svd3(m, u, s, v);
    check_rotation(u), check_rotation(v);
    for (int i = 0; i < 9; i++) us[i] = u[i] * s[i % 3], scale = fmax(scale, fabs(m[i]));
    su_mult33(us, v, back);
    for (int i = 0; i < 9; i++) assert_true(fabs(back[i] - m[i]) <= 5e-15 * scale);
    assert_true(s[0] >= s[1] && s[1] >= fabs(s[2]));
    memcpy(copy, m, sizeof copy);
    double dummy[9];
    assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', 3, 3, copy, 3, lapack, dummy, 3, dummy, 3, work), 0);
    for (int i = 0; i < 3; i++) assert_true(fabs(fabs(s[i]) - lapack[i]) <= 1e-14 * scale);
    double det = su_det3(m);
    if (fabs(det) > 1e-12 * scale * scale * scale) assert_true((s[2] > 0) == (det > 0));
}

static void test_svd(void **unused)
{
    (void)unused;
    for (int round = 0; round < 500; round++) {
        double m[9];
        for (int i = 0; i < 9; i++) m[i] = uniform();
        check_svd(m);
    }
    const double special[][9] = {{0},
                                 {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                 {-1, 0, 0, 0, -1, 0, 0, 0, -1},
                                 {1, 0, 0, 0, 1, 0, 0, 0, -1},
                                 {0, 0, 0, 0, 2, 0, 0, 0, 0},
                                 {1, 1, 1, 1, 1, 1, 1, 1, 1},
                                 {1, 2, 3, 2, 4, 6, 1, 0, 1},
                                 {1, 0, 0, 0, 1e-9, 0, 0, 0, 1e-18},
                                 {1e150, 0, 0, 0, 1e150, 3e149, 0, 0, 1e140},
                                 {1e-200, 0, 2e-200, 0, 1e-201, 0, 0, 0, 1e-200}};
    for (size_t k = 0; k < sizeof special / sizeof *special; k++) check_svd(special[k]);
}

/* Singular values of graded matrices keep their relative accuracy. */
static void test_svd_keeps_small_values(void **unused)
{
    (void)unused;
    for (int round = 0; round < 50; round++) {
        double v[9], m[9], u[9], s[3], w[9];
        const double exact[3] = {1, 1e-6, 1e-12};
        random_rotation(v);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) m[3 * i + j] = exact[i] * v[3 * i + j]; /* diag(exact) V */
        su_svd3(m, u, s, w);
        for (int i = 0; i < 3; i++) assert_true(fabs(s[i] / exact[i] - 1) < 1e-13);
    }
}

/* No rotation is nearer: tr(R'm) falls in every direction, also for negative determinants. */
static void test_nearest_rotation_is_nearest(void **unused)
{
    (void)unused;
    for (int round = 0; round < 200; round++) {
        double m[9], r[9];
        for (int i = 0; i < 9; i++) m[i] = uniform();
        su_nearest_rotation(m, r);
        check_rotation(r);
        double best = 0;
        for (int i = 0; i < 9; i++) best += r[i] * m[i];
        for (int k = 0; k < 20; k++) {
            double turn[3] = {0.3 * uniform(), 0.3 * uniform(), 0.3 * uniform()}, q[4], t[9], other[9], value = 0;
            if (k % 2) turn[0] *= 10, turn[1] *= 10, turn[2] *= 10;
            su_quaternion_exp(turn, q);
            su_quaternion_matrix(q, t);
            su_mul33(t, r, other);
            for (int i = 0; i < 9; i++) value += other[i] * m[i];
            assert_true(value <= best + 1e-14);
        }
    }
    double zero[9] = {0}, r[9];
    su_nearest_rotation(zero, r);
    for (int i = 0; i < 9; i++) assert_true(r[i] == (i % 4 == 0));
}

static void test_quaternions(void **unused)
{
    (void)unused;
    for (int round = 0; round < 300; round++) {
        double v[3] = {uniform(), uniform(), uniform()}, q[4], r[9], back[4], w[3];
        double norm = su_norm3(v), angle = round % 3 == 0   ? 3.14159265 * fabs(uniform())
                                           : round % 3 == 1 ? 1e-9
                                                            : 3.1415926535;
        for (int i = 0; i < 3; i++) v[i] *= angle / norm;
        su_quaternion_exp(v, q);
        su_quaternion_matrix(q, r);
        check_rotation(r);
        su_quaternion_of(r, back);
        assert_true(back[0] >= 0);
        su_quaternion_log(back, w);
        for (int i = 0; i < 3; i++) assert_true(fabs(w[i] - v[i]) < 1e-7 && (angle > 3.1 || fabs(w[i] - v[i]) < 1e-14));
        /* products of quaternions are products of matrices */
        double r2[9], q2[4], q3[4], r3[9], product[9];
        random_rotation(r2);
        su_quaternion_of(r2, q2);
        su_quaternion_multiply(q, q2, q3);
        su_quaternion_matrix(q3, r3);
        su_mul33(r, r2, product);
        for (int i = 0; i < 9; i++) assert_true(fabs(r3[i] - product[i]) < 1e-14);
    }
    /* half turns about each axis, where w = 0 */
    for (int axis = 0; axis < 3; axis++) {
        double r[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1}, q[4], v[3];
        r[4 * axis] = 1;
        su_quaternion_of(r, q);
        su_quaternion_log(q, v);
        assert_true(fabs(fabs(v[axis]) - acos(-1.0)) < 1e-15);
    }
}

static void test_rigid_fit(void **unused)
{
    (void)unused;
    for (int round = 0; round < 100; round++) {
        double a[30], b[30], w[10], r[9], c[3], got[9], shift[3];
        int flat = round % 2; /* coplanar points have a unique proper rotation too */
        random_rotation(r);
        for (int i = 0; i < 3; i++) c[i] = 10 * uniform();
        for (int k = 0; k < 10; k++) {
            w[k] = 1.5 + uniform();
            for (int i = 0; i < 3; i++) a[3 * k + i] = flat && i == 2 ? 0 : uniform();
            su_mulv3(r, a + 3 * k, b + 3 * k);
            for (int i = 0; i < 3; i++) b[3 * k + i] += c[i];
        }
        su_rigid_fit(10, a, b, round % 3 ? w : NULL, got, shift);
        for (int i = 0; i < 9; i++) assert_true(fabs(got[i] - r[i]) < 1e-12);
        for (int i = 0; i < 3; i++) assert_true(fabs(shift[i] - c[i]) < 1e-12);
    }
}

/* Several at once as one by one: turned, stretched, mirrored, flat and empty matrices. */
static void lanes_of(const su_rotation_kernels *kernels)
{
    enum { COUNT = 29 };
    double F[9 * COUNT], R[9 * COUNT], one[9], two[9];
    for (int k = 0; k < COUNT; k++) {
        random_rotation(one);
        for (int i = 0; i < 9; i++) two[i] = (i % 4 == 0) + (k % 4 == 0 ? 0.8 : 0.05) * uniform();
        su_mul33(one, two, F + 9 * k);
        for (int i = 0; i < 3; i++) F[9 * k + 3 * i + 2] *= k % 7 == 3 ? -1 : k % 7 == 5 ? 0 : 1;
        if (k == 12) memset(F + 9 * k, 0, 9 * sizeof *F);
    }
    kernels->nearest(COUNT, F, R);
    for (int k = 0; k < COUNT; k++) {
        su_nearest_rotation(F + 9 * k, one);
        for (int i = 0; i < 9; i++) assert_true(fabs(R[9 * k + i] - one[i]) < 1e-12);
        kernels->nearest(1, F + 9 * k, one);
        assert_memory_equal(R + 9 * k, one, sizeof one); /* whoever its neighbours are */
    }
    double q[4 * 4 * COUNT];
    int32_t tets[4 * COUNT];
    for (int k = 0; k < COUNT; k++) {
        double mean[9], turn[9], own[9], v[3], small[4];
        random_rotation(mean);
        for (int c = 0; c < 4; c++) { /* up to half a radian apart, and one quaternion the other way round */
            for (int i = 0; i < 3; i++) v[i] = (k % 5 == 0 ? 1e-4 : 0.25) * uniform();
            su_quaternion_exp(v, small);
            su_quaternion_matrix(small, turn);
            su_mul33(mean, turn, own);
            su_quaternion_of(own, q + 4 * (4 * k + c));
            for (int i = 0; i < 4 && c == 2; i++) q[4 * (4 * k + c) + i] *= -1;
            tets[4 * k + c] = 4 * k + c;
        }
    }
    kernels->mean(COUNT, tets, q, R);
    for (int k = 0; k < COUNT; k++) {
        const double *corner[4] = {q + 16 * k, q + 16 * k + 4, q + 16 * k + 8, q + 16 * k + 12};
        su_mean_rotation(corner, one);
        for (int i = 0; i < 9; i++) assert_true(fabs(R[9 * k + i] - one[i]) < 1e-13);
        kernels->mean(1, tets + 4 * k, q, one);
        assert_memory_equal(R + 9 * k, one, sizeof one);
    }
    if (kernels != SU_OF_SET_HERE(su_rotation_kernels)) return;
    double all[9 * COUNT];
    su_tet_rotations(COUNT, tets, q, 3, all);
    assert_memory_equal(all, R, sizeof all);
    su_nearest_rotations(COUNT, F, R);
    kernels->nearest(COUNT, F, all);
    assert_memory_equal(all, R, sizeof all);
}

static void test_lanes(void **unused)
{
    (void)unused;
    for (int set = 0; set <= (int)su_vector_set_here(); set++) lanes_of(SU_OF_SET(su_rotation_kernels, set));
}

static void test_right_angles(void **unused)
{
    (void)unused;
    double r[SU_RIGHT_ANGLES][9], product[9];
    su_right_angles(r);
    for (int i = 0; i < SU_RIGHT_ANGLES; i++)
        for (int j = 0; j < SU_RIGHT_ANGLES; j++) { /* a group of as many */
            int found = 0;
            su_mult33(r[i], r[j], product);
            assert_true(su_det3(product) == 1.0);
            for (int k = 0; k < SU_RIGHT_ANGLES; k++) found += memcmp(product, r[k], sizeof product) == 0;
            double angle = su_rotation_angle(r[i], r[j]);
            assert_true((i == j) == (angle < 1e-6) && (found == 1 || product[0] == 0.0));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_svd),
                                       cmocka_unit_test(test_svd_keeps_small_values),
                                       cmocka_unit_test(test_nearest_rotation_is_nearest),
                                       cmocka_unit_test(test_quaternions),
                                       cmocka_unit_test(test_right_angles),
                                       cmocka_unit_test(test_rigid_fit),
                                       cmocka_unit_test(test_lanes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
