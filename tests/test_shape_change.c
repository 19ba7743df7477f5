/* Which changes of a skin's shape a tet cannot follow, and flesh that is finer where there are such. */
#include "geometry/flesh.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/shape_change.h"
#include "skins.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Bends the skin about z at y = middle: what lies above turns by `angle`, like a hinge. */
static void hinge(const skin *s, double middle, double angle, double *shape)
{
    for (int64_t v = 0; v < s->n; v++) {
        const double *x = s->x + 3 * v;
        double turn = x[1] > middle ? angle : 0, up = x[1] - middle;
        shape[3 * v] = cos(turn) * x[0] - sin(turn) * up;
        shape[3 * v + 1] = middle + sin(turn) * x[0] + cos(turn) * up;
        shape[3 * v + 2] = x[2];
    }
}

/* 0.2 x 0.6 x 0.2 m about the origin */
static skin skin_bar(void)
{
    skin s = skin_cube(1, 24);
    double low[3] = {INFINITY, INFINITY, INFINITY};
    for (int64_t k = 0; k < 3 * s.n; k++) low[k % 3] = fmin(low[k % 3], s.x[k]);
    for (int64_t k = 0; k < 3 * s.n; k++) s.x[k] = (s.x[k] - low[k % 3] - 0.5) * (k % 3 == 1 ? 0.6 : 0.2);
    return s;
}

static double largest(int64_t n, const double *values)
{
    double most = 0;
    for (int64_t v = 0; v < n; v++) most = fmax(most, values[v]);
    return most;
}

static void test_tets_follow_turns_and_stretches(void **state)
{
    (void)state;
    skin s = skin_bar();
    su_error err = {0};
    double *shapes = malloc(6 * (size_t)s.n * sizeof *shapes), *misfit = malloc((size_t)s.n * sizeof *misfit);
    double vector[3] = {0.4, 2.0, -1.1}, q[4], R[9];
    su_quaternion_exp(vector, q);
    su_quaternion_matrix(q, R);
    for (int64_t v = 0; v < s.n; v++) {
        double stretched[3] = {1.2 * s.x[3 * v], s.x[3 * v + 1] / 1.15, s.x[3 * v + 2]};
        su_mulv3(R, s.x + 3 * v, shapes + 3 * v);
        su_mulv3(R, stretched, shapes + 3 * (s.n + v));
    }
    assert_int_equal(su_shape_change(s.n, s.x, 2, shapes, 0.05, 2, misfit, &err), SU_OK);
    print_message("# turned and stretched: %.1e of the radius\n", largest(s.n, misfit) / 0.05);
    assert_true(largest(s.n, misfit) < 5e-3 * 0.05);
    hinge(&s, 0, 1.2, shapes);
    assert_int_equal(su_shape_change(s.n, s.x, 2, shapes, 0.05, 2, misfit, &err), SU_OK);
    double far = 0, near = 0;
    for (int64_t v = 0; v < s.n; v++)
        if (fabs(s.x[3 * v + 1]) > 0.08)
            far = fmax(far, misfit[v]);
        else
            near = fmax(near, misfit[v]);
    print_message("# a hinge: %.4f of the radius at the fold, %.1e away from it\n", near / 0.05, far / 0.05);
    assert_true(near > 0.1 * 0.05 && far < 5e-3 * 0.05);
    free(shapes), free(misfit), skin_free(&s);
}

/* Two sheets 1 mm apart that slide by d over each other: no single map does better than d/2 for both. */
static void test_sliding_sheets(void **state)
{
    (void)state;
    enum { SIDE = 30 };
    double x[6 * SIDE * SIDE], shape[6 * SIDE * SIDE], misfit[2 * SIDE * SIDE], slide = 0.02;
    su_error err = {0};
    for (int k = 0; k < 2 * SIDE * SIDE; k++) {
        double p[3] = {0.01 * (k % SIDE), 0.01 * (k / SIDE % SIDE), k < SIDE * SIDE ? 0 : 0.001};
        memcpy(x + 3 * k, p, sizeof p);
        p[0] += k < SIDE * SIDE ? 0 : slide;
        memcpy(shape + 3 * k, p, sizeof p);
    }
    assert_int_equal(su_shape_change(2 * SIDE * SIDE, x, 1, shape, 0.035, 1, misfit, &err), SU_OK);
    int k = SIDE * SIDE / 2 + SIDE / 2;
    print_message("# sheets that slide by 20 mm: %.1f mm\n", 1e3 * misfit[k]);
    assert_true(misfit[k] > 0.4 * slide && misfit[k] < 0.51 * slide);
}

static void test_bad_input(void **state)
{
    (void)state;
    double x[6] = {0}, misfit[2] = {1, 1};
    su_error err = {0};
    assert_int_equal(su_shape_change(2, x, 1, x, 0.1, 1, misfit, &err), SU_OK);
    assert_true(misfit[0] == 0 && misfit[1] == 0);
    assert_int_equal(su_shape_change(2, x, 0, NULL, 0.1, 1, misfit, &err), SU_OK);
    assert_int_equal(su_shape_change(0, NULL, 1, NULL, 0.1, 1, NULL, &err), SU_OK);
}

static su_flesh build(const su_surface *surface, const double *shape, double follow)
{
    su_flesh_settings settings = su_flesh_defaults();
    su_flesh flesh;
    su_error err = {0};
    settings.method = SU_MESH_SDF, settings.tets = 4000, settings.threads = 2, settings.poses = shape != NULL,
    settings.shapes = shape;
    settings.follow = follow;
    if (su_flesh_build(surface, &settings, &flesh, &err)) fail_msg("%s", err.text);
    assert_true(llabs(flesh.mesh.t - 4000) <= 800 && flesh.quality.dihedral_min > 5);
    return flesh;
}

/* Mean edge of the tets near the middle over that of the others. */
static double fineness(const su_flesh *flesh)
{
    double size[2] = {0, 0};
    int64_t count[2] = {0, 0};
    for (int64_t e = 0; e < flesh->mesh.t; e++) {
        const int32_t *tet = flesh->mesh.tets + 4 * e;
        double y = 0;
        for (int a = 0; a < 4; a++) y += flesh->mesh.x[3 * (int64_t)tet[a] + 1] / 4;
        int near = fabs(y) < 0.05;
        size[near] += cbrt(su_tet_volume(flesh->mesh.x, tet)), count[near]++;
    }
    return size[1] / (double)count[1] / (size[0] / (double)count[0]);
}

static void test_flesh_is_finer_at_folds(void **state)
{
    (void)state;
    skin s = skin_bar();
    su_surface surface;
    su_error err = {0};
    double *shape = malloc(3 * (size_t)s.n * sizeof *shape);
    assert_int_equal(su_surface_create(s.n, s.x, s.t, s.triangles, NULL, &surface, &err), SU_OK);
    su_flesh plain = build(&surface, NULL, 3);
    hinge(&s, 0, 0.03, shape); /* gentle: uniform tets follow it, and stay as they are */
    su_flesh gentle = build(&surface, shape, 3);
    assert_false(gentle.followed);
    assert_int_equal(gentle.mesh.n, plain.mesh.n);
    assert_memory_equal(gentle.mesh.x, plain.mesh.x, 3 * (size_t)plain.mesh.n * sizeof(double));
    hinge(&s, 0, 2.4, shape);
    su_flesh off = build(&surface, shape, 1), folded = build(&surface, shape, 3);
    assert_true(folded.followed && !off.followed);
    assert_memory_equal(off.mesh.x, plain.mesh.x, 3 * (size_t)plain.mesh.n * sizeof(double));
    print_message("# size of tets at the fold over that elsewhere: %.2f, uniform %.2f\n", fineness(&folded),
                  fineness(&plain));
    assert_true(fineness(&folded) < 0.75 * fineness(&plain));
    su_flesh_free(&plain), su_flesh_free(&gentle), su_flesh_free(&off), su_flesh_free(&folded);
    su_surface_free(&surface);
    free(shape), skin_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tets_follow_turns_and_stretches),
        cmocka_unit_test(test_sliding_sheets),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_flesh_is_finer_at_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
