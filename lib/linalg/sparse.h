/* Symmetric sparse matrices: the lower triangle in compressed columns, 0-based, rows ascending in a column. */
#ifndef SU_LINALG_SPARSE_H
#define SU_LINALG_SPARSE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_sparse {
    int64_t size; /* rows = columns */
    int64_t entries;
    int64_t *start;   /* (size + 1) first entry of each column */
    int64_t *row;     /* (entries) */
    double *value;    /* (entries) */
    int owns_pattern; /* start and row are freed with the matrix */
    /* Columns 3k, 3k + 1 and 3k + 2 share their rows from 3k + 3 on, which come in threes too, and have all of their
     * own rows: products take three by three entries at once. */
    bool in_threes;
} su_sparse;

/* Same pattern (shared, borrowed), own values set to zero. */
su_status su_sparse_clone_pattern(const su_sparse *pattern, su_sparse *out, su_error *err);
void su_sparse_free(su_sparse *matrix);
/* y = A x */
void su_sparse_multiply(const su_sparse *matrix, const double *x, double *y);
/* Vectors of su_sparse_multiply_interleaved. */
enum { SU_SPARSE_LANES = 16 };
/* The same for x, y (size,SU_SPARSE_LANES), the entries of a row beside each other. */
void su_sparse_multiply_interleaved(const su_sparse *matrix, const double *x, double *y);
/* The same for `count` vectors, one after the other in x and y, several in one pass over A; no bit differs from one at
 * a time. */
su_status su_sparse_multiply_many(const su_sparse *matrix, int64_t count, const double *x, double *y, int threads,
                                  su_error *err);

#endif
