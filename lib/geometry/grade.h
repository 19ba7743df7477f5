/* Makes a lattice finer where the body is thin. */
#ifndef SU_GEOMETRY_GRADE_H
#define SU_GEOMETRY_GRADE_H

#include "geometry/lattice.h"

/* Thickness of the body under each item, m: the median of five rays inward, straight and tilted by 30 degrees. INFINITY
 * where most of them leave without a hit (open skins) and for loose points. thickness (items->count). */
su_status su_skin_thickness(const su_surface *surface, const su_lattice_items *items, int threads, double *thickness,
                            su_error *err);

/* Bisects tets that meet the skin at their longest edge, and what conformity asks for around them (Rivara 1997), until
 * no edge is longer than size[item] of the items a tet meets (items->count values, m). Tets of a body-centred lattice
 * fall into three shapes that way, all dihedral angles at least 45 degrees. Arrays of the lattice are replaced. */
su_status su_lattice_grade(const su_surface *surface, const su_lattice_items *items, const double *size, int threads,
                           su_lattice *lattice, su_error *err);

#endif
