/* Skin points of several instants of a shot at once, in the lanes that rest shapes are made from: a frame's skin is
 * read once for all instants beside it. */
#ifndef SU_RUNTIME_SHOT_LANES_H
#define SU_RUNTIME_SHOT_LANES_H

#include "rig/shot.h"
#include "runtime/kernels/kernels_pose.h"
#include "runtime/subspace/rest_patch.h"

typedef struct su_shot_instant {
    int64_t frame;
    double fraction; /* 0 to 1, on the segment that starts at `frame` */
    const double *p; /* (s) rig parameters there */
} su_shot_instant;

/* moved (skin_count,3,16): displacements of the patch's skin points, corrected, from the neutral skin, at `count` <=
 * SU_REST_FRAMES instants, m; lanes beyond count repeat the last without corrections. To the rounding of float of each
 * frame's displacement. */
void su_shot_lanes(const su_shot *shot, const su_rest_patch *patch, const su_pose_kernels *kernels, int64_t count,
                   const su_shot_instant *instants, float *moved);

#endif
