#include "linalg/cholesky_half.h"

#include "core/memory.h"
#include "core/vector_clones.h"

#include <cblas.h>
#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a tile, in the lanes of a vector. */
enum { ROWS = SU_HALF_ROWS };
typedef float lanes __attribute__((vector_size(4 * ROWS), aligned(4), may_alias));
/* bfloat16, the upper half of a float: three digits over its whole range. As a preconditioner that costs one iteration
 * in four hundred and saves half of what a solve reads (docs/notes/2026-11-25-full-step.md). A word has an entry of an
 * even column in its lower half and that of the next column in its upper one. */
typedef uint32_t words __attribute__((vector_size(4 * ROWS), aligned(4), may_alias));

/* L by supernodes: the rows of one, its own columns first, are the same in all its columns. Of a supernode [L1; L2] is
 * kept [L1^-1; L2 L1^-1], so that a step of a solve is one product: in tiles of ROWS rows, zeros below the last, in
 * each of them a column behind the other. */
struct su_cholesky_half {
    int64_t size, supernodes;
    int32_t *permutation; /* (size) */
    int32_t *first;       /* (supernodes + 1) columns */
    int64_t *rows_at;     /* (supernodes + 1) in row */
    int64_t *values_at;   /* (supernodes + 1) in value */
    int32_t *row;
    uint32_t *value;
    double *panel; /* the largest, while entries are copied */
};

/* Words of a row. */
static int pairs_of(int width) { return (width + 1) / 2; }

static uint32_t half_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16; /* to the nearest, ties to even */
}

static int tiles_of(int height) { return (height + ROWS - 1) / ROWS; }

/* out = [L1^-1; L2 L1^-1] of L = [L1; L2] (height, width), columns one after the other; so is panel, scratch. */
static void invert_panel(int width, int height, const double *L, double *panel, uint32_t *out)
{
    for (int c = 0; c < width; c++)
        for (int r = 0; r < height; r++) panel[c * height + r] = r < c ? 0 : r < width ? r == c : L[c * height + r];
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, height, width, 1, L, height, panel,
                height);
    memset(out, 0, (size_t)(ROWS * tiles_of(height) * pairs_of(width)) * sizeof *out);
    for (int c = 0; c < width; c++)
        for (int r = 0; r < height; r++)
            out[ROWS * (pairs_of(width) * (r / ROWS) + c / 2) + r % ROWS] |= half_of((float)panel[c * height + r])
                                                                             << 16 * (c % 2);
}

su_status su_cholesky_half_create(const su_cholesky *factor, su_cholesky_half **out, su_error *err)
{
    const cholmod_factor *L = su_cholesky_supernodes(factor);
    su_status status;
    su_cholesky_half *s = NULL;
    *out = NULL;
    if (!L) return su_fail(err, SU_NUMERICS, "a copy of a factorization that is not there");
    const SuiteSparse_long *super = L->super, *pi = L->pi, *row = L->s, *permutation = L->Perm;
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
        s->values_at[k + 1] = s->values_at[k] + ROWS * pairs_of((int)width) * tiles_of((int)height);
        if (width * height > largest) largest = width * height;
    }
    SU_GO(SU_ALLOC(&s->value, s->values_at[s->supernodes], "Cholesky factor", err));
    SU_GO(SU_ALLOC(&s->panel, largest, "Cholesky factor", err));
    su_cholesky_half_copy(s, factor);
    *out = s;
    s = NULL;
done:
    su_cholesky_half_free(s);
    return status;
}

void su_cholesky_half_copy(su_cholesky_half *s, const su_cholesky *factor)
{
    const cholmod_factor *L = su_cholesky_supernodes(factor);
    const SuiteSparse_long *px = L->px;
    const double *value = L->x;
    for (int64_t k = 0; k < s->supernodes; k++)
        invert_panel(s->first[k + 1] - s->first[k], (int)(s->rows_at[k + 1] - s->rows_at[k]), value + px[k], s->panel,
                     s->value + s->values_at[k]);
}

SU_INLINE lanes even(words x) { return (lanes)(x << 16); }
SU_INLINE lanes odd(words x) { return (lanes)(x & 0xffff0000u); }

/* out (ROWS tiles) = P y */
SU_INLINE void multiply(int width, int tiles, const words *P, const float *y, lanes *out)
{
    for (int t = 0; t < tiles; t++, P += pairs_of(width)) {
        lanes sum[4] = {{0}};
        int c = 0;
        for (; c + 4 <= width; c += 4) {
            const words *here = P + c / 2;
            sum[0] += even(here[0]) * y[c], sum[1] += odd(here[0]) * y[c + 1];
            sum[2] += even(here[1]) * y[c + 2], sum[3] += odd(here[1]) * y[c + 3];
        }
        for (; c < width; c++) sum[c % 2] += (c % 2 ? odd(P[c / 2]) : even(P[c / 2])) * y[c];
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

/* out (columns) = of P' y those of so many pairs of columns; columns is that or one less. stride: pairs from tile to
 * tile. */
SU_INLINE void multiply_pairs(int pairs, int columns, int stride, int tiles, const words *P, const lanes *y, float *out)
{
    lanes sum[8] = {{0}};
    float all[8];
    for (int t = 0; t < tiles; t++, P += stride)
        for (int c = 0; c < pairs; c++) sum[2 * c] += even(P[c]) * y[t], sum[2 * c + 1] += odd(P[c]) * y[t];
    sum_lanes(sum, all);
    for (int c = 0; c < columns; c++) out[c] = all[c];
}

/* out (width) = P' y */
SU_INLINE void multiply_transposed(int width, int tiles, const words *P, const lanes *y, float *out)
{
    int stride = pairs_of(width), c = 0;
    for (; c + 8 <= width; c += 8) multiply_pairs(4, 8, stride, tiles, P + c / 2, y, out + c);
    P += c / 2, out += c;
    switch (stride - c / 2) { /* so that sums stay in registers */
    case 1:
        multiply_pairs(1, width - c, stride, tiles, P, y, out);
        break;
    case 2:
        multiply_pairs(2, width - c, stride, tiles, P, y, out);
        break;
    case 3:
        multiply_pairs(3, width - c, stride, tiles, P, y, out);
        break;
    case 4:
        multiply_pairs(4, width - c, stride, tiles, P, y, out);
    }
}

SU_CLONES void su_cholesky_half_solve(const su_cholesky_half *s, const double *b, double *x, float *work)
{
    lanes *column = (lanes *)work; /* of a supernode's rows */
    float *panel = work, *y = work + s->size + SU_HALF_ROWS;
    for (int64_t i = 0; i < s->size; i++) y[i] = (float)b[s->permutation[i]];
    for (int64_t k = 0; k < s->supernodes; k++) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]);
        const int32_t *row = s->row + s->rows_at[k];
        multiply(width, tiles_of(height), (const words *)(s->value + s->values_at[k]), y + s->first[k], column);
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
        multiply_transposed(width, tiles, (const words *)(s->value + s->values_at[k]), column, y + s->first[k]);
    }
    for (int64_t i = 0; i < s->size; i++) x[s->permutation[i]] = (double)y[i];
}

void su_cholesky_half_free(su_cholesky_half *s)
{
    if (!s) return;
    free(s->permutation), free(s->first), free(s->rows_at), free(s->values_at), free(s->row), free(s->value),
        free(s->panel);
    free(s);
}
