/* A preconditioner made exact on a small space (a balancing, or two-level, preconditioner: Mandel 1993; Nabben and Vuik
 * 2008). Columns c of few entries are what makes A stiff and B knows nothing of; Z has two damped Jacobi sweeps towards
 * A^-1 c for each (as smoothed aggregation has: Vanek, Mandel and Brezina 1996), which take half of the steps that c
 * itself takes. With S = Z (Z'AZ)^-1 Z',
 *   B_Z = (1 - S A) B (1 - A S) + S. */
#ifndef SU_LINALG_COARSE_SPACE_H
#define SU_LINALG_COARSE_SPACE_H

#include "linalg/couplings.h"
#include "linalg/sparse.h"

#include <stdbool.h>

enum { SU_COARSE_ENTRIES = SU_COUPLED }; /* of a column, at most */

/* One column: value[i] at dof[i], the three dofs of a vertex beside each other; dofs are different, -1: no entry. */
typedef struct su_coarse_column {
    int64_t dof[SU_COARSE_ENTRIES];
    double value[SU_COARSE_ENTRIES];
} su_coarse_column;

typedef struct su_coarse_space su_coarse_space;

/* For matrices of this pattern, in threes, which is borrowed. */
su_status su_coarse_space_create(const su_sparse *pattern, su_coarse_space **out, su_error *err);
void su_coarse_space_free(su_coarse_space *space);

/* Takes columns and A with what stands beside it, which is what makes it stiff (NULL: nothing), none of them kept.
 * Grows where columns are more than ever before. Vectors that those before them
 * hold are left out. *definite: Z'AZ is; else the space cannot be used, and A has a
 * direction of no positive curvature (to rounding). */
su_status su_coarse_space_set(su_coarse_space *space, const su_sparse *A, const su_couplings *beside, int64_t count,
                              const su_coarse_column *columns, bool *definite, su_error *err);

/* z = B_Z r in two halves around z = B rest, (size) each: rest = r - A S r; */
void su_coarse_space_before(su_coarse_space *space, const double *r, double *rest);
/* z += S r - S A z, of the r above. */
void su_coarse_space_after(su_coarse_space *space, double *z);

#endif
