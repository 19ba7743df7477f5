/* Kernels of reconstruction: sixteen frames in the lanes of a vector of floats, from the basis to rows of each frame.
 */
#ifndef SU_RUNTIME_KERNELS_FRAMES_H
#define SU_RUNTIME_KERNELS_FRAMES_H

#include <stdint.h>

enum { SU_WIDE_FRAMES = 16 };

typedef struct su_frame_kernels {

    /* For each group of sixteen frames: u (flesh,3,16)[slot[v]] += sum over rows of coefficients (rows,16) * block
     * (rows,vertices,3)[.][v]; vertices v with a negative slot are left out. Groups stand behind each other in
     * coefficients and u; all take their turn while a piece of the block is in the cache. */
    void (*combine)(int groups, int64_t rows, int64_t vertices, const float *block, const float *coefficients,
                    const int32_t *slot, int64_t flesh, float *u);
    /* The same of one frame, before vertices find their slots: sum (count) = sum over rows of c (rows) * block
     * (rows,count).
     */
    void (*combine_one)(int64_t rows, int64_t count, const float *block, const float *c, float *sum);
    /* u (count,3,16) = sum over k of phi (count,K) times Z (K,3,16). */
    void (*weigh)(int64_t count, int64_t K, const float *phi, const float *Z, float *u);
    /* The same of one frame: Z (3,K) by columns, u (count,3). */
    void (*weigh_one)(int64_t count, int64_t K, const float *phi, const float *Z, float *u);
    /* u (count,3,16) turned in place by rotation (count,9,16). */
    void (*turn)(int64_t count, const float *rotation, float *u);
    /* out[lane] (count,3) = u (count,3,16)[.][lane] for lanes < frames. */
    void (*separate)(int64_t frames, int64_t count, const float *u, double *const out[SU_WIDE_FRAMES]);
    /* out[lane] (count,3) = sum of 4 weights (count,4) * u at corner (count,4), for lanes < frames. */
    void (*embed)(int64_t frames, int64_t count, const int32_t *corner, const float *weight, const float *u,
                  double *const out[SU_WIDE_FRAMES]);
} su_frame_kernels;

#endif
