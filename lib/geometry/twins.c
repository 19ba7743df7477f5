#include "geometry/twins.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nodes of the lattice are each other's images within this part of the diagonal: rounding, and far below any cell. */
#define SAME_PLACE 1e-7

typedef struct node {
    double x[3];
    int32_t vertex;
} node;

/* A tet by the places of its corners, ascending. */
typedef struct tet_key {
    int32_t place[4], tet;
} tet_key;

typedef struct search {
    const su_surface *surface;
    const su_lattice_items *items;
    const su_cage *cage;
    su_twins *twins;
    int32_t *place;     /* (n) copies of a lattice node share it */
    int32_t *image;     /* (places) the mirrored place, -1: no node is there */
    double *at;         /* (places,3) */
    tet_key *keys;      /* (t) ascending */
    int32_t *neighbour; /* (t,4) */
    uint8_t *barred;    /* (t) holds skin that has no counterpart */
    double *middle;     /* (t,3) sum of the points in each tet */
    int64_t *held;      /* (t) how many */
    int32_t *queue;     /* (t) */
    int64_t queued, places;
} search;

void su_twins_free(su_twins *twins)
{
    free(twins->vertex), free(twins->tet);
    memset(twins, 0, sizeof *twins);
}

static void search_free(search *s)
{
    free(s->place), free(s->image), free(s->at), free(s->keys), free(s->neighbour), free(s->barred);
    free(s->middle), free(s->held), free(s->queue);
}

static int by_position(const void *a, const void *b)
{
    const node *p = a, *q = b;
    for (int i = 0; i < 3; i++)
        if (p->x[i] != q->x[i]) return p->x[i] < q->x[i] ? -1 : 1;
    return 0;
}

static su_status find_places(search *s, su_error *err)
{
    const su_tets *m = &s->cage->mesh;
    su_status status = SU_OK;
    su_kdtree *tree = NULL;
    node *nodes = NULL;
    SU_GO(SU_ALLOC(&nodes, m->n, "mirrored nodes", err));
    SU_GO(SU_ALLOC(&s->place, m->n, "mirrored nodes", err));
    SU_GO(SU_ALLOC(&s->at, 3 * m->n, "mirrored nodes", err));
    for (int64_t v = 0; v < m->n; v++) {
        memcpy(nodes[v].x, m->x + 3 * v, sizeof nodes[v].x);
        nodes[v].vertex = (int32_t)v;
    }
    su_sort(nodes, (size_t)m->n, sizeof *nodes, by_position);
    for (int64_t k = 0; k < m->n; k++) {
        if (!k || by_position(&nodes[k - 1], &nodes[k])) memcpy(s->at + 3 * s->places++, nodes[k].x, sizeof nodes[k].x);
        s->place[nodes[k].vertex] = (int32_t)(s->places - 1);
    }
    SU_GO(SU_ALLOC(&s->image, s->places, "mirrored nodes", err));
    SU_GO(su_kdtree_create(s->places, s->at, &tree, err));
    for (int64_t k = 0; k < s->places; k++) {
        double mirrored[3], distance;
        int32_t near;
        su_mirror_image(&s->items->mirror, s->at + 3 * k, mirrored);
        su_kdtree_nearest(tree, mirrored, 1, &near, &distance);
        s->image[k] = distance <= SAME_PLACE * s->surface->diagonal ? near : -1;
    }
    for (int64_t k = 0; k < s->places; k++)
        if (s->image[k] >= 0 && s->image[s->image[k]] != k) s->image[k] = -1;
done:
    su_kdtree_free(tree);
    free(nodes);
    return status;
}

static int by_places(const void *a, const void *b)
{
    const tet_key *p = a, *q = b;
    for (int i = 0; i < 4; i++)
        if (p->place[i] != q->place[i]) return p->place[i] < q->place[i] ? -1 : 1;
    return 0;
}

/* The places of a tet's corners, or of their mirror images; false where one of these is none. */
static bool key_of(const search *s, int64_t e, bool mirrored, tet_key *out)
{
    out->tet = (int32_t)e;
    for (int i = 0; i < 4; i++) {
        int32_t place = s->place[s->cage->mesh.tets[4 * e + i]];
        if (mirrored) place = s->image[place];
        if (place < 0) return false;
        int at = i;
        for (; at > 0 && out->place[at - 1] > place; at--) out->place[at] = out->place[at - 1];
        out->place[at] = place;
    }
    return true;
}

/* First and number of the tets at the mirror image of e, all copies, among the keys. */
static int64_t images_of(const search *s, int64_t e, int64_t *first)
{
    int64_t low = 0, high = s->cage->mesh.t, count = 0;
    tet_key wanted;
    if (!key_of(s, e, true, &wanted)) return 0;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (by_places(&s->keys[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    while (low + count < s->cage->mesh.t && !by_places(&s->keys[low + count], &wanted)) count++;
    return count;
}

/* Marks what holds skin without a counterpart, and sums up what each tet holds. */
static su_status look_at_skin(search *s, su_error *err)
{
    const su_surface *surface = s->surface;
    const su_cage *cage = s->cage;
    double near = SU_MIRROR_NEAR * surface->diagonal;
    su_status status = SU_OK;
    su_boxtree tree = {0};
    uint8_t *alone = NULL;
    SU_GO(SU_ALLOC(&alone, surface->n, "mirrored skin", err));
    SU_GO(SU_ALLOC(&s->barred, cage->mesh.t, "mirrored tets", err));
    SU_GO(SU_ALLOC(&s->middle, 3 * cage->mesh.t, "mirrored tets", err));
    SU_GO(SU_ALLOC(&s->held, cage->mesh.t, "mirrored tets", err));
    SU_GO(su_boxtree_of_triangles(surface->x, surface->t, surface->triangles, &tree, err));
    for (int64_t v = 0; v < surface->n; v++) {
        double mirrored[3];
        int32_t triangle;
        su_mirror_image(&s->items->mirror, surface->x + 3 * v, mirrored);
        alone[v] = su_closest_point(&tree, surface->x, surface->triangles, mirrored, near, &triangle, NULL) >= near;
    }
    for (int64_t k = 0; k < cage->point_count; k++) {
        const su_cage_point *point = &cage->points[k];
        const int32_t *c = s->items->corners + 3 * (int64_t)point->item;
        s->barred[point->tet] |= alone[c[0]] || alone[c[1]] || alone[c[2]];
        for (int i = 0; i < 3; i++) s->middle[3 * (int64_t)point->tet + i] += point->p[i];
        s->held[point->tet]++;
    }
done:
    su_boxtree_free(&tree);
    free(alone);
    return status;
}

static void pair(search *s, int32_t e, int32_t f)
{
    s->twins->tet[e] = f, s->twins->tet[f] = e;
    s->queue[s->queued++] = e;
    if (f != e) s->queue[s->queued++] = f;
}

static bool open_to(const search *s, int32_t e) { return s->twins->tet[e] < 0 && !s->barred[e]; }

/* Corner of tet f at the mirrored place of vertex v; f is at the mirror image of a tet at v. */
static int corner_at_image(const search *s, int32_t f, int32_t v)
{
    int32_t place = s->image[s->place[v]];
    int i = 0;
    while (i < 3 && s->place[s->cage->mesh.tets[4 * (int64_t)f + i]] != place) i++;
    return i;
}

/* What lies beyond the faces of a pair is a pair, too. */
static void follow(search *s, int64_t *done)
{
    const int32_t *tets = s->cage->mesh.tets;
    while (*done < s->queued) {
        int32_t e = s->queue[(*done)++], f = s->twins->tet[e];
        for (int i = 0; i < 4; i++) {
            int32_t beyond = s->neighbour[4 * (int64_t)e + i];
            if (beyond < 0 || !open_to(s, beyond)) continue;
            int32_t other = s->neighbour[4 * (int64_t)f + corner_at_image(s, f, tets[4 * (int64_t)e + i])];
            tet_key mirrored, own;
            if (other < 0 || !open_to(s, other) || !key_of(s, beyond, true, &mirrored)) continue;
            key_of(s, other, false, &own);
            if (!by_places(&mirrored, &own)) pair(s, beyond, other);
        }
    }
}

/* Of the copies at the image of e the one that holds the skin nearest to that of e, mirrored. */
static int32_t by_skin(const search *s, int32_t e)
{
    int64_t first, count = images_of(s, e, &first);
    double own[3], least = INFINITY;
    int32_t best = -1;
    for (int i = 0; i < 3; i++) own[i] = s->middle[3 * (int64_t)e + i] / (double)s->held[e];
    su_mirror_image(&s->items->mirror, own, own);
    for (int64_t k = first; k < first + count; k++) {
        int32_t f = s->keys[k].tet;
        double there[3];
        if (!open_to(s, f) || !s->held[f]) continue;
        for (int i = 0; i < 3; i++) there[i] = s->middle[3 * (int64_t)f + i] / (double)s->held[f];
        if (su_distance3(own, there) < least) least = su_distance3(own, there), best = f;
    }
    return best;
}

/* A vertex has the twin that all pairs around it agree on. */
static void pair_vertices(search *s)
{
    const su_tets *m = &s->cage->mesh;
    int32_t *twin = s->twins->vertex;
    const int32_t unknown = -1, torn = -2;
    for (int64_t v = 0; v < m->n; v++) twin[v] = unknown;
    for (int64_t e = 0; e < m->t; e++) {
        int32_t f = s->twins->tet[e];
        for (int i = 0; i < 4 && f >= 0; i++) {
            int32_t v = m->tets[4 * e + i], other = m->tets[4 * (int64_t)f + corner_at_image(s, f, v)];
            twin[v] = twin[v] == unknown || twin[v] == other ? other : torn;
        }
    }
    for (int64_t v = 0; v < m->n; v++)
        if (twin[v] >= 0 && twin[twin[v]] != v) twin[v] = torn;
    for (int64_t v = 0; v < m->n; v++)
        if (twin[v] == torn || (twin[v] >= 0 && twin[twin[v]] != v)) twin[v] = unknown;
}

su_status su_twins_find(const su_surface *surface, const su_lattice_items *items, const su_cage *cage, su_twins *out,
                        su_error *err)
{
    const su_tets *m = &cage->mesh;
    su_twins twins = {.mirror = items->mirror};
    search s = {.surface = surface, .items = items, .cage = cage, .twins = &twins};
    int64_t done = 0;
    su_status status = SU_OK;
    SU_GO(SU_ALLOC(&twins.vertex, m->n, "mirrored vertices", err));
    SU_GO(SU_ALLOC(&twins.tet, m->t, "mirrored tets", err));
    for (int64_t v = 0; v < m->n; v++) twins.vertex[v] = -1;
    for (int64_t e = 0; e < m->t; e++) twins.tet[e] = -1;
    if (items->mirror.axis < 0) goto found;
    SU_GO(find_places(&s, err));
    SU_GO(SU_ALLOC(&s.keys, m->t, "mirrored tets", err));
    SU_GO(SU_ALLOC(&s.neighbour, 4 * m->t, "tet neighbours", err));
    SU_GO(SU_ALLOC(&s.queue, m->t, "mirrored tets", err));
    SU_GO(su_tet_neighbours(m->t, m->tets, s.neighbour, err));
    SU_GO(look_at_skin(&s, err));
    for (int64_t e = 0; e < m->t; e++) key_of(&s, e, false, &s.keys[e]);
    su_sort(s.keys, (size_t)m->t, sizeof *s.keys, by_places);
    for (int64_t k = 0; k < m->t; k++) {
        int64_t first;
        bool copy =
            (k && !by_places(&s.keys[k - 1], &s.keys[k])) || (k + 1 < m->t && !by_places(&s.keys[k], &s.keys[k + 1]));
        if (copy || !open_to(&s, s.keys[k].tet) || images_of(&s, s.keys[k].tet, &first) != 1) continue;
        if (open_to(&s, s.keys[first].tet)) pair(&s, s.keys[k].tet, s.keys[first].tet);
    }
    follow(&s, &done);
    for (int32_t e = 0; e < m->t; e++) {
        int32_t f = open_to(&s, e) && s.held[e] ? by_skin(&s, e) : -1;
        if (f < 0) continue;
        pair(&s, e, f);
        follow(&s, &done);
    }
    pair_vertices(&s);
found:
    *out = twins;
    memset(&twins, 0, sizeof twins);
done:
    search_free(&s);
    su_twins_free(&twins);
    return status;
}
