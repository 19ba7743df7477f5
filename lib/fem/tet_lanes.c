#include "fem/tet_lanes.h"

const su_tet_kernels *su_tet_kernels_of(su_vector_set set)
{
    static const su_tet_kernels *const all[SU_VECTOR_SETS] = {
        [SU_VECTORS_BASE] = &su_tet_kernels_base,
        [SU_VECTORS_AVX2] = &su_tet_kernels_avx2,
        [SU_VECTORS_AVX512] = &su_tet_kernels_avx512,
    };
    return all[set];
}
