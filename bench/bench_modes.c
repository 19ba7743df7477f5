/* Modes of a flesh of the size of the paper's characters (PSSD Table 1: 11,313 dofs, 114 contacts, 20 modes): free and
 * constrained in paired runs, stage by stage, and 105 modal derivatives. Processor time of one thread. */
#include "block.h"
#include "core/choice.h"
#include "core/threads.h"
#include "fem/elastic.h"
#include "reduce/modes/contact.h"
#include "reduce/modes/derivatives.h"
#include "reduce/modes/modes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char *openblas_get_corename(void) __attribute__((weak));
extern void openblas_set_num_threads(int) __attribute__((weak));

enum { NX = 18, NY = 15, NZ = 12, REPEATS = 7, CONTACTS = 114 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

static void fail(const char *what)
{
    fprintf(stderr, "bench_modes: %s\n", what);
    exit(1);
}

/* Modes of a fork whose prongs lie on each other, free and in contact as supple modes finds it, detection included. */
static void contact_of_fork(int nx, int ny, int nz, double closed, int repeats)
{
    prongs f = prongs_create(nx, ny, nz, closed);
    double diagonal = sqrt(4 * 4 + 2.5 * 2.5 + 1.5 * 1.5), values[20], times[3][REPEATS], ratio[3][REPEATS];
    double *modes = malloc(3 * 20 * (size_t)f.n * sizeof *modes);
    static const char *const names[] = {"free", "pairs", "tied"};
    su_elastic elastic;
    su_error err = {0};
    su_mode_report report[3];
    int64_t contacts = 0;
    if (!modes) fail("no memory");
    if (su_elastic_create(&elastic,
                          &(su_elastic_body){.mesh = {f.n, f.t, f.neutral, f.tets},
                                             .held_count = f.held_count,
                                             .held = f.held,
                                             .material = SU_NEOHOOKEAN,
                                             .young = f.young,
                                             .poisson = f.poisson,
                                             .density = f.density},
                          &err))
        fail(err.text);
    su_elastic_set_rest(&elastic, f.x, NULL, 1);
    for (int k = 0; k < repeats; k++)
        for (int kind = 0; kind < 3; kind++) {
            su_contact_rows contact = {0};
            su_mode_problem problem = {.elastic = &elastic, .x = f.x, .contact = &contact};
            su_contact_settings settings = {.kind = kind == 1 ? SU_CONTACT_PAIRS : SU_CONTACT_TIED,
                                            .tolerance = 0.001 * diagonal,
                                            .depth = f.length};
            settings.apart = 4 * (settings.tolerance + settings.depth);
            double from = seconds();
            if (kind && su_contact_detect(&(su_contact_flesh){f.n, f.neutral, f.x, f.b, f.surface, f.is_held},
                                          &settings, 1, &contact, &err))
                fail(err.text);
            if (su_modes_solve(&problem, 20, 20, values, modes, &report[kind], 1, &err)) fail(err.text);
            times[kind][k] = seconds() - from;
            ratio[kind][k] = times[kind][k] / times[0][k];
            contacts = contact.contacts;
            su_contact_free(&contact);
        }
    printf("fork: %lld tets, %lld dofs, %lld contacts; 20 modes: free %.3f s (%lld solves)", (long long)f.t,
           (long long)elastic.pattern.size, (long long)contacts, median(times[0], repeats),
           (long long)report[0].applications);
    for (int kind = 1; kind < 3; kind++)
        printf("; %s %.3f s (%lld solves, %lld constraints), ratio %.2f, residual %.0e", names[kind],
               median(times[kind], repeats), (long long)report[kind].applications, (long long)report[kind].constraints,
               median(ratio[kind], repeats), report[kind].residual);
    printf("\n");
    su_elastic_free(&elastic);
    prongs_free(&f);
    free(modes);
}

int main(void)
{
    enum { FREE, ALONG, TIED, KINDS };
    double times[KINDS][REPEATS], ratio[KINDS][REPEATS], stage[4][REPEATS], values[20];
    su_elastic elastic;
    su_error err = {0};
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    block b = block_create(NX, NY, NZ, CONTACTS);
    const int64_t n = b.n, t = b.t;
    const double *x = b.x;
    if (su_elastic_create(&elastic,
                          &(su_elastic_body){.mesh = {n, t, x, b.tets},
                                             .held_count = b.held_count,
                                             .held = b.held,
                                             .material = SU_NEOHOOKEAN,
                                             .young = b.young,
                                             .poisson = b.poisson,
                                             .density = b.density},
                          &err))
        fail(err.text);
    int64_t size = elastic.pattern.size;
    double *modes = malloc(3 * 60 * (size_t)n * sizeof *modes);
    if (!modes) fail("no memory");
    printf("%lld tets, %lld dofs, %d contacts, BLAS core %s\n", (long long)t, (long long)size, CONTACTS,
           openblas_get_corename ? openblas_get_corename() : "unknown");

    su_mode_report report[KINDS];
    for (int k = 0; k < REPEATS; k++) {
        for (int kind = 0; kind < KINDS; kind++) {
            su_contact_rows contact = {0};
            su_mode_problem problem = {.elastic = &elastic, .x = x, .contact = &contact};
            if (kind == ALONG)
                contact.rows = CONTACTS, contact.offsets = b.row_offsets, contact.vertices = b.row_vertices,
                contact.coefficients = b.row_coefficients;
            if (kind == TIED)
                contact.rows = 3 * CONTACTS, contact.offsets = b.tie_offsets, contact.vertices = b.tie_vertices,
                contact.coefficients = b.tie_coefficients;
            double from = seconds();
            if (su_modes_solve(&problem, 20, 20, values, modes, &report[kind], 1, &err)) fail(err.text);
            times[kind][k] = seconds() - from;
            ratio[kind][k] = times[kind][k] / times[FREE][k];
        }
    }
    contact_of_fork(26, 9, 13, 0.84, REPEATS);
    contact_of_fork(26, 9, 13, 0.6, REPEATS);
    contact_of_fork(39, 13, 20, 0.6, 3);
    printf("20 modes: free %.3f s (%lld solves)\n", median(times[FREE], REPEATS), (long long)report[FREE].applications);
    for (int kind = ALONG; kind < KINDS; kind++)
        printf("20 modes, %s: %.3f s (%lld solves, %lld constraints), ratio %.2f (bar 1.25); PSSD Table 1 (gorilla): "
               "1.7 s, 6.2 s, 3.6\n",
               kind == TIED ? "tied" : "pairs", median(times[kind], REPEATS), (long long)report[kind].applications,
               (long long)report[kind].constraints, median(ratio[kind], REPEATS));

    for (int k = 0; k < REPEATS; k++) { /* r = 60: linear modes, 210 derivatives, principal directions */
        su_mode_problem problem = {.elastic = &elastic, .x = x};
        double from = seconds();
        if (su_modes_solve(&problem, 20, 60, values, modes, report, 1, &err)) fail(err.text);
        stage[0][k] = seconds() - from;
        stage[1][k] = report->seconds_factor, stage[2][k] = report->seconds_derivatives,
        stage[3][k] = report->seconds_pca;
    }
    printf("r = 60: %.3f s; of it (wall) factor %.3f, 210 derivatives %.3f, principal directions %.3f s\n",
           median(stage[0], REPEATS), median(stage[1], REPEATS), median(stage[2], REPEATS), median(stage[3], REPEATS));

    enum { LINEAR = 14, PAIRS = LINEAR * (LINEAR + 1) / 2 }; /* 105 derivatives */
    int32_t pair[2 * PAIRS];
    for (int i = 0, p = 0; i < LINEAR; i++)
        for (int j = i; j < LINEAR; j++, p++) pair[2 * p] = i, pair[2 * p + 1] = j;
    double *phi = malloc((size_t)(LINEAR * size) * sizeof *phi), *psi = malloc((size_t)(PAIRS * size) * sizeof *psi);
    su_sparse K;
    su_cholesky *factor;
    if (!phi || !psi || su_sparse_clone_pattern(&elastic.pattern, &K, &err)) fail("no memory");
    su_elastic_stiffness(&elastic, x, false, &K, 1);
    if (su_cholesky_create(&K, 1, &factor, &err) || su_cholesky_factorize(factor, &K, &err)) fail(err.text);
    for (int64_t k = 0; k < LINEAR; k++)
        for (int64_t f = 0; f < elastic.free_count; f++)
            memcpy(phi + k * size + 3 * f, modes + 3 * (k * n + elastic.free_vertex[f]), 3 * sizeof *phi);
    for (int material = 0; material < 3; material++) {
        const su_mode_pairs of = {LINEAR, phi, phi, PAIRS, pair};
        elastic.material = (su_material)material;
        for (int k = 0; k < REPEATS; k++) {
            double from = seconds();
            if (su_stiffness_derivatives(&elastic, x, &of, psi, 1, &err)) fail(err.text);
            stage[0][k] = seconds() - from, from = seconds();
            for (int64_t p = 0; p < PAIRS; p += 32)
                if (su_cholesky_solve(factor, PAIRS - p < 32 ? PAIRS - p : 32, psi + p * size, psi + p * size, &err))
                    fail(err.text);
            stage[1][k] = seconds() - from;
        }
        double assemble = median(stage[0], REPEATS), solve = median(stage[1], REPEATS);
        int length;
        const char *name = su_choice_name(SU_MATERIAL_NAMES, material, &length);
        printf("105 derivatives, %.*s: %.3f s assembled, %.3f s solved (bar 0.5 s together)\n", length, name, assemble,
               solve);
    }
    su_cholesky_free(factor);
    su_sparse_free(&K);
    su_elastic_free(&elastic);
    block_free(&b);
    free(modes), free(phi), free(psi);
    return 0;
}
