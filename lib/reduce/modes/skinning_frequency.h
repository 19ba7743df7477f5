/* The frequency at which flesh swings in the space of skinning modes, at the neutral pose. */
#ifndef SU_REDUCE_SKINNING_FREQUENCY_H
#define SU_REDUCE_SKINNING_FREQUENCY_H

#include "core/error.h"
#include "fem/elastic.h"

#include <stdint.h>

/* *value: the lowest eigenvalue, rad^2/s^2, of U'KU and U'MU, U the space of docs/skinning.md, eq. 28. elastic: at its
 * neutral shape; weights (n,k), whose held vertices are 0 where elastic holds them. */
su_status su_skinning_frequency(const su_elastic *elastic, const double *vertices, int64_t k, const double *weights,
                                int threads, double *value, su_error *err);

#endif
