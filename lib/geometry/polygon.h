/* Triangles of polygons in space. */
#ifndef SU_GEOMETRY_POLYGON_H
#define SU_GEOMETRY_POLYGON_H

#include "core/error.h"

#include <stdint.h>

/* Cuts polygons into triangles that keep their orientation, concave ones too (ear clipping in the mean plane). A corner
 * index is looked up in remap (NULL: as it is) and must then index points (.,3). Triangles with a repeated vertex or
 * without area are left out. triangles: room for corners - 2 polygons triples; *count receives how many there are,
 * *dropped (NULL: not wanted) how many were left out. */
su_status su_polygons_triangulate(int64_t polygons, const int32_t *face_counts, const int32_t *face_indices,
                                  const int32_t *remap, const double *points, int32_t *triangles, int64_t *count,
                                  int64_t *dropped, su_error *err);

#endif
