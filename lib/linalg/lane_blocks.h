/* Tall matrices in single precision, as blocks of SU_LANES columns: V (blocks,size,SU_LANES), a row's entries of a
 * block beside each other, as factor_single takes right-hand sides. Sums are in double; one thread. */
#ifndef SU_LINALG_LANE_BLOCKS_H
#define SU_LINALG_LANE_BLOCKS_H

#include "linalg/lane_kernels.h"

#include <stdint.h>

/* C (blocks SU_LANES,SU_LANES) = V'W, W one block. */
void su_lane_products(int64_t size, int64_t blocks, const float *V, const float *W, double *C);

/* W = keep W + factor V C, W one block; rows of C (blocks SU_LANES,SU_LANES) are `stride` numbers apart. */
void su_lane_combine(int64_t size, int64_t blocks, const float *V, const double *C, int64_t stride, float factor,
                     float keep, float *W);

/* V = V C in its place, C (blocks SU_LANES,blocks SU_LANES) row by row. work: su_lane_work(blocks) numbers. */
int64_t su_lane_work(int64_t blocks);
void su_lane_multiply(int64_t size, int64_t blocks, float *V, const double *C, float *work);

#endif
