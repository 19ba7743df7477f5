/* What moved in a shot: displacements of the skin from where the rig puts it, by joint. */
#ifndef SU_ESTIMATE_WHAT_MOVED_H
#define SU_ESTIMATE_WHAT_MOVED_H

#include "core/error.h"
#include "core/memory.h"
#include "io/stage/anim.h"
#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "rig/shot.h"

#include <stdint.h>

typedef struct su_moved_joint {
    int64_t joint;  /* bone of the animation */
    double mean;    /* m, over frames, and by area over the vertices that follow this joint more than any other */
    double largest; /* m, of the same vertices */
} su_moved_joint;

typedef struct su_moved {
    double diagonal;              /* m, of the neutral skin's box */
    double largest;               /* m */
    int64_t frame, vertex, joint; /* where that is; joint -1: without skinning weights */
    double body;                  /* m, what all but 5 % of the skin's area stays below at all frames */
    int64_t count;                /* joints that some skin follows most */
    su_moved_joint *joint_motion; /* (count) by mean, falling */
    double *frame_largest;        /* (F) m */
    double rig_step;   /* m, the longest way of the rig's skin from one frame to the next, RMS over vertices */
    int64_t rig_frame; /* the frame at the end of that way; 0: a single frame */
    su_arena arena;
} su_moved;

/* The animation's own skin and skinning weights; sim is a run of it, reduced or full. The caller frees. The same for
 * any number of threads. */
su_status su_moved_measure(const su_model *model, const su_anim *anim, const su_shot *shot, const su_sim *sim,
                           int threads, su_moved *out, su_error *err);
void su_moved_free(su_moved *moved);

#endif
