/* Alembic mesh caches: PolyMesh objects under transforms, written frame by frame; PolyMesh and SubD objects and their
 * instances, read at any time. Faces are
 * counter-clockwise seen from outside on both sides of this interface; Alembic's own order is the opposite. */
#ifndef SU_IO_ALEMBIC_H
#define SU_IO_ALEMBIC_H

#include "core/error.h"
#include "core/name_list.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- writing ---- */

typedef struct su_alembic_writer su_alembic_writer;

typedef struct su_alembic_xform_in { /* borrowed for the call */
    const char *name;
    int parent;      /* number of a transform; -1: none */
    int64_t samples; /* 1: it does not move */
    const double
        *xforms; /* (samples,4,4) row-major, p_parent = X p on columns; the first at `start`, s, one each `step` */
    double start, step;
} su_alembic_xform_in;

typedef struct su_alembic_set_in {
    const char *name;
    int64_t count;
    const int32_t *faces; /* (count) */
    bool exclusive;       /* no face of it is in another such set */
} su_alembic_set_in;

typedef struct su_alembic_mesh_in { /* borrowed for the call, but for the transforms */
    const char *name;               /* of the transform; the mesh below it is called <name>Shape */
    bool placed;                    /* it stands below a transform that was added, under its own name */
    int parent;                     /* where placed: number of the transform; -1: none */
    int64_t world_samples; /* where placed: transforms to the world, 1 or one a frame, for the bounds of the scene */
    const double *world;   /* (world_samples,4,4); NULL: identity. Borrowed until the commit */
    int samples;           /* of a frame; 0: 1 */
    bool subdivision;      /* a SubD, the mesh its cage */
    int sets;
    const su_alembic_set_in *set; /* (sets) */
    const float *color;           /* (points,4); NULL: none */
    int64_t points, faces, corners;
    const int32_t *face_counts;  /* (faces) */
    const int32_t *face_indices; /* (corners) */
    int64_t uvs;                 /* 0: none */
    const float *uv;             /* (uvs,2) */
    const int32_t *uv_indices;   /* (corners) */
    const double *xform;         /* (4,4) row-major, p_world = X p on columns; NULL: identity */
    bool velocities, normals;    /* every frame will bring them */
} su_alembic_mesh_in;

/* Sample i is at times[i mod count] + cycle * (i / count), s: one time for even steps, several where every frame brings
 * samples around it (at most SU_ALEMBIC_TIMES_MAX, increasing within a cycle). */
enum { SU_ALEMBIC_TIMES_MAX = 64 };
su_status su_alembic_create(const char *path, int count, const double *times, double cycle, su_alembic_writer **out,
                            su_error *err);
/* Before the first frame. Names are made valid and unique. *index numbers the meshes from 0. */
su_status su_alembic_add_mesh(su_alembic_writer *writer, const su_alembic_mesh_in *mesh, int *index, su_error *err);
/* Before meshes that stand below it. Names must be valid and unique among siblings. *index numbers the transforms. */
su_status su_alembic_add_xform(su_alembic_writer *writer, const su_alembic_xform_in *xform, int *index, su_error *err);
/* Next sample of one mesh: points (points,3) in the space of its transform; velocities (points,3) in units per second
 * and point normals (points,3), NULL where the mesh has none. Every mesh gets the same number of samples. */
su_status su_alembic_frame(su_alembic_writer *writer, int mesh, const float *points, const float *velocities,
                           const float *normals, su_error *err);
/* metadata of the archive, pairs of keys and values (count, 2): characters that Alembic forbids are replaced. Commits
 * under the final name and frees the writer in every case. */
su_status su_alembic_commit(su_alembic_writer *writer, int count, const char *const (*metadata)[2], su_error *err);
void su_alembic_abandon(su_alembic_writer *writer);

/* ---- reading ---- */

typedef struct su_alembic su_alembic;

typedef struct su_alembic_mesh {
    const char *name;      /* of the transform above it, where it is the only mesh there; else its own */
    int64_t samples;       /* of the positions */
    bool hidden;           /* at all times, by itself or through what it hangs under */
    bool sometimes_hidden; /* the visibility changes */
    int64_t points, faces, corners;
    bool constant_topology;
    int64_t uvs;         /* 0: none */
    const char *path;    /* "/group/object/mesh" */
    bool subdivision;    /* a SubD: points are those of its cage */
    bool colored;        /* it has colours, by point or by corner */
    su_name_list unread; /* its other texture coordinates and colours */
    su_name_list other;  /* its other parameters: neither of these */
    int64_t face_sets;
} su_alembic_mesh;

/* Opens a cache and checks all PolyMesh and SubD objects: their headers, and the topology of the first sample. */
su_status su_alembic_open(const char *path, su_alembic **out, su_error *err);
void su_alembic_close(su_alembic *file);
const char *su_alembic_path(const su_alembic *file);
int su_alembic_mesh_count(const su_alembic *file);
const su_alembic_mesh *su_alembic_mesh_at(const su_alembic *file, int mesh);
/* Objects of other kinds that have a shape: curves, points, patches. They are not read. */
int su_alembic_others(const su_alembic *file);
/* Time of a sample, s. */
double su_alembic_time(const su_alembic *file, int mesh, int64_t sample);
/* Times (s) of all samples of a mesh's positions and of the transforms above it, as their samplings have them: of each
 * in turn, so that times may stand twice and out of order. None where nothing has more than one sample. *times is the
 * caller's, freed by free(). */
su_status su_alembic_times(const su_alembic *file, int mesh, int64_t *count, double **times, su_error *err);
/* Frames per second that a mesh's samples stand for; a cycle of several samples is a frame. 0: it has one sample. */
double su_alembic_rate(const su_alembic *file, int mesh);
/* face_counts (faces), face_indices (corners); indices are checked. */
su_status su_alembic_topology(const su_alembic *file, int mesh, int32_t *face_counts, int32_t *face_indices,
                              su_error *err);
/* Set k of a mesh: its name, borrowed, whether it says that its faces are in no other, and the faces, checked (count);
 * *faces is the caller's, freed by free(). */
su_status su_alembic_face_set(const su_alembic *file, int mesh, int64_t k, const char **name, bool *exclusive,
                              int64_t *count, int32_t **faces, su_error *err);
/* color (points,4), of a mesh that has them: opacity 1 where the file has none. Of colours by corner a point gets that
 * of its first. */
su_status su_alembic_colors(const su_alembic *file, int mesh, float *color, su_error *err);
/* uv (uvs,2), uv_indices (corners). */
su_status su_alembic_uv(const su_alembic *file, int mesh, float *uv, int32_t *uv_indices, su_error *err);
/* points (points,3) of a sample in the mesh's own space; SU_INPUT with both counts where a sample has another number of
 * points. Thread-safe. */
su_status su_alembic_points(const su_alembic *file, int mesh, int64_t sample, float *points, su_error *err);
/* The same at a time (s), linear between samples and constant outside; room (points,3) is scratch. */
su_status su_alembic_points_at(const su_alembic *file, int mesh, double time, float *room, float *points,
                               su_error *err);
/* Transform to the world at a time (s): (4,4) row-major, p_world = X p on columns; linear between samples. */
su_status su_alembic_xform(const su_alembic *file, int mesh, double time, double xform[16], su_error *err);
/* Value of a key of the archive metadata (_ai_Application, _ai_DCC_FPS, ...), cut to size. */
bool su_alembic_metadata(const su_alembic *file, const char *key, char *text, int size);

#endif
