/* A simulation interrupted and taken up again: a small file beside the output. */
#ifndef SU_RUNTIME_CHECKPOINT_H
#define SU_RUNTIME_CHECKPOINT_H

#include "core/error.h"
#include "io/stage/sim.h"
#include "runtime/simulate.h"

#include <stdbool.h>

/* key: text that is the same for the same inputs and settings only. Writes the frames done so far and the state, whole
 * or not at all. */
su_status su_checkpoint_save(const char *path, const char *key, su_simulation *simulation, const su_sim *sim,
                             su_error *err);

/* Fills the rows of sim that were done and sets the simulation's state. *found is false where there is no such file.
 * SU_INPUT where it belongs to other inputs or settings, or is damaged. */
su_status su_checkpoint_load(const char *path, const char *key, su_simulation *simulation, su_sim *sim, bool *found,
                             su_error *err);

/* The same for any simulator whose state between frames is `size` numbers: the rows of the first `done` frames of the
 * arrays that sim has, and the state. Loading gives *done = 0 where there is no such file. */
su_status su_checkpoint_write(const char *path, const char *key, int64_t size, const double *state, int64_t done,
                              const su_sim *sim, su_error *err);
su_status su_checkpoint_read(const char *path, const char *key, int64_t size, double *state, int64_t *done, su_sim *sim,
                             su_error *err);

#endif
