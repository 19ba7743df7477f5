#include "geometry/mirrored_triangles.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"

#include <stdlib.h>
#include <string.h>

/* An edge of a triangle, and the corner across from it. */
typedef struct edge {
    int32_t low, high, across, triangle;
} edge;

static int by_ends(const void *a, const void *b)
{
    const edge *p = a, *q = b;
    if (p->low != q->low) return p->low < q->low ? -1 : 1;
    return (p->high > q->high) - (p->high < q->high);
}

/* partner (n): the vertex at the mirrored place, the nearest of each other within SU_MIRROR_NEAR; -1: none. */
static su_status find_partners(const su_surface *s, const su_mirror *mirror, int32_t *partner, su_error *err)
{
    su_kdtree *tree;
    SU_TRY(su_kdtree_create(s->n, s->x, &tree, err));
    for (int64_t v = 0; v < s->n; v++) {
        double image[3], distance;
        su_mirror_image(mirror, s->x + 3 * v, image);
        su_kdtree_nearest(tree, image, 1, &partner[v], &distance);
        if (distance > SU_MIRROR_NEAR * s->diagonal) partner[v] = -1;
    }
    for (int64_t v = 0; v < s->n; v++)
        if (partner[v] >= 0 && partner[partner[v]] != v) partner[v] = -1;
    su_kdtree_free(tree);
    return SU_OK;
}

static edge edge_of(int32_t a, int32_t b, int32_t across, int32_t triangle)
{
    return (edge){a < b ? a : b, a < b ? b : a, across, triangle};
}

/* First of the edges between two vertices, how many in *count. */
static int64_t edges_between(int64_t edges, const edge *list, int32_t a, int32_t b, int64_t *count)
{
    const edge wanted = edge_of(a, b, 0, 0);
    int64_t low = 0, high = edges;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (by_ends(&list[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < edges && !by_ends(&list[low + *count], &wanted);) ++*count;
    return low;
}

/* Is the quad around edge k (with k + 1 its two sides) cut along its other diagonal where it is mirrored? */
static bool cut_otherwise(const su_surface *s, const su_mirror *mirror, const int32_t *partner, int64_t edges,
                          const edge *list, int64_t k)
{
    const int32_t quad[4] = {list[k].low, list[k].high, list[k].across, list[k + 1].across};
    int64_t count, first;
    int below = 0;
    for (int i = 0; i < 4; i++) {
        double off = s->x[3 * (int64_t)quad[i] + mirror->axis] - mirror->at;
        if (partner[quad[i]] < 0 || (off > 0 && partner[quad[i]] != quad[i])) return false;
        below += partner[quad[i]] != quad[i];
    }
    if (quad[2] == quad[3] || below == 0) return false;
    edges_between(edges, list, quad[2], quad[3], &count);
    if (count) return false;
    edges_between(edges, list, partner[quad[0]], partner[quad[1]], &count);
    if (count) return false;
    first = edges_between(edges, list, partner[quad[2]], partner[quad[3]], &count);
    if (count != 2) return false;
    const int32_t there[2] = {list[first].across, list[first + 1].across};
    return (there[0] == partner[quad[0]] && there[1] == partner[quad[1]]) ||
           (there[0] == partner[quad[1]] && there[1] == partner[quad[0]]);
}

static void replace_corner(int32_t *triangle, int32_t old, int32_t with)
{
    for (int i = 0; i < 3; i++)
        if (triangle[i] == old) triangle[i] = with;
}

static bool has_area(const su_surface *s, const int32_t *triangle)
{
    double u[3], v[3], normal[3];
    su_sub3(s->x + 3 * (int64_t)triangle[1], s->x + 3 * (int64_t)triangle[0], u);
    su_sub3(s->x + 3 * (int64_t)triangle[2], s->x + 3 * (int64_t)triangle[0], v);
    su_cross3(u, v, normal);
    return su_norm3(normal) > 1e-9 * (su_dot3(u, u) + su_dot3(v, v));
}

/* The edge goes from its ends to what is across from it on either side. */
static void turn_edge(su_surface *s, const edge pair[2])
{
    int32_t *triangle[2] = {s->triangles + 3 * (int64_t)pair[0].triangle, s->triangles + 3 * (int64_t)pair[1].triangle},
            kept[2][3];
    for (int k = 0; k < 2; k++) memcpy(kept[k], triangle[k], sizeof kept[k]);
    replace_corner(triangle[0], pair[0].low, pair[1].across);
    replace_corner(triangle[1], pair[1].high, pair[0].across);
    if (has_area(s, triangle[0]) && has_area(s, triangle[1])) return;
    for (int k = 0; k < 2; k++) memcpy(triangle[k], kept[k], sizeof kept[k]);
}

static su_status cut_alike(su_surface *s, const su_mirror *mirror, su_error *err)
{
    int64_t edges = 3 * s->t;
    edge *list = NULL;
    int32_t *partner = NULL;
    uint8_t *turned = NULL;
    su_status status = SU_OK;
    SU_GO(SU_ALLOC(&list, edges, "surface edges", err));
    SU_GO(SU_ALLOC(&partner, s->n, "mirrored skin", err));
    SU_GO(SU_ALLOC(&turned, s->t, "surface triangles", err));
    SU_GO(find_partners(s, mirror, partner, err));
    for (int64_t k = 0; k < edges; k++) {
        const int32_t *c = s->triangles + k - k % 3;
        list[k] = edge_of(c[k % 3], c[(k + 1) % 3], c[(k + 2) % 3], (int32_t)(k / 3));
    }
    su_sort(list, (size_t)edges, sizeof *list, by_ends);
    for (int64_t k = 0, run; k < edges; k += run) {
        for (run = 1; k + run < edges && !by_ends(&list[k], &list[k + run]);) run++;
        if (run != 2 || turned[list[k].triangle] || turned[list[k + 1].triangle]) continue;
        if (!cut_otherwise(s, mirror, partner, edges, list, k)) continue;
        turn_edge(s, list + k);
        turned[list[k].triangle] = turned[list[k + 1].triangle] = 1;
    }
done:
    free(list), free(partner), free(turned);
    return status;
}

/* A triangle by the one that it mirrors. */
typedef struct mirrored {
    int32_t image, own;
} mirrored;

static int by_image(const void *a, const void *b)
{
    const mirrored *p = a, *q = b;
    return (p->image > q->image) - (p->image < q->image);
}

/* Those below the plane come after the ones that they mirror. */
static su_status put_in_order(const su_surface *given, const su_mirror *mirror, su_surface *s, su_error *err)
{
    mirrored *order = NULL;
    int32_t *triangles = NULL;
    su_boxtree tree = {0};
    su_status status = SU_OK;
    SU_GO(SU_ALLOC(&order, s->t, "surface triangles", err));
    SU_GO(SU_ALLOC(&triangles, 3 * s->t, "surface triangles", err));
    memcpy(triangles, s->triangles, 3 * (size_t)s->t * sizeof *triangles);
    SU_GO(su_boxtree_of_triangles(s->x, s->t, triangles, &tree, err));
    for (int64_t k = 0; k < s->t; k++) {
        double middle[3] = {0, 0, 0};
        int32_t image = -1;
        for (int i = 0; i < 9; i++) middle[i % 3] += s->x[3 * (int64_t)triangles[3 * k + i / 3] + i % 3] / 3;
        if (middle[mirror->axis] < mirror->at) {
            su_mirror_image(mirror, middle, middle);
            su_closest_point(&tree, s->x, triangles, middle, SU_MIRROR_NEAR * s->diagonal, &image, NULL);
        }
        order[k] = (mirrored){image >= 0 ? image : (int32_t)k, (int32_t)k};
    }
    su_sort(order, (size_t)s->t, sizeof *order, by_image);
    for (int64_t k = 0; k < s->t; k++) {
        memcpy(s->triangles + 3 * k, triangles + 3 * (int64_t)order[k].own, 3 * sizeof *triangles);
        s->component[k] = given->component[order[k].own];
    }
done:
    su_boxtree_free(&tree);
    free(order), free(triangles);
    return status;
}

void su_mirrored_triangles_free(su_surface *surface)
{
    free(surface->triangles), free(surface->component);
    surface->triangles = surface->component = NULL;
}

su_status su_mirrored_triangles(const su_surface *surface, const su_mirror *mirror, su_surface *out, su_error *err)
{
    su_surface s = *surface;
    su_status status = SU_OK;
    s.triangles = s.component = NULL;
    SU_GO(SU_ALLOC(&s.triangles, 3 * s.t, "surface triangles", err));
    SU_GO(SU_ALLOC(&s.component, s.t, "surface triangles", err));
    if (s.t > 0) {
        memcpy(s.triangles, surface->triangles, 3 * (size_t)s.t * sizeof *s.triangles);
        memcpy(s.component, surface->component, (size_t)s.t * sizeof *s.component);
    }
    if (mirror->axis >= 0 && s.t > 0) {
        SU_GO(cut_alike(&s, mirror, err));
        SU_GO(put_in_order(surface, mirror, &s, err));
    }
    *out = s;
    return SU_OK;
done:
    su_mirrored_triangles_free(&s);
    return status;
}
