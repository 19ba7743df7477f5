/* A rest patch laid out for the vector kernels: rest positions of eight frames at once,
 * rotations of sixteen. */
#ifndef SU_RUNTIME_REST_LANES_H
#define SU_RUNTIME_REST_LANES_H

#include "core/error.h"
#include "runtime/kernels_pose.h"
#include "runtime/rest_patch.h"

typedef struct su_rest_lanes {
    const su_rest_patch *patch;
    const su_pose_kernels *kernels;
    su_rest_ties ties;         /* of all patch vertices */
    su_ring ring;              /* of the turned vertices */
    su_arena arena;
} su_rest_lanes;

/* patch is borrowed. */
su_status su_rest_lanes_create(const su_rest_patch *patch, const su_pose_kernels *kernels, su_rest_lanes *lanes,
                               su_error *err);
void su_rest_lanes_free(su_rest_lanes *lanes);
int64_t su_rest_lanes_bytes(const su_rest_lanes *lanes);

/* Rest positions x (wanted,3,8; NULL: not needed) of eight frames. skins: eight arrays (skin_count,3), readable one number beyond
 * the last; w (m,8). near (vertex_count,3,16): those of all in float for rotations, half 0 or half 1; half 0 comes first and
 * stands for both. */
void su_rest_lanes_positions(const su_rest_lanes *lanes, const double *const skins[SU_FRAMES], const double *w, int half,
                             double *x, float *near);
/* Rotations (turned,9,8) of both halves (the second may be NULL), the identity for patches without turned vertices. */
void su_rest_lanes_rotations(const su_rest_lanes *lanes, const float *near, double *const rotation[2]);

#endif
