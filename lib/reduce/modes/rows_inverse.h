/* The inverse of a sparse matrix under dense rows, in single precision (docs/skinning.md, "How it is solved"). */
#ifndef SU_REDUCE_ROWS_INVERSE_H
#define SU_REDUCE_ROWS_INVERSE_H

#include "core/error.h"
#include "linalg/factor_single.h"
#include "reduce/modes/complementarity.h"

#include <stdint.h>

typedef struct su_rows_inverse su_rows_inverse;

/* Independent rows J over `panels` panels, whose vertices are rows of B, ascending. Borrowed. */
typedef struct su_dense_rows {
    int64_t panels, rows; /* rows of all panels */
    const su_row_panel *panel;
    const double *gram_factor; /* (rows,rows) lower Cholesky factor of J J', columns one after the other */
} su_dense_rows;

/* Of B = L L', whose factor is borrowed, under J, which is not kept. */
su_status su_rows_inverse_create(const su_factor_single *factor, int64_t size, const su_dense_rows *J,
                                 su_rows_inverse **out, su_error *err);
void su_rows_inverse_free(su_rows_inverse *inverse);
/* Whether x = T x is that under the rows; else, where these are so many that their answers cost more than they save,
 * it is B^-1. */
int su_rows_inverse_constrained(const su_rows_inverse *inverse);
/* x = T x, x (size,SU_LANES) in the order of the factor: T = B^-1 - B^-1 J' (J B^-1 J')^-1 J B^-1. One thread at a
 * time. */
void su_rows_inverse_apply(su_rows_inverse *inverse, float *x);

#endif
