#include "geometry/thickness.h"

#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ball_query {
    const double *x, *p, *depth;
    double best;
} ball_query;

static bool visit_ball(void *context, int32_t w)
{
    ball_query *q = context;
    if (q->depth[w] > q->best && su_distance3(q->x + 3 * (int64_t)w, q->p) <= q->depth[w]) q->best = q->depth[w];
    return true;
}

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

/* half (wanted): of the points x (count,3) from `first` on, the depth of the deepest point whose ball holds each. */
static su_status largest_balls(int64_t count, const double *x, const double *depth, int64_t first, int64_t wanted,
                               int threads, double *half, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree balls = {0};
    double *boxes = NULL;
    SU_GO(SU_ALLOC(&boxes, 6 * count, "inscribed balls", err));
    for (int64_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++)
            boxes[6 * v + i] = x[3 * v + i] - depth[v], boxes[6 * v + 3 + i] = x[3 * v + i] + depth[v];
    SU_GO(su_boxtree_create(count, boxes, &balls, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t v = 0; v < wanted; v++) {
        ball_query q = {x, x + 3 * (first + v), depth, depth[first + v]};
        su_boxtree_overlap(&balls, q.p, q.p, visit_ball, &q);
        half[v] = q.best;
    }
done:
    su_boxtree_free(&balls);
    free(boxes);
    return status;
}

su_status su_flesh_thickness(const su_tets *mesh, int threads, double *depth, double *half, su_error *err)
{
    SU_TRY(depths(mesh, mesh->n, mesh->x, threads, depth, err));
    return largest_balls(mesh->n, mesh->x, depth, 0, mesh->n, threads, half, err);
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
    SU_GO(largest_balls(count, x, every, mesh->n, mesh->t, threads, half, err));
    if (depth) memcpy(depth, every + mesh->n, (size_t)mesh->t * sizeof *depth);
done:
    free(x), free(every);
    return status;
}
