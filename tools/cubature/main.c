/* supple cubature: few tets and vertices that stand for all, and the model that the run time needs (PSSD 5.3, 5.4). */
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/tool.h"
#include "reduce/cubature/cubature.h"
#include "reduce/cubature/model_build.h"
#include "reduce/cubature/motion_check.h"
#include "reduce/modes/parts.h"
#include "reduce/cubature/training_places.h"
#include "reduce/cubature/training_states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frames of the motion that one basis for all poses is trained at, elastic forces and inertia. */
enum { STATE_PLACES = 48 };

/* A model farther off than this in the motion that it was made from gets half as many tets more, while that takes a
 * tenth off, twice at most; one that stays beyond the second bound is warned of. */
#define MOTION_BOUND 0.05
#define MOTION_FAR 0.1
#define MORE_TETS 1.5
#define WORTH 0.9
enum { MOST_TURNS = 2 };

/* A training error above this many times the bound is told of. */
#define WARN_ABOVE 1.05

typedef struct settings {
    su_cubature_settings train;
    int tets, vertices, samples, states, seed, frames, memory, check;
    su_list shots;
} settings;

typedef struct job {
    const char *tet_path, *poses_path, *basis_path, **fit_paths;
    int fit_count;
    su_tet tet;
    su_poses poses;
    su_fit *fits, fit;
    su_basis basis;
    su_pose_space space;
    su_training_places places, more; /* more: beyond the places, where vertices alone are trained */
    su_chosen_states states;
    su_cubature cubature;
    su_model model;
} job;

static void job_free(job *j)
{
    su_chosen_states_free(&j->states);
    su_model_free(&j->model);
    su_cubature_free(&j->cubature);
    su_training_places_free(&j->places);
    su_training_places_free(&j->more);
    su_pose_space_free(&j->space);
    su_basis_free(&j->basis);
    su_fit_free(&j->fit);
    for (int p = 0; j->fits && p < j->fit_count; p++) su_fit_free(&j->fits[p]);
    free(j->fits), free(j->fit_paths);
    su_poses_free(&j->poses);
    su_tet_free(&j->tet);
}

static su_status sort_inputs(su_tool *tool, job *j)
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
        if (strcmp(kind, "supple.fit") == 0)
            j->fit_paths[j->fit_count++] = path;
        else if (!single)
            return su_fail(err, SU_INPUT, "%s: is not a tet, poses, fit or basis file (kind '%s')", path, kind);
        else if (*single)
            return su_fail(err, SU_USAGE, "%s: a second %s file; give one", path, kind + strlen("supple."));
        else
            *single = path;
    }
    const char *missing = !j->tet_path     ? "tet"
                          : !j->poses_path ? "poses"
                          : !j->fit_count  ? "fit"
                          : !j->basis_path ? "basis"
                                           : NULL;
    return missing
               ? su_fail(err, SU_USAGE, "needs a tet, a poses, a fit and a basis file; no %s file is given", missing)
               : SU_OK;
}

static su_status load_inputs(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    SU_TRY(sort_inputs(tool, j));
    SU_TRY(su_tet_load(j->tet_path, &j->tet, err));
    SU_TRY(su_poses_load(j->poses_path, &j->poses, err));
    SU_TRY(su_basis_load(j->basis_path, &j->basis, err));
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

static json_t *error_list(int64_t m, const su_error_pair *errors)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < m; i++)
        json_array_append_new(list, json_pack("{s:f, s:f}", "mean", errors[i].mean, "rms", errors[i].rms));
    return list;
}

static double coordinates_norm(const su_basis *basis, int64_t state)
{
    double sum = 0;
    for (int64_t k = 0; k < basis->r; k++)
        sum += basis->state_q[state * basis->r + k] * basis->state_q[state * basis->r + k];
    return sqrt(sum);
}

/* The largest displacement (m) of a flesh vertex in the states that the basis was made from, looked for in those of the
 * largest coordinates; with bases a pose in the samples. */
static su_status trained_displacement(const settings *set, const job *j, double *most, su_error *err)
{
    static const double LARGE = 0.5; /* of the largest norm of coordinates */
    const su_basis *basis = &j->basis;
    int64_t n3 = 3 * basis->n;
    double largest = 0, square = 0, *u;
    *most = set->train.amplitude * j->space.diagonal;
    if (!set->train.states) return SU_OK;
    SU_TRY(SU_ALLOC(&u, n3, "displacements", err));
    for (int64_t f = 0; f < basis->f; f++) largest = fmax(largest, coordinates_norm(basis, f));
    for (int64_t f = 0; f < basis->f; f++) {
        if (coordinates_norm(basis, f) < LARGE * largest) continue;
        memset(u, 0, (size_t)n3 * sizeof *u);
        for (int64_t k = 0; k < basis->r; k++)
            for (int64_t i = 0; i < n3; i++) u[i] += basis->state_q[f * basis->r + k] * basis->basis[k * n3 + i];
        for (int64_t i = 0; i < n3; i += 3) /* turns with the pose do not change its length */
            square = fmax(square, u[i] * u[i] + u[i + 1] * u[i + 1] + u[i + 2] * u[i + 2]);
    }
    free(u);
    *most = sqrt(square);
    return SU_OK;
}

static su_status make_meta(su_tool *tool, const settings *set, job *j)
{
    int count = 3 + j->fit_count + set->shots.count;
    const char **paths;
    double trained;
    SU_TRY(trained_displacement(set, j, &trained, &tool->err));
    SU_TRY(SU_ALLOC(&paths, count, "file names", &tool->err));
    paths[0] = j->tet_path, paths[1] = j->poses_path, paths[2] = j->basis_path;
    for (int p = 0; p < j->fit_count; p++) paths[3 + p] = j->fit_paths[p];
    for (int p = 0; p < set->shots.count; p++) paths[3 + j->fit_count + p] = set->shots.items[p];
    json_t *meta = su_tool_meta(tool, "supple.model", 2, paths, count);
    free(paths);
    if (!meta) return tool->err.status;
    j->model.file.meta = meta;
    static const char *const carried[] = {"material", "rest",    "frequency",  "young",
                                          "poisson",  "density", "param_names"};
    for (size_t k = 0; k < sizeof carried / sizeof *carried; k++) {
        json_t *value = json_object_get(j->fit.file.meta, carried[k]);
        if (value) json_object_set(meta, carried[k], value);
    }
    static const char *const of_basis[] = {"interpolation", "subspace", "linear_modes", "gravity", "gravity_mode"};
    for (size_t k = 0; k < sizeof of_basis / sizeof *of_basis; k++) {
        json_t *value = json_object_get(j->basis.file.meta, of_basis[k]);
        if (value) json_object_set(meta, of_basis[k], value);
    }
    json_object_set_new(meta, "trained_displacement", json_real(trained));
    json_object_set_new(meta, "sample_amplitude", json_real(set->train.amplitude));
    json_object_set_new(meta, "samples", json_integer(j->cubature.samples));
    json_object_set_new(meta, "seed", json_integer(set->seed));
    if (j->cubature.linear) {
        json_object_set_new(meta, "training_error", json_real(j->cubature.tet_worst));
        json_object_set_new(meta, "training_error_inertia", json_real(j->cubature.vertex_worst));
    } else {
        json_object_set_new(meta, "training_error", error_list(j->fit.m, j->cubature.tet_errors));
        json_object_set_new(meta, "training_error_inertia", error_list(j->fit.m, j->cubature.vertex_errors));
    }
    return SU_OK;
}

static void report(su_tool *tool, const settings *set, const job *j)
{
    const su_cubature *c = &j->cubature;
    json_t *curve = json_array();
    for (int k = 0; k < c->curve_count; k++)
        json_array_append_new(
            curve, json_pack("{s:I, s:f}", "tets", (json_int_t)c->curve[k].count, "error", c->curve[k].error));
    json_object_set_new(tool->stats, "curve", curve);
    su_stats_integer(tool, "places", c->places);
    su_stats_integer(tool, "cubature_tets", c->tet_count);
    su_stats_integer(tool, "inertia_vertices", c->vertex_count);
    su_stats_integer(tool, "candidates", c->candidates);
    su_stats_integer(tool, "samples", c->samples);
    su_stats_number(tool, "training_error", c->tet_worst);
    su_stats_number(tool, "training_error_inertia", c->vertex_worst);
    if (c->linear) su_stats_number(tool, "stiffest", c->stiffest);
    su_stats_stage(tool, "vertex_rows", c->seconds_vertex_rows);
    su_stats_stage(tool, "rows", c->seconds_rows);
    su_stats_stage(tool, "tets", c->seconds_tets);
    su_stats_stage(tool, "vertices", c->seconds_vertices);
    for (int64_t a = 0; a < c->places; a++)
        su_detail(tool, "%s %lld: elastic error mean %.2f %%, rms %.2f %%; inertial mean %.2f %%, rms %.2f %%",
                  a < j->fit.m            ? "pose"
                  : j->places.shot[a] < 0 ? "edge middle"
                                          : "frame",
                  (long long)(a < j->fit.m            ? a
                              : j->places.shot[a] < 0 ? a - j->fit.m + 1
                                                      : j->places.frame[a]),
                  100 * c->tet_errors[a].mean, 100 * c->tet_errors[a].rms, 100 * c->vertex_errors[a].mean,
                  100 * c->vertex_errors[a].rms);
    if (set->tets == 0 && !c->linear && c->tet_worst > WARN_ABOVE * set->train.error)
        su_warn(
            tool,
            "forces are met to %.2f %% with %lld tets, not to the %.2f %% asked for; fewer modes (-r of supple modes), "
            "example poses nearer to each other (supple bake --poses auto) or --tets %lld help",
            100 * c->tet_worst, (long long)c->tet_count, 100 * set->train.error, (long long)(2 * c->tet_count));
    if (set->vertices == 0 && !c->linear && c->vertex_worst > WARN_ABOVE * set->train.error)
        su_warn(tool,
                "inertia is met to %.2f %% with %lld vertices, not to the %.2f %% asked for; --vertices %lld helps",
                100 * c->vertex_worst, (long long)c->vertex_count, 100 * set->train.error,
                (long long)(2 * c->vertex_count));
    su_note(tool, "%lld of %lld tets, training error %.2f %%; %lld of %lld vertices, %.2f %%", (long long)c->tet_count,
            (long long)j->tet.t, 100 * c->tet_worst, (long long)c->vertex_count, (long long)j->tet.n,
            100 * c->vertex_worst);
}

/* Errors on samples that nobody trained on, at three amplitudes; with shots, at five times as many frames, most of
 * which nothing was trained at. */
static su_status check_fresh(su_tool *tool, const settings *set, const su_shot_target *target, job *j)
{
    su_training_places_free(&j->places);
    SU_TRY(su_training_places_create(&j->space, target, set->shots.count, set->shots.items, 5 * set->frames, &j->places,
                                     &tool->err));
    int64_t count = j->places.count;
    su_error_pair *errors;
    SU_TRY(SU_ALLOC(&errors, 2 * count, "errors", &tool->err));
    json_t *list = json_array();
    su_status status = SU_OK;
    for (int k = 0; k < 3 && status == SU_OK; k++) {
        double factor = 0.5 * (k + 1), worst[2] = {0, 0}, at_poses[2] = {0, 0};
        status = su_cubature_check(&j->space, &j->places, &j->cubature, set->check, factor * set->train.amplitude,
                                   (uint64_t)set->seed + 0x5eed, errors, errors + count, &tool->err);
        for (int64_t a = 0; a < count && status == SU_OK; a++)
            for (int i = 0; i < 2; i++) {
                double e = errors[i * count + a].mean;
                if (e > worst[i]) worst[i] = e;
                if (a < j->fit.m && e > at_poses[i]) at_poses[i] = e;
            }
        if (status != SU_OK) break;
        su_note(tool,
                "fresh samples at %.1f x amplitude: elastic mean error up to %.2f %% at poses, %.2f %% anywhere; "
                "inertial %.2f %%, %.2f %%",
                factor, 100 * at_poses[0], 100 * worst[0], 100 * at_poses[1], 100 * worst[1]);
        json_array_append_new(list,
                              json_pack("{s:f, s:f, s:f, s:f, s:f}", "factor", factor, "elastic_poses", at_poses[0],
                                        "elastic", worst[0], "inertia_poses", at_poses[1], "inertia", worst[1]));
    }
    json_object_set_new(tool->stats, "fresh", list);
    free(errors);
    if (status != SU_OK || j->places.edges == 0) return status;
    double middles[2];
    SU_TRY(su_cubature_retrain(&j->space, &j->places, &j->cubature, j->cubature.samples, set->check,
                               set->train.amplitude, (uint64_t)set->seed + 0x5eed, middles, &tool->err));
    su_note(tool,
            "at the %lld middles between poses: %.2f %% with interpolated weights, %.2f %% with weights fitted there",
            (long long)j->places.edges, 100 * middles[0], 100 * middles[1]);
    json_object_set_new(tool->stats, "middles",
                        json_pack("{s:f, s:f}", "interpolated", middles[0], "retrained", middles[1]));
    return SU_OK;
}

/* Frames of the shots; inertia differs more from frame to frame than forces do, and its rows cost less: more frames for
 * it, more of them with few modes. */
static su_status place_shots(const settings *set, const su_shot_target *target, job *j, su_error *err)
{
    int frames = set->frames * (j->basis.r <= 60 ? 3 : 2);
    SU_TRY(
        su_training_places_create(&j->space, target, set->shots.count, set->shots.items, set->frames, &j->places, err));
    return su_training_places_create(&j->space, target, set->shots.count, set->shots.items, frames, &j->more, err);
}

/* Frames of the states that one basis was made from; its shots must be those given. */
static su_status place_states(settings *set, const su_shot_target *target, job *j, su_error *err)
{
    const json_t *names = json_object_get(j->basis.file.meta, "shots");
    int count = (int)json_array_size(names);
    if (count != set->shots.count)
        return su_fail(err, SU_USAGE, "%s: was made from %d shots, --shots names %d; give the same, the motion first",
                       j->basis_path, count, set->shots.count);
    for (int k = 0; k < count; k++) {
        const char *wanted = json_string_value(json_array_get(names, (size_t)k));
        if (!wanted || strcmp(wanted, su_base_name(set->shots.items[k])) != 0)
            return su_fail(err, SU_USAGE,
                           "%s: shot %d of the basis is '%s'; --shots must name the same in the same order",
                           set->shots.items[k], k + 1, wanted ? wanted : "");
    }
    SU_TRY(su_choose_states(&j->basis, (int)su_meta_number(j->basis.file.meta, "motions", count), j->space.diagonal,
                            set->states, &j->states, err));
    set->train.states = &j->states.states;
    for (int64_t a = 0; a < j->states.places; a++)
        if (j->states.shot[a] < 0 || j->states.shot[a] >= count)
            return su_fail(err, SU_INPUT, "%s: a state of shot %d", j->basis_path, j->states.shot[a]);
    SU_TRY(su_training_places_at(&j->space, target, count, set->shots.items, j->states.places, j->states.shot,
                                 j->states.frame, &j->places, err));
    return su_training_places_at(&j->space, target, count, set->shots.items, j->states.places, j->states.shot,
                                 j->states.frame, &j->more, err);
}

/* Error of the model in the first shot of its basis, into meta. */
static su_status judge(su_tool *tool, const settings *set, job *j, const su_anim *anim, su_motion_error *error)
{
    SU_TRY(su_motion_check(&j->model, &j->basis, 0, anim, set->shots.items[0], tool->threads, error, &tool->err));
    su_detail(tool, "%lld tets: %.2f %% off in motion, over %lld frames; %lld steps halved, %lld damped, %lld failed",
              (long long)j->cubature.tet_count, 100 * error->error, (long long)error->frames, (long long)error->halved,
              (long long)error->damped, (long long)error->failed);
    return SU_OK;
}

/* Steps the model through the motion that it was made from. Where it is far off more tets are tried, while they help.
 */
static su_status judge_by_motion(su_tool *tool, settings *set, job *j)
{
    su_error *err = &tool->err;
    su_anim anim = {0};
    su_motion_error error;
    double started = su_seconds();
    su_status status;
    SU_GO(su_anim_load(set->shots.items[0], &anim, err));
    SU_GO(judge(tool, set, j, &anim, &error));
    for (int turn = 0; turn < MOST_TURNS && error.error > MOTION_BOUND && set->tets == 0 && error.frames > 0; turn++) {
        su_motion_error before = error;
        SU_GO(su_cubature_train_tets(&j->space, &j->places, &set->train,
                                     (int64_t)(MORE_TETS * (double)j->cubature.tet_count), &j->cubature, err));
        su_model_free(&j->model);
        SU_GO(su_model_build(&j->space, &j->poses, &j->cubature, &j->model, err));
        SU_GO(make_meta(tool, set, j));
        SU_GO(judge(tool, set, j, &anim, &error));
        if (error.error > WORTH * before.error) break;
    }
    if (error.error > MOTION_FAR)
        su_warn(tool,
                "the model is %.0f %% off the motion that it was made from: more modes (-r of modes) or tets (--tets) "
                "would help",
                100 * fmin(error.error, 99));
    json_object_set_new(j->model.file.meta, "motion_error", json_real(fmin(error.error, 1e6)));
    su_stats_number(tool, "motion_error", fmin(error.error, 1e6));
    su_stats_stage(tool, "motion", su_seconds() - started);
    su_note(tool, "%.2f %% off the full space in the motion that it was made from", 100 * fmin(error.error, 1e4));
done:
    su_anim_free(&anim);
    return status;
}

static su_status run(su_tool *tool, settings *set)
{
    su_status status;
    su_error *err = &tool->err;
    job j = {0};
    double started = su_seconds();
    SU_GO(load_inputs(tool, &j));
    int material = su_material_from_name(su_meta_text(j.fit.file.meta, "material", "neohookean"));
    if (material < 0) {
        status = su_fail(err, SU_INPUT, "%s: unknown material '%s'", j.fit_paths[0],
                         su_meta_text(j.fit.file.meta, "material", ""));
        goto done;
    }
    bool linear = strcmp(su_meta_text(j.basis.file.meta, "interpolation", "corotated"), "linear") == 0;
    SU_GO(su_pose_space_create(&j.space, &j.tet, &j.fit, &j.basis, (su_material)material,
                               linear ? SU_LINEAR : SU_COROTATED, tool->threads, err));
    su_shot_target target = {.rig = su_rig_of_poses(&j.poses), .nbar = j.poses.nbar, .neutral = j.poses.neutral};
    const bool one = strcmp(su_meta_text(j.basis.file.meta, "subspace", "poses"), "one") == 0;
    SU_GO(one ? place_states(set, &target, &j, err) : place_shots(set, &target, &j, err));
    su_stats_stage(tool, "places", su_seconds() - started);
    set->train.tets = set->tets, set->train.vertices = set->vertices, set->train.samples = set->samples;
    set->train.seed = (uint64_t)set->seed, set->train.memory = (int64_t)set->memory << 20;
    set->train.progress = &tool->progress;
    if (tool->dry_run) goto done;
    SU_GO(su_cubature_train(&j.space, &j.places, &j.more, &set->train, &j.cubature, err));
    SU_GO(su_model_build(&j.space, &j.poses, &j.cubature, &j.model, err));
    SU_GO(make_meta(tool, set, &j));
    if (one) SU_GO(judge_by_motion(tool, set, &j));
    report(tool, set, &j);
    SU_GO(su_model_save(tool->output, &j.model, err));
    if (set->check > 0) SU_GO(check_fresh(tool, set, &target, &j));
    su_progress_finish(&tool->progress);
done:
    job_free(&j);
    return status;
}

int main(int argc, char **argv)
{
    settings set = {.train = su_cubature_defaults(), .seed = 1, .frames = 12, .states = STATE_PLACES, .memory = 1024};
    const su_option options[] = {
        {.name = "error",
         .kind = SU_OPT_NUMBER,
         .target = &set.train.error,
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
         .target = &set.train.amplitude,
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
        {.name = "check",
         .kind = SU_OPT_INT,
         .target = &set.check,
         .argument = "N",
         .low = 0,
         .high = 10000,
         .help =
             "also print errors on N fresh samples a place, among them frames that nobody trained at (default: 0)."},
    };
    const su_program program = {
        .name = "supple-cubature",
        .summary = "train the few tets and vertices that stand for all, and write the model",
        .usage = "TET POSES FIT... BASIS [--shots ANIM...] -o MODEL",
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
        .min_inputs = 4,
        .max_inputs = -1,
        .needs_output = true,
    };
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, run(&tool, &set));
}
