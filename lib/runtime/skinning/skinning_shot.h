/* What a shot does to a model of skinning modes, frame by frame: all that its steps need of the rig (docs/skinning.md,
 * sections 2 and 3). Linear in the skin, so between frames it lies on the splines of the skin itself (docs/formats.md,
 * convention 17). */
#ifndef SU_RUNTIME_SKINNING_SHOT_H
#define SU_RUNTIME_SKINNING_SHOT_H

#include "core/error.h"
#include "physics/settings.h"
#include "rig/shot.h"
#include "runtime/skinning/skinning_model.h"

#include <stdint.h>

/* At an instant. Arrays by columns of the model's stride, or in lanes of clusters; root frame. */
typedef struct su_skinning_instant {
    double *N;       /* (panels,9,8) what is free of stress: a rotation, or the rig's own gradient */
    double *turn;    /* (panels,9,8) the rotation of N, N itself where that is one */
    double *rig;     /* (3,stride) P: sum of m phi x' */
    double *carried; /* (3,stride) sum of m phi (R_v g)', what relative gravity takes off */
    double *strain;  /* (3,stride) what the rig's strain within clusters pulls with; 0 where N is a rotation */
    double Q[9], c[3];
} su_skinning_instant;

typedef struct su_skinning_shot su_skinning_shot;

/* model and shot are borrowed. gravity as the shot's settings have it. */
su_status su_skinning_shot_create(const su_skinning_model *model, const su_shot *shot, const su_sim_settings *settings,
                                  int threads, su_skinning_shot **out, su_error *err);
void su_skinning_shot_free(su_skinning_shot *of);

/* Doubles that the arrays of an instant take, and an instant whose arrays stand in `room`, 64-byte aligned. */
int64_t su_skinning_instant_size(const su_skinning_model *model);
su_skinning_instant su_skinning_instant_in(const su_skinning_model *model, double *room);
/* The instant `fraction` of a frame behind `frame`. Rotations are found from those that `turn` holds. */
void su_skinning_shot_at(const su_skinning_shot *of, int64_t frame, double fraction, su_skinning_instant *out);

/* Weights w (m) of the example poses at a frame. */
void su_skinning_shot_weights(su_skinning_shot *of, int64_t frame, double *w);

/* Kinetic energy of the rig's own motion, sum of m |v|^2 / 2 over the last h (F) seconds before each frame, J; 0 where
 * h is 0: energy (F). */
su_status su_skinning_rig_energy(const su_skinning_shot *of, const double *h, double frame_seconds, int threads,
                                 double *energy, su_error *err);

#endif
