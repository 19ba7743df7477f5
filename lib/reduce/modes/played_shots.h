/* Shots played in the full space, coarsely: two implicit steps a frame, one solve a step, in some stretches more. What
 * the flesh does in them, folds and all, is what the modes have to hold; an accurate run would show the same shapes at
 * other sizes. */
#ifndef SU_REDUCE_PLAYED_SHOTS_H
#define SU_REDUCE_PLAYED_SHOTS_H

#include "core/error.h"
#include "core/progress.h"
#include "io/stage/anim.h"
#include "io/stage/fit.h"
#include "io/stage/tet.h"
#include "physics/settings.h"
#include "reduce/training_plan.h"

#include <stdbool.h>
#include <stdint.h>

/* What is played, and how. Borrowed. */
typedef struct su_play {
    const su_tet *tet;
    const su_fit *fit; /* poses that it lacks: rest shapes without corrections */
    const su_training_plan *plan;
    const su_sim_settings *settings; /* gravity, damping and whatever else the shots are simulated with, unresolved;
                                      * NULL: sim's defaults. Steps a frame are the plan's */
    int count;                       /* of shots */
    int motions;              /* so many of the first are motions of the rig's own: some of their stretches are solved
                               * exactly, some played with soft flesh (plan) */
    const char *const *paths; /* (count) for messages */
    const su_anim *anims;     /* (count) */
    int self_contact;         /* SU_SELF_CONTACT_* of fem/fullsim.h: the flesh does not pass through itself */
    bool forces;              /* elastic forces of the shapes are wanted */
    int64_t contact_modes;    /* so many modes are to answer forces of contact; 0: none */
    int threads;
    const su_progress *progress; /* asked for stops; may be NULL */
} su_play;

/* Displacements of the flesh turned back to the neutral pose by the rotation of each vertex. */
typedef struct su_played_shots {
    int64_t count;
    double *shapes;  /* (count,n,3) m */
    double *forces;  /* (count,n,3) N, their elastic forces, turned back likewise; NULL where not wanted */
    double *contact; /* (count,n,3) N, forces of the flesh on itself, turned back; NULL without contact */
    int *shot;       /* (count) number of the shot */
    int64_t *frame;  /* (count) its frame, from 0 */
    int64_t *start;  /* (count) the frame from which it was played, at rest there, with exact solves; -1: in steps of
                      * fewer: a shape that the flesh takes, not where it is at that frame */
} su_played_shots;

/* All frames but the first of each shot, in stretches that begin at rest in the rig's motion some frames before the
 * first that counts. Frames whose step had to be damped or failed are left out. */
su_status su_shots_play(const su_play *play, su_played_shots *out, su_error *err);

void su_played_shots_free(su_played_shots *played);

#endif
