/* Contact of the flesh with itself inside an implicit step: energy and forces at any positions, pairs found anew each
 * time, and linear systems with the couplings that pairs put outside the pattern of K (docs/contact.md). */
#ifndef SU_FEM_SELF_CONTACT_H
#define SU_FEM_SELF_CONTACT_H

#include "contact/contact_forces.h"
#include "fem/elastic.h"
#include "linalg/cholesky.h"
#include "linalg/coarse_space.h"

typedef struct su_self_contact su_self_contact;

/* What contact is at some positions. */
typedef struct su_contact_depths {
    int64_t pressed; /* pairs with a force */
    double deepest;  /* of them, beyond what is allowed, m */
} su_contact_depths;

/* body is borrowed; neutral (n,3) too. */
su_status su_self_contact_create(const su_elastic *body, const double *neutral, int threads, su_self_contact **out,
                                 su_error *err);
void su_self_contact_free(su_self_contact *contact);

/* k_c (n), N/m^3; copied. */
void su_self_contact_set_stiffness(su_self_contact *contact, const double *k);
const su_contact_body *su_self_contact_body(const su_self_contact *contact);

/* For the steps to an instant: what rest (n,3) has overlapping is allowed; NULL: nothing is. No friction. before (n,3):
 * where the step begins, in a frame that does not move with y's, copied: ways that bring energy along are held on the
 * side that the vertex came from (contact_entry.h). NULL: there is no step. */
void su_self_contact_begin(su_self_contact *contact, const double *rest, const double *before);
/* From now on what the neutral shape has overlapping is allowed, copies of flesh that the mesh holds. */
su_status su_self_contact_allow_copies(su_self_contact *contact, su_error *err);
/* Friction of a step of h seconds from `before` (n,3), of the pairs at y (n,3). */
su_status su_self_contact_grip(su_self_contact *contact, double friction, double h, const double *y,
                               const double *before, su_error *err);

/* Finds the pairs at y (n,3) and keeps those that no pair since the beginning is; *met: so many of them press. Between
 * two calls energy and forces are those of the pairs kept, led along: smooth functions of y. A step ends where nothing
 * more is met. */
su_status su_self_contact_meet(su_self_contact *contact, const double *y, int64_t *met, su_error *err);
/* Until the next beginning the ways of pairs, where they are met, keep their normal and the place where they end, and a
 * vertex that has one gets no other: energy is convex in y then, whatever the surface does. */
void su_self_contact_freeze(su_self_contact *contact);
/* Energy at y, J. */
double su_self_contact_energy(su_self_contact *contact, const double *y);
/* force (n,3) += its gradient, N; returns the size of the forces that act. */
double su_self_contact_force(su_self_contact *contact, const double *y, double *force);
/* At y, with what is met there. */
su_status su_self_contact_depths(su_self_contact *contact, const double *y, su_contact_depths *depths, su_error *err);

/* The tangents of the pairs at the y of the last call above, on the free dofs, borrowed until the next call; no blocks
 * where nothing presses. project: as su_contact_tangent. */
su_status su_self_contact_couple(su_self_contact *contact, const double *y, bool project, su_couplings *couplings,
                                 su_error *err);
/* What those tangents make stiff, and no factor without pairs knows: a column a pair, its normal on the four vertices.
 * Borrowed until the next call above. */
int64_t su_self_contact_stiff(const su_self_contact *contact, const su_coarse_column **columns);
/* A factor of A with the couplings of the last call, borrowed until the next one. `plain` gives the ordering: that of A
 * stays, new couplings cost an analysis. */
su_status su_self_contact_factorize(su_self_contact *contact, const su_sparse *A, const su_cholesky *plain,
                                    su_cholesky **factor, su_error *err);

#endif
