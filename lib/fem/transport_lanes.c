#include "fem/transport_lanes.h"

const su_carried_kernels *su_carried_kernels_of(su_vector_set set)
{
    static const su_carried_kernels *const all[SU_VECTOR_SETS] = {
        [SU_VECTORS_BASE] = &su_carried_kernels_base,
        [SU_VECTORS_AVX2] = &su_carried_kernels_avx2,
        [SU_VECTORS_AVX512] = &su_carried_kernels_avx512,
    };
    return all[set];
}
