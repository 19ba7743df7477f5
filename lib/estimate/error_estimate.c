#include "estimate/error_estimate.h"

#include "core/memory.h"
#include "core/threads.h"
#include "estimate/error_motion.h"
#include "estimate/full_answer.h"
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

/* Right-hand sides of one solve; tets from which on one residual at a time is formed, by all threads. */
enum { BLOCK = 16, LARGE = 100000 };

/* Of conjugate gradients: three read 0.9 to 1 times what many do, in the median (docs/reduction.md). */
enum { STEPS = 6 };

/* s between residuals, at most: film's 24 frames a second, at which flesh of a few Hz is still followed (docs/reduction.md). */
static const double SPACING = 1.0 / 24;

/* 1/s^2, of mass that stands in for what does not hold the flesh: as if by springs of 1 Hz, softer than flesh that is seen to move. */
static const double LOOSE = 4 * M_PI * M_PI;

/* What one thread forms residuals with. */
typedef struct worker {
    su_fullsim *sim;
    su_instant_basis basis;
    double *q, *matrix;               /* (2r), (r,r) */
    double *before, *older, *residual;   /* (n,3) */
    double *moved, *force;            /* (3 free) */
} worker;

/* What is known of a frame before its error is; displacements turned back. */
typedef struct row {
    double *back, *turn;              /* (n,3) of the reduced state, (n,4) */
    double *force, *mass;             /* (r) -U^' residual, (r,r) */
    double *stiffness, *projected;    /* (r,r) exact, and of elements made semidefinite */
    su_sparse K;                      /* of the full space */
} row;

typedef struct estimator {
    const su_estimate_inputs *in;
    su_reduced_motion motion;
    su_elastic body;                  /* neutral */
    su_cholesky *factor;
    double shift;                     /* 1/s^2: mass in all stiffness where nothing holds the flesh; else 0 */
    int team, each;                   /* threads side by side, threads of one residual */
    worker *workers;                  /* (team) */
    int64_t count, *frames;           /* where residuals are formed */
    int64_t block;                    /* rows of a block */
    double *columns, *answers;        /* (block, 3 free) N, m */
    su_full_answer full;
    row rows[BLOCK];
    su_error_motion error;
    su_instant_basis basis;
    const su_sparse *K[BLOCK];        /* of the rows */
    const double *turns[BLOCK];
    double *e, *u;                    /* (n,3) */
    int64_t at;                       /* frame that the error's motion stands at */
    su_compare *compare;
    su_arena arena;
} estimator;

static void estimator_free(estimator *s)
{
    for (int k = 0; s->workers && k < s->team; k++) {
        su_fullsim_free(s->workers[k].sim);
        su_instant_basis_free(&s->workers[k].basis);
    }
    su_error_motion_free(&s->error);
    su_instant_basis_free(&s->basis);
    su_compare_free(s->compare);
    su_cholesky_free(s->factor);
    su_elastic_free(&s->body);
    su_reduced_motion_free(&s->motion);
    su_arena_free(&s->arena);
}

static void *take(estimator *s, int64_t count, size_t size) { return su_arena_alloc(&s->arena, count, size); }

/* The files belong together, and there is an estimate for them. */
static su_status check(const su_estimate_inputs *in, su_error *err)
{
    const su_model *model = in->model;
    if (in->tet->n != model->n || in->tet->t != model->t || in->fit->n != model->n || in->fit->t != model->t || in->fit->k != model->m ||
        memcmp(in->tet->tets, model->tets, (size_t)(4 * model->t) * sizeof *model->tets) != 0)
        return su_fail(err, SU_INPUT, "an estimate of the error needs the flesh and the fit that the model was made from");
    if (su_sim_interpolation(in->sim) != SU_COROTATED)
        return su_fail(err, SU_USAGE, "there is no estimate of the error for linear interpolation");
    return SU_OK;
}

/* Frames at most SPACING apart, and the last; none where motion starts: there the state is given, not found. */
static su_status choose_frames(estimator *s, su_error *err)
{
    int64_t F = su_shot_frames(s->in->shot), stride = (int64_t)(SPACING / s->in->settings->frame_seconds + 1e-6);
    if (!(s->frames = take(s, F, sizeof *s->frames))) return su_fail(err, SU_AGAIN, "no memory for %lld frames", (long long)F);
    for (int64_t k = 1; k < F; k++)
        if ((k % (stride > 1 ? stride : 1) == 0 || k + 1 == F) && !su_shot_cut(s->in->shot, k)) s->frames[s->count++] = k;
    return SU_OK;
}

static su_status create_workers(estimator *s, int threads, su_error *err)
{
    const su_estimate_inputs *in = s->in;
    int64_t n3 = 3 * in->model->n, r = in->model->r;
    s->team = in->model->t > LARGE ? 1 : threads;
    s->each = in->model->t > LARGE ? threads : 1;
    if (!(s->workers = take(s, s->team, sizeof *s->workers))) return su_fail(err, SU_AGAIN, "no memory");
    for (int k = 0; k < s->team; k++) {
        worker *w = s->workers + k;
        su_fullsim_options options = {.tolerance = 1e-8, .threads = s->each, .placed = true};
        SU_TRY(su_fullsim_create(in->tet, in->fit, in->shot, in->settings, &options, &w->sim, err));
        SU_TRY(su_instant_basis_create(&s->motion, &w->basis, err));
        double **arrays[] = {&w->q, &w->matrix, &w->before, &w->older, &w->residual, &w->moved, &w->force};
        int64_t sizes[] = {2 * r, r * r, n3, n3, n3, n3, n3};
        for (int i = 0; i < 7; i++)
            if (!(*arrays[i] = take(s, sizes[i], sizeof(double)))) return su_fail(err, SU_AGAIN, "no memory for the residual");
    }
    return SU_OK;
}

static void add_mass(const estimator *s, double shift, su_sparse *K)
{
    for (int64_t f = 0; f < s->body.free_count; f++)
        for (int c = 0; c < 3; c++) K->value[K->start[3 * f + c]] += shift * s->body.mass[s->body.free_vertex[f]];   /* diagonal first */
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
    if (su_cholesky_factorize(s->factor, &K, NULL) != SU_OK) {
        s->shift = LOOSE;
        add_mass(s, s->shift, &K);
        SU_GO(su_cholesky_factorize(s->factor, &K, err));
    }
done:
    su_sparse_free(&K);
    free(young);
    return status;
}

static void displacement(const estimator *s, worker *w, int64_t frame, int substep, const double *q, double *back)
{
    int substeps = s->in->settings->substeps;
    while (substep < 0) frame--, substep += substeps;
    memset(back, 0, (size_t)(3 * s->in->model->n) * sizeof *back);
    if (frame < 0) return;   /* before the shot: not read */
    su_reduced_motion_enter(&s->motion, frame, (double)substep / substeps, &w->basis);
    su_reduced_motion_add(&s->motion, &w->basis, q, back);
}

/* column = -residual - K (its static answer in the span of the basis), root frame: what is left for the full space to answer. */
static su_status leave_span(const estimator *s, worker *w, const row *at, double *column, su_error *err)
{
    int64_t r = s->motion.basis.r, n = s->in->model->n;
    double *answer = w->q;
    SU_TRY(su_reduced_answer(r, at->projected, at->force, answer, w->matrix, w->q + r, err));
    memset(w->older, 0, (size_t)(3 * n) * sizeof *w->older);
    su_reduced_motion_add(&s->motion, &w->basis, answer, w->older);
    for (int64_t f = 0; f < s->body.free_count; f++) {
        int64_t v = s->body.free_vertex[f];
        double R[9];
        su_quaternion_matrix(at->turn + 4 * v, R);
        su_mulv3(R, w->older + 3 * v, w->moved + 3 * f);
        su_mulv3(R, w->residual + 3 * v, column + 3 * f);
    }
    su_sparse_multiply(&at->K, w->moved, w->force);
    for (int64_t k = 0; k < 3 * s->body.free_count; k++) column[k] = -column[k] - w->force[k];
    return SU_OK;
}

/* All that is known of a frame, into row i of the block. */
static su_status form_row(estimator *s, worker *w, int64_t frame, int64_t i, su_error *err)
{
    const su_sim *sim = s->in->sim;
    int64_t r = sim->r, n = s->in->model->n;
    int substeps = s->in->settings->substeps;
    row *out = s->rows + i;
    double h = s->in->settings->step, *column = s->columns + 3 * s->body.free_count * i;
    const double *q = sim->q + frame * r, *rate = sim->qdot + frame * r, *change = sim->qddot + frame * r;
    for (int64_t k = 0; k < r; k++) w->q[k] = q[k] - 2 * h * rate[k] + h * h * change[k];
    displacement(s, w, frame - 1, substeps - 2, w->q, w->older);
    for (int64_t k = 0; k < r; k++) w->q[k] = q[k] - h * rate[k];
    displacement(s, w, frame - 1, substeps - 1, w->q, w->before);
    displacement(s, w, frame - 1, substeps, q, out->back);
    su_fullsim_instant at;
    su_fullsim_place(w->sim, frame - 1, substeps - 1, w->before, w->older);
    su_fullsim_residual(w->sim, out->back, w->residual, &at);
    memcpy(out->turn, at.turn, (size_t)(4 * n) * sizeof *out->turn);
    su_reduced_motion_project(&s->motion, &w->basis, w->residual, out->force);
    for (int64_t k = 0; k < r; k++) out->force[k] = -out->force[k];
    su_reduced_motion_mass(&s->motion, &w->basis, out->mass);
    su_reduced_motion_tangent(&s->motion, &w->basis, &at, false, out->stiffness);
    su_reduced_motion_tangent(&s->motion, &w->basis, &at, true, out->projected);
    memcpy(out->K.value, at.K->value, (size_t)at.K->entries * sizeof *at.K->value);
    for (int64_t k = 0; k < r * r; k++) out->projected[k] += s->shift * out->mass[k];
    add_mass(s, s->shift, &out->K);
    return leave_span(s, w, out, column, err);
}

/* The error in the span of the basis moves on to a frame. */
static su_status move_error(estimator *s, int64_t frame, const row *at, su_error *err)
{
    for (int64_t k = s->at + 1; k <= frame; k++)
        if (su_shot_cut(s->in->shot, k)) su_error_motion_restart(&s->error), s->at = k;
    int64_t steps = (frame - s->at) * s->in->settings->substeps;
    s->at = frame;
    return su_error_motion_advance(&s->error, steps, at->mass, at->stiffness, at->force, err);
}

/* RMS over the vertices of the error at a frame, row i of the block; also into the comparison. */
static su_status measure(estimator *s, int64_t frame, int64_t i, double *rms, su_error *err)
{
    int64_t n = s->in->model->n;
    const double *answer = s->answers + 3 * s->body.free_count * i;
    const row *at = s->rows + i;
    double square = 0;
    SU_TRY(move_error(s, frame, at, err));
    memset(s->e, 0, (size_t)(3 * n) * sizeof *s->e);
    su_reduced_motion_enter(&s->motion, frame - 1, 1, &s->basis);
    su_reduced_motion_add(&s->motion, &s->basis, s->error.x, s->e);
    for (int64_t v = 0; v < n; v++) {
        double R[9];
        su_quaternion_matrix(at->turn + 4 * v, R);
        su_mulv3(R, s->e + 3 * v, s->e + 3 * v);
        su_mulv3(R, at->back + 3 * v, s->u + 3 * v);
        int64_t f = s->body.free_index[v];
        for (int c = 0; c < 3 && f >= 0; c++) s->e[3 * v + c] += answer[3 * f + c];
        for (int c = 0; c < 3; c++) square += s->e[3 * v + c] * s->e[3 * v + c], s->e[3 * v + c] += s->u[3 * v + c];
    }
    su_compare_add(s->compare, s->in->sim->times[frame], s->u, NULL, s->e, NULL);
    *rms = sqrt(square / (double)(n > 0 ? n : 1));
    return isfinite(*rms) ? SU_OK : su_fail(err, SU_NUMERICS, "frame %lld: the estimate of the error is not finite", (long long)frame);
}

static su_status all_frames(estimator *s, double *estimate, su_progress *progress, su_error *err)
{
    for (int64_t first = 0; first < s->count; first += s->block) {
        int64_t count = s->count - first < s->block ? s->count - first : s->block;
        su_status formed = SU_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->team) if (s->team > 1)
        for (int64_t i = 0; i < count; i++) {
            su_error own = {0};
            su_status status = form_row(s, s->workers + omp_get_thread_num(), s->frames[first + i], i, &own);
#pragma omp critical(su_error_estimate)
            if (status != SU_OK && formed == SU_OK) {
                formed = status;
                if (err) *err = own;
            }
        }
        SU_TRY(formed);
        SU_TRY(su_full_answer_solve(&s->full, count, STEPS, s->columns, s->answers, s->team * s->each, err));
        for (int64_t i = 0; i < count; i++) SU_TRY(measure(s, s->frames[first + i], i, estimate + s->frames[first + i], err));
        SU_TRY(su_progress_update(progress, (double)(first + count) / (double)s->count, err));
    }
    return SU_OK;
}

static su_status allocate(estimator *s, su_error *err)
{
    int64_t n = s->in->model->n, r = s->in->model->r;
    int64_t dofs = 3 * s->body.free_count;
    bool good = true;
    s->block = s->in->model->t > LARGE ? 1 : s->count < BLOCK ? s->count : BLOCK;
    s->full = (su_full_answer){s->factor, s->body.free_count, s->body.free_vertex, s->K, s->turns, NULL};
    double **vectors[] = {&s->columns, &s->answers, &s->full.work, &s->e, &s->u};
    int64_t sizes[] = {s->block * dofs, s->block * dofs, 3 * s->block * dofs, 3 * n, 3 * n};
    for (int k = 0; k < 5; k++) good &= (*vectors[k] = take(s, sizes[k], sizeof(double))) != NULL;
    for (int64_t i = 0; i < s->block; i++) {
        row *at = s->rows + i;
        at->K = s->body.pattern, at->K.owns_pattern = 0;
        double **arrays[] = {&at->back, &at->turn, &at->force, &at->mass, &at->stiffness, &at->projected, &at->K.value};
        int64_t room[] = {3 * n, 4 * n, r, r * r, r * r, r * r, at->K.entries};
        for (int k = 0; k < 7; k++) good &= (*arrays[k] = take(s, room[k], sizeof(double))) != NULL;
        s->K[i] = &at->K, s->turns[i] = at->turn;
    }
    if (!good) return su_fail(err, SU_AGAIN, "no memory for residuals of %lld flesh vertices", (long long)n);
    SU_TRY(su_instant_basis_create(&s->motion, &s->basis, err));
    SU_TRY(su_error_motion_create(r, s->in->settings->alpha, s->in->settings->beta, s->in->settings->step, &s->error, err));
    return su_compare_create(n, s->body.mass, 0, s->count, &s->compare, err);
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
    int64_t F = su_shot_frames(inputs->shot);
    double start = su_seconds();
    su_status status;
    *total = (su_estimate_total){0};
    memset(estimate, 0, (size_t)F * sizeof *estimate);
    SU_GO(check(inputs, err));
    SU_GO(su_reduced_motion_create(inputs->model, inputs->shot, inputs->settings->stiffness, &s.motion, err));
    SU_GO(choose_frames(&s, err));
    if (s.count == 0) goto done;
    SU_GO(factorize(&s, err));
    total->factor_seconds = su_seconds() - start;
    start = su_seconds();
    SU_GO(create_workers(&s, threads > 0 ? threads : 1, err));
    SU_GO(allocate(&s, err));
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
