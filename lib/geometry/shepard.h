/* Shepard weights: how flesh vertices follow the skin (PSSD section 4.1; DESIGN conventions 5 and 20). */
#ifndef SU_GEOMETRY_SHEPARD_H
#define SU_GEOMETRY_SHEPARD_H

#include "core/error.h"

#include <stdint.h>

/* For each flesh vertex (n,3) the four nearest skin vertices (nbar,3) in the neutral pose, weighted by 1/d, normalized. A
 * flesh vertex on a skin vertex takes that one alone. Fewer than four skin vertices: the rest has weight 0.
 * index, weight (n,4). */
su_status su_shepard_weights(int64_t n, const double *flesh, int64_t nbar, const double *skin, int threads,
                             int32_t *index, double *weight, su_error *err);

#endif
