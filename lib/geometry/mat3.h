/* Small fixed-size algebra. 3x3 matrices are double[9], row-major: m[3 * row + column]. Inline, no state. */
#ifndef SU_GEOMETRY_MAT3_H
#define SU_GEOMETRY_MAT3_H

#include <math.h>
#include <stdint.h>

static inline double su_dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void su_cross3(const double a[3], const double b[3], double out[3])
{
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    out[0] = x, out[1] = y, out[2] = z;
}

static inline void su_sub3(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++) out[i] = a[i] - b[i];
}

static inline double su_norm3(const double a[3]) { return sqrt(su_dot3(a, a)); }

static inline double su_distance3(const double a[3], const double b[3])
{
    double d[3];
    su_sub3(a, b, d);
    return su_norm3(d);
}

static inline double su_det3(const double m[9])
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* out = a b; out may not overlap a or b. */
static inline void su_mul33(const double a[9], const double b[9], double out[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

/* out = a' b */
static inline void su_tmul33(const double a[9], const double b[9], double out[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
}

/* out = a b' */
static inline void su_mult33(const double a[9], const double b[9], double out[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
}

/* out = m v; out may be v. */
static inline void su_mulv3(const double m[9], const double v[3], double out[3])
{
    double x = v[0], y = v[1], z = v[2];
    for (int i = 0; i < 3; i++) out[i] = m[3 * i] * x + m[3 * i + 1] * y + m[3 * i + 2] * z;
}

/* out = m' v; out may be v. */
static inline void su_tmulv3(const double m[9], const double v[3], double out[3])
{
    double x = v[0], y = v[1], z = v[2];
    for (int i = 0; i < 3; i++) out[i] = m[i] * x + m[3 + i] * y + m[6 + i] * z;
}

/* Inverse by cofactors; returns the determinant (out is not written where it is 0). */
static inline double su_inverse3(const double m[9], double out[9])
{
    double c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8], c2 = m[3] * m[7] - m[4] * m[6];
    double det = m[0] * c0 + m[1] * c1 + m[2] * c2;
    if (det == 0.0) return det;
    double s = 1.0 / det;
    out[0] = c0 * s, out[3] = c1 * s, out[6] = c2 * s;
    out[1] = (m[2] * m[7] - m[1] * m[8]) * s, out[4] = (m[0] * m[8] - m[2] * m[6]) * s;
    out[7] = (m[1] * m[6] - m[0] * m[7]) * s;
    out[2] = (m[1] * m[5] - m[2] * m[4]) * s, out[5] = (m[2] * m[3] - m[0] * m[5]) * s;
    out[8] = (m[0] * m[4] - m[1] * m[3]) * s;
    return det;
}

/* Columns b - a, c - a, d - a of a tet's corners. */
static inline void su_tet_edges(const double a[3], const double b[3], const double c[3], const double d[3],
                                double out[9])
{
    for (int i = 0; i < 3; i++) out[3 * i] = b[i] - a[i], out[3 * i + 1] = c[i] - a[i], out[3 * i + 2] = d[i] - a[i];
}

/* g (4,3): gradients of the shape functions of a tet, from its inverse edge matrix */
static inline void su_shape_gradients(const double inverse[9], double g[12])
{
    for (int i = 0; i < 3; i++) g[i] = -(inverse[i] + inverse[3 + i] + inverse[6 + i]);
    for (int i = 0; i < 9; i++) g[3 + i] = inverse[i];
}

/* g (4,3): gradients of the shape functions of a tet of points x (.,3), 0 where it is flat; returns 6 times its volume.
 * Rows of the inverse edge matrix are those of corners 1 to 3. */
static inline double su_tet_gradients(const double *x, const int32_t tet[4], double g[12])
{
    double edges[9];
    for (int i = 0; i < 12; i++) g[i] = 0;
    su_tet_edges(x + 3 * (int64_t)tet[0], x + 3 * (int64_t)tet[1], x + 3 * (int64_t)tet[2], x + 3 * (int64_t)tet[3],
                 edges);
    double volume = su_inverse3(edges, g + 3);
    for (int i = 0; i < 3; i++) g[i] = -g[3 + i] - g[6 + i] - g[9 + i];
    return volume;
}

/* Two unit vectors that span the plane with this unit normal. */
static inline void su_span_plane(const double n[3], double t[2][3])
{
    int least = fabs(n[0]) <= fabs(n[1]) && fabs(n[0]) <= fabs(n[2]) ? 0 : fabs(n[1]) <= fabs(n[2]) ? 1 : 2;
    double axis[3] = {least == 0, least == 1, least == 2};
    su_cross3(n, axis, t[0]);
    double size = su_norm3(t[0]);
    for (int i = 0; i < 3; i++) t[0][i] /= size;
    su_cross3(n, t[0], t[1]);
}

#endif
