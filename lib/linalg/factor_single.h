/* A sparse Cholesky factor computed and kept in single precision, for many right-hand sides at once: half the time and
 * memory of one in double. A preconditioner: what uses it takes its residuals in double. */
#ifndef SU_LINALG_FACTOR_SINGLE_H
#define SU_LINALG_FACTOR_SINGLE_H

#include "linalg/lane_blocks.h"
#include "linalg/sparse.h"

typedef struct su_factor_single su_factor_single;

/* The factor of A + shift diag(A), A symmetric positive definite (size), its rows at points (size,3), which say how to
 * order them (linalg/dissection.h). shift is 0, or the least power of ten from 1e-6 on at which rounding leaves pivots
 * positive. SU_NUMERICS where none up to 1e-2 does. */
su_status su_factor_single_create(const su_sparse *matrix, const double *points, su_factor_single **out, su_error *err);
void su_factor_single_free(su_factor_single *factor);
/* order (size), borrowed: row order[k] of the matrix is row k of the factor. */
const int32_t *su_factor_single_order(const su_factor_single *factor);

/* x = L^-1 x and x = L^-T x, in the order of the factor: x (size,SU_LANES) one block of lane_blocks.h. work
 * (su_factor_single_work(factor)) is scratch. Forward solves cost only what right-hand sides with few entries reach. */
int64_t su_factor_single_work(const su_factor_single *factor);
void su_factor_single_forward(const su_factor_single *factor, float *x, float *work);
void su_factor_single_backward(const su_factor_single *factor, float *x, float *work);
/* entries of L */
int64_t su_factor_single_entries(const su_factor_single *factor);

#endif
