/* Forces from outside in the reduced step; nothing happens where the stepper has no loads. */
#ifndef SU_RUNTIME_STEP_LOADS_H
#define SU_RUNTIME_STEP_LOADS_H

#include "runtime/step/step.h"

/* Where the load points are, at the state reached. */
void su_step_keep_loads(su_stepper *s, const su_pose *pose, const su_record *record);
/* At the turned previous state u*: lagged friction, rows of the points near a collider; all other points only push,
 * into s->load. h = 0: static, every point may come near. */
void su_step_prepare_loads(su_stepper *s, const su_pose *pose, double h);
/* What near points do at q (NULL: at u*): out (lead) -= (A U)' f, at u* linearized, with H u* too; A (NULL: not wanted)
 * += (A U)' H A U. Returns their energy. */
double su_step_near_loads(su_stepper *s, const double *q, double *out, double *A);

#endif
