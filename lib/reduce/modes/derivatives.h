/* Right-hand sides of modal derivatives (PSSD eq. 28, 33, 35): the tangent stiffness differentiated along one mode,
 * times another. */
#ifndef SU_REDUCE_DERIVATIVES_H
#define SU_REDUCE_DERIVATIVES_H

#include "fem/elastic.h"

#include <stdint.h>

/* out (pairs,size) = (d K(x)[phi_i]) y_j = (H : phi_i) y_j for (i, j) = pair[2 p], pair[2 p + 1], with size =
 * elastic->pattern.size; phi, y (count,size) on the free dofs; x (n,3) where K is taken, normally the rest shape that
 * is set. Exact third derivatives of the energy for every material. The same bits for any number of threads. */
su_status su_stiffness_derivatives(const su_elastic *elastic, const double *x, int64_t count, const double *phi,
                                   const double *y, int64_t pairs, const int32_t *pair, double *out, int threads,
                                   su_error *err);

#endif
