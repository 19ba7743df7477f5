#include "geometry/thickness.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/box.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* depth (count) of points x (count,3), the mesh's vertices first: distance to the boundary, 0 at the vertices on it. */
static su_status depths(const su_tets *mesh, int64_t count, const double *x, int threads, double *depth, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree faces = {0};
    int32_t *surface = NULL;
    uint8_t *on_surface = NULL;
    int64_t b = 0;
    SU_GO(su_tet_boundary(mesh->t, mesh->tets, &b, &surface, NULL, err));
    SU_GO(SU_ALLOC(&on_surface, count, "flesh marks", err));
    for (int64_t k = 0; k < 3 * b; k++) on_surface[surface[k]] = 1;
    SU_GO(su_boxtree_of_triangles(mesh->x, b, surface, &faces, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t v = 0; v < count; v++) {
        int32_t face;
        depth[v] = on_surface[v] ? 0.0 : su_closest_point(&faces, mesh->x, surface, x + 3 * v, INFINITY, &face, NULL);
    }
done:
    su_boxtree_free(&faces);
    free(surface);
    free(on_surface);
    return status;
}

typedef struct ball {
    double radius;
    int32_t centre;
} ball;

static int larger_first(const void *a, const void *b)
{
    const ball *p = a, *q = b;
    if (p->radius != q->radius) return p->radius > q->radius ? -1 : 1;
    return (p->centre > q->centre) - (p->centre < q->centre);
}

/* Points that no ball has taken yet. */
typedef struct left_points {
    const double *x;
    su_boxtree tree;
    int32_t *left; /* (nodes) below each */
    double *half;  /* (points) */
} left_points;

static int32_t count_left(left_points *points, int32_t k)
{
    const su_boxnode *node = points->tree.nodes + k;
    return points->left[k] = node->count ? node->count : count_left(points, k + 1) + count_left(points, node->right);
}

/* The points below node k that lie in the ball are taken; returns how many. */
static int32_t take(left_points *points, int32_t k, const double centre[3], double radius)
{
    const su_boxnode *node = points->tree.nodes + k;
    int32_t taken = 0;
    /* the margin is above the rounding of the two sides: no point in the ball is passed over */
    if (!points->left[k] || su_box_squared_distance(node->low, node->high, centre) > (1 + 1e-12) * radius * radius)
        return 0;
    if (!node->count) taken = take(points, k + 1, centre, radius) + take(points, node->right, centre, radius);
    for (int32_t i = node->first; i < node->first + node->count; i++) {
        int32_t v = points->tree.items[i];
        if (points->half[v] >= 0 || !(su_distance3(centre, points->x + 3 * (int64_t)v) <= radius)) continue;
        points->half[v] = radius, taken++;
    }
    points->left[k] -= taken;
    return taken;
}

/* half (wanted): of the points x (count,3) from `first` on, the depth of the deepest point whose ball holds each. Balls
 * take what they hold from the largest on, so that each point is taken once. */
static su_status largest_balls(int64_t count, const double *x, const double *depth, int64_t first, int64_t wanted,
                               double *half, su_error *err)
{
    su_status status = SU_OK;
    left_points points = {.x = x + 3 * first, .half = half};
    double *boxes = NULL;
    ball *balls = NULL;
    SU_GO(SU_ALLOC(&boxes, 6 * wanted, "points in flesh", err));
    SU_GO(SU_ALLOC(&balls, count, "inscribed balls", err));
    for (int64_t v = 0; v < wanted; v++) {
        memcpy(boxes + 6 * v, points.x + 3 * v, 3 * sizeof *boxes);
        memcpy(boxes + 6 * v + 3, points.x + 3 * v, 3 * sizeof *boxes);
        half[v] = -1;
    }
    for (int64_t v = 0; v < count; v++) balls[v] = (ball){depth[v], (int32_t)v};
    su_sort(balls, (size_t)count, sizeof *balls, larger_first);
    SU_GO(su_boxtree_create(wanted, boxes, &points.tree, err));
    SU_GO(SU_ALLOC(&points.left, points.tree.node_count, "points in flesh", err));
    if (points.tree.node_count) count_left(&points, 0);
    for (int64_t k = 0; k < count && points.tree.node_count && points.left[0]; k++)
        take(&points, 0, x + 3 * (int64_t)balls[k].centre, balls[k].radius);
done:
    su_boxtree_free(&points.tree);
    free(points.left);
    free(boxes);
    free(balls);
    return status;
}

su_status su_flesh_thickness(const su_tets *mesh, int threads, double *depth, double *half, su_error *err)
{
    SU_TRY(depths(mesh, mesh->n, mesh->x, threads, depth, err));
    return largest_balls(mesh->n, mesh->x, depth, 0, mesh->n, half, err);
}

su_status su_tet_thickness(const su_tets *mesh, int threads, double *depth, double *half, su_error *err)
{
    su_status status = SU_OK;
    int64_t count = mesh->n + mesh->t;
    double *x = NULL, *every = NULL;
    SU_GO(SU_ALLOC(&x, 3 * count, "flesh thickness", err));
    SU_GO(SU_ALLOC(&every, count, "flesh thickness", err));
    memcpy(x, mesh->x, 3 * (size_t)mesh->n * sizeof *x);
    for (int64_t e = 0; e < mesh->t; e++)
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++)
                x[3 * (mesh->n + e) + i] += 0.25 * mesh->x[3 * (int64_t)mesh->tets[4 * e + c] + i];
    SU_GO(depths(mesh, count, x, threads, every, err));
    SU_GO(largest_balls(count, x, every, mesh->n, mesh->t, half, err));
    if (depth) memcpy(depth, every + mesh->n, (size_t)mesh->t * sizeof *depth);
done:
    free(x), free(every);
    return status;
}
