/* Non-negative least squares on the normal equations. */
#ifndef SU_LINALG_NNLS_H
#define SU_LINALG_NNLS_H

#include "core/error.h"

#include <stdint.h>

/* minimizes 1/2 x'Gx - h'x over x >= 0, G (n,n) symmetric positive semidefinite (A'A), h (n) = A'b. x (n): on entry the
 * support to start from (entries > 0; all zero is fine), on exit the solution. Block principal pivoting (Portugal,
 * Judice and Vicente 1994; Kim and Park 2011), which exchanges many variables at a time and needs some ten Cholesky
 * factorizations; where it cycles, Lawson and Hanson's active set, which cannot. Dependent columns are allowed: the
 * scaled matrix gets a ridge of 1e-12; columns shorter than 1e-6 of the longest keep x = 0, their weights would be
 * absurd. Kuhn-Tucker conditions hold to 1e-9 of the scaled gradient. SU_NUMERICS only where G is not semidefinite or
 * not finite. */
su_status su_nnls(int64_t n, const double *G, const double *h, double *x, su_error *err);

#endif
