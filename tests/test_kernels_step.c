/* Kernels of the step in every instruction set this processor has, against plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/kernels/kernel_set.h"
#include "core/memory.h"
#include "physics/material.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "near.h"
#include "runtime/kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

/* The group of a set that these tests are about; NULL where this processor cannot run it. */
static const su_kernels *kernels_of(const char *name)
{
    const su_kernel_set *set = su_kernel_set_choose(name);
    return set ? &set->step : NULL;
}

static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (double)(1 << 23) - 1.0;
}

static int derivative_entry(int a, int b) { return a <= b ? a * (17 - a) / 2 + b : b * (17 - b) / 2 + a; }

/* One panel of `count` elements that begin at element `first`: B' D B, the upper triangle, and B' t. What stands beyond
 * is left alone. */
static void check_tangent(const su_kernels *k, int first, int count, int columns, uint64_t *state)
{
    int stride = (columns + 7) / 8 * 8, elements = (first + count + 15) / 16 * 16;
    float *B = su_calloc(9 * count * stride + 64, sizeof *B), *D = su_calloc(45 * elements, sizeof *D);
    float *work = su_calloc(72 * stride + 8, sizeof *work);
    double *t = su_calloc(9 * elements, sizeof *t), *tile = su_calloc(columns * stride + 8, sizeof *tile);
    double *force = su_calloc(stride, sizeof *force), *K = su_calloc(columns * columns, sizeof *K),
           *f = su_calloc(columns, sizeof *f);
    for (int i = 0; i < 9 * count * stride; i++) B[i] = i % stride < columns ? (float)noise(state) : 0;
    for (int i = 0; i < 45 * elements; i++) D[i] = (float)noise(state);
    for (int i = 0; i < 9 * elements; i++) t[i] = noise(state);
    tile[0] = 3, force[columns - 1] = 2; /* it adds */
    for (int i = 0; i < 8; i++) tile[columns * stride + i] = 7;
    k->tangent(&(su_panel_products){first, count, columns, stride, B, D, t, work, tile, force});
    K[0] = 3, f[columns - 1] = 2;
    for (int e = 0; e < count; e++) {
        int at = first + e;
        for (int a = 0; a < 9; a++) {
            const float *row = B + (9 * e + a) * stride;
            for (int i = 0; i < columns; i++) f[i] += (double)row[i] * t[9 * (at / 8 * 8) + at % 8 + 8 * a];
            for (int b = 0; b < 9; b++) {
                double d = (double)D[45 * (at / 16 * 16) + at % 16 + 16 * derivative_entry(a, b)];
                for (int i = 0; i < columns; i++)
                    for (int j = i; j < columns; j++)
                        K[i * columns + j] += (double)row[i] * d * (double)B[(9 * e + b) * stride + j];
            }
        }
    }
    for (int i = 0; i < columns; i++) {
        assert_near(force[i], f[i], 1e-12 * count);
        for (int j = i; j < columns; j++) assert_near(tile[i * stride + j], K[i * columns + j], 2e-5 * sqrt(count));
    }
    for (int i = 0; i < 8; i++) assert_true(tile[columns * stride + i] == 7);
    free(B), free(D), free(work), free(t), free(tile), free(force), free(K), free(f);
}

/* C += R'R, the upper triangle, and what stands beyond is left alone. */
static void check_gram(const su_kernels *k, int depth, int columns, uint64_t *state)
{
    int stride = (columns + 7) / 8 * 8;
    float *R = su_calloc(depth * stride + 8, sizeof *R);
    double *C = su_calloc(columns * stride + 8, sizeof *C);
    for (int i = 0; i < depth * stride; i++) R[i] = i % stride < columns ? (float)noise(state) : 0;
    for (int i = 0; i < 8; i++) C[columns * stride + i] = 7;
    C[0] = 3; /* it adds */
    k->gram(depth, columns, stride, R, C);
    for (int i = 0; i < columns; i++)
        for (int j = i; j < columns; j++) {
            double sum = i + j == 0 ? 3 : 0;
            for (int n = 0; n < depth; n++) sum += (double)R[n * stride + i] * (double)R[n * stride + j];
            assert_near(C[i * stride + j], sum, 1e-6 * sqrt(depth) + 1e-7 * depth);
        }
    for (int i = 0; i < 8; i++) assert_true(C[columns * stride + i] == 7);
    free(R), free(C);
}

static void tangents_of_any_width(void **unused)
{
    (void)unused;
    static const char *names[3] = {"base", "avx2", "avx512"};
    for (int n = 0; n < 3; n++) {
        const su_kernels *k = kernels_of(names[n]);
        uint64_t state = 5;
        if (!k) continue;
        for (int columns = 1; columns <= 58; columns++) {
            check_tangent(k, columns % 8, 1 + columns % 19, columns, &state);
            check_gram(k, 1 + columns % 19, columns, &state);
        }
    }
}

/* Sixteens of tets abreast, which begin at element `first`: B' D B, its upper triangle, B' t and B q. */
static void check_abreast(const su_kernels *k, int first, int count, int columns, uint64_t *state)
{
    int stride = (columns + 7) / 8 * 8, entries = columns * (columns + 1) / 2;
    float *B = su_calloc(9 * count * columns, sizeof *B), *D = su_calloc(45 * (first + count), sizeof *D);
    float *work = su_calloc(16 * (entries + 7) + 16, sizeof *work), *few = su_calloc(columns, sizeof *few);
    double *t = su_calloc(9 * (first + count), sizeof *t), *tile = su_calloc(columns * stride, sizeof *tile);
    double *force = su_calloc(columns, sizeof *force), *K = su_calloc(columns * columns, sizeof *K),
           *f = su_calloc(columns, sizeof *f);
    double *q = su_calloc(columns, sizeof *q), *strain = su_calloc(9 * (first + count), sizeof *strain),
           *rough = su_calloc(9 * count, sizeof *rough);
    for (int i = 0; i < 9 * count * columns; i++) B[i] = (float)noise(state);
    for (int i = 0; i < 45 * (first + count); i++) D[i] = (float)noise(state);
    for (int i = 0; i < 9 * (first + count); i++) t[i] = noise(state), strain[i] = 4;
    for (int i = 0; i < columns; i++) q[i] = noise(state), few[i] = (float)q[i];
    tile[0] = K[0] = 3, force[columns - 1] = f[columns - 1] = 2; /* it adds */
    for (int i = 0; i < 16; i++) work[16 * (entries + 7) + i] = 7;
    k->tangent_abreast(count, columns, stride, B, D + 45 * first, work, tile);
    k->force_abreast(count, columns, B, t + 9 * first, force);
    k->strain_abreast(count, columns, B, q, strain + 9 * first);
    k->strain_abreast_float(count, columns, B, few, rough);
    for (int i = 0; i < 16; i++) assert_true(work[16 * (entries + 7) + i] == 7);
    for (int i = 0; i < 9 * first; i++) assert_true(strain[i] == 4);
    for (int e = 0; e < count; e++) {
        int at = first + e, lane = 9 * (e / 8 * 8) + e % 8;
        const float *own = B + 9 * columns * (e / 16 * 16) + e % 16;
        for (int a = 0; a < 9; a++) {
            double sum = 0;
            for (int i = 0; i < columns; i++) {
                double b = (double)own[144 * i + 16 * a];
                f[i] += b * t[9 * first + lane + 8 * a], sum += b * q[i];
                for (int c = 0; c < 9; c++)
                    for (int j = i; j < columns; j++)
                        K[i * columns + j] += b *
                                              (double)D[45 * (at / 16 * 16) + at % 16 + 16 * derivative_entry(a, c)] *
                                              (double)own[144 * j + 16 * c];
            }
            assert_near(strain[9 * first + lane + 8 * a], sum, 1e-14 * columns);
            assert_near(rough[lane + 8 * a], sum, 1e-6 * sqrt(columns));
        }
    }
    for (int i = 0; i < columns; i++) {
        assert_near(force[i], f[i], 1e-12 * count);
        for (int j = i; j < stride; j++)
            assert_near(tile[i * stride + j], j < columns ? K[i * columns + j] : 0, 2e-5 * sqrt(count));
    }
    free(B), free(D), free(work), free(few), free(t), free(tile), free(force), free(K), free(f), free(q), free(strain),
        free(rough);
}

static void tets_abreast(void **unused)
{
    (void)unused;
    static const char *names[3] = {"base", "avx2", "avx512"};
    for (int n = 0; n < 3; n++) {
        const su_kernels *k = kernels_of(names[n]);
        uint64_t state = 11;
        if (!k) continue;
        for (int columns = 1; columns <= 33; columns++)
            check_abreast(k, columns % 3 * 16, 16 + columns % 4 * 48, columns, &state);
    }
}

/* Rows times a vector and back, to the precision of double. */
static void check_rows(const su_kernels *k, int rows, int stride, uint64_t *state)
{
    float *A = su_calloc((rows + 7) * stride, sizeof *A);
    double *x = su_calloc(stride, sizeof *x), *y = su_calloc(rows + 8, sizeof *y),
           *back = su_calloc(stride, sizeof *back);
    for (int i = 0; i < rows * stride; i++) A[i] = (float)noise(state);
    for (int i = 0; i < stride; i++) x[i] = noise(state);
    y[rows] = 11;
    k->rows_times(rows, stride, A, x, y);
    assert_true(y[rows] == 11);
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < stride; j++) sum += (double)A[i * stride + j] * x[j];
        assert_near(y[i], sum, 1e-14 * stride);
    }
    float *few = su_calloc(stride, sizeof *few);
    double *rough = su_calloc(rows + 8, sizeof *rough);
    for (int i = 0; i < stride; i++) few[i] = (float)x[i];
    rough[rows] = 11;
    k->rows_times_float(rows, stride, A, few, rough);
    assert_true(rough[rows] == 11);
    for (int i = 0; i < rows; i++) assert_near(rough[i], y[i], 1e-6 * sqrt(stride));
    free(few), free(rough);
    k->rows_combine(rows, stride, A, y, back);
    for (int j = 0; j < stride; j++) {
        double sum = 0;
        for (int i = 0; i < rows; i++) sum += (double)A[i * stride + j] * y[i];
        assert_near(back[j], sum, 1e-13 * rows);
    }
    free(A), free(x), free(y), free(back);
}

static void rows_times_vectors(void **unused)
{
    (void)unused;
    static const char *names[3] = {"base", "avx2", "avx512"};
    for (int n = 0; n < 3; n++) {
        const su_kernels *k = kernels_of(names[n]);
        uint64_t state = 9;
        if (!k) continue;
        for (int stride = 8; stride <= 56; stride += 8)
            for (int rows = 1; rows <= 36; rows += stride == 16 ? 1 : 5) check_rows(k, rows, stride, &state);
    }
}

/* Displacements at the corners of tets give strains, which with those at the first corners give the others back. */
static void strains_lead_to_corners(void **unused)
{
    (void)unused;
    enum { TETS = 19, PADDED = 24, KEPT = 16 };
    static const char *names[3] = {"base", "avx2", "avx512"};
    float rotation[36 * PADDED] __attribute__((aligned(64))) = {0};
    double gradient[12 * PADDED] __attribute__((aligned(64))) = {0}, u[12 * PADDED] __attribute__((aligned(64))) = {0};
    double strain[9 * PADDED] __attribute__((aligned(64))), again[12 * PADDED] __attribute__((aligned(64))),
        still[3 * KEPT];
    int32_t base[PADDED];
    uint64_t state = 3;
    for (int k = 0; k < 3 * KEPT; k++) still[k] = k % KEPT < 11 ? noise(&state) : 0;
    for (int e = 0; e < PADDED; e++) {
        double edges[9], inverse[9];
        base[e] = e < TETS ? e % 12 : 11; /* the twelfth never moves */
        if (e >= TETS) continue;
        for (int i = 0; i < 9; i++) edges[i] = (i % 4 == 0) + 0.3 * noise(&state);
        su_inverse3(edges, inverse);
        for (int b = 0; b < 3; b++)
            for (int c = 0; c < 3; c++) {
                gradient[(3 * (c + 1) + b) * PADDED + e] = inverse[3 * c + b];
                gradient[b * PADDED + e] -= inverse[3 * c + b];
            }
        for (int c = 0; c < 4; c++) {
            double q[4], R[9], size = 0;
            for (int i = 0; i < 4; i++) q[i] = noise(&state), size += q[i] * q[i];
            for (int i = 0; i < 4; i++) q[i] /= sqrt(size);
            su_quaternion_matrix(q, R);
            for (int i = 0; i < 9; i++) rotation[(9 * c + i) * PADDED + e] = (float)R[i];
            for (int a = 0; a < 3; a++)
                u[(3 * c + a) * PADDED + e] = c == 0 ? still[a * KEPT + base[e]] : noise(&state);
        }
    }
    for (int n = 0; n < 3; n++) {
        const su_kernels *k = kernels_of(names[n]);
        if (!k) continue;
        k->turned_strain(PADDED, rotation, u, gradient, strain);
        k->corners(PADDED, KEPT, base, still, rotation, gradient, strain, again);
        for (int i = 0; i < 12 * PADDED; i++) assert_near(again[i], u[i], 1e-6); /* rotations are floats */
        for (int e = 0; e < TETS; e++)
            for (int a = 0; a < 9; a++) {
                double sum = 0;
                for (int c = 0; c < 4; c++)
                    for (int b = 0; b < 3; b++)
                        sum += (double)rotation[(9 * c + 3 * (a / 3) + b) * PADDED + e] * u[(3 * c + b) * PADDED + e] *
                               gradient[(3 * c + a % 3) * PADDED + e];
                assert_near(strain[e / 8 * 72 + 8 * a + e % 8], sum, 1e-12);
            }
    }
}

/* Stress and derivative of every material against the scalar code, at strains up to a third; flat and inverted elements
 * are left to that code. */
static void check_response(const su_kernels *k, const su_response *how, uint64_t *state)
{
    enum { COUNT = 40 }; /* two and a half of the widest groups */
    double mu[COUNT] __attribute__((aligned(64))), lambda[COUNT] __attribute__((aligned(64))),
        volume[COUNT] __attribute__((aligned(64)));
    double strain[9 * COUNT] __attribute__((aligned(64))), carried[9 * COUNT] __attribute__((aligned(64))),
        stress[9 * COUNT] __attribute__((aligned(64)));
    float derivative[45 * (COUNT + 8)] __attribute__((aligned(64))),
        held[45 * (COUNT + 8)] __attribute__((aligned(64)));
    uint8_t irregular[COUNT / 8];
    for (int i = 0; i < 9 * COUNT; i++) strain[i] = noise(state) / 3, carried[i] = noise(state) / 3;
    for (int i = 0; i < 45 * (COUNT + 8); i++) held[i] = (float)noise(state);
    for (int e = 0; e < COUNT; e++) {
        mu[e] = 2 + noise(state), lambda[e] = 5 + noise(state), volume[e] = e == 7 ? 0 : 1.5 + noise(state);
        for (int a = 0; a < 9 && e % 13 == 5; a++)
            strain[e / 8 * 72 + 8 * a + e % 8] = a % 4 == 0 ? -1.2 : 0; /* inverted */
    }
    su_response what = *how;
    what.count = COUNT, what.mu = mu, what.lambda = lambda, what.volume = volume, what.strain = strain,
    what.stress = stress;
    what.derivative = how->linear != 0 || how->project ? derivative : NULL;
    what.held = held, what.carried = carried, what.irregular = irregular;
    k->respond(&what);
    int left = 0;
    for (int e = 0; e < COUNT; e++) {
        double F[9], P[9], H[81], at = 45 * (e / 16 * 16) + e % 16, scale = what.stiffness * volume[e] * 30;
        if (irregular[e / 8] >> (e % 8) & 1) {
            left++;
            continue;
        }
        assert_int_not_equal(e % 13, 5);
        for (int a = 0; a < 9; a++) F[a] = strain[e / 8 * 72 + 8 * a + e % 8] + (a % 4 == 0);
        su_material_stress(what.material, what.stiffness * mu[e], what.stiffness * lambda[e], F, P);
        su_material_derivative(what.material, what.stiffness * mu[e], what.stiffness * lambda[e], F, what.project, H);
        for (int a = 0; a < 9; a++) {
            double expected = volume[e] * P[a];
            for (int b = 0; b < 9; b++) {
                double before = (double)held[(int)at + 16 * derivative_entry(a, b)];
                expected -= volume[e] * what.linear * H[9 * a + b] * (F[b] - (b % 4 == 0));
                expected += what.damping * before * (F[b] - (b % 4 == 0) - carried[e / 8 * 72 + 8 * b + e % 8]);
                if (what.derivative)
                    assert_near(derivative[(int)at + 16 * derivative_entry(a, b)],
                                volume[e] * H[9 * a + b] + what.damping * before, 2e-5 * scale + 1e-6);
            }
            assert_near(stress[e / 8 * 72 + 8 * a + e % 8], expected,
                        (what.linear != 0                   ? 2e-5
                         : what.material == SU_COROTATIONAL ? 1e-7
                                                            : 1e-12) *
                                scale +
                            1e-12); /* its axes are found in float */
        }
    }
    assert_true(left >= 3 && left < COUNT / 2); /* 5, 18, 31 */
}

static void responses_are_those_of_the_material(void **unused)
{
    (void)unused;
    static const char *names[3] = {"base", "avx2", "avx512"};
    for (int n = 0; n < 3; n++) {
        const su_kernels *k = kernels_of(names[n]);
        uint64_t state = 17;
        if (!k) continue;
        for (int material = 0; material <= SU_TISSUE; material++)
            for (int way = 0; way < 6; way++)
                check_response(k,
                               &(su_response){.material = (su_material)material,
                                              .stiffness = 1.3,
                                              .project = way % 2 == 1,
                                              .linear = way / 2 == 1 ? 1.4 : 0,
                                              .damping = way / 2 == 2 ? 0.7 : 0},
                               &state);
    }
}

/* A material that has no lanes is the scalar code's, all of it. */
static void a_law_without_lanes_is_left_to_the_scalar_code(void **unused)
{
    (void)unused;
    const su_kernels *k = kernels_of("base");
    uint8_t irregular[5] = {0};
    k->respond(&(su_response){.material = (su_material)99, .count = 40, .irregular = irregular});
    for (int i = 0; i < 5; i++) assert_int_equal(irregular[i], 0xff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(responses_are_those_of_the_material),
                                       cmocka_unit_test(a_law_without_lanes_is_left_to_the_scalar_code),
                                       cmocka_unit_test(tangents_of_any_width),
                                       cmocka_unit_test(tets_abreast),
                                       cmocka_unit_test(rows_times_vectors),
                                       cmocka_unit_test(strains_lead_to_corners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
