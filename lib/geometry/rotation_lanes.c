#include "geometry/rotation_lanes.h"

void su_nearest_rotations(int64_t count, const double *F, double *R)
{
    SU_OF_SET_HERE(su_rotation_kernels)->nearest(count, F, R);
}

void su_mean_rotations(int64_t count, const int32_t *tets, const double *quaternions, double *R)
{
    SU_OF_SET_HERE(su_rotation_kernels)->mean(count, tets, quaternions, R);
}

void su_tet_rotations(int64_t t, const int32_t *tets, const double *quaternions, int threads, double *R)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t e = 0; e < t; e += SU_ROTATION_LANES)
        su_mean_rotations(t - e < SU_ROTATION_LANES ? t - e : SU_ROTATION_LANES, tets + 4 * e, quaternions, R + 9 * e);
}
