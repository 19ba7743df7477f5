#include "fem/volume_barrier.h"

#include "geometry/mat3.h"

#include <math.h>

/* b and its first two derivatives at J, for near < J < far. */
static void barrier_at(const su_volume_barrier *barrier, double J, double b[3])
{
    double span = barrier->far - barrier->near, gap = J - barrier->near, d = J - barrier->far;
    double log_gap = log(gap / span);
    b[0] = -d * d * log_gap;
    b[1] = -2 * d * log_gap - d * d / gap;
    b[2] = -2 * log_gap - 4 * d / gap + d * d / (gap * gap);
}

double su_volume_barrier_energy(const su_volume_barrier *barrier, const su_elastic *elastic, const double *y)
{
    double sum = 0;
    for (int64_t e = 0; e < elastic->t; e++) {
        double F[9], b[3];
        if (!barrier->guarded[e]) continue;
        su_elastic_gradient(elastic, y, e, F);
        double J = su_det3(F);
        if (J >= barrier->far) continue;
        if (!(J > barrier->near)) return INFINITY;
        barrier_at(barrier, J, b);
        sum += barrier->weight * elastic->volume[e] * b[0];
    }
    return sum;
}

void su_volume_barrier_add(const su_volume_barrier *barrier, const su_elastic *elastic, const double *y, double *force,
                           double *by_ratio)
{
    for (int64_t e = 0; e < elastic->t; e++) {
        double F[9], b[3], P[9];
        if (by_ratio) by_ratio[2 * e] = by_ratio[2 * e + 1] = 0;
        if (!barrier->guarded[e]) continue;
        su_elastic_gradient(elastic, y, e, F);
        double J = su_det3(F);
        if (J >= barrier->far) continue;
        barrier_at(barrier, J, b);
        for (int i = 0; i < 3; i++) b[i] *= barrier->weight;
        for (int i = 0; i < 3; i++) su_cross3(F + 3 * ((i + 1) % 3), F + 3 * ((i + 2) % 3), P + 3 * i); /* dJ/dF */
        for (int i = 0; i < 9; i++) P[i] *= b[1];
        su_elastic_add_stress(elastic, e, P, force);
        if (by_ratio) by_ratio[2 * e] = b[1], by_ratio[2 * e + 1] = b[2];
    }
}
