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

void su_drawn_back_weights(int64_t m, const double *w, double *b)
{
    /* Extrapolation with alternating signs would add up unrelated bases: draw back to w where sum |b| grows. */
    double a = 0.0;
    for (int64_t i = 0; i < m; i++) a += fabs(b[i]);
    double tau = 0.0;
    if (a <= 1.5) {
        tau = 1.0;
    } else if (a < 3.0) {
        double z = (a - 1.5) / 1.5;
        tau = 1.0 - z * z * (3.0 - 2.0 * z);
    }
    if (tau == 0.0) /* also where b overflowed */
        for (int64_t i = 0; i < m; i++) b[i] = w[i];
    else
        for (int64_t i = 0; i < m; i++) b[i] = w[i] + tau * (b[i] - w[i]);
}

void su_basis_weights(int64_t m, int64_t s, const double *params, const double *scale, int64_t columns,
                      const double *basis_rbf, const double *p, const double *w, double *b)
{
    if (!basis_rbf || columns != m + 1 + s || m <= 2) {
        for (int64_t i = 0; i < m; i++) b[i] = w[i];
        return;
    }
    for (int64_t i = 0; i < m; i++) {
        const double *row = basis_rbf + i * columns;
        b[i] = row[m];
        for (int64_t k = 0; k < s; k++) b[i] += row[m + 1 + k] * p[k];
    }
    for (int64_t j = 0; j < m; j++) {
        double r = su_param_distance(s, p, params + j * s, scale), kernel = r * r * r;
        for (int64_t i = 0; i < m; i++) b[i] += basis_rbf[i * columns + j] * kernel;
    }
    su_drawn_back_weights(m, w, b);
}
