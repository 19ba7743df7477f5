/* Incomplete Cholesky factors of symmetric positive definite block matrices, without fill: A ~ L D L' with unit lower L
 * of 3 x 3 blocks on A's own pattern. Kept in single precision: preconditioners are read more than they are trusted. */
#ifndef SU_SKIN_INCOMPLETE_H
#define SU_SKIN_INCOMPLETE_H

#include "linalg/block_matrix.h"

typedef struct su_incomplete su_incomplete;

/* Of the rows [from, to) of A and their columns among them; factored in the band order of these. Where a pivot is not
 * positive, (1 + shift) times the diagonal is taken, shift rising from 1e-3 by factors of 4 (Manteuffel 1980);
 * SU_NUMERICS where 1 does not help. */
su_status su_incomplete_create(const su_blocks *A, int64_t from, int64_t to, su_incomplete **out, su_error *err);
void su_incomplete_free(su_incomplete *factor);
/* The shift it took. */
double su_incomplete_shift(const su_incomplete *factor);
/* z = Q (L D L')^-1 Q' r for the rows [from, to): r, z (to - from,3) from the first of them, z may be r. Q (to -
 * from,9) a rotation of each row; NULL: none. work: 3 (to - from) floats. Threads may share the factor. */
void su_incomplete_solve(const su_incomplete *factor, const double *Q, const double *r, double *z, float *work);

#endif
