#include "runtime/simulation_checkpoint.h"

#include "core/memory.h"
#include "io/stage/checkpoint.h"

#include <stdlib.h>

su_status su_checkpoint_save(const char *path, const char *key, su_simulation *simulation, const su_sim *sim,
                             su_error *err)
{
    double *state = NULL;
    int64_t size = su_simulation_state_size(simulation);
    SU_TRY(SU_ALLOC(&state, size, "checkpoint", err));
    su_simulation_get_state(simulation, state);
    su_status status = su_checkpoint_write(path, key, size, state, su_simulation_frames_done(simulation), sim, err);
    free(state);
    return status;
}

su_status su_checkpoint_load(const char *path, const char *key, su_simulation *simulation, su_sim *sim, bool *found,
                             su_error *err)
{
    double *state = NULL;
    int64_t size = su_simulation_state_size(simulation), frames;
    SU_TRY(SU_ALLOC(&state, size, "checkpoint", err));
    su_status status = su_checkpoint_read(path, key, size, state, &frames, sim, err);
    *found = status == SU_OK && frames > 0;
    if (*found) su_simulation_set_state(simulation, state, frames);
    free(state);
    return status;
}

su_status su_skinning_checkpoint_save(const char *path, const char *key, const su_skinning_simulation *simulation,
                                      const su_sim *sim, su_error *err)
{
    double *state = NULL;
    int64_t size = su_skinning_simulation_state_size(simulation);
    SU_TRY(SU_ALLOC(&state, size, "checkpoint", err));
    su_skinning_simulation_get_state(simulation, state);
    su_status status = su_checkpoint_write(path, key, size, state, su_skinning_simulation_done(simulation), sim, err);
    free(state);
    return status;
}

su_status su_skinning_checkpoint_load(const char *path, const char *key, su_skinning_simulation *simulation,
                                      su_sim *sim, bool *found, su_error *err)
{
    double *state = NULL;
    int64_t size = su_skinning_simulation_state_size(simulation), frames;
    SU_TRY(SU_ALLOC(&state, size, "checkpoint", err));
    su_status status = su_checkpoint_read(path, key, size, state, &frames, sim, err);
    *found = status == SU_OK && frames > 0;
    if (*found) su_skinning_simulation_set_state(simulation, state, frames);
    free(state);
    return status;
}
