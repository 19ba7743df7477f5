/* The tets near each surface vertex (Verlet's neighbour lists): trees of boxes are asked only when something has moved
 * by half a margin, so that the trials of a line search and the solves of a step ask none. docs/contact.md. */
#ifndef SU_CONTACT_NEAR_TETS_H
#define SU_CONTACT_NEAR_TETS_H

#include "contact/contact_body.h"
#include "geometry/wide_tree.h"

/* A tet near a vertex, and how far its box was, m, along the axis where it was farthest. */
typedef struct su_near_tet {
    float gap;
    int32_t tet;
} su_near_tet;

typedef struct su_near_list {
    int64_t count;
    const su_near_tet *tet;
    double reach; /* m: those that may hold the vertex have no larger gap */
} su_near_list;

typedef struct su_near_tets su_near_tets;

/* body is borrowed. Between the vertices of its surface and the tets that lead to a surface and have no corner related
 * to the vertex. */
su_status su_near_tets_create(const su_contact_body *body, int threads, su_near_tets **out, su_error *err);
void su_near_tets_free(su_near_tets *near);

/* Makes the lists for y (n,3), or keeps those made where nothing has moved far since. Allocates only where there are
 * more near tets than ever, or more leaves with related ones after tets were put into another order. */
su_status su_near_tets_bring(su_near_tets *near, const double *y, su_error *err);
/* Vertices lie in slots, which threads share: thread c has those from su_near_tets_first(c) to that of c + 1. */
int64_t su_near_tets_first(const su_near_tets *near, int thread);
/* The vertex of a slot, and its list at the y that lists were brought to, borrowed until the next call. */
int32_t su_near_tets_vertex(const su_near_tets *near, int64_t slot);
su_near_list su_near_tets_list(const su_near_tets *near, const double *y, int64_t slot, int thread);

/* Another shape, in which single vertices are looked for. */
typedef struct su_near_shape {
    const double *at; /* (n,3) borrowed */
    su_wide_tree tree;
    int64_t order; /* of the tets that the tree was fitted to `at` in; 0: it is to be fitted anew */
} su_near_shape;

su_status su_near_shape_create(const su_near_tets *near, const double *at, su_near_shape *out, su_error *err);
void su_near_shape_free(su_near_shape *shape);
/* The tets that may hold a vertex there; borrowed until the next call. */
su_status su_near_shape_list(su_near_tets *near, su_near_shape *shape, int32_t vertex, su_near_list *out,
                             su_error *err);

#endif
