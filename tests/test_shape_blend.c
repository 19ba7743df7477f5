#include "beam.h"
#include "geometry/mat3.h"
#include "reduce/cubature/shape_blend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double largest_distance(const beam *b, const double *x, const double *y)
{
    double most = 0;
    for (int64_t v = 0; v < b->n; v++) most = fmax(most, su_distance3(x + 3 * v, y + 3 * v));
    return most;
}

/* Moves x so that its held end lies where that of y does: a blend is free to choose the frame. */
static void pin(const beam *b, double *x, const double *y)
{
    double shift[3] = {0, 0, 0};
    for (int64_t k = 0; k < b->held_count; k++)
        for (int i = 0; i < 3; i++) shift[i] += (y[3 * b->held[k] + i] - x[3 * b->held[k] + i]) / (double)b->held_count;
    for (int64_t v = 0; v < b->n; v++)
        for (int i = 0; i < 3; i++) x[3 * v + i] += shift[i];
}

static void ends_are_kept_and_bends_stay_arcs(void **state)
{
    (void)state;
    beam b = beam_create(24, 3, 3, 1, 0.1, 0.1);
    double *from = calloc(3 * (size_t)b.n, 8), *to = calloc(3 * (size_t)b.n, 8), *mid = calloc(3 * (size_t)b.n, 8);
    double *x = calloc(3 * (size_t)b.n, 8);
    su_shape_blend *blend;
    assert_int_equal(su_shape_blend_create(&(su_tet_mesh){b.n, b.t, b.vertices, b.tets}, 1, &blend, NULL), SU_OK);
    /* The last pair is more than half a turn apart at the tip. */
    const double pairs[][2] = {{0, 1}, {0.5, 1.5}, {-1.5, 1.5}, {0, 4.5}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        beam_bend(&b, pairs[k][0], from);
        beam_bend(&b, pairs[k][1], to);
        assert_int_equal(su_shape_blend_at(blend, from, to, 0, x, NULL), SU_OK);
        assert_true(largest_distance(&b, x, from) < 1e-8);
        assert_int_equal(su_shape_blend_at(blend, from, to, 1, x, NULL), SU_OK);
        assert_true(largest_distance(&b, x, to) < 1e-8);
        assert_int_equal(su_shape_blend_at(blend, from, to, 0.5, x, NULL), SU_OK);
        beam_bend(&b, 0.5 * (pairs[k][0] + pairs[k][1]), mid);
        pin(&b, x, mid);
        double off = largest_distance(&b, x, mid);
        printf("# bends %.1f and %.1f: blend is %.4f of the length off the arc half way\n", pairs[k][0], pairs[k][1],
               off);
        assert_true(off < 0.01);
    }
    su_shape_blend_free(blend);
    free(from), free(to), free(mid), free(x);
    beam_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_are_kept_and_bends_stay_arcs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
