/* Sparse Cholesky factors by CHOLMOD (long indices): one symbolic analysis, many numeric factorizations. */
#ifndef SU_LINALG_CHOLESKY_H
#define SU_LINALG_CHOLESKY_H

#include "linalg/sparse.h"

typedef struct su_cholesky su_cholesky;

/* Analyzes the pattern (fill-reducing ordering, supernodes). Single-threaded unless threads > 1. */
su_status su_cholesky_create(const su_sparse *pattern, int threads, su_cholesky **out, su_error *err);
/* The same with an ordering of the caller's, which su_dissection_order gives: position k holds row order[k]. */
su_status su_cholesky_create_ordered(const su_sparse *pattern, const int64_t *order, su_cholesky **out, su_error *err);
/* The ordering of a factor, as above; borrowed. */
const int64_t *su_cholesky_order(const su_cholesky *factor);
/* SU_NUMERICS where the matrix is not positive definite (the column in the message). */
su_status su_cholesky_factorize(su_cholesky *factor, const su_sparse *matrix, su_error *err);
/* x = A^-1 b for `columns` right-hand sides, each `size` long, one after the other; x may be b. */
su_status su_cholesky_solve(su_cholesky *factor, int64_t columns, const double *b, double *x, su_error *err);
/* The two halves of a solve, with A = P' L L' P: z = L^-1 P b and x = P' L^-T z. Outputs may be inputs. */
su_status su_cholesky_forward(su_cholesky *factor, int64_t columns, const double *b, double *z, su_error *err);
su_status su_cholesky_backward(su_cholesky *factor, int64_t columns, const double *z, double *x, su_error *err);
void su_cholesky_free(su_cholesky *factor);

/* CHOLMOD's supernodal factor L L', borrowed; NULL where nothing is factorized. For linalg's own use. */
const struct cholmod_factor_struct *su_cholesky_supernodes(const su_cholesky *factor);
/* The same with its pattern alone, values or not. */
const struct cholmod_factor_struct *su_cholesky_pattern(const su_cholesky *factor);

#endif
