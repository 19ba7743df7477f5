/* Where cubature is trained: the example poses, the middles of the alignment tree's edges, frames of the shots. */
#ifndef SU_REDUCE_TRAINING_PLACES_H
#define SU_REDUCE_TRAINING_PLACES_H

#include "reduce/cubature/inertia_rows.h"
#include "reduce/cubature/pose_space.h"
#include "rig/shot.h"

typedef struct su_training_places {
    int64_t count;     /* example poses first, in order, then edge middles, then frames */
    int64_t edges;     /* how many middles */
    su_place *place;   /* (count) */
    su_motion *motion; /* (count) empty at the poses */
    int *shot;         /* (count) number of the shot, -1 */
    int64_t *frame;    /* (count) its frame, from 0, -1 */
    double *number;    /* (count) that frame's number as the clip counts (meta frame_start) */
    double spin;       /* largest turn of a root frame within a substep, rad */
} su_training_places;

/* shots: paths of anim files, mapped onto `target` (whose neutral may be NULL: each shot's own). Of their frames up to
 * `wanted` become places, those farthest in parameters from the example poses and each other first. Without shots the
 * motion at an edge's middle is the one along the edge, and the root spins by 0.1 rad a substep. */
su_status su_training_places_create(su_pose_space *space, const su_shot_target *target, int shot_count,
                                    const char *const *shots, int64_t wanted, su_training_places *out, su_error *err);
/* The same at given frames (shot, frame; counted from 0) and nowhere else. */
su_status su_training_places_at(su_pose_space *space, const su_shot_target *target, int shot_count,
                                const char *const *shots, int64_t count, const int *shot, const int64_t *frame,
                                su_training_places *out, su_error *err);
void su_training_places_free(su_training_places *places);

#endif
