/* An order of points in which neighbours in space are neighbours in number. */
#ifndef SU_GEOMETRY_BISECTION_H
#define SU_GEOMETRY_BISECTION_H

#include <stdint.h>

/* order (n): the numbers of points (n,3), by recursive coordinate bisection: cut in halves where they spread widest,
 * the lower half first, until few are left, which ascend. Any range of it so lies close together. wide > 0: cut where
 * nodes of a tree begin that has `wide` children a node, so that all wide^k from a multiple of that on lie together;
 * 0: in the middle. */
void su_bisection_order(int64_t n, const double *points, int wide, int32_t *order);

#endif
