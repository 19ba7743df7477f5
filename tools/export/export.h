/* Parts of supple export: what is asked for, what is loaded, how frames run through. */
#ifndef SU_TOOLS_EXPORT_H
#define SU_TOOLS_EXPORT_H

#include "core/tool.h"
#include "geometry/bind.h"
#include "io/stage/anim.h"
#include "io/cache/cache.h"
#include "io/stage/model.h"
#include "io/cache/obj.h"
#include "io/stage/sim.h"
#include "rig/shot.h"
#include "io/expand.h"
#include "io/frame_window.h"
#include "runtime/subspace/reconstruct.h"

enum { WHAT_POINTS, WHAT_DISPLACEMENT };

/* --format skin, behind the formats of caches: no cache of vertices, and no extension of its own. */
#define FORMAT_SKIN "skin"
enum { FORMAT_SKIN_NUMBER = SU_CACHE_USD_EITHER + 1 };

typedef struct settings {
    int format, space, up, what, morphs, joints, texture, samples;
    const char *frames, *amplitude, *bind, *shutter, *under, *asset;
    double unit, offset, morph_error;
    su_list objects;
    bool velocities, normals, rig, no_skin, flat, over, subdivision, weights;
} settings;

/* What is written of the source's mesh where only some objects are. */
typedef struct chosen {
    int32_t *kept;                                         /* (layout.vertices) source vertex of each */
    int32_t *counts, *indices, *uv_indices, *ids, *joined; /* of the layout */
    float *color, *frame[3];                               /* points, velocities, normals of a sample */
    su_looks looks;
} chosen;

typedef struct job {
    settings set;
    const char *anim_path;
    su_model model;
    su_anim anim;
    su_sim sim;
    bool has_model, has_sim;
    su_shot *shot;
    su_reconstruct *reconstruct;
    su_expand expand;
    double fps, number;        /* of the shot: frames a second, number of its first frame */
    int64_t first, last, step; /* frames of the shot that are written */
    const char **names;        /* (objects) */
    char **paths;              /* (objects) of the meshes in the source; NULL: none */
    double *object_frames;     /* (frames,objects,4,4) of the frames that are written; NULL: none moves */
    chosen chosen;             /* --object: some objects of many; kept NULL: all */
    su_looks looks;            /* of the animation, whose arrays and names are borrowed */
    su_cache_layout layout;
    su_cache_skin skin;      /* glb: of the source */
    const char **node_names; /* (skin.nodes) */
    float *node_keys;        /* (frames,nodes,10) where frames are left out; NULL: those of the animation */
    su_obj carried;          /* --bind: a mesh that rides on the skin */
    su_bind bind;
    double *carried_points;                /* (carried.vertices,3) root frame, m */
    double *points, *displacement;         /* (block,nbar,3) */
    su_frame_window *window;               /* of (N,3) */
    double *offsets;                       /* (samples) frames */
    bool *cut;                             /* (F) a jump before this frame; NULL: none */
    float *between, *normals, *velocities; /* (N,3) */
    double *scratch;                       /* (nbar,3), of a bound mesh (vertices,3) */
    double *root;                          /* (frames,4,4) of the frames that are written: glb */
    float *amplitude;                      /* (nbar) largest |A u| of each vertex, m */
    double largest;                        /* of all */
    int32_t *copies;                       /* (nbar) source vertices of each */
    double square;                         /* sum of |A u|^2 over the source vertices of the frames written, m^2 */
    su_cache_report report;
    double rebuild_seconds, write_seconds;
} job;

/* Vertices of the mesh that is rebuilt: the source's, or one that is carried. Fewer are written where objects are
 * chosen. */
static inline int64_t export_whole(const job *j) { return j->set.bind ? j->carried.vertices : j->anim.N; }

/* The layout of the cache and all that it stands on: frames, samples, names, units, a carried mesh. */
su_status export_describe(su_tool *tool, job *j);
/* All frames, rebuilt `block` at a time, handed to the writer. */
su_status export_frames(su_tool *tool, job *j, su_cache_writer *writer, int64_t block);

/* --format skin, in place of frames. */
su_status export_skin(su_tool *tool, job *j);

#endif
