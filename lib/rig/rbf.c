#include "rig/rbf.h"

#include <math.h>

double su_param_distance(int64_t s, const double *p, const double *q, const double *scale)
{
    double sum = 0.0;
    for (int64_t k = 0; k < s; k++) {
        double d = (p[k] - q[k]) * scale[k];
        sum += d * d;
    }
    return sqrt(sum);
}

void su_rbf_weights(int64_t m, int64_t s, const double *params, const double *scale, const double *rbf, const double *p,
                    double *w)
{
    if (m == 1) {
        w[0] = 1.0;
        return;
    }
    for (int64_t i = 0; i < m; i++) w[i] = 0.0;
    for (int64_t j = 0; j < m; j++) {
        double r = su_param_distance(s, p, params + j * s, scale);
        for (int64_t i = 0; i < m; i++) w[i] += rbf[i * m + j] * r;
    }
    double sum = 0.0;
    for (int64_t i = 0; i < m; i++) sum += w[i];
    /* The sum is 1 at the poses and grows with the distance; where p is not a number, stay at the neutral pose. */
    if (!(fabs(sum) > 1e-12) || !isfinite(sum)) {
        for (int64_t i = 0; i < m; i++) w[i] = i == 0;
        return;
    }
    for (int64_t i = 0; i < m; i++) w[i] /= sum;
}

void su_positive_weights(int64_t m, const double *w, double *positive)
{
    double sum = 0.0;
    for (int64_t i = 0; i < m; i++) sum += w[i] > 0.0 ? w[i] : 0.0;
    for (int64_t i = 0; i < m; i++) positive[i] = w[i] > 0.0 ? w[i] / sum : 0.0;
}
