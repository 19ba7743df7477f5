/* The linear part of the elastic force between example poses: reduced stiffness at a number of places ("anchors"), blended
 * as matrices (Amsallem and Farhat 2011; the bases are aligned, so that entries mean the same everywhere). */
#ifndef SU_REDUCE_ANCHORS_H
#define SU_REDUCE_ANCHORS_H

#include "reduce/training_places.h"

typedef struct su_anchors {
    int64_t count;
    double *params;       /* (count,s) */
    double *rbf;          /* (count,count) of biharmonic weights, rig/rbf.h; their positive part blends */
    double *stiffness;    /* (count,r,r) U'KU at each anchor, 1/s^2 */
} su_anchors;

/* unlock: so many of the lowest motions are freed of locking (reduce/stiffening.h); 0: the stiffness as U(p) has it. Anchors at all
 * training places but those that are nearer to an earlier one than a hundredth of the mean distance between
 * example poses. */
su_status su_anchors_create(su_pose_space *space, const su_training_places *places, int64_t unlock, su_anchors *out,
                            su_error *err);
void su_anchors_free(su_anchors *anchors);

/* stiffness (r,r) at parameters p (s). weights (2 count): scratch. */
void su_anchors_blend(const su_pose_space *space, const su_anchors *anchors, const double *p, double *weights,
                      double *stiffness);

#endif
