/* Symmetric sparse matrices of 3 x 3 blocks, all blocks stored by rows, so that products only gather. */
#ifndef SU_LINALG_BLOCK_MATRIX_H
#define SU_LINALG_BLOCK_MATRIX_H

#include "core/error.h"
#include "linalg/sparse.h"

#include <stdint.h>

typedef struct su_blocks {
    int64_t rows, entries; /* blocks */
    int64_t *start;        /* (rows + 1) */
    int32_t *column;       /* (entries) ascending in a row, the diagonal among them */
    double *value;         /* (entries,9) row-major blocks */
    int owns_pattern;
} su_blocks;

/* The graph of a mesh: rows are the vertices with number >= 0, blocks join those of one tet. Values are 0. */
su_status su_blocks_of_tets(const int32_t *number, int64_t rows, int64_t t, const int32_t *tets, su_blocks *out,
                            su_error *err);
/* Same pattern (borrowed), own values. */
su_status su_blocks_clone(const su_blocks *pattern, su_blocks *out, su_error *err);
void su_blocks_free(su_blocks *blocks);
/* Where block (row, column) stands; -1: nowhere. */
int64_t su_blocks_find(const su_blocks *blocks, int64_t row, int32_t column);
/* y += factor A x over rows [from, to) and columns [low, high); x, y (rows,3). */
void su_blocks_add_product(const su_blocks *A, int64_t from, int64_t to, int64_t low, int64_t high, double factor,
                           const double *x, double *y);
/* Lower triangle by columns, as factorizations want it, of the rows listed: position[row] >= 0 is its place among
 * `count`, -1: left out; NULL: all as they stand. Values are A's. *source (entries of out; NULL: not wanted): entry of
 * A times 9 plus place in the block that each value was taken from. Caller frees both. */
su_status su_blocks_lower(const su_blocks *A, const int32_t *position, int64_t count, su_sparse *out, int64_t **source,
                          su_error *err);
/* order (rows): breadth first from the ends of the graph, reversed (Cuthill, McKee 1969; George, Liu): neighbours are
 * near each other, which incomplete factors and caches want. position k holds row order[k]. */
su_status su_blocks_band_order(const su_blocks *A, int32_t *order, su_error *err);

#endif
