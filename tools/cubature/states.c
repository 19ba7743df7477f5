#include "states.h"

#include "core/threads.h"

/* Its own thread, not one of OpenMP's: teams that it opens are then no nested ones. */
static void *play(void *context)
{
    states_job *j = context;
    double started = su_seconds();
    j->status = su_shot_states_create(j->tet, j->fit, j->target, j->shot_count, j->shots, j->most, &j->handed, j->threads, j->progress,
                                      &j->states, &j->err);
    j->seconds = su_seconds() - started;
    return NULL;
}

void states_begin(states_job *job, bool beside)
{
    job->running = beside && pthread_create(&job->thread, NULL, play, job) == 0;
    if (!job->running) play(job);
}

su_status states_wait(void *context, su_error *err)
{
    states_job *job = context;
    if (job->running) pthread_join(job->thread, NULL);
    job->running = false;
    if (job->status != SU_OK && err) *err = job->err;
    return job->status;
}

void states_free(states_job *job)
{
    states_wait(job, NULL);
    su_shot_states_free(&job->states);
}
