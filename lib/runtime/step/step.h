/* The sequential part of a substep: implicit Euler on y = c + Q (x + U q), projected on the new basis (docs/design.md,
 * eq. 7, 11 and 12):
 *   U1' { M (Q1' (y1 - y0)/h1 - Q1' v0)/h1 + f_int(u1) + (alpha M + beta K_d)(u1 - R1 R0' u0)/h1 - M g } = 0
 *   v0 = (y0 - y_1)/h0
 * Indices 1, 0, _1: the instant to reach and the two before it. Newton starts from the turned previous state u* = R1
 * R0' u0 itself, which need not lie in the span of U1: one evaluation of K serves damping and solve. */
#ifndef SU_RUNTIME_STEP_H
#define SU_RUNTIME_STEP_H

#include "core/error.h"
#include "physics/external.h"
#include "runtime/subspace/packed_model.h"
#include "runtime/subspace/pose_part.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum su_inertia {
    SU_INERTIA_CONSISTENT, /* as above */
    SU_INERTIA_PAPER       /* PSSD eq. 5 as printed: M q'' + D q' + f = ..., the basis treated as if it stood still */
} su_inertia;

typedef struct su_step_settings {
    double alpha, beta; /* 1/s, s */
    double stiffness;   /* factor on Young's modulus */
    su_inertia inertia;
    int newton;       /* linear solves a step, at most */
    double tolerance; /* stops earlier at this residual relative to the forces; 0: all `newton` solves */
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

/* A state reached: what later steps need of it. Arrays by component as in su_pose. */
typedef struct su_record {
    double *q; /* (lead), 0 from r on */
    su_blend blend;
    double *turn;    /* (9,inertia_padded) P */
    double *world;   /* (3,inertia_padded) X */
    double *still;   /* (3,kept_padded) U^ q, rotations not yet applied */
    double *corners; /* (4,3,tets_padded) the same at the corners of tets */
    double *inertia; /* (3,inertia_padded) the same at the inertia vertices */
    double Q[9];
    double h;    /* s, of the step that led here */
    double norm; /* q' U'MU q, kg m^2 */
} su_record;

typedef struct su_stepper {
    const su_runtime_model *model;
    su_step_settings settings;
    su_record *now, *before, *next; /* rotate */
    su_record records[3];
    int iterations;         /* of the last step */
    double residual;        /* relative, where it was evaluated */
    double kinetic;         /* J, of the last step: reduced part and its coupling with the rig's motion, without the
                             * rig's own kinetic energy */
    double elastic, weight; /* J: by cubature; -sum m g.u */
    double alpha;           /* mass damping of the step at hand */
    double *A;              /* (lead,lead) upper triangle of the system */
    double *inverse;        /* (lead) of the factor's diagonal */
    double *load;           /* (lead) history, rig acceleration and gravity, on the left-hand side */
    double *held, *older, *force, *straight, *since, *direction, *trial; /* (lead) */
    double *gathered, *padded, *rows;       /* one panel's columns, regions padded, rows of a panel */
    double *acceleration, *z;               /* (3,inertia_padded) */
    double *nowhere;                        /* (3, kept_padded or tets_padded) zeros */
    double *carried, *strain, *stress;      /* lanes of 9 entries: grad u*, grad u, weighted stress */
    float *carried_derivative, *derivative; /* lanes of 45 entries: at u*, which damping takes, and at u */
    uint8_t *irregular;
    su_loads *loads;   /* forces from outside; NULL: none. Their t and skin are set by the caller before each call */
    double *load_rows; /* (points,3,lead) A U of points near a collider */
    double *load_vector, *load_shift; /* (lead), (points,3) u* of the points */
    int32_t *near_points;
    int64_t near_count;
    double *tile;
    float *work, *blocks, *blend_lanes;
    su_arena arena;
} su_stepper;

su_status su_stepper_create(const su_runtime_model *model, const su_step_settings *settings, su_stepper *stepper,
                            su_error *err);
void su_stepper_free(su_stepper *stepper);

/* Forces from outside (borrowed). The model was created with the four corners of each load point as extra vertices. */
su_status su_stepper_set_loads(su_stepper *stepper, su_loads *loads, su_error *err);

/* Sets the state at pose (docs/formats.md, convention 14): q (r; NULL: 0) now, q_before (r; NULL: q) h seconds earlier
 * at the same rest shape. next: pose of the first step to come; y_1 = 2 X0 - X1 + Q u_before, so the flesh starts with
 * the rig's velocity (NULL: at rest in the world). q may be that of the present state. */
void su_stepper_start(su_stepper *stepper, const su_pose *pose, const double *q, const double *q_before,
                      const su_pose *next, double h);

/* One step of h seconds to pose. gravity: acceleration in the root frame (3). extra: mass damping added, 1/s. The state
 * is as before unless SU_STEP_OK. */
su_step_end su_stepper_advance(su_stepper *stepper, const su_pose *pose, double h, const double gravity[3],
                               double extra);

/* Over a teleport: a new start at pose, from the displacement that is nearest to the present one turned along. */
void su_stepper_jump(su_stepper *stepper, const su_pose *pose, const su_pose *next, double h);

/* The last resort: the flesh follows the rig to pose, half of its displacement turned along. */
void su_stepper_follow(su_stepper *stepper, const su_pose *pose, double h);

/* The static equilibrium at pose under gravity, by Newton from stepper->now->q; replaces q of both states. */
su_step_end su_stepper_settle(su_stepper *stepper, const su_pose *pose, const double gravity[3], int max_iterations);

/* Energies of the state just reached at pose, into stepper->kinetic, elastic, weight. */
void su_stepper_energy(su_stepper *stepper, const su_pose *pose, const double gravity[3]);

#endif
