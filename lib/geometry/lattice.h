/* A body-centred cubic lattice of tets around a skin: the tets that meet the skin or lie inside it. */
#ifndef SU_GEOMETRY_LATTICE_H
#define SU_GEOMETRY_LATTICE_H

#include "core/progress.h"
#include "geometry/mirror.h"
#include "geometry/surface.h"

/* What the lattice is cut by: the surface's triangles first, then each vertex without a triangle as a triangle shrunk
 * to a point. */
typedef struct su_lattice_items {
    int64_t count;
    int32_t *corners; /* (count,3) */
    su_mirror mirror; /* of the skin; nodes lie in it, so that both sides get the same tets */
} su_lattice_items;

typedef struct su_lattice {
    double cell; /* edge of a cube, m; the tets' edges are cell and cell sqrt(3)/2 */
    double origin[3];
    int64_t n, t;
    double *x;           /* (n,3) nodes, m */
    double *winding;     /* (n) winding number of the skin at each node */
    int32_t *tets;       /* (t,4) positively oriented; tets that meet the skin first */
    int64_t cut;         /* how many meet the skin */
    int64_t *item_start; /* (cut + 1) */
    int32_t *items;      /* items that meet each of these tets, ascending */
} su_lattice;

su_status su_lattice_items_create(const su_surface *surface, const su_mirror *mirror, su_lattice_items *out,
                                  su_error *err);
void su_lattice_items_free(su_lattice_items *items);

/* Only how many tets there would be, and how many of them meet the skin: cheap. progress may stop it, here and below.
 */
su_status su_lattice_count(const su_surface *surface, const su_lattice_items *items, double cell, int threads,
                           const su_progress *progress, int64_t *count, int64_t *cut, su_error *err);
/* A point counts as inside where the winding number is above 1/2. */
su_status su_lattice_create(const su_surface *surface, const su_lattice_items *items, double cell, int threads,
                            const su_progress *progress, su_lattice *out, su_error *err);
void su_lattice_free(su_lattice *lattice);

/* Orders in which mirror images stand at the same place, as far as tets are not their own: rank (t) of all tets by
 * number, and the corners of one. Of what has no mirror image: as they are numbered. */
su_status su_lattice_rank(const su_lattice *lattice, const su_mirror *mirror, int32_t *rank, su_error *err);
void su_lattice_corner_order(const su_lattice *lattice, const su_mirror *mirror, int64_t e, int out[4]);

/* Does a triangle (or point) meet a tet, or another triangle? p, q: corners. Separating axes; touching counts. */
bool su_triangle_meets_tet(const double p[3][3], const double q[4][3]);
bool su_triangle_meets_triangle(const double p[3][3], const double q[3][3]);

#endif
