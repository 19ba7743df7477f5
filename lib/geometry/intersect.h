/* Intersections of a surface with itself. */
#ifndef SU_GEOMETRY_INTERSECT_H
#define SU_GEOMETRY_INTERSECT_H

#include "geometry/boxtree.h"
#include "geometry/surface.h"

/* Does segment pq pass through triangle abc? *s is where on pq. Touching counts; coplanar does not. */
bool su_segment_meets_triangle(const double *p, const double *q, const double *a, const double *b, const double *c,
                               double *s);

/* Pairs of triangles that meet without sharing a vertex. pairs (count,2): caller frees; NULL: only counted. At most
 * `limit` pairs are looked for (0: all). tree: of the surface's triangles. */
su_status su_surface_intersections(const su_surface *surface, const su_boxtree *tree, int64_t limit, int64_t *count,
                                   int32_t **pairs, su_error *err);

#endif
