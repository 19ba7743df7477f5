/* What a shot does to a model of skinning modes, frame by frame: all that its steps need of the rig (docs/skinning.md,
 * sections 2 and 3). Linear in the skin, so between frames it lies on the splines of the skin itself (docs/formats.md,
 * convention 17). */
#ifndef SU_RUNTIME_SKINNING_SHOT_H
#define SU_RUNTIME_SKINNING_SHOT_H

#include "core/error.h"
#include "physics/settings.h"
#include "rig/shot.h"
#include "runtime/skinning/skinning_bones.h"
#include "runtime/skinning/skinning_rig.h"

#include <stdint.h>

typedef struct su_skinning_shot su_skinning_shot;

/* The motion of a rig of linear blend skinning, as its bones have it. */
typedef struct su_bone_motion {
    const su_skinning_bones *bones;
    const double *frames; /* (F,bones,3,4) of each from the neutral pose, root frame */
} su_bone_motion;

/* model and shot are borrowed. gravity as the shot's settings have it. bones: NULL, poses are made from the skin of the
 * shot; else from these, and its skin is not looked at (borrowed). */
su_status su_skinning_shot_create(const su_skinning_model *model, const su_shot *shot, const su_sim_settings *settings,
                                  const su_bone_motion *bones, int threads, su_skinning_shot **out, su_error *err);
void su_skinning_shot_free(su_skinning_shot *of);

/* The instant `fraction` of a frame behind `frame`. Rotations are found from those that `turn` holds. */
void su_skinning_shot_at(const su_skinning_shot *of, int64_t frame, double fraction, su_skinning_instant *out);

/* Weights w (m) of the example poses at a frame. */
void su_skinning_shot_weights(const su_skinning_shot *of, int64_t frame, double *w);

/* Kinetic energy of the rig's own motion, sum of m |v|^2 / 2 over the last h (F) seconds before each frame, J; 0 where
 * h is 0: energy (F). */
void su_skinning_rig_energy(const su_skinning_shot *of, const double *h, double frame_seconds, double *energy);

#endif
