#include "linalg/nnls.h"

#include <cblas.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void openblas_set_num_threads(int);

static uint64_t seed = 1;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

/* G = A'A, h = A'b for A (rows,n). */
static void normal(int rows, int n, const double *A, const double *b, double *G, double *h)
{
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, rows, 1, A, n, A, n, 0, G, n);
    cblas_dgemv(CblasRowMajor, CblasTrans, rows, n, 1, A, n, b, 1, 0, h, 1);
}

/* x >= 0, gradient >= 0, x' gradient = 0, each column scaled by its length. */
static void check_optimal(int n, const double *G, const double *h, const double *x, double tolerance)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        if (G[i * n + i] > 0) largest = fmax(largest, fabs(h[i]) / sqrt(G[i * n + i]));
    for (int i = 0; i < n; i++) {
        double g = -h[i], scale = G[i * n + i] > 0 ? 1 / sqrt(G[i * n + i]) : 0;
        for (int j = 0; j < n; j++) g += G[i * n + j] * x[j];
        assert_true(x[i] >= 0);
        assert_true(g * scale > -tolerance * largest);
        if (x[i] > 0) assert_true(fabs(g * scale) < tolerance * largest);
    }
}

static double *take(size_t count)
{
    double *p = calloc(count, sizeof *p);
    assert_non_null(p);
    return p;
}

static void optimality_of_random_problems(void **state)
{
    (void)state;
    const int sizes[][2] = {{1, 1}, {5, 3}, {40, 40}, {300, 120}, {900, 600}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int rows = sizes[s][0], n = sizes[s][1];
        double *A = take((size_t)rows * n), *b = take(rows), *G = take((size_t)n * n), *h = take(n), *x = take(n);
        for (int i = 0; i < rows * n; i++) A[i] = uniform() - 0.4;
        for (int i = 0; i < rows; i++) b[i] = uniform() - 0.3;
        normal(rows, n, A, b, G, h);
        assert_int_equal(su_nnls(n, G, h, x, NULL), SU_OK);
        check_optimal(n, G, h, x, 1e-8);
        /* A warm start changes nothing. */
        double *y = take(n);
        for (int i = 0; i < n; i++) y[i] = i % 2;
        assert_int_equal(su_nnls(n, G, h, y, NULL), SU_OK);
        for (int i = 0; i < n; i++) assert_float_equal(x[i], y[i], 1e-6);
        free(A), free(b), free(G), free(h), free(x), free(y);
    }
}

static void a_known_solution_is_found(void **state)
{
    (void)state;
    /* b = A x for a sparse x >= 0 has residual 0; columns of very different length must not matter. */
    enum { ROWS = 200, N = 150 };
    double *A = take(ROWS * N), *b = take(ROWS), *G = take(N * N), *h = take(N), *x = take(N), *truth = take(N);
    for (int j = 0; j < N; j++) truth[j] = j % 7 == 0 ? 1 + uniform() : 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++) A[i * N + j] = (uniform() - 0.5) * pow(10, j % 5 - 2);
    for (int j = 0; j < N; j++) truth[j] *= pow(10, 2 - j % 5);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++) b[i] += A[i * N + j] * truth[j];
    normal(ROWS, N, A, b, G, h);
    assert_int_equal(su_nnls(N, G, h, x, NULL), SU_OK);
    for (int j = 0; j < N; j++) assert_float_equal(x[j] * pow(10, j % 5 - 2), truth[j] * pow(10, j % 5 - 2), 1e-5);
    free(A), free(b), free(G), free(h), free(x), free(truth);
}

static void dependent_and_empty_columns(void **state)
{
    (void)state;
    /* 60 columns in a space of 20, every tenth a copy of its neighbour, one zero: optimal all the same. */
    enum { ROWS = 20, N = 60 };
    double *A = take(ROWS * N), *b = take(ROWS), *G = take(N * N), *h = take(N), *x = take(N);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++) A[i * N + j] = j == 33 ? 0 : j % 10 == 9 ? A[i * N + j - 1] : uniform();
    for (int i = 0; i < ROWS; i++) b[i] = uniform() + (i % 3 ? 1 : -1);
    normal(ROWS, N, A, b, G, h);
    assert_int_equal(su_nnls(N, G, h, x, NULL), SU_OK);
    assert_true(x[33] == 0);
    check_optimal(N, G, h, x, 1e-6);
    free(A), free(b), free(G), free(h), free(x);
}

static void next_to_nothing_is_left_out(void **state)
{
    (void)state;
    /* A column of length 1e-13 could only help with a weight of 1e13; products of such columns underflow in use. */
    enum { ROWS = 30, N = 12 };
    double *A = take(ROWS * N), *b = take(ROWS), *G = take(N * N), *h = take(N), *x = take(N);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < N; j++) A[i * N + j] = uniform() * (j % 4 == 3 ? 1e-13 : 1);
        b[i] = uniform();
    }
    normal(ROWS, N, A, b, G, h);
    for (int j = 3; j < N; j += 4) G[j * N + j] *= 1e-20; /* as after underflow: no longer semidefinite */
    assert_int_equal(su_nnls(N, G, h, x, NULL), SU_OK);
    for (int j = 0; j < N; j++) assert_true(j % 4 == 3 ? x[j] == 0 : x[j] >= 0 && x[j] < 10);
    free(A), free(b), free(G), free(h), free(x);
}

static void nothing_to_gain_gives_zero(void **state)
{
    (void)state;
    const double G[] = {2, 1, 1, 2}, h[] = {-1, -0.5};
    double x[] = {1, 1};
    assert_int_equal(su_nnls(2, G, h, x, NULL), SU_OK);
    assert_true(x[0] == 0 && x[1] == 0);
}

static void not_finite_is_refused(void **state)
{
    (void)state;
    const double G[] = {NAN}, h[] = {1}, bad[] = {1, 2, 2, 1}, g2[] = {1, 1};
    double x[] = {0, 0};
    su_error err;
    assert_int_equal(su_nnls(1, G, h, x, &err), SU_NUMERICS);
    double both[] = {1, 1};
    assert_int_equal(su_nnls(2, bad, g2, both, &err), SU_NUMERICS);
}

int main(void)
{
    openblas_set_num_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimality_of_random_problems), cmocka_unit_test(a_known_solution_is_found),
        cmocka_unit_test(dependent_and_empty_columns),   cmocka_unit_test(next_to_nothing_is_left_out),
        cmocka_unit_test(nothing_to_gain_gives_zero),    cmocka_unit_test(not_finite_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
