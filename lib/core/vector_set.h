/* Which vector units a processor has. Kernels that live by them are compiled once for each set, as vector_begin.h says,
 * and chosen where they are called. */
#ifndef SU_CORE_VECTOR_SET_H
#define SU_CORE_VECTOR_SET_H

typedef enum su_vector_set {
    SU_VECTORS_BASE,  /* what every processor has */
    SU_VECTORS_AVX2,  /* AVX2 and FMA */
    SU_VECTORS_AVX512 /* F, DQ and VL */
} su_vector_set;

/* Of kernels `name` those of a set: &name_base, &name_avx2 or &name_avx512. */
#if defined(__x86_64__)
#define SU_OF_SET(name, set)                                                                                           \
    ((set) == SU_VECTORS_AVX512 ? &name##_avx512 : (set) == SU_VECTORS_AVX2 ? &name##_avx2 : &name##_base)
#else
#define SU_OF_SET(name, set) ((void)(set), &name##_base)
#endif

/* The best that this processor runs, as all below it. */
su_vector_set su_vector_set_here(void);

/* Those of this processor. */
#define SU_OF_SET_HERE(name) SU_OF_SET(name, su_vector_set_here())

#endif
