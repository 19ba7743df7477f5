/* A trained model judged by motion: forces met to a per cent may still be a motion that is far off, or none at all. */
#ifndef SU_REDUCE_MOTION_CHECK_H
#define SU_REDUCE_MOTION_CHECK_H

#include "core/error.h"
#include "io/anim.h"
#include "io/basis.h"
#include "io/model.h"

#include <stdint.h>

typedef struct su_motion_error {
    double error;        /* sqrt(sum |q - q'|^2 / sum |q'|^2) over all frames compared */
    int64_t frames;
    int64_t halved, damped, failed;   /* steps of the reduced run */
} su_motion_error;

/* Steps the model through shot number `shot` of the basis' states as they were played, one step a frame and one solve a step, and compares
 * coordinates where the played runs had as long to swing in as the reduced one. path: of anim, for messages. */
su_status su_motion_check(const su_model *model, const su_basis *basis, int shot, const su_anim *anim, const char *path, int threads,
                          su_motion_error *out, su_error *err);

#endif
