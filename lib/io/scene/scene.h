/* A rigged scene as its file gives it: nodes, meshes, skins, blend shapes, clips. scene_load.h reads
 * one. */
#ifndef SU_IO_SCENE_H
#define SU_IO_SCENE_H

#include "core/error.h"
#include "core/memory.h"
#include "core/name_list.h"

#include <stdint.h>

/* Matrices are double[16], row-major, acting on columns. Names are never NULL. Vertices, polygons, uv in file order. */

/* What a node takes of the scale above it (FBX's InheritType): rig/inherited_scale.h says how. */
typedef enum su_inherit { SU_INHERIT_ALL, SU_INHERIT_NOT_PARENT, SU_INHERIT_APART } su_inherit;

typedef struct su_scene_node {
    const char *name;
    int32_t parent;    /* an earlier node; -1: the first, which is the scene itself or its only root */
    int32_t inherit;   /* su_inherit */
    int32_t links;     /* nodes right above that stand for this one, too (assimp splits nodes of FBX) */
    double local[16];  /* to the parent, in the node pose, before what inherit says */
    const char *human; /* which bone of a human it is, as the file says (VRM: "leftUpperArm"); NULL: not said */
} su_scene_node;

typedef struct su_scene_bone {
    int32_t node;
    double inverse_bind[16]; /* mesh space to bone space in the bind pose */
    int64_t first, count;    /* range of the influence arrays */
} su_scene_bone;

/* How a mesh's skin blends its joints: linearly, which formats do that say nothing; by dual quaternions; or by both,
 * vertex by vertex. */
typedef enum su_scene_skinning { SU_SCENE_LINEAR, SU_SCENE_DUAL, SU_SCENE_MIXED } su_scene_skinning;

typedef struct su_scene_mesh {
    const char *name;
    int64_t vertices, polygons, corners, bones, influences, shapes;
    double *positions;         /* (vertices,3) */
    int32_t *face_counts;      /* (polygons), 3 or more */
    int32_t *face_indices;     /* (corners) */
    int32_t *face_material;    /* (polygons) -1: none; NULL: no polygon has one */
    float *uv;                 /* (vertices,2), origin at the bottom left; NULL: none */
    float *color;              /* (vertices,4); NULL: none */
    su_scene_bone *bone;       /* (bones) */
    int32_t *influence_vertex; /* (influences) */
    double *influence_weight;  /* (influences) as in the file: not normalized */
    const char **shape_names;  /* (shapes) */
    double *shape_defaults;    /* (shapes) weight where no channel sets it */
    double *shape_positions;   /* (shapes,vertices,3) absolute */
    int32_t skinning;          /* su_scene_skinning, what the file says */
    int64_t control_points;    /* 0: vertices are the file's own */
    int32_t *control_point;    /* (vertices) the file's own vertex, where the reader gave each corner one; NULL: none */
    int32_t *source_polygon;   /* (polygons) the file's own polygon; with control_point */
    int64_t source_mesh; /* which mesh of the file: parts of one (by material) share its vertices; with control_point */
} su_scene_mesh;

typedef struct su_scene_material {
    const char *name;
    float color[4];   /* base colour, linear red green blue and opacity, 0 to 1 */
    float surface[2]; /* metallic, roughness */
} su_scene_material;

typedef struct su_scene_instance {
    int32_t node, mesh;
} su_scene_instance;

/* Between keys; SU_KEYS_CUBIC tracks (glTF CUBICSPLINE) hold three values a key: in-tangent, value, out-tangent. */
typedef enum su_key_mode { SU_KEYS_LINEAR, SU_KEYS_STEP, SU_KEYS_CUBIC } su_key_mode;

/* Values a key of a track. */
static inline int su_key_values(int32_t mode) { return mode == SU_KEYS_CUBIC ? 3 : 1; }

/* Keys of one node; times in seconds, ascending. A part without keys stays as in the node pose. */
typedef struct su_scene_channel {
    int32_t node, translation_mode, rotation_mode, scale_mode; /* su_key_mode */
    int64_t translations, rotations, scales;
    double *translation_times, *translation; /* (translations), (translations,3) */
    double *rotation_times, *rotation;       /* (rotations), (rotations,4) w, x, y, z, unit */
    double *scale_times, *scale;             /* (scales), (scales,3) */
} su_scene_channel;

/* Blend-shape weights of the meshes of one node. */
typedef struct su_scene_morph_channel {
    int32_t node, mode;
    int64_t keys, shapes;
    double *times;   /* (keys) s */
    double *weights; /* (keys,shapes) */
} su_scene_morph_channel;

typedef struct su_scene_clip {
    const char *name;
    double start, end; /* s: first and last key */
    double key_rate;   /* 1/s: one over the median distance of keys; 0 where there are none */
    bool layered;      /* FBX: some property is moved on several layers, of which one is taken */
    int64_t channels, morph_channels;
    su_scene_channel *channel;
    su_scene_morph_channel *morph_channel;
} su_scene_clip;

typedef struct su_scene {
    su_arena arena;      /* owns everything */
    const char *format;  /* "glTF", "FBX", ... */
    double unit;         /* m, as the format or the file says; 0: not said */
    int32_t up;          /* axis that points up: 0 x, 1 y, 2 z; -1: not said */
    double frame_rate;   /* as the file says; 0: not said */
    bool exact;          /* clips are as the file has them between keys, too: nothing of its curves was lost */
    bool mesh_is_node;   /* USD: a mesh stands among the nodes, under its own name; else below one */
    const char *missing; /* a file that this one takes from and that cannot be read, and why; NULL or "": none */
    int64_t files;       /* that this one takes from and that were read */
    const char **file;   /* (files) */
    su_name_list unread; /* texture coordinates and colours of meshes beside the first, which are read */
    int64_t nodes, meshes, instances, clips, materials;
    su_scene_node *node;
    su_scene_mesh *mesh;
    su_scene_instance *instance; /* in the order of the node tree */
    su_scene_clip *clip;
    su_scene_material *material;
} su_scene;

/* Sets start, end and key_rate of a clip from its tracks: first and last key, and one over the median distance of the
 * keys of the track with most of them. Takes room from the arena; 1 where there is none. */
int su_scene_measure_clip(su_scene_clip *clip, su_arena *arena);

/* The longest way of a node from where its channel has it first, in its parent's units. */
double su_scene_travel(const su_scene_channel *channel);

/* Indices, ranges, finite numbers, order of keys: what the rest of the program relies on. SU_INPUT names what is wrong.
 */
su_status su_scene_check(const su_scene *scene, su_error *err);
void su_scene_free(su_scene *scene);
/* The axis that points up, 0 x, 1 y, 2 z: y where the file does not say. */
int su_scene_up(const su_scene *scene);

#endif
