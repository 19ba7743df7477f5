/* How far reduced shots are found to be from the full simulation, which they lead; what moved. */
#include "estimate/error_estimate.h"
#include "estimate/reduced_motion.h"
#include "fem/turned_solver.h"
#include "estimate/what_moved.h"
#include "fem/elastic.h"
#include "reduced_scene.h"
#include "runtime/subspace/reconstruct.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 24 };

static const double poses3[] = {0.0, 0.8, -0.8};
static const double fps = 30;
static const su_step_settings exact = {.newton = 60, .tolerance = 1e-11};

/* A reduced run of the swinging beam with what an estimate needs. */
typedef struct run {
    scene s;
    reduced_scene r;
    su_sim_settings settings;
    double *path, *estimate;
    su_estimate_inputs inputs;
} run;

static void run_create_at(run *t, double rate, bool turned, bool held, reduced_options options, int teleport)
{
    su_error err = {0};
    *t = (run){.settings = su_sim_defaults()};
    scene_create(&t->s, 4, 1, 1, 3, poses3, FRAMES, rate, scene_swing, teleport > 0, &teleport);
    if (!held) t->s.tet.fixed_count = 0;
    if (turned) scene_turn_rest(&t->s, 0.3);
    reduced_create(&t->r, &t->s, &options);
    t->r.sim.substeps = su_sim_substeps(1 / rate);
    t->path = calloc((size_t)(FRAMES * t->r.sim.substeps * t->r.model.r), sizeof *t->path);
    t->estimate = calloc(FRAMES, sizeof *t->estimate);
    t->r.sim.path = t->path;
    assert_int_equal(reduced_run(&t->r, &t->settings, exact, 1, NULL), SU_OK);
    assert_int_equal(su_sim_settings_resolve(&t->settings, 4.0, FRAMES, t->s.anim.times, 0.0, &err), SU_OK);
    t->inputs = (su_estimate_inputs){.model = &t->r.model,
                                     .tet = &t->s.tet,
                                     .fit = &t->s.fit,
                                     .shot = t->s.shot,
                                     .settings = &t->settings,
                                     .sim = &t->r.sim};
}

static void run_create(run *t, bool turned, reduced_options options, int teleport)
{
    run_create_at(t, fps, turned, true, options, teleport);
}

static void run_free(run *t)
{
    reduced_free(&t->r);
    scene_free(&t->s);
    free(t->path), free(t->estimate);
}

/* To Newton's tolerance, with what is wanted of the full simulation. */
static su_estimate_total estimate_to(run *t, double tolerance, int threads, float *full, int32_t *status)
{
    su_estimate_total total;
    su_error err = {0};
    t->inputs.tolerance = tolerance, t->inputs.threads = threads;
    if (su_error_estimate(&t->inputs, t->estimate, full, status, &total, NULL, &err) != SU_OK) fail_msg("%s", err.text);
    return total;
}

/* The shot in the full space (FRAMES,n,3), to be freed. */
static double *full_motion(run *t)
{
    su_sim_settings settings = su_sim_defaults();
    return scene_full_run(&t->s, &settings, 1e-10, NULL, NULL, NULL);
}

/* RMS over the vertices of the error of u at each frame, and the relative error over the shot. */
static double truth(run *t, double error[FRAMES])
{
    su_reconstruct *rec;
    su_error err = {0};
    int64_t n3 = 3 * t->s.tet.n;
    double *full = full_motion(t), *u = calloc((size_t)(FRAMES * n3), sizeof *u);
    double off = 0, size = 0;
    assert_int_equal(su_reconstruct_create(&t->r.model, SU_COROTATED, 0, NULL, 1, &rec, &err), SU_OK);
    assert_int_equal(su_reconstruct_shot(rec, t->s.shot, &t->r.sim, 0, FRAMES, &(su_shot_motion){.u = u}, &err), SU_OK);
    for (int64_t k = 0; k < FRAMES; k++) {
        double sum = 0;
        for (int64_t i = k * n3; i < (k + 1) * n3; i++)
            sum += (u[i] - full[i]) * (u[i] - full[i]), size += full[i] * full[i];
        error[k] = sqrt(3 * sum / (double)n3), off += sum;
    }
    su_reconstruct_free(rec);
    free(full), free(u);
    return sqrt(off / size);
}

/* At 24 frames a second there are four steps to a frame, at 12 eight. */
static void a_basis_that_spans_everything_is_not_off(void **unused)
{
    (void)unused;
    const double rates[] = {30, 24, 12};
    for (int variant = 0; variant < 24; variant++) {
        const int turned = variant & 1, one = variant >> 1 & 1, teleport = 11 * (variant >> 2 & 1);
        double rate = rates[variant >> 3];
        run t;
        run_create_at(&t, rate, turned, true, (reduced_options){.regions = 1, .stride = 1, .one = one}, teleport);
        su_estimate_total total = estimate_to(&t, 1e-10, 1, NULL, NULL);
        printf("# %g frames a second, %s rest, %s, teleport %d: %.1e\n", rate, turned ? "turned" : "posed",
               one ? "one basis" : "a basis a pose", teleport, total.relative);
        assert_true(total.relative < 1e-5 && total.damped == 0 && total.failed == 0);
        run_free(&t);
    }
}

/* Nothing but inertia then answers some forces. The beam tumbles after frame 11, and its two simulations part. */
static void flesh_may_be_held_by_nothing(void **unused)
{
    (void)unused;
    run t;
    run_create_at(&t, fps, true, false, (reduced_options){.regions = 1, .stride = 1, .one = true}, 0);
    estimate_to(&t, 1e-10, 1, NULL, NULL);
    for (int k = 0; k < FRAMES; k++) assert_true(isfinite(t.estimate[k]) && (k > 11 || t.estimate[k] < 1e-5));
    run_free(&t);
}

/* By frame and over the shot; with Newton as bakes have it, too. */
static void few_modes_are_as_far_off_as_estimated(void **unused)
{
    (void)unused;
    for (int variant = 0; variant < 3; variant++) {
        run t;
        const bool loose = variant == 2;
        const int stride = variant == 1 ? 2 : 1;
        double error[FRAMES];
        run_create(&t, true,
                   (reduced_options){.r = 36, .regions = 1, .stride = stride, .one = true, .lacking = stride > 1}, 0);
        su_estimate_total total = estimate_to(&t, loose ? SU_LED_TOLERANCE : 1e-10, 1, NULL, NULL);
        double off = truth(&t, error), worst = 0;
        printf("# stride %d%s: %.4f estimated, %.4f true\n", stride, loose ? ", as bakes" : "", total.relative, off);
        assert_true(off > 0.005);
        for (int k = 0; k < FRAMES; k++) {
            assert_near(t.estimate[k], error[k], loose ? 0.1 * off * total.motion : 1e-4 * off * total.motion);
            worst = fmax(worst, t.estimate[k]);
        }
        assert_near(total.largest, worst / total.motion, 1e-12);
        run_free(&t);
    }
}

static void reduced_leads(void *self, int64_t instant, double *back) { su_reduced_motion_at(self, instant, back); }

/* What is played beside the reduced run is the full simulation, with a solve a step; alone, to the same tolerance, as
 * many solves end farther from it. */
static void the_led_run_is_the_full_simulation(void **unused)
{
    (void)unused;
    run t;
    su_shot_counts counts;
    int32_t status[FRAMES];
    su_sim_settings settings = su_sim_defaults();
    run_create(&t, true, (reduced_options){.r = 36, .regions = 1, .stride = 1, .one = true}, 0);
    int64_t count = FRAMES * 3 * t.s.tet.n;
    double *full = full_motion(&t), *u = calloc((size_t)count, sizeof *u);
    float *led = calloc((size_t)count, sizeof *led);
    const double tolerances[] = {1e-10, SU_LED_TOLERANCE}, bounds[] = {1e-6, 5e-3};
    for (int k = 0; k < 2; k++) {
        estimate_to(&t, tolerances[k], 1, led, status);
        for (int64_t i = 0; i < count; i++) u[i] = (double)led[i];
        double off = difference(count, u, full) / largest(count, full);
        printf("# Newton to %.0e: %.1e off\n", tolerances[k], off);
        assert_true(off < bounds[k]);
        for (int i = 0; i < FRAMES; i++) assert_int_equal(status[i], SU_STATUS_OK);
    }
    su_fullsim *sim;
    su_reduced_motion motion;
    su_error err = {0};
    double led_off = difference(count, u, full);
    double *alone = scene_full_run(&t.s, &settings, SU_LED_TOLERANCE, NULL, NULL, &counts);
    double alone_off = difference(count, alone, full);
    assert_int_equal(su_reduced_motion_create(&t.r.model, t.s.shot, &t.settings, &t.r.sim, &motion, &err), SU_OK);
    const su_fullsim_options options = {
        .tolerance = SU_LED_TOLERANCE, .threads = 1, .leader = {reduced_leads, &motion}};
    assert_int_equal(su_fullsim_create(&t.s.tet, &t.s.fit, t.s.shot, &t.settings, &options, &sim, &err), SU_OK);
    for (int k = 1; k < FRAMES; k++) assert_int_equal(su_fullsim_advance(sim, &err), SU_OK);
    const int64_t solves = su_fullsim_totals(sim)->solves;
    printf("# %d solves led, %d alone, in %d steps; off by %.1e and %.1e m\n", (int)solves, (int)counts.solves,
           (int)counts.steps, led_off, alone_off);
    assert_true(solves >= counts.steps && solves <= counts.solves && led_off < 0.3 * alone_off);
    su_fullsim_free(sim), su_reduced_motion_free(&motion);
    free(full), free(u), free(led), free(alone);
    run_free(&t);
}

/* A leader of a test: how far it has moved at an instant, all vertices alike; and how often it was asked. */
typedef struct leader {
    int64_t n, asked;
    double step; /* m */
} leader;

static void lead(void *self, int64_t instant, double *back)
{
    leader *at = self;
    at->asked++;
    for (int64_t i = 0; i < 3 * at->n; i++) back[i] = at->step * (double)(instant * instant);
}

/* Where what leads leads nowhere, steps begin as without it: the same bytes. Where it only leads astray, Newton still
 * comes to the same end. */
static void a_leader_that_is_lost_does_no_harm(void **unused)
{
    (void)unused;
    scene s;
    su_sim_settings settings = su_sim_defaults();
    scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, fps, scene_swing, 0, NULL);
    int64_t count = FRAMES * 3 * s.tet.n;
    su_shot_counts alone_counts, counts;
    leader at = {.n = s.tet.n};
    su_fullsim_options options = {.tolerance = 1e-9, .threads = 1, .iterative = true};
    double *alone = scene_full_run_with(&s, &settings, &options, NULL, NULL, &alone_counts);
    options.leader = (su_fullsim_leader){lead, &at};
    const double steps[] = {NAN, 1e-4};
    for (int k = 0; k < 2; k++) {
        at.step = steps[k], at.asked = 0;
        double *led = scene_full_run_with(&s, &settings, &options, NULL, NULL, &counts);
        assert_true(at.asked > counts.steps && counts.halved == alone_counts.halved);
        if (k == 0)
            assert_memory_equal(led, alone, (size_t)count * sizeof *led);
        else
            assert_near(difference(count, led, alone), 0, 1e-6 * largest(count, alone));
        free(led);
    }
    free(alone);
    scene_free(&s);
}

/* A cycle begins in the state of the reduced run, displacement and velocity: with a basis of everything the two never
 * part; with contact, too, which nothing meets here. */
static void a_cycle_begins_as_the_reduced_run_does(void **unused)
{
    (void)unused;
    for (int contact = SU_SELF_CONTACT_NONE; contact <= SU_SELF_CONTACT_NEW; contact++) {
        run t;
        run_create(&t, true, (reduced_options){.regions = 1, .stride = 1, .one = true}, 0);
        t.inputs.cycle = true, t.inputs.self_contact = contact;
        for (int64_t k = 0; k < t.r.model.r; k++) t.r.sim.q[k] += 1e-3, t.r.sim.qdot[k] += 0.1; /* of frame 0 */
        su_estimate_total moving = estimate_to(&t, 1e-10, 1, NULL, NULL);
        assert_true(t.estimate[0] < 1e-9 && moving.relative > 1e-3); /* where it begins; its path is another one's */
        assert_true(moving.led == !contact);
        for (int64_t k = 0; k < t.r.model.r; k++) t.r.sim.q[k] -= 1e-3, t.r.sim.qdot[k] -= 0.1;
        assert_true(estimate_to(&t, 1e-10, 1, NULL, NULL).relative < 1e-5);
        run_free(&t);
    }
}

static void threads_do_not_change_a_bit(void **unused)
{
    (void)unused;
    run t;
    double one[FRAMES];
    run_create(&t, true, (reduced_options){.r = 20, .regions = 1, .stride = 1, .one = true}, 0);
    su_estimate_total first = estimate_to(&t, SU_LED_TOLERANCE, 1, NULL, NULL);
    memcpy(one, t.estimate, sizeof one);
    su_estimate_total second = estimate_to(&t, SU_LED_TOLERANCE, 3, NULL, NULL);
    assert_memory_equal(one, t.estimate, sizeof one);
    assert_true(first.relative == second.relative && first.motion == second.motion);
    run_free(&t);
}

static void files_of_another_character_are_refused(void **unused)
{
    (void)unused;
    run t;
    scene other;
    su_estimate_total total;
    su_error err = {0};
    run_create(&t, true, (reduced_options){.r = 20, .regions = 1, .stride = 1, .one = true}, 0);
    scene_create(&other, 5, 1, 1, 3, poses3, FRAMES, fps, scene_swing, 0, NULL);
    t.inputs.tet = &other.tet;
    assert_int_equal(su_error_estimate(&t.inputs, t.estimate, NULL, NULL, &total, NULL, &err), SU_INPUT);
    scene_free(&other);
    run_free(&t);
}

static void the_full_space_answers(void **unused)
{
    (void)unused;
    enum { STATES = 3 };
    scene s;
    su_error err = {0};
    su_elastic body;
    su_sparse K0 = {0}, K[STATES] = {{0}};
    su_cholesky *factor;
    su_cholesky_half *half;
    su_turned_solver *solver;
    scene_create(&s, 4, 2, 2, 3, poses3, 2, fps, scene_swing, 0, NULL);
    assert_int_equal(su_elastic_of_fit(&body, &s.tet, &s.fit, SU_NEOHOOKEAN, &err), SU_OK);
    int64_t n = s.tet.n, dofs = 3 * body.free_count;
    double *turn = calloc((size_t)(4 * n), sizeof *turn), *y = calloc((size_t)(3 * n), sizeof *y),
           *b = calloc((size_t)(STATES * dofs), sizeof *b);
    double *x = calloc((size_t)(STATES * dofs), sizeof *x), *wanted = calloc((size_t)(STATES * dofs), sizeof *wanted);
    assert_int_equal(su_sparse_clone_pattern(&body.pattern, &K0, &err), SU_OK);
    su_elastic_stiffness(&body, s.tet.vertices, true, &K0, 1);
    assert_int_equal(su_cholesky_create(&body.pattern, 1, &factor, &err), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &K0, &err), SU_OK);
    assert_int_equal(su_cholesky_half_create(factor, &half, &err), SU_OK);
    su_sparse_product *product;
    assert_int_equal(su_sparse_product_create(&body.pattern, 1, &product, &err), SU_OK);
    assert_int_equal(su_turned_solver_create(&body, half, product, 1, &solver, &err), SU_OK);
    for (int64_t v = 0; v < n; v++) turn[4 * v] = 1;
    for (int i = 0; i < STATES; i++) { /* stretched by 0, 10 and 20 % */
        for (int64_t k = 0; k < 3 * n; k++) y[k] = s.tet.vertices[k] * (k % 3 == 0 ? 1 + 0.1 * i : 1);
        assert_int_equal(su_sparse_clone_pattern(&body.pattern, &K[i], &err), SU_OK);
        su_elastic_stiffness(&body, y, true, &K[i], 1);
        for (int64_t k = 0; k < dofs; k++) wanted[i * dofs + k] = sin((double)(k + 7 * i));
        su_sparse_multiply(&K[i], wanted + i * dofs, b + i * dofs);
        assert_true(su_turned_solver_solve(solver, &K[i], NULL, turn, 1e-5, i == 0 ? 4 : 16, b + i * dofs,
                                           x + i * dofs)); /* its own factor: at once, for halves */
        assert_near(difference(dofs, x + i * dofs, wanted + i * dofs), 0, 1e-3);
    }
    assert_false(su_turned_solver_solve(solver, &K[2], NULL, turn, 1e-12, 3, b, x));
    /* The stretched body's own factor, from a pose whose rotations are those of now: at once, too. Where they differ it
     * is another matrix's, and the neutral one is back when asked for. */
    su_cholesky_half *own;
    double *then = calloc((size_t)(4 * n), sizeof *then);
    for (int64_t v = 0; v < n; v++) then[4 * v] = 0.8, then[4 * v + 1] = 0.6;
    assert_int_equal(su_cholesky_half_create(factor, &own, &err), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &K[2], &err), SU_OK);
    su_cholesky_half_copy(own, factor);
    su_turned_solver_precondition(solver, own, then);
    assert_true(su_turned_solver_solve(solver, &K[2], NULL, then, 1e-5, 4, b + 2 * dofs, x + 2 * dofs));
    assert_near(difference(dofs, x + 2 * dofs, wanted + 2 * dofs), 0, 1e-3);
    assert_false(su_turned_solver_solve(solver, &K[2], NULL, turn, 1e-5, 4, b + 2 * dofs, x + 2 * dofs));
    su_turned_solver_precondition(solver, half, NULL);
    assert_true(su_turned_solver_solve(solver, &K[0], NULL, turn, 1e-5, 4, b, x));
    su_cholesky_half_free(own), free(then);
    for (int i = 0; i < STATES; i++) su_sparse_free(&K[i]);
    su_sparse_free(&K0);
    su_turned_solver_free(solver), su_sparse_product_free(product);
    su_cholesky_half_free(half), su_cholesky_free(factor);
    su_elastic_free(&body);
    free(turn), free(y), free(b), free(x), free(wanted);
    scene_free(&s);
}

/* Full displacements set by hand, two joints: one carries vertex 0 alone, the other the rest. */
static void what_moved_by_joint(void **unused)
{
    (void)unused;
    run t;
    su_moved moved;
    su_error err = {0};
    run_create(&t, true, (reduced_options){.r = 12, .regions = 1, .stride = 1, .one = true}, 0);
    int64_t nbar = t.r.model.nbar, n = t.s.tet.n;
    float *weights = calloc((size_t)(3 * nbar), sizeof *weights);
    double *u = calloc((size_t)(FRAMES * 3 * n), sizeof *u);
    for (int64_t v = 0; v < nbar; v++) weights[3 * v + (v > 0)] = 1;
    weights[3 * 5 + 1] = 0.6f, weights[3 * 5 + 2] = 0.4f; /* the third joint carries nothing most */
    for (int64_t k = 0; k < FRAMES; k++) u[3 * (k * n) + 1] = 0.02;
    u[3 * (7 * n + 5) + 2] = -0.5;
    su_anim anim = t.s.anim;
    float *points = calloc((size_t)(FRAMES * 3 * nbar), sizeof *points);
    memcpy(points, anim.points, (size_t)(FRAMES * 3 * nbar) * sizeof *points);
    for (int64_t i = 0; i < 4 * 3 * nbar; i++) points[i] += 2.0f; /* the rig jumps into frame 4 */
    anim.weights = weights, anim.B = 3, anim.points = points;
    su_sim sim = {.F = FRAMES, .n = n, .m = t.r.model.m, .u = u, .weights = t.r.sim.weights};
    assert_int_equal(su_moved_measure(&t.r.model, &anim, t.s.shot, &sim, 2, &moved, &err), SU_OK);
    assert_near(moved.largest, 0.5, 1e-9);
    assert_true(moved.frame == 7 && moved.vertex == 5 && moved.joint == 1);
    assert_near(moved.frame_largest[6], 0.02, 1e-9);
    assert_int_equal(moved.count, 2);
    const su_moved_joint *first = moved.joint_motion, *second = first + 1;
    assert_true(first->joint == 0 && second->joint == 1);
    assert_near(first->mean, 0.02, 1e-9);
    assert_near(first->largest, 0.02, 1e-9);
    assert_true(second->mean > 0 && second->mean < 0.02);
    assert_near(second->largest, 0.5, 1e-9);
    assert_true(moved.body <= 0.5);
    assert_true(moved.rig_frame == 4 && moved.rig_step > 3.0 && moved.rig_step < 4.0);
    su_moved_free(&moved);
    free(u), free(weights), free(points);
    run_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_basis_that_spans_everything_is_not_off),
        cmocka_unit_test(flesh_may_be_held_by_nothing),
        cmocka_unit_test(few_modes_are_as_far_off_as_estimated),
        cmocka_unit_test(the_led_run_is_the_full_simulation),
        cmocka_unit_test(a_leader_that_is_lost_does_no_harm),
        cmocka_unit_test(a_cycle_begins_as_the_reduced_run_does),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(files_of_another_character_are_refused),
        cmocka_unit_test(the_full_space_answers),
        cmocka_unit_test(what_moved_by_joint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
