/* Vectors of eight doubles for the kernels; included by the bodies, once for each instruction set. */

typedef double v8 __attribute__((vector_size(64), aligned(64), may_alias));
typedef double v8u __attribute__((vector_size(64), aligned(8), may_alias));
typedef double v4 __attribute__((vector_size(32), aligned(32), may_alias));
typedef int64_t m8 __attribute__((vector_size(64)));
typedef int64_t m4 __attribute__((vector_size(32)));
typedef int32_t m8f __attribute__((vector_size(32)));
typedef float f4 __attribute__((vector_size(16), aligned(16), may_alias));
typedef float f4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f8 __attribute__((vector_size(32), aligned(32), may_alias));
typedef float f8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f16 __attribute__((vector_size(64), aligned(64), may_alias));
typedef float f16u __attribute__((vector_size(64), aligned(4), may_alias));

/* Between eight floats and eight doubles: one instruction where there is one, which gcc 12 does not find by itself. */
#if defined(SU_AVX512)
#define WIDEN(x) ((v8)_mm512_cvtps_pd((__m256)(x)))
#define NARROW(x) ((f8)_mm512_cvtpd_ps((__m512d)(x)))
#define WIDEN4(x) ((v4)_mm256_cvtps_pd((__m128)(x)))
#define NARROW4(x) ((f4)_mm256_cvtpd_ps((__m256d)(x)))
#else
#define WIDEN(x) __builtin_convertvector(x, v8)
#define NARROW(x) __builtin_convertvector(x, f8)
#define WIDEN4(x) __builtin_convertvector(x, v4)
#define NARROW4(x) __builtin_convertvector(x, f4)
#endif

/* The processor's own vectors. gcc keeps wider ones in memory, at several times the price, so what takes most of the
 * time is written in these; `few`: as many floats as doubles fit in one. */
#if defined(SU_AVX512)
typedef f16 floats;
typedef f16u floats_u;
typedef v8 doubles;
typedef f8 few;
#define WIDEN_FEW(x) WIDEN(x)
#elif defined(SU_AVX2)
typedef f8 floats;
typedef f8u floats_u;
typedef v4 doubles;
typedef f4 few;
#define WIDEN_FEW(x) ((v4)_mm256_cvtps_pd((__m128)(x)))
#else
typedef f4 floats;
typedef f4u floats_u;
typedef double doubles __attribute__((vector_size(16), aligned(16), may_alias));
typedef float few __attribute__((vector_size(8), aligned(8), may_alias));
#define WIDEN_FEW(x) __builtin_convertvector(x, doubles)
#endif
typedef f8u f8_u;
/* Half of a vector of floats, and a vector of floats from two of doubles. */
#if defined(SU_AVX512)
#define HALF(x, high) ((few)((high) ? _mm512_extractf32x8_ps((__m512)(x), 1) : _mm512_castps512_ps256((__m512)(x))))
#define BOTH(a, b) TOGETHER(NARROW(a), NARROW(b))
typedef m8 longs;
#elif defined(SU_AVX2)
#define HALF(x, high) ((few)((high) ? _mm256_extractf128_ps((__m256)(x), 1) : _mm256_castps256_ps128((__m256)(x))))
#define BOTH(a, b)                                                                                                     \
    ((floats)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps((__m256d)(a))),                               \
                                  _mm256_cvtpd_ps((__m256d)(b)), 1))
typedef m4 longs;
#else
typedef union halves {
    few half[2];
    floats whole;
} halves;
#define HALF(x, high) (((halves){.whole = (x)}).half[high])
#define BOTH(a, b) (((halves){.half = {__builtin_convertvector(a, few), __builtin_convertvector(b, few)}}).whole)
typedef int64_t longs __attribute__((vector_size(16)));
#endif
enum { FLOATS = sizeof(floats) / sizeof(float), DOUBLES = sizeof(doubles) / sizeof(double), PARTS = 8 / DOUBLES };

#define INLINE static inline __attribute__((always_inline))
/* Fully unrolled: the arrays indexed inside live in registers. */
#if defined(__clang__)
#define UNROLL_FOR(...) _Pragma("clang loop unroll(full)") for (__VA_ARGS__)
#else
#define UNROLL_FOR(...) _Pragma("GCC unroll 16") for (__VA_ARGS__)
#endif

/* Of a 3 x 3 matrix. */
#define EACH_ENTRY(k) UNROLL_FOR (int k = 0; k < 9; k++)

/* The vector that stands at p; entry i from p on of what stands sixteen floats apart. */
#define AT(vector, p) (*(vector *)(p))
#define WIDE(p, i) AT(floats, (p) + 16 * (i))
/* As many floats from p on as doubles, widened. */
#define WIDEN_AT(p) WIDEN_FEW(AT(few, p))

/* Vectors are never passed by value to anything that is not inlined; macros keep it so. */
#define SPLAT(x) ((v8){(x), (x), (x), (x), (x), (x), (x), (x)})

/* Lanes of a and b, eight or four of each, by their numbers in both together, which are a vector of integers. */
#if defined(__clang__)
#define PICK(numbers, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(numbers, a, b, ...) __builtin_shuffle(a, b, (numbers){__VA_ARGS__})
#endif
#define SWAP4(numbers, a, b) PICK(numbers, a, b, 4, 5, 6, 7, 8, 9, 10, 11)
#define LOW4(numbers, a, b) PICK(numbers, a, b, 0, 1, 2, 3, 12, 13, 14, 15)
#define LOW2(numbers, a, b) PICK(numbers, a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH2(numbers, a, b) PICK(numbers, a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW1(numbers, a, b) PICK(numbers, a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define HIGH1(numbers, a, b) PICK(numbers, a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define LOW_HALVES(numbers, a, b) PICK(numbers, a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_HALVES(numbers, a, b) PICK(numbers, a, b, 4, 5, 6, 7, 12, 13, 14, 15)

/* The eights of sixteen floats; from twice eight, which AVX-512 alone needs. */
#if defined(SU_AVX512)
#define TOGETHER(a, b) ((f16)_mm512_insertf32x8(_mm512_castps256_ps512((__m256)(a)), (__m256)(b), 1))
#define LOW_FLOATS(x) ((f8)_mm512_castps512_ps256((__m512)(x)))
#define HIGH_FLOATS(x) ((f8)_mm512_extractf32x8_ps((__m512)(x), 1))
#else
typedef union f8_pair {
    f8 half[2];
    f16 both;
} f8_pair;
#define LOW_FLOATS(x) (((f8_pair){.both = x}).half[0])
#define HIGH_FLOATS(x) (((f8_pair){.both = x}).half[1])
#endif

/* a where the mask is set, else b; vectors of any one type, the mask integers of its size. */
#define WHERE(mask, a, b) ((__typeof__(b))(((__typeof__(mask))(a) & (mask)) | ((__typeof__(mask))(b) & ~(mask))))

/* Is a lane of the processor's own vectors set? */
typedef int32_t masks __attribute__((vector_size(sizeof(floats))));
#if defined(SU_AVX512)
#define ANY_LANE(mask) (_mm512_test_epi32_mask((__m512i)(mask), (__m512i)(mask)) != 0)
#elif defined(SU_AVX2)
#define ANY_LANE(mask) (_mm256_movemask_ps((__m256)(mask)) != 0)
#else
INLINE int32_t any_lane(const masks *mask)
{
    int32_t some = 0;
    UNROLL_FOR (int lane = 0; lane < FLOATS; lane++) some |= (*mask)[lane];
    return some;
}
#define ANY_LANE(mask) any_lane(&(mask))
#endif

/* 1 / sqrt(x) to the precision of float, x >= 0 normal (about 3e19 at 0): an estimate from the bits, a step of third
 * and one of second order. No division, and the same on every processor. */
INLINE void inverse_root(const floats *x, floats *out)
{
    floats y = (floats)(0x5f375a86 - ((masks)*x >> 1)), rest = 1 - *x * y * y;
    y *= 1 + rest * (0.5f + 0.375f * rest);
    rest = 1 - *x * y * y;
    *out = y + 0.5f * rest * y;
}

/* Of vectors of eight doubles or floats: *out = the sums over lanes of a[0..7], in that order; out = a as a matrix,
 * transposed. */
#define OF_EIGHT(vector, numbers, sum, transpose)                                                                      \
    INLINE void sum(const vector a[8], vector *out)                                                                    \
    {                                                                                                                  \
        vector b[4], c[2];                                                                                             \
        UNROLL_FOR (int k = 0; k < 4; k++) b[k] = LOW4(numbers, a[k], a[k + 4]) + SWAP4(numbers, a[k], a[k + 4]);      \
        UNROLL_FOR (int k = 0; k < 2; k++) c[k] = LOW2(numbers, b[k], b[k + 2]) + HIGH2(numbers, b[k], b[k + 2]);      \
        *out = LOW1(numbers, c[0], c[1]) + HIGH1(numbers, c[0], c[1]);                                                 \
    }                                                                                                                  \
    INLINE void transpose(const vector a[8], vector out[8])                                                            \
    {                                                                                                                  \
        vector b[8], c[8];                                                                                             \
        UNROLL_FOR (int k = 0; k < 8; k += 2)                                                                          \
            b[k] = LOW1(numbers, a[k], a[k + 1]), b[k + 1] = HIGH1(numbers, a[k], a[k + 1]);                           \
        UNROLL_FOR (int k = 0; k < 8; k += 4)                                                                          \
            UNROLL_FOR (int n = k; n < k + 2; n++)                                                                     \
                c[n] = LOW2(numbers, b[n], b[n + 2]), c[n + 2] = HIGH2(numbers, b[n], b[n + 2]);                       \
        UNROLL_FOR (int k = 0; k < 4; k++)                                                                             \
            out[k] = LOW_HALVES(numbers, c[k], c[k + 4]), out[k + 4] = HIGH_HALVES(numbers, c[k], c[k + 4]);           \
    }
OF_EIGHT(v8, m8, sum_lanes, transpose)
OF_EIGHT(f8, m8f, sum_lanes_f, transpose_f)

/* out[0..7] = the sums over lanes of a[0..7]. */
INLINE void sum_doubles(const doubles a[8], v8 *out)
{
#if defined(SU_AVX512)
    sum_lanes(a, out);
#elif defined(SU_AVX2)
    UNROLL_FOR (int k = 0; k < 8; k += 4) {
        v4 x = PICK(m4, a[k], a[k + 1], 0, 4, 2, 6) + PICK(m4, a[k], a[k + 1], 1, 5, 3, 7);
        v4 y = PICK(m4, a[k + 2], a[k + 3], 0, 4, 2, 6) + PICK(m4, a[k + 2], a[k + 3], 1, 5, 3, 7);
        AT(v4, (double *)out + k) = PICK(m4, x, y, 0, 1, 4, 5) + PICK(m4, x, y, 2, 3, 6, 7);
    }
#else
    UNROLL_FOR (int k = 0; k < 8; k++) ((double *)out)[k] = a[k][0] + a[k][1];
#endif
}

/* The same in float. */
INLINE void sum_floats(const floats a[8], f8 *out)
{
#if defined(SU_AVX512)
    f8 half[8];
    UNROLL_FOR (int k = 0; k < 8; k++) half[k] = LOW_FLOATS(a[k]) + HIGH_FLOATS(a[k]);
    sum_lanes_f(half, out);
#elif defined(SU_AVX2)
    sum_lanes_f(a, out);
#else
    UNROLL_FOR (int k = 0; k < 8; k++) ((float *)out)[k] = (a[k][0] + a[k][1]) + (a[k][2] + a[k][3]);
#endif
}

/* C = d det F / d F of 3 x 3 matrices in lanes. */
#define COFACTORS(F, C)                                                                                                \
    UNROLL_FOR (int i_ = 0; i_ < 3; i_++)                                                                              \
        UNROLL_FOR (int j_ = 0; j_ < 3; j_++)                                                                          \
    (C)[3 * i_ + j_] = (F)[(i_ + 1) % 3 * 3 + (j_ + 1) % 3] * (F)[(i_ + 2) % 3 * 3 + (j_ + 2) % 3] -                   \
                       (F)[(i_ + 1) % 3 * 3 + (j_ + 2) % 3] * (F)[(i_ + 2) % 3 * 3 + (j_ + 1) % 3]
