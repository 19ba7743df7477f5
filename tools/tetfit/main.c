/* supple fit: rest shapes and materials of the flesh at the example poses. */
#include "core/choice.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/tool.h"
#include "fem/elastic.h"
#include "fem/fit.h"
#include "fem/smooth_weights.h"
#include "geometry/box.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "io/stage/fit.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"
#include "reduce/modes/carrying_mode.h"
#include "reduce/modes/modes.h"
#include "reduce/modes/parts.h"
#include "rig/rbf_train.h"
#include "rig/rig_space.h"
#include "rig/rest_shape.h"
#include "check_shots.h"
#include "materials.h"
#include "softness.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum rest_kind { REST_TURNED, REST_POSED };
#define REST_NAMES "turned|posed"

typedef struct settings {
    int material;
    int paint;        /* paint_kind */
    int rest;         /* rest_kind */
    double smoothing; /* length, as a part of the flesh's diagonal */
    double gamma, residual, frequency, young, poisson, density;
    material_files files;
    softness_options softness;
    su_list poses, shots;
    int suggest;
    su_list reuse;
} settings;

typedef struct job {
    su_tool *tool;
    const settings *set;
    su_tet tet;
    su_poses poses;
    su_fit fit;
    materials paint;
    bool body;              /* stiffness follows the body */
    double *area;           /* (nbar) skin area weights */
    double diagonal;        /* of the skin, m */
    double young, lowest;   /* Pa, mean over the volume; rad^2/s^2; at the neutral pose */
    su_fit_report *reports; /* (k) */
    bool *reused;           /* (k) taken from --reuse */
} job;

static su_status choose_poses(job *j)
{
    const su_list *wanted = &j->set->poses;
    su_error *err = &j->tool->err;
    int64_t count = wanted->count ? wanted->count : j->poses.m;
    SU_TRY(SU_FILE_ALLOC(&j->fit.file, &j->fit.pose, count, err));
    j->fit.k = count;
    for (int64_t i = 0; i < count; i++) {
        j->fit.pose[i] = (int32_t)i;
        if (!wanted->count) continue;
        char *end;
        errno = 0;
        long pose = strtol(wanted->items[i], &end, 10);
        if (errno || *end || end == wanted->items[i] || pose < 0 || pose >= j->poses.m)
            return su_fail(err, SU_USAGE, "--pose %s: is not one of the %lld poses of %s", wanted->items[i],
                           (long long)j->poses.m, j->tool->inputs.items[1]);
        int64_t at = i; /* the file lists them upwards */
        for (; at > 0 && j->fit.pose[at - 1] > pose; at--) j->fit.pose[at] = j->fit.pose[at - 1];
        if (at > 0 && j->fit.pose[at - 1] == pose) return su_fail(err, SU_USAGE, "--pose %ld is given twice", pose);
        j->fit.pose[at] = (int32_t)pose;
    }
    return SU_OK;
}

static su_status load(job *j)
{
    su_error *err = &j->tool->err;
    const char *const *paths = j->tool->inputs.items;
    SU_TRY(su_tet_load(paths[0], &j->tet, err));
    SU_TRY(su_poses_load(paths[1], &j->poses, err));
    if (j->tet.nbar != j->poses.nbar)
        return su_fail(err, SU_INPUT, "%s: holds a skin of %lld vertices, %s one of %lld", paths[0],
                       (long long)j->tet.nbar, paths[1], (long long)j->poses.nbar);
    j->diagonal = su_box_diagonal(j->poses.nbar, j->poses.neutral);
    SU_TRY(SU_ALLOC(&j->area, j->poses.nbar, "skin areas", err));
    SU_TRY(su_skin_area_weights(j->poses.nbar, j->poses.neutral, j->poses.T, j->poses.triangles, j->poses.rigid,
                                j->area, err));
    return choose_poses(j);
}

static su_rest_shape shepard(const job *j)
{
    return (su_rest_shape){.n = j->tet.n,
                           .m = 0,
                           .ties = j->tet.ties,
                           .vertices = j->tet.vertices,
                           .neutral = j->poses.neutral,
                           .shepard_index = j->tet.shepard_index,
                           .shepard_weight = j->tet.shepard_weight};
}

/* Held vertices move with the bone that carries them: x = bone(pose) bone(rest)^-1 X. */
static su_status carry_held(const job *j, int64_t pose, double *x, su_error *err)
{
    const su_poses *poses = &j->poses;
    if (!j->tet.fixed_bone || !poses->bones || !poses->bone_rest) return SU_OK;
    for (int64_t k = 0; k < j->tet.fixed_count; k++) {
        int64_t bone = j->tet.fixed_bone[k], v = j->tet.fixed[k];
        if (bone < 0) continue;
        if (bone >= poses->B)
            return su_fail(err, SU_INPUT, "%s: held vertex %lld follows bone %lld, %s has %lld bones",
                           j->tool->inputs.items[0], (long long)v, (long long)bone, j->tool->inputs.items[1],
                           (long long)poses->B);
        const double *rest = poses->bone_rest + 16 * bone, *now = poses->bones + 16 * (pose * poses->B + bone);
        double linear[9], inverse[9], local[3], moved[3];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) linear[3 * r + c] = rest[4 * r + c];
        if (su_inverse3(linear, inverse) == 0)
            return su_fail(err, SU_INPUT, "%s: the rest matrix of bone %lld is singular", j->tool->inputs.items[1],
                           (long long)bone);
        for (int r = 0; r < 3; r++) local[r] = j->tet.vertices[3 * v + r] - rest[4 * r + 3];
        su_mulv3(inverse, local, local);
        for (int r = 0; r < 3; r++)
            moved[r] = now[4 * r] * local[0] + now[4 * r + 1] * local[1] + now[4 * r + 2] * local[2] + now[4 * r + 3];
        memcpy(x + 3 * v, moved, sizeof moved);
    }
    return SU_OK;
}

static su_status fit_pose(job *j, su_fit_solver *solver, int64_t k, int threads, su_error *err)
{
    int64_t n = j->tet.n, pose = j->fit.pose[k];
    double *x = j->fit.shapes + 3 * k * n, *correction = j->fit.corrections + 3 * k * n;
    const double *skin = j->poses.shapes + 3 * pose * j->poses.nbar;
    if (j->reused[k]) return SU_OK;
    if (pose == 0) { /* docs/formats.md, convention 3 */
        memcpy(x, j->tet.vertices, 3 * (size_t)n * sizeof *x);
        return SU_OK;
    }
    su_rest_shape start = shepard(j);
    su_rest_shape_evaluate(&start, n, NULL, skin, NULL, x);
    memcpy(correction, x, 3 * (size_t)n * sizeof *x);
    SU_TRY(carry_held(j, pose, x, err));
    SU_TRY(su_fit_pose(solver, skin, x, &j->reports[k], threads, &j->tool->progress, err));
    for (int64_t i = 0; i < 3 * n; i++) correction[i] = x[i] - correction[i];
    return SU_OK;
}

/* Poses beside each other where memory allows; one symbolic analysis a thread. */
static su_status fit_all(job *j)
{
    int64_t k = j->fit.k, finished = 0;
    int threads = j->tool->threads, team = j->tet.t > 200000 ? 1 : threads < k ? threads : (int)k;
    int32_t *firm = NULL;
    SU_TRY(SU_ALLOC(&firm, j->tet.fixed_count, "held vertices", &j->tool->err));
    int64_t firm_count = su_fit_firm(j->tet.n, j->tet.t, j->tet.tets, j->tet.fixed_count, j->tet.fixed,
                                     j->tet.fixed_bone, firm, &j->tool->err);
    if (firm_count < 0) {
        free(firm);
        return j->tool->err.status;
    }
    su_fit_problem problem = {.n = j->tet.n,
                              .t = j->tet.t,
                              .nbar = j->tet.nbar,
                              .held_count = firm_count,
                              .vertices = j->tet.vertices,
                              .tets = j->tet.tets,
                              .held = firm,
                              .embed_tet = j->tet.embed_tet,
                              .embed_bary = j->tet.embed_bary,
                              .area = j->area,
                              .diagonal = j->diagonal,
                              .gamma = j->set->gamma,
                              .residual = 0.01 * j->set->residual,
                              .poisson = j->set->poisson};
    su_status first = SU_OK;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        su_fit_solver *solver = NULL;
        su_error err = {0};
        su_status status = su_fit_solver_create(&problem, &solver, &err);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < k; i++) {
            if (status == SU_OK) {
                status = fit_pose(j, solver, i, threads / team, &err);
                if (status != SU_OK) su_error_context(&err, "pose %d: ", (int)j->fit.pose[i]);
            }
#pragma omp critical(fit_progress)
            {
                if (status == SU_OK)
                    status = su_progress_update(&j->tool->progress, 0.1 + 0.8 * (double)++finished / (double)k, &err);
                if (status != SU_OK && first == SU_OK) first = status, j->tool->err = err;
            }
        }
        su_fit_solver_free(solver);
    }
    free(firm);
    return first;
}

/* Whether the stiffness of tets comes from the body or its joints, and then the factors, in place of a table. */
static su_status set_softness(job *j)
{
    su_error *err = &j->tool->err;
    const softness_options *how = &j->set->softness;
    int64_t t = j->tet.t;
    bool painted = materials_young(&j->paint, -1, 0, t) != NULL, changed = how->stiff.count + how->soft.count > 0;
    if (painted && (how->kind == SOFTNESS_BODY || changed))
        return su_fail(err, SU_USAGE, "%s: the stiffness is painted or given for each tet",
                       changed ? "--stiff and --soft" : "--softness body");
    j->body = how->kind == SOFTNESS_BODY || (how->kind == SOFTNESS_AUTO && !painted);
    if (!j->body && !changed) return SU_OK;
    su_table *table = &j->paint.young;
    if (!(table->values = su_arena_alloc(&table->arena, t, sizeof *table->values)))
        return su_fail(err, SU_AGAIN, "not enough memory for materials");
    table->rows = 1, table->columns = t;
    return softness_factors(j->tool, how, j->body, &j->tet, &j->poses, table->values);
}

/* E scales K, so one eigenvalue at the neutral pose, of E = 1 or of the factors, calibrates it: the lowest, or, where
 * the body says what is soft, that of the lowest mode that carries flesh. */
static su_status calibrate(job *j, double *young)
{
    su_error *err = &j->tool->err;
    const settings *set = j->set;
    int64_t n = j->tet.n, t = j->tet.t;
    const double *factor = materials_young(&j->paint, -1, 0, t), *ratio = materials_poisson(&j->paint, -1, 0, t);
    double *one = NULL, *mode = NULL, value;
    su_elastic elastic = {0};
    su_status status;
    SU_GO(SU_ALLOC(&one, 2 * t, "materials", err));
    SU_GO(SU_ALLOC(&mode, 3 * n, "materials", err));
    for (int64_t e = 0; e < t; e++) one[e] = factor ? factor[e] : 1, one[t + e] = ratio ? ratio[e] : set->poisson;
    SU_GO(su_elastic_create(&elastic, n, j->tet.vertices, t, j->tet.tets, j->tet.fixed_count, j->tet.fixed,
                            (su_material)set->material, one, one + t, j->fit.density, err));
    if (j->body) {
        su_carrying_mode lowest;
        SU_GO(su_carrying_mode_find(&elastic, j->tet.vertices, one, one + t, j->tool->threads, &j->tool->progress,
                                    &lowest, err));
        memcpy(j->paint.young.values, one, (size_t)t * sizeof *one);
        value = lowest.value;
        su_stats_integer(j->tool, "tip_rounds", lowest.rounds);
        su_stats_number(j->tool, "carried_share", lowest.share);
        if (lowest.lower)
            su_warn(j->tool,
                    "%d modes below the lowest that carries flesh (%.1f %% of it) move tips alone; "
                    "--stiff JOINT=FACTOR quiets them",
                    lowest.lower, 100 * lowest.share);
    } else {
        su_mode_problem problem = {.elastic = &elastic, .x = j->tet.vertices};
        SU_GO(su_modes_solve(&problem, 1, 1, &value, mode, NULL, j->tool->threads, &j->tool->progress, err));
    }
    double target = 2 * M_PI * set->frequency;
    bool absolute = factor && set->paint == PAINT_ABSOLUTE && !j->body;
    *young = absolute ? 1 : set->young > 0 ? set->young : target * target / value;
    j->lowest = value * *young;
    status = SU_OK;
done:
    su_elastic_free(&elastic);
    free(one), free(mode);
    return status;
}

/* Materials of all poses inside: uniform, or as painted. */
static su_status set_materials(job *j)
{
    su_error *err = &j->tool->err;
    const settings *set = j->set;
    int64_t t = j->tet.t;
    double young, mean = 0, volume = 0;
    SU_TRY(materials_load(j->tool, &set->files, &j->tet, &j->poses, j->fit.k, j->fit.pose, &j->paint));
    SU_TRY(set_softness(j));
    if (set->young > 0 && set->paint == PAINT_ABSOLUTE && materials_young(&j->paint, -1, 0, t))
        return su_fail(err, SU_USAGE, "--young %g: Young's modulus is painted and --paint absolute takes it as it is",
                       set->young);
    SU_TRY(SU_FILE_ALLOC(&j->fit.file, &j->fit.young, j->fit.k * t, err));
    SU_TRY(SU_FILE_ALLOC(&j->fit.file, &j->fit.poisson, j->fit.k * t, err));
    SU_TRY(SU_FILE_ALLOC(&j->fit.file, &j->fit.density, t, err));
    for (int64_t e = 0; e < t; e++) {
        double given = j->paint.density.rows ? j->paint.density.values[e] : set->density;
        j->fit.density[e] = j->paint.density.rows && set->paint == PAINT_RELATIVE ? given * set->density : given;
    }
    SU_TRY(calibrate(j, &young));
    for (int64_t k = 0; k < j->fit.k; k++) {
        const double *factor = materials_young(&j->paint, k, j->fit.pose[k], t);
        const double *ratio = materials_poisson(&j->paint, k, j->fit.pose[k], t);
        for (int64_t e = 0; e < t; e++) {
            j->fit.young[k * t + e] = factor ? young * factor[e] : young;
            j->fit.poisson[k * t + e] = ratio ? ratio[e] : set->poisson;
        }
    }
    const double *factor = materials_young(&j->paint, -1, 0, t);
    for (int64_t e = 0; e < t; e++) {
        double V = su_tet_volume(j->tet.vertices, j->tet.tets + 4 * e);
        volume += V, mean += V * (factor ? factor[e] : 1);
    }
    j->young = young * (mean / volume);
    return SU_OK;
}

/* The smoothing of the rotations, where the rest shape is turned by them. */
static su_status set_smoothing(job *j)
{
    su_fit *fit = &j->fit;
    su_error *err = &j->tool->err;
    su_smooth_weights made = {0};
    su_status status;
    if (j->set->rest == REST_POSED) return SU_OK;
    double length = j->set->smoothing * su_box_diagonal(j->tet.n, j->tet.vertices);
    SU_GO(su_smooth_weights_create(j->tet.n, j->tet.vertices, j->tet.t, j->tet.tets, length, length, j->tool->threads,
                                   &made, err));
    fit->n1 = j->tet.n + 1, fit->z = made.entries;
    SU_GO(SU_FILE_ALLOC(&fit->file, &fit->turn_start, fit->n1, err));
    SU_GO(SU_FILE_ALLOC(&fit->file, &fit->turn_node, fit->z, err));
    SU_GO(SU_FILE_ALLOC(&fit->file, &fit->turn_weight, fit->z, err));
    memcpy(fit->turn_start, made.start, (size_t)fit->n1 * sizeof *made.start);
    memcpy(fit->turn_node, made.node, (size_t)fit->z * sizeof *made.node);
    memcpy(fit->turn_weight, made.weight, (size_t)fit->z * sizeof *made.weight);
    su_stats_integer(j->tool, "rotation_nodes", made.nodes);
done:
    su_smooth_weights_free(&made);
    return status;
}

/* What the later stages need of the poses. */
static su_status copy_poses(job *j)
{
    su_error *err = &j->tool->err;
    const su_poses *from = &j->poses;
    su_fit *fit = &j->fit;
    su_rig_space rig = su_rig_of_poses(from), own;
    fit->n = j->tet.n, fit->t = j->tet.t;
    SU_TRY(su_rig_copy(&rig, &fit->file, &own, err));
    su_rig_into_fit(&own, fit);
    SU_TRY(SU_FILE_ALLOC(&fit->file, &fit->rbf, fit->m * fit->m, err));
    SU_TRY(su_rbf_train(fit->m, fit->s, fit->params, fit->param_scale, fit->rbf, err));
    SU_TRY(SU_FILE_ALLOC(&fit->file, &fit->shapes, 3 * fit->k * fit->n, err));
    SU_TRY(SU_FILE_ALLOC(&fit->file, &fit->corrections, 3 * fit->k * fit->n, err));
    SU_TRY(SU_ALLOC(&j->reused, fit->k, "reports", err));
    return SU_ALLOC(&j->reports, fit->k, "reports", err);
}

static void report(const job *j)
{
    su_tool *tool = j->tool;
    double worst = 0, largest = 0, off = 0, gamma = j->set->gamma;
    int64_t collapsed = 0, iterations = 0, missed = 0;
    for (int64_t k = 0; k < j->fit.k; k++) {
        const su_fit_report *r = &j->reports[k];
        worst = fmax(worst, r->residual), largest = fmax(largest, r->largest), off = fmax(off, r->held_off);
        if (r->gamma > 0) gamma = fmin(gamma, r->gamma); /* pose 0 is not fitted */
        collapsed += r->collapsed, iterations += r->iterations;
        su_detail(tool,
                  "pose %d: residual %.4f %% of the diagonal (largest %.3f %%) at gamma %.1e, %d Newton steps, "
                  "%lld collapsed tets, held vertices at most %.3f %% off their bones",
                  (int)j->fit.pose[k], 100 * r->residual, 100 * r->largest, r->gamma, r->iterations,
                  (long long)r->collapsed, 100 * r->held_off);
        if (r->collapsed)
            su_warn(tool,
                    "pose %d: %lld tets keep less than a tenth of their volume (%lld inverted); they act with their "
                    "neutral shape",
                    (int)j->fit.pose[k], (long long)r->collapsed, (long long)r->inverted);
        missed += r->residual > fmax(0.002, 0.01 * j->set->residual);
    }
    if (missed)
        su_warn(
            tool,
            "at %lld of %lld poses the flesh misses the skin, by %.2f %% of the diagonal at most, for it may not fold "
            "where the skin does; supple mesh --tets with a larger number follows it better",
            (long long)missed, (long long)j->fit.k, 100 * worst);
    su_stats_number(tool, "residual", worst);
    su_stats_number(tool, "largest_distance", largest);
    su_stats_number(tool, "smallest_gamma", gamma);
    su_stats_number(tool, "held_off", off);
    su_stats_integer(tool, "collapsed", collapsed);
    su_stats_integer(tool, "newton_steps", iterations);
    su_stats_number(tool, "young", j->young);
    su_stats_number(tool, "lowest_frequency", sqrt(j->lowest) / (2 * M_PI));
    su_note(tool,
            "%lld poses, residual at most %.4f %% of the diagonal, %lld collapsed tets; E = %.4g Pa, lowest %.2f Hz",
            (long long)j->fit.k, 100 * worst, (long long)collapsed, j->young, sqrt(j->lowest) / (2 * M_PI));
}

/* docs/formats.md, convention 16: what the fit of one pose depends on. */
static su_status pose_digest(const job *j, int64_t k, char hex[33])
{
    const settings *set = j->set;
    const su_poses *poses = &j->poses;
    size_t skin = 3 * (size_t)poses->nbar * sizeof(double);
    double numbers[] = {set->material, set->gamma,   set->residual, set->frequency,
                        set->young,    set->poisson, set->density,  set->paint};
    su_digest *digest = su_digest_begin();
    if (!digest) return su_fail(&j->tool->err, SU_AGAIN, "out of memory");
    su_digest_add(digest, numbers, sizeof numbers);
    su_digest_add(digest, j->tet.vertices, 3 * (size_t)j->tet.n * sizeof(double));
    su_digest_add(digest, j->tet.tets, 4 * (size_t)j->tet.t * sizeof(int32_t));
    su_digest_add(digest, j->tet.fixed, (size_t)j->tet.fixed_count * sizeof(int32_t));
    if (j->tet.fixed_bone) su_digest_add(digest, j->tet.fixed_bone, (size_t)j->tet.fixed_count * sizeof(int32_t));
    su_digest_add(digest, j->tet.embed_tet, (size_t)j->tet.nbar * sizeof(int32_t));
    su_digest_add(digest, j->tet.embed_bary, 4 * (size_t)j->tet.nbar * sizeof(double));
    su_digest_add(digest, j->tet.shepard_index, (size_t)(j->tet.ties * j->tet.n) * sizeof(int32_t));
    su_digest_add(digest, j->tet.shepard_weight, (size_t)(j->tet.ties * j->tet.n) * sizeof(double));
    su_digest_add(digest, poses->neutral, skin);
    su_digest_add(digest, j->area, (size_t)poses->nbar * sizeof(double));
    su_digest_add(digest, poses->shapes + 3 * j->fit.pose[k] * poses->nbar, skin);
    if (poses->bones && poses->bone_rest) {
        size_t bones = 16 * (size_t)poses->B * sizeof(double);
        su_digest_add(digest, poses->bone_rest, bones);
        su_digest_add(digest, poses->bones + 16 * j->fit.pose[k] * poses->B, bones);
    }
    materials_digest(&j->paint, poses, j->fit.pose[k], j->tet.t, digest);
    su_digest_end(digest, hex);
    return SU_OK;
}

/* Everything of a report that a later run with --reuse would print. */
static json_t *pack_report(const su_fit_report *r)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:I, s:I, s:i}", "residual", r->residual, "largest", r->largest, "gamma",
                     r->gamma, "held_off", r->held_off, "collapsed", (json_int_t)r->collapsed, "inverted",
                     (json_int_t)r->inverted, "newton_steps", r->iterations);
}

static su_fit_report unpack_report(const json_t *pack)
{
    return (su_fit_report){.residual = su_meta_number(pack, "residual", 0),
                           .largest = su_meta_number(pack, "largest", 0),
                           .gamma = su_meta_number(pack, "gamma", 0),
                           .held_off = su_meta_number(pack, "held_off", 0),
                           .collapsed = (int64_t)su_meta_number(pack, "collapsed", 0),
                           .inverted = (int64_t)su_meta_number(pack, "inverted", 0),
                           .iterations = (int)su_meta_number(pack, "newton_steps", 0)};
}

/* Poses of an earlier run that depend on the same things and are not there yet. */
static su_status take_from(job *j, const char *path, int64_t *taken)
{
    su_fit old = {0}, *fit = &j->fit;
    su_status status;
    int64_t size = 3 * fit->n;
    SU_GO(su_fit_load(path, &old, &j->tool->err));
    const json_t *reports = json_object_get(old.file.meta, "pose_reports");
    for (int64_t k = 0; k < fit->k; k++) {
        char hex[33];
        if (j->reused[k]) continue;
        SU_GO(pose_digest(j, k, hex));
        int64_t at = su_pose_of_digest(&old.file, hex);
        if (at < 0 || at >= old.k || old.n != fit->n || at >= (int64_t)json_array_size(reports)) continue;
        memcpy(fit->shapes + k * size, old.shapes + at * size, (size_t)size * sizeof(double));
        memcpy(fit->corrections + k * size, old.corrections + at * size, (size_t)size * sizeof(double));
        j->reports[k] = unpack_report(json_array_get(reports, (size_t)at));
        j->reused[k] = true, ++*taken;
    }
done:
    su_fit_free(&old);
    return status;
}

/* --reuse: of several earlier runs the first that has a pose gives it. */
static su_status take_reused(job *j)
{
    const su_list *files = &j->set->reuse;
    int64_t taken = 0;
    if (files->count == 0) return SU_OK;
    for (int i = 0; i < files->count; i++) SU_TRY(take_from(j, files->items[i], &taken));
    su_note(j->tool, "%lld of %lld poses are in %s%s", (long long)taken, (long long)j->fit.k,
            su_base_name(files->items[0]), files->count > 1 ? " and the others" : "");
    su_stats_integer(j->tool, "reused_poses", taken);
    return SU_OK;
}

static su_status make_meta(job *j)
{
    su_tool *tool = j->tool;
    const settings *set = j->set;
    json_t *meta = su_tool_meta(tool, "supple.fit", 2, tool->inputs.items, tool->inputs.count), *digests = json_array(),
           *reports = json_array();
    j->fit.file.meta = meta;
    if (!meta || !digests || !reports) {
        json_decref(digests), json_decref(reports);
        return meta ? su_fail(&tool->err, SU_AGAIN, "out of memory") : tool->err.status;
    }
    for (int64_t k = 0; k < j->fit.k; k++) {
        char hex[33];
        if (pose_digest(j, k, hex) != SU_OK) {
            json_decref(digests), json_decref(reports);
            return tool->err.status;
        }
        json_array_append_new(digests, json_string(hex));
        json_array_append_new(reports, pack_report(&j->reports[k]));
    }
    json_object_set_new(meta, "pose_digests", digests);
    json_object_set_new(meta, "pose_reports", reports);
    json_object_set_new(meta, "material", su_choice_json(SU_MATERIAL_NAMES, set->material));
    json_object_set_new(meta, "rest", su_choice_json(REST_NAMES, set->rest));
    if (set->rest == REST_TURNED) json_object_set_new(meta, "smoothing", json_real(set->smoothing));
    json_object_set_new(meta, "gamma", json_real(set->gamma));
    json_object_set_new(meta, "residual", json_real(set->residual));
    json_object_set_new(meta, "young", json_real(j->young));
    json_object_set_new(meta, "frequency", json_real(sqrt(j->lowest) / (2 * M_PI)));
    json_object_set_new(meta, "poisson", json_real(set->poisson));
    json_object_set_new(meta, "density", json_real(set->density));
    json_t *names = json_object_get(j->poses.file.meta, "param_names");
    if (names) json_object_set(meta, "param_names", names);
    return SU_OK;
}

static su_status run(su_tool *tool, const settings *set)
{
    job j = {.tool = tool, .set = set};
    su_status status;
    if (set->suggest && !set->shots.count)
        return su_fail(&tool->err, SU_USAGE, "--suggest names frames of --shots, and there are none");
    SU_GO(load(&j));
    SU_GO(copy_poses(&j));
    su_note(tool, "%lld tets, %lld vertices (%lld held), %lld of %lld poses", (long long)j.tet.t, (long long)j.tet.n,
            (long long)j.tet.fixed_count, (long long)j.fit.k, (long long)j.fit.m);
    if (tool->dry_run) goto done;
    double started = su_seconds();
    SU_GO(set_materials(&j));
    SU_GO(set_smoothing(&j));
    su_stats_stage(tool, "calibrate", su_seconds() - started), started = su_seconds();
    SU_GO(take_reused(&j));
    SU_GO(fit_all(&j));
    su_stats_stage(tool, "fit", su_seconds() - started), started = su_seconds();
    report(&j);
    if (set->shots.count && j.fit.k < j.fit.m) {
        su_warn(tool, "--shots needs all poses in one file; not checked");
    } else if (set->shots.count) {
        shot_check check = {.tet = &j.tet,
                            .poses = &j.poses,
                            .fit = &j.fit,
                            .area = j.area,
                            .diagonal = j.diagonal,
                            .suggest = set->suggest};
        SU_GO(check_shots(tool, &check, &set->shots));
    }
    su_stats_stage(tool, "shots", su_seconds() - started);
    SU_GO(make_meta(&j));
    SU_GO(su_fit_save(tool->output, &j.fit, &tool->err));
    su_progress_finish(&tool->progress);
done:
    su_tet_free(&j.tet);
    su_poses_free(&j.poses);
    su_fit_free(&j.fit);
    materials_free(&j.paint);
    free(j.area), free(j.reports), free(j.reused);
    return status;
}

/* What is asked for; holds the defaults until the command line is read. */
static settings set = {.material = SU_NEOHOOKEAN,
                       .smoothing = SU_SMOOTHING_LENGTH,
                       .gamma = 1e-3,
                       .residual = 0.2,
                       .frequency = 4,
                       .poisson = 0.45,
                       .density = 1000};

static const su_option options[] = {
    {.name = "frequency",
     .kind = SU_OPT_NUMBER,
     .target = &set.frequency,
     .argument = "HZ",
     .low = 1e-3,
     .high = 1e4,
     .help = "lowest frequency of the flesh at the neutral pose; the stiffness follows from it (default: 4 Hz)."},
    {.name = "softness",
     .kind = SU_OPT_CHOICE,
     .target = &set.softness.kind,
     .argument = "HOW",
     .choices = "auto|body|even",
     .help = "where the flesh is soft: body: where it is thick; thin parts are stiffer by the square of what they "
             "are thinner, and so are heads, hands, feet, hair and what is carried, by the names of joints; "
             "--frequency "
             "is then that of the lowest motion that carries a twentieth of the flesh, and tips that swing below it "
             "are made stiffer; even: alike everywhere (default: auto, body where nothing is painted)."},
    {.name = "stiff",
     .kind = SU_OPT_LIST,
     .target = &set.softness.stiff,
     .argument = "JOINT=FACTOR",
     .help = "makes the flesh of a joint FACTOR times as stiff as it would be; * and ? stand for any letters. May be "
             "repeated."},
    {.name = "soft",
     .kind = SU_OPT_LIST,
     .target = &set.softness.soft,
     .argument = "JOINT=FACTOR",
     .help = "the same, FACTOR times as soft."},
    {.name = "young",
     .kind = SU_OPT_NUMBER,
     .target = &set.young,
     .argument = "PA",
     .low = 0,
     .high = 1e15,
     .help = "Young's modulus of soft flesh, instead of --frequency (default: 0, by frequency)."},
    {.name = "poisson",
     .kind = SU_OPT_NUMBER,
     .target = &set.poisson,
     .argument = "NU",
     .low = 0,
     .high = 0.499,
     .help = "Poisson's ratio (default: 0.45)."},
    {.name = "density",
     .kind = SU_OPT_NUMBER,
     .target = &set.density,
     .argument = "KG/M3",
     .low = 1e-3,
     .high = 1e6,
     .help = "mass density (default: 1000 kg/m^3)."},
    {.name = "paint",
     .kind = SU_OPT_CHOICE,
     .target = &set.paint,
     .argument = "HOW",
     .choices = "relative|absolute",
     .help = "what painted and per-tet values of stiffness mean: factors on the stiffness that --frequency or --young "
             "set, or Pa; of density: factors on --density, or kg/m^3. Poisson's ratios are always themselves "
             "(default: relative)."},
    {.name = "young-tets",
     .kind = SU_OPT_TEXT,
     .target = &set.files.young,
     .argument = "FILE",
     .help = "stiffness of each tet instead of what POSES has painted on the skin: NPY or CSV, (t) for all poses or "
             "(m,t) for each."},
    {.name = "poisson-tets",
     .kind = SU_OPT_TEXT,
     .target = &set.files.poisson,
     .argument = "FILE",
     .help = "Poisson's ratio of each tet, likewise."},
    {.name = "density-tets",
     .kind = SU_OPT_TEXT,
     .target = &set.files.density,
     .argument = "FILE",
     .help = "density of each tet, (t)."},
    {.name = "material",
     .kind = SU_OPT_CHOICE,
     .target = &set.material,
     .argument = "NAME",
     .choices = SU_MATERIAL_NAMES,
     .help = "material of the flesh (default: neohookean)."},
    {.name = "rest",
     .kind = SU_OPT_CHOICE,
     .target = &set.rest,
     .argument = "SHAPE",
     .choices = REST_NAMES,
     .help = "what is free of stress at a pose: each tet's neutral shape, turned by a smooth field of rotations, "
             "or the posed shape "
             "itself, folds and all, as in the paper (default: turned)."},
    {.name = "smoothing",
     .kind = SU_OPT_NUMBER,
     .target = &set.smoothing,
     .argument = "SHARE",
     .low = 1e-3,
     .high = 1,
     .help = "length over which those rotations are smoothed, as a part of the flesh's diagonal (default: 4%)."},
    {.name = "gamma",
     .kind = SU_OPT_NUMBER,
     .target = &set.gamma,
     .argument = "G",
     .low = 1e-9,
     .high = 1e3,
     .help = "weight of the strain energy against the distance to the skin, dimensionless (default: 1e-3)."},
    {.name = "residual",
     .kind = SU_OPT_NUMBER,
     .target = &set.residual,
     .argument = "PERCENT",
     .low = 0,
     .high = 100,
     .help = "wanted RMS distance to the skin, as a part of its diagonal: --gamma is made smaller pose by pose, at "
             "most "
             "1000 times, until it is met; 0 leaves --gamma alone (default: 0.2 %)."},
    {.name = "pose",
     .kind = SU_OPT_LIST,
     .target = &set.poses,
     .argument = "N",
     .greedy = true,
     .help = "only these poses, so that a farm can make one a job (default: all)."},
    {.name = "reuse",
     .kind = SU_OPT_LIST,
     .target = &set.reuse,
     .argument = "FIT...",
     .greedy = true,
     .transient = true,
     .help = "poses that these files of earlier runs already have are taken from them, where nothing they depend on "
             "has changed; the result is the same. So a farm's jobs, one a pose, are put together."},
    {.name = "shots",
     .kind = SU_OPT_LIST,
     .target = &set.shots,
     .argument = "ANIM...",
     .greedy = true,
     .transient = true,
     .help = "shots along which collapsed tets are counted and the distance to the skin is measured, at every frame."},
    {.name = "suggest",
     .kind = SU_OPT_INT,
     .target = &set.suggest,
     .argument = "N",
     .low = 0,
     .high = 64,
     .transient = true,
     .help = "with --shots, name up to N frames whose tets collapse most, to be added as example poses with supple "
             "poses "
             "--at (default: 0)."},
};

static const su_program program = {
    .name = "supple-fit",
    .summary = "fit the flesh to the skin of each example pose and set its materials",
    .usage = "TET POSES -o FIT",
    .description =
        "For each example pose the flesh takes the shape that follows the skin with least strain; at run time "
        "the fitted shapes correct a simple interpolation from the skin.",
    .example = "supple fit fox.tet.npz fox.poses.npz --shots run.anim.npz -o fox.fit.npz",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .min_inputs = 2,
    .max_inputs = 2,
    .needs_output = true,
};

int main(int argc, char **argv)
{
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, run(&tool, &set));
}
