#include "runtime/simulation_checkpoint.h"

#include "core/memory.h"
#include "io/stage/checkpoint.h"

#include <stdlib.h>

/* Room for its state. */
static su_status make_room(su_interruptible run, int64_t *size, double **state, su_error *err)
{
    *size = run.bases ? su_simulation_state_size(run.bases) : su_skinning_simulation_state_size(run.skinning);
    return SU_ALLOC(state, *size, "checkpoint", err);
}

su_status su_checkpoint_save(const char *path, const char *key, su_interruptible run, const su_sim *sim, su_error *err)
{
    double *state = NULL;
    int64_t size, done;
    SU_TRY(make_room(run, &size, &state, err));
    if (run.bases)
        su_simulation_get_state(run.bases, state), done = su_simulation_frames_done(run.bases);
    else
        su_skinning_simulation_get_state(run.skinning, state), done = su_skinning_simulation_done(run.skinning);
    su_status status = su_checkpoint_write(path, key, size, state, done, sim, err);
    free(state);
    return status;
}

su_status su_checkpoint_load(const char *path, const char *key, su_interruptible run, su_sim *sim, bool *found,
                             su_error *err)
{
    double *state = NULL;
    int64_t size, frames;
    SU_TRY(make_room(run, &size, &state, err));
    su_status status = su_checkpoint_read(path, key, size, state, &frames, sim, err);
    *found = status == SU_OK && frames > 0;
    if (*found && run.bases) su_simulation_set_state(run.bases, state, frames);
    if (*found && run.skinning) su_skinning_simulation_set_state(run.skinning, state, frames);
    free(state);
    return status;
}
