/* What a step is put together from: three plain structs of functions. The stepper (step.h) calls them, one call a step
 * each, and knows nothing of how they work.
 *
 * An instant is what a step leads to: the rig's pose at a time, as whoever drives the stepper made it (for the posed
 * subspace a su_pose, sixteen of them at once by su_pose_prepare). The stepper hands the pointer on and never reads it;
 * the subspace, the force and the contact of one stepper agree on what it points to, each of them reads its own part.
 *
 * A state is what later steps need of an instant that was reached. Each part keeps its share as numbers (state_size
 * doubles, 64-byte aligned) that the stepper allocates, copies and saves whole, without looking inside. Vectors q have
 * `lead` entries, 0 from r on; matrices are (lead,lead) by rows, of which the upper triangle is meant. Functions
 * neither allocate nor fail but by what they return. `self` belongs to the part; release frees it. */
#ifndef SU_RUNTIME_STEP_PARTS_H
#define SU_RUNTIME_STEP_PARTS_H

#include "physics/settings.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum su_inertia {
    SU_INERTIA_CONSISTENT, /* the basis moves: M (Q1'(y1 - y0)/h1 - Q1' v0)/h1 with y = c + Q (x + U q) */
    SU_INERTIA_PAPER       /* PSSD eq. 5 as printed: M q'' + D q' + f = ..., the basis treated as if it stood still */
} su_inertia;
#define SU_INERTIA_NAMES "consistent|paper"

typedef struct su_state {
    double *q;        /* (lead) */
    double *subspace; /* (state_size of the subspace) */
    double *force;    /* (state_size of the force) */
    double h;         /* s, of the step that led here */
} su_state;

/* The way to an instant. */
typedef struct su_history {
    const su_state *now, *before;
    double h;     /* s, from now to the instant; 0: nothing moves, only gravity acts */
    double alpha; /* 1/s, mass damping */
    const su_gravity *gravity;
    su_inertia inertia;
} su_history;

/* What turns q into displacements u (m, root frame) of flesh vertices at an instant, and its inertia. Some vertices are
 * chosen when it is made: those that the force and the contact ask about, by their number among them (a point). */
typedef struct su_subspace {
    void *self;
    int64_t r, size, lead; /* entries of q; of the system that is factored; of vectors; size and lead multiples of 8 */
    int64_t state_size;
    double diagonal; /* m, of the flesh's bounding box */
    /* A = factor U'MU, with 1 on the diagonal from r to size and 0 elsewhere. kg */
    void (*mass)(void *self, const void *instant, double factor, double *A);
    /* out (lead) = U1'M U0 q0 of a state: its displacement, turned along with the flesh from its instant to this one */
    void (*carried_mass)(void *self, const void *instant, const su_state *state, double *out);
    /* out (lead) = U'MU q */
    void (*mass_times)(void *self, const void *instant, const double *q, double *out);
    /* load (lead) = all that inertia, mass damping and gravity add to the left-hand side and q does not enter, N */
    void (*history)(void *self, const void *instant, const su_history *history, double *load);
    /* The chosen points' displacements at q into a state's share; then, when that state is accepted, all else of it. */
    void (*displace)(void *self, const void *instant, const double *q, double *state);
    void (*keep)(void *self, const void *instant, const double *q, double *state);
    /* A state's share as if the rig had come to `instant` with the velocity with which it goes on to `next`. */
    void (*start_moving)(void *self, const void *instant, const void *next, double *state);
    /* Largest |u - u'|^2 of a point between two states' shares, turned back to the neutral pose; b NULL: from 0. */
    double (*largest_square)(void *self, const double *a, const double *b);
    /* J, at history->now, which is at the instant: kinetic energy of U q and its coupling with the rig's motion over
     * the last step; the flesh's weight -sum m g.u. */
    void (*energy)(void *self, const void *instant, const su_history *history, double *kinetic, double *weight);
    /* The rows at chosen points (count; below 0: one that never moves): out (lead) += sum share U_point' f, f (3) in
     * the root frame. */
    void (*add_force)(void *self, const void *instant, int count, const int32_t *points, const double *share,
                      const double f[3], double *out);
    /* u (3) += factor times the displacement of a chosen point at a state's share, turned along to the instant. */
    void (*add_displacement)(void *self, const void *instant, const double *state, int64_t point, double factor,
                             double u[3]);
    /* y (count,3) = x + u, root frame, m, of vertices that were asked for, by their number among the chosen; they may
     * be ones that never move. At q (lead), or, where it is NULL, at a state's share, turned along to the instant; both
     * NULL: x alone. NULL: only the other functions know where points are. */
    void (*places)(void *self, const void *instant, const double *q, const double *state, int64_t count,
                   const int32_t *chosen, double *y);
    /* (3,*padded) of a state's share: displacements of the chosen points turned back to the neutral pose, one component
     * behind the other. */
    const double *(*still)(void *self, const double *state, int64_t *padded);
    void (*release)(void *self);
} su_subspace;

typedef enum su_tangent { SU_TANGENT_NONE, SU_TANGENT_EXACT, SU_TANGENT_PROJECTED } su_tangent;

/* Where a force is wanted. */
typedef struct su_force_at {
    const double *q;    /* (lead) */
    const double *from; /* (lead) q of the present state */
    double damping;     /* beta / h: damping force beta / h K* (u - u*), u* the turned present displacement. 0: none */
    bool again;         /* q is the one that was evaluated last */
    su_tangent tangent; /* what add_tangent may be asked for; projected: no negative eigenvalue but of what is linear */
} su_force_at;

/* The elastic force -f(q) = U' f_int on the left-hand side, N, its derivative and energy. For a model whose matrix is
 * the same at all states, add_tangent adds that matrix. */
typedef struct su_force {
    void *self;
    int64_t state_size;
    /* Once a step, before anything else of it. u*: the present displacement turned along to the instant, or (not
     * turned) the new basis times the present q. What the step's linearization and damping start from; without damping
     * the others may also be called at an instant that was not prepared. */
    void (*prepare)(void *self, const void *instant, const su_subspace *subspace, const su_state *now, bool turned);
    /* The linearization at u*: A += factor K*, out (lead) += f(u*) - factor K* u*; both NULL: neither is wanted, but K*
     * for the damping of the next calls. False where it is not finite. */
    bool (*linearize)(void *self, const void *instant, const double *from, double factor, double *A, double *out);
    /* To be called before the next three. False where something is not finite. */
    bool (*evaluate)(void *self, const void *instant, const su_force_at *at);
    void (*add_force)(void *self, const void *instant, const su_force_at *at, double *out);
    /* A += (1 + damping) K or, where damping is of the matrix at u*, K + damping K*; out += the force, unless NULL. */
    void (*add_tangent)(void *self, const void *instant, const su_force_at *at, double *A, double *out);
    /* J. The only one that needs no `evaluate` before it where at->again is false and damping is 0. */
    double (*energy)(void *self, const void *instant, const su_force_at *at);
    /* A state's share at q, whose subspace's share is displaced. */
    void (*keep)(void *self, const void *instant, const su_subspace *subspace, const su_state *reached);
    /* As the subspace's, of points that the force alone knows; NULL: none. */
    double (*largest_square)(void *self, const double *a, const double *b);
    void (*release)(void *self);
} su_force;

/* Forces from outside at chosen points of the subspace: contacts, friction, wind. self NULL: none. */
typedef struct su_contact {
    void *self;
    int64_t state_size; /* numbers of what it keeps of the state reached, saved with a run: (state_size) */
    double *state;
    const struct su_reduced_contact_counts *counts; /* of contact of the flesh with itself; else NULL */
    /* Where the points are, at the state reached. */
    void (*keep)(void *self, const void *instant, const su_subspace *subspace, const su_state *reached);
    /* At u*: finds the points that are near something; what acts on the others is added to load (lead). h = 0: static.
     * Returns how many are near: the next two are not called where none is. */
    int64_t (*prepare)(void *self, const void *instant, const su_subspace *subspace, const su_state *now, double h,
                       double *load);
    /* Looks anew at q (lead): what near points do is from here on what it is there, and a function of q that costs next
     * to nothing. q NULL: not anew. Returns how many act, or may before the next look. NULL: there is nothing to look
     * for, `evaluate` knows all. */
    int64_t (*look)(void *self, const double *q);
    /* What near points do at q (NULL: linearized where they were looked at last, at first at u*, and taken at q = 0):
     * out (lead) -= U' f; A (NULL: not wanted) += U' H U. Returns their energy, J. */
    double (*evaluate)(void *self, const double *q, double *out, double *A);
    void (*release)(void *self);
} su_contact;

#endif
