#include "rig/root_frame.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"

void su_root_from_bone(const double *now, const double *rest, double *root)
{
    double a[9], b[9], m[9], r[9], origin[3], there[3], turned[3];
    su_affine_linear(now, a);
    su_affine_linear(rest, b);
    su_mult33(a, b, m); /* rest is rigid: its transpose is its inverse */
    su_nearest_rotation(m, r);
    su_affine_translation(rest, origin);
    su_affine_translation(now, there);
    su_mulv3(r, origin, turned);
    su_sub3(there, turned, there);
    su_affine_set(r, there, root);
}

void su_root_from_points(int64_t nbar, const double *neutral, const double *points, double *root)
{
    double r[9], c[3];
    su_rigid_fit(nbar, neutral, points, NULL, r, c);
    su_affine_set(r, c, root);
}

void su_rigid_inverse(const double *m, double *out)
{
    double r[9], t[3], inverse[9];
    su_affine_linear(m, r);
    su_affine_translation(m, t);
    for (int i = 0; i < 9; i++) inverse[i] = r[3 * (i % 3) + i / 3];
    su_mulv3(inverse, t, t);
    for (int i = 0; i < 3; i++) t[i] = -t[i];
    su_affine_set(inverse, t, out);
}
