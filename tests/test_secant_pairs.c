/* What quasi-Newton methods remember: on a quadratic function, whose minimum they must find. */
#include "geometry/secant_pairs.h"

#include "geometry/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 6 };

/* gradient of x'Ax/2 - b'x, A with the eigenvalues 1 to 6 in other axes */
static void gradient(const double *x, double *g)
{
    double n[SIZE] = {0.3, -0.5, 0.2, 0.6, -0.4, 0.3}, size = su_norm(SIZE, n), y[SIZE];
    for (int i = 0; i < SIZE; i++) n[i] /= size;
    double along = su_dot(SIZE, n, x); /* A = H D H, H = 1 - 2nn' */
    for (int i = 0; i < SIZE; i++) y[i] = (i + 1) * (x[i] - 2 * along * n[i]);
    along = su_dot(SIZE, n, y);
    for (int i = 0; i < SIZE; i++) g[i] = y[i] - 2 * along * n[i] - (i - 2);
}

static void take(su_secant_pairs *pairs, su_arena *arena)
{
    su_error err = {0};
    assert_int_equal(su_secant_pairs_take(pairs, arena, SU_SECANT_PAIRS, SIZE, &err), SU_OK);
}

/* The direction satisfies the secant equation of its newest pair: H y = s. */
static void the_newest_pair_is_met(void **unused)
{
    (void)unused;
    su_arena arena = {0};
    su_secant_pairs pairs;
    double d[SIZE], before[SIZE] = {0}, after[SIZE];
    take(&pairs, &arena);
    for (int k = 0; k < SU_SECANT_PAIRS + 3; k++) {
        for (int i = 0; i < SIZE; i++) d[i] = ((k * 7 + i * 5) % 11) - 4.5;
        gradient(d, after), gradient((double[SIZE]){0}, before);
        su_secant_pairs_add(&pairs, 0.5, d, before, after);
        for (int i = 0; i < SIZE; i++) after[i] -= before[i];
        su_secant_pairs_before(&pairs, after);
        su_secant_pairs_after(&pairs, after);
        for (int i = 0; i < SIZE; i++) assert_float_equal(after[i], 0.5 * d[i], 1e-10);
    }
    assert_int_equal(pairs.count, SU_SECANT_PAIRS);
    su_arena_free(&arena);
}

/* Around a first matrix that is off by up to six, whole steps come to the minimum. */
static void a_quadratic_is_minimized(void **unused)
{
    (void)unused;
    su_arena arena = {0};
    su_secant_pairs pairs;
    double x[SIZE] = {0}, g[SIZE], last[SIZE], d[SIZE];
    take(&pairs, &arena);
    gradient(x, g);
    double first = su_norm(SIZE, g);
    for (int k = 0; k < 40 && su_norm(SIZE, g) > 1e-10 * first; k++) {
        memcpy(d, g, sizeof d), memcpy(last, g, sizeof last);
        su_secant_pairs_before(&pairs, d);
        for (int i = 0; i < SIZE; i++) d[i] /= 6;
        su_secant_pairs_after(&pairs, d);
        for (int i = 0; i < SIZE; i++) x[i] -= d[i];
        gradient(x, g);
        su_secant_pairs_add(&pairs, -1, d, last, g);
    }
    assert_true(su_norm(SIZE, g) <= 1e-10 * first);
    su_arena_free(&arena);
}

/* A pair without positive curvature teaches nothing. */
static void curvature_is_positive(void **unused)
{
    (void)unused;
    su_arena arena = {0};
    su_secant_pairs pairs;
    const double d[SIZE] = {1, 2, 3, 4, 5, 6}, zero[SIZE] = {0}, back[SIZE] = {-1, -2, -3, -4, -5, -6};
    take(&pairs, &arena);
    su_secant_pairs_add(&pairs, 1, d, zero, back);
    su_secant_pairs_add(&pairs, 1, d, zero, zero);
    assert_int_equal(pairs.count, 0);
    assert_float_equal(su_secant_pairs_scale(&pairs), 1, 0);
    su_secant_pairs_add(&pairs, 1, d, back, d); /* change 2d */
    assert_int_equal(pairs.count, 1);
    assert_float_equal(su_secant_pairs_scale(&pairs), 0.5, 1e-15);
    su_secant_pairs_forget(&pairs);
    assert_int_equal(pairs.count, 0);
    su_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_pair_is_met),
        cmocka_unit_test(a_quadratic_is_minimized),
        cmocka_unit_test(curvature_is_positive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
