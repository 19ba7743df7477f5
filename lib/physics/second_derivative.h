/* Second derivatives of the first Piola-Kirchhoff stress, for modal derivatives: many pairs of directions at one
 * deformation gradient. */
#ifndef SU_PHYSICS_SECOND_DERIVATIVE_H
#define SU_PHYSICS_SECOND_DERIVATIVE_H

#include "physics/material.h"

#include <stdint.h>

/* Directions (count) of both sides, component by component: A[c count + i], B likewise, c = 0..8 a row-major component;
 * and the pairs (i, j) of them that are wanted. */
typedef struct su_direction_pairs {
    int64_t count;
    const double *A, *B; /* (9,count) */
    int64_t pairs;
    const int32_t *pair; /* (pairs,2) */
} su_direction_pairs;

/* Q[c pairs + p] = d^2 P_c (F)[A_i, B_j] with (i, j) the pair p. scratch: su_second_derivative_scratch doubles. Exact
 * for the three materials. */
void su_material_second_derivative(su_material material, double mu, double lambda, const double F[9],
                                   const su_direction_pairs *of, double *Q, double *scratch);
int64_t su_second_derivative_scratch(int64_t count, int64_t pairs);

#endif
