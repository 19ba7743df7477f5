/* Locking: between example poses the interpolated modes carry a trace of stiff motion, so that the subspace is too
 * stiff although its projection error is small (docs/reduction.md, section 4). */
#ifndef SU_REDUCE_STIFFENING_H
#define SU_REDUCE_STIFFENING_H

#include "reduce/cubature/pose_space.h"

#include <stdbool.h>

typedef struct su_stiffening {
    double mean, largest; /* of Ritz value / eigenvalue - 1 over the lowest modes */
} su_stiffening;

/* What is left of the recomputed modes outside the span of U. */
typedef struct su_subspace_error {
    double projection; /* sqrt(sum e_k^2 / lambda_k / sum 1 / lambda_k), e_k = |phi_k - P phi_k| in the mass norm */
    double angle;      /* mean of the principal angles, rad */
} su_subspace_error;

typedef struct su_stiffness_probe su_stiffness_probe;

/* Analyzes the pattern of the stiffness once. modes: how many of the lowest are compared (at most r). vectors: for
 * su_subspace_measure, which needs eigenvectors, not only values: all r columns are iterated, and longer. */
su_status su_stiffness_probe_create(su_pose_space *space, int64_t modes, bool vectors, su_stiffness_probe **out,
                                    su_error *err);
void su_stiffness_probe_free(su_stiffness_probe *probe);

/* The modes recomputed at a place against the span of U(p) there (PSSD Fig. 10). */
su_status su_subspace_measure(su_stiffness_probe *probe, const su_place *place, su_subspace_error *out, su_error *err);

/* Ritz values of U(p) against the eigenvalues of K(p) at a place, the latter by subspace iteration that starts from U.
 */
su_status su_stiffness_measure(su_stiffness_probe *probe, const su_place *place, su_stiffening *out, su_error *err);

/* Stiffening over what the bases themselves lack at the example poses: (1 + s) / (1 + sum w+_i s_i) - 1, at_pose (m).
 */
su_stiffening su_stiffening_above(const su_pose_space *space, const su_place *place, const su_stiffening *measured,
                                  const su_stiffening *at_pose);

#endif
