/* supple modes: the motions that the flesh has at each example pose. */
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "core/tool.h"
#include "fem/elastic.h"
#include "io/fit.h"
#include "io/modes.h"
#include "io/tet.h"
#include "reduce/modes.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    int r, linear;
    su_list poses;
    bool keep_rigid;
} settings;

typedef struct job {
    su_tool *tool;
    const settings *set;
    su_tet tet;
    su_fit fit;
    su_modes modes;
    int64_t *rows;              /* (k) row of each pose in the fit */
    su_mode_report *reports;    /* (k) */
    su_material material;
} job;

/* Which of the fit's poses are wanted: all, or those that --pose names. */
static su_status choose_poses(job *j)
{
    const su_list *wanted = &j->set->poses;
    su_error *err = &j->tool->err;
    int64_t count = wanted->count ? wanted->count : j->fit.k;
    SU_TRY(SU_ALLOC(&j->rows, count, "poses", err));
    SU_TRY(SU_FILE_ALLOC(&j->modes.file, &j->modes.pose, count, err));
    j->modes.k = count;
    for (int64_t i = 0; i < count; i++) {
        if (!wanted->count) {
            j->rows[i] = i;
        } else {
            char *end;
            errno = 0;
            long pose = strtol(wanted->items[i], &end, 10);
            if (errno || *end || end == wanted->items[i])
                return su_fail(err, SU_USAGE, "--pose %s: is not a pose number", wanted->items[i]);
            int64_t row = 0;
            while (row < j->fit.k && j->fit.pose[row] != pose) row++;
            if (row == j->fit.k)
                return su_fail(err, SU_INPUT, "%s: has no pose %ld", j->tool->inputs.items[1], pose);
            j->rows[i] = row;
        }
        j->modes.pose[i] = j->fit.pose[j->rows[i]];
    }
    return SU_OK;
}

static su_status load(job *j)
{
    su_error *err = &j->tool->err;
    const char *const *paths = j->tool->inputs.items;
    SU_TRY(su_tet_load(paths[0], &j->tet, err));
    SU_TRY(su_fit_load(paths[1], &j->fit, err));
    if (j->fit.n != j->tet.n || j->fit.t != j->tet.t)
        return su_fail(err, SU_INPUT, "%s: is of a mesh with %lld vertices and %lld tets, %s has %lld and %lld", paths[1],
                       (long long)j->fit.n, (long long)j->fit.t, paths[0], (long long)j->tet.n, (long long)j->tet.t);
    const char *name = su_meta_text(j->fit.file.meta, "material", "");
    int material = su_material_from_name(name);
    if (material < 0) return su_fail(err, SU_INPUT, "%s: unknown material '%s'", paths[1], name);
    j->material = (su_material)material;
    return choose_poses(j);
}

/* Convention 16: what the modes of one pose depend on. */
static su_status pose_digest(const job *j, int64_t row, char hex[33])
{
    int64_t n = j->tet.n, t = j->tet.t;
    int64_t counts[] = {n, t, j->tet.fixed_count, j->modes.r, j->modes.linear, j->material, j->set->keep_rigid};
    su_digest *digest = su_digest_begin();
    if (!digest) return su_fail(&j->tool->err, SU_AGAIN, "out of memory");
    su_digest_add(digest, counts, sizeof counts);
    su_digest_add(digest, j->tet.vertices, 3 * (size_t)n * sizeof(double));
    su_digest_add(digest, j->tet.tets, 4 * (size_t)t * sizeof(int32_t));
    su_digest_add(digest, j->tet.fixed, (size_t)j->tet.fixed_count * sizeof(int32_t));
    su_digest_add(digest, j->fit.shapes + 3 * row * n, 3 * (size_t)n * sizeof(double));
    su_digest_add(digest, j->fit.young + row * t, (size_t)t * sizeof(double));
    su_digest_add(digest, j->fit.poisson + row * t, (size_t)t * sizeof(double));
    su_digest_add(digest, j->fit.density, (size_t)t * sizeof(double));
    su_digest_end(digest, hex);
    return SU_OK;
}

static su_status solve_pose(job *j, int64_t i, int threads, su_error *err)
{
    int64_t row = j->rows[i], n = j->tet.n, t = j->tet.t;
    const double *x = j->fit.shapes + 3 * row * n;
    su_elastic elastic;
    SU_TRY(su_elastic_create(&elastic, n, j->tet.vertices, t, j->tet.tets, j->tet.fixed_count, j->tet.fixed, j->material,
                             j->fit.young + row * t, j->fit.poisson + row * t, j->fit.density, err));
    su_elastic_set_rest(&elastic, x, threads);
    su_mode_problem problem = {.elastic = &elastic, .x = x, .keep_rigid = j->set->keep_rigid};
    su_status status = su_modes_solve(&problem, j->modes.linear, j->modes.r, j->modes.eigenvalues + i * j->modes.linear,
                                      j->modes.modes + 3 * i * j->modes.r * n, &j->reports[i], threads,
                                      &j->tool->progress, err);
    su_elastic_free(&elastic);
    if (status != SU_OK) su_error_context(err, "pose %d: ", (int)j->modes.pose[i]);
    return status;
}

/* Poses beside each other where memory allows, each with its share of the threads. */
static su_status solve_all(job *j)
{
    int64_t k = j->modes.k, finished = 0;
    int threads = j->tool->threads, team = j->tet.t > 200000 ? 1 : threads < k ? threads : (int)k;
    su_status first = SU_OK;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
    for (int64_t i = 0; i < k; i++) {
        su_error err = {0};
        su_status status = solve_pose(j, i, threads / team, &err);
#pragma omp critical(modes_progress)
        {
            if (status == SU_OK) status = su_progress_update(&j->tool->progress, (double)++finished / (double)k, &err);
            if (status != SU_OK && first == SU_OK) first = status, j->tool->err = err;
        }
    }
    return first;
}

static void report(const job *j)
{
    su_tool *tool = j->tool;
    double factor = 0, eigen = 0, derivatives = 0, pca = 0, residual = 0;
    for (int64_t i = 0; i < j->modes.k; i++) {
        const su_mode_report *r = &j->reports[i];
        const double *values = j->modes.eigenvalues + i * j->modes.linear;
        factor += r->seconds_factor, eigen += r->seconds_eigen;
        derivatives += r->seconds_derivatives, pca += r->seconds_pca;
        residual = fmax(residual, r->residual);
        su_detail(tool, "pose %d: %.2f to %.2f Hz, residual %.1e, %lld solves%s", (int)j->modes.pose[i],
                  sqrt(fmax(values[0], 0)) / (2 * M_PI), sqrt(values[j->modes.linear - 1]) / (2 * M_PI), r->residual,
                  (long long)r->applications, r->projected ? ", stiffness made definite" : "");
        if (r->projected)
            su_warn(tool, "pose %d: the stiffness is indefinite at the rest shape (collapsed tets); its element matrices "
                    "were made definite", (int)j->modes.pose[i]);
    }
    su_stats_stage(tool, "factor", factor);
    su_stats_stage(tool, "eigen", eigen);
    su_stats_stage(tool, "derivatives", derivatives);
    su_stats_stage(tool, "pca", pca);
    su_stats_number(tool, "largest_residual", residual);
    su_stats_integer(tool, "poses", j->modes.k);
    su_stats_integer(tool, "modes", j->modes.r);
    su_stats_integer(tool, "linear_modes", j->modes.linear);
    su_note(tool, "%lld poses, %lld modes (%lld linear), lowest %.2f Hz, residual %.1e", (long long)j->modes.k,
            (long long)j->modes.r, (long long)j->modes.linear, sqrt(fmax(j->modes.eigenvalues[0], 0)) / (2 * M_PI), residual);
}

static su_status make_meta(job *j)
{
    su_tool *tool = j->tool;
    json_t *meta = su_tool_meta(tool, "supple.modes", 1, tool->inputs.items, tool->inputs.count), *digests = json_array();
    j->modes.file.meta = meta;
    if (!meta || !digests) {
        json_decref(digests);
        return meta ? su_fail(&tool->err, SU_AGAIN, "out of memory") : tool->err.status;
    }
    for (int64_t i = 0; i < j->modes.k; i++) {
        char hex[33];
        if (pose_digest(j, j->rows[i], hex) != SU_OK) {
            json_decref(digests);
            return tool->err.status;
        }
        json_array_append_new(digests, json_string(hex));
    }
    json_object_set_new(meta, "pose_digests", digests);
    json_object_set_new(meta, "linear_modes", json_pack("[I]", (json_int_t)j->modes.linear));
    json_object_set_new(meta, "material", json_string(su_material_name(j->material)));
    return SU_OK;
}

static su_status run(su_tool *tool, const settings *set)
{
    job j = {.tool = tool, .set = set};
    su_modes *modes = &j.modes;
    su_error *err = &tool->err;
    su_status status;
    SU_GO(load(&j));
    int64_t free_dofs = 3 * (j.tet.n - j.tet.fixed_count);
    modes->r = set->r;
    modes->linear = su_modes_least_linear(set->r, set->linear ? set->linear : (set->r + 2) / 3);
    if (set->linear && modes->linear != set->linear) {
        status = su_fail(err, SU_USAGE, "--linear %d: %d modes need at least %lld linear ones and at most %d", set->linear,
                         set->r, (long long)su_modes_least_linear(set->r, 1), set->r);
        goto done;
    }
    if (modes->r > free_dofs / 2) {
        status = su_fail(err, SU_INPUT, "%s: %lld degrees of freedom are too few for %d modes; ask for fewer by -r",
                         tool->inputs.items[0], (long long)free_dofs, set->r);
        goto done;
    }
    modes->n = j.tet.n, modes->d = 1;
    su_note(tool, "%lld tets, %lld free vertices, %lld poses", (long long)j.tet.t, (long long)(free_dofs / 3),
            (long long)modes->k);
    if (tool->dry_run) goto done;
    SU_GO(SU_FILE_ALLOC(&modes->file, &modes->modes, 3 * modes->k * modes->r * modes->n, err));
    SU_GO(SU_FILE_ALLOC(&modes->file, &modes->eigenvalues, modes->k * modes->linear, err));
    SU_GO(SU_FILE_ALLOC(&modes->file, &modes->region_weights, modes->n, err));
    SU_GO(SU_FILE_ALLOC(&modes->file, &modes->mode_region, modes->r, err));
    SU_GO(SU_ALLOC(&j.reports, modes->k, "reports", err));
    for (int64_t v = 0; v < modes->n; v++) modes->region_weights[v] = 1;
    for (int64_t v = 0; v < j.tet.fixed_count; v++) modes->region_weights[j.tet.fixed[v]] = 0;
    SU_GO(solve_all(&j));
    report(&j);
    SU_GO(make_meta(&j));
    double started = su_seconds();
    SU_GO(su_modes_save(tool->output, modes, err));
    su_stats_stage(tool, "write", su_seconds() - started);
    su_progress_finish(&tool->progress);
done:
    su_tet_free(&j.tet);
    su_fit_free(&j.fit);
    su_modes_free(modes);
    free(j.rows);
    free(j.reports);
    return status;
}

int main(int argc, char **argv)
{
    settings set = {.r = 60};
    const su_option options[] = {
        {.name = "modes", .letter = 'r', .kind = SU_OPT_INT, .target = &set.r, .argument = "N", .low = 1, .high = 2000,
         .help = "modes of each pose, linear ones and derivatives together (default: 60)."},
        {.name = "linear", .kind = SU_OPT_INT, .target = &set.linear, .argument = "N", .low = 0, .high = 2000,
         .help = "how many of them are linear modes; the others are the principal directions of their derivatives "
                 "(default: 0, a third)."},
        {.name = "pose", .kind = SU_OPT_LIST, .target = &set.poses, .argument = "N", .greedy = true,
         .help = "only these poses, so that a farm can make one a job (default: all in FIT)."},
        {.name = "keep-rigid", .kind = SU_OPT_FLAG, .target = &set.keep_rigid,
         .help = "where flesh is held nowhere, its rigid motions count among the modes instead of being left out."},
    };
    const su_program program = {
        .name = "supple-modes",
        .summary = "linear modes and modal derivatives of the flesh at each example pose",
        .usage = "TET FIT -o MODES",
        .description = "Solves K u = lambda M u at the rest shape of each pose, with that pose's materials, and adds the "
                       "leading directions of the modal derivatives, so that large motions stay in the subspace.",
        .example = "supple modes fox.tet.npz fox.fit.npz --pose 3 -o fox.modes.3.npz",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .min_inputs = 2,
        .max_inputs = 2,
        .needs_output = true,
    };
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    return su_tool_end(&tool, run(&tool, &set));
}
