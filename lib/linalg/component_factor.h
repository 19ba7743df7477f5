/* Preconditioner of matrices of 3 x 3 blocks (three degrees of freedom a vertex): one factor of S, the mean of the
 * three diagonal entries of each block, for all components. Of a positive definite A, S is so too, and does not change
 * where components are turned. By Korn's inequality S (x) 1 is within constants of an elastic A, whatever the size of
 * its mesh; of a Laplacian it is A itself. A factor has a ninth of the entries of A's own and takes a 27th of the work.
 */
#ifndef SU_LINALG_COMPONENT_FACTOR_H
#define SU_LINALG_COMPONENT_FACTOR_H

#include "linalg/sparse.h"

typedef struct su_component_factor su_component_factor;

/* For matrices of this pattern, which is in threes. */
su_status su_component_factor_create(const su_sparse *pattern, su_component_factor **out, su_error *err);
void su_component_factor_free(su_component_factor *factor);
/* Factors S. SU_NUMERICS where it is not positive definite. */
su_status su_component_factor_set(su_component_factor *factor, const su_sparse *A, su_error *err);
/* z = (S (x) 1)^-1 r; z may be r. */
su_status su_component_factor_solve(su_component_factor *factor, const double *r, double *z, su_error *err);

#endif
