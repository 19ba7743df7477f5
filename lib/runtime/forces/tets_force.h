/* The elastic force of cubature tets and of what they lack, D q (linear_force.h), as a part of the stepper
 * (step/parts.h).
 *
 * Its instants are su_pose, of which it reads what belongs to tets: B (F = 1 + B q), gradients, corner rotations,
 * volumes and Lame coefficients. The pose part makes these together with the posed subspace's rows, because B is made
 * of rows while they are near; so this force goes with any subspace whose q means what the model's does (the columns of
 * B). Of the subspace itself it asks for one thing, `still`: displacements of the model's kept points, in their order,
 * from which a tet's strain leads to its other corners. Its share of a state are the corners, turned back to the
 * neutral pose: what the next step's damping and linearization start from. */
#ifndef SU_RUNTIME_TETS_FORCE_H
#define SU_RUNTIME_TETS_FORCE_H

#include "core/error.h"
#include "runtime/subspace/packed_model.h"
#include "runtime/step/parts.h"

/* model is borrowed. stiffness: factor on Young's modulus. */
su_status su_tets_force_create(const su_runtime_model *model, double stiffness, su_force *out, su_error *err);
/* Another factor, from the next step on. */
void su_tets_force_set_stiffness(su_force *force, double stiffness);

#endif
