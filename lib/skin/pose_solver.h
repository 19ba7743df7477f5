/* Linear systems (K(q) + C) d = r of one pose after the other, C the stiffness of contacts: SP's solvers, and ours.
 *   direct   a factor of K(q) a pose (one analysis); contacts by conjugate gradients behind it
 *   volume   conjugate gradients on all vertices behind Q (L L')^-1 Q', L incomplete of K(0), Q the rotation of each
 *            vertex (SP section 7)
 *   surface  on the boundary alone (SP sections 5 and 6): K_bb - K_bi Q (L_i L_i')^-1 Q' K_ib + C for the matrix,
 *            behind the incomplete factor of a sparse K_b(0), turned; the interior follows exactly
 *   kept     conjugate gradients on all vertices behind the full factor of K(0), three digits of it, turned
 *   coupled  conjugate gradients on all vertices behind both factors of `surface`, which precondition and decide
 *            nothing
 */
#ifndef SU_SKIN_POSE_SOLVER_H
#define SU_SKIN_POSE_SOLVER_H

#include "core/error.h"
#include "skin/ex_rotated.h"

typedef enum su_skin_method {
    SU_SKIN_DIRECT,
    SU_SKIN_VOLUME,
    SU_SKIN_SURFACE,
    SU_SKIN_KEPT,
    SU_SKIN_COUPLED
} su_skin_method;
#define SU_SKIN_METHODS "direct|volume|surface|kept|coupled" /* in their order */

/* One contact, of the mean of up to four vertices: force on it, and H ~ - d force / d place, semidefinite. */
typedef struct su_spring {
    int32_t vertex[4]; /* of the mesh */
    double weight[4];  /* 0: none; of a pair 1 and minus the barycentrics of the other side */
    double force[3], H[9];
    double stiffness; /* N/m along the normal, for su_pose_solve.sideways; 0: H as it is */
} su_spring;

/* What all poses share; several solvers may use it at once. */
typedef struct su_skin_factors su_skin_factors;

/* body borrowed. rings: how far entries of the sparse K_b(0) reach, in edges (SP: 4 to 8). */
su_status su_skin_factors_create(const su_ex_rotated *body, su_skin_method method, int rings, int threads,
                                 su_skin_factors **out, su_error *err);
void su_skin_factors_free(su_skin_factors *factors);

typedef struct su_pose_solver su_pose_solver;

su_status su_pose_solver_create(const su_skin_factors *factors, su_pose_solver **out, su_error *err);
void su_pose_solver_free(su_pose_solver *solver);

/* A pose: R (t,9) of the tets, Q (n,9) of the vertices, copied where they are needed later. */
su_status su_pose_solver_set(su_pose_solver *solver, const double *R, const double *Q, su_error *err);
/* y (count,3) = K(q) x, rows summed in single precision: 1e-7 of what K's entries do apart */
void su_pose_solver_multiply(su_pose_solver *solver, const double *x, double *y);

typedef struct su_pose_solve {
    int64_t springs;
    const su_spring *spring;
    double sideways; /* springs also resist what H leaves free, by so much of their stiffness: H + sideways (k 1 - H) */
    double length;   /* m: iterations end where two in a row move no vertex by more */
    double relative; /* or where the error is so much of the first, in the norm of the preconditioner; 0: not */
    int most;        /* iterations; 0: 2000 */
} su_pose_solve;

/* How often what was done, and what it took, s: sums over solves. */
typedef struct su_pose_counts {
    int64_t stiffness, solves, iterations, interior_solves, interior_iterations, factorizations;
    double stiffness_seconds, solve_seconds, interior_seconds;
} su_pose_counts;

/* d (count,3) ~ (K + C)^-1 r. With `surface` one step of the modified Newton iteration (SP section 6.1): d_b by K~_b,
 * and d_i where the interior is in balance then; r must be in balance inside (su_pose_solver_relax). SU_NUMERICS where
 * the matrix is not positive. */
su_status su_pose_solver_solve(su_pose_solver *solver, const su_pose_solve *solve, const double *r, double *d,
                               su_error *err);
/* d (count,3): where the interior is in balance while the boundary stays: d_b = 0, d_i = K_ii^-1 r_i (SP section 6.2).
 * Only of `surface`. */
void su_pose_solver_relax(su_pose_solver *solver, double length, const double *r, double *d);
const su_pose_counts *su_pose_solver_counts(const su_pose_solver *solver);

#endif
