#include "linalg/cholesky_single.h"

#include "core/memory.h"

#include <cblas.h>
#include <cholmod.h>
#include <stdlib.h>

/* L by supernodes: the rows of one, its own columns first, are the same in all its columns, which stand one after the other. */
struct su_cholesky_single {
    int64_t size, supernodes;
    int32_t *permutation;    /* (size) */
    int32_t *first;          /* (supernodes + 1) columns */
    int64_t *rows_at;        /* (supernodes + 1) in row */
    int64_t *values_at;      /* (supernodes) in value */
    int32_t *row;
    float *value;
};

su_status su_cholesky_single_create(const su_cholesky *factor, su_cholesky_single **out, su_error *err)
{
    const cholmod_factor *L = su_cholesky_supernodes(factor);
    su_status status;
    su_cholesky_single *s = NULL;
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
    for (int64_t i = 0; i < px[s->supernodes]; i++) s->value[i] = (float)value[i];
    *out = s;
    s = NULL;
done:
    su_cholesky_single_free(s);
    return status;
}

void su_cholesky_single_solve(const su_cholesky_single *s, const double *b, double *x, float *work)
{
    float *y = work, *below = work + s->size;
    for (int64_t i = 0; i < s->size; i++) y[i] = (float)b[s->permutation[i]];
    for (int64_t k = 0; k < s->supernodes; k++) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]), rest = height - width;
        const float *L = s->value + s->values_at[k];
        const int32_t *row = s->row + s->rows_at[k] + width;
        float *own = y + s->first[k];
        cblas_strsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, width, L, height, own, 1);
        if (rest == 0) continue;
        cblas_sgemv(CblasColMajor, CblasNoTrans, rest, width, 1, L + width, height, own, 1, 0, below, 1);
        for (int i = 0; i < rest; i++) y[row[i]] -= below[i];
    }
    for (int64_t k = s->supernodes - 1; k >= 0; k--) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]), rest = height - width;
        const float *L = s->value + s->values_at[k];
        const int32_t *row = s->row + s->rows_at[k] + width;
        float *own = y + s->first[k];
        for (int i = 0; i < rest; i++) below[i] = y[row[i]];
        if (rest > 0) cblas_sgemv(CblasColMajor, CblasTrans, rest, width, -1, L + width, height, below, 1, 1, own, 1);
        cblas_strsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, width, L, height, own, 1);
    }
    for (int64_t i = 0; i < s->size; i++) x[s->permutation[i]] = (double)y[i];
}

void su_cholesky_single_free(su_cholesky_single *s)
{
    if (!s) return;
    free(s->permutation), free(s->first), free(s->rows_at), free(s->values_at), free(s->row), free(s->value);
    free(s);
}
