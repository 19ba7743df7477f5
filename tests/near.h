/* Comparison of doubles that says what it saw. */
#ifndef TESTS_NEAR_H
#define TESTS_NEAR_H

#include <math.h>

/* |value - expected| <= tolerance; NaN fails. Include cmocka.h before. */
#define assert_near(value, expected, tolerance)                                                                      \
    do {                                                                                                             \
        double near_value = (value), near_expected = (expected), near_tolerance = (tolerance);                       \
        if (!(fabs(near_value - near_expected) <= near_tolerance))                                                   \
            fail_msg("%s = %.12g, expected %.12g within %.3g", #value, near_value, near_expected, near_tolerance);   \
    } while (0)

#endif
