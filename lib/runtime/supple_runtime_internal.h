/* supple_open for hosts that bring a model's arrays themselves: the page of supple report has no files. */
#ifndef SU_SUPPLE_RUNTIME_INTERNAL_H
#define SU_SUPPLE_RUNTIME_INTERNAL_H

#include "core/error.h"
#include "io/stage/model.h"
#include "runtime/supple_runtime.h"

/* Takes the model over, on failure too. NULL on failure. */
supple_runtime *su_runtime_open(su_model *model, const supple_options *options, su_error *err);

#endif
