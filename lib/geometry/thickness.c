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

su_status su_flesh_thickness(const su_tets *mesh, int threads, double *depth, double *half, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree faces = {0}, balls = {0};
    int32_t *surface = NULL;
    double *boxes = NULL;
    uint8_t *on_surface = NULL;
    int64_t b = 0;
    SU_GO(su_tet_boundary(mesh->t, mesh->tets, &b, &surface, NULL, err));
    SU_GO(SU_ALLOC(&on_surface, mesh->n, "flesh marks", err));
    SU_GO(SU_ALLOC(&boxes, 6 * mesh->n, "inscribed balls", err));
    for (int64_t k = 0; k < 3 * b; k++) on_surface[surface[k]] = 1;
    SU_GO(su_boxtree_of_triangles(mesh->x, b, surface, &faces, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t v = 0; v < mesh->n; v++) {
        int32_t face;
        const double *p = mesh->x + 3 * v;
        depth[v] = on_surface[v] ? 0.0 : su_closest_point(&faces, mesh->x, surface, p, INFINITY, &face, NULL);
        for (int i = 0; i < 3; i++) boxes[6 * v + i] = p[i] - depth[v], boxes[6 * v + 3 + i] = p[i] + depth[v];
    }
    SU_GO(su_boxtree_create(mesh->n, boxes, &balls, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t v = 0; v < mesh->n; v++) {
        ball_query q = {mesh->x, mesh->x + 3 * v, depth, depth[v]};
        su_boxtree_overlap(&balls, q.p, q.p, visit_ball, &q);
        half[v] = q.best;
    }
done:
    su_boxtree_free(&faces);
    su_boxtree_free(&balls);
    free(surface);
    free(boxes);
    free(on_surface);
    return status;
}
