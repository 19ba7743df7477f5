#include "geometry/boxtree.h"

#include "core/memory.h"
#include "geometry/box.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 4 };

void su_boxtree_free(su_boxtree *tree)
{
    free(tree->nodes);
    free(tree->items);
    memset(tree, 0, sizeof *tree);
}

static double centre(const double *boxes, int32_t item, int axis)
{
    return boxes[6 * item + axis] + boxes[6 * item + 3 + axis];
}

static bool before(const double *boxes, int axis, int32_t a, int32_t b)
{
    double x = centre(boxes, a, axis), y = centre(boxes, b, axis);
    return x < y || (x == y && a < b);
}

/* Quickselect: the k smallest by centre come first. Ties are broken by index, so the tree does not depend on anything
 * else. */
static void select_median(const double *boxes, int axis, int32_t *items, int64_t count, int64_t k)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        int32_t pivot = items[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (before(boxes, axis, items[i], pivot)) i++;
            while (before(boxes, axis, pivot, items[j])) j--;
            if (i > j) break;
            int32_t swap = items[i];
            items[i++] = items[j], items[j--] = swap;
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            return;
    }
}

static void build(su_boxtree *tree, const double *boxes, int64_t first, int64_t count)
{
    int64_t self = tree->node_count++;
    su_boxnode *node = &tree->nodes[self];
    double centre_low[3], centre_high[3];
    for (int i = 0; i < 3; i++) {
        node->low[i] = centre_low[i] = DBL_MAX;
        node->high[i] = centre_high[i] = -DBL_MAX;
        for (int64_t k = first; k < first + count; k++) {
            int32_t item = tree->items[k];
            node->low[i] = su_smaller(node->low[i], boxes[6 * item + i]);
            node->high[i] = su_larger(node->high[i], boxes[6 * item + 3 + i]);
            centre_low[i] = su_smaller(centre_low[i], centre(boxes, item, i));
            centre_high[i] = su_larger(centre_high[i], centre(boxes, item, i));
        }
    }
    node->first = (int32_t)first;
    node->right = -1;
    if (count <= LEAF) {
        node->count = (int32_t)count;
        return;
    }
    node->count = 0;
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (centre_high[i] - centre_low[i] > centre_high[axis] - centre_low[axis]) axis = i;
    int64_t half = (count / 2 + LEAF - 1) / LEAF * LEAF; /* full leaves: the fewest */
    select_median(boxes, axis, tree->items + first, count, half);
    build(tree, boxes, first, half);
    tree->nodes[self].right = (int32_t)tree->node_count;
    build(tree, boxes, first + half, count - half);
}

su_status su_boxtree_create(int64_t count, const double *boxes, su_boxtree *out, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tree = {.count = count};
    if (count > INT32_MAX / 2)
        return su_fail(err, SU_FAILED, "%lld boxes are more than the tree holds", (long long)count);
    SU_GO(SU_ALLOC(&tree.items, count, "box tree", err));
    SU_GO(SU_ALLOC(&tree.nodes, 2 * count + 1, "box tree", err));
    for (int64_t k = 0; k < count; k++) tree.items[k] = (int32_t)k;
    if (count) build(&tree, boxes, 0, count);
    *out = tree;
    memset(&tree, 0, sizeof tree);
done:
    su_boxtree_free(&tree);
    return status;
}

static su_status of_simplices(const double *x, int64_t t, const int32_t *corners, int width, su_boxtree *out,
                              su_error *err)
{
    su_status status = SU_OK;
    double *boxes = NULL;
    SU_GO(SU_ALLOC(&boxes, 6 * t, "boxes", err));
    for (int64_t k = 0; k < t; k++)
        for (int i = 0; i < 3; i++) {
            double low = DBL_MAX, high = -DBL_MAX;
            for (int c = 0; c < width; c++) {
                double value = x[3 * (int64_t)corners[width * k + c] + i];
                low = su_smaller(low, value), high = su_larger(high, value);
            }
            boxes[6 * k + i] = low, boxes[6 * k + 3 + i] = high;
        }
    SU_GO(su_boxtree_create(t, boxes, out, err));
done:
    free(boxes);
    return status;
}

su_status su_boxtree_of_triangles(const double *x, int64_t t, const int32_t *triangles, su_boxtree *out, su_error *err)
{
    return of_simplices(x, t, triangles, 3, out, err);
}

void su_boxtree_refit_triangles(su_boxtree *tree, const double *x, const int32_t *triangles)
{
    for (int64_t k = tree->node_count - 1; k >= 0; k--) { /* children come after their parent */
        su_boxnode *node = &tree->nodes[k];
        const su_boxnode *left = node + 1, *right = &tree->nodes[node->count ? k : node->right];
        for (int i = 0; i < 3; i++) {
            double low = DBL_MAX, high = -DBL_MAX;
            for (int32_t j = 0; j < 3 * node->count; j++) {
                double value = x[3 * (int64_t)triangles[3 * (int64_t)tree->items[node->first + j / 3] + j % 3] + i];
                low = su_smaller(low, value), high = su_larger(high, value);
            }
            node->low[i] = node->count ? low : su_smaller(left->low[i], right->low[i]);
            node->high[i] = node->count ? high : su_larger(left->high[i], right->high[i]);
        }
    }
}

su_status su_boxtree_of_tets(const double *x, int64_t t, const int32_t *tets, su_boxtree *out, su_error *err)
{
    return of_simplices(x, t, tets, 4, out, err);
}

void su_boxtree_overlap(const su_boxtree *tree, const double low[3], const double high[3],
                        bool (*visit)(void *context, int32_t item), void *context)
{
    int32_t stack[64];
    int depth = 0;
    if (tree->node_count) stack[depth++] = 0;
    while (depth) {
        int32_t index = stack[--depth];
        const su_boxnode *node = &tree->nodes[index];
        bool apart = false;
        for (int i = 0; i < 3; i++) apart |= node->low[i] > high[i] || node->high[i] < low[i];
        if (apart) continue;
        for (int32_t k = 0; k < node->count; k++)
            if (!visit(context, tree->items[node->first + k])) return;
        if (node->count) continue;
        stack[depth++] = node->right;
        stack[depth++] = index + 1;
    }
}
