#include "beam.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static su_rotation_field *field_of(const beam *b, int64_t count, const int32_t *list)
{
    su_rotation_field *field = NULL;
    su_error err;
    assert_int_equal(
        su_rotation_field_create(&(su_tet_mesh){b->n, b->t, b->vertices, b->tets}, NULL, count, list, &field, &err),
        SU_OK);
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
        if (at < 0.03 || at > 0.97) continue; /* one-sided rings at the ends */
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

/* Sections at x turn by angle x / length about the axis. */
static void twist(const beam *b, double angle, double *x)
{
    for (int64_t v = 0; v < b->n; v++) {
        const double *X = b->vertices + 3 * v;
        double a = angle * X[0];
        x[3 * v] = X[0], x[3 * v + 1] = cos(a) * X[1] - sin(a) * X[2], x[3 * v + 2] = sin(a) * X[1] + cos(a) * X[2];
    }
}

static void twisting_turns_each_section(void **state)
{
    (void)state;
    beam b = beam_create(24, 4, 4, 1.0, 0.2, 0.2);
    double *x = calloc(3 * (size_t)b.n, sizeof *x), *q = calloc(4 * (size_t)b.n, sizeof *q);
    su_rotation_field *field = field_of(&b, 0, NULL);
    for (int k = 1; k <= 2;
         k++) { /* half a turn, and a whole one, where w changes sign on the way; off the axis there is shear */
        twist(&b, k * M_PI, x);
        su_rotation_field_evaluate(field, x, q, 1);
        for (int64_t v = 0; v < b.n; v++) {
            const double *X = b.vertices + 3 * v;
            if (fabs(X[1]) + fabs(X[2]) > 1e-9 || X[0] < 0.03 || X[0] > 0.97) continue;
            double half = 0.5 * k * M_PI * X[0], cosine = q[4 * v] * cos(half) + q[4 * v + 1] * sin(half);
            assert_true(2 * acos(fmin(fabs(cosine), 1)) < 0.02 * k);
        }
    }
    su_rotation_field_free(field);
    free(x), free(q);
    beam_free(&b);
}

/* The definition, written out tet by tet: the rotation nearest to sum V F / sum V. noise: of positions, by the size of
 * a cell; returns how many tets it turned inside out. */
static int64_t is_the_rotation_of_the_mean(double noise)
{
    beam b = beam_create(6, 3, 3, 1.0, 0.5, 0.5);
    double *x = calloc(3 * (size_t)b.n, sizeof *x), *q = calloc(4 * (size_t)b.n, sizeof *q),
           *sum = calloc(9 * (size_t)b.n, sizeof *sum);
    double *volume = calloc((size_t)b.n, sizeof *volume);
    int64_t inverted = 0;
    su_rotation_field *field = field_of(&b, 0, NULL);
    beam_bend(&b, 1.5, x);
    for (int64_t i = 0; i < 3 * b.n; i++) x[i] += noise / 6 * sin(12.9898 * (double)(i + 1) * 78.233);
    su_rotation_field_evaluate(field, x, q, 1);
    for (int64_t e = 0; e < b.t; e++) {
        double D[9], edges[9], inverse[9], F[9];
        const int32_t *v = b.tets + 4 * e;
        su_tet_edges(b.vertices + 3 * v[0], b.vertices + 3 * v[1], b.vertices + 3 * v[2], b.vertices + 3 * v[3], D);
        su_tet_edges(x + 3 * v[0], x + 3 * v[1], x + 3 * v[2], x + 3 * v[3], edges);
        double size = su_inverse3(D, inverse);
        su_mul33(edges, inverse, F);
        inverted += su_det3(F) < 0;
        for (int c = 0; c < 4; c++) {
            volume[v[c]] += size;
            for (int i = 0; i < 9; i++) sum[9 * v[c] + i] += size * F[i];
        }
    }
    for (int64_t v = 0; v < b.n; v++) {
        double R[9], E[9];
        for (int i = 0; i < 9; i++) sum[9 * v + i] /= volume[v];
        su_nearest_rotation(sum + 9 * v, E);
        su_quaternion_matrix(q + 4 * v, R);
        for (int i = 0; i < 9; i++) assert_float_equal(R[i], E[i], 1e-9);
    }
    su_rotation_field_free(field);
    free(x), free(q), free(sum), free(volume);
    beam_free(&b);
    return inverted;
}

static void is_the_definition(void **state)
{
    (void)state;
    assert_int_equal(is_the_rotation_of_the_mean(0.1), 0);
    assert_true(is_the_rotation_of_the_mean(0.6) > 10);
}

static void an_inverted_tet_turns_little(void **state)
{
    (void)state;
    /* One vertex in the middle is pushed through the far side of its ring: others must not flip with it. */
    beam b = beam_create(6, 6, 6, 1.0, 1.0, 1.0);
    double *x = calloc(3 * (size_t)b.n, sizeof *x), *q = calloc(4 * (size_t)b.n, sizeof *q), far = 0;
    su_rotation_field *field = field_of(&b, 0, NULL);
    memcpy(x, b.vertices, 3 * (size_t)b.n * sizeof *x);
    int64_t middle = -1, inverted = 0;
    for (int64_t v = 0; v < b.n; v++)
        if (su_distance3(b.vertices + 3 * v, (double[]){0.5, 0, 0}) < 1e-9) middle = v;
    assert_true(middle >= 0);
    x[3 * middle] += 0.25;
    for (int64_t e = 0; e < b.t; e++) {
        double edges[9];
        const int32_t *v = b.tets + 4 * e;
        su_tet_edges(x + 3 * v[0], x + 3 * v[1], x + 3 * v[2], x + 3 * v[3], edges);
        inverted += su_det3(edges) < 0;
    }
    assert_true(inverted >= 4);
    su_rotation_field_evaluate(field, x, q, 1);
    for (int64_t v = 0; v < b.n; v++) far = fmax(far, 2 * acos(fmin(q[4 * v], 1)));
    print_message("# %lld inverted tets turn their neighbours by %.2f\n", (long long)inverted, far);
    assert_true(far < 0.4);
    for (int i = 1; i < 4; i++)
        assert_float_equal(q[4 * middle + i], 0, 1e-9); /* its own mean gradient does not see it */
    su_rotation_field_free(field);
    free(x), free(q);
    beam_free(&b);
}

/* Two tets share an edge; one turns by just under, the other by just over half a turn about the same axis. */
static void half_turns_are_met_half_way(void **state)
{
    (void)state;
    const double vertices[] = {0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, -1, 0, 0, 0, -1, 0};
    const int32_t tets[] = {0, 2, 3, 1, 0, 4, 5, 1}, list[] = {0};
    su_rotation_field *field = NULL;
    su_error err;
    assert_int_equal(su_rotation_field_create(&(su_tet_mesh){6, 2, vertices, tets}, NULL, 1, list, &field, &err),
                     SU_OK);
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
    assert_int_equal(su_rotation_field_create(&(su_tet_mesh){4, 1, flat, tet}, NULL, 0, NULL, &field, &err), SU_INPUT);
    assert_null(field);
    assert_non_null(strstr(err.text, "tet 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rigid_motion_gives_its_rotation),
        cmocka_unit_test(bending_turns_each_section),
        cmocka_unit_test(threads_and_subsets_do_not_matter),
        cmocka_unit_test(twisting_turns_each_section),
        cmocka_unit_test(is_the_definition),
        cmocka_unit_test(an_inverted_tet_turns_little),
        cmocka_unit_test(half_turns_are_met_half_way),
        cmocka_unit_test(flat_tets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
