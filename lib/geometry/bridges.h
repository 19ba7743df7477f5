/* Places where flesh glues parts of the skin that are near but not connected: fingers, lips, a deep fold. */
#ifndef SU_GEOMETRY_BRIDGES_H
#define SU_GEOMETRY_BRIDGES_H

#include "geometry/surface.h"
#include "geometry/tetmesh.h"

enum { SU_BRIDGE_PLACES = 8 };

typedef struct su_bridges {
    int64_t count; /* flesh vertices whose tets hold skin from both sides of a gap */
    int places;
    double place[SU_BRIDGE_PLACES][3]; /* some of them, a tenth of the diagonal or more apart, m */
} su_bridges;

/* Compares geodesic with Euclidean neighbours: skin vertices held by tets around one flesh vertex are near; where the
 * way along the skin's edges from one to the other is longer than four of those tets' longest edges, and the middle
 * between them lies outside the skin, the flesh bridges a gap. holder (surface n): tet that holds each vertex.
 * shapes (poses,source_count,3): the skin at example poses; then a gap counts only where some pose takes its sides
 * nearer or apart by one such edge, for what stays where it is (a belt on a coat, hair on a skull) is joined without
 * harm. poses 0: all gaps count. */
su_status su_bridges_find(const su_surface *surface, const su_tets *mesh, const int32_t *holder, int64_t poses,
                          const double *shapes, su_bridges *out, su_error *err);

#endif
