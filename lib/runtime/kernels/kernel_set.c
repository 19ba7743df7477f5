#include "runtime/kernels/kernel_set.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define SU_HAVE(feature) __builtin_cpu_supports(feature)
#else
#define SU_HAVE(feature) 0
#endif

const su_kernel_set *su_kernel_set_choose(const char *name)
{
    if (!name) name = getenv("SUPPLE_KERNELS");
    if (name && !name[0]) name = NULL;
    bool avx2 = SU_HAVE("avx2") && SU_HAVE("fma");
    bool avx512 = avx2 && SU_HAVE("avx512f") && SU_HAVE("avx512dq") && SU_HAVE("avx512vl");
    if (avx512 && (!name || strcmp(name, su_kernel_set_avx512.name) == 0)) return &su_kernel_set_avx512;
    if (avx2 && (!name || strcmp(name, su_kernel_set_avx2.name) == 0)) return &su_kernel_set_avx2;
    return !name || strcmp(name, su_kernel_set_base.name) == 0 ? &su_kernel_set_base : NULL;
}

su_status su_kernel_set_find(const su_kernel_set **out, su_error *err)
{
    *out = su_kernel_set_choose(NULL);
    if (*out) return SU_OK;
    return su_fail(err, SU_USAGE, "SUPPLE_KERNELS=%s: this processor has no such kernels; base, avx2 or avx512",
                   getenv("SUPPLE_KERNELS"));
}
