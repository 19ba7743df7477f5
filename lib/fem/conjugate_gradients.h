/* Preconditioned conjugate gradients. */
#ifndef SU_FEM_CONJUGATE_GRADIENTS_H
#define SU_FEM_CONJUGATE_GRADIENTS_H

#include "core/memory.h"
#include "linalg/couplings.h"
#include "linalg/sparse_product.h"

#include <stdbool.h>

/* z = B r for a symmetric B that is positive on the subspace where the solution is sought, and 0 on what is orthogonal
 * to it. What B does not see of r may be taken out of r. False: there is no such z, and the iteration ends. */
typedef struct su_preconditioner {
    bool (*apply)(void *context, double *r, double *z);
    void *context;
} su_preconditioner;

/* Its vectors, (size) each; they belong to an arena. product: what multiplies by A, borrowed; NULL: one thread. */
typedef struct su_cg_work {
    double *r, *z, *p, *Ap;
    su_sparse_product *product;
} su_cg_work;

/* The vectors. False without memory. */
bool su_cg_take(su_cg_work *work, su_arena *arena, int64_t size);

typedef enum su_cg_end {
    SU_CG_SOLVED,
    SU_CG_UNSOLVED,  /* `most` iterations do not reach the tolerance, or B fails */
    SU_CG_INDEFINITE /* A is not positive along a direction */
} su_cg_end;

/* x = (A + C)^-1 b on the range of B, from x = 0, until the error is at most `tolerance` times the first in the norm of
 * B^-1; else x is as far as it came, and x'b >= 0 all the same. x may be b. beside: C, NULL: none. */
su_cg_end su_conjugate_gradients(const su_sparse *A, const su_couplings *beside, su_preconditioner B,
                                 const su_cg_work *work, double tolerance, int most, const double *b, double *x);

#endif
