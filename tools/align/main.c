/* supple align: bases of the example poses made comparable, ready to be interpolated (PSSD section 5.1). */
#include "core/choice.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/tool.h"
#include "geometry/rotation_field.h"
#include "geometry/tetmesh.h"
#include "io/stage/basis.h"
#include "io/stage/clip_frame.h"
#include "io/stage/tet.h"
#include "reduce/align/align.h"
#include "reduce/modes/global_basis.h"
#include "reduce/modes/parts.h"
#include "reduce/cubature/stiffening.h"
#include "reduce/cubature/training_places.h"
#include "rig/rbf.h"
#include "rig/rbf_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stiffening between poses above this is warned of: half of the motion is gone. */
#define FAR_TOO_STIFF 0.5

typedef struct settings {
    int interpolation, frames, suggest, pca;
    bool measure, recompute;
    double bound;
    su_list shots;
} settings;

/* Input files by kind; the order on the command line is free. */
typedef struct inputs {
    const char *tet_path;
    const char **fit_paths, **modes_paths;
    int fit_count, modes_count;
    su_tet tet;
    su_fit *fits, fit;
    su_modes *modes;
    su_pose_source *sources; /* (m) of the modes */
} inputs;

static void inputs_free(inputs *in)
{
    su_tet_free(&in->tet);
    for (int p = 0; in->fits && p < in->fit_count; p++) su_fit_free(&in->fits[p]);
    for (int p = 0; in->modes && p < in->modes_count; p++) su_modes_free(&in->modes[p]);
    su_fit_free(&in->fit);
    free(in->fits), free(in->modes), free(in->sources);
    free(in->fit_paths), free(in->modes_paths);
}

static su_status sort_inputs(su_tool *tool, inputs *in)
{
    su_error *err = &tool->err;
    int count = tool->inputs.count;
    SU_TRY(SU_ALLOC(&in->fit_paths, count, "file names", err));
    SU_TRY(SU_ALLOC(&in->modes_paths, count, "file names", err));
    for (int i = 0; i < count; i++) {
        const char *path = tool->inputs.items[i], *kind;
        su_npz *file;
        SU_TRY(su_npz_open(path, &file, err));
        kind = su_meta_text(su_npz_meta(file), "kind", "");
        bool tet = strcmp(kind, "supple.tet") == 0, fit = strcmp(kind, "supple.fit") == 0,
             modes = strcmp(kind, "supple.modes") == 0;
        su_status status = SU_OK;
        if (tet && in->tet_path) status = su_fail(err, SU_USAGE, "%s: a second tet file; give one", path);
        if (!tet && !fit && !modes)
            status = su_fail(err, SU_INPUT, "%s: is not a tet, fit or modes file (kind '%s')", path, kind);
        su_npz_close(file);
        SU_TRY(status);
        if (tet) in->tet_path = path;
        if (fit) in->fit_paths[in->fit_count++] = path;
        if (modes) in->modes_paths[in->modes_count++] = path;
    }
    if (!in->tet_path || !in->fit_count || !in->modes_count)
        return su_fail(err, SU_USAGE, "needs a tet file, fit files and modes files; no %s file is given",
                       !in->tet_path    ? "tet"
                       : !in->fit_count ? "fit"
                                        : "modes");
    return SU_OK;
}

static su_status load_inputs(su_tool *tool, inputs *in)
{
    su_error *err = &tool->err;
    SU_TRY(sort_inputs(tool, in));
    SU_TRY(su_tet_load(in->tet_path, &in->tet, err));
    SU_TRY(SU_ALLOC(&in->fits, in->fit_count, "fit files", err));
    SU_TRY(SU_ALLOC(&in->modes, in->modes_count, "modes files", err));
    for (int p = 0; p < in->fit_count; p++) {
        SU_TRY(su_fit_load(in->fit_paths[p], &in->fits[p], err));
        if (in->fits[p].n != in->tet.n || in->fits[p].t != in->tet.t)
            return su_fail(err, SU_INPUT, "%s: has %lld vertices and %lld tets, %s has %lld and %lld", in->fit_paths[p],
                           (long long)in->fits[p].n, (long long)in->fits[p].t, in->tet_path, (long long)in->tet.n,
                           (long long)in->tet.t);
    }
    SU_TRY(su_fit_merge(in->fit_count, in->fits, in->fit_paths, &in->fit, err));
    for (int p = 0; p < in->modes_count; p++) {
        SU_TRY(su_modes_load(in->modes_paths[p], &in->modes[p], err));
        if (in->modes[p].n != in->tet.n)
            return su_fail(err, SU_INPUT, "%s: has %lld flesh vertices, %s has %lld", in->modes_paths[p],
                           (long long)in->modes[p].n, in->tet_path, (long long)in->tet.n);
    }
    SU_TRY(su_modes_agree(in->modes_count, in->modes, in->modes_paths, err));
    SU_TRY(SU_ALLOC(&in->sources, in->fit.m, "poses", err));
    return su_modes_sources(in->modes_count, in->modes, in->modes_paths, in->fit.m, in->sources, err);
}

static su_status rotations_of(const inputs *in, double *rotations, int threads, su_error *err)
{
    su_rotation_field *field;
    su_smoothing smoothing = su_fit_smoothing(&in->fit);
    SU_TRY(su_rotation_field_create(&(su_tet_mesh){in->tet.n, in->tet.t, in->tet.vertices, in->tet.tets}, &smoothing, 0,
                                    NULL, &field, err));
    for (int64_t i = 0; i < in->fit.m; i++)
        su_rotation_field_evaluate(field, in->fit.shapes + 3 * i * in->tet.n, rotations + 4 * i * in->tet.n, threads);
    su_rotation_field_free(field);
    return SU_OK;
}

/* The aligned bases replaced by one of set->pca columns, the same at all poses. */
static su_status make_global(su_tool *tool, const settings *set, const double *mass, su_basis *basis)
{
    su_error *err = &tool->err;
    su_file *file = &basis->file;
    int64_t m = basis->m, r = basis->r, n = basis->n, size = 3 * set->pca * n;
    double *gram = NULL, *bases = NULL;
    int32_t *regions = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&gram, m * m * r * r, "a global basis", err));
    SU_GO(su_gram(m, r, n, mass, basis->basis, gram, tool->threads, err));
    SU_GO(SU_FILE_ALLOC(file, &bases, m * size, err));
    SU_GO(SU_FILE_ALLOC(file, &regions, set->pca, err));
    SU_GO(SU_FILE_ALLOC(file, &basis->angles, m * set->pca, err));
    SU_GO(su_global_basis(basis, gram, set->pca, bases, regions, err));
    for (int64_t i = 1; i < m; i++) memcpy(bases + i * size, bases, (size_t)size * sizeof *bases);
    basis->basis = bases, basis->mode_region = regions, basis->r = set->pca;
done:
    free(gram);
    return status;
}

static su_status make_basis(su_tool *tool, const settings *set, const inputs *in, su_basis *basis)
{
    su_error *err = &tool->err;
    const su_fit *fit = &in->fit;
    const su_modes *first = &in->modes[0];
    int64_t m = fit->m, r = first->r, n = in->tet.n, size = 3 * r * n;
    su_file *file = &basis->file;
    basis->m = m, basis->r = r, basis->n = n, basis->d = first->d, basis->s = fit->s;
    SU_TRY(SU_FILE_ALLOC(file, &basis->basis, m * size, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->rotations, 4 * m * n, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->parent, m, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->angles, m * r, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->mode_region, r, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->region_weights, basis->d * n, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->param_scale, fit->s, err));
    memcpy(basis->mode_region, first->mode_region, (size_t)r * sizeof *basis->mode_region);
    memcpy(basis->region_weights, first->region_weights, (size_t)(basis->d * n) * sizeof(double));
    memcpy(basis->param_scale, fit->param_scale, (size_t)fit->s * sizeof(double));
    for (int64_t i = 0; i < m; i++)
        memcpy(basis->basis + i * size, in->modes[in->sources[i].part].modes + in->sources[i].index * size,
               (size_t)size * sizeof(double));
    double *mass, started = su_seconds();
    SU_TRY(SU_FILE_ALLOC(file, &mass, n, err));
    su_lumped_mass(n, in->tet.vertices, in->tet.t, in->tet.tets, fit->density, mass);
    SU_TRY(rotations_of(in, basis->rotations, tool->threads, err));
    su_stats_stage(tool, "rotations", su_seconds() - started);
    SU_TRY(su_progress_update(&tool->progress, 0.1, err));

    started = su_seconds();
    su_alignment what = {m, r, n, fit->s, fit->params, fit->param_scale, mass, basis->rotations, basis->mode_region};
    SU_TRY(su_align(&what, basis->basis, basis->parent, basis->angles, tool->threads, err));
    su_stats_stage(tool, "procrustes", su_seconds() - started);
    SU_TRY(su_progress_update(&tool->progress, 0.2, err));

    if (set->pca > 0) SU_TRY(make_global(tool, set, mass, basis));
    started = su_seconds();
    SU_TRY(SU_FILE_ALLOC(file, &basis->gram, m * m * basis->r * basis->r, err));
    SU_TRY(su_gram(m, basis->r, n, mass, basis->basis, basis->gram, tool->threads, err));
    su_stats_stage(tool, "gram", su_seconds() - started);
    if (m > 2) {
        SU_TRY(SU_FILE_ALLOC(file, &basis->basis_rbf, m * (m + 1 + fit->s), err));
        SU_TRY(su_basis_rbf_train(m, fit->s, fit->params, fit->param_scale, &basis->columns, basis->basis_rbf, err));
    }
    return su_progress_update(&tool->progress, 0.4, err);
}

/* One line an edge of the tree: how far apart the two subspaces are. */
static void report_angles(su_tool *tool, const su_basis *basis)
{
    double worst = 0;
    for (int64_t i = 1; i < basis->m; i++) {
        double largest = 0, mean = 0;
        for (int64_t a = 0; a < basis->r; a++) {
            largest = fmax(largest, basis->angles[i * basis->r + a]);
            mean += basis->angles[i * basis->r + a] / (double)basis->r;
        }
        worst = fmax(worst, mean);
        su_detail(tool, "pose %lld from pose %d: subspace angles mean %.1f, largest %.1f degrees", (long long)i,
                  (int)basis->parent[i], mean * 180 / M_PI, largest * 180 / M_PI);
    }
    su_stats_number(tool, "largest_mean_angle_deg", worst * 180 / M_PI);
    su_note(tool, "%lld poses, %lld modes; mean subspace angle along the worst edge %.1f degrees", (long long)basis->m,
            (long long)basis->r, worst * 180 / M_PI);
}

/* ---- stiffening ---- */

/* Where one place is, for people and for `supple poses --at`: "stop:63". */
static void place_name(const settings *set, const su_training_places *places, int64_t a, char *name, size_t size)
{
    su_clip_frame_name(set->shots.items[places->shot[a]], places->number[a], name, size);
}

/* The stiffest places first, each at least half as far from those before as it is from the example poses: a pose there
 * would mend its surroundings. */
static void suggest(su_tool *tool, const settings *set, const inputs *in, const su_training_places *places,
                    const su_stiffening *stiff)
{
    json_t *list = json_array();
    int64_t chosen[64], count = 0;
    for (int given = 0; given < set->suggest && count < 64; given++) {
        int64_t best = -1;
        for (int64_t a = in->fit.m; a < places->count; a++) {
            bool clear = stiff[a].mean > set->bound;
            double nearest = HUGE_VAL;
            for (int64_t i = 0; i < in->fit.m; i++)
                nearest = fmin(nearest, su_param_distance(in->fit.s, places->place[a].p, in->fit.params + i * in->fit.s,
                                                          in->fit.param_scale));
            for (int64_t k = 0; k < count; k++)
                clear = clear && su_param_distance(in->fit.s, places->place[a].p, places->place[chosen[k]].p,
                                                   in->fit.param_scale) > 0.5 * nearest;
            if (clear && (best < 0 || stiff[a].mean > stiff[best].mean)) best = a;
        }
        if (best < 0) break;
        chosen[count++] = best;
        char name[300];
        place_name(set, places, best, name, sizeof name);
        json_t *p = json_array();
        for (int64_t k = 0; k < in->fit.s; k++) json_array_append_new(p, json_real(places->place[best].p[k]));
        json_array_append_new(list, json_pack("{s:s, s:f, s:o}", "pose", name, "stiffening", stiff[best].mean, "p", p));
        su_note(tool, "add a pose at %s (stiffening %.1f %%)", name, 100 * stiff[best].mean);
    }
    if (count == 0)
        su_note(tool, "no pose to add: stiffening is below %.1f %% at all frames measured", 100 * set->bound);
    json_object_set_new(tool->stats, "suggest", list);
}

static su_status measure_places(su_tool *tool, const settings *set, const inputs *in, const su_basis *basis,
                                su_pose_space *space, const su_training_places *places, su_stiffening *stiff)
{
    su_stiffness_probe *probe;
    su_error *err = &tool->err;
    /* Beyond its linear modes a basis is not meant to hold eigenvectors. */
    int64_t modes = in->modes[0].linear < 8 ? in->modes[0].linear : 8;
    if (modes > basis->r) modes = basis->r;
    SU_TRY(su_stiffness_probe_create(space, modes, false, &probe, err));
    su_status status = SU_OK;
    for (int64_t a = 0; a < places->count && status == SU_OK; a++) {
        status = su_stiffness_measure(probe, &places->place[a], &stiff[a], err);
        if (status == SU_OK)
            status = su_progress_update(&tool->progress, 0.4 + 0.5 * (double)(a + 1) / (double)places->count, err);
    }
    su_stiffness_probe_free(probe);
    if (status != SU_OK) return status;
    int64_t worst = in->fit.m;
    char name[300] = "";
    double most = 0;
    for (int64_t a = in->fit.m; a < places->count; a++) {
        stiff[a] = su_stiffening_above(space, &places->place[a], &stiff[a], stiff);
        if (stiff[a].mean > stiff[worst].mean) worst = a;
        place_name(set, places, a, name, sizeof name);
        su_detail(tool, "%s: stiffening of the %lld lowest modes mean %.2f %%, largest %.2f %%", name, (long long)modes,
                  100 * stiff[a].mean, 100 * stiff[a].largest);
    }
    if (worst < places->count) most = stiff[worst].mean, place_name(set, places, worst, name, sizeof name);
    su_note(tool, "stiffening at %lld frames between poses: at most %.2f %%%s%s",
            (long long)(places->count - in->fit.m), 100 * most, name[0] ? ", at " : "", name);
    su_stats_number(tool, "stiffening", most);
    su_stats_text(tool, "stiffest", name);
    if (set->suggest == 0 && most > FAR_TOO_STIFF)
        su_warn(tool,
                "between poses the flesh is up to %.0f %% too stiff (%s) and will hardly move there; more poses help: "
                "supple align --suggest N says which, supple bake --poses auto adds them, and --basis one needs none",
                100 * most, name);
    else if (set->suggest == 0 && most > set->bound)
        su_note(tool, "that is above %.1f %%: more poses would help; --suggest N says which", 100 * set->bound);
    return SU_OK;
}

/* --recompute: what the bases miss of the modes recomputed at every place between poses. */
static su_status recompute_places(su_tool *tool, const settings *set, const inputs *in, su_pose_space *space,
                                  const su_training_places *places)
{
    su_stiffness_probe *probe;
    int64_t modes = in->modes[0].linear / 2 > 0 ? in->modes[0].linear / 2 : 1, count = places->count - in->fit.m;
    double sum[2] = {0, 0}, most[2] = {0, 0};
    SU_TRY(su_stiffness_probe_create(space, modes, true, &probe, &tool->err));
    su_status status = SU_OK;
    for (int64_t a = in->fit.m; a < places->count && status == SU_OK; a++) {
        su_subspace_error e = {0, 0};
        char name[300];
        status = su_subspace_measure(probe, &places->place[a], &e, &tool->err);
        if (status == SU_OK)
            status =
                su_progress_update(&tool->progress, 0.9 + 0.1 * (double)(a - in->fit.m) / (double)count, &tool->err);
        sum[0] += e.projection, sum[1] += e.angle;
        most[0] = fmax(most[0], e.projection), most[1] = fmax(most[1], e.angle);
        place_name(set, places, a, name, sizeof name);
        su_detail(tool, "%s: the %lld lowest modes recomputed are off by %.3f %%, mean angle %.2f degrees", name,
                  (long long)modes, 100 * e.projection, 180 / M_PI * e.angle);
    }
    su_stiffness_probe_free(probe);
    if (status != SU_OK) return status;
    su_note(
        tool,
        "the %lld lowest modes recomputed at %lld places: off by %.3f %% (most %.3f %%), angles %.2f degrees (%.2f)",
        (long long)modes, (long long)count, 100 * sum[0] / (double)count, 100 * most[0],
        180 / M_PI * sum[1] / (double)count, 180 / M_PI * most[1]);
    json_object_set_new(tool->stats, "recomputed",
                        json_pack("{s:I, s:I, s:f, s:f, s:f, s:f}", "modes", (json_int_t)modes, "places",
                                  (json_int_t)count, "projection", sum[0] / (double)count, "largest_projection",
                                  most[0], "angle_deg", 180 / M_PI * sum[1] / (double)count, "largest_angle_deg",
                                  180 / M_PI * most[1]));
    return SU_OK;
}

static su_status measure(su_tool *tool, const settings *set, const inputs *in, const su_basis *basis)
{
    su_error *err = &tool->err;
    const su_fit *fit = &in->fit;
    su_pose_space space = {0};
    su_training_places places = {0};
    su_stiffening *stiff = NULL;
    su_status status = SU_OK;
    double started = su_seconds();
    int material = su_material_from_name(su_meta_text(fit->file.meta, "material", "neohookean"));
    if (material < 0) return su_fail(err, SU_INPUT, "%s: unknown material", in->fit_paths[0]);
    const su_shot_list shots = {.target = {.rig = su_rig_of_fit(fit), .nbar = in->tet.nbar},
                                .count = set->shots.count,
                                .paths = set->shots.items};
    const su_training_plan plan =
        su_training_plan_make(&(su_training_case){.modes = basis->r, .region_modes = basis->r});
    SU_GO(su_pose_space_create(&space, &in->tet, fit, basis, (su_material)material,
                               (su_interpolation)set->interpolation, tool->threads, err));
    SU_GO(su_training_places_create(&space, &shots, &plan, set->frames, &places, err));
    SU_GO(SU_ALLOC(&stiff, places.count, "stiffening", err));
    SU_GO(measure_places(tool, set, in, basis, &space, &places, stiff));
    if (set->suggest > 0) suggest(tool, set, in, &places, stiff);
    if (set->recompute && places.count > fit->m) SU_GO(recompute_places(tool, set, in, &space, &places));
    su_stats_stage(tool, "measure", su_seconds() - started);
done:
    free(stiff);
    su_training_places_free(&places);
    su_pose_space_free(&space);
    return status;
}

static su_status make_meta(su_tool *tool, const settings *set, const inputs *in, su_basis *basis)
{
    int count = 1 + in->fit_count + in->modes_count;
    const char **paths;
    SU_TRY(SU_ALLOC(&paths, count, "file names", &tool->err));
    paths[0] = in->tet_path;
    for (int p = 0; p < in->fit_count; p++) paths[1 + p] = in->fit_paths[p];
    for (int p = 0; p < in->modes_count; p++) paths[1 + in->fit_count + p] = in->modes_paths[p];
    json_t *meta = su_tool_meta(tool, "supple.basis", 2, paths, count);
    free(paths);
    if (!meta) return tool->err.status;
    basis->file.meta = meta;
    json_object_set_new(meta, "interpolation", su_choice_json(SU_INTERPOLATION_NAMES, set->interpolation));
    json_t *names = json_object_get(in->fit.file.meta, "param_names");
    json_t *linear_modes = json_object_get(in->modes[0].file.meta, "linear_modes");
    if (names) json_object_set(meta, "param_names", names);
    static const char *const of_modes[] = {"gravity", "gravity_mode"};
    for (size_t k = 0; k < sizeof of_modes / sizeof *of_modes; k++) {
        json_t *value = json_object_get(in->modes[0].file.meta, of_modes[k]);
        if (value) json_object_set(meta, of_modes[k], value);
    }
    if (set->pca > 0)
        json_object_set_new(meta, "pca", json_integer(set->pca));
    else if (linear_modes)
        json_object_set(meta, "linear_modes", linear_modes);
    return SU_OK;
}

static su_status run(su_tool *tool, const settings *set)
{
    su_status status;
    inputs in = {0};
    su_basis basis = {0};
    bool wanted = set->measure || set->recompute || set->suggest > 0;
    if (wanted && set->shots.count == 0)
        return su_fail(&tool->err, SU_USAGE,
                       "--measure, --suggest and --recompute look at frames of --shots: give some");
    SU_GO(load_inputs(tool, &in));
    SU_GO(make_basis(tool, set, &in, &basis));
    report_angles(tool, &basis);
    if (wanted) SU_GO(measure(tool, set, &in, &basis));
    if (tool->dry_run) goto done;
    SU_GO(make_meta(tool, set, &in, &basis));
    SU_GO(su_basis_save(tool->output, &basis, &tool->err));
    su_progress_finish(&tool->progress);
done:
    su_basis_free(&basis);
    inputs_free(&in);
    return status;
}

/* What is asked for; holds the defaults until the command line is read. */
static settings set = {.frames = 12, .bound = 0.05};

static const su_option options[] = {
    {.name = "interpolation",
     .kind = SU_OPT_CHOICE,
     .target = &set.interpolation,
     .argument = "WAY",
     .choices = SU_INTERPOLATION_NAMES,
     .help = "how bases are blended between poses: corotated (default) turns them by the local rotation at the current "
             "pose, linear is the paper's. Recorded for cubature and sim."},
    {.name = "pca",
     .kind = SU_OPT_INT,
     .target = &set.pca,
     .argument = "R",
     .low = 0,
     .high = 100000,
     .help = "one basis of R columns for all poses instead, the principal directions of their bases; for comparison "
             "(default 0: a basis a pose)."},
    {.name = "shots",
     .kind = SU_OPT_LIST,
     .target = &set.shots,
     .argument = "ANIM",
     .greedy = true,
     .help = "shots along which stiffening is measured."},
    {.name = "measure",
     .kind = SU_OPT_FLAG,
     .target = &set.measure,
     .help = "measure how much too stiff the interpolated bases are at frames of the shots: the lowest 8 linear modes "
             "against those recomputed there."},
    {.name = "recompute",
     .kind = SU_OPT_FLAG,
     .target = &set.recompute,
     .help = "also how much of the lower half of the linear modes, recomputed there, the interpolated basis "
             "misses, weighted by "
             "compliance, and at what angles (implies --measure; takes longer)."},
    {.name = "suggest",
     .kind = SU_OPT_INT,
     .target = &set.suggest,
     .argument = "N",
     .low = 0,
     .high = 64,
     .help = "name up to N places where a further example pose would help most (implies --measure; default: 0)."},
    {.name = "bound",
     .kind = SU_OPT_NUMBER,
     .target = &set.bound,
     .argument = "SHARE",
     .low = 0,
     .high = 10,
     .help = "stiffening that is accepted without a suggestion (default: 5%)."},
    {.name = "frames",
     .kind = SU_OPT_INT,
     .target = &set.frames,
     .argument = "N",
     .low = 1,
     .high = 1000,
     .help = "frames of the shots to measure at, those farthest from the poses first (default: 12)."},
};

static const su_program program = {
    .name = "supple-align",
    .summary = "make the bases of all example poses comparable, so that they can be interpolated",
    .usage = "TET FIT... MODES... -o BASIS",
    .description = "Turns the modes of each pose back to the neutral pose, matches them along a tree of poses "
                   "(Procrustes, region by region) and precomputes what interpolation needs. Fit and modes files made "
                   "one pose at a time are merged; parts that do not belong together are refused.",
    .example = "supple align fox.tet.npz fox.fit.npz fox.modes.*.npz -o fox.basis.npz",
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
