/* Rig parameters p of a clip (docs/formats.md, convention 19): joint rotations, translations, scales, blend-shape
 * weights, by name.
 */
#ifndef SU_RIG_PARAMETERS_H
#define SU_RIG_PARAMETERS_H

#include "core/error.h"
#include "rig/character.h"

#include <stdint.h>

typedef struct su_parameters {
    su_arena arena;
    int64_t s;
    const char **names; /* (s) "neck.rx", "neck.tx", "neck.sx", "smile" */
    double *values;     /* (frames,s) 0 at the neutral pose */
} su_parameters;

/* bones (frames,B,16) in the root frame, shape_weights (frames,K). For every joint that moves flesh: the rotation
 * vector of R_neutral^-1 R (rad; R against the next joint above it) unwrapped over the frames; where they vary, its
 * translation over the character's diagonal and the log of its scale. Then all blend-shape weights. What moves less
 * than 1e-4 over the clip is held still: keys are 32-bit, and noise must not count as a pose. */
su_status su_rig_parameters(const su_character *character, int64_t frames, const double *bones,
                            const double *shape_weights, su_parameters *out, su_error *err);
/* v becomes the rotation vector of the same rotation nearest to the one before: v + 2 pi k along its axis. */
void su_unwrap_rotation(double v[3], const double before[3]);
void su_parameters_free(su_parameters *parameters);

#endif
