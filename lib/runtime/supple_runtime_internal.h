/* What supple_clip reads of a runtime. */
#ifndef SU_SUPPLE_RUNTIME_INTERNAL_H
#define SU_SUPPLE_RUNTIME_INTERNAL_H

#include "io/stage/model.h"
#include "runtime/supple_runtime.h"

/* The model's arrays that stay after opening; borrowed. */
const su_model *supple_model_of(const supple_runtime *runtime);

#endif
