/* What a vertex cache holds beside the frames, whatever its format. */
#ifndef SU_IO_CACHE_LAYOUT_H
#define SU_IO_CACHE_LAYOUT_H

#include "geometry/looks.h"

#include <stdbool.h>
#include <stdint.h>

/* The source's node tree and how the skin hangs on it, for formats that hold a skeleton. Nodes, keys and bind matrices
 * as in supple.anim (docs/formats.md). */
typedef struct su_cache_skin {
    int64_t frames, nodes, joints;
    int64_t weighted;              /* of the joints: the first, which have weights */
    int64_t vertices;              /* of the welded skin */
    const char *const *node_names; /* (nodes) */
    const int32_t *node_parent;    /* (nodes) an earlier node; -1: root */
    const double *node_rest;       /* (nodes,4,4) */
    const float *node_keys;        /* (frames,nodes,10) translation, rotation w x y z, scale */
    const int32_t *joint_node;     /* (joints) */
    const double *joint_bind;      /* (joints,4,4) neutral skin to the node */
    const int32_t *object_node;    /* (objects of the layout) */
    const int32_t *skin_vertex;    /* (vertices of the layout) */
    const double *neutral;         /* (vertices,3) m */
    const float *weights;          /* (vertices,weighted) */
    int most_joints;               /* of one vertex: the strongest are kept */
} su_cache_skin;

/* What all frames share. Borrowed for the life of the writer. */
typedef struct su_cache_layout {
    int64_t frames, vertices, faces, corners, uvs, objects;
    const int32_t *face_counts;      /* (faces) counter-clockwise from outside */
    const int32_t *face_indices;     /* (corners) into vertices */
    const float *uv;                 /* (uvs,2); NULL: none */
    const int32_t *uv_indices;       /* (corners) */
    const int32_t *object_ids;       /* (vertices); NULL: one object */
    const char *const *object_names; /* (objects) */
    const double *object_xform;      /* (objects,4,4) row-major, p_world = X p; NULL: identity. abc and usda only */
    const double
        *object_frames; /* (frames without samples around them,objects,4,4) the same where one moves; or NULL */
    const char *const *object_paths; /* (objects) /group/object/mesh; NULL: /NAME/NAMEShape. abc and usda only */
    const su_looks *looks;           /* materials and sets of polygons; NULL: none */
    const float *color;              /* (vertices,4); NULL: none */
    bool subdivision;                /* the polygons are the cage of a subdivision surface: abc and usda only */
    bool over;         /* usda: opinions over the prims of another layer, points and what moves with them */
    bool unskin;       /* usda, over: what UsdSkel moves there is moved by it no more */
    const char *asset; /* usda: a layer below this one; NULL: none */
    double fps, frame_start,
        frame_step;        /* frame k has the number frame_start + k frame_step, its time is number / fps */
    int samples;           /* 0, or samples around each frame: abc and usda only; `frames` counts all of them */
    const double *shutter; /* (samples) frame numbers after the frame's own, increasing, less than frame_step apart */
    bool velocities, normals; /* frames bring them; formats without a place for them leave them out */
    double unit;              /* m: of one unit of the positions */
    char up;                  /* 'y' or 'z' ('x'): for formats that say so */
    const double *root;       /* (frames,4,4) rigid motion that glb puts over the positions; NULL: none */
    const int32_t *joined; /* (vertices) those that a seam splits have one number, below vertices; NULL: each its own */
    const su_cache_skin *skin; /* glb: kept, and only what it does not do goes into morph targets; NULL: none */
    int64_t morphs;            /* glb: the most shapes */
    double morph_error; /* glb: fewer shapes where so few leave this part of the motion (RMS); 0: `morphs` of them */
    int texture;        /* vat: su_image_kind */
    bool displacement;  /* the points are displacements */
    const char *clip;   /* name of the clip; NULL: none */
    const char *application; /* "supple 0.1.0" */
    const char *provenance;  /* one line; NULL: none */
} su_cache_layout;

/* Frame number, with its fraction, of what is written as number k. */
static inline double su_cache_frame_number(const su_cache_layout *l, int64_t k)
{
    int64_t frame = l->samples ? k / l->samples : k;
    return l->frame_start + (double)frame * l->frame_step + (l->samples ? l->shutter[k % l->samples] : 0.0);
}

#endif
