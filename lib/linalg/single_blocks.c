#include "linalg/single_blocks.h"

#include "core/memory.h"
#include "core/vector_clones.h"

#include <stdlib.h>

/* The fourth lane holds a number of the next column and says nothing. */
typedef float lanes __attribute__((vector_size(16), aligned(4), may_alias));

enum { STRIDE = 4 }; /* of x */

su_status su_single_blocks_create(const su_blocks *pattern, su_single_blocks *out, su_error *err)
{
    *out = (su_single_blocks){.pattern = pattern};
    SU_TRY(SU_ALLOC(&out->value, 9 * pattern->entries + 1, "stiffness", err));
    return SU_ALLOC(&out->x, STRIDE * pattern->rows, "stiffness", err);
}

void su_single_blocks_free(su_single_blocks *blocks)
{
    free(blocks->value), free(blocks->x);
    *blocks = (su_single_blocks){0};
}

void su_single_blocks_set(su_single_blocks *blocks, const su_blocks *A)
{
    for (int64_t k = 0; k < A->entries; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) blocks->value[9 * k + 3 * j + i] = (float)A->value[9 * k + 3 * i + j];
}

SU_CLONES void su_single_blocks_add_product(su_single_blocks *A, int64_t from, int64_t to, int64_t low, int64_t high,
                                            double factor, const double *x, double *y)
{
    const su_blocks *pattern = A->pattern;
    float *single = A->x;
    for (int64_t c = low; c < high; c++)
        for (int i = 0; i < 3; i++) single[STRIDE * c + i] = (float)x[3 * c + i];
    for (int64_t r = from; r < to; r++) {
        lanes sum = {0};
        for (int64_t k = pattern->start[r]; k < pattern->start[r + 1]; k++) {
            int64_t c = pattern->column[k];
            if (c < low || c >= high) continue;
            const float *a = A->value + 9 * k, *v = single + STRIDE * c;
            sum += v[0] * *(const lanes *)a;
            sum += v[1] * *(const lanes *)(a + 3);
            sum += v[2] * *(const lanes *)(a + 6);
        }
        for (int i = 0; i < 3; i++) y[3 * r + i] += factor * (double)sum[i];
    }
}
