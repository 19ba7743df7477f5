/* Rigid motions that the held vertices leave to parts of the flesh. */
#ifndef SU_REDUCE_RIGID_MOTIONS_H
#define SU_REDUCE_RIGID_MOTIONS_H

#include "fem/elastic.h"

#include <stdint.h>

/* *motions (count,size), size = elastic->pattern.size: rigid motions of connected parts about x (n,3) under which no
 * held vertex moves, orthonormal in the diagonal mass (size): six for a part that is held nowhere, three where one
 * vertex is held, one where the held ones lie on a line. *motions is the caller's, NULL where there are none. */
su_status su_rigid_motions(const su_elastic *elastic, const double *x, const double *mass, int64_t *count,
                           double **motions, su_error *err);

#endif
