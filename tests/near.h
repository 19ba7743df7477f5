/* Comparisons of doubles: one that says what it saw, and sizes of arrays. */
#ifndef TESTS_NEAR_H
#define TESTS_NEAR_H

#include <math.h>
#include <stdint.h>

/* |value - expected| <= tolerance; NaN fails. Include cmocka.h before. */
#define assert_near(value, expected, tolerance)                                                                        \
    do {                                                                                                               \
        double near_value = (value), near_expected = (expected), near_tolerance = (tolerance);                         \
        if (!(fabs(near_value - near_expected) <= near_tolerance))                                                     \
            fail_msg("%s = %.12g, expected %.12g within %.3g", #value, near_value, near_expected, near_tolerance);     \
    } while (0)

/* Largest |a_i|. */
static inline double largest(int64_t count, const double *a)
{
    double most = 0.0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(a[i]));
    return most;
}

/* Largest |a_i - b_i|. */
static inline double difference(int64_t count, const double *a, const double *b)
{
    double most = 0.0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

#endif
