/* The rehearsal of shots: one vibrating mode against its analytic solution, principal directions and extremes; static shapes
 * at full size against equilibrium. */
#include "box.h"
#include "reduce/loaded_shapes.h"
#include "reduce/shot_motion.h"

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
    const double square = pow(2 * M_PI * 2, 2), force = 3;   /* 2 Hz */
    double most = 0;
    su_linear_motion motion;
    assert_int_equal(su_linear_motion_create(1, &square, &motion, NULL), SU_OK);
    for (int frame = 0; frame < 600; frame++) {
        assert_int_equal(su_linear_motion_frame(&motion, &force, 1.0 / 240, NULL), SU_OK);
        most = fmax(most, motion.q[0]);
    }
    double rest = force / square, overshoot = exp(-M_PI * 0.1 / sqrt(1 - 0.01));   /* damping ratio 0.1 */
    printf("# overshoot %.3f, analytic %.3f\n", most / rest - 1, overshoot);
    assert_near(most / rest - 1, overshoot, 0.06);   /* implicit Euler at 240 Hz damps a little more */
    for (int frame = 0; frame < 2400; frame++) assert_int_equal(su_linear_motion_frame(&motion, &force, 1.0 / 240, NULL), SU_OK);
    assert_near(motion.q[0], rest, 1e-9 * rest);
    su_linear_motion_start(&motion);
    assert_true(motion.q[0] == 0);
    su_linear_motion_free(&motion);
}

/* Stiff modes follow their force: q = force / omega^2 at each frame, so that moments are known. */
static void principal_and_extremes(void **state)
{
    (void)state;
    const double squares[3] = {1e10, 1e10, 1e10};
    su_linear_motion motion;
    double directions[9], states[9];
    int64_t count;
    assert_int_equal(su_linear_motion_create(3, squares, &motion, NULL), SU_OK);
    for (int frame = 0; frame < 400; frame++) {
        double phase = 2 * M_PI * frame / 400, force[3] = {3e10 * cos(phase), 1e10 * sin(phase), 0};
        assert_int_equal(su_linear_motion_frame(&motion, force, 100.0, NULL), SU_OK);   /* long frames: no inertia */
    }
    assert_int_equal(su_linear_motion_principal(&motion, 3, directions, &count, NULL), SU_OK);
    assert_int_equal(count, 2);   /* the third never moves */
    assert_near(fabs(directions[0]), 3 / sqrt(2), 0.02);
    assert_near(fabs(directions[4]), 1 / sqrt(2), 0.02);
    assert_int_equal(su_linear_motion_extremes(&motion, 3, states, &count, NULL), SU_OK);
    assert_int_equal(count, 3);
    assert_near(fabs(states[0]), 3, 0.02);
    assert_near(states[3], -states[0], 0.02);   /* the other end is farther from it than rest */
    assert_near(fabs(states[6]), 1.5, 0.05);                   /* as far from rest as from an end: sqrt(3) */
    assert_near(fabs(states[7]), sqrt(3) / 2, 0.02);
    su_linear_motion_free(&motion);
}

/* A clamped beam that bends by more than a quarter of its length: what is left of the forces could do little work, a tiny load
 * gives the linear answer. */
static void loaded_beam(void **state)
{
    (void)state;
    box_mesh box = box_mesh_create(16, 2, 2, 1, 0.1, 0.1);
    double *young = box_constant(box.t, 1e5), *poisson = box_constant(box.t, 0.4), *density = box_constant(box.t, 1000);
    int32_t held[9];
    for (int i = 0; i < 9; i++) held[i] = i;
    su_elastic elastic;
    assert_int_equal(su_elastic_create(&elastic, box.n, box.vertices, box.t, box.tets, 9, held, SU_NEOHOOKEAN, young, poisson,
                                       density, NULL), SU_OK);
    int64_t size = elastic.pattern.size, solves = 0;
    su_sparse K;
    su_cholesky *factor;
    su_constrained_inverse inverse;
    assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(&elastic, box.vertices, false, &K, 1);
    assert_int_equal(su_cholesky_create(&elastic.pattern, 1, &factor, NULL), SU_OK);
    assert_int_equal(su_cholesky_factorize(factor, &K, NULL), SU_OK);
    double *mass = malloc((size_t)size * sizeof *mass), *ones = box_constant(size, 1);
    for (int64_t i = 0; i < size; i++) mass[i] = elastic.mass[elastic.free_vertex[i / 3]];
    assert_int_equal(su_constrained_inverse_create(&inverse, size, factor, NULL, NULL, 0, NULL, mass, NULL), SU_OK);
    const su_loaded_problem problem = {&elastic, box.vertices, &inverse, ones, mass};
    double *loads = calloc((size_t)(6 * box.n), sizeof *loads), *out = malloc((size_t)(2 * size) * sizeof *out);
    for (int64_t v = 0; v < box.n; v++) loads[3 * v + 1] = -0.4, loads[3 * (box.n + v) + 1] = -0.4e-4;
    assert_int_equal(su_loaded_shapes(&problem, 2, loads, out, &solves, 1, NULL, NULL), SU_OK);
    double *y = malloc(3 * (size_t)box.n * sizeof *y), *force = malloc(3 * (size_t)box.n * sizeof *force);
    memcpy(y, box.vertices, 3 * (size_t)box.n * sizeof *y);
    double tip = 0, linear_tip = 0, left = 0, work_done = 0;
    double *rest = malloc((size_t)size * sizeof *rest), *answer = malloc((size_t)size * sizeof *answer);
    for (int64_t i = 0; i < size; i++) {
        y[3 * elastic.free_vertex[i / 3] + i % 3] += out[i];
        tip = fmin(tip, out[i]), linear_tip = fmin(linear_tip, out[size + i]);
    }
    su_elastic_force(&elastic, y, force, 1);
    for (int64_t i = 0; i < size; i++) {
        double pull = i % 3 == 1 ? -0.4 * mass[i] : 0, difference = force[3 * elastic.free_vertex[i / 3] + i % 3] - pull;
        rest[i] = difference, work_done += pull * out[i];
    }
    memcpy(answer, rest, (size_t)size * sizeof *rest);
    assert_int_equal(su_constrained_inverse_apply(&inverse, 1, answer, answer, NULL), SU_OK);
    for (int64_t i = 0; i < size; i++) left += rest[i] * answer[i];
    printf("# tip %.3f m, %.3f of the linear one; %.4f of the work left after %d solves\n", tip, tip / (1e4 * linear_tip),
           left / work_done, (int)solves);
    assert_true(tip < -0.25);                                  /* large */
    assert_true(tip / (1e4 * linear_tip) < 0.97);              /* and stiffer than linear theory */
    assert_true(left / work_done <= 0.02);
    double scale = 0, off = 0;   /* K u = M a for the small one */
    double *product = malloc((size_t)size * sizeof *product);
    su_sparse_multiply(&K, out + size, product);
    for (int64_t i = 0; i < size; i++) {
        double pull = i % 3 == 1 ? -0.4e-4 * mass[i] : 0;
        off += (product[i] - pull) * (product[i] - pull), scale += pull * pull;
    }
    assert_true(sqrt(off / scale) < 0.01);
    free(product), free(rest), free(answer), free(y), free(force), free(loads), free(out), free(mass), free(ones);
    su_constrained_inverse_free(&inverse);
    su_cholesky_free(factor);
    su_sparse_free(&K);
    su_elastic_free(&elastic);
    box_mesh_free(&box);
    free(young), free(poisson), free(density);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_mode),
        cmocka_unit_test(principal_and_extremes),
        cmocka_unit_test(loaded_beam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
