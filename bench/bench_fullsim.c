/* One full-space step on a flesh of the size of the paper's characters (about 16 k tets, 11 k degrees of freedom), one
 * thread: the assembly, the factorization, the solve, and a whole step with one linear solve. */
#include "fem/elastic.h"
#include "fem/implicit.h"
#include "linalg/cholesky.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char *openblas_get_corename(void) __attribute__((weak));
extern void openblas_set_num_threads(int) __attribute__((weak));

enum { NX = 15, NY = 15, NZ = 14, REPEATS = 9 };

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

/* An ellipsoid: a grid of cubes cut into six tets each, drawn onto a ball, then stretched. */
static void make_mesh(int64_t *n_out, double **vertices_out, int64_t *t_out, int32_t **tets_out)
{
    static const int paths[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int odd[6] = {0, 1, 1, 0, 0, 1};
    int64_t n = (NX + 1) * (NY + 1) * (NZ + 1), t = 6LL * NX * NY * NZ;
    double *x = calloc((size_t)(3 * n), sizeof *x), *at = x;
    int32_t *tets = calloc((size_t)(4 * t), sizeof *tets), *tet = tets;
    if (!x || !tets) exit(1);
    int step[3] = {(NY + 1) * (NZ + 1), NZ + 1, 1};
    for (int i = 0; i <= NX; i++)
        for (int j = 0; j <= NY; j++)
            for (int k = 0; k <= NZ; k++, at += 3) {
                double p[3] = {2.0 * i / NX - 1, 2.0 * j / NY - 1, 2.0 * k / NZ - 1}, most = 0, norm = 0;
                for (int c = 0; c < 3; c++) most = fmax(most, fabs(p[c])), norm += p[c] * p[c];
                double shrink = norm > 0 ? 1 + 0.8 * (most / sqrt(norm) - 1) : 1;
                at[0] = 0.5 * shrink * p[0], at[1] = 0.35 * shrink * p[1], at[2] = 0.3 * shrink * p[2];
            }
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++)
            for (int k = 0; k < NZ; k++)
                for (int p = 0; p < 6; p++, tet += 4) {
                    tet[0] = i * step[0] + j * step[1] + k * step[2];
                    for (int c = 0; c < 3; c++) tet[c + 1] = tet[c] + step[paths[p][c]];
                    if (odd[p]) {
                        int32_t swap = tet[1];
                        tet[1] = tet[2], tet[2] = swap;
                    }
                }
    *n_out = n, *vertices_out = x, *t_out = t, *tets_out = tets;
}

/* CPU time of this thread: a busy machine disturbs it less than the clock on the wall. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(su_status status, const su_error *err)
{
    if (status == SU_OK) return;
    fprintf(stderr, "bench_fullsim: %s\n", err->text);
    exit(1);
}

/* Vertices of the core, as bones would hold them. */
static int64_t hold_core(int64_t n, const double *x, int32_t *held)
{
    int64_t count = 0;
    for (int32_t v = 0; v < n; v++)
        if (fabs(x[3 * v]) < 0.3 && hypot(x[3 * v + 1], x[3 * v + 2]) < 0.03) held[count++] = v;
    return count;
}

int main(void)
{
    int64_t n, t;
    double *x;
    int32_t *tets;
    su_error err = {0};
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    make_mesh(&n, &x, &t, &tets);
    int32_t *held = calloc((size_t)n, sizeof *held);
    double *young = calloc((size_t)t, sizeof *young), *poisson = calloc((size_t)t, sizeof *poisson);
    double *density = calloc((size_t)t, sizeof *density), *u = calloc((size_t)(3 * n), sizeof *u);
    double *carried = calloc((size_t)(3 * n), sizeof *carried), *inertial = calloc((size_t)(3 * n), sizeof *inertial),
           *gravity = calloc((size_t)(3 * n), sizeof *gravity);
    double *y = calloc((size_t)(3 * n), sizeof *y);
    if (!held || !young || !poisson || !density || !u || !carried || !inertial || !gravity || !y) return 1;
    for (int64_t e = 0; e < t; e++) young[e] = 2e4, poisson[e] = 0.45, density[e] = 1000;
    su_elastic body;
    su_implicit *implicit;
    su_cholesky *factor;
    su_sparse K;
    check(su_elastic_create(&body,
                            &(su_elastic_body){.mesh = {n, t, x, tets},
                                               .held_count = hold_core(n, x, held),
                                               .held = held,
                                               .material = SU_NEOHOOKEAN,
                                               .young = young,
                                               .poisson = poisson,
                                               .density = density},
                            &err),
          &err);
    double start = seconds();
    check(su_implicit_create(&body, 1, &implicit, &err), &err);
    double analysis = seconds() - start;
    check(su_cholesky_create(&body.pattern, 1, &factor, &err), &err);
    check(su_sparse_clone_pattern(&body.pattern, &K, &err), &err);
    /* A smooth swing of a few per cent of the size. */
    for (int64_t f = 0; f < body.free_count; f++) {
        int64_t v = body.free_vertex[f];
        double r = hypot(x[3 * v + 1], x[3 * v + 2]);
        carried[3 * v + 1] = 0.03 * r * sin(9 * x[3 * v]), inertial[3 * v + 1] = 0.035 * r * sin(9 * x[3 * v]);
    }
    for (int64_t i = 0; i < 3 * n; i++) y[i] = x[i] + carried[i], gravity[i] = i % 3 == 1 ? -9.81 : 0;

    double assembly[REPEATS], force[REPEATS], factorization[REPEATS], solve[REPEATS], one[REPEATS], converged[REPEATS];
    su_implicit_step step = {.h = 1 / 90.0,
                             .beta = 0.008,
                             .gravity = gravity,
                             .rest = x,
                             .inertial = inertial,
                             .carried = carried,
                             .tolerance = 1e-8,
                             .max_iterations = 60};
    su_implicit_result result = {0};
    for (int k = 0; k < REPEATS; k++) {
        start = seconds();
        su_elastic_stiffness(&body, y, true, &K, 1);
        assembly[k] = seconds() - start;
        start = seconds();
        su_elastic_force(&body, y, u, 1);
        force[k] = seconds() - start;
        for (int64_t f = 0; f < 3 * body.free_count; f++)
            K.value[K.start[f]] += 8100 * body.mass[body.free_vertex[f / 3]];
        start = seconds();
        check(su_cholesky_factorize(factor, &K, &err), &err);
        factorization[k] = seconds() - start;
        start = seconds();
        check(su_cholesky_solve(factor, 1, inertial, u, &err), &err);
        solve[k] = seconds() - start;
        memcpy(u, carried, (size_t)(3 * n) * sizeof *u);
        start = seconds();
        step.max_iterations = 1, step.accept_unconverged = true;
        check(su_implicit_solve(implicit, &step, u, &result, &err), &err);
        one[k] = seconds() - start;
        memcpy(u, carried, (size_t)(3 * n) * sizeof *u);
        start = seconds();
        step.max_iterations = 60, step.accept_unconverged = false;
        check(su_implicit_solve(implicit, &step, u, &result, &err), &err);
        converged[k] = seconds() - start;
    }
    printf("full step: %lld tets, %lld degrees of freedom, one thread, CPU time, OpenBLAS core %s\n", (long long)t,
           (long long)(3 * body.free_count), openblas_get_corename ? openblas_get_corename() : "unknown");
    printf("  analysis, once                  %8.1f ms\n", 1e3 * analysis);
    printf("  stiffness                       %8.2f ms\n", 1e3 * median(assembly, REPEATS));
    printf("  force                           %8.2f ms\n", 1e3 * median(force, REPEATS));
    printf("  factorization                   %8.2f ms\n", 1e3 * median(factorization, REPEATS));
    printf("  solve                           %8.2f ms\n", 1e3 * median(solve, REPEATS));
    printf("  step, one linear solve          %8.2f ms\n", 1e3 * median(one, REPEATS));
    printf("  step to 1e-8                    %8.2f ms   %d solves, %d factorizations, residual %.1e\n",
           1e3 * median(converged, REPEATS), result.iterations, result.factorizations, result.residual);
    su_implicit_free(implicit);
    su_cholesky_free(factor);
    su_sparse_free(&K);
    su_elastic_free(&body);
    free(x), free(tets), free(held), free(young), free(poisson), free(density);
    free(u), free(carried), free(inertial), free(gravity), free(y);
    return 0;
}
