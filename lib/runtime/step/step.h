/* The sequential part of a substep: implicit Euler on y = c + Q (x + U q), projected on the new basis (docs/design.md,
 * eq. 7, 11 and 12). U1' { M (Q1' (y1 - y0)/h1 - Q1' v0)/h1 + f_int(u1) + (alpha M + beta K_d)(u1 - R1 R0' u0)/h1 - M g
 * } = 0, v0 = (y0 - y_1)/h0. Indices 1, 0, _1: the instant to reach and the two before it. Newton starts from the
 * turned previous state u* = R1 R0' u0 itself, which need not lie in the span of U1: one evaluation of K serves damping
 * and solve. What U, M, f_int and forces from outside are is up to the parts (parts.h); runtime/reduced_step.h makes a
 * stepper of a model file. */
#ifndef SU_RUNTIME_STEP_H
#define SU_RUNTIME_STEP_H

#include "core/error.h"
#include "core/memory.h"
#include "geometry/secant_pairs.h"
#include "runtime/kernels/kernels.h"
#include "runtime/step/parts.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_step_settings {
    double alpha, beta; /* 1/s, s */
    double stiffness;   /* factor on Young's modulus, for the force */
    su_inertia inertia;
    int newton;       /* linear solves a step, at most, each with a matrix of its own; 0: as many as the tolerance
                       * takes, with a factor that is kept from step to step while it serves (step_kept.c) */
    double tolerance; /* stops at this residual relative to the forces; 0: all `newton` solves */
} su_step_settings;

typedef enum su_step_end {
    SU_STEP_OK,
    SU_STEP_NOT_DEFINITE, /* the reduced matrix has no Cholesky factor */
    SU_STEP_NOT_FINITE,
    SU_STEP_TOO_FAR, /* a point moved by more than SU_LEAP of the flesh's diagonal against the rig, or is SU_REACH away
                      */
    SU_STEP_NO_DESCENT /* a step that the linearization led astray could not be minimized either */
} su_step_end;

/* Why it failed, as part of a sentence. */
const char *su_step_end_text(su_step_end end);

/* Diagonals of the flesh that a point may move, against its rest position, in one step; above which a step is looked at
 * closely: where its residual is large it is minimized with a line search; and that a point may be away from there. */
#define SU_LEAP 0.25
#define SU_STRIDE 0.01
#define SU_REACH 1.0

/* Residual relative to the forces to which steps with a kept factor are solved where nothing else is asked for: what
 * that leaves is 0.002 % of the motion (docs/runtime.md). Ten times as much, 0.02 %, would do for flesh alone, but
 * where it touches itself less is too coarse to tell whether a fold opens. */
#define SU_STEP_TOLERANCE 1e-4

/* The linear system of a step. */
typedef struct su_step_system {
    const su_kernels *kernels; /* Cholesky and substitution */
    double *A;                 /* (lead,lead) upper triangle */
    double *inverse;           /* (lead) of the factor's diagonal */
    double *load;              /* (lead) what q does not enter, on the left-hand side */
    double *force;             /* (lead) residual */
    double *held;              /* (lead) U'MU q, and scratch */
    double *direction, *trial; /* (lead) of the line search */
    double *contact;           /* (lead) */
    bool kept;                 /* A holds a factor of an earlier step, or an earlier state of this one */
    su_secant_pairs pairs;     /* what was learnt since it was made */
    double *last;              /* (lead) residual before the last update */
} su_step_system;

/* Forces from outside, and contact of the flesh with itself. */
enum { SU_STEP_CONTACTS = 2 };

typedef struct su_stepper {
    su_subspace subspace;
    su_force force;
    su_contact contact[SU_STEP_CONTACTS];
    int contacts;
    su_step_settings settings;
    su_state *now, *before, *next; /* rotate; next is the oldest until it is overwritten */
    su_state states[3];
    int iterations;         /* of the last step */
    double residual;        /* relative, where it was evaluated */
    double kinetic;         /* J, of the last step: reduced part and its coupling with the rig's motion, without the
                             * rig's own kinetic energy */
    double elastic, weight; /* J: of the force; -sum m g.u */
    int64_t near[SU_STEP_CONTACTS], near_any; /* points that each contact found near something; all together */
    su_step_system system;
    su_arena arena;
} su_stepper;

/* Takes the parts over, and releases them on failure too. */
su_status su_stepper_plug(const su_subspace *subspace, const su_force *force, const su_step_settings *settings,
                          su_stepper *stepper, su_error *err);
/* One more contact, taken over; before the first step. At most SU_STEP_CONTACTS. */
void su_stepper_add_contact(su_stepper *stepper, const su_contact *contact);
void su_stepper_free(su_stepper *stepper);

/* Sets the state at an instant (docs/formats.md, convention 14): q (r; NULL: 0) now, q_before (r; NULL: q) h seconds
 * earlier at the same rest shape. next: instant of the first step to come; y_1 = 2 X0 - X1 + Q u_before, so the flesh
 * starts with the rig's velocity (NULL: at rest in the world). q may be that of the present state. */
void su_stepper_start(su_stepper *stepper, const void *instant, const double *q, const double *q_before,
                      const void *next, double h);

/* One step of h seconds to an instant. gravity: acceleration in the root frame (3). extra: mass damping added, 1/s. The
 * state is as before unless SU_STEP_OK. */
su_step_end su_stepper_advance(su_stepper *stepper, const void *instant, double h, const su_gravity *gravity,
                               double extra);

/* Over a teleport: a new start at an instant, from the displacement that is nearest to the present one turned along. */
void su_stepper_jump(su_stepper *stepper, const void *instant, const void *next, double h);

/* The last resort: the flesh follows the rig to an instant, half of its displacement turned along. */
void su_stepper_follow(su_stepper *stepper, const void *instant, double h);

/* The static equilibrium at an instant under gravity, by Newton from stepper->now->q; replaces q of both states. */
su_step_end su_stepper_settle(su_stepper *stepper, const void *instant, const su_gravity *gravity);

/* Energies of the state just reached at an instant, into stepper->kinetic, elastic, weight. */
void su_stepper_energy(su_stepper *stepper, const void *instant, const su_gravity *gravity);

#endif
