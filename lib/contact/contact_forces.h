/* What contact pairs exert: energy, forces and tangents (ASC eq. 6-8; docs/contact.md, eq. 1-3 and 5).
 *   E = sum k_c k_a (depth - allowed)^2 / 2 over pairs that are deeper than allowed.
 * With the depth that of the nearest point, E is a function of the positions of four vertices alone that no rigid
 * motion changes: momentum and angular momentum are kept to rounding. */
#ifndef SU_CONTACT_FORCES_H
#define SU_CONTACT_FORCES_H

#include "contact/contact_finder.h"

/* The four vertices that a pair couples (the vertex, then the triangle's) and their shares (1, -bary). */
void su_contact_corners(const su_contact_body *body, const su_contact_pair *pair, int32_t corner[4], double share[4]);

/* Is there a force? */
static inline bool su_contact_pressed(const su_contact_pair *pair) { return pair->depth > pair->allowed; }

/* Sum over the pairs, J. */
double su_contact_energy(int64_t count, const su_contact_pair *pairs);
/* force (n,3) += dE/dy, N: the internal force, as that of elasticity. Returns the norm of the forces on the vertices
 * v_p. */
double su_contact_force(const su_contact_body *body, int64_t count, const su_contact_pair *pairs, double *force);
/* K (12,12) = d2E/dy2 of one pair at y (n,3), rows as su_contact_corners has them. project: without what is not
 * semidefinite in it: k_c k_a (share share') N, N the projection on what the feature resists. */
void su_contact_tangent(const su_contact_body *body, const su_contact_pair *pair, const double *y, bool project,
                        double K[144]);

/* Friction of one pair during a step, lagged as that of colliders (physics/external.h): limit phi(|slip|) with slip the
 * way of v_p along the triangle's plane from where it was above it, phi(s) = s^2 / 2e below e, s - e/2 above. */
typedef struct su_contact_grip {
    int32_t vertex, triangle;
    double anchor[3]; /* barycentrics in the triangle, of any sign: where v_p was */
    double limit;     /* coefficient times normal force, N */
    double hold;      /* e, m */
} su_contact_grip;

/* Slower than this friction holds, m/s: as on colliders. */
#define SU_CONTACT_HOLD 5e-3

/* The grip of a pair in a step of h seconds that begins at `before` (n,3), which may be turned and moved as a whole. */
su_contact_grip su_contact_grip_of(const su_contact_body *body, const su_contact_pair *pair, double friction, double h,
                                   const double *before);
/* A list of them; zero-initialize, grip is freed by the caller. */
typedef struct su_contact_grips {
    int64_t count, room;
    su_contact_grip *grip; /* (count) of `room` */
} su_contact_grips;
/* Those of pairs (count) that press in place of what the list has, which grows. False where there is no memory for
 * that. */
bool su_contact_grip_all(const su_contact_body *body, int64_t count, const su_contact_pair *pairs, double friction,
                         double h, const double *before, su_contact_grips *grips);
/* What a grip is at y: the way of v_p along the triangle's plane since the anchor. */
typedef struct su_contact_slip {
    int32_t corner[4];                    /* as those of a pair */
    double share[4];                      /* (1, -anchor) */
    double normal[3], axis[2][3], way[2]; /* of the plane, unit; of two directions that span it; m along these */
    double couple[2][4]; /* the height times what leads by 1 m along each from the anchor to the foot */
    double secant;       /* N/m; the gradient on corner c is secant sum_i way_i (share_c axis_i + couple_ic normal), its
                          * semidefinite tangent secant share share' (x) (1 - normal normal') */
    double energy;       /* J */
} su_contact_slip;

/* The energy of a slip of this size, J, and its derivative over the size, *secant, N/m: phi above. */
static inline double su_contact_slip_energy(double limit, double hold, double size, double *secant)
{
    *secant = limit / (size > hold ? size : hold);
    return size > hold ? limit * (size - 0.5 * hold) : 0.5 * *secant * size * size;
}

/* False where there is no friction; secant and energy are then 0. */
bool su_contact_grip_slip(const su_contact_body *body, const su_contact_grip *grip, const double *y,
                          su_contact_slip *slip);
/* Energy at y, J; f (12) its gradient (NULL: not wanted), corners as those of a pair; K (12,12) its semidefinite
 * tangent (NULL: not wanted). */
double su_contact_grip_evaluate(const su_contact_body *body, const su_contact_grip *grip, const double *y, double f[12],
                                double K[144]);

#endif
