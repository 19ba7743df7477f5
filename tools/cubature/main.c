/* supple cubature: few tets and vertices that stand for all, and the model that the run time needs (PSSD 5.3, 5.4). */
#include "cubature.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "reduce/cubature/model_build.h"
#include "reduce/cubature/training_states.h"
#include "reduce/modes/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A training error above this many times the bound is told of. */
#define WARN_ABOVE 1.05

static void job_free(job *j)
{
    su_model_training_free(&j->training);
    su_pose_space_free(&j->space);
    su_basis_free(&j->basis);
    su_skinning_free(&j->skinning);
    su_fit_free(&j->fit);
    for (int p = 0; j->fits && p < j->fit_count; p++) su_fit_free(&j->fits[p]);
    free(j->fits), free(j->fit_paths);
    su_poses_free(&j->poses);
    su_tet_free(&j->tet);
}

static su_status sort_inputs(su_tool *tool, bool flesh, job *j)
{
    su_error *err = &tool->err;
    SU_TRY(SU_ALLOC(&j->fit_paths, tool->inputs.count, "file names", err));
    for (int i = 0; i < tool->inputs.count; i++) {
        const char *path = tool->inputs.items[i], **single = NULL;
        su_npz *file;
        SU_TRY(su_npz_open(path, &file, err));
        char kind[40] = "";
        strncpy(kind, su_meta_text(su_npz_meta(file), "kind", ""), sizeof kind - 1);
        su_npz_close(file);
        if (strcmp(kind, "supple.tet") == 0) single = &j->tet_path;
        if (strcmp(kind, "supple.poses") == 0) single = &j->poses_path;
        if (strcmp(kind, "supple.basis") == 0) single = &j->basis_path;
        if (strcmp(kind, "supple.skinning") == 0) single = &j->skinning_path;
        if (strcmp(kind, "supple.fit") == 0)
            j->fit_paths[j->fit_count++] = path;
        else if (!single)
            return su_fail(err, SU_INPUT, "%s: is not a tet, poses, fit, basis or skinning file (kind '%s')", path,
                           kind);
        else if (*single)
            return su_fail(err, SU_USAGE, "%s: a second %s file; give one", path, kind + strlen("supple."));
        else
            *single = path;
    }
    bool modes = j->basis_path || j->skinning_path;
    const char *missing = !j->tet_path       ? "tet"
                          : !j->poses_path   ? "poses"
                          : !j->fit_count    ? "fit"
                          : !modes && !flesh ? "basis"
                                             : NULL;
    if (flesh && modes) return su_fail(err, SU_USAGE, "--flesh takes no basis and no skinning file");
    if (j->basis_path && j->skinning_path)
        return su_fail(err, SU_USAGE, "a model is of a basis or of skinning modes; give one of the files");
    return missing
               ? su_fail(err, SU_USAGE, "needs a tet, a poses, a fit and a basis file; no %s file is given", missing)
               : SU_OK;
}

static su_status load_inputs(su_tool *tool, bool flesh, job *j)
{
    su_error *err = &tool->err;
    SU_TRY(sort_inputs(tool, flesh, j));
    SU_TRY(su_tet_load(j->tet_path, &j->tet, err));
    SU_TRY(su_poses_load(j->poses_path, &j->poses, err));
    if (j->basis_path) SU_TRY(su_basis_load(j->basis_path, &j->basis, err));
    if (j->skinning_path) SU_TRY(su_skinning_load(j->skinning_path, &j->skinning, err));
    SU_TRY(SU_ALLOC(&j->fits, j->fit_count, "fit files", err));
    for (int p = 0; p < j->fit_count; p++) SU_TRY(su_fit_load(j->fit_paths[p], &j->fits[p], err));
    SU_TRY(su_fit_merge(j->fit_count, j->fits, j->fit_paths, &j->fit, err));
    if (j->poses.nbar != j->tet.nbar || j->poses.m != j->fit.m || j->poses.s != j->fit.s)
        return su_fail(err, SU_INPUT,
                       "%s: has %lld skin vertices and %lld poses, %s has %lld and %s %lld; they must "
                       "belong together",
                       j->poses_path, (long long)j->poses.nbar, (long long)j->poses.m, j->tet_path,
                       (long long)j->tet.nbar, j->fit_paths[0], (long long)j->fit.m);
    return SU_OK;
}

static su_status create_space(su_tool *tool, job *j)
{
    const char *name = su_meta_text(j->fit.file.meta, "material", "neohookean");
    int material = su_material_from_name(name);
    if (material < 0) return su_fail(&tool->err, SU_INPUT, "%s: unknown material '%s'", j->fit_paths[0], name);
    bool linear = strcmp(su_meta_text(j->basis.file.meta, "interpolation", "corotated"), "linear") == 0;
    return su_pose_space_create(&j->space, &j->tet, &j->fit, &j->basis, (su_material)material,
                                linear ? SU_LINEAR : SU_COROTATED, tool->threads, &tool->err);
}

static void make_plan(su_tool *tool, const settings *set, job *j)
{
    const su_training_case of = {
        .one_basis = su_basis_is_one(&j->basis), .modes = j->basis.r, .region_modes = su_basis_region_modes(&j->basis)};
    su_training_plan *plan = &j->plan;
    *plan = su_training_plan_make(&of);
    if (set->frames > 0) plan->frames = set->frames;
    if (set->tets > 0) plan->tets = set->tets;
    if (set->vertices > 0) plan->vertices = set->vertices;
    if (set->samples > 0) plan->samples = set->samples, plan->least_samples = set->samples;
    if (set->states > 0) plan->states = set->states;
    if (set->error > 0) plan->error = set->error;
    if (set->amplitude > 0) plan->amplitude = set->amplitude;
    json_object_set_new(tool->stats, "plan", su_training_plan_json(plan));
}

static su_model_parts parts_of(su_tool *tool, const settings *set, job *j)
{
    const su_poses *poses = &j->poses;
    return (su_model_parts){
        .training = {.space = &j->space,
                     .plan = &j->plan,
                     .seed = (uint64_t)set->seed,
                     .memory = (int64_t)set->memory << 20,
                     .progress = &tool->progress},
        .poses = poses,
        .shots = {.target = {.rig = su_rig_of_poses(poses), .nbar = poses->nbar, .neutral = poses->neutral},
                  .count = set->shots.count,
                  .paths = set->shots.items},
        .basis_path = j->basis_path};
}

/* The largest displacement (m) of a flesh vertex in the states that the basis was made from; with bases a pose in the
 * samples. */
static double trained_displacement(const job *j)
{
    static const double LARGE = 0.5; /* of the largest norm of coordinates: states below that are not looked at */
    const su_basis *basis = &j->basis;
    double most = 0, largest = 0;
    if (!su_basis_is_one(basis)) return j->plan.amplitude * j->space.diagonal;
    for (int turn = 0; turn < 2; turn++)
        for (int64_t f = 0; f < basis->f; f++) {
            const double *q = basis->state_q + f * basis->r;
            double norm = 0;
            for (int64_t k = 0; k < basis->r; k++) norm += q[k] * q[k];
            if (turn == 0) largest = fmax(largest, norm);
            if (turn == 1 && norm >= LARGE * LARGE * largest) most = fmax(most, su_state_displacement(basis, q));
        }
    return most;
}

static json_t *make_meta(su_tool *tool, const settings *set, const job *j)
{
    int count = 3 + j->fit_count + set->shots.count;
    const char **paths;
    if (SU_ALLOC(&paths, count, "file names", &tool->err) != SU_OK) return NULL;
    paths[0] = j->tet_path, paths[1] = j->poses_path, paths[2] = j->basis_path;
    for (int p = 0; p < j->fit_count; p++) paths[3 + p] = j->fit_paths[p];
    for (int p = 0; p < set->shots.count; p++) paths[3 + j->fit_count + p] = set->shots.items[p];
    json_t *meta = su_tool_meta(tool, "supple.model", 2, paths, count);
    free(paths);
    if (meta) json_object_set_new(meta, "trained_displacement", json_real(trained_displacement(j)));
    return meta;
}

/* What the motion said of each number of tets. */
static void report_motion(su_tool *tool, const job *j)
{
    const su_model_training *t = &j->training;
    if (t->tries == 0) return;
    for (int k = 0; k < t->tries; k++) {
        const su_motion_error *e = &t->tried[k].motion;
        su_detail(tool,
                  "%lld tets: %.2f %% off in motion, over %lld frames; %lld steps halved, %lld damped, %lld failed",
                  (long long)t->tried[k].tets, 100 * e->error, (long long)e->frames, (long long)e->halved,
                  (long long)e->damped, (long long)e->failed);
    }
    double error = su_meta_number(t->model.file.meta, "motion_error", 0);
    if (error > j->plan.motion_warning)
        su_warn(tool,
                "the model is %.0f %% off the motion that it was made from: more modes (-r of modes) or tets (--tets) "
                "would help",
                100 * fmin(error, 0.99));
    su_stats_number(tool, "motion_error", error);
    su_stats_stage(tool, "motion", t->seconds_motion);
    if (json_object_get(t->model.file.meta, "motion_error")) /* not where that was in contact with itself */
        su_note(tool, "%.2f %% off the full space in the motion that it was made from", 100 * fmin(error, 1e4));
}

static void report_place(su_tool *tool, const job *j, int64_t a)
{
    const su_training_places *places = &j->training.places;
    const su_error_pair *tets = &j->training.cubature.tets.errors[a],
                        *vertices = &j->training.cubature.vertices.errors[a];
    bool pose = a < j->fit.m;
    su_detail(tool, "%s %lld: elastic error mean %.2f %%, rms %.2f %%; inertial mean %.2f %%, rms %.2f %%",
              pose ? "pose" : "frame", (long long)(pose ? a : places->frame[a]), 100 * tets->mean, 100 * tets->rms,
              100 * vertices->mean, 100 * vertices->rms);
}

static void report(su_tool *tool, const settings *set, const job *j)
{
    const su_cubature *c = &j->training.cubature;
    const su_point_set *tets = &c->tets, *vertices = &c->vertices;
    json_t *curve = json_array();
    for (int k = 0; k < tets->curve_count; k++)
        json_array_append_new(
            curve, json_pack("{s:I, s:f}", "tets", (json_int_t)tets->curve[k].count, "error", tets->curve[k].error));
    json_object_set_new(tool->stats, "curve", curve);
    su_stats_integer(tool, "places", c->places);
    su_stats_integer(tool, "cubature_tets", tets->count);
    su_stats_integer(tool, "inertia_vertices", vertices->count);
    su_stats_integer(tool, "candidates", tets->candidates);
    su_stats_integer(tool, "samples", c->samples);
    su_stats_number(tool, "training_error", tets->worst);
    su_stats_number(tool, "training_error_inertia", vertices->worst);
    if (c->linear) {
        su_stats_number(tool, "stiffest", c->stiffest);
        su_stats_number(tool, "force_error_unfitted", j->training.linear_error.before);
        su_stats_number(tool, "force_error", j->training.linear_error.after);
    }
    if (json_object_get(j->training.model.file.meta, "contact_softness"))
        su_stats_number(tool, "contact_softness", su_model_contact_softness(&j->training.model));
    su_stats_stage(tool, "vertex_rows", vertices->seconds_rows);
    su_stats_stage(tool, "rows", tets->seconds_rows);
    su_stats_stage(tool, "tets", tets->seconds_choice);
    su_stats_stage(tool, "vertices", vertices->seconds_choice);
    for (int64_t a = 0; a < c->places; a++) report_place(tool, j, a);
    if (set->tets == 0 && !c->linear && tets->worst > WARN_ABOVE * j->plan.error)
        su_warn(
            tool,
            "forces are met to %.2f %% with %lld tets, not to the %.2f %% asked for; fewer modes (-r of supple modes), "
            "example poses nearer to each other (supple bake --poses auto) or --tets %lld help",
            100 * tets->worst, (long long)tets->count, 100 * j->plan.error, (long long)(2 * tets->count));
    if (set->vertices == 0 && !c->linear && vertices->worst > WARN_ABOVE * j->plan.error)
        su_warn(
            tool, "inertia is met to %.2f %% with %lld vertices, not to the %.2f %% asked for; --vertices %lld helps",
            100 * vertices->worst, (long long)vertices->count, 100 * j->plan.error, (long long)(2 * vertices->count));
    su_note(tool, "%lld of %lld tets, training error %.2f %%; %lld of %lld vertices, %.2f %%", (long long)tets->count,
            (long long)j->tet.t, 100 * tets->worst, (long long)vertices->count, (long long)j->tet.n,
            100 * vertices->worst);
}

static su_status check_fresh(su_tool *tool, const su_model_parts *parts, int64_t samples, const job *j)
{
    su_fresh_errors errors[SU_FRESH_SIZES];
    SU_TRY(su_model_check(parts, samples, &j->training.cubature, errors, &tool->err));
    json_t *list = json_array();
    for (int k = 0; k < SU_FRESH_SIZES; k++) {
        const su_fresh_errors *e = &errors[k];
        su_note(tool,
                "fresh samples at %.1f x amplitude: elastic mean error up to %.2f %% at poses, %.2f %% anywhere; "
                "inertial %.2f %%, %.2f %%",
                e->factor, 100 * e->tets_at_poses, 100 * e->tets, 100 * e->vertices_at_poses, 100 * e->vertices);
        json_array_append_new(list, json_pack("{s:f, s:f, s:f, s:f, s:f}", "factor", e->factor, "elastic_poses",
                                              e->tets_at_poses, "elastic", e->tets, "inertia_poses",
                                              e->vertices_at_poses, "inertia", e->vertices));
    }
    json_object_set_new(tool->stats, "fresh", list);
    return SU_OK;
}

/* The model without modes. */
static su_status save_flesh(su_tool *tool, const job *j)
{
    su_model model;
    const char *paths[] = {j->tet_path, j->poses_path, j->fit_paths[0]};
    json_t *meta = su_tool_meta(tool, su_model_schema.kind, su_model_schema.version, paths, 3);
    if (!meta) return tool->err.status ? tool->err.status : su_fail(&tool->err, SU_AGAIN, "not enough memory");
    su_status status = su_model_of_flesh(&j->tet, &j->poses, &j->fit, &model, &tool->err);
    model.file.meta = meta;
    su_model_carry_meta(j->fit.file.meta, NULL, meta);
    if (status == SU_OK) status = su_model_save(tool->output, &model, &tool->err);
    su_model_free(&model);
    return status;
}

static su_status run(su_tool *tool, const settings *set)
{
    su_status status;
    su_error *err = &tool->err;
    job j = {0};
    json_t *meta = NULL;
    double started = su_seconds();
    SU_GO(load_inputs(tool, set->flesh, &j));
    if (set->flesh) {
        status = tool->dry_run ? SU_OK : save_flesh(tool, &j);
        goto done;
    }
    if (j.skinning_path) {
        status = skinning_save(tool, set, &j);
        goto done;
    }
    if (set->check > 0 && su_basis_is_one(&j.basis)) {
        status = su_fail(err, SU_USAGE, "--check goes with bases a pose: a model of one basis is judged by its motion");
        goto done;
    }
    SU_GO(create_space(tool, &j));
    make_plan(tool, set, &j);
    const su_model_parts parts = parts_of(tool, set, &j);
    SU_GO(su_model_training_create(&parts, &j.training, err));
    su_stats_stage(tool, "places", su_seconds() - started);
    if (tool->dry_run) goto done;
    meta = make_meta(tool, set, &j);
    if (!meta) {
        status = err->status;
        goto done;
    }
    SU_GO(su_model_train(&parts, set->tets > 0, meta, &j.training, err));
    report_motion(tool, &j);
    report(tool, set, &j);
    SU_GO(su_model_save(tool->output, &j.training.model, err));
    if (set->check > 0) SU_GO(check_fresh(tool, &parts, set->check, &j));
    su_progress_finish(&tool->progress);
done:
    json_decref(meta);
    job_free(&j);
    return status;
}

/* What is asked for; holds the defaults until the command line is read. */
static settings set = {.seed = 1, .memory = 1024, .clusters = 100};

static const su_option options[] = {
    {.name = "error",
     .kind = SU_OPT_NUMBER,
     .target = &set.error,
     .argument = "SHARE",
     .low = 1e-4,
     .high = 0.5,
     .help = "rms training error that both sets must reach with as few points as they can (default: 1.25%)."},
    {.name = "tets",
     .kind = SU_OPT_INT,
     .target = &set.tets,
     .argument = "N",
     .low = 0,
     .high = 100000,
     .help = "so many cubature tets (default: 0, with one basis three a mode, and more where the motion asks for "
             "it; else by error)."},
    {.name = "vertices",
     .kind = SU_OPT_INT,
     .target = &set.vertices,
     .argument = "N",
     .low = 0,
     .high = 100000,
     .help = "so many inertia vertices (default: 0, with one basis three a mode, else by error)."},
    {.name = "shots",
     .kind = SU_OPT_LIST,
     .target = &set.shots,
     .argument = "ANIM",
     .greedy = true,
     .help = "shots to be baked: their motion and poses enter the training. With one basis: those that it was made "
             "from, in the same "
             "order, the motion first."},
    {.name = "frames",
     .kind = SU_OPT_INT,
     .target = &set.frames,
     .argument = "N",
     .low = 1,
     .high = 1000,
     .help = "frames of the shots to train at (default: 12)."},
    {.name = "samples",
     .kind = SU_OPT_INT,
     .target = &set.samples,
     .argument = "N",
     .low = 0,
     .high = 10000,
     .help = "sample states at each example pose (default: 0, by the number of modes and the memory)."},
    {.name = "states",
     .kind = SU_OPT_INT,
     .target = &set.states,
     .argument = "N",
     .low = 1,
     .high = 10000,
     .help = "with one basis for all poses, frames of its motion to train at (default: 48)."},
    {.name = "amplitude",
     .kind = SU_OPT_NUMBER,
     .target = &set.amplitude,
     .argument = "SHARE",
     .low = 1e-4,
     .high = 1,
     .help = "largest motion of the samples over the flesh diagonal (default: 0.05)."},
    {.name = "seed",
     .kind = SU_OPT_INT,
     .target = &set.seed,
     .argument = "N",
     .low = 0,
     .high = 2147483647,
     .help = "of the random samples (default: 1)."},
    {.name = "memory",
     .kind = SU_OPT_INT,
     .target = &set.memory,
     .argument = "MB",
     .low = 16,
     .high = 1000000,
     .help = "that the stored samples may take; fewer candidates or samples where it is short (default: 1024)."},
    {.name = "flesh",
     .kind = SU_OPT_FLAG,
     .target = &set.flesh,
     .help = "no BASIS: a model without modes, which full simulations (supple fullsim) are exported with."},
    {.name = "clusters",
     .kind = SU_OPT_INT,
     .target = &set.clusters,
     .argument = "N",
     .low = 1,
     .high = 100000,
     .help = "with SKINNING: means that the tets are sorted by; those in several pieces become one cluster each "
             "(default: 100)."},
    {.name = "as-fitted",
     .kind = SU_OPT_FLAG,
     .target = &set.as_fitted,
     .help = "with SKINNING: Young's moduli as they are in FIT. Without, all are multiplied so that the lowest mode "
             "of the model swings as the fit says (supple fit --frequency): what the rig leaves "
             "to the flesh is stiffer than the whole."},
    {.name = "rest",
     .kind = SU_OPT_CHOICE,
     .target = &set.rest,
     .argument = "REST",
     .choices = REST_NAMES,
     .help = "with SKINNING, what flesh wants to go back to: turned, the pose as the rig has it, so that still poses "
             "are left alone; neutral, its neutral shape, so that it feels how the rig strains it and keeps its "
             "volume (default: turned)."},
    {.name = "check",
     .kind = SU_OPT_INT,
     .target = &set.check,
     .argument = "N",
     .low = 0,
     .high = 10000,
     .help = "with bases a pose, also print errors on N fresh samples a place, among them frames that nobody "
             "trained at "
             "(default: 0)."},
};

static const su_program program = {
    .name = "supple-cubature",
    .summary = "train the few tets and vertices that stand for all, and write the model",
    .usage = "TET POSES FIT... BASIS [--shots ANIM...] -o MODEL, TET POSES FIT SKINNING [--clusters N] -o MODEL, "
             "or --flesh TET POSES FIT -o "
             "MODEL",
    .description = "Chooses one set of tets whose weighted forces stand for those of all, and vertices that "
                   "reproduce inertial forces. "
                   "With one basis for all poses the tets are trained on the states that it was made from (--shots "
                   "then names the "
                   "same shots, the motion first), for what is not linear in the force; with bases a pose on "
                   "random states at the poses "
                   "and between them, with weights for each. The model holds all that sim and export need.",
    .example =
        "supple cubature fox.tet.npz fox.poses.npz fox.fit.npz fox.basis.npz --shots *.anim.npz -o fox.model.npz",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .min_inputs = 3,
    .max_inputs = -1,
    .needs_output = true,
};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, run(&tool, &set));
}
