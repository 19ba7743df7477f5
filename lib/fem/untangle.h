/* Opens tets that a deformation has inverted or flattened, by moving only the vertices around them. */
#ifndef SU_FEM_UNTANGLE_H
#define SU_FEM_UNTANGLE_H

#include "core/error.h"
#include "fem/elastic.h"

/* x (n,3), in and out: deformed positions. Tets below `least` of their neutral volume that have a free corner are
 * opened by minimizing
 *
 *     sum V (tr F'F / chi^(2/3) + theta (J^2 + 1) / chi),   chi = (J + sqrt(J^2 + eps^2)) / 2
 *
 * over the free vertices near them, with eps going to zero: a barrier that is finite on inverted tets (Garanzha et al.,
 * Foldover-free maps in 50 lines of code, ACM TOG 40(4), 2021). The neighbourhood grows where that is not enough.
 * Leaves what cannot be opened; deterministic. SU_AGAIN: no memory. */
su_status su_untangle(const su_elastic *flesh, double least, double *x, su_error *err);

#endif
