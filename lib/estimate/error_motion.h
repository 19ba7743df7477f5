/* What an error in the span of the basis grows to: the linearized equation of motion of the reduced error x,
 *   M x'' + (alpha M + beta K) x' + K x = f,
 * by the simulator's own implicit Euler steps, with M, K and f as they come along the shot. */
#ifndef SU_ESTIMATE_ERROR_MOTION_H
#define SU_ESTIMATE_ERROR_MOTION_H

#include "core/error.h"
#include "core/memory.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_error_motion {
    int64_t r;
    double alpha, beta, h;   /* 1/s, s; s of a step */
    bool begun;              /* K is known */
    double *x, *rate;        /* (r) */
    double *force, *K;       /* (r), (r,r) at the instant it stands at */
    double *mean, *A, *load; /* (r,r) twice, (r) */
    double *values;          /* (r) */
    su_arena arena;
} su_error_motion;

/* At rest, without force. */
su_status su_error_motion_create(int64_t r, double alpha, double beta, double h, su_error_motion *motion,
                                 su_error *err);
void su_error_motion_free(su_error_motion *motion);

/* `steps` steps on to where mass M, stiffness K (r,r) and force f (r) are these; force and stiffness change evenly on
 * the way. K need not be definite: what it has below zero counts as zero. */
su_status su_error_motion_advance(su_error_motion *motion, int64_t steps, const double *M, const double *K,
                                  const double *f, su_error *err);
/* Motion starts anew: x stays, its rate and the force are gone. */
void su_error_motion_restart(su_error_motion *motion);

/* x (r) = K^-1 f for a stiffness (r,r) that should be definite; where it is not, without the directions that it lacks.
 * scratch (r,r) and (r). */
su_status su_reduced_answer(int64_t r, const double *K, const double *f, double *x, double *scratch, double *values,
                            su_error *err);

#endif
