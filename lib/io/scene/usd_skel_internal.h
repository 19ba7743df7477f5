/* What the files of usd_skel share: the scene that is being made of a USD stage. */
#ifndef SU_IO_USD_SKEL_INTERNAL_H
#define SU_IO_USD_SKEL_INTERNAL_H

#include "io/scene/scene.h"
#include "io/scene/shape_channels.h"
#include "io/usd/usd_layer.h"

/* A Skeleton: its joints have paths, "hips/spine", and come behind those above them. */
typedef struct su_usd_skeleton {
    int64_t prim, animation; /* prim numbers; animation -1: none is bound */
    int64_t joints;
    su_usd_text *joint; /* (joints) paths */
    double *bind;       /* (joints,16) to the skeleton's space */
    int32_t first;      /* node of the first joint; the others follow */
} su_usd_skeleton;

/* The blend shapes of a mesh: each token is a weight, that goes through the shape's inbetweens. */
typedef struct su_usd_shapes {
    int64_t tokens;
    su_usd_text *token;
    su_shape_channel *channel; /* (tokens) */
} su_usd_shapes;

typedef struct su_usd_skel {
    su_usd_layer layer;
    su_scene *out;
    su_arena *arena;
    int64_t skeletons;
    su_usd_skeleton *skeleton;
    int32_t *node_of;       /* (prims) -1: none */
    int64_t *instance_prim; /* (instances of the scene) */
    su_usd_shapes *shapes;  /* (meshes of the scene) */
    su_error err;
} su_usd_skel;

/* ---- usd_skel_build.c ---- */

const char *su_usd_skel_text(su_usd_skel *b, su_usd_text text);
su_status su_usd_skel_refuse(su_usd_skel *b, int64_t prim, const char *what);
su_status su_usd_skel_no_memory(su_usd_skel *b);
/* Whether a prim of a type is there. */
bool su_usd_skel_stands(const su_usd_prim *prim, const char *type);
/* All tokens of an attribute, in the scene's arena. */
su_usd_text *su_usd_skel_tokens(su_usd_skel *b, const su_usd_attribute *a, int64_t *count);
/* Where a relationship of a prim or of one above it points; -1: nowhere. */
int64_t su_usd_skel_inherited(const su_usd_layer *layer, int64_t prim, const char *name);
/* The skeleton that a mesh is bound to, or the only one; NULL: none. */
const su_usd_skeleton *su_usd_skel_of(const su_usd_skel *b, int64_t prim);

/* ---- usd_skel_clips.c ---- */

/* The clips of a scene whose nodes and meshes are there. */
su_status su_usd_skel_clips(su_usd_skel *b);

#endif
