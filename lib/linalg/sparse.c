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
