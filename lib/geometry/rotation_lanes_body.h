/* Nearest rotations and means of many, for one set of vector units (core/vector_begin.h). */

#include "geometry/svd_lanes.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void nearest(int64_t count, const double *F, double *R)
{
    for (int64_t from = 0; from < count; from += LANES) {
        int64_t some = least(count - from, LANES);
        lanes B[9], U[9], s[3], V[9];
        for (int l = 0; l < LANES; l++)
            for (int i = 0; i < 9; i++) B[i][l] = F[9 * (from + (l < some ? l : 0)) + i];
        singular_values(B, U, s, V);
        rotation_of(U, V, B);
        for (int64_t l = 0; l < some; l++)
            for (int i = 0; i < 9; i++) R[9 * (from + l) + i] = B[i][l];
    }
}

SU_INLINE lanes product(const lanes a[4], const lanes b[4])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

SU_INLINE void normalize(lanes v[4])
{
    lanes length = root(product(v, v));
    for (int i = 0; i < 4; i++) v[i] /= length;
}

/* Of each lane: the quaternion v that maximizes sum (q_c . v)^2 over four, by the power method. Which lanes have it. */
SU_INLINE mask leading(const lanes q[4][4], lanes v[4])
{
    enum { STEPS = 24 };
    lanes zero = {0}, one = zero + 1.0;
    for (int i = 0; i < 4; i++) v[i] = q[0][i];
    for (int c = 1; c < 4; c++) {
        lanes sign = choose(product(q[c], q[0]) < 0.0, -one, one);
        for (int i = 0; i < 4; i++) v[i] += sign * q[c][i];
    }
    normalize(v);
    mask found = {0};
    for (int step = 0; step < STEPS; step++) {
        lanes next[4] = {zero, zero, zero, zero}, change = zero;
        for (int c = 0; c < 4; c++) {
            lanes along = product(q[c], v);
            for (int i = 0; i < 4; i++) next[i] += along * q[c][i];
        }
        normalize(next);
        for (int i = 0; i < 4; i++) {
            change = larger(change, magnitude(next[i] - v[i]));
            v[i] = choose(found, v[i], next[i]);
        }
        found |= change < 2 * DBL_EPSILON;
        if (!any(~found)) break;
    }
    return found;
}

static void mean(int64_t count, const int32_t *tets, const double *quaternions, double *R)
{
    for (int64_t from = 0; from < count; from += LANES) {
        int64_t some = least(count - from, LANES);
        lanes q[4][4], v[4];
        double of[4][4][LANES];
        for (int l = 0; l < LANES; l++)
            for (int c = 0; c < 4; c++)
                for (int i = 0; i < 4; i++)
                    of[c][i][l] = quaternions[4 * (int64_t)tets[4 * (from + (l < some ? l : 0)) + c] + i];
        memcpy(q, of, sizeof q);
        mask found = leading(q, v);
        for (int64_t l = 0; l < some; l++) {
            double *r = R + 9 * (from + l), one[4] = {v[0][l], v[1][l], v[2][l], v[3][l]};
            const int32_t *tet = tets + 4 * (from + l);
            if (found[l]) {
                su_quaternion_matrix(one, r);
                continue;
            }
            const double *corner[4];
            for (int c = 0; c < 4; c++) corner[c] = quaternions + 4 * (int64_t)tet[c];
            su_mean_rotation(corner, r);
        }
    }
}

const su_rotation_kernels SU_IN_SET(su_rotation_kernels) = {nearest, mean};
