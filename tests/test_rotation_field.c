#include "beam.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static su_rotation_field *field_of(const beam *b, int64_t count, const int32_t *list)
{
    su_rotation_field *field = NULL;
    su_error err;
    assert_int_equal(su_rotation_field_create(b->n, b->vertices, b->t, b->tets, count, list, &field, &err), SU_OK);
    return field;
}

static void rigid_motion_gives_its_rotation(void **state)
{
    (void)state;
    beam b = beam_create(6, 2, 2, 1.0, 0.2, 0.2);
    double *x = calloc(3 * (size_t)b.n, sizeof *x), *q = calloc(4 * (size_t)b.n, sizeof *q);
    su_rotation_field *field = field_of(&b, 0, NULL);
    const double axis[3] = {2.0 / 7, -3.0 / 7, 6.0 / 7}, shift[3] = {1, -2, 3};
    /* Half turns and beyond, where quaternions change sign and w is near 0. */
    const double angles[] = {0, 1e-9, 0.7, -2.5, 3.14159265358979, 3.2, 6.0};
    for (size_t a = 0; a < sizeof angles / sizeof *angles; a++) {
        beam_turn(&b, axis, angles[a], shift, x);
        su_rotation_field_evaluate(field, x, q, 2);
        double s = sin(0.5 * angles[a]), expected[4] = {cos(0.5 * angles[a])}, R[9], E[9];
        for (int i = 0; i < 3; i++) expected[i + 1] = s * axis[i];
        su_quaternion_matrix(expected, E);
        for (int64_t v = 0; v < b.n; v++) {
            assert_true(q[4 * v] >= 0);
            su_quaternion_matrix(q + 4 * v, R);
            for (int i = 0; i < 9; i++) assert_float_equal(R[i], E[i], 1e-12);
        }
    }
    su_rotation_field_free(field);
    free(x), free(q);
    beam_free(&b);
}

static void bending_turns_each_section(void **state)
{
    (void)state;
    /* On an arc the rotation of a section at arc length s is angle * s / length about z. */
    beam b = beam_create(40, 2, 2, 1.0, 0.05, 0.05);
    double *x = calloc(3 * (size_t)b.n, sizeof *x), *q = calloc(4 * (size_t)b.n, sizeof *q);
    su_rotation_field *field = field_of(&b, 0, NULL);
    beam_bend(&b, 2.0, x);
    su_rotation_field_evaluate(field, x, q, 1);
    for (int64_t v = 0; v < b.n; v++) {
        double at = b.vertices[3 * v];
        if (at < 0.03 || at > 0.97) continue;   /* one-sided rings at the ends */
        double log[3];
        su_quaternion_log(q + 4 * v, log);
        assert_float_equal(log[2], 2.0 * at, 0.02);
        assert_float_equal(log[0], 0, 0.02);
        assert_float_equal(log[1], 0, 0.02);
    }
    su_rotation_field_free(field);
    free(x), free(q);
    beam_free(&b);
}

static void threads_and_subsets_do_not_matter(void **state)
{
    (void)state;
    beam b = beam_create(8, 3, 3, 1.0, 0.3, 0.3);
    size_t bytes = 4 * (size_t)b.n * sizeof(double);
    double *x = calloc(3 * (size_t)b.n, sizeof *x), *one = malloc(bytes), *two = malloc(bytes), *part = malloc(bytes);
    beam_bend(&b, 2.8, x);
    for (int64_t i = 0; i < 3 * b.n; i++) x[i] += 0.01 * sin(12.9898 * (double)(i + 1) * 78.233);
    su_rotation_field *field = field_of(&b, 0, NULL);
    su_rotation_field_evaluate(field, x, one, 1);
    su_rotation_field_evaluate(field, x, two, 2);
    assert_memory_equal(one, two, bytes);
    /* A subset out of order, with one vertex twice. */
    const int32_t list[] = {77, 3, 50, 3, 12};
    su_rotation_field *some = field_of(&b, 5, list);
    su_rotation_field_evaluate(some, x, part, 2);
    for (int k = 0; k < 5; k++) assert_memory_equal(part + 4 * k, one + 4 * list[k], 4 * sizeof(double));
    su_rotation_field_free(some);
    su_rotation_field_free(field);
    free(x), free(one), free(two), free(part);
    beam_free(&b);
}

static void signs_follow_the_lowest_tet(void **state)
{
    (void)state;
    /* Two tets share an edge; one turns by just under, the other by just over half a turn about the same axis, so that
     * their quaternions with w >= 0 nearly cancel. Aligned signs give half a turn, not a spurious identity. */
    const double vertices[] = {0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, -1, 0, 0, 0, -1, 0};
    const int32_t tets[] = {0, 2, 3, 1, 0, 4, 5, 1}, list[] = {0};
    su_rotation_field *field = NULL;
    su_error err;
    assert_int_equal(su_rotation_field_create(6, vertices, 2, tets, 1, list, &field, &err), SU_OK);
    double x[18];
    memcpy(x, vertices, sizeof x);
    for (int v = 2; v < 6; v++) {
        double a = v < 4 ? 3.1 : 3.2, c = cos(a), s = sin(a), px = vertices[3 * v], py = vertices[3 * v + 1];
        x[3 * v] = c * px - s * py, x[3 * v + 1] = s * px + c * py;
    }
    double q[4];
    su_rotation_field_evaluate(field, x, q, 1);
    /* 3.15 about z is beyond half a turn: with w >= 0 it reads as less than half a turn the other way. */
    assert_float_equal(q[0], -cos(0.5 * 3.15), 1e-4);
    assert_float_equal(q[3], -1, 1e-3);
    su_rotation_field_free(field);
}

static void flat_tets_are_refused(void **state)
{
    (void)state;
    const double flat[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
    const int32_t tet[] = {0, 1, 2, 3};
    su_rotation_field *field = NULL;
    su_error err;
    assert_int_equal(su_rotation_field_create(4, flat, 1, tet, 0, NULL, &field, &err), SU_INPUT);
    assert_null(field);
    assert_non_null(strstr(err.text, "tet 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rigid_motion_gives_its_rotation),
        cmocka_unit_test(bending_turns_each_section),
        cmocka_unit_test(threads_and_subsets_do_not_matter),
        cmocka_unit_test(signs_follow_the_lowest_tet),
        cmocka_unit_test(flat_tets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
