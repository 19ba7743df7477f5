/* The kernels for AVX2 and FMA; elsewhere the same in plain C, which nobody chooses. */
#include "runtime/kernels/kernel_set.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define SU_AVX2
#define SU_TARGET "avx2,fma"
#endif

#define SU_KERNEL_SET su_kernel_set_avx2
#define SU_KERNELS_NAME "avx2"
enum { TILE_I = 4, TILE_J = 3, GROUPS = 2 };
#include "runtime/kernels/kernels_set_body.h"
