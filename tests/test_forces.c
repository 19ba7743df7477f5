/* Forces from outside, by physics: weight, free fall, Coulomb's cone; and the reduced simulator against the full one.
 */
#include "core/memory.h"
#include "fem/elastic.h"
#include "geometry/tetmesh.h"
#include "reduced_scene.h"
#include "physics/loads.h"
#include "runtime/subspace/reconstruct.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

static const double straight[] = {0.0}, poses3[] = {0.0, 0.8, -0.8};

static void rig_still(double t, double *bend, double *root) { (void)t, (void)bend, (void)root; }

static void rig_swing(double t, double *bend, double *root)
{
    *bend = 0.5 * sin(9.0 * t);
    root[3] = 0.1 * sin(7.0 * t);
}

/* Every skin vertex is a contact point; triangles: the boundary of the flesh. */
static void parse(const scene *s, const char *text, su_external *out)
{
    json_t *root = json_loads(text, 0, NULL);
    su_error err = {0};
    int64_t count;
    int32_t *surface;
    assert_non_null(root);
    assert_int_equal(su_tet_boundary(s->tet.t, s->tet.tets, &count, &surface, NULL, &err), SU_OK);
    if (su_external_parse(root, &(su_load_skin){s->tet.n, s->tet.vertices, count, surface}, out, &err) != SU_OK)
        fail_msg("%s", err.text);
    free(surface);
    json_decref(root);
}

static double lowest(const scene *s)
{
    double least = INFINITY;
    for (int64_t v = 0; v < s->tet.n; v++) least = fmin(least, s->tet.vertices[3 * v + 1]);
    return least;
}

/* The full simulation's u (F,n,3), no step worse than halved. */
static double *steady_full_run(scene *s, const su_sim_settings *settings)
{
    int status[100];
    assert_true(s->anim.F <= 100);
    double *u = scene_full_run(s, settings, 1e-10, NULL, status, NULL);
    for (int64_t k = 0; k < s->anim.F; k++) assert_true(status[k] <= SU_STATUS_HALVED);
    return u;
}

static double total_mass(const scene *s, double *mass)
{
    double sum = 0;
    su_error err = {0};
    su_elastic body;
    assert_int_equal(su_elastic_create(&body,
                                       &(su_elastic_body){.mesh = {s->tet.n, s->tet.t, s->tet.vertices, s->tet.tets},
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = s->fit.young,
                                                          .poisson = s->fit.poisson,
                                                          .density = s->fit.density},
                                       &err),
                     SU_OK);
    for (int64_t v = 0; v < s->tet.n; v++) sum += mass[v] = body.mass[v];
    su_elastic_free(&body);
    return sum;
}

static double centre(const scene *s, const double *mass, const double *u, int c)
{
    double sum = 0, weight = 0;
    for (int64_t v = 0; v < s->tet.n; v++) sum += mass[v] * u[3 * v + c], weight += mass[v];
    return sum / weight;
}

static void a_body_at_rest_is_carried(void **unused)
{
    (void)unused;
    enum { FRAMES = 90 };
    scene s;
    scene_create(&s, 4, 2, 2, 1, straight, FRAMES, 30, rig_still, 0, NULL);
    s.tet.fixed_count = 0; /* free flesh */
    char text[200];
    double low = lowest(&s), *mass = calloc((size_t)s.tet.n, sizeof *mass), total = total_mass(&s, mass);
    snprintf(
        text, sizeof text,
        "{\"points\": 10000, \"colliders\": [{\"shape\": \"plane\", \"point\": [0, %.17g, 0], \"normal\": [0, 2, 0]}]}",
        low - 0.05);
    su_external external;
    parse(&s, text, &external);
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_ABSOLUTE, settings.external = &external, settings.damping = 0.5;
    double *u = steady_full_run(&s, &settings), force = 0;
    /* free fall of implicit Euler: -g h^2 k (k + 1) / 2 */
    double h = 1.0 / 90;
    assert_near(centre(&s, mass, u + 3 * s.tet.n, 1), -9.81 * h * h * 3 * 4 / 2, 1e-9);
    const double *last = u + (FRAMES - 1) * 3 * s.tet.n;
    for (int64_t k = 0; k < external.points; k++) {
        int64_t v = external.vertex[k];
        force +=
            external.stiffness * external.area[k] * fmax(0, low - 0.05 - s.tet.vertices[3 * v + 1] - last[3 * v + 1]);
    }
    assert_near(force / (9.81 * total), 1.0, 0.01);
    for (int c = 0; c < 3; c += 2) assert_near(centre(&s, mass, last, c), 0.0, 1e-3);
    free(u), free(mass);
    su_external_free(&external);
    scene_free(&s);
}

/* On a slope (gravity turned) with mu = 0.5: held at 20 degrees, sliding at 40 by g (sin - mu cos). */
static void friction_keeps_to_its_cone(void **unused)
{
    (void)unused;
    enum { FRAMES = 31 };
    for (int i = 0; i < 2; i++) {
        scene s;
        scene_create(&s, 4, 1, 2, 1, straight, FRAMES, 30, rig_still, 0, NULL);
        s.tet.fixed_count = 0;
        char text[200];
        double angle = (i ? 40 : 20) * M_PI / 180, low = lowest(&s), *mass = calloc((size_t)s.tet.n, sizeof *mass);
        total_mass(&s, mass);
        snprintf(text, sizeof text,
                 "{\"points\": 10000, \"colliders\": [{\"shape\": \"plane\", \"point\": [0, %.17g, 0], \"normal\": [0, "
                 "1, 0], "
                 "\"friction\": 0.5}]}",
                 low);
        su_external external;
        parse(&s, text, &external);
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = SU_GRAVITY_ABSOLUTE, settings.external = &external, settings.damping = 0.5;
        settings.gravity[0] = 9.81 * sin(angle), settings.gravity[1] = -9.81 * cos(angle);
        double *u = steady_full_run(&s, &settings);
        int64_t n3 = 3 * s.tet.n;
        double half = centre(&s, mass, u + (FRAMES - 1) / 2 * n3, 0), end = centre(&s, mass, u + (FRAMES - 1) * n3, 0);
        /* second difference over two halves of a second: a (1/2)^2 */
        double slide = end - 2 * half, expected = 9.81 * (sin(angle) - 0.5 * cos(angle)) / 4;
        if (i == 0)
            assert_true(fabs(end - half) < 0.5 * 0.006); /* creep below the speed that counts as sticking */
        else
            assert_near(slide / expected, 1.0, 0.1);
        free(u), free(mass);
        su_external_free(&external);
        scene_free(&s);
    }
}

static const char everything[] =
    "{\"points\": 10000, \"stiffness\": 1e5, \"wind\": {\"velocity\": [0, 0, 6], \"gust\": 0.5, \"rate\": 3, \"drag\": "
    "30},"
    " \"forces\": [{\"vertex\": 5, \"force\": [0, 0, 30], \"from\": 0.1, \"to\": 0.2}],"
    " \"colliders\": [{\"shape\": \"plane\", \"point\": [0, -0.12, 0], \"normal\": [0.1, 1, 0], \"friction\": 0.4},"
    " {\"shape\": \"sphere\", \"centre\": [0.9, 0.4, 0.3], \"radius\": 0.3, \"motion\": [[0, 0, 0, 0], [0.3, 0, -0.2, "
    "0]]},"
    " {\"shape\": \"capsule\", \"from\": [0.5, 0.3, -1], \"to\": [0.5, 0.3, 1], \"radius\": 0.1, \"friction\": 0}]}";

static void a_basis_that_spans_everything_feels_the_same_forces(void **unused)
{
    (void)unused;
    enum { FRAMES = 12 };
    scene s;
    scene_create(&s, 3, 1, 1, 3, poses3, FRAMES, 30, rig_swing, 0, NULL);
    su_external external;
    parse(&s, everything, &external);
    reduced_scene r;
    reduced_options options = {.regions = 1, .stride = 1};
    reduced_create(&r, &s, &options);
    su_runtime_model_free(&r.runtime);
    int32_t *carriers = calloc((size_t)(4 * external.points), sizeof *carriers);
    for (int64_t i = 0; i < 4 * external.points; i++)
        carriers[i] = s.tet.tets[4 * (int64_t)s.tet.embed_tet[external.vertex[i / 4]] + i % 4];
    assert_int_equal(su_runtime_model_create(&r.model, SU_COROTATED, 4 * external.points, carriers, &r.runtime, NULL),
                     SU_OK);
    double size[2] = {0}, apart[2] = {0};
    int64_t n3 = 3 * s.tet.n;
    double *without = NULL;
    for (int i = 0; i < 2; i++) {
        su_sim_settings settings = su_sim_defaults();
        su_step_settings exact = {.newton = 60, .tolerance = 1e-10};
        if (i == 1) settings.external = &external;
        assert_int_equal(reduced_run(&r, &settings, exact, 1, NULL), SU_OK);
        double *full = steady_full_run(&s, &settings), *u = calloc((size_t)(FRAMES * n3), sizeof *u);
        su_reconstruct *rec;
        assert_int_equal(su_reconstruct_create(&r.model, SU_COROTATED, 0, NULL, 1, &rec, NULL), SU_OK);
        assert_int_equal(su_reconstruct_shot(rec, s.shot, &r.sim, 0, FRAMES, &(su_shot_motion){.u = u}, NULL), SU_OK);
        su_reconstruct_free(rec);
        for (int64_t k = 0; k < FRAMES * n3; k++) {
            size[i] = fmax(size[i], fabs(full[k]));
            apart[i] = fmax(apart[i], fabs(full[k] - u[k]));
        }
        if (i == 0)
            without = full;
        else {
            double effect = 0;
            for (int64_t k = 0; k < FRAMES * n3; k++) effect = fmax(effect, fabs(full[k] - without[k]));
            assert_true(effect > 0.1 * size[1]); /* the forces matter */
            free(full);
        }
        assert_near(apart[i] / size[i], 0.0, 1e-5);
        free(u);
    }
    free(without), free(carriers);
    su_external_free(&external);
    reduced_free(&r);
    scene_free(&s);
}

/* force = -d energy / dy at fixed lagged contact, steady forces included; H is its derivative where the normal is
 * fixed. */
static void force_is_the_gradient_of_the_energy(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 2, 1, 1, 1, straight, 2, 30, rig_still, 0, NULL);
    su_external external;
    parse(&s, everything, &external);
    su_loads loads;
    assert_int_equal(su_loads_create(&external, s.tet.embed_tet, s.tet.embed_bary, s.tet.tets, &loads, NULL), SU_OK);
    loads.t = 0.15, loads.h = 0.01;
    for (int i = 0; i < 3; i++) loads.Q[4 * i] = 1;
    int touching = 0;
    for (int64_t k = 0; k < external.points; k++) {
        double y[3] = {0.3 + 0.05 * (double)k, -0.203, 0.1}, f[3], side[3], H[9];
        for (int c = 0; c < 3; c++) loads.now[3 * k + c] = y[c] - 0.01 * (c + 1);
        su_loads_prepare(&loads, k, y);
        su_loads_evaluate(&loads, k, y, f, H);
        touching += H[4] > 0;
        for (int c = 0; c < 3; c++) {
            double at = y[c], step = 1e-6;
            y[c] = at + step;
            double up = su_loads_evaluate(&loads, k, y, side, NULL);
            y[c] = at - step;
            double down = su_loads_evaluate(&loads, k, y, side, NULL);
            y[c] = at;
            assert_near(f[c], -(up - down) / (2 * step), 1e-3 + 1e-5 * fabs(f[c]));
        }
    }
    assert_true(touching > 0);
    su_loads_free(&loads);
    su_external_free(&external);
    scene_free(&s);
}

static void bad_files_are_refused(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "[]",
        "{\"winds\": {}}",
        "{\"wind\": {\"velocity\": [1, 2]}}",
        "{\"colliders\": {}}",
        "{\"colliders\": [{\"shape\": \"cube\"}]}",
        "{\"colliders\": [{\"shape\": \"mesh\"}]}",
        "{\"colliders\": [{\"shape\": \"mesh\", \"file\": \"a.obj\", \"rate\": 0}]}",
        "{\"colliders\": [{\"shape\": \"plane\", \"point\": [0,0,0], \"normal\": [0,0,0]}]}",
        "{\"colliders\": [{\"shape\": \"sphere\", \"centre\": [0,0,0]}]}",
        "{\"colliders\": [{\"shape\": \"sphere\", \"centre\": [0,0,0], \"radius\": 1, \"motion\": "
        "[[0,0,0,0],[0,0,0,0]]}]}",
        "{\"forces\": [{\"vertex\": 99, \"force\": [0,0,0]}]}",
        "{\"forces\": [{\"vertex\": -1}]}",
        "{\"points\": -3}",
        "{\"stiffness\": \"much\"}"};
    static const double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const int32_t triangle[] = {0, 1, 2};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        su_external external;
        su_error err = {0};
        json_t *root = json_loads(texts[i], 0, NULL);
        assert_non_null(root);
        if (su_external_parse(root, &(su_load_skin){3, x, 1, triangle}, &external, &err) != SU_INPUT)
            fail_msg("taken: %s", texts[i]);
        assert_true(strlen(err.text) > 10);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_at_rest_is_carried),
        cmocka_unit_test(friction_keeps_to_its_cone),
        cmocka_unit_test(a_basis_that_spans_everything_feels_the_same_forces),
        cmocka_unit_test(force_is_the_gradient_of_the_energy),
        cmocka_unit_test(bad_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
