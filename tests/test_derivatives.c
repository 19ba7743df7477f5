/* Modal derivative right-hand sides against differences of the tangent stiffness. */
#include "box.h"
#include "fem/elastic.h"
#include "physics/second_derivative.h"
#include "geometry/rotation.h"
#include "reduce/modes/derivatives.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* d2P[A, B] against central differences of (dP/dF)[A] along B, at general and at degenerate-looking states. */
static void test_second_derivative(void **unused)
{
    (void)unused;
    uint64_t seed = 17;
    for (int material = 0; material <= SU_TISSUE; material++)
        for (int round = 0; round < 30; round++) {
            double F[9], A[3 * 9], B[3 * 9], Q[9 * 9], scale = 0, error[2] = {0, 0};
            double *scratch = malloc((size_t)su_second_derivative_scratch(3, 9) * sizeof *scratch);
            int32_t pair[18];
            double amount = round == 0 ? 0 : round < 15 ? 0.25 : 0.1; /* round 0: F = I */
            for (int i = 0; i < 9; i++) F[i] = (i % 4 == 0) + amount * box_random(&seed);
            if (round >= 25) { /* inverted */
                for (int i = 0; i < 3; i++) F[3 * i] *= -0.5;
            }
            for (int i = 0; i < 27; i++) A[i] = box_random(&seed), B[i] = box_random(&seed);
            for (int p = 0; p < 9; p++) pair[2 * p] = p / 3, pair[2 * p + 1] = p % 3;
            su_material_second_derivative((su_material)material, 2.0, 9.0, F, &(su_direction_pairs){3, A, B, 9, pair},
                                          Q, scratch);
            for (int level = 0; level < 2; level++) {
                double h = level ? 2e-4 : 8e-4;
                for (int p = 0; p < 9; p++) {
                    double up[81], down[81], G[9];
                    for (int c = 0; c < 9; c++) G[c] = F[c] + h * B[3 * c + p % 3];
                    su_material_derivative((su_material)material, 2.0, 9.0, G, false, up);
                    for (int c = 0; c < 9; c++) G[c] = F[c] - h * B[3 * c + p % 3];
                    su_material_derivative((su_material)material, 2.0, 9.0, G, false, down);
                    for (int c = 0; c < 9; c++) {
                        double d = 0;
                        for (int k = 0; k < 9; k++) d += (up[9 * c + k] - down[9 * c + k]) * A[3 * k + p / 3] / (2 * h);
                        error[level] = fmax(error[level], fabs(d - Q[9 * c + p]));
                        scale = fmax(scale, fabs(d));
                    }
                }
            }
            assert_true(error[1] < 1e-4 * scale);
            assert_true(error[1] < error[0] / 8 + 1e-9 * scale);
            free(scratch);
        }
}

/* The assembled derivative on a mesh with held vertices, at a rest shape that has collapsed tets; unlike fields phi, y.
 */
static void test_stiffness_derivative(void **unused)
{
    (void)unused;
    const int32_t held[] = {0, 1, 2, 3, 9};
    for (int material = 0; material <= SU_TISSUE; material++) {
        box_mesh box = box_mesh_create(3, 3, 4, 1, 1.1, 1.3);
        box_mesh_jitter(&box, 0.2);
        double *young = box_constant(box.t, 1000), *poisson = box_constant(box.t, 0.4);
        su_elastic elastic;
        su_sparse up, down;
        assert_int_equal(su_elastic_create(&elastic,
                                           &(su_elastic_body){.mesh = {box.n, box.t, box.vertices, box.tets},
                                                              .held_count = 5,
                                                              .held = held,
                                                              .material = (su_material)material,
                                                              .young = young,
                                                              .poisson = poisson,
                                                              .density = young},
                                           NULL),
                         SU_OK);
        double *rest = malloc(3 * (size_t)box.n * sizeof *rest), *moved = malloc(3 * (size_t)box.n * sizeof *rest);
        memcpy(rest, box.vertices, 3 * (size_t)box.n * sizeof *rest);
        for (int64_t v = 0; v < box.n; v++) rest[3 * v] += 0.3 * rest[3 * v + 2] * rest[3 * v + 2];
        for (int i = 0; i < 3; i++) rest[3 * 30 + i] += 0.25; /* pushed through its neighbours */
        su_elastic_set_rest(&elastic, rest, NULL, 1);
        assert_true(elastic.collapsed > 0 && elastic.collapsed < box.t / 4);
        int64_t size = elastic.pattern.size;
        enum { COUNT = 3, PAIRS = 4 };
        const int32_t pair[2 * PAIRS] = {0, 0, 0, 1, 2, 1, 1, 2};
        double *phi = malloc((size_t)(COUNT * size) * sizeof *phi), *y = malloc((size_t)(COUNT * size) * sizeof *y);
        double *out = malloc((size_t)(PAIRS * size) * sizeof *out), *two = malloc((size_t)(PAIRS * size) * sizeof *two);
        double *a = malloc((size_t)size * sizeof *a), *b = malloc((size_t)size * sizeof *b);
        uint64_t seed = 8;
        for (int64_t i = 0; i < COUNT * size; i++) phi[i] = box_random(&seed), y[i] = box_random(&seed);
        const su_mode_pairs of = {COUNT, phi, y, PAIRS, pair};
        assert_int_equal(su_stiffness_derivatives(&elastic, rest, &of, out, 1, NULL), SU_OK);
        assert_int_equal(su_stiffness_derivatives(&elastic, rest, &of, two, 2, NULL), SU_OK);
        assert_memory_equal(out, two, (size_t)(PAIRS * size) * sizeof *out);
        assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, &up, NULL), SU_OK);
        assert_int_equal(su_sparse_clone_pattern(&elastic.pattern, &down, NULL), SU_OK);
        for (int p = 0; p < PAIRS; p++) {
            double error[2], scale = 0;
            for (int level = 0; level < 2; level++) {
                double h = level ? 1e-5 : 4e-5;
                for (int side = 0; side < 2; side++) {
                    memcpy(moved, rest, 3 * (size_t)box.n * sizeof *rest);
                    for (int64_t f = 0; f < elastic.free_count; f++)
                        for (int i = 0; i < 3; i++)
                            moved[3 * elastic.free_vertex[f] + i] +=
                                (side ? -h : h) * phi[pair[2 * p] * size + 3 * f + i];
                    su_elastic_stiffness(&elastic, moved, false, side ? &down : &up, 1);
                }
                su_sparse_multiply(&up, y + pair[2 * p + 1] * size, a);
                su_sparse_multiply(&down, y + pair[2 * p + 1] * size, b);
                error[level] = 0;
                for (int64_t i = 0; i < size; i++) {
                    double d = (a[i] - b[i]) / (2 * h);
                    scale = fmax(scale, fabs(d));
                    error[level] = fmax(error[level], fabs(d - out[p * size + i]));
                }
            }
            assert_true(error[1] < 1e-4 * scale);
            assert_true(error[1] < error[0] / 4 + 1e-8 * scale);
        }
        su_sparse_free(&up), su_sparse_free(&down);
        su_elastic_free(&elastic);
        free(phi), free(y), free(out), free(two), free(a), free(b), free(rest), free(moved), free(young), free(poisson);
        box_mesh_free(&box);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_second_derivative),
                                       cmocka_unit_test(test_stiffness_derivative)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
