/* What the cubature tets lack of the reduced stiffness about the rest shape, at a number of places ("anchors"), blended as matrices
 * between them (Amsallem and Farhat 2011; the bases are aligned, so that entries mean the same everywhere). The tets' own stiffness
 * follows the pose by itself, soft directions that turn included, so that what is left to the blend is small where motions are soft. */
#ifndef SU_REDUCE_ANCHORS_H
#define SU_REDUCE_ANCHORS_H

#include "reduce/training_places.h"

typedef struct su_anchors {
    int64_t count;
    double *params;       /* (count,s) */
    double *rbf;          /* (count,count) of biharmonic weights, rig/rbf.h; blends */
    double *stiffness;    /* (count,r,r) U'KU at each anchor, 1/s^2; after su_anchors_subtract what tets lack of it */
    int64_t *place;       /* (count) its number among the places */
} su_anchors;

/* unlock: so many of the lowest motions are freed of locking (reduce/stiffening.h) where the basis is much too stiff; 0: the stiffness
 * as U(p) has it. Anchors at all places but those that are nearer to an earlier one than a hundredth of the mean distance between
 * example poses. */
su_status su_anchors_create(su_pose_space *space, const su_training_places *places, int64_t unlock, su_anchors *out,
                            su_error *err);
void su_anchors_free(su_anchors *anchors);

/* Takes off what weighted tets have themselves: tets (count) into the mesh, weights (m,count) of the poses, but those that are `apart`
 * (count; NULL: none). places: those that the anchors were made at. */
su_status su_anchors_subtract(su_pose_space *space, const su_training_places *places, int64_t count, const int32_t *tets,
                              const double *weights, const uint8_t *apart, su_anchors *anchors, su_error *err);

/* stiffness (r,r): of weighted tets about the rest shape of a place. */
su_status su_tets_stiffness(su_pose_space *space, const su_place *place, int64_t count, const int32_t *tets, const double *weights,
                            const uint8_t *apart, double *stiffness, su_error *err);

/* stiffness (r,r) at parameters p (s), with the weights that the run time has within the anchors' reach. work (2 count): scratch. */
void su_anchors_blend(const su_pose_space *space, const su_anchors *anchors, const double *p, double *work,
                      double *stiffness);

#endif
