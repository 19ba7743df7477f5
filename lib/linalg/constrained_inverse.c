#include "linalg/constrained_inverse.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <SuiteSparseQR_C.h>
#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Ratio of the largest and the least diagonal entry of a Gram matrix's factor, of which a further pass is useless. */
#define NEARLY_ONE 1.1
#define RANK_TOLERANCE 1e-8

/* Which columns of C' (rows of C) are pivots of its QR factorization: in the staircase R a column is one where it
 * reaches a row that no column before it reached. */
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
        for (int64_t k = from; k < to; k++, write++) C->column[write] = C->column[k], C->value[write] = C->value[k];
        C->start[++rows] = write;
    }
    C->rows = rows;
}

/* Q (n columns of m) orthonormal in place, by Householder's method: slower, for columns of any condition. */
static su_status householder(int m, int n, double *Q, su_error *err)
{
    double *tau;
    SU_TRY(SU_ALLOC(&tau, n, "constraints", err));
    int info = m < n ? 1 : LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, Q, m, tau);
    if (info == 0) info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, m, n, n, Q, m, tau);
    free(tau);
    return info != 0 ? su_fail(err, su_lapack_status(info, SU_NUMERICS), "the contact constraints are dependent")
                     : SU_OK;
}

/* Q (n columns of m) orthonormal in place: Cholesky QR, which repeated is as orthogonal as Householder's, or that one
 * for columns that nearly depend on each other. */
static su_status orthonormalize(int64_t rows, int64_t columns, double *Q, su_error *err)
{
    int m = (int)rows, n = (int)columns;
    double *gram;
    su_status status = SU_OK;
    SU_TRY(SU_ALLOC(&gram, columns * columns, "constraints", err));
    for (int pass = 0; pass < 3; pass++) {
        cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, n, m, 1, Q, m, 0, gram, n);
        if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, gram, n) != 0) {
            status = householder(m, n, Q, err);
            break;
        }
        double lowest = INFINITY, highest = 0;
        for (int64_t r = 0; r < n; r++)
            lowest = fmin(lowest, gram[r * n + r]), highest = fmax(highest, gram[r * n + r]);
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1, gram, n, Q, m);
        if (highest < NEARLY_ONE * lowest) break; /* it was orthonormal to a few digits: now it is to rounding */
    }
    free(gram);
    return status;
}

/* Rows of the dense matrix (count columns of size) that are not zero: which, and packed. */
static su_status pack_rows(int64_t size, int64_t count, const double *dense, int64_t *packed, int64_t **which,
                           double **Q, su_error *err)
{
    *packed = 0;
    SU_TRY(SU_ALLOC(which, size, "constraints", err));
    for (int64_t i = 0; i < size; i++) {
        bool zero = true;
        for (int64_t r = 0; r < count && zero; r++) zero = dense[r * size + i] == 0;
        if (!zero) (*which)[(*packed)++] = i;
    }
    SU_TRY(SU_ALLOC(Q, count * *packed, "constraints", err));
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < *packed; i++) (*Q)[r * *packed + i] = dense[r * size + (*which)[i]];
    return SU_OK;
}

static su_status prepare_constraints(su_constrained_inverse *inverse, su_error *err)
{
    su_constraint_rows *C = &inverse->C;
    int64_t size = inverse->reduced_size;
    int32_t *keep;
    SU_TRY(SU_ALLOC(&keep, C->rows, "constraints", err));
    su_status status = independent_rows(size, C, keep, err);
    if (status == SU_OK) drop_rows(C, keep);
    free(keep);
    if (status != SU_OK) return status;
    double *W;
    SU_TRY(SU_ALLOC(&W, C->rows * size, "constraints", err));
    for (int64_t r = 0; r < C->rows; r++)
        for (int64_t k = C->start[r]; k < C->start[r + 1]; k++) W[r * size + C->column[k]] += C->value[k];
    SU_GO(pack_rows(size, C->rows, W, &inverse->touched_count, &inverse->touched, &inverse->range, err));
    SU_GO(orthonormalize(inverse->touched_count, C->rows, inverse->range, err));
    SU_GO(su_cholesky_forward(inverse->factor, C->rows, W, W, err));
    SU_GO(pack_rows(size, C->rows, W, &inverse->active_count, &inverse->active, &inverse->Q, err));
    SU_GO(orthonormalize(inverse->active_count, C->rows, inverse->Q, err));
done:
    free(W);
    return status;
}

su_status su_constrained_inverse_prepare(su_constrained_inverse *inverse, const double *mass, su_error *err)
{
    int64_t size = inverse->size, count = inverse->rigid_count * size;
    inverse->reduced_size = inverse->Z.start ? 3 * inverse->Z.kept : size;
    if (count) SU_TRY(SU_ALLOC(&inverse->rigid_mass, count, "rigid modes", err));
    for (int64_t k = 0; k < count; k++) inverse->rigid_mass[k] = mass[k % size] * inverse->rigid[k];
    if (inverse->C.rows) SU_TRY(prepare_constraints(inverse, err));
    inverse->constraints = size - inverse->reduced_size + inverse->C.rows;
    return SU_OK;
}

void su_constrained_inverse_free(su_constrained_inverse *inverse)
{
    if (!inverse) return;
    su_constraint_rows_free(&inverse->C);
    su_elimination_free(&inverse->Z);
    free(inverse->touched), free(inverse->range), free(inverse->active), free(inverse->Q);
    free(inverse->rigid), free(inverse->rigid_mass);
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

/* x = P' L^-T (I - Q Q') L^-1 P b, on the degrees of freedom left */
static su_status projected_solve(su_constrained_inverse *inverse, int64_t columns, const double *b, double *x,
                                 su_error *err)
{
    int64_t size = inverse->reduced_size, rows = inverse->C.rows, count = inverse->active_count;
    double *part = NULL, *inner = NULL;
    su_status status;
    if (rows == 0) return su_cholesky_solve(inverse->factor, columns, b, x, err);
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(part, count * columns), SU_WANT(inner, rows * columns)));
    SU_GO(su_cholesky_forward(inverse->factor, columns, b, x, err));
    for (int64_t c = 0; c < columns; c++)
        for (int64_t i = 0; i < count; i++) part[c * count + i] = x[c * size + inverse->active[i]];
    int m = (int)count, n = (int)rows, k = (int)columns;
    if (k == 1) { /* dgemm would copy Q */
        cblas_dgemv(CblasColMajor, CblasTrans, m, n, 1, inverse->Q, m, part, 1, 0, inner, 1);
        cblas_dgemv(CblasColMajor, CblasNoTrans, m, n, -1, inverse->Q, m, inner, 1, 1, part, 1);
    } else {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, k, m, 1, inverse->Q, m, part, m, 0, inner, n);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, k, n, -1, inverse->Q, m, inner, n, 1, part, m);
    }
    for (int64_t c = 0; c < columns; c++)
        for (int64_t i = 0; i < count; i++) x[c * size + inverse->active[i]] = part[c * count + i];
    SU_GO(su_cholesky_backward(inverse->factor, columns, x, x, err));
done:
    free(part), free(inner);
    return status;
}

su_status su_constrained_inverse_apply(void *context, int64_t columns, const double *b, double *x, su_error *err)
{
    su_constrained_inverse *inverse = context;
    int64_t size = inverse->size;
    const double *right = b;
    if (inverse->rigid_count) {
        if (x != b) memcpy(x, b, (size_t)(columns * size) * sizeof *x);
        for (int64_t c = 0; c < columns; c++)
            project_out(inverse->rigid_count, size, inverse->rigid, inverse->rigid_mass, x + c * size);
        right = x;
    }
    if (inverse->Z.start) {
        double *y;
        SU_TRY(SU_ALLOC(&y, inverse->reduced_size * columns, "constraints", err));
        su_elimination_restrict(&inverse->Z, columns, right, y);
        su_status status = projected_solve(inverse, columns, y, y, err);
        if (status == SU_OK) su_elimination_expand(&inverse->Z, columns, y, x);
        free(y);
        if (status != SU_OK) return status;
    } else {
        SU_TRY(projected_solve(inverse, columns, right, x, err));
    }
    for (int64_t c = 0; c < columns && inverse->rigid_count; c++)
        project_out(inverse->rigid_count, size, inverse->rigid_mass, inverse->rigid, x + c * size);
    return SU_OK;
}

su_status su_constrained_residual(const su_constrained_inverse *inverse, const double *r, double *norm, su_error *err)
{
    int64_t size = inverse->reduced_size, rows = inverse->C.rows, count = inverse->touched_count;
    double *left = NULL, *part = NULL, *inner = NULL, square = 0;
    int m = (int)count, n = (int)rows;
    su_status status;
    SU_GO(SU_ALLOC(&left, size, "constraints", err));
    if (inverse->Z.start)
        su_elimination_restrict(&inverse->Z, 1, r, left);
    else
        memcpy(left, r, (size_t)size * sizeof *r);
    if (rows) {
        SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(part, count), SU_WANT(inner, rows)));
        for (int64_t i = 0; i < count; i++) part[i] = left[inverse->touched[i]];
        for (int pass = 0; pass < 2; pass++) { /* what is taken out is far larger than what is left */
            cblas_dgemv(CblasColMajor, CblasTrans, m, n, 1, inverse->range, m, part, 1, 0, inner, 1);
            cblas_dgemv(CblasColMajor, CblasNoTrans, m, n, -1, inverse->range, m, inner, 1, 1, part, 1);
        }
        for (int64_t i = 0; i < count; i++) left[inverse->touched[i]] = part[i];
    }
    for (int64_t i = 0; i < size; i++) square += left[i] * left[i];
    *norm = sqrt(square);
    status = SU_OK;
done:
    free(left), free(part), free(inner);
    return status;
}
