/* Bounded biharmonic weights: optimality, handles, sharpening; localized modes. */
#include "box.h"
#include "reduce/modes/handles.h"
#include "reduce/modes/modes.h"
#include "reduce/modes/regions.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static double *weights_of(const box_mesh *box, int64_t count, const su_handle *handles, int32_t *handle_of)
{
    double *W = malloc((size_t)(count * box->n) * sizeof *W);
    int iterations;
    su_error err = {0};
    assert_int_equal(
        su_handle_vertices(&(su_tet_mesh){box->n, box->t, box->vertices, box->tets}, count, handles, handle_of, &err),
        SU_OK);
    assert_int_equal(su_bounded_biharmonic(&(su_tet_mesh){box->n, box->t, box->vertices, box->tets}, count, handle_of,
                                           W, &iterations, 2, &err),
                     SU_OK);
    if (box->n < 2000) { /* the same bytes on any number of threads */
        double *again = malloc((size_t)(count * box->n) * sizeof *again);
        assert_int_equal(su_bounded_biharmonic(&(su_tet_mesh){box->n, box->t, box->vertices, box->tets}, count,
                                               handle_of, again, NULL, 1, &err),
                         SU_OK);
        assert_memory_equal(W, again, (size_t)(count * box->n) * sizeof *again);
        free(again);
    }
    printf("# %d handles: %d factorizations\n", (int)count, iterations);
    assert_true(iterations < 40);
    return W;
}

/* E(w) = 1/2 w' L M^-1 L w by plain loops over tets. */
static double energy(const box_mesh *box, const double *w, double *gradient)
{
    double *y = calloc((size_t)box->n, sizeof *y), *m = calloc((size_t)box->n, sizeof *m), sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        const double *in = pass ? y : w;
        double *out = pass ? gradient : y;
        if (pass) {
            for (int64_t v = 0; v < box->n; v++) sum += 0.5 * y[v] * y[v] / m[v], y[v] /= m[v];
            memset(gradient, 0, (size_t)box->n * sizeof *gradient);
        }
        for (int64_t e = 0; e < box->t; e++) {
            double edge[9], inverse[9], g[12], at[3] = {0, 0, 0};
            const int32_t *tet = box->tets + 4 * e;
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < 3; i++)
                    edge[3 * i + c] = box->vertices[3 * tet[c + 1] + i] - box->vertices[3 * tet[0] + i];
            double c0 = edge[4] * edge[8] - edge[5] * edge[7], c1 = edge[5] * edge[6] - edge[3] * edge[8];
            double c2 = edge[3] * edge[7] - edge[4] * edge[6], det = edge[0] * c0 + edge[1] * c1 + edge[2] * c2;
            double adjugate[9] = {c0, edge[2] * edge[7] - edge[1] * edge[8], edge[1] * edge[5] - edge[2] * edge[4],
                                  c1, edge[0] * edge[8] - edge[2] * edge[6], edge[2] * edge[3] - edge[0] * edge[5],
                                  c2, edge[1] * edge[6] - edge[0] * edge[7], edge[0] * edge[4] - edge[1] * edge[3]};
            for (int i = 0; i < 9; i++) inverse[i] = adjugate[i] / det;
            for (int i = 0; i < 3; i++) g[i] = -(inverse[i] + inverse[3 + i] + inverse[6 + i]);
            memcpy(g + 3, inverse, sizeof inverse);
            for (int a = 0; a < 4; a++)
                for (int i = 0; i < 3; i++) at[i] += in[tet[a]] * g[3 * a + i];
            for (int a = 0; a < 4; a++) {
                for (int i = 0; i < 3; i++) out[tet[a]] += det / 6 * at[i] * g[3 * a + i];
                if (!pass) m[tet[a]] += det / 24;
            }
        }
    }
    free(y), free(m);
    return sum;
}

/* The first-order conditions of the bounded problem at every vertex, and bounds that are really active. */
static void check_optimal(int finer)
{
    box_mesh box = box_mesh_create(16 * finer, 6 * finer, 5 * finer, 4, 1.5, 1.2);
    box_mesh_jitter(&box, 0.15);
    const su_handle handles[3] = {{"left", {0.5, 0.7, 0.6, 0.5, 0.7, 0.6}},
                                  {"middle", {1.6, 0.2, 0.6, 2.2, 1.3, 0.6}},
                                  {"right", {3.5, 0.7, 0.6, 3.5, 0.7, 0.6}}};
    int32_t *handle_of = malloc((size_t)box.n * sizeof *handle_of);
    double *W = weights_of(&box, 3, handles, handle_of), *gradient = malloc((size_t)box.n * sizeof *gradient);
    int64_t own[3] = {0, 0, 0};
    for (int64_t v = 0; v < box.n; v++)
        if (handle_of[v] >= 0) own[handle_of[v]]++;
    assert_true(own[0] == 1 && own[1] > 8 && own[2] == 1);
    for (int h = 0; h < 3; h++) {
        double *w = W + h * box.n, scale = 0, worst = 0, change = 0;
        int64_t lower = 0;
        double best = energy(&box, w, gradient);
        for (int64_t v = 0; v < box.n; v++)
            if (handle_of[v] >= 0)
                scale = fmax(scale, fabs(gradient[v])); /* forces at the handles carry the solution */
        for (int64_t v = 0; v < box.n; v++) {
            assert_true(w[v] >= 0 && w[v] <= 1);
            if (handle_of[v] >= 0) {
                assert_true(w[v] == (handle_of[v] == h));
                continue;
            }
            lower += w[v] == 0;
            if (w[v] > 0 && w[v] < 1) worst = fmax(worst, fabs(gradient[v]));
            if (w[v] == 0) worst = fmax(worst, -gradient[v]);
            if (w[v] == 1) worst = fmax(worst, gradient[v]);
        }
        printf("# handle %d: first-order error %.1e, %d at 0\n", h, worst / scale, (int)lower);
        assert_true(worst < 2e-3 * scale);
        if (h != 1) assert_true(lower > 20);
        /* feasible changes do not lower the energy by more than the tolerance */
        uint64_t seed = 3;
        for (int trial = 0; trial < 20; trial++) {
            double *other = malloc((size_t)box.n * sizeof *other);
            for (int64_t v = 0; v < box.n; v++) {
                double d = 0.01 * box_random(&seed) * sin(3 * box.vertices[3 * v] + trial);
                other[v] = handle_of[v] >= 0 ? w[v] : fmin(fmax(w[v] + d, 0), 1);
            }
            change = fmin(change, energy(&box, other, gradient) - best);
            free(other);
        }
        assert_true(change > -1e-4 * best);
    }
    free(W), free(gradient), free(handle_of);
    box_mesh_free(&box);
}

static void test_optimal(void **unused)
{
    (void)unused;
    check_optimal(1);
    check_optimal(2); /* eight times the tets, about as many factorizations */
}

/* Handles that hold every vertex leave nothing to find. */
static void test_all_held(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(2, 1, 1, 2, 1, 1);
    int32_t *region_of = malloc((size_t)box.n * sizeof *region_of);
    double *W = malloc(2 * (size_t)box.n * sizeof *W);
    for (int64_t v = 0; v < box.n; v++) region_of[v] = box.vertices[3 * v] > 0.9;
    assert_int_equal(
        su_bounded_biharmonic(&(su_tet_mesh){box.n, box.t, box.vertices, box.tets}, 2, region_of, W, NULL, 1, NULL),
        SU_OK);
    for (int64_t v = 0; v < box.n; v++) assert_true(W[v] == !region_of[v] && W[box.n + v] == region_of[v]);
    free(W), free(region_of);
    box_mesh_free(&box);
}

/* One handle and nothing to oppose it: 1 everywhere. */
static void test_single_handle(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(4, 3, 3, 1, 1, 1);
    const su_handle handle = {"all", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}};
    int32_t *handle_of = malloc((size_t)box.n * sizeof *handle_of);
    double *W = weights_of(&box, 1, &handle, handle_of);
    for (int64_t v = 0; v < box.n; v++) assert_true(fabs(W[v] - 1) < 1e-3);
    const su_handle both[2] = {{"a", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}, {"b", {0.51, 0.5, 0.5, 0.51, 0.5, 0.5}}};
    su_error err;
    assert_int_equal(su_handle_vertices(&(su_tet_mesh){box.n, box.t, box.vertices, box.tets}, 2, both, handle_of, &err),
                     SU_INPUT);
    assert_non_null(strstr(err.text, "'a' and 'b'"));
    free(W), free(handle_of);
    box_mesh_free(&box);
}

static void test_sharpen(void **unused)
{
    (void)unused;
    double W[4] = {0.05, 0.1, 0.55, 1};
    su_region_sharpen(4, W, 0.1, 0.5);
    assert_true(W[0] == 0 && W[1] == 0 && fabs(W[2] - sqrt(0.5)) < 1e-15 && W[3] == 1);
}

static void test_shares(void **unused)
{
    (void)unused;
    static const struct {
        int64_t r, d, share[6];
    } cases[] = {{100, 6, {20, 16, 16, 16, 16, 16}},
                 {96, 6, {16, 16, 16, 16, 16, 16}},
                 {200, 6, {40, 32, 32, 32, 32, 32}},
                 {60, 6, {10, 10, 10, 10, 10, 10}},
                 {25, 6, {5, 4, 4, 4, 4, 4}},
                 {60, 1, {60}},
                 {99, 2, {51, 48}},
                 {2, 3, {1, 1, 1}},
                 {72, 2, {40, 32}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t share[6], sum = 0;
        su_region_shares(cases[k].r, cases[k].d, share);
        for (int64_t g = 0; g < cases[k].d; g++) {
            assert_int_equal(share[g], cases[k].share[g]);
            sum += share[g];
        }
        if (cases[k].r >= cases[k].d) assert_int_equal(sum, cases[k].r);
    }
}

static void test_handle_files(void **unused)
{
    (void)unused;
    char path[] = "/tmp/supple-handles-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const char *good = "# name, ends\n\nbelly, 1, 2, 3\n tail ,0,0,0,1e1,-2,.5\n";
    const char *bad[] = {"belly,1,2\n", "belly,1,2,3,4\n",  ",1,2,3\n", "a,1,2,x\n", "",
                         "a,1,2,nan\n", "a,1,2,3,4,5,6,7\n"};
    assert_int_equal(write(fd, good, strlen(good)), (ssize_t)strlen(good));
    su_handle *handles;
    int64_t count;
    su_error err;
    assert_int_equal(su_handles_read(path, &count, &handles, &err), SU_OK);
    assert_int_equal(count, 2);
    assert_string_equal(handles[0].name, "belly");
    assert_string_equal(handles[1].name, "tail");
    assert_true(handles[0].ends[5] == 3 && handles[1].ends[3] == 10 && handles[1].ends[5] == 0.5);
    free(handles);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, bad[k], strlen(bad[k]), 0), (ssize_t)strlen(bad[k]));
        assert_int_equal(su_handles_read(path, &count, &handles, &err), SU_INPUT);
        assert_non_null(strstr(err.text, path));
    }
    close(fd);
    unlink(path);
    assert_int_equal(su_handles_read(path, &count, &handles, &err), SU_INPUT);
}

/* Handles of one name are one region; bones by name and pattern; neighbours share the vertices of their joint. */
static void test_bone_handles(void **unused)
{
    (void)unused;
    const char *const names[] = {"hips", "spine", NULL, "ear1.L", "ear2.L", "ear1.R"};
    const double segments[36] = {0, .5, .5, 1,   .5, .5, 1,   .5, .5, 2, .5, .5, 0,   0, 0, 1,   1, 1,
                                 3, .5, .5, 3.5, .5, .5, 3.5, .5, .5, 4, .5, .5, 2.5, 1, 1, 2.5, 0, 0};
    const su_bone_segments bones = {6, names, segments};
    su_handle *handles;
    int64_t count;
    int32_t region[5];
    su_error err = {0};
    assert_int_equal(
        su_handles_of_bones("hips,mid=spine,ear=ear*.L+ear1.R", "--regions", &bones, &count, &handles, &err), SU_OK);
    assert_int_equal(count, 5);
    assert_int_equal(su_handle_regions(count, handles, region), 3);
    const int expected[5] = {0, 1, 2, 2, 2};
    for (int k = 0; k < 5; k++) assert_int_equal(region[k], expected[k]);
    assert_string_equal(handles[1].name, "mid");
    assert_true(handles[3].ends[0] == 3.5 && handles[4].ends[1] == 1);

    box_mesh box = box_mesh_create(16, 4, 4, 4, 1, 1);
    int32_t *region_of = malloc((size_t)box.n * sizeof *region_of);
    int64_t members[3] = {0, 0, 0};
    assert_int_equal(
        su_handle_vertices(&(su_tet_mesh){box.n, box.t, box.vertices, box.tets}, count, handles, region_of, &err),
        SU_OK);
    for (int64_t v = 0; v < box.n; v++) {
        if (region_of[v] < 0) continue;
        members[region_of[v]]++;
        double x = box.vertices[3 * v]; /* the nearer segment has it, at the joint the first */
        if (fabs(x - 2.25) > 0.1) assert_int_equal(region_of[v], x <= 1 ? 0 : x < 2.25 ? 1 : 2);
    }
    assert_true(members[0] > 4 && members[1] > 4 && members[2] > 8);
    free(handles), free(region_of);
    box_mesh_free(&box);
    const char *bad[] = {"", "hips,", "=hips", "mid=", "hips,,spine"},
               *missing[] = {"tail", "mid=hips+tail", "mid=hips++spine"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_int_equal(su_handles_of_bones(bad[k], "--regions", &bones, &count, &handles, &err), SU_USAGE);
    for (size_t k = 0; k < sizeof missing / sizeof *missing; k++)
        assert_int_equal(su_handles_of_bones(missing[k], "--regions", &bones, &count, &handles, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "--regions"));
}

/* PSSD eq. 32-33: modes of a region satisfy K y = lambda W M W y, are exactly zero outside, fade at the border, and are
 * orthonormal in M. */
static void test_localized_modes(void **unused)
{
    (void)unused;
    box_mesh box = box_mesh_create(20, 5, 5, 4, 1, 1);
    const su_handle handles[2] = {{"left", {0.9, 0.5, 0.5, 0.9, 0.5, 0.5}}, {"right", {3.3, 0.5, 0.5, 3.3, 0.5, 0.5}}};
    int32_t *handle_of = malloc((size_t)box.n * sizeof *handle_of), *held = malloc((size_t)box.n * sizeof *held);
    double *W = weights_of(&box, 2, handles, handle_of), *weights = W + box.n, values[8], *modes;
    double *young = box_constant(box.t, 1e5), *poisson = box_constant(box.t, 0.4);
    int64_t count = 0, r = 20;
    su_region_sharpen(2 * box.n, W, 0.1, 0.5);
    for (int64_t v = 0; v < box.n; v++)
        if (weights[v] == 0 || box.vertices[3 * v] < 1e-9) held[count++] = (int32_t)v;
    assert_true(count > box.n / 5 && count < box.n * 4 / 5);
    su_elastic elastic;
    su_mode_report report;
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {box.n, box.t, box.vertices, box.tets},
                                                          .held_count = count,
                                                          .held = held,
                                                          .material = SU_STVK,
                                                          .young = young,
                                                          .poisson = poisson,
                                                          .density = young},
                                       NULL),
                     SU_OK);
    su_mode_problem problem = {.elastic = &elastic, .x = box.vertices, .weights = weights};
    modes = malloc(3 * (size_t)(r * box.n) * sizeof *modes);
    assert_int_equal(su_modes_solve(&problem, 8, r, values, modes, &report, 1, NULL), SU_OK);
    assert_true(report.residual < 1e-8);
    double inside = 0, border = 0;
    for (int64_t k = 0; k < r; k++) {
        for (int64_t v = 0; v < box.n; v++) {
            double size = 0;
            for (int i = 0; i < 3; i++) size = fmax(size, fabs(modes[3 * (k * box.n + v) + i]));
            if (weights[v] == 0) assert_true(size == 0);
            if (k < 8) inside = fmax(inside, size);
            if (k < 8 && weights[v] > 0 && weights[v] < 0.2) border = fmax(border, size / weights[v]);
        }
        for (int64_t l = 0; l <= k; l++) {
            double product = 0;
            for (int64_t i = 0; i < 3 * box.n; i++)
                product += elastic.mass[i / 3] * modes[3 * k * box.n + i] * modes[3 * l * box.n + i];
            assert_true(fabs(product - (k == l)) < 1e-9);
        }
    }
    assert_true(border < 3 * inside); /* phi = W y with y bounded: continuous at the border */
    free(handle_of), free(held), free(W), free(young), free(poisson), free(modes);
    su_elastic_free(&elastic);
    box_mesh_free(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_optimal),       cmocka_unit_test(test_all_held),
                                       cmocka_unit_test(test_single_handle), cmocka_unit_test(test_sharpen),
                                       cmocka_unit_test(test_shares),        cmocka_unit_test(test_handle_files),
                                       cmocka_unit_test(test_bone_handles),  cmocka_unit_test(test_localized_modes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
