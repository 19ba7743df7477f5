/* One step in skinning eigenmodes (docs/skinning.md, section 3): implicit Euler as a minimization, by local-global
 * iterations that a quasi-Newton method speeds up. Z is kept in the world, where the space stands still. */
#ifndef SU_RUNTIME_SKINNING_STEP_H
#define SU_RUNTIME_SKINNING_STEP_H

#include "core/error.h"
#include "core/memory.h"
#include "physics/loads.h"
#include "physics/settings.h"
#include "runtime/skinning/skinning_model.h"
#include "runtime/skinning/skinning_shot.h"
#include "runtime/step/parts.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_skinning_settings {
    double alpha, beta; /* 1/s, s */
    double stiffness;   /* factor on Young's modulus */
    int iterations;     /* of local and global steps, at most */
    double tolerance;   /* stops where a step changes Z by less than this share of it; 0: all iterations */
    bool plain;         /* local and global steps alone, as FCD has them: for comparison */
} su_skinning_settings;

/* Most iterations of a step, and the change at which it ends, where no option says otherwise: displacements are then
 * good to 1e-4 (docs/skinning.md, section 3). */
enum { SU_SKINNING_ITERATIONS = 100 };
#define SU_SKINNING_TOLERANCE 1e-4

/* What later steps need. Arrays by columns of the model's stride or in lanes of clusters. */
typedef struct su_skinning_state {
    double *Z;        /* (3,stride) world */
    double *before;   /* (3,stride) Z one step before */
    double *momentum; /* (3,stride) H: sum of m phi y', world */
    double *older;    /* (3,stride) H one step before */
    double *stress;   /* (panels,9,8) elastic stress of clusters over that of the rig's shape, turned back */
    double *rotation; /* (panels,9,8) R of clusters, turned back: where the next search begins */
    double Q[9];      /* root frame to world there */
    double h;         /* s, of the step that led here */
} su_skinning_state;

typedef struct su_skinning_stepper su_skinning_stepper;

/* model is borrowed; external (NULL: none) too: forces at skin points, whose carriers are the model's. */
su_status su_skinning_stepper_create(const su_skinning_model *model, const su_skinning_settings *settings,
                                     const su_external *external, su_skinning_stepper **out, su_error *err);
void su_skinning_stepper_free(su_skinning_stepper *stepper);

/* As settings.beta, s, and settings.stiffness from the next step on. */
void su_skinning_set_damping(su_skinning_stepper *stepper, double beta);
void su_skinning_set_stiffness(su_skinning_stepper *stepper, double stiffness);

/* Loads to be told the time and the skin before each step (physics/loads.h); NULL without external forces. */
su_loads *su_skinning_loads(su_skinning_stepper *stepper);

/* Z = 0 at an instant, at rest in the world. */
void su_skinning_rest(su_skinning_stepper *stepper, const su_skinning_instant *at);
/* The static equilibrium there, from the present Z. False where the search does not end. */
bool su_skinning_settle(su_skinning_stepper *stepper, const su_skinning_instant *at, const su_gravity *gravity);
/* Motion begins at an instant with the present Z; its history is the step of h seconds that led there (ran) or none,
 * and the rig's velocity from `at` to `next`, h seconds on (NULL: none), is added. */
void su_skinning_start(su_skinning_stepper *stepper, const su_skinning_instant *at, const su_skinning_instant *next,
                       bool ran, double h);
/* Over a cut: the displacement turned along with the root, and a start. */
void su_skinning_jump(su_skinning_stepper *stepper, const su_skinning_instant *at, const su_skinning_instant *next,
                      double h);
/* A step of h seconds. extra: mass damping added, 1/s. False, with the state as before, where it is not finite. */
bool su_skinning_advance(su_skinning_stepper *stepper, const su_skinning_instant *at, double h,
                         const su_gravity *gravity, double extra, int *iterations);
/* The last resort: half of the displacement, turned along. */
void su_skinning_follow(su_skinning_stepper *stepper, const su_skinning_instant *at, double h);

/* q (r = 12 k) of the present state: Z in the root frame by rows; qdot its rate over the last step. */
void su_skinning_coordinates(const su_skinning_stepper *stepper, double *q, double *qdot);
/* Energies at the instant last stepped to, J: kinetic without the rig's own, elastic, of weight. */
void su_skinning_energy(su_skinning_stepper *stepper, const su_skinning_instant *at, const su_gravity *gravity,
                        double energy[3]);

/* The state as numbers. */
int64_t su_skinning_state_size(const su_skinning_stepper *stepper);
void su_skinning_get_state(const su_skinning_stepper *stepper, double *out);
void su_skinning_set_state(su_skinning_stepper *stepper, const double *in);

#endif
