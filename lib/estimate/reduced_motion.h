/* Displacements of the whole flesh at any instant of a reduced shot, turned back to the neutral pose: U^(p) q with the basis of that
 * instant, in double. What the full space is placed at, and what is compared with it. */
#ifndef SU_ESTIMATE_REDUCED_MOTION_H
#define SU_ESTIMATE_REDUCED_MOTION_H

#include "core/error.h"
#include "io/model.h"
#include "rig/shot.h"
#include "runtime/reduced_basis.h"

#include <stdint.h>

typedef struct su_reduced_motion {
    const su_model *model;    /* borrowed, both */
    const su_shot *shot;
    su_reduced_basis basis;
} su_reduced_motion;

/* For corotated bases. */
su_status su_reduced_motion_create(const su_model *model, const su_shot *shot, su_reduced_motion *motion, su_error *err);
void su_reduced_motion_free(su_reduced_motion *motion);

/* Doubles that a caller brings as scratch. */
int64_t su_reduced_motion_scratch(const su_reduced_motion *motion);
/* back (n,3) m = U^ q at fraction of the segment at `frame`; q (r). Thread-safe with scratch of one's own. */
void su_reduced_motion_at(const su_reduced_motion *motion, int64_t frame, double fraction, const double *q, double *back,
                          double *scratch);
/* coordinates (r) = U^' back of one basis for all poses; weight (n): factors on the vertices (masses; NULL: 1). */
void su_reduced_motion_project(const su_reduced_motion *motion, const double *weight, const double *back, double *coordinates);

#endif
