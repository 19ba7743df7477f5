#include "geometry/bridges.h"

#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/mat3.h"
#include "geometry/winding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* tets around a flesh vertex that are looked at */
#define REACH 4.0   /* of the longest edge around */
#define APART 0.1   /* of the diagonal, between places that are named */
#define PARTS 1.0   /* of the longest edge around: flesh between that comes to so much is torn or crushed */

typedef struct entry {
    double distance;
    int32_t vertex;
} entry;

typedef struct search {
    const su_surface *surface;
    const su_winding *winding;
    int64_t poses;
    const double *shapes; /* (poses,source_count,3) */
    int32_t *source;      /* (n) one source vertex of each */
    int64_t *link_start;  /* (n + 1) neighbours of each skin vertex along edges; repeated ones do no harm */
    int32_t *link;
    double *distance; /* (n) of the search at hand, INFINITY: not reached */
    int32_t *touched; /* (n) vertices with a distance */
    int64_t touched_count;
    entry *heap; /* room for all links */
    int64_t heap_count;
} search;

/* rows (count + 1) and list of `pairs` pairs (key, value), by key. */
static su_status make_rows(int64_t count, int64_t pairs, const int32_t *key, const int32_t *value, int64_t **rows,
                           int32_t **list, su_error *err)
{
    SU_TRY(SU_ALLOC(rows, count + 2, "skin graph", err));
    SU_TRY(SU_ALLOC(list, pairs, "skin graph", err));
    for (int64_t k = 0; k < pairs; k++) (*rows)[key[k] + 2]++;
    for (int64_t k = 2; k < count + 2; k++) (*rows)[k] += (*rows)[k - 1];
    for (int64_t k = 0; k < pairs; k++) (*list)[(*rows)[key[k] + 1]++] = value[k];
    return SU_OK;
}

static void push(search *s, int32_t vertex, double distance)
{
    if (distance >= s->distance[vertex]) return;
    if (isinf(s->distance[vertex])) s->touched[s->touched_count++] = vertex;
    s->distance[vertex] = distance;
    int64_t k = s->heap_count++;
    for (; k > 0 && s->heap[(k - 1) / 2].distance > distance; k = (k - 1) / 2) s->heap[k] = s->heap[(k - 1) / 2];
    s->heap[k] = (entry){distance, vertex};
}

static entry pop(search *s)
{
    entry top = s->heap[0], last = s->heap[--s->heap_count];
    int64_t k = 0;
    for (int64_t child; (child = 2 * k + 1) < s->heap_count; k = child) {
        if (child + 1 < s->heap_count && s->heap[child + 1].distance < s->heap[child].distance) child++;
        if (s->heap[child].distance >= last.distance) break;
        s->heap[k] = s->heap[child];
    }
    s->heap[k] = last;
    return top;
}

/* Distances along edges from `from`, up to `reach` (Dijkstra); stops when all of `wanted` have theirs. */
static void spread(search *s, int32_t from, double reach, int count, const int32_t *wanted)
{
    int missing = count;
    while (s->touched_count > 0) s->distance[s->touched[--s->touched_count]] = INFINITY;
    s->heap_count = 0;
    push(s, from, 0);
    while (s->heap_count > 0 && missing > 0) {
        entry at = pop(s);
        if (at.distance > s->distance[at.vertex]) continue;
        for (int k = 0; k < count; k++) missing -= wanted[k] == at.vertex;
        for (int64_t k = s->link_start[at.vertex]; k < s->link_start[at.vertex + 1]; k++) {
            double next = at.distance +
                          su_distance3(s->surface->x + 3 * (int64_t)at.vertex, s->surface->x + 3 * (int64_t)s->link[k]);
            if (next <= reach) push(s, s->link[k], next);
        }
    }
}

static bool gap_between(const search *s, int32_t a, int32_t b)
{
    double middle[3];
    for (int i = 0; i < 3; i++)
        middle[i] = 0.5 * (s->surface->x[3 * (int64_t)a + i] + s->surface->x[3 * (int64_t)b + i]);
    return su_winding_at(s->winding, middle) < 0.5;
}

/* Do two skin vertices come nearer or apart by `bound` at an example pose? */
static bool parts(const search *s, int32_t a, int32_t b, double bound)
{
    double neutral = su_distance3(s->surface->x + 3 * (int64_t)a, s->surface->x + 3 * (int64_t)b);
    for (int64_t p = 0; p < s->poses; p++) {
        const double *x = s->shapes + 3 * s->surface->source_count * p;
        double apart = su_distance3(x + 3 * (int64_t)s->source[a], x + 3 * (int64_t)s->source[b]);
        if (fabs(apart - neutral) > bound) return true;
    }
    return s->poses == 0;
}

/* Do the skin vertices `near` (one of each tet around a flesh vertex) lie on both sides of a gap that matters? */
static bool bridged(search *s, double longest, int count, const int32_t *near)
{
    spread(s, near[0], REACH * longest, count, near);
    for (int k = 1; k < count; k++) {
        int nearest = 0;
        if (!isinf(s->distance[near[k]])) continue;
        for (int j = 1; j < count; j++)
            if (!isinf(s->distance[near[j]]) &&
                su_distance3(s->surface->x + 3 * (int64_t)near[j], s->surface->x + 3 * (int64_t)near[k]) <
                    su_distance3(s->surface->x + 3 * (int64_t)near[nearest], s->surface->x + 3 * (int64_t)near[k]))
                nearest = j;
        if (parts(s, near[nearest], near[k], PARTS * longest) && gap_between(s, near[nearest], near[k])) return true;
    }
    return false;
}

static void name_place(const double *x, double apart, su_bridges *out)
{
    out->count++;
    if (out->places == SU_BRIDGE_PLACES) return;
    for (int k = 0; k < out->places; k++)
        if (su_distance3(out->place[k], x) < apart) return;
    memcpy(out->place[out->places++], x, sizeof out->place[0]);
}

static su_status prepare(search *s, su_error *err)
{
    const su_surface *surface = s->surface;
    int64_t links = 6 * surface->t;
    int32_t *from = NULL, *to = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&from, links, "skin graph", err));
    SU_GO(SU_ALLOC(&to, links, "skin graph", err));
    for (int64_t k = 0; k < links; k++) {
        const int32_t *c = surface->triangles + 3 * (k / 6);
        int i = (int)(k % 6) / 2, side = (int)(k % 2);
        from[k] = c[(i + side) % 3], to[k] = c[(i + 1 - side) % 3];
    }
    SU_GO(make_rows(surface->n, links, from, to, &s->link_start, &s->link, err));
    SU_GO(SU_ALLOC(&s->distance, surface->n, "skin graph", err));
    SU_GO(SU_ALLOC(&s->touched, surface->n, "skin graph", err));
    SU_GO(SU_ALLOC(&s->heap, links + 1, "skin graph", err));
    SU_GO(SU_ALLOC(&s->source, surface->n, "skin graph", err));
    for (int64_t v = surface->source_count - 1; v >= 0; v--)
        if (surface->vertex[v] >= 0) s->source[surface->vertex[v]] = (int32_t)v;
    for (int64_t v = 0; v < surface->n; v++) s->distance[v] = INFINITY;
done:
    free(from);
    free(to);
    return status;
}

su_status su_bridges_find(const su_surface *surface, const su_tets *mesh, const int32_t *holder, int64_t poses,
                          const double *shapes, su_bridges *out, su_error *err)
{
    search s = {.surface = surface, .poses = poses, .shapes = shapes};
    su_boxtree tree = {0};
    su_winding *winding = NULL;
    int32_t *skin_in = NULL, *corner_tet = NULL, *around = NULL;
    int64_t *around_start = NULL;
    su_status status;
    memset(out, 0, sizeof *out);
    if (surface->t == 0) return SU_OK;
    SU_GO(prepare(&s, err));
    SU_GO(su_boxtree_of_triangles(surface->x, surface->t, surface->triangles, &tree, err));
    SU_GO(su_winding_create(&tree, surface->x, surface->triangles, &winding, err));
    s.winding = winding;
    SU_GO(SU_ALLOC(&skin_in, mesh->t, "skin vertices of tets", err));
    for (int64_t e = 0; e < mesh->t; e++) skin_in[e] = -1;
    for (int64_t v = surface->n - 1; v >= 0; v--)
        if (s.link_start[v] < s.link_start[v + 1])
            skin_in[holder[v]] = (int32_t)v; /* loose points have no way along edges */
    SU_GO(SU_ALLOC(&corner_tet, 4 * mesh->t, "flesh stars", err));
    for (int64_t k = 0; k < 4 * mesh->t; k++) corner_tet[k] = (int32_t)(k / 4);
    SU_GO(make_rows(mesh->n, 4 * mesh->t, mesh->tets, corner_tet, &around_start, &around, err));
    for (int64_t v = 0; v < mesh->n; v++) {
        int32_t near[MOST];
        double longest = 0;
        int count = 0;
        for (int64_t k = around_start[v]; k < around_start[v + 1] && count < MOST; k++) {
            const int32_t *tet = mesh->tets + 4 * (int64_t)around[k];
            if (skin_in[around[k]] < 0) continue;
            near[count++] = skin_in[around[k]];
            for (int i = 0; i < 4; i++)
                longest = fmax(longest, su_distance3(mesh->x + 3 * v, mesh->x + 3 * (int64_t)tet[i]));
        }
        if (count > 1 && bridged(&s, longest, count, near)) name_place(mesh->x + 3 * v, APART * surface->diagonal, out);
    }
done:
    free(s.link_start), free(s.link), free(s.distance), free(s.touched), free(s.heap), free(s.source);
    free(skin_in), free(corner_tet), free(around_start), free(around);
    su_winding_free(winding);
    su_boxtree_free(&tree);
    return status;
}
