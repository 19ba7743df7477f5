/* The box around points, inline. */
#ifndef SU_GEOMETRY_BOX_H
#define SU_GEOMETRY_BOX_H

#include "geometry/mat3.h"

#include <math.h>
#include <stdint.h>

/* fmin and fmax are calls, for NaN's sake. */
static inline double su_smaller(double a, double b) { return a < b ? a : b; }
static inline double su_larger(double a, double b) { return a > b ? a : b; }

/* Corners of the box of points (n,3); without points low is +inf and high -inf. */
static inline void su_bounding_box(int64_t n, const double *points, double low[3], double high[3])
{
    for (int c = 0; c < 3; c++) low[c] = INFINITY, high[c] = -INFINITY;
    for (int64_t i = 0; i < 3 * n; i++)
        low[i % 3] = su_smaller(low[i % 3], points[i]), high[i % 3] = su_larger(high[i % 3], points[i]);
}

/* Its diagonal; 0 without points. */
static inline double su_box_diagonal(int64_t n, const double *points)
{
    double low[3], high[3];
    su_bounding_box(n, points, low, high);
    return n > 0 ? su_distance3(low, high) : 0;
}

/* Squared distance of p from the box; 0 inside. */
static inline double su_box_squared_distance(const double low[3], const double high[3], const double p[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double d = su_larger(0.0, su_larger(low[i] - p[i], p[i] - high[i]));
        sum += d * d;
    }
    return sum;
}

#endif
