/* Products of a symmetric matrix in threes (linalg/sparse.h) by several threads. Its block columns are cut into pieces
 * whose vectors lie in a processor's nearest cache; rows beyond a piece, few where neighbours are near in number
 * (geometry/bisection.h), are summed on their own and added at the end, piece after piece: the same bytes for any
 * number of threads. */
#ifndef SU_LINALG_SPARSE_PRODUCT_H
#define SU_LINALG_SPARSE_PRODUCT_H

#include "linalg/sparse.h"

typedef struct su_sparse_product su_sparse_product;

/* For matrices with this pattern, in threes, which is not needed later. */
su_status su_sparse_product_create(const su_sparse *pattern, int threads, su_sparse_product **out, su_error *err);
void su_sparse_product_free(su_sparse_product *product);
/* y = A x, (size) each. One call at a time: there is scratch. */
void su_sparse_product_multiply(su_sparse_product *product, const su_sparse *A, const double *x, double *y);

#endif
