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

/* Sums |b| at which b begins to be drawn back to w, and is w (1 where no weight is negative). Chosen. */
static const double drawn_from = 1.5, drawn_wholly = 3;

/* b <- w + tau (b - w), tau falling from 1 where sum |b| is drawn_from to 0 where it is drawn_wholly (docs/formats.md,
 * convention 7): extrapolation with alternating signs would add up unrelated bases. */
static void draw_back(int64_t m, const double *w, double *b)
{
    double sum = 0.0, tau = 0.0;
    for (int64_t i = 0; i < m; i++) sum += fabs(b[i]);
    if (sum <= drawn_from) {
        tau = 1.0;
    } else if (sum < drawn_wholly) {
        double z = (sum - drawn_from) / (drawn_wholly - drawn_from);
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
    draw_back(m, w, b);
}
