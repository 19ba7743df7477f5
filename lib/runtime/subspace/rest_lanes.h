/* A rest patch laid out for the vector kernels: rest positions and rotations of sixteen frames at once. */
#ifndef SU_RUNTIME_REST_LANES_H
#define SU_RUNTIME_REST_LANES_H

#include "core/error.h"
#include "runtime/kernels/kernels_pose.h"
#include "runtime/subspace/rest_patch.h"

typedef struct su_rest_lanes {
    const su_rest_patch *patch;
    const su_pose_kernels *kernels;
    su_rest_ties ties; /* of all patch vertices */
    su_ring ring;      /* of the turned vertices, or of the nodes of the smoothing */
    su_node_rows rows; /* of the turned vertices into the nodes; no points without a smoothing */
    su_arena arena;
} su_rest_lanes;

/* patch is borrowed. */
su_status su_rest_lanes_create(const su_rest_patch *patch, const su_pose_kernels *kernels, su_rest_lanes *lanes,
                               su_error *err);
void su_rest_lanes_free(su_rest_lanes *lanes);
int64_t su_rest_lanes_bytes(const su_rest_lanes *lanes);

/* moved (skin_count,3,16): displacements of the patch's skin points from the neutral skin; skins: sixteen arrays
 * (skin_count,3). See also runtime/subspace/shot_lanes.h. */
void su_rest_lanes_moved(const su_rest_lanes *lanes, const double *const skins[SU_REST_FRAMES], float *moved);
/* Rest positions x[0], x[1] (wanted,3,8; either may be NULL) of twice eight frames; w (m,16). near (vertex_count,3,16):
 * those of all in float, for rotations; left alone without turned vertices. Only the first `frames` lanes are meant. */
void su_rest_lanes_positions(const su_rest_lanes *lanes, int64_t frames, const float *moved, const float *w,
                             double *const x[2], float *near);
/* rotation (turned,9,16), for patches without turned vertices (wanted,9,16) identities. nodes (patch.nodes,9,16):
 * scratch. */
void su_rest_lanes_rotations(const su_rest_lanes *lanes, int64_t frames, const float *near, float *nodes,
                             float *rotation);

#endif
