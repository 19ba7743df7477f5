/* Trains contact of the flesh with itself (ASC section 4.3; docs/contact.md, "In reduced motion"): at poses of the
 * shots that lie far apart the reduced flesh is brought to rest with all of its contact pairs, then played through the
 * frames around, and for each pose and pair of domains few pairs are found that exert what all of them do there. */
#ifndef SU_REDUCE_CONTACT_TRAINING_H
#define SU_REDUCE_CONTACT_TRAINING_H

#include "core/error.h"
#include "core/progress.h"
#include "io/stage/clip_frame.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/pair_sets.h"
#include "io/stage/tet.h"
#include "physics/settings.h"
#include "rig/shot.h"

#include <stdbool.h>
#include <stdint.h>

/* What is trained, and how. Borrowed. */
typedef struct su_contact_plan {
    const su_tet *tet;
    const su_fit *fit;
    const su_model *model;
    int shots;
    const su_shot *const *shot;      /* on the model's parameters */
    const su_sim_settings *settings; /* (shots) resolved: how they are simulated */
    int64_t given;                   /* frames given; 0: chosen */
    const su_clip_frame *frame;      /* of the shots */
    int64_t poses;                   /* most frames to choose */
    double tolerance;                /* of the projected force, relative */
    int rings;                       /* of triangles around those that a pair was met at */
    bool allow_overlap;              /* what the rest shape has overlapping is free of force */
    bool direct;                     /* also: one set for all poses together, for comparison (ASC section 4.1) */
    int threads;
    su_progress *progress; /* asked for stops; may be NULL */
} su_contact_plan;

/* What came of it. */
typedef struct su_contact_trained {
    int64_t poses, domains, failed; /* poses; those whose flesh did not come to rest */
    int64_t met, most_met;          /* vertices that pressed, over all poses; at one */
    int64_t kept, most_kept;        /* of them; in one pose */
    double worst;                   /* error of a set, relative */
    double deepest;                 /* m, of pairs at rest */
    int64_t direct_of;              /* different pairs that pressed at rest, over all poses */
    int64_t direct[2];              /* pairs that one set needs for 5 % and 1 % of the force at all poses together */
    double direct_error[2];         /* what it came to */
    double rest_seconds, select_seconds;
} su_contact_trained;

/* Fills all of `out` (empty; owned by the caller, after errors too) but its meta. */
su_status su_contact_train(const su_contact_plan *plan, su_pair_sets *out, su_contact_trained *trained, su_error *err);

#endif
