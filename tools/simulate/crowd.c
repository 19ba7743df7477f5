/* supple sim --crowd: many shots of one skinning model, their poses made from their bones. */
#include "simulate.h"

#include "core/memory.h"
#include "core/threads.h"

#include <stdlib.h>

/* Shots that are in memory at a time, a thread: what the files of hundreds hold would not be. */
enum { SHOTS_A_THREAD = 16 };
/* What the bones of the first clip, which are those of all, do to the model. */
static su_status create_bones(su_tool *tool, job *j)
{
    const char *path = tool->inputs.items[1];
    su_error *err = &tool->err;
    SU_TRY(su_anim_load(path, &j->first, err));
    const su_anim *a = &j->first;
    if (!a->weights || !a->bones || !a->bone_rest || a->B < 1)
        return su_fail(err, SU_INPUT, "%s: has no bones that could make poses; do without --crowd", path);
    if (a->nbar != j->model.nbar)
        return su_fail(err, SU_INPUT, "%s: has %lld skin vertices, the model %lld", path, (long long)a->nbar,
                       (long long)j->model.nbar);
    for (int64_t k = 0; j->model.corrections && k < 3 * j->model.m * j->model.n; k++)
        if (j->model.corrections[k] != 0)
            return su_fail(err, SU_INPUT,
                           "%s: its flesh was fitted to poses, which bones alone know nothing of; do without --crowd",
                           tool->inputs.items[0]);
    return su_skinning_bones_create(&j->skinning, &j->set.sim, a->B, a->weights, a->neutral, &j->bones, err);
}

/* The shots that are in memory, from their first frames to their last, as many at a time as there are threads. */
static su_status run_beside(su_tool *tool, take *takes, int count)
{
    su_status first = SU_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(tool->threads)
    for (int k = 0; k < count; k++) {
        su_error err = {0};
        if (su_progress_stopped(&tool->progress)) continue; /* the next update ends it */
        su_status status = su_skinning_simulation_run(takes[k].skinning, takes[k].sim.F, &takes[k].sim, NULL, &err);
        if (status == SU_OK) continue;
#pragma omp critical
        if (first == SU_OK) {
            first = status, tool->err = err;
            su_error_context(&tool->err, "%s: ", takes[k].path);
        }
    }
    return first;
}

typedef struct work {
    int64_t steps;
    double seconds; /* of one core, steps and poses */
} work;

static su_status run_some(su_tool *tool, take *takes, int count, work *done)
{
    su_error *err = &tool->err;
    for (int k = 0; k < count; k++) SU_TRY(take_prepare(tool, takes + k));
    if (tool->dry_run) return SU_OK;
    SU_TRY(run_beside(tool, takes, count));
    SU_TRY(su_progress_update(&tool->progress, takes[count - 1].to, err));
    for (int k = 0; k < count; k++) {
        const su_shot_counts *counts = take_counts(takes + k);
        done->steps += counts->steps;
        done->seconds += counts->step_seconds + counts->pose_seconds;
        SU_TRY(take_finish(tool, takes + k));
    }
    return SU_OK;
}

su_status crowd_run(su_tool *tool, job *j, int64_t *failed, const char **first)
{
    int shots = tool->inputs.count - 1, most = SHOTS_A_THREAD * tool->threads;
    take *takes = NULL;
    work done = {0};
    su_status status;
    if (most > shots) most = shots;
    SU_GO(SU_ALLOC(&takes, most, "shots", &tool->err));
    SU_GO(create_bones(tool, j));
    for (int from = 0; from < shots && status == SU_OK; from += most) {
        int count = shots - from < most ? shots - from : most;
        for (int k = 0; k < count; k++)
            takes[k] = (take){.j = j,
                              .path = tool->inputs.items[from + k + 1],
                              .settings = j->set.sim,
                              .from = (double)(from + k) / shots,
                              .to = (double)(from + k + 1) / shots};
        status = run_some(tool, takes, count, &done);
        for (int k = 0; k < count; k++) {
            if (takes[k].failed > 0 && *failed == 0) *first = takes[k].path;
            *failed += takes[k].failed;
            take_free(takes + k);
        }
    }
    if (status != SU_OK || tool->dry_run || !(done.seconds > 0)) goto done;
    double rate = (double)done.steps / done.seconds;
    su_stats_integer(tool, "crowd", shots);
    su_stats_integer(tool, "crowd_steps", done.steps);
    su_stats_number(tool, "crowd_steps_per_second", rate);
    su_note(tool, "%d clips on one model, %lld steps, %.0f a second on one core with their poses", shots,
            (long long)done.steps, rate);
done:
    free(takes);
    return status;
}
