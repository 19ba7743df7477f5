/* Makes the packed model that stepping reads (subspace/packed_model.h) from a model file. */
#ifndef SU_RUNTIME_PACK_MODEL_H
#define SU_RUNTIME_PACK_MODEL_H

#include "core/error.h"
#include "io/stage/model.h"
#include "runtime/subspace/packed_model.h"

#include <stdint.h>

/* Borrows arrays of the model for its life. material and names come from the model's meta. vertices (count): flesh
 * vertices whose motion is wanted, too, as points: extra_point. */
su_status su_runtime_model_create(const su_model *model, su_interpolation interpolation, int64_t count,
                                  const int32_t *vertices, su_runtime_model *out, su_error *err);
void su_runtime_model_free(su_runtime_model *model);

/* Bytes that stepping and the pose part read. */
int64_t su_runtime_model_bytes(const su_runtime_model *model);

#endif
