/* Linear systems of a step by conjugate gradients. On rest shapes that turn (geometry/rotation_field.h) the matrix at a
 * pose is nearly that of the neutral pose turned by R_v (docs/design.md, eq. 7), so one factor, turned along, is a
 * preconditioner for all poses: a thousandth of the first error is left after 6 to 14 of its solves. */
#ifndef SU_FEM_TURNED_SOLVER_H
#define SU_FEM_TURNED_SOLVER_H

#include "fem/complement.h"
#include "fem/elastic.h"
#include "linalg/cholesky_half.h"
#include "linalg/coarse_space.h"
#include "linalg/sparse_product.h"

typedef struct su_turned_solver su_turned_solver;

/* neutral: a factor of the neutral pose's matrix on the free dofs of `body`, or of one like it; both are borrowed, and
 * several solvers may share them. product: of the body's pattern, borrowed, for this solver alone. */
su_status su_turned_solver_create(const su_elastic *body, const su_cholesky_half *neutral, su_sparse_product *product,
                                  int threads, su_turned_solver **out, su_error *err);
void su_turned_solver_free(su_turned_solver *solver);

/* From now on the preconditioner is this factor, of a matrix at a pose with the rotations then (n,4); NULL: the neutral
 * one. Both are borrowed. */
void su_turned_solver_precondition(su_turned_solver *solver, const su_cholesky_half *factor, const double *then);

/* From now on systems are solved on C x = 0, with a reaction C' lambda beside b: conjugate gradients with both sides of
 * the preconditioner projected. The complement is borrowed; NULL: no longer. */
void su_turned_solver_constrain(su_turned_solver *solver, su_complement *complement);

/* For the next system, A + C: it is stiff along these columns as the factor is not. None without columns. */
su_status su_turned_solver_stiffen(su_turned_solver *solver, const su_sparse *A, const su_couplings *beside,
                                   int64_t count, const su_coarse_column *columns, su_error *err);

/* x = (A + C)^-1 b, (3 free) each, C beside A (NULL: none), to `tolerance` times the first error in the
 * preconditioner's norm. turn (n,4): R_v of the pose that A belongs to. False where `most` iterations do not reach
 * that, or A is not positive along a direction: x is as far as it came. */
bool su_turned_solver_solve(su_turned_solver *solver, const su_sparse *A, const su_couplings *beside,
                            const double *turn, double tolerance, int most, const double *b, double *x);
/* Was the last system not positive along a direction? */
bool su_turned_solver_indefinite(const su_turned_solver *solver);

#endif
