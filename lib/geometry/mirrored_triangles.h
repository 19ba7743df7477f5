/* Triangles of a surface as mirror images have them: quads are cut along the same diagonal on both sides, and what
 * comes in pairs stands in an order that both sides share, so that what is decided by it is decided alike. */
#ifndef SU_GEOMETRY_MIRRORED_TRIANGLES_H
#define SU_GEOMETRY_MIRRORED_TRIANGLES_H

#include "geometry/mirror.h"

/* out: the surface with triangles and components of its own, to be freed by su_mirrored_triangles_free; the rest is
 * borrowed. Of quads cut differently the side below the plane is cut as the other. Without a plane nothing changes. */
su_status su_mirrored_triangles(const su_surface *surface, const su_mirror *mirror, su_surface *out, su_error *err);
void su_mirrored_triangles_free(su_surface *surface);

#endif
