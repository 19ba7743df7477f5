/* Functions that are compiled for the vector units of several processors, one of which is chosen at load. */
#ifndef SU_CORE_VECTOR_CLONES_H
#define SU_CORE_VECTOR_CLONES_H

/* Not by clang, which inlines nothing across targets, and not under the address sanitizer, which starts after the
 * choice. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define SU_CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define SU_CLONES
#endif

/* Part of the clone that calls it. */
#define SU_INLINE static inline __attribute__((always_inline))

#endif
