/* What the files of the interface share, and what supple_clip reads of a runtime. supple_open makes it, supple_runtime
 * poses and steps, supple_forces takes what acts from outside. */
#ifndef SU_SUPPLE_RUNTIME_INTERNAL_H
#define SU_SUPPLE_RUNTIME_INTERNAL_H

#include "core/memory.h"
#include "io/stage/model.h"
#include "io/stage/pair_sets.h"
#include "physics/loads.h"
#include "physics/settings.h"
#include "physics/shot_driver.h"
#include "runtime/reduced_step.h"
#include "runtime/skinning/skinning_live.h"
#include "runtime/subspace/packed_model.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/reconstruct.h"
#include "runtime/supple_runtime.h"

/* s, that a step is taken to last until the host says how long it does: a game's usual frame. */
#define SU_RUNTIME_FIRST_STEP (1.0 / 60)

/* Poses that the host foresees. */
typedef struct su_foreseen {
    int64_t count, next;
    double *parameters, *points, *roots; /* (SUPPLE_AHEAD, ...) points corrected */
    su_pose poses[SUPPLE_AHEAD];         /* of bases */
    su_pose_input inputs[SUPPLE_AHEAD];
    int64_t set;              /* the one that r->points are of, -1: none of them */
    bool turned;              /* the reconstruct has their rotations */
    double *rebuild_skin, *w; /* (SUPPLE_AHEAD, ...) what those are made of */
} su_foreseen;

struct supple_runtime {
    su_model file;
    su_runtime_model model;
    su_skinning_live *skinning; /* in its place, and in that of stepper and poses, with skinning modes */
    double *q;                  /* (r) then */
    su_reconstruct *reconstruct;
    su_stepper stepper;
    su_pose poses[3]; /* rotate: the new one, and those of the last two steps */
    su_pose *pose, *last, *older;
    su_pose_work work;
    su_pose_input input;
    su_sim_settings settings;
    su_shot_driver driver;
    double frequency; /* Hz, of the lowest mode */
    double beta;      /* s, of the step at hand */
    bool corrected, started, stepped, pending;
    int64_t serial;
    int64_t needed;
    int32_t *needed_list;
    int32_t *patch_at, *rebuild_at, *output_at; /* where their skin vertices stand among the needed ones */
    int64_t posed_count, rebuild_count, output_count;
    int32_t *output_list;
    double *points;               /* (needed,3) corrected */
    double *start_points;         /* (needed,3) those of the pose that a start moves to */
    double *rebuild_skin;         /* (rebuild_count,3) */
    double *posed;                /* (posed_count,3) of skinning modes */
    double *sculpt_weights;       /* (a) */
    double *sculpts;              /* (a,needed,3) */
    su_external external;         /* no points: nothing acts from outside */
    su_pair_sets pairs;           /* of contact of the flesh with itself; v = 0: none */
    su_loads loads, *load;        /* of the stepper of bases; those in use, NULL: none */
    int64_t collider_room, known; /* colliders of the last step */
    double *collider_before;      /* (collider_room,3) where they were then */
    int32_t *load_at;             /* (external.points) where they stand among the needed ones */
    double time;
    su_foreseen *ahead; /* NULL until there are any */
    bool no_ahead;      /* there is no memory for them */
    su_arena arena;
};

/* Zeroed memory of the runtime's own. */
#define SU_RUNTIME_TAKE(r, err, ...) SU_TAKE_ALL(&(r)->arena, "the runtime", err, __VA_ARGS__)

/* The model's arrays that stay after opening; borrowed. */
const su_model *supple_model_of(const supple_runtime *runtime);

/* How the driver steps a runtime (supple_runtime.c). */
extern const su_shot_stepper su_runtime_steps;

/* Time and the colliders' way during a step of `seconds` (supple_forces.c). */
void su_runtime_advance_colliders(supple_runtime *r, double seconds);

#endif
