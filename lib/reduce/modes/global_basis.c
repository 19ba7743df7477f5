#include "reduce/modes/global_basis.h"

#include "core/memory.h"
#include "linalg/eigen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Directions of a Gram matrix are independent from this part of its largest eigenvalue on: a length of 1e-5. */
#define INDEPENDENT 1e-10

/* `wanted` directions of modes first .. first + count - 1 of all poses. */
static su_status one_region(const su_basis *bases, const double *gram, int64_t first, int64_t count, int64_t wanted,
                            double *out, su_error *err)
{
    int64_t m = bases->m, r = bases->r, n = bases->n;
    const double *basis = bases->basis;
    int64_t size = m * count;
    double *matrix = NULL, *values = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("a global basis", err, SU_WANT(matrix, size * size), SU_WANT(values, size)));
    for (int64_t a = 0; a < size; a++)
        for (int64_t b = 0; b < size; b++) {
            const double *block = gram + (a / count * m + b / count) * r * r;
            matrix[a * size + b] = block[(first + a % count) * r + first + b % count];
        }
    SU_GO(su_eigen_symmetric(size, matrix, values, err));
    for (int64_t k = 0; k < wanted; k++) {
        int64_t at = size - 1 - k;
        if (at < 0 || !(values[at] > INDEPENDENT * values[size - 1]))
            SU_GO(su_fail(err, SU_USAGE,
                          "the bases of a region of %lld modes span %lld directions at all poses, %lld are wanted",
                          (long long)count, (long long)k, (long long)wanted));
        double *to = out + 3 * k * n;
        su_eigen_fix_sign(size, matrix + at * size);
        for (int64_t a = 0; a < size; a++) {
            double share = matrix[at * size + a] / sqrt(values[at]);
            const double *from = basis + 3 * (a / count * r + first + a % count) * n;
            for (int64_t i = 0; i < 3 * n; i++) to[i] += share * from[i];
        }
    }
done:
    free(matrix), free(values);
    return status;
}

su_status su_global_basis(const su_basis *bases, const double *gram, int64_t wanted, double *out, int32_t *out_region,
                          su_error *err)
{
    const int32_t *mode_region = bases->mode_region;
    int64_t r = bases->r, n = bases->n;
    memset(out, 0, (size_t)(3 * wanted * n) * sizeof *out);
    for (int64_t first = 0, end; first < r; first = end) {
        for (end = first; end < r && mode_region[end] == mode_region[first];) end++;
        int64_t from = first * wanted / r, to = end * wanted / r;
        SU_TRY(one_region(bases, gram, first, end - first, to - from, out + 3 * from * n, err));
        for (int64_t k = from; k < to; k++) out_region[k] = mode_region[first];
    }
    return SU_OK;
}
