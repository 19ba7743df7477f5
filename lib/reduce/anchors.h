/* The linear part of the elastic force between example poses: reduced stiffness at a number of places ("anchors"), blended
 * as matrices (Amsallem and Farhat 2011; the bases are aligned, so that entries mean the same everywhere). What is blended are the
 * symmetric square roots: where soft directions turn from anchor to anchor, a mean of the matrices themselves is stiff along all of
 * them, by the square of the angle times what is stiffest; a mean of roots is stiff by its fourth power. And squares are
 * never indefinite, so that weights may have any sign. */
#ifndef SU_REDUCE_ANCHORS_H
#define SU_REDUCE_ANCHORS_H

#include "reduce/training_places.h"

typedef struct su_anchors {
    int64_t count;
    double *params;       /* (count,s) */
    double *rbf;          /* (count,count) of biharmonic weights, rig/rbf.h; blends */
    double *roots;        /* (count,r,r) (U'KU)^(1/2) at each anchor, 1/s */
} su_anchors;

/* unlock: so many of the lowest motions are freed of locking (reduce/stiffening.h); 0: the stiffness as U(p) has it. Anchors at all
 * training places but those that are nearer to an earlier one than a hundredth of the mean distance between
 * example poses. */
su_status su_anchors_create(su_pose_space *space, const su_training_places *places, int64_t unlock, su_anchors *out,
                            su_error *err);
void su_anchors_free(su_anchors *anchors);

/* Root of a symmetric positive semidefinite matrix (r,r), in place; eigenvalues below 0 count as 0. */
su_status su_symmetric_root(int64_t r, double *matrix, su_error *err);

/* stiffness (r,r) at parameters p (s). work (count + r r): scratch. */
void su_anchors_blend(const su_pose_space *space, const su_anchors *anchors, const double *p, double *work,
                      double *stiffness);

#endif
