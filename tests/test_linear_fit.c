/* D by least squares on forces: it finds a force that is linear, keeps what nothing is known of, and stays bounded. */
#include "core/random.h"
#include "reduce/cubature/linear_fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { R = 6, COUNT = 40 };

typedef struct problem {
    double K[R * R], change[R * R], q[COUNT * R], lacking[COUNT * R];
} problem;

/* K = 1 + B B' of random B; change symmetric, `size` of the identity's. States span the first `spanned` coordinates. */
static problem random_problem(double size, int spanned)
{
    su_random random = su_random_seed(7, 0);
    problem p = {{0}, {0}, {0}, {0}};
    double B[R * R];
    for (int i = 0; i < R * R; i++) B[i] = su_random_uniform(&random) - 0.5;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++) {
            p.K[i * R + j] = i == j;
            for (int k = 0; k < R; k++) p.K[i * R + j] += B[i * R + k] * B[j * R + k];
        }
    for (int i = 0; i < R; i++)
        for (int j = 0; j <= i; j++)
            p.change[i * R + j] = p.change[j * R + i] = size * (su_random_uniform(&random) - 0.5);
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < spanned; i++) p.q[k * R + i] = su_random_uniform(&random) - 0.5;
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < R; i++)
            for (int j = 0; j < R; j++) p.lacking[k * R + i] += p.change[i * R + j] * p.q[k * R + j];
    return p;
}

static su_linear_fit_error fit(const problem *p, double prior, double *linear)
{
    const su_linear_fit settings = {.r = R,
                                    .count = COUNT,
                                    .stiffness = p->K,
                                    .q = p->q,
                                    .lacking = p->lacking,
                                    .least = 0.1,
                                    .prior = prior,
                                    .most_taken = 0.2};
    su_linear_fit_error error;
    su_error err = {0};
    if (su_fit_linear_force(&settings, linear, &error, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < R; i++)
        for (int j = 0; j < i; j++) assert_true(linear[i * R + j] == linear[j * R + i]);
    return error;
}

static double difference(const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < R * R; i++) most = fmax(most, fabs(a[i] - (b ? b[i] : 0)));
    return most;
}

static void test_a_linear_force_is_found(void **state)
{
    (void)state;
    problem p = random_problem(0.1, R);
    double linear[R * R], wanted[R * R];
    for (int i = 0; i < R * R; i++) linear[i] = 0.3 * p.K[i], wanted[i] = linear[i] + p.change[i];
    su_linear_fit_error error = fit(&p, 1e-12, linear);
    assert_true(difference(linear, wanted) < 1e-9);
    assert_true(error.before > 0.01 && error.after < 1e-9 * error.before);
}

static void test_a_heavy_prior_changes_nothing(void **state)
{
    (void)state;
    problem p = random_problem(0.1, R);
    double linear[R * R], before[R * R];
    for (int i = 0; i < R * R; i++) before[i] = linear[i] = 0.3 * p.K[i];
    su_linear_fit_error error = fit(&p, 1e9, linear);
    assert_true(difference(linear, before) < 1e-7);
    assert_true(fabs(error.after / error.before - 1) < 1e-7);
    double middle[R * R];
    memcpy(middle, before, sizeof middle);
    error = fit(&p, 0.1, middle); /* in between, the residual falls and D is drawn */
    assert_true(error.after < 0.8 * error.before && difference(middle, before) > 1e-3);
}

/* In K's own lengths a direction that no state has keeps its stiffness. */
static void test_unseen_directions_keep_theirs(void **state)
{
    (void)state;
    problem p = random_problem(0.1, 3);
    memset(p.K, 0, sizeof p.K);
    for (int i = 0; i < R; i++) p.K[i * R + i] = 1 + i;
    double linear[R * R] = {0};
    fit(&p, 1e-9, linear);
    for (int i = 3; i < R; i++)
        for (int j = 3; j < R; j++) assert_true(fabs(linear[i * R + j]) < 1e-12);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) assert_true(fabs(linear[i * R + j] - p.change[i * R + j]) < 1e-6);
}

/* However soft the states say the flesh is, D takes off a fifth of its stiffness and no more. */
static void test_no_more_is_taken_than_allowed(void **state)
{
    (void)state;
    problem p = random_problem(0, R);
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < R; i++)
            for (int j = 0; j < R; j++) p.lacking[k * R + i] -= 0.9 * p.K[i * R + j] * p.q[k * R + j];
    double linear[R * R] = {0}, wanted[R * R];
    for (int i = 0; i < R * R; i++) wanted[i] = -0.2 * p.K[i];
    fit(&p, 1e-12, linear);
    assert_true(difference(linear, wanted) < 1e-9);
}

static void test_without_motion_nothing_changes(void **state)
{
    (void)state;
    problem p = random_problem(0.1, 0);
    double linear[R * R] = {0};
    su_linear_fit_error error = fit(&p, 0.1, linear);
    assert_true(difference(linear, NULL) == 0 && error.before == 0 && error.after == 0);
}

static void test_an_indefinite_stiffness_is_refused(void **state)
{
    (void)state;
    problem p = random_problem(0.1, R);
    p.K[0] = -1;
    double linear[R * R] = {0};
    const su_linear_fit settings = {.r = R,
                                    .count = COUNT,
                                    .stiffness = p.K,
                                    .q = p.q,
                                    .lacking = p.lacking,
                                    .least = 0.1,
                                    .prior = 0.1,
                                    .most_taken = 0.2};
    su_linear_fit_error error;
    su_error err = {0};
    assert_int_equal(su_fit_linear_force(&settings, linear, &error, &err), SU_NUMERICS);
    assert_true(difference(linear, NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_linear_force_is_found),
        cmocka_unit_test(test_a_heavy_prior_changes_nothing),
        cmocka_unit_test(test_unseen_directions_keep_theirs),
        cmocka_unit_test(test_no_more_is_taken_than_allowed),
        cmocka_unit_test(test_without_motion_nothing_changes),
        cmocka_unit_test(test_an_indefinite_stiffness_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
