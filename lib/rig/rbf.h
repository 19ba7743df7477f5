/* Weights of the example poses: biharmonic w (PSSD eq. 2) and its positive part (docs/formats.md, convention 6); the
 * weights b that blend bases are rig_space.h's. Evaluation links into libsupple-runtime; training needs LAPACK and
 * lives in rbf_train.h. */
#ifndef SU_RIG_RBF_H
#define SU_RIG_RBF_H

#include <stdint.h>

/* |(p - q) o scale|: how far apart two parameter vectors (s) are. */
double su_param_distance(int64_t s, const double *p, const double *q, const double *scale);
/* w (m): w_i = sum_j rbf[i,j] |(p - p_j) o scale|, divided by the sum; m = 1 gives 1. params (m,s), scale (s), rbf
 * (m,m). */
void su_rbf_weights(int64_t m, int64_t s, const double *params, const double *scale, const double *rbf, const double *p,
                    double *w);
/* w+ = max(w, 0) / sum max(w, 0) */
void su_positive_weights(int64_t m, const double *w, double *positive);

#endif
