/* A scene of 26 swimmers of 50,000 tets each, as FCD Fig. 1 has it: ten skinning modes, bones of their own, one core.
 * Steps a second with the poses made from the bones, without and with the positions of all vertices. */
#include "block.h"
#include "core/memory.h"
#include "geometry/tetmesh.h"
#include "reduce/cubature/clusters.h"
#include "reduce/modes/skinning_modes.h"
#include "runtime/skinning/skinning_bones.h"
#include "runtime/skinning/skinning_step.h"
#include "runtime/subspace/reconstruct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SWIMMERS = 26, MODES = 10, BONES = 5, CLUSTERS = 100, FRAMES = 120, ITERATIONS = 10, NX = 60, NY = 12, NZ = 12 };

/* Change of Z at which a step of a picture ends, as a part of it. */
static const double TOLERANCE = 1e-2;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(su_status status, const su_error *err)
{
    if (status == SU_OK) return;
    fprintf(stderr, "bench_crowd: %s\n", err->text);
    exit(1);
}

static void *take(su_arena *arena, int64_t count, size_t size)
{
    void *room = su_arena_alloc(arena, count, size);
    if (!room) abort();
    return room;
}

typedef struct swimmer {
    su_skinning_model model;
    su_skinning_bones bones;
    su_skinning_stepper *stepper;
    su_skinning_instant at;
    double *room; /* of the bones' poses */
    su_reconstruct *reconstruct;
    double speed;
} swimmer;

/* A body on a lattice, every vertex a skin vertex; modes, clusters, and weights of a chain of bones. */
static void make_source(su_arena *arena, const block *b, su_model *m, float **weights)
{
    su_error err = {0};
    double *values = take(arena, MODES, 8);
    int64_t count;
    *m = (su_model){.m = 1, .n = b->n, .t = b->t, .c = b->t, .nbar = b->n, .ties = 1, .k = MODES, .r = 12 * MODES};
    m->vertices = m->neutral = b->x, m->tets = b->tets;
    m->young = take(arena, m->t, 8), m->poisson = take(arena, m->t, 8), m->density = take(arena, m->t, 8);
    m->cubature_tets = take(arena, m->t, 4), m->cluster = take(arena, m->t, 4);
    m->skinning_weights = take(arena, m->n * MODES, 8);
    m->shepard_index = take(arena, m->n, 4), m->shepard_weight = take(arena, m->n, 8);
    m->embed_tet = take(arena, m->n, 4), m->embed_bary = take(arena, 4 * m->n, 8);
    m->corrections = take(arena, 3 * m->n, 8), m->rbf = take(arena, 1, 8);
    *weights = take(arena, m->n * BONES, sizeof **weights);
    for (int64_t e = 0; e < m->t; e++) {
        m->young[e] = 4e5, m->poisson[e] = 0, m->density[e] = 1000, m->cubature_tets[e] = (int32_t)e;
        for (int c = 0; c < 4; c++) {
            int32_t v = m->tets[4 * e + c];
            m->embed_tet[v] = (int32_t)e;
            for (int k = 0; k < 4; k++) m->embed_bary[4 * (int64_t)v + k] = k == c;
        }
    }
    for (int32_t v = 0; v < m->n; v++) {
        double along = (double)(v / ((NY + 1) * (NZ + 1))) / NX * (BONES - 1);
        m->shepard_index[v] = v, m->shepard_weight[v] = 1;
        for (int k = 0; k < BONES; k++) (*weights)[v * BONES + k] = (float)fmax(0, 1 - fabs(along - k));
    }
    const su_skinning_problem modes = {.n = m->n,
                                       .t = m->t,
                                       .vertices = m->vertices,
                                       .tets = m->tets,
                                       .young = m->young,
                                       .poisson = m->poisson,
                                       .density = m->density};
    must(su_skinning_modes(&modes, MODES, values, m->skinning_weights, NULL, &err), &err);
    const su_cluster_problem clusters = {.n = m->n,
                                         .t = m->t,
                                         .k = MODES,
                                         .vertices = m->vertices,
                                         .tets = m->tets,
                                         .weights = m->skinning_weights,
                                         .eigenvalues = values,
                                         .wanted = CLUSTERS,
                                         .seed = 1,
                                         .threads = 1};
    must(su_clusters_create(&clusters, m->cluster, &count, NULL, &err), &err);
}

/* The chain swings, each bone about the end of the one before. */
static void swim(const swimmer *s, const block *b, double t, double *bones)
{
    double length = b->x[3 * (b->n - 1)] - b->x[0];
    for (int k = 0; k < BONES; k++) {
        double angle = 0.15 * k * sin(s->speed * t - 0.9 * k), pivot = b->x[0] + length * k / BONES;
        double *M = bones + 12 * k, c = cos(angle), z = sin(angle);
        const double turn[12] = {c, -z, 0, pivot - c * pivot, z, c, 0, -z * pivot, 0, 0, 1, 0};
        memcpy(M, turn, sizeof turn);
    }
}

static void step(swimmer *s, const block *b, double t, int64_t *iterations)
{
    static const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, here[3] = {0, 0, 0};
    const su_gravity none = {.acts = {0, 0, 0}};
    double bones[12 * BONES];
    int done;
    swim(s, b, t, bones);
    su_skinning_bones_pose(&s->bones, bones, still, here, s->room, &s->at);
    if (t == 0) {
        su_skinning_rest(s->stepper, &s->at);
        su_skinning_start(s->stepper, &s->at, NULL, false, 1.0 / 60);
    } else if (!su_skinning_advance(s->stepper, &s->at, 1.0 / 60, &none, 0, &done))
        abort();
    else
        *iterations += done;
}

int main(void)
{
    su_arena arena = {0};
    su_error err = {0};
    block b;
    su_model source;
    float *weights;
    double taken[2], most = 0;
    int64_t iterations = 0;
    b = block_create(NX, NY, NZ, 0);
    make_source(&arena, &b, &source, &weights);
    swimmer *all = take(&arena, SWIMMERS, sizeof *all);
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_NONE;
    const su_skinning_settings set = {.beta = 0.002, .stiffness = 1, .iterations = ITERATIONS, .tolerance = TOLERANCE};
    for (int k = 0; k < SWIMMERS; k++) {
        swimmer *s = all + k;
        s->speed = 4 + 0.3 * k;
        must(su_skinning_model_create(&source, &s->model, &err), &err);
        must(su_skinning_bones_create(&s->model, &settings, BONES, weights, source.neutral, &s->bones, &err), &err);
        must(su_skinning_stepper_create(&s->model, &set, NULL, &s->stepper, &err), &err);
        s->at = su_skinning_instant_in(&s->model, take(&arena, su_skinning_instant_size(&s->model), 8));
        s->room = take(&arena, s->bones.room, 8);
        must(su_reconstruct_create(&source, SU_COROTATED, 0, NULL, 1, &s->reconstruct, &err), &err);
    }
    double *positions = take(&arena, 3 * source.n, 8), *q = take(&arena, source.r, 8);
    for (int shown = 0; shown < 2; shown++) {
        double start = seconds();
        iterations = 0;
        for (int f = 0; f < FRAMES; f++)
            for (int k = 0; k < SWIMMERS; k++) {
                step(all + k, &b, f / 60.0, &iterations);
                if (!shown) continue;
                su_skinning_coordinates(all[k].stepper, q, NULL);
                su_reconstruct_one(all[k].reconstruct, NULL, NULL, NULL, q, NULL, positions);
            }
        taken[shown] = seconds() - start;
        for (int64_t i = 0; shown && i < 3 * source.n; i++) most = fmax(most, fabs(positions[i]));
    }
    printf("%d swimmers, %lld tets and %lld vertices together, %lld clusters each; %.1f iterations a step, the last "
           "moved by up to "
           "%.3f of %.2f m\n",
           SWIMMERS, (long long)(SWIMMERS * source.t), (long long)(SWIMMERS * source.n),
           (long long)all[0].model.clusters, (double)iterations / (SWIMMERS * (FRAMES - 1)), most,
           all[0].model.diagonal);
    printf("steps of the scene a second on one core: %.0f, with all positions %.0f (FCD Fig. 1: over 60 with a "
           "graphics card)\n",
           FRAMES / taken[0], FRAMES / taken[1]);
    for (int k = 0; k < SWIMMERS; k++) {
        su_reconstruct_free(all[k].reconstruct);
        su_skinning_stepper_free(all[k].stepper);
        su_skinning_bones_free(&all[k].bones);
        su_skinning_model_free(&all[k].model);
    }
    block_free(&b);
    su_arena_free(&arena);
    return 0;
}
