/* The subspace of a model file as a part of the stepper (step/parts.h): U(p) = R U^(p) Y(p), PSSD's, with one basis or
 * one an example pose. Its instants are su_pose; its chosen points the model's kept points, of which contacts name
 * theirs by `extra_point`. Rows, rotations and Gram blends of an instant are made by the pose part, for blocks of
 * instants and in parallel; here they are read. Displacements of whole frames for export are rebuilt from the model
 * file, in blocks, by reconstruct.h.
 *
 * What it shares with the cubature tets: the instant. A tet's B is made of basis rows while these are in the cache, so
 * the pose part makes rows and B in one pass (pose_part.h), and tets_force.h reads B from the same su_pose. What the
 * tets need of a state they ask for through `still`. */
#ifndef SU_RUNTIME_POSED_SUBSPACE_H
#define SU_RUNTIME_POSED_SUBSPACE_H

#include "core/error.h"
#include "runtime/subspace/packed_model.h"
#include "runtime/step/parts.h"
#include "runtime/subspace/pose_part.h"

/* model is borrowed. */
su_status su_posed_subspace_create(const su_runtime_model *model, su_subspace *out, su_error *err);

/* The blend weights in the share of a state; its arrays are the state's own. */
su_blend su_posed_blend(const su_subspace *subspace, const double *state);

#endif
