/* Errors between two runs, against figures worked out by hand. */
#include "fem/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { N = 2, F = 4 };

static const double mass[N] = {1.0, 9.0};

/* Both runs are the flesh; the skin is vertex 1 alone. */
static su_compare *compare(double (*run)(int k, int i), double (*reference)(int k, int i))
{
    su_compare *c;
    assert_int_equal(su_compare_create(N, mass, 1, F, &c, NULL), SU_OK);
    for (int k = 0; k < F; k++) {
        double u[3 * N], v[3 * N];
        for (int i = 0; i < 3 * N; i++) u[i] = run(k, i), v[i] = reference(k, i);
        su_compare_add(c, 0.5 * k, u, u + 3, v, v + 3);
    }
    return c;
}

static double swing(int k, int i) { return (k % 2 ? 1.0 : -1.0) * (i + 1); }
static double scaled(int k, int i) { return 1.1 * swing(k, i); }
static double sagging(int k, int i) { return swing(k, i) + 100.0 * (i % 3 == 1); }
static double sagging_more(int k, int i) { return scaled(k, i) + 101.0 * (i % 3 == 1); }
static double nothing(int k, int i) { return (void)k, (void)i, 0.0; }
static double heavy_off(int k, int i) { return swing(k, i) + (i == 3 ? (k % 2 ? 0.5 : -0.5) : 0.0); }

static void equal_runs_have_no_error(void **unused)
{
    (void)unused;
    su_compare *c = compare(sagging, sagging);
    su_compare_total total = su_compare_result(c);
    assert_true(total.error == 0.0 && total.velocity == 0.0 && total.skin_largest == 0.0);
    su_compare_free(c);
    c = compare(nothing, nothing);
    assert_true(su_compare_result(c).error == 0.0);
    su_compare_free(c);
    c = compare(swing, nothing);
    assert_true(isinf(su_compare_result(c).error));
    su_compare_free(c);
}

/* A pose that is held: without their means both runs are rounding, which must not become an error. */
static double held(int k, int i) { return 0.1 * (i + 1) + (k % 2 ? 1e-17 : 0.0); }
static double held_off(int k, int i) { return 1.01 * 0.1 * (i + 1) + (k % 2 ? 1e-16 : 0.0); }

static void a_pose_that_is_held_is_off_by_what_it_is_off(void **unused)
{
    (void)unused;
    su_compare *c = compare(held_off, held);
    su_compare_total total = su_compare_result(c);
    assert_near(total.plain, 0.01, 1e-12);
    assert_true(total.mean_removed == 0.0 && total.mass_mean_removed == 0.0);
    assert_near(total.error, 0.01, 1e-12);
    su_compare_free(c);
}

/* So must what they are not solved to: here a ten thousandth of the displacement, to and fro in one and fro and to. */
static double settled(int k, int i) { return 0.1 * (i + 1) + (k % 2 ? 1e-5 : -1e-5); }
static double settled_off(int k, int i) { return 1.01 * 0.1 * (i + 1) + (k % 2 ? -1e-5 : 1e-5); }

static void a_swing_that_no_run_is_solved_to_is_none(void **unused)
{
    (void)unused;
    su_compare *c = compare(settled_off, settled);
    su_compare_total total = su_compare_result(c);
    assert_near(total.plain, 0.01, 1e-6);
    assert_true(total.mean_removed == 0.0 && total.mass_mean_removed == 0.0 && total.velocity > 1);
    assert_true(total.error == fmax(total.plain, total.mass));
    su_compare_free(c);
}

static void a_scaled_run_is_off_by_its_factor(void **unused)
{
    (void)unused;
    su_compare *c = compare(scaled, swing);
    su_compare_total total = su_compare_result(c);
    assert_near(total.plain, 0.1, 1e-12);
    assert_near(total.mass, 0.1, 1e-12);
    assert_near(total.mean_removed, 0.1, 1e-12);
    assert_near(total.velocity, 0.1, 1e-12);
    assert_near(total.skin_largest, 0.1 * sqrt(16 + 25 + 36), 1e-12);
    assert_near(total.skin_motion, sqrt(16 + 25 + 36), 1e-12);
    assert_int_equal(total.skin_frame, 0);
    su_compare_free(c);
}

/* A large constant part hides the error of the motion, unless it is taken away. */
static void the_frame_mean_is_removed_from_each_run(void **unused)
{
    (void)unused;
    su_compare *c = compare(sagging_more, sagging);
    su_compare_total total = su_compare_result(c);
    assert_true(total.plain < 0.02);
    assert_near(total.mean_removed, 0.1, 1e-9);
    assert_near(total.mass_mean_removed, 0.1, 1e-9);
    assert_near(total.error, 0.1, 1e-9);
    su_compare_free(c);
}

static void mass_weighs_vertices(void **unused)
{
    (void)unused;
    su_compare *c = compare(heavy_off, swing);
    su_compare_total total = su_compare_result(c);
    assert_near(total.plain, 0.5 / sqrt(1 + 4 + 9 + 16 + 25 + 36), 1e-12);
    assert_near(total.mass, sqrt(9 * 0.25 / (14 + 9 * 77)), 1e-12);
    su_compare_free(c);
}

static void frames_have_rows_and_a_csv(void **unused)
{
    (void)unused;
    su_compare *c = compare(scaled, swing);
    int64_t count;
    const su_compare_frame *frame = su_compare_frames(c, &count);
    assert_int_equal(count, F);
    assert_near(frame[2].relative, 0.1, 1e-12);
    assert_near(frame[2].u, sqrt(91.0 / N), 1e-12);
    assert_near(frame[0].velocity, 0.0, 0.0);
    assert_near(frame[2].velocity, 2.0 * sqrt(91.0 / N) / 0.5, 1e-12);
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_true(su_compare_csv(c, stream));
    fclose(stream);
    int lines = 0, commas = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n', commas += *at == ',';
    assert_int_equal(lines, F + 1);
    assert_int_equal(commas, 9 * (F + 1));
    assert_non_null(strstr(text, "frame,time_s"));
    free(text);
    su_compare_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_have_no_error),
        cmocka_unit_test(a_pose_that_is_held_is_off_by_what_it_is_off),
        cmocka_unit_test(a_swing_that_no_run_is_solved_to_is_none),
        cmocka_unit_test(a_scaled_run_is_off_by_its_factor),
        cmocka_unit_test(the_frame_mean_is_removed_from_each_run),
        cmocka_unit_test(mass_weighs_vertices),
        cmocka_unit_test(frames_have_rows_and_a_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
