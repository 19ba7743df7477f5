/* Skinning eigenmodes of blocks as large as the meshes of FCD Table 1, free and under a rig of ten bones, beside as
 * many displacement modes as the paper compares with; clusters of the largest. Processor time of one thread, the best
 * of some runs. With LONG=SECONDS in the environment the largest mesh and the displacement modes, too, each for at most
 * about so many seconds, and these modes by a factor in single precision (LONG=0: that alone); arguments: number of
 * meshes, and of these how many to begin behind. */
#include "block.h"
#include "core/progress.h"
#include "fem/elastic.h"
#include "geometry/tetmesh.h"
#include "linalg/factor_single.h"
#include "linalg/lanczos_single.h"
#include "reduce/cubature/clusters.h"
#include "reduce/modes/modes.h"
#include "reduce/modes/skinning_modes.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { SKINNING_MODES = 10, DISPLACEMENT_MODES = 120, BONES = 10, RUNS = 5, LARGE_RUNS = 2, CLUSTERS = 300 };

/* Meshes of more vertices are run LARGE_RUNS times. */
enum { LARGE = 50000 };

static volatile sig_atomic_t late;

static void stop(int number)
{
    (void)number;
    late = 1;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_skinning: %s\n", what);
    exit(1);
}

static void *room(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p) fail("no memory");
    return p;
}

/* A row of bones along the block; the nearest two or three share a vertex. */
static void bone_weights(const block *b, float *weights)
{
    int64_t layer = (int64_t)(b->ny + 1) * (b->nz + 1);
    for (int64_t v = 0; v < b->n; v++) {
        double at = (double)(v / layer) / b->nx * (BONES - 1), sum = 0;
        for (int k = 0; k < BONES; k++) {
            double d = fabs(at - k) / 1.5;
            sum += weights[v * BONES + k] = d < 1 ? (float)((1 - d * d) * (1 - d * d)) : 0;
        }
        for (int k = 0; k < BONES; k++) weights[v * BONES + k] /= (float)sum;
    }
}

typedef struct timing {
    double all, leak, rows; /* s; rows and leak are in all */
    su_skinning_report report;
} timing;

/* The block on its lattice, as the mesher's bodies are inside: cells are cubes, the middle fifth of them thinner. */
static void straighten(block *b)
{
    double *x = b->x;
    for (int i = 0; i <= b->nx; i++)
        for (int j = 0; j <= b->ny; j++)
            for (int k = 0; k <= b->nz; k++, x += 3) {
                double at = (double)i / b->nx - 0.5, thin = 1 - 0.4 * exp(-50 * at * at);
                x[0] = 0.02 * i, x[1] = -0.02 * thin * (j - 0.5 * b->ny), x[2] = 0.02 * thin * (k - 0.5 * b->nz);
            }
}

/* w (n,SKINNING_MODES) and values are the modes. */
static timing skinning(const block *b, const uint8_t *held, bool constrained, double *values, double *w)
{
    timing best = {.all = INFINITY};
    float *weights = room((size_t)b->n * BONES, sizeof *weights);
    int32_t *surface;
    int64_t triangles;
    su_error err = {0};
    bone_weights(b, weights);
    /* Every flesh vertex is tied to itself: the skin is the flesh. */
    int32_t *index = room((size_t)b->n, sizeof *index);
    double *one = room((size_t)b->n, sizeof *one), *mass = room((size_t)b->n, sizeof *mass),
           *leak = room((size_t)b->n, sizeof *leak), low[3], high[3];
    for (int32_t v = 0; v < b->n; v++) index[v] = v, one[v] = 1;
    if (su_tet_boundary(b->t, b->tets, &triangles, &surface, NULL, &err)) fail(err.text);
    su_lumped_mass(b->n, b->x, b->t, b->tets, b->density, mass);
    for (int i = 0; i < 3; i++) low[i] = high[i] = b->x[i];
    for (int64_t k = 3; k < 3 * b->n; k++)
        low[k % 3] = fmin(low[k % 3], b->x[k]), high[k % 3] = fmax(high[k % 3], b->x[k]);
    double diagonal = sqrt(pow(high[0] - low[0], 2) + pow(high[1] - low[1], 2) + pow(high[2] - low[2], 2));
    const su_skin_ties ties = {b->n, b->n, 1, index, one};
    for (int k = 0; k < (b->n > LARGE ? LARGE_RUNS : RUNS); k++) {
        timing now = {0};
        su_complementarity rig = {0};
        su_rig_motions motions = {0};
        double from = seconds();
        if (constrained) {
            if (su_leak_diffuse(&(su_tet_mesh){b->n, b->t, b->x, b->tets}, triangles, surface,
                                SU_LEAK_LENGTH * diagonal, leak, &err))
                fail(err.text);
            now.leak = seconds() - from;
            if (su_rig_motions_create(&ties, BONES, weights, 0, NULL, &motions, &err) ||
                su_complementarity_create(&motions, b->x, mass, leak, held, &rig, &err))
                fail(err.text);
            now.rows = seconds() - from - now.leak;
        }
        const su_skinning_problem problem = {b->n,
                                             b->t,
                                             b->x,
                                             b->tets,
                                             held,
                                             b->young,
                                             b->poisson,
                                             b->density,
                                             constrained ? &rig : NULL,
                                             SU_COVARIANCE_TRANSLATION,
                                             NULL};
        if (su_skinning_modes(&problem, SKINNING_MODES, values, w, &now.report, &err)) fail(err.text);
        now.all = seconds() - from;
        if (now.all < best.all) best = now;
        su_complementarity_free(&rig);
        su_rig_motions_free(&motions);
    }
    free(weights), free(index), free(one), free(mass), free(leak), free(surface);
    return best;
}

static void elastic_of(const block *b, su_elastic *elastic)
{
    su_error err = {0};
    if (su_elastic_create(elastic,
                          &(su_elastic_body){.mesh = {b->n, b->t, b->x, b->tets},
                                             .held_count = b->held_count,
                                             .held = b->held,
                                             .material = SU_COROTATIONAL,
                                             .young = b->young,
                                             .poisson = b->poisson,
                                             .density = b->density},
                          &err))
        fail(err.text);
    su_elastic_set_rest(elastic, b->x, NULL, 1);
}

/* Processor seconds of the displacement modes; *whole is false where they were not there after `most` of them. */
static double displacement(const block *b, double most, bool *whole)
{
    const su_progress progress = {.stop = &late};
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)most}};
    su_elastic elastic;
    su_error err = {0};
    double values[DISPLACEMENT_MODES], *modes = room(3 * DISPLACEMENT_MODES * (size_t)b->n, sizeof *modes);
    double from = seconds();
    elastic_of(b, &elastic);
    const su_mode_problem problem = {.elastic = &elastic, .x = b->x, .progress = &progress};
    late = 0;
    signal(SIGPROF, stop);
    setitimer(ITIMER_PROF, &timer, NULL);
    su_status status = su_modes_solve(&problem, DISPLACEMENT_MODES, DISPLACEMENT_MODES, values, modes, NULL, 1, &err);
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    if (status != SU_OK && !late) fail(err.text);
    *whole = status == SU_OK;
    from = seconds() - from;
    if (*whole)
        printf("  (%.4f to %.4f Hz)\n", sqrt(values[0]) / (2 * M_PI),
               sqrt(values[DISPLACEMENT_MODES - 1]) / (2 * M_PI));
    su_elastic_free(&elastic);
    free(modes);
    return from;
}

/* The same modes by a factor in single precision, which fits where one in double does not: a Krylov space of K^-1 in
 * single precision, one step of inverse iteration refined in double, Rayleigh and Ritz in double. */

/* Lanczos ends at residuals of this part of the eigenvalues. */
#define KRYLOV_TOLERANCE 1e-5

typedef struct krylov {
    su_factor_single *factor;
    float *work;
} krylov;

static void invert(void *context, float *x)
{
    const krylov *k = context;
    su_factor_single_forward(k->factor, x, k->work);
    su_factor_single_backward(k->factor, x, k->work);
}

/* M^-1/2 K M^-1/2 of the free vertices on a pattern of *elastic, and their points, a row a degree of freedom. */
static void scaled_stiffness(const block *b, su_elastic *elastic, su_sparse *A, double **points)
{
    su_error err = {0};
    double *mass = room((size_t)b->n, sizeof *mass);
    elastic_of(b, elastic);
    if (su_sparse_clone_pattern(&elastic->pattern, A, &err)) fail(err.text);
    su_elastic_stiffness(elastic, b->x, false, A, 1);
    su_lumped_mass(b->n, b->x, b->t, b->tets, b->density, mass);
    for (int64_t j = 0; j < A->size; j++)
        for (int64_t k = A->start[j]; k < A->start[j + 1]; k++)
            A->value[k] /= sqrt(mass[elastic->free_vertex[j / 3]] * mass[elastic->free_vertex[A->row[k] / 3]]);
    *points = room(3 * (size_t)A->size, sizeof **points);
    for (int64_t j = 0; j < A->size; j++)
        memcpy(*points + 3 * j, b->x + 3 * (int64_t)elastic->free_vertex[j / 3], 3 * sizeof **points);
    free(mass);
}

/* y = A x, blocks of SU_LANES interleaved columns one after the other. */
static void multiply(const su_sparse *A, int64_t blocks, const double *x, double *y)
{
    for (int64_t g = 0; g < blocks; g++)
        su_sparse_multiply_interleaved(A, x + g * A->size * SU_LANES, y + g * A->size * SU_LANES);
}

/* x += the inverse of A in single precision times (b - A x), a block. */
static void refine(const su_sparse *A, const krylov *k, const double *b, double *x, double *scratch, float *lanes)
{
    const int32_t *order = su_factor_single_order(k->factor);
    int64_t n = A->size;
    su_sparse_multiply_interleaved(A, x, scratch);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < SU_LANES; c++) {
            int64_t at = (int64_t)order[i] * SU_LANES + c;
            lanes[i * SU_LANES + c] = (float)(b[at] - scratch[at]);
        }
    invert((void *)k, lanes);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < SU_LANES; c++) x[(int64_t)order[i] * SU_LANES + c] += (double)lanes[i * SU_LANES + c];
}

/* G (k,k) = X'Y over blocks of interleaved columns. */
static void inner(int64_t n, int64_t blocks, const double *X, const double *Y, double *G)
{
    int64_t k = blocks * SU_LANES, size = n * SU_LANES;
    memset(G, 0, (size_t)(k * k) * sizeof *G);
    for (int64_t i = 0; i < blocks; i++)
        for (int64_t j = 0; j < blocks; j++)
            cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, SU_LANES, SU_LANES, (int)n, 1, X + i * size, SU_LANES,
                        Y + j * size, SU_LANES, 0, G + i * SU_LANES * k + j * SU_LANES, (int)k);
}

/* Processor seconds; values (DISPLACEMENT_MODES) rad^2/s^2; *error the largest |A y - value y| / value. */
static double displacement_single(const block *b, double *values, double *error)
{
    enum { BLOCKS = DISPLACEMENT_MODES / SU_LANES, MOST = 8 * DISPLACEMENT_MODES };
    su_elastic elastic;
    su_sparse A;
    su_error err = {0};
    krylov k = {0};
    double *points, from = seconds(), *G = room(DISPLACEMENT_MODES * DISPLACEMENT_MODES, sizeof *G),
                    *B = room(DISPLACEMENT_MODES * DISPLACEMENT_MODES, sizeof *B);
    int64_t kept;
    scaled_stiffness(b, &elastic, &A, &points);
    if (su_factor_single_create(&A, points, &k.factor, &err)) fail(err.text);
    printf("  (factor of %.1f GB in %.1f s)\n", 4e-9 * (double)su_factor_single_entries(k.factor), seconds() - from);
    fflush(stdout);
    size_t block_size = (size_t)A.size * SU_LANES;
    float *found = room(BLOCKS * block_size, sizeof *found), *lanes = room(block_size, sizeof *lanes);
    k.work = room((size_t)su_factor_single_work(k.factor), sizeof *k.work);
    if (su_lanczos_single(&(su_lanczos_operator){A.size, invert, &k},
                          &(su_lanczos_ends){DISPLACEMENT_MODES, MOST, KRYLOV_TOLERANCE}, DISPLACEMENT_MODES, found,
                          &kept, &err) ||
        kept < DISPLACEMENT_MODES)
        fail(err.text);
    double *X = room(BLOCKS * block_size, sizeof *X), *AX = room(BLOCKS * block_size, sizeof *AX),
           *one = room(block_size, sizeof *one);
    const int32_t *order = su_factor_single_order(k.factor);
    for (int64_t g = 0; g < BLOCKS; g++) {
        double *x = X + (size_t)g * block_size;
        for (int64_t i = 0; i < A.size; i++)
            for (int c = 0; c < SU_LANES; c++)
                one[(int64_t)order[i] * SU_LANES + c] =
                    (double)found[(size_t)g * block_size + (size_t)(i * SU_LANES + c)];
        refine(&A, &k, one, x, AX, lanes), refine(&A, &k, one, x, AX, lanes); /* x was 0 */
    }
    multiply(&A, BLOCKS, X, AX);
    inner(A.size, BLOCKS, X, AX, G), inner(A.size, BLOCKS, X, X, B);
    if (LAPACKE_dsygvd(LAPACK_ROW_MAJOR, 1, 'V', 'U', DISPLACEMENT_MODES, G, DISPLACEMENT_MODES, B, DISPLACEMENT_MODES,
                       values))
        fail("no Ritz vectors");
    double took = seconds() - from;
    *error = 0; /* of every eighth mode, which costs a pass over the vectors each */
    for (int c = 0; c < DISPLACEMENT_MODES; c += SU_LANES) {
        double square = 0, length = 0;
        for (int64_t i = 0; i < A.size; i++) {
            double r = 0, y = 0;
            for (int a = 0; a < DISPLACEMENT_MODES; a++) {
                size_t at = (size_t)(a / SU_LANES) * block_size + (size_t)(i * SU_LANES + a % SU_LANES);
                double by = G[a * DISPLACEMENT_MODES + c];
                r += by * (AX[at] - values[c] * X[at]), y += by * X[at];
            }
            square += r * r, length += y * y;
        }
        *error = fmax(*error, sqrt(square / length) / values[c]);
    }
    su_factor_single_free(k.factor);
    su_sparse_free(&A);
    su_elastic_free(&elastic);
    free(points), free(G), free(B), free(found), free(lanes), free(k.work), free(X), free(AX), free(one);
    return took;
}

static void clusters(const block *b, const double *values, const double *w)
{
    su_error err = {0};
    su_cluster_report report;
    int64_t count;
    int32_t *cluster = room((size_t)b->t, sizeof *cluster);
    const su_cluster_problem problem = {b->n, b->t, SKINNING_MODES, b->x, b->tets, w, values, CLUSTERS, 1, 1};
    double from = seconds();
    if (su_clusters_create(&problem, cluster, &count, &report, &err)) fail(err.text);
    printf("  %d means: %.2f s (%lld iterations), %lld clusters\n", CLUSTERS, seconds() - from,
           (long long)report.iterations, (long long)count);
    free(cluster);
}

static void print(const char *what, const timing *t)
{
    const su_skinning_report *r = &t->report;
    printf("  %s: %.3f s; of it leak %.3f, rows %.3f, assembly %.3f, factor %.3f, eigenpairs "
           "%.3f s (wall; %lld rows, %lld steps, %lld columns, error %.0e)\n",
           what, t->all, t->leak, t->rows, r->seconds_assembly, r->seconds_factor, r->seconds_eigen, (long long)r->rows,
           (long long)r->steps, (long long)r->applications, r->residual);
}

int main(int argc, char **argv)
{
    static const struct {
        int cells[3];
        const char *name;
        double paper, ratio, bar; /* s; the paper's, its ratio, what a rig of ten bones may take */
    } meshes[] = {{{27, 19, 13}, "7,840", 0.135, 5.8, 0.15},
                  {{43, 30, 22}, "31,372", 0.83, 8.1, 0.7},
                  {{64, 47, 31}, "99,840", 5.1, 12, 5},
                  {{91, 67, 46}, "294,032", 14, 10, 0}};
    const char *limit = getenv("LONG");
    int most = argc > 1 ? atoi(argv[1]) : limit ? 4 : 3;
    for (int m = argc > 2 ? atoi(argv[2]) : 0; m < most; m++) {
        block b = block_create(meshes[m].cells[0], meshes[m].cells[1], meshes[m].cells[2], 1);
        straighten(&b);
        uint8_t *held = room((size_t)b.n, 1);
        for (int64_t k = 0; k < b.held_count; k++) held[b.held[k]] = 1;
        printf("%s vertices, %lld tets\n", meshes[m].name, (long long)b.t);
        double values[SKINNING_MODES], *w = room((size_t)b.n * SKINNING_MODES, sizeof *w);
        timing free_modes = skinning(&b, held, false, values, w), constrained = skinning(&b, held, true, values, w);
        print("10 skinning modes, unconstrained", &free_modes);
        print("10 skinning modes under ten bones", &constrained);
        if (meshes[m].bar > 0) printf("  bar %.2f s\n", meshes[m].bar);
        clusters(&b, values, w);
        printf("  paper: %.3f s, %.1f times faster than 120 displacement modes\n", meshes[m].paper, meshes[m].ratio);
        fflush(stdout);
        if (limit) {
            double frequencies[DISPLACEMENT_MODES], error;
            double took = displacement_single(&b, frequencies, &error);
            printf("  120 displacement modes by a factor in single precision: %.2f s, %.1f times as long; %.4f to %.4f "
                   "Hz, residual %.0e\n",
                   took, took / free_modes.all, sqrt(frequencies[0]) / (2 * M_PI),
                   sqrt(frequencies[DISPLACEMENT_MODES - 1]) / (2 * M_PI), error);
            fflush(stdout);
        }
        if (limit && atof(limit) > 0) {
            bool whole;
            double all = displacement(&b, atof(limit), &whole);
            printf("  120 displacement modes: %s%.2f s, %.1f times as long%s\n", whole ? "" : "not within ", all,
                   all / free_modes.all, whole ? "" : " at least");
        }
        fflush(stdout);
        free(held), free(w);
        block_free(&b);
    }
    return 0;
}
