/* supple fullsim: a shot through the full space, the ground truth that sim is compared with. */
#include "core/choice.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "core/tool.h"
#include "estimate/moved_text.h"
#include "estimate/what_moved.h"
#include "fem/fullsim.h"
#include "geometry/box.h"
#include "io/stage/anim.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/skinning.h"
#include "io/stage/sim.h"
#include "io/stage/tet.h"
#include "rig/shot.h"
#include "io/stage/checkpoint.h"
#include "../open_shot.h"
#include "../sim_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOLVER_NAMES "iterative|direct"

typedef struct job {
    su_sim_settings settings;
    int solver; /* of --solver */
    su_fullsim_options options;
    su_list teleports;
    su_forces_files forces;
    su_external external;
    int checkpoint_every;
    bool resume;
    char *checkpoint;          /* its path; owned */
    const char *model, *moved; /* files; NULL: none */
    const char *complementary; /* of a supple.skinning; NULL: none */
    int rest, material;        /* of --rest and --material */
    su_tet tet;
    su_skinning skinning;
    su_fit fit;
    su_anim anim;
    double *neutral; /* (nbar,3) owned */
    su_shot *shot;
    su_fullsim *fullsim;
    su_sim sim;
} job;

static void job_free(job *j)
{
    su_fullsim_free(j->fullsim);
    su_shot_free(j->shot);
    su_sim_free(&j->sim);
    su_anim_free(&j->anim);
    su_fit_free(&j->fit);
    su_tet_free(&j->tet);
    su_skinning_free(&j->skinning);
    su_sim_settings_free(&j->settings);
    su_external_free(&j->external);
    free(j->neutral);
    free(j->checkpoint);
}

/* The shot on the fit's parameters. */
static su_status open_shot(su_tool *tool, job *j, const char *path)
{
    SU_TRY(SU_ALLOC(&j->neutral, 3 * j->tet.nbar, "the neutral skin", &tool->err));
    su_embedded_neutral(&j->tet, j->neutral);
    su_shot_target target = {.rig = su_rig_of_fit(&j->fit), .nbar = j->tet.nbar, .neutral = j->neutral};
    return su_open_shot(tool, &j->anim, path, &target, j->settings.teleport_count, j->settings.teleports, "character",
                        &j->shot);
}

/* --complementary, and what it says beside its rows. */
static su_status load_complementary(job *j, su_error *err)
{
    if (!j->complementary)
        return j->options.loose ? su_fail(err, SU_USAGE, "--no-hold goes with --complementary") : SU_OK;
    SU_TRY(su_skinning_load(j->complementary, &j->skinning, err));
    if (json_is_false(json_object_get(j->skinning.file.meta, "held"))) j->options.loose = true;
    j->options.complementary = &j->skinning;
    return SU_OK;
}

static su_status load(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const char *tet_path = tool->inputs.items[0], *fit_path = tool->inputs.items[1], *anim_path = tool->inputs.items[2];
    SU_TRY(su_sim_set_teleports(&j->settings, j->teleports.count, j->teleports.items, err));
    SU_TRY(su_tet_load(tet_path, &j->tet, err));
    SU_TRY(su_fit_load(fit_path, &j->fit, err));
    SU_TRY(su_anim_load(anim_path, &j->anim, err));
    SU_TRY(load_complementary(j, err));
    if (j->fit.a > 0 && j->fit.nbar != j->tet.nbar)
        return su_fail(err, SU_INPUT, "%s: corrections of %lld skin vertices, the flesh carries %lld", fit_path,
                       (long long)j->fit.nbar, (long long)j->tet.nbar);
    SU_TRY(open_shot(tool, j, anim_path));
    SU_TRY(su_sim_load_forces(&j->forces, j->tet.nbar, j->neutral, j->anim.T, j->anim.triangles, &j->external,
                              &j->settings, err));
    if (su_sim_settings_resolve(&j->settings, su_meta_number(j->fit.file.meta, "frequency", 0), j->anim.F,
                                j->anim.times, su_meta_number(j->anim.file.meta, "fps", SU_FILM_FPS), err) != SU_OK)
        return su_error_context(err, "%s: ", anim_path);
    return SU_OK;
}

static su_status allocate_sim(su_tool *tool, job *j)
{
    su_sim *sim = &j->sim;
    su_error *err = &tool->err;
    SU_TRY(su_sim_take_full(sim, tool->output, j->anim.F, j->fit.m, j->tet.n, j->anim.times, err));
    if (!j->options.self_contact) return SU_OK;
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->contacts, sim->F, err));
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->contact_depth, sim->F, err));
    return SU_FILE_ALLOC(&sim->file, &sim->rig_depth, sim->F, err);
}

static void keep_frame(job *j, int64_t k)
{
    su_sim *sim = &j->sim;
    su_fullsim_frame frame;
    su_fullsim_state(j->fullsim, &frame);
    memcpy(sim->u + k * 3 * sim->n, frame.u, (size_t)(3 * sim->n) * sizeof *sim->u);
    memcpy(sim->weights + k * sim->m, frame.w, (size_t)sim->m * sizeof *sim->weights);
    memcpy(sim->energy + 3 * k, frame.energy, sizeof frame.energy);
    sim->iterations[k] = frame.iterations, sim->status[k] = frame.status;
    if (!sim->contacts) return;
    sim->contacts[k] = (int32_t)frame.contact.pressed, sim->contact_depth[k] = frame.contact.deepest;
    sim->rig_depth[k] = frame.rig_depth;
}

static su_status save_checkpoint(job *j, const char *key, double *state, int64_t done, su_error *err)
{
    su_fullsim_get_state(j->fullsim, state);
    return su_checkpoint_write(j->checkpoint, key, su_fullsim_state_size(j->fullsim), state, done, &j->sim, err);
}

/* All frames, from the checkpoint on where there is one; its key is all of meta: inputs and settings. */
static su_status simulate(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    char *key = su_json_dump(j->sim.file.meta, JSON_SORT_KEYS | JSON_COMPACT);
    double *state = NULL;
    su_status status;
    int64_t done = 0;
    SU_GO(key ? SU_OK : su_fail(err, SU_AGAIN, "not enough memory"));
    SU_GO(SU_ALLOC(&state, su_fullsim_state_size(j->fullsim), "checkpoint", err));
    if (j->resume)
        SU_GO(su_checkpoint_read(j->checkpoint, key, su_fullsim_state_size(j->fullsim), state, &done, &j->sim, err));
    if (done > 0) {
        su_fullsim_set_state(j->fullsim, state, done - 1);
        su_note(tool, "goes on after frame %lld", (long long)done - 1);
    } else {
        keep_frame(j, done++);
    }
    while (done < j->sim.F) {
        status = su_fullsim_advance(j->fullsim, err);
        if (status != SU_OK) {
            su_error_context(err, "%s, frame %lld: ", tool->inputs.items[2], (long long)done);
            goto done;
        }
        keep_frame(j, done++);
        status = su_progress_update(&tool->progress, (double)done / (double)j->sim.F, err);
        bool due = j->checkpoint_every > 0 && done % j->checkpoint_every == 0 && done < j->sim.F;
        if (due || (status == SU_AGAIN && (j->checkpoint_every > 0 || j->resume))) {
            su_error second = {0};
            su_status saved = save_checkpoint(j, key, state, done, &second);
            if (status == SU_OK && saved != SU_OK) *err = second, status = saved;
        }
        if (status != SU_OK) goto done;
    }
    status = SU_OK;
done:
    free(key);
    free(state);
    return status;
}

static su_status describe(su_tool *tool, job *j)
{
    json_t *meta = su_tool_meta(tool, su_sim_schema.kind, su_sim_schema.version, tool->inputs.items, 3);
    if (!meta) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "not enough memory");
    j->sim.file.meta = meta;
    SU_TRY(su_sim_settings_meta(&j->settings, meta, &tool->err));
    SU_TRY(su_forces_describe(j->forces.path, &j->external, meta, &tool->err));
    json_object_set_new(meta, "newton", json_integer(j->options.newton));
    json_object_set_new(meta, "tolerance", json_real(j->options.tolerance));
    json_object_set_new(meta, "solver", su_choice_json(SOLVER_NAMES, !j->options.iterative));
    json_object_set_new(meta, "fps", json_real(1.0 / j->settings.frame_seconds));
    if (j->options.neutral) json_object_set_new(meta, "rest", json_string("neutral"));
    if (j->options.material) json_object_set_new(meta, "material", json_string(j->options.material));
    if (j->options.self_contact) {
        json_object_set_new(meta, "self_contact", su_choice_json(SU_SELF_CONTACT_NAMES, j->options.self_contact));
        json_object_set_new(meta, "self_friction", json_real(j->options.friction));
        json_object_set_new(meta, "self_stiffness", json_real(j->options.contact_stiffness));
    }
    if (j->options.loose) json_object_set_new(meta, "held", json_false());
    if (j->complementary) {
        char hex[33];
        SU_TRY(su_file_digest(j->complementary, hex, &tool->err));
        json_object_set_new(meta, "complementary", json_string(hex));
    }
    return SU_OK;
}

static void tell_contact(su_tool *tool, const job *j)
{
    double diagonal = su_box_diagonal(j->tet.n, j->tet.vertices), depth = 0, rig = 0;
    int32_t most = 0;
    for (int64_t k = 0; k < j->sim.F; k++) {
        most = j->sim.contacts[k] > most ? j->sim.contacts[k] : most;
        depth = fmax(depth, j->sim.contact_depth[k]), rig = fmax(rig, j->sim.rig_depth[k]);
    }
    su_stats_integer(tool, "contacts", most);
    su_stats_number(tool, "contact_depth", depth / diagonal);
    su_stats_number(tool, "rig_depth", rig / diagonal);
    su_note(tool, "up to %d contacts, %.2g %% of the diagonal deep; the rig's own shape %.2g %%", most,
            100 * depth / diagonal, 100 * rig / diagonal);
}

static su_status report(su_tool *tool, const job *j)
{
    uint8_t *marked;
    const su_shot_counts *counts = su_fullsim_totals(j->fullsim);
    double steps = counts->steps > 0 ? (double)counts->steps : 1;
    su_sim_report_counts(tool, tool->inputs.items[2], j->sim.F, counts);
    su_stats_integer(tool, "factorizations", counts->factorizations);
    su_stats_number(tool, "pose_ms", 1e3 * counts->pose_seconds / steps);
    su_detail(tool, "%lld steps of %.1f ms (%.2f solves each), pose part %.2f ms", (long long)counts->steps,
              1e3 * counts->step_seconds / steps, (double)counts->solves / steps, 1e3 * counts->pose_seconds / steps);
    if (counts->collapsed > 0)
        su_warn(tool, "up to %lld tets collapse in the rig's own shape", (long long)counts->collapsed);
    if (j->options.self_contact) tell_contact(tool, j);
    SU_TRY(SU_ALLOC(&marked, j->sim.F, "frames", &tool->err));
    su_sim_warn_status(tool, tool->inputs.items[2], j->sim.F, j->sim.status, counts, "", marked);
    free(marked);
    return SU_OK;
}

/* What moved, by joint, on the skin that a model of the character embeds. */
static su_status tell_moved(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    su_model model;
    su_moved moved = {0};
    su_status status;
    if (!j->model) return SU_OK;
    SU_TRY(su_model_load(j->model, &model, err));
    if (model.n != j->tet.n || model.nbar != j->tet.nbar) {
        status = su_fail(err, SU_INPUT, "%s: made of other flesh than %s", j->model, tool->inputs.items[0]);
        goto done;
    }
    SU_GO(su_moved_measure(&model, &j->anim, j->shot, &j->sim, tool->threads, &moved, err));
    json_object_set_new(tool->stats, "moved", su_moved_json(&moved, &j->anim));
    SU_GO(su_moved_write(&moved, &j->anim, su_base_name(tool->inputs.items[2]), tool->verbosity >= 0 ? stderr : NULL,
                         j->moved, err));
done:
    su_moved_free(&moved);
    su_model_free(&model);
    return status;
}

static su_status run(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    static const char *const materials[] = {NULL, "stvk", "neohookean", "corotational", "arap"};
    j->options.threads = tool->threads, j->options.iterative = j->solver == 0;
    j->options.neutral = j->rest == 1, j->options.material = materials[j->material];
    if (j->moved && !j->model) return su_fail(err, SU_USAGE, "--moved goes with --model");
    SU_TRY(load(tool, j));
    if (tool->dry_run) return SU_OK;
    SU_TRY(allocate_sim(tool, j));
    if (su_fullsim_create(&j->tet, &j->fit, j->shot, &j->settings, &j->options, &j->fullsim, err) != SU_OK)
        return j->complementary ? su_error_context(err, "%s with %s: ", tool->inputs.items[1], j->complementary)
                                : su_error_context(err, "%s: ", tool->inputs.items[1]);
    su_skinning_free(&j->skinning); /* its rows are in the simulation */
    if (asprintf(&j->checkpoint, "%s.checkpoint", tool->output) < 0) {
        j->checkpoint = NULL;
        return su_fail(err, SU_AGAIN, "not enough memory");
    }
    SU_TRY(describe(tool, j));
    SU_TRY(simulate(tool, j));
    SU_TRY(report(tool, j));
    SU_TRY(tell_moved(tool, j));
    SU_TRY(su_sim_save(tool->output, &j->sim, err));
    if (j->checkpoint_every || j->resume) unlink(j->checkpoint);
    return SU_OK;
}

/* What is asked for; holds the defaults until the command line is read. */
static job j = {.options = {.tolerance = 1e-8, .contact_stiffness = 1}};

static const su_option options[] = {
    SU_SIM_OPTIONS(j.settings, j.teleports, j.forces),
    {.name = "tolerance",
     .kind = SU_OPT_NUMBER,
     .target = &j.options.tolerance,
     .argument = "T",
     .low = 1e-14,
     .high = 1,
     .help = "Residual, relative to the forces, at which Newton stops (default 1e-8)."},
    {.name = "newton",
     .kind = SU_OPT_INT,
     .target = &j.options.newton,
     .argument = "N",
     .low = 0,
     .high = 1000,
     .help = "At most N linear solves a step, taken as they are (default 0: as many as --tolerance needs)."},
    {.name = "solver",
     .kind = SU_OPT_CHOICE,
     .target = &j.solver,
     .argument = "SOLVER",
     .choices = SOLVER_NAMES,
     .help = "Linear systems by conjugate gradients with one factor turned along (iterative, default), or by a "
             "factorization each (direct): the same within --tolerance in two to three times the time. The posed "
             "rest is always direct."},
    {.name = "self-contact",
     .kind = SU_OPT_CHOICE,
     .target = &j.options.self_contact,
     .argument = "WHAT",
     .choices = SU_SELF_CONTACT_NAMES,
     .help = "Flesh does not pass through itself: what the rig's own shape has overlapping is left alone (new) or "
             "pushed out as well (all); docs/contact.md."},
    {.name = "self-friction",
     .kind = SU_OPT_NUMBER,
     .target = &j.options.friction,
     .argument = "MU",
     .low = 0,
     .high = 100,
     .help = "With --self-contact: coefficient of friction (default 0: skin slides). Folds with friction may take "
             "many solves."},
    {.name = "self-stiffness",
     .kind = SU_OPT_NUMBER,
     .target = &j.options.contact_stiffness,
     .argument = "FACTOR",
     .low = 1e-6,
     .high = 1e6,
     .help = "With --self-contact: factor on its stiffness, which follows from the material (default 1)."},
    {.name = "complementary",
     .kind = SU_OPT_TEXT,
     .target = &j.complementary,
     .argument = "SKINNING",
     .help = "The flesh keeps out of what the rig can do: u obeys the rows of this file (supple modes --kind "
             "skinning; docs/skinning.md, section 4)."},
    {.name = "no-hold",
     .kind = SU_OPT_FLAG,
     .target = &j.options.loose,
     .help = "With --complementary: no vertex is held, the rows alone tie the flesh to the rig."},
    {.name = "rest",
     .kind = SU_OPT_CHOICE,
     .target = &j.rest,
     .argument = "REST",
     .choices = "fit|neutral",
     .help = "What is free of stress: as the fit has it (default), which leaves a still pose alone; or the neutral "
             "shape, so that flesh feels how the rig strains it and keeps its volume."},
    {.name = "material",
     .kind = SU_OPT_CHOICE,
     .target = &j.material,
     .argument = "LAW",
     .choices = "fit|" SU_FULLSIM_MATERIALS,
     .help = "Another law than the fit's (default), with its stiffness; arap: corotational without resistance to "
             "changes of volume."},
    {.name = "model",
     .transient = true,
     .kind = SU_OPT_TEXT,
     .target = &j.model,
     .argument = "MODEL",
     .help = "Say what moved, by joint; a model of the character (supple cubature, --flesh too) has its skin."},
    {.name = "moved",
     .transient = true,
     .kind = SU_OPT_TEXT,
     .target = &j.moved,
     .argument = "FILE",
     .help = "With --model: also write that into this file."},
    {.name = "checkpoint",
     .transient = true,
     .kind = SU_OPT_INT,
     .target = &j.checkpoint_every,
     .argument = "N",
     .low = 0,
     .high = 100000000,
     .help = "Keep what is done in SIM.checkpoint every N frames, and when told to stop (default 0: never)."},
    {.name = "resume",
     .transient = true,
     .kind = SU_OPT_FLAG,
     .target = &j.resume,
     .help = "Go on from SIM.checkpoint where there is one; the result has the same bytes."},
};

static const su_program program = {.name = "supple-fullsim",
                                   .summary = "simulate a shot in the full space, as ground truth",
                                   .usage = "TET FIT ANIM -o SIM",
                                   .example = "supple fullsim fox.tet.npz fox.fit.npz run.anim.npz -o run.full.npz",
                                   .options = options,
                                   .option_count = sizeof options / sizeof *options,
                                   .min_inputs = 3,
                                   .max_inputs = 3,
                                   .needs_output = true};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    j.settings = su_sim_defaults();
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
