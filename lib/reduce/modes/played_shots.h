/* Shots played in the full space, coarsely: two implicit steps a frame, one solve a step, two in some stretches. What
 * the flesh does in them, folds and all, is what the modes have to hold; an accurate run would show the same shapes at
 * other sizes. */
#ifndef SU_REDUCE_PLAYED_SHOTS_H
#define SU_REDUCE_PLAYED_SHOTS_H

#include "core/error.h"
#include "core/progress.h"
#include "physics/material.h"
#include "physics/settings.h"
#include "io/stage/anim.h"
#include "io/stage/fit.h"
#include "io/stage/tet.h"

#include <stdint.h>

/* How shots are played. */
typedef struct su_play_plan {
    int64_t most;    /* frames in all, about; 0: all */
    int64_t stretch; /* frames on end, where not all are played */
    int64_t longest; /* frames on end, where all are; 0: a shot at one go */
    int64_t run_in;  /* frames before the first that counts, from the rig's motion */
    int motions;     /* so many of the first shots are motions of the rig's own. Of their stretches ... */
    int64_t exact;   /* every so many, from the middle one of them, is solved twice a step; 0: none */
    int64_t soft;    /* every so many, from the first, is played with soft flesh; 0: none */
    const su_sim_settings *settings; /* gravity, damping and whatever else the shots are simulated with, unresolved;
                                      * NULL: sim's defaults. The steps a frame are the player's own. */
} su_play_plan;

enum {
    SU_PLAYED_FRAMES = 128, /* of shots whose shapes the modes of poses answer, at least */
    SU_PLAYED_SUBSTEPS = 2, /* steps a frame */
    SU_EXACT_SOLVES = 2     /* of a step in stretches that motions can be held against */
};

/* Displacements of the flesh turned back to the neutral pose by the rotation of each vertex. */
typedef struct su_played_shots {
    int64_t count;
    double *shapes;  /* (count,n,3) m */
    int *shot;       /* (count) number of the shot */
    int64_t *frame;  /* (count) its frame, from 0 */
    int64_t *start;  /* (count) the frame from which it was played, at rest there, in steps of SU_EXACT_SOLVES; -1: in
                      * steps of one  solve: a shape that the flesh takes, not where it is at that frame */
    double *weights; /* (count) what makes shots equally large in the root mean square, at most 20 times */
} su_played_shots;

/* Where the shots have more frames than the plan wants, stretches of them evenly apart are played, each begun at rest
 * in the rig's motion some frames before the first that counts. Frames whose step had to be damped or failed are left
 * out. Poses that the fit lacks: rest shapes without corrections. */
su_status su_shots_play(const su_tet *tet, const su_fit *fit, int shot_count, const char *const *paths,
                        const su_anim *anims, const su_play_plan *plan, su_played_shots *out, int threads,
                        const su_progress *progress, su_error *err);

void su_played_shots_free(su_played_shots *played);

#endif
