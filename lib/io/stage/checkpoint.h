/* A run interrupted and taken up again: a small file beside the output. */
#ifndef SU_IO_CHECKPOINT_H
#define SU_IO_CHECKPOINT_H

#include "core/error.h"
#include "io/stage/sim.h"

#include <stdint.h>

/* For any simulator whose state between frames is `size` numbers: the rows of the first `done` frames of the arrays
 * that sim has, and the state. key: text that is the same for the same inputs and settings only. The file appears whole
 * or not at all. */
su_status su_checkpoint_write(const char *path, const char *key, int64_t size, const double *state, int64_t done,
                              const su_sim *sim, su_error *err);
/* Fills the rows of sim that were done, and the state; *done = 0 where there is no such file. SU_INPUT where it belongs
 * to other inputs or settings, or is damaged. */
su_status su_checkpoint_read(const char *path, const char *key, int64_t size, double *state, int64_t *done, su_sim *sim,
                             su_error *err);

#endif
