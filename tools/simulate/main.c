/* supple sim: a shot through the reduced model. Writes coordinates, not vertices; export rebuilds frames. */
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/tool.h"
#include "io/anim.h"
#include "io/model.h"
#include "io/sim.h"
#include "rig/shot.h"
#include "runtime/model_runtime.h"
#include "runtime/simulate.h"
#include "../sim_options.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    su_sim_settings sim;
    su_step_settings step;
    su_list teleports;
    int inertia, interpolation;
} settings;

static const char *const inertia_names[] = {"consistent", "paper"};
static const char *const interpolation_names[] = {"corotated", "linear"};

typedef struct job {
    settings set;
    su_model model;
    su_anim anim;
    su_shot *shot;
    su_runtime_model runtime;
    su_simulation *simulation;
    su_sim sim;
} job;

static void job_free(job *j)
{
    su_simulation_free(j->simulation);
    su_runtime_model_free(&j->runtime);
    su_shot_free(j->shot);
    su_sim_free(&j->sim);
    su_anim_free(&j->anim);
    su_model_free(&j->model);
    su_sim_settings_free(&j->set.sim);
}

/* The shot on the model's parameters; parameters that move and that the model does not know are named. */
static su_status open_shot(su_tool *tool, job *j, const char *path)
{
    json_t *unknown = NULL;
    const su_model *model = &j->model;
    su_shot_target target = {.nbar = model->nbar, .s = model->s, .a = model->a, .neutral = model->neutral,
                             .params = model->params, .param_scale = model->param_scale,
                             .param_names = json_object_get(model->file.meta, "param_names"),
                             .psd_params = model->psd_params, .psd_shapes = model->psd_shapes, .psd_rbf = model->psd_rbf,
                             .param_mean = model->param_mean, .param_basis = model->param_basis};
    su_status status = su_shot_create(&j->anim, path, &target, j->set.sim.teleport_count, j->set.sim.teleports, &j->shot,
                                      &unknown, &tool->err);
    size_t index;
    json_t *name;
    json_array_foreach(unknown, index, name)
        su_warn(tool, "%s: parameter '%s' moves, but the model does not know it", path, json_string_value(name));
    json_decref(unknown);
    return status;
}

static su_status allocate_sim(su_tool *tool, job *j)
{
    su_sim *sim = &j->sim;
    sim->F = j->anim.F, sim->r = j->model.r, sim->m = j->model.m;
    su_file *head = &sim->file;
    su_error *err = &tool->err;
    SU_TRY(SU_FILE_ALLOC(head, &sim->times, sim->F, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->q, sim->F * sim->r, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->qdot, sim->F * sim->r, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->weights, sim->F * sim->m, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->basis_weights, sim->F * sim->m, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->energy, sim->F * 3, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->iterations, sim->F, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->status, sim->F, err));
    memcpy(sim->times, j->anim.times, (size_t)sim->F * sizeof *sim->times);
    return SU_OK;
}

static su_status describe(su_tool *tool, job *j)
{
    const char *paths[] = {tool->inputs.items[0], tool->inputs.items[1]};
    json_t *meta = su_tool_meta(tool, su_sim_schema.kind, su_sim_schema.version, paths, 2);
    if (!meta) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "not enough memory");
    j->sim.file.meta = meta;
    SU_TRY(su_sim_settings_meta(&j->set.sim, meta, &tool->err));
    json_object_set_new(meta, "newton", json_integer(j->set.step.newton));
    json_object_set_new(meta, "inertia", json_string(inertia_names[j->set.inertia]));
    json_object_set_new(meta, "interpolation", json_string(interpolation_names[j->set.interpolation]));
    json_object_set_new(meta, "fps", json_real(1.0 / j->set.sim.frame_seconds));
    return SU_OK;
}

static void report(su_tool *tool, const job *j)
{
    static const char *const causes[] = {"", "the reduced matrix is not definite", "the forces are not finite",
                                         "the flesh leapt"};
    const su_simulate_counts *counts = su_simulation_counts(j->simulation);
    double steps = counts->steps > 0 ? (double)counts->steps : 1, poses = counts->instants > 0 ? (double)counts->instants : 1;
    su_stats_integer(tool, "frames", j->sim.F);
    su_stats_integer(tool, "steps", counts->steps);
    su_stats_integer(tool, "solves", counts->solves);
    su_stats_integer(tool, "halved", counts->halved);
    su_stats_integer(tool, "damped", counts->damped);
    su_stats_integer(tool, "failed", counts->failed);
    su_stats_integer(tool, "collapsed_tets", counts->collapsed);
    su_stats_integer(tool, "runtime_bytes", su_runtime_model_bytes(&j->runtime));
    su_stats_number(tool, "step_ms", 1e3 * counts->step_seconds / steps);
    su_stats_number(tool, "pose_ms", 1e3 * counts->pose_seconds / poses);
    su_stats_stage(tool, "pose part", counts->pose_seconds);
    su_stats_stage(tool, "steps", counts->step_seconds);
    su_detail(tool, "%lld steps of %.3f ms, %lld pose parts of %.3f ms", (long long)counts->steps,
              1e3 * counts->step_seconds / steps, (long long)counts->instants, 1e3 * counts->pose_seconds / poses);
    if (counts->first_bad_frame >= 0)
        su_warn(tool, "%lld steps halved, %lld damped, %lld failed; the first after frame %lld: %s",
                (long long)counts->halved, (long long)counts->damped, (long long)counts->failed,
                (long long)counts->first_bad_frame, causes[counts->first_bad_cause]);
    if (counts->collapsed > 0)
        su_warn(tool, "up to %lld cubature tets collapse in the rig's own shape", (long long)counts->collapsed);
}

static su_status load(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const char *model_path = tool->inputs.items[0], *anim_path = tool->inputs.items[1];
    SU_TRY(su_sim_set_teleports(&j->set.sim, j->set.teleports.count, j->set.teleports.items, err));
    SU_TRY(su_model_load(model_path, &j->model, err));
    SU_TRY(su_anim_load(anim_path, &j->anim, err));
    if (j->anim.F < 1) return su_fail(err, SU_INPUT, "%s: has no frames", anim_path);
    SU_TRY(open_shot(tool, j, anim_path));
    if (su_sim_settings_resolve(&j->set.sim, su_meta_number(j->model.file.meta, "frequency", 0), j->anim.F, j->anim.times,
                                su_meta_number(j->anim.file.meta, "fps", 24), err) != SU_OK)
        return su_error_context(err, "%s: ", anim_path);
    j->set.step.alpha = j->set.sim.alpha, j->set.step.beta = j->set.sim.beta;
    j->set.step.stiffness = j->set.sim.stiffness;
    j->set.step.inertia = (su_inertia)j->set.inertia;
    if (su_runtime_model_create(&j->model, (su_interpolation)j->set.interpolation, &j->runtime, err) != SU_OK)
        return su_error_context(err, "%s: ", model_path);
    SU_TRY(su_simulation_create(&j->runtime, &j->model, j->shot, &j->set.sim, &j->set.step, tool->threads, &j->simulation,
                                err));
    return allocate_sim(tool, j);
}

static su_status run(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    SU_TRY(load(tool, j));
    if (tool->dry_run) return SU_OK;
    SU_TRY(su_simulation_run(j->simulation, j->sim.F, &j->sim, &tool->progress, err));
    report(tool, j);
    SU_TRY(describe(tool, j));
    return su_sim_save(tool->output, &j->sim, err);
}

int main(int argc, char **argv)
{
    job j = {.set = {.sim = su_sim_defaults(), .step = {.newton = 1, .tolerance = 1e-8}}};
    settings *set = &j.set;
    const su_option options[] = {
        SU_SIM_OPTIONS(set->sim, set->teleports),
        {.name = "newton", .kind = SU_OPT_INT, .target = &set->step.newton, .argument = "N", .low = 1, .high = 1000,
         .help = "Linear solves a step at most (default 1); more stop at --tolerance."},
        {.name = "tolerance", .kind = SU_OPT_NUMBER, .target = &set->step.tolerance, .argument = "T", .low = 0, .high = 1,
         .help = "Residual, relative to the forces, at which Newton stops (default 1e-8)."},
        {.name = "inertia", .kind = SU_OPT_CHOICE, .target = &set->inertia, .argument = "HOW", .choices = "consistent|paper",
         .help = "consistent (default): what moves in the world is advanced; paper: PSSD eq. 5 as printed, for comparison."},
        {.name = "interpolation", .kind = SU_OPT_CHOICE, .target = &set->interpolation, .argument = "HOW",
         .choices = "corotated|linear",
         .help = "corotated (default): bases blended in the neutral pose and turned; linear: PSSD eq. 14, for comparison."},
    };
    const su_program program = {.name = "supple-sim",
                                .summary = "simulate a shot in the reduced space",
                                .usage = "MODEL ANIM -o SIM",
                                .example = "supple sim fox.model.npz run.anim.npz -o run.sim.npz",
                                .options = options,
                                .option_count = sizeof options / sizeof *options,
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .needs_output = true};
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
