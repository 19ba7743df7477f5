/* Closest points on a triangle soup. */
#ifndef SU_GEOMETRY_DISTANCE_H
#define SU_GEOMETRY_DISTANCE_H

#include "geometry/boxtree.h"

#include <stdint.h>

/* Point of triangle (a,b,c) closest to p; barycentric weights in bary. Returns the squared distance. */
double su_closest_on_triangle(const double p[3], const double *a, const double *b, const double *c, double bary[3]);

/* Closest point of the soup to p within `limit` (INFINITY: anywhere). Returns the distance, or `limit` where nothing is
 * that near (*triangle is -1 then). bary (3) may be NULL. Safe to call from many threads. */
double su_closest_point(const su_boxtree *tree, const double *x, const int32_t *triangles, const double p[3],
                        double limit, int32_t *triangle, double bary[3]);

/* Distance along the ray p + s d (|d| = 1) to the first triangle with s > start; INFINITY where it meets none. */
double su_first_hit(const su_boxtree *tree, const double *x, const int32_t *triangles, const double p[3],
                    const double d[3], double start);

#endif
