#include "signed_grid.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "geometry/winding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_signed_grid_free(su_signed_grid *grid)
{
    free(grid->value);
    memset(grid, 0, sizeof *grid);
}

static void node_at(const su_signed_grid *g, int64_t k, double p[3])
{
    int64_t c[3] = {k / g->size[2] / g->size[1], k / g->size[2] % g->size[1], k % g->size[2]};
    for (int i = 0; i < 3; i++) p[i] = g->origin[i] + g->spacing * (double)c[i];
}

/* Nodes in the band-wide box around each triangle. */
static void mark_band(su_signed_grid *g, const su_surface *s)
{
    for (int64_t t = 0; t < s->t; t++) {
        int64_t low[3], high[3];
        for (int i = 0; i < 3; i++) {
            const int32_t *c = s->triangles + 3 * t;
            double a = s->x[3 * (int64_t)c[0] + i], b = s->x[3 * (int64_t)c[1] + i], d = s->x[3 * (int64_t)c[2] + i];
            low[i] = (int64_t)fmax(0.0, ceil((fmin(a, fmin(b, d)) - g->band - g->origin[i]) / g->spacing));
            high[i] = (int64_t)fmin((double)g->size[i] - 1.0,
                                    floor((fmax(a, fmax(b, d)) + g->band - g->origin[i]) / g->spacing));
        }
        for (int64_t i = low[0]; i <= high[0]; i++)
            for (int64_t j = low[1]; j <= high[1]; j++)
                for (int64_t k = low[2]; k <= high[2]; k++) g->value[(i * g->size[1] + j) * g->size[2] + k] = 0.0f;
    }
}

/* Along a row the distance grows by no more than the step, which bounds the next search. */
static void measure_band(su_signed_grid *g, const su_surface *s, const su_boxtree *tree, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int64_t row = 0; row < g->size[0] * g->size[1]; row++) {
        double last = INFINITY;
        for (int64_t k = row * g->size[2]; k < (row + 1) * g->size[2]; k++) {
            if (g->value[k] != 0.0f) {
                last = INFINITY;
                continue;
            }
            double p[3];
            int32_t triangle;
            node_at(g, k, p);
            last = su_closest_point(tree, s->x, s->triangles, p, fmin(g->band, last + 1.0001 * g->spacing), &triangle,
                                    NULL);
            g->value[k] = (float)last;
        }
    }
}

/* The skin cannot lie between two nodes of which one is farther from it than their distance: they share a sign. */
static su_status sign_nodes(su_signed_grid *g, const su_winding *winding, int threads, su_error *err)
{
    su_status status = SU_OK;
    int64_t total = g->size[0] * g->size[1] * g->size[2], step[3] = {g->size[1] * g->size[2], g->size[2], 1};
    int8_t *sign = NULL;
    int32_t *queue = NULL;
    SU_GO(SU_ALLOC(&sign, total, "signs", err));
    SU_GO(SU_ALLOC(&queue, total, "signs", err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4096)
    for (int64_t k = 0; k < total; k++) {
        double p[3];
        if (g->value[k] > 1.0001 * g->spacing) continue;
        node_at(g, k, p);
        sign[k] = su_winding_at(winding, p) > 0.5 ? -1 : 1;
    }
    for (int64_t first = 0; first < total; first++) {
        if (sign[first]) continue;
        double p[3];
        int64_t head = 0, tail = 0;
        node_at(g, first, p);
        sign[first] = su_winding_at(winding, p) > 0.5 ? -1 : 1;
        queue[tail++] = (int32_t)first;
        while (head < tail) {
            int64_t k = queue[head++], c[3] = {k / step[0], k / step[1] % g->size[1], k % g->size[2]};
            for (int i = 0; i < 6; i++) {
                int64_t at = c[i / 2] + (i % 2 ? 1 : -1), other = k + (i % 2 ? step[i / 2] : -step[i / 2]);
                if (at < 0 || at >= g->size[i / 2] || sign[other]) continue;
                sign[other] = sign[k];
                queue[tail++] = (int32_t)other;
            }
        }
    }
    for (int64_t k = 0; k < total; k++) g->value[k] *= (float)sign[k];
done:
    free(sign);
    free(queue);
    return status;
}

su_status su_signed_grid_create(const su_surface *surface, int64_t nodes, double band, int threads, su_signed_grid *out,
                                su_error *err)
{
    su_status status = SU_OK;
    su_signed_grid g = {0};
    su_boxtree tree = {0};
    su_winding *winding = NULL;
    double longest = 0.0, total = 1.0;
    for (int i = 0; i < 3; i++) longest = fmax(longest, surface->high[i] - surface->low[i]);
    if (!((double)nodes > 2.0 * band + 2.0) || !(band >= 1.0))
        return su_fail(err, SU_FAILED, "a grid of %lld nodes has no room for a band of %g", (long long)nodes, band);
    g.spacing = longest / ((double)nodes - 1.0 - 2.0 * band);
    g.band = band * g.spacing;
    for (int i = 0; i < 3; i++) {
        g.origin[i] = surface->low[i] - g.band;
        g.size[i] = (int64_t)ceil((surface->high[i] - surface->low[i]) / g.spacing + 2.0 * band - 1e-9) + 1;
        total *= (double)g.size[i];
    }
    if (total > INT32_MAX) return su_fail(err, SU_FAILED, "a grid of %g nodes is too large", total);
    SU_GO(SU_ALLOC(&g.value, (int64_t)total, "distance grid", err));
    for (int64_t k = 0; k < (int64_t)total; k++) g.value[k] = (float)g.band;
    SU_GO(su_boxtree_of_triangles(surface->x, surface->t, surface->triangles, &tree, err));
    SU_GO(su_winding_create(&tree, surface->x, surface->triangles, &winding, err));
    mark_band(&g, surface);
    measure_band(&g, surface, &tree, threads);
    SU_GO(sign_nodes(&g, winding, threads, err));
    *out = g;
    g.value = NULL;
done:
    su_winding_free(winding);
    su_boxtree_free(&tree);
    su_signed_grid_free(&g);
    return status;
}
