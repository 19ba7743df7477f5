/* A basis that is the same at all poses, for comparison (PSSD Fig. 14; Galoppo et al. 2009): the principal directions,
 * in the mass norm, of the bases of all poses turned back to the neutral pose. */
#ifndef SU_REDUCE_GLOBAL_BASIS_H
#define SU_REDUCE_GLOBAL_BASIS_H

#include "core/error.h"
#include "io/stage/basis.h"

#include <stdint.h>

/* bases: basis (m,r,n,3), mode_region (r) ascending; gram (m,m,r,r) of them. Region by region, the leading directions
 * of its m bases, as many of the `wanted` as its share of r: out (wanted,n,3), out_region (wanted). Mass-orthonormal
 * within a region. SU_USAGE where the bases of a region do not span as many. */
su_status su_global_basis(const su_basis *bases, const double *gram, int64_t wanted, double *out, int32_t *out_region,
                          su_error *err);

#endif
