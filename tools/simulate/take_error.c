/* How far a reduced shot is from the full space, and the full shot where that is too far. */
#include "simulate.h"

#include "core/file.h"
#include "core/memory.h"
#include "estimate/error_estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Relative error of a shot above which there is a warning: beyond it one sees it. */
static const double WARN_ERROR = 0.1;

/* The full simulation without a leader, to 1e-3, takes about so many times as long (measured on eleven characters: 0.8
 * to 2.4; docs/notes/2026-11-27-led.md). */
static const double FULL_OVER_LED = 1.5;

/* Room for all frames in the full space. */
static su_status allocate_full(take *t, su_error *err)
{
    su_sim *sim = &t->sim;
    sim->n = t->j->model.n;
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->full_frame, sim->F, err));
    return su_scratch_map(&sim->file.arena, t->output, sim->F * 3 * sim->n * (int64_t)sizeof *sim->full_u, &sim->full_u,
                          err);
}

/* The file's arena owns them. */
static void drop_full(su_sim *sim) { sim->full_frame = NULL, sim->full_u = NULL, sim->full = sim->n = 0; }

static bool has_bad_frames(const take *t)
{
    for (int64_t k = 0; k < t->sim.F; k++)
        if (t->sim.status[k] >= SU_STATUS_DAMPED) return true;
    return false;
}

/* The shot is that of the full space: `status` is of its steps. */
static void take_full(take *t, const int32_t *status)
{
    su_sim *sim = &t->sim;
    sim->full = sim->F;
    for (int64_t k = 0; k < sim->F; k++) sim->full_frame[k] = (int32_t)k;
    memcpy(sim->status, status, (size_t)sim->F * sizeof *status);
}

/* Trained pairs stand for what they were trained on. */
static int self_contact_of(const job *j)
{
    if (!j->set.contact) return j->set.self_contact;
    return su_pair_sets_allow(&j->pairs) ? SU_SELF_CONTACT_NEW : SU_SELF_CONTACT_ALL;
}

/* What was estimated, into the result and the statistics, and said. */
static void tell_error(su_tool *tool, take *t, const su_estimate_total *total)
{
    su_sim *sim = &t->sim;
    char frames[256] = "";
    bool full = sim->full > 0;
    json_object_set_new(sim->file.meta, "error_estimate", json_real(full ? 0 : total->relative));
    su_stats_number(tool, "error_estimate", full ? 0 : total->relative);
    su_stats_number(tool, "error_estimate_reduced", total->relative);
    su_stats_number(tool, "full_share", full ? 1 : 0);
    su_note(tool, "%s: about %.2g %% off the full simulation%s", t->path, 100 * total->relative,
            full ? ", so it is played in the full space" : "");
    if (full || total->relative <= WARN_ERROR) return;
    for (int64_t k = 0; k < sim->F; k++) t->marked[k] = sim->error_estimate[k] > WARN_ERROR * total->motion;
    su_name_frames(sim->F, t->marked, frames, sizeof frames);
    su_warn(tool,
            "%s: about %.0f %% off the full simulation, most at frames %s; --bound 5%% plays such a shot in the full "
            "space, and more modes (-r of supple modes) or this shot among those that the model is trained on lower it",
            t->path, 100 * total->relative, frames);
}

su_status take_estimate_error(su_tool *tool, take *t)
{
    const job *j = t->j;
    su_sim *sim = &t->sim;
    if (!sim->error_estimate) return SU_OK;
    const su_estimate_inputs inputs = {.model = &j->model,
                                       .tet = &j->tet,
                                       .fit = &j->fit,
                                       .shot = t->shot,
                                       .settings = &t->settings,
                                       .sim = sim,
                                       .cycle = j->set.loop,
                                       .self_contact = self_contact_of(j),
                                       .friction = j->set.self_friction,
                                       .contact_stiffness = j->set.self_stiffness,
                                       .threads = tool->threads};
    su_estimate_total total;
    bool bad = has_bad_frames(t), full = (j->set.bound > 0 || bad) && !j->set.loop;
    int32_t *status_full = NULL;
    su_status status;
    if (j->set.bound > 0 && j->set.loop)
        su_note(tool, "%s: a cycle is not played in the full space, it would not close", t->path);
    take_enter(tool, t, SIM_SHARE, 1);
    if (full) SU_GO(allocate_full(t, &tool->err));
    SU_GO(SU_ALLOC(&status_full, sim->F, "status", &tool->err));
    status =
        su_error_estimate(&inputs, sim->error_estimate, sim->full_u, status_full, &total, &tool->progress, &tool->err);
    su_stats_stage(tool, "full space", total.seconds);
    su_stats_number(tool, "full_seconds", (total.led ? FULL_OVER_LED : 1) * total.seconds); /* of fullsim, about */
    if (status == SU_NUMERICS) { /* a run that went astray is a result all the same */
        su_warn(tool, "%s: no estimate of the error: %s", t->path, tool->err.text);
        tool->err = (su_error){0}, status = SU_OK;
        drop_full(sim);
        sim->error_estimate = NULL;
        goto done;
    }
    if (status != SU_OK) goto done;
    if (full && (bad || total.largest > j->set.bound))
        take_full(t, status_full);
    else
        drop_full(sim);
    tell_error(tool, t, &total);
done:
    free(status_full);
    return status == SU_OK ? SU_OK : su_error_context(&tool->err, "%s: ", t->path);
}
