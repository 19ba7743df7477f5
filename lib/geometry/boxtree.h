/* A binary tree of axis-aligned boxes over any items. Serves overlap, closest-point and winding-number queries in
 * double precision. (Embree answers the first two in single precision, which cannot tell a skin vertex from the flesh
 * vertex 1e-9 beside it, and has no node moments for the third.) */
#ifndef SU_GEOMETRY_BOXTREE_H
#define SU_GEOMETRY_BOXTREE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct su_boxnode {
    double low[3], high[3];
    int32_t first, count; /* leaf: items[first .. first + count); inner: count 0 */
    int32_t right;        /* inner: the left child follows its parent, this is the other */
} su_boxnode;

typedef struct su_boxtree {
    su_boxnode *nodes; /* parents before children */
    int64_t node_count;
    int32_t *items; /* permutation */
    int64_t count;
} su_boxtree;

/* boxes (count,6): low and high corners. Deterministic. */
su_status su_boxtree_create(int64_t count, const double *boxes, su_boxtree *out, su_error *err);
/* Tree of triangles (t,3) over x. */
su_status su_boxtree_of_triangles(const double *x, int64_t t, const int32_t *triangles, su_boxtree *out, su_error *err);
/* The boxes of a tree of triangles after their vertices have moved; its shape stays. Allocates nothing. */
void su_boxtree_refit_triangles(su_boxtree *tree, const double *x, const int32_t *triangles);
/* Tree of tets (t,4) over x. */
su_status su_boxtree_of_tets(const double *x, int64_t t, const int32_t *tets, su_boxtree *out, su_error *err);
void su_boxtree_free(su_boxtree *tree);

/* Calls visit for every item whose leaf's box touches [low, high]; visit returns false to stop. The caller tests the
 * item. */
void su_boxtree_overlap(const su_boxtree *tree, const double low[3], const double high[3],
                        bool (*visit)(void *context, int32_t item), void *context);

#endif
