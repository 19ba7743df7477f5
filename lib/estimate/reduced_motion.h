/* A reduced shot at any of its instants: displacements of the whole flesh, in double, turned back to the neutral pose.
 */
#ifndef SU_ESTIMATE_REDUCED_MOTION_H
#define SU_ESTIMATE_REDUCED_MOTION_H

#include "core/error.h"
#include "core/memory.h"
#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "physics/settings.h"
#include "rig/shot.h"
#include "runtime/subspace/reduced_basis.h"

#include <stdint.h>

typedef struct su_reduced_motion {
    const su_model *model; /* borrowed, all four */
    const su_shot *shot;
    const su_sim_settings *settings; /* resolved */
    const su_sim *sim;               /* has q, qdot and path */
    su_reduced_basis basis;
    double *p, *w, *b, *scale, *q, *sum; /* (s), (m), (m), (r), (r), (n,3) */
    su_arena arena;
} su_reduced_motion;

/* For corotated bases. */
su_status su_reduced_motion_create(const su_model *model, const su_shot *shot, const su_sim_settings *settings,
                                   const su_sim *sim, su_reduced_motion *motion, su_error *err);
void su_reduced_motion_free(su_reduced_motion *motion);

/* back (n,3) m = U^ q at an instant, counted in substeps from frame 0. One substep before a frame at which motion
 * starts (-1: frame 0) it is where the start's velocity comes from. Not for two threads at a time. */
void su_reduced_motion_at(su_reduced_motion *motion, int64_t instant, double *back);

#endif
