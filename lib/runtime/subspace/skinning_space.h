/* The space of skinning eigenmodes (docs/skinning.md, eq. 28): rows phi of flesh vertices. */
#ifndef SU_RUNTIME_SKINNING_SPACE_H
#define SU_RUNTIME_SKINNING_SPACE_H

#include "io/stage/model.h"

#include <stdbool.h>
#include <stdint.h>

/* o and l of eq. 28: where affine maps have their origin, and their unit of length, m. */
typedef struct su_skinning_frame {
    double centre[3], length;
} su_skinning_frame;

/* Does a model file hold skinning modes? */
bool su_is_skinning_model(const su_model *source);
su_skinning_frame su_skinning_frame_of(const su_model *source);
/* X~ (4) of a flesh vertex, and its phi (4 k), kg^-1/2. */
void su_skinning_affine(const su_model *source, const su_skinning_frame *frame, int64_t vertex, double affine[4]);
void su_skinning_row(const su_model *source, const su_skinning_frame *frame, int64_t vertex, double *phi);

#endif
