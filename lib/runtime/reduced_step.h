/* A stepper of a model file: posed subspace, cubature tets and, where there are forces from outside, load points
 * (docs/runtime.md, "How a subspace, a force, a contact is plugged in"). Its instants are su_pose. */
#ifndef SU_RUNTIME_REDUCED_STEP_H
#define SU_RUNTIME_REDUCED_STEP_H

#include "core/error.h"
#include "physics/loads.h"
#include "runtime/subspace/packed_model.h"
#include "runtime/step/step.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/posed_subspace.h"

/* model is borrowed. */
su_status su_stepper_create(const su_runtime_model *model, const su_step_settings *settings, su_stepper *stepper,
                            su_error *err);

/* Forces from outside (borrowed), once. The model was created with the four corners of each load point as extra
 * vertices. The loads' t and skin are set by the caller before each call of the stepper. */
su_status su_stepper_set_loads(su_stepper *stepper, const su_runtime_model *model, su_loads *loads, su_error *err);

#endif
