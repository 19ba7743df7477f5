/* Hyperelastic materials: energy density, first Piola-Kirchhoff stress and its derivative, functions of the deformation
 * gradient alone. Pure, no allocation; linked by libsupple and libsupple-runtime. */
#ifndef SU_PHYSICS_MATERIAL_H
#define SU_PHYSICS_MATERIAL_H

#include <stdbool.h>

typedef enum su_material { SU_STVK, SU_NEOHOOKEAN, SU_COROTATIONAL, SU_TISSUE } su_material;
/* Their names, in that order, as choices of an option. */
#define SU_MATERIAL_NAMES "stvk|neohookean|corotational|tissue"

/* Smith, de Goes and Kim 2018, stable neo-Hookean with the log term. Its mu' = 4/3 mu and lambda' = lambda + 5/6 mu
 * give Lame's law of small strains, and its rest stability alpha - 1 = 3/4 mu'/lambda' (section 3.4 there; convention
 * 8). */
#define SU_SMITH_MU (4.0 / 3.0)
#define SU_SMITH_LAMBDA (5.0 / 6.0)
#define SU_SMITH_REST 0.75

/* kappa of SU_TISSUE, how it stiffens: in simple shear gamma its energy has the quartic part of Ogden's law with one
 * term, mu alpha^2/96 gamma^4, at the alpha = 20 of fat (Comley and Fleck 2012, alike at all rates of strain).
 * Dimensionless. */
#define SU_TISSUE_STIFFENING (20.0 * 20.0 / 24.0)

/* Volume of a rest tet over its neutral volume below which it has collapsed: the neutral shape, turned, stands in for
 * it (docs/formats.md, convention 8). */
#define SU_COLLAPSED 0.1

/* The nearest rotation jumps where two singular values add up to 0: least sum that derivatives of the corotational law
 * divide by, so that they stay finite. */
#define SU_LEAST_STRETCH 1e-6

/* Lame's parameters (Pa) of Young's modulus E (Pa) and Poisson's ratio nu, in any kind of number. */
#define SU_LAME_MU(E, nu) ((E) / (2 * (1 + (nu))))
#define SU_LAME_LAMBDA(E, nu) ((E) * (nu) / ((1 + (nu)) * (1 - 2 * (nu))))

/* x - log(1 + x): below this by its series to x^13, whose rest is below rounding (0.05^12 / 14 < 2^-53). */
#define SU_LOG1P_SMALL 0.05
enum { SU_LOG1P_TERMS = 13 };

/* -1 for another name. */
int su_material_from_name(const char *name);

/* psi(F), J/m^3, 0 at F = I:
 *   stvk          mu |E|^2 + lambda/2 tr^2 E, E = (F'F - I)/2
 *   neohookean    stable neo-Hookean of Smith et al. 2018 with the log term, mu' = 4/3 mu, lambda' = lambda + 5/6 mu
 *   corotational  mu |F - R|^2 + lambda/2 tr^2(R'F - I), R the nearest proper rotation
 *   tissue        neohookean + kappa mu/4 q^2, q = I_C - 2 J - 1, which is 2 |dev e|^2 of small strains: flesh that
 *                 stiffens the more it is strained, and is neo-Hookean while it hardly is
 * F[9] row-major. */
double su_material_energy(su_material material, double mu, double lambda, const double F[9]);
/* P = d psi / d F, row-major. */
void su_material_stress(su_material material, double mu, double lambda, const double F[9], double P[9]);
/* Linear elasticity, what every material is at small strains: P = mu (G + G') + lambda tr G, G = F - I. */
void su_linear_stress(double mu, double lambda, const double G[9], double P[9]);
/* H[9 i + j] = d P_i / d F_j, symmetric. project: negative eigenvalues become 0 (docs/formats.md, convention 18). */
void su_material_derivative(su_material material, double mu, double lambda, const double F[9], bool project,
                            double H[81]);

#endif
