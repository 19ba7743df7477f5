/* Draws a cage tight around the skin: vertex moves and removal of empty boundary tets, each of which is only done when
 * all points stay enclosed and all tets stay well shaped. */
#ifndef SU_GEOMETRY_WRAP_H
#define SU_GEOMETRY_WRAP_H

#include "core/progress.h"
#include "geometry/cage.h"

typedef struct su_wrap_settings {
    double angle;  /* no move may make a dihedral angle smaller than this, or larger than 180 less this; degrees */
    double offset; /* wanted distance of the boundary from the skin, over the local cell size */
    int passes;
    su_progress *progress;
} su_wrap_settings;

su_wrap_settings su_wrap_defaults(void);

/* Changes the cage in place; vertices and tets that go are removed from its arrays. */
su_status su_wrap(const su_surface *surface, const su_lattice_items *items, const su_wrap_settings *settings,
                  su_cage *cage, su_error *err);

#endif
