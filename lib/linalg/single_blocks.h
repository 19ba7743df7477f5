/* A block matrix in single precision, for products that a solver can have inexact: half the bytes, and blocks by
 * columns, so that a block is three loads of four numbers. */
#ifndef SU_LINALG_SINGLE_BLOCKS_H
#define SU_LINALG_SINGLE_BLOCKS_H

#include "linalg/block_matrix.h"

typedef struct su_single_blocks {
    const su_blocks *pattern; /* borrowed */
    float *value;             /* (entries,9) blocks by columns, one number behind them */
    float *x;                 /* (rows,4) of a product */
} su_single_blocks;

/* Values 0. */
su_status su_single_blocks_create(const su_blocks *pattern, su_single_blocks *out, su_error *err);
void su_single_blocks_free(su_single_blocks *blocks);
/* The values of A, which has the pattern. */
void su_single_blocks_set(su_single_blocks *blocks, const su_blocks *A);
/* y += factor A x over rows [from, to) and columns [low, high); x, y (rows,3). A row is summed in single precision. */
void su_single_blocks_add_product(su_single_blocks *A, int64_t from, int64_t to, int64_t low, int64_t high,
                                  double factor, const double *x, double *y);

#endif
