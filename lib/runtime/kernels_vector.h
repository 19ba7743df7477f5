/* Vectors of eight doubles for the kernels; included by the bodies, once for each instruction set. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"   /* vectors are parameters of inlined functions only */
#endif

typedef double v8 __attribute__((vector_size(64), aligned(64), may_alias));
typedef double v8u __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t m8 __attribute__((vector_size(64)));

#define INLINE static inline __attribute__((always_inline))
/* Fully unrolled: the arrays indexed inside live in registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Vectors are never passed by value to anything that is not inlined; macros keep it so. */
#define SPLAT(x) ((v8){(x), (x), (x), (x), (x), (x), (x), (x)})

static const m8 swap4 = {4, 5, 6, 7, 8, 9, 10, 11};
static const m8 low2 = {0, 1, 8, 9, 4, 5, 12, 13}, high2 = {2, 3, 10, 11, 6, 7, 14, 15};
static const m8 low1 = {0, 8, 2, 10, 4, 12, 6, 14}, high1 = {1, 9, 3, 11, 5, 13, 7, 15};

#if defined(__clang__)
#define PICK(a, b, mask, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(a, b, mask, ...) __builtin_shuffle(a, b, mask)
#endif
#define SWAP4(a, b) PICK(a, b, swap4, 4, 5, 6, 7, 8, 9, 10, 11)
#define LOW4(a, b) PICK(a, b, ((m8){0, 1, 2, 3, 12, 13, 14, 15}), 0, 1, 2, 3, 12, 13, 14, 15)
#define LOW2(a, b) PICK(a, b, low2, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH2(a, b) PICK(a, b, high2, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW1(a, b) PICK(a, b, low1, 0, 8, 2, 10, 4, 12, 6, 14)
#define HIGH1(a, b) PICK(a, b, high1, 1, 9, 3, 11, 5, 13, 7, 15)

#define LOW_HALVES(a, b) PICK(a, b, ((m8){0, 1, 2, 3, 8, 9, 10, 11}), 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_HALVES(a, b) PICK(a, b, ((m8){4, 5, 6, 7, 12, 13, 14, 15}), 4, 5, 6, 7, 12, 13, 14, 15)

#define WHERE(mask, a, b) ((v8)(((m8)(a) & (mask)) | ((m8)(b) & ~(mask))))
#define MAXIMUM(a, b) WHERE((a) > (b), a, b)

/* *out = the sums over lanes of a[0..7], in that order. */
INLINE void sum_lanes(const v8 a[8], v8 *out)
{
    v8 b[4], c[2];
    UNROLL for (int k = 0; k < 4; k++) b[k] = LOW4(a[k], a[k + 4]) + SWAP4(a[k], a[k + 4]);
    UNROLL for (int k = 0; k < 2; k++) c[k] = LOW2(b[k], b[k + 2]) + HIGH2(b[k], b[k + 2]);
    *out = LOW1(c[0], c[1]) + HIGH1(c[0], c[1]);
}

