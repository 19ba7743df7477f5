/* The full simulation against physics: invariance, free vibration, energy, order in the step, starts and cuts. */
#include "fem/fullsim.h"

#include "fem/elastic.h"
#include "geometry/mat3.h"
#include "linalg/cholesky.h"
#include "scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 20 };

static const double two_poses[] = {0.0, 1.0};

/* ---- rigs ---- */

static void rig_still(double t, double *bend, double *root)
{
    (void)t, (void)root;
    *bend = 0.0;
}

static void rig_drift(double t, double *bend, double *root)
{
    *bend = 0.0;
    root[3] = 3.0 * t, root[7] = -2.0 * t, root[11] = 10000.0 + t;
}

/* A plain turn of the whole body, carried by the root. */
static void rig_spin(double t, double *bend, double *root)
{
    *bend = 0.0;
    scene_turn(2.0 * t, root);
}

static void rig_jerk(double t, double *bend, double *root)
{
    *bend = t < 0.3 ? 0.8 * sin(20.0 * t) : 0.0;
    root[7] = t < 0.3 ? 0.3 * sin(15.0 * t) : 0.0;
}

/* ---- tests ---- */

static void a_rig_at_rest_or_at_constant_velocity_moves_nothing(void **unused)
{
    (void)unused;
    scene_rig *rigs[] = {rig_still, rig_drift};
    for (int i = 0; i < 2; i++) {
        scene s;
        scene_create(&s, 4, 1, 1, 2, two_poses, FRAMES, 30, rigs[i], 0, NULL);
        su_sim_settings settings = su_sim_defaults();
        double *u = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
        assert_true(largest(3 * s.tet.n * FRAMES, u) < 1e-8); /* 10 km away: y has 2e-12 m of rounding */
        free(u);
        scene_free(&s);
    }
}

static void a_rigid_transform_of_the_shot_changes_nothing(void **unused)
{
    (void)unused;
    scene here;
    scene_create(&here, 6, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    scene there;
    scene_create(&there, 6, 1, 1, 2, two_poses, FRAMES, 30, scene_swing_elsewhere, 0, NULL);
    su_sim_settings a = su_sim_defaults(), b = su_sim_defaults();
    a.gravity_mode = b.gravity_mode = SU_GRAVITY_ABSOLUTE;
    su_mulv3(scene_other_axis, a.gravity, b.gravity);
    double *u = scene_full_run(&here, &a, 1e-10, NULL, NULL, NULL),
           *v = scene_full_run(&there, &b, 1e-10, NULL, NULL, NULL);
    int64_t count = 3 * here.tet.n * FRAMES;
    assert_true(largest(count, u) > 0.02);
    assert_near(difference(count, u, v), 0.0, 1e-8);
    free(u), free(v);
    scene_free(&here), scene_free(&there);
}

/* A steady spin pulls the beam outward; stiffness damping must not brake it, since it acts in the turning frame. With
 * huge damping the stretched state has to be the same as with little, and steady. */
static void a_rigid_spin_is_not_damped(void **unused)
{
    (void)unused;
    enum { LONG = 60 };
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, LONG, 30, rig_spin, 0, NULL);
    int64_t n3 = 3 * s.tet.n;
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_NONE;
    double *end[2];
    for (int strong = 0; strong < 2; strong++) {
        settings.beta = strong ? 0.08 : 0.02;
        double *u = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
        end[strong] = calloc((size_t)n3, sizeof(double));
        memcpy(end[strong], u + (LONG - 1) * n3, (size_t)n3 * sizeof(double));
        assert_near(difference(n3, u + (LONG - 1) * n3, u + (LONG - 4) * n3) / largest(n3, u + (LONG - 1) * n3), 0.0,
                    0.02);
        free(u);
    }
    double size = largest(n3, end[0]);
    assert_true(size > 1e-4);
    assert_near(difference(n3, end[0], end[1]) / size, 0.0, 0.02);
    /* Outward on the whole: the tip moves along the beam. */
    assert_true(end[0][3 * (s.tet.n - 1)] > 1e-4);
    free(end[0]), free(end[1]);
    scene_free(&s);
}

/* Lowest eigenvalue of K x = l M x by inverse iteration. */
static double lowest_frequency(const scene *s)
{
    su_elastic body;
    su_sparse K;
    su_cholesky *factor;
    assert_int_equal(su_elastic_of_fit(&body, &s->tet, &s->fit, SU_NEOHOOKEAN, NULL), SU_OK);
    assert_int_equal(su_sparse_clone_pattern(&body.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&body, s->tet.vertices, false, &K, 1);
    assert_int_equal(su_cholesky_create(&body.pattern, 1, &factor, NULL), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &K, NULL), SU_OK);
    int64_t dofs = 3 * body.free_count;
    double *x = calloc((size_t)dofs, sizeof *x), value = 0.0;
    for (int64_t i = 0; i < dofs; i++) x[i] = i % 3 != 0; /* bending in y + z, a plane of symmetry */
    for (int pass = 0; pass < 40; pass++) {
        double size = 0.0;
        for (int64_t i = 0; i < dofs; i++) size += body.mass[body.free_vertex[i / 3]] * x[i] * x[i];
        for (int64_t i = 0; i < dofs; i++) x[i] /= sqrt(size);
        double *b = calloc((size_t)dofs, sizeof *b);
        for (int64_t i = 0; i < dofs; i++) b[i] = body.mass[body.free_vertex[i / 3]] * x[i];
        assert_int_equal(su_cholesky_solve(factor, 1, b, b, NULL), SU_OK);
        double along = 0.0;
        for (int64_t i = 0; i < dofs; i++) along += body.mass[body.free_vertex[i / 3]] * x[i] * b[i];
        value = 1.0 / along;
        memcpy(x, b, (size_t)dofs * sizeof *x);
        free(b);
    }
    free(x);
    su_cholesky_free(factor);
    su_sparse_free(&K);
    su_elastic_free(&body);
    return sqrt(value) / (2.0 * M_PI);
}

/* Weak gravity switched on at time 0, in a plane of symmetry of the mesh so that one mode answers: the tip swings about
 * its sag as 1 - cos(2 pi f t). */
static void free_vibration_has_the_frequency_of_the_lowest_mode(void **unused)
{
    (void)unused;
    enum { LONG = 90 };
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, LONG, 60, rig_still, 0, NULL);
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
    settings.gravity[1] = settings.gravity[2] = -0.01;
    settings.beta = 0.0;
    settings.substeps = 20;
    double *u = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    int64_t n3 = 3 * s.tet.n, tip = n3 - 2;
    /* Times of the first two returns towards the start: minima of |u|, by parabola. */
    double minimum[2] = {0, 0};
    int found = 0;
    for (int k = 1; k + 1 < LONG && found < 2; k++) {
        double a = -u[(k - 1) * n3 + tip], b = -u[k * n3 + tip], c = -u[(k + 1) * n3 + tip];
        if (b < a && b <= c) minimum[found++] = (k + 0.5 * (a - c) / (a - 2 * b + c)) / 60.0;
    }
    assert_int_equal(found, 2);
    double measured = 1.0 / (minimum[1] - minimum[0]), expected = lowest_frequency(&s);
    assert_true(expected > 1.0 && expected < 8.0);
    assert_near(measured / expected, 1.0, 0.01);
    free(u);
    scene_free(&s);
}

/* After the rig has stopped for good nothing is put in: kinetic + elastic only fall. */
static void energy_never_grows_without_driving(void **unused)
{
    (void)unused;
    enum { LONG = 40, STOP = 10 };
    int cut[] = {STOP};
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, LONG, 30, rig_jerk, 1, cut);
    for (int undamped = 0; undamped < 2; undamped++) {
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = SU_GRAVITY_NONE;
        if (undamped) settings.beta = 0.0;
        double energy[LONG][3];
        free(scene_full_run(&s, &settings, 1e-10, energy[0], NULL, NULL));
        double at_stop = energy[STOP][0] + energy[STOP][1];
        assert_true(at_stop > 1.0);
        for (int k = STOP + 1; k < LONG; k++)
            assert_true(energy[k][0] + energy[k][1] <= energy[k - 1][0] + energy[k - 1][1] + 1e-9 * at_stop);
        assert_true(energy[LONG - 1][0] + energy[LONG - 1][1] < 0.9 * at_stop);
    }
    scene_free(&s);
}

static void halving_the_step_halves_the_error(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, 8, 30, scene_swing, 0, NULL);
    su_sim_settings settings = su_sim_defaults();
    double *u[3], change[2];
    int64_t count = 3 * s.tet.n * 8;
    for (int i = 0; i < 3; i++) {
        settings.substeps = 10 << i;
        u[i] = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    }
    for (int i = 0; i < 2; i++) change[i] = difference(count, u[i], u[i + 1]);
    assert_near(change[0] / change[1], 2.0, 0.25);
    for (int i = 0; i < 3; i++) free(u[i]);
    scene_free(&s);
}

static void rig_bent(double t, double *bend, double *root)
{
    (void)t, (void)root;
    *bend = 0.8;
}

/* Relative gravity: the shape carries the weight of the neutral pose, turned along with the flesh. Bent flesh hangs the
 * way that the weight has gone there, as far as that says, and hangs still; if the root bends back as far, the bent
 * part hangs as it does in the neutral pose: not at all, or nearly so. */
static void flesh_hangs_where_it_is_turned(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, FRAMES, 30, rig_bent, 0, NULL);
    su_sim_settings settings = su_sim_defaults();
    int64_t n3 = 3 * s.tet.n;
    double *u = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL), *twice, *free_of;
    double hangs = largest(n3, u);
    assert_true(hangs > 1e-4);
    assert_near(difference(n3, u, u + (FRAMES - 1) * n3) / hangs, 0, 1e-5);
    settings.gravity[1] *= 2;
    twice = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    printf("# hangs by %.3f m, by %.3f m under twice the weight\n", hangs, largest(n3, twice));
    assert_true(largest(n3, twice) > 1.5 * hangs && largest(n3, twice) < 2.2 * hangs);
    settings.gravity[1] = 0, settings.gravity[2] = -9.81; /* along the axis of the bend: nothing turns against it */
    free_of = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    printf("# along the axis of the bend by %.1e m\n", largest(n3, free_of));
    assert_true(largest(n3, free_of) < 0.02 * hangs);
    free(u), free(twice), free(free_of);
    scene_free(&s);
}

/* Settled flesh under its own weight hangs still; unsettled flesh falls to about twice as deep. */
static void settling_starts_in_equilibrium(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, FRAMES, 30, rig_still, 0, NULL);
    su_sim_settings settings = su_sim_defaults();
    settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
    int64_t n3 = 3 * s.tet.n;
    double *falling = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    settings.settle = true;
    double *settled = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    settings.preroll = 0.1; /* from there on nothing moves */
    double *held = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    settings.settle = false;
    settings.preroll = 8.0;
    double *rolled = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    double sag = largest(n3, settled);
    assert_true(sag > 0.01);
    assert_near(difference(n3, settled, settled + (FRAMES - 1) * n3) / sag, 0.0, 1e-5);
    assert_near(difference(n3, held, settled) / sag, 0.0, 1e-5);
    assert_near(difference(n3, rolled, settled) / sag, 0.0, 1e-3);
    assert_true(largest(n3 * FRAMES, falling) > 1.3 * sag);
    assert_true(largest(n3, falling) == 0.0);
    free(falling), free(settled), free(held), free(rolled);
    scene_free(&s);
}

/* y_-1 = 2 X_0 - X_1 + Q_0 u_0 or y_0: a rig in uniform motion leaves flesh that moves along at rest, and drags flesh
 * that starts still behind it. */
static void the_start_is_moving_or_still(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 4, 1, 1, 2, two_poses, 6, 30, rig_drift, 0, NULL);
    su_sim_settings settings = su_sim_defaults();
    settings.start = SU_START_STILL;
    double *u = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    int64_t n3 = 3 * s.tet.n;
    assert_true(u[n3 + n3 - 3] < -0.002 && u[n3 + n3 - 2] > 0.002); /* tip, against (3, -2, 1) m/s */
    free(u);
    scene_free(&s);
}

static double jump_at;

static void rig_teleport(double t, double *bend, double *root)
{
    *bend = 0.3 * sin(8.0 * t);
    scene_turn(0.2 * t, root);
    root[7] = 0.2 * sin(10.0 * t);
    if (t > jump_at) root[3] = 500.0;
}

/* With the cut declared, flesh does not notice a jump of 500 m: u is carried over turned, then decays as usual. */
static void a_teleport_carries_the_flesh_along(void **unused)
{
    (void)unused;
    enum { CUT = 9 };
    int cut[] = {CUT};
    jump_at = (CUT - 0.5) / 30.0;
    scene s;
    scene_create(&s, 4, 1, 1, 2, two_poses, FRAMES, 30, rig_teleport, 1, cut);
    su_sim_settings settings = su_sim_defaults();
    double *u = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
    int64_t n3 = 3 * s.tet.n;
    double before = largest(n3, u + (CUT - 1) * n3);
    assert_true(before > 1e-3);
    /* Turned along: the lengths of u stay. */
    for (int64_t v = 0; v < s.tet.n; v++)
        assert_near(su_norm3(u + CUT * n3 + 3 * v), su_norm3(u + (CUT - 1) * n3 + 3 * v), 1e-12);
    for (int k = CUT; k < FRAMES; k++) assert_true(largest(n3, u + k * n3) < 0.2);
    free(u);
    scene_free(&s);
}

/* A jump that nobody declared: violent, but no NaN and no end of the bake. */
static void an_undeclared_teleport_survives(void **unused)
{
    (void)unused;
    jump_at = 5.5 / 30.0;
    scene s;
    scene_create(&s, 4, 1, 1, 2, two_poses, 12, 30, rig_teleport, 0, NULL);
    su_sim_settings settings = su_sim_defaults();
    int status[12];
    double *u = scene_full_run(&s, &settings, 1e-10, NULL, status, NULL);
    for (int64_t i = 0; i < 3 * s.tet.n * 12; i++) assert_true(isfinite(u[i]));
    free(u);
    scene_free(&s);
}

/* Rounded times take no step more, for whoever asks; frames that are really longer do. */
static void a_frame_of_rounded_times_has_the_steps_of_its_rate(void **unused)
{
    (void)unused;
    const double rounded[4] = {0, 0.033334, 0.066667, 0.100001};
    assert_int_equal(su_sim_substeps(su_sim_frame_seconds(4, rounded, 24)), 3);
    for (int k = 0; k < 3; k++) assert_int_equal(su_sim_substeps(rounded[k + 1] - rounded[k]), 3);
    assert_int_equal(su_sim_substeps(1.0 / 24), 4);
    assert_int_equal(su_sim_substeps(1.0 / 30 + 1e-5), 4);
    assert_int_equal(su_sim_substeps(1.0 / 240), 1);
    assert_near(su_sim_frame_seconds(1, rounded, 25), 0.04, 0);
}

static void newton_converges_quadratically(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 6, 1, 1, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    su_sim_settings settings = su_sim_defaults();
    su_shot_counts counts;
    int status[FRAMES];
    free(scene_full_run(&s, &settings, 1e-10, NULL, status, &counts));
    for (int k = 0; k < FRAMES; k++) assert_int_equal(status[k], SU_STATUS_OK);
    assert_int_equal(counts.steps, 3 * (FRAMES - 1));
    assert_true(counts.solves <= 5 * counts.steps); /* to 1e-10 */
    scene_free(&s);
}

/* Systems solved to a thousandth, by one factor turned along, lead Newton to the same place, here through a bend of a
 * quarter turn. */
static void one_factor_turned_along_serves_all_poses(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 12, 2, 2, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    scene_turn_rest(&s, 0.1);
    su_sim_settings settings = su_sim_defaults();
    su_shot_counts direct, iterative;
    su_fullsim_options options = {.tolerance = 1e-10, .threads = 1};
    double *u = scene_full_run_with(&s, &settings, &options, NULL, NULL, &direct);
    options.iterative = true;
    double *v = scene_full_run_with(&s, &settings, &options, NULL, NULL, &iterative);
    int64_t count = 3 * s.tet.n * FRAMES;
    assert_near(difference(count, u, v) / largest(count, u), 0.0, 1e-7);
    assert_int_equal(iterative.factorizations, 0);
    assert_true(direct.factorizations > 0 && iterative.solves < 2 * direct.solves);
    free(u), free(v);
    scene_free(&s);
}

/* The outer half of a beam, stiff as bone, that its rig turns inside out and back while the beam swings: mirrored
 * across its thickness by more and more, flat on the way, where the nearest rotations jump. */
static void turn_inside_out(scene *s)
{
    const double half = 0.5 * s->mesh.length;
    for (int64_t e = 0; e < s->tet.t; e++)
        if (s->tet.vertices[3 * (int64_t)s->tet.tets[4 * e]] > half) s->fit.young[e] *= 1e3;
    for (int64_t k = 0; k < s->anim.F; k++) {
        float *points = s->anim.points + 3 * k * s->tet.n;
        double mirrored = sin(3.141592653589793 * (double)k / (double)(s->anim.F - 1));
        for (int64_t v = 0; v < s->tet.n; v++) {
            double beyond = s->tet.vertices[3 * v] - half, share = fmin(1, fmax(0, 8 * beyond / s->mesh.length));
            points[3 * v + 2] *= (float)(1 - 2 * mirrored * share);
        }
    }
    su_shot_free(s->shot);
    su_shot_target target = {.rig = su_rig_of_fit(&s->fit), .nbar = s->tet.nbar, .neutral = s->mesh.vertices};
    assert_int_equal(su_shot_create(&s->anim, "inside out", &target, 0, NULL, &s->shot, NULL, NULL), SU_OK);
}

static void flesh_turned_inside_out_gains_no_energy(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 8, 2, 2, 2, two_poses, FRAMES, 30, scene_swing, 0, NULL);
    scene_turn_rest(&s, 0.1);
    turn_inside_out(&s);
    su_sim_settings settings = su_sim_defaults();
    double energy[3 * FRAMES], kinetic = 0, elastic = 0;
    double *solved = scene_full_run(&s, &settings, 1e-8, energy, NULL, NULL);
    double *bake = scene_full_run(&s, &settings, 1e-3, NULL, NULL, NULL);
    for (int k = 0; k < FRAMES; k++) kinetic = fmax(kinetic, energy[3 * k]), elastic = fmax(elastic, energy[3 * k + 1]);
    int64_t count = 3 * s.tet.n * FRAMES;
    double off = difference(count, bake, solved) / largest(count, solved);
    printf("# inside out: %.3g J in the flesh, %.3g J of motion at most; a bake is %.2g off\n", elastic, kinetic, off);
    assert_true(elastic < 0.1 * kinetic);
    assert_true(off < 0.02);
    free(bake), free(solved);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rig_at_rest_or_at_constant_velocity_moves_nothing),
        cmocka_unit_test(a_rigid_transform_of_the_shot_changes_nothing),
        cmocka_unit_test(a_rigid_spin_is_not_damped),
        cmocka_unit_test(free_vibration_has_the_frequency_of_the_lowest_mode),
        cmocka_unit_test(energy_never_grows_without_driving),
        cmocka_unit_test(halving_the_step_halves_the_error),
        cmocka_unit_test(flesh_hangs_where_it_is_turned),
        cmocka_unit_test(settling_starts_in_equilibrium),
        cmocka_unit_test(the_start_is_moving_or_still),
        cmocka_unit_test(a_teleport_carries_the_flesh_along),
        cmocka_unit_test(an_undeclared_teleport_survives),
        cmocka_unit_test(a_frame_of_rounded_times_has_the_steps_of_its_rate),
        cmocka_unit_test(newton_converges_quadratically),
        cmocka_unit_test(one_factor_turned_along_serves_all_poses),
        cmocka_unit_test(flesh_turned_inside_out_gains_no_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
