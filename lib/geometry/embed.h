/* Embedding of the skin in the flesh: the matrix A, four barycentric weights a skin vertex. */
#ifndef SU_GEOMETRY_EMBED_H
#define SU_GEOMETRY_EMBED_H

#include "geometry/tetmesh.h"

#include <stdint.h>

/* For each point (count,3) the tet that holds it best (largest smallest coordinate; the lowest index among equals), or,
 * for a point outside all tets, the tet at the nearest boundary triangle, with coordinates of any sign. tet (count),
 * bary (count,4). *outside counts points with a coordinate below -1e-9. */
su_status su_embed_points(const su_tets *mesh, int64_t count, const double *points, int threads, int32_t *tet,
                          double *bary, int64_t *outside, su_error *err);

#endif
