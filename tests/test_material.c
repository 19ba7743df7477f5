/* Materials: energy, stress and derivative against each other by finite differences, invariances, limits. */
#include "physics/material.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"
#include <lapacke.h>

static uint64_t state;

static double uniform(void) /* in [-1, 1] */
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) / (double)(1ull << 52) - 1.0;
}

static void random_rotation(double r[9])
{
    double q[4], norm = 0;
    for (int i = 0; i < 4; i++) q[i] = uniform(), norm += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrt(norm);
    su_quaternion_matrix(q, r);
}

/* Rotation times stretch with the given singular values times rotation. */
static void with_stretches(const double s[3], double F[9])
{
    double u[9], v[9], us[9];
    random_rotation(u), random_rotation(v);
    for (int i = 0; i < 9; i++) us[i] = u[i] * s[i % 3];
    su_mult33(us, v, F);
}

static void random_gradient(double F[9])
{
    double s[3];
    for (int i = 0; i < 3; i++) s[i] = 1 + 0.5 * uniform();
    with_stretches(s, F);
}

#define MU 3.1
#define LAMBDA 17.0

/* Central differences: the error must fall with the square of the step. */
static void test_stress_is_energy_gradient(void **unused)
{
    (void)unused;
    for (int material = 0; material <= SU_TISSUE; material++) {
        state = 1;
        for (int round = 0; round < 20; round++) {
            double F[9], P[9], error[2] = {0, 0};
            random_gradient(F);
            su_material_stress((su_material)material, MU, LAMBDA, F, P);
            for (int level = 0; level < 2; level++) {
                double h = level ? 1e-4 : 4e-4;
                for (int i = 0; i < 9; i++) {
                    double G[9];
                    memcpy(G, F, sizeof G);
                    G[i] = F[i] + h;
                    double up = su_material_energy((su_material)material, MU, LAMBDA, G);
                    G[i] = F[i] - h;
                    double down = su_material_energy((su_material)material, MU, LAMBDA, G);
                    error[level] = fmax(error[level], fabs((up - down) / (2 * h) - P[i]));
                }
            }
            assert_true(error[1] < 1e-6 * (MU + LAMBDA));
            assert_true(error[1] < error[0] / 8 + 1e-9); /* 16 expected */
        }
    }
}

static void test_derivative_is_stress_gradient(void **unused)
{
    (void)unused;
    for (int material = 0; material <= SU_TISSUE; material++) {
        state = 2;
        for (int round = 0; round < 20; round++) {
            double F[9], H[81], error[2] = {0, 0};
            random_gradient(F);
            su_material_derivative((su_material)material, MU, LAMBDA, F, false, H);
            for (int level = 0; level < 2; level++) {
                double h = level ? 1e-4 : 4e-4;
                for (int j = 0; j < 9; j++) {
                    double G[9], up[9], down[9];
                    memcpy(G, F, sizeof G);
                    G[j] = F[j] + h;
                    su_material_stress((su_material)material, MU, LAMBDA, G, up);
                    G[j] = F[j] - h;
                    su_material_stress((su_material)material, MU, LAMBDA, G, down);
                    for (int i = 0; i < 9; i++)
                        error[level] = fmax(error[level], fabs((up[i] - down[i]) / (2 * h) - H[9 * i + j]));
                }
            }
            assert_true(error[1] < 1e-5 * (MU + LAMBDA));
            assert_true(error[1] < error[0] / 8 + 1e-8);
            for (int i = 0; i < 9; i++)
                for (int j = 0; j < 9; j++) assert_true(fabs(H[9 * i + j] - H[9 * j + i]) < 1e-12);
        }
    }
}

/* psi(Q F S) = psi(F), P(Q F S) = Q P(F) S: objective and isotropic */
static void test_rotation_invariance(void **unused)
{
    (void)unused;
    state = 3;
    for (int material = 0; material <= SU_TISSUE; material++)
        for (int round = 0; round < 20; round++) {
            double F[9], Q[9], S[9], QF[9], G[9], P[9], QP[9], expected[9], got[9];
            random_gradient(F), random_rotation(Q), random_rotation(S);
            su_mul33(Q, F, QF), su_mul33(QF, S, G);
            double a = su_material_energy((su_material)material, MU, LAMBDA, F);
            double b = su_material_energy((su_material)material, MU, LAMBDA, G);
            assert_true(fabs(a - b) < 1e-12 * (MU + LAMBDA));
            su_material_stress((su_material)material, MU, LAMBDA, F, P);
            su_material_stress((su_material)material, MU, LAMBDA, G, got);
            su_mul33(Q, P, QP), su_mul33(QP, S, expected);
            for (int i = 0; i < 9; i++) assert_true(fabs(expected[i] - got[i]) < 1e-12 * (MU + LAMBDA));
        }
}

static void test_rest_state(void **unused)
{
    (void)unused;
    state = 4;
    for (int material = 0; material <= SU_TISSUE; material++) {
        double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, R[9], P[9];
        assert_true(su_material_energy((su_material)material, MU, LAMBDA, identity) == 0);
        su_material_stress((su_material)material, MU, LAMBDA, identity, P);
        assert_true(largest(9, P) == 0);
        random_rotation(R);
        assert_true(fabs(su_material_energy((su_material)material, MU, LAMBDA, R)) < 1e-14 * (MU + LAMBDA));
        su_material_stress((su_material)material, MU, LAMBDA, R, P);
        assert_true(largest(9, P) < 1e-13 * (MU + LAMBDA));
    }
}

/* Uniaxial stress from E and nu; the energy is quadratic down to strains of 1e-9, so nothing cancels. */
static void test_small_strain_is_linear_elasticity(void **unused)
{
    (void)unused;
    double young = 5e4, poisson = 0.45, mu, lambda;
    mu = SU_LAME_MU(young, poisson), lambda = SU_LAME_LAMBDA(young, poisson);
    for (int material = 0; material <= SU_TISSUE; material++) {
        for (int exponent = 3; exponent <= 9; exponent += 2) {
            double strain = pow(10, -exponent), P[9];
            double F[9] = {1 + strain, 0, 0, 0, 1 - poisson * strain, 0, 0, 0, 1 - poisson * strain};
            su_material_stress((su_material)material, mu, lambda, F, P);
            /* stress to first order in the strain, plus the rounding of F - I itself */
            double bar = 10 * strain + 1e-16 * 100 / strain;
            assert_true(fabs(P[0] / (young * strain) - 1) < bar);
            assert_true(fabs(P[4]) < bar * young * strain && fabs(P[8]) < bar * young * strain);
            double energy = su_material_energy((su_material)material, mu, lambda, F);
            assert_true(fabs(energy / (0.5 * young * strain * strain) - 1) < bar);
        }
        double small[9], G[9], F[9], P[9], linear[9]; /* in any direction, to first order */
        state = 3;
        for (int i = 0; i < 9; i++) small[i] = 1e-7 * uniform();
        for (int i = 0; i < 9; i++) F[i] = small[i] + (i % 4 == 0), G[i] = F[i] - (i % 4 == 0);
        su_material_stress((su_material)material, mu, lambda, F, P);
        su_linear_stress(mu, lambda, G, linear);
        for (int i = 0; i < 9; i++) assert_near(P[i], linear[i], 1e-12 * lambda);
        /* dP/dF at rest: 2 mu sym + lambda tr */
        double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, H[81];
        su_material_derivative((su_material)material, mu, lambda, identity, false, H);
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 9; j++) {
                double expected =
                    (i == j ? mu : 0) + (3 * (i % 3) + i / 3 == j ? mu : 0) + (i % 4 == 0 && j % 4 == 0 ? lambda : 0);
                assert_true(fabs(H[9 * i + j] - expected) < 1e-10 * lambda);
            }
    }
}

static void eigenvalues9(const double H[81], double w[9], double vectors[81])
{
    memcpy(vectors, H, 81 * sizeof *H);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', 9, vectors, 9, w), 0);
}

/* The projected derivative equals the exact one with its negative eigenvalues cut off by LAPACK. */
static void check_projection(su_material material, const double F[9])
{
    double exact[81], projected[81], w[9], v[81];
    su_material_derivative(material, MU, LAMBDA, F, false, exact);
    su_material_derivative(material, MU, LAMBDA, F, true, projected);
    eigenvalues9(exact, w, v);
    double scale = fmax(fabs(w[0]), fabs(w[8]));
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) {
            double sum = 0;
            for (int k = 0; k < 9; k++) sum += fmax(w[k], 0) * v[9 * i + k] * v[9 * j + k];
            assert_true(fabs(sum - projected[9 * i + j]) < 1e-11 * scale);
        }
    eigenvalues9(projected, w, v);
    assert_true(w[0] > -1e-13 * scale);
}

static void test_projection(void **unused)
{
    (void)unused;
    state = 5;
    int cut = 0;
    for (int material = 0; material <= SU_TISSUE; material++) {
        for (int round = 0; round < 50; round++) {
            double s[3] = {1 + 0.9 * uniform(), 1 + 0.9 * uniform(), 0.4 + 1.2 * uniform()}, F[9], H[81], w[9], v[81];
            with_stretches(s, F);
            check_projection((su_material)material, F);
            su_material_derivative((su_material)material, MU, LAMBDA, F, false, H);
            eigenvalues9(H, w, v);
            cut += w[0] < 0;
        }
        /* equal and vanishing stretches, where flips and twists divide zero by zero */
        const double special[][3] = {{1, 1, 1}, {1.3, 1.3, 0.7}, {0.5, 0.5, 0.5}, {1, 1, 0}, {1.2, 0.6, -0.6 + 1e-3}};
        for (size_t k = 0; k < sizeof special / sizeof *special; k++) {
            double F[9];
            with_stretches(special[k], F);
            check_projection((su_material)material, F);
        }
    }
    assert_true(cut > 30); /* the cases above do contain indefinite states */
}

/* Flat, collapsed and inverted states give finite numbers. */
static void test_degenerate_states_are_finite(void **unused)
{
    (void)unused;
    const double states[][9] = {{0, 0, 0, 0, 0, 0, 0, 0, 0},  {1, 0, 0, 0, 1, 0, 0, 0, 0},
                                {1, 0, 0, 0, 0, 0, 0, 0, 0},  {-1, 0, 0, 0, -1, 0, 0, 0, -1},
                                {1, 0, 0, 0, 1, 0, 0, 0, -1}, {1e3, 0, 0, 0, 1e-3, 0, 0, 0, -1e-9}};
    for (int material = 0; material <= SU_TISSUE; material++)
        for (size_t k = 0; k < sizeof states / sizeof *states; k++)
            for (int project = 0; project < 2; project++) {
                double P[9], H[81];
                assert_true(isfinite(su_material_energy((su_material)material, MU, LAMBDA, states[k])));
                su_material_stress((su_material)material, MU, LAMBDA, states[k], P);
                su_material_derivative((su_material)material, MU, LAMBDA, states[k], project, H);
                for (int i = 0; i < 9; i++) assert_true(isfinite(P[i]));
                for (int i = 0; i < 81; i++) assert_true(isfinite(H[i]));
            }
}

static void test_names(void **unused)
{
    (void)unused;
    assert_int_equal(su_material_from_name("stvk"), SU_STVK);
    assert_int_equal(su_material_from_name("neohookean"), SU_NEOHOOKEAN);
    assert_int_equal(su_material_from_name("corotational"), SU_COROTATIONAL);
    assert_int_equal(su_material_from_name("rubber"), -1);
    assert_int_equal(su_material_from_name("neo"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stress_is_energy_gradient),
                                       cmocka_unit_test(test_derivative_is_stress_gradient),
                                       cmocka_unit_test(test_rotation_invariance),
                                       cmocka_unit_test(test_rest_state),
                                       cmocka_unit_test(test_small_strain_is_linear_elasticity),
                                       cmocka_unit_test(test_projection),
                                       cmocka_unit_test(test_degenerate_states_are_finite),
                                       cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
