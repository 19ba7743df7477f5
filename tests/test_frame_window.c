/* Motion between frames: against the natural cubic spline solved as a whole, at cuts, ends and in short shots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "near.h"
#include "io/frame_window.h"

#include <math.h>
#include <stdlib.h>

enum { F = 40, VALUES = 3 };

static float at(int frame, int k) { return (float)(sin(1.1 * frame + k) + 0.02 * frame * frame * k); }

/* Slopes of the natural cubic spline over frames a .. b, by elimination of the tridiagonal system. */
static void natural(int a, int b, int k, double *slope)
{
    double c[F], d[F];
    for (int i = a; i <= b; i++) {
        double under = i > a, over = i < b, middle = 2.0 * (under + over);
        double right = 3.0 * ((i < b ? at(i + 1, k) - at(i, k) : 0.0) + (i > a ? at(i, k) - at(i - 1, k) : 0.0));
        if (a == b) middle = 1.0;
        if (i > a) middle -= under * c[i - 1], right -= under * d[i - 1];
        c[i] = over / middle, d[i] = right / middle;
    }
    for (int i = b; i >= a; i--) slope[i] = d[i] - (i < b ? c[i] * slope[i + 1] : 0.0);
}

static double hermite(const double *slope, int i, double t, int k)
{
    return (1 + 2 * t) * (1 - t) * (1 - t) * at(i, k) + t * t * (3 - 2 * t) * at(i + 1, k) +
           t * (1 - t) * (1 - t) * slope[i] + t * t * (t - 1) * slope[i + 1];
}

static void check(const su_frame_window *w, int frame, int low, int high, double (*slope)[F])
{
    static const double fractions[] = {-0.5, -0.25, 0.0, 0.25, 0.75};
    float position[VALUES], velocity[VALUES];
    for (int n = 0; n < 5; n++) {
        double f = fractions[n];
        su_frame_window_sample(w, frame, f, position, velocity);
        for (int k = 0; k < VALUES; k++) {
            const double *s = slope[k];
            bool outside = (f < 0 && frame == low) || (f > 0 && frame == high);
            double want = outside ? at(frame, k) + f * s[frame]
                          : f < 0 ? hermite(s, frame - 1, 1 + f, k)
                          : f > 0 ? hermite(s, frame, f, k)
                                  : at(frame, k);
            assert_near(position[k], want, f == 0.0 ? 0.0 : 2e-3); /* 0.27^6 of slopes up to 3 */
            double h = 1e-4, rate = s[frame];
            if (f != 0.0 && !outside) {
                int i = f < 0 ? frame - 1 : frame;
                double t = f < 0 ? 1 + f : f;
                rate = (hermite(s, i, t + h, k) - hermite(s, i, t - h, k)) / (2 * h);
            }
            assert_near(velocity[k], rate, 4e-3);
        }
    }
}

static void follows_the_natural_spline(void **unused)
{
    (void)unused;
    const int cut = 17;
    double slope[VALUES][F];
    for (int k = 0; k < VALUES; k++) natural(0, cut - 1, k, slope[k]), natural(cut, F - 1, k, slope[k]);
    su_frame_window *w;
    assert_int_equal(su_frame_window_create(VALUES, SU_REACH_SPLINE, &w, NULL), 0);
    int delay = su_frame_window_delay(w), due = 0;
    for (int i = 0; i < F; i++) {
        float *to = su_frame_window_push(w, 0, i == cut);
        for (int k = 0; k < VALUES; k++) to[k] = at(i, k);
        for (; due <= i - delay; due++) check(w, due, due < cut ? 0 : cut, due < cut ? cut - 1 : F - 1, slope);
    }
    for (; due < F; due++) check(w, due, cut, F - 1, slope);
    su_frame_window_free(w);
}

static void reach_of_one_is_central_differences(void **unused)
{
    (void)unused;
    su_frame_window *w;
    float v[VALUES];
    assert_int_equal(su_frame_window_create(VALUES, SU_REACH_DIFFERENCES, &w, NULL), 0);
    for (int i = 0; i < 5; i++) {
        float *to = su_frame_window_push(w, 100, i == 3);
        for (int k = 0; k < VALUES; k++) to[k] = at(i, k);
    }
    for (int i = 0; i < 5; i++) {
        su_frame_window_sample(w, 100 + i, 0.0, NULL, v);
        int a = i == 0 || i == 3 ? i : i - 1, b = i == 2 || i == 4 ? i : i + 1;
        for (int k = 0; k < VALUES; k++) assert_near(v[k], (at(b, k) - at(a, k)) / (b - a), 1e-6);
    }
    su_frame_window_free(w);
}

static void short_shots_are_straight(void **unused)
{
    (void)unused;
    for (int frames = 1; frames <= 2; frames++) {
        su_frame_window *w;
        float p, v;
        assert_int_equal(su_frame_window_create(1, SU_REACH_SPLINE, &w, NULL), 0);
        for (int i = 0; i < frames; i++) *su_frame_window_push(w, 0, false) = (float)(1 + 2 * i);
        for (int i = 0; i < frames; i++) {
            su_frame_window_sample(w, i, 0.25, &p, &v);
            assert_near(p, 1 + 2 * i + (frames > 1 ? 0.5 : 0.0), 1e-6);
            assert_near(v, frames > 1 ? 2.0 : 0.0, 1e-6);
        }
        su_frame_window_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(follows_the_natural_spline),
                                       cmocka_unit_test(reach_of_one_is_central_differences),
                                       cmocka_unit_test(short_shots_are_straight)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
