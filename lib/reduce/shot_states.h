/* States that the flesh visits in shots, for cubature: random ones are seldom as far out, in the motions that swing, as ears are. */
#ifndef SU_REDUCE_SHOT_STATES_H
#define SU_REDUCE_SHOT_STATES_H

#include "core/progress.h"
#include "io/fit.h"
#include "io/tet.h"
#include "reduce/played_shots.h"
#include "rig/shot.h"

typedef struct su_shot_states {
    su_played_shots played;   /* shapes turned back to the neutral pose */
    double *params;           /* (played.count,s) rig parameters there */
} su_shot_states;

/* Plays the shots (paths of anim files, mapped onto `target`) in the full space as played_shots.h says, about `most` frames of them. Frames in
 * which next to nothing moves are left out. */
su_status su_shot_states_create(const su_tet *tet, const su_fit *fit, const su_shot_target *target, int shot_count,
                                const char *const *shots, int64_t most, int threads, const su_progress *progress,
                                su_shot_states *out, su_error *err);
void su_shot_states_free(su_shot_states *states);

#endif
