/* The driver of a shot over a stepper that is a log: what is entered and stepped in which order, what becomes of steps
 * that fail, and what is counted. */
#include "physics/shot_driver.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

/* A flesh without any: it knows where it stands, and steps longer than `longest` fail. */
typedef struct toy {
    double at, entered; /* frames */
    double longest;     /* s */
    bool damped_too;    /* damped steps that are too long fail as well */
    su_status fault;    /* of a step, instead */
    int64_t cut;        /* a piece begins at this frame */
    bool restless;      /* there is no equilibrium */
    double extra;       /* largest damping seen, 1/s */
    int planned;        /* instants of the plan that were entered */
    char log[4000];
} toy;

static void note(toy *t, const char *what) { strcat(t->log, what); }

static bool cut(void *self, int64_t frame) { return ((toy *)self)->cut == frame; }

static void enter(void *self, int64_t frame, double fraction, bool planned)
{
    toy *t = self;
    t->entered = (double)frame + fraction;
    t->planned += planned;
}

static void rest(void *self) { note(self, "rest "); }

static su_status settle(void *self, su_error *err)
{
    note(self, "settle ");
    return ((toy *)self)->restless ? su_fail(err, SU_NUMERICS, "no rest") : SU_OK;
}

static void start(void *self, bool ran) { note(self, ran ? "start-ran " : "start "); }

static void jump(void *self)
{
    toy *t = self;
    t->at = t->entered;
    note(t, "jump ");
}

static su_status step(void *self, double h, double extra, int *solves, su_error *err)
{
    toy *t = self;
    *solves = 2;
    t->extra = fmax(t->extra, extra);
    if (t->fault != SU_OK) return su_fail(err, t->fault, "a fault of the toy");
    if (h > t->longest && (extra == 0 || t->damped_too)) return su_fail(err, SU_NUMERICS, "%g s are too long", h);
    assert_true(t->entered == t->at || fabs((t->entered - t->at) / 10 - h) < 1e-12); /* 10 frames a second */
    t->at = t->entered;
    note(t, extra > 0 ? "damped " : "step ");
    return SU_OK;
}

static void follow(void *self, double h)
{
    toy *t = self;
    (void)h;
    t->at = t->entered;
    note(t, "follow ");
}

static const su_shot_stepper stepper = {.halvings = 2,
                                        .cut = cut,
                                        .enter = enter,
                                        .rest = rest,
                                        .settle = settle,
                                        .start = start,
                                        .jump = jump,
                                        .step = step,
                                        .follow = follow};

static su_sim_settings two_steps_a_frame(void)
{
    const double times[3] = {0, 0.1, 0.2};
    su_sim_settings settings = su_sim_defaults();
    settings.substeps = 2;
    assert_int_equal(su_sim_settings_resolve(&settings, 4, 3, times, 10, NULL), SU_OK);
    return settings;
}

/* A frame from `at` on. */
static su_shot_place frame(su_shot_driver *d, su_shot_place at, su_status expected)
{
    su_error err = {0};
    su_status status = SU_OK;
    do {
        at = su_shot_next(d, at);
        status = su_shot_to(d, at, &err);
    } while (status == SU_OK && !su_shot_ends_frame(d, at));
    assert_int_equal(status, expected);
    return at;
}

static void frames_are_steps_and_cuts_are_jumps(void **unused)
{
    (void)unused;
    toy t = {.longest = 1, .cut = 2};
    su_sim_settings settings = two_steps_a_frame();
    settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
    su_shot_driver d = su_shot_driver_of(&stepper, &t, &settings);
    assert_int_equal(su_shot_begin(&d, false, NULL), SU_OK);
    su_shot_place at = frame(&d, (su_shot_place){0, 0}, SU_OK);
    assert_near(t.at, 1, 0);
    at = frame(&d, at, SU_OK);
    assert_true(at.frame == 2 && at.substep == 0);
    at = frame(&d, at, SU_OK);
    assert_near(t.at, 3, 0);
    assert_string_equal(t.log, "rest start step step jump step step ");
    assert_int_equal(d.counts.steps, 4);
    assert_int_equal(d.counts.solves, 8);
    assert_int_equal(d.iterations, 8);
    assert_int_equal(d.status, SU_STATUS_OK);
    assert_int_equal(d.counts.first_bad_frame, -1);
    assert_int_equal(t.planned, 5);
}

static void before_frame_0_it_rests_settles_and_rolls(void **unused)
{
    (void)unused;
    toy t = {.longest = 1, .cut = -1};
    su_sim_settings settings = two_steps_a_frame();
    settings.settle = true, settings.preroll_steps = 2;
    su_shot_driver d = su_shot_driver_of(&stepper, &t, &settings);
    assert_int_equal(su_shot_begin(&d, false, NULL), SU_OK);
    assert_string_equal(t.log, "rest settle step step start-ran ");
    assert_int_equal(d.iterations, 0); /* of frame 0 */
    t.log[0] = 0;
    assert_int_equal(su_shot_begin(&d, true, NULL), SU_OK);
    assert_string_equal(t.log, "start "); /* a cycle goes on */
    t.longest = 0.01, t.log[0] = 0;
    assert_int_equal(su_shot_begin(&d, false, NULL), SU_OK); /* a still rig has nothing to halve */
    assert_string_equal(t.log, "rest settle damped damped start-ran ");
    su_error err = {0};
    t.damped_too = true;
    assert_int_equal(su_shot_begin(&d, false, &err), SU_NUMERICS);
    assert_string_equal(err.text, "pre-roll, step 1 of 2: 0.05 s are too long");
}

/* Relative gravity begins in the equilibrium where there is one; what asks for one must have it. */
static void hanging_flesh_begins_at_rest(void **unused)
{
    (void)unused;
    su_sim_settings settings = two_steps_a_frame();
    su_error err = {0};
    for (int restless = 0; restless < 2; restless++) {
        toy t = {.longest = 1, .cut = -1, .restless = restless};
        su_shot_driver d = su_shot_driver_of(&stepper, &t, &settings);
        settings.settle = settings.placed = false;
        assert_int_equal(su_shot_begin(&d, false, &err), SU_OK);
        assert_string_equal(t.log, "rest settle start ");
        settings.placed = true, t.log[0] = 0;
        assert_int_equal(su_shot_begin(&d, false, &err), SU_OK);
        assert_string_equal(t.log, "rest start ");
        settings.placed = false, settings.settle = true;
        assert_int_equal(su_shot_begin(&d, false, &err), restless ? SU_NUMERICS : SU_OK);
    }
    assert_string_equal(err.text, "no rest");
}

/* Steps of 50 ms: those that must be half as long, a quarter, an eighth, which is one halving too many; and nothing
 * that works at all. */
static void failing_steps_are_halved_then_damped_then_followed(void **unused)
{
    (void)unused;
    static const struct {
        double longest;
        bool damped_too;
        const char *log;
        int64_t halved, damped, failed;
        int status;
    } cases[] = {
        {0.03, false, "step step step step ", 2, 0, 0, SU_STATUS_HALVED},
        {0.015, false, "step step step step step step step step ", 6, 0, 0, SU_STATUS_HALVED},
        {0.01, false, "damped damped damped damped damped damped damped damped ", 6, 8, 0, SU_STATUS_DAMPED},
        {0.01, true, "follow follow follow follow follow follow follow follow ", 6, 8, 8, SU_STATUS_FAILED},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        toy t = {.longest = cases[k].longest, .damped_too = cases[k].damped_too, .cut = -1, .at = 1};
        su_sim_settings settings = two_steps_a_frame();
        su_shot_driver d = su_shot_driver_of(&stepper, &t, &settings);
        frame(&d, (su_shot_place){1, 0}, SU_OK);
        assert_string_equal(t.log, cases[k].log);
        assert_near(t.at, 2, 0);
        assert_int_equal(d.counts.halved, cases[k].halved);
        assert_int_equal(d.counts.damped, cases[k].damped);
        assert_int_equal(d.counts.failed, cases[k].failed);
        assert_int_equal(d.status, cases[k].status);
        assert_int_equal(d.counts.first_bad_frame, 1);
        assert_string_equal(d.counts.first_bad_cause.text, "0.05 s are too long");
        if (cases[k].damped) assert_near(t.extra, 10 / 0.0125, 1e-9);
    }
}

static void other_errors_end_the_shot(void **unused)
{
    (void)unused;
    toy t = {.longest = 1, .cut = -1, .fault = SU_AGAIN};
    su_sim_settings settings = two_steps_a_frame();
    su_shot_driver d = su_shot_driver_of(&stepper, &t, &settings);
    su_error err = {0};
    assert_int_equal(su_shot_to(&d, (su_shot_place){0, 1}, &err), SU_AGAIN);
    assert_string_equal(err.text, "a fault of the toy");
    assert_int_equal(d.counts.halved + d.counts.damped, 0);
    assert_int_equal(su_shot_step(&d, 0.1, &err), SU_AGAIN);
}

/* A live rig: nothing to halve towards. */
static void a_live_step_is_damped_at_once(void **unused)
{
    (void)unused;
    static const su_shot_stepper live = {.step = step, .follow = follow};
    toy t = {.longest = 0.15, .at = 0, .entered = 1};
    su_sim_settings settings = su_sim_defaults();
    su_shot_driver d = su_shot_driver_of(&live, &t, &settings);
    assert_int_equal(su_shot_step(&d, 0.1, NULL), SU_OK);
    assert_int_equal(d.status, SU_STATUS_OK);
    t.entered = 3;
    assert_int_equal(su_shot_step(&d, 0.2, NULL), SU_OK);
    assert_int_equal(d.status, SU_STATUS_DAMPED);
    t.entered = 5, t.damped_too = true;
    assert_int_equal(su_shot_step(&d, 0.2, NULL), SU_OK);
    assert_int_equal(d.status, SU_STATUS_FAILED);
    assert_string_equal(t.log, "step damped follow ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_are_steps_and_cuts_are_jumps),
                                       cmocka_unit_test(before_frame_0_it_rests_settles_and_rolls),
                                       cmocka_unit_test(hanging_flesh_begins_at_rest),
                                       cmocka_unit_test(failing_steps_are_halved_then_damped_then_followed),
                                       cmocka_unit_test(other_errors_end_the_shot),
                                       cmocka_unit_test(a_live_step_is_damped_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
