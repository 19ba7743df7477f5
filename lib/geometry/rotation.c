#include "geometry/rotation.h"

#include "geometry/affine.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Turns columns p and q of a and v by the angle that makes the columns of a orthogonal. */
static bool rotate_columns(double a[9], double v[9], int p, int q)
{
    double app = 0, aqq = 0, apq = 0;
    for (int i = 0; i < 3; i++)
        app += a[3 * i + p] * a[3 * i + p], aqq += a[3 * i + q] * a[3 * i + q], apq += a[3 * i + p] * a[3 * i + q];
    if (apq == 0.0 || fabs(apq) <= 0.5 * DBL_EPSILON * sqrt(app * aqq)) return false;
    double zeta = (aqq - app) / (2 * apq);
    double t = (zeta >= 0 ? 1.0 : -1.0) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = 0; i < 3; i++) {
        double x = a[3 * i + p], y = a[3 * i + q];
        a[3 * i + p] = c * x - s * y, a[3 * i + q] = s * x + c * y;
        x = v[3 * i + p], y = v[3 * i + q];
        v[3 * i + p] = c * x - s * y, v[3 * i + q] = s * x + c * y;
    }
    return true;
}

/* Exchanges two columns and turns one round, so that the determinant stays. */
static void swap_columns(double m[9], int p, int q)
{
    for (int i = 0; i < 3; i++) {
        double x = m[3 * i + p];
        m[3 * i + p] = m[3 * i + q], m[3 * i + q] = -x;
    }
}

static double column_square(const double m[9], int j)
{
    return m[j] * m[j] + m[3 + j] * m[3 + j] + m[6 + j] * m[6 + j];
}

/* A unit vector at right angles to the unit vector u. */
static void perpendicular(const double u[3], double out[3])
{
    int least = fabs(u[0]) <= fabs(u[1]) ? (fabs(u[0]) <= fabs(u[2]) ? 0 : 2) : (fabs(u[1]) <= fabs(u[2]) ? 1 : 2);
    double axis[3] = {0, 0, 0};
    axis[least] = 1;
    su_cross3(u, axis, out);
    double length = su_norm3(out);
    for (int i = 0; i < 3; i++) out[i] /= length;
}

/* One-sided Jacobi (Hestenes): right rotations make the columns of m orthogonal. Unlike the eigenvectors of m'm it
 * keeps the small singular values to full relative precision, which near-flat tets need. */
void su_svd3(const double m[9], double u[9], double s[3], double v[9])
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(v, identity, sizeof identity);
    double scale = 0;
    for (int i = 0; i < 9; i++) scale = fmax(scale, fabs(m[i]));
    if (!(scale > 0) || !isfinite(scale)) {
        memcpy(u, identity, sizeof identity);
        s[0] = s[1] = s[2] = 0;
        return;
    }
    double a[9];
    for (int i = 0; i < 9; i++) a[i] = m[i] / scale;
    for (int sweep = 0; sweep < 30; sweep++) {
        bool turned = rotate_columns(a, v, 0, 1);
        turned |= rotate_columns(a, v, 0, 2);
        turned |= rotate_columns(a, v, 1, 2);
        if (!turned) break;
    }
    double square[3] = {column_square(a, 0), column_square(a, 1), column_square(a, 2)};
    static const int order[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (int k = 0; k < 3; k++) {
        int p = order[k][0], q = order[k][1];
        if (square[p] >= square[q]) continue;
        swap_columns(a, p, q), swap_columns(v, p, q);
        double x = square[p];
        square[p] = square[q], square[q] = x;
    }
    double u0[3], u1[3], u2[3], last[3];
    s[0] = sqrt(square[0]);
    for (int i = 0; i < 3; i++) u0[i] = a[3 * i] / s[0];
    double along = 0;
    for (int i = 0; i < 3; i++) along += u0[i] * a[3 * i + 1];
    for (int i = 0; i < 3; i++) u1[i] = a[3 * i + 1] - along * u0[i];
    s[1] = su_norm3(u1);
    if (s[1] > 1e-150) /* squares below underflow; scale is 1 here */
        for (int i = 0; i < 3; i++) u1[i] /= s[1];
    else
        perpendicular(u0, u1);
    su_cross3(u0, u1, u2);
    for (int i = 0; i < 3; i++) last[i] = a[3 * i + 2];
    s[2] = su_dot3(u2, last);
    for (int i = 0; i < 3; i++) u[3 * i] = u0[i], u[3 * i + 1] = u1[i], u[3 * i + 2] = u2[i], s[i] *= scale;
}

void su_nearest_rotation(const double m[9], double r[9])
{
    double u[9], s[3], v[9];
    su_svd3(m, u, s, v);
    su_mult33(u, v, r);
}

/* Shepperd's method: the largest of the four components is found first. */
void su_quaternion_of(const double r[9], double q[4])
{
    double trace = r[0] + r[4] + r[8];
    int largest = 0;
    double best = trace;
    for (int i = 0; i < 3; i++)
        if (r[4 * i] > best) best = r[4 * i], largest = i + 1;
    if (largest == 0) {
        q[0] = 1 + trace, q[1] = r[7] - r[5], q[2] = r[2] - r[6], q[3] = r[3] - r[1];
    } else {
        int i = largest - 1, j = (i + 1) % 3, k = (i + 2) % 3;
        q[0] = r[3 * k + j] - r[3 * j + k];
        q[1 + i] = 1 + r[4 * i] - r[4 * j] - r[4 * k];
        q[1 + j] = r[3 * j + i] + r[3 * i + j];
        q[1 + k] = r[3 * k + i] + r[3 * i + k];
    }
    double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (q[0] < 0) norm = -norm;
    for (int i = 0; i < 4; i++) q[i] /= norm;
    if (q[0] == 0) q[0] = 0; /* no negative zero */
}

void su_quaternion_matrix(const double q[4], double r[9])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    r[0] = 1 - 2 * (y * y + z * z), r[1] = 2 * (x * y - w * z), r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z), r[4] = 1 - 2 * (x * x + z * z), r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y), r[7] = 2 * (y * z + w * x), r[8] = 1 - 2 * (x * x + y * y);
}

/* Newton and Schulz's iteration X (3 - X'X) / 2 for the polar factor: it converges from singular values in (0, sqrt 3),
 * quadratically at the end. A mean of rotations has none above 1; where one is small the rotations contradict each
 * other, and the SVD decides. */
/* The rotation nearest to the mean of the matrices is the quaternion v that maximizes sum (q_c . v)^2 (Markley et al.
 * 2007, eq. 12): the leading eigenvector, here by the power method, whose error shrinks with the square of the angles
 * between the four. */
void su_mean_rotation(const double *const quaternions[4], double r[9])
{
    enum { STEPS = 24 };
    double v[4] = {0};
    for (int c = 0; c < 4; c++) {
        const double *q = quaternions[c], *first = quaternions[0];
        double sign = q[0] * first[0] + q[1] * first[1] + q[2] * first[2] + q[3] * first[3] < 0 ? -1 : 1;
        for (int i = 0; i < 4; i++) v[i] += sign * q[i];
    }
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]);
    for (int i = 0; i < 4; i++) v[i] /= length;
    for (int step = 0; step < STEPS; step++) {
        double next[4] = {0}, change = 0;
        for (int c = 0; c < 4; c++) {
            const double *q = quaternions[c];
            double along = q[0] * v[0] + q[1] * v[1] + q[2] * v[2] + q[3] * v[3];
            for (int i = 0; i < 4; i++) next[i] += along * q[i];
        }
        length = sqrt(next[0] * next[0] + next[1] * next[1] + next[2] * next[2] + next[3] * next[3]);
        for (int i = 0; i < 4; i++) {
            next[i] /= length;
            double moved = fabs(next[i] - v[i]);
            change = moved > change ? moved : change;
            v[i] = next[i];
        }
        if (change < 2 * DBL_EPSILON) {
            su_quaternion_matrix(v, r);
            return;
        }
    }
    double mean[9] = {0};
    for (int c = 0; c < 4; c++) {
        double own[9];
        su_quaternion_matrix(quaternions[c], own);
        for (int i = 0; i < 9; i++) mean[i] += 0.25 * own[i];
    }
    su_nearest_rotation(mean, r);
}

void su_turn_vectors(int64_t n, const double *quaternions, const double *from, double *to)
{
    for (int64_t v = 0; v < n; v++) {
        double R[9];
        su_quaternion_matrix(quaternions + 4 * v, R);
        su_mulv3(R, from + 3 * v, to + 3 * v);
    }
}

void su_turn_back_vectors(int64_t n, const double *quaternions, const double *from, double *to)
{
    for (int64_t v = 0; v < n; v++) {
        double R[9];
        su_quaternion_matrix(quaternions + 4 * v, R);
        su_tmulv3(R, from + 3 * v, to + 3 * v);
    }
}

void su_quaternion_multiply(const double a[4], const double b[4], double out[4])
{
    double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    out[0] = w, out[1] = x, out[2] = y, out[3] = z;
}

void su_quaternion_log(const double q[4], double v[3])
{
    double sine = su_norm3(q + 1), cosine = q[0];
    double sign = cosine < 0 ? -1.0 : 1.0; /* q and -q are the same rotation; the shorter way round */
    double factor = sine > 0 ? 2 * atan2(sine, sign * cosine) / sine : 2.0;
    for (int i = 0; i < 3; i++) v[i] = sign * factor * q[1 + i];
}

double su_rotation_angle(const double a[9], const double b[9])
{
    double between[9], q[4], v[3];
    su_tmul33(a, b, between);
    su_quaternion_of(between, q);
    su_quaternion_log(q, v);
    return su_norm3(v);
}

void su_quaternion_exp(const double v[3], double q[4])
{
    double angle = su_norm3(v), half = 0.5 * angle;
    double factor = half > 1e-8 ? 0.5 * sin(half) / half : 0.5;
    q[0] = cos(half);
    for (int i = 0; i < 3; i++) q[1 + i] = factor * v[i];
}

void su_rigid_fit(long long count, const double *a, const double *b, const double *w, double r[9], double c[3])
{
    double total = 0, from[3] = {0, 0, 0}, to[3] = {0, 0, 0}, h[9] = {0};
    for (long long k = 0; k < count; k++) {
        double weight = w ? w[k] : 1.0;
        total += weight;
        for (int i = 0; i < 3; i++) from[i] += weight * a[3 * k + i], to[i] += weight * b[3 * k + i];
    }
    if (total > 0)
        for (int i = 0; i < 3; i++) from[i] /= total, to[i] /= total;
    for (long long k = 0; k < count; k++) {
        double weight = w ? w[k] : 1.0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) h[3 * i + j] += weight * (b[3 * k + i] - to[i]) * (a[3 * k + j] - from[j]);
    }
    su_nearest_rotation(h, r);
    su_mulv3(r, from, c);
    for (int i = 0; i < 3; i++) c[i] = to[i] - c[i];
}

void su_affine_split_matrix(const double m[16], double t[3], double r[9], double s[3])
{
    double linear[9];
    su_affine_linear(m, linear);
    su_affine_translation(m, t);
    for (int j = 0; j < 3; j++)
        s[j] = sqrt(linear[j] * linear[j] + linear[3 + j] * linear[3 + j] + linear[6 + j] * linear[6 + j]);
    if (su_det3(linear) < 0.0) s[0] = -s[0];
    for (int i = 0; i < 9; i++) r[i] = s[i % 3] != 0.0 ? linear[i] / s[i % 3] : i % 4 == 0;
}

void su_affine_split(const double m[16], double t[3], double q[4], double s[3])
{
    double r[9];
    su_affine_split_matrix(m, t, r, s);
    su_quaternion_of(r, q);
}

void su_right_angles(double r[SU_RIGHT_ANGLES][9])
{
    static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    int count = 0;
    for (int p = 0; p < 6; p++)
        for (int signs = 0; signs < 8; signs++) {
            double m[9] = {0};
            for (int i = 0; i < 3; i++) m[3 * i + order[p][i]] = signs >> i & 1 ? -1.0 : 1.0;
            if (su_det3(m) > 0.0) memcpy(r[count++], m, sizeof m);
        }
}
