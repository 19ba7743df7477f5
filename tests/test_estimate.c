/* The error that a bake is estimated to have, and the stretches that are played in the full space for it. */
#include "estimate/error_estimate.h"
#include "estimate/error_motion.h"
#include "fem/turned_solver.h"
#include "estimate/full_stretches.h"
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
    t->inputs = (su_estimate_inputs){&t->r.model, &t->s.tet, &t->s.fit, t->s.shot, &t->settings, &t->r.sim};
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

static su_estimate_total estimate(run *t, int threads)
{
    su_estimate_total total;
    su_error err = {0};
    if (su_error_estimate(&t->inputs, threads, t->estimate, &total, NULL, &err) != SU_OK) fail_msg("%s", err.text);
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
    assert_int_equal(su_reconstruct_shot(rec, t->s.shot, &t->r.sim, 0, FRAMES, u, NULL, NULL, &err), SU_OK);
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
        su_estimate_total total = estimate(&t, 1);
        printf("# %g frames a second, %s rest, %s, teleport %d: %.1e\n", rate, turned ? "turned" : "posed",
               one ? "one basis" : "a basis a pose", teleport, total.relative);
        assert_true(total.frames == FRAMES - 1 - (teleport > 0) && total.relative < 1e-5);
        run_free(&t);
    }
}

/* Nothing but inertia then answers some forces. The beam tumbles after frame 11, and its two simulations part. */
static void flesh_may_be_held_by_nothing(void **unused)
{
    (void)unused;
    run t;
    double error[FRAMES];
    run_create_at(&t, fps, true, false, (reduced_options){.regions = 1, .stride = 1, .one = true}, 0);
    estimate(&t, 1);
    truth(&t, error);
    for (int k = 0; k < FRAMES; k++)
        assert_true(isfinite(t.estimate[k]) && (k > 11 || (error[k] < 1e-6 && t.estimate[k] < 1e-5)));
    printf("# floating: at the end %.2f m estimated, %.2f true\n", t.estimate[FRAMES - 1], error[FRAMES - 1]);
    run_free(&t);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void few_modes_are_as_far_off_as_estimated(void **unused)
{
    (void)unused;
    for (int stride = 1; stride <= 2; stride++) {
        run t;
        double error[FRAMES], ratio[FRAMES];
        run_create(&t, true,
                   (reduced_options){.r = 36, .regions = 1, .stride = stride, .one = true, .lacking = stride > 1}, 0);
        su_estimate_total total = estimate(&t, 1);
        double off = truth(&t, error);
        int within = 0;
        for (int k = 1; k < FRAMES; k++) ratio[k] = t.estimate[k] / error[k], within += ratio[k] > 0.5 && ratio[k] < 2;
        qsort(ratio + 1, FRAMES - 1, sizeof *ratio, ascending);
        printf("# stride %d: %.3f estimated, %.3f true; by frame %.2f, %d of %d within a factor of two\n", stride,
               total.relative, off, ratio[FRAMES / 2], within, FRAMES - 1);
        assert_true(off > 0.005 && total.relative > 0.67 * off && total.relative < 1.5 * off);
        assert_true(within >= (9 * (FRAMES - 1) + 5) / 10);
        assert_true(t.estimate[0] < 0.1 * total.motion); /* it hangs a little */
        run_free(&t);
    }
}

/* Room for the displacements of a shot. */
static su_status room(void *self, float **u, su_error *err)
{
    (void)err;
    *u = *(float **)self;
    return SU_OK;
}

/* Frames around those marked are played in the full space, as if steps there had been damped. u (FRAMES,n,3): of the
 * frames of the stretches. */
static void play(run *t, const int *marked, double bound, su_full_stretches *stretches, double tolerance, int threads,
                 double *u, double *estimate)
{
    int64_t count = FRAMES * 3 * t->s.tet.n;
    int32_t status[FRAMES] = {0};
    su_estimate_total total;
    su_error err = {0};
    float *played = calloc((size_t)count, sizeof *played);
    const su_full_options options = {
        .bound = bound, .tolerance = tolerance, .threads = threads, .room = room, .self = &played};
    for (; marked && *marked >= 0; marked++) status[*marked] = SU_STATUS_DAMPED;
    assert_int_equal(su_full_stretches_create(FRAMES, stretches, &err), SU_OK);
    if (su_full_stretches_play(&t->inputs, &options, stretches, status, estimate, &total, NULL, &err) != SU_OK)
        fail_msg("%s", err.text);
    for (int64_t i = 0; i < count; i++) u[i] = (double)played[i];
    free(played);
}

static void threads_do_not_change_a_bit(void **unused)
{
    (void)unused;
    run t;
    double one[FRAMES];
    run_create(&t, true, (reduced_options){.r = 20, .regions = 1, .stride = 1, .one = true}, 0);
    su_estimate_total first = estimate(&t, 1);
    memcpy(one, t.estimate, sizeof one);
    su_estimate_total second = estimate(&t, 3);
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
    assert_int_equal(su_error_estimate(&t.inputs, 1, t.estimate, &total, NULL, &err), SU_INPUT);
    scene_free(&other);
    run_free(&t);
}

/* One mode under a force that grows evenly and then stays, against the closed solution. */
static void errors_swing_like_an_oscillator(void **unused)
{
    (void)unused;
    const double mass = 1, stiffness = 400, beta = 2e-3, h = 1e-5, rise = 0.02, force = 3;
    su_error_motion motion;
    su_error err = {0};
    assert_int_equal(su_error_motion_create(1, 0, beta, h, &motion, &err), SU_OK);
    double omega = sqrt(stiffness), zeta = 0.5 * beta * omega, damped = omega * sqrt(1 - zeta * zeta);
    assert_int_equal(su_error_motion_advance(&motion, (int64_t)(rise / h + 0.5), &mass, &stiffness, &force, &err),
                     SU_OK);
    for (int k = 1; k <= 20; k++) {
        assert_int_equal(su_error_motion_advance(&motion, 1000, &mass, &stiffness, &force, &err), SU_OK);
        double sum = 0, t = rise + 1000 * h * k;
        for (int i = 0; i < 2; i++) { /* a ramp from 0 less one from `rise` on */
            double s = t - i * rise, lag = 2 * zeta / omega, e = exp(-zeta * omega * s);
            double ramp = s - lag + e * (lag * cos(damped * s) + (zeta * omega * lag - 1) / damped * sin(damped * s));
            sum += (i ? -1 : 1) * force / (rise * stiffness) * ramp;
        }
        assert_near(motion.x[0], sum, 2e-3 * force / stiffness);
    }
    const double soft = -100; /* what pushes away counts as no stiffness */
    assert_int_equal(su_error_motion_advance(&motion, 100, &mass, &soft, &force, &err), SU_OK);
    assert_true(isfinite(motion.x[0]));
    su_error_motion_free(&motion);
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

static void stretches_join_and_end_with_the_shot(void **unused)
{
    (void)unused;
    enum { F = 100 };
    su_stretch_rule rule = su_stretch_rule_of(F, 1.0 / 25);
    su_full_stretches stretches;
    su_error err = {0};
    assert_int_equal(su_full_stretches_create(F, &stretches, &err), SU_OK);
    assert_true(stretches.count == 0 && stretches.frames == 0);
    const struct {
        int64_t k;
        bool fresh;
    } over[] = {{2, true}, {30, true}, {35, false}, {97, true}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(su_full_stretches_reach(&stretches, &rule, over[i].k, 0), over[i].fresh);
    assert_int_equal(stretches.count, 3); /* 5 frames before and behind, 4 to fade */
    const int64_t wanted[3][3] = {{0, 8, 11}, {25, 41, 44}, {92, F, F - 1}};
    int64_t frames = 0;
    for (int i = 0; i < 3; i++) {
        const su_full_stretch *s = stretches.stretch + i;
        assert_true(s->first == wanted[i][0] && s->fade == wanted[i][1] && s->last == wanted[i][2]);
        frames += s->last - s->first + 1;
    }
    assert_int_equal(stretches.frames, frames);
    stretches.count = stretches.frames = 0;
    su_full_stretches_reach(&stretches, &rule, 50, 48); /* where the error is small enough, not before */
    assert_true(su_full_stretches_reach(&stretches, &rule, 65, 61) && stretches.stretch[0].first == 48);
    assert_int_equal(stretches.stretch[1].first, 61);
    su_full_stretches_free(&stretches);
}

/* The whole shot in the full space is the full simulation; stretches of it come near, and do not depend on the threads.
 */
static void stretches_are_the_full_simulation(void **unused)
{
    (void)unused;
    run t;
    su_full_stretches stretches;
    run_create(&t, true, (reduced_options){.r = 36, .regions = 1, .stride = 1, .one = true}, 0);
    int64_t n3 = 3 * t.s.tet.n;
    double *full = full_motion(&t), *u = calloc((size_t)(FRAMES * n3), sizeof *u);
    double *again = calloc((size_t)(FRAMES * n3), sizeof *again), estimates[FRAMES] = {0};
    play(&t, (int[]){1, 10, 20, -1}, INFINITY, &stretches, 1e-10, 1, u, estimates);
    assert_true(stretches.count == 1 && stretches.frames == FRAMES);
    assert_near(difference(FRAMES * n3, u, full), 0, 1e-6 * largest(FRAMES * n3, full));
    assert_true(estimates[10] <= estimates[1]);
    su_full_stretches_free(&stretches);
    play(&t, NULL, 1e-9, &stretches, SU_PLAY_TOLERANCE, 1, u,
         estimates); /* as bakes play: no eye sees the difference */
    assert_int_equal(stretches.frames, FRAMES);
    double loose = difference(FRAMES * n3, u, full) / largest(FRAMES * n3, full);
    printf("# Newton to %.0e: %.1e off\n", SU_PLAY_TOLERANCE, loose);
    assert_true(loose > 0 && loose < 5e-3);
    su_full_stretches_free(&stretches);

    double error[FRAMES];
    truth(&t, error);
    const int part[] = {16, -1}; /* frames 10 to the end */
    play(&t, part, INFINITY, &stretches, 1e-10, 2, u, estimates);
    int64_t first = stretches.stretch[0].first, frames = stretches.frames;
    su_full_stretches_free(&stretches);
    play(&t, part, INFINITY, &stretches, 1e-10, 1, again, estimates);
    assert_int_equal(stretches.frames, frames);
    assert_memory_equal(u, again, (size_t)(frames * n3) * sizeof *u);
    for (int k = 0; k < 2; k++) { /* it begins as far off as the reduced run, and loses half of that */
        double sum = 0;
        int64_t at = k ? 16 : first;
        for (int64_t i = 0; i < n3; i++) sum += pow(u[(at - first) * n3 + i] - full[at * n3 + i], 2);
        printf("# frame %lld: %.2e off, the reduced run %.2e\n", (long long)at, sqrt(3 * sum / (double)n3), error[at]);
        if (k == 0)
            assert_near(sqrt(3 * sum / (double)n3), error[at], 1e-5 * error[at]);
        else
            assert_true(sqrt(3 * sum / (double)n3) < 0.5 * fmax(error[at], error[first]));
    }
    su_full_stretches_free(&stretches);
    free(full), free(u), free(again);
    run_free(&t);
}

/* A stretch over a jump of the rig, with a basis a pose that spans everything, is the reduced run again. */
static void stretches_go_over_teleports(void **unused)
{
    (void)unused;
    run t;
    su_full_stretches stretches;
    su_reconstruct *rec;
    su_error err = {0};
    double estimates[FRAMES] = {0};
    for (int begins = 11; begins < 14; begins++) { /* behind the jump, at it, before it */
        run_create(&t, true, (reduced_options){.regions = 1, .stride = 1}, 11);
        int64_t n3 = 3 * t.s.tet.n;
        double *u = calloc((size_t)(FRAMES * n3), sizeof *u), *reduced = calloc((size_t)(FRAMES * n3), sizeof *u);
        const int marked[] = {begins + 5, -1}; /* six frames are added before */
        play(&t, marked, INFINITY, &stretches, 1e-10, 1, u, estimates);
        assert_int_equal(stretches.stretch[0].first, begins - 1);
        assert_int_equal(su_reconstruct_create(&t.r.model, SU_COROTATED, 0, NULL, 1, &rec, &err), SU_OK);
        assert_int_equal(su_reconstruct_shot(rec, t.s.shot, &t.r.sim, 0, FRAMES, reduced, NULL, NULL, &err), SU_OK);
        double off = difference(stretches.frames * n3, u, reduced + (begins - 1) * n3) / largest(FRAMES * n3, reduced);
        printf("# from frame %d, the rig jumps before 11: off by %.1e\n", begins - 1, off);
        assert_true(off < 1e-4);
        su_reconstruct_free(rec);
        su_full_stretches_free(&stretches);
        free(u), free(reduced);
        run_free(&t);
    }
}

/* Frames outside of stretches, and those that fade, are within the bound by the truth; where a stretch ends the
 * estimate goes on from what the full motion says, and stays as good as it was. */
static void the_bound_is_kept(void **unused)
{
    (void)unused;
    run t;
    su_full_stretches stretches;
    run_create(&t, true, (reduced_options){.r = 36, .regions = 1, .stride = 1, .one = true}, 0);
    int64_t n3 = 3 * t.s.tet.n;
    double error[FRAMES], estimates[FRAMES], moved = 0, *u = calloc((size_t)(FRAMES * n3), sizeof *u);
    double *full = full_motion(&t);
    truth(&t, error);
    for (int64_t i = 0; i < FRAMES * n3; i++) moved += full[i] * full[i];
    moved = sqrt(3 * moved / (double)(FRAMES * n3));
    /* Steps damped at frames 2 and 3 stand for a fierce beginning: one stretch, and the estimate behind it. */
    play(&t, (int[]){2, 3, -1}, INFINITY, &stretches, 1e-10, 2, u, estimates);
    assert_true(stretches.count == 1 && stretches.stretch[0].first == 0);
    int64_t last = stretches.stretch[0].last;
    int within = 0, of = 0;
    for (int64_t k = last; k < FRAMES; k++, of++)
        within += estimates[k] > 0.5 * error[k] && estimates[k] < 2 * error[k];
    printf("# behind a stretch to frame %lld: %d of %d within a factor of two\n", (long long)last, within, of);
    assert_near(estimates[last], error[last], 1e-3 * error[last]);
    assert_true(10 * within >= 9 * of);
    su_full_stretches_free(&stretches);
    double worst = 0, bound;
    for (int k = 0; k < FRAMES; k++) worst = fmax(worst, error[k] / moved);
    bound = 0.7 * worst;
    play(&t, NULL, bound, &stretches, 1e-10, 2, u, estimates);
    printf("# bound %.3f: %lld frames in %lld stretches\n", bound, (long long)stretches.frames,
           (long long)stretches.count);
    assert_true(stretches.frames > 0);
    int64_t row = 0;
    for (int64_t k = 0, i = 0; k < FRAMES; k++) {
        double off = error[k];
        while (i < stretches.count && stretches.stretch[i].last < k) i++;
        if (i < stretches.count && k >= stretches.stretch[i].first) {
            off = 0;
            for (int64_t v = 0; v < n3; v++) off += pow(u[row * n3 + v] - full[k * n3 + v], 2);
            off = sqrt(3 * off / (double)n3), row++;
        }
        assert_true(off < 1.1 * bound * moved);
    }
    assert_int_equal(row, stretches.frames);
    su_full_stretches_free(&stretches);
    free(full), free(u);
    run_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_basis_that_spans_everything_is_not_off),
        cmocka_unit_test(flesh_may_be_held_by_nothing),
        cmocka_unit_test(few_modes_are_as_far_off_as_estimated),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(files_of_another_character_are_refused),
        cmocka_unit_test(errors_swing_like_an_oscillator),
        cmocka_unit_test(the_full_space_answers),
        cmocka_unit_test(what_moved_by_joint),
        cmocka_unit_test(stretches_join_and_end_with_the_shot),
        cmocka_unit_test(stretches_are_the_full_simulation),
        cmocka_unit_test(stretches_go_over_teleports),
        cmocka_unit_test(the_bound_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
