#include "geometry/embed.h"

#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct best_tet {
    const su_tets *mesh;
    const double *p;
    int32_t tet;
    double smallest, bary[4];
} best_tet;

static double smallest_of(const double bary[4]) { return fmin(fmin(bary[0], bary[1]), fmin(bary[2], bary[3])); }

static bool try_tet(void *context, int32_t item)
{
    best_tet *best = context;
    double bary[4];
    su_tet_barycentric(best->mesh->x, best->mesh->tets + 4 * (int64_t)item, best->p, bary);
    double smallest = smallest_of(bary);
    if (smallest < best->smallest || (smallest == best->smallest && item > best->tet)) return true;
    best->smallest = smallest, best->tet = item;
    memcpy(best->bary, bary, sizeof bary);
    return true;
}

su_status su_embed_points(const su_tets *mesh, int64_t count, const double *points, int threads, int32_t *tet,
                          double *bary, int64_t *outside, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tets = {0}, faces = {0};
    int32_t *surface = NULL, *owner = NULL;
    int64_t b = 0, out = 0;
    SU_GO(su_boxtree_of_tets(mesh->x, mesh->t, mesh->tets, &tets, err));
    SU_GO(su_tet_boundary(mesh->t, mesh->tets, &b, &surface, &owner, err));
    SU_GO(su_boxtree_of_triangles(mesh->x, b, surface, &faces, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64) reduction(+ : out)
    for (int64_t v = 0; v < count; v++) {
        const double *p = points + 3 * v;
        best_tet best = {.mesh = mesh, .p = p, .tet = -1, .smallest = -1e-9};
        su_boxtree_overlap(&tets, p, p, try_tet, &best);
        if (best.tet < 0) {
            int32_t face;
            su_closest_point(&faces, mesh->x, surface, p, INFINITY, &face, NULL);
            best.tet = owner[face];
            su_tet_barycentric(mesh->x, mesh->tets + 4 * (int64_t)best.tet, p, best.bary);
            if (smallest_of(best.bary) < -1e-9) out++;
        }
        tet[v] = best.tet;
        memcpy(bary + 4 * v, best.bary, sizeof best.bary);
    }
    *outside = out;
done:
    su_boxtree_free(&tets);
    su_boxtree_free(&faces);
    free(surface);
    free(owner);
    return status;
}
