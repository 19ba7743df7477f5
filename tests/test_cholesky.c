/* Sparse Cholesky: solves, orderings, refusal of indefinite and broken matrices. */
#include "fem/elastic.h"
#include "box.h"
#include "fem/conjugate_gradients.h"
#include "linalg/cholesky_half.h"
#include "linalg/sparse_product.h"
#include "linalg/coarse_space.h"
#include "linalg/component_factor.h"

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
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {box.n, box.t, box.vertices, box.tets},
                                                          .held_count = held_count,
                                                          .held = held,
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = young,
                                                          .poisson = poisson,
                                                          .density = young},
                                       NULL),
                     SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, K, NULL), SU_OK);
    su_elastic_stiffness(&elastic, box.vertices, false, K, 1);
    K->owns_pattern = 1, elastic.pattern.owns_pattern = 0; /* the matrix outlives its mesh here */
    su_elastic_free(&elastic);
    box_mesh_free(&box);
    free(held), free(young), free(poisson);
}

/* By three by three entries as entry by entry. */
static void check_threes(const su_sparse *K)
{
    uint64_t seed = 17;
    int64_t size = K->size;
    su_sparse plain = *K;
    plain.in_threes = false;
    double *x = malloc((size_t)(3 * size) * sizeof *x), *one = x + size, *two = one + size, largest = 0;
    for (int64_t i = 0; i < size; i++) x[i] = box_random(&seed);
    assert_true(K->in_threes);
    su_sparse_multiply(K, x, one), su_sparse_multiply(&plain, x, two);
    for (int64_t i = 0; i < size; i++) largest = fmax(largest, fabs(two[i]));
    for (int64_t i = 0; i < size; i++) assert_true(fabs(one[i] - two[i]) < 1e-13 * largest);
    free(x);
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
        check_threes(&K);
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

/* a' B b = b' B a for the inverse B that it stands for, to the rounding of single precision: conjugate gradients live
 * by that. */
static void assert_symmetric(const su_cholesky_half *half, int64_t size, float *work)
{
    double *a = malloc((size_t)size * sizeof *a), *b = malloc((size_t)size * sizeof *b),
           *x = malloc((size_t)size * sizeof *x), one = 0, two = 0, scale = 0;
    uint64_t seed = 5;
    for (int64_t i = 0; i < size; i++) a[i] = box_random(&seed), b[i] = box_random(&seed);
    su_cholesky_half_solve(half, 1, b, x, work);
    for (int64_t i = 0; i < size; i++) one += a[i] * x[i], scale += fabs(a[i] * x[i]);
    su_cholesky_half_solve(half, 1, a, x, work);
    for (int64_t i = 0; i < size; i++) two += b[i] * x[i];
    assert_true(fabs(one - two) < 1e-5 * scale);
    free(a), free(b), free(x);
}

/* Products by any number of threads are those of one, and as the matrix's own. */
static void test_products(void **unused)
{
    (void)unused;
    const int cells[] = {1, 14}; /* one piece, several */
    for (int k = 0; k < 2; k++) {
        su_sparse K;
        uint64_t seed = 3;
        stiffness(cells[k], &K);
        size_t bytes = (size_t)K.size * sizeof(double);
        double *x = malloc(bytes), *y = malloc(bytes), *one = malloc(bytes), *three = malloc(bytes), off = 0, size = 0;
        for (int64_t i = 0; i < K.size; i++) x[i] = box_random(&seed);
        su_sparse_multiply(&K, x, y);
        for (int threads = 1; threads <= 3; threads += 2) {
            su_sparse_product *product;
            assert_int_equal(su_sparse_product_create(&K, threads, &product, NULL), SU_OK);
            su_sparse_product_multiply(product, &K, x, threads == 1 ? one : three);
            su_sparse_product_free(product);
        }
        assert_memory_equal(one, three, bytes);
        for (int64_t i = 0; i < K.size; i++) off = fmax(off, fabs(one[i] - y[i])), size = fmax(size, fabs(y[i]));
        assert_true(off < 1e-14 * size);
        free(x), free(y), free(one), free(three);
        su_sparse_free(&K);
    }
}

static void test_halves(void **unused)
{
    (void)unused;
    const int cells[] = {1, 7, 14}; /* without and with nested dissection */
    for (int k = 0; k < 3; k++) {
        su_sparse K;
        su_cholesky *factor;
        su_cholesky_half *half;
        uint64_t seed = 3;
        stiffness(cells[k], &K);
        assert_int_equal(su_cholesky_create(&K, 1, &factor, NULL), SU_OK);
        assert_int_equal(su_cholesky_half_create(factor, &half, NULL), SU_NUMERICS); /* nothing to copy */
        assert_int_equal(su_cholesky_factorize(factor, &K, NULL), SU_OK);
        assert_int_equal(su_cholesky_half_create(factor, &half, NULL), SU_OK);
        double *b = malloc((size_t)K.size * sizeof *b), *x = malloc((size_t)K.size * sizeof *x), error = 0, size = 0;
        float *work = malloc((size_t)su_cholesky_half_room(half, 3) * sizeof *work);
        for (int64_t i = 0; i < K.size; i++) b[i] = x[i] = box_random(&seed);
        double *again = malloc((size_t)K.size * sizeof *again);
        su_cholesky_half_solve(half, 3, b, again, work);
        su_cholesky_half_solve(half, 1, x, x, work); /* in place */
        assert_memory_equal(x, again, (size_t)K.size * sizeof *x);
        free(again);
        assert_int_equal(su_cholesky_solve(factor, 1, b, b, NULL), SU_OK);
        for (int64_t i = 0; i < K.size; i++) error += (x[i] - b[i]) * (x[i] - b[i]), size += b[i] * b[i];
        print_message("# %d cells: A^-1 b off by %.2g with halves\n", cells[k], sqrt(error / size));
        assert_true(sqrt(error / size) < 0.05);
        assert_symmetric(half, K.size, work);
        free(b), free(x), free(work);
        su_cholesky_half_free(half), su_cholesky_free(factor);
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

/* A box whose flesh is pressed together by stiff springs, and a factor that knows nothing of them. */
typedef struct stiffened {
    su_cholesky *plain;
    su_coarse_space *space; /* NULL: left out */
    double *rest;
    int64_t size;
    int applied;
} stiffened;

static bool precondition(void *context, double *r, double *z)
{
    stiffened *s = context;
    s->applied++;
    if (s->space) su_coarse_space_before(s->space, r, s->rest);
    if (su_cholesky_solve(s->plain, 1, s->space ? s->rest : r, z, NULL) != SU_OK) return false;
    if (s->space) su_coarse_space_after(s->space, z);
    return true;
}

/* 1 - A S is a projection, B_Z is symmetric, and conjugate gradients need a third of the steps to a thousandth. Entries
 * of a column lie in one vertex, so that springs fit the pattern: beside the matrix they are what they are in it. */
static void test_coarse_space(void **unused)
{
    (void)unused;
    enum { SPRINGS = 40 };
    su_sparse K, A;
    stiffness(6, &K);
    assert_int_equal(su_sparse_clone_pattern(&K, &A, NULL), SU_OK);
    memcpy(A.value, K.value, (size_t)K.entries * sizeof *K.value);
    su_coarse_column column[SPRINGS];
    uint64_t seed = 5;
    double stiff = 0;
    for (int64_t j = 0; j < K.size; j++) stiff = fmax(stiff, 1e4 * K.value[K.start[j]]);
    for (int k = 0; k < SPRINGS; k++) {
        int64_t vertex = 3 * (K.size / 3 / SPRINGS * k);
        for (int i = 0; i < SU_COARSE_ENTRIES; i++)
            column[k].dof[i] = i < 3 ? vertex + i : -1, column[k].value[i] = box_random(&seed);
        for (int64_t j = vertex; j < vertex + 3; j++)
            for (int64_t e = A.start[j]; e < A.start[j + 1]; e++)
                if (A.row[e] < vertex + 3)
                    A.value[e] += stiff * column[k].value[j - vertex] * column[k].value[A.row[e] - vertex];
    }
    su_coupling spring[SPRINGS];
    su_couplings beside = {SPRINGS, spring};
    for (int k = 0; k < SPRINGS; k++) {
        memcpy(spring[k].dof, column[k].dof, sizeof spring[k].dof);
        for (int i = 0; i < SU_COUPLED * SU_COUPLED; i++) {
            int row = i / SU_COUPLED, col = i % SU_COUPLED;
            spring[k].value[i] = row < 3 && col < 3 ? stiff * column[k].value[row] * column[k].value[col] : 1e9;
        }
    }
    stiffened s = {.size = K.size};
    bool definite;
    assert_int_equal(su_cholesky_create(&K, 1, &s.plain, NULL), SU_OK);
    assert_int_equal(su_cholesky_factorize(s.plain, &K, NULL), SU_OK);
    su_coarse_space *space;
    assert_int_equal(su_coarse_space_create(&K, &space, NULL), SU_OK);
    assert_int_equal(su_coarse_space_set(space, &K, &beside, SPRINGS, column, &definite, NULL), SU_OK);
    assert_true(definite);
    double *b = malloc((size_t)K.size * sizeof *b), *x = malloc((size_t)K.size * sizeof *x),
           *y = malloc((size_t)K.size * sizeof *y), *z = malloc((size_t)K.size * sizeof *z);
    s.rest = malloc((size_t)K.size * sizeof *s.rest);
    su_arena arena = {0};
    su_cg_work work = {0};
    assert_true(su_cg_take(&work, &arena, K.size));
    su_preconditioner B = {precondition, &s};
    for (int64_t i = 0; i < K.size; i++) b[i] = box_random(&seed);
    assert_int_equal(su_conjugate_gradients(&A, NULL, B, &work, 1e-12, 500, b, x), SU_CG_SOLVED);
    int applied[2];
    for (int with = 0; with < 2; with++) {
        s.applied = 0, s.space = with ? space : NULL;
        assert_int_equal(su_conjugate_gradients(&K, &beside, B, &work, 1e-3, 500, b, y), SU_CG_SOLVED);
        applied[with] = s.applied;
    }
    print_message("# %d springs: %d iterations, with the coarse space %d\n", SPRINGS, applied[0], applied[1]);
    assert_true(3 * applied[1] <= applied[0]);
    assert_int_equal(su_conjugate_gradients(&K, &beside, B, &work, 1e-12, 500, b, y), SU_CG_SOLVED);
    double scale = 0, far = 0;
    for (int64_t i = 0; i < K.size; i++) scale = fmax(scale, fabs(x[i])), far = fmax(far, fabs(x[i] - y[i]));
    assert_true(far < 1e-6 * scale);
    su_coarse_space_before(space, b, y);
    double twice = 0, size = 0;
    su_coarse_space_before(space, y, x);
    for (int64_t i = 0; i < K.size; i++) size = fmax(size, fabs(y[i])), twice = fmax(twice, fabs(x[i] - y[i]));
    assert_true(size > 0 && twice < 1e-9 * size);
    double one = 0, other = 0; /* b' B_Z y = y' B_Z b */
    for (int64_t i = 0; i < K.size; i++) y[i] = box_random(&seed);
    precondition(&s, b, x), precondition(&s, y, z);
    for (int64_t i = 0; i < K.size; i++) one += y[i] * x[i], other += b[i] * z[i];
    assert_true(fabs(one - other) < 1e-9 * fabs(one));
    column[1] = column[0], spring[1] = spring[0]; /* one that is there, and one of held vertices: passed over */
    for (int i = 0; i < SU_COARSE_ENTRIES; i++) column[2].dof[i] = spring[2].dof[i] = -1;
    assert_int_equal(su_coarse_space_set(space, &K, &beside, SPRINGS, column, &definite, NULL), SU_OK);
    assert_true(definite);
    assert_int_equal(su_conjugate_gradients(&K, &beside, B, &work, 1e-12, 500, b, y), SU_CG_SOLVED);
    for (int i = 0; i < 9; i++) spring[3].value[i / 3 * SU_COUPLED + i % 3] *= -1; /* it pulls where it pressed */
    assert_int_equal(su_coarse_space_set(space, &K, &beside, SPRINGS, column, &definite, NULL), SU_OK);
    assert_false(definite);
    su_coarse_space_free(space), su_cholesky_free(s.plain), su_arena_free(&arena);
    su_sparse_free(&A), su_sparse_free(&K);
    free(b), free(x), free(y), free(z), free(s.rest);
}

static bool by_components(void *context, double *r, double *z)
{
    return su_component_factor_solve(context, r, z, NULL) == SU_OK;
}

/* Iterations to a hundredth of the first error with the components' factor; -1: more than 60. */
static int iterations(su_component_factor *factor, const su_sparse *K)
{
    int64_t size = K->size;
    uint64_t seed = 23;
    double *b = malloc((size_t)(6 * size) * sizeof *b), *x = b + size;
    su_cg_work work = {.r = b + 2 * size, .z = b + 3 * size, .p = b + 4 * size, .Ap = b + 5 * size};
    int most = 1;
    for (int64_t i = 0; i < size; i++) b[i] = box_random(&seed);
    while (most <= 60 && su_conjugate_gradients(K, NULL, (su_preconditioner){by_components, factor}, &work, 1e-2, most,
                                                b, x) != SU_CG_SOLVED)
        most++;
    free(b);
    return most <= 60 ? most : -1;
}

/* Elastic matrices take as many iterations on a fine mesh as on a coarse one; a matrix that is the same for each
 * component is solved exactly. */
static void test_components(void **unused)
{
    (void)unused;
    int taken[2];
    for (int fine = 0; fine < 2; fine++) {
        su_sparse K;
        su_component_factor *factor;
        stiffness(fine ? 16 : 8, &K);
        assert_int_equal(su_component_factor_create(&K, &factor, NULL), SU_OK);
        assert_int_equal(su_component_factor_set(factor, &K, NULL), SU_OK);
        taken[fine] = iterations(factor, &K);
        assert_true(taken[fine] > 0);
        for (int64_t b = 0; b < K.size; b += 3) /* the mean of components in place of K */
            for (int64_t e = K.start[b], k = 0; e < K.start[b + 1]; e += 3, k++)
                for (int c = 0; c < 3; c++)
                    for (int r = k ? 0 : c; r < 3; r++)
                        K.value[K.start[b + c] + (k ? 3 * k - c + r : r - c)] = r == c ? (k ? -1 : 40) : 0;
        assert_int_equal(su_component_factor_set(factor, &K, NULL), SU_OK);
        assert_int_equal(iterations(factor, &K), 1);
        K.value[0] = K.value[K.start[1]] = K.value[K.start[2]] = -1;
        assert_int_equal(su_component_factor_set(factor, &K, NULL), SU_NUMERICS);
        su_component_factor_free(factor);
        K.in_threes = false;
        assert_int_equal(su_component_factor_create(&K, &factor, NULL), SU_NUMERICS);
        su_sparse_free(&K);
    }
    printf("# %d and %d iterations\n", taken[0], taken[1]);
    assert_true(taken[1] <= taken[0] + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_solves),       cmocka_unit_test(test_products),
                                       cmocka_unit_test(test_halves),       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_coarse_space), cmocka_unit_test(test_components)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
