/* Which vertex and which tet of a cage is the mirror image of which. */
#ifndef SU_GEOMETRY_TWINS_H
#define SU_GEOMETRY_TWINS_H

#include "geometry/cage.h"

typedef struct su_twins {
    su_mirror mirror;
    int32_t *vertex; /* (n) -1: none; itself: in the plane */
    int32_t *tet;    /* (t) -1: none; itself: across the plane */
} su_twins;

/* Of a cage as su_cage_create leaves it, its nodes those of a lattice that mirrors itself. Tets around skin that has no
 * counterpart (farther from the skin once mirrored than SU_MIRROR_NEAR of the diagonal) have no twin. Copies of a tet
 * are told apart by what they continue in, and, where all of a part is there more than once, by the skin that they
 * hold. */
su_status su_twins_find(const su_surface *surface, const su_lattice_items *items, const su_cage *cage, su_twins *out,
                        su_error *err);
void su_twins_free(su_twins *twins);

#endif
