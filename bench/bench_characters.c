/* Four made-up characters of PSSD Table 3's sizes: step and pose part against the full step and against re-projecting
 * full-space matrices at every step (Hahn et al. 2014; PSSD section 9), memory, and for the gorilla cost and storage by
 * part (Table 2). Processor time of one thread, medians of batches. */
#include "character.h"
#include "fem/elastic.h"
#include "fem/fullsim.h"
#include "runtime/pack_model.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/shot_lanes.h"
#include "runtime/subspace/reconstruct.h"
#include "runtime/reduced_step.h"
#include "trained.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 15, BLOCK = SU_POSE_FRAMES };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double median(double times[BATCHES])
{
    double spread;
    return bench_median(BATCHES, times, &spread);
}

static void must(su_status status, const su_error *err)
{
    if (status == SU_OK) return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

/* What is measured: a made-up character, or a trained one. */
typedef struct subject {
    const su_tet *tet;
    const su_fit *fit;
    const su_model *model;
    const su_anim *anim;
    const su_shot *shot;
    int substeps;
} subject;

static subject made_up(const character *c) { return (subject){&c->tet, &c->fit, &c->model, &c->anim, c->shot, 2}; }

/* ---- the run time ---- */

typedef struct reduced_times {
    double blend, pose, step[2]; /* s: weights alone, pose part, steps with one and two solves */
} reduced_times;

/* Poses and steps along the character's shot, a few instants at a time as the simulator takes them on one thread. */
static reduced_times measure_reduced(const subject *what, const su_runtime_model *model)
{
    su_arena arena = {0};
    int64_t instants = what->substeps * (what->anim->F - 1);
    su_pose poses[SU_FRAMES];
    su_pose_input inputs[BLOCK];
    su_pose_work work;
    su_blend trail[2], blends[BLOCK];
    const su_blend *these[BLOCK];
    su_error err = {0};
    reduced_times out = {0};
    double h = (what->anim->times[1] - what->anim->times[0]) / what->substeps;
    const su_gravity g = {{0}, {0}};
    for (int k = 0; k < SU_FRAMES; k++) must(su_pose_create(model, poses + k, &err), &err);
    for (int k = 0; k < BLOCK; k++) {
        these[k] = blends + k;
        must(su_blend_create(model, blends + k, &arena, &err), &err);
        must(su_pose_input_create(model, false, inputs + k, &err), &err);
    }
    must(su_pose_work_create(model, &work, &err), &err);
    for (int k = 0; k < 2; k++) must(su_blend_create(model, trail + k, &arena, &err), &err);
    for (int solves = 1; solves <= 2; solves++) {
        su_stepper stepper;
        su_step_settings settings = {.beta = 0.008, .stiffness = 1, .newton = solves};
        double blend[BATCHES], pose[BATCHES], step[BATCHES];
        must(su_stepper_create(model, &settings, &stepper, &err), &err);
        for (int b = -1; b < BATCHES; b++) {
            const su_blend *older[BLOCK][2];
            su_shot_instant at[BLOCK];
            for (int k = 0; k < BLOCK; k++) {
                int64_t i = ((b + 1) * BLOCK + k) % (2 * instants); /* there and back again */
                if (i >= instants) i = 2 * instants - 1 - i;
                at[k] =
                    (su_shot_instant){i / what->substeps, (double)(i % what->substeps) / what->substeps, inputs[k].p};
                su_shot_sample(what->shot, at[k].frame, at[k].fraction, inputs[k].p, inputs[k].Q, inputs[k].c);
                older[k][0] = k > 0 ? &blends[k - 1] : &trail[0];
                older[k][1] = k > 1 ? &blends[k - 2] : &trail[1 - k];
            }
            su_shot_lanes(what->shot, &model->patch, model->pose_kernels, NULL, BLOCK, at, work.moved);
            double start = seconds(), stepping = 0;
            for (int k = 0; k < BLOCK; k++) su_blend_evaluate(model, inputs[k].p, (b + 1) * BLOCK + k + 1, blends + k);
            double weighed = seconds();
            su_pose_prepare(model, BLOCK, inputs, these, older, &work);
            for (int k = 0; k < BLOCK; k += SU_FRAMES) {
                su_pose_finish(model, k, inputs, these, older, &work, poses);
                double posed = seconds();
                if (b < 0 && k == 0) su_stepper_start(&stepper, poses, NULL, NULL, NULL, h);
                for (int f = 0; f < SU_FRAMES; f++)
                    if (su_stepper_advance(&stepper, poses + f, h, &g, 0) != SU_STEP_OK)
                        fprintf(stderr, "step failed\n");
                stepping += seconds() - posed;
            }
            for (int k = 0; k < 2; k++) su_blend_copy(model, blends + BLOCK - 1 - k, trail + k);
            if (b < 0) continue;
            blend[b] = (weighed - start) / BLOCK, pose[b] = (seconds() - start - stepping) / BLOCK,
            step[b] = stepping / BLOCK;
        }
        out.step[solves - 1] = median(step);
        if (solves == 1) out.blend = median(blend), out.pose = median(pose);
        su_stepper_free(&stepper);
    }
    for (int k = 0; k < SU_FRAMES; k++) su_pose_free(poses + k);
    for (int k = 0; k < BLOCK; k++) su_pose_input_free(inputs + k);
    su_pose_work_free(&work);
    su_arena_free(&arena);
    return out;
}

/* ---- the full space ---- */

/* W (size,r) = K U, both by rows: K's lower triangle in compressed columns. */
static void sparse_times(const su_sparse *K, int64_t r, const double *U, double *W)
{
    memset(W, 0, (size_t)(K->size * r) * sizeof *W);
    for (int64_t j = 0; j < K->size; j++)
        for (int64_t e = K->start[j]; e < K->start[j + 1]; e++) {
            int64_t i = K->row[e];
            double value = K->value[e];
            for (int64_t k = 0; k < r; k++) W[i * r + k] += value * U[j * r + k];
            for (int64_t k = 0; k < r && i != j; k++) W[j * r + k] += value * U[i * r + k];
        }
}

/* What a method pays that reassembles the reduced system from full matrices at a step: f and K of all tets, U'KU, U'MU,
 * U'f. The new basis itself and the solve come on top. */
static double measure_projection(const character *c, const su_elastic *body)
{
    int64_t size = 3 * body->free_count, r = c->model.r, n = body->n;
    double *U = su_calloc(size * r, 8), *W = su_calloc(size * r, 8), *A = su_calloc(r * r, 8), *M = su_calloc(r * r, 8);
    double *f = su_calloc(3 * n, 8), *packed = su_calloc(size, 8), *q = su_calloc(r, 8), times[BATCHES];
    su_sparse K;
    su_error err = {0};
    must(su_sparse_clone_pattern(&body->pattern, &K, &err), &err);
    for (int64_t i = 0; i < size; i++)
        for (int64_t k = 0; k < r; k++) U[i * r + k] = c->basis[3 * (k * n + body->free_vertex[i / 3]) + i % 3];
    for (int b = 0; b < BATCHES; b++) {
        double start = seconds();
        su_elastic_force(body, c->tet.vertices, f, 1);
        su_elastic_stiffness(body, c->tet.vertices, true, &K, 1);
        sparse_times(&K, r, U, W);
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)r, (int)r, (int)size, 1, U, (int)r, W, (int)r, 0, A,
                    (int)r);
        for (int64_t i = 0; i < size; i++)
            for (int64_t k = 0; k < r; k++) W[i * r + k] = body->mass[body->free_vertex[i / 3]] * U[i * r + k];
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)r, (int)r, (int)size, 1, U, (int)r, W, (int)r, 0, M,
                    (int)r);
        for (int64_t i = 0; i < size; i++) packed[i] = f[3 * (int64_t)body->free_vertex[i / 3] + i % 3];
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)size, (int)r, 1, U, (int)r, packed, 1, 0, q, 1);
        times[b] = seconds() - start;
    }
    su_sparse_free(&K);
    free(U), free(W), free(A), free(M), free(f), free(packed), free(q);
    return median(times);
}

/* A step of fullsim with one solve, on the same shot: its rest shape and rotations, assembly, factorization, solve. */
static double measure_full(const subject *what)
{
    su_sim_settings settings = su_sim_defaults();
    su_fullsim_options options = {.tolerance = 1e-8, .newton = 1, .threads = 1};
    su_fullsim *sim;
    su_error err = {0};
    double times[BATCHES];
    settings.substeps = what->substeps;
    must(su_sim_settings_resolve(&settings, 4.0, what->anim->F, what->anim->times, 0, &err), &err);
    must(su_fullsim_create(what->tet, what->fit, what->shot, &settings, &options, &sim, &err), &err);
    for (int b = 0; b < BATCHES; b++) {
        double start = seconds();
        must(su_fullsim_advance(sim, &err), &err);
        times[b] = (seconds() - start) / settings.substeps;
    }
    su_fullsim_free(sim);
    return median(times);
}

/* ---- Table 2 ---- */

static double measure_rest(const su_runtime_model *model, const double *skin, const double *w)
{
    double *x = su_calloc(3 * model->patch.vertex_count, 8), times[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        double start = seconds();
        for (int k = 0; k < BLOCK; k++)
            su_rest_shape_evaluate(&model->patch.shape, model->patch.vertex_count, NULL, skin, w, x);
        times[b] = (seconds() - start) / BLOCK;
    }
    free(x);
    return median(times);
}

static double measure_skin(character *c)
{
    enum { FRAMES = SU_RECONSTRUCT_BLOCK };
    int64_t nbar = c->model.nbar;
    su_reconstruct *rec;
    su_error err = {0};
    su_sim sim = {.F = FRAMES, .r = c->model.r, .m = c->model.m};
    sim.q = su_calloc(FRAMES * sim.r, 8), sim.weights = su_calloc(FRAMES * sim.m, 8),
    sim.basis_weights = su_calloc(FRAMES * sim.m, 8);
    double *out = su_calloc(FRAMES * 3 * nbar, 8), times[BATCHES];
    for (int64_t k = 0; k < FRAMES; k++)
        sim.weights[k * sim.m] = sim.basis_weights[k * sim.m] = 1, sim.q[k * sim.r] = 0.01;
    must(su_reconstruct_create(&c->model, SU_COROTATED, 0, NULL, 1, &rec, &err), &err);
    for (int b = 0; b < BATCHES; b++) {
        double start = seconds();
        must(su_reconstruct_shot(rec, c->shot, &sim, 0, FRAMES, &(su_shot_motion){.displacement = out}, &err), &err);
        times[b] = (seconds() - start) / FRAMES;
    }
    su_reconstruct_free(rec);
    free(sim.q), free(sim.weights), free(sim.basis_weights), free(out);
    return median(times);
}

static void by_part(character *c, const su_runtime_model *model, const reduced_times *t)
{
    const su_rest_patch *patch = &model->patch;
    double *skin = su_calloc(3 * patch->skin_count + 8, 8), *w = su_calloc(model->m, 8), *p = su_calloc(model->s, 8),
           Q[9], at[3];
    su_shot_sample(c->shot, 5, 0, p, Q, at);
    su_shot_sample_skin(c->shot, 5, 0, patch->skin_count, patch->skin, 1, skin);
    w[0] = 1;
    double MB = 1e-6, rest = measure_rest(model, skin, w);
    int64_t ties = c->tet.ties;
    printf("\ncost and storage by part, as PSSD Table 2 (gorilla's sizes)\n");
    printf("  weights w, b and normalization            %7.1f us\n", 1e6 * t->blend);
    printf("  rest shape, plain code, one frame         %7.1f us   %5.2f MB  Shepard's ties and corrections (in the "
           "pose part it is done eight frames at a time)\n",
           1e6 * rest, MB * (double)patch->vertex_count * (double)(ties * 12 + model->m * 24));
    printf("  pose part: weights, rest shape,\n");
    printf("    rotations, rows, Gram blends            %7.1f us   %5.2f MB  basis rows; %.2f MB Gram matrices\n",
           1e6 * t->pose, MB * 4 * (double)(model->m * (model->points.row_entries + 12 * model->tets.abreast_entries)),
           MB * 4 * (double)(model->m * model->m * model->gram.entries));
    printf("  step, one solve: history, inertia,\n");
    printf("    forces, stiffness, Cholesky             %7.1f us   %5.2f MB  cubature weights and materials\n",
           1e6 * t->step[0], MB * 8 * (double)(3 * model->m * model->tets.count));
    printf("  a further solve                           %7.1f us\n", 1e6 * (t->step[1] - t->step[0]));
    printf("  A U q, all vertices, a frame              %7.1f us   %5.2f MB  A; %.2f MB basis of all vertices\n",
           1e6 * measure_skin(c), MB * 36 * (double)c->model.nbar, MB * 4 * (double)c->model.block_size);
    free(skin), free(w), free(p);
}

/* PSSD's four. */
static const struct {
    const char *name;
    character_sizes sizes;
    double factor, memory,
        projection; /* PSSD: full step over its own; MB; assembly after Hahn over its own step, 0: not given */
} table[] = {
    {"arm", {11, 10525, 45, 3, 10, 192, 45, 200, 45}, 60, 11, 44},
    {"X-shape", {12, 2362, 30, 1, 3, 144, 50, 200, 45}, 105, 4.2, 0},
    {"polar bear", {13, 6876, 100, 6, 8, 336, 200, 200, 45}, 40, 7.3, 57},
    {"gorilla", {14, 15774, 100, 6, 4, 144, 119, 200, 45}, 125, 7.9, 240},
};

/* One row up to the factor. */
static reduced_times reduced_and_full(int k, const subject *what, const su_runtime_model *model)
{
    reduced_times t = measure_reduced(what, model);
    double full = measure_full(what), ours = t.step[0] + t.pose;
    printf("  %-10s %6lld %3lld  %7d %5lld  %3lld + %3lld  %6.3f    %6.3f      %6.1f    %6.0f (%3.0f)", table[k].name,
           (long long)what->tet->t, (long long)model->r, (int)what->model->d, (long long)model->m,
           (long long)what->model->c, (long long)what->model->ci, 1e3 * t.step[0], 1e3 * t.pose, 1e3 * full,
           full / ours, 4 * table[k].factor);
    return t;
}

static void given_row(int k)
{
    character c;
    character_create(&c, &table[k].sizes);
    subject what = made_up(&c);
    su_runtime_model model;
    su_elastic body;
    su_error err = {0};
    must(su_runtime_model_create(&c.model, SU_COROTATED, 0, NULL, &model, &err), &err);
    must(su_elastic_of_fit(&body, &c.tet, &c.fit, SU_NEOHOOKEAN, &err), &err);
    reduced_times t = reduced_and_full(k, &what, &model);
    double projection = measure_projection(&c, &body);
    printf("           %7.1f      %5.0f", 1e3 * projection, projection / (t.step[0] + t.pose));
    if (table[k].projection > 0)
        printf(" (%3.0f)", table[k].projection);
    else
        printf("  (-) ");
    printf("      %5.1f (%4.1f)\n", 1e-6 * (double)su_runtime_model_bytes(&model), 2 * table[k].memory);
    fflush(stdout);
    if (k == 3) by_part(&c, &model, &t);
    su_elastic_free(&body);
    su_runtime_model_free(&model);
    character_free(&c);
}

/* The demo character in the same sizes, with what the programs train for it. */
static void trained_row(int k)
{
    const character_sizes *s = &table[k].sizes;
    trained t;
    su_runtime_model model;
    su_error err = {0};
    trained_load(&t, &(trained_sizes){s->skin > 3000 ? s->skin : 3000, 6 * s->cells * s->cells * s->cells, s->m, s->r,
                                      s->regions, 0});
    subject what = {&t.tet, &t.fit, &t.model, &t.anim, t.shot, t.substeps};
    must(su_runtime_model_create(&t.model, SU_COROTATED, 0, NULL, &model, &err), &err);
    reduced_and_full(k, &what, &model);
    printf("                                         %5.1f (%4.1f)\n", 1e-6 * (double)su_runtime_model_bytes(&model),
           2 * table[k].memory);
    fflush(stdout);
    su_runtime_model_free(&model);
    trained_free(&t);
}

int main(int argc, char **argv)
{
    printf("made-up characters of PSSD Table 3's sizes; one thread, one solve a step; ms\n");
    printf("              tets   r  regions poses cubature   step  pose part   full step    times (4 x PSSD)   "
           "re-projection   "
           "times (PSSD)    MB (2 x PSSD)\n");
    for (int k = 0; k < 4; k++)
        if (argc < 2 || !strcmp(argv[1], table[k].name)) given_row(k);
    printf("the demo character in these sizes: modes, tets and vertices as the programs make them, a basis a pose\n");
    for (int k = 0; k < 4; k++)
        if (argc < 2 || !strcmp(argv[1], table[k].name)) trained_row(k);
    return 0;
}
