/* The full-space simulation of a shot, the ground truth for the reduced one: implicit Euler on the world positions
 * y = c + Q (x(p) + u) of the flesh, Newton to a tolerance in every step (docs/design.md, eq. 7). */
#ifndef SU_FEM_FULLSIM_H
#define SU_FEM_FULLSIM_H

#include "core/error.h"
#include "fem/elastic.h"
#include "fem/self_contact.h"
#include "io/stage/fit.h"
#include "io/stage/skinning.h"
#include "io/stage/tet.h"
#include "rig/shot.h"
#include "physics/settings.h"
#include "physics/shot_driver.h"

#include <stdbool.h>
#include <stdint.h>

/* Order of the option's choices. new: what the rest shape has overlapping stays free of force; all: nothing does. */
enum { SU_SELF_CONTACT_NONE, SU_SELF_CONTACT_NEW, SU_SELF_CONTACT_ALL };

/* Another simulation of the same shot, in whose wake the full one steps: its displacement (n,3) m, turned back to the
 * neutral pose (R_v' u), at an instant, counted in substeps from frame 0; -1: one substep before it. */
typedef struct su_fullsim_leader {
    void (*displacement)(void *self, int64_t instant, double *back);
    void *self;
} su_fullsim_leader;

typedef struct su_fullsim_options {
    double tolerance; /* of Newton, relative residual */
    int newton;       /* > 0: at most so many solves a step, taken as they are; 0: to the tolerance */
    int threads;
    bool iterative; /* linear systems by conjugate gradients (su_implicit_precondition) where the rest shape turns */
    bool no_energy; /* the elastic energy of frames is not evaluated */
    /* Newton begins a whole step where the leader's step leads from the state before (docs/reduction.md, section 6);
     * where that finds no end, and with self_contact, it begins as without. displacement NULL: there is none. */
    su_fullsim_leader leader;
    bool placed;  /* nothing is settled or held before frame 0, and motion starts there as the leader goes */
    bool neutral; /* stress is measured from the neutral shape: F = D_{x+u} D_X^-1 (docs/skinning.md, "The truth") */
    bool loose;   /* no vertex is held */
    const char *material;     /* one of SU_FULLSIM_MATERIALS; NULL: the fit's */
    int self_contact;         /* SU_SELF_CONTACT_*: of the flesh with itself */
    double friction;          /* coefficient there */
    double contact_stiffness; /* factor on its stiffness; 0: 1 */
    /* u keeps out of what the rig can do, C u = 0; read at creation only. NULL or without rows: u is free. */
    const su_skinning *complementary;
} su_fullsim_options;

/* Choices of options.material: the laws of physics/material.h, and arap, the corotational one with lambda = 0. */
#define SU_FULLSIM_MATERIALS SU_MATERIAL_NAMES "|arap"

/* The state at a frame; arrays belong to the simulation and change with the next frame. */
typedef struct su_fullsim_frame {
    const double *u;           /* (n,3) root frame, m */
    const double *w;           /* (m) */
    double energy[3];          /* J: kinetic, elastic, gravity */
    int iterations;            /* linear solves since the frame before */
    int status;                /* SU_STATUS_*: the worst of its steps */
    su_contact_depths contact; /* where the flesh touches itself */
    double rig_depth;          /* how deep the rig's shape lies in itself, m; with self-contact */
} su_fullsim_frame;

typedef struct su_fullsim su_fullsim;

/* The neutral skin (nbar,3) that the flesh embeds: A times the neutral flesh. tet files need no skin of their own. */
void su_embedded_neutral(const su_tet *tet, double *neutral);

/* Is the fit of this flesh, with all example poses in order? */
su_status su_check_whole_fit(const su_tet *tet, const su_fit *fit, su_error *err);

/* tet, fit and shot are borrowed; settings are copied and must be resolved. The fit must hold all example poses.
 * Everything up to frame 0 happens here: settling and pre-roll. */
su_status su_fullsim_create(const su_tet *tet, const su_fit *fit, const su_shot *shot, const su_sim_settings *settings,
                            const su_fullsim_options *options, su_fullsim **out, su_error *err);
void su_fullsim_free(su_fullsim *sim);

/* The frame the simulation stands at (0 after creation), and on to the next. A step that fails even damped leaves the
 * flesh as it was, turned along, and is reported by status; that is not an error. */
void su_fullsim_state(const su_fullsim *sim, su_fullsim_frame *frame);
su_status su_fullsim_advance(su_fullsim *sim, su_error *err);

/* As options.newton, from the next step on. */
void su_fullsim_set_solves(su_fullsim *sim, int newton);
/* As settings.stiffness, from the next step on; beta stays. */
void su_fullsim_set_stiffness(su_fullsim *sim, double stiffness);

/* At rest in the rig's motion at a frame, as if the shot began there; under relative gravity it hangs, to a hundredth
 * of the forces, and
 * begins at u = 0 where no equilibrium is found. */
su_status su_fullsim_restart(su_fullsim *sim, int64_t frame, su_error *err);

/* R_v (n,4) at the frame the simulation stands at; borrowed until it goes on. */
const double *su_fullsim_turn(const su_fullsim *sim);
/* Lumped mass (n) kg; borrowed. */
const double *su_fullsim_mass(const su_fullsim *sim);
/* Internal elastic force (n,3) N, root frame, of all tets there, with the materials of the fit: settings.stiffness is
 * left out. */
void su_fullsim_elastic_force(su_fullsim *sim, double *force);
/* Force (n,3) N, root frame, of the flesh on itself there, without friction; 0 where options.self_contact is none. */
su_status su_fullsim_contact_force(su_fullsim *sim, double *force, su_error *err);

/* What a run needs to go on from the frame it stands at, and to stand there again: the same bytes follow. */
int64_t su_fullsim_state_size(const su_fullsim *sim);
void su_fullsim_get_state(const su_fullsim *sim, double *state);
void su_fullsim_set_state(su_fullsim *sim, const double *state, int64_t frame);
const su_shot_counts *su_fullsim_totals(const su_fullsim *sim);

#endif
