/* Vectors of any length, inline: sums in the order of the entries, so that they are the same everywhere. */
#ifndef SU_GEOMETRY_VECTOR_H
#define SU_GEOMETRY_VECTOR_H

#include <math.h>
#include <stdint.h>

static inline double su_dot(int64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* sum of w a b */
static inline double su_weighted_dot(int64_t count, const double *w, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += w[i] * a[i] * b[i];
    return sum;
}

static inline double su_norm(int64_t count, const double *a) { return sqrt(su_dot(count, a, a)); }

/* Share of the descent that the slope promises with which a line search is content (Armijo; Nocedal, Wright: Numerical
 * Optimization, section 3.1, whose 1e-4 it is). */
#define SU_SUFFICIENT_DESCENT 1e-4

#endif
