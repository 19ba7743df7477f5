/* Points that ride on a triangle mesh: each keeps its place against the nearest triangle, in a frame of the
 * interpolated vertex normal, so that a denser mesh follows a coarser one without creases at its edges. */
#ifndef SU_GEOMETRY_BIND_H
#define SU_GEOMETRY_BIND_H

#include "core/error.h"

#include <stdint.h>

typedef struct su_bind {
    int64_t count, vertices, triangle_count;
    const int32_t *triangles; /* borrowed */
    int32_t *triangle;        /* (count) */
    double *bary;             /* (count,3) */
    double *offset;           /* (count,3) along tangent, normal x tangent, normal */
    double *normals;          /* (vertices,3) of the frame at hand */
    double farthest;          /* distance of the point that lies farthest off */
} su_bind;

/* points (count,3) at the rest positions x (vertices,3) of the mesh. SU_INPUT where the mesh has no triangle. */
su_status su_bind_create(int64_t count, const double *points, int64_t vertices, const double *x, int64_t triangle_count,
                         const int32_t *triangles, su_bind *bind, su_error *err);
/* out (count,3) at positions x (vertices,3). */
void su_bind_apply(su_bind *bind, const double *x, double *out);
void su_bind_free(su_bind *bind);

#endif
