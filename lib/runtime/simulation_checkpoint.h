/* A reduced simulation interrupted and taken up again. */
#ifndef SU_RUNTIME_SIMULATION_CHECKPOINT_H
#define SU_RUNTIME_SIMULATION_CHECKPOINT_H

#include "core/error.h"
#include "io/stage/sim.h"
#include "runtime/simulate.h"
#include "runtime/skinning/skinning_simulation.h"

#include <stdbool.h>

/* What is run: one of the two, the other NULL. */
typedef struct su_interruptible {
    su_simulation *bases;
    su_skinning_simulation *skinning;
} su_interruptible;

/* As su_checkpoint_write, of the frames done so far. */
su_status su_checkpoint_save(const char *path, const char *key, su_interruptible run, const su_sim *sim, su_error *err);

/* As su_checkpoint_read, and sets the state of the run. *found is false where there is no such file. */
su_status su_checkpoint_load(const char *path, const char *key, su_interruptible run, su_sim *sim, bool *found,
                             su_error *err);

#endif
