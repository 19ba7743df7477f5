/* A shot through the reduced simulator: the plan of instants, pose parts in parallel, steps in order, failing steps
 * halved, then damped, then reported. */
#ifndef SU_RUNTIME_SIMULATE_H
#define SU_RUNTIME_SIMULATE_H

#include "core/error.h"
#include "core/progress.h"
#include "io/stage/sim.h"
#include "rig/shot.h"
#include "runtime/subspace/packed_model.h"
#include "physics/settings.h"
#include "physics/shot_driver.h"
#include "runtime/reduced_step.h"

#include <stdint.h>

typedef struct su_simulation su_simulation;

/* model and shot are borrowed, settings (resolved) copied. Everything up to frame 0 happens in the first run. */
su_status su_simulation_create(const su_runtime_model *model, const su_model *source, const su_shot *shot,
                               const su_sim_settings *settings, const su_step_settings *step, int threads,
                               su_simulation **out, su_error *err);
void su_simulation_free(su_simulation *simulation);
/* Its stepper, for contacts to be added before the first run. */
su_stepper *su_simulation_stepper(su_simulation *simulation);

/* Runs on until `until` frames are done and writes their rows of q, qdot, weights, basis_weights, energy, iterations
 * and status into out, which has room for all frames. A step that fails even damped leaves q as it was and is reported
 * by status; that is not an error. SU_AGAIN when progress asks to stop, at the end of a frame. */
su_status su_simulation_run(su_simulation *simulation, int64_t until, su_sim *out, su_progress *progress,
                            su_error *err);
/* Between runs: everything that the next frames depend on, as numbers; setting it in a fresh simulation of the same
 * model, shot and settings continues to the same bytes. done: frames that were done. */
int64_t su_simulation_state_size(const su_simulation *simulation);
void su_simulation_get_state(su_simulation *simulation, double *state);
void su_simulation_set_state(su_simulation *simulation, const double *state, int64_t done);

/* After the last frame: back to the first, with the displacement and its rate as they are, for clips that are cycles.
 */
su_status su_simulation_rewind(su_simulation *simulation, su_error *err);

int64_t su_simulation_frames_done(const su_simulation *simulation);
const su_shot_counts *su_simulation_counts(const su_simulation *simulation);

#endif
