/* The basis U(p) between the example poses: corotated interpolation, or the paper's linear one. This is the plain form
 * over the whole flesh, for training and measurements; the run time evaluates the same sum at a few vertices. */
#ifndef SU_REDUCE_INTERPOLATE_H
#define SU_REDUCE_INTERPOLATE_H

#include "core/error.h"
#include "rig/interpolation.h"

#include <stdint.h>

typedef struct su_pose_bases {
    int64_t m, r, n;
    const double *basis;     /* (m,r,n,3) aligned, turned back to the neutral pose */
    const double *rotations; /* (m,n,4) neutral to pose; only SU_LINEAR reads it */
    const double *mass;      /* (n) */
    su_interpolation mode;
} su_pose_bases;

/* U (r,n,3) in the coordinates of the current pose, columns of unit mass norm (PSSD eq. 14-16; norms below 0.1 before
 * that count as 0.1, docs/formats.md, convention 18):
 *   SU_COROTATED  U_v = R_v(p) sum_i b_i Û_i,v    weights = b (m), rotation (n,4) the field at p
 *   SU_LINEAR     U_v = sum_i w_i R_i,v Û_i,v     weights = w (m), rotation unused */
void su_interpolate_basis(const su_pose_bases *bases, const double *weights, const double *rotation, double *U,
                          int threads);

#endif
