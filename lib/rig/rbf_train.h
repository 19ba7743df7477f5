/* Training of the weights in rbf.h. */
#ifndef SU_RIG_RBF_TRAIN_H
#define SU_RIG_RBF_TRAIN_H

#include "core/error.h"

#include <stdint.h>

/* rbf (m,m): the inverse of the kernel matrix |(p_i - p_j) o scale|. SU_INPUT where two poses are nearer than 1e-6
 * (their numbers in the message). m = 1 gives {1}. */
su_status su_rbf_train(int64_t m, int64_t s, const double *params, const double *scale, double *rbf, su_error *err);
/* basis_rbf (m, m + 1 + s), docs/formats.md, convention 7: cubic kernel and a linear polynomial in the first min(rank,
 * m - 2) principal coordinates of the scaled, centred parameters, expressed on the unscaled p. m <= 2: *columns = 0,
 * nothing written. */
su_status su_basis_rbf_train(int64_t m, int64_t s, const double *params, const double *scale, int64_t *columns,
                             double *basis_rbf, su_error *err);

#endif
