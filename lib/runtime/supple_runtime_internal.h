/* The runtime for hosts inside the project: supple_clip, and the page of supple report. */
#ifndef SU_SUPPLE_RUNTIME_INTERNAL_H
#define SU_SUPPLE_RUNTIME_INTERNAL_H

#include "io/stage/model.h"
#include "io/stage/pair_sets.h"
#include "runtime/supple_runtime.h"

/* supple_open for who has the arrays from elsewhere. model and contact (NULL: flesh passes through itself) are taken
 * over, on failure too; the options' self_contact is not looked at. */
supple_runtime *supple_open_model(su_model *model, su_pair_sets *contact, const supple_options *options, char *message,
                                  size_t size);
/* The model's arrays that stay after opening; borrowed. */
const su_model *supple_model_of(const supple_runtime *runtime);

#endif
