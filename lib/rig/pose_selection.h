/* Which frames of the clips become example poses. */
#ifndef SU_RIG_POSE_SELECTION_H
#define SU_RIG_POSE_SELECTION_H

#include "core/error.h"
#include "io/stage/anim.h"

#include <stdint.h>

#define SU_SAME_POSE 1e-6 /* nearer poses are one (docs/formats.md, convention 19) */

/* scale (s): how far one unit of each parameter moves the skin, RMS over its vertices as a part of the diagonal, so
 * that
 * |(p - q) o scale| is about the distance of the two shapes and fingers count less than legs. Joints ("neck.rx") and
 * blend shapes of the anim are found by name; an unknown parameter gets 1 / range, times the largest known scale *
 * range. range (s): its spread over the clips. No scale is below 1/50 of the largest (times range), so none is lost. */
su_status su_parameter_scales(const su_anim *anim, int64_t s, const char *const *names, const double *range,
                              double *scale, su_error *err);

/* Poses to choose from. Borrowed. */
typedef struct su_pose_candidates {
    int64_t count, s;
    const double *params; /* (count,s); the neutral pose, which is chosen anyway, is all 0 */
    const double *scale;  /* (s) */
} su_pose_candidates;

/* What is chosen. Room by the caller. */
typedef struct su_chosen_poses {
    int64_t m;
    int64_t *picked;  /* (m) candidates; -1 for the neutral pose at the front */
    double *distance; /* (m) to the nearest pose before */
} su_chosen_poses;

/* Farthest-point selection on top of the neutral pose and the candidates `given`, which are taken first. Goes on until
 * `most` poses are there (the neutral among them) or no candidate is farther from its nearest pose than stop (0 to 1)
 * times the farthest candidate is from the neutral. Two given candidates nearer than 1e-6, or one at the neutral, are
 * SU_INPUT. */
su_status su_select_poses(const su_pose_candidates *from, int64_t given_count, const int64_t *given, int64_t most,
                          double stop, su_chosen_poses *out, su_error *err);

/* Distance of p (s) to the nearest of m poses. */
double su_nearest_pose(int64_t m, int64_t s, const double *params, const double *scale, const double *p,
                       int64_t *which);

/* The largest distance of one of m poses, params (m,s), to its nearest other one; 0 where there is but one. */
double su_pose_spacing(int64_t m, int64_t s, const double *params, const double *scale);

#endif
