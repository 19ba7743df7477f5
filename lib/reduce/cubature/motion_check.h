/* A trained model judged by motion: forces met to a per cent may still be a motion that is far off, or none at all. */
#ifndef SU_REDUCE_MOTION_CHECK_H
#define SU_REDUCE_MOTION_CHECK_H

#include "core/error.h"
#include "io/stage/anim.h"
#include "io/stage/basis.h"
#include "io/stage/model.h"
#include "reduce/training_plan.h"

#include <stdint.h>

typedef struct su_motion_error {
    double error; /* upper quartile over the frames of |q - q'| / (|q'| + a tenth of its rms) */
    int64_t frames;
    int64_t halved, damped, failed; /* steps of the reduced run */
} su_motion_error;

/* What a model is held against: the states of the first shot of a basis. Borrowed. */
typedef struct su_motion_reference {
    const su_basis *basis;
    const su_anim *anim; /* the first of its meta `shots` */
    const char *path;    /* of anim, for messages */
} su_motion_reference;

/* Steps the model through the shot of the basis' states as they were played, and compares
 * coordinates. The quartile, because single frames in which a played step of one solve went astray say nothing of the
 * model. */
su_status su_motion_check(const su_motion_reference *against, const su_model *model, const su_training_plan *plan,
                          int threads, su_motion_error *out, su_error *err);

#endif
