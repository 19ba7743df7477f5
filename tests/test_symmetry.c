/* A character whose left is its right: what is held, how stiff it is and how it hangs are alike on both sides. */
#include "fem/body_stiffness.h"
#include "fem/elastic.h"
#include "geometry/flesh.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"
#include "geometry/mirror.h"
#include "linalg/cholesky.h"
#include "skins.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "held_flesh.h"

static const double middle = 0.137; /* the plane of symmetry, m */

/* s turned about z, moved, and its mirror image if `side` is -1, at the end of body. */
static void attach(skin *body, const skin *s, double angle, double dx, double dy, double dz, double side)
{
    body->x = realloc(body->x, 3 * (size_t)(body->n + s->n) * sizeof *body->x);
    body->triangles = realloc(body->triangles, 3 * (size_t)(body->t + s->t) * sizeof *body->triangles);
    for (int64_t v = 0; v < s->n; v++) {
        double *out = body->x + 3 * (body->n + v);
        const double *x = s->x + 3 * v;
        out[0] = middle + side * (cos(angle) * x[0] - sin(angle) * x[1] + dx);
        out[1] = sin(angle) * x[0] + cos(angle) * x[1] + dy;
        out[2] = x[2] + dz;
    }
    for (int64_t k = 0; k < 3 * s->t; k++) {
        int64_t from = side > 0 ? k : k - k % 3 + (3 - k % 3) % 3; /* the other way round */
        body->triangles[3 * body->t + k] = (int32_t)body->n + s->triangles[from];
    }
    body->n += s->n, body->t += s->t;
}

/* Half a metre of torso, a head, two arms that hang, two ears: shells through each other, as characters are made. */
static skin make_body(void)
{
    skin body = {.name = "body"}, torso = skin_capsule(0.13, 0.3, 10), head = skin_sphere(0.09, 10),
         arm = skin_capsule(0.045, 0.3, 8), ear = skin_capsule(0.02, 0.06, 6);
    attach(&body, &torso, 0, 0, 0, 0, 1);
    attach(&body, &head, 0, 0, 0.51, 0.02, 1);
    for (int side = -1; side <= 1; side += 2) {
        attach(&body, &arm, 2.6, 0.12, 0.33, 0.01, side);
        attach(&body, &ear, -0.5, 0.05, 0.57, 0.02, side);
    }
    skin_free(&torso), skin_free(&head), skin_free(&arm), skin_free(&ear);
    return body;
}

static su_surface surface_of(const skin *s)
{
    su_surface surface;
    su_error err = {0};
    if (su_surface_create(s->n, s->x, s->t, s->triangles, NULL, &surface, &err)) fail_msg("%s: %s", s->name, err.text);
    return surface;
}

static void test_the_plane_is_found(void **unused)
{
    (void)unused;
    skin body = make_body();
    su_surface surface = surface_of(&body);
    su_mirror mirror;
    assert_int_equal(su_mirror_find(&surface, &mirror, NULL), SU_OK);
    assert_int_equal(mirror.axis, 0);
    assert_true(fabs(mirror.at - middle) < 1e-6);
    su_surface_free(&surface);
    /* leaning over by half a radian it has none */
    for (int64_t v = 0; v < body.n; v++) {
        double *x = body.x + 3 * v, c = cos(0.5), s = sin(0.5), turned[3] = {c * x[0] - s * x[1], s * x[0] + c * x[1]};
        x[0] = c * turned[0] - s * x[2], x[1] = turned[1], x[2] = s * turned[0] + c * x[2];
    }
    surface = surface_of(&body);
    assert_int_equal(su_mirror_find(&surface, &mirror, NULL), SU_OK);
    assert_int_equal(mirror.axis, -1);
    su_surface_free(&surface);
    skin_free(&body);
}

static void test_points_that_nearly_mirror_do(void **unused)
{
    (void)unused;
    su_mirror mirror = {.axis = 0, .at = middle};
    /* a pair that is 2 mm off, one in the plane but for 1 mm, one without a partner, the pair's left end once more */
    double x[15] = {middle + 0.101, 1, 0, middle - 0.1, 1.002, 0, middle + 0.001, 2, 0, 1, 3, 0, middle + 0.101, 1, 0};
    assert_int_equal(su_mirror_points(&mirror, 0.005, 5, x, NULL), SU_OK);
    assert_true(fabs(x[0] + x[3] - 2 * middle) < 1e-12 && fabs(x[1] - x[4]) < 1e-12 && fabs(x[1] - 1.001) < 1e-12);
    assert_true(fabs(x[6] - middle) < 1e-12 && x[9] == 1);
    assert_memory_equal(x, x + 12, 3 * sizeof *x);
}

/* u (n,3): where weights of the flesh along y move it from its neutral shape, linearly. */
static void hang(const su_flesh *flesh, const su_held *held, const double *factor, double *u)
{
    const su_tets *m = &flesh->mesh;
    su_elastic elastic;
    su_sparse K;
    su_cholesky *solver;
    int32_t *fixed = malloc((size_t)held->count * sizeof *fixed), count = 0;
    double *one = malloc(2 * (size_t)m->t * sizeof *one);
    for (int64_t v = 0; v < m->n; v++)
        if (held->fixed[v]) fixed[count++] = (int32_t)v;
    for (int64_t e = 0; e < m->t; e++) one[e] = 1000, one[m->t + e] = 0.45;
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {m->n, m->t, m->x, m->tets},
                                                          .held_count = count,
                                                          .held = fixed,
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = factor,
                                                          .poisson = one + m->t,
                                                          .density = one},
                                       NULL),
                     SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&elastic, m->x, false, &K, 1);
    assert_int_equal(su_cholesky_create(&K, 1, &solver, NULL), SU_OK);
    assert_int_equal(su_cholesky_factorize(solver, &K, NULL), SU_OK);
    double *load = calloc((size_t)K.size, sizeof *load);
    for (int64_t f = 0; f < elastic.free_count; f++) load[3 * f + 1] = elastic.mass[elastic.free_vertex[f]];
    assert_int_equal(su_cholesky_solve(solver, 1, load, load, NULL), SU_OK);
    memset(u, 0, 3 * (size_t)m->n * sizeof *u);
    for (int64_t f = 0; f < elastic.free_count; f++)
        memcpy(u + 3 * (int64_t)elastic.free_vertex[f], load + 3 * f, 3 * sizeof *u);
    free(fixed), free(one), free(load);
    su_cholesky_free(solver);
    su_sparse_free(&K);
    su_elastic_free(&elastic);
}

/* How far the mirror image of vertex v is from the nearest one, m. */
static double image_gap(const su_tets *m, const su_kdtree *tree, int64_t v, int32_t *near)
{
    double image[3] = {2 * middle - m->x[3 * v], m->x[3 * v + 1], m->x[3 * v + 2]}, distance;
    su_kdtree_nearest(tree, image, 1, near, &distance);
    return distance;
}

/* The only example pose ripples one side: its tets are finer, and so are those of the other. */
static void test_one_side_is_posed(void **unused)
{
    (void)unused;
    skin body = make_body();
    su_surface surface = surface_of(&body);
    su_flesh_settings settings = su_flesh_defaults();
    su_flesh flesh[2];
    su_error err = {0};
    double *pose = malloc(3 * (size_t)body.n * sizeof *pose);
    memcpy(pose, body.x, 3 * (size_t)body.n * sizeof *pose);
    for (int64_t v = 0; v < body.n; v++)
        if (pose[3 * v] > middle + 0.03) pose[3 * v + 2] += 0.02 * sin(100 * pose[3 * v] + 60 * pose[3 * v + 1]);
    settings.method = SU_MESH_SDF, settings.tets = 15000;
    if (su_flesh_build(&surface, &settings, &flesh[0], &err)) fail_msg("%s", err.text);
    settings.poses = 1, settings.shapes = pose;
    if (su_flesh_build(&surface, &settings, &flesh[1], &err)) fail_msg("%s", err.text);
    assert_true(flesh[1].followed);
    const su_tets *m = &flesh[1].mesh;
    su_kdtree *tree;
    int64_t paired = 0;
    assert_int_equal(su_kdtree_create(m->n, m->x, &tree, &err), SU_OK);
    for (int64_t v = 0; v < m->n; v++) {
        int32_t near;
        paired += image_gap(m, tree, v, &near) < 1e-9;
    }
    printf("# %lld tets, %.2f %% of the vertices have a mirror image; angles from %.1f (1st percentile %.1f) degrees, "
           "uniform %.1f (%.1f)\n",
           (long long)m->t, 100.0 * (double)paired / (double)m->n, flesh[1].quality.dihedral_min,
           flesh[1].quality.dihedral_percentile, flesh[0].quality.dihedral_min, flesh[0].quality.dihedral_percentile);
    assert_true((double)paired > 0.99 * (double)m->n);
    su_kdtree_free(tree);
    free(pose);
    su_flesh_free(&flesh[0]), su_flesh_free(&flesh[1]);
    su_surface_free(&surface);
    skin_free(&body);
}

static void test_both_sides_are_alike(void **unused)
{
    (void)unused;
    skin body = make_body();
    su_surface surface = surface_of(&body);
    su_flesh_settings settings = su_flesh_defaults();
    su_flesh flesh;
    su_error err = {0};
    settings.method = SU_MESH_SDF, settings.tets = 6000;
    if (su_flesh_build(&surface, &settings, &flesh, &err)) fail_msg("%s", err.text);
    const su_tets *m = &flesh.mesh;
    su_kdtree *tree;
    assert_int_equal(su_kdtree_create(m->n, m->x, &tree, &err), SU_OK);
    /* a spine in the plane, an upper arm on each side that begins in it */
    double segments[18] = {middle,       0,   0,    middle, 0.3, 0, middle,       0.3, 0,
                           middle + 0.2, 0.2, 0.01, middle, 0.3, 0, middle - 0.2, 0.2, 0.01};
    su_held_bones bones = {
        .count = 3, .segments = segments, .mirror = {.axis = 0, .at = middle}, .reach = 0.25 * flesh.cell};
    su_held held;
    held = held_by(m, &bones, 1);
    double *factor = malloc((size_t)m->t * sizeof *factor), *u = malloc(3 * (size_t)m->n * sizeof *u);
    su_body_skin body_skin = {.nbar = surface.n, .embed_tet = flesh.holder};
    assert_int_equal(su_body_stiffness(m, true, &body_skin, 1, factor, &err), SU_OK);
    hang(&flesh, &held, factor, u);

    double volume[2] = {0}, fixed[2] = {0}, logs[2] = {0}, response[2] = {0}, largest[2] = {0};
    for (int64_t e = 0; e < m->t; e++) {
        double V = su_tet_volume(m->x, m->tets + 4 * e), at = -middle;
        for (int c = 0; c < 4; c++) at += m->x[3 * (int64_t)m->tets[4 * e + c]] / 4;
        for (int side = 0; side < 2; side++) { /* tets across the plane belong to both */
            double share = V * fmin(fmax(0.5 + (side ? at : -at) / flesh.cell, 0), 1);
            volume[side] += share, logs[side] += share * log(factor[e]);
            for (int c = 0; c < 4; c++) {
                const int32_t v = m->tets[4 * e + c];
                double size = su_norm3(u + 3 * (int64_t)v);
                fixed[side] += share / 4 * held.fixed[v], response[side] += share / 4 * size * size;
                if (share > 0) largest[side] = fmax(largest[side], size);
            }
        }
    }
    double young = exp(logs[1] / volume[1] - logs[0] / volume[0]);
    printf("# right over left: volume %.4f, held %.4f, stiffness %.4f, response %.4f, largest %.4f\n",
           volume[1] / volume[0], fixed[1] / fixed[0], young, sqrt(response[1] / response[0]), largest[1] / largest[0]);
    const double alike = 0.05;
    assert_true(fabs(log(volume[1] / volume[0])) < alike);
    assert_true(fabs(log(fixed[1] / fixed[0])) < alike);
    assert_true(fabs(log(young)) < alike);
    assert_true(fabs(log(response[1] / response[0])) / 2 < alike);
    assert_true(fabs(log(largest[1] / largest[0])) < alike);

    /* every vertex but a few has one at its mirrored place, and both are held or none */
    int64_t paired = 0, apart = 0;
    for (int64_t v = 0; v < m->n; v++) {
        int32_t near;
        if (image_gap(m, tree, v, &near) > 1e-9) continue;
        paired++, apart += held.fixed[v] != held.fixed[near];
    }
    printf("# %.2f %% of the vertices have a mirror image\n", 100.0 * (double)paired / (double)m->n);
    assert_true((double)paired > 0.99 * (double)m->n);
    assert_int_equal(apart, 0);
    su_kdtree_free(tree);
    free(factor), free(u);
    su_held_free(&held);
    su_flesh_free(&flesh);
    su_surface_free(&surface);
    skin_free(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_plane_is_found), cmocka_unit_test(test_points_that_nearly_mirror_do),
        cmocka_unit_test(test_one_side_is_posed), cmocka_unit_test(test_both_sides_are_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
