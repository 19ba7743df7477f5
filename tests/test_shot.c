/* A shot between its frames: splines, cuts, root rotations, parameters by name, corrections. */
#include "runtime/kernels/kernel_set.h"
#include "rig/shot.h"

#include "core/memory.h"
#include "geometry/rotation.h"
#include "runtime/subspace/shot_lanes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

/* The group of a set that these tests are about; NULL where this processor cannot run it. */
static const su_pose_kernels *kernels_of(const char *name)
{
    const su_kernel_set *set = su_kernel_set_choose(name);
    return set ? &set->pose : NULL;
}

enum { F = 12, NBAR = 100 };

typedef struct clip {
    su_anim anim;
    float points[F * NBAR * 3];
    double root[F * 16], times[F], params[F * 2];
    su_shot_target target;
    double rest[2], scale[2];
} clip;

/* Points on x(t) = f(t + column), root about z by `rate` rad a frame, params (t, t^2). */
static clip *make_clip(double (*f)(double), double rate)
{
    clip *c = calloc(1, sizeof *c);
    c->anim = (su_anim){
        .F = F, .nbar = NBAR, .s = 2, .points = c->points, .root = c->root, .times = c->times, .params = c->params};
    c->target = (su_shot_target){.rig = {.s = 2, .params = c->rest, .param_scale = c->scale}, .nbar = NBAR};
    c->scale[0] = c->scale[1] = 1.0;
    for (int k = 0; k < F; k++) {
        for (int i = 0; i < 3 * NBAR; i++) c->points[3 * NBAR * k + i] = (float)f(k + 0.01 * i);
        double *m = c->root + 16 * k, a = rate * k;
        m[0] = m[5] = cos(a), m[1] = -sin(a), m[4] = sin(a), m[10] = m[15] = 1.0;
        m[3] = 2.0 * k;
        c->times[k] = k / 30.0;
        c->params[2 * k] = k, c->params[2 * k + 1] = k * k;
    }
    return c;
}

static su_shot *open_clip(clip *c, int cuts, const int *cut)
{
    su_shot *shot;
    assert_int_equal(su_shot_create(&c->anim, "clip", &c->target, cuts, cut, &shot, NULL, NULL), SU_OK);
    return shot;
}

static double line(double t) { return 3.0 - 0.5 * t; }
static double wave(double t) { return sin(0.7 * t); }

static void frames_are_hit_exactly(void **unused)
{
    (void)unused;
    clip *c = make_clip(wave, 0.3);
    su_shot *shot = open_clip(c, 0, NULL);
    double skin[3 * NBAR], p[2], Q[9], t[3];
    for (int k = 0; k < F; k++) {
        su_shot_sample(shot, k, 0.0, p, Q, t);
        su_shot_sample_skin(shot, k, 0.0, 0, NULL, 1, skin);
        for (int i = 0; i < 3 * NBAR; i++) assert_true(skin[i] == (double)c->points[3 * NBAR * k + i]);
        assert_true(p[0] == k && p[1] == k * k);
        assert_near(Q[3], sin(0.3 * k), 1e-14);
        assert_true(t[0] == 2.0 * k);
        if (k + 1 == F) break;
        su_shot_sample_skin(shot, k, 1.0, 0, NULL, 1, skin);
        for (int i = 0; i < 3 * NBAR; i++) assert_true(skin[i] == (double)c->points[3 * NBAR * (k + 1) + i]);
    }
    su_shot_free(shot);
    free(c);
}

static void straight_motion_stays_straight(void **unused)
{
    (void)unused;
    clip *c = make_clip(line, 0.0);
    su_shot *shot = open_clip(c, 0, NULL);
    double skin[3 * NBAR], t[3], p[2];
    for (int k = 0; k + 1 < F; k++)
        for (double a = 0.1; a < 1.0; a += 0.2) {
            su_shot_sample(shot, k, a, p, NULL, t);
            su_shot_sample_skin(shot, k, a, 0, NULL, 1, skin);
            for (int i = 0; i < 3 * NBAR; i++) assert_near(skin[i], line(k + a + 0.01 * i), 2e-6); /* float */
            assert_near(t[0], 2.0 * (k + a), 1e-13);
            assert_near(p[0], k + a, 1e-13);
        }
    su_shot_free(shot);
    free(c);
}

/* One-sided differences of order 2 on both sides of frame k. */
static void one_sided(const su_shot *shot, int k, double e, double first[2], double second[2])
{
    for (int side = 0; side < 2; side++) {
        double f[4], p[2];
        for (int j = 0; j < 4; j++) {
            if (side == 0)
                su_shot_sample(shot, k - 1, 1.0 - j * e, p, NULL, NULL);
            else
                su_shot_sample(shot, k, j * e, p, NULL, NULL);
            f[j] = p[1];
        }
        double sign = side == 0 ? -1.0 : 1.0;
        first[side] = sign * (-11.0 * f[0] + 18.0 * f[1] - 9.0 * f[2] + 2.0 * f[3]) / (6.0 * e);
        second[side] = (2.0 * f[0] - 5.0 * f[1] + 4.0 * f[2] - f[3]) / (e * e);
    }
}

static void spline_is_twice_differentiable_and_natural(void **unused)
{
    (void)unused;
    clip *c = make_clip(wave, 0.0);
    for (int k = 0; k < F; k++) c->params[2 * k + 1] = sin(1.3 * k) + 0.1 * k;
    su_shot *shot = open_clip(c, 0, NULL);
    double first[2], second[2], p[3][2];
    /* A cubic's one-sided differences of four points are exact, so any step will do. */
    for (int k = 1; k + 1 < F; k++) {
        one_sided(shot, k, 0.3, first, second);
        assert_near(first[0], first[1], 1e-12);
        assert_near(second[0], second[1], 1e-11);
        assert_true(fabs(second[0]) > 1e-3);
    }
    for (int j = 0; j < 3; j++) su_shot_sample(shot, 0, 1e-3 * j, p[j], NULL, NULL);
    assert_near((p[0][1] - 2 * p[1][1] + p[2][1]) / 1e-6, 0.0, 1e-2);
    su_shot_free(shot);
    free(c);
}

/* Inside a long clip natural ends are forgotten: the error against a smooth curve falls as the fourth power of the
 * step. */
static void spline_is_fourth_order(void **unused)
{
    (void)unused;
    double error[2];
    for (int fine = 0; fine < 2; fine++) {
        clip *c = make_clip(wave, 0.0);
        double step = fine ? 0.25 : 0.5;
        for (int k = 0; k < F; k++) c->params[2 * k + 1] = sin(step * (k - 5));
        su_shot *shot = open_clip(c, 0, NULL);
        double p[2];
        su_shot_sample(shot, 5, 0.5, p, NULL, NULL);
        error[fine] = fabs(p[1] - sin(0.5 * step));
        su_shot_free(shot);
        free(c);
    }
    assert_true(error[1] < error[0] / 10.0);
}

static void a_cut_separates_what_comes_before_and_after(void **unused)
{
    (void)unused;
    clip *c = make_clip(line, 0.1);
    for (int k = 6; k < F; k++) {
        for (int i = 0; i < 3 * NBAR; i++) c->points[3 * NBAR * k + i] += 100.0f;
        c->root[16 * k + 3] += 50.0;
    }
    int cut[] = {6};
    su_shot *shot = open_clip(c, 1, cut);
    assert_true(su_shot_cut(shot, 6) && !su_shot_cut(shot, 5) && !su_shot_cut(shot, 7));
    double skin[3 * NBAR], t[3];
    for (int k = 0; k + 1 < F; k++) {
        su_shot_sample(shot, k, 0.5, NULL, NULL, t);
        su_shot_sample_skin(shot, k, 0.5, 0, NULL, 1, skin);
        double jump = k >= 6 ? 100.0 : 0.0, at = k == 5 ? 5.0 : k + 0.5; /* before the cut the last frame holds */
        assert_near(skin[0], line(at) + jump, 2e-5);
        assert_near(t[0], 2.0 * at + 0.5 * jump, 1e-12);
    }
    su_shot_free(shot);
    free(c);
}

/* A turn through several full circles: the matrix-to-quaternion sign flips on the way, the motion must not. */
static void rotation_passes_sign_flips_of_the_quaternion(void **unused)
{
    (void)unused;
    clip *c = make_clip(wave, 0.9);
    su_shot *shot = open_clip(c, 0, NULL);
    for (int k = 2; k + 3 < F; k++) {
        double Q[9], expected = 0.9 * (k + 0.5);
        su_shot_sample(shot, k, 0.5, NULL, Q, NULL);
        assert_near(Q[0], cos(expected), 2e-3);
        assert_near(Q[3], sin(expected), 2e-3);
        assert_near(Q[8], 1.0, 1e-14);
    }
    su_shot_free(shot);
    free(c);
}

/* The skin is splined by sums over frames nearby, everything else by solving for the whole clip: the same spline, also
 * where a piece is long, short, a single frame, or ends. */
static void skin_lies_on_the_spline_of_the_whole_clip(void **unused)
{
    (void)unused;
    enum { LONG = 90, WIDTH = 6 };
    int cut[] = {40, 41, 44, 46};
    float points[LONG * WIDTH];
    double root[16 * LONG] = {0}, times[LONG], f[LONG * WIDTH], second[LONG * WIDTH], most = 0, bend = 0;
    for (int k = 0; k < LONG; k++) {
        for (int i = 0; i < 4; i++) root[16 * k + 5 * i] = 1;
        times[k] = k / 30.0;
        for (int i = 0; i < WIDTH; i++) {
            points[WIDTH * k + i] = (float)(sin(i + 1.9 * k + 0.01 * k * k) + (k % 7 == i)); /* nothing smooth */
            f[WIDTH * k + i] = (double)points[WIDTH * k + i];
        }
    }
    su_anim anim = {.F = LONG, .nbar = WIDTH / 3, .points = points, .root = root, .times = times};
    su_shot_target target = {.nbar = WIDTH / 3};
    su_shot *shot;
    assert_int_equal(su_shot_create(&anim, "long", &target, 4, cut, &shot, NULL, NULL), SU_OK);
    su_shot_spline(shot, WIDTH, f, second);
    for (int i = WIDTH; i < (LONG - 1) * WIDTH; i++) bend = fmax(bend, fabs(f[i - WIDTH] - 2 * f[i] + f[i + WIDTH]));
    for (int k = 0; k + 1 < LONG; k++)
        for (double t = 0; t <= 1; t += 0.25) {
            double skin[WIDTH], spline[WIDTH];
            su_shot_sample_skin(shot, k, t, 0, NULL, 1, skin);
            su_shot_blend(su_shot_segment_at(shot, k, t), WIDTH, f, second, spline);
            for (int i = 0; i < WIDTH; i++) most = fmax(most, fabs(skin[i] - spline[i]));
        }
    assert_near(most / bend, 0, 3e-8);
    su_shot_free(shot);
}

static void list_picks_the_same_points(void **unused)
{
    (void)unused;
    clip *c = make_clip(wave, 0.0);
    su_shot *shot = open_clip(c, 0, NULL);
    int32_t list[] = {97, 3, 41};
    double all[3 * NBAR], some[9];
    su_shot_sample_skin(shot, 4, 0.37, 0, NULL, 1, all);
    su_shot_sample_skin(shot, 4, 0.37, 3, list, 1, some);
    for (int k = 0; k < 3; k++) assert_memory_equal(some + 3 * k, all + 3 * list[k], 3 * sizeof(double));
    su_shot_free(shot);
    free(c);
}

static void parameters_match_by_name(void **unused)
{
    (void)unused;
    clip *c = make_clip(wave, 0.0);
    double rest[3] = {0.25, 0.5, 0.75}, scale[3] = {1, 1, 1};
    json_t *names = json_pack("[s,s,s]", "knee", "b", "jaw"), *unknown;
    c->anim.file.meta = json_pack("{s:[s,s]}", "param_names", "a", "b");
    c->target.rig.s = 3, c->target.rig.params = rest, c->target.rig.param_scale = scale,
    c->target.rig.param_names = names;
    su_shot *shot;
    assert_int_equal(su_shot_create(&c->anim, "clip", &c->target, 0, NULL, &shot, &unknown, NULL), SU_OK);
    double p[3];
    su_shot_sample(shot, 3, 0.0, p, NULL, NULL);
    assert_true(p[0] == 0.25 && p[1] == 9.0 && p[2] == 0.75);
    assert_int_equal(json_array_size(unknown), 1);
    assert_string_equal(json_string_value(json_array_get(unknown, 0)), "a");
    json_decref(unknown);
    su_shot_free(shot);
    /* What stays as near to the neutral pose as example poses call still is nothing that they lack. */
    for (int k = 0; k < F; k++) c->params[2 * k] = (k % 2 ? 0.9 : -0.9) * SU_STILL_PARAMETER;
    assert_int_equal(su_shot_create(&c->anim, "clip", &c->target, 0, NULL, &shot, &unknown, NULL), SU_OK);
    assert_int_equal(json_array_size(unknown), 0);
    json_decref(unknown);
    json_decref(names);
    json_decref(c->anim.file.meta);
    su_shot_free(shot);
    free(c);
}

static void corrections_are_added_once(void **unused)
{
    (void)unused;
    clip *c = make_clip(wave, 0.0);
    double sculpts[4] = {0, 0, 4, 16}, rbf[4], delta[2 * 3 * NBAR] = {0};
    double distance = sqrt(16.0 + 256.0);
    rbf[0] = rbf[3] = 0.0, rbf[1] = rbf[2] = 1.0 / distance; /* inverse of the 2 x 2 distance matrix */
    for (int i = 0; i < 3 * NBAR; i++) delta[3 * NBAR + i] = 0.5;
    c->target.rig.a = 2, c->target.rig.psd_params = sculpts, c->target.rig.psd_rbf = rbf,
    c->target.rig.psd_shapes = delta;
    for (int corrected = 0; corrected < 2; corrected++) {
        c->anim.file.meta = json_pack("{s:b}", "corrected", corrected);
        su_shot *shot = open_clip(c, 0, NULL);
        double skin[3 * NBAR];
        su_shot_sample_skin(shot, 4, 0.0, 0, NULL, 1, skin);
        assert_near(skin[5] - (double)c->points[3 * NBAR * 4 + 5], corrected ? 0.0 : 0.5, 1e-12);
        su_shot_sample_skin(shot, 0, 0.0, 0, NULL, 1, skin);
        assert_near(skin[5] - (double)c->points[5], 0.0, 1e-12);
        su_shot_free(shot);
        json_decref(c->anim.file.meta);
    }
    free(c);
}

/* Many instants at once, on both sides of a cut, past the end, in any order, with corrections, of chosen points. */
static void lanes_hold_what_samples_say(void **unused)
{
    (void)unused;
    static const char *const sets[] = {"base", "avx2", "avx512"};
    static const double times[] = {0, 0.25, 0.5, 1, 3.75, 4, 4.5, 5, 5.25, 2.9, 10.5, 11, 11.5};
    enum { TIMES = sizeof times / sizeof *times, LIST = 3 };
    int cut = 5;
    int32_t list[LIST] = {0, 17, NBAR - 1};
    double neutral[3 * LIST], sculpts[4] = {0, 0, 4, 16}, rbf[4] = {0}, delta[2 * 3 * NBAR] = {0};
    for (int i = 0; i < 3 * LIST; i++) neutral[i] = 0.1 * i - 0.3;
    for (int i = 0; i < 3 * NBAR; i++) delta[3 * NBAR + i] = 0.5 + 0.01 * i;
    rbf[1] = rbf[2] = 1 / sqrt(16.0 + 256.0);
    for (int sculpted = 0; sculpted < 2; sculpted++) {
        clip *c = make_clip(wave, 0.2);
        if (sculpted)
            c->target.rig.a = 2, c->target.rig.psd_params = sculpts, c->target.rig.psd_rbf = rbf,
            c->target.rig.psd_shapes = delta;
        su_shot *shot = open_clip(c, 1, &cut);
        su_rest_patch patch = {.skin_count = LIST, .skin = list, .shape = {.neutral = neutral}};
        su_shot_instant at[TIMES];
        double p[TIMES][2], skin[3 * LIST];
        float *moved = su_calloc(3 * LIST * SU_REST_FRAMES, sizeof *moved);
        float *windowed = su_calloc(3 * LIST * SU_REST_FRAMES, sizeof *windowed);
        su_shot_window window;
        assert_int_equal(su_shot_window_create(shot, &patch, F, &window, NULL), SU_OK);
        su_shot_window_cover(&window, 0, F - 1);
        for (int k = 0; k < TIMES; k++) {
            at[k] = (su_shot_instant){(int64_t)times[k], times[k] - floor(times[k]), p[k]};
            su_shot_sample(shot, at[k].frame, at[k].fraction, p[k], NULL, NULL);
        }
        for (int set = 0; set < 3; set++) {
            const su_pose_kernels *kernels = kernels_of(sets[set]);
            if (!kernels) continue;
            su_shot_lanes(shot, &patch, kernels, NULL, TIMES, at, moved);
            su_shot_lanes(shot, &patch, kernels, &window, TIMES, at, windowed);
            assert_memory_equal(windowed, moved, 3 * LIST * SU_REST_FRAMES * sizeof *moved);
            for (int k = 0; k < SU_REST_FRAMES; k++) {
                int from = k < TIMES ? k : TIMES - 1;
                su_shot_sample_skin(shot, at[from].frame, at[from].fraction, LIST, list, 1, skin);
                for (int i = 0; i < 3 * LIST && (k < TIMES || !sculpted); i++)
                    assert_near((double)moved[SU_REST_FRAMES * i + k], skin[i] - neutral[i], 1e-6);
            }
        }
        free(moved);
        free(windowed);
        su_shot_window_free(&window);
        su_shot_free(shot);
        free(c);
    }
}

static void other_topology_and_bad_cuts_are_refused(void **unused)
{
    (void)unused;
    clip *c = make_clip(wave, 0.0);
    su_shot *shot;
    su_error err = {0};
    c->target.nbar = NBAR + 1;
    assert_int_equal(su_shot_create(&c->anim, "clip.npz", &c->target, 0, NULL, &shot, NULL, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "clip.npz"));
    assert_null(shot);
    c->target.nbar = NBAR;
    int cut[] = {F};
    assert_int_equal(su_shot_create(&c->anim, "clip.npz", &c->target, 1, cut, &shot, NULL, &err), SU_USAGE);
    c->target.rig.s = 5;
    assert_int_equal(su_shot_create(&c->anim, "clip.npz", &c->target, 0, NULL, &shot, NULL, &err), SU_INPUT);
    free(c);
}

static void clips_of_one_and_two_frames_work(void **unused)
{
    (void)unused;
    for (int frames = 1; frames <= 2; frames++) {
        clip *c = make_clip(line, 0.2);
        c->anim.F = frames;
        su_shot *shot = open_clip(c, 0, NULL);
        double skin[3 * NBAR], Q[9];
        su_shot_sample(shot, 0, 0.5, NULL, Q, NULL);
        su_shot_sample_skin(shot, 0, 0.5, 0, NULL, 1, skin);
        assert_near(skin[0], line(frames == 2 ? 0.5 : 0.0), 1e-6);
        assert_true(isfinite(Q[0]));
        su_shot_free(shot);
        free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_hit_exactly),
        cmocka_unit_test(straight_motion_stays_straight),
        cmocka_unit_test(spline_is_twice_differentiable_and_natural),
        cmocka_unit_test(spline_is_fourth_order),
        cmocka_unit_test(a_cut_separates_what_comes_before_and_after),
        cmocka_unit_test(rotation_passes_sign_flips_of_the_quaternion),
        cmocka_unit_test(skin_lies_on_the_spline_of_the_whole_clip),
        cmocka_unit_test(list_picks_the_same_points),
        cmocka_unit_test(parameters_match_by_name),
        cmocka_unit_test(corrections_are_added_once),
        cmocka_unit_test(lanes_hold_what_samples_say),
        cmocka_unit_test(other_topology_and_bad_cuts_are_refused),
        cmocka_unit_test(clips_of_one_and_two_frames_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
