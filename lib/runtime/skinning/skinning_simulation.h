/* A shot in skinning eigenmodes: the driver of shots over their stepper, and what a supple.sim says of it. */
#ifndef SU_RUNTIME_SKINNING_SIMULATION_H
#define SU_RUNTIME_SKINNING_SIMULATION_H

#include "core/error.h"
#include "core/progress.h"
#include "io/stage/sim.h"
#include "physics/shot_driver.h"
#include "runtime/skinning/skinning_step.h"

#include <stdint.h>

typedef struct su_skinning_simulation su_skinning_simulation;

/* model, shot and bones (NULL: poses are made from the skin) are borrowed, settings (resolved) copied. */
su_status su_skinning_simulation_create(const su_skinning_model *model, const su_shot *shot,
                                        const su_sim_settings *settings, const su_skinning_settings *step,
                                        const su_bone_motion *bones, int threads, su_skinning_simulation **out,
                                        su_error *err);
void su_skinning_simulation_free(su_skinning_simulation *simulation);

/* Runs on until `until` frames are done and writes their rows of q, qdot (may be NULL), weights, energy, iterations and
 * status into out, which has room for all frames. SU_AGAIN when progress asks to stop, at the end of a frame. */
su_status su_skinning_simulation_run(su_skinning_simulation *simulation, int64_t until, su_sim *out,
                                     su_progress *progress, su_error *err);
/* Adds the kinetic energy of the rig's own motion to the rows that are done. */
su_status su_skinning_simulation_finish(su_skinning_simulation *simulation, su_sim *out, su_error *err);

/* After the last frame: back to the first with the displacement and its rate as they are, for clips that are cycles. */
su_status su_skinning_simulation_rewind(su_skinning_simulation *simulation, su_error *err);
int64_t su_skinning_simulation_done(const su_skinning_simulation *simulation);

/* Checkpoints: all that goes on after the frames done so far, as numbers. */
int64_t su_skinning_simulation_state_size(const su_skinning_simulation *simulation);
void su_skinning_simulation_get_state(const su_skinning_simulation *simulation, double *state);
void su_skinning_simulation_set_state(su_skinning_simulation *simulation, const double *state, int64_t done);

const su_shot_counts *su_skinning_simulation_counts(const su_skinning_simulation *simulation);

#endif
