/* The displacements of a reduced run at any instant, turned back to the neutral pose, R_v' u. */
#ifndef SU_ESTIMATE_DISPLACEMENTS_H
#define SU_ESTIMATE_DISPLACEMENTS_H

#include "core/error.h"
#include "core/memory.h"
#include "estimate/reduced_motion.h"
#include "io/stage/sim.h"
#include "rig/shot.h"
#include "physics/settings.h"

#include <stdint.h>

/* All borrowed. sim has q, qdot and path; settings are the shot's, resolved. */
typedef struct su_displacements {
    const su_reduced_motion *motion;
    const su_sim *sim;
    const su_sim_settings *settings;
} su_displacements;

/* back (n,3) m at an instant, 0 before the shot; basis comes to stand there. Before a frame at which motion starts it
 * goes on as it starts. */
void su_displacement(const su_displacements *from, su_instant_basis *basis, int64_t instant, double *back);

#endif
