/* Weights of the example poses: biharmonic w (PSSD eq. 2), its positive part, and the weights b that blend bases
 * (docs/formats.md, conventions 6 and 7). Evaluation links into libsupple-runtime; training needs LAPACK and lives in
 * rbf_train.h.
 */
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
/* b (m): cubic kernel plus linear polynomial, drawn back to w where it overshoots (docs/formats.md, convention 7).
 * basis_rbf (m,columns) with columns = m + 1 + s as in that convention (NULL: b = w). */
void su_basis_weights(int64_t m, int64_t s, const double *params, const double *scale, int64_t columns,
                      const double *basis_rbf, const double *p, const double *w, double *b);

#endif
