/* Vibration of independent linear modes under the loads of shots, and its principal directions. */
#ifndef SU_REDUCE_SHOT_MOTION_H
#define SU_REDUCE_SHOT_MOTION_H

#include "core/error.h"

#include <stdint.h>

typedef struct su_linear_motion {
    int64_t count;              /* modes */
    const double *squares;      /* (count) omega^2, rad^2/s^2; borrowed */
    double beta;                /* s, Rayleigh damping as sim has it by default at the lowest mode */
    double *q, *before, *force; /* (count) state, the one before, the last frame's force */
    double *states;             /* (frames,count) q at every frame so far */
    int64_t *shot;              /* (frames) number of starts before the frame, from 1 */
    int64_t frames, room, shots;
    int fresh; /* no frame since the start */
} su_linear_motion;

su_status su_linear_motion_create(int64_t count, const double *squares, su_linear_motion *out, su_error *err);
void su_linear_motion_free(su_linear_motion *motion);
/* At rest again, for another shot. */
void su_linear_motion_start(su_linear_motion *motion);
/* One frame of dt seconds with the modal force (count), per unit modal mass, at its end: implicit Euler in the substeps
 * that sim would take. */
su_status su_linear_motion_frame(su_linear_motion *motion, const double *force, double dt, su_error *err);
/* weights (frames): what makes all shots so far equally large in the root mean square, at most `gain` times; 1 on
 * average over shots of one size. Errors are measured shot by shot, and a quiet one would not be heard beside a violent
 * one. */
su_status su_linear_motion_weights(const su_linear_motion *motion, double gain, double *weights, su_error *err);
/* directions (*count,count): principal directions of all frames so far with those weights, largest first, each as long
 * as its root mean square amplitude; at most `keep`, fewer where the motion has fewer above a thousandth of the
 * largest. */
su_status su_linear_motion_principal(const su_linear_motion *motion, int64_t keep, double gain, double *directions,
                                     int64_t *count, su_error *err);

#endif
