/* How far a reduced shot is from the full space, estimated without playing it there (docs/reduction.md, section 6): the
 * equation of motion of the full space is evaluated at the reduced state, and what it lacks of balance stands for a
 * displacement. That displacement can be added, and what is left be estimated in the same way. */
#ifndef SU_ESTIMATE_ERROR_ESTIMATE_H
#define SU_ESTIMATE_ERROR_ESTIMATE_H

#include "core/error.h"
#include "core/progress.h"
#include "estimate/displacements.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "io/stage/tet.h"
#include "rig/shot.h"
#include "physics/settings.h"

#include <stdint.h>

/* All borrowed. Model, tet and fit are of one character; settings are those of the shot, resolved; sim has q, qdot and
 * qddot. */
typedef struct su_estimate_inputs {
    const su_model *model;
    const su_tet *tet;
    const su_fit *fit;
    const su_shot *shot;
    const su_sim_settings *settings;
    const su_sim *sim;
} su_estimate_inputs;

typedef struct su_estimate_total {
    double relative; /* estimated relative L2 error of u over the shot, the largest of four as in fem/compare.h */
    double reduced;  /* the same before correction */
    double motion;   /* m: estimates of frames over this have the relative error as their RMS; 0 where nothing moves */
    int64_t frames;  /* at which the residual was formed; the others lie between these */
    double factor_seconds;                       /* of the neutral stiffness */
    double residual_seconds, correction_seconds; /* of the reduced run's error; of all that correction adds */
} su_estimate_total;

/* A run with its estimated error added. Owned by the caller. */
typedef struct su_corrected {
    bool kept; /* false: more would be left than there was at most frames; the reduced run stands, and the estimate is
                  its own */
    su_correction error; /* to be freed by su_correction_free */
    float *u;            /* (F,n,3) m, root frame; given by the caller */
} su_corrected;

/* estimate (F): RMS over the flesh vertices of the error of u to be expected at each frame, m. The same for any number
 * of threads. corrected: NULL, or where the corrected run goes; estimate and total are then of what is left. SU_INPUT
 * where the files are of different characters, SU_USAGE for the paper's linear interpolation, SU_NUMERICS where an
 * estimate is not finite. progress may be NULL. */
su_status su_error_estimate(const su_estimate_inputs *inputs, int threads, double *estimate, su_corrected *corrected,
                            su_estimate_total *total, su_progress *progress, su_error *err);

#endif
