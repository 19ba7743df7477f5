#include "linalg/sparse.h"

#include "core/memory.h"
#include "core/vector_clones.h"

#include <stdlib.h>
#include <string.h>

su_status su_sparse_clone_pattern(const su_sparse *pattern, su_sparse *out, su_error *err)
{
    su_sparse clone = *pattern;
    clone.owns_pattern = 0;
    clone.value = NULL;
    SU_TRY(SU_ALLOC(&clone.value, pattern->entries, "sparse matrix", err));
    *out = clone;
    return SU_OK;
}

void su_sparse_free(su_sparse *matrix)
{
    if (!matrix) return;
    if (matrix->owns_pattern) {
        free(matrix->start);
        free(matrix->row);
    }
    free(matrix->value);
    memset(matrix, 0, sizeof *matrix);
}

/* Three entries and one more, whose products are zero or are not looked at. */
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

/* y += A x of a matrix in threes. Of the last three rows, behind which x and y end, numbers are taken one by one. */
SU_CLONES static void add_product_in_threes(const su_sparse *A, const double *x, double *y)
{
    int64_t end = A->size - 3;
    for (int64_t j = 0; j < A->size; j += 3) {
        const int64_t *row = A->row + A->start[j];
        int64_t length = A->start[j + 1] - A->start[j];
        const double *c0 = A->value + A->start[j], *c1 = c0 + length - 1, *c2 = c1 + length - 2;
        double x0 = x[j], x1 = x[j + 1], x2 = x[j + 2];
        double y0 = c0[0] * x0 + c0[1] * x1 + c0[2] * x2, y1 = c0[1] * x0 + c1[1] * x1 + c1[2] * x2,
               y2 = c0[2] * x0 + c1[2] * x1 + c2[2] * x2;
        four a = {x0, x0, x0}, b = {x1, x1, x1}, c = {x2, x2, x2}, s0 = {0}, s1 = {0}, s2 = {0};
        int64_t k = 3;
        for (; k < length && row[k] < end; k += 3) {
            four f0 = *(const four *)(c0 + k), f1 = *(const four *)(c1 + k), f2 = *(const four *)(c2 + k);
            four there = *(const four *)(x + row[k]);
            s0 += f0 * there, s1 += f1 * there, s2 += f2 * there;
            *(four *)(y + row[k]) += f0 * a + f1 * b + f2 * c;
        }
        for (; k < length; k++) {
            double there = x[row[k]];
            y0 += c0[k] * there, y1 += c1[k] * there, y2 += c2[k] * there;
            y[row[k]] += c0[k] * x0 + c1[k] * x1 + c2[k] * x2;
        }
        y[j] += y0 + (s0[0] + s0[1] + s0[2]), y[j + 1] += y1 + (s1[0] + s1[1] + s1[2]);
        y[j + 2] += y2 + (s2[0] + s2[1] + s2[2]);
    }
}

void su_sparse_multiply(const su_sparse *matrix, const double *x, double *y)
{
    memset(y, 0, (size_t)matrix->size * sizeof *y);
    if (matrix->in_threes) {
        add_product_in_threes(matrix, x, y);
        return;
    }
    for (int64_t j = 0; j < matrix->size; j++) {
        double sum = 0;
        for (int64_t e = matrix->start[j]; e < matrix->start[j + 1]; e++) {
            int64_t i = matrix->row[e];
            sum += matrix->value[e] * x[i];
            if (i != j) y[i] += matrix->value[e] * x[j];
        }
        y[j] += sum;
    }
}

enum { TOGETHER = SU_SPARSE_LANES };

void su_sparse_multiply_interleaved(const su_sparse *matrix, const double *x, double *y)
{
    memset(y, 0, (size_t)(TOGETHER * matrix->size) * sizeof *y);
    for (int64_t j = 0; j < matrix->size; j++) {
        double sum[TOGETHER] = {0}, here[TOGETHER];
        memcpy(here, x + TOGETHER * j, sizeof here);
        for (int64_t e = matrix->start[j]; e < matrix->start[j + 1]; e++) {
            int64_t i = matrix->row[e];
            double a = matrix->value[e];
            for (int k = 0; k < TOGETHER; k++) sum[k] += a * x[TOGETHER * i + k];
            if (i == j) continue;
            for (int k = 0; k < TOGETHER; k++) y[TOGETHER * i + k] += a * here[k];
        }
        for (int k = 0; k < TOGETHER; k++) y[TOGETHER * j + k] += sum[k];
    }
}

su_status su_sparse_multiply_many(const su_sparse *matrix, int64_t count, const double *x, double *y, int threads,
                                  su_error *err)
{
    int64_t size = matrix->size, parts = (count + TOGETHER - 1) / TOGETHER;
    int team = threads < parts ? threads : (int)parts;
    double *work;
    if (count == 0) return SU_OK;
    SU_TRY(SU_ALLOC(&work, 2 * TOGETHER * size * team, "products", err));
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
    for (int t = 0; t < team; t++) {
        double *in = work + 2 * TOGETHER * size * t, *out = in + TOGETHER * size;
        for (int64_t p = t; p < parts; p += team) {
            int64_t first = TOGETHER * p, some = count - first < TOGETHER ? count - first : TOGETHER;
            for (int64_t k = 0; k < some; k++)
                for (int64_t i = 0; i < size; i++) in[TOGETHER * i + k] = x[(first + k) * size + i];
            su_sparse_multiply_interleaved(matrix, in, out);
            for (int64_t k = 0; k < some; k++)
                for (int64_t i = 0; i < size; i++) y[(first + k) * size + i] = out[TOGETHER * i + k];
        }
    }
    free(work);
    return SU_OK;
}
