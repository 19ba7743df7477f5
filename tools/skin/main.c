/* supple skin: the flesh in equilibrium at every frame of a shot, without dynamics (Steklov-Poincaré skinning). */
#include "core/choice.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "core/tool.h"
#include "fem/fullsim.h"
#include "io/stage/anim.h"
#include "io/stage/fit.h"
#include "io/stage/poses.h"
#include "io/stage/sim.h"
#include "io/stage/tet.h"
#include "rig/rbf_train.h"
#include "skin/skin_shot.h"
#include "../open_shot.h"
#include "../sim_options.h"

#include <stdlib.h>
#include <string.h>

#define REST_NAMES "neutral|posed"

typedef struct job {
    su_skin_options options;
    int method, start; /* of --solver, --start */
    int self_contact;  /* of --self-contact */
    int rest;          /* of --rest */
    bool clean;        /* --poses */
    su_poses poses;
    double deepest, deepest_held; /* m, over all frames */
    int64_t contacts;             /* the most at once */
    const char *frames;
    int64_t from, to; /* of --frames */
    su_forces_files forces;
    su_external external;
    su_sim_settings settings; /* what a SIM file wants to know: no gravity, no motion */
    su_tet tet;
    su_fit fit;
    su_anim anim;
    double *neutral;
    su_shot *shot;
    su_skin_shot *skin;
    su_sim sim;
    su_tool *tool;
    int64_t done;
} job;

static void job_free(job *j)
{
    su_skin_shot_free(j->skin);
    su_shot_free(j->shot);
    su_sim_free(&j->sim);
    su_anim_free(&j->anim);
    su_poses_free(&j->poses);
    su_fit_free(&j->fit);
    su_tet_free(&j->tet);
    su_external_free(&j->external);
    free(j->neutral);
}

/* "A:B": frames A to B - 1; either may be left out. */
static su_status parse_frames(job *j, su_error *err)
{
    long long from = 0, to = j->anim.F;
    char *end;
    j->from = 0, j->to = j->anim.F;
    if (!j->frames) return SU_OK;
    const char *colon = strchr(j->frames, ':');
    bool good = colon != NULL;
    if (good && colon > j->frames) from = strtoll(j->frames, &end, 10), good = end == colon;
    if (good && colon[1]) to = strtoll(colon + 1, &end, 10), good = *end == '\0';
    if (!good || from < 0 || from >= to || to > j->anim.F)
        return su_fail(err, SU_USAGE, "--frames %s: A:B, frames A to B - 1 of the %lld there are", j->frames,
                       (long long)j->anim.F);
    j->from = from, j->to = to;
    return SU_OK;
}

/* The example poses in place of a shot. */
static su_status load_poses(su_tool *tool, job *j)
{
    const char *const *path = tool->inputs.items;
    su_error *err = &tool->err;
    if (j->frames || j->forces.path || j->forces.colliders.count)
        return su_fail(err, SU_USAGE, "--poses goes without --frames, --forces and --collider: poses have no time");
    SU_TRY(su_tet_load(path[0], &j->tet, err));
    SU_TRY(su_fit_load(path[1], &j->fit, err));
    SU_TRY(su_poses_load(path[2], &j->poses, err));
    if (j->poses.m != j->fit.m || j->poses.nbar != j->tet.nbar)
        return su_fail(err, SU_INPUT,
                       "%s: %lld poses of %lld skin vertices, the fit has %lld and the flesh carries %lld", path[2],
                       (long long)j->poses.m, (long long)j->poses.nbar, (long long)j->fit.m, (long long)j->tet.nbar);
    return SU_OK;
}

/* What a frame or a pose has of contacts, into those of all. */
static void count_contacts(job *j, const su_skin_frame *frame)
{
    if (frame->deepest > j->deepest) j->deepest = frame->deepest;
    if (frame->deepest_held > j->deepest_held) j->deepest_held = frame->deepest_held;
    if (frame->springs > j->contacts) j->contacts = frame->springs;
}

static void tell_contacts(su_tool *tool, const job *j)
{
    su_stats_integer(tool, "contacts", j->contacts);
    su_stats_number(tool, "deepest_m", j->deepest);
    su_stats_number(tool, "deepest_held_m", j->deepest_held);
}

/* A pose's skin after its flesh was pushed out of itself; the neutral one stays. */
static su_status keep_pose(void *context, int64_t i, const su_skin_frame *result, su_error *err)
{
    job *j = context;
    su_poses *poses = &j->poses;
    double *skin = poses->shapes + 3 * poses->nbar * i;
    count_contacts(j, result);
    if (result->status != SU_STATUS_OK)
        su_warn(j->tool, "pose %lld: %s", (long long)i,
                result->status == SU_STATUS_FAILED ? "no equilibrium; left as it was" : "contacts do not settle");
    for (int64_t v = 0; v < poses->nbar && i > 0; v++) {
        if (poses->rigid && poses->rigid[v]) continue;
        for (int a = 0; a < 4; a++)
            for (int c = 0; c < 3; c++)
                skin[3 * v + c] += j->tet.embed_bary[4 * v + a] *
                                   result->u[3 * (int64_t)j->tet.tets[4 * (int64_t)j->tet.embed_tet[v] + a] + c];
    }
    return su_progress_update(&j->tool->progress, (double)++j->done / (double)poses->m, err);
}

/* Every pose a sculpt: shapes = rigged + psd_shapes (docs/formats.md, convention 20). */
static su_status clean_poses(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    su_poses *poses = &j->poses;
    su_pose_counts counts = {0};
    su_skin_source source = {.poses = poses};
    j->options.self_contact = j->options.posed = true;
    j->options.start = SU_SKIN_FROM_RIG;
    SU_TRY(load_poses(tool, j));
    if (tool->dry_run) return SU_OK;
    double *shapes, *params, *rbf, *skins;
    SU_TRY(SU_FILE_ALLOC(&poses->file, &skins, 3 * poses->m * poses->nbar, err));
    SU_TRY(SU_FILE_ALLOC(&poses->file, &shapes, 3 * poses->m * poses->nbar, err));
    SU_TRY(SU_FILE_ALLOC(&poses->file, &params, poses->m * poses->s, err));
    SU_TRY(SU_FILE_ALLOC(&poses->file, &rbf, poses->m * poses->m, err));
    memcpy(skins, poses->shapes, (size_t)(3 * poses->m * poses->nbar) * sizeof *skins);
    poses->shapes = skins;
    if (su_skin_shot_create(&j->tet, &j->fit, &source, &j->options, &j->skin, err) != SU_OK)
        return su_error_context(err, "%s: ", tool->inputs.items[0]);
    SU_TRY(su_skin_shot_run(j->skin, 0, poses->m, keep_pose, j, &counts, err));
    for (int64_t k = 0; k < 3 * poses->m * poses->nbar; k++) shapes[k] = poses->shapes[k] - poses->rigged[k];
    memset(shapes, 0, (size_t)(3 * poses->nbar) * sizeof *shapes);
    memcpy(params, poses->params, (size_t)(poses->m * poses->s) * sizeof *params);
    SU_TRY(su_rbf_train(poses->m, poses->s, params, poses->param_scale, rbf, err));
    poses->a = poses->m;
    poses->psd_params = params, poses->psd_shapes = shapes, poses->psd_rbf = rbf;
    tell_contacts(tool, j);
    su_note(tool, "%lld poses, at most %lld contacts in one, %.3g m deep at the end", (long long)poses->m,
            (long long)j->contacts, j->deepest);
    json_t *meta = su_tool_meta(tool, su_poses_schema.kind, su_poses_schema.version, tool->inputs.items, 3);
    if (!meta) return err->status ? err->status : su_fail(err, SU_AGAIN, "not enough memory");
    json_object_update_missing(meta, poses->file.meta);
    json_decref(poses->file.meta);
    poses->file.meta = meta;
    return su_poses_save(tool->output, poses, err);
}

static su_status load(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const char *const *path = tool->inputs.items;
    SU_TRY(su_tet_load(path[0], &j->tet, err));
    SU_TRY(su_fit_load(path[1], &j->fit, err));
    SU_TRY(su_anim_load(path[2], &j->anim, err));
    SU_TRY(parse_frames(j, err));
    if (j->fit.a > 0 && j->fit.nbar != j->tet.nbar)
        return su_fail(err, SU_INPUT, "%s: corrections of %lld skin vertices, the flesh carries %lld", path[1],
                       (long long)j->fit.nbar, (long long)j->tet.nbar);
    SU_TRY(SU_ALLOC(&j->neutral, 3 * j->tet.nbar, "the neutral skin", err));
    su_embedded_neutral(&j->tet, j->neutral);
    su_shot_target target = {.rig = su_rig_of_fit(&j->fit), .nbar = j->tet.nbar, .neutral = j->neutral};
    SU_TRY(su_open_shot(tool, &j->anim, path[2], &target, 0, NULL, "character", &j->shot));
    SU_TRY(su_sim_load_forces(&j->forces, j->tet.nbar, j->neutral, j->anim.T, j->anim.triangles, &j->external,
                              &j->settings, err));
    j->options.external = j->settings.external;
    return SU_OK;
}

static su_status keep_frame(void *context, int64_t frame, const su_skin_frame *result, su_error *err)
{
    job *j = context;
    su_sim *sim = &j->sim;
    int64_t k = frame - j->from;
    memcpy(sim->u + k * 3 * sim->n, result->u, (size_t)(3 * sim->n) * sizeof *sim->u);
    memcpy(sim->weights + k * sim->m, result->w, (size_t)sim->m * sizeof *sim->weights);
    sim->energy[3 * k + 1] = result->elastic;
    count_contacts(j, result);
    sim->iterations[k] = result->steps, sim->status[k] = result->status;
    return su_progress_update(&j->tool->progress, (double)++j->done / (double)sim->F, err);
}

static su_status describe(su_tool *tool, job *j)
{
    static const char *const methods[] = {"direct", "volume", "surface", "kept", "coupled"};
    json_t *meta = su_tool_meta(tool, su_sim_schema.kind, su_sim_schema.version, tool->inputs.items, 3);
    if (!meta) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "not enough memory");
    j->sim.file.meta = meta;
    j->settings.stiffness = j->options.stiffness;
    SU_TRY(su_sim_settings_meta(&j->settings, meta, &tool->err));
    SU_TRY(su_forces_describe(j->forces.path, &j->external, meta, &tool->err));
    json_object_set_new(meta, "solver", json_string(methods[j->options.method]));
    json_object_set_new(meta, "tolerance", json_real(j->options.tolerance));
    json_object_set_new(meta, "fps", json_real(su_meta_number(j->anim.file.meta, "fps", 24)));
    if (j->options.self_contact) json_object_set_new(meta, "self_contact", json_string("all"));
    json_object_set_new(meta, "rest", su_choice_json(REST_NAMES, j->options.posed));
    json_object_set_new(meta, "material", json_string("ex-rotated"));
    if (j->to - j->from < j->anim.F) json_object_set_new(meta, "first_frame", json_integer(j->from));
    return SU_OK;
}

static su_status report(su_tool *tool, const job *j, const su_pose_counts *counts)
{
    uint8_t *marked;
    char text[256];
    double frames = (double)counts->stiffness;
    su_stats_integer(tool, "frames", j->sim.F);
    tell_contacts(tool, j);
    if (j->self_contact)
        su_detail(tool, "at most %lld contacts at once, %.3g m deep; the rig holds parts %.3g m inside each other",
                  (long long)j->contacts, j->deepest, j->deepest_held);
    su_stats_integer(tool, "solves", counts->solves);
    su_stats_integer(tool, "cg_iterations", counts->iterations);
    su_stats_integer(tool, "interior_solves", counts->interior_solves);
    su_stats_integer(tool, "interior_iterations", counts->interior_iterations);
    su_stats_stage(tool, "stiffness", counts->stiffness_seconds);
    su_stats_stage(tool, "solves", counts->solve_seconds);
    su_stats_stage(tool, "interior", counts->interior_seconds);
    su_detail(tool, "a frame: %.1f solves, %.1f iterations, %.1f ms", (double)counts->solves / frames,
              (double)counts->iterations / frames,
              1e3 * (counts->stiffness_seconds + counts->solve_seconds + counts->interior_seconds) / frames);
    SU_TRY(SU_ALLOC(&marked, j->sim.F, "frames", &tool->err));
    for (int which = SU_STATUS_FAILED; which >= SU_STATUS_HALVED; which -= 2) {
        for (int64_t k = 0; k < j->sim.F; k++) marked[k] = j->sim.status[k] == which;
        int64_t count = su_name_frames(j->sim.F, marked, text, sizeof text);
        su_stats_integer(tool, which == SU_STATUS_FAILED ? "failed_frames" : "unsettled_frames", count);
        if (count > 0)
            su_warn(tool, "%s: %s at frames %s (%lld of %lld)", tool->inputs.items[2],
                    which == SU_STATUS_FAILED ? "there is no equilibrium, and the flesh just follows the rig,"
                                              : "contacts do not settle",
                    text, (long long)count, (long long)j->sim.F);
    }
    free(marked);
    return SU_OK;
}

static su_status run(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    su_pose_counts counts = {0};
    j->tool = tool;
    j->options.threads = tool->threads;
    j->options.self_contact = j->self_contact == 1, j->options.posed = j->rest == 1;
    j->options.method = (su_skin_method)j->method, j->options.start = (su_skin_start)j->start;
    if (j->clean) return clean_poses(tool, j);
    SU_TRY(load(tool, j));
    if (tool->dry_run) return SU_OK;
    SU_TRY(su_sim_take_full(&j->sim, tool->output, j->to - j->from, j->fit.m, j->tet.n, j->anim.times + j->from, err));
    su_skin_source source = {&j->anim, j->shot, NULL};
    if (su_skin_shot_create(&j->tet, &j->fit, &source, &j->options, &j->skin, err) != SU_OK)
        return su_error_context(err, "%s: ", tool->inputs.items[0]);
    if (!su_skin_shot_has_bones(j->skin)) su_note(tool, "no bone holds flesh: the rest shape turns it");
    SU_TRY(describe(tool, j));
    SU_TRY(su_skin_shot_run(j->skin, j->from, j->to, keep_frame, j, &counts, err));
    SU_TRY(report(tool, j, &counts));
    return su_sim_save(tool->output, &j->sim, err);
}

/* What is asked for; holds the defaults until the command line is read. */
static job j = {.options = {.rings = 5, .tolerance = 1e-6, .stiffness = 1},
                .method = SU_SKIN_VOLUME,
                .settings = {.gravity_mode = SU_GRAVITY_NONE, .stiffness = 1, .substeps = 1, .start = SU_START_STILL}};

static const su_option options[] = {
    {.name = "solver",
     .kind = SU_OPT_CHOICE,
     .target = &j.method,
     .argument = "SOLVER",
     .choices = SU_SKIN_METHODS,
     .help = "How equilibria are found, all within --tolerance of each other but in folds where flesh presses on "
             "itself: a "
             "factor a frame (direct), conjugate gradients on all vertices behind an incomplete factor (volume, "
             "the default) or behind the full one of the neutral pose (kept), on the skin's vertices alone "
             "(surface), or on all behind the surface's own preconditioner (coupled)."},
    {.name = "start",
     .kind = SU_OPT_CHOICE,
     .target = &j.start,
     .argument = "FROM",
     .choices = "rig|previous",
     .help = "A frame begins from the rig's shape (default), or from the frame before, in runs of twelve."},
    {.name = "frames",
     .transient = true,
     .kind = SU_OPT_TEXT,
     .target = &j.frames,
     .argument = "A:B",
     .help = "Frames A to B - 1 alone (the first is 0): a farm's job."},
    {.name = "poses",
     .kind = SU_OPT_FLAG,
     .target = &j.clean,
     .help = "The third input is a POSES file: its poses are pushed out of themselves, moved by nothing else, and come "
             "out as sculpts that supple fit reads."},
    {.name = "rest",
     .kind = SU_OPT_CHOICE,
     .target = &j.rest,
     .argument = "REST",
     .choices = REST_NAMES,
     .help = "What is free of stress: the neutral shape (default), so that flesh answers to what the rig does to it; "
             "or the rig's shape, so that contacts alone move it."},
    {.name = "self-contact",
     .kind = SU_OPT_CHOICE,
     .target = &j.self_contact,
     .argument = "WHICH",
     .choices = "none|all",
     .help = "all: flesh is pushed out of itself; none (default): it goes through itself."},
    {.name = "tolerance",
     .kind = SU_OPT_NUMBER,
     .target = &j.options.tolerance,
     .argument = "T",
     .low = 1e-12,
     .high = 0.1,
     .help = "A step that moves no vertex by more of the flesh's diagonal is the last (default 1e-6)."},
    {.name = "rings",
     .kind = SU_OPT_INT,
     .target = &j.options.rings,
     .argument = "N",
     .low = 1,
     .high = 16,
     .help = "Edges that the sparse response of the boundary reaches, for surface and coupled (default 5)."},
    {.name = "stiffness",
     .kind = SU_OPT_NUMBER,
     .target = &j.options.stiffness,
     .argument = "FACTOR",
     .low = 1e-9,
     .high = 1e9,
     .help = "Multiplies Young's modulus everywhere (default 1): against colliders."},
    SU_FORCES_OPTIONS(j.forces),
};

static const su_program program = {.name = "supple-skin",
                                   .summary = "the flesh in equilibrium at every frame, without dynamics",
                                   .usage = "TET FIT ANIM -o SIM, or --poses TET FIT POSES -o POSES",
                                   .example = "supple skin fox.tet.npz fox.fit.npz run.anim.npz -o run.skin.npz",
                                   .options = options,
                                   .option_count = sizeof options / sizeof *options,
                                   .min_inputs = 3,
                                   .max_inputs = 3,
                                   .needs_output = true};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
