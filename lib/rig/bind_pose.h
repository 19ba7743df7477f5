/* The bind pose: where each mesh and each node is when the skin has its neutral shape. */
#ifndef SU_RIG_BIND_POSE_H
#define SU_RIG_BIND_POSE_H

#include "core/error.h"
#include "core/memory.h"
#include "io/scene/scene.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_bind_pose {
    const su_scene *scene;
    bool is_fbx;       /* its clusters bind in the world */
    double up[16];     /* scene to y up */
    double *node_pose; /* (nodes,16) node to scene in the node pose */
    double *rest;      /* (nodes,16) node to y-up space in the bind pose, file units */
    uint8_t *known;    /* (nodes) rest is set: su_bind_known */
    uint8_t *hung;     /* (nodes) a mesh without joints hangs on it or below */
} su_bind_pose;

/* What is bound to joints is known against them; how it stands in the world the file may leave open. */
typedef enum su_bind_known { SU_BIND_UNKNOWN, SU_BIND_STANDS, SU_BIND_OPEN } su_bind_known;

/* out (16): scene to y up, of a scene with that axis up (0 x, 1 y, 2 z): x about z, z about x, right-handed. */
void su_upright(int up, double out[16]);

su_status su_bind_pose_begin(su_bind_pose *bind, const su_scene *scene, int up, su_arena *arena, su_error *err);
/* bind (16): mesh space to the neutral pose, and whether it is still open how that stands
 * (su_character_stand_upright). Call for skinned meshes first, the largest first. */
su_bind_known su_bind_pose_mesh(su_bind_pose *bind, const su_scene_mesh *mesh, int32_t node, double out[16]);
/* rest of a node that may carry no skin: from the nearest ancestor or descendant whose rest is known; else the node
 * pose, which stands. */
su_bind_known su_bind_pose_node(const su_bind_pose *bind, int32_t node, double out[16]);

/* How a joint carries the mesh in the node pose: mesh space to y-up space. */
void su_bind_pose_carried(const su_bind_pose *bind, const su_scene_bone *bone, double out[16]);

#endif
