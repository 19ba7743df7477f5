#include "estimate/error_estimate.h"

#include "core/memory.h"
#include "core/threads.h"
#include "estimate/reduced_motion.h"
#include "fem/compare.h"
#include "fem/elastic.h"
#include "fem/fullsim.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "linalg/cholesky.h"
#include "runtime/reconstruct.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Frames from one at which the residual is formed to the next; right-hand sides of one solve; tets from which on one residual at a
 * time is formed, by all threads. */
enum { STRIDE = 2, BLOCK = 16, LARGE = 100000 };

/* Truth over the static answer to the residual, in the median: measured on six shots (docs/reduction.md). */
static const double AMPLIFICATION = 1.4;

/* What one thread forms residuals with. */
typedef struct worker {
    su_fullsim *sim;
    double *scratch, *q;              /* q (r) */
    double *before, *older, *residual;   /* (n,3) */
} worker;

typedef struct estimator {
    const su_estimate_inputs *in;
    su_reduced_motion motion;
    su_elastic body;                  /* neutral */
    su_cholesky *factor;
    int team, each;                   /* threads side by side, threads of one residual */
    worker *workers;                  /* (team) */
    int64_t count, *frames;           /* where residuals are formed */
    double *columns;                  /* (BLOCK, 3 free) */
    double *back, *turn;              /* (BLOCK,n,3) of the reduced state, (BLOCK,n,4) */
    double *e, *u;                    /* (n,3) */
    su_compare *compare;
    su_arena arena;
} estimator;

static void estimator_free(estimator *s)
{
    for (int k = 0; s->workers && k < s->team; k++) su_fullsim_free(s->workers[k].sim);
    su_compare_free(s->compare);
    su_cholesky_free(s->factor);
    su_elastic_free(&s->body);
    su_reduced_motion_free(&s->motion);
    su_arena_free(&s->arena);
}

static void *take(estimator *s, int64_t count, size_t size) { return su_arena_alloc(&s->arena, count, size); }

static su_status check(const su_estimate_inputs *in, su_error *err)
{
    const su_model *model = in->model;
    if (in->tet->n != model->n || in->tet->t != model->t || in->fit->n != model->n || in->fit->t != model->t || in->fit->k != model->m ||
        memcmp(in->tet->tets, model->tets, (size_t)(4 * model->t) * sizeof *model->tets) != 0)
        return su_fail(err, SU_INPUT, "an estimate of the error needs the flesh and the fit that the model was made from");
    if (su_sim_interpolation(in->sim) != SU_COROTATED) return su_fail(err, SU_USAGE, "there is no estimate of the error for linear interpolation");
    return SU_OK;
}

/* Every second frame, the last one, none where motion starts: there the state is given, not found. */
static su_status choose_frames(estimator *s, su_error *err)
{
    int64_t F = su_shot_frames(s->in->shot);
    if (!(s->frames = take(s, F, sizeof *s->frames))) return su_fail(err, SU_AGAIN, "no memory for %lld frames", (long long)F);
    for (int64_t k = 1; k < F; k++) {
        bool wanted = (k % STRIDE == 0 || k + 1 == F || su_shot_cut(s->in->shot, k - 1)) && !su_shot_cut(s->in->shot, k);
        if (wanted) s->frames[s->count++] = k;
    }
    return SU_OK;
}

static su_status create_workers(estimator *s, int threads, su_error *err)
{
    const su_estimate_inputs *in = s->in;
    int64_t n3 = 3 * in->model->n;
    s->team = in->model->t > LARGE ? 1 : threads;
    s->each = in->model->t > LARGE ? threads : 1;
    if (!(s->workers = take(s, s->team, sizeof *s->workers))) return su_fail(err, SU_AGAIN, "no memory");
    for (int k = 0; k < s->team; k++) {
        worker *w = s->workers + k;
        su_fullsim_options options = {.tolerance = 1e-8, .threads = s->each, .placed = true};
        SU_TRY(su_fullsim_create(in->tet, in->fit, in->shot, in->settings, &options, &w->sim, err));
        if (!(w->scratch = take(s, su_reduced_motion_scratch(&s->motion), sizeof(double))) || !(w->q = take(s, in->model->r, sizeof(double))) ||
            !(w->before = take(s, n3, sizeof(double))) || !(w->older = take(s, n3, sizeof(double))) ||
            !(w->residual = take(s, n3, sizeof(double))))
            return su_fail(err, SU_AGAIN, "no memory for the residual");
    }
    return SU_OK;
}

/* K of the neutral flesh, as stiff as the shot has it. */
static su_status factorize(estimator *s, su_error *err)
{
    const su_tet *tet = s->in->tet;
    const su_fit *fit = s->in->fit;
    const char *name = json_string_value(json_object_get(fit->file.meta, "material"));
    int material = name ? su_material_from_name(name) : SU_NEOHOOKEAN;
    su_sparse K = {0};
    double *young = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&young, tet->t, "materials", err));
    for (int64_t e = 0; e < tet->t; e++) young[e] = s->in->settings->stiffness * fit->young[e];
    SU_GO(su_elastic_create(&s->body, tet->n, tet->vertices, tet->t, tet->tets, tet->fixed_count, tet->fixed,
                            (su_material)(material < 0 ? SU_NEOHOOKEAN : material), young, fit->poisson, fit->density, err));
    SU_GO(su_sparse_clone_pattern(&s->body.pattern, &K, err));
    su_elastic_stiffness(&s->body, tet->vertices, true, &K, 1);
    SU_GO(su_cholesky_create(&s->body.pattern, 1, &s->factor, err));
    SU_GO(su_cholesky_factorize(s->factor, &K, err));
done:
    su_sparse_free(&K);
    free(young);
    return status;
}

/* Residual and reduced displacement of a frame, both turned back, into row i of the block. */
static void form_residual(estimator *s, worker *w, int64_t frame, int64_t i)
{
    const su_sim *sim = s->in->sim;
    int64_t r = sim->r, n = s->in->model->n, cut_at = frame - 1;
    int substeps = s->in->settings->substeps;
    double h = s->in->settings->step, *back = s->back + 3 * n * i, *column = s->columns + 3 * s->body.free_count * i;
    const double *q = sim->q + frame * r, *rate = sim->qdot + frame * r, *change = sim->qddot + frame * r;
    su_reduced_motion_at(&s->motion, frame - 1, 1, q, back, w->scratch);
    for (int64_t k = 0; k < r; k++) w->q[k] = q[k] - h * rate[k];
    su_reduced_motion_at(&s->motion, frame - 1, (double)(substeps - 1) / substeps, w->q, w->before, w->scratch);
    for (int64_t k = 0; k < r; k++) w->q[k] = q[k] - 2 * h * rate[k] + h * h * change[k];
    if (substeps > 1) su_reduced_motion_at(&s->motion, cut_at, (double)(substeps - 2) / substeps, w->q, w->older, w->scratch);
    else if (frame > 1) su_reduced_motion_at(&s->motion, frame - 2, 0, w->q, w->older, w->scratch);
    su_fullsim_place(w->sim, frame - 1, substeps - 1, w->before, w->older);
    su_fullsim_residual(w->sim, back, w->residual, s->turn + 4 * n * i);
    for (int64_t f = 0; f < s->body.free_count; f++)
        memcpy(column + 3 * f, w->residual + 3 * (int64_t)s->body.free_vertex[f], 3 * sizeof *column);
}

/* RMS over the vertices of the error that row i of the block stands for; also into the comparison. */
static double measure(estimator *s, int64_t frame, int64_t i)
{
    int64_t n = s->in->model->n;
    const double *column = s->columns + 3 * s->body.free_count * i, *back = s->back + 3 * n * i;
    double square = 0;
    memset(s->e, 0, (size_t)(3 * n) * sizeof *s->e);
    for (int64_t f = 0; f < s->body.free_count; f++)
        for (int c = 0; c < 3; c++) s->e[3 * (int64_t)s->body.free_vertex[f] + c] = -AMPLIFICATION * column[3 * f + c];
    for (int64_t v = 0; v < n; v++) {
        double R[9];
        su_quaternion_matrix(s->turn + 4 * (n * i + v), R);
        su_mulv3(R, s->e + 3 * v, s->e + 3 * v);
        su_mulv3(R, back + 3 * v, s->u + 3 * v);
        for (int c = 0; c < 3; c++) square += s->e[3 * v + c] * s->e[3 * v + c], s->e[3 * v + c] += s->u[3 * v + c];
    }
    su_compare_add(s->compare, s->in->sim->times[frame], s->e, NULL, s->u, NULL);
    return sqrt(square / (double)(n > 0 ? n : 1));
}

static su_status all_frames(estimator *s, double *estimate, su_progress *progress, su_error *err)
{
    FILE *dump = getenv("SU_DUMP") ? fopen(getenv("SU_DUMP"), "wb") : NULL;
    int64_t n = s->in->model->n;
    for (int64_t first = 0; first < s->count; first += BLOCK) {
        int64_t count = s->count - first < BLOCK ? s->count - first : BLOCK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->team) if (s->team > 1)
        for (int64_t i = 0; i < count; i++) form_residual(s, s->workers + omp_get_thread_num(), s->frames[first + i], i);
        for (int64_t i = 0; dump && i < count; i++) {
            double f = (double)s->frames[first + i];
            fwrite(&f, 8, 1, dump);
            fwrite(s->columns + 3 * s->body.free_count * i, 8, 3 * s->body.free_count, dump);
            fwrite(s->back + 3 * n * i, 8, 3 * n, dump);
            fwrite(s->turn + 4 * n * i, 8, 4 * n, dump);
        }
        SU_TRY(su_cholesky_solve(s->factor, count, s->columns, s->columns, err));
        for (int64_t i = 0; i < count; i++) estimate[s->frames[first + i]] = measure(s, s->frames[first + i], i);
        SU_TRY(su_progress_update(progress, (double)(first + count) / (double)s->count, err));
    }
    if (dump) fclose(dump);
    return SU_OK;
}

/* Frames between two estimates lie between them; those before the first and behind the last of a piece are like it. */
static void fill(const estimator *s, int64_t F, double *estimate)
{
    for (int64_t i = 0; i + 1 < s->count; i++) {
        int64_t a = s->frames[i], b = s->frames[i + 1];
        for (int64_t k = a + 1; k < b; k++) {
            double along = (double)(k - a) / (double)(b - a);
            estimate[k] = (1 - along) * estimate[a] + along * estimate[b];
        }
    }
    if (s->count == 0) return;
    for (int64_t k = 1; k < s->frames[0]; k++) estimate[k] = estimate[s->frames[0]];
    for (int64_t k = s->frames[s->count - 1] + 1; k < F; k++) estimate[k] = estimate[s->frames[s->count - 1]];
}

su_status su_error_estimate(const su_estimate_inputs *inputs, int threads, double *estimate, su_estimate_total *total,
                            su_progress *progress, su_error *err)
{
    estimator s = {.in = inputs};
    int64_t F = su_shot_frames(inputs->shot), n = inputs->model->n;
    double start = su_seconds();
    su_status status;
    *total = (su_estimate_total){0};
    memset(estimate, 0, (size_t)F * sizeof *estimate);
    SU_GO(check(inputs, err));
    SU_GO(su_reduced_motion_create(inputs->model, inputs->shot, &s.motion, err));
    SU_GO(choose_frames(&s, err));
    if (s.count == 0) goto done;
    SU_GO(factorize(&s, err));
    total->factor_seconds = su_seconds() - start;
    start = su_seconds();
    SU_GO(create_workers(&s, threads > 0 ? threads : 1, err));
    s.columns = take(&s, BLOCK * 3 * s.body.free_count, sizeof(double));
    s.back = take(&s, BLOCK * 3 * n, sizeof(double)), s.turn = take(&s, BLOCK * 4 * n, sizeof(double));
    s.e = take(&s, 3 * n, sizeof(double)), s.u = take(&s, 3 * n, sizeof(double));
    SU_GO(s.columns && s.back && s.turn && s.e && s.u ? SU_OK : su_fail(err, SU_AGAIN, "no memory for residuals"));
    SU_GO(su_compare_create(n, s.body.mass, 0, s.count, &s.compare, err));
    SU_GO(all_frames(&s, estimate, progress, err));
    fill(&s, F, estimate);
    su_compare_total sum = su_compare_result(s.compare);
    double squares = 0;
    for (int64_t i = 0; i < s.count; i++) squares += estimate[s.frames[i]] * estimate[s.frames[i]];
    total->relative = sum.error, total->frames = s.count;
    total->motion = sum.error > 0 ? sqrt(squares / (double)s.count) / sum.error : 0;
    total->residual_seconds = su_seconds() - start;
done:
    estimator_free(&s);
    return status;
}
