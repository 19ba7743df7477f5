/* The order by bisection: a permutation, the same from any numbering, whose ranges lie close together. */
#include "core/order.h"
#include "geometry/bisection.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIDE = 12, COUNT = SIDE * SIDE * SIDE };

static void grid(double *x)
{
    for (int k = 0; k < COUNT; k++) {
        x[3 * k] = k % SIDE, x[3 * k + 1] = k / SIDE % SIDE;
        x[3 * k + 2] = k / SIDE / SIDE;
    }
}

static void an_order_has_every_point_once(void **unused)
{
    (void)unused;
    double *x = calloc(3 * COUNT, sizeof *x);
    int32_t *order = malloc(COUNT * sizeof *order);
    for (int same = 0; same < 2; same++) { /* at last all points in one place */
        if (same == 0) grid(x);
        if (same == 1) memset(x, 0, 3 * COUNT * sizeof *x);
        su_bisection_order(COUNT, x, 0, order);
        su_sort(order, COUNT, sizeof *order, su_order_int32);
        for (int k = 0; k < COUNT; k++) assert_int_equal(order[k], k);
    }
    su_bisection_order(0, x, 0, order);
    free(x), free(order);
}

/* An eighth of a cube's points in order is an eighth of the cube. */
static void ranges_lie_close_together(void **unused)
{
    (void)unused;
    double *x = calloc(3 * COUNT, sizeof *x);
    int32_t *order = malloc(COUNT * sizeof *order);
    grid(x);
    su_bisection_order(COUNT, x, 0, order);
    for (int part = 0; part < 8; part++)
        for (int i = 0; i < 3; i++) {
            double low = SIDE, high = 0;
            for (int k = COUNT / 8 * part; k < COUNT / 8 * (part + 1); k++)
                low = fmin(low, x[3 * order[k] + i]), high = fmax(high, x[3 * order[k] + i]);
            assert_true(high - low == SIDE / 2 - 1);
        }
    free(x), free(order);
}

/* For a tree of eight children a node: the first cut is across the longest axis, where a node of 64 begins. */
static void cuts_are_where_nodes_begin(void **unused)
{
    (void)unused;
    enum { N = 700, HALF = (N / 2 + 32) / 64 * 64 };
    double *x = calloc(3 * N, sizeof *x), below = -INFINITY, above = INFINITY;
    int32_t *order = malloc(N * sizeof *order);
    for (int k = 0; k < N; k++) x[3 * k] = k % 7, x[3 * k + 1] = 100 * sin(k), x[3 * k + 2] = k % 11;
    su_bisection_order(N, x, 8, order);
    for (int k = 0; k < HALF; k++) below = fmax(below, x[3 * order[k] + 1]);
    for (int k = HALF; k < N; k++) above = fmin(above, x[3 * order[k] + 1]);
    assert_true(below < above);
    su_sort(order, N, sizeof *order, su_order_int32);
    for (int k = 0; k < N; k++) assert_int_equal(order[k], k);
    free(x), free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_has_every_point_once),
        cmocka_unit_test(ranges_lie_close_together),
        cmocka_unit_test(cuts_are_where_nodes_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
