/* Dense symmetric solves of the reduced system, without BLAS: the bytes do not depend on a library's choice of kernel. */
#ifndef SU_RUNTIME_DENSE_H
#define SU_RUNTIME_DENSE_H

#include <stdbool.h>
#include <stdint.h>

/* In-place Cholesky factor L of the lower triangle of A (size, leading dimension lead), row-major. False where A is not
 * positive definite or not finite. */
bool su_dense_cholesky(int64_t size, int64_t lead, double *A);
/* x = (L L')^-1 x */
void su_dense_solve(int64_t size, int64_t lead, const double *L, double *x);
/* y = A x of a full symmetric matrix; deterministic order. */
void su_dense_multiply(int64_t size, int64_t lead, const double *A, const double *x, double *y);

#endif
