/* The plane in which a skin mirrors itself: across one of the axes, as characters are modelled. */
#ifndef SU_GEOMETRY_MIRROR_H
#define SU_GEOMETRY_MIRROR_H

#include "geometry/surface.h"

typedef struct su_mirror {
    int axis;  /* 0, 1, 2: the plane's normal; -1: the skin has no such plane */
    double at; /* coordinate of the plane, m */
} su_mirror;

/* out may be x. */
static inline void su_mirror_image(const su_mirror *mirror, const double x[3], double out[3])
{
    for (int i = 0; i < 3; i++) out[i] = i == mirror->axis ? 2 * mirror->at - x[i] : x[i];
}

/* The plane through the origin, the middle of the skin's box or the centroid of its area whose mirrored vertices lie
 * nearest to the skin. None where half of the vertices or more are farther from it than SU_MIRROR_NEAR of the diagonal
 * once mirrored: props and hair on one side leave a body its plane. */
#define SU_MIRROR_NEAR 0.005
su_status su_mirror_find(const su_surface *surface, su_mirror *out, su_error *err);

/* x (n,3): each point that mirrors into another within `limit` (the nearest of each other), or into itself, moves half
 * way to that image, so that they mirror exactly; others stay. */
su_status su_mirror_points(const su_mirror *mirror, double limit, int64_t n, double *x, su_error *err);

#endif
