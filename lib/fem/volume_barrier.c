#include "fem/volume_barrier.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"

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
                           su_sparse *K)
{
    for (int64_t e = 0; e < elastic->t; e++) {
        double F[9], u[9], s[3], v[9], b[3], g[3], P[9] = {0}, A[9], twist[3], flip[3], H[81];
        if (!barrier->guarded[e]) continue;
        su_elastic_gradient(elastic, y, e, F);
        double J = su_det3(F);
        if (J >= barrier->far) continue;
        barrier_at(barrier, J, b);
        for (int i = 0; i < 3; i++) b[i] *= barrier->weight;
        su_svd3(F, u, s, v);
        for (int k = 0; k < 3; k++) g[k] = s[(k + 1) % 3] * s[(k + 2) % 3]; /* dJ/ds */
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) P[3 * i + j] += b[1] * g[k] * u[3 * i + k] * v[3 * j + k];
        su_elastic_add_stress(elastic, e, P, force);
        if (!K) continue;
        for (int k = 0; k < 3; k++) {
            for (int l = 0; l < 3; l++) A[3 * k + l] = b[2] * g[k] * g[l] + (k == l ? 0 : b[1] * s[3 - k - l]);
            twist[k] = b[1] * s[k], flip[k] = -b[1] * s[k];
        }
        su_isotropic_derivative(u, v, A, twist, flip, true, H);
        su_elastic_add_derivative(elastic, e, H, K);
    }
}
