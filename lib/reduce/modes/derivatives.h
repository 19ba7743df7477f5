/* Right-hand sides of modal derivatives (PSSD eq. 28, 33, 35): the tangent stiffness differentiated along one mode,
 * times another. */
#ifndef SU_REDUCE_DERIVATIVES_H
#define SU_REDUCE_DERIVATIVES_H

#include "fem/elastic.h"

#include <stdint.h>

/* Modes and the pairs (i, j) of them that are wanted, all borrowed. y may be phi. */
typedef struct su_mode_pairs {
    int64_t count;
    const double *phi, *y; /* (count,size) on the free dofs */
    int64_t pairs;
    const int32_t *pair; /* (pairs,2) */
} su_mode_pairs;

/* out (pairs,size) = (d K(x)[phi_i]) y_j = (H : phi_i) y_j with size = elastic->pattern.size; x (n,3) where K is taken,
 * normally the rest shape that is set. Exact third derivatives of the energy for every material. The same bits for any
 * number of threads. */
su_status su_stiffness_derivatives(const su_elastic *elastic, const double *x, const su_mode_pairs *of, double *out,
                                   int threads, su_error *err);

#endif
