#include "reduce/constrained_inverse.h"

#include "core/memory.h"

#include <SuiteSparseQR_C.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_TOLERANCE 1e-8

void su_constraint_rows_free(su_constraint_rows *C)
{
    if (!C) return;
    free(C->start), free(C->column), free(C->value);
    memset(C, 0, sizeof *C);
}

void su_constraint_multiply(const su_constraint_rows *C, const double *x, double *y)
{
    for (int64_t r = 0; r < C->rows; r++) {
        double sum = 0;
        for (int64_t k = C->start[r]; k < C->start[r + 1]; k++) sum += C->value[k] * x[C->column[k]];
        y[r] = sum;
    }
}

/* Which columns of C' (rows of C) are pivots of its QR factorization: in the staircase R a column is one where it reaches
 * a row that no column before it reached. */
static su_status independent_rows(int64_t size, const su_constraint_rows *C, int32_t *keep, su_error *err)
{
    cholmod_common common;
    cholmod_sparse transposed, *R = NULL;
    SuiteSparse_long *permutation = NULL;
    su_status status = SU_OK;
    if (!cholmod_l_start(&common)) return su_fail(err, SU_AGAIN, "cannot start CHOLMOD");
    common.print = 0;
    memset(&transposed, 0, sizeof transposed);
    transposed.nrow = (size_t)size, transposed.ncol = (size_t)C->rows, transposed.nzmax = (size_t)C->start[C->rows];
    transposed.p = C->start, transposed.i = C->column, transposed.x = C->value;
    transposed.itype = CHOLMOD_LONG, transposed.xtype = CHOLMOD_REAL, transposed.dtype = CHOLMOD_DOUBLE;
    transposed.packed = 1, transposed.sorted = 0;
    double largest = 0;
    for (int64_t r = 0; r < C->rows; r++) {
        double norm = 0;
        for (int64_t k = C->start[r]; k < C->start[r + 1]; k++) norm += C->value[k] * C->value[k];
        largest = fmax(largest, sqrt(norm));
    }
    int64_t rank = SuiteSparseQR_C_QR(SPQR_ORDERING_DEFAULT, RANK_TOLERANCE * largest, (SuiteSparse_long)C->rows,
                                      &transposed, NULL, &R, &permutation, &common);
    if (rank < 0 || !R) {
        status = su_fail(err, common.status == CHOLMOD_OUT_OF_MEMORY ? SU_AGAIN : SU_NUMERICS,
                         "the QR factorization of the contact constraints failed (CHOLMOD status %d)", common.status);
    } else {
        const SuiteSparse_long *start = R->p, *row = R->i;
        SuiteSparse_long reached = 0;
        memset(keep, 0, (size_t)C->rows * sizeof *keep);
        for (int64_t k = 0; k < C->rows; k++) {
            SuiteSparse_long deepest = -1;
            for (SuiteSparse_long e = start[k]; e < start[k + 1]; e++)
                if (row[e] > deepest) deepest = row[e];
            if (deepest < reached) continue;
            reached = deepest + 1;
            keep[permutation ? permutation[k] : k] = 1;
        }
    }
    cholmod_l_free_sparse(&R, &common);
    if (permutation) cholmod_l_free((size_t)C->rows, sizeof *permutation, permutation, &common);
    cholmod_l_finish(&common);
    return status;
}

static void drop_rows(su_constraint_rows *C, const int32_t *keep)
{
    int64_t rows = 0, write = 0, begin = 0;
    for (int64_t r = 0; r < C->rows; r++) {
        int64_t from = begin, to = C->start[r + 1];
        begin = to;
        if (!keep[r]) continue;
        for (int64_t k = from; k < to; k++, write++)
            C->column[write] = C->column[k], C->value[write] = C->value[k];
        C->start[++rows] = write;
    }
    C->rows = rows;
}

static su_status prepare_constraints(su_constrained_inverse *inverse, su_error *err)
{
    su_constraint_rows *C = &inverse->C;
    int64_t size = inverse->size;
    int32_t *keep;
    SU_TRY(SU_ALLOC(&keep, C->rows, "constraints", err));
    su_status status = independent_rows(size, C, keep, err);
    if (status == SU_OK) drop_rows(C, keep);
    free(keep);
    if (status != SU_OK) return status;
    SU_TRY(SU_ALLOC(&inverse->Y, C->rows * size, "constraints", err));
    SU_TRY(SU_ALLOC(&inverse->S, C->rows * C->rows, "constraints", err));
    for (int64_t r = 0; r < C->rows; r++)
        for (int64_t k = C->start[r]; k < C->start[r + 1]; k++) inverse->Y[r * size + C->column[k]] += C->value[k];
    SU_TRY(su_cholesky_solve(inverse->factor, C->rows, inverse->Y, inverse->Y, err));
    for (int64_t r = 0; r < C->rows; r++) su_constraint_multiply(C, inverse->Y + r * size, inverse->S + r * C->rows);
    lapack_int rows = (lapack_int)C->rows;
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', rows, inverse->S, rows) != 0)
        return su_fail(err, SU_NUMERICS, "the contact constraints are dependent");
    return SU_OK;
}

su_status su_constrained_inverse_create(su_constrained_inverse *inverse, int64_t size, su_cholesky *factor,
                                        su_constraint_rows *C, int64_t rigid_count, double *rigid, const double *mass,
                                        su_error *err)
{
    su_status status;
    memset(inverse, 0, sizeof *inverse);
    inverse->size = size, inverse->factor = factor, inverse->rigid_count = rigid_count, inverse->rigid = rigid;
    if (C) {
        inverse->C = *C;
        memset(C, 0, sizeof *C);
    }
    if (rigid_count) {
        SU_GO(SU_ALLOC(&inverse->rigid_mass, rigid_count * size, "rigid modes", err));
        for (int64_t k = 0; k < rigid_count * size; k++) inverse->rigid_mass[k] = mass[k % size] * rigid[k];
    }
    if (inverse->C.rows) SU_GO(prepare_constraints(inverse, err));
    status = SU_OK;
done:
    if (status != SU_OK) su_constrained_inverse_free(inverse);
    return status;
}

void su_constrained_inverse_free(su_constrained_inverse *inverse)
{
    if (!inverse) return;
    su_constraint_rows_free(&inverse->C);
    free(inverse->Y), free(inverse->S), free(inverse->rigid), free(inverse->rigid_mass);
    memset(inverse, 0, sizeof *inverse);
}

/* x -= out_vectors (in_vectors' x), all (count,size) */
static void project_out(int64_t count, int64_t size, const double *in_vectors, const double *out_vectors, double *x)
{
    for (int64_t k = 0; k < count; k++) {
        double dot = 0;
        for (int64_t i = 0; i < size; i++) dot += in_vectors[k * size + i] * x[i];
        for (int64_t i = 0; i < size; i++) x[i] -= dot * out_vectors[k * size + i];
    }
}

su_status su_constrained_inverse_apply(void *context, int64_t columns, const double *b, double *x, su_error *err)
{
    su_constrained_inverse *inverse = context;
    int64_t size = inverse->size, rows = inverse->C.rows;
    const double *right = b;
    if (inverse->rigid_count) {
        if (x != b) memcpy(x, b, (size_t)(columns * size) * sizeof *x);
        for (int64_t c = 0; c < columns; c++)
            project_out(inverse->rigid_count, size, inverse->rigid, inverse->rigid_mass, x + c * size);
        right = x;
    }
    SU_TRY(su_cholesky_solve(inverse->factor, columns, right, x, err));
    for (int64_t c = 0; c < columns && inverse->rigid_count; c++)
        project_out(inverse->rigid_count, size, inverse->rigid_mass, inverse->rigid, x + c * size);
    if (rows == 0) return SU_OK;
    double *force;
    SU_TRY(SU_ALLOC(&force, rows * columns, "constraint forces", err));
    for (int64_t c = 0; c < columns; c++) su_constraint_multiply(&inverse->C, x + c * size, force + c * rows);
    LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', (lapack_int)rows, (lapack_int)columns, inverse->S, (lapack_int)rows, force,
                   (lapack_int)rows);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)size, (int)columns, (int)rows, -1, inverse->Y,
                (int)size, force, (int)rows, 1, x, (int)size);
    free(force);
    return SU_OK;
}

su_status su_constrained_residual(const su_constrained_inverse *inverse, double *r, su_error *err)
{
    const su_constraint_rows *C = &inverse->C;
    int64_t rows = C->rows;
    if (rows == 0) return SU_OK;
    double *gram = NULL, *right = NULL, *dense = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&gram, rows * rows, "constraints", err));
    SU_GO(SU_ALLOC(&right, rows, "constraints", err));
    SU_GO(SU_ALLOC(&dense, inverse->size, "constraints", err));
    for (int64_t k = 0; k < rows; k++) {
        for (int64_t e = C->start[k]; e < C->start[k + 1]; e++) dense[C->column[e]] += C->value[e];
        su_constraint_multiply(C, dense, gram + k * rows);
        for (int64_t e = C->start[k]; e < C->start[k + 1]; e++) dense[C->column[e]] = 0;
    }
    su_constraint_multiply(C, r, right);
    if (LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', (lapack_int)rows, 1, gram, (lapack_int)rows, right, (lapack_int)rows)) {
        status = su_fail(err, SU_NUMERICS, "the contact constraints are dependent");
        goto done;
    }
    for (int64_t k = 0; k < rows; k++)
        for (int64_t e = C->start[k]; e < C->start[k + 1]; e++) r[C->column[e]] -= right[k] * C->value[e];
    status = SU_OK;
done:
    free(gram), free(right), free(dense);
    return status;
}
