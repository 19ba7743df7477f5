/* States of the shots, played while other stages run. */
#ifndef SU_TOOLS_CUBATURE_STATES_H
#define SU_TOOLS_CUBATURE_STATES_H

#include "reduce/shot_states.h"

#include <pthread.h>

typedef struct states_job {
    const su_tet *tet;              /* all borrowed until states_wait() has returned */
    const su_fit *fit;
    const su_shot_target *target;
    int shot_count;
    const char *const *shots;
    int64_t most;
    su_handed_shapes handed;
    int threads;
    const su_progress *progress;
    su_shot_states states;          /* owned; there after states_wait() */
    double seconds;                 /* that they took */
    bool running;
    pthread_t thread;
    su_status status;
    su_error err;
} states_job;

/* Begins beside the caller where that is wanted and can be had, else does all of it. */
void states_begin(states_job *job, bool beside);
/* Waits for the end: su_cubature_settings.await; context: the job. May be called again. */
su_status states_wait(void *context, su_error *err);
/* Waits and releases; safe on a zeroed job. */
void states_free(states_job *job);

#endif
