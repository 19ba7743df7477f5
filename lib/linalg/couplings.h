/* Dense blocks that stand beside a sparse matrix: what couples a few dofs that its pattern does not. */
#ifndef SU_LINALG_COUPLINGS_H
#define SU_LINALG_COUPLINGS_H

#include <stdint.h>

enum { SU_COUPLED = 12 }; /* dofs of a block, at most: a vertex and a triangle */

/* value is symmetric; dofs are different, -1: none, and its rows and columns do not count. */
typedef struct su_coupling {
    int64_t dof[SU_COUPLED];
    double value[SU_COUPLED * SU_COUPLED];
} su_coupling;

typedef struct su_couplings {
    int64_t count;
    const su_coupling *block; /* (count) borrowed */
} su_couplings;

/* y += C x */
void su_couplings_add_product(const su_couplings *couplings, const double *x, double *y);

#endif
