/* The inertial loads that shots put on the flesh, for modes that answer them (load-dependent Ritz vectors: Wilson,
 * Yuan, Dickens, "Dynamic analysis by direct superposition of Ritz vectors", Earthquake Eng. & Struct. Dyn. 10, 1982).
 */
#ifndef SU_REDUCE_SHOT_LOADS_H
#define SU_REDUCE_SHOT_LOADS_H

#include "core/error.h"
#include "physics/material.h"
#include "reduce/modes/played_shots.h"

#include <stdint.h>

/* Fields turned back to the neutral pose by the rotation of each vertex. */
typedef struct su_shot_loads {
    int64_t principal;      /* how many loads */
    double *loads;          /* (principal,n,3) accelerations, m/s^2 */
    su_played_shots played; /* how the flesh moves in the shots */
} su_shot_loads;

/* The loads come from a rehearsal: a linear model of the flesh at the neutral pose, in the span of some linear modes
 * and of the static answers to the shots' accelerations, is led through the shots. Its own acceleration joins the
 * rig's, so that the static answers to them are the principal directions of its motion (at most `keep`), as large as
 * they are in the root mean square. The rest shape along the shots is here the Shepard interpolation of the rig's skin:
 * fitted corrections change accelerations little. Then about play->most frames are played in the full space, none
 * where that is 0 (played_shots.h). play->anims are read here. */
su_status su_shot_loads_create(const su_play *play, su_material material, int64_t keep, su_shot_loads *out,
                               su_error *err);
void su_shot_loads_free(su_shot_loads *loads);

/* Loads and weighted shapes at a pose with rotations `rotation` (n,4): turned forward, out (principal +
 * played.count,n,3). */
void su_shot_loads_turn(int64_t n, const double *rotation, const su_shot_loads *loads, double *out);

#endif
