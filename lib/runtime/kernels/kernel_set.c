#include "runtime/kernels/kernel_set.h"

#include "core/vector_set.h"

#include <stdlib.h>
#include <string.h>

static const su_kernel_set *const sets[SU_VECTOR_SETS] = {
    [SU_VECTORS_BASE] = &su_kernel_set_base,
    [SU_VECTORS_AVX2] = &su_kernel_set_avx2,
    [SU_VECTORS_AVX512] = &su_kernel_set_avx512,
};

const su_kernel_set *su_kernel_set_choose(const char *name)
{
    if (!name) name = getenv("SUPPLE_KERNELS");
    if (name && !name[0]) name = NULL;
    int here = (int)su_vector_set_here();
    if (!name) return sets[here];
    for (int k = 0; k <= here; k++)
        if (strcmp(name, sets[k]->name) == 0) return sets[k];
    return NULL;
}

su_status su_kernel_set_find(const su_kernel_set **out, su_error *err)
{
    *out = su_kernel_set_choose(NULL);
    if (*out) return SU_OK;
    return su_fail(err, SU_USAGE, "SUPPLE_KERNELS=%s: this processor has no such kernels; base, avx2 or avx512",
                   getenv("SUPPLE_KERNELS"));
}
