/* Fitting the flesh to a skin: exact cases, bending, untangling. */
#include "box.h"
#include "contact/contact_finder.h"
#include "fem/fit.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A bar of flesh along x, held along its axis; its skin are points just inside the side faces. */
typedef struct bar {
    box_mesh box;
    su_fit_problem problem;
    double *skin, *area;
    int32_t *held, *embed_tet;
    double *embed_bary;
} bar;

static bar make(int cells)
{
    bar b;
    b.box = box_mesh_create(6 * cells, 2 * cells, 2 * cells, 6, 2, 2);
    for (int64_t v = 0; v < b.box.n; v++) b.box.vertices[3 * v + 1] -= 1, b.box.vertices[3 * v + 2] -= 1;
    int64_t held = 0, skin = 0;
    b.held = malloc((size_t)b.box.n * sizeof *b.held);
    for (int64_t v = 0; v < b.box.n; v++)
        if (fabs(b.box.vertices[3 * v + 1]) < 1e-9 && fabs(b.box.vertices[3 * v + 2]) < 1e-9)
            b.held[held++] = (int32_t)v;
    b.skin = malloc(3 * (size_t)b.box.t * sizeof *b.skin);
    b.area = malloc((size_t)b.box.t * sizeof *b.area);
    b.embed_tet = malloc((size_t)b.box.t * sizeof *b.embed_tet);
    b.embed_bary = malloc(4 * (size_t)b.box.t * sizeof *b.embed_bary);
    for (int64_t e = 0; e < b.box.t; e++) { /* tets with three corners on the surface carry a skin point */
        const int32_t *tet = b.box.tets + 4 * e;
        double bary[4], sum = 0, at[3] = {0, 0, 0};
        int outside = 0;
        for (int a = 0; a < 4; a++) {
            const double *x = b.box.vertices + 3 * tet[a];
            bool surface = fabs(x[1]) > 1 - 1e-9 || fabs(x[2]) > 1 - 1e-9;
            outside += surface;
            sum += bary[a] = surface ? 1 : 0.05;
        }
        if (outside < 3) continue;
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) at[i] += bary[a] / sum * b.box.vertices[3 * tet[a] + i];
        b.embed_tet[skin] = (int32_t)e;
        for (int a = 0; a < 4; a++) b.embed_bary[4 * skin + a] = bary[a] / sum;
        memcpy(b.skin + 3 * skin++, at, sizeof at);
    }
    for (int64_t v = 0; v < skin; v++) b.area[v] = 1.0 / (double)skin;
    b.problem = (su_fit_problem){.n = b.box.n,
                                 .t = b.box.t,
                                 .nbar = skin,
                                 .held_count = held,
                                 .vertices = b.box.vertices,
                                 .tets = b.box.tets,
                                 .held = b.held,
                                 .embed_tet = b.embed_tet,
                                 .embed_bary = b.embed_bary,
                                 .area = b.area,
                                 .diagonal = sqrt(36 + 4 + 4),
                                 .gamma = 1e-3,
                                 .poisson = 0.45};
    return b;
}

static void bar_free(bar *b)
{
    box_mesh_free(&b->box);
    free(b->skin), free(b->area), free(b->held), free(b->embed_tet), free(b->embed_bary);
}

/* The axis becomes an arc that turns by `angle` over the bar. */
static void bend(int64_t count, const double *in, double angle, double *out)
{
    for (int64_t v = 0; v < count; v++) {
        double a = angle * in[3 * v] / 6, radius = angle == 0 ? 0 : 6 / angle, y = in[3 * v + 1];
        out[3 * v] = angle == 0 ? in[3 * v] : (radius - y) * sin(a);
        out[3 * v + 1] = angle == 0 ? y : radius - (radius - y) * cos(a);
        out[3 * v + 2] = in[3 * v + 2];
    }
}

/* A skin that moves rigidly carries the flesh along without any error, from a rough start. */
static void test_rigid(void **unused)
{
    (void)unused;
    bar b = make(2);
    su_fit_solver *solver;
    su_fit_report report;
    double turn[3] = {0.5, -1, 0.3}, q[4], r[9], *x = malloc(3 * (size_t)b.box.n * sizeof *x);
    double *exact = malloc(3 * (size_t)b.box.n * sizeof *x);
    uint64_t seed = 2;
    su_quaternion_exp(turn, q);
    su_quaternion_matrix(q, r);
    for (int64_t v = 0; v < b.box.n; v++) {
        su_mulv3(r, b.box.vertices + 3 * v, exact + 3 * v);
        for (int i = 0; i < 3; i++) x[3 * v + i] = exact[3 * v + i] + 0.1 * box_random(&seed);
    }
    for (int64_t k = 0; k < b.problem.held_count; k++) memcpy(x + 3 * b.held[k], exact + 3 * b.held[k], 3 * sizeof *x);
    for (int64_t v = 0; v < b.problem.nbar; v++) su_mulv3(r, b.skin + 3 * v, b.skin + 3 * v);
    assert_int_equal(su_fit_solver_create(&b.problem, &solver, NULL), SU_OK);
    assert_int_equal(su_fit_pose(solver, b.skin, x, &report, 1, NULL, NULL), SU_OK);
    for (int64_t i = 0; i < 3 * b.box.n; i++) assert_true(fabs(x[i] - exact[i]) < 1e-6);
    assert_true(report.residual < 1e-8 && report.collapsed == 0);
    su_fit_solver_free(solver);
    free(x), free(exact);
    bar_free(&b);
}

static double farthest_held(const bar *b, const double *x, const double *where)
{
    double far = 0;
    for (int64_t k = 0; k < b->problem.held_count; k++)
        far = fmax(far, su_distance3(x + 3 * b->held[k], where + 3 * b->held[k]));
    return far / b->problem.diagonal;
}

/* Bends up to 120 degrees: within the bar of 0.2 % of the diagonal, all tets open, held vertices where they belong, the
 * same bits from a used and a fresh solver; smaller gamma follows the skin more closely. */
static void test_bend(void **unused)
{
    (void)unused;
    bar b = make(3);
    su_fit_solver *solver;
    double *skin = malloc(3 * (size_t)b.problem.nbar * sizeof *skin), *x = malloc(3 * (size_t)b.box.n * sizeof *x);
    double *start = malloc(3 * (size_t)b.box.n * sizeof *x), *first = malloc(3 * (size_t)b.box.n * sizeof *x);
    assert_int_equal(su_fit_solver_create(&b.problem, &solver, NULL), SU_OK);
    for (int round = 0; round < 3; round++) {
        su_fit_report report;
        double angle = round == 1 ? 2.1 : 1;
        uint64_t seed = 4;
        bend(b.problem.nbar, b.skin, angle, skin);
        bend(b.box.n, b.box.vertices, angle, start);
        memcpy(x, start, 3 * (size_t)b.box.n * sizeof *x);
        for (int64_t v = 0, k = 0; v < b.box.n; v++)
            if (k < b.problem.held_count && b.held[k] == v)
                k++;
            else
                for (int i = 0; i < 3; i++) x[3 * v + i] += 0.05 * box_random(&seed);
        assert_int_equal(su_fit_pose(solver, skin, x, &report, 2, NULL, NULL), SU_OK);
        printf("# bend %.1f rad: residual %.4f %%, largest %.3f %%, %d steps\n", angle, 100 * report.residual,
               100 * report.largest, report.iterations);
        assert_true(report.residual < 0.002 && report.residual > 0);
        assert_true(report.collapsed == 0 && report.inverted == 0);
        assert_true(fabs(report.held_off - farthest_held(&b, x, start)) < 1e-12 && report.held_off < 0.003);
        if (round == 0) memcpy(first, x, 3 * (size_t)b.box.n * sizeof *x);
    }
    assert_memory_equal(first, x, 3 * (size_t)b.box.n * sizeof *x);
    su_fit_solver_free(solver);
    su_fit_report close;
    b.problem.gamma = 1e-5;
    assert_int_equal(su_fit_solver_create(&b.problem, &solver, NULL), SU_OK);
    assert_int_equal(su_fit_pose(solver, skin, x, &close, 2, NULL, NULL), SU_OK);
    printf("# gamma 1e-5: residual %.4f %%\n", 100 * close.residual);
    assert_true(close.residual < 3e-4);
    su_fit_solver_free(solver);
    free(skin), free(x), free(start), free(first);
    bar_free(&b);
}

/* A start with many inverted tets is untangled, also where the skin asks for a fold. */
static void test_untangles(void **unused)
{
    (void)unused;
    bar b = make(2);
    su_fit_solver *solver;
    su_fit_report report;
    double *x = malloc(3 * (size_t)b.box.n * sizeof *x);
    uint64_t seed = 6;
    memcpy(x, b.box.vertices, 3 * (size_t)b.box.n * sizeof *x);
    for (int64_t v = 0, k = 0; v < b.box.n; v++)
        if (k < b.problem.held_count && b.held[k] == v)
            k++;
        else
            for (int i = 0; i < 3; i++) x[3 * v + i] += 0.6 * box_random(&seed);
    assert_int_equal(su_fit_solver_create(&b.problem, &solver, NULL), SU_OK);
    assert_int_equal(su_fit_pose(solver, b.skin, x, &report, 1, NULL, NULL), SU_OK);
    assert_int_equal(report.inverted, 0);
    for (int64_t i = 0; i < 3 * b.box.n; i++) assert_true(fabs(x[i] - b.box.vertices[i]) < 1e-6);
    /* one skin point pushed to the other side of the bar */
    int64_t worst = b.problem.nbar / 2;
    for (int i = 1; i < 3; i++) b.skin[3 * worst + i] *= -1;
    memcpy(x, b.box.vertices, 3 * (size_t)b.box.n * sizeof *x);
    assert_int_equal(su_fit_pose(solver, b.skin, x, &report, 1, NULL, NULL), SU_OK);
    assert_true(report.inverted == 0 && report.collapsed == 0);
    su_fit_solver_free(solver);
    free(x);
    bar_free(&b);
}

/* Linear blend skinning: the two halves turn rigidly about the middle, blended over half the thickness. */
static void fold(int64_t count, const double *in, double angle, double *out)
{
    double s = sin(angle), c = cos(angle);
    for (int64_t v = 0; v < count; v++, in += 3, out += 3) {
        double w = fmin(fmax((in[0] - 3) / 1.0 + 0.5, 0), 1);
        out[0] = (1 - w) * in[0] + w * (3 + c * (in[0] - 3) - s * in[1]);
        out[1] = (1 - w) * in[1] + w * (s * (in[0] - 3) + c * in[1]);
        out[2] = in[2];
    }
}

/* How deep x is inside itself, over the diagonal. */
static double depth_of(const bar *b, const double *x)
{
    su_contact_body body;
    su_contact_finder *finder;
    const su_contact_pair *pairs;
    int64_t count;
    double deepest = 0;
    assert_int_equal(su_contact_body_create(b->box.n, b->box.vertices, b->box.t, b->box.tets, &body, NULL), SU_OK);
    assert_int_equal(su_contact_finder_create(&body, 1, &finder, NULL), SU_OK);
    assert_int_equal(su_contact_find(finder, x, &pairs, &count, NULL), SU_OK);
    for (int64_t k = 0; k < count; k++) deepest = fmax(deepest, pairs[k].depth);
    su_contact_finder_free(finder);
    su_contact_body_free(&body);
    return deepest / b->problem.diagonal;
}

/* A joint folded by 165 degrees, halves inside each other: pushed apart as far as asked, no tet closed; the same bits
 * from a used and a fresh solver. Without it the flesh goes where the skin is. */
static void test_pushed_apart(void **unused)
{
    (void)unused;
    bar b = make(3);
    const double angle = 165 * M_PI / 180;
    size_t size = 3 * (size_t)b.box.n * sizeof(double);
    double *skin = malloc(3 * (size_t)b.problem.nbar * sizeof *skin), *x[3];
    b.problem.residual = 0.002;
    fold(b.problem.nbar, b.skin, angle, skin);
    su_fit_solver *solver = NULL;
    su_fit_report report[3];
    for (int k = 0; k < 3; k++) {
        b.problem.deepest = k == 0 ? 0 : 0.001;
        x[k] = malloc(size);
        fold(b.box.n, b.box.vertices, angle, x[k]);
        if (k < 2) {
            su_fit_solver_free(solver);
            assert_int_equal(su_fit_solver_create(&b.problem, &solver, NULL), SU_OK);
        }
        assert_int_equal(su_fit_pose(solver, skin, x[k], &report[k], 1, NULL, NULL), SU_OK);
        printf("# %.3f %% deep (said: %.3f), residual %.3f %%, %d steps\n", 100 * depth_of(&b, x[k]),
               100 * report[k].deepest, 100 * report[k].residual, report[k].iterations);
        assert_int_equal(report[k].inverted, 0);
    }
    assert_true(depth_of(&b, x[0]) > 0.005 && report[0].deepest == 0);
    assert_true(depth_of(&b, x[1]) <= 0.001 && report[1].collapsed == 0);
    assert_true(fabs(report[1].deepest - depth_of(&b, x[1])) < 1e-12);
    assert_memory_equal(x[1], x[2], size);
    su_fit_solver_free(solver);
    free(skin), free(x[0]), free(x[1]), free(x[2]);
    bar_free(&b);
}

/* An elbow at 150 degrees whose skin folds on the inside, as linear blend skinning makes it. The wanted residual is met
 * by a smaller gamma, and no tet collapses; no larger gamma than needed is left. */
static void test_elbow(void **unused)
{
    (void)unused;
    bar b = make(4);
    su_fit_report stiff, report;
    double *skin = malloc(3 * (size_t)b.problem.nbar * sizeof *skin), *x = malloc(3 * (size_t)b.box.n * sizeof *x);
    for (int pass = 0; pass < 2; pass++) {
        su_fit_solver *solver;
        const double angle = 150 * M_PI / 180;
        b.problem.residual = pass ? 0.002 : 0;
        fold(b.problem.nbar, b.skin, angle, skin);
        fold(b.box.n, b.box.vertices, angle, x);
        assert_int_equal(su_fit_solver_create(&b.problem, &solver, NULL), SU_OK);
        assert_int_equal(su_fit_pose(solver, skin, x, pass ? &report : &stiff, 1, NULL, NULL), SU_OK);
        su_fit_solver_free(solver);
    }
    printf("# elbow: residual %.4f %% at gamma %.1e, %.4f %% at %.1e; %d steps, held vertices %.3f %% off\n",
           100 * stiff.residual, stiff.gamma, 100 * report.residual, report.gamma, report.iterations,
           100 * report.held_off);
    assert_true(stiff.residual > 0.002 && stiff.gamma == b.problem.gamma);
    assert_true(report.residual <= 0.002 && report.gamma < stiff.gamma);
    assert_true(stiff.collapsed == 0 && report.collapsed == 0 && report.inverted == 0);
    free(skin), free(x);
    bar_free(&b);
}

static void test_area_weights(void **unused)
{
    (void)unused;
    const double skin[12] = {0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1};
    const int32_t triangles[6] = {0, 1, 2, 0, 2, 3};
    const uint8_t skip[4] = {0, 0, 0, 1};
    double area[4];
    assert_int_equal(su_skin_area_weights(4, skin, 2, triangles, skip, area, NULL), SU_OK);
    /* areas 3 and 1: vertices 0 and 2 have 4/3, vertex 1 has 1, vertex 3 is left out */
    const double expected[4] = {4 / 11.0, 3 / 11.0, 4 / 11.0, 0};
    for (int v = 0; v < 4; v++) assert_true(fabs(area[v] - expected[v]) < 1e-15);
    const int32_t flat[3] = {0, 1, 1};
    su_error err;
    assert_int_equal(su_skin_area_weights(4, skin, 1, flat, NULL, area, &err), SU_INPUT);
}

/* Tets that touch nothing and hold no skin, as meshing leaves them in corners of messy skins: the rest is fitted as
 * without them, to the tolerance of its systems, and they stay as they are. Many, for a singular block may pass. */
static void test_flesh_without_skin(void **unused)
{
    enum { LOOSE = 200 };
    (void)unused;
    bar b = make(2);
    const int64_t n = b.box.n, t = b.box.t;
    su_fit_problem more = b.problem;
    double *vertices = malloc(3 * (size_t)(n + 4 * LOOSE) * sizeof *vertices), *x[2];
    double *skin = malloc(3 * (size_t)b.problem.nbar * sizeof *skin);
    int32_t *tets = malloc(4 * (size_t)(t + LOOSE) * sizeof *tets);
    const double corner[12] = {0, 3, 0, 0.2, 3, 0, 0, 3.2, 0, 0, 3, 0.2};
    uint64_t seed = 3;
    memcpy(vertices, b.box.vertices, 3 * (size_t)n * sizeof *vertices);
    for (int k = 0; k < 12 * LOOSE; k++) vertices[3 * n + k] = corner[k % 12] + 0.05 * box_random(&seed);
    memcpy(tets, b.box.tets, 4 * (size_t)t * sizeof *tets);
    for (int k = 0; k < 4 * LOOSE; k++) tets[4 * t + k] = (int32_t)(n + k);
    more.n = n + 4 * LOOSE, more.t = t + LOOSE, more.vertices = vertices, more.tets = tets;
    bend(b.problem.nbar, b.skin, 1, skin);
    for (int with = 0; with < 2; with++) {
        su_fit_solver *solver;
        su_fit_report report;
        su_error err = {0};
        x[with] = malloc(3 * (size_t)more.n * sizeof **x);
        bend(n, b.box.vertices, 1, x[with]);
        memcpy(x[with] + 3 * n, vertices + 3 * n, 12 * LOOSE * sizeof **x);
        assert_int_equal(su_fit_solver_create(with ? &more : &b.problem, &solver, NULL), SU_OK);
        if (su_fit_pose(solver, skin, x[with], &report, 1, NULL, &err) != SU_OK) fail_msg("%s", err.text);
        assert_int_equal(report.collapsed, 0);
        su_fit_solver_free(solver);
    }
    for (int64_t i = 0; i < 3 * n; i++) assert_true(fabs(x[0][i] - x[1][i]) < 1e-3);
    for (int i = 0; i < 12 * LOOSE; i++) assert_true(fabs(x[1][3 * n + i] - vertices[3 * n + i]) < 1e-9);
    free(vertices), free(tets), free(skin), free(x[0]), free(x[1]);
    bar_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rigid),
                                       cmocka_unit_test(test_bend),
                                       cmocka_unit_test(test_untangles),
                                       cmocka_unit_test(test_elbow),
                                       cmocka_unit_test(test_pushed_apart),
                                       cmocka_unit_test(test_area_weights),
                                       cmocka_unit_test(test_flesh_without_skin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
