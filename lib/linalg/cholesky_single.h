/* A Cholesky factor in single precision, as a preconditioner: half as much to read as the factor itself, and several
 * threads may solve with it at once. */
#ifndef SU_LINALG_CHOLESKY_SINGLE_H
#define SU_LINALG_CHOLESKY_SINGLE_H

#include "linalg/cholesky.h"

typedef struct su_cholesky_single su_cholesky_single;

/* Copies the numeric factor of `factor`, which must have one (SU_NUMERICS else) and is not needed later. */
su_status su_cholesky_single_create(const su_cholesky *factor, su_cholesky_single **out, su_error *err);
/* Rows that are taken at once. */
enum { SU_SINGLE_ROWS = 16 };
/* x = A^-1 b to about 1e-6 of the condition number; one right-hand side, x may be b. work: 2 size + SU_SINGLE_ROWS
 * floats. */
void su_cholesky_single_solve(const su_cholesky_single *factor, const double *b, double *x, float *work);
void su_cholesky_single_free(su_cholesky_single *factor);

#endif
