/* The inverse of the stiffness matrix on the null space of linear constraints, without a null-space basis.
 *
 * PSSD section 6 works with a sparse null-space basis Z and conjugate gradients. The solution of K x + C' mu = b, C x = 0 is
 * K^-1 b - Y S^-1 C x with Y = K^-1 C', S = C Y. With K = P' L L' P and W = L^-1 P C' that is
 *     x = P' L^-T (I - Q Q') L^-1 P b,   W = Q R,
 * an orthogonal projection between the two halves of a solve. W has entries only on the paths of the contact's rows to the
 * root of the elimination tree, so Q is several times smaller than Y and stays in the cache. */
#ifndef SU_REDUCE_CONSTRAINED_INVERSE_H
#define SU_REDUCE_CONSTRAINED_INVERSE_H

#include "linalg/cholesky.h"
#include "linalg/eigen.h"

#include <stdint.h>

/* Constraint rows C on the degrees of freedom, in compressed rows. */
typedef struct su_constraint_rows {
    int64_t rows;
    int64_t *start;    /* (rows + 1) */
    int64_t *column;   /* degree of freedom */
    double *value;
} su_constraint_rows;

typedef struct su_constrained_inverse {
    int64_t size;
    su_cholesky *factor;          /* borrowed: of K, or of K + shift M for floating bodies */
    su_constraint_rows C;         /* independent rows, owned */
    int64_t touched_count;
    int64_t *touched;             /* (touched_count) degrees of freedom that rows touch */
    double *range;                /* (rows,touched_count) orthonormal: the range of C' */
    int64_t active_count;
    int64_t *active;              /* (active_count) rows of W that are not 0, in the order of the factor */
    double *Q;                    /* (rows,active_count) orthonormal */
    int64_t rigid_count;
    double *rigid;                /* (rigid_count,size) orthonormal in M, removed from input and output; owned */
    double *rigid_mass;           /* (rigid_count,size) M times them */
} su_constrained_inverse;

/* The factor must stay and keep its values. C (may be NULL) is taken over in any case and reduced to independent rows
 * (rank by SPQR, tolerance 1e-8 relative). rigid (rigid_count,size), orthonormal in the diagonal `mass`, is taken over
 * too; NULL with 0. */
su_status su_constrained_inverse_create(su_constrained_inverse *inverse, int64_t size, su_cholesky *factor,
                                        su_constraint_rows *C, int64_t rigid_count, double *rigid, const double *mass,
                                        su_error *err);
void su_constrained_inverse_free(su_constrained_inverse *inverse);

/* As su_inverse.apply wants it; context is a su_constrained_inverse. */
su_status su_constrained_inverse_apply(void *context, int64_t columns, const double *b, double *x, su_error *err);
/* y = C x, one number a row. */
void su_constraint_multiply(const su_constraint_rows *C, const double *x, double *y);
/* Takes out of r (size) its part in the range of C': what forces of constraints can carry. */
su_status su_constrained_residual(const su_constrained_inverse *inverse, double *r, su_error *err);
void su_constraint_rows_free(su_constraint_rows *C);

#endif
