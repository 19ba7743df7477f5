#include "linalg/component_factor.h"

#include "core/memory.h"
#include "linalg/cholesky.h"

#include <stdlib.h>

struct su_component_factor {
    su_sparse mean; /* S */
    su_cholesky *factor;
    double *columns; /* (3,size of S) a component after the other */
};

static su_status make_pattern(const su_sparse *pattern, su_sparse *mean, su_error *err)
{
    int64_t blocks = pattern->size / 3, entries = 0;
    for (int64_t b = 0; b < blocks; b++) entries += (pattern->start[3 * b + 1] - pattern->start[3 * b]) / 3;
    mean->size = blocks, mean->entries = entries, mean->owns_pattern = 1;
    SU_TRY(SU_ALLOC(&mean->start, blocks + 1, "the vertices' matrix", err));
    SU_TRY(SU_ALLOC(&mean->row, entries, "the vertices' matrix", err));
    SU_TRY(SU_ALLOC(&mean->value, entries, "the vertices' matrix", err));
    int64_t at = 0;
    for (int64_t b = 0; b < blocks; b++) {
        mean->start[b] = at;
        for (int64_t e = pattern->start[3 * b]; e < pattern->start[3 * b + 1]; e += 3)
            mean->row[at++] = pattern->row[e] / 3;
    }
    mean->start[blocks] = at;
    return SU_OK;
}

su_status su_component_factor_create(const su_sparse *pattern, su_component_factor **out, su_error *err)
{
    su_component_factor *f = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&f, 1, "component factor", err));
    if (!pattern->in_threes) {
        status = su_fail(err, SU_NUMERICS, "a matrix that is not in blocks of three has no factor by components");
        goto done;
    }
    SU_GO(make_pattern(pattern, &f->mean, err));
    SU_GO(SU_ALLOC(&f->columns, pattern->size, "component factor", err));
    SU_GO(su_cholesky_create(&f->mean, 1, &f->factor, err));
    *out = f;
    f = NULL;
done:
    su_component_factor_free(f);
    return status;
}

void su_component_factor_free(su_component_factor *f)
{
    if (!f) return;
    su_cholesky_free(f->factor);
    su_sparse_free(&f->mean);
    free(f->columns);
    free(f);
}

su_status su_component_factor_set(su_component_factor *f, const su_sparse *A, su_error *err)
{
    for (int64_t b = 0; b < f->mean.size; b++)
        for (int64_t e = f->mean.start[b]; e < f->mean.start[b + 1]; e++) {
            int64_t at = 3 * (e - f->mean.start[b]); /* the c-th of a column's block has c entries above it left out */
            double sum = 0;
            for (int c = 0; c < 3; c++) sum += A->value[A->start[3 * b + c] + at];
            f->mean.value[e] = sum / 3;
        }
    return su_cholesky_factorize(f->factor, &f->mean, err);
}

su_status su_component_factor_solve(su_component_factor *f, const double *r, double *z, su_error *err)
{
    int64_t size = f->mean.size;
    for (int64_t b = 0; b < size; b++)
        for (int c = 0; c < 3; c++) f->columns[c * size + b] = r[3 * b + c];
    SU_TRY(su_cholesky_solve(f->factor, 3, f->columns, f->columns, err));
    for (int64_t b = 0; b < size; b++)
        for (int c = 0; c < 3; c++) z[3 * b + c] = f->columns[c * size + b];
    return SU_OK;
}
