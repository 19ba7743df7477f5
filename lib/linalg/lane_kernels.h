/* The loops of lane_blocks.h and of factor_single's solves, for one set of vector units. Numbers of blocks stand row by
 * row, SU_LANES of a row beside each other; each lane is for itself, so AVX2 and AVX-512 give the same bytes. */
#ifndef SU_LINALG_LANE_KERNELS_H
#define SU_LINALG_LANE_KERNELS_H

#include "core/vector_set.h"

#include <stdint.h>

enum { SU_LANES = 16 };

typedef struct su_lane_kernels {
    /* C (SU_LANES,SU_LANES) += v'w of so many rows, summed in single precision */
    void (*products)(int64_t rows, const float *v, const float *w, double *C);
    /* w (rows) += factor v C, rows of C (SU_LANES,SU_LANES) `stride` numbers apart */
    void (*combine)(int64_t rows, const float *v, const double *C, int64_t stride, float factor, float *w);
    /* x (height) = L^-1 x of the first `width` columns, whose panel (height,width), columns one after the other, is L;
     * what they say about rows below is taken from those. */
    void (*forward)(int width, int height, const float *L, float *x);
    /* x (width) = L^-T x, the rows below being known. */
    void (*backward)(int width, int height, const float *L, float *x);
} su_lane_kernels;

extern const su_lane_kernels su_lane_kernels_base, su_lane_kernels_avx2, su_lane_kernels_avx512;

#endif
