/* One shot of supple sim. */
#include "simulate.h"

#include "core/file.h"
#include "core/memory.h"
#include "estimate/moved_text.h"
#include "io/stage/clip_frame.h"
#include "runtime/forces/all_pairs.h"
#include "runtime/forces/trained_pairs.h"
#include "runtime/simulation_checkpoint.h"
#include "../open_shot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CYCLES = 50 };

void take_free(take *t)
{
    su_simulation_free(t->simulation);
    su_skinning_simulation_free(t->skinning);
    su_shot_free(t->shot);
    su_sim_free(&t->sim);
    su_anim_free(&t->anim);
    su_moved_free(&t->moved);
    free(t->marked);
    free(t->bones);
    free(t->output);
    free(t->checkpoint);
}

/* The shot on the model's parameters. */
static su_status open_shot(su_tool *tool, take *t)
{
    const su_model *model = &t->j->model;
    su_shot_target target = {.rig = su_rig_of_model(model), .nbar = model->nbar, .neutral = model->neutral};
    return su_open_shot(tool, &t->anim, t->path, &target, t->settings.teleport_count, t->settings.teleports, "model",
                        &t->shot);
}

static su_status allocate_sim(su_tool *tool, take *t)
{
    su_sim *sim = &t->sim;
    sim->F = t->anim.F, sim->r = t->j->model.r, sim->m = t->j->model.m;
    su_file *head = &sim->file;
    su_error *err = &tool->err;
    SU_TRY(SU_FILE_ALLOC(head, &sim->times, sim->F, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->q, sim->F * sim->r, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->qdot, sim->F * sim->r, err));
    if (t->j->estimated) {
        sim->substeps = t->settings.substeps;
        SU_TRY(SU_FILE_ALLOC(head, &sim->path, sim->F * sim->substeps * sim->r, err));
        SU_TRY(SU_FILE_ALLOC(head, &sim->error_estimate, sim->F, err));
    }
    SU_TRY(SU_FILE_ALLOC(head, &sim->weights, sim->F * sim->m, err));
    if (!t->j->skinned) SU_TRY(SU_FILE_ALLOC(head, &sim->basis_weights, sim->F * sim->m, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->energy, sim->F * 3, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->iterations, sim->F, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->status, sim->F, err));
    memcpy(sim->times, t->anim.times, (size_t)sim->F * sizeof *sim->times);
    return SU_OK;
}

/* All frames up to `until`, of either kind of model. */
static su_status run_until(su_tool *tool, take *t, int64_t until, su_progress *progress)
{
    return t->skinning ? su_skinning_simulation_run(t->skinning, until, &t->sim, progress, &tool->err)
                       : su_simulation_run(t->simulation, until, &t->sim, progress, &tool->err);
}

static su_status rewind_shot(su_tool *tool, take *t)
{
    return t->skinning ? su_skinning_simulation_rewind(t->skinning, &tool->err)
                       : su_simulation_rewind(t->simulation, &tool->err);
}

static int64_t frames_done(const take *t)
{
    return t->skinning ? su_skinning_simulation_done(t->skinning) : su_simulation_frames_done(t->simulation);
}

static su_status save_checkpoint(const take *t, const char *key, su_error *err)
{
    return su_checkpoint_save(t->checkpoint, key, (su_interruptible){t->simulation, t->skinning}, &t->sim, err);
}

static su_status load_checkpoint(take *t, const char *key, bool *found, su_error *err)
{
    return su_checkpoint_load(t->checkpoint, key, (su_interruptible){t->simulation, t->skinning}, &t->sim, found, err);
}

/* All frames, with checkpoints where wanted; their key is all of meta: inputs and settings. */
static su_status run_frames(su_tool *tool, take *t)
{
    const settings *set = &t->j->set;
    su_error *err = &tool->err;
    if (!set->checkpoint && !set->resume) return run_until(tool, t, t->sim.F, &tool->progress);
    char *key = su_json_dump(t->sim.file.meta, JSON_SORT_KEYS | JSON_COMPACT);
    su_status status = key ? SU_OK : su_fail(err, SU_AGAIN, "not enough memory");
    bool found = false;
    if (status == SU_OK && set->resume) status = load_checkpoint(t, key, &found, err);
    if (found) su_note(tool, "%s: goes on after frame %lld", t->path, (long long)frames_done(t) - 1);
    int64_t every = set->checkpoint > 0 ? set->checkpoint : 1000, done;
    while (status == SU_OK && (done = frames_done(t)) < t->sim.F) {
        status = run_until(tool, t, (done / every + 1) * every, &tool->progress);
        done = frames_done(t);
        /* also when asked to stop: the frames so far are not lost */
        if ((status == SU_OK && done < t->sim.F) || (status == SU_AGAIN && done > 0)) {
            su_error second = {0};
            su_status saved = save_checkpoint(t, key, &second);
            if (status == SU_OK && saved != SU_OK) *err = second, status = saved;
        }
    }
    free(key);
    return status;
}

/* Repeats a cycle until its last frame repeats. */
static su_status run_cycles(su_tool *tool, take *t)
{
    const settings *set = &t->j->set;
    const double *q = t->sim.q + (t->sim.F - 1) * t->sim.r;
    double *last, change = INFINITY;
    su_status status = run_until(tool, t, t->sim.F, &tool->progress);
    t->cycles = 1;
    if (status != SU_OK || !set->loop) return status;
    SU_TRY(SU_ALLOC(&last, t->sim.r, "cycle", &tool->err));
    while (status == SU_OK && t->cycles < MAX_CYCLES && change > 1e-6) {
        memcpy(last, q, (size_t)t->sim.r * sizeof *q);
        status = rewind_shot(tool, t);
        if (status == SU_OK) status = run_until(tool, t, t->sim.F, NULL);
        double moved = 0, size = 1e-300;
        for (int64_t k = 0; k < t->sim.r; k++) moved += (q[k] - last[k]) * (q[k] - last[k]), size += q[k] * q[k];
        change = moved / size;
        t->cycles++;
    }
    free(last);
    if (status == SU_OK && change > 1e-6) su_warn(tool, "%s: not periodic after %d cycles", t->path, t->cycles);
    return status;
}

/* Where the result of a shot goes: -o itself for one shot, else a file in the folder -o. */
static su_status name_output(su_tool *tool, take *t)
{
    char stem[SU_CLIP_FRAME_ROOM];
    int made;
    su_clip_stem(t->path, stem, sizeof stem);
    if (tool->inputs.count > 2)
        made = asprintf(&t->output, "%s/%s.sim.npz", tool->output, stem);
    else
        made = asprintf(&t->output, "%s", tool->output);
    if (made < 0) t->output = NULL;
    if (made < 0 || asprintf(&t->checkpoint, "%s.checkpoint", t->output) < 0) {
        t->checkpoint = NULL;
        return su_fail(&tool->err, SU_AGAIN, "not enough memory");
    }
    return SU_OK;
}

/* Contact of the flesh with itself, by all pairs or by trained ones. */
static su_status add_contact(su_tool *tool, take *t)
{
    const job *j = t->j;
    su_stepper *stepper = su_simulation_stepper(t->simulation);
    const int32_t *place = j->runtime.points.extra_place + j->contact_first,
                  *point = j->runtime.points.extra_point + j->contact_first;
    double factor = j->set.self_stiffness * t->settings.stiffness * su_model_contact_softness(&j->model);
    su_contact contact;
    if (j->set.contact) {
        su_trained_pairs what = {&j->pairs, j->model.vertices, place, point, factor, j->set.self_friction};
        SU_TRY(su_trained_pairs_create(&what, &stepper->subspace, &contact, &tool->err));
    } else {
        su_all_pairs what = {.n = j->model.n,
                             .t = j->model.t,
                             .neutral = j->model.vertices,
                             .tets = j->model.tets,
                             .young = j->materials.young,
                             .poisson = j->materials.poisson,
                             .stiffness = factor,
                             .friction = j->set.self_friction,
                             .allow_overlap = j->set.self_contact == SU_SELF_CONTACT_NEW,
                             .threads = tool->threads,
                             .place = place,
                             .point = point};
        SU_TRY(su_all_pairs_create(&what, &stepper->subspace, &contact, &tool->err));
    }
    su_stepper_add_contact(stepper, &contact);
    t->contact = stepper->contact + stepper->contacts - 1;
    return SU_OK;
}

/* The simulation of the shot, at its first frame. */
static su_status create_simulation(su_tool *tool, take *t)
{
    const settings *set = &t->j->set;
    const su_sim_settings *sim = &t->settings;
    if (t->j->skinned) {
        su_skinning_settings step = set->skinning;
        step.alpha = sim->alpha, step.beta = sim->beta, step.stiffness = sim->stiffness;
        const su_bone_motion motion = {&t->j->bones, t->bones};
        return su_skinning_simulation_create(&t->j->skinning, t->shot, sim, &step, t->bones ? &motion : NULL,
                                             tool->threads, &t->skinning, &tool->err);
    }
    su_step_settings step = set->step;
    step.alpha = sim->alpha, step.beta = sim->beta, step.stiffness = sim->stiffness;
    step.inertia = (su_inertia)set->inertia;
    SU_TRY(su_simulation_create(&t->j->runtime, &t->j->model, t->shot, sim, &step, tool->threads, &t->simulation,
                                &tool->err));
    return set->self_contact || set->contact ? add_contact(tool, t) : SU_OK;
}

su_status take_prepare(su_tool *tool, take *t)
{
    su_error *err = &tool->err;
    SU_TRY(name_output(tool, t));
    SU_TRY(su_anim_load(t->path, &t->anim, err));
    if (t->anim.F < 1) return su_fail(err, SU_INPUT, "%s: has no frames", t->path);
    SU_TRY(open_shot(tool, t));
    if (su_sim_settings_resolve(&t->settings, su_meta_number(t->j->model.file.meta, "frequency", 0), t->anim.F,
                                t->anim.times, su_meta_number(t->anim.file.meta, "fps", SU_FILM_FPS), err) != SU_OK)
        return su_error_context(err, "%s: ", t->path);
    if (t->j->set.crowd) SU_TRY(take_bones(t, err));
    SU_TRY(create_simulation(tool, t));
    SU_TRY(allocate_sim(tool, t));
    SU_TRY(take_describe(tool, t));
    return SU_ALLOC(&t->marked, t->anim.F, "frames", err);
}

su_status take_finish(su_tool *tool, take *t)
{
    su_error *err = &tool->err;
    const settings *set = &t->j->set;
    if (t->skinning) SU_TRY(su_skinning_simulation_finish(t->skinning, &t->sim, err));
    take_report(tool, t);
    SU_TRY(take_estimate_error(tool, t));
    if (!set->crowd) { /* which looks at the skin */
        SU_TRY(su_moved_measure(&t->j->model, &t->anim, t->shot, &t->sim, tool->threads, &t->moved, err));
        json_object_set_new(tool->stats, "moved", su_moved_json(&t->moved, &t->anim));
    }
    take_warn(tool, t);
    if (!set->crowd)
        SU_TRY(su_moved_write(&t->moved, &t->anim, su_base_name(t->path), tool->verbosity >= 0 ? stderr : NULL,
                              set->moved, err));
    SU_TRY(su_sim_save(t->output, &t->sim, err));
    if (set->checkpoint || set->resume) unlink(t->checkpoint);
    return SU_OK;
}

su_status take_run(su_tool *tool, take *t)
{
    SU_TRY(take_prepare(tool, t));
    if (tool->dry_run) return SU_OK;
    take_enter(tool, t, 0, t->sim.error_estimate ? SIM_SHARE : 1);
    SU_TRY(t->j->set.loop ? run_cycles(tool, t) : run_frames(tool, t));
    return take_finish(tool, t);
}
