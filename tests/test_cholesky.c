/* Sparse Cholesky: solves, orderings, refusal of indefinite and broken matrices. */
#include "fem/elastic.h"
#include "box.h"
#include "linalg/cholesky_single.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Stiffness of a box held at one end: size large enough for nested dissection where `cells` >= 6. */
static void stiffness(int cells, su_sparse *K)
{
    box_mesh box = box_mesh_create(cells, cells, cells, 1, 1, 1);
    int64_t held_count = (cells + 1) * (cells + 1);
    int32_t *held = malloc((size_t)held_count * sizeof *held);
    for (int64_t i = 0; i < held_count; i++) held[i] = (int32_t)i;
    double *young = box_constant(box.t, 1e4), *poisson = box_constant(box.t, 0.45);
    su_elastic elastic;
    assert_int_equal(su_elastic_create(&elastic, box.n, box.vertices, box.t, box.tets, held_count, held, SU_NEOHOOKEAN,
                                       young, poisson, young, NULL),
                     SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, K, NULL), SU_OK);
    su_elastic_stiffness(&elastic, box.vertices, false, K, 1);
    K->owns_pattern = 1, elastic.pattern.owns_pattern = 0; /* the matrix outlives its mesh here */
    su_elastic_free(&elastic);
    box_mesh_free(&box);
    free(held), free(young), free(poisson);
}

static void check_solve(su_cholesky *factor, const su_sparse *K, int64_t columns)
{
    uint64_t seed = 11;
    int64_t size = K->size;
    double *b = malloc((size_t)(size * columns) * sizeof *b), *x = malloc((size_t)(size * columns) * sizeof *x);
    double *product = malloc((size_t)size * sizeof *product);
    for (int64_t i = 0; i < size * columns; i++) b[i] = x[i] = box_random(&seed);
    assert_int_equal(su_cholesky_solve(factor, columns, x, x, NULL), SU_OK); /* in place */
    for (int64_t c = 0; c < columns; c++) {
        double error = 0, scale = 0;
        su_sparse_multiply(K, x + c * size, product);
        for (int64_t i = 0; i < size; i++) {
            error = fmax(error, fabs(product[i] - b[c * size + i]));
            scale = fmax(scale, fabs(b[c * size + i]));
        }
        assert_true(error < 1e-9 * scale);
    }
    free(b), free(x), free(product);
}

static void test_solves(void **unused)
{
    (void)unused;
    const int cells[] = {1, 2, 7};
    for (int k = 0; k < 3; k++) {
        su_sparse K;
        su_cholesky *factor;
        stiffness(cells[k], &K);
        assert_int_equal(su_cholesky_create(&K, 1, &factor, NULL), SU_OK);
        assert_int_not_equal(su_cholesky_solve(factor, 1, K.value, K.value, NULL), SU_OK); /* nothing factorized */
        for (int round = 0; round < 2; round++) { /* one analysis, several matrices */
            assert_int_equal(su_cholesky_factorize(factor, &K, NULL), SU_OK);
            check_solve(factor, &K, 1);
            check_solve(factor, &K, 5);
            check_solve(factor, &K, 2);
            for (int64_t j = 0; j < K.size; j++) K.value[K.start[j]] += 1000;
        }
        su_cholesky_free(factor);
        su_sparse_free(&K);
    }
}

static void test_single_precision(void **unused)
{
    (void)unused;
    const int cells[] = {1, 7}; /* with and without nested dissection */
    for (int k = 0; k < 2; k++) {
        su_sparse K;
        su_cholesky *factor;
        su_cholesky_single *single;
        uint64_t seed = 3;
        stiffness(cells[k], &K);
        assert_int_equal(su_cholesky_create(&K, 1, &factor, NULL), SU_OK);
        assert_int_equal(su_cholesky_single_create(factor, &single, NULL), SU_NUMERICS); /* nothing to copy */
        assert_int_equal(su_cholesky_factorize(factor, &K, NULL), SU_OK);
        assert_int_equal(su_cholesky_single_create(factor, &single, NULL), SU_OK);
        double *b = malloc((size_t)K.size * sizeof *b), *x = malloc((size_t)K.size * sizeof *x), error = 0, size = 0;
        float *work = malloc(2 * (size_t)K.size * sizeof *work);
        for (int64_t i = 0; i < K.size; i++) b[i] = x[i] = box_random(&seed);
        su_cholesky_single_solve(single, x, x, work); /* in place */
        assert_int_equal(su_cholesky_solve(factor, 1, b, b, NULL), SU_OK);
        for (int64_t i = 0; i < K.size; i++) error += (x[i] - b[i]) * (x[i] - b[i]), size += b[i] * b[i];
        assert_true(sqrt(error / size) < 1e-5);
        free(b), free(x), free(work);
        su_cholesky_single_free(single), su_cholesky_free(factor);
        su_sparse_free(&K);
    }
}

static void test_refusals(void **unused)
{
    (void)unused;
    su_error err;
    su_sparse K;
    su_cholesky *factor;
    stiffness(3, &K);
    assert_int_equal(su_cholesky_create(&K, 1, &factor, &err), SU_OK);
    double *value = malloc((size_t)K.entries * sizeof *value);
    memcpy(value, K.value, (size_t)K.entries * sizeof *value);
    K.value[K.start[10]] *= -1;
    assert_int_equal(su_cholesky_factorize(factor, &K, &err), SU_NUMERICS);
    assert_non_null(strstr(err.text, "not positive definite"));
    memcpy(K.value, value, (size_t)K.entries * sizeof *value);
    K.value[K.start[10] + 1] = NAN;
    assert_int_equal(su_cholesky_factorize(factor, &K, &err), SU_NUMERICS);
    memcpy(K.value, value, (size_t)K.entries * sizeof *value);
    assert_int_equal(su_cholesky_factorize(factor, &K, &err), SU_OK); /* and it recovers */
    check_solve(factor, &K, 1);
    free(value);
    su_cholesky_free(factor);
    su_sparse_free(&K);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_solves), cmocka_unit_test(test_single_precision),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
