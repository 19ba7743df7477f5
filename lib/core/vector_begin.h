/* What follows, up to vector_end.h, is compiled for one set of vector units: SU_AVX512, SU_AVX2 or, where neither is
 * defined, what every processor has. Vectors are to be SU_VECTOR_BYTES wide: gcc keeps wider ones in memory, at several
 * times the price. SU_IN_SET(name) is a name of this set's own, SU_SET_NAME that of the set. Elsewhere than on x86-64
 * all sets are plain C, and neither is defined any more. */

#include "core/vector_clones.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(SU_AVX512)
#define SU_IN_SET(name) name##_avx512
#define SU_SET_NAME "avx512"
#elif defined(SU_AVX2)
#define SU_IN_SET(name) name##_avx2
#define SU_SET_NAME "avx2"
#else
#define SU_IN_SET(name) name##_base
#define SU_SET_NAME "base"
#endif

#if defined(__x86_64__) && defined(SU_AVX512)
#define SU_VECTOR_BYTES 64
#define SU_TARGET "avx512f,avx512dq,avx512vl,avx2,fma"
#elif defined(__x86_64__) && defined(SU_AVX2)
#define SU_VECTOR_BYTES 32
#define SU_TARGET "avx2,fma"
#else
#define SU_VECTOR_BYTES 16
#undef SU_AVX2
#undef SU_AVX512
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are parameters of inlined functions only */
#endif

#define SU_PRAGMA(text) _Pragma(#text)
#define SU_FOR_TARGET(push) SU_PRAGMA(push)
#if defined(SU_TARGET) && defined(__clang__)
SU_FOR_TARGET(clang attribute push(__attribute__((target(SU_TARGET))), apply_to = function))
#elif defined(SU_TARGET)
#pragma GCC push_options
SU_FOR_TARGET(GCC target(SU_TARGET))
#if defined(SU_AVX512)
#pragma GCC target("prefer-vector-width=512")
#endif
#endif
