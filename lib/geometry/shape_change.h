/* Where a skin changes its shape between poses in ways that a tet of a given size cannot follow: creases, shells that
 * slide over each other. */
#ifndef SU_GEOMETRY_SHAPE_CHANGE_H
#define SU_GEOMETRY_SHAPE_CHANGE_H

#include "core/error.h"

#include <stdint.h>

/* misfit (n), m: the largest over `poses` shapes (poses,n,3) of the RMS distance between the skin around each vertex of
 * x (n,3), within `radius` (m), and the best map of that neighbourhood by a rotation and stretches of 1/1.3 to 1.3.
 * Vertices within a cube of radius/3 share one value. Where fewer than 10 cubes are within the radius, the nearest 10
 * are taken and the misfit is scaled by the square of the distances. */
su_status su_shape_change(int64_t n, const double *x, int64_t poses, const double *shapes, double radius, int threads,
                          double *misfit, su_error *err);

#endif
