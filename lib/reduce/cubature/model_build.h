/* The model file out of its parts. */
#ifndef SU_REDUCE_MODEL_BUILD_H
#define SU_REDUCE_MODEL_BUILD_H

#include "io/stage/model.h"
#include "io/stage/poses.h"
#include "io/stage/skinning.h"
#include "reduce/cubature/cubature.h"
#include "reduce/cubature/pose_space.h"

/* Everything that the run time and export need, in memory of its own; meta is the caller's. Bases become
 * single-precision blocks over the free vertices of each region. */
su_status su_model_build(const su_pose_space *space, const su_poses *poses, const su_cubature *cubature,
                         su_model *model, su_error *err);

/* What a model's meta repeats of those of its fit and its basis (NULL: none). */
void su_model_carry_meta(const json_t *fit, const json_t *basis, json_t *meta);

/* A model of skinning modes (docs/skinning.md): all tets, each in its cluster (t); stiffness: factor on the moduli.
 * Meta is the caller's, here and below. */
su_status su_model_of_skinning(const su_tet *tet, const su_poses *poses, const su_fit *fit, const su_skinning *skinning,
                               const int32_t *cluster, double stiffness, su_model *model, su_error *err);

/* A model without modes: what full simulations of the character are exported by. */
su_status su_model_of_flesh(const su_tet *tet, const su_poses *poses, const su_fit *fit, su_model *model,
                            su_error *err);

#endif
