/* Incomplete Cholesky factors of symmetric positive definite block matrices, without fill: A ~ L D L' with unit lower L
 * of 3 x 3 blocks on A's own pattern. Three digits of L are kept (linalg/bfloat16.h): preconditioners are read more
 * than they are trusted. */
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
/* out (to - from,9): the rotations Q (to - from,9) of the rows, as su_incomplete_solve reads them. */
void su_incomplete_order_turns(const su_incomplete *factor, const double *Q, float *out);
/* z = Q (L D L')^-1 Q' r for the rows [from, to): r, z (to - from,3) from the first of them, z may be r. turns: Q in
 * the factor's order, of the above; NULL: none. work: SU_INCOMPLETE_STRIDE (to - from) floats. Threads may share the
 * factor.
 */
enum { SU_INCOMPLETE_STRIDE = 4 };
void su_incomplete_solve(const su_incomplete *factor, const float *turns, const double *r, double *z, float *work);

#endif
