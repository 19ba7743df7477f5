/* One local-global iteration in skinning eigenmodes beside FCD's own (docs/skinning.md, section 3), and how many modes
 * and clusters a frame at 30 and 60 a second affords: the Pareto front of FCD section 9.12. On a made-up bar; what an
 * iteration costs depends on modes and clusters alone. Processor time of one thread. */
#include "core/memory.h"
#include "runtime/skinning/skinning_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NX = 40, NY = 8, NZ = 8, BATCHES = 15 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(su_status status, const su_error *err)
{
    if (status == SU_OK) return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void *take(su_arena *arena, int64_t count, size_t size)
{
    void *block = su_arena_alloc(arena, count, size);
    if (!block) abort();
    return block;
}

/* A bar of 1 m with k smooth modes and slabs as clusters, six tets a cell. */
static void make_model(su_arena *arena, int modes, int clusters, double poisson, su_model *m)
{
    static const int cell[6][4] = {{0, 4, 6, 7}, {0, 6, 2, 7}, {0, 2, 3, 7}, {0, 3, 1, 7}, {0, 1, 5, 7}, {0, 5, 4, 7}};
    *m = (su_model){.m = 1, .k = modes, .r = 12 * modes, .n = (NX + 1) * (NY + 1) * (NZ + 1), .t = 6 * NX * NY * NZ};
    m->c = m->t;
    m->vertices = take(arena, 3 * m->n, 8), m->tets = take(arena, 4 * m->t, 4);
    m->skinning_weights = take(arena, m->n * m->k, 8), m->cubature_tets = take(arena, m->t, 4);
    m->cluster = take(arena, m->t, 4), m->young = take(arena, m->t, 8), m->poisson = take(arena, m->t, 8);
    m->density = take(arena, m->t, 8);
    for (int64_t v = 0; v < m->n; v++) {
        double *x = m->vertices + 3 * v,
               at[3] = {(double)(v / ((NY + 1) * (NZ + 1))), (double)(v / (NZ + 1) % (NY + 1)), (double)(v % (NZ + 1))};
        for (int c = 0; c < 3; c++) x[c] = at[c] / NX;
        for (int b = 0; b < modes; b++)
            m->skinning_weights[v * modes + b] = cos(M_PI * b * x[0]) * x[0] * (1 + 0.1 * b * x[1]);
    }
    int64_t e = 0;
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++)
            for (int k = 0; k < NZ; k++)
                for (int q = 0; q < 6; q++, e++) {
                    for (int c = 0; c < 4; c++) {
                        int at = cell[q][c];
                        m->tets[4 * e + c] =
                            ((i + (at >> 2 & 1)) * (NY + 1) + j + (at >> 1 & 1)) * (NZ + 1) + k + (at & 1);
                    }
                    m->cubature_tets[e] = (int32_t)e, m->young[e] = 1e5, m->poisson[e] = poisson;
                    m->density[e] = 1000, m->cluster[e] = (int32_t)(e * clusters / m->t);
                }
}

/* Milliseconds an iteration. */
static double iteration(int modes, int clusters, bool plain, double poisson)
{
    enum { ITERATIONS = 100 };
    su_arena arena = {0};
    su_error err = {0};
    su_model source;
    su_skinning_model model;
    su_skinning_stepper *stepper;
    make_model(&arena, modes, clusters, poisson, &source);
    must(su_skinning_model_create(&source, &model, &err), &err);
    const su_skinning_settings settings = {.stiffness = 1, .iterations = ITERATIONS, .tolerance = 0, .plain = plain};
    must(su_skinning_stepper_create(&model, &settings, NULL, &stepper, &err), &err);
    su_skinning_instant at =
        su_skinning_instant_in(&model, take(&arena, su_skinning_instant_size(&model), sizeof(double)));
    memcpy(at.N, at.turn, (size_t)(72 * model.panels) * sizeof(double));
    at.Q[0] = at.Q[4] = at.Q[8] = 1;
    const su_gravity gravity = {.acts = {0, -9.81, 3}};
    su_skinning_rest(stepper, &at);
    su_skinning_start(stepper, &at, NULL, false, 1.0 / 60);
    double least = INFINITY;
    for (int b = 0; b < BATCHES; b++) {
        int done;
        double start = seconds();
        if (!su_skinning_advance(stepper, &at, 1.0 / 60, &gravity, 0, &done)) abort();
        if (done > ITERATIONS / 2) least = fmin(least, (seconds() - start) / done);
    }
    su_skinning_stepper_free(stepper);
    su_skinning_model_free(&model);
    su_arena_free(&arena);
    return 1e3 * least;
}

int main(void)
{
    static const struct {
        int modes, clusters;
        double paper;
    } cases[] = {{10, 50, 0.030}, {20, 100, 0.086}, {50, 300, 0.55}};
    printf("one iteration, ms           ARAP   corotational   quasi-Newton   FCD's authors, ARAP\n");
    for (int k = 0; k < 3; k++)
        printf("%2d modes, %3d clusters   %8.4f   %8.4f       %8.4f       %8.3f\n", cases[k].modes, cases[k].clusters,
               iteration(cases[k].modes, cases[k].clusters, true, 0),
               iteration(cases[k].modes, cases[k].clusters, true, 0.45),
               iteration(cases[k].modes, cases[k].clusters, false, 0.45), cases[k].paper);
    return 0;
}
