/* The k nearest of a set of points. */
#ifndef SU_GEOMETRY_KDTREE_H
#define SU_GEOMETRY_KDTREE_H

#include "core/error.h"

#include <stdint.h>

typedef struct su_kdtree su_kdtree;

/* points (n,3), borrowed for the life of the tree. */
su_status su_kdtree_create(int64_t n, const double *points, su_kdtree **out, su_error *err);
void su_kdtree_free(su_kdtree *tree);

/* The k nearest points to p, nearest first, equal distances by index; returns how many there are (min(k, n)).
 * distance (k) may be NULL. Thread-safe. */
int su_kdtree_nearest(const su_kdtree *tree, const double p[3], int k, int32_t *index, double *distance);

#endif
