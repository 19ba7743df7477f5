#include "linalg/lane_blocks.h"

#include <string.h>

enum { LANES = SU_LANES, SQUARE = LANES * LANES };
/* Rows whose products are summed in single precision before they go to a sum in double; as many rows of a block fit
 * the first cache, of all blocks the second. */
enum { CHUNK = 256 };

/* Rows from..from + rows of a block; blocks are size rows each. */
static int64_t rows_from(int64_t size, int64_t from) { return size - from < CHUNK ? size - from : CHUNK; }

void su_lane_products(int64_t size, int64_t blocks, const float *V, const float *W, double *C)
{
    const su_lane_kernels *kernels = SU_OF_SET_HERE(su_lane_kernels);
    memset(C, 0, (size_t)(blocks * SQUARE) * sizeof *C);
    for (int64_t from = 0; from < size; from += CHUNK)
        for (int64_t b = 0; b < blocks; b++)
            kernels->products(rows_from(size, from), V + (b * size + from) * LANES, W + from * LANES, C + b * SQUARE);
}

void su_lane_combine(int64_t size, int64_t blocks, const float *V, const double *C, int64_t stride, float factor,
                     float keep, float *W)
{
    const su_lane_kernels *kernels = SU_OF_SET_HERE(su_lane_kernels);
    for (int64_t from = 0; from < size; from += CHUNK) {
        int64_t rows = rows_from(size, from);
        float *w = W + from * LANES;
        if (keep == 0) memset(w, 0, (size_t)(rows * LANES) * sizeof *w);
        for (int64_t i = 0; i < rows * LANES && keep != 0 && keep != 1; i++) w[i] *= keep;
        for (int64_t b = 0; b < blocks; b++)
            kernels->combine(rows, V + (b * size + from) * LANES, C + b * LANES * stride, stride, factor, w);
    }
}

int64_t su_lane_work(int64_t blocks) { return blocks * CHUNK * LANES; }

void su_lane_multiply(int64_t size, int64_t blocks, float *V, const double *C, float *work)
{
    const su_lane_kernels *kernels = SU_OF_SET_HERE(su_lane_kernels);
    int64_t stride = blocks * LANES;
    for (int64_t from = 0; from < size; from += CHUNK) {
        int64_t rows = rows_from(size, from);
        memset(work, 0, (size_t)(blocks * CHUNK * LANES) * sizeof *work);
        for (int64_t to = 0; to < blocks; to++)
            for (int64_t b = 0; b < blocks; b++)
                kernels->combine(rows, V + (b * size + from) * LANES, C + b * LANES * stride + to * LANES, stride, 1,
                                 work + to * CHUNK * LANES);
        for (int64_t b = 0; b < blocks; b++)
            memcpy(V + (b * size + from) * LANES, work + b * CHUNK * LANES, (size_t)(rows * LANES) * sizeof *V);
    }
}
