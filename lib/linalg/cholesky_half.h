/* A Cholesky factor whose entries are kept to three digits, as a preconditioner: a quarter of the factor itself to
 * read, and several threads may solve with it at once. */
#ifndef SU_LINALG_CHOLESKY_HALF_H
#define SU_LINALG_CHOLESKY_HALF_H

#include "linalg/cholesky.h"

typedef struct su_cholesky_half su_cholesky_half;

/* Copies the numeric factor of `factor`, which must have one (SU_NUMERICS else) and is not needed later. */
su_status su_cholesky_half_create(const su_cholesky *factor, su_cholesky_half **out, su_error *err);
/* The entries of a numeric factor with the analysis of that which `half` was made from, in place of those there. */
void su_cholesky_half_copy(su_cholesky_half *half, const su_cholesky *factor);
/* Floats that a solve by so many threads works in. */
int64_t su_cholesky_half_room(const su_cholesky_half *factor, int threads);
/* x = A^-1 b for an A within some per cent; always the same, symmetric one, for any number of threads. One right-hand
 * side, x may be b. Sums are in single precision. work: su_cholesky_half_room floats. */
void su_cholesky_half_solve(const su_cholesky_half *factor, int threads, const double *b, double *x, float *work);
void su_cholesky_half_free(su_cholesky_half *factor);

#endif
