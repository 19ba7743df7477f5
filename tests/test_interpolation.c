/* Corotated against linear interpolation on bent beams: PSSD Fig. 10 and beyond. */
#include "beam_space.h"
#include "geometry/mat3.h"
#include "reduce/align/align.h"
#include "reduce/cubature/pose_space.h"
#include "reduce/cubature/stiffening.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void openblas_set_num_threads(int);

enum { R = 20 };

typedef struct quality {
    double error; /* compliance-weighted projection error of the first R / 2 exact modes */
    double angle; /* their mean angle to the span, degrees */
    su_stiffening stiff;
} quality;

/* exact (R,n,3) with eigenvalues against the span of U. */
static void project(const beam_space *s, const double *U, const double *exact, const double *lambda, quality *q)
{
    int64_t n = s->shape.n;
    double *mass = calloc((size_t)n, sizeof *mass), G[R * R], C[R * R], weight = 0;
    beam_mass(&s->shape, mass);
    assert_int_equal(su_mass_product(R, n, mass, U, U, G, 1, NULL), SU_OK);
    assert_int_equal(su_mass_product(R, n, mass, U, exact, C, 1, NULL), SU_OK);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', R, G, R), 0);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, R, R, 1, G, R, C, R);
    q->error = q->angle = 0;
    for (int k = 0; k < R / 2; k++) {
        double inside = 0;
        for (int i = 0; i < R; i++) inside += C[i * R + k] * C[i * R + k];
        double outside = fmax(0, 1 - inside);
        q->error += outside / lambda[k];
        weight += 1 / lambda[k];
        q->angle += asin(fmin(1, sqrt(outside))) * 180 / M_PI / (R / 2);
    }
    q->error = sqrt(q->error / weight);
    free(mass);
}

static quality measure(const beam_space *s, su_interpolation mode, double angle)
{
    int64_t n = s->shape.n;
    double *x = calloc(3 * (size_t)n, sizeof *x);
    double *exact = calloc(3 * R * (size_t)n, sizeof *exact), lambda[R];
    su_pose_space space;
    su_place place;
    su_stiffness_probe *probe;
    quality q;
    assert_int_equal(su_pose_space_create(&space, &s->tet, &s->fit, &s->basis, SU_STVK, mode, 1, NULL), SU_OK);
    beam_bend(&s->shape, angle, x);
    assert_int_equal(su_place_create(&space, -1, &angle, x, &place, NULL), SU_OK);
    assert_int_equal(su_pose_space_enter(&space, &place, NULL), SU_OK);
    beam_modes(&s->shape, x, R, exact, lambda);
    project(s, space.U, exact, lambda, &q);
    assert_int_equal(su_stiffness_probe_create(&space, 8, false, &probe, NULL), SU_OK);
    assert_int_equal(su_stiffness_measure(probe, &place, &q.stiff, NULL), SU_OK);
    su_stiffness_probe_free(probe);
    /* The same error with the modes iterated from U instead of solved for, as align --recompute has it. */
    su_subspace_error iterated;
    assert_int_equal(su_stiffness_probe_create(&space, R / 2, true, &probe, NULL), SU_OK);
    assert_int_equal(su_subspace_measure(probe, &place, &iterated, NULL), SU_OK);
    su_stiffness_probe_free(probe);
    assert_true(fabs(iterated.projection - q.error) < 0.05 * q.error + 1e-6);
    assert_true(iterated.angle * 180 / M_PI < 1.1 * q.angle + 1e-3);
    su_place_free(&place);
    su_pose_space_free(&space);
    free(x), free(exact);
    return q;
}

static void corotated_beats_linear_between_bends(void **state)
{
    (void)state;
    const double degrees[] = {45, 90, 180};
    for (int k = 0; k < 3; k++) {
        const double angles[] = {0, degrees[k] * M_PI / 180};
        beam_space s = beam_space_create(beam_create(20, 3, 3, 1, 0.12, 0.15), 2, angles, R);
        quality corotated = measure(&s, SU_COROTATED, 0.5 * angles[1]),
                linear = measure(&s, SU_LINEAR, 0.5 * angles[1]);
        printf("# %3.0f degrees apart: projection error corotated %.4f linear %.4f; mean angle %.2f and %.2f degrees; "
               "stiffening %.2f and %.2f %%\n",
               degrees[k], corotated.error, linear.error, corotated.angle, linear.angle, 100 * corotated.stiff.mean,
               100 * linear.stiff.mean);
        assert_true(corotated.error < linear.error / 3);
        assert_true(corotated.stiff.mean < linear.stiff.mean);
        /* At a pose nothing is lost. */
        quality there = measure(&s, SU_COROTATED, angles[1]);
        assert_true(there.error < 1e-5 && fabs(there.stiff.mean) < 1e-4);
        beam_space_free(&s);
    }
}

int main(void)
{
    openblas_set_num_threads(1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(corotated_beats_linear_between_bends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
