/* The node tree of a character's file as it leaves again: the source's own nodes in metres with y up, and how the skin
 * hangs on them. */
#ifndef SU_RIG_NODE_TREE_H
#define SU_RIG_NODE_TREE_H

#include "rig/character.h"

#include <stdint.h>

/* Numbers of a node's place under its parent: translation, rotation (w x y z), scale. */
enum { SU_NODE_KEY = 10 };

typedef struct su_node_tree {
    int64_t nodes;
    const char **names;   /* (nodes) */
    int32_t *parent;      /* (nodes) an earlier node; -1 at roots */
    double *rest;         /* (nodes,16) to the parent, in the node pose of the file; of roots: to the world, m, y up */
    int32_t *scene_node;  /* (nodes) of the scene; -1: what turns its axes and unit into ours */
    int64_t joints;       /* the bones, then those without weight */
    int32_t *joint_node;  /* (joints) */
    double *joint_bind;   /* (joints,16) neutral skin to the node of each: inverse bind matrix */
    int32_t *object_node; /* (objects) */
} su_node_tree;

/* Arrays belong to the arena. All nodes of the scene are in it but the root that assimp puts over a file's own where
 * that carries and does nothing; a root more stands above them where the file's unit or axes are not ours. */
su_status su_node_tree_create(const su_character *character, su_arena *arena, su_node_tree *out, su_error *err);
/* keys (nodes,SU_NODE_KEY) of a frame, from `local` (scene nodes,16) as su_scene_local gives it. */
void su_node_tree_keys(const su_node_tree *tree, const double *local, float *keys);

#endif
