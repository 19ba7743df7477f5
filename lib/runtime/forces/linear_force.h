/* What the cubature tets lack of the linear part of the reduced elastic force, D q, the same at all poses
 * (reduce/cubature.h says how it is made). Matrices are packed: for each 8 rows, columns from the first of them to
 * `lead`, their strict upper triangle and half the diagonal, so that D = T + T'. */
#ifndef SU_RUNTIME_LINEAR_FORCE_H
#define SU_RUNTIME_LINEAR_FORCE_H

#include "runtime/subspace/packed_model.h"

/* Entries of the packed matrix, with a gap of 8 rows that kernels may read. */
int64_t su_linear_entries(int64_t size, int64_t lead);
/* D (r,r) symmetric into packed, which holds zeros. */
void su_linear_pack(int64_t r, int64_t lead, const double *D, float *packed);

/* out (lead) += factor * D q, q (lead). */
void su_linear_times(const su_runtime_model *model, double factor, const double *q, double *out);
/* A (lead,lead) += factor * D, upper triangle. */
void su_linear_add(const su_runtime_model *model, double factor, double *A);

#endif
