/* TetGen, run as a program in a child process: it can abort, hang or succeed without a result, and none of that may
 * reach the caller. */
#ifndef SU_GEOMETRY_TETGEN_H
#define SU_GEOMETRY_TETGEN_H

#include "core/child.h"
#include "geometry/surface.h"
#include "geometry/tetmesh.h"

typedef struct su_tetgen_settings {
    const char *program; /* NULL: "tetgen" from PATH */
    const char *folder;  /* where a temporary folder may be made; NULL: /tmp */
    double volume_bound; /* largest tet, m^3; 0: none */
    double radius_edge;  /* bound of circumradius over shortest edge */
    double dihedral;     /* wanted smallest dihedral angle, degrees */
    su_child_limits limits;
} su_tetgen_settings;

/* Tets inside a closed surface. The first surface->n vertices of the result are the surface's own, bit for bit; the
 * boundary triangles are those of the surface, divided where quality asks for it. TetGen's exit status is not believed:
 * count, volumes and total volume are checked.
 * Fails with SU_FAILED where TetGen gave nothing usable, SU_NUMERICS at the limits of time and memory that it is given:
 * both say that the surface is too hard for it. SU_AGAIN is about the machine: files that cannot be written or read,
 * somebody who killed it. Caller frees out. */
su_status su_tetgen_run(const su_surface *surface, const su_tetgen_settings *settings, su_tets *out, su_error *err);

#endif
