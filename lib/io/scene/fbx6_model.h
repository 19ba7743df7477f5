/* Where a node of an FBX file before version 7 stands. Internal to lib/io. */
#ifndef SU_IO_FBX6_MODEL_H
#define SU_IO_FBX6_MODEL_H

#include "io/scene/fbx6_tree.h"

/* A model of the file: T Roff Rp Rpre R Rpost^-1 Rp^-1 Soff Sp S Sp^-1, the SDK's order. Angles in degrees. */
typedef struct su_fbx6_model {
    const su_fbx6_node *object;
    int32_t node; /* of the scene */
    double translation[3], rotation[3], scale[3];
    double pre[9], post[9]; /* rotations before and, inverse, behind its own */
    double pivots[4][3];    /* offset and pivot of the rotation, of the scale */
    int order;              /* of the angles: 0 x y z (x first), 1 x z y, 2 y z x, 3 y x z, 4 z x y, 5 z y x */
} su_fbx6_model;

/* The model of a name ("Model::hip"), with a node or without; NULL: none. */
const su_fbx6_model *su_fbx6_find_model(int64_t count, const su_fbx6_model *models, const char *name);

/* local (16) of a model with other translation, rotation and scale; (3) each. */
void su_fbx6_local(const su_fbx6_model *model, const double *translation, const double *rotation, const double *scale,
                   double *local);

/* r (9): rotation by angles (3), degrees, in that order. */
void su_fbx6_turn(const double degrees[3], int order, double r[9]);
/* What a Model of the file says; node -1. */
void su_fbx6_read_model(const su_fbx6_node *object, su_fbx6_model *out);

#endif
