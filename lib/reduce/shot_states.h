/* States that the flesh visits in shots, for cubature: random ones are seldom as far out, in the motions that swing, as ears are. */
#ifndef SU_REDUCE_SHOT_STATES_H
#define SU_REDUCE_SHOT_STATES_H

#include "core/progress.h"
#include "io/fit.h"
#include "io/tet.h"
#include "reduce/played_shots.h"
#include "rig/shot.h"

#include <stdbool.h>

typedef struct su_shot_states {
    su_played_shots played;   /* shapes turned back to the neutral pose, in single precision; no weights */
    double *params;           /* (played.count,s) rig parameters there */
    bool handed_on;           /* not played here */
} su_shot_states;

/* What modes played, as files carry it (docs/formats.md). Borrowed. */
typedef struct su_handed_shapes {
    int64_t count;
    const float *shapes;      /* (count,n,3) */
    const int32_t *shot, *frame;
    const char *digest;       /* su_shots_digest() of what they were played from; NULL: none */
} su_handed_shapes;

/* Plays the shots (paths of anim files, mapped onto `target`) in the full space as played_shots.h says, about `most` frames of them, or takes
 * what was handed on where its digest says that playing would give the same. Frames in which next to nothing moves are left out. */
su_status su_shot_states_create(const su_tet *tet, const su_fit *fit, const su_shot_target *target, int shot_count,
                                const char *const *shots, int64_t most, const su_handed_shapes *handed, int threads,
                                const su_progress *progress, su_shot_states *out, su_error *err);
void su_shot_states_free(su_shot_states *states);

#endif
