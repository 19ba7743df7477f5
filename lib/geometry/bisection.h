/* An order of points in which neighbours in space are neighbours in number. */
#ifndef SU_GEOMETRY_BISECTION_H
#define SU_GEOMETRY_BISECTION_H

#include <stdint.h>

/* order (n): the numbers of points (n,3), by recursive coordinate bisection: cut in halves where they spread widest,
 * the lower half first, until few are left, which ascend. Any range of it so lies close together. */
void su_bisection_order(int64_t n, const double *points, int32_t *order);

#endif
