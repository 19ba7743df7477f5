/* Hyperelastic materials: energy density, first Piola-Kirchhoff stress and its derivative, functions of the deformation
 * gradient alone. Pure, no allocation; linked by libsupple and libsupple-runtime. */
#ifndef SU_FEM_MATERIAL_H
#define SU_FEM_MATERIAL_H

#include <stdbool.h>

typedef enum su_material { SU_STVK, SU_NEOHOOKEAN, SU_COROTATIONAL } su_material;

/* "stvk", "neohookean", "corotational"; -1 for another name. */
int su_material_from_name(const char *name);
const char *su_material_name(su_material material);

/* Lame parameters (Pa) of Young's modulus E (Pa) and Poisson's ratio nu. */
void su_lame(double young, double poisson, double *mu, double *lambda);

/* psi(F), J/m^3, 0 at F = I:
 *   stvk          mu |E|^2 + lambda/2 tr^2 E, E = (F'F - I)/2
 *   neohookean    stable neo-Hookean of Smith et al. 2018 with the log term, mu' = 4/3 mu, lambda' = lambda + 5/6 mu
 *   corotational  mu |F - R|^2 + lambda/2 tr^2(R'F - I), R the nearest proper rotation
 * F[9] row-major. */
double su_material_energy(su_material material, double mu, double lambda, const double F[9]);
/* P = d psi / d F, row-major. */
void su_material_stress(su_material material, double mu, double lambda, const double F[9], double P[9]);
/* H[9 i + j] = d P_i / d F_j, symmetric. project: negative eigenvalues become 0 (docs/formats.md, convention 18). */
void su_material_derivative(su_material material, double mu, double lambda, const double F[9], bool project,
                            double H[81]);

/* The derivative of any isotropic density at F = u diag(s) v', put together from its spectrum: A (3,3) second
 * derivatives by the singular values; for the pair without index k, twist (psi_i + psi_j)/(s_i + s_j) and flip (psi_i -
 * psi_j)/(s_i - s_j). */
void su_isotropic_derivative(const double u[9], const double v[9], const double A[9], const double twist[3],
                             const double flip[3], bool project, double H[81]);

#endif
