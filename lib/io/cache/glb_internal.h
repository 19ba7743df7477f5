/* What the files that write a glTF share. glb_part writes meshes, glb_nodes says where they hang, glb_clip moves them.
 */
#ifndef SU_IO_GLB_INTERNAL_H
#define SU_IO_GLB_INTERNAL_H

#include "io/cache/glb.h"
#include "io/cache/glb_file.h"

#include <stdbool.h>

/* Where a part goes. */
typedef struct su_glb_place {
    int64_t node;
    int64_t carrier; /* joint that it hangs on as a whole, without a skin; -1: none */
    bool skinned, targets;
} su_glb_place;

typedef struct su_glb_writer {
    su_glb_file file;
    const su_glb *glb;
    const su_cache_parts *parts;
    su_glb_place *place;          /* (parts) */
    int32_t *slot;                /* (joints) number in the list of joints; -1: not in it */
    int64_t *joint_node;          /* (joints) */
    int64_t joints, nodes, roots; /* in the list; nodes written; those that stand in the scene */
    su_error *err;
} su_glb_writer;

/* The source's tree, joints of one node under it, meshes that have no node of their own; each mesh on its node. */
su_status su_glb_place_on_tree(su_glb_writer *w);
/* All meshes under one node. */
su_status su_glb_place_on_root(su_glb_writer *w);
/* The list of joints with their inverse bind matrices. */
su_status su_glb_put_skin(su_glb_writer *w);

/* The mesh of a part, by its number: a vertex for each texture coordinate, a primitive for each material. */
su_status su_glb_put_part(su_glb_writer *w, int number);

/* The animation: tracks of nodes or of the root, and the weights of targets. */
su_status su_glb_put_clip(su_glb_writer *w);

#endif
