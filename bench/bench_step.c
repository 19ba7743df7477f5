/* The step and the pose part, as docs/runtime.md defines them, on a made-up character of PSSD's gorilla's sizes;
 * beside them, on the same core, the dense product of a stacked basis, a step the dense way, and PSSD's own figures.
 * Medians and minima of batches: on a machine that others use the minimum says more. */
#include "character.h"
#include "trained.h"
#include "fem/elastic.h"
#include "fem/implicit.h"
#include "runtime/pack_model.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/shot_lanes.h"
#include "runtime/reduced_step.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 21, BLOCK = SU_POSE_FRAMES };

extern char *openblas_get_corename(void);

/* Processor time of this thread: other work on the machine does not count. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct figure {
    double median, least, spread;
} figure;

static figure figure_of(double times[BATCHES])
{
    figure f = {.least = times[0]};
    for (int b = 1; b < BATCHES; b++) f.least = times[b] < f.least ? times[b] : f.least;
    f.median = bench_median(BATCHES, times, &f.spread);
    return f;
}

static figure dense_product(void)
{
    enum { R = 100, K = 1296 };
    double *A = su_calloc(R * K, 8), *C = su_calloc(R * R, 8), times[BATCHES];
    for (int i = 0; i < R * K; i++) A[i] = 1.0 / (i + 1);
    for (int b = 0; b < BATCHES; b++) {
        double start = seconds();
        for (int k = 0; k < 20; k++)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, R, R, K, 1, A, K, A, K, 0, C, R);
        times[b] = (seconds() - start) / 20;
    }
    free(A), free(C);
    return figure_of(times);
}

/* What PSSD does at every step, without regions and with BLAS: the m poses' rows at the corners of 144 cubature tets
 * blended, D B of each tet, one stacked product, one Cholesky solve. Stress and inertia are left out, in its favour. */
static figure dense_way(int r, int m)
{
    enum { TETS = 144, ROWS = 12 * TETS, K = 9 * TETS };
    double *poses = su_calloc((int64_t)m * ROWS * r, 8), *U = su_calloc(ROWS * r, 8), *B = su_calloc(K * r, 8);
    double *W = su_calloc(K * r, 8), *A = su_calloc(r * r, 8), *q = su_calloc(r, 8), D[81], G[108], times[BATCHES];
    for (int64_t i = 0; i < (int64_t)m * ROWS * r; i++) poses[i] = (double)(i * 7919 % 1009) / 1009 - 0.5;
    for (int i = 0; i < 81; i++) D[i] = i % 10 == 0 ? 2 : 0.1;
    for (int i = 0; i < 108; i++) G[i] = (i * 31 % 17) / 17.0 - 0.5;
    for (int b = 0; b < BATCHES; b++) {
        double start = seconds();
        for (int k = 0; k < 4; k++) {
            memset(U, 0, (size_t)(ROWS * r) * sizeof *U);
            for (int i = 0; i < m; i++) cblas_daxpy(ROWS * r, 1.0 / m, poses + (int64_t)i * ROWS * r, 1, U, 1);
            for (int e = 0; e < TETS; e++) {
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 9, r, 12, 1, G, 12, U + 12 * e * r, r, 0,
                            B + 9 * e * r, r);
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 9, r, 9, 1, D, 9, B + 9 * e * r, r, 0,
                            W + 9 * e * r, r);
            }
            cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, r, r, K, 1, B, r, W, r, 0, A, r);
            for (int i = 0; i < r; i++) A[i * r + i] += 1e3, q[i] = 1;
            LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', r, 1, A, r, q, r);
        }
        times[b] = (seconds() - start) / 4;
    }
    free(poses), free(U), free(B), free(W), free(A), free(q);
    return figure_of(times);
}

/* The full step on the same flesh: assembly, factorization and one solve from the turned previous state, as fullsim
 * does. */
static figure full_step(const su_tet *tet, const su_fit *fit, int64_t *dofs)
{
    int64_t n = tet->n;
    su_error err = {0};
    su_elastic body;
    su_implicit *implicit;
    double *carried = su_calloc(3 * n, 8), *inertial = su_calloc(3 * n, 8), *u = su_calloc(3 * n, 8),
           *gravity = su_calloc(3 * n, 8), times[BATCHES];
    if (su_elastic_of_fit(&body, tet, fit, SU_NEOHOOKEAN, &err) != SU_OK ||
        su_implicit_create(&body, 1, &implicit, &err) != SU_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    for (int64_t f = 0; f < body.free_count; f++) {
        int64_t v = body.free_vertex[f];
        carried[3 * v + 1] = 1e-3 * sin(9 * tet->vertices[3 * v]), inertial[3 * v + 1] = 1.2 * carried[3 * v + 1];
    }
    su_implicit_step step = {.h = 1 / 90.0,
                             .beta = 0.008,
                             .rest = tet->vertices,
                             .gravity = gravity,
                             .inertial = inertial,
                             .carried = carried,
                             .tolerance = 1e-8,
                             .max_iterations = 1,
                             .accept_unconverged = true};
    su_implicit_result result;
    for (int b = 0; b < BATCHES; b++) {
        memcpy(u, carried, (size_t)(3 * n) * sizeof *u);
        double start = seconds();
        if (su_implicit_solve(implicit, &step, u, &result, &err) != SU_OK) fprintf(stderr, "%s\n", err.text);
        times[b] = seconds() - start;
    }
    *dofs = 3 * body.free_count;
    su_implicit_free(implicit);
    su_elastic_free(&body);
    free(carried), free(inertial), free(u), free(gravity);
    return figure_of(times);
}

/* What is stepped: a model along a shot, `instants` of it forward and back again, h seconds apart. */
typedef struct subject {
    const su_model *model;
    const su_shot *shot;
    int64_t instants;
    int substeps;
    double h;
} subject;

static su_shot_instant sample(const subject *what, int64_t at, su_pose_input *input)
{
    at %= 2 * what->instants;
    if (at > what->instants) at = 2 * what->instants - at;
    int64_t frame = at / what->substeps, part = at % what->substeps;
    if (at == what->instants) frame--, part = what->substeps;
    double fraction = (double)part / what->substeps;
    su_shot_sample(what->shot, frame, fraction, input->p, input->Q, input->c);
    return (su_shot_instant){frame, fraction, input->p};
}

/* One row: r, m, points, material. Returns the step with one solve. */
static figure measure(const subject *what, const char *material, figure *pose_out)
{
    su_arena arena = {0};
    su_runtime_model model;
    su_error err = {0};
    json_object_set_new(what->model->file.meta, "material", json_string(material));
    if (su_runtime_model_create(what->model, SU_COROTATED, 0, NULL, &model, &err) != SU_OK) abort();
    su_pose poses[SU_FRAMES];
    su_pose_input inputs[BLOCK];
    su_pose_work work;
    su_blend trail[2], blends[BLOCK];
    const su_blend *these[BLOCK];
    figure steps[3], pose = {0}, sampling = {0};
    double h = what->h, times[BATCHES];
    const su_gravity g = {{0}, {0}};
    for (int k = 0; k < SU_FRAMES; k++)
        if (su_pose_create(&model, poses + k, &err) != SU_OK) abort();
    for (int k = 0; k < BLOCK; k++) {
        these[k] = blends + k;
        if (su_pose_input_create(&model, false, inputs + k, &err) != SU_OK ||
            su_blend_create(&model, blends + k, &arena, &err) != SU_OK)
            abort();
    }
    if (su_pose_work_create(&model, &work, &err) != SU_OK) abort();
    su_shot_window window;
    if (su_shot_window_create(what->shot, &model.patch, BLOCK + 1, &window, &err) != SU_OK) abort();
    for (int k = 0; k < 2; k++)
        if (su_blend_create(&model, trail + k, &arena, &err) != SU_OK) abort();
    double columns = 0, pads = 0;
    for (int64_t p = 0; p < model.tets.panels; p++) {
        columns += (double)(model.tets.panel[p].count * model.tets.panel[p].columns);
        pads += (double)(model.tets.panel[p].count * model.tets.panel[p].stride);
    }
    for (int newton = 1; newton <= 3; newton++) {
        su_stepper stepper;
        su_step_settings settings = {.beta = 0.008, .stiffness = 1, .newton = newton};
        if (su_stepper_create(&model, &settings, &stepper, &err) != SU_OK) abort();
        double pose_times[BATCHES], sample_times[BATCHES];
        for (int b = -1; b < BATCHES; b++) {
            su_shot_instant instants[BLOCK];
            double before = seconds();
            for (int k = 0; k < BLOCK; k++) instants[k] = sample(what, (b + 1) * BLOCK + k, inputs + k);
            int64_t first = instants[0].frame, last = instants[BLOCK - 1].frame;
            su_shot_window_cover(&window, first < last ? first : last, first < last ? last : first);
            su_shot_lanes(what->shot, &model.patch, model.pose_kernels, &window, BLOCK, instants, work.moved);
            double start = seconds();
            for (int k = 0; k < BLOCK; k++) su_blend_evaluate(&model, inputs[k].p, (b + 1) * BLOCK + k + 1, blends + k);
            const su_blend *older[BLOCK][2];
            for (int k = 0; k < BLOCK; k++) {
                older[k][0] = k > 0 ? &blends[k - 1] : &trail[0];
                older[k][1] = k > 1 ? &blends[k - 2] : &trail[1 - k];
            }
            su_pose_prepare(&model, BLOCK, inputs, these, older, &work);
            double stepping = 0;
            for (int k = 0; k < BLOCK; k += SU_FRAMES) { /* as simulations on one thread do */
                su_pose_finish(&model, k, inputs, these, older, &work, poses);
                double middle = seconds();
                if (b < 0 && k == 0) su_stepper_start(&stepper, poses, NULL, NULL, NULL, h);
                for (int f = 0; f < SU_FRAMES; f++)
                    if (su_stepper_advance(&stepper, poses + f, h, &g, 0) != SU_STEP_OK)
                        fprintf(stderr, "step failed\n");
                stepping += seconds() - middle;
            }
            for (int k = 0; k < 2; k++) su_blend_copy(&model, blends + BLOCK - 1 - k, trail + k);
            if (b < 0) continue;
            times[b] = stepping / BLOCK;
            pose_times[b] = (seconds() - start - stepping) / BLOCK;
            sample_times[b] = (start - before) / BLOCK;
        }
        steps[newton - 1] = figure_of(times);
        figure this_pose = figure_of(pose_times);
        if (newton == 1 || this_pose.least < pose.least) pose = this_pose;
        sampling = figure_of(sample_times);
        su_stepper_free(&stepper);
    }
    char points[40];
    snprintf(points, sizeof points, "%lld+%lld", (long long)what->model->c, (long long)model.inertia.count);
    printf("  %4lld %3lld %-9s %-12s", (long long)model.r, (long long)model.m, points, material);
    for (int k = 0; k < 3; k++) printf(" %6.1f/%-6.1f", 1e6 * steps[k].median, 1e6 * steps[k].least);
    printf(" %6.1f/%-6.1f ±%2.0f %%   %5.1f   %5.1f /%3.0f  %5lld  %5.1f MB\n", 1e6 * pose.median, 1e6 * pose.least,
           100 * steps[0].spread, 1e6 * sampling.median, columns / (double)model.tets.count,
           pads / (double)model.tets.count, (long long)model.points.count,
           (double)su_runtime_model_bytes(&model) / 1e6);
    fflush(stdout);
    for (int k = 0; k < SU_FRAMES; k++) su_pose_free(poses + k);
    for (int k = 0; k < BLOCK; k++) su_pose_input_free(inputs + k);
    su_pose_work_free(&work);
    su_shot_window_free(&window);
    su_runtime_model_free(&model);
    su_arena_free(&arena);
    *pose_out = pose;
    return steps[0];
}

static figure measure_given(const character_sizes *sizes, const char *material, figure *pose)
{
    character c;
    character_create(&c, sizes);
    subject what = {&c.model, c.shot, 2 * (sizes->frames - 1), 2, 0.5 / sizes->fps};
    figure step = measure(&what, material, pose);
    character_free(&c);
    return step;
}

/* PSSD section 9: steps a second on one core at r modes, and how many times that we want, pose part included. */
static const struct {
    int r, regions;
    double fps, times;
} paper[] = {{100, 6, 240, 20}, {50, 6, 600, 15}, {25, 6, 1400, 10}, {10, 1, 2200, 10}};

static void against_paper(size_t k, const figure *step, const figure *pose)
{
    printf("  r = %3d: %6.0f steps a second with the pose part, %5.1f times PSSD's %4.0f (wanted: %2.0f)\n", paper[k].r,
           1 / (step->median + pose->median), 1 / (step->median + pose->median) / paper[k].fps, paper[k].fps,
           paper[k].times);
}

static void against_full(const su_tet *tet, const su_fit *fit, const figure *step, const figure *pose)
{
    int64_t dofs;
    figure full = full_step(tet, fit, &dofs);
    printf("  full step of the same flesh, one solve, %lld dofs: %.1f ms (least %.1f), %.0f times step and pose part "
           "(least: %.0f)\n",
           (long long)dofs, 1e3 * full.median, 1e3 * full.least, full.median / (step->median + pose->median),
           full.least / (step->least + pose->least));
}

/* With 144 tets and 119 vertices whatever r, in a made-up basis. */
static void given_points(bool quick)
{
    character_sizes sizes = {.cells = 14,
                             .skin = 16002,
                             .r = 100,
                             .regions = 6,
                             .m = 4,
                             .tets = 144,
                             .points = 119,
                             .frames = 200,
                             .fps = 45};
    figure pose, gemm = dense_product(), dense = dense_way(sizes.r, sizes.m),
                 step = measure_given(&sizes, "neohookean", &pose);
    printf("  step with one solve / 100 x 100 x 1296 dgemm (%.1f us, least %.1f): %.2f (least %.2f); the dense way of "
           "PSSD, "
           "stress and inertia left out: %.0f us, %.1f times the step\n",
           1e6 * gemm.median, 1e6 * gemm.least, step.median / gemm.median, step.least / gemm.least, 1e6 * dense.median,
           dense.median / step.median);
    against_paper(0, &step, &pose);
    character c;
    character_create(&c, &sizes);
    against_full(&c.tet, &c.fit, &step, &pose);
    character_free(&c);
    if (quick) return;
    measure_given(&sizes, "stvk", &pose);
    measure_given(&sizes, "corotational", &pose);
    sizes.r = 96;
    measure_given(&sizes, "neohookean", &pose);
    sizes.r = 100, sizes.m = 16;
    measure_given(&sizes, "neohookean", &pose);
    sizes.m = 4;
    for (size_t k = 1; k < sizeof paper / sizeof *paper; k++) {
        sizes.r = paper[k].r, sizes.regions = paper[k].regions;
        step = measure_given(&sizes, "neohookean", &pose);
        against_paper(k, &step, &pose);
    }
}

/* The demo character, everything trained at each r, as PSSD's own were. only: this r, 0: all. */
static void trained_points(int only)
{
    printf("demo character: modes, tets and vertices as the programs make them for its shots, a basis a pose\n");
    for (size_t k = 0; k < sizeof paper / sizeof *paper; k++) {
        trained t;
        if (only && only != paper[k].r) continue;
        for (int whole = 0; whole <= (k > 0); whole++) { /* few modes for the whole force, too, as the paper has it */
            if (whole) printf("  the same, points trained to PSSD's error of 3 %%\n");
            trained_load(&t, &(trained_sizes){16000, 16000, 4, paper[k].r, paper[k].regions, whole ? 3 : 0});
            subject what = {&t.model, t.shot, t.instants, t.substeps, t.h};
            figure pose, step = measure(&what, "neohookean", &pose);
            against_paper(k, &step, &pose);
            if (k == 0) against_full(&t.tet, &t.fit, &step, &pose);
            trained_free(&t);
        }
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    printf("one core; OpenBLAS core type %s; times in us, median/least of %d batches\n", openblas_get_corename(),
           BATCHES);
    printf("     r   m tets+vert material     1 solve       2 solves      3 solves      pose part           shot    "
           "columns/padded points  memory\n");
    if (strcmp(part, "trained")) given_points(!strcmp(part, "quick"));
    if (strcmp(part, "quick")) trained_points(argc > 2 ? atoi(argv[2]) : 0);
    return 0;
}
