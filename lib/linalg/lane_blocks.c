#include "linalg/lane_blocks.h"

#include "core/vector_clones.h"

#include <string.h>

enum { LANES = SU_LANES, SQUARE = LANES * LANES };
/* Rows whose products are summed in single precision before they go to a sum in double; as many rows of a block fit
 * the first cache, of all blocks the second. */
enum { CHUNK = 256 };
/* Columns whose products are summed at once: their sums stay in registers of 32 bytes as well. */
enum { AT_ONCE = 8 };
_Static_assert(LANES % AT_ONCE == 0, "whole groups of columns");

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* Rows from..from + rows of a block; blocks are size rows each. */
static int64_t rows_from(int64_t size, int64_t from) { return size - from < CHUNK ? size - from : CHUNK; }

SU_CLONES void su_lane_products(int64_t size, int64_t blocks, const float *V, const float *W, double *C)
{
    memset(C, 0, (size_t)(blocks * SQUARE) * sizeof *C);
    for (int64_t from = 0; from < size; from += CHUNK) {
        int64_t rows = rows_from(size, from);
        const lanes *w = (const lanes *)(W + from * LANES);
        for (int64_t b = 0; b < blocks; b++) {
            for (int some = 0; some < LANES; some += AT_ONCE) {
                const float *v = V + (b * size + from) * LANES + some;
                double *to = C + b * SQUARE + some * LANES;
                lanes sum[AT_ONCE] = {{0}};
                for (int64_t i = 0; i < rows; i++, v += LANES)
                    for (int a = 0; a < AT_ONCE; a++) sum[a] += v[a] * w[i];
                for (int a = 0; a < AT_ONCE; a++)
                    for (int c = 0; c < LANES; c++) to[a * LANES + c] += (double)sum[a][c];
            }
        }
    }
}

/* w (rows) += factor v C of one block */
SU_INLINE void add_block(int64_t rows, const float *v, const double *C, int64_t stride, float factor, lanes *w)
{
    lanes c[LANES];
    for (int a = 0; a < LANES; a++)
        for (int l = 0; l < LANES; l++) c[a][l] = factor * (float)C[a * stride + l];
    for (int64_t i = 0; i < rows; i++, v += LANES)
        for (int a = 0; a < LANES; a++) w[i] += v[a] * c[a];
}

SU_CLONES void su_lane_combine(int64_t size, int64_t blocks, const float *V, const double *C, int64_t stride,
                               float factor, float keep, float *W)
{
    for (int64_t from = 0; from < size; from += CHUNK) {
        int64_t rows = rows_from(size, from);
        lanes *w = (lanes *)(W + from * LANES);
        if (keep == 0) memset(w, 0, (size_t)rows * sizeof *w);
        for (int64_t i = 0; i < rows && keep != 0 && keep != 1; i++) w[i] *= keep;
        for (int64_t b = 0; b < blocks; b++)
            add_block(rows, V + (b * size + from) * LANES, C + b * LANES * stride, stride, factor, w);
    }
}

int64_t su_lane_work(int64_t blocks) { return blocks * CHUNK * LANES; }

SU_CLONES void su_lane_multiply(int64_t size, int64_t blocks, float *V, const double *C, float *work)
{
    int64_t stride = blocks * LANES;
    for (int64_t from = 0; from < size; from += CHUNK) {
        int64_t rows = rows_from(size, from);
        memset(work, 0, (size_t)(blocks * CHUNK * LANES) * sizeof *work);
        for (int64_t to = 0; to < blocks; to++)
            for (int64_t b = 0; b < blocks; b++)
                add_block(rows, V + (b * size + from) * LANES, C + b * LANES * stride + to * LANES, stride, 1,
                          (lanes *)(work + to * CHUNK * LANES));
        for (int64_t b = 0; b < blocks; b++)
            memcpy(V + (b * size + from) * LANES, work + b * CHUNK * LANES, (size_t)(rows * LANES) * sizeof *V);
    }
}
