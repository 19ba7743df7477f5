/* Skin points of several instants of a shot at once, in the lanes that rest shapes are made from: a frame's skin is
 * read once for all instants beside it. */
#ifndef SU_RUNTIME_SHOT_LANES_H
#define SU_RUNTIME_SHOT_LANES_H

#include "core/memory.h"
#include "rig/shot.h"
#include "runtime/kernels/kernels_pose.h"
#include "runtime/subspace/rest_patch.h"

typedef struct su_shot_instant {
    int64_t frame;
    double fraction; /* 0 to 1, on the segment that starts at `frame` */
    const double *p; /* (s) rig parameters there */
} su_shot_instant;

/* Frames of a patch's skin points beside each other, for instants that follow each other: every one of them is a sum
 * over the same two dozen frames, which would be picked from all over the skin again and again. */
typedef struct su_shot_window {
    const su_shot *shot;
    const int32_t *skin; /* (points) the patch's */
    int64_t points, frames;
    int32_t *list;    /* (points) where a point's frames begin, in triples */
    int64_t *frame;   /* (frames) which one stands there; -1: none */
    float *positions; /* (points,frames,3): sums over frames read on and on */
    su_arena arena;
} su_shot_window;

/* For instants of at most `span` frames at a time; shot and patch are borrowed. */
su_status su_shot_window_create(const su_shot *shot, const su_rest_patch *patch, int64_t span, su_shot_window *window,
                                su_error *err);
void su_shot_window_free(su_shot_window *window);
/* From here on su_shot_lanes finds what instants on the segments of frames `first` to `last` need. By one thread. */
void su_shot_window_cover(su_shot_window *window, int64_t first, int64_t last);

/* moved (skin_count,3,16): displacements of the patch's skin points, corrected, from the neutral skin, at `count` <=
 * SU_REST_FRAMES instants, m; lanes beyond count repeat the last without corrections. window: of this patch, covering
 * the instants, or NULL; the bytes are the same. To the rounding of float of each
 * frame's displacement. */
void su_shot_lanes(const su_shot *shot, const su_rest_patch *patch, const su_pose_kernels *kernels,
                   const su_shot_window *window, int64_t count, const su_shot_instant *instants, float *moved);

#endif
