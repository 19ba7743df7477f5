/* Where the displacements of a shot come from: the reduced run, with or without a correction by its estimated error
 * (docs/reduction.md, section 6). All are turned back to the neutral pose, R_v' u. */
#ifndef SU_ESTIMATE_DISPLACEMENTS_H
#define SU_ESTIMATE_DISPLACEMENTS_H

#include "core/error.h"
#include "core/memory.h"
#include "estimate/reduced_motion.h"
#include "io/stage/sim.h"
#include "rig/shot.h"
#include "physics/settings.h"

#include <stdint.h>

/* The error e = R_v (U^ x + z) of a shot. An instant is a number of substeps from frame 0. */
typedef struct su_correction {
    int64_t n, r;
    double *x; /* (instants,r) */
    float *z;  /* (instants,n,3) m */
    su_arena arena;
} su_correction;

/* Zero. Owned by the caller, who frees it. */
su_status su_correction_create(int64_t instants, int64_t n, int64_t r, su_correction *correction, su_error *err);
void su_correction_free(su_correction *correction);
/* All borrowed. sim has q, qdot and qddot; settings are the shot's, resolved. */
typedef struct su_displacements {
    const su_reduced_motion *motion;
    const su_sim *sim;
    const su_sim_settings *settings;
    const su_correction *correction; /* NULL: none */
} su_displacements;

/* back (n,3) m at an instant, 0 before the shot; basis comes to stand there. A run knows its coordinates at the last
 * three instants of each frame; at others they lie on the polynomial through the three before and the three behind. */
void su_displacement(const su_displacements *from, su_instant_basis *basis, int64_t instant, double *back);

#endif
