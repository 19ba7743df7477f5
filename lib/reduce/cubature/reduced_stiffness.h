/* U'KU: of all tets, of some of them, and its eigenpairs with the mass. */
#ifndef SU_REDUCE_REDUCED_STIFFNESS_H
#define SU_REDUCE_REDUCED_STIFFNESS_H

#include "reduce/cubature/pose_space.h"

/* U'KU (r,r) at the neutral pose, which is entered, here and below. */
su_status su_neutral_stiffness(su_pose_space *space, double *stiffness, su_error *err);

/* U'K_e U (r,r) at the neutral pose, summed over tets (count) times weights (count). */
su_status su_tets_stiffness(su_pose_space *space, int64_t count, const int32_t *tets, const double *weights,
                            double *stiffness, su_error *err);

/* C (r,r), lower, C C' = U'WU with W = (1 - share) M + share m 1, m the mean mass of a free vertex: |C'q| measures
 * displacements in part by mass, in part by vertex, so that tips of little mass are seen as well. The turned basis has
 * one for all poses. SU_NUMERICS where columns of U are dependent. */
su_status su_displacement_norm(su_pose_space *space, double share, double *C, su_error *err);

/* Eigenpairs of (U'KU, U'MU) in the place that was entered, K with its elements projected at positions y (n,3): V (r,r)
 * one a row, l (r) ascending. SU_NUMERICS where columns of U are dependent. */
su_status su_ritz_pairs(su_pose_space *space, const double *y, double *V, double *l, su_error *err);

/* Eigenvalues below this part of the largest are rounding, or the flesh is floating: none is taken for smaller. */
#define SU_LEAST_EIGENVALUE 1e-9

#endif
