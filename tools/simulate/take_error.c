/* How far a reduced shot is from the full space, and stretches of it that are played there. */
#include "simulate.h"

#include "core/file.h"
#include "core/memory.h"
#include "estimate/error_estimate.h"
#include "estimate/full_stretches.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Estimated error of a shot, relative, above which there is a warning: beyond it one sees it. */
static const double WARN_ERROR = 0.1;

/* A frame in the full space takes about so many times what the residuals of one do (measured: 0.8 to 1, on three
 * characters of 15 k tets). */
static const double FULL_OVER_RESIDUAL = 1;

/* Room for the frames of stretches, whose displacement is not U q: for all frames, how many there are is not known. */
static su_status allocate_full(void *self, float **u, su_error *err)
{
    take *t = self;
    su_sim *sim = &t->sim;
    sim->n = t->j->model.n;
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->full_frame, sim->F, err));
    SU_TRY(su_scratch_map(&sim->file.arena, t->output, sim->F * 3 * sim->n * (int64_t)sizeof *sim->full_u, &sim->full_u,
                          err));
    *u = sim->full_u;
    return SU_OK;
}

/* The file's arena owns them. */
static void drop_full(su_sim *sim) { sim->full_frame = NULL, sim->full_u = NULL, sim->full = sim->n = 0; }

/* Frames that are damped or failed are played in the full space wherever it is there to play them in. */
static bool has_bad_frames(const take *t)
{
    for (int64_t k = 0; k < t->sim.F; k++)
        if (t->sim.status[k] >= SU_STATUS_DAMPED) return true;
    return false;
}

/* Which frames they are, into the result and told of. */
static void tell_stretches(su_tool *tool, take *t, const su_full_stretches *stretches)
{
    su_sim *sim = &t->sim;
    char frames[256];
    sim->full = 0;
    memset(t->marked, 0, (size_t)sim->F);
    for (int64_t i = 0; i < stretches->count; i++)
        for (int64_t k = stretches->stretch[i].first; k <= stretches->stretch[i].last; k++)
            t->marked[k] = 1, sim->full_frame[sim->full++] = (int32_t)k;
    su_name_frames(sim->F, t->marked, frames, sizeof frames);
    su_stats_integer(tool, "full_frames", stretches->frames);
    su_stats_number(tool, "full_share", (double)stretches->frames / (double)sim->F);
    su_stats_text(tool, "full_stretches", frames);
    su_stats_stage(tool, "full space", stretches->seconds);
    if (stretches->frames > 0)
        su_note(tool, "%s: frames %s played in the full space, %.0f %% of the shot", t->path, frames,
                100.0 * (double)stretches->frames / (double)sim->F);
}

/* Estimated, and where the estimate exceeds the bound (relative), and where steps were damped or failed, played in the
 * full space. *played: frames were; *frame_seconds: what each then took. */
static su_status play_full(su_tool *tool, take *t, const su_estimate_inputs *inputs, double bound,
                           su_estimate_total *total, bool *played, double *frame_seconds)
{
    su_sim *sim = &t->sim;
    const su_full_options options = {
        .bound = bound, .tolerance = SU_PLAY_TOLERANCE, .threads = tool->threads, .room = allocate_full, .self = t};
    su_full_stretches stretches;
    su_status status;
    SU_GO(su_full_stretches_create(sim->F, &stretches, &tool->err));
    SU_GO(su_full_stretches_play(inputs, &options, &stretches, sim->status, sim->error_estimate, total, &tool->progress,
                                 &tool->err));
    *played = stretches.frames > 0;
    if (*played) *frame_seconds = stretches.seconds / (double)stretches.frames;
    if (*played || isfinite(bound)) tell_stretches(tool, t, &stretches);
    if (!*played) drop_full(sim);
done:
    su_full_stretches_free(&stretches);
    return status;
}

/* What was estimated into the result and the statistics, and said. */
static void tell_error(su_tool *tool, take *t, const su_estimate_total *total, bool played)
{
    su_sim *sim = &t->sim;
    char frames[256] = "";
    double squares = 0, error;
    for (int64_t k = 0; k < sim->F; k++) squares += sim->error_estimate[k] * sim->error_estimate[k];
    error = played && total->motion > 0 ? sqrt(squares / (double)sim->F) / total->motion : total->relative;
    json_object_set_new(sim->file.meta, "error_estimate", json_real(error));
    su_stats_number(tool, "error_estimate", error);
    su_note(tool, "%s: about %.2g %% off the full simulation", t->path, 100 * error);
    if (error <= WARN_ERROR || t->j->set.bound > 0) return;
    for (int64_t k = 0; k < sim->F; k++) t->marked[k] = sim->error_estimate[k] > WARN_ERROR * total->motion;
    su_name_frames(sim->F, t->marked, frames, sizeof frames);
    su_warn(tool,
            "%s: about %.0f %% off the full simulation, most at frames %s; --bound 5%% plays such frames in the full "
            "space, and more modes (-r of supple modes) or this shot among those that the model is trained on lower it",
            t->path, 100 * error, frames);
}

/* How far the shot is from the full space; played there where it is too far. */
su_status take_estimate_error(su_tool *tool, take *t)
{
    const job *j = t->j;
    su_sim *sim = &t->sim;
    if (!sim->error_estimate) return SU_OK;
    const su_estimate_inputs inputs = {&j->model, &j->tet, &j->fit, t->shot, &t->settings, sim};
    su_estimate_total total = {0};
    bool bounded = j->set.bound > 0 && !j->set.loop, bad = has_bad_frames(t) && !j->set.loop, played = false;
    double frame_seconds = 0;
    su_status status;
    if (j->set.bound > 0 && !bounded)
        su_note(tool, "%s: no stretches of a cycle are played in the full space, it would not close", t->path);
    take_enter(tool, t, SIM_SHARE, 1);
    if (bad || bounded)
        status = play_full(tool, t, &inputs, bounded ? j->set.bound : INFINITY, &total, &played, &frame_seconds);
    else
        status = su_error_estimate(&inputs, tool->threads, sim->error_estimate, &total, &tool->progress, &tool->err);
    bool lost = status == SU_NUMERICS; /* a run that went astray is a result all the same */
    if (lost) {
        su_warn(tool, "%s: no estimate of the error: %s", t->path, tool->err.text);
        tool->err = (su_error){0}, status = SU_OK;
        drop_full(sim);
        sim->error_estimate = NULL;
    }
    if (status != SU_OK) return su_error_context(&tool->err, "%s: ", t->path);
    if (!played && total.frames > 0) frame_seconds = FULL_OVER_RESIDUAL * total.residual_seconds / (double)total.frames;
    su_stats_number(tool, "full_seconds", frame_seconds * (double)sim->F); /* of fullsim, about */
    if (lost) return SU_OK;
    su_stats_number(tool, "error_estimate_reduced", total.relative);
    su_stats_stage(tool, "error estimate, factor", total.factor_seconds);
    su_stats_stage(tool, "error estimate, residuals", total.residual_seconds);
    tell_error(tool, t, &total, played);
    return SU_OK;
}
