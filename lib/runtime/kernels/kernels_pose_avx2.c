#include "runtime/kernels/kernels_pose.h"

#include "geometry/rotation.h"

#include <math.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define SU_AVX2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#endif

#define SU_KERNELS su_pose_kernels_avx2
#define SU_KERNELS_NAME "avx2"
#include "runtime/kernels/kernels_pose_body.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
