#include "geometry/wide_tree.h"

#include "core/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = SU_WIDE };

void su_wide_tree_free(su_wide_tree *tree)
{
    free(tree->nodes);
    *tree = (su_wide_tree){0};
}

su_status su_wide_tree_create(int64_t count, su_wide_tree *out, su_error *err)
{
    su_wide_tree tree = {.count = count};
    if (count > INT32_MAX) return su_fail(err, SU_FAILED, "%lld boxes are more than the tree holds", (long long)count);
    for (int64_t nodes = count; nodes > 1 || (nodes == 1 && tree.levels == 0); tree.levels++) {
        nodes = (nodes + WIDE - 1) / WIDE;
        tree.start[tree.levels + 1] = tree.start[tree.levels] + nodes;
    }
    SU_TRY(SU_ALLOC(&tree.nodes, tree.start[tree.levels], "box tree", err));
    *out = tree;
    return SU_OK;
}

static void empty(su_wide_node *node, int from)
{
    for (int i = 0; i < 3; i++)
        for (int k = from; k < WIDE; k++) node->low[i][k] = FLT_MAX, node->high[i][k] = -FLT_MAX;
}

static void fit_leaf(const su_wide_tree *tree, const int32_t *items, const int32_t *tets, const double *y, int64_t leaf)
{
    su_wide_node *node = tree->nodes + leaf;
    int64_t left = tree->count - WIDE * leaf;
    for (int k = 0; k < WIDE && k < left; k++) {
        const int32_t *corner = tets + 4 * (int64_t)items[WIDE * leaf + k];
        for (int i = 0; i < 3; i++) {
            double low = DBL_MAX, high = -DBL_MAX;
            for (int c = 0; c < 4; c++) {
                double value = y[3 * (int64_t)corner[c] + i];
                low = value < low ? value : low, high = value > high ? value : high;
            }
            node->low[i][k] = (float)(low - tree->origin[i]), node->high[i][k] = (float)(high - tree->origin[i]);
        }
    }
    if (left < WIDE) empty(node, (int)left);
}

/* The box of a node's children as child k of its parent; returns its surface. */
static double fit_child(const su_wide_node *node, su_wide_node *parent, int k)
{
    double size[3];
    for (int i = 0; i < 3; i++) {
        float low = FLT_MAX, high = -FLT_MAX;
        for (int j = 0; j < WIDE; j++) {
            low = node->low[i][j] < low ? node->low[i][j] : low;
            high = node->high[i][j] > high ? node->high[i][j] : high;
        }
        parent->low[i][k] = low, parent->high[i][k] = high, size[i] = (double)high - (double)low;
    }
    return 2 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0]);
}

double su_wide_tree_fit(su_wide_tree *tree, const int32_t *items, const int32_t *tets, const double *y, int threads)
{
    double surface = 0, farthest = 0;
    if (tree->levels == 0) return 0;
    memcpy(tree->origin, y + 3 * (int64_t)tets[4 * (int64_t)items[0]], sizeof tree->origin);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t leaf = 0; leaf < tree->start[1]; leaf++) fit_leaf(tree, items, tets, y, leaf);
    for (int level = 1; level < tree->levels; level++) {
        int64_t children = tree->start[level] - tree->start[level - 1];
        const su_wide_node *child = tree->nodes + tree->start[level - 1];
        su_wide_node *parents = tree->nodes + tree->start[level];
        for (int64_t k = 0; k < children; k++) surface += fit_child(child + k, parents + k / WIDE, (int)(k % WIDE));
        if (children % WIDE) empty(parents + children / WIDE, (int)(children % WIDE));
    }
    su_wide_node all;
    fit_child(tree->nodes + tree->start[tree->levels] - 1, &all, 0);
    for (int i = 0; i < 3; i++) farthest = fmax(farthest, fmax(-(double)all.low[i][0], (double)all.high[i][0]));
    tree->rounding = 2 * FLT_EPSILON * farthest; /* half an ulp of each of the two, and of their difference */
    return surface;
}

/* ---- queries ---- */

/* Static, for a clone's resolver would be seen from outside the library. */
SU_CLONES static int64_t touched_leaves(const su_wide_tree *tree, const float low[3], const float high[3],
                                        su_wide_leaf *leaf)
{
    struct {
        int32_t level, node;
    } stack[(WIDE - 1) * SU_WIDE_LEVELS + 1]; /* each level leaves seven beside the one that is looked into */
    int64_t count = 0;
    int depth = 0;
    if (tree->levels) stack[depth].level = tree->levels - 1, stack[depth++].node = 0;
    while (depth) {
        int32_t level = stack[--depth].level, node = stack[depth].node;
        uint32_t bits = su_wide_touching(tree->nodes + tree->start[level] + node, low, high);
        if (level == 0) {
            leaf[count].leaf = node, leaf[count].tets = bits;
            count += bits != 0;
            continue;
        }
        while (bits) { /* the last first, so that leaves come in their order */
            int k = 31 - __builtin_clz(bits);
            stack[depth].level = level - 1, stack[depth++].node = WIDE * node + k;
            bits ^= 1U << k;
        }
    }
    return count;
}

int64_t su_wide_tree_leaves(const su_wide_tree *tree, const float low[3], const float high[3], su_wide_leaf *leaf)
{
    return touched_leaves(tree, low, high, leaf);
}
