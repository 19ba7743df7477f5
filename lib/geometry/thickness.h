/* Depth and local half-thickness of flesh vertices, for the core that is held where no bones are known. */
#ifndef SU_GEOMETRY_THICKNESS_H
#define SU_GEOMETRY_THICKNESS_H

#include "geometry/tetmesh.h"

/* depth (n): distance to the boundary of the flesh, 0 on it. half (n): the depth of the deepest vertex whose inscribed
 * ball holds this one (local thickness after Hildebrand and Ruegsegger 1997, over vertices instead of all points), at
 * least the own depth. */
su_status su_flesh_thickness(const su_tets *mesh, int threads, double *depth, double *half, su_error *err);

/* half (t): local half-thickness at the middle of each tet, over balls around vertices and middles: finer, and not 0 in
 * parts one tet thick, whose vertices all lie on the boundary. depth (t) or NULL: that of the middles. */
su_status su_tet_thickness(const su_tets *mesh, int threads, double *depth, double *half, su_error *err);

#endif
