#include "core/vector_set.h"

#include <stdbool.h>

#if defined(__x86_64__)
#define HAVE(feature) __builtin_cpu_supports(feature)
#else
#define HAVE(feature) 0
#endif

su_vector_set su_vector_set_here(void)
{
    bool avx2 = HAVE("avx2") && HAVE("fma");
    bool avx512 = avx2 && HAVE("avx512f") && HAVE("avx512dq") && HAVE("avx512vl");
    return avx512 ? SU_VECTORS_AVX512 : avx2 ? SU_VECTORS_AVX2 : SU_VECTORS_BASE;
}
