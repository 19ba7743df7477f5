/* A tree of bounding boxes of tets that move, eight to a node, in single precision: a query looks at eight boxes at
 * once (Wald, Benthin, Boulos 2008, "Getting rid of packets"). It has no links: leaves are eight tets that follow each
 * other in a list, and eight nodes that follow each other have one parent, so that only the list has an order. That
 * of geometry/bisection.h is a good one: which it is changes the time of a query and not what it finds. */
#ifndef SU_GEOMETRY_WIDE_TREE_H
#define SU_GEOMETRY_WIDE_TREE_H

#include "core/error.h"
#include "core/vector_clones.h"

#include <stdint.h>

enum { SU_WIDE = 8, SU_WIDE_LEVELS = 11 }; /* boxes of a node; levels of 2^31 tets */

typedef float su_wide_floats __attribute__((vector_size(4 * SU_WIDE)));

typedef struct su_wide_node {
    su_wide_floats low[3], high[3]; /* of the children or, in a leaf, tets; those beyond the last are empty */
} su_wide_node;

/* A bit for each box that touches [low, high]. */
SU_INLINE uint32_t su_wide_touching(const su_wide_node *node, const float low[3], const float high[3])
{
    typedef int32_t mask __attribute__((vector_size(4 * SU_WIDE)));
    typedef uint64_t pairs __attribute__((vector_size(4 * SU_WIDE)));
    mask hit = (node->low[0] <= high[0]) & (node->high[0] >= low[0]);
    for (int i = 1; i < 3; i++) hit &= (node->low[i] <= high[i]) & (node->high[i] >= low[i]);
    pairs bits = (pairs)(hit & (mask){1, 2, 4, 8, 16, 32, 64, 128});
    uint64_t all = (bits[0] | bits[1]) | (bits[2] | bits[3]);
    return (uint32_t)(all | all >> 32);
}

typedef struct su_wide_tree {
    int64_t count; /* tets */
    int levels;
    int64_t start[SU_WIDE_LEVELS + 1]; /* first node of each level; leaves are level 0 */
    su_wide_node *nodes;
    double origin[3]; /* that boxes are told from, m */
    double rounding;  /* m: by so much at most distances of boxes and points from each other are off */
} su_wide_tree;

/* Of so many tets. */
su_status su_wide_tree_create(int64_t count, su_wide_tree *out, su_error *err);
void su_wide_tree_free(su_wide_tree *tree);

/* The boxes of tets at y: items (tree->count) numbers of tets (4 corners each). Returns the surface of the boxes of all
 * nodes, m^2: how good the order still is. Allocates nothing; the same for any number of threads. */
double su_wide_tree_fit(su_wide_tree *tree, const int32_t *items, const int32_t *tets, const double *y, int threads);
/* Leaves with tets whose box touches [low, high] (from the tree's origin), ascending: leaf has room for all of them and
 * one more. Returns how many they are. */
typedef struct su_wide_leaf {
    int32_t leaf;
    uint32_t tets; /* a bit for each that does */
} su_wide_leaf;
int64_t su_wide_tree_leaves(const su_wide_tree *tree, const float low[3], const float high[3], su_wide_leaf *leaf);

#endif
