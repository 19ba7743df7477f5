/* supple_runtime.h driven as a game would: the same motion as the offline simulator, any pose, any order of calls. */
#include "io/stage/model.h"
#include "reduced_scene.h"
#include "physics/external.h"
#include "runtime/subspace/reconstruct.h"
#include "runtime/supple_runtime.h"

#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 12, SUBSTEPS = 3 };

static const double poses3[] = {0.0, 0.8, -0.8};

typedef struct fixture {
    scene s;
    reduced_scene r;
    char path[64];
} fixture;

static void fixture_create(fixture *f)
{
    scene_create(&f->s, 4, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
    reduced_options options = {.r = 13, .regions = 2, .stride = 2};
    reduced_create(&f->r, &f->s, &options);
    json_object_set_new(f->r.model.file.meta, "frequency", json_real(4.0));
    snprintf(f->path, sizeof f->path, "/tmp/supple-test-%ld.model.npz", (long)getpid());
    int32_t none[3] = {0};
    f->r.model.surface = none;
    su_error err = {0};
    if (su_model_save(f->path, &f->r.model, &err) != SU_OK) fail_msg("%s", err.text);
}

static void fixture_free(fixture *f)
{
    unlink(f->path);
    reduced_free(&f->r);
    scene_free(&f->s);
}

/* The same file with the surface of the whole flesh, which contact points share. */
static void fixture_surface(fixture *f)
{
    char folder[80], command[100];
    su_error err = {0};
    snprintf(folder, sizeof folder, "/tmp/supple-test-api-%ld", (long)getpid());
    mkdir(folder, 0777);
    scene_save(&f->s, folder); /* makes the surface */
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    f->r.model.surface = f->s.tet.surface, f->r.model.b = f->s.tet.b;
    if (su_model_save(f->path, &f->r.model, &err) != SU_OK) fail_msg("%s", err.text);
}

/* points (needed,3), p (1) and root (16) at an instant. */
static void sample(supple_runtime *flesh, const fixture *f, int64_t frame, double fraction, double *points, double *p,
                   double *root)
{
    const int32_t *needed;
    int64_t count = supple_needed(flesh, &needed);
    double Q[9], c[3];
    su_shot_sample(f->s.shot, frame, fraction, p, Q, c);
    su_shot_sample_skin(f->s.shot, frame, fraction, count, needed, 1, points);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) root[4 * i + j] = Q[3 * i + j];
        root[4 * i + 3] = c[i], root[12 + i] = 0;
    }
    root[15] = 1;
}

/* moving: what the flesh, which starts at the pose set before, has the rig's velocity towards. */
static void give_pose(supple_runtime *flesh, const fixture *f, int64_t frame, double fraction, bool moving)
{
    const int32_t *needed;
    double *points = calloc((size_t)(3 * supple_needed(flesh, &needed)), sizeof *points), p[1], root[16];
    sample(flesh, f, frame, fraction, points, p, root);
    if (moving)
        supple_start_moving(flesh, p, points, root, fraction / 30);
    else
        supple_set_pose(flesh, p, points, root);
    free(points);
}

static void set_pose(supple_runtime *flesh, const fixture *f, int64_t frame, double fraction)
{
    give_pose(flesh, f, frame, fraction, false);
}

static void the_live_flesh_moves_as_the_baked_one(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    su_sim_settings settings = su_sim_defaults();
    settings.start = SU_START_STILL;
    su_step_settings usual = {.tolerance = SU_STEP_TOLERANCE}; /* what supple_open takes */
    assert_int_equal(reduced_run(&f.r, &settings, usual, 1, NULL), SU_OK);
    su_reconstruct *rec;
    int64_t n3 = 3 * f.s.tet.n;
    double *baked = calloc((size_t)(FRAMES * n3), sizeof *baked), *points = calloc((size_t)n3, sizeof *points);
    assert_int_equal(su_reconstruct_create(&f.r.model, SU_COROTATED, 0, NULL, 1, &rec, NULL), SU_OK);
    assert_int_equal(su_reconstruct_shot(rec, f.s.shot, &f.r.sim, 0, FRAMES, &(su_shot_motion){.points = baked}, NULL),
                     SU_OK);
    char message[200];
    supple_runtime *flesh = supple_open(f.path, NULL, message, sizeof message);
    if (!flesh) fail_msg("%s", message);
    assert_int_equal(supple_parameters(flesh), 1);
    assert_int_equal(supple_skin_vertices(flesh), f.s.tet.n);
    set_pose(flesh, &f, 0, 0);
    for (int64_t k = 1; k < FRAMES; k++) {
        for (int j = 1; j <= SUBSTEPS; j++) {
            set_pose(flesh, &f, k - 1, (double)j / SUBSTEPS);
            assert_int_equal(supple_step(flesh, 1.0 / (30 * SUBSTEPS)), 0);
        }
        supple_positions(flesh, points);
        /* Skin displacements of up to 1 m are rounded to float on both roads, at different sums. */
        for (int64_t i = 0; i < n3; i++) assert_near(points[i], baked[k * n3 + i], 1e-8);
    }
    su_reconstruct_free(rec);
    supple_close(flesh);
    free(baked), free(points);
    fixture_free(&f);
}

/* A start with the rig's velocity, and flesh that another stiffness, damping and gravity are given before: as a bake
 * with these settings. */
static void a_moving_start_and_other_settings_are_a_bakes(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    su_sim_settings settings = su_sim_defaults();
    settings.start = SU_START_MOVING, settings.stiffness = 0.7, settings.damping = 0.25;
    settings.gravity[1] = -5, settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
    su_sim_settings usual = su_sim_defaults();
    su_step_settings step = {.tolerance = SU_STEP_TOLERANCE};
    int64_t n3 = 3 * f.s.tet.n;
    double *baked[2], *points = calloc((size_t)n3, sizeof *points);
    for (int k = 0; k < 2; k++) {
        su_reconstruct *rec;
        baked[k] = calloc((size_t)(FRAMES * n3), sizeof *baked[k]);
        assert_int_equal(reduced_run(&f.r, k ? &usual : &settings, step, 1, NULL), SU_OK);
        assert_int_equal(su_reconstruct_create(&f.r.model, SU_COROTATED, 0, NULL, 1, &rec, NULL), SU_OK);
        assert_int_equal(
            su_reconstruct_shot(rec, f.s.shot, &f.r.sim, 0, FRAMES, &(su_shot_motion){.points = baked[k]}, NULL),
            SU_OK);
        su_reconstruct_free(rec);
    }
    assert_true(difference(FRAMES * n3, baked[0], baked[1]) > 1e-5); /* the settings matter */
    char message[200];
    supple_runtime *flesh = supple_open(f.path, NULL, message, sizeof message);
    if (!flesh) fail_msg("%s", message);
    supple_set_flesh(flesh, 0.7, 0.25);
    supple_set_gravity(flesh, (double[]){0, -5, 0}, SUPPLE_GRAVITY_ABSOLUTE);
    set_pose(flesh, &f, 0, 0);
    give_pose(flesh, &f, 0, 1.0 / SUBSTEPS, true);
    for (int64_t k = 1; k < FRAMES; k++) {
        for (int j = 1; j <= SUBSTEPS; j++) {
            set_pose(flesh, &f, k - 1, (double)j / SUBSTEPS);
            assert_int_equal(supple_step(flesh, 1.0 / (30 * SUBSTEPS)), 0);
        }
        supple_positions(flesh, points);
        for (int64_t i = 0; i < n3; i++) assert_near(points[i], baked[0][k * n3 + i], 1e-7);
    }
    supple_close(flesh);
    free(baked[0]), free(baked[1]), free(points);
    fixture_free(&f);
}

static void chosen_vertices_need_fewer_points(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    const int32_t chosen[] = {17, 13}, *needed;
    supple_options options = {.vertices = chosen, .vertex_count = 2};
    supple_runtime *all = supple_open(f.path, NULL, NULL, 0), *some = supple_open(f.path, &options, NULL, 0);
    assert_non_null(all);
    assert_non_null(some);
    assert_true(supple_needed(some, &needed) <= supple_needed(all, &needed));
    double *a = calloc((size_t)(3 * f.s.tet.n), sizeof *a), b[6];
    for (int64_t k = 0; k < 5; k++) {
        set_pose(all, &f, k, 0), set_pose(some, &f, k, 0);
        supple_step(all, 1.0 / 30), supple_step(some, 1.0 / 30);
    }
    supple_positions(all, a);
    supple_positions(some, b);
    for (int k = 0; k < 2; k++)
        for (int c = 0; c < 3; c++) assert_near(b[3 * k + c], a[3 * chosen[k] + c], 1e-12);
    supple_close(all), supple_close(some);
    free(a);
    fixture_free(&f);
}

/* Poses far outside, steps far too long, rigs that jump and turn over: numbers stay finite and settle again. */
static void violence_leaves_finite_numbers(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    const int32_t *needed;
    supple_runtime *flesh = supple_open(f.path, NULL, NULL, 0);
    int64_t count = supple_needed(flesh, &needed);
    double *points = calloc((size_t)(3 * count), sizeof *points), *out = calloc((size_t)(3 * f.s.tet.n), sizeof *out),
           p[1];
    uint64_t state = 5;
    int troubled = 0;
    for (int k = 0; k < 10000; k++) {
        double random[8], root[16] = {0};
        for (int i = 0; i < 8; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            random[i] = (double)(state >> 11) / 9007199254740992.0 - 0.5;
        }
        double angle = 6 * random[0], violent = k % 100 < 50;
        p[0] = violent ? 20 * random[1] : 0;
        for (int i = 0; i < 3; i++) root[5 * i] = 1;
        root[15] = 1;
        if (violent) {
            root[0] = root[5] = cos(angle), root[1] = -sin(angle), root[4] = sin(angle);
            for (int i = 0; i < 3; i++) root[4 * i + 3] = 100 * random[2 + i];
        }
        for (int64_t v = 0; v < count; v++)
            for (int c = 0; c < 3; c++)
                points[3 * v + c] = f.s.tet.vertices[3 * needed[v] + c] * (violent ? 1 + 3 * random[5 + c] : 1);
        supple_set_pose(flesh, p, points, root);
        troubled += supple_step(flesh, violent ? 0.3 + 0.2 * random[1] : 1.0 / 60) != 0;
        supple_positions(flesh, out);
        for (int64_t i = 0; i < 3 * f.s.tet.n; i++) {
            if (!(fabs(out[i]) < 1e3)) fail_msg("step %d: coordinate %lld is %g", k, (long long)i, out[i]);
        }
    }
    assert_true(troubled > 0);
    supple_close(flesh);
    free(points), free(out);
    fixture_free(&f);
}

/* The same forces as a file gives them: a sphere that moves along a line with the steps, wind, and a force for a while.
 * Areas are taken from the flesh's surface, which is the skin here. */
static void forces_act_as_in_a_bake(void **unused)
{
    (void)unused;
    enum { POINTS = 12 };
    static const char text[] =
        "{\"points\": [16, 17, 18, 19, 12, 13, 14, 15, 8, 9, 10, 11], \"stiffness\": 1e5, "
        "\"wind\": {\"velocity\": [0, 0, 6], \"drag\": 20}, "
        "\"forces\": [{\"vertex\": 19, \"force\": [0, 0, 9]}], \"colliders\": [{\"shape\": \"sphere\", "
        "\"centre\": [0.6, 0.5, 0.1], \"radius\": 0.35, \"friction\": 0.6, \"motion\": [[0, 0, 0, 0], [1, 0.3, -1, "
        "0]]}]}";
    fixture f;
    fixture_create(&f);
    su_error err = {0};
    su_external external;
    json_t *root = json_loads(text, 0, NULL);
    fixture_surface(&f); /* of the whole body for both */
    if (su_external_parse(root, &(su_load_skin){f.s.tet.n, f.s.tet.vertices, f.s.tet.b, f.s.tet.surface}, &external,
                          &err) != SU_OK)
        fail_msg("%s", err.text);
    json_decref(root);
    supple_options options = {
        .contacts = external.vertex, .contact_count = POINTS, .collider_count = 1, .contact_stiffness = 1e5};
    char message[200];
    supple_runtime *flesh = supple_open(f.path, &options, message, sizeof message);
    if (!flesh) fail_msg("%s", message);
    const int32_t *contacts;
    assert_int_equal(supple_contacts(flesh, &contacts), POINTS);
    assert_memory_equal(contacts, external.vertex, POINTS * sizeof *contacts);
    /* these twelve share the whole surface at run time: the file's points shall too */
    supple_contact_areas(flesh, external.area);
    su_sim_settings settings = su_sim_defaults();
    settings.start = SU_START_STILL, settings.external = &external;
    su_runtime_model_free(&f.r.runtime);
    int32_t carriers[4 * POINTS];
    for (int k = 0; k < 4 * POINTS; k++)
        carriers[k] = f.s.tet.tets[4 * (int64_t)f.s.tet.embed_tet[external.vertex[k / 4]] + k % 4];
    assert_int_equal(su_runtime_model_create(&f.r.model, SU_COROTATED, 4 * POINTS, carriers, &f.r.runtime, NULL),
                     SU_OK);
    su_step_settings usual = {.tolerance = SU_STEP_TOLERANCE};
    double q[13 * FRAMES];
    settings.external = NULL;
    assert_int_equal(reduced_run(&f.r, &settings, usual, 1, NULL), SU_OK);
    memcpy(q, f.r.sim.q, sizeof q);
    settings.external = &external;
    assert_int_equal(reduced_run(&f.r, &settings, usual, 1, NULL), SU_OK);
    assert_true(difference(13 * FRAMES, q, f.r.sim.q) > 0.2 * largest(13 * FRAMES, q)); /* the forces matter */
    su_reconstruct *rec;
    int64_t n3 = 3 * f.s.tet.n;
    double *baked = calloc((size_t)(FRAMES * n3), sizeof *baked), *points = calloc((size_t)n3, sizeof *points);
    assert_int_equal(su_reconstruct_create(&f.r.model, SU_COROTATED, 0, NULL, 1, &rec, NULL), SU_OK);
    assert_int_equal(su_reconstruct_shot(rec, f.s.shot, &f.r.sim, 0, FRAMES, &(su_shot_motion){.points = baked}, NULL),
                     SU_OK);
    supple_collider ball = {.shape = SUPPLE_SPHERE, .a = {0.6, 0.5, 0.1}, .radius = 0.35, .friction = 0.6},
                    wrong = {.shape = 7};
    assert_int_equal(supple_set_colliders(flesh, 1, &wrong), 1);
    assert_int_equal(supple_set_colliders(flesh, 2, &ball), 1);
    assert_int_equal(supple_set_colliders(flesh, 1, &ball), 0);
    supple_set_wind(flesh, (double[]){0, 0, 6}, 20);
    supple_set_force(flesh, 1, (double[]){5, 5, 5});
    supple_set_force(flesh, 3, (double[]){0, 0, 9});
    supple_set_force(flesh, 1, (double[]){0, 0, 0});
    set_pose(flesh, &f, 0, 0);
    for (int64_t k = 1; k < FRAMES; k++) {
        for (int j = 1; j <= SUBSTEPS; j++) {
            double t = ((double)(k - 1) + (double)j / SUBSTEPS) / 30;
            ball.a[0] = 0.6 + 0.3 * t, ball.a[1] = 0.5 - t;
            supple_set_colliders(flesh, 1, &ball);
            set_pose(flesh, &f, k - 1, (double)j / SUBSTEPS);
            assert_int_equal(supple_step(flesh, 1.0 / (30 * SUBSTEPS)), 0);
        }
        supple_positions(flesh, points);
        /* the first step of friction differs: a body that was not there before has not moved */
        for (int64_t i = 0; i < n3; i++) assert_near(points[i], baked[k * n3 + i], 1e-6);
    }
    su_reconstruct_free(rec);
    supple_close(flesh);
    free(baked), free(points);
    su_external_free(&external);
    fixture_free(&f);
}

/* The shot from its frame `first` on, with a ball that rubs along the flesh, wind and a force: positions after each
 * step into out, `steps` times n3. */
enum { RESTART_FIRST = 3, RESTART_STEPS = 4 * SUBSTEPS };
static void play_from_the_middle(supple_runtime *flesh, const fixture *f, double *out)
{
    int64_t n3 = 3 * f->s.tet.n;
    supple_collider ball = {.shape = SUPPLE_SPHERE, .a = {0.6, 0.5, 0.1}, .radius = 0.35, .friction = 0.6};
    supple_set_wind(flesh, (double[]){0, 0, 6}, 20);
    supple_set_force(flesh, 3, (double[]){0, 0, 9});
    set_pose(flesh, f, RESTART_FIRST, 0);
    for (int step = 0; step < RESTART_STEPS; step++) {
        ball.a[0] += 0.003, ball.a[1] -= 0.01;
        assert_int_equal(supple_set_colliders(flesh, 1, &ball), 0);
        set_pose(flesh, f, RESTART_FIRST + step / SUBSTEPS, (double)(step % SUBSTEPS + 1) / SUBSTEPS);
        assert_int_equal(supple_step(flesh, 1.0 / (30 * SUBSTEPS)), 0);
        supple_positions(flesh, out + step * n3);
    }
}

/* After a cut nothing is left of what was played before: not the flesh's motion, nor the colliders' way.
 */
static void a_restarted_flesh_moves_as_a_fresh_one(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    fixture_surface(&f);
    int32_t contacts[12];
    for (int k = 0; k < 12; k++) contacts[k] = 8 + k;
    supple_options options = {.contacts = contacts, .contact_count = 12, .collider_count = 1, .contact_stiffness = 1e5};
    supple_runtime *fresh = supple_open(f.path, &options, NULL, 0), *used = supple_open(f.path, &options, NULL, 0),
                   *going_on = supple_open(f.path, &options, NULL, 0);
    assert_non_null(fresh);
    assert_non_null(used);
    assert_non_null(going_on);
    int64_t count = RESTART_STEPS * 3 * f.s.tet.n;
    double *expected = calloc((size_t)count, sizeof *expected), *out = calloc((size_t)count, sizeof *out);
    play_from_the_middle(fresh, &f, expected);
    supple_runtime *both[] = {used, going_on};
    supple_collider floor = {.shape = SUPPLE_PLANE, .a = {0, -0.1, 0}, .b = {0, 1, 0}, .friction = 0.3};
    for (int which = 0; which < 2; which++)
        for (int k = 0; k < FRAMES; k++) { /* the whole shot in long steps, against something else */
            floor.a[1] = -0.1 + 0.003 * k;
            assert_int_equal(supple_set_colliders(both[which], 1, &floor), 0);
            set_pose(both[which], &f, k, 0);
            supple_step(both[which], 0.031);
        }
    supple_restart(used);
    play_from_the_middle(used, &f, out);
    assert_memory_equal(out, expected, (size_t)count * sizeof *out);
    /* without it the motion goes on, which is another */
    play_from_the_middle(going_on, &f, out);
    assert_true(difference(count, out, expected) > 1e-3);
    supple_close(fresh), supple_close(used), supple_close(going_on);
    free(expected), free(out);
    fixture_free(&f);
}

/* Steps of the shot, poses foreseen up to `ahead` at a time; some are given up for others, as hosts do that pause. */
static void play_foreseen(supple_runtime *flesh, const fixture *f, int64_t ahead, double *out)
{
    const int32_t *needed;
    int64_t count = 3 * supple_needed(flesh, &needed), steps = (FRAMES - 1) * SUBSTEPS, width = 3 * f->s.tet.n;
    double *points = calloc((size_t)(SUPPLE_AHEAD * count), sizeof *points), p[SUPPLE_AHEAD], roots[16 * SUPPLE_AHEAD];
    assert_int_equal(supple_foresee(flesh, 1, p, points, roots), 1); /* before it has started */
    set_pose(flesh, f, 0, 0);
    assert_int_equal(supple_next_pose(flesh), 1);
    for (int64_t k = 0; k < steps;) {
        int64_t some = k + ahead < steps ? ahead : steps - k;
        for (int64_t i = 0; i < some; i++)
            sample(flesh, f, (k + i) / SUBSTEPS, (double)((k + i) % SUBSTEPS + 1) / SUBSTEPS, points + i * count, p + i,
                   roots + 16 * i);
        if (ahead > 0) assert_int_equal(supple_foresee(flesh, some, p, points, roots), 0);
        for (int64_t i = 0; i < (ahead > 0 ? some : 1); i++, k++) {
            bool paused = k % 13 == 12; /* a step at the pose at hand, and what is ahead is forgotten */
            if (ahead == 0)
                set_pose(flesh, f, k / SUBSTEPS, (double)(k % SUBSTEPS + 1) / SUBSTEPS);
            else
                assert_int_equal(supple_next_pose(flesh), 0);
            assert_int_equal(supple_step(flesh, 1.0 / (30 * SUBSTEPS)), 0);
            if (paused) {
                set_pose(flesh, f, k / SUBSTEPS, (double)(k % SUBSTEPS + 1) / SUBSTEPS);
                assert_int_equal(supple_next_pose(flesh), 1);
                assert_int_equal(supple_step(flesh, 1.0 / (30 * SUBSTEPS)), 0);
            }
            supple_positions(flesh, out + k * width);
            if (paused && ahead > 0) {
                k++;
                break;
            }
        }
    }
    free(points);
}

static void foreseen_poses_are_those_that_are_set(void **unused)
{
    (void)unused;
    fixture f;
    fixture_create(&f);
    size_t bytes = (size_t)((FRAMES - 1) * SUBSTEPS * 3 * f.s.tet.n) * sizeof(double);
    double *set = malloc(bytes), *foreseen = malloc(bytes);
    char message[200];
    for (int64_t ahead = 0; ahead <= SUPPLE_AHEAD; ahead += 4) {
        supple_runtime *flesh = supple_open(f.path, NULL, message, sizeof message);
        if (!flesh) fail_msg("%s", message);
        play_foreseen(flesh, &f, ahead, ahead ? foreseen : set);
        if (ahead) assert_memory_equal(foreseen, set, bytes);
        supple_close(flesh);
    }
    free(set), free(foreseen);
    fixture_free(&f);
}

static void bad_files_are_refused_with_a_sentence(void **unused)
{
    (void)unused;
    char message[300] = "";
    assert_null(supple_open("/nonexistent.model.npz", NULL, message, sizeof message));
    assert_non_null(strstr(message, "nonexistent"));
    fixture f;
    fixture_create(&f);
    const int32_t wrong[] = {100000};
    supple_options options = {.vertices = wrong, .vertex_count = 1};
    assert_null(supple_open(f.path, &options, message, sizeof message));
    assert_non_null(strstr(message, "100000"));
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_live_flesh_moves_as_the_baked_one),
        cmocka_unit_test(a_moving_start_and_other_settings_are_a_bakes),
        cmocka_unit_test(chosen_vertices_need_fewer_points),
        cmocka_unit_test(violence_leaves_finite_numbers),
        cmocka_unit_test(forces_act_as_in_a_bake),
        cmocka_unit_test(a_restarted_flesh_moves_as_a_fresh_one),
        cmocka_unit_test(foreseen_poses_are_those_that_are_set),
        cmocka_unit_test(bad_files_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
