/* Colliders, friction, wind and point forces (physics/loads.h) as a part of the stepper (step/parts.h), on any
 * subspace whose chosen points hold the four corners that carry each load point. */
#ifndef SU_RUNTIME_LOAD_CONTACT_H
#define SU_RUNTIME_LOAD_CONTACT_H

#include "core/error.h"
#include "physics/loads.h"
#include "runtime/step/parts.h"

/* The rig at an instant of the stepper's: root frame to world. */
typedef void su_instant_frame(const void *instant, double Q[9], double c[3]);

/* loads is borrowed; its t and skin are set by whoever steps, before each step. point (4 a load point): the subspace's
 * chosen points that carry it, -1: never moves; borrowed. */
su_status su_load_contact_create(su_loads *loads, const int32_t *point, const su_subspace *subspace,
                                 su_instant_frame *frame, su_contact *out, su_error *err);

#endif
