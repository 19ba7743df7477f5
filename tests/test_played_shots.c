/* Shots played coarsely in the full space: what is known of their shapes, which frames they are, and what they depend
 * on. */
#include "reduce/modes/played_shots.h"

#include "fem/elastic.h"
#include "linalg/cholesky.h"
#include "scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

static const double two_poses[] = {0.0, 1.0};
static const char *const names[] = {"one", "two"};

#define ACCELERATION 0.05

static void rig_drift(double t, double *bend, double *root)
{
    *bend = 0.0;
    root[3] = 3.0 * t, root[7] = -2.0 * t;
}

static void rig_accelerate(double t, double *bend, double *root)
{
    *bend = 0.0;
    root[7] = 0.5 * ACCELERATION * t * t;
}

static void describe(scene *s)
{
    s->fit.file.meta = json_pack("{s:s, s:f}", "material", "neohookean", "frequency", 4.0);
    s->anim.file.meta = json_pack("{s:f}", "fps", 30.0);
}

static su_training_plan plan_of_one_basis(void)
{
    return su_training_plan_make(&(su_training_case){.one_basis = true, .modes = 20, .region_modes = 20});
}

static void play_by(scene *s, const su_play *how, su_played_shots *out)
{
    su_error err = {0};
    su_play play = *how;
    play.tet = &s->tet, play.fit = &s->fit, play.paths = names;
    if (su_shots_play(&play, out, &err) != SU_OK) fail_msg("%s", err.text);
}

/* In one piece. */
static void play_whole(scene *s, su_played_shots *out)
{
    su_training_plan plan = plan_of_one_basis();
    plan.longest_stretch = s->anim.F;
    play_by(s, &(su_play){.plan = &plan, .count = 1, .anims = &s->anim, .threads = 1}, out);
}

/* The full simulation as shots are played: one solve a step; iterative, or with a factor of its own. */
static su_fullsim *coarse_simulation(scene *s, bool iterative)
{
    su_sim_settings settings = su_sim_defaults();
    su_fullsim_options options = {.tolerance = 1e-8, .newton = 1, .threads = 1, .iterative = iterative};
    su_fullsim *sim;
    settings.substeps = (int)plan_of_one_basis().played_substeps;
    assert_int_equal(su_sim_settings_resolve(&settings, 4.0, s->anim.F, s->anim.times, 30, NULL), SU_OK);
    assert_int_equal(su_fullsim_create(&s->tet, &s->fit, s->shot, &settings, &options, &sim, NULL), SU_OK);
    su_sim_settings_free(&settings);
    return sim;
}

/* Length of u at vertex v. */
static double length_at(const double *u, int64_t v)
{
    return sqrt(u[3 * v] * u[3 * v] + u[3 * v + 1] * u[3 * v + 1] + u[3 * v + 2] * u[3 * v + 2]);
}

static void finish(scene *s)
{
    json_decref(s->fit.file.meta), json_decref(s->anim.file.meta);
    scene_free(s);
}

static void constant_velocity_moves_nothing(void **unused)
{
    (void)unused;
    scene s;
    su_played_shots played;
    scene_create(&s, 4, 1, 1, 2, two_poses, 20, 30, rig_drift, 0, NULL);
    describe(&s);
    play_whole(&s, &played);
    assert_int_equal(played.count, 19);
    assert_true(largest(3 * s.tet.n * played.count, played.shapes) < 1e-8);
    su_played_shots_free(&played);
    finish(&s);
}

/* K u = -M a at the neutral shape. */
static double *static_answer(const scene *s)
{
    su_elastic body;
    su_sparse K;
    su_cholesky *factor;
    assert_int_equal(su_elastic_of_fit(&body, &s->tet, &s->fit, SU_NEOHOOKEAN, NULL), SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&body.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&body, s->tet.vertices, false, &K, 1);
    assert_int_equal(su_cholesky_create(&body.pattern, 1, &factor, NULL), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &K, NULL), SU_OK);
    double *u = calloc((size_t)(3 * s->tet.n), sizeof *u), *x = calloc((size_t)(3 * body.free_count), sizeof *x);
    for (int64_t f = 0; f < body.free_count; f++) x[3 * f + 1] = -body.mass[body.free_vertex[f]] * ACCELERATION;
    assert_int_equal(su_cholesky_solve(factor, 1, x, x, NULL), SU_OK);
    for (int64_t f = 0; f < body.free_count; f++)
        memcpy(u + 3 * (int64_t)body.free_vertex[f], x + 3 * f, 3 * sizeof *x);
    free(x);
    su_cholesky_free(factor);
    su_sparse_free(&K);
    su_elastic_free(&body);
    return u;
}

static void a_steady_push_ends_in_the_static_answer(void **unused)
{
    (void)unused;
    enum { LONG = 120 };
    scene s;
    su_played_shots played;
    scene_create(&s, 6, 1, 1, 2, two_poses, LONG, 30, rig_accelerate, 0, NULL);
    describe(&s);
    play_whole(&s, &played);
    double *u = static_answer(&s);
    int64_t size = 3 * s.tet.n;
    assert_int_equal(played.count, LONG - 1);
    assert_true(largest(size, u) > 1e-5);
    /* not the last frames: natural splines lay no acceleration there */
    assert_near(difference(size, u, played.shapes + (LONG - 12) * size) / largest(size, u), 0.0, 0.01);
    /* on the way there it swung beyond */
    assert_true(largest(size * 20, played.shapes) > 1.1 * largest(size, u));
    free(u);
    su_played_shots_free(&played);
    finish(&s);
}

/* However few stretches a motion is cut into, one is solved exactly, for models to be judged by. */
static void one_stretch_is_exact(void **unused)
{
    (void)unused;
    for (int stretches = 1; stretches <= 3; stretches++) {
        scene s;
        su_played_shots played;
        const su_training_plan plan = plan_of_one_basis();
        int64_t exact = 0;
        scene_create(&s, 4, 1, 1, 2, two_poses, (int)(1 + stretches * plan.longest_stretch), 30, scene_swing, 0, NULL);
        describe(&s);
        play_by(&s, &(su_play){.plan = &plan, .count = 1, .motions = 1, .anims = &s.anim, .threads = 1}, &played);
        assert_int_equal(played.count, stretches * plan.longest_stretch);
        for (int64_t k = 0; k < played.count; k++) exact += played.start[k] >= 0;
        assert_int_equal(exact, plan.longest_stretch);
        su_played_shots_free(&played);
        finish(&s);
    }
}

/* Turning back changes no length, and frames are those that they say. */
static void play_and_compare(bool turned)
{
    scene s;
    su_played_shots played;
    scene_create(&s, 6, 1, 1, 2, two_poses, 30, 30, scene_swing, 0, NULL);
    if (turned) scene_turn_rest(&s, 0.3);
    describe(&s);
    play_whole(&s, &played);
    assert_int_equal(played.count, 29);
    su_fullsim *sim = coarse_simulation(&s, true), *direct = coarse_simulation(&s, false);
    assert_int_equal(su_fullsim_restart(sim, 0, NULL), SU_OK);
    assert_int_equal(su_fullsim_restart(direct, 0, NULL), SU_OK);
    double turn = 0, away = 0, size = 0;
    for (int64_t k = 0; k < played.count; k++) {
        su_fullsim_frame frame;
        assert_int_equal(su_fullsim_advance(sim, NULL), SU_OK);
        assert_int_equal(su_fullsim_advance(direct, NULL), SU_OK);
        su_fullsim_state(direct, &frame);
        const double *exact = frame.u;
        su_fullsim_state(sim, &frame);
        away = fmax(away, difference(3 * s.tet.n, frame.u, exact)), size = fmax(size, largest(3 * s.tet.n, exact));
        assert_int_equal(played.frame[k], k + 1);
        const double *shape = played.shapes + 3 * s.tet.n * k;
        for (int64_t v = 0; v < s.tet.n; v++) assert_near(length_at(frame.u, v), length_at(shape, v), 1e-9);
        turn = fmax(turn, difference(3 * s.tet.n, frame.u, shape));
    }
    assert_true(turn > 1e-3);
    assert_true(away < 0.02 * size); /* linear systems are solved to a hundredth */
    su_fullsim_free(sim), su_fullsim_free(direct);
    su_played_shots_free(&played);
    finish(&s);
}

static void shapes_are_the_full_simulation_turned_back(void **unused)
{
    (void)unused;
    play_and_compare(false);
    play_and_compare(true);
}

/* All frames, in pieces that begin a little earlier. */
static void long_shots_are_played_in_pieces(void **unused)
{
    (void)unused;
    su_training_plan plan = plan_of_one_basis();
    plan.longest_stretch = 10, plan.run_in_frames = 5;
    scene s;
    su_played_shots played, again;
    scene_create(&s, 4, 1, 1, 2, two_poses, 32, 30, scene_swing, 0, NULL);
    describe(&s);
    su_anim both[] = {s.anim, s.anim};
    play_by(&s, &(su_play){.plan = &plan, .count = 2, .anims = both, .threads = 1}, &played);
    play_by(&s, &(su_play){.plan = &plan, .count = 2, .anims = both, .threads = 3}, &again);
    assert_int_equal(played.count, 2 * 31);
    assert_int_equal(again.count, played.count);
    assert_memory_equal(played.shapes, again.shapes, (size_t)(3 * s.tet.n * played.count) * sizeof *played.shapes);
    for (int64_t k = 0; k < played.count; k++) {
        assert_int_equal(played.shot[k], k / 31);
        assert_int_equal(played.frame[k], 1 + k % 31);
    }
    /* the second piece is what the full simulation makes of flesh that begins five frames before it */
    int64_t first = 31 / 4;
    su_fullsim *sim = coarse_simulation(&s, true);
    su_fullsim_frame frame;
    assert_int_equal(su_fullsim_restart(sim, played.frame[first] - plan.run_in_frames, NULL), SU_OK);
    for (int k = 0; k < plan.run_in_frames; k++) assert_int_equal(su_fullsim_advance(sim, NULL), SU_OK);
    for (int64_t k = first; k < 2 * 31 / 4; k++) {
        su_fullsim_state(sim, &frame);
        for (int64_t v = 0; v < s.tet.n; v++)
            assert_near(length_at(frame.u, v), length_at(played.shapes + 3 * s.tet.n * k, v), 1e-9);
        assert_int_equal(su_fullsim_advance(sim, NULL), SU_OK);
    }
    su_fullsim_free(sim);
    su_played_shots_free(&played), su_played_shots_free(&again);
    finish(&s);
}

static void frames_and_shapes_do_not_depend_on_threads(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 4, 1, 1, 2, two_poses, 150, 30, scene_swing, 0, NULL);
    describe(&s);
    su_anim both[] = {s.anim, s.anim};
    both[1].F = 50;
    su_training_plan plan = plan_of_one_basis();
    static const int64_t longest[] = {150, 40, 7};
    for (int i = 0; i < 3; i++) {
        su_played_shots one, three;
        plan.longest_stretch = longest[i];
        play_by(&s, &(su_play){.plan = &plan, .count = 2, .motions = 1, .anims = both, .threads = 1}, &one);
        play_by(&s, &(su_play){.plan = &plan, .count = 2, .motions = 1, .anims = both, .threads = 3}, &three);
        assert_int_equal(one.count, 149 + 49);
        assert_int_equal(three.count, one.count);
        assert_memory_equal(one.shapes, three.shapes, (size_t)(3 * s.tet.n * one.count) * sizeof(double));
        for (int64_t k = 0; k < one.count; k++) {
            assert_int_equal(one.shot[k], k >= 149);
            assert_int_equal(three.shot[k], one.shot[k]);
            assert_int_equal(one.frame[k], k < 149 ? k + 1 : k - 148);
            assert_int_equal(three.frame[k], one.frame[k]);
            assert_int_equal(three.start[k], one.start[k]);
        }
        su_played_shots_free(&one), su_played_shots_free(&three);
    }
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_velocity_moves_nothing),
        cmocka_unit_test(a_steady_push_ends_in_the_static_answer),
        cmocka_unit_test(one_stretch_is_exact),
        cmocka_unit_test(shapes_are_the_full_simulation_turned_back),
        cmocka_unit_test(long_shots_are_played_in_pieces),
        cmocka_unit_test(frames_and_shapes_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
