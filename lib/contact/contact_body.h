/* What contact needs to know of a tet mesh, once for all its shapes: its surface, the area that each surface vertex
 * stands for, who is whose neighbour, and of every tet the nearest surface triangle, found through the flesh. The mesh
 * may hold overlapping copies (docs/meshing.md): what is near in space need not be near in the flesh. docs/contact.md.
 */
#ifndef SU_CONTACT_BODY_H
#define SU_CONTACT_BODY_H

#include "core/error.h"
#include "core/memory.h"

#include <stdbool.h>
#include <stdint.h>

/* A triangle with less of its squared area than this, over that of a right angle, has no plane: 1e-10 radians. */
#define SU_CONTACT_FLAT 1e-20

typedef struct su_contact_body {
    int64_t n, t, b;
    const double *neutral; /* (n,3) borrowed, m */
    const int32_t *tets;   /* (t,4) borrowed */
    int32_t *surface;      /* (b,3) outward */
    int32_t *owner;        /* (b) tet of each triangle */
    int64_t surface_count;
    int32_t *vertex;       /* (surface_count) vertices of the surface, ascending */
    double *area;          /* (n) a third of the neutral triangles around, m^2; 0 inside */
    int32_t *nearest;      /* (t) surface triangle nearest to each tet, through the flesh; -1: no way to a surface */
    int64_t *around_start; /* (n + 1) triangles around a vertex */
    int32_t *around;       /* (3b) */
    int64_t *beside_start; /* (b + 1) triangles that share a corner with each, without itself */
    int32_t *beside;
    int64_t *ring_start; /* (n + 1) vertices that share a tet with a vertex, itself too */
    int32_t *ring;       /* ascending */
    double diagonal;     /* of the neutral box, m */
    double edge;         /* mean neutral edge of the surface, m */
    su_arena arena;
} su_contact_body;

/* neutral (n,3), tets (t,4) with positive volume. Immutable from then on: one serves many finders and threads. */
su_status su_contact_body_create(int64_t n, const double *neutral, int64_t t, const int32_t *tets, su_contact_body *out,
                                 su_error *err);
/* A piece of a surface, for su_contact_follow and what pairs exert: n vertices of any numbering, surface (b,3) of
 * those, outward, copied; related (start (n + 1), list) as `ring`, ascending for each vertex, copied. No tets, areas or
 * neutral shape: contact_patch.h adds these. */
su_status su_contact_body_of_patch(int64_t n, int64_t b, const int32_t *surface, const int32_t *related_start,
                                   const int32_t *related, su_contact_body *out, su_error *err);
void su_contact_body_free(su_contact_body *body);

/* The point of the surface at x (n,3) that is nearest to p, by descent: from *triangle on to the nearest of the
 * triangles that share a vertex with it, until none is nearer. Leaves triangle and barycentrics of the point; returns
 * its distance, m. */
double su_contact_descend(const su_contact_body *body, const double *x, const double p[3], int32_t *triangle,
                          double bary[3]);
/* The same for the surface vertex v at its own position, over triangles it is not related to (below); INFINITY where
 * *triangle is. */
double su_contact_descend_apart(const su_contact_body *body, const double *x, int32_t v, int32_t *triangle,
                                double bary[3]);
/* Is p on the inner side of the surface at x there? By the angle-weighted normal of face, edge or vertex (Baerentzen,
 * Aanaes 2005, section 4). */
bool su_contact_behind(const su_contact_body *body, const double *x, const double p[3], int32_t triangle,
                       const double bary[3]);
/* Barycentrics (any sign) of the foot of p on the plane of a triangle; false where that has no area. */
bool su_contact_foot(const su_contact_body *body, const double *x, const double p[3], int32_t triangle, double bary[3]);
/* Does the feature of a triangle where bary > 0 (face, edge or vertex) belong to a triangle related to v, too? */
bool su_contact_borders(const su_contact_body *body, int32_t v, int32_t triangle, const double bary[3]);
/* May vertex v never touch this simplex of `corners` vertices: has it a corner that shares a tet with v? */
bool su_contact_related(const su_contact_body *body, int32_t v, const int32_t *simplex, int corners);

/* Penalty stiffness k (n), N/m^3, of the rule in docs/contact.md: the uniaxial strain modulus of the flesh around a
 * vertex over a depth of SU_CONTACT_DEPTH diagonals. young, poisson (t) Pa, 1. */
#define SU_CONTACT_DEPTH (0.005 / 2)
void su_contact_stiffness(const su_contact_body *body, const double *young, const double *poisson, double *k);

#endif
