#include "runtime/kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SU_KERNELS su_kernels_base
#define SU_KERNELS_NAME "base"
enum { TILE_I = 4, TILE_J = 2, GROUPS = 1 };
#include "runtime/kernels/kernels_body.h"

#if defined(__x86_64__)
#define SU_HAVE(feature) __builtin_cpu_supports(feature)
#else
#define SU_HAVE(feature) 0
#endif

static const su_kernels *choose(const char *name)
{
    bool avx2 = SU_HAVE("avx2") && SU_HAVE("fma");
    bool avx512 = avx2 && SU_HAVE("avx512f") && SU_HAVE("avx512dq") && SU_HAVE("avx512vl");
    if (avx512 && (!name || strcmp(name, "avx512") == 0)) return &su_kernels_avx512;
    if (avx2 && (!name || strcmp(name, "avx2") == 0)) return &su_kernels_avx2;
    return !name || strcmp(name, "base") == 0 ? &su_kernels_base : NULL;
}

const su_kernels *su_kernels_choose(const char *name)
{
    const char *forced = name ? NULL : getenv("SUPPLE_KERNELS");
    const su_kernels *set = choose(forced ? forced : name);
    return set || name ? set : choose(NULL);
}
