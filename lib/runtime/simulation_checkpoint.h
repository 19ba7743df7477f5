/* A reduced simulation interrupted and taken up again. */
#ifndef SU_RUNTIME_SIMULATION_CHECKPOINT_H
#define SU_RUNTIME_SIMULATION_CHECKPOINT_H

#include "core/error.h"
#include "io/stage/sim.h"
#include "runtime/simulate.h"
#include "runtime/skinning/skinning_simulation.h"

#include <stdbool.h>

/* As su_checkpoint_write, of the frames done so far. */
su_status su_checkpoint_save(const char *path, const char *key, su_simulation *simulation, const su_sim *sim,
                             su_error *err);

/* As su_checkpoint_read, and sets the simulation's state. *found is false where there is no such file. */
su_status su_checkpoint_load(const char *path, const char *key, su_simulation *simulation, su_sim *sim, bool *found,
                             su_error *err);

/* The same of a run in skinning modes. */
su_status su_skinning_checkpoint_save(const char *path, const char *key, const su_skinning_simulation *simulation,
                                      const su_sim *sim, su_error *err);
su_status su_skinning_checkpoint_load(const char *path, const char *key, su_skinning_simulation *simulation,
                                      su_sim *sim, bool *found, su_error *err);

#endif
