/* The driver of a shot: everything between an animation and a step of a simulator that does not depend on how it steps.
 * Substeps of a frame, cuts, the static equilibrium and the pre-roll before frame 0, what becomes of steps that fail,
 * and what is counted and reported of all that. The full simulation, the reduced one and the run-time library are
 * steppers of it, so they cannot drift apart. docs/formats.md, conventions 14 and 17. */
#ifndef SU_PHYSICS_SHOT_DRIVER_H
#define SU_PHYSICS_SHOT_DRIVER_H

#include "core/error.h"
#include "physics/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* A simulator, as its driver sees it: a state, and an instant of the animation that it entered last. */
typedef struct su_shot_stepper {
    int halvings; /* a substep is halved at most so many times, one after the other */
    /* Does the rig jump between frame - 1 and `frame`? */
    bool (*cut)(void *self, int64_t frame);
    /* To the instant `fraction` (0..1) of a frame's length behind `frame`. planned: it is one of the shot's plan
     * (below), whose pose may be there already; frame 0 and ends of halved steps are not. The state stays where it is.
     */
    void (*enter)(void *self, int64_t frame, double fraction, bool planned);
    /* The state is the rig's shape at the instant entered, at rest in the world. */
    void (*rest)(void *self);
    /* There, after rest: the static equilibrium. */
    su_status (*settle)(void *self, su_error *err);
    /* Motion begins at the instant entered, frame 0, with the displacement that the state has and, where steps led to
     * it (ran), had one step before; the rig's velocity is added as settings.start says. */
    void (*start)(void *self, bool ran);
    /* Over a cut, to the instant entered: the displacement turned along, and a start from there. */
    void (*jump)(void *self);
    /* A step of h seconds to the instant entered. extra: mass damping added, 1/s. *solves: linear systems. SU_NUMERICS:
     * there is no such step, the state is as before and err says why; all else but SU_OK ends the shot. */
    su_status (*step)(void *self, double h, double extra, int *solves, su_error *err);
    /* The last resort: the flesh follows the rig to the instant entered, as if h seconds had led there. */
    void (*follow)(void *self, double h);
} su_shot_stepper;

/* Totals over the run, for --stats. The driver fills the first part, steppers the second as far as they know. */
typedef struct su_shot_counts {
    int64_t steps, solves;          /* attempts, their linear systems */
    int64_t halved, damped, failed; /* steps */
    int64_t first_bad_frame;        /* after which the first of those stands; -1: none */
    su_error first_bad_cause;
    int64_t factorizations;
    int64_t instants;  /* pose parts evaluated */
    int64_t collapsed; /* largest number of collapsed rest tets at an instant (docs/formats.md, convention 8) */
    double pose_seconds, step_seconds; /* rest shape, rotations, materials; steps and their set-up; over threads */
} su_shot_counts;

typedef struct su_shot_driver {
    const su_shot_stepper *stepper;
    void *self;
    const su_sim_settings *settings; /* resolved */
    su_shot_counts counts;
    /* Linear systems, and the worst SU_STATUS_*, since the caller last set them to 0: of a frame. */
    int iterations, status;
} su_shot_driver;

/* stepper and settings are borrowed. */
su_shot_driver su_shot_driver_of(const su_shot_stepper *stepper, void *self, const su_sim_settings *settings);

/* Frame 0: rest, equilibrium and pre-roll as the settings want them, and the start. again: a cycle, which only starts
 * from the state that is there. SU_NUMERICS where there is no equilibrium, or a step of the pre-roll fails damped. */
su_status su_shot_begin(su_shot_driver *driver, bool again, su_error *err);

/* An instant of the plan: `substep` (1 .. substeps) steps behind `frame`; 0: the frame itself, where a piece begins. */
typedef struct su_shot_place {
    int64_t frame;
    int substep;
} su_shot_place;

/* The one after it. */
su_shot_place su_shot_next(const su_shot_driver *driver, su_shot_place at);
/* Does a frame end there? */
bool su_shot_ends_frame(const su_shot_driver *driver, su_shot_place at);
double su_shot_fraction(const su_shot_driver *driver, int substep);

/* From the place before to this one: over a cut, or by a step that is taken whole, else in halves, else damped, else
 * the flesh just follows. Only a stepper's own errors are errors. */
su_status su_shot_to(su_shot_driver *driver, su_shot_place to, su_error *err);

/* A step of h seconds to the instant entered, with nothing in between to halve towards, as of a live rig: whole, else
 * damped, else the flesh follows. Of the stepper only step and follow are needed. */
su_status su_shot_step(su_shot_driver *driver, double h, su_error *err);

#endif
