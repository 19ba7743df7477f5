/* The skin as a mesher sees it: welded, without degenerate or repeated triangles, consistently oriented where that is
 * possible, and what is known about its topology. */
#ifndef SU_GEOMETRY_SURFACE_H
#define SU_GEOMETRY_SURFACE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_surface {
    int64_t n; /* distinct vertices */
    double *x; /* (n,3) */
    int64_t source_count;
    int32_t *vertex; /* (source_count) distinct vertex of each source vertex; -1: left out (rigid) */
    int64_t t;
    int32_t *triangles; /* (t,3) */
    int32_t *component; /* (t) triangles joined by shared vertices */
    int64_t components;
    double low[3], high[3], diagonal;
    double area;
    double volume; /* signed volume; meaningful where closed */
    int64_t boundary_edges, nonmanifold_edges;
    int64_t flipped_edges; /* edges whose two triangles disagree, before reorientation */
    int64_t dropped_degenerate, dropped_repeated, flipped_triangles;
    bool closed; /* no boundary edge, every edge has two triangles that agree, at least one triangle */
} su_surface;

/* From skin positions x (n,3) and triangles (t,3). Vertices at equal positions become one, triangles without area or
 * given twice are dropped, each edge-connected patch is oriented consistently (the majority by area wins), and closed
 * components are turned outward unless they lie inside another (cavities keep their orientation).
 * rigid (n) or NULL: rigid vertices, and triangles with three of them, are left out. Triangles may be none (loose
 * points). */
su_status su_surface_create(int64_t n, const double *x, int64_t t, const int32_t *triangles, const uint8_t *rigid,
                            su_surface *out, su_error *err);
void su_surface_free(su_surface *surface);

#endif
