#include "geometry/distance.h"

#include "geometry/box.h"
#include "geometry/mat3.h"

#include <math.h>
#include <string.h>

/* By Voronoi regions of vertices, edges and face (Ericson, Real-Time Collision Detection, 2005, section 5.1.5). */
double su_closest_on_triangle(const double p[3], const double *a, const double *b, const double *c, double bary[3])
{
    double ab[3], ac[3], ap[3], bp[3], cp[3];
    su_sub3(b, a, ab), su_sub3(c, a, ac), su_sub3(p, a, ap), su_sub3(p, b, bp), su_sub3(p, c, cp);
    double d1 = su_dot3(ab, ap), d2 = su_dot3(ac, ap), d3 = su_dot3(ab, bp), d4 = su_dot3(ac, bp);
    double d5 = su_dot3(ab, cp), d6 = su_dot3(ac, cp);
    double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2, s;
    double w[3] = {0, 0, 0};
    if (d1 <= 0 && d2 <= 0)
        w[0] = 1;
    else if (d3 >= 0 && d4 <= d3)
        w[1] = 1;
    else if (d6 >= 0 && d5 <= d6)
        w[2] = 1;
    else if (vc <= 0 && d1 >= 0 && d3 <= 0)
        s = d1 / (d1 - d3), w[0] = 1 - s, w[1] = s;
    else if (vb <= 0 && d2 >= 0 && d6 <= 0)
        s = d2 / (d2 - d6), w[0] = 1 - s, w[2] = s;
    else if (va <= 0 && d4 >= d3 && d5 >= d6)
        s = (d4 - d3) / ((d4 - d3) + (d5 - d6)), w[1] = 1 - s, w[2] = s;
    else
        w[1] = vb / (va + vb + vc), w[2] = vc / (va + vb + vc), w[0] = 1 - w[1] - w[2];
    double squared = 0;
    for (int i = 0; i < 3; i++) {
        double d = p[i] - (w[0] * a[i] + w[1] * b[i] + w[2] * c[i]);
        squared += d * d;
    }
    memcpy(bary, w, sizeof w);
    return squared;
}

static double squared_to_box(const su_boxnode *node, const double p[3])
{
    return su_box_squared_distance(node->low, node->high, p);
}

double su_closest_point(const su_boxtree *tree, const double *x, const int32_t *triangles, const double p[3],
                        double limit, int32_t *triangle, double bary[3])
{
    struct {
        int32_t node;
        double squared;
    } stack[64];
    int depth = 0;
    double best = limit * limit, w[3];
    *triangle = -1;
    if (tree->node_count) stack[depth].node = 0, stack[depth++].squared = squared_to_box(tree->nodes, p);
    while (depth) {
        depth--;
        if (stack[depth].squared > best || (stack[depth].squared == best && *triangle >= 0)) continue;
        int32_t index = stack[depth].node;
        const su_boxnode *node = &tree->nodes[index];
        for (int32_t k = 0; k < node->count; k++) {
            int32_t item = tree->items[node->first + k];
            const int32_t *t = triangles + 3 * (int64_t)item;
            double squared =
                su_closest_on_triangle(p, x + 3 * (int64_t)t[0], x + 3 * (int64_t)t[1], x + 3 * (int64_t)t[2], w);
            if (squared > best || (squared == best && *triangle >= 0)) continue;
            best = squared, *triangle = item;
            if (bary) memcpy(bary, w, sizeof w);
        }
        if (node->count) continue;
        int32_t near = index + 1, far = node->right;
        double a = squared_to_box(&tree->nodes[near], p), b = squared_to_box(&tree->nodes[far], p);
        if (b < a) {
            int32_t swap = near;
            near = far, far = swap;
            double exchange = a;
            a = b, b = exchange;
        }
        if (b <= best) stack[depth].node = far, stack[depth++].squared = b;
        if (a <= best) stack[depth].node = near, stack[depth++].squared = a;
    }
    return *triangle < 0 ? limit : sqrt(best);
}

static bool ray_meets_box(const su_boxnode *node, const double p[3], const double d[3], double start, double end)
{
    for (int i = 0; i < 3; i++) {
        if (d[i] == 0.0) {
            if (p[i] < node->low[i] || p[i] > node->high[i]) return false;
            continue;
        }
        double a = (node->low[i] - p[i]) / d[i], b = (node->high[i] - p[i]) / d[i];
        start = su_larger(start, su_smaller(a, b)), end = su_smaller(end, su_larger(a, b));
    }
    return start <= end;
}

double su_first_hit(const su_boxtree *tree, const double *x, const int32_t *triangles, const double p[3],
                    const double d[3], double start)
{
    int32_t stack[64];
    int depth = 0;
    double first = INFINITY;
    if (tree->node_count) stack[depth++] = 0;
    while (depth) {
        int32_t index = stack[--depth];
        const su_boxnode *node = &tree->nodes[index];
        if (!ray_meets_box(node, p, d, start, first)) continue;
        for (int32_t k = 0; k < node->count; k++) {
            const int32_t *t = triangles + 3 * (int64_t)tree->items[node->first + k];
            double u[3], v[3], r[3], h[3], g[3];
            su_sub3(x + 3 * (int64_t)t[1], x + 3 * (int64_t)t[0], u),
                su_sub3(x + 3 * (int64_t)t[2], x + 3 * (int64_t)t[0], v);
            su_cross3(d, v, h);
            double det = su_dot3(u, h);
            if (det == 0.0) continue;
            su_sub3(p, x + 3 * (int64_t)t[0], r);
            su_cross3(r, u, g);
            double a = su_dot3(r, h) / det, b = su_dot3(d, g) / det, s = su_dot3(v, g) / det;
            if (a >= 0.0 && b >= 0.0 && a + b <= 1.0 && s > start && s < first) first = s;
        }
        if (node->count) continue;
        stack[depth++] = node->right;
        stack[depth++] = index + 1;
    }
    return first;
}
