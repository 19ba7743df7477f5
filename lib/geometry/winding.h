/* Generalized winding numbers of triangle soups: 1 inside, 0 outside, between where the soup has holes
 * (Jacobson, Kavan, Sorkine-Hornung 2013), far parts of the soup replaced by dipoles (Barill et al. 2018, section 3).
 */
#ifndef SU_GEOMETRY_WINDING_H
#define SU_GEOMETRY_WINDING_H

#include "geometry/boxtree.h"

typedef struct su_winding su_winding;

/* All arguments are borrowed for the life of the result; tree: of these triangles. */
su_status su_winding_create(const su_boxtree *tree, const double *x, const int32_t *triangles, su_winding **out,
                            su_error *err);
void su_winding_free(su_winding *winding);

/* Winding number at p, within about 0.05 of the exact sum. Thread-safe. */
double su_winding_at(const su_winding *winding, const double p[3]);

#endif
