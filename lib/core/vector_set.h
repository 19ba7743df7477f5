/* Which vector units a processor has. Kernels that live by them are compiled once for each set, as vector_begin.h says,
 * and chosen where they are called. */
#ifndef SU_CORE_VECTOR_SET_H
#define SU_CORE_VECTOR_SET_H

typedef enum su_vector_set {
    SU_VECTORS_BASE,   /* what every processor has */
    SU_VECTORS_AVX2,   /* AVX2 and FMA */
    SU_VECTORS_AVX512, /* F, DQ and VL */
    SU_VECTOR_SETS
} su_vector_set;

/* The best that this processor runs, and all below it. */
su_vector_set su_vector_set_here(void);

#endif
