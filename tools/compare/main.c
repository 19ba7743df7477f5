/* supple compare: how far a run of a shot is from a reference, usually reduced against full. */
#include "core/file.h"
#include "core/memory.h"
#include "core/order.h"
#include "core/tool.h"
#include "fem/compare.h"
#include "geometry/tetmesh.h"
#include "io/stage/anim.h"
#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "rig/shot.h"
#include "runtime/subspace/reconstruct.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 }; /* frames rebuilt at once */

/* One of the two runs. */
typedef struct side {
    const char *path;
    su_sim sim;
    su_reconstruct *reconstruct;
    double *u, *skin; /* (BLOCK,n,3), (BLOCK,nbar,3) */
} side;

/* How the run's estimate of its error does: ratios to the truth, frame by frame. */
typedef struct estimate_check {
    int64_t frames;           /* 0: there is no estimate */
    double low, median, high; /* quantiles at 10, 50 and 90 % */
    double within;            /* share of the frames within a factor of two */
} estimate_check;

typedef struct job {
    const char *csv;
    bool projection;
    su_model model;
    su_anim anim;
    su_shot *shot;
    side run, reference;
    double *mass;
    su_compare *compare;
    double projection_error, projection_mass_error;
    estimate_check estimate;
} job;

static void side_free(side *s)
{
    su_reconstruct_free(s->reconstruct);
    su_sim_free(&s->sim);
    free(s->u);
    free(s->skin);
}

static void job_free(job *j)
{
    su_compare_free(j->compare);
    side_free(&j->run);
    side_free(&j->reference);
    su_shot_free(j->shot);
    su_anim_free(&j->anim);
    su_model_free(&j->model);
    free(j->mass);
}

static su_status open_side(su_tool *tool, job *j, side *s, const char *path)
{
    su_error *err = &tool->err;
    const su_model *model = &j->model;
    s->path = path;
    SU_TRY(su_sim_load(path, &s->sim, err));
    const su_sim *sim = &s->sim;
    if (sim->F != j->anim.F || fabs(sim->times[0] - j->anim.times[0]) > 1e-6 ||
        fabs(sim->times[sim->F - 1] - j->anim.times[sim->F - 1]) > 1e-6)
        return su_fail(err, SU_INPUT,
                       "%s: %lld frames from %.6g s, the shot has %lld from %.6g s: not a run of this shot", path,
                       (long long)sim->F, sim->times[0], (long long)j->anim.F, j->anim.times[0]);
    if (!sim->q == !sim->u) return su_fail(err, SU_INPUT, "%s: holds neither or both of q and u", path);
    if ((sim->q && (sim->r != model->r || sim->m != model->m)) || ((sim->u || sim->full_u) && sim->n != model->n))
        return su_fail(err, SU_INPUT, "%s: made with another model (%lld modes, %lld poses, %lld vertices)", path,
                       (long long)sim->r, (long long)sim->m, (long long)sim->n);
    SU_TRY(SU_ALLOC(&s->u, BLOCK * 3 * model->n, "displacements", err));
    SU_TRY(SU_ALLOC(&s->skin, BLOCK * 3 * model->nbar, "skin displacements", err));
    return su_reconstruct_create(model, su_sim_interpolation(sim), 0, NULL, tool->threads, &s->reconstruct, err);
}

/* Are two meta values the same to 9 digits? */
static bool same_value(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        double x = json_number_value(a), y = json_number_value(b);
        return fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y));
    }
    if (!json_is_array(a) || !json_is_array(b)) return json_equal(a, b);
    if (json_array_size(a) != json_array_size(b)) return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!same_value(json_array_get(a, i), json_array_get(b, i))) return false;
    return true;
}

/* Runs of different equations may be compared, but hardly on purpose. */
static void check_settings(su_tool *tool, const job *j)
{
    static const char *const keys[] = {"alpha", "beta",   "gravity", "gravity_mode", "substeps",
                                       "start", "settle", "preroll", "teleports",    "stiffness"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *a = json_object_get(j->run.sim.file.meta, keys[i]);
        const json_t *b = json_object_get(j->reference.sim.file.meta, keys[i]);
        if (a && b && !same_value(a, b))
            su_warn(tool, "%s and %s were made with different %s", su_base_name(j->run.path),
                    su_base_name(j->reference.path), keys[i]);
    }
}

static su_status load(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    const char *anim_path = tool->inputs.items[1];
    SU_TRY(su_model_load(tool->inputs.items[0], &j->model, err));
    SU_TRY(su_anim_load(anim_path, &j->anim, err));
    const su_model *model = &j->model;
    su_shot_target target = {.rig = su_rig_of_model(model), .nbar = model->nbar, .neutral = model->neutral};
    SU_TRY(su_shot_create(&j->anim, anim_path, &target, 0, NULL, &j->shot, NULL, err));
    SU_TRY(open_side(tool, j, &j->run, tool->inputs.items[2]));
    SU_TRY(open_side(tool, j, &j->reference, tool->inputs.items[3]));
    check_settings(tool, j);
    SU_TRY(SU_ALLOC(&j->mass, model->n, "masses", err));
    su_lumped_mass(model->n, model->vertices, model->t, model->tets, model->density, j->mass);
    return su_compare_create(model->n, j->mass, model->nbar, j->anim.F, &j->compare, err);
}

static su_status compare(su_tool *tool, job *j)
{
    int64_t n3 = 3 * j->model.n, skin3 = 3 * j->model.nbar, F = j->anim.F;
    for (int64_t first = 0; first < F; first += BLOCK) {
        int64_t count = F - first < BLOCK ? F - first : BLOCK;
        side *sides[] = {&j->run, &j->reference};
        for (int i = 0; i < 2; i++)
            SU_TRY(su_reconstruct_shot(sides[i]->reconstruct, j->shot, &sides[i]->sim, first, count,
                                       &(su_shot_motion){.u = sides[i]->u, .displacement = sides[i]->skin},
                                       &tool->err));
        for (int64_t k = 0; k < count; k++)
            su_compare_add(j->compare, j->anim.times[first + k], j->run.u + k * n3, j->run.skin + k * skin3,
                           j->reference.u + k * n3, j->reference.skin + k * skin3);
        SU_TRY(su_progress_update(&tool->progress, (double)(first + count) / (double)F, &tool->err));
    }
    return SU_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(int64_t count, const double *sorted, double share)
{
    double at = share * (double)(count - 1);
    int64_t k = (int64_t)at;
    return k + 1 < count ? sorted[k] + (at - (double)k) * (sorted[k + 1] - sorted[k]) : sorted[count - 1];
}

/* The run's estimate against the truth, frames aside that were played in the full space or are not off at all. */
static su_status check_estimate(su_tool *tool, job *j)
{
    const su_sim *sim = &j->run.sim;
    const su_compare_frame *frame;
    estimate_check *check = &j->estimate;
    int64_t frames, full = 0, within = 0;
    double *ratio;
    if (!sim->error_estimate) return SU_OK;
    SU_TRY(SU_ALLOC(&ratio, sim->F, "ratios", &tool->err));
    frame = su_compare_frames(j->compare, &frames);
    for (int64_t k = 0; k < frames; k++) {
        while (full < sim->full && sim->full_frame[full] < k) full++;
        if ((full < sim->full && sim->full_frame[full] == k) || frame[k].u_error == 0) continue;
        ratio[check->frames++] = sim->error_estimate[k] / frame[k].u_error;
    }
    su_sort(ratio, (size_t)check->frames, sizeof *ratio, ascending);
    for (int64_t k = 0; k < check->frames; k++) within += ratio[k] >= 0.5 && ratio[k] <= 2;
    if (check->frames > 0) {
        check->low = quantile(check->frames, ratio, 0.1), check->median = quantile(check->frames, ratio, 0.5);
        check->high = quantile(check->frames, ratio, 0.9), check->within = (double)within / (double)check->frames;
        su_stats_number(tool, "estimate_ratio_median", check->median);
        su_stats_number(tool, "estimate_ratio_low", check->low);
        su_stats_number(tool, "estimate_ratio_high", check->high);
        su_stats_integer(tool, "estimate_frames", check->frames);
        su_stats_number(tool, "estimate_within_two", check->within);
    }
    free(ratio);
    return SU_OK;
}

/* ---- what the basis could do at best ---- */

typedef struct projection {
    double *skin, *w, *b, *unit; /* r copies of a frame's inputs; unit coordinates (r,r) */
    double *columns;             /* (r,n,3) U(p) */
    double *gram, *q;            /* (r,r), (r) */
    double squares[4];           /* error and size, plain and by mass */
} projection;

static void projection_free(projection *p)
{
    free(p->skin), free(p->w), free(p->b), free(p->unit), free(p->columns), free(p->gram), free(p->q);
}

/* Least squares in M: columns' M columns q = columns' M u. */
static su_status project_frame(projection *p, const su_model *model, const double *mass, const double *u, su_error *err)
{
    int64_t r = model->r, n3 = 3 * model->n;
    for (int64_t i = 0; i < r; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n3; k++) sum += mass[k / 3] * p->columns[i * n3 + k] * p->columns[j * n3 + k];
            p->gram[i * r + j] = sum;
        }
        p->q[i] = 0;
        for (int64_t k = 0; k < n3; k++) p->q[i] += mass[k / 3] * p->columns[i * n3 + k] * u[k];
    }
    if (LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)r, 1, p->gram, (lapack_int)r, p->q, 1) != 0)
        return su_fail(err, SU_NUMERICS, "the basis has dependent columns");
    for (int64_t k = 0; k < n3; k++) {
        double d = u[k];
        for (int64_t i = 0; i < r; i++) d -= p->q[i] * p->columns[i * n3 + k];
        p->squares[0] += d * d, p->squares[1] += u[k] * u[k];
        p->squares[2] += mass[k / 3] * d * d, p->squares[3] += mass[k / 3] * u[k] * u[k];
    }
    return SU_OK;
}

/* The reference projected on the basis of the run, frame by frame. */
static su_status project(su_tool *tool, job *j)
{
    const su_model *model = &j->model;
    const su_sim *run = &j->run.sim;
    const int32_t *list;
    int64_t r = model->r, n3 = 3 * model->n, needed = su_reconstruct_skin_needed(j->run.reconstruct, &list);
    su_error *err = &tool->err;
    projection p = {0};
    su_status status;
    if (!run->q) return su_fail(err, SU_INPUT, "%s: --projection needs a reduced run", j->run.path);
    SU_GO(SU_ALLOC(&p.skin, r * needed * 3, "projection", err));
    SU_GO(SU_ALLOC(&p.w, r * model->m, "projection", err));
    SU_GO(SU_ALLOC(&p.b, r * model->m, "projection", err));
    SU_GO(SU_ALLOC(&p.unit, r * r, "projection", err));
    SU_GO(SU_ALLOC(&p.columns, r * n3, "projection", err));
    SU_GO(SU_ALLOC(&p.gram, r * r, "projection", err));
    SU_GO(SU_ALLOC(&p.q, r, "projection", err));
    for (int64_t i = 0; i < r; i++) p.unit[i * r + i] = 1;
    for (int64_t k = 0; k < j->anim.F; k++) {
        su_shot_sample_skin(j->shot, k, 0, needed, list, 1, p.skin);
        for (int64_t i = 0; i < r; i++) {
            if (i > 0) memcpy(p.skin + i * 3 * needed, p.skin, (size_t)(3 * needed) * sizeof *p.skin);
            memcpy(p.w + i * model->m, run->weights + k * model->m, (size_t)model->m * sizeof *p.w);
            const double *b = run->basis_weights ? run->basis_weights : run->weights;
            memcpy(p.b + i * model->m, b + k * model->m, (size_t)model->m * sizeof *p.b);
        }
        su_reconstruct_frames(j->run.reconstruct, r, p.skin, p.w, p.b, p.unit, p.columns, NULL);
        SU_GO(su_reconstruct_shot(j->reference.reconstruct, j->shot, &j->reference.sim, k, 1,
                                  &(su_shot_motion){.u = j->reference.u}, err));
        SU_GO(project_frame(&p, model, j->mass, j->reference.u, err));
        SU_GO(su_progress_update(&tool->progress, (double)(k + 1) / (double)j->anim.F, err));
    }
    j->projection_error = p.squares[0] == 0 ? 0 : sqrt(p.squares[0] / p.squares[1]);
    j->projection_mass_error = p.squares[2] == 0 ? 0 : sqrt(p.squares[2] / p.squares[3]);
    su_stats_number(tool, "projection_error", j->projection_error);
    su_stats_number(tool, "projection_error_mass", j->projection_mass_error);
done:
    projection_free(&p);
    return status;
}

/* One line: in per cent, or in words where the reference is zero and there is nothing to be relative to. */
static void print_relative(FILE *out, const char *label, double value, const char *note)
{
    if (isinf(value))
        fprintf(out, "%-30s         - %%   the reference does not move, the run does\n", label);
    else
        fprintf(out, "%-30s %9.4f %%%s\n", label, 100.0 * value, note);
}

static void print_result(FILE *out, const job *j, const su_compare_total *total)
{
    fprintf(out, "%s against %s, %lld frames\n", su_base_name(j->run.path), su_base_name(j->reference.path),
            (long long)j->anim.F);
    print_relative(out, "relative L2 error of u", total->error, "   the largest of the four");
    print_relative(out, "  plain", total->plain, "");
    print_relative(out, "  mass-weighted", total->mass, "");
    print_relative(out, "  frame mean removed", total->mean_removed, "");
    print_relative(out, "  both", total->mass_mean_removed, "");
    if (j->projection) {
        fprintf(out, "reference projected on the basis of the run\n");
        fprintf(out, "  plain                        %9.4f %%\n", 100.0 * j->projection_error);
        fprintf(out, "  mass-weighted                %9.4f %%\n", 100.0 * j->projection_mass_error);
    }
    if (j->estimate.frames > 0)
        fprintf(out,
                "error estimated / true         %9.4f     median of the frames; %.2f and %.2f at 10 and 90 %%, %.0f %% "
                "within a factor of two\n",
                j->estimate.median, j->estimate.low, j->estimate.high, 100 * j->estimate.within);
    print_relative(out, "relative L2 error of velocity", total->velocity, "");
    double motion = total->skin_motion > 0 ? 100.0 / total->skin_motion : 0;
    fprintf(out, "skin error, RMS                %9.4f mm  %.2f %% of the largest displacement\n",
            1e3 * total->skin_error, motion * total->skin_error);
    fprintf(out, "skin error, largest            %9.4f mm  %.2f %%, frame %lld, vertex %lld\n",
            1e3 * total->skin_largest, motion * total->skin_largest, (long long)total->skin_frame,
            (long long)total->skin_vertex);
    fprintf(out, "largest skin displacement      %9.4f mm\n", 1e3 * total->skin_motion);
}

static su_status write_file(const char *path, const job *j, const su_compare_total *total, su_error *err)
{
    su_output out = {0};
    su_status status = SU_OK;
    SU_GO(su_output_open(&out, path, err));
    if (total)
        print_result(out.stream, j, total);
    else
        su_compare_csv(j->compare, out.stream);
    SU_GO(su_output_commit(&out, err));
done:
    su_output_abandon(&out);
    return status;
}

static su_status run(su_tool *tool, job *j)
{
    SU_TRY(load(tool, j));
    if (tool->dry_run) return SU_OK;
    if (j->projection) SU_TRY(project(tool, j));
    SU_TRY(compare(tool, j));
    SU_TRY(check_estimate(tool, j));
    su_compare_total total = su_compare_result(j->compare);
    su_stats_number(tool, "error", total.error);
    su_stats_number(tool, "error_plain", total.plain);
    su_stats_number(tool, "error_mass", total.mass);
    su_stats_number(tool, "error_mean_removed", total.mean_removed);
    su_stats_number(tool, "error_mass_mean_removed", total.mass_mean_removed);
    su_stats_number(tool, "error_velocity", total.velocity);
    su_stats_number(tool, "skin_error_rms_mm", 1e3 * total.skin_error);
    su_stats_number(tool, "skin_error_max_mm", 1e3 * total.skin_largest);
    su_stats_number(tool, "skin_motion_max_mm", 1e3 * total.skin_motion);
    su_progress_finish(&tool->progress);
    if (j->csv) SU_TRY(write_file(j->csv, j, NULL, &tool->err));
    if (tool->output && !tool->output_is_stdout) return write_file(tool->output, j, &total, &tool->err);
    print_result(stdout, j, &total);
    return SU_OK;
}

int main(int argc, char **argv)
{
    job j = {0};
    const su_option options[] = {
        {.name = "csv",
         .kind = SU_OPT_TEXT,
         .target = &j.csv,
         .argument = "FILE",
         .help = "Write one row a frame: sizes, errors of u, of velocity and of the skin."},
        {.name = "projection",
         .kind = SU_OPT_FLAG,
         .target = &j.projection,
         .help = "Also project the reference on the basis of the run, frame by frame (slow): the error that the basis "
                 "alone makes."},
    };
    const su_program program = {.name = "supple-compare",
                                .summary = "measure a run of a shot against a reference",
                                .usage = "MODEL ANIM SIM REFERENCE",
                                .description = "Prints relative L2 errors of the flesh displacement u over frames and "
                                               "vertices: plain, weighted by mass, and both after each run's mean over "
                                               "the frames is taken away at every vertex; the largest of the four "
                                               "counts. Either run may be reduced or full.",
                                .example = "supple compare fox.model.npz run.anim.npz run.sim.npz run.full.npz",
                                .options = options,
                                .option_count = sizeof options / sizeof *options,
                                .min_inputs = 4,
                                .max_inputs = 4,
                                .text_output = true};
    su_tool tool;
    int status;
    if (!su_tool_begin(&tool, &program, argc, argv, &status)) return status;
    su_status result = run(&tool, &j);
    job_free(&j);
    return su_tool_end(&tool, result);
}
