/* An animated triangle mesh as a collider: signed distance by the closest point, outside where the angle-weighted
 * normal of the closest face, edge or vertex says so (Baerentzen, Aanaes 2005, Signed Distance Computation Using the
 * Angle Weighted Pseudonormal, section 4). A closed mesh is a solid; a sheet is solid below its face, and beside its
 * border there is nothing. */
#ifndef SU_RUNTIME_COLLIDER_MESH_H
#define SU_RUNTIME_COLLIDER_MESH_H

#include "core/error.h"
#include "core/memory.h"
#include "geometry/boxtree.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_collider_mesh {
    int64_t frames, vertices, triangles;
    double *times;      /* (frames) s, rising; between them vertices move linearly, outside they stand */
    double *points;     /* (frames,vertices,3) m, world */
    int32_t *triangle;  /* (triangles,3) counter-clockwise from outside */
    double thickness;   /* m: deeper than this a point is let go; INFINITY: never */
    int32_t *neighbour; /* (triangles,3) set by _finish: across corners i, i + 1; -1 border, -2 several */
    uint8_t *border;    /* (vertices) set by _finish */
    double *boxes;      /* (frames,6) set by _finish: low and high corners */
} su_collider_mesh;

/* Checks everything above the marked fields and sets those, in the arena. SU_INPUT where times do not rise, numbers are
 * not finite, indices are out of range, or two triangles disagree on the side that is outside. */
su_status su_collider_mesh_finish(su_collider_mesh *mesh, su_arena *arena, su_error *err);

/* The mesh at one time, for one body's queries: made on demand, kept until the time changes. */
typedef struct su_collider_state {
    const su_collider_mesh *mesh;
    double time;           /* NAN: none yet */
    double *x;             /* (vertices,3) */
    double *face_normal;   /* (triangles,3) unit; 0 where the triangle has no area */
    double *vertex_normal; /* (vertices,3) angle-weighted, not unit */
    su_boxtree tree;
    su_arena arena;
} su_collider_state;

su_status su_collider_state_create(const su_collider_mesh *mesh, su_collider_state *state, su_error *err);
void su_collider_state_free(su_collider_state *state);

/* Depth of y (world) below the mesh at time t, its outward unit normal, the closest triangle and point in it (bary).
 * Farther outside than margin, beside a border or below the thickness: -INFINITY, and the rest is not set. Allocates
 * nothing. */
double su_collider_mesh_depth(su_collider_state *state, double t, const double y[3], double margin, double normal[3],
                              int32_t *triangle, double bary[3]);
/* Where a point of a triangle is at time t. */
void su_collider_mesh_point(const su_collider_mesh *mesh, double t, int32_t triangle, const double bary[3],
                            double out[3]);

#endif
