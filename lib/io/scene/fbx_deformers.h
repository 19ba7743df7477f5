/* What an FBX says of skins and blend shapes, and assimp drops: how meshes were bound, how much of their shapes there
 * is where nothing moves them, and between which weights. Internal to lib/io. */
#ifndef SU_IO_FBX_DEFORMERS_H
#define SU_IO_FBX_DEFORMERS_H

#include "io/scene/scene.h"
#include "io/scene/shape_channels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct su_fbx_channel {
    su_shape_channel mix;
    /* Blender's groups of vertices on a shape: how much of its one shape the file's own vertices take, 1 where they are
     * not here. */
    int64_t points;
    int32_t *point; /* (points) */
    double *part;   /* (points) 1 is 100 per cent */
} su_fbx_channel;

typedef struct su_fbx_bind {
    const char *name; /* of the model of a bone, not ended by a 0 */
    size_t length;
    double bind[16]; /* the mesh's node to that bone, when it was bound */
} su_fbx_bind;

typedef struct su_fbx_mesh {
    const char *name; /* of its model, not ended by a 0 */
    size_t length;
    int64_t bones; /* 0: it has no skin */
    su_fbx_bind *bone;
    int32_t skinning; /* su_scene_skinning, of its last skin */
    int64_t channels;
    su_fbx_channel *channel; /* in the order in which assimp has their shapes */
} su_fbx_mesh;

/* The meshes of a file that are bound or have shapes, from the arena; returns how many. *inherit: the InheritType of
 * models that say none; -1: the file does not say. */
int64_t su_fbx_read_meshes(const char *data, size_t size, su_arena *arena, su_fbx_mesh **meshes, int32_t *inherit);

/* assimp splits a node of an FBX with pivots or a pre-rotation into a chain, NAME_$AssimpFbx$_Translation and so on
 * down to NAME. */
#define SU_ASSIMP_LINK "_$AssimpFbx$_"

enum { SU_INHERIT_UNSAID = -1 }; /* of a node, until the file's default is known */
int32_t su_fbx_inheritance(int32_t inherit_type);

/* Brings a scene as assimp has it to what the file says of inherited scale, skins and shapes (data NULL: nothing is
 * known of it); 1: not enough memory. */
int su_fbx_complete(su_scene *scene, const char *data, size_t size);
/* Weights that neither a key nor the file says (NaN) are 0. */
void su_scene_settle_weights(su_scene *scene);

#endif
