/* One implicit step of the full space: the displacement u of the flesh from its rest shape that minimizes
 *   phi(u) = sum m |u - u^|^2 / 2h^2 + E(x + u) + (u - u*)' (alpha M + beta K_d) (u - u*) / 2h - sum m g_v.u
 *   + the potential of `loads` and of `contact`
 * over the free vertices (docs/design.md, eq. 7). h = 0 leaves elasticity and gravity: static equilibrium. */
#ifndef SU_FEM_IMPLICIT_H
#define SU_FEM_IMPLICIT_H

#include "core/error.h"
#include "fem/complement.h"
#include "fem/elastic.h"
#include "fem/self_contact.h"
#include "physics/loads.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_implicit_step {
    double h;                 /* s; 0: static */
    double alpha, beta;       /* Rayleigh damping of u - u*, 1/s and s */
    const double *gravity;    /* (n,3) acceleration g_v of each vertex, root frame, m/s^2 */
    const double *rest;       /* (n,3) x; also set in the elastic body */
    const double *inertial;   /* (n,3) u^: where inertia alone takes u; unused where h = 0 */
    const double *carried;    /* (n,3) u*: the state before, turned along; K_d is taken here, projected */
    const double *turn;       /* (n,4) R_v of the rest shape; read only after su_implicit_precondition */
    const su_loads *loads;    /* forces from outside, prepared; NULL: none */
    su_self_contact *contact; /* of the flesh with itself, begun; NULL: none */
    double tolerance;         /* on the residual, relative to the largest of the forces in it */
    int max_iterations;       /* Newton iterations */
    bool accept_unconverged;  /* take what max_iterations give (a fixed number of linearized solves) */
    bool near;                /* the guess is near the solution: the first tangent is exact like the others */
} su_implicit_step;

typedef struct su_implicit_result {
    int iterations;     /* linear solves */
    int factorizations; /* of them with a factor of their own */
    double residual;    /* |r| relative to the forces, at the end */
} su_implicit_result;

typedef struct su_implicit su_implicit;

/* body is borrowed. Memory is taken here; the symbolic analysis, one for all solves, with the first of them. */
su_status su_implicit_create(su_elastic *body, int threads, su_implicit **out, su_error *err);
void su_implicit_free(su_implicit *implicit);

/* From now on linear systems are solved by conjugate gradients to SU_LINEAR_TOLERANCE (fem/turned_solver.h), with a
 * factor of the matrix that a step of h, alpha and beta has on the shape now set in the body, y (n,3) its vertices: the
 * neutral one. */
#define SU_LINEAR_TOLERANCE 1e-2
su_status su_implicit_precondition(su_implicit *implicit, const double *y, double h, double alpha, double beta,
                                   su_error *err);

/* Systems that 40 iterations do not solve get a factor of their own, which then serves the systems after it in the
 * place of the first, until this is called: what follows does not depend on what was solved before. */
void su_implicit_forget(su_implicit *implicit);

/* From now on u is sought among C u = 0: guesses are projected, residuals are without the reaction C' lambda. The
 * complement is borrowed and is of the same body. */
void su_implicit_constrain(su_implicit *implicit, su_complement *complement);
/* u (n,3) = P u, zero at held vertices; where nothing constrains u it stays as it is. */
void su_implicit_admit(su_implicit *implicit, double *u);

/* u (n,3): start guess in, solution out; zero at held vertices. On SU_NUMERICS u is as before. */
su_status su_implicit_solve(su_implicit *implicit, const su_implicit_step *step, double *u, su_implicit_result *result,
                            su_error *err);

/* d phi / du at u (n,3): what the forces of the step lack of balance there, N. residual (n,3), zero at held vertices.
 * Returns K_d of `carried`, on the free dofs, borrowed until the next call. */
const su_sparse *su_implicit_residual(su_implicit *implicit, const su_implicit_step *step, const double *u,
                                      double *residual);
#endif
