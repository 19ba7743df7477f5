/* Loops over blocks of columns, of every set of vector units, against sums one by one. */
#include "box.h"
#include "linalg/lane_kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { ROWS = 41, SQUARE = SU_LANES * SU_LANES };
/* Of sums of so many terms of about one. */
#define ROUNDING 3e-6

static void fill(int64_t count, uint64_t *state, float *x)
{
    for (int64_t k = 0; k < count; k++) x[k] = (float)box_random(state);
}

static void products_add_up(const su_lane_kernels *kernels)
{
    uint64_t state = 3;
    float v[ROWS * SU_LANES], w[ROWS * SU_LANES];
    double C[SQUARE];
    fill(ROWS * SU_LANES, &state, v), fill(ROWS * SU_LANES, &state, w);
    for (int k = 0; k < SQUARE; k++) C[k] = k;
    kernels->products(ROWS, v, w, C);
    for (int a = 0; a < SU_LANES; a++)
        for (int c = 0; c < SU_LANES; c++) {
            double sum = SU_LANES * a + c;
            for (int r = 0; r < ROWS; r++) sum += (double)v[SU_LANES * r + a] * (double)w[SU_LANES * r + c];
            assert_near(C[SU_LANES * a + c], sum, 10 * ROUNDING);
        }
}

static void combinations_add_up(const su_lane_kernels *kernels)
{
    enum { STRIDE = SU_LANES + 5 };
    uint64_t state = 4;
    float v[ROWS * SU_LANES], w[ROWS * SU_LANES], before[ROWS * SU_LANES];
    double C[SU_LANES * STRIDE];
    fill(ROWS * SU_LANES, &state, v), fill(ROWS * SU_LANES, &state, w);
    memcpy(before, w, sizeof w);
    for (int k = 0; k < SU_LANES * STRIDE; k++) C[k] = box_random(&state);
    kernels->combine(ROWS, v, C, STRIDE, -0.5F, w);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < SU_LANES; c++) {
            double sum = (double)before[SU_LANES * r + c];
            for (int a = 0; a < SU_LANES; a++) sum -= 0.5 * (double)v[SU_LANES * r + a] * C[STRIDE * a + c];
            assert_near((double)w[SU_LANES * r + c], sum, ROUNDING);
        }
}

/* L and what it leaves of x: L y of the panel's rows, and L' y of its columns. */
static void panels_are_solved(const su_lane_kernels *kernels)
{
    uint64_t state = 5;
    float L[ROWS * ROWS], x[ROWS * SU_LANES], given[ROWS * SU_LANES];
    for (int width = 1; width < 20; width++)
        for (int height = width; height <= ROWS; height += 13) {
            fill(ROWS * ROWS, &state, L), fill(ROWS * SU_LANES, &state, given);
            for (int k = 0; k < width * height; k++) L[k] *= 0.1F;
            for (int c = 0; c < width; c++) L[c * height + c] = 1.5F;
            memcpy(x, given, sizeof x);
            kernels->forward(width, height, L, x);
            for (int l = 0; l < SU_LANES; l++)
                for (int r = 0; r < height; r++) {
                    double sum = r < width ? 0 : (double)x[SU_LANES * r + l]; /* what is left of the rows below */
                    for (int c = 0; c < width && c <= r; c++)
                        sum += (double)L[c * height + r] * (double)x[SU_LANES * c + l];
                    assert_near(sum, (double)given[SU_LANES * r + l], ROUNDING);
                }
            memcpy(x, given, sizeof x);
            kernels->backward(width, height, L, x);
            for (int l = 0; l < SU_LANES; l++)
                for (int c = 0; c < width; c++) {
                    double sum = 0;
                    for (int r = c; r < height; r++) sum += (double)L[c * height + r] * (double)x[SU_LANES * r + l];
                    assert_near(sum, (double)given[SU_LANES * c + l], ROUNDING);
                }
        }
}

/* For every set of vector units that this processor has. */
#define OF_ALL_SETS(test)                                                                                              \
    static void test##_in_all_sets(void **unused)                                                                      \
    {                                                                                                                  \
        (void)unused;                                                                                                  \
        for (int set = 0; set <= (int)su_vector_set_here(); set++) test(SU_OF_SET(su_lane_kernels, set));              \
    }
OF_ALL_SETS(products_add_up)
OF_ALL_SETS(combinations_add_up)
OF_ALL_SETS(panels_are_solved)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_add_up_in_all_sets),
        cmocka_unit_test(combinations_add_up_in_all_sets),
        cmocka_unit_test(panels_are_solved_in_all_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
