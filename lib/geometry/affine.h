/* Affine transforms as double[16], row-major, acting on columns, last row 0 0 0 1. Inline, no state. */
#ifndef SU_GEOMETRY_AFFINE_H
#define SU_GEOMETRY_AFFINE_H

#include "geometry/mat3.h"

#include <string.h>

static inline void su_affine_identity(double m[16])
{
    for (int i = 0; i < 16; i++) m[i] = i % 5 == 0;
}

/* m = [linear | translation]; linear 3x3 row-major. */
static inline void su_affine_set(const double linear[9], const double translation[3], double m[16])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) m[4 * i + j] = linear[3 * i + j];
        m[4 * i + 3] = translation[i], m[12 + i] = 0.0;
    }
    m[15] = 1.0;
}

static inline void su_affine_linear(const double m[16], double linear[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) linear[3 * i + j] = m[4 * i + j];
}

static inline void su_affine_translation(const double m[16], double t[3])
{
    for (int i = 0; i < 3; i++) t[i] = m[4 * i + 3];
}

/* out = a b; out may be a or b. */
static inline void su_affine_multiply(const double a[16], const double b[16], double out[16])
{
    double c[16];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            c[4 * i + j] =
                a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j] + a[4 * i + 2] * b[8 + j] + (j == 3 ? a[4 * i + 3] : 0.0);
    c[12] = c[13] = c[14] = 0.0, c[15] = 1.0;
    memcpy(out, c, sizeof c);
}

/* Inverse; returns the determinant of the linear part (out is not written where it is 0). out may be m. */
static inline double su_affine_inverse(const double m[16], double out[16])
{
    double linear[9], inverse[9], t[3];
    su_affine_linear(m, linear);
    su_affine_translation(m, t);
    double det = su_inverse3(linear, inverse);
    if (det == 0.0) return det;
    su_mulv3(inverse, t, t);
    for (int i = 0; i < 3; i++) t[i] = -t[i];
    su_affine_set(inverse, t, out);
    return det;
}

/* out = m p, with the translation; out may be p. */
static inline void su_affine_point(const double m[16], const double p[3], double out[3])
{
    double x = p[0], y = p[1], z = p[2];
    for (int i = 0; i < 3; i++) out[i] = m[4 * i] * x + m[4 * i + 1] * y + m[4 * i + 2] * z + m[4 * i + 3];
}

#endif
