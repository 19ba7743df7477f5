/* Per-frame vertices with one topology, whatever the format: OBJ and PLY sequences, PC2, MDD, Alembic, USD. Opened
 * once, read frame by frame with memory for one frame. */
#ifndef SU_IO_SEQUENCE_H
#define SU_IO_SEQUENCE_H

#include "core/error.h"
#include "core/name_list.h"
#include "geometry/looks.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_sequence {
    int64_t frames, vertices, faces, corners, uvs, objects;
    bool timed;             /* the format stores times; else times are 0, 1, 2, ... frames */
    double *times;          /* (frames) s, or frame numbers */
    int32_t *face_counts;   /* (faces) counter-clockwise from outside; NULL without a neutral mesh (PC2, MDD) */
    int32_t *face_indices;  /* (corners) */
    float *uv;              /* (uvs,2); NULL: none */
    int32_t *uv_indices;    /* (corners) */
    float *color;           /* (vertices,4) of the neutral mesh, else of the first file; NULL: none */
    int32_t *object_ids;    /* (vertices) */
    char **object_names;    /* (objects) */
    double *object_xform;   /* (objects,4,4) of the first frame, row-major, p_world = X p */
    char **object_paths;    /* (objects) /group/object/mesh as the file has them; NULL: it has no hierarchy */
    su_looks looks;         /* materials and sets of faces */
    double *neutral;        /* (vertices,3) of the neutral mesh; NULL: none was given */
    uint8_t *object_hidden; /* (objects) SU_SEQUENCE_HIDDEN, SU_SEQUENCE_CHANGING or 0; NULL: the format says nothing */
    const char *missing;    /* a file that this one takes from and that cannot be read, and why; NULL: none */
    int64_t files;          /* that this one takes from and that were read */
    const char *const *file; /* (files) */
    int64_t others;          /* objects that are no meshes (curves, points) and were not read */
    su_name_list unread;     /* texture coordinates and colours beside the first, which are read */
    su_name_list parameters; /* further values of vertices, corners or polygons, which are not read */
    int64_t skinned;         /* objects that a skeleton moves which the layer does not hold (USD) */
    double unit;             /* m, as the file says; 0: not said */
    int up;                  /* axis that points up, 0 x, 1 y, 2 z, as the file says; -1: not said */
    double fps;              /* where the file says it (Alembic's _ai_DCC_FPS or its time step); 0: unknown */
    double frame_start;      /* number of the first frame where known (OBJ numbering, Alembic start * fps); else 0 */
    struct su_sequence_source *source;
} su_sequence;

/* Visibility of an object: hidden at all times, or at some. */
enum { SU_SEQUENCE_HIDDEN = 1, SU_SEQUENCE_CHANGING = 2 };

/* By extension: .abc, .usda, .usd (text); .pc2 and .mdd (with `neutral`, which gives the topology); .obj or .ply, where
 * path is a pattern (su_is_pattern) or one file: one frame. Numbers must be contiguous and topology constant: SU_INPUT
 * names the frame and both counts. neutral may be NULL; else it is any sequence whose first frame is the neutral mesh,
 * of as many vertices. Frames of .abc and USD are all times at which an object that is kept has a sample, the others
 * being interpolated there; before they are kept, all objects are. */
su_status su_sequence_open(const char *path, const char *neutral, su_sequence **out, su_error *err);
void su_sequence_close(su_sequence *sequence);
/* Leaves only the objects that are not hidden at all times; nothing happens where none is. SU_INPUT where all are. */
su_status su_sequence_keep_shown(su_sequence *sequence, const char *path, su_error *err);
/* Leaves only the objects of these names, or at and below these paths, in the order of the file, and the vertices that
 * they use: what is read from now on is theirs. path: for messages. SU_INPUT where a name is not there or no face is
 * left. */
su_status su_sequence_keep(su_sequence *sequence, const char *path, int count, const char *const *names, su_error *err);
/* Whether an object has a name, or a path "/group/object" that it stands at or below. */
bool su_sequence_is_object(const su_sequence *sequence, int64_t object, const char *name);
/* Transforms of the objects (objects,4,4) at a time of the sequence's clock (s), as object_xform. */
su_status su_sequence_xforms(su_sequence *sequence, double time, double *xforms, su_error *err);
/* points (vertices,3) of frame k, 0-based, in the file's world space. */
su_status su_sequence_read(su_sequence *sequence, int64_t frame, double *points, su_error *err);

#endif
