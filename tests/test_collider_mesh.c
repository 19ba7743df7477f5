/* Mesh colliders: signed distance against shapes whose distance is known, and the motion they make against the same
 * body as a sphere. */
#include "physics/collider_mesh.h"
#include "physics/external_files.h"
#include "reduced_scene.h"
#include "runtime/subspace/reconstruct.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "near.h"

/* ---- bodies ---- */

typedef struct body {
    int64_t vertices, triangles;
    double x[3 * 4200];
    int32_t t[3 * 8200];
} body;

/* An octahedron whose faces are cut in four `cuts` times, on the unit sphere, its mean radius 1. */
static void make_ball(body *b, int cuts)
{
    static const double corners[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    static const int32_t faces[8][3] = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
                                        {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
    *b = (body){.vertices = 6, .triangles = 8};
    memcpy(b->x, corners, sizeof corners);
    memcpy(b->t, faces, sizeof faces);
    for (int pass = 0; pass < cuts; pass++) {
        int64_t old = b->triangles, first = b->vertices;
        for (int64_t k = 0; k < old; k++) {
            int32_t c[3], m[3];
            memcpy(c, b->t + 3 * k, sizeof c);
            for (int i = 0; i < 3; i++) {
                double mid[3], size = 0;
                for (int a = 0; a < 3; a++)
                    mid[a] = b->x[3 * c[i] + a] + b->x[3 * c[(i + 1) % 3] + a], size += mid[a] * mid[a];
                for (int a = 0; a < 3; a++) mid[a] /= sqrt(size);
                int64_t v = first;
                while (v < b->vertices && difference(3, mid, b->x + 3 * v) > 1e-9) v++;
                if (v == b->vertices) memcpy(b->x + 3 * b->vertices++, mid, sizeof mid);
                m[i] = (int32_t)v;
            }
            const int32_t four[4][3] = {{c[0], m[0], m[2]}, {m[0], c[1], m[1]}, {m[2], m[1], c[2]}, {m[0], m[1], m[2]}};
            memcpy(b->t + 3 * k, four[0], sizeof four[0]);
            memcpy(b->t + 3 * b->triangles, four[1], 3 * sizeof four[0]);
            b->triangles += 3;
        }
    }
}

/* A box of half extents 1, 1, 1 whose faces are two triangles each. */
static void make_box(body *b)
{
    static const int32_t quads[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                        {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
    *b = (body){.vertices = 8, .triangles = 12};
    for (int v = 0; v < 8; v++)
        for (int c = 0; c < 3; c++) b->x[3 * v + c] = v >> c & 1 ? 1 : -1;
    for (int f = 0; f < 6; f++)
        for (int i = 0; i < 2; i++) {
            const int32_t half[3] = {quads[f][0], quads[f][1 + i], quads[f][2 + i]};
            memcpy(b->t + 3 * (2 * f + i), half, sizeof half);
        }
}

typedef struct still {
    su_collider_mesh mesh;
    su_collider_state state;
    double times[2];
    su_arena arena;
} still;

static void hold(still *s, const body *b)
{
    *s = (still){.mesh = {.frames = 1,
                          .vertices = b->vertices,
                          .triangles = b->triangles,
                          .points = (double *)b->x,
                          .triangle = (int32_t *)b->t,
                          .thickness = INFINITY}};
    s->mesh.times = s->times;
    su_error err = {0};
    if (su_collider_mesh_finish(&s->mesh, &s->arena, &err) != SU_OK) fail_msg("%s", err.text);
    if (su_collider_state_create(&s->mesh, &s->state, &err) != SU_OK) fail_msg("%s", err.text);
}

static void let_go(still *s)
{
    su_collider_state_free(&s->state);
    su_arena_free(&s->arena);
}

static double depth_at(still *s, const double y[3], double normal[3])
{
    int32_t triangle;
    double bary[3];
    return su_collider_mesh_depth(&s->state, 0, y, 10, normal, &triangle, bary);
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.5;
}

/* ---- distance ---- */

/* Everywhere about a box, near its edges and corners too, where a face's normal alone would tell the wrong side. */
static void a_box_has_its_distance(void **unused)
{
    (void)unused;
    static body b;
    still s;
    uint64_t seed = 3;
    make_box(&b);
    hold(&s, &b);
    for (int k = 0; k < 4000; k++) {
        double y[3], n[3], out = 0, inside = INFINITY;
        for (int c = 0; c < 3; c++) y[c] = (k % 2 ? 4 : 2.2) * uniform(&seed), out += pow(fmax(fabs(y[c]) - 1, 0), 2);
        for (int c = 0; c < 3; c++) inside = fmin(inside, 1 - fabs(y[c]));
        double expected = inside > 0 ? inside : -sqrt(out), depth = depth_at(&s, y, n);
        assert_near(depth, expected, 1e-12);
        /* the normal is minus the gradient of the depth */
        for (int c = 0; c < 3 && inside < 0; c++) {
            double side[3], at = y[c];
            y[c] = at + 1e-6;
            double up = depth_at(&s, y, side);
            y[c] = at - 1e-6;
            assert_near((depth_at(&s, y, side) - up) / 2e-6, n[c], 1e-4);
            y[c] = at;
        }
    }
    let_go(&s);
}

static void a_ball_has_its_distance(void **unused)
{
    (void)unused;
    static body b;
    still s;
    uint64_t seed = 4;
    make_ball(&b, 4);
    assert_int_equal(b.vertices, 1026);
    hold(&s, &b);
    for (int k = 0; k < 2000; k++) {
        double y[3], n[3];
        for (int c = 0; c < 3; c++) y[c] = 3 * uniform(&seed);
        double r = sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2]);
        assert_near(depth_at(&s, y, n), 1 - r, 4e-3); /* the faces lie within 1 - cos of the sphere */
        for (int c = 0; c < 3 && r > 0.5; c++) assert_near(n[c], y[c] / r, 0.1);
    }
    let_go(&s);
}

/* A sheet holds what is under it, nothing beside it and nothing deeper than its thickness. */
static void a_sheet_is_solid_below_only(void **unused)
{
    (void)unused;
    static body b;
    still s;
    b = (body){.vertices = 4, .triangles = 2};
    for (int v = 0; v < 4; v++) b.x[3 * v] = v & 1 ? 1 : -1, b.x[3 * v + 2] = v & 2 ? -1 : 1;
    const int32_t t[6] = {0, 1, 3, 0, 3, 2};
    memcpy(b.t, t, sizeof t);
    hold(&s, &b);
    s.mesh.thickness = 0.5;
    double n[3];
    assert_near(depth_at(&s, (double[]){0.2, -0.3, 0.2}, n), 0.3, 1e-15);
    assert_near(n[1], 1, 1e-15);
    assert_near(depth_at(&s, (double[]){0.1, 0.3, -0.1}, n), -0.3, 1e-15);
    assert_near(n[1], 1, 1e-15);
    assert_near(depth_at(&s, (double[]){0.3, 0, 0.1}, n), 0, 1e-15);
    assert_near(n[1], 1, 1e-15);
    assert_true(depth_at(&s, (double[]){1.2, -0.1, 0.2}, n) < 0);
    assert_true(depth_at(&s, (double[]){0.2, -0.6, 0.2}, n) < 0);
    assert_true(depth_at(&s, (double[]){0.2, -20, 0.2}, n) == -INFINITY);
    let_go(&s);
}

static void bad_meshes_are_refused(void **unused)
{
    (void)unused;
    static body b;
    for (int i = 0; i < 5; i++) {
        make_box(&b);
        double times[2] = {0, 0};
        su_collider_mesh mesh = {.frames = 1,
                                 .vertices = 8,
                                 .triangles = 12,
                                 .times = times,
                                 .points = b.x,
                                 .triangle = b.t,
                                 .thickness = INFINITY};
        if (i == 0) b.t[4] = 8;
        if (i == 1) b.x[5] = NAN;
        if (i == 2) mesh.frames = 2;
        if (i == 3) b.t[0] = b.t[1], b.t[1] = 0; /* one triangle turned over */
        if (i == 4) mesh.triangles = 0;
        su_error err = {0};
        su_arena arena = {0};
        assert_int_equal(su_collider_mesh_finish(&mesh, &arena, &err), SU_INPUT);
        assert_true(strlen(err.text) > 10);
        su_arena_free(&arena);
    }
}

/* ---- motion ---- */

enum { FRAMES = 13 };
static const double poses3[] = {0.0, 0.8, -0.8};
static char folder[64];

static void rig_swing(double t, double *bend, double *root)
{
    *bend = 0.1 * sin(9.0 * t);
    root[3] = 0.1 * sin(7.0 * t);
}

/* The ball that the sphere below is: it comes from above, presses on the beam and slides along it. */
static void write_ball(const body *b)
{
    char path[200];
    for (int k = 0; k < FRAMES; k++) {
        snprintf(path, sizeof path, "%s/ball.%04d.obj", folder, k + 7);
        FILE *out = fopen(path, "w");
        double share = k / 12.0;
        for (int64_t v = 0; v < b->vertices; v++)
            fprintf(out, "v %.17g %.17g %.17g\n", 100 * (0.7 + 0.2 * share + 0.3 * b->x[3 * v]),
                    100 * (0.5 - 0.12 * share + 0.3 * b->x[3 * v + 1]), 100 * (0.05 + 0.3 * b->x[3 * v + 2]));
        for (int64_t t = 0; t < b->triangles; t++)
            fprintf(out, "f %d %d %d\n", b->t[3 * t] + 1, b->t[3 * t + 1] + 1, b->t[3 * t + 2] + 1);
        fclose(out);
    }
}

static void write_text(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    fputs(text, out);
    fclose(out);
}

static void load(const scene *s, const char *name, su_external *out)
{
    char path[200];
    su_error err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (su_forces_load(path, 0, NULL, &(su_load_skin){s->tet.n, s->tet.vertices, s->tet.b, s->tet.surface}, out,
                       &err) != SU_OK)
        fail_msg("%s", err.text);
}

#define HEAD "{\"points\": 10000, \"stiffness\": 1e6, \"colliders\": [{\"friction\": 0.8, "

/* One ball as a sphere with a motion and as an OBJ sequence in centimetres: the full simulation and the reduced one
 * agree between the two up to the ball's facets, and with each other (a basis that spans everything) as without a mesh.
 */
static void a_ball_pushes_as_a_sphere(void **unused)
{
    (void)unused;
    static body b;
    make_ball(&b, 5);
    snprintf(folder, sizeof folder, "/tmp/supple-collider-%ld", (long)getpid());
    mkdir(folder, 0777);
    write_ball(&b);
    write_text("sphere.json", HEAD "\"shape\": \"sphere\", \"centre\": [0.7, 0.5, 0.05], \"radius\": 0.3, "
                                   "\"motion\": [[0, 0, 0, 0], [0.4, 0.2, -0.12, 0]]}]}");
    write_text("mesh.json", HEAD "\"shape\": \"mesh\", \"file\": \"ball.%04d.obj\", \"rate\": 30, \"scale\": 0.01}]}");
    scene s;
    scene_create(&s, 4, 2, 1, 3, poses3, FRAMES, 30, rig_swing, 0, NULL);
    scene_save(&s, folder); /* makes the surface */
    int64_t count = 3 * s.tet.n * FRAMES;
    su_sim_settings settings = su_sim_defaults();
    double *none = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL), *full[2];
    static const char *const names[] = {"sphere.json", "mesh.json"};
    for (int i = 0; i < 2; i++) {
        su_external external;
        load(&s, names[i], &external);
        settings.external = &external;
        int status[FRAMES];
        full[i] = scene_full_run(&s, &settings, 1e-10, NULL, status, NULL);
        for (int k = 0; k < FRAMES; k++) assert_true(status[k] <= SU_STATUS_HALVED);
        reduced_scene r;
        reduced_options options = {.regions = 1, .stride = 1};
        reduced_create(&r, &s, &options);
        su_runtime_model_free(&r.runtime);
        int32_t *carriers = calloc((size_t)(4 * external.points), sizeof *carriers);
        for (int64_t k = 0; k < 4 * external.points; k++)
            carriers[k] = s.tet.tets[4 * (int64_t)s.tet.embed_tet[external.vertex[k / 4]] + k % 4];
        assert_int_equal(
            su_runtime_model_create(&r.model, SU_COROTATED, 4 * external.points, carriers, &r.runtime, NULL), SU_OK);
        su_step_settings exact = {.newton = 60, .tolerance = 1e-10};
        assert_int_equal(reduced_run(&r, &settings, exact, 1, NULL), SU_OK);
        double *u = calloc((size_t)count, sizeof *u);
        su_reconstruct *rec;
        assert_int_equal(su_reconstruct_create(&r.model, SU_COROTATED, 0, NULL, 1, &rec, NULL), SU_OK);
        assert_int_equal(su_reconstruct_shot(rec, s.shot, &r.sim, 0, FRAMES, &(su_shot_motion){.u = u}, NULL), SU_OK);
        su_reconstruct_free(rec);
        assert_near(difference(count, u, full[i]) / largest(count, full[i]), 0.0, 1e-4);
        free(u), free(carriers);
        reduced_free(&r);
        settings.external = NULL;
        su_external_free(&external);
    }
    double effect = difference(count, none, full[0]);
    assert_true(effect > 0.3 * largest(count, full[0]));
    assert_near(difference(count, full[0], full[1]) / effect, 0.0, 0.015);
    free(none), free(full[0]), free(full[1]);
    scene_free(&s);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_has_its_distance),      cmocka_unit_test(a_ball_has_its_distance),
        cmocka_unit_test(a_sheet_is_solid_below_only), cmocka_unit_test(bad_meshes_are_refused),
        cmocka_unit_test(a_ball_pushes_as_a_sphere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
