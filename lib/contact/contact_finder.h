/* Contact pairs of a body with itself: surface vertices inside its tets, and the nearest points of the surface that
 * these belong to (SP section 3, ASC section 5.1; docs/contact.md). */
#ifndef SU_CONTACT_FINDER_H
#define SU_CONTACT_FINDER_H

#include "contact/contact_body.h"

typedef struct su_contact_pair {
    int32_t vertex;   /* v_p */
    int32_t triangle; /* of the body's surface, the one that holds v_s */
    int32_t tet;      /* that held v_p when it was found */
    double bary[3];   /* of v_s in it; corners with 0 do not belong to the feature (face, edge or vertex) hit */
    bool plane;       /* v_s is on the triangle's plane, beside it too: that is where the surface borders on what is
                       * related to v_p, and an end there would let depths jump */
    bool held;        /* led along on the plane of this triangle, wherever nearer ones are (contact_entry.h) */
    double normal[3]; /* unit, from v_p to v_s: outward */
    double depth;     /* |v_s - v_p|, m */
    double allowed;   /* of that free of force: how deep the rest shape has it; 0: none */
    double stiffness; /* k_c k_a, N/m */
} su_contact_pair;

/* On a plane a way may end beside its triangle, by so much of it; farther out there is no surface. */
#define SU_CONTACT_BESIDE 0.5
static inline bool su_contact_far_beside(const su_contact_pair *pair)
{
    return pair->bary[0] < -SU_CONTACT_BESIDE || pair->bary[1] < -SU_CONTACT_BESIDE ||
           pair->bary[2] < -SU_CONTACT_BESIDE;
}

/* Barycentrics of a vertex on the face between two tets are rounded below 0 in both: it must not fall through. */
#define SU_CONTACT_SEAM 1e-9

typedef struct su_contact_finder su_contact_finder;

/* body is borrowed. Pairs are sought between all vertices of its surface and the tets that lead to a surface. */
su_status su_contact_finder_create(const su_contact_body *body, int threads, su_contact_finder **out, su_error *err);
void su_contact_finder_free(su_contact_finder *finder);

/* k_c (n) of the vertices, N/m^3; copied. A pair has that of the softest of its four, times the vertex's area. */
void su_contact_finder_set_stiffness(su_contact_finder *finder, const double *k);

/* What x (n,3), the rest shape, has overlapping is allowed from now on (su_contact_allowed); NULL: nothing is. */
void su_contact_finder_allow(su_contact_finder *finder, const double *x);
/* In place of that, at any pose: what the neutral shape has overlapping, copies of flesh that the mesh holds. A vertex
 * that is inside such a copy there may be as deep as it is below the surface that its way leads to. */
su_status su_contact_finder_allow_copies(su_contact_finder *finder, su_error *err);

/* Where a step began, x (n,3), copied; and what stands there of the vertex of a pair, ending near where that does:
 * depth 0 where it was not inside. */
void su_contact_finder_start(su_contact_finder *finder, const double *x);
su_status su_contact_find_start(su_contact_finder *finder, const su_contact_pair *pair, su_contact_pair *start,
                                su_error *err);

/* The pairs at y (n,3), by vertex; borrowed until the next call. The same for any number of threads and whatever was
 * asked before. Allocates only where there are more pairs or near tets than ever. */
su_status su_contact_find(su_contact_finder *finder, const double *y, const su_contact_pair **pairs, int64_t *count,
                          su_error *err);
/* The same in two parts, for those who know most of the pairs already: the pairs without what the rest shape allows
 * them, of vertices that are not marked in `known` (n; NULL: of all), and that. */
su_status su_contact_find_deep(su_contact_finder *finder, const double *y, const uint8_t *known,
                               su_contact_pair **pairs, int64_t *count, su_error *err);
void su_contact_allow(const su_contact_finder *finder, int64_t count, su_contact_pair *pairs);

/* Triangle, barycentrics, normal and depth of pairs as they are at y (n,3), from where they were; depth 0: the vertex
 * has come out. What is allowed stays. So pairs can be led along while their number stands still, and what they exert
 * is a smooth function of y, also where su_contact_find would find or lose one that is deep. */
void su_contact_follow(const su_contact_body *body, const double *y, int64_t count, su_contact_pair *pairs);
/* The way of pair->vertex out of pair->tet at y (n,3), where it has these barycentrics: back to the neutral shape,
 * there from pair->triangle on to the nearest of the surface, and from that to the nearest of the deformed one. False
 * where it ends at the vertex's own neighbourhood or on the outer side of the surface. Leaves stiffness and what is
 * allowed. */
bool su_contact_way(const su_contact_body *body, const double *y, const double bary[4], su_contact_pair *pair);
/* How deep x (n,3), the rest shape, has the two places that a pair's way leads from and to, along the direction that it
 * has now, m; 0 where they are apart there. Depth beyond it is what the flesh has moved: never more than |u_s| + |u_p|.
 */
double su_contact_allowed(const su_contact_body *body, const double *x, const su_contact_pair *pair);
/* Are they of one vertex, with ways that end near each other? */
bool su_contact_same(const su_contact_body *body, const su_contact_pair *a, const su_contact_pair *b);

#endif
