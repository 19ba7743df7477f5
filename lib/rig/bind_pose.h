/* The bind pose: where each mesh and each node is when the skin has its neutral shape. */
#ifndef SU_RIG_BIND_POSE_H
#define SU_RIG_BIND_POSE_H

#include "core/error.h"
#include "core/memory.h"
#include "io/scene/scene.h"

#include <stdint.h>

typedef struct su_bind_pose {
    const su_scene *scene;
    double up[16];     /* scene to y up */
    double *node_pose; /* (nodes,16) node to scene in the node pose */
    double *rest;      /* (nodes,16) node to y-up space in the bind pose, file units */
    uint8_t *known;    /* (nodes) rest is set */
} su_bind_pose;

/* out (16): scene to y up, of a scene with that axis up (0 x, 1 y, 2 z): x about z, z about x, right-handed. */
void su_upright(int up, double out[16]);

su_status su_bind_pose_begin(su_bind_pose *bind, const su_scene *scene, int up, su_arena *arena, su_error *err);
/* bind (16): mesh space to the neutral pose. Call for skinned meshes first, the largest first. */
void su_bind_pose_mesh(su_bind_pose *bind, const su_scene_mesh *mesh, int32_t node, double out[16]);
/* rest of a node that may carry no skin: from the nearest ancestor or descendant whose rest is known. */
void su_bind_pose_node(const su_bind_pose *bind, int32_t node, double out[16]);

#endif
