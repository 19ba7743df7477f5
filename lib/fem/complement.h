/* What a rig cannot do: the displacements u of the free vertices with C u = 0 (FCD eq. 3; docs/skinning.md, "The
 * truth"). A scalar row s binds each component of u alone, sum_v s_v u_v = 0; a shape s couples them, sum_v s_v . u_v =
 * 0. C is kept as rows with C M^-1 C' = 1, M the lumped masses, so that
 *   P = 1 - M^-1 C' C
 * is the orthogonal projection in M: P u is the displacement of that kind nearest to u, and P' f what a force f does to
 * those, the reaction C' lambda taken out. */
#ifndef SU_FEM_COMPLEMENT_H
#define SU_FEM_COMPLEMENT_H

#include "fem/elastic.h"
#include "linalg/cholesky.h"
#include "linalg/couplings.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_complement su_complement;

/* row (rows,n), shape (shapes,n,3): read at creation only, and only at free vertices; body is borrowed. SU_INPUT where
 * a row depends on those before it. */
su_status su_complement_create(const su_elastic *body, int64_t rows, const double *row, int64_t shapes,
                               const double *shape, su_complement **out, su_error *err);
void su_complement_free(su_complement *complement);

/* u = P u and f = P' f, (3 free) each, to rounding. One call at a time, of these and of all below: there is scratch. */
void su_complement_displacement(su_complement *complement, double *u);
void su_complement_force(su_complement *complement, double *f);

/* For preconditioners of matrices like A, on the body's pattern: the projection that is orthogonal in G, the same for
 * each component, G_vw the mean of the three diagonal entries of the block A_vw. It is to P what G is to M, so that
 * stiffness has a say in what is left of a displacement, and it hardly knows how A is turned. SU_NUMERICS where G is
 * not definite. */
su_status su_complement_tune(su_complement *complement, const su_sparse *A, su_error *err);
/* As displacement and force, with the projection tuned last (before any: P), to six digits and in half of the time. */
void su_complement_tuned_displacement(su_complement *complement, double *u);
void su_complement_tuned_force(su_complement *complement, double *f);

/* x with A x = b - C' lambda, C x = 0: conjugate gradients on the projected system with the factor of A, which must be
 * positive definite. beside: what stands beside A and is in the factor (NULL: nothing). The factor alone is wrong on as
 * many directions as C has rows, and not by much where inertia governs what these bind, so that it takes far fewer
 * solves than A^-1 C', the Schur complement's. SU_NUMERICS where it does not come to rounding. */
su_status su_complement_solve(su_complement *complement, const su_sparse *A, const su_couplings *beside,
                              su_cholesky *factor, const double *b, double *x, su_error *err);

#endif
