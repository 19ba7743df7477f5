#include "linalg/lane_kernels.h"

const su_lane_kernels *su_lane_kernels_of(su_vector_set set)
{
    static const su_lane_kernels *const all[SU_VECTOR_SETS] = {
        [SU_VECTORS_BASE] = &su_lane_kernels_base,
        [SU_VECTORS_AVX2] = &su_lane_kernels_avx2,
        [SU_VECTORS_AVX512] = &su_lane_kernels_avx512,
    };
    return all[set];
}
