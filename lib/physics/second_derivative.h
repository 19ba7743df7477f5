/* Second derivatives of the first Piola-Kirchhoff stress, for modal derivatives: many pairs of directions at one
 * deformation gradient. */
#ifndef SU_PHYSICS_SECOND_DERIVATIVE_H
#define SU_PHYSICS_SECOND_DERIVATIVE_H

#include "physics/material.h"

#include <stdint.h>

/* Q[c pairs + p] = d^2 P_c (F)[A_i, B_j] with (i, j) = pair[2 p], pair[2 p + 1] and c = 0..8 a row-major component.
 * Directions are stored component by component: A[c count + i], B likewise. scratch: su_second_derivative_scratch
 * doubles. Exact for the three materials. */
void su_material_second_derivative(su_material material, double mu, double lambda, const double F[9], int64_t count,
                                   const double *A, const double *B, int64_t pairs, const int32_t *pair, double *Q,
                                   double *scratch);
int64_t su_second_derivative_scratch(int64_t count, int64_t pairs);

#endif
