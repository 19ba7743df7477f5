/* The pose space of a rig: the same whichever file it is taken of, its copies whole and its own. */
#include "rig/rig_space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { M = 3, S = 2, A = 2, NBAR = 2, MEAN = 3 * NBAR, COLUMNS = M + 1 + S };

/* Numbers of their own in each array. */
typedef struct arrays {
    double params[M * S], scale[S], rbf[M * M], basis_rbf[M * COLUMNS], psd_params[A * S], psd_shapes[A * NBAR * 3],
        psd_rbf[A * A], mean[MEAN], basis[S * MEAN];
} arrays;

static void fill(arrays *a)
{
    double *all = (double *)a;
    for (size_t k = 0; k < sizeof *a / sizeof *all; k++) all[k] = sin(1.7 * (double)k) + 0.01 * (double)k;
}

static su_model model_of(arrays *a)
{
    return (su_model){.m = M,
                      .s = S,
                      .a = A,
                      .nbar = NBAR,
                      .columns = COLUMNS,
                      .mean_size = MEAN,
                      .params = a->params,
                      .param_scale = a->scale,
                      .rbf = a->rbf,
                      .basis_rbf = a->basis_rbf,
                      .psd_params = a->psd_params,
                      .psd_shapes = a->psd_shapes,
                      .psd_rbf = a->psd_rbf,
                      .param_mean = a->mean,
                      .param_basis = a->basis};
}

/* All arrays of a copy stand elsewhere and hold the same; freed with the file that owns them, and with it alone. */
static void a_copy_goes_through_both_files(void **unused)
{
    (void)unused;
    arrays a;
    fill(&a);
    su_model model = model_of(&a), other = {.nbar = NBAR};
    su_fit fit = {0};
    su_rig_space rig = su_rig_of_model(&model), copy, again;
    assert_int_equal(su_rig_copy(&rig, &fit.file, &copy, NULL), SU_OK);
    su_rig_into_fit(&copy, &fit);
    assert_int_equal(fit.nbar, NBAR);
    rig = su_rig_of_fit(&fit);
    assert_null(rig.basis_rbf); /* a fit knows nothing of bases */
    rig.columns = copy.columns, rig.basis_rbf = copy.basis_rbf;
    assert_int_equal(su_rig_copy(&rig, &other.file, &again, NULL), SU_OK);
    su_rig_into_model(&again, &other);
    su_schema_free(&su_fit_schema, &fit);
    assert_int_equal(other.m, M);
    assert_int_equal(other.s, S);
    assert_int_equal(other.a, A);
    assert_int_equal(other.columns, COLUMNS);
    assert_int_equal(other.mean_size, MEAN);
    const double *pairs[][2] = {
        {other.params, a.params},       {other.param_scale, a.scale},     {other.rbf, a.rbf},
        {other.basis_rbf, a.basis_rbf}, {other.psd_params, a.psd_params}, {other.psd_shapes, a.psd_shapes},
        {other.psd_rbf, a.psd_rbf},     {other.param_mean, a.mean},       {other.param_basis, a.basis}};
    const size_t sizes[] = {sizeof a.params,    sizeof a.scale,      sizeof a.rbf,
                            sizeof a.basis_rbf, sizeof a.psd_params, sizeof a.psd_shapes,
                            sizeof a.psd_rbf,   sizeof a.mean,       sizeof a.basis};
    for (int k = 0; k < 9; k++) {
        assert_ptr_not_equal(pairs[k][0], pairs[k][1]);
        assert_memory_equal(pairs[k][0], pairs[k][1], sizes[k]);
    }
    su_schema_free(&su_model_schema, &other);
}

/* Without sculpts and principal coordinates their counts are 0, as in a file that lacks the arrays. */
static void what_is_not_there_has_no_count(void **unused)
{
    (void)unused;
    arrays a;
    fill(&a);
    su_poses poses = {.m = M, .s = S, .a = 1, .nbar = NBAR, .mean_size = 5, .params = a.params, .param_scale = a.scale};
    su_fit fit = {0};
    su_rig_space rig = su_rig_of_poses(&poses), copy;
    assert_null(rig.rbf);
    assert_int_equal(su_rig_copy(&rig, &fit.file, &copy, NULL), SU_OK);
    su_rig_into_fit(&copy, &fit);
    assert_int_equal(fit.a, 0);
    assert_int_equal(fit.nbar, 0);
    assert_int_equal(fit.mean_size, 0);
    assert_null(fit.psd_shapes);
    assert_memory_equal(fit.params, a.params, sizeof a.params);
    su_schema_free(&su_fit_schema, &fit);
}

static void one_number_makes_another_space(void **unused)
{
    (void)unused;
    arrays a, b;
    fill(&a), fill(&b);
    su_model one = model_of(&a), two = model_of(&b);
    su_rig_space left = su_rig_of_model(&one), right = su_rig_of_model(&two);
    assert_true(su_rig_same_poses(&left, &right));
    assert_true(su_rig_same_sculpts(&left, &right));
    double *poses[] = {b.params + M * S - 1, b.scale + S - 1, b.rbf + M * M - 1},
           *last = b.psd_shapes + A * NBAR * 3 - 1;
    for (int k = 0; k < 3; k++) {
        double kept = *poses[k];
        *poses[k] += 1e-12;
        assert_false(su_rig_same_poses(&left, &right));
        assert_true(su_rig_same_sculpts(&left, &right));
        *poses[k] = kept;
    }
    *last += 1e-12;
    assert_true(su_rig_same_poses(&left, &right));
    assert_false(su_rig_same_sculpts(&left, &right));
    right.psd_shapes = NULL;
    assert_false(su_rig_same_sculpts(&left, &right));
}

/* Weights of a line of poses 0, 1, 2 with distances as kernel, and of two sculpts at 0 and 2. */
static void weights_are_those_of_the_poses(void **unused)
{
    (void)unused;
    double params[] = {0, 1, 2}, scale[] = {1}, sculpts[] = {0, 2}, w[3], v[2], b[3];
    double rbf[] = {-0.25, 0.5, 0.25, 0.5, -1, 0.5, 0.25, 0.5, -0.25}; /* inverse of |p_i - p_j| */
    double psd_rbf[] = {0, 0.5, 0.5, 0};
    su_rig_space rig = {.m = 3,
                        .s = 1,
                        .a = 2,
                        .params = params,
                        .param_scale = scale,
                        .rbf = rbf,
                        .psd_params = sculpts,
                        .psd_rbf = psd_rbf};
    const double p = 0.5;
    su_rig_weights(&rig, &p, w);
    su_rig_sculpt_weights(&rig, &p, v);
    su_rig_basis_weights(&rig, &p, w, b);
    const double expected[] = {0.5, 0.5, 0};
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(w[i] - expected[i]) < 1e-15);
        assert_true(b[i] == w[i]); /* no coefficients: as w */
    }
    assert_true(fabs(v[0] - 0.75) < 1e-15 && fabs(v[1] - 0.25) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_goes_through_both_files),
        cmocka_unit_test(what_is_not_there_has_no_count),
        cmocka_unit_test(one_number_makes_another_space),
        cmocka_unit_test(weights_are_those_of_the_poses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
