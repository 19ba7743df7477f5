/* Weights of the example poses: what interpolation must give whatever the poses are. */
#include "rig/rbf.h"
#include "rig/rbf_train.h"
#include "rig/rig_space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { M = 9, S = 5 };

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Poses with pose 0 at the origin and scales of different sizes. */
static void make_poses(double params[M * S], double scale[S])
{
    uint64_t state = 7;
    for (int i = 0; i < M * S; i++) params[i] = i < S ? 0.0 : 2.0 * uniform(&state) - 1.0;
    for (int k = 0; k < S; k++) scale[k] = 0.3 + (double)k;
}

/* What the weights of bases are evaluated by. */
static su_rig_space rig_of(int64_t m, int64_t s, double *params, double *scale, int64_t columns, double *basis)
{
    return (su_rig_space){
        .m = m, .s = s, .params = params, .param_scale = scale, .columns = columns, .basis_rbf = basis};
}

static void weights_at_poses_are_unit_vectors(void **unused)
{
    (void)unused;
    double params[M * S], scale[S], rbf[M * M], basis[M * (M + 1 + S)], w[M], b[M];
    int64_t columns;
    make_poses(params, scale);
    assert_int_equal(su_rbf_train(M, S, params, scale, rbf, NULL), 0);
    assert_int_equal(su_basis_rbf_train(M, S, params, scale, &columns, basis, NULL), 0);
    const su_rig_space rig = rig_of(M, S, params, scale, columns, basis);
    assert_int_equal(columns, M + 1 + S);
    for (int j = 0; j < M; j++) {
        su_rbf_weights(M, S, params, scale, rbf, params + j * S, w);
        su_rig_basis_weights(&rig, params + j * S, w, b);
        for (int i = 0; i < M; i++) {
            assert_true(fabs(w[i] - (i == j)) < 1e-12);
            assert_true(fabs(b[i] - (i == j)) < 1e-11);
        }
    }
}

static void weights_sum_to_one_everywhere(void **unused)
{
    (void)unused;
    double params[M * S], scale[S], rbf[M * M], basis[M * (M + 1 + S)], w[M], b[M], positive[M], p[S];
    int64_t columns;
    make_poses(params, scale);
    su_rbf_train(M, S, params, scale, rbf, NULL);
    su_basis_rbf_train(M, S, params, scale, &columns, basis, NULL);
    const su_rig_space rig = rig_of(M, S, params, scale, columns, basis);
    uint64_t state = 3;
    for (int trial = 0; trial < 500; trial++) {
        double far = pow(10.0, 6.0 * uniform(&state) - 2.0), sums[3] = {0};
        for (int k = 0; k < S; k++) p[k] = far * (2.0 * uniform(&state) - 1.0);
        su_rbf_weights(M, S, params, scale, rbf, p, w);
        su_positive_weights(M, w, positive);
        su_rig_basis_weights(&rig, p, w, b);
        for (int i = 0; i < M; i++) {
            assert_true(positive[i] >= 0.0);
            sums[0] += w[i], sums[1] += positive[i], sums[2] += b[i];
        }
        for (int i = 0; i < 3; i++) assert_true(fabs(sums[i] - 1.0) < 1e-9);
    }
}

/* Within sum |b| <= 1.5, b is not damped: a function that is linear in the parameters comes out exactly, as the rank
 * (2) is below m - 2. */
static void basis_weights_reproduce_linear_functions(void **unused)
{
    (void)unused;
    double params[M * S], scale[S], rbf[M * M], basis[M * (M + 1 + S)], w[M], b[M], p[S];
    const double axis[2][S] = {{1, 2, 0, -1, 0.5}, {0, 1, 1, 0.3, -2}};
    int64_t columns;
    make_poses(params, scale);
    for (int i = 0; i < M; i++)
        for (int k = 0; k < S; k++) params[i * S + k] = (i % 3) * axis[0][k] + (i / 3) * axis[1][k];
    assert_int_equal(su_rbf_train(M, S, params, scale, rbf, NULL), 0);
    assert_int_equal(su_basis_rbf_train(M, S, params, scale, &columns, basis, NULL), 0);
    const su_rig_space rig = rig_of(M, S, params, scale, columns, basis);
    uint64_t state = 11;
    int undamped = 0;
    for (int trial = 0; trial < 200; trial++) {
        double x = 2.0 * uniform(&state), y = 2.0 * uniform(&state), a = 0.0, got[2] = {0};
        for (int k = 0; k < S; k++) p[k] = x * axis[0][k] + y * axis[1][k];
        su_rbf_weights(M, S, params, scale, rbf, p, w);
        su_rig_basis_weights(&rig, p, w, b);
        for (int i = 0; i < M; i++) a += fabs(b[i]), got[0] += b[i] * (i % 3), got[1] += b[i] * (i / 3);
        if (a > 1.5) continue;
        undamped++;
        assert_true(fabs(got[0] - x) < 1e-9 && fabs(got[1] - y) < 1e-9);
    }
    assert_true(undamped > 100);
}

/* docs/formats.md, convention 7, written out a second time, on a line of three poses where the undamped b is known:
 * with one principal coordinate and m = 3 it is the natural cubic spline's cardinal functions. */
static void damping_draws_back_to_w(void **unused)
{
    (void)unused;
    double params[3] = {0, 1, 2}, scale[1] = {1}, rbf[9], basis[15], w[3], b[3];
    int64_t columns;
    assert_int_equal(su_rbf_train(3, 1, params, scale, rbf, NULL), 0);
    assert_int_equal(su_basis_rbf_train(3, 1, params, scale, &columns, basis, NULL), 0);
    const su_rig_space rig = rig_of(3, 1, params, scale, columns, basis);
    int seen[3] = {0};
    for (double x = 0.05; x < 6.0; x += 0.1) {
        /* Natural cubic spline through (0,0), (1,1), (2,0): second derivative -3 in the middle; its neighbours follow
         * from the linear part. Beyond the ends it goes on as a line. */
        double t = x <= 1 ? x : 2 - x, middle = x <= 2 ? 1.5 * t - 0.5 * t * t * t : -1.5 * (x - 2);
        double undamped[3] = {1 - 0.5 * x - 0.5 * middle, middle, 0.5 * x - 0.5 * middle};
        double a = fabs(undamped[0]) + fabs(undamped[1]) + fabs(undamped[2]);
        double z = fmin(fmax((a - 1.5) / 1.5, 0.0), 1.0), tau = 1 - z * z * (3 - 2 * z);
        seen[tau == 1 ? 0 : tau == 0 ? 2 : 1]++;
        su_rbf_weights(3, 1, params, scale, rbf, &x, w);
        su_rig_basis_weights(&rig, &x, w, b);
        for (int i = 0; i < 3; i++) assert_true(fabs(b[i] - (w[i] + tau * (undamped[i] - w[i]))) < 1e-10);
    }
    assert_true(seen[0] && seen[1] && seen[2]);
}

static void one_and_two_poses(void **unused)
{
    (void)unused;
    const double p[2] = {0.6, 0.8};
    double params[4] = {0, 0, 3, 4}, scale[2] = {1, 1}, rbf[4], basis[2 * 5] = {0}, w[2], b[2];
    int64_t columns = 9;
    assert_int_equal(su_rbf_train(1, 2, params, scale, rbf, NULL), 0);
    su_rbf_weights(1, 2, params, scale, rbf, p, w);
    assert_true(w[0] == 1.0);
    assert_int_equal(su_rbf_train(2, 2, params, scale, rbf, NULL), 0);
    assert_int_equal(su_basis_rbf_train(2, 2, params, scale, &columns, basis, NULL), 0);
    const su_rig_space rig = rig_of(2, 2, params, scale, columns, basis);
    assert_int_equal(columns, 0);
    su_rbf_weights(2, 2, params, scale, rbf, p, w); /* distances 1 and 4 of 5: w = (4, 1) / 5 */
    assert_true(fabs(w[0] - 0.8) < 1e-12 && fabs(w[1] - 0.2) < 1e-12);
    su_rig_basis_weights(&rig, p, w, b);
    assert_memory_equal(b, w, sizeof w);
}

static void near_poses_are_refused(void **unused)
{
    (void)unused;
    double params[M * S], scale[S], rbf[M * M], basis[M * (M + 1 + S)];
    su_error err;
    int64_t columns;
    make_poses(params, scale);
    memcpy(params + 6 * S, params + 2 * S, S * sizeof *params);
    params[6 * S] += 0.9e-6 / scale[0];
    assert_int_equal(su_rbf_train(M, S, params, scale, rbf, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "2 and 6"));
    assert_int_equal(su_basis_rbf_train(M, S, params, scale, &columns, basis, &err), SU_INPUT);
    params[6 * S] += 0.2e-6 / scale[0];
    assert_int_equal(su_rbf_train(M, S, params, scale, rbf, &err), SU_OK);
}

/* Poses for which the system of docs/formats.md, convention 7, has no solution still get weights that interpolate. */
static void singular_arrangement_still_interpolates(void **unused)
{
    (void)unused;
    double half = 0.5 * cbrt(4.0), params[6] = {-half, 0, half, 0, 0, sqrt(1 - half * half)}, scale[2] = {1, 1};
    double rbf[9], basis[3 * 6], w[3], b[3];
    int64_t columns;
    assert_int_equal(su_rbf_train(3, 2, params, scale, rbf, NULL), 0);
    assert_int_equal(su_basis_rbf_train(3, 2, params, scale, &columns, basis, NULL), 0);
    const su_rig_space rig = rig_of(3, 2, params, scale, columns, basis);
    for (int j = 0; j < 3; j++) {
        su_rbf_weights(3, 2, params, scale, rbf, params + 2 * j, w);
        su_rig_basis_weights(&rig, params + 2 * j, w, b);
        for (int i = 0; i < 3; i++) assert_true(fabs(b[i] - (i == j)) < 1e-9);
    }
}

static void weights_survive_wild_parameters(void **unused)
{
    (void)unused;
    double params[M * S], scale[S], rbf[M * M], basis[M * (M + 1 + S)], w[M], b[M], p[S] = {0};
    int64_t columns;
    make_poses(params, scale);
    su_rbf_train(M, S, params, scale, rbf, NULL);
    su_basis_rbf_train(M, S, params, scale, &columns, basis, NULL);
    const su_rig_space rig = rig_of(M, S, params, scale, columns, basis);
    const double wild[] = {1e150, INFINITY, NAN};
    for (int t = 0; t < 3; t++) {
        p[1] = wild[t];
        su_rbf_weights(M, S, params, scale, rbf, p, w);
        su_rig_basis_weights(&rig, p, w, b);
        for (int i = 0; i < M; i++) assert_true(isfinite(w[i]) && isfinite(b[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_at_poses_are_unit_vectors),
        cmocka_unit_test(weights_sum_to_one_everywhere),
        cmocka_unit_test(basis_weights_reproduce_linear_functions),
        cmocka_unit_test(damping_draws_back_to_w),
        cmocka_unit_test(one_and_two_poses),
        cmocka_unit_test(near_poses_are_refused),
        cmocka_unit_test(singular_arrangement_still_interpolates),
        cmocka_unit_test(weights_survive_wild_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
