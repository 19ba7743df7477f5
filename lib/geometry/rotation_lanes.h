/* Rotations of many matrices, eight at once in the lanes of the vector units. No bit of one depends on the others. */
#ifndef SU_GEOMETRY_ROTATION_LANES_H
#define SU_GEOMETRY_ROTATION_LANES_H

#include <stdint.h>

enum { SU_ROTATION_LANES = 8 };

/* R (count,9): the proper rotation nearest to each F (count,9), as su_nearest_rotation(). */
void su_nearest_rotations(int64_t count, const double *F, double *R);
/* R (count,9): the mean of the rotations at the corners of tets (count,4), quaternions (n,4), as su_mean_rotation(). */
void su_mean_rotations(int64_t count, const int32_t *tets, const double *quaternions, double *R);
/* The same of many, on several threads. */
void su_tet_rotations(int64_t t, const int32_t *tets, const double *quaternions, int threads, double *R);

#endif
