/* What supple sim says of a shot: in its result, in the statistics, and on the terminal. */
#include "simulate.h"

#include "core/choice.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "runtime/forces/all_pairs.h"
#include "runtime/forces/trained_pairs.h"
#include "runtime/pack_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A displacement this many times as large as any that the model was trained on is a guess. */
static const double BEYOND_TRAINING = 2;

/* Elastic energy is 0 at rest and never below; this share of the shot's largest is more than rounding. */
static const double NEGATIVE_ENERGY = 0.01;

void take_enter(su_tool *tool, const take *t, double from, double to)
{
    su_progress_stage(&tool->progress, t->from + from * (t->to - t->from), t->from + to * (t->to - t->from));
}

static su_status describe_contact(su_tool *tool, const job *j, json_t *meta)
{
    char digest[33];
    SU_TRY(su_file_digest(j->set.contact, digest, &tool->err));
    json_object_set_new(meta, "contact", json_string(digest));
    json_object_set_new(meta, "self_contact", json_string(su_pair_sets_allow(&j->pairs) ? "new" : "all"));
    json_object_set_new(meta, "self_stiffness", json_real(j->set.self_stiffness));
    json_object_set_new(meta, "self_friction", json_real(j->set.self_friction));
    return SU_OK;
}

/* Meta of the result. Of several shots each has the command that would make it alone, so that files do not depend on
 * what else was asked for. */
static json_t *start_meta(su_tool *tool, const char *path, const char *const *inputs, int count)
{
    su_tool alone = *tool;
    int words = 0, kept = 0;
    while (tool->command && tool->command[words]) words++;
    if (SU_ALLOC(&alone.command, words + 1, "the command", &tool->err) != SU_OK) return NULL;
    for (int i = 0; i < words; i++) {
        bool other = false;
        for (int k = 1; k < tool->inputs.count; k++)
            other |=
                tool->inputs.items[k] != path && strcmp(tool->command[i], su_base_name(tool->inputs.items[k])) == 0;
        if (!other || strcmp(tool->command[i], su_base_name(path)) == 0) alone.command[kept++] = tool->command[i];
    }
    json_t *meta = su_tool_meta(&alone, su_sim_schema.kind, su_sim_schema.version, inputs, count);
    if (!meta) tool->err = alone.err;
    free(alone.command);
    return meta;
}

su_status take_describe(su_tool *tool, take *t)
{
    const settings *set = &t->j->set;
    bool estimated = t->j->estimated;
    const char *paths[] = {tool->inputs.items[0], t->path, estimated ? set->estimate.items[0] : NULL,
                           estimated ? set->estimate.items[1] : NULL};
    json_t *meta = start_meta(tool, t->path, paths, estimated ? 4 : 2);
    if (!meta) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "not enough memory");
    t->sim.file.meta = meta;
    SU_TRY(su_sim_settings_meta(&t->settings, meta, &tool->err));
    SU_TRY(su_forces_describe(set->forces.path, &t->j->external, meta, &tool->err));
    if (t->j->skinned) {
        json_object_set_new(meta, "subspace", json_string("skinning"));
        json_object_set_new(meta, "iterations", json_integer(set->skinning.iterations));
        json_object_set_new(meta, "tolerance", json_real(set->skinning.tolerance));
        json_object_set_new(meta, "solver", su_choice_json(SOLVER_NAMES, set->skinning.plain));
        if (set->crowd) json_object_set_new(meta, "poses", json_string("bones"));
    } else {
        json_object_set_new(meta, "newton", json_integer(set->step.newton));
        json_object_set_new(meta, "tolerance", json_real(set->step.tolerance));
        json_object_set_new(meta, "inertia", su_choice_json(SU_INERTIA_NAMES, set->inertia));
        json_object_set_new(meta, "interpolation", su_choice_json(SU_INTERPOLATION_NAMES, (int)t->j->interpolation));
    }
    if (set->self_contact) {
        json_object_set_new(meta, "self_contact", su_choice_json(SU_SELF_CONTACT_NAMES, set->self_contact));
        json_object_set_new(meta, "self_stiffness", json_real(set->self_stiffness));
        json_object_set_new(meta, "self_friction", json_real(set->self_friction));
    }
    if (set->contact) SU_TRY(describe_contact(tool, t->j, meta));
    json_object_set_new(meta, "fps", json_real(1.0 / t->settings.frame_seconds));
    json_object_set_new(meta, "loop", json_boolean(set->loop));
    return SU_OK;
}

const su_shot_counts *take_counts(const take *t)
{
    return t->skinning ? su_skinning_simulation_counts(t->skinning) : su_simulation_counts(t->simulation);
}

static void report_contact(su_tool *tool, const take *t, const su_shot_counts *shot)
{
    const su_reduced_contact_counts *counts = t->contact->counts;
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

void take_report(su_tool *tool, const take *t)
{
    const su_shot_counts *counts = take_counts(t);
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
    const char *help = t->j->estimated ? "" : "; with --estimate TET FIT the shot is played in the full space";
    t->failed = su_sim_warn_status(tool, t->path, sim->F, sim->status, take_counts(t), help, t->marked);
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

void take_warn(su_tool *tool, take *t)
{
    warn_of(tool, t);
    if (t->moved.frame_largest) warn_of_distance(tool, t);
}
