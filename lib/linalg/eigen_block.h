/* Lowest eigenpairs of a symmetric operator by a preconditioned block method. */
#ifndef SU_LINALG_EIGEN_BLOCK_H
#define SU_LINALG_EIGEN_BLOCK_H

#include "core/error.h"
#include "core/progress.h"

#include <stdint.h>

/* What the method knows of the operator A (size,size), symmetric and semidefinite; `columns` vectors stand one after
 * the other. */
typedef struct su_block_operator {
    int64_t size;
    int64_t rank;  /* dimension of the subspace that project leaves */
    int64_t width; /* columns that precondition takes at once best, and at most */
    /* y = A x */
    su_status (*apply)(void *context, int64_t columns, const double *x, double *y, su_error *err);
    /* x = T x in place, T near the inverse of A on the subspace that project leaves; errors of T cost steps, not
     * digits. Need not stay in the subspace. */
    su_status (*precondition)(void *context, int64_t columns, double *x, su_error *err);
    /* x = P x, the orthogonal projection onto the subspace of interest; NULL: all vectors. */
    su_status (*project)(void *context, int64_t columns, double *x, su_error *err);
    /* x = S x in place in single precision, x (size,SU_LANES) with a row's entries beside each other, row i of it
     * being row order[i]: S the inverse of A + shift on that subspace, symmetric. NULL: there is none such; the method
     * then begins at random vectors. */
    void (*inverse)(void *context, float *x);
    const int32_t *order;
    void *context;
} su_block_operator;

typedef struct su_block_report {
    int64_t steps, applications; /* columns that A was applied to */
    double residual;             /* largest |P T P (A x - lambda x)|, the error that is left in the vectors */
} su_block_report;

/* The `count` lowest eigenvalues of P A P on the range of P, ascending, and orthonormal vectors (count,size): block
 * Davidson (Davidson 1975; Morgan and Scott 1986), whose space grows by the preconditioned residuals of the lowest
 * `width` vectors that have not converged. From a fixed start; ends where all residuals are at most `tolerance`. The
 * component of largest size of each vector is positive. SU_INPUT where count > rank, SU_NUMERICS where it does not
 * converge. report may be NULL. */
su_status su_eigen_block(const su_block_operator *A, int64_t count, double tolerance, double *values, double *vectors,
                         su_block_report *report, const su_progress *progress, su_error *err);

#endif
