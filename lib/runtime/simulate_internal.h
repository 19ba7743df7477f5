/* What the files of a reduced simulation share: its state. */
#ifndef SU_RUNTIME_SIMULATE_INTERNAL_H
#define SU_RUNTIME_SIMULATE_INTERNAL_H

#include "core/memory.h"
#include "physics/shot_driver.h"
#include "runtime/simulate.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/shot_lanes.h"

#include <stdbool.h>

/* Instants whose pose parts are made while the block before is stepped through. */
enum { SU_SIMULATION_BLOCK = 2 * SU_POSE_FRAMES };
/* One instant of the plan. */
typedef struct su_planned_instant {
    su_shot_place at;
    int64_t serial;
} su_planned_instant;

typedef struct su_instant_bank {
    su_planned_instant plan[SU_SIMULATION_BLOCK];
    int64_t count;
    su_blend blends[SU_SIMULATION_BLOCK];
    su_pose poses[SU_SIMULATION_BLOCK]; /* with one thread only the first SU_FRAMES of the first bank, one after the
                                           other */
    double seconds[SU_SIMULATION_BLOCK];
} su_instant_bank;

struct su_simulation {
    const su_runtime_model *model;
    const su_shot *shot;
    su_sim_settings settings;
    su_shot_driver driver;
    int threads;
    su_stepper stepper;
    su_loads loads; /* where there are forces from outside */
    su_instant_bank banks[2];
    su_pose probe, first;  /* instants off the plan; frame 0 */
    const su_pose *pose;   /* of the instant of the plan that the driver is sent to */
    const su_pose *to;     /* of the instant that it entered */
    su_pose_input *inputs; /* SU_POSE_FRAMES a thread, and one for the stepping thread's probes; without skin */
    su_pose_work *works;   /* one a thread, and one for probes */
    su_blend trail[2];     /* weights of the last two instants planned */
    int64_t serial;        /* of the last instant planned; probes count down from -1 */
    int64_t probe_serial;
    su_shot_window window; /* of the model's patch, around the block planned last */
    su_rest_patch whole;   /* all vertices, for the rig's own kinetic energy */
    su_rest_lanes whole_lanes;
    double *whole_work;    /* (threads) room for rig_motion */
    int64_t whole_size;    /* one thread's */
    int64_t F, done;       /* frames finished */
    su_shot_place planned; /* the last instant planned */
    double *last_h;        /* (F) length of the last step before each frame, 0: a start */
    bool again;            /* a cycle: frame 0 continues from the last frame's state */
    su_sim *out;
    su_arena arena;
};

/* Adds the rig's own kinetic energy, which no reduced quantity knows, to the energy of frames from .. to - 1
 * (simulation_kinetic.c). */
void su_simulation_add_rig_kinetic(su_simulation *s, int64_t from, int64_t to);

#endif
