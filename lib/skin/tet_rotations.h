/* The rotations R of tets and Q of vertices that ex-rotated elasticity takes from the pose (SP section 4): a blend of
 * the bones' rotations by bounded biharmonic weights, or, where no bone holds flesh, those of the rest shape x(p). */
#ifndef SU_SKIN_TET_ROTATIONS_H
#define SU_SKIN_TET_ROTATIONS_H

#include "geometry/tetmesh.h"

#include <stdint.h>

/* Weights of bones: rows of vertices, then of tets; each sums to 1. */
typedef struct su_bone_weights {
    int64_t n, t, bones;
    int64_t *start; /* (n + t + 1) */
    int32_t *bone;
    double *weight;
} su_bone_weights;

/* flesh is borrowed. bone_of (n): the bone that holds a vertex, -1: none. Bounded biharmonic weights of the bones that
 * hold some (Jacobson et al. 2011; reduce/modes/regions.h), averaged to tets and made to sum to 1 over the bones.
 * SU_FAILED where no bone holds a vertex. Parts of the flesh that no bone holds follow bone -1, the root frame. */
su_status su_bone_weights_create(const su_tets *flesh, int64_t bones, const int32_t *bone_of, int threads,
                                 su_bone_weights *out, su_error *err);
void su_bone_weights_free(su_bone_weights *weights);

/* Q (n,9), R (t,9) of quaternions (bones,4): dual-quaternion blending, of which the rotation alone is wanted (Kavan et
 * al. 2008): the normalized sum on the side of the heaviest bone. */
void su_bone_weights_rotate(const su_bone_weights *weights, const double *quaternions, double *Q, double *R);

/* The same of rotations of the vertices (n,4), R the rotation of the mean of the corners. */
void su_vertex_rotations(int64_t n, int64_t t, const int32_t *tets, const double *quaternions, double *Q, double *R);

#endif
