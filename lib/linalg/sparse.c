#include "linalg/sparse.h"

#include "core/memory.h"

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

void su_sparse_multiply(const su_sparse *matrix, const double *x, double *y)
{
    memset(y, 0, (size_t)matrix->size * sizeof *y);
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
