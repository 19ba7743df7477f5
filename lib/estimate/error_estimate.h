/* How far a reduced shot is from the full space: it leads the full simulation, which then needs about one linear solve
 * a step, and the two are compared (docs/reduction.md, section 6). */
#ifndef SU_ESTIMATE_ERROR_ESTIMATE_H
#define SU_ESTIMATE_ERROR_ESTIMATE_H

#include "core/error.h"
#include "core/progress.h"
#include "fem/fullsim.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "io/stage/tet.h"
#include "physics/settings.h"
#include "rig/shot.h"

#include <stdbool.h>
#include <stdint.h>

/* Of Newton, relative to the forces. Shots of nine of eleven characters were within 0.2 % of their motion of what 1e-4
 * gives, of two within 1.3 % (docs/notes/2026-11-27-led.md). */
#define SU_LED_TOLERANCE 2e-2
/* With contact, where nothing leads (docs/reduction.md, section 6): that of bakes in the full space. */
#define SU_CONTACT_TOLERANCE 1e-3

/* All borrowed. Model, tet and fit are of one character; settings are those of the shot, resolved; sim has q, qdot and
 * path. */
typedef struct su_estimate_inputs {
    const su_model *model;
    const su_tet *tet;
    const su_fit *fit;
    const su_shot *shot;
    const su_sim_settings *settings;
    const su_sim *sim;
    bool cycle;                         /* the full simulation begins as the reduced one does, and not at rest */
    int self_contact;                   /* SU_SELF_CONTACT_*, of both simulations */
    double friction, contact_stiffness; /* as in fem/fullsim.h */
    double tolerance; /* of Newton, relative to the forces; 0: that of the two above which is meant for the shot */
    int threads;      /* what comes out is the same for any number */
} su_estimate_inputs;

typedef struct su_estimate_total {
    double relative;        /* relative L2 error of u over the shot, the largest of four as in fem/compare.h */
    double largest;         /* of a frame's estimates, relative to `motion` */
    double motion;          /* m: RMS over frames and vertices of what moves in the full space */
    bool led;               /* the reduced run led; not with contact */
    int64_t damped, failed; /* steps of the full simulation */
    double seconds;
} su_estimate_total;

/* estimate (F): RMS over the flesh vertices of the difference of u from the full simulation's at each frame, m. full
 * (F,n,3) m, root frame, and status (F): displacement and SU_STATUS_* of the full simulation; NULL where not wanted.
 * SU_INPUT where the files are of different characters, SU_USAGE for the paper's
 * linear interpolation, SU_NUMERICS where a displacement is not finite. progress may be NULL. */
su_status su_error_estimate(const su_estimate_inputs *inputs, double *estimate, float *full, int32_t *status,
                            su_estimate_total *total, su_progress *progress, su_error *err);

#endif
