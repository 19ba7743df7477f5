/* The inverse of the stiffness matrix on the null space of linear constraints.
 *
 * PSSD section 6 works with a sparse null-space basis Z and conjugate gradients. Constraints that bind whole vertices
 * are eliminated here (elimination.h): the factor is that of Z'KZ, and the inverse Z (Z'KZ)^-1 Z'. For all others
 * (written for what is left: C, K) the solution of K x + C' mu = b, C x = 0 is K^-1 b - Y S^-1 C x with Y = K^-1 C', S
 * = C Y. With K = P' L L' P and W = L^-1 P C' that is x = P' L^-T (I - Q Q') L^-1 P b,   W = Q R, an orthogonal
 * projection between the two halves of a solve. W has entries only on the paths of the contact's rows to the root of
 * the elimination tree, so Q is several times smaller than Y and stays in the cache. */
#ifndef SU_LINALG_CONSTRAINED_INVERSE_H
#define SU_LINALG_CONSTRAINED_INVERSE_H

#include "linalg/cholesky.h"
#include "linalg/eigen.h"
#include "linalg/elimination.h"

#include <stdint.h>

typedef struct su_constrained_inverse {
    /* what it is made of, all but the factor owned: */
    int64_t size;
    su_elimination Z;     /* as su_elimination_create leaves it; empty where nothing is eliminated */
    su_cholesky *factor;  /* borrowed, keeps its values: of Z'KZ, or of Z'(K + shift M)Z for floating bodies */
    su_constraint_rows C; /* rows on the degrees of freedom left; prepared: independent ones */
    int64_t rigid_count;
    double *rigid; /* (rigid_count,size) orthonormal in M and constrained already, removed from input and output */
    /* what it is then: */
    int64_t reduced_size; /* degrees of freedom that elimination leaves; size without */
    int64_t constraints;  /* independent ones, eliminated or not */
    int64_t touched_count;
    int64_t *touched; /* (touched_count) of those, what rows touch */
    double *range;    /* (rows,touched_count) orthonormal: the range of C' */
    int64_t active_count;
    int64_t *active;    /* (active_count) rows of W that are not 0, in the order of the factor */
    double *Q;          /* (rows,active_count) orthonormal */
    double *rigid_mass; /* (rigid_count,size) M times rigid motions */
} su_constrained_inverse;

/* Of what stands in it, all else being zero; mass (size): the diagonal M. C is reduced to independent rows (rank by
 * SPQR, tolerance 1e-8 relative). To be freed whether this succeeds or not. */
su_status su_constrained_inverse_prepare(su_constrained_inverse *inverse, const double *mass, su_error *err);
void su_constrained_inverse_free(su_constrained_inverse *inverse);

/* As su_inverse.apply wants it; context is a su_constrained_inverse. */
su_status su_constrained_inverse_apply(void *context, int64_t columns, const double *b, double *x, su_error *err);
/* *norm: a bound on what of the force r (size) no force of constraints can carry, |(I - Q Q') Z'r| with the orthonormal
 * range Q of C'; without elimination it is exact. */
su_status su_constrained_residual(const su_constrained_inverse *inverse, const double *r, double *norm, su_error *err);

#endif
