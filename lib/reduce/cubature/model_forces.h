/* The elastic force that a model has at states of its basis, by the run time's own kernels. */
#ifndef SU_REDUCE_MODEL_FORCES_H
#define SU_REDUCE_MODEL_FORCES_H

#include "io/stage/basis.h"
#include "io/stage/model.h"
#include "reduce/cubature/training_places.h"

/* force (f,r) of the basis' states, N in the basis: of the model's cubature tets and of D, at the pose of each state's
 * frame and its reduced coordinates (docs/design.md, eq. 12). shots: those of the basis, in its order. The model has
 * one basis for all poses. The same bytes for any number of threads. SU_INPUT where a state is of no frame of the
 * shots, SU_NUMERICS where the model's tets are lost at one. */
su_status su_model_forces(const su_model *model, const su_basis *basis, const su_shot_list *shots, int threads,
                          double *force, su_error *err);

#endif
