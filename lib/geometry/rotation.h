/* Rotations: singular values, nearest rotation, quaternions. Matrices row-major, quaternions (w, x, y, z), active. */
#ifndef SU_GEOMETRY_ROTATION_H
#define SU_GEOMETRY_ROTATION_H

#include <stdint.h>

/* m = U diag(s) V', U and V proper rotations, |s0| >= |s1| >= |s2|; the sign of det(m) is on s2. */
void su_svd3(const double m[9], double u[9], double s[3], double v[9]);

/* The proper rotation nearest to m in the Frobenius norm (for det <= 0 as well); the identity for m = 0. */
void su_nearest_rotation(const double m[9], double r[9]);

/* The same for the mean of four rotations given as quaternions, to rounding: cheap where they are near each other. */
void su_mean_rotation(const double *const quaternions[4], double r[9]);

/* Unit quaternion with w >= 0 of a rotation matrix, and back. */
void su_quaternion_of(const double r[9], double q[4]);
void su_quaternion_matrix(const double q[4], double r[9]);
/* m (16, affine, row-major) = translation t (3), rotation q (4) and scale s (3) along its own axes, in this order from
 * the left; exact where m has no shear. A mirrored m has s[0] < 0; an axis without length keeps that of the identity.
 */
void su_affine_split(const double m[16], double t[3], double q[4], double s[3]);
void su_affine_split_matrix(const double m[16], double t[3], double r[9], double s[3]);
/* to (n,3): vectors from (n,3), each turned by its quaternion (n,4) or, back, by the inverse of it; to may be from. */
void su_turn_vectors(int64_t n, const double *quaternions, const double *from, double *to);
void su_turn_back_vectors(int64_t n, const double *quaternions, const double *from, double *to);
/* out = a b */
void su_quaternion_multiply(const double a[4], const double b[4], double out[4]);
/* Rotation vector (axis times angle, |angle| <= pi) of a unit quaternion. */
void su_quaternion_log(const double q[4], double v[3]);
void su_quaternion_exp(const double v[3], double q[4]);

/* The 24 rotations that take axes to axes. */
enum { SU_RIGHT_ANGLES = 24 };
void su_right_angles(double r[SU_RIGHT_ANGLES][9]);

/* Angle, rad, 0 to pi, by which a and b differ. */
double su_rotation_angle(const double a[9], const double b[9]);

/* Best rigid transform (rotation r, translation c) of points a onto b: minimizes sum w |r a + c - b|^2 (w NULL: 1). */
void su_rigid_fit(long long count, const double *a, const double *b, const double *w, double r[9], double c[3]);

#endif
