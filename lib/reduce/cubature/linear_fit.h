/* D by least squares on the forces of the full space: what a basis leaves out of a motion makes the flesh in its span
 * too stiff, and the forces at the motion's own states tell by how much. */
#ifndef SU_REDUCE_LINEAR_FIT_H
#define SU_REDUCE_LINEAR_FIT_H

#include "core/error.h"

#include <stdint.h>

/* What D is fitted to. Borrowed. */
typedef struct su_linear_fit {
    int64_t r, count;        /* modes, states */
    const double *stiffness; /* (r,r) U'KU of the flesh at the neutral pose, definite, 1/s^2 */
    const double *q;         /* (count,r) coordinates of the states */
    const double *lacking;   /* (count,r) force of the flesh there less that of the model, with its D */
    double least;            /* of the median length, added to each state's own before errors are divided by it */
    double prior;            /* weight of the D that was, in parts of what the states say of a direction on average */
    double most_taken;       /* of the stiffness, that D may take off at most */
} su_linear_fit;

/* Root mean square of what a model lacks, relative to each state's own linear force, before and after. */
typedef struct su_linear_fit_error {
    double before, after;
} su_linear_fit_error;

/* linear (r,r) += Delta, symmetric (docs/design.md, eq. 14a), bounded below; both are measured with the stiffness, so
 * that forces count by the displacement they make. SU_NUMERICS where the stiffness is not definite. Nothing is changed
 * where the states do not move. */
su_status su_fit_linear_force(const su_linear_fit *fit, double *linear, su_linear_fit_error *error, su_error *err);

#endif
