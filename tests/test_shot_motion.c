/* The rehearsal of shots: one vibrating mode against its analytic solution, principal directions, and that a quiet shot
 * counts beside a violent one. */
#include "reduce/modes/shot_motion.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

/* A constant force ends at force / omega^2; on the way there it overshoots as a damped oscillator does. */
static void one_mode(void **state)
{
    (void)state;
    const double square = pow(2 * M_PI * 2, 2), force = 3; /* 2 Hz */
    double most = 0;
    su_linear_motion motion;
    assert_int_equal(su_linear_motion_create(1, &square, &motion, NULL), SU_OK);
    for (int frame = 0; frame < 600; frame++) {
        assert_int_equal(su_linear_motion_frame(&motion, &force, 1.0 / 240, NULL), SU_OK);
        most = fmax(most, motion.q[0]);
    }
    double rest = force / square, overshoot = exp(-M_PI * 0.1 / sqrt(1 - 0.01)); /* damping ratio 0.1 */
    printf("# overshoot %.3f, analytic %.3f\n", most / rest - 1, overshoot);
    assert_near(most / rest - 1, overshoot, 0.06); /* implicit Euler at 240 Hz damps a little more */
    for (int frame = 0; frame < 2400; frame++)
        assert_int_equal(su_linear_motion_frame(&motion, &force, 1.0 / 240, NULL), SU_OK);
    assert_near(motion.q[0], rest, 1e-9 * rest);
    su_linear_motion_start(&motion);
    assert_true(motion.q[0] == 0);
    su_linear_motion_free(&motion);
}

/* Stiff modes follow their force: q = force / omega^2 at each frame, so that moments are known. */
static void principal_directions(void **state)
{
    (void)state;
    const double squares[3] = {1e10, 1e10, 1e10};
    su_linear_motion motion;
    double directions[9];
    int64_t count;
    assert_int_equal(su_linear_motion_create(3, squares, &motion, NULL), SU_OK);
    for (int frame = 0; frame < 400; frame++) {
        double phase = 2 * M_PI * frame / 400, force[3] = {3e10 * cos(phase), 1e10 * sin(phase), 0};
        assert_int_equal(su_linear_motion_frame(&motion, force, 100.0, NULL), SU_OK); /* long frames: no inertia */
    }
    assert_int_equal(su_linear_motion_principal(&motion, 3, 20, directions, &count, NULL), SU_OK);
    assert_int_equal(count, 2); /* the third never moves */
    assert_near(fabs(directions[0]), 3 / sqrt(2), 0.02);
    assert_near(fabs(directions[4]), 1 / sqrt(2), 0.02);
    su_linear_motion_free(&motion);
}

/* A second shot moves the third mode a hundredth as far as the first shot moves the first one; errors count shot by
 * shot. */
static void quiet_shot(void **state)
{
    (void)state;
    const double squares[3] = {1e10, 1e10, 1e10};
    su_linear_motion motion;
    double directions[9], weights[80];
    int64_t count;
    assert_int_equal(su_linear_motion_create(3, squares, &motion, NULL), SU_OK);
    for (int shot = 0; shot < 2; shot++) {
        su_linear_motion_start(&motion);
        for (int frame = 0; frame < 40; frame++) {
            double swing = 1e10 * cos(2 * M_PI * frame / 40), force[3] = {shot ? 0 : swing, 0, shot ? 0.1 * swing : 0};
            assert_int_equal(su_linear_motion_frame(&motion, force, 100.0, NULL), SU_OK);
        }
    }
    assert_int_equal(su_linear_motion_weights(&motion, 20, weights, NULL), SU_OK);
    assert_near(weights[0], 1, 1e-3);
    assert_near(weights[79], 10, 0.02);
    assert_int_equal(su_linear_motion_principal(&motion, 3, 20, directions, &count, NULL), SU_OK);
    assert_int_equal(count, 2);
    double along[3] = {0, 0, 0};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) along[i] += directions[3 * k + i] * directions[3 * k + i];
    assert_near(along[2] / along[0], 1, 0.01);
    assert_true(along[1] < 1e-12);
    su_linear_motion_free(&motion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_mode),
        cmocka_unit_test(principal_directions),
        cmocka_unit_test(quiet_shot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
