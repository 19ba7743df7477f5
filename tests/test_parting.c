/* Shells that cross at the neutral pose and part at others get flesh of their own; those that turn around what crosses
 * stay one; what holds both goes on holding both. */
#include "core/random.h"
#include "geometry/flesh.h"
#include "geometry/mat3.h"
#include "geometry/parting.h"
#include "geometry/ties.h"
#include "skins.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "held_flesh.h"

enum { MOST_PARTS = 5, TETS = 3000, SEEDS = 8 };

/* Skins in one, and where their vertices begin. */
typedef struct body {
    int64_t n, t, first[MOST_PARTS + 1];
    double *x, *posed;
    int32_t *triangles;
} body;

static void add(body *b, int part, skin s, const double at[3])
{
    b->x = realloc(b->x, 3 * (size_t)(b->n + s.n) * sizeof *b->x);
    b->triangles = realloc(b->triangles, 3 * (size_t)(b->t + s.t) * sizeof *b->triangles);
    for (int64_t k = 0; k < 3 * s.n; k++) b->x[3 * b->n + k] = s.x[k] + at[k % 3];
    for (int64_t k = 0; k < 3 * s.t; k++) b->triangles[3 * b->t + k] = s.triangles[k] + (int32_t)b->n;
    b->first[part] = b->n, b->n += s.n, b->t += s.t, b->first[part + 1] = b->n;
    skin_free(&s);
}

static void body_free(body *b) { free(b->x), free(b->posed), free(b->triangles); }

static int part_of(const body *b, int64_t v)
{
    int part = 0;
    while (v >= b->first[part + 1]) part++;
    return part;
}

/* posed: a part turned about the x axis through `pivot`, and shifted. */
static void pose(body *b, int part, double angle, const double pivot[3], const double shift[3])
{
    if (!b->posed) {
        b->posed = malloc(3 * (size_t)b->n * sizeof *b->posed);
        memcpy(b->posed, b->x, 3 * (size_t)b->n * sizeof *b->posed);
    }
    for (int64_t v = b->first[part]; v < b->first[part + 1]; v++) {
        double d[3];
        su_sub3(b->x + 3 * v, pivot, d);
        b->posed[3 * v] = b->x[3 * v] + shift[0];
        b->posed[3 * v + 1] = pivot[1] + cos(angle) * d[1] - sin(angle) * d[2] + shift[1];
        b->posed[3 * v + 2] = pivot[2] + sin(angle) * d[1] + cos(angle) * d[2] + shift[2];
    }
}

/* Two legs that overlap by 4 of 10 cm, under hips that both reach into; in the pose they have turned apart in the hips.
 */
static body walker(void)
{
    body b = {0};
    const double none[3] = {0}, left[3] = {-0.03, 0.38, 0}, right[3] = {0.03, 0.38, 0};
    add(&b, 0, skin_sphere(0.1, 12), (const double[]){0, 0.42, 0});
    add(&b, 1, skin_capsule(0.05, 0.3, 10), (const double[]){-0.03, 0.05, 0});
    add(&b, 2, skin_capsule(0.05, 0.3, 10), (const double[]){0.03, 0.05, 0});
    pose(&b, 1, 1.0, left, none), pose(&b, 2, -1.0, right, none);
    return b;
}

static su_surface surface_of(const body *b)
{
    su_surface surface;
    su_error err = {0};
    if (su_surface_create(b->n, b->x, b->t, b->triangles, NULL, &surface, &err)) fail_msg("%s", err.text);
    return surface;
}

static su_flesh flesh_of(const body *b, const su_surface *surface, bool posed, int64_t tets)
{
    su_flesh_settings settings = su_flesh_defaults();
    su_flesh flesh;
    su_error err = {0};
    settings.method = SU_MESH_SDF, settings.tets = tets, settings.threads = 2;
    if (posed) settings.poses = 1, settings.shapes = b->posed;
    if (su_flesh_build(surface, &settings, &flesh, &err)) fail_msg("%s", err.text);
    return flesh;
}

/* marks (mesh t): bit p: a vertex of part p is held by the tet */
static uint8_t *parts_in_tets(const body *b, const su_surface *surface, const su_flesh *flesh)
{
    uint8_t *marks = calloc((size_t)flesh->mesh.t, 1);
    for (int64_t v = 0; v < b->n; v++) marks[flesh->holder[surface->vertex[v]]] |= (uint8_t)(1 << part_of(b, v));
    return marks;
}

static su_parting parting_of(const body *b)
{
    su_surface surface = surface_of(b);
    double *shapes = malloc(3 * (size_t)surface.n * sizeof *shapes);
    su_parting parting;
    su_error err = {0};
    for (int64_t v = 0; v < b->n; v++)
        memcpy(shapes + 3 * (int64_t)surface.vertex[v], b->posed + 3 * v, 3 * sizeof *shapes);
    assert_int_equal(su_parting_create(&surface, 1, shapes, &parting, &err), SU_OK);
    su_surface_free(&surface);
    free(shapes);
    return parting;
}

static void test_who_parts(void **state)
{
    (void)state;
    body b = walker();
    su_parting p = parting_of(&b);
    assert_int_equal(p.classes, 3);
    assert_int_equal(p.layers, 2);
    assert_int_equal(p.layers_of[0], 3);
    assert_int_equal(p.layers_of[1] | p.layers_of[2], 3);
    assert_int_equal(p.layers_of[1] & p.layers_of[2], 0);
    su_parting_free(&p);
    /* a leg that turns by more, but alone with what it turns in, does not part */
    body hinge = {0};
    const double none[3] = {0}, pivot[3] = {0, 0.38, 0};
    add(&hinge, 0, skin_sphere(0.1, 12), (const double[]){0, 0.42, 0});
    add(&hinge, 1, skin_capsule(0.05, 0.3, 10), (const double[]){0, 0.05, 0});
    pose(&hinge, 1, 1.5, pivot, none);
    p = parting_of(&hinge);
    assert_int_equal(p.classes, 1);
    assert_int_equal(p.layers, 1);
    su_parting_free(&p);
    /* one that leaves does */
    pose(&hinge, 1, 0, pivot, (const double[]){0, -0.3, 0});
    p = parting_of(&hinge);
    assert_int_equal(p.classes, 3);
    su_parting_free(&p);
    /* and where all move as one, however far, nothing does */
    for (int k = 0; k < 2; k++) pose(&hinge, k, 1.5, pivot, (const double[]){1, 2, 3});
    p = parting_of(&hinge);
    assert_int_equal(p.classes, 1);
    su_parting_free(&p);
    body_free(&b), body_free(&hinge);
}

/* Legs of a walker meet in the hips alone: from a tet that holds skin of one, no way through tets without skin of the
 * hips leads to skin of the other. */
static void test_legs_have_flesh_of_their_own(void **state)
{
    (void)state;
    body b = walker();
    su_surface surface = surface_of(&b);
    for (int posed = 0; posed < 2; posed++) {
        su_flesh flesh = flesh_of(&b, &surface, posed, TETS);
        uint8_t *marks = parts_in_tets(&b, &surface, &flesh);
        int32_t *part = calloc((size_t)flesh.mesh.t, sizeof *part),
                *tets = calloc(4 * (size_t)flesh.mesh.t, sizeof *tets);
        int64_t parts, kept = 0;
        su_error err = {0};
        assert_int_equal(su_tet_parts(flesh.mesh.t, flesh.mesh.tets, part, &parts, &err), SU_OK);
        assert_int_equal(parts, 1);
        assert_int_equal(flesh.parting, posed ? 2 : 0);
        for (int64_t e = 0; e < flesh.mesh.t; e++) {
            double y = 0; /* below the hips */
            for (int i = 0; i < 4; i++) y = fmax(y, flesh.mesh.x[3 * (int64_t)flesh.mesh.tets[4 * e + i] + 1]);
            if (y > 0.3) continue;
            memcpy(tets + 4 * kept, flesh.mesh.tets + 4 * e, 4 * sizeof *tets);
            marks[kept++] = marks[e];
        }
        assert_int_equal(su_tet_parts(kept, tets, part, &parts, &err), SU_OK);
        uint8_t *of_part = calloc((size_t)parts, 1);
        for (int64_t e = 0; e < kept; e++) of_part[part[e]] |= marks[e];
        bool glued = false;
        for (int64_t k = 0; k < parts; k++) glued |= of_part[k] == 6;
        assert_int_equal(glued, !posed);
        free(of_part), free(marks), free(part), free(tets);
        su_flesh_free(&flesh);
    }
    su_surface_free(&surface);
    body_free(&b);
}

static void test_balls_that_leave_each_other(void **state)
{
    (void)state;
    body b = {0};
    const double none[3] = {0};
    add(&b, 0, skin_sphere(0.1, 16), (const double[]){-0.04, 0, 0});
    add(&b, 1, skin_sphere(0.1, 16), (const double[]){0.04, 0, 0});
    pose(&b, 1, 0, none, (const double[]){0.3, 0, 0});
    su_surface surface = surface_of(&b);
    su_flesh flesh = flesh_of(&b, &surface, true, TETS);
    int32_t *part = calloc((size_t)flesh.mesh.t, sizeof *part);
    int64_t parts;
    double volume[2] = {0}, ball = 4.0 / 3.0 * M_PI * 1e-3;
    su_error err = {0};
    assert_int_equal(su_tet_parts(flesh.mesh.t, flesh.mesh.tets, part, &parts, &err), SU_OK);
    assert_int_equal(parts, 2);
    for (int64_t e = 0; e < flesh.mesh.t; e++) volume[part[e]] += su_tet_volume(flesh.mesh.x, flesh.mesh.tets + 4 * e);
    /* flesh is a few per cent larger than its skin */
    for (int k = 0; k < 2; k++) assert_true(volume[k] > 0.97 * ball && volume[k] < 1.2 * ball);
    for (int64_t v = 1; v < b.n; v++)
        if (part_of(&b, v) == part_of(&b, v - 1))
            assert_int_equal(part[flesh.holder[surface.vertex[v]]], part[flesh.holder[surface.vertex[v - 1]]]);
    free(part);
    su_flesh_free(&flesh);
    su_surface_free(&surface);
    body_free(&b);
}

/* Flesh of one leg follows no skin of the other, however near that is. */
static void test_ties_stay_in_their_layer(void **state)
{
    (void)state;
    body b = walker();
    su_surface surface = surface_of(&b);
    su_flesh flesh = flesh_of(&b, &surface, true, TETS);
    int32_t *index = calloc(SU_TIES * (size_t)flesh.mesh.n, sizeof *index);
    double *weight = calloc(SU_TIES * (size_t)flesh.mesh.n, sizeof *weight);
    uint32_t *layers = calloc((size_t)b.n, sizeof *layers);
    int64_t single = 0;
    su_error err = {0};
    for (int64_t v = 0; v < b.n; v++) layers[v] = flesh.skin_layers[surface.vertex[v]];
    const su_tie_skin tied = {.count = b.n, .x = b.x, .layers = layers};
    assert_int_equal(su_ties(flesh.mesh.n, flesh.mesh.x, flesh.layers, &tied, 2, index, weight, &err), SU_OK);
    for (int64_t v = 0; v < flesh.mesh.n; v++) {
        single += flesh.layers[v] != 3;
        for (int k = 0; k < SU_TIES; k++) assert_true(layers[index[SU_TIES * v + k]] & flesh.layers[v]);
    }
    assert_true(single > flesh.mesh.n / 4);
    free(index), free(weight), free(layers);
    su_flesh_free(&flesh);
    su_surface_free(&surface);
    body_free(&b);
}

static void test_bones_let_foreign_flesh_go(void **state)
{
    (void)state;
    body b = walker();
    su_surface surface = surface_of(&b);
    su_flesh flesh = flesh_of(&b, &surface, true, TETS);
    const double segments[] = {-0.01, 0.05, 0, -0.01, 0.3, 0}; /* within both legs */
    uint8_t *foreign = calloc((size_t)flesh.mesh.n, 1);
    uint32_t left = flesh.skin_layers[surface.vertex[b.first[1]]];
    su_held_bones bones = {.count = 1, .segments = segments};
    su_held all = held_by(&flesh.mesh, &bones, 1), own;
    for (int64_t v = 0; v < flesh.mesh.n; v++) foreign[v] = !(flesh.layers[v] & left);
    bones.foreign = foreign;
    own = held_by(&flesh.mesh, &bones, 1);
    int64_t let = 0;
    for (int64_t v = 0; v < flesh.mesh.n; v++) {
        assert_int_equal(own.fixed[v], all.fixed[v] && !foreign[v]);
        let += all.fixed[v] && foreign[v];
    }
    assert_true(let > 3 && own.count > 3);
    su_held_free(&all), su_held_free(&own);
    free(foreign);
    su_flesh_free(&flesh);
    su_surface_free(&surface);
    body_free(&b);
}

/* Legs of many sizes that turn out of hips, across each other and through them: whatever of which layer ends where, no
 * face has three tets, and every shell keeps its flesh in one piece. */
static void test_walkers_of_many_builds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        su_random random = su_random_seed(seed, 0);
        body b = {0};
        const double none[3] = {0};
        add(&b, 0, skin_sphere(0.05 + 0.1 * su_random_uniform(&random), 8), (const double[]){0, 0.42, 0});
        for (int k = 1; k < MOST_PARTS; k++) {
            double at[3] = {0.1 * (su_random_uniform(&random) - 0.5), 0.05 + 0.1 * su_random_uniform(&random),
                            0.1 * (su_random_uniform(&random) - 0.5)};
            add(&b, k, skin_capsule(0.02 + 0.05 * su_random_uniform(&random), 0.3, 6), at);
        }
        for (int k = 1; k < MOST_PARTS; k++) pose(&b, k, k % 2 ? 1.2 : -1.2, (const double[]){0, 0.4, 0}, none);
        su_surface surface = surface_of(&b);
        su_flesh flesh = flesh_of(&b, &surface, true, 1000);
        int32_t *part = calloc((size_t)flesh.mesh.t, sizeof *part);
        int64_t parts;
        su_error err = {0};
        assert_true(flesh.parting > 0);
        assert_int_equal(su_tet_parts(flesh.mesh.t, flesh.mesh.tets, part, &parts, &err), SU_OK);
        for (int64_t v = 1; v < b.n; v++)
            if (part_of(&b, v) == part_of(&b, v - 1))
                assert_int_equal(part[flesh.holder[surface.vertex[v]]], part[flesh.holder[surface.vertex[v - 1]]]);
        free(part);
        su_flesh_free(&flesh);
        su_surface_free(&surface);
        body_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_parts),
        cmocka_unit_test(test_legs_have_flesh_of_their_own),
        cmocka_unit_test(test_balls_that_leave_each_other),
        cmocka_unit_test(test_walkers_of_many_builds),
        cmocka_unit_test(test_ties_stay_in_their_layer),
        cmocka_unit_test(test_bones_let_foreign_flesh_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
