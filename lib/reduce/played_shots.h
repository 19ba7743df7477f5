/* Shots played in the full space, coarsely: one implicit step a frame, two solves a step. What the flesh does in them, folds and all,
 * is what the modes have to hold; an accurate run would show the same shapes at other sizes. */
#ifndef SU_REDUCE_PLAYED_SHOTS_H
#define SU_REDUCE_PLAYED_SHOTS_H

#include "core/error.h"
#include "core/progress.h"
#include "fem/material.h"
#include "io/anim.h"
#include "io/fit.h"
#include "io/tet.h"

#include <stdint.h>

enum { SU_PLAYED_FRAMES = 128 };   /* what modes play at least and cubature by default, so that one run does for both */

/* Displacements of the flesh turned back to the neutral pose by the rotation of each vertex. */
typedef struct su_played_shots {
    int64_t count;
    double *shapes;       /* (count,n,3) m */
    int *shot;            /* (count) number of the shot */
    int64_t *frame;       /* (count) its frame, from 0 */
    double *weights;      /* (count) what makes shots equally large in the root mean square, at most 20 times */
} su_played_shots;

/* At most about `most` frames in all: where the shots have more, stretches of them evenly apart, each begun at rest in the rig's motion some
 * frames before the first that counts. Gravity as sim has it by default. Poses that the fit lacks: rest shapes without corrections. */
su_status su_shots_play(const su_tet *tet, const su_fit *fit, int shot_count, const char *const *paths,
                        const su_anim *anims, int64_t most, su_played_shots *out, int threads, const su_progress *progress,
                        su_error *err);

/* Of all that these shapes depend on. */
su_status su_shots_digest(const su_tet *tet, const su_fit *fit, int shot_count, const su_anim *anims, int64_t most, char hex[33],
                          su_error *err);
void su_played_shots_free(su_played_shots *played);

#endif
