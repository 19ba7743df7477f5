#include "estimate/error_estimate.h"

#include "core/memory.h"
#include "core/threads.h"
#include "estimate/error_motion.h"
#include "estimate/reduced_motion.h"
#include "fem/compare.h"
#include "fem/elastic.h"
#include "fem/fullsim.h"
#include "fem/turned_solver.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "linalg/cholesky.h"
#include "runtime/subspace/reconstruct.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Instants of a block at most; frames of it that follow each other in one thread: the more the fewer instants are
 * evaluated twice, the fewer the fewer are formed for nothing where the estimate stops; tets from which on one residual
 * at a time is formed, by all threads. */
enum { BLOCK = 32, AHEAD = 3, LARGE = 100000 };

/* What is left of the answer's error in the energy norm, and iterations, at most: a tenth of the estimate is not told
 * apart. How many iterations that takes depends on how unlike the flesh is from place to place
 * (docs/notes/2026-11-24-estimate.md). */
static const double ANSWERED = 0.05;
enum { MOST_ITERATIONS = 40 };

/* s between residuals, at most: the simulators' own steps. What a step lacks of balance lasts as long as the step, and
 * is told by no other. */
static const double SPACING = 1.0 / 90;

/* 1/s^2, of mass that stands in for what does not hold the flesh: as if by springs of 1 Hz, softer than flesh that is
 * seen to move. */
static const double LOOSE = 4 * M_PI * M_PI;

/* What one thread forms residuals with. */
typedef struct worker {
    su_fullsim *sim;
    su_sparse_product *product; /* by K */
    su_turned_solver *solver;
    su_instant_basis basis;
    su_sparse K;                       /* of the full space, where sim stands */
    double *answer, *held, *matrix;    /* (2r), (r,r) twice */
    double *before, *older, *residual; /* (n,3) */
    int64_t at;                        /* instant that sim stands at */
    double *moved, *force;             /* (3 free) */
} worker;

/* What is known of an instant before its error is; displacements turned back. */
typedef struct row {
    double *back, *turn;              /* (n,3), (n,4) */
    double *force, *mass, *stiffness; /* (r) -U^' residual, (r,r) twice */
    double soft;                      /* s^2: 1/omega^2 of what moves like the answer of the full space */
} row;

struct su_error_estimator {
    const su_estimate_inputs *in;
    su_reduced_motion motion;
    su_elastic body; /* neutral */
    su_cholesky_half *factor;
    double shift;              /* 1/s^2: mass in all stiffness where nothing holds the flesh; else 0 */
    int team, each;            /* threads side by side, threads of one residual */
    worker *workers;           /* (team) */
    int64_t count, *frames;    /* at which residuals are formed, */
    int each_frame;            /* and at so many instants of the segment before each, evenly spread, its end the last */
    int64_t block;             /* frames of a block */
    double *columns, *answers; /* (instants of a block, 3 free) N, m */
    row rows[BLOCK];           /* instants of a block */
    su_displacements from;
    su_error_motion error;    /* in the span */
    double *z, *rate, *still; /* (n,3) turned back: what is beyond it, m, m/s; the static answer to the force, m */
    int64_t at;               /* instant that the error's motion stands at: substeps from frame 0 */
    su_compare *compare;
    su_instant_basis basis;
    double *e, *u;   /* (n,3) */
    bool begun;      /* frame 0 is estimated */
    int64_t next;    /* of frames: the one to be estimated next */
    int64_t started; /* instant from which it goes on: the shot's beginning, or where it was taken up again */
    int64_t formed;  /* frames */
    double factor_seconds, seconds;
    int64_t compared; /* the last frame in the comparison */
    su_arena arena;
};
typedef struct su_error_estimator estimator;

void su_error_estimator_free(su_error_estimator *s)
{
    if (!s) return;
    for (int k = 0; s->workers && k < s->team; k++) {
        su_fullsim_free(s->workers[k].sim);
        su_turned_solver_free(s->workers[k].solver), su_sparse_product_free(s->workers[k].product);
        su_sparse_free(&s->workers[k].K);
        su_instant_basis_free(&s->workers[k].basis);
    }
    su_error_motion_free(&s->error);
    su_compare_free(s->compare);
    su_instant_basis_free(&s->basis);
    su_cholesky_half_free(s->factor);
    su_elastic_free(&s->body);
    su_reduced_motion_free(&s->motion);
    su_arena_free(&s->arena);
    free(s);
}

static void *take(estimator *s, int64_t count, size_t size) { return su_arena_alloc(&s->arena, count, size); }

/* The files belong together, and there is an estimate for them. */
static su_status check(const su_estimate_inputs *in, su_error *err)
{
    const su_model *model = in->model;
    if (in->tet->n != model->n || in->tet->t != model->t || in->fit->n != model->n || in->fit->t != model->t ||
        in->fit->k != model->m || memcmp(in->tet->tets, model->tets, (size_t)(4 * model->t) * sizeof *model->tets) != 0)
        return su_fail(err, SU_INPUT,
                       "an estimate of the error needs the flesh and the fit that the model was made from");
    if (su_sim_interpolation(in->sim) != SU_COROTATED)
        return su_fail(err, SU_USAGE, "there is no estimate of the error for linear interpolation");
    return SU_OK;
}

/* Frames at most the spacing apart, and the last of each piece; none where motion starts: there the state is given, not
 * found. */
static su_status choose_frames(estimator *s, su_error *err)
{
    double spaces = s->in->settings->frame_seconds / SPACING - 1e-6;
    int64_t F = su_shot_frames(s->in->shot), stride = (int64_t)(SPACING / s->in->settings->frame_seconds + 1e-6);
    s->each_frame = spaces < BLOCK ? (int)ceil(spaces) : BLOCK;
    if (s->each_frame > s->in->settings->substeps) s->each_frame = s->in->settings->substeps;
    if (s->each_frame < 1) s->each_frame = 1;
    if (!(s->frames = take(s, F, sizeof *s->frames)))
        return su_fail(err, SU_AGAIN, "no memory for %lld frames", (long long)F);
    for (int64_t k = 1; k < F; k++) {
        bool last = k + 1 == F || su_shot_cut(s->in->shot, k + 1);
        if ((k % (stride > 1 ? stride : 1) == 0 || last) && !su_shot_cut(s->in->shot, k)) s->frames[s->count++] = k;
    }
    return SU_OK;
}

/* Threads side by side, one residual each, or for large flesh one after the other by all threads; frames of a block. */
static void divide(estimator *s, int threads)
{
    bool large = s->in->model->t > LARGE;
    int64_t most = large ? 1 : BLOCK / s->each_frame;
    s->team = large ? 1 : threads, s->each = large ? threads : 1;
    if (most > (int64_t)AHEAD * s->team) most = (int64_t)AHEAD * s->team;
    s->block = s->count < most ? s->count : most;
}

static su_status create_workers(estimator *s, su_error *err)
{
    const su_estimate_inputs *in = s->in;
    int64_t n3 = 3 * in->model->n, r = in->model->r;
    if (!(s->workers = take(s, s->team, sizeof *s->workers))) return su_fail(err, SU_AGAIN, "no memory");
    for (int k = 0; k < s->team; k++) {
        worker *w = s->workers + k;
        w->at = -1;
        su_fullsim_options options = {.tolerance = 1e-8, .threads = s->each, .placed = true};
        SU_TRY(su_fullsim_create(in->tet, in->fit, in->shot, in->settings, &options, &w->sim, err));
        SU_TRY(su_sparse_product_create(&s->body.pattern, s->each, &w->product, err));
        SU_TRY(su_turned_solver_create(&s->body, s->factor, w->product, s->each, &w->solver, err));
        SU_TRY(su_instant_basis_create(&s->motion, &w->basis, err));
        SU_TRY(su_sparse_clone_pattern(&s->body.pattern, &w->K, err));
        double **arrays[] = {&w->answer, &w->held,     &w->matrix, &w->before,
                             &w->older,  &w->residual, &w->moved,  &w->force};
        int64_t sizes[] = {2 * r, r * r, r * r, n3, n3, n3, n3, n3};
        for (int i = 0; i < 8; i++)
            if (!(*arrays[i] = take(s, sizes[i], sizeof(double))))
                return su_fail(err, SU_AGAIN, "no memory for the residual");
    }
    return SU_OK;
}

static void add_mass(const estimator *s, double shift, su_sparse *K)
{
    for (int64_t f = 0; f < s->body.free_count; f++)
        for (int c = 0; c < 3; c++)
            K->value[K->start[3 * f + c]] += shift * s->body.mass[s->body.free_vertex[f]]; /* diagonal first */
}

/* K of the neutral flesh, as stiff as the shot has it. */
static su_status factorize(estimator *s, su_error *err)
{
    const su_tet *tet = s->in->tet;
    const su_fit *fit = s->in->fit;
    const char *name = json_string_value(json_object_get(fit->file.meta, "material"));
    int material = name ? su_material_from_name(name) : SU_NEOHOOKEAN;
    su_sparse K = {0};
    su_cholesky *factor = NULL;
    double *young = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&young, tet->t, "materials", err));
    for (int64_t e = 0; e < tet->t; e++) young[e] = s->in->settings->stiffness * fit->young[e];
    SU_GO(su_elastic_create(&s->body,
                            &(su_elastic_body){.mesh = {tet->n, tet->t, tet->vertices, tet->tets},
                                               .held_count = tet->fixed_count,
                                               .held = tet->fixed,
                                               .material = (su_material)(material < 0 ? SU_NEOHOOKEAN : material),
                                               .young = young,
                                               .poisson = fit->poisson,
                                               .density = fit->density},
                            err));
    SU_GO(su_sparse_clone_pattern(&s->body.pattern, &K, err));
    su_elastic_stiffness(&s->body, tet->vertices, true, &K, 1);
    SU_GO(su_cholesky_create(&s->body.pattern, 1, &factor, err));
    status = su_cholesky_factorize(factor, &K, err);
    if (status != SU_OK && status != SU_NUMERICS) goto done;
    if (status != SU_OK) {
        s->shift = LOOSE;
        add_mass(s, s->shift, &K);
        SU_GO(su_cholesky_factorize(factor, &K, err));
    }
    SU_GO(su_cholesky_half_create(factor, &s->factor, err));
done:
    su_cholesky_free(factor);
    su_sparse_free(&K);
    free(young);
    return status;
}

/* (3 free) in the root frame to (n,3) turned back. */
static void turn_back(const estimator *s, const row *at, const double *answer, double *back)
{
    for (int64_t v = 0; v < s->in->model->n; v++) {
        int64_t f = s->body.free_index[v];
        double R[9];
        su_quaternion_matrix(at->turn + 4 * v, R);
        if (f >= 0)
            su_tmulv3(R, answer + 3 * f, back + 3 * v);
        else
            memset(back + 3 * v, 0, 3 * sizeof *back);
    }
}

/* R_v U^ x for x (r), (3 free) in the root frame, into w->moved. */
static void turn_span(const estimator *s, worker *w, const row *at, const double *x)
{
    memset(w->older, 0, (size_t)(3 * s->in->model->n) * sizeof *w->older);
    su_reduced_motion_add(&s->motion, &w->basis, x, w->older);
    for (int64_t f = 0; f < s->body.free_count; f++) {
        int64_t v = s->body.free_vertex[f];
        double R[9];
        su_quaternion_matrix(at->turn + 4 * v, R);
        su_mulv3(R, w->older + 3 * v, w->moved + 3 * f);
    }
}

/* out (r): what the span has of a field (n,3) in w->older, turned back, in the metric of the mass; w->basis is at the
 * instant of `at`. */
static su_status project(const estimator *s, worker *w, const row *at, double *out, su_error *err)
{
    int64_t r = s->motion.basis.r, n = s->in->model->n;
    for (int64_t i = 0; i < 3 * n; i++) w->older[i] *= s->body.mass[i / 3];
    su_reduced_motion_project(&s->motion, &w->basis, w->older, out);
    memcpy(w->matrix, at->mass, (size_t)(r * r) * sizeof(double));
    if (LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', (lapack_int)r, 1, w->matrix, (lapack_int)r, out, (lapack_int)r) != 0)
        return su_fail(err, SU_NUMERICS, "the mass of the basis is not definite");
    return SU_OK;
}

/* What the span has of an answer (3 free) of the full space goes from there into the force on the error in the span,
 * and into w->answer: stiff flesh that a state stretches lets go of a large force by moving a little, which the span
 * alone cannot. */
static su_status into_span(const estimator *s, worker *w, row *at, double *answer, su_error *err)
{
    int64_t r = s->motion.basis.r;
    double *part = w->answer + r;
    turn_back(s, at, answer, w->older);
    SU_TRY(project(s, w, at, part, err));
    for (int64_t k = 0; k < r; k++) w->answer[k] += part[k];
    cblas_dsymv(CblasColMajor, CblasLower, (int)r, 1, at->stiffness, (int)r, part, 1, 1, at->force, 1);
    turn_span(s, w, at, part);
    for (int64_t k = 0; k < 3 * s->body.free_count; k++) answer[k] -= w->moved[k];
    return SU_OK;
}

/* 1/omega^2 = x' M x / x' K x of what moves like the static answer x (3 free); 0 where there is no answer. */
static double answer_softness(const estimator *s, worker *w, const double *x)
{
    double stiff = 0, heavy = 0;
    su_sparse_product_multiply(w->product, &w->K, x, w->force);
    for (int64_t i = 0; i < 3 * s->body.free_count; i++) {
        stiff += x[i] * w->force[i];
        heavy += s->body.mass[s->body.free_vertex[i / 3]] * x[i] * x[i];
    }
    return heavy > 0 && stiff > 0 ? heavy / stiff : 0;
}

/* column (3 free), a residual that is turned back, becomes -residual - K (its static answer in the span of the basis),
 * root frame; answer: what the full space answers to that. */
static su_status answer_rest(const estimator *s, worker *w, int64_t instant, row *at, double *column, double *answer,
                             su_error *err)
{
    int64_t r = s->motion.basis.r, substeps = s->in->settings->substeps;
    for (int64_t k = 0; k < r * r; k++) w->held[k] = at->stiffness[k] + s->shift * at->mass[k];
    SU_TRY(su_reduced_answer(r, w->held, at->force, w->answer, w->matrix, w->answer + r, err));
    su_reduced_motion_enter(&s->motion, (instant - 1) / substeps,
                            (double)((instant - 1) % substeps + 1) / (double)substeps, &w->basis);
    turn_span(s, w, at, w->answer);
    for (int64_t f = 0; f < s->body.free_count; f++) {
        double R[9];
        su_quaternion_matrix(at->turn + 4 * (int64_t)s->body.free_vertex[f], R);
        su_mulv3(R, column + 3 * f, column + 3 * f);
    }
    su_sparse_product_multiply(w->product, &w->K, w->moved, w->force);
    for (int64_t k = 0; k < 3 * s->body.free_count; k++) column[k] = -column[k] - w->force[k];
    su_turned_solver_solve(w->solver, &w->K, NULL, at->turn, ANSWERED, MOST_ITERATIONS, column, answer);
    SU_TRY(into_span(s, w, at, answer, err));
    at->soft = answer_softness(s, w, answer);
    return SU_OK;
}

/* Instant j of those of a frame. */
static int64_t instant_of(const estimator *s, int64_t frame, int j)
{
    int substeps = s->in->settings->substeps;
    return (frame - 1) * substeps + (j + 1) * substeps / s->each_frame;
}

/* What a step to an instant lacks of balance, into w->residual. back (n,3): the displacement there. */
static void step_residual(estimator *s, worker *w, int64_t instant, double *back, su_fullsim_instant *at)
{
    int substeps = s->in->settings->substeps;
    bool starts = (instant - 1) % substeps == 0 && su_shot_cut(s->in->shot, (instant - 1) / substeps);
    if (w->at == instant - 1 && !starts) {
        su_fullsim_follow(w->sim);
    } else {
        su_displacement(&s->from, &w->basis, instant - 2, w->older);
        su_displacement(&s->from, &w->basis, instant - 1, w->before);
        su_fullsim_place(w->sim, (instant - 1) / substeps, (int)((instant - 1) % substeps), w->before, w->older);
    }
    w->at = instant;
    su_displacement(&s->from, &w->basis, instant, back);
    su_fullsim_residual(w->sim, back, w->residual, at);
}

/* All that is known of an instant into its row, and the residual there, turned back: at the shot's
 * beginning that of rest. */
static void form_row(estimator *s, worker *w, int64_t instant, row *out, double *column)
{
    int64_t r = s->motion.basis.r, n = s->in->model->n;
    su_fullsim_instant at;
    if (instant == 0) {
        su_displacement(&s->from, &w->basis, 0, out->back);
        su_fullsim_place(w->sim, 0, 0, out->back, NULL);
        su_fullsim_rest_residual(w->sim, w->residual, &at);
        w->at = -1; /* it does not follow from there */
    } else {
        step_residual(s, w, instant, out->back, &at);
    }
    su_reduced_motion_project(&s->motion, &w->basis, w->residual, out->force);
    for (int64_t k = 0; k < r; k++) out->force[k] = -out->force[k];
    for (int64_t f = 0; f < s->body.free_count; f++)
        memcpy(column + 3 * f, w->residual + 3 * (int64_t)s->body.free_vertex[f], 3 * sizeof *column);
    memcpy(w->K.value, at.K->value, (size_t)at.K->entries * sizeof *at.K->value);
    add_mass(s, s->shift, &w->K);
    memcpy(out->turn, at.turn, (size_t)(4 * n) * sizeof *out->turn);
    su_reduced_motion_mass(&s->motion, &w->basis, out->mass);
    su_reduced_motion_tangent(&s->motion, &w->basis, &at, out->stiffness);
}

/* All instants of a frame, and what the full space is to answer. */
static su_status form_frame(estimator *s, worker *w, int64_t i, int64_t frame, su_error *err)
{
    int64_t dofs = 3 * s->body.free_count, first = i * s->each_frame;
    for (int64_t j = 0, k = first; j < s->each_frame; j++, k++) {
        int64_t instant = instant_of(s, frame, (int)j);
        form_row(s, w, instant, s->rows + k, s->columns + k * dofs);
        SU_TRY(answer_rest(s, w, instant, s->rows + k, s->columns + k * dofs, s->answers + k * dofs, err));
    }
    return SU_OK;
}

/* Over the cuts up to an instant: the error stays as it is, its motion begins anew. */
static void pass_cuts(estimator *s, int64_t instant)
{
    size_t n3 = 3 * (size_t)s->in->model->n;
    int64_t substeps = s->in->settings->substeps;
    for (int64_t k = s->at / substeps + 1; k * substeps <= instant; k++) {
        if (!su_shot_cut(s->in->shot, k)) continue;
        su_error_motion_restart(&s->error);
        memset(s->rate, 0, n3 * sizeof *s->rate);
        memset(s->still, 0, n3 * sizeof *s->still);
        s->at = k * substeps;
    }
}

/* z moves on by steps, as one oscillator that the static answer draws along; the answer changes evenly on the way. */
static void move_rest(estimator *s, int64_t steps, const row *at, const double *answer)
{
    const su_sim_settings *settings = s->in->settings;
    int64_t n = s->in->model->n;
    double h = settings->step, inertia = at->soft / (h * h);
    double drag = (settings->beta + settings->alpha * at->soft) / h, *next = s->e;
    turn_back(s, at, answer, next);
    for (int64_t step = 1; step <= steps; step++) {
        double along = (double)step / (double)steps;
        for (int64_t k = 0; k < 3 * n; k++) {
            double before = s->z[k], load = (1 - along) * s->still[k] + along * next[k];
            s->z[k] = (load + inertia * (before + h * s->rate[k]) + drag * before) / (1 + inertia + drag);
            s->rate[k] = (s->z[k] - before) / h;
        }
    }
    memcpy(s->still, next, (size_t)(3 * n) * sizeof *next);
}

/* The error moves on to an instant of which the full space has answered. */
static su_status move_error(estimator *s, int64_t instant, const row *at, const double *answer, su_error *err)
{
    pass_cuts(s, instant);
    int64_t steps = instant - s->at;
    SU_TRY(su_error_motion_advance(&s->error, steps, at->mass, at->stiffness, at->force, err));
    move_rest(s, steps, at, answer);
    s->at = instant;
    return SU_OK;
}

void su_error_estimator_know(su_error_estimator *s, int64_t frame, const double *u, const double *full)
{
    if (!s->compare || frame <= s->compared) return;
    su_compare_add(s->compare, s->in->sim->times[frame], u, NULL, full, NULL);
    s->compared = frame;
}

/* RMS over the vertices of the error at the frame it has come to, m; also into the comparison. */
static su_status measure(estimator *s, int64_t frame, const row *at, double *rms, su_error *err)
{
    int64_t n = s->in->model->n;
    double square = 0;
    memcpy(s->e, s->z, (size_t)(3 * n) * sizeof *s->e);
    su_reduced_motion_enter(&s->motion, frame > 0 ? frame - 1 : 0, frame > 0, &s->basis);
    su_reduced_motion_add(&s->motion, &s->basis, s->error.x, s->e);
    for (int64_t v = 0; v < n; v++) {
        double R[9];
        su_quaternion_matrix(at->turn + 4 * v, R);
        su_mulv3(R, s->e + 3 * v, s->e + 3 * v);
        su_mulv3(R, at->back + 3 * v, s->u + 3 * v);
        for (int c = 0; c < 3; c++) square += s->e[3 * v + c] * s->e[3 * v + c], s->e[3 * v + c] += s->u[3 * v + c];
    }
    su_error_estimator_know(s, frame, s->u, s->e);
    *rms = sqrt(square / (double)(n > 0 ? n : 1));
    return isfinite(*rms)
               ? SU_OK
               : su_fail(err, SU_NUMERICS, "frame %lld: the estimate of the error is not finite", (long long)frame);
}

/* The rows of `count` frames from number s->next. Threads take frames that follow each other, for an instant that
 * follows the one before is made from it; that gives the same bytes as one that does not. */
static su_status form_block(estimator *s, int64_t count, su_error *err)
{
    int64_t each = (count + s->team - 1) / s->team;
    su_status formed = SU_OK;
#pragma omp parallel for schedule(static, 1) num_threads(s->team) if (s->team > 1)
    for (int k = 0; k < s->team; k++) {
        su_error own = {0};
        su_status status = SU_OK;
        for (int64_t i = k * each; i < (k + 1) * each && i < count && status == SU_OK; i++)
            status = form_frame(s, s->workers + k, i, s->frames[s->next + i], &own);
#pragma omp critical(su_error_estimate)
        if (status != SU_OK && formed == SU_OK) {
            formed = status;
            if (err) *err = own;
        }
    }
    return formed;
}

/* Is a frame behind the one estimated before number i, up to that of i, one to stop at? */
static bool stops(const estimator *s, int64_t i, double limit, const int32_t *status, const double *estimate,
                  int64_t *stop)
{
    int64_t before = i > 0 ? s->frames[i - 1] : -1;
    for (int64_t k = before + 1; k <= s->frames[i]; k++) {
        *stop = k;
        if (status && k * s->in->settings->substeps > s->started && status[k] >= SU_STATUS_DAMPED) return true;
    }
    return estimate[s->frames[i]] > limit;
}

/* The next block; *stop: the first of its frames to stop at, as it was. */
static su_status one_block(estimator *s, double limit, const int32_t *status, double *estimate, int64_t *stop,
                           su_error *err)
{
    int64_t left = s->count - s->next, count = left < s->block ? left : s->block, dofs = 3 * s->body.free_count;
    bool stopped = false;
    SU_TRY(form_block(s, count, err));
    for (int64_t k = 0; k < count * s->each_frame && !stopped; k++) {
        int64_t frame = s->frames[s->next];
        int j = (int)(k % s->each_frame);
        SU_TRY(move_error(s, instant_of(s, frame, j), s->rows + k, s->answers + k * dofs, err));
        if (j + 1 < s->each_frame) continue;
        SU_TRY(measure(s, frame, s->rows + k, estimate + frame, err));
        stopped = stops(s, s->next, limit, status, estimate, stop);
        s->next++, s->formed++;
    }
    if (!stopped) *stop = su_shot_frames(s->in->shot);
    return SU_OK;
}

/* A run that begins in an equilibrium is off there already, by what the equation of rest says. */
static su_status begin(estimator *s, double *estimate, su_error *err)
{
    const su_sim_settings *settings = s->in->settings;
    worker *w = s->workers;
    row *at = s->rows + s->each_frame - 1;
    if (!settings->settle && settings->gravity_mode != SU_GRAVITY_RELATIVE) return SU_OK;
    form_row(s, w, 0, at, s->columns);
    SU_TRY(answer_rest(s, w, 0, at, s->columns, s->answers, err)); /* leaves the answer in the span in w->answer */
    su_error_motion_settle(&s->error, at->stiffness, at->force, w->answer);
    turn_back(s, at, s->answers, s->z);
    memcpy(s->still, s->z, (size_t)(3 * s->in->model->n) * sizeof *s->z);
    return measure(s, 0, at, estimate, err);
}

static su_status allocate(estimator *s, su_error *err)
{
    const su_sim_settings *settings = s->in->settings;
    int64_t n = s->in->model->n, r = s->in->model->r;
    int64_t dofs = 3 * s->body.free_count;
    bool good = true;
    int64_t rows = s->block * s->each_frame;
    double **vectors[] = {&s->columns, &s->answers, &s->e, &s->u, &s->z, &s->rate, &s->still};
    int64_t sizes[] = {rows * dofs, rows * dofs, 3 * n, 3 * n, 3 * n, 3 * n, 3 * n};
    for (int k = 0; k < 7; k++) good &= (*vectors[k] = take(s, sizes[k], sizeof(double))) != NULL;
    for (int64_t i = 0; i < rows; i++) {
        row *at = s->rows + i;
        double **arrays[] = {&at->back, &at->turn, &at->force, &at->mass, &at->stiffness};
        int64_t room[] = {3 * n, 4 * n, r, r * r, r * r};
        for (int k = 0; k < 5; k++) good &= (*arrays[k] = take(s, room[k], sizeof(double))) != NULL;
    }
    if (!good) return su_fail(err, SU_AGAIN, "no memory for residuals of %lld flesh vertices", (long long)n);
    s->from = (su_displacements){&s->motion, s->in->sim, settings};
    SU_TRY(su_error_motion_create(r, settings->alpha, settings->beta, settings->step, &s->error, err));
    SU_TRY(su_compare_create(n, s->body.mass, 0, su_shot_frames(s->in->shot), &s->compare, err));
    return su_instant_basis_create(&s->motion, &s->basis, err);
}

/* Those before the first and behind the last are like it. */
void su_error_estimator_fill(const su_error_estimator *s, double *estimate)
{
    int64_t F = su_shot_frames(s->in->shot);
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

/* What the frames say of the shot. */
static void conclude(const estimator *s, const double *estimate, su_estimate_total *total)
{
    double squares = estimate[0] * estimate[0], relative = total->relative;
    for (int64_t i = 0; i < s->count; i++) squares += estimate[s->frames[i]] * estimate[s->frames[i]];
    total->motion = relative > 0 ? sqrt(squares / (double)(s->count + 1)) / relative : 0;
}

su_status su_error_estimator_create(const su_estimate_inputs *inputs, int threads, su_error_estimator **out,
                                    su_error *err)
{
    estimator *s;
    double start = su_seconds();
    su_status status;
    *out = NULL;
    SU_TRY(SU_ALLOC(&s, 1, "estimate of the error", err));
    *s = (estimator){.in = inputs, .compared = -1};
    SU_GO(check(inputs, err));
    SU_GO(su_reduced_motion_create(inputs->model, inputs->shot, inputs->settings->stiffness, &s->motion, err));
    SU_GO(choose_frames(s, err));
    if (s->count > 0) SU_GO(factorize(s, err));
    s->factor_seconds = su_seconds() - start;
    divide(s, threads > 0 ? threads : 1);
    if (s->count > 0) {
        SU_GO(create_workers(s, err));
        SU_GO(allocate(s, err));
    }
    s->begun = s->count == 0;
    *out = s;
    s = NULL;
done:
    su_error_estimator_free(s);
    return status;
}

su_status su_error_estimator_run(su_error_estimator *s, double limit, const int32_t *status, double *estimate,
                                 int64_t *stop, su_progress *progress, su_error *err)
{
    int64_t F = su_shot_frames(s->in->shot);
    double start = su_seconds();
    su_status ended = SU_OK;
    *stop = F;
    if (!s->begun) {
        ended = begin(s, estimate, err);
        if (ended == SU_OK && (estimate[0] > limit || (status && status[0] >= SU_STATUS_DAMPED))) *stop = 0;
        if (ended == SU_NUMERICS) *stop = 0;
        s->begun = true;
    }
    while (ended == SU_OK && *stop == F && s->next < s->count) {
        ended = one_block(s, limit, status, estimate, stop, err);
        if (ended == SU_NUMERICS) *stop = s->frames[s->next];
        if (ended == SU_OK) ended = su_progress_update(progress, (double)s->next / (double)s->count, err);
    }
    s->seconds += su_seconds() - start;
    return ended;
}

su_status su_error_estimator_restart(su_error_estimator *s, int64_t frame, const double *error, const double *before,
                                     su_error *err)
{
    const su_sim_settings *settings = s->in->settings;
    worker *w = s->workers;
    row *at = s->rows;
    int64_t n = s->in->model->n, r = s->in->model->r, instant = frame * settings->substeps;
    double start = su_seconds();
    form_row(s, w, instant, at, s->columns);
    SU_TRY(answer_rest(s, w, instant, at, s->columns, s->answers, err));
    memcpy(w->older, before, (size_t)(3 * n) * sizeof *before);
    SU_TRY(project(s, w, at, w->answer, err));
    memcpy(w->older, error, (size_t)(3 * n) * sizeof *error);
    SU_TRY(project(s, w, at, w->answer + r, err));
    su_error_motion_settle(&s->error, at->stiffness, at->force, w->answer + r);
    for (int64_t k = 0; k < r; k++) w->answer[k] = w->answer[r + k] - w->answer[k];
    for (int64_t k = 0; k < r; k++) s->error.rate[k] = w->answer[k] / settings->step;
    /* beyond the span: what is left of both */
    for (int64_t i = 0; i < 3 * n; i++) s->z[i] = -error[i], s->rate[i] = before[i] - error[i];
    su_reduced_motion_add(&s->motion, &w->basis, s->error.x, s->z);
    su_reduced_motion_add(&s->motion, &w->basis, w->answer, s->rate);
    for (int64_t i = 0; i < 3 * n; i++) s->z[i] = -s->z[i], s->rate[i] = -s->rate[i] / settings->step;
    turn_back(s, at, s->answers, s->still);
    s->at = s->started = instant;
    while (s->next < s->count && s->frames[s->next] <= frame) s->next++;
    s->begun = true;
    s->seconds += su_seconds() - start;
    return SU_OK;
}

void su_error_estimator_total(const su_error_estimator *s, su_estimate_total *total)
{
    int64_t count;
    double moved = 0;
    *total = (su_estimate_total){0};
    if (!s->compare) return;
    const su_compare_frame *frame = su_compare_frames(s->compare, &count);
    for (int64_t k = 0; k < count; k++) moved += frame[k].u * frame[k].u;
    *total = (su_estimate_total){.relative = su_compare_result(s->compare).error,
                                 .motion = count > 0 ? sqrt(moved / (double)count) : 0,
                                 .frames = s->formed,
                                 .factor_seconds = s->factor_seconds,
                                 .residual_seconds = s->seconds};
}

su_status su_error_estimate(const su_estimate_inputs *inputs, int threads, double *estimate, su_estimate_total *total,
                            su_progress *progress, su_error *err)
{
    su_error_estimator *s = NULL;
    int64_t F = su_shot_frames(inputs->shot), stop;
    su_status status;
    *total = (su_estimate_total){0};
    memset(estimate, 0, (size_t)F * sizeof *estimate);
    SU_GO(su_error_estimator_create(inputs, threads, &s, err));
    SU_GO(su_error_estimator_run(s, INFINITY, NULL, estimate, &stop, progress, err));
    su_error_estimator_fill(s, estimate);
    su_error_estimator_total(s, total);
    conclude(s, estimate, total);
done:
    su_error_estimator_free(s);
    return status;
}
