/* Rotations of many matrices, several at once in the lanes of the vector units. No bit of one depends on the others. */
#ifndef SU_GEOMETRY_ROTATION_LANES_H
#define SU_GEOMETRY_ROTATION_LANES_H

#include "core/vector_set.h"

#include <stdint.h>

/* So many at once, or a multiple, leave no lane empty. */
enum { SU_ROTATION_LANES = 8 };

/* The first two below for one set of vector units. */
typedef struct su_rotation_kernels {
    void (*nearest)(int64_t count, const double *F, double *R);
    void (*mean)(int64_t count, const int32_t *tets, const double *quaternions, double *R);
} su_rotation_kernels;

extern const su_rotation_kernels su_rotation_kernels_base, su_rotation_kernels_avx2, su_rotation_kernels_avx512;

/* R (count,9): the proper rotation nearest to each F (count,9), as su_nearest_rotation(). */
void su_nearest_rotations(int64_t count, const double *F, double *R);
/* R (count,9): the mean of the rotations at the corners of tets (count,4), quaternions (n,4), as su_mean_rotation(). */
void su_mean_rotations(int64_t count, const int32_t *tets, const double *quaternions, double *R);
/* The same of many, on several threads. */
void su_tet_rotations(int64_t t, const int32_t *tets, const double *quaternions, int threads, double *R);

#endif
