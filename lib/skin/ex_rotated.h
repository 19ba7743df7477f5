/* Ex-rotated elasticity (SP section 4): the rotation of each tet comes from the pose, not from the deformation, so that
 * forces are affine in positions:
 *   psi(F) = mu |F - R|^2 + lambda/2 tr^2(R'F - 1)                                       (SP eq. 5)
 *   P = 2 mu (F - R) + lambda tr(R'F - 1) R                                              (SP eq. 6)
 *   K_ab = V (2 mu (g_a . g_b) 1 + lambda (R g_a)(R g_b)'),  which is R K_0 R' block by block
 * with g_a the gradient of a corner's shape function in the neutral shape. Matrices here are positive definite: forces
 * are minus gradients, K is the second derivative of the energy. */
#ifndef SU_SKIN_EX_ROTATED_H
#define SU_SKIN_EX_ROTATED_H

#include "core/error.h"
#include "linalg/block_matrix.h"

#include <stdint.h>

/* The mesh and its materials. Free vertices are numbered: first those of the boundary (`outer` of them), then those of
 * the interior, SP's b and i; held ones have none. */
typedef struct su_ex_rotated {
    int64_t n, t, outer, count; /* vertices, tets; free ones of the boundary, all free ones */
    const int32_t *tets;        /* (t,4) borrowed */
    int32_t *number;            /* (n) of a free vertex, -1: held */
    int32_t *vertex;            /* (count) */
    double *gradient;           /* (t,12) g_a, 1/m */
    double *volume;             /* (t) neutral, m^3 */
    double *mu, *lambda;        /* (t) Pa */
    int32_t *scatter;           /* (t,16) block of K of each pair of corners, -1: one is held */
    su_blocks pattern;          /* of K on the free vertices, values 0 */
} su_ex_rotated;

typedef struct su_ex_rotated_mesh {
    int64_t n, t;
    const double *vertices;        /* (n,3) neutral, m */
    const int32_t *tets;           /* (t,4); kept */
    const uint8_t *held;           /* (n) 1: its place is given by the pose */
    const uint8_t *outer;          /* (n) 1: of the boundary, where contacts may act */
    const double *young, *poisson; /* (t) Pa, 1 */
} su_ex_rotated_mesh;

/* SU_INPUT on a tet without volume, and where a part of the flesh has no held vertex: nothing says where that is. */
su_status su_ex_rotated_create(const su_ex_rotated_mesh *mesh, su_ex_rotated *out, su_error *err);
void su_ex_rotated_free(su_ex_rotated *body);

/* R (t,9) the rotations of the pose, x (n,3) positions. Energy in J; force (count,3), N, minus its gradient at the free
 * vertices; K into a clone of the pattern. */
double su_ex_rotated_energy(const su_ex_rotated *body, const double *R, const double *x);
void su_ex_rotated_force(const su_ex_rotated *body, const double *R, const double *x, double *force);
void su_ex_rotated_stiffness(const su_ex_rotated *body, const double *R, su_blocks *K);

#endif
