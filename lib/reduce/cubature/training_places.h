/* Where cubature is trained: the example poses, frames of the shots. */
#ifndef SU_REDUCE_TRAINING_PLACES_H
#define SU_REDUCE_TRAINING_PLACES_H

#include "reduce/cubature/inertia_rows.h"
#include "reduce/cubature/pose_space.h"
#include "reduce/training_plan.h"
#include "rig/shot.h"

typedef struct su_training_places {
    int64_t count;     /* example poses first, in order, then frames */
    su_place *place;   /* (count) */
    su_motion *motion; /* (count) empty at the poses */
    int *shot;         /* (count) number of the shot, -1 */
    int64_t *frame;    /* (count) its frame, from 0, -1 */
    double *number;    /* (count) that frame's number as the clip counts (meta frame_start) */
    double spin;       /* largest turn of a root frame within a substep, rad */
} su_training_places;

/* Animations mapped onto `target`, whose neutral may be NULL: each shot's own. Borrowed. */
typedef struct su_shot_list {
    su_shot_target target;
    int count;
    const char *const *paths;
} su_shot_list;

/* A list of shots, open. Owned, released by su_open_shots_free, after errors too. */
typedef struct su_open_shots {
    int count;
    su_anim *anim;
    su_shot **shot;
} su_open_shots;

/* out: zeros. */
su_status su_shots_open(const su_shot_list *list, su_open_shots *out, su_error *err);
void su_open_shots_free(su_open_shots *shots);

/* Frames of a list of shots, counted from 0. Borrowed. */
typedef struct su_shot_frames_list {
    int64_t count;
    int *shot;      /* (count) */
    int64_t *frame; /* (count) */
} su_shot_frames_list;

/* Of the shots' frames up to `wanted` become places, those farthest in parameters from the example poses and each other
 * first. */
su_status su_training_places_create(su_pose_space *space, const su_shot_list *shots, const su_training_plan *plan,
                                    int64_t wanted, su_training_places *out, su_error *err);
/* The same at given frames and nowhere else. */
su_status su_training_places_at(su_pose_space *space, const su_shot_list *shots, const su_training_plan *plan,
                                const su_shot_frames_list *frames, su_training_places *out, su_error *err);
void su_training_places_free(su_training_places *places);

#endif
