/* supple.anim (docs/formats.md). An animation: the skin at every frame as the rig gives it, in the root frame. */
#ifndef SU_IO_ANIM_H
#define SU_IO_ANIM_H

#include "io/stage/schema.h"

#include <stdint.h>

typedef struct su_anim {
    su_file file;
    int64_t F;               /* frames */
    int64_t nbar;            /* skin vertices n̄ */
    int64_t T;               /* triangles */
    int64_t P;               /* polygons of the artist */
    int64_t corners;         /* polygon corners */
    int64_t N;               /* source vertices */
    int64_t s;               /* rig parameters */
    int64_t uvs;             /* texture coordinates */
    int64_t objects;         /* objects of the source */
    int64_t K;               /* blend shapes */
    int64_t B;               /* bones */
    int64_t nodes;           /* nodes of the source */
    int64_t joints;          /* bones, then joints without weight */
    int64_t materials;       /* of the source */
    int64_t sets1;           /* named sets of polygons, plus 1; 0: none */
    int64_t set_faces;       /* entries of all sets */
    float *points;           /* (F,nbar,3) root frame, m */
    double *root;            /* (F,4,4) root frame to world, rigid, row-major */
    double *neutral;         /* (nbar,3) X̄, m */
    int32_t *triangles;      /* (T,3) */
    int32_t *face_counts;    /* (P) corners of each polygon */
    int32_t *face_indices;   /* (corners) into source vertices */
    int32_t *source_vertex;  /* (N) welded vertex of each source vertex */
    double *times;           /* (F) s, uniform to 1e-6 */
    double *params;          /* (F,s) p */
    float *uv;               /* (uvs,2) optional */
    int32_t *uv_indices;     /* (corners) optional: into uv, a corner each */
    int32_t *object_ids;     /* (N) optional: object of each source vertex */
    double *object_xform;    /* (objects,4,4) optional */
    float *color;            /* (N,4) optional */
    double *young;           /* (nbar) optional: painted E, Pa or factor */
    double *poisson;         /* (nbar) optional */
    double *morphs;          /* (K,nbar,3) optional: blend-shape offsets, m */
    float *weights;          /* (nbar,B) optional: skinning weights */
    double *bones;           /* (F,B,4,4) optional: bone to root frame */
    double *bone_rest;       /* (B,4,4) optional: bone to root frame at the neutral pose */
    int32_t *bone_parent;    /* (B) optional: -1 at roots */
    double *bone_segments;   /* (B,2,3) optional: head and tail at the neutral pose, m */
    uint8_t *rigid;          /* (nbar) optional: 1 where a vertex only follows the rig */
    int32_t *node_parent;    /* (nodes) optional, with the next five: -1 at roots, else an earlier node */
    double *node_rest;       /* (nodes,4,4) node to its parent in the source's node pose; of roots to the world, m */
    float *node_keys;        /* (F,nodes,10) the same at every frame: translation, rotation w x y z, scale */
    int32_t *joint_node;     /* (joints) */
    double *joint_bind;      /* (joints,4,4) neutral skin to the node of each joint */
    int32_t *object_node;    /* (objects) */
    int32_t *face_material;  /* (P) optional, with the next two: -1 none; names are meta material_names */
    float *material_color;   /* (materials,4) linear red green blue, opacity */
    float *material_surface; /* (materials,2) metallic, roughness */
    int32_t *face_set_start; /* (sets1) optional, with the next: first entry of each; names are meta face_set_names */
    int32_t *face_set_faces; /* (set_faces) polygons, ascending in each set */
    double *object_frames;   /* (F,objects,4,4) optional: object_xform at every frame, where one moves */
} su_anim;

extern const su_schema su_anim_schema;

/* As su_schema_load, _save and _free. */
su_status su_anim_load(const char *path, su_anim *anim, su_error *err);
su_status su_anim_save(const char *path, const su_anim *anim, su_error *err);
void su_anim_free(su_anim *anim);

#endif
