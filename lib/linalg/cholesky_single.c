#include "linalg/cholesky_single.h"

#include "core/memory.h"
#include "core/vector_clones.h"

#include <cblas.h>
#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a tile, in the lanes of a vector. */
enum { ROWS = SU_SINGLE_ROWS };
typedef float lanes __attribute__((vector_size(4 * ROWS), aligned(4), may_alias));

/* L by supernodes: the rows of one, its own columns first, are the same in all its columns. Of a supernode [L1; L2] is
 * kept [L1^-1; L2 L1^-1], so that a step of a solve is one product: in tiles of ROWS rows, zeros below the last, in
 * each of them a column behind the other. */
struct su_cholesky_single {
    int64_t size, supernodes;
    int32_t *permutation; /* (size) */
    int32_t *first;       /* (supernodes + 1) columns */
    int64_t *rows_at;     /* (supernodes + 1) in row */
    int64_t *values_at;   /* (supernodes + 1) in value */
    int32_t *row;
    float *value;
};

static int tiles_of(int height) { return (height + ROWS - 1) / ROWS; }

/* out = [L1^-1; L2 L1^-1] of L = [L1; L2] (height, width), columns one after the other; so is panel, scratch. */
static void invert_panel(int width, int height, const double *L, double *panel, float *out)
{
    for (int c = 0; c < width; c++)
        for (int r = 0; r < height; r++) panel[c * height + r] = r < c ? 0 : r < width ? r == c : L[c * height + r];
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, height, width, 1, L, height, panel,
                height);
    for (int c = 0; c < width; c++)
        for (int r = 0; r < ROWS * tiles_of(height); r++)
            out[ROWS * (width * (r / ROWS) + c) + r % ROWS] = r < height ? (float)panel[c * height + r] : 0;
}

su_status su_cholesky_single_create(const su_cholesky *factor, su_cholesky_single **out, su_error *err)
{
    const cholmod_factor *L = su_cholesky_supernodes(factor);
    su_status status;
    su_cholesky_single *s = NULL;
    double *panel = NULL;
    *out = NULL;
    if (!L) return su_fail(err, SU_NUMERICS, "a copy of a factorization that is not there");
    const SuiteSparse_long *super = L->super, *pi = L->pi, *px = L->px, *row = L->s, *permutation = L->Perm;
    const double *value = L->x;
    SU_GO(SU_ALLOC(&s, 1, "Cholesky factor", err));
    s->size = (int64_t)L->n, s->supernodes = (int64_t)L->nsuper;
    SU_GO(SU_ALLOC(&s->permutation, s->size, "Cholesky factor", err));
    SU_GO(SU_ALLOC(&s->first, s->supernodes + 1, "Cholesky factor", err));
    SU_GO(SU_ALLOC(&s->rows_at, s->supernodes + 1, "Cholesky factor", err));
    SU_GO(SU_ALLOC(&s->values_at, s->supernodes + 1, "Cholesky factor", err));
    SU_GO(SU_ALLOC(&s->row, (int64_t)L->ssize, "Cholesky factor", err));
    for (int64_t i = 0; i < s->size; i++) s->permutation[i] = (int32_t)permutation[i];
    for (int64_t k = 0; k <= s->supernodes; k++) s->first[k] = (int32_t)super[k], s->rows_at[k] = pi[k];
    for (int64_t i = 0; i < pi[s->supernodes]; i++) s->row[i] = (int32_t)row[i];
    int64_t largest = 0;
    for (int64_t k = 0; k < s->supernodes; k++) {
        int64_t width = super[k + 1] - super[k], height = pi[k + 1] - pi[k];
        s->values_at[k + 1] = s->values_at[k] + ROWS * width * tiles_of((int)height);
        if (width * height > largest) largest = width * height;
    }
    SU_GO(SU_ALLOC(&s->value, s->values_at[s->supernodes], "Cholesky factor", err));
    SU_GO(SU_ALLOC(&panel, largest, "Cholesky factor", err));
    for (int64_t k = 0; k < s->supernodes; k++)
        invert_panel((int)(super[k + 1] - super[k]), (int)(pi[k + 1] - pi[k]), value + px[k], panel,
                     s->value + s->values_at[k]);
    *out = s;
    s = NULL;
done:
    free(panel);
    su_cholesky_single_free(s);
    return status;
}

/* out (ROWS tiles) = P y */
SU_INLINE void multiply(int width, int tiles, const lanes *P, const float *y, lanes *out)
{
    for (int t = 0; t < tiles; t++, P += width) {
        lanes sum[4] = {{0}};
        int c = 0;
        for (; c + 4 <= width; c += 4)
            for (int k = 0; k < 4; k++) sum[k] += P[c + k] * y[c + k];
        for (; c < width; c++) sum[0] += P[c] * y[c];
        out[t] = sum[0] + sum[1] + (sum[2] + sum[3]);
    }
}

/* The sums of the lanes of eight vectors, by halves of each other. */
SU_INLINE void sum_lanes(const lanes v[8], float out[8])
{
    lanes four[4], two[2];
    for (int k = 0; k < 4; k++)
        four[k] =
            __builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
            __builtin_shufflevector(v[2 * k], v[2 * k + 1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30,
                                    31);
    for (int k = 0; k < 2; k++)
        two[k] = __builtin_shufflevector(four[2 * k], four[2 * k + 1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25,
                                         26, 27) +
                 __builtin_shufflevector(four[2 * k], four[2 * k + 1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28,
                                         29, 30, 31);
    lanes one = __builtin_shufflevector(two[0], two[1], 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) +
                __builtin_shufflevector(two[0], two[1], 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
    for (int k = 0; k < 8; k++) out[k] = one[2 * k] + one[2 * k + 1];
}

/* out (columns <= 8) = columns of P' y, of a P with `width` columns */
SU_INLINE void multiply_columns(int columns, int width, int tiles, const lanes *P, const lanes *y, float *out)
{
    lanes sum[8] = {{0}};
    float all[8];
    for (int t = 0; t < tiles; t++, P += width)
        for (int c = 0; c < columns; c++) sum[c] += P[c] * y[t];
    sum_lanes(sum, all);
    for (int c = 0; c < columns; c++) out[c] = all[c];
}

/* out (width) = P' y */
SU_INLINE void multiply_transposed(int width, int tiles, const lanes *P, const lanes *y, float *out)
{
    int c = 0;
    for (; c + 8 <= width; c += 8) multiply_columns(8, width, tiles, P + c, y, out + c);
    switch (width - c) { /* so that sums stay in registers */
    case 1:
        multiply_columns(1, width, tiles, P + c, y, out + c);
        break;
    case 2:
        multiply_columns(2, width, tiles, P + c, y, out + c);
        break;
    case 3:
        multiply_columns(3, width, tiles, P + c, y, out + c);
        break;
    case 4:
        multiply_columns(4, width, tiles, P + c, y, out + c);
        break;
    case 5:
        multiply_columns(5, width, tiles, P + c, y, out + c);
        break;
    case 6:
        multiply_columns(6, width, tiles, P + c, y, out + c);
        break;
    case 7:
        multiply_columns(7, width, tiles, P + c, y, out + c);
        break;
    }
}

SU_CLONES void su_cholesky_single_solve(const su_cholesky_single *s, const double *b, double *x, float *work)
{
    lanes *column = (lanes *)work; /* of a supernode's rows */
    float *panel = work, *y = work + s->size + SU_SINGLE_ROWS;
    for (int64_t i = 0; i < s->size; i++) y[i] = (float)b[s->permutation[i]];
    for (int64_t k = 0; k < s->supernodes; k++) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]);
        const int32_t *row = s->row + s->rows_at[k];
        multiply(width, tiles_of(height), (const lanes *)(s->value + s->values_at[k]), y + s->first[k], column);
        memcpy(y + s->first[k], panel, (size_t)width * sizeof *y);
        for (int i = width; i < height; i++) y[row[i]] -= panel[i];
    }
    for (int64_t k = s->supernodes - 1; k >= 0; k--) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]);
        int tiles = tiles_of(height);
        const int32_t *row = s->row + s->rows_at[k];
        memcpy(panel, y + s->first[k], (size_t)width * sizeof *y);
        for (int i = width; i < height; i++) panel[i] = -y[row[i]];
        for (int i = height; i < ROWS * tiles; i++) panel[i] = 0;
        multiply_transposed(width, tiles, (const lanes *)(s->value + s->values_at[k]), column, y + s->first[k]);
    }
    for (int64_t i = 0; i < s->size; i++) x[s->permutation[i]] = (double)y[i];
}

void su_cholesky_single_free(su_cholesky_single *s)
{
    if (!s) return;
    free(s->permutation), free(s->first), free(s->rows_at), free(s->values_at), free(s->row), free(s->value);
    free(s);
}
