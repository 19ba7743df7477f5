#include "runtime/kernels/kernel_set.h"

#include "core/vector_set.h"

#include <stdlib.h>
#include <string.h>

const su_kernel_set *su_kernel_set_choose(const char *name)
{
    if (!name) name = getenv("SUPPLE_KERNELS");
    if (name && !name[0]) name = NULL;
    int here = (int)su_vector_set_here();
    if (!name) return SU_OF_SET(su_kernel_set, here);
    for (int set = 0; set <= here; set++) {
        const su_kernel_set *kernels = SU_OF_SET(su_kernel_set, set);
        if (strcmp(name, kernels->name) == 0) return kernels;
    }
    return NULL;
}

su_status su_kernel_set_find(const su_kernel_set **out, su_error *err)
{
    *out = su_kernel_set_choose(NULL);
    if (*out) return SU_OK;
    return su_fail(err, SU_USAGE, "SUPPLE_KERNELS=%s: this processor has no such kernels; base, avx2 or avx512",
                   getenv("SUPPLE_KERNELS"));
}
