#include "geometry/kdtree.h"

#include "core/memory.h"
#include "geometry/boxtree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Leaf boxes of points are what a k-d tree's cells shrink to. */
struct su_kdtree {
    su_boxtree boxes;
    const double *points;
};

su_status su_kdtree_create(int64_t n, const double *points, su_kdtree **out, su_error *err)
{
    su_status status = SU_OK;
    double *boxes = NULL;
    su_kdtree *tree = NULL;
    SU_GO(SU_ALLOC(&tree, 1, "point tree", err));
    SU_GO(SU_ALLOC(&boxes, 6 * n, "point tree", err));
    for (int64_t v = 0; v < n; v++)
        for (int i = 0; i < 6; i++) boxes[6 * v + i] = points[3 * v + i % 3];
    tree->points = points;
    SU_GO(su_boxtree_create(n, boxes, &tree->boxes, err));
    *out = tree;
    tree = NULL;
done:
    free(boxes);
    su_kdtree_free(tree);
    return status;
}

void su_kdtree_free(su_kdtree *tree)
{
    if (!tree) return;
    su_boxtree_free(&tree->boxes);
    free(tree);
}

typedef struct candidate {
    double squared;
    int32_t index;
} candidate;

static bool nearer(double squared, int32_t index, const candidate *c)
{
    return squared < c->squared || (squared == c->squared && index < c->index);
}

int su_kdtree_nearest(const su_kdtree *tree, const double p[3], int k, int32_t *index, double *distance)
{
    enum { MOST = 64 };
    candidate best[MOST];
    int found = 0;
    struct {
        int32_t node;
        double squared;
    } stack[64];
    int depth = 0;
    if (k > MOST) k = MOST;
    if (tree->boxes.node_count) stack[depth].node = 0, stack[depth++].squared = 0.0;
    while (depth) {
        depth--;
        if (found == k && stack[depth].squared > best[k - 1].squared) continue;
        int32_t at = stack[depth].node;
        const su_boxnode *node = &tree->boxes.nodes[at];
        for (int32_t c = 0; c < node->count; c++) {
            int32_t item = tree->boxes.items[node->first + c];
            double squared = 0.0;
            for (int i = 0; i < 3; i++) {
                double d = tree->points[3 * (int64_t)item + i] - p[i];
                squared += d * d;
            }
            if (found == k && !nearer(squared, item, &best[k - 1])) continue;
            int slot = found < k ? found++ : k - 1;
            while (slot > 0 && nearer(squared, item, &best[slot - 1])) best[slot] = best[slot - 1], slot--;
            best[slot] = (candidate){squared, item};
        }
        if (node->count) continue;
        int32_t child[2] = {at + 1, node->right};
        double squared[2] = {0.0, 0.0};
        for (int c = 0; c < 2; c++)
            for (int i = 0; i < 3; i++) {
                const su_boxnode *b = &tree->boxes.nodes[child[c]];
                double d = fmax(0.0, fmax(b->low[i] - p[i], p[i] - b->high[i]));
                squared[c] += d * d;
            }
        int near = squared[1] < squared[0];
        stack[depth].node = child[!near], stack[depth++].squared = squared[!near];
        stack[depth].node = child[near], stack[depth++].squared = squared[near];
    }
    for (int c = 0; c < found; c++) {
        index[c] = best[c].index;
        if (distance) distance[c] = sqrt(best[c].squared);
    }
    return found;
}
