/* The mesher's queries (closest point, winding number) at work on all of a regular grid: the signed distance of a
 * triangle soup (Xu and Barbic 2014): exact within a narrow band, sign by winding number, so that holes, overlaps and
 * flipped patches do no harm. */
#ifndef SIGNED_GRID_H
#define SIGNED_GRID_H

#include "geometry/surface.h"

typedef struct su_signed_grid {
    int64_t size[3];  /* nodes along x, y, z */
    double origin[3]; /* of node (0,0,0), m */
    double spacing;   /* m */
    double band;      /* distances are exact up to this, beyond it +-band, m */
    float *value;     /* (size) negative inside, m; z runs fastest */
} su_signed_grid;

/* The longest side of the surface's box gets `nodes` nodes with a margin of the band around it; band in spacings. */
su_status su_signed_grid_create(const su_surface *surface, int64_t nodes, double band, int threads, su_signed_grid *out,
                                su_error *err);
void su_signed_grid_free(su_signed_grid *grid);

#endif
