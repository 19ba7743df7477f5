/* Triangles of polygons in space, texture coordinates of their corners. */
#ifndef SU_GEOMETRY_POLYGON_H
#define SU_GEOMETRY_POLYGON_H

#include "core/error.h"

#include <stdint.h>

/* Polygons of a mesh, borrowed. */
typedef struct su_polygons {
    int64_t count;
    const int32_t *face_counts, *face_indices; /* (count) corners of each; (corners) their vertices */
} su_polygons;

/* Cuts polygons into triangles that keep their orientation, concave ones too (ear clipping in the mean plane). A corner
 * index is looked up in remap (NULL: as it is) and must then index points (.,3). Triangles with a repeated vertex or
 * without area are left out. triangles: room for corners - 2 polygons triples; *count receives how many there are,
 * *dropped (NULL: not wanted) how many were left out. */
su_status su_polygons_triangulate(const su_polygons *polygons, const int32_t *remap, const double *points,
                                  int32_t *triangles, int64_t *count, int64_t *dropped, su_error *err);

/* The corners of each polygon in reverse: it faces the other way. corners: vertices, or texture coordinates. */
void su_polygons_turn_round(int64_t polygons, const int32_t *face_counts, int32_t *corners);

/* Corners of one vertex whose texture coordinates are equal, number by number, get one coordinate, the one of the first
 * of them: formats that store one a corner would make every polygon an island of its own. uv (*uvs,2), uv_indices
 * (corners) and *uvs are rewritten: coordinates that nobody uses any more are left out, the others keep their order. */
su_status su_polygons_merge_uv(int64_t vertices, int64_t corners, const int32_t *face_indices, int64_t *uvs, float *uv,
                               int32_t *uv_indices, su_error *err);

/* Point normals of vertices at positions (vertices,3): area-weighted over the polygons. joined (vertices): vertices of
 * one number share their normal, numbers below those of scratch (.,3); NULL: each its own. normals (vertices,3); y
 * where there is no area. */
void su_polygons_normals(int64_t vertices, const int32_t *joined, const su_polygons *polygons, const float *positions,
                         double *scratch, float *normals);

#endif
