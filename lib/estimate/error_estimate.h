/* How far a reduced shot is from the full space, estimated without playing it there (docs/reduction.md, section 6): the
 * equation of motion of the full space is evaluated at the reduced state, and what it lacks of balance stands for a
 * displacement. */
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
 * path. */
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
    double motion;   /* m: estimates of frames over this have the relative error as their RMS; 0 where nothing moves */
    int64_t frames;  /* at which the residual was formed; the others lie between these */
    double factor_seconds, residual_seconds; /* of the neutral stiffness; of all else */
} su_estimate_total;

/* estimate (F): RMS over the flesh vertices of the error of u to be expected at each frame, m. The same for any number
 * of threads. SU_INPUT where the files are of different characters, SU_USAGE for the paper's linear interpolation,
 * SU_NUMERICS where an estimate is not finite. progress may be NULL. */
su_status su_error_estimate(const su_estimate_inputs *inputs, int threads, double *estimate, su_estimate_total *total,
                            su_progress *progress, su_error *err);

/* The same frame by frame, as far as wanted. */
typedef struct su_error_estimator su_error_estimator;
/* inputs are borrowed. */
su_status su_error_estimator_create(const su_estimate_inputs *inputs, int threads, su_error_estimator **out,
                                    su_error *err);
void su_error_estimator_free(su_error_estimator *estimator);
/* On to the first frame whose estimate exceeds the limit (m), that status (F; NULL: none) says was damped or worse, or
 * whose estimate is not finite, with SU_NUMERICS: *stop; F: there is none. */
su_status su_error_estimator_run(su_error_estimator *estimator, double limit, const int32_t *status, double *estimate,
                                 int64_t *stop, su_progress *progress, su_error *err);
/* Goes on from a frame (1 .. F - 1) where the error is known, and one substep before it: full less reduced, turned back
 * to the neutral pose, (n,3) m. The same twice: it stands. */
su_status su_error_estimator_restart(su_error_estimator *estimator, int64_t frame, const double *error,
                                     const double *before, su_error *err);
/* A frame behind those estimated, at which the full displacement is known beside the reduced one: root frame, (n,3) m.
 * Frames that were estimated stay so. */
void su_error_estimator_know(su_error_estimator *estimator, int64_t frame, const double *u, const double *full);
/* The reduced run's error over the frames estimated and known; motion: RMS of what they move in the full space. */
void su_error_estimator_total(const su_error_estimator *estimator, su_estimate_total *total);
/* Frames between two estimates lie on the line between these. */
void su_error_estimator_fill(const su_error_estimator *estimator, double *estimate);

#endif
