/* The flesh as a cage of lattice tets around the skin, in which parts of the skin that are near but not connected lie
 * in tets of their own: a lattice tet that holds several separate pieces of material is there once for each of them
 * (virtual nodes: Molino, Bao, Fedkiw 2004; for embedded surfaces Nesme et al. 2009). Such copies may overlap in space.
 */
#ifndef SU_GEOMETRY_CAGE_H
#define SU_GEOMETRY_CAGE_H

#include "geometry/lattice.h"
#include "geometry/parting.h"
#include "geometry/tetmesh.h"

/* A point of the skin that the flesh must enclose. */
typedef struct su_cage_point {
    double p[3];
    int32_t tet;  /* cage tet that holds it */
    int32_t item; /* lattice item it lies on */
} su_cage_point;

typedef struct su_cage {
    su_tets mesh;
    uint8_t *inside;       /* (n) the node lies inside the skin */
    uint32_t *layers;      /* (n) bits of the layers whose material is around the vertex */
    int64_t point_count;   /* surface vertices first, then samples on triangles */
    su_cage_point *points; /* (point_count) */
    int64_t copies;        /* tets that are there more than once, counted each extra time */
    int64_t torn;          /* corners given to a copy alone where a slit of the skin ends */
    int64_t joined;        /* copies that became one although the skin does not join them there */
} su_cage;

/* parting: of the surface. progress may stop it. */
su_status su_cage_create(const su_surface *surface, const su_lattice_items *items, const su_lattice *lattice,
                         const su_parting *parting, int threads, const su_progress *progress, su_cage *out,
                         su_error *err);
void su_cage_free(su_cage *cage);

#endif
