/* Few columns whose weighted sum is that of all: the cubature of contact pairs (ASC eq. 12 and 15), whose columns are
 * known, unlike those of tets (selection.h). */
#ifndef SU_REDUCE_PAIR_SELECTION_H
#define SU_REDUCE_PAIR_SELECTION_H

#include "core/error.h"

#include <stdint.h>

/* Columns, and what they are to sum up to. Borrowed. */
typedef struct su_column_sum {
    int64_t rows, count;
    const double *a; /* (count,rows), one column behind the other */
    const double *b; /* (rows) */
} su_column_sum;

/* Grows a set by the columns
 * that lie best along what is left, an eighth of it at a time, with non-negative least squares after each growth, until
 * |sum weight a - b| <= tolerance |b|. weight (count): 0 where a column is not taken. *used of them; *error relative.
 * Ends above the tolerance where nothing more promises any gain. */
su_status su_pairs_select(const su_column_sum *of, double tolerance, double *weight, int64_t *used, double *error,
                          su_error *err);

#endif
