/* A barrier that keeps tets from collapsing: energy that grows without bound as a tet's volume falls to a share of its
 * neutral one, and is zero, with two derivatives, above another (the clamped logarithm of Li et al., Incremental
 * Potential Contact, ACM TOG 39(4), 2020, eq. 6, of the volume ratio J instead of a distance):
 *
 *     b(J) = -(J - far)^2 log((J - near)/(far - near))  for near < J < far,  0 above */
#ifndef SU_FEM_VOLUME_BARRIER_H
#define SU_FEM_VOLUME_BARRIER_H

#include "fem/elastic.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_volume_barrier {
    double near, far;       /* volume ratios */
    double weight;          /* energy density, J/m^3 */
    const uint8_t *guarded; /* (t) borrowed: tets that the barrier acts on; all others are left alone */
} su_volume_barrier;

/* Energy about the neutral shape of the elastic mesh at y (n,3); INFINITY where a guarded tet is at `near` or below. */
double su_volume_barrier_energy(const su_volume_barrier *barrier, const su_elastic *elastic, const double *y);
/* Adds the gradient to force (n,3); by_ratio (t,2), unless NULL, receives the first and second derivative of the energy
 * density by J, for su_elastic_stiffness_with. Guarded tets are above `near`. */
void su_volume_barrier_add(const su_volume_barrier *barrier, const su_elastic *elastic, const double *y, double *force,
                           double *by_ratio);

#endif
