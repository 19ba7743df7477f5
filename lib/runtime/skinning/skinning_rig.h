/* What the rig does to a model of skinning modes at a pose: all that a step needs of it (docs/skinning.md, sections 2
 * and 3), as numbers that may be interpolated, and the instant that they make. */
#ifndef SU_RUNTIME_SKINNING_RIG_H
#define SU_RUNTIME_SKINNING_RIG_H

#include "core/error.h"
#include "geometry/rotation_field.h"
#include "physics/settings.h"
#include "rig/rest_shape.h"
#include "rig/rig_space.h"
#include "runtime/skinning/skinning_model.h"

#include <stdint.h>

/* At an instant. Arrays by columns of the model's stride, or in lanes of clusters; root frame. */
typedef struct su_skinning_instant {
    double *N;       /* (panels,9,8) what is free of stress: a rotation, or the rig's own gradient */
    double *rig;     /* (3,stride) P: sum of m phi x' */
    double *carried; /* (3,stride) sum of m phi (R_v g)', what relative gravity takes off */
    double *strain;  /* (3,stride) what the rig's strain within clusters pulls with; 0 where N is a rotation */
    double *turn;    /* (panels,9,8) the rotation of N, N itself where that is one */
    double Q[9], c[3];
} su_skinning_instant;

typedef struct su_skinning_rig {
    const su_skinning_model *model; /* borrowed */
    su_rig_space space;
    su_rest_shape shape;
    su_smoothing smoothing;
    double carried[3]; /* m/s^2: what R_v turns of gravity; 0 unless that is relative */
    int64_t width;     /* numbers of a pose: N before it is a rotation, P, carried, and strain of a neutral rest */
} su_skinning_rig;

/* Borrows the model; gravity as the settings have it. */
su_skinning_rig su_skinning_rig_of(const su_skinning_model *model, const su_sim_settings *settings);

/* Scratch of one thread, with room for a skin, parameters and weights. */
typedef struct su_skinning_work {
    double *skin, *p, *w; /* (nbar,3) corrected skin of the root frame, (s), (m): input of the next */
    double *x;            /* (n,3) the flesh's rest shape */
    double *other;        /* (n,3) room for another */
    su_rotation_field *field;
    double *turn, *lanes, *sums; /* (n,4), (panels,9,8) and (3,stride), (9,rows) */
} su_skinning_work;

su_status su_skinning_work_create(const su_skinning_rig *rig, su_skinning_work **out, su_error *err);
void su_skinning_work_free(su_skinning_work *work);

/* The numbers (width) of the pose at the work's skin and weights, and the flesh's rest shape there: work->x. */
void su_skinning_rig_numbers(const su_skinning_rig *rig, su_skinning_work *work, double *numbers);

/* Doubles that the arrays of an instant take, and an instant whose arrays stand in `room`, 64-byte aligned. The numbers
 * of a pose, or of what lies between poses, go where N begins; `finish` makes rotations of what shall be ones, found
 * from those in turn. */
int64_t su_skinning_instant_size(const su_skinning_model *model);
su_skinning_instant su_skinning_instant_in(const su_skinning_model *model, double *room);
void su_skinning_instant_finish(const su_skinning_model *model, su_skinning_instant *instant);

#endif
