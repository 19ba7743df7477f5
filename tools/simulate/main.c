/* supple sim: a shot through the reduced model. Writes coordinates, not vertices; export rebuilds frames. */
#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/tool.h"
#include "estimate/error_estimate.h"
#include "estimate/full_stretches.h"
#include "estimate/moved_text.h"
#include "estimate/what_moved.h"
#include "io/stage/anim.h"
#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "rig/shot.h"
#include "runtime/simulation_checkpoint.h"
#include "runtime/forces/all_pairs.h"
#include "runtime/forces/trained_pairs.h"
#include "runtime/pack_model.h"
#include "runtime/simulate.h"
#include "runtime/skinning/skinning_simulation.h"
#include "../open_shot.h"
#include "../sim_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_CYCLES = 50 };

/* Residual at which Newton stops, where no option says otherwise. */
static const double DEFAULT_TOLERANCE = 1e-8;

/* Estimated error of a shot, relative, above which there is a warning: beyond it one sees it. */
static const double WARN_ERROR = 0.1;

/* A displacement this many times as large as any that the model was trained on is a guess. */
static const double BEYOND_TRAINING = 2;

/* Elastic energy is 0 at rest and never below; this share of the shot's largest is more than rounding. */
static const double NEGATIVE_ENERGY = 0.01;

/* A frame in the full space takes about so many times what the residuals of one do (measured: 0.8 to 1, on three
 * characters of 15 k tets). */
static const double FULL_OVER_RESIDUAL = 1;

/* Where the reduced run and the estimate of its error end in the progress of a shot; of no consequence. */
static const double SIM_SHARE = 0.2, FULL_SHARE = 0.4;

typedef struct settings {
    su_sim_settings sim;
    su_step_settings step;
    su_list teleports;
    su_forces_files forces;
    int inertia, interpolation;
    int checkpoint;
    bool resume, loop, accept;
    su_list estimate;  /* TET FIT */
    double bound;      /* relative; 0: none */
    const char *moved; /* file; NULL: none */
    su_skinning_settings skinning;
    int solver;
    int self_contact; /* 1: new, 2: all */
    double self_stiffness;
    const char *contact;   /* of trained pairs; NULL: none */
    const char *flesh_fit; /* of the materials that all pairs press with; NULL: none */
} settings;

static const char *const inertia_names[] = {"consistent", "paper"};
static const char *const interpolation_names[] = {"corotated", "linear"}; /* su_interpolation; the option: + 1 */

/* What all shots share. */
typedef struct job {
    settings set;
    su_interpolation interpolation;
    su_model model;
    bool estimated; /* with an estimate of the error: tet and fit are there */
    su_tet tet;
    su_fit fit;
    su_runtime_model runtime;
    bool skinned; /* the model is one of skinning modes, and this is what its steps read */
    su_skinning_model skinning;
    su_external external;
    su_pair_sets pairs;    /* with --contact */
    su_fit materials;      /* with --self-contact */
    int64_t contact_first; /* where the vertices of contact stand among those asked for */
} job;

/* One shot. */
typedef struct take {
    const job *j;
    const char *path;
    char *output, *checkpoint;
    double from, to;          /* of the run's progress */
    su_sim_settings settings; /* resolved for this shot; teleports are the job's */
    su_anim anim;
    su_shot *shot;
    su_simulation *simulation;
    const su_contact *contact;        /* of the flesh with itself; NULL: none */
    su_skinning_simulation *skinning; /* in its place, with skinning modes */
    su_sim sim;
    int cycles;
    uint8_t *marked; /* (F) room for frames to be named */
    int64_t failed;  /* frames */
    su_moved moved;
} take;

static void take_free(take *t)
{
    su_simulation_free(t->simulation);
    su_skinning_simulation_free(t->skinning);
    su_shot_free(t->shot);
    su_sim_free(&t->sim);
    su_anim_free(&t->anim);
    su_moved_free(&t->moved);
    free(t->marked);
    free(t->output);
    free(t->checkpoint);
}

static void job_free(job *j)
{
    su_runtime_model_free(&j->runtime);
    su_skinning_model_free(&j->skinning);
    su_model_free(&j->model);
    su_fit_free(&j->fit);
    su_fit_free(&j->materials);
    su_pair_sets_free(&j->pairs);
    su_tet_free(&j->tet);
    su_sim_settings_free(&j->set.sim);
    su_external_free(&j->external);
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

static su_status describe_contact(su_tool *tool, const job *j, json_t *meta)
{
    char digest[33];
    SU_TRY(su_file_digest(j->set.contact, digest, &tool->err));
    json_object_set_new(meta, "contact", json_string(digest));
    json_object_set_new(meta, "self_contact", json_string(su_pair_sets_allow(&j->pairs) ? "new" : "all"));
    json_object_set_new(meta, "self_stiffness", json_real(j->set.self_stiffness));
    return SU_OK;
}

static su_status describe(su_tool *tool, take *t)
{
    const settings *set = &t->j->set;
    bool estimated = t->j->estimated;
    const char *paths[] = {tool->inputs.items[0], t->path, estimated ? set->estimate.items[0] : NULL,
                           estimated ? set->estimate.items[1] : NULL};
    json_t *meta = su_tool_meta(tool, su_sim_schema.kind, su_sim_schema.version, paths, estimated ? 4 : 2);
    if (!meta) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "not enough memory");
    t->sim.file.meta = meta;
    SU_TRY(su_sim_settings_meta(&t->settings, meta, &tool->err));
    SU_TRY(su_forces_describe(set->forces.path, &t->j->external, meta, &tool->err));
    if (t->j->skinned) {
        json_object_set_new(meta, "subspace", json_string("skinning"));
        json_object_set_new(meta, "iterations", json_integer(set->skinning.iterations));
        json_object_set_new(meta, "tolerance", json_real(set->skinning.tolerance));
        json_object_set_new(meta, "solver", json_string(set->skinning.plain ? "local-global" : "quasi-newton"));
    } else {
        json_object_set_new(meta, "newton", json_integer(set->step.newton));
        json_object_set_new(meta, "tolerance", json_real(set->step.tolerance));
        json_object_set_new(meta, "inertia", json_string(inertia_names[set->inertia]));
        json_object_set_new(meta, "interpolation", json_string(interpolation_names[t->j->interpolation]));
    }
    if (set->self_contact) {
        json_object_set_new(meta, "self_contact", json_string(set->self_contact == 1 ? "new" : "all"));
        json_object_set_new(meta, "self_stiffness", json_real(set->self_stiffness));
    }
    if (set->contact) SU_TRY(describe_contact(tool, t->j, meta));
    json_object_set_new(meta, "fps", json_real(1.0 / t->settings.frame_seconds));
    json_object_set_new(meta, "loop", json_boolean(set->loop));
    return SU_OK;
}

static const su_shot_counts *counts_of(const take *t)
{
    return t->skinning ? su_skinning_simulation_counts(t->skinning) : su_simulation_counts(t->simulation);
}

static void report_contact(su_tool *tool, const take *t, const su_shot_counts *shot)
{
    const su_reduced_contact_counts *counts =
        t->j->set.contact ? su_trained_pairs_counts(t->contact) : su_all_pairs_counts(t->contact);
    double steps = counts->steps > 0 ? (double)counts->steps : 1, all = shot->step_seconds + shot->pose_seconds;
    su_stats_number(tool, "contact_ms", 1e3 * counts->seconds / steps);
    su_stats_number(tool, "contact_share", all > 0 ? counts->seconds / all : 0);
    su_stats_number(tool, "contact_most_ms", 1e3 * counts->most_seconds);
    su_stats_number(tool, "contact_searches", (double)counts->searches / steps);
    su_stats_number(tool, "contact_tested", counts->searches ? (double)counts->tested / (double)counts->searches : 0);
    su_stats_number(tool, "contact_pressed", (double)counts->pressed / steps);
    su_stats_integer(tool, "contact_most_pressed", counts->most_pressed);
    su_stats_number(tool, "contact_deepest_m", counts->deepest);
    su_stats_number(tool, "contact_deepest", counts->deepest / t->j->runtime.diagonal);
    su_stats_number(tool, "contact_untrained", (double)counts->untrained / steps);
    su_detail(tool, "%s: contact %.3f ms a step, %.0f %% of it, at most %lld pairs press, %.2g %% of the diagonal deep",
              t->path, 1e3 * counts->seconds / steps, all > 0 ? 100 * counts->seconds / all : 0,
              (long long)counts->most_pressed, 100 * counts->deepest / t->j->runtime.diagonal);
    if (counts->untrained > 0)
        su_warn(tool,
                "%s: in %.0f %% of the steps parts are near each other in poses that contact was not trained on; this "
                "shot among those of supple contact helps",
                t->path, 100 * (double)counts->untrained / steps);
}

static void report(su_tool *tool, const take *t)
{
    const su_shot_counts *counts = counts_of(t);
    double steps = counts->steps > 0 ? (double)counts->steps : 1,
           poses = counts->instants > 0 ? (double)counts->instants : 1;
    su_sim_report_counts(tool, t->path, t->sim.F, counts);
    su_stats_integer(tool, "runtime_bytes",
                     t->skinning ? t->j->skinning.bytes : su_runtime_model_bytes(&t->j->runtime));
    su_stats_text(tool, "kernels", t->skinning ? t->j->skinning.kernels->name : t->j->runtime.kernels->name);
    if (t->skinning) su_stats_integer(tool, "clusters", t->j->skinning.clusters);
    su_stats_number(tool, "pose_ms", 1e3 * counts->pose_seconds / poses);
    su_detail(tool, "%s: %lld steps of %.3f ms, %lld pose parts of %.3f ms", t->path, (long long)counts->steps,
              1e3 * counts->step_seconds / steps, (long long)counts->instants, 1e3 * counts->pose_seconds / poses);
    if (t->contact) report_contact(tool, t, counts);
    if (t->cycles > 1) su_detail(tool, "%s: periodic after %d cycles", t->path, t->cycles);
    if (counts->collapsed > 0)
        su_warn(tool, "%s: up to %lld cubature tets collapse in the rig's own shape", t->path,
                (long long)counts->collapsed);
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

/* All frames, with checkpoints where wanted; their key is all of meta: inputs and settings. */
static su_status run_frames(su_tool *tool, take *t)
{
    const settings *set = &t->j->set;
    su_error *err = &tool->err;
    if (t->skinning || (!set->checkpoint && !set->resume)) /* skinning modes are done before a checkpoint would be */
        return run_until(tool, t, t->sim.F, &tool->progress);
    char *key = su_json_dump(t->sim.file.meta, JSON_SORT_KEYS | JSON_COMPACT);
    su_status status = key ? SU_OK : su_fail(err, SU_AGAIN, "not enough memory");
    bool found = false;
    if (status == SU_OK && set->resume)
        status = su_checkpoint_load(t->checkpoint, key, t->simulation, &t->sim, &found, err);
    if (found)
        su_note(tool, "%s: goes on after frame %lld", t->path, (long long)su_simulation_frames_done(t->simulation) - 1);
    int64_t every = set->checkpoint > 0 ? set->checkpoint : 1000, done;
    while (status == SU_OK && (done = su_simulation_frames_done(t->simulation)) < t->sim.F) {
        status = su_simulation_run(t->simulation, (done / every + 1) * every, &t->sim, &tool->progress, err);
        done = su_simulation_frames_done(t->simulation);
        /* also when asked to stop: the frames so far are not lost */
        if ((status == SU_OK && done < t->sim.F) || (status == SU_AGAIN && done > 0)) {
            su_error second = {0};
            su_status saved = su_checkpoint_save(t->checkpoint, key, t->simulation, &t->sim, &second);
            if (status == SU_OK && saved != SU_OK) *err = second, status = saved;
        }
    }
    free(key);
    return status;
}

/* What follows is this part of a shot's progress. */
static void enter(su_tool *tool, const take *t, double from, double to)
{
    su_progress_stage(&tool->progress, t->from + from * (t->to - t->from), t->from + to * (t->to - t->from));
}

/* Room for the frames of stretches, whose displacement is not U q. */
static su_status allocate_full(su_tool *tool, take *t, const su_full_stretches *stretches)
{
    su_sim *sim = &t->sim;
    int64_t row = 0;
    sim->n = t->j->model.n, sim->full = stretches->frames;
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->full_frame, sim->full, &tool->err));
    SU_TRY(su_scratch_map(&sim->file.arena, t->output, sim->full * 3 * sim->n * (int64_t)sizeof *sim->full_u,
                          &sim->full_u, &tool->err));
    for (int64_t i = 0; i < stretches->count; i++)
        for (int64_t k = stretches->stretch[i].first; k <= stretches->stretch[i].last; k++)
            sim->full_frame[row++] = (int32_t)k;
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

static void tell_stretches(su_tool *tool, const take *t, const su_full_stretches *stretches)
{
    const su_sim *sim = &t->sim;
    char frames[256];
    memset(t->marked, 0, (size_t)sim->F);
    for (int64_t i = 0; i < stretches->count; i++)
        for (int64_t k = stretches->stretch[i].first; k <= stretches->stretch[i].last; k++) t->marked[k] = 1;
    su_name_frames(sim->F, t->marked, frames, sizeof frames);
    su_stats_integer(tool, "full_frames", stretches->frames);
    su_stats_number(tool, "full_share", (double)stretches->frames / (double)sim->F);
    su_stats_text(tool, "full_stretches", frames);
    su_stats_stage(tool, "full space", stretches->seconds);
    if (stretches->frames > 0)
        su_note(tool, "%s: frames %s played in the full space, %.0f %% of the shot", t->path, frames,
                100.0 * (double)stretches->frames / (double)sim->F);
}

/* Where the estimate exceeds the bound, and where steps were damped or failed, the shot is played in the full space.
 * limit: m. *played: frames were; *frame_seconds: what each then took. */
static su_status play_full(su_tool *tool, take *t, const su_estimate_inputs *inputs, double limit, bool *played,
                           double *frame_seconds)
{
    su_error *err = &tool->err;
    su_sim *sim = &t->sim;
    su_full_stretches stretches;
    su_status status;
    SU_GO(su_full_stretches_choose(sim->F, sim->error_estimate, limit, sim->status, t->settings.frame_seconds,
                                   &stretches, err));
    *played = stretches.frames > 0;
    if (*played) {
        SU_GO(allocate_full(tool, t, &stretches));
        enter(tool, t, FULL_SHARE, 1);
        SU_GO(su_full_stretches_play(inputs, &stretches, SU_PLAY_TOLERANCE, tool->threads, sim->full_u, sim->status,
                                     sim->error_estimate, &tool->progress, err));
        *frame_seconds = stretches.seconds / (double)stretches.frames;
    }
    if (*played || limit < INFINITY) tell_stretches(tool, t, &stretches);
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
static su_status estimate_error(su_tool *tool, take *t)
{
    const job *j = t->j;
    su_sim *sim = &t->sim;
    if (!sim->error_estimate) return SU_OK;
    const su_estimate_inputs inputs = {&j->model, &j->tet, &j->fit, t->shot, &t->settings, sim};
    su_estimate_total total = {0};
    bool bounded = j->set.bound > 0 && !j->set.loop, bad = has_bad_frames(t) && !j->set.loop, played = false;
    if (j->set.bound > 0 && !bounded)
        su_note(tool, "%s: no stretches of a cycle are played in the full space, it would not close", t->path);
    enter(tool, t, SIM_SHARE, bad || bounded ? FULL_SHARE : 1);
    su_status status =
        su_error_estimate(&inputs, tool->threads, sim->error_estimate, &total, &tool->progress, &tool->err);
    double frame_seconds = total.frames > 0 ? FULL_OVER_RESIDUAL * total.residual_seconds / (double)total.frames : 0;
    bool lost = status == SU_NUMERICS; /* a run that went astray is a result all the same, or is played whole */
    if (lost) {
        su_warn(tool, "%s: no estimate of the error: %s", t->path, tool->err.text);
        tool->err = (su_error){0}, status = SU_OK;
        for (int64_t k = 0; k < sim->F; k++) sim->error_estimate[k] = bounded ? INFINITY : 0;
    }
    if (status != SU_OK) return su_error_context(&tool->err, "%s: ", t->path);
    if (!lost) {
        su_stats_number(tool, "error_estimate_reduced", total.relative);
        su_stats_stage(tool, "error estimate, factor", total.factor_seconds);
        su_stats_stage(tool, "error estimate, residuals", total.residual_seconds);
    }
    if (bad || bounded) {
        double limit = bounded ? j->set.bound * total.motion : INFINITY;
        status = play_full(tool, t, &inputs, limit, &played, &frame_seconds);
        if (status == SU_NUMERICS) { /* the run stands as it is */
            su_warn(tool, "%s: not played in the full space: %s", t->path, tool->err.text);
            tool->err = (su_error){0}, status = SU_OK, played = false;
            drop_full(sim);
        }
    }
    su_stats_number(tool, "full_seconds", frame_seconds * (double)sim->F); /* of fullsim, about */
    if (status == SU_OK && !lost) tell_error(tool, t, &total, played);
    if (lost) sim->error_estimate = NULL;
    return status;
}

/* Reduced frames that go far beyond what the model was trained on. */
static void warn_of_distance(su_tool *tool, take *t)
{
    const su_sim *sim = &t->sim;
    double trained = su_meta_number(t->j->model.file.meta, "trained_displacement", 0);
    char frames[256];
    if (!(trained > 0)) return;
    for (int64_t k = 0; k < sim->F; k++) t->marked[k] = t->moved.frame_largest[k] > BEYOND_TRAINING * trained;
    for (int64_t i = 0; i < sim->full; i++) t->marked[sim->full_frame[i]] = 0;
    int64_t beyond = su_name_frames(sim->F, t->marked, frames, sizeof frames);
    su_stats_integer(tool, "frames_beyond_training", beyond);
    if (beyond > 0)
        su_warn(tool,
                "%s: at frames %s the flesh goes up to %.2g times as far as in anything the model was trained on; "
                "train it on this shot too (--shots of supple modes and cubature), or look at the rig there",
                t->path, frames, t->moved.largest / trained);
}

/* What went wrong, a line each. */
static void warn_of(su_tool *tool, take *t)
{
    su_sim *sim = &t->sim;
    char frames[256];
    double largest = 0;
    const char *help = t->j->estimated ? "" : "; with --estimate TET FIT they are played in the full space";
    t->failed = su_sim_warn_status(tool, t->path, sim->F, sim->status, counts_of(t), help, t->marked);
    for (int64_t k = 0; k < sim->F; k++) largest = fmax(largest, fabs(sim->energy[3 * k + 1]));
    for (int64_t k = 0; k < sim->F; k++) t->marked[k] = sim->energy[3 * k + 1] < -NEGATIVE_ENERGY * largest;
    for (int64_t i = 0; i < sim->full; i++) t->marked[sim->full_frame[i]] = 0; /* energies are the reduced run's */
    int64_t negative = su_name_frames(sim->F, t->marked, frames, sizeof frames);
    su_stats_integer(tool, "negative_energy_frames", negative);
    if (negative > 0)
        su_warn(tool,
                "%s: the model's elastic energy is negative at frames %s, which flesh cannot have: the model does not "
                "hold there; more tets (--tets of supple cubature) or this shot among those it is trained on help",
                t->path, frames);
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
    const char *base = su_base_name(t->path), *end = strstr(base, ".anim.npz");
    int length = end ? (int)(end - base) : (int)strlen(base), made;
    if (tool->inputs.count > 2)
        made = asprintf(&t->output, "%s/%.*s.sim.npz", tool->output, length, base);
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
    double factor = j->set.self_stiffness * t->settings.stiffness;
    su_contact contact;
    if (j->set.contact) {
        su_trained_pairs what = {&j->pairs, j->model.vertices, place, point, factor};
        SU_TRY(su_trained_pairs_create(&what, &stepper->subspace, &contact, &tool->err));
    } else {
        su_all_pairs what = {.n = j->model.n,
                             .t = j->model.t,
                             .neutral = j->model.vertices,
                             .tets = j->model.tets,
                             .young = j->materials.young,
                             .poisson = j->materials.poisson,
                             .stiffness = factor,
                             .allow = j->set.self_contact == 1,
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
        return su_skinning_simulation_create(&t->j->skinning, t->shot, sim, &step, tool->threads, &t->skinning,
                                             &tool->err);
    }
    su_step_settings step = set->step;
    step.alpha = sim->alpha, step.beta = sim->beta, step.stiffness = sim->stiffness;
    step.inertia = (su_inertia)set->inertia;
    SU_TRY(su_simulation_create(&t->j->runtime, &t->j->model, t->shot, sim, &step, tool->threads, &t->simulation,
                                &tool->err));
    return set->self_contact || set->contact ? add_contact(tool, t) : SU_OK;
}

static su_status one_take(su_tool *tool, take *t)
{
    su_error *err = &tool->err;
    const settings *set = &t->j->set;
    SU_TRY(name_output(tool, t));
    SU_TRY(su_anim_load(t->path, &t->anim, err));
    if (t->anim.F < 1) return su_fail(err, SU_INPUT, "%s: has no frames", t->path);
    SU_TRY(open_shot(tool, t));
    if (su_sim_settings_resolve(&t->settings, su_meta_number(t->j->model.file.meta, "frequency", 0), t->anim.F,
                                t->anim.times, su_meta_number(t->anim.file.meta, "fps", 24), err) != SU_OK)
        return su_error_context(err, "%s: ", t->path);
    SU_TRY(create_simulation(tool, t));
    SU_TRY(allocate_sim(tool, t));
    SU_TRY(describe(tool, t));
    if (tool->dry_run) return SU_OK;
    SU_TRY(SU_ALLOC(&t->marked, t->anim.F, "frames", err));
    enter(tool, t, 0, t->sim.error_estimate ? SIM_SHARE : 1);
    SU_TRY(set->loop ? run_cycles(tool, t) : run_frames(tool, t));
    if (t->skinning) SU_TRY(su_skinning_simulation_finish(t->skinning, &t->sim, err));
    report(tool, t);
    SU_TRY(estimate_error(tool, t));
    SU_TRY(su_moved_measure(&t->j->model, &t->anim, t->shot, &t->sim, tool->threads, &t->moved, err));
    warn_of(tool, t);
    warn_of_distance(tool, t);
    json_object_set_new(tool->stats, "moved", su_moved_json(&t->moved, &t->anim));
    SU_TRY(su_moved_write(&t->moved, &t->anim, su_base_name(t->path), tool->verbosity >= 0 ? stderr : NULL, set->moved,
                          err));
    SU_TRY(su_sim_save(t->output, &t->sim, err));
    if (set->checkpoint || set->resume) unlink(t->checkpoint);
    return SU_OK;
}

/* What an estimate of the error needs of the full space. Of the paper's interpolation, which is for comparison, there
 * is none. */
static su_status load_full(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const settings *set = &j->set;
    if (set->bound > 0 && set->estimate.count == 0)
        return su_fail(err, SU_USAGE, "--bound goes with --estimate TET FIT");
    if (set->estimate.count == 0) return SU_OK;
    if (set->estimate.count != 2) return su_fail(err, SU_USAGE, "--estimate wants two files, TET and FIT");
    if (j->interpolation == SU_LINEAR || j->skinned || set->contact || set->self_contact) {
        if (set->contact || set->self_contact)
            su_note(tool, "there is no estimate of the error with contact of the flesh with itself");
        else if (j->skinned)
            su_note(tool, "there is no estimate of the error for skinning modes");
        else
            su_warn(tool, "no estimate of the error for linear interpolation");
        return SU_OK;
    }
    j->estimated = true;
    SU_TRY(su_tet_load(set->estimate.items[0], &j->tet, err));
    return su_fit_load(set->estimate.items[1], &j->fit, err);
}

/* Needs the skin's triangles, which the first clip has. */
static su_status load_forces(su_tool *tool, job *j)
{
    su_anim anim;
    if (!j->set.forces.path && j->set.forces.colliders.count == 0) return SU_OK;
    SU_TRY(su_anim_load(tool->inputs.items[1], &anim, &tool->err));
    su_status status = anim.nbar == j->model.nbar
                           ? SU_OK
                           : su_fail(&tool->err, SU_INPUT, "%s: %lld skin vertices, the model has %lld",
                                     tool->inputs.items[1], (long long)anim.nbar, (long long)j->model.nbar);
    if (status == SU_OK)
        status = su_sim_load_forces(&j->set.forces, j->model.nbar, j->model.neutral, anim.T, anim.triangles,
                                    &j->external, &j->set.sim, &tool->err);
    su_anim_free(&anim);
    return status;
}

/* What contact of the flesh with itself is made from. */
static su_status load_contact(su_tool *tool, job *j)
{
    const settings *set = &j->set;
    su_error *err = &tool->err;
    if (!set->self_contact && !set->contact) return SU_OK;
    if (j->skinned) return su_fail(err, SU_USAGE, "contact of the flesh with itself goes with models of bases only");
    if (set->self_contact && set->contact)
        return su_fail(err, SU_USAGE, "--self-contact looks at all pairs and --contact at trained ones: take one");
    if (set->contact) {
        SU_TRY(su_pair_sets_load(set->contact, &j->pairs, err));
        if (j->pairs.v > 0 && j->pairs.vertices[j->pairs.v - 1] >= j->model.n)
            return su_fail(err, SU_INPUT, "%s: is of other flesh than the model", set->contact);
        return SU_OK;
    }
    if (!set->flesh_fit) return su_fail(err, SU_USAGE, "--self-contact goes with --fit FIT, which has the materials");
    SU_TRY(su_fit_load(set->flesh_fit, &j->materials, err));
    if (j->materials.t != j->model.t || j->materials.k < 1)
        return su_fail(err, SU_INPUT, "%s: %lld tets, the model has %lld", set->flesh_fit, (long long)j->materials.t,
                       (long long)j->model.t);
    return SU_OK;
}

/* What stepping reads of the model. */
static su_status create_runtime(job *j, su_error *err)
{
    if (j->skinned) return su_skinning_model_create(&j->model, &j->skinning, err);
    int64_t carriers = 4 * j->external.points, own = j->set.self_contact ? j->model.n : j->set.contact ? j->pairs.v : 0;
    int32_t *carrier = NULL;
    SU_TRY(SU_ALLOC(&carrier, carriers + own, "contact points", err));
    for (int64_t i = 0; i < own; i++) carrier[carriers + i] = j->set.contact ? j->pairs.vertices[i] : (int32_t)i;
    j->contact_first = carriers;
    for (int64_t i = 0; i < carriers; i++)
        carrier[i] = j->model.tets[4 * (int64_t)j->model.embed_tet[j->external.vertex[i / 4]] + i % 4];
    su_status status =
        su_runtime_model_create_with(&j->model, j->interpolation, carriers + own, carrier, &j->runtime, err);
    free(carrier);
    return status;
}

static su_status run(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const settings *set = &j->set;
    SU_TRY(su_sim_set_teleports(&j->set.sim, j->set.teleports.count, j->set.teleports.items, err));
    SU_TRY(su_model_load(tool->inputs.items[0], &j->model, err));
    bool linear = strcmp(su_meta_text(j->model.file.meta, "interpolation", "corotated"), "linear") == 0;
    j->interpolation = j->set.interpolation ? (su_interpolation)(j->set.interpolation - 1)
                       : linear             ? SU_LINEAR
                                            : SU_COROTATED;
    j->skinned = su_is_skinning_model(&j->model);
    j->set.skinning.plain = j->set.solver == 1;
    if (j->set.step.tolerance >= 0) j->set.skinning.tolerance = j->set.step.tolerance;
    if (j->set.step.tolerance < 0) j->set.step.tolerance = DEFAULT_TOLERANCE;
    SU_TRY(load_full(tool, j));
    SU_TRY(load_forces(tool, j));
    SU_TRY(load_contact(tool, j));
    if (create_runtime(j, err) != SU_OK) return su_error_context(err, "%s: ", tool->inputs.items[0]);
    int shots = tool->inputs.count - 1;
    if (set->moved && shots > 1) return su_fail(err, SU_USAGE, "--moved goes with one shot");
    if (shots > 1 && !tool->dry_run && mkdir(tool->output, 0777) != 0 && errno != EEXIST)
        return su_fail(err, su_file_status(errno, SU_FAILED), "%s: the folder for %d shots cannot be made: %s",
                       tool->output, shots, strerror(errno));
    const char *first = NULL;
    int64_t failed = 0;
    for (int k = 0; k < shots; k++) {
        take t = {.j = j, .path = tool->inputs.items[k + 1], .settings = j->set.sim};
        t.from = (double)k / shots, t.to = (double)(k + 1) / shots;
        su_status status = one_take(tool, &t);
        if (status == SU_OK && t.failed > 0 && failed == 0) first = t.path;
        failed += t.failed;
        take_free(&t);
        SU_TRY(status);
    }
    if (failed > 0 && !j->set.accept)
        return su_fail(err, SU_NUMERICS, "%s: %lld frames failed%s; the result is written, --accept takes it as it is",
                       first, (long long)failed, shots > 1 ? " in this and other shots" : "");
    return SU_OK;
}

int main(int argc, char **argv)
{
    job j = {.set = {.sim = su_sim_defaults(),
                     .self_stiffness = 1,
                     .step = {.newton = 2, .tolerance = -1},
                     .skinning = {.iterations = SU_SKINNING_ITERATIONS, .tolerance = SU_SKINNING_TOLERANCE}}};
    settings *set = &j.set;
    const su_option options[] = {
        SU_SIM_OPTIONS(set->sim, set->teleports, set->forces),
        {.name = "newton",
         .kind = SU_OPT_INT,
         .target = &set->step.newton,
         .argument = "N",
         .low = 1,
         .high = 1000,
         .help = "Linear solves a step at most (default 2); more stop at --tolerance."},
        {.name = "tolerance",
         .kind = SU_OPT_NUMBER,
         .target = &set->step.tolerance,
         .argument = "T",
         .low = 0,
         .high = 1,
         .help = "Residual, relative to the forces, at which Newton stops (default 1e-8); with skinning modes the "
                 "relative change at which iterations stop (default 1e-4)."},
        {.name = "iterations",
         .kind = SU_OPT_INT,
         .target = &set->skinning.iterations,
         .argument = "N",
         .low = 1,
         .high = 100000,
         .help = "With skinning modes: local and global steps at most (default 100)."},
        {.name = "solver",
         .kind = SU_OPT_CHOICE,
         .target = &set->solver,
         .argument = "HOW",
         .choices = "quasi-newton|local-global",
         .help = "With skinning modes: quasi-newton (default) learns from earlier iterations; local-global is FCD as "
                 "printed, for comparison."},
        {.name = "inertia",
         .kind = SU_OPT_CHOICE,
         .target = &set->inertia,
         .argument = "HOW",
         .choices = "consistent|paper",
         .help = "consistent (default): what moves in the world is advanced; paper: PSSD eq. 5 as printed, for "
                 "comparison."},
        {.name = "interpolation",
         .kind = SU_OPT_CHOICE,
         .target = &set->interpolation,
         .argument = "HOW",
         .choices = "model|corotated|linear",
         .help = "model (default): as the model was trained; corotated: bases blended in the neutral pose and turned; "
                 "linear: PSSD eq. 14, for comparison."},
        {.name = "estimate",
         .kind = SU_OPT_LIST,
         .target = &set->estimate,
         .argument = "TET FIT",
         .greedy = true,
         .help = "Estimate how far the result is from the full simulation, from the flesh and the fit that the model "
                 "was made from. Frames whose steps were damped or failed are then played in the full space."},
        {.name = "bound",
         .kind = SU_OPT_NUMBER,
         .target = &set->bound,
         .argument = "SHARE",
         .low = 0,
         .high = 10,
         .help = "With --estimate: where the error is estimated to exceed this share of the shot's motion (5%) the "
                 "full simulation is played "
                 "instead (default 0: nowhere)."},
        {.name = "contact",
         .kind = SU_OPT_TEXT,
         .target = &set->contact,
         .argument = "CONTACT",
         .help = "Flesh does not pass through itself: the pairs that supple contact trained stand for all."},
        {.name = "self-contact",
         .kind = SU_OPT_CHOICE,
         .target = &set->self_contact,
         .argument = "WHICH",
         .choices = "none|new|all",
         .help =
             "The same with every pair looked for on all of the flesh, as supple fullsim does, for comparison: what "
             "the rig's own shape has overlapping is left alone (new) or pushed out too (all). Goes with --fit."},
        {.name = "fit",
         .kind = SU_OPT_TEXT,
         .target = &set->flesh_fit,
         .argument = "FIT",
         .help = "With --self-contact: the fit that the model was made from."},
        {.name = "self-stiffness",
         .kind = SU_OPT_NUMBER,
         .target = &set->self_stiffness,
         .argument = "FACTOR",
         .low = 1e-6,
         .high = 1e6,
         .help = "With --contact and --self-contact: factor on the stiffness of contact (default 1)."},
        {.name = "accept",
         .transient = true,
         .kind = SU_OPT_FLAG,
         .target = &set->accept,
         .help =
             "Failed frames, where the flesh follows the rig, are no failure: end with 0 and not with 4. The result "
             "is written either way."},
        {.name = "moved",
         .transient = true,
         .kind = SU_OPT_TEXT,
         .target = &set->moved,
         .argument = "FILE",
         .help = "Write what moved, by joint, in % of the character's diagonal, as text, for one shot; it is also in "
                 "--stats."},
        {.name = "loop",
         .kind = SU_OPT_FLAG,
         .target = &set->loop,
         .help = "The clip is a cycle: repeat it until the flesh repeats too, and write the last cycle. Keeps no "
                 "checkpoints."},
        {.name = "checkpoint",
         .transient = true,
         .kind = SU_OPT_INT,
         .target = &set->checkpoint,
         .argument = "N",
         .low = 0,
         .high = 100000000,
         .help = "Keep what is done in SIM.checkpoint every N frames, and when told to stop (default 0: never)."},
        {.name = "resume",
         .transient = true,
         .kind = SU_OPT_FLAG,
         .target = &set->resume,
         .help = "Go on from SIM.checkpoint where there is one; the result has the same bytes."},
    };
    const su_program program = {.name = "supple-sim",
                                .summary = "simulate a shot in the reduced space",
                                .usage = "MODEL ANIM... -o SIM",
                                .description =
                                    "Several clips share the model; -o then names a folder, and each result is "
                                    "called after its clip.",
                                .example = "supple sim fox.model.npz run.anim.npz -o run.sim.npz",
                                .options = options,
                                .option_count = sizeof options / sizeof *options,
                                .min_inputs = 2,
                                .max_inputs = -1,
                                .needs_output = true};
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
