#include "linalg/cholesky_single.h"

#include "core/memory.h"

#include <cblas.h>
#include <cholmod.h>
#include <stdlib.h>
#include <string.h>

/* L by supernodes: the rows of one, its own columns first, are the same in all its columns, which stand one after the
 * other. Of a supernode [L1; L2] is kept [L1^-1; L2 L1^-1], so that a step of a solve is one product. */
struct su_cholesky_single {
    int64_t size, supernodes;
    int32_t *permutation; /* (size) */
    int32_t *first;       /* (supernodes + 1) columns */
    int64_t *rows_at;     /* (supernodes + 1) in row */
    int64_t *values_at;   /* (supernodes) in value */
    int32_t *row;
    float *value;
};

static int64_t largest_panel(const cholmod_factor *L)
{
    const SuiteSparse_long *super = L->super, *pi = L->pi;
    int64_t most = 0;
    for (size_t k = 0; k < L->nsuper; k++) {
        int64_t size = (super[k + 1] - super[k]) * (pi[k + 1] - pi[k]);
        if (size > most) most = size;
    }
    return most;
}

/* out = [L1^-1; L2 L1^-1] of L = [L1; L2] (height, width), columns one after the other. */
static void invert_panel(int width, int height, const double *L, double *panel, float *out)
{
    for (int c = 0; c < width; c++)
        for (int r = 0; r < height; r++) panel[c * height + r] = r < c ? 0 : r < width ? r == c : L[c * height + r];
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, height, width, 1, L, height, panel,
                height);
    for (int i = 0; i < width * height; i++) out[i] = (float)panel[i];
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
    SU_GO(SU_ALLOC(&s->values_at, s->supernodes, "Cholesky factor", err));
    SU_GO(SU_ALLOC(&s->row, (int64_t)L->ssize, "Cholesky factor", err));
    SU_GO(SU_ALLOC(&s->value, (int64_t)L->xsize, "Cholesky factor", err));
    for (int64_t i = 0; i < s->size; i++) s->permutation[i] = (int32_t)permutation[i];
    for (int64_t k = 0; k <= s->supernodes; k++) s->first[k] = (int32_t)super[k], s->rows_at[k] = pi[k];
    for (int64_t k = 0; k < s->supernodes; k++) s->values_at[k] = px[k];
    for (int64_t i = 0; i < pi[s->supernodes]; i++) s->row[i] = (int32_t)row[i];
    SU_GO(SU_ALLOC(&panel, largest_panel(L), "Cholesky factor", err));
    for (int64_t k = 0; k < s->supernodes; k++)
        invert_panel((int)(super[k + 1] - super[k]), (int)(pi[k + 1] - pi[k]), value + px[k], panel, s->value + px[k]);
    *out = s;
    s = NULL;
done:
    free(panel);
    su_cholesky_single_free(s);
    return status;
}

void su_cholesky_single_solve(const su_cholesky_single *s, const double *b, double *x, float *work)
{
    float *y = work, *panel = work + s->size;
    for (int64_t i = 0; i < s->size; i++) y[i] = (float)b[s->permutation[i]];
    for (int64_t k = 0; k < s->supernodes; k++) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]);
        const int32_t *row = s->row + s->rows_at[k];
        cblas_sgemv(CblasColMajor, CblasNoTrans, height, width, 1, s->value + s->values_at[k], height, y + s->first[k],
                    1, 0, panel, 1);
        memcpy(y + s->first[k], panel, (size_t)width * sizeof *y);
        for (int i = width; i < height; i++) y[row[i]] -= panel[i];
    }
    for (int64_t k = s->supernodes - 1; k >= 0; k--) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]);
        const int32_t *row = s->row + s->rows_at[k];
        memcpy(panel, y + s->first[k], (size_t)width * sizeof *y);
        for (int i = width; i < height; i++) panel[i] = -y[row[i]];
        cblas_sgemv(CblasColMajor, CblasTrans, height, width, 1, s->value + s->values_at[k], height, panel, 1, 0,
                    y + s->first[k], 1);
    }
    for (int64_t i = 0; i < s->size; i++) x[s->permutation[i]] = (double)y[i];
}

void su_cholesky_single_free(su_cholesky_single *s)
{
    if (!s) return;
    free(s->permutation), free(s->first), free(s->rows_at), free(s->values_at), free(s->row), free(s->value);
    free(s);
}
