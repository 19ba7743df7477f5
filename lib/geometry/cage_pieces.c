/* Two triangles in a tet belong to one piece of material when they share an edge there, when they intersect, or when a
 * straight probe inside the tet runs from one to the other through the inside of the skin. Probes are the tet's edges,
 * and where those leave several pieces, lines between the pieces and the nodes. Along a probe the winding number falls
 * by one where it leaves through a triangle and rises where it enters. */
#include "geometry/cage_pieces.h"

#include "core/memory.h"
#include "geometry/intersect.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"

#include <stdlib.h>
#include <string.h>

typedef struct crossing {
    double s;
    int32_t local;
    int sign;
} crossing;

typedef struct corner_pair {
    int32_t low, high, local;
} corner_pair;

/* One tet at work. Local elements: 0-3 its nodes, 4.. its items. */
typedef struct scene {
    const su_surface *surface;
    const su_lattice_items *items;
    const su_lattice *lattice;
    const int64_t *meet_start; /* (items + 1) intersecting triangles of each triangle */
    const int32_t *meet;
    int64_t tet;
    const int32_t *list; /* items of this tet */
    int32_t count;
    int32_t *parent; /* (4 + count) */
    crossing *crossings;
    corner_pair *pairs;
    int64_t room;
} scene;

static int32_t find_root(int32_t *parent, int32_t k)
{
    while (parent[k] != k) parent[k] = parent[parent[k]], k = parent[k];
    return k;
}

static void join(scene *s, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) return;
    a = find_root(s->parent, a), b = find_root(s->parent, b);
    if (a != b) s->parent[a > b ? a : b] = a > b ? b : a;
}

static const double *corner(const scene *s, int32_t item, int i)
{
    return s->surface->x + 3 * (int64_t)s->items->corners[3 * (int64_t)item + i];
}

static const double *node(const scene *s, int i)
{
    return s->lattice->x + 3 * (int64_t)s->lattice->tets[4 * s->tet + i];
}

static double node_winding(const scene *s, int i) { return s->lattice->winding[s->lattice->tets[4 * s->tet + i]]; }

static int compare_crossings(const void *a, const void *b)
{
    const crossing *p = a, *q = b;
    if (p->s != q->s) return p->s < q->s ? -1 : 1;
    return (p->local > q->local) - (p->local < q->local);
}

static int compare_pairs(const void *a, const void *b)
{
    const corner_pair *p = a, *q = b;
    if (p->low != q->low) return p->low < q->low ? -1 : 1;
    if (p->high != q->high) return p->high < q->high ? -1 : 1;
    return (p->local > q->local) - (p->local < q->local);
}

/* Runs from a (element at, -1: none) to b (element to) with winding number w at a, joining what inside stretches
 * connect. Crossings with `skip` do not count. Returns the winding number at b. */
static double probe(scene *s, const double *a, int32_t at, const double *b, int32_t to, double w, int32_t skip)
{
    int32_t found = 0;
    double d[3];
    su_sub3(b, a, d);
    for (int32_t k = 0; k < s->count; k++) {
        int32_t item = s->list[k];
        double where;
        if (item >= s->surface->t || 4 + k == skip) continue;
        const double *p = corner(s, item, 0), *q = corner(s, item, 1), *r = corner(s, item, 2);
        if (!su_segment_meets_triangle(a, b, p, q, r, &where)) continue;
        double u[3], v[3], n[3];
        su_sub3(q, p, u), su_sub3(r, p, v), su_cross3(u, v, n);
        s->crossings[found++] = (crossing){where, 4 + k, su_dot3(n, d) > 0.0 ? 1 : -1};
    }
    qsort(s->crossings, (size_t)found, sizeof *s->crossings, compare_crossings);
    for (int32_t k = 0; k < found; k++) {
        if (w > 0.5) join(s, at, s->crossings[k].local);
        w -= s->crossings[k].sign;
        at = s->crossings[k].local;
    }
    if (w > 0.5) join(s, at, to);
    return w;
}

static bool edge_meets_tet(const scene *s, int32_t a, int32_t b)
{
    double u[4], v[4], enter = 0.0, leave = 1.0;
    const int32_t *tet = s->lattice->tets + 4 * s->tet;
    su_tet_barycentric(s->lattice->x, tet, s->surface->x + 3 * (int64_t)a, u);
    su_tet_barycentric(s->lattice->x, tet, s->surface->x + 3 * (int64_t)b, v);
    for (int i = 0; i < 4; i++) {
        u[i] += 1e-9, v[i] += 1e-9;
        if (u[i] < 0.0 && v[i] < 0.0) return false;
        if (u[i] < 0.0) enter = fmax(enter, u[i] / (u[i] - v[i]));
        if (v[i] < 0.0) leave = fmin(leave, u[i] / (u[i] - v[i]));
    }
    return enter <= leave;
}

static void join_neighbours(scene *s)
{
    int32_t count = 0;
    for (int32_t k = 0; k < s->count; k++) {
        if (s->list[k] >= s->surface->t) continue;
        const int32_t *c = s->items->corners + 3 * (int64_t)s->list[k];
        for (int i = 0; i < 3; i++) {
            int32_t a = c[i], b = c[(i + 1) % 3];
            s->pairs[count++] = (corner_pair){a < b ? a : b, a < b ? b : a, 4 + k};
        }
    }
    qsort(s->pairs, (size_t)count, sizeof *s->pairs, compare_pairs);
    for (int32_t k = 0, run; k < count; k += run) {
        for (run = 1;
             k + run < count && s->pairs[k + run].low == s->pairs[k].low && s->pairs[k + run].high == s->pairs[k].high;)
            run++;
        if (run > 1 && edge_meets_tet(s, s->pairs[k].low, s->pairs[k].high))
            for (int32_t j = 1; j < run; j++) join(s, s->pairs[k].local, s->pairs[k + j].local);
    }
    for (int32_t k = 0; k < s->count; k++) {
        if (s->list[k] >= s->surface->t) continue;
        for (int64_t m = s->meet_start[s->list[k]]; m < s->meet_start[s->list[k] + 1]; m++)
            for (int32_t low = k + 1, high = s->count; low < high;) { /* both lists are ascending */
                int32_t middle = low + (high - low) / 2;
                if (s->list[middle] == s->meet[m]) {
                    join(s, 4 + k, 4 + middle);
                    break;
                }
                if (s->list[middle] < s->meet[m])
                    low = middle + 1;
                else
                    high = middle;
            }
    }
}

/* A point of the item within the tet: the middle of what four half-spaces leave of it. */
static bool point_within(const scene *s, int32_t item, double out[3])
{
    double polygon[12][3], next[12][3];
    int count = 3;
    const int32_t *tet = s->lattice->tets + 4 * s->tet;
    for (int i = 0; i < 3; i++) memcpy(polygon[i], corner(s, item, i), sizeof polygon[i]);
    for (int face = 0; face < 4; face++) {
        double bary[12][4];
        int kept = 0;
        for (int k = 0; k < count; k++) su_tet_barycentric(s->lattice->x, tet, polygon[k], bary[k]);
        for (int k = 0; k < count; k++) {
            int m = (k + 1) % count;
            double a = bary[k][face] + 1e-9, b = bary[m][face] + 1e-9;
            if (a >= 0.0) memcpy(next[kept++], polygon[k], sizeof next[0]);
            if ((a < 0.0) != (b < 0.0)) {
                for (int i = 0; i < 3; i++)
                    next[kept][i] = polygon[k][i] + a / (a - b) * (polygon[m][i] - polygon[k][i]);
                kept++;
            }
        }
        count = kept;
        memcpy(polygon, next, sizeof polygon);
        if (!count) return false;
    }
    memset(out, 0, 3 * sizeof *out);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) out[i] += polygon[k][i] / count;
    return true;
}

/* More probes where the tet's edges left several pieces: from its nodes to a point of each piece, and between such
 * points. */
static void probe_between(scene *s)
{
    enum { MOST = 8 };
    double point[MOST][3], w[MOST];
    int32_t element[MOST];
    int count = 0;
    for (int32_t k = 0; k < s->count && count < MOST; k++) {
        bool seen = false;
        for (int j = 0; j < count; j++) seen |= find_root(s->parent, element[j]) == find_root(s->parent, 4 + k);
        if (!seen && point_within(s, s->list[k], point[count])) element[count++] = 4 + k;
    }
    for (int k = 0; k < count; k++)
        for (int i = 3; i >= 0; i--)
            w[k] = probe(s, node(s, i), i, point[k], element[k], node_winding(s, i), element[k]);
    for (int k = 0; k < count; k++)
        for (int j = k + 1; j < count; j++) {
            int32_t item = s->list[element[k] - 4];
            double start = w[k], u[3], v[3], n[3], d[3], from[3];
            if (find_root(s->parent, element[k]) == find_root(s->parent, element[j])) continue;
            if (item < s->surface->t) {
                su_sub3(corner(s, item, 1), corner(s, item, 0), u), su_sub3(corner(s, item, 2), corner(s, item, 0), v);
                su_cross3(u, v, n), su_sub3(point[j], point[k], d), su_sub3(point[k], node(s, 0), from);
                if (su_dot3(d, n) * su_dot3(from, n) > 0.0) start -= su_dot3(from, n) > 0.0 ? 1.0 : -1.0;
            }
            /* the far end's own triangle is met at the end of the probe and must not count on the way */
            probe(s, point[k], element[k], point[j], element[j], start, element[k]);
        }
}

static int32_t pieces_left(const scene *s)
{
    int32_t count = 0;
    for (int32_t k = 0; k < 4 + s->count; k++) {
        if (s->parent[k] != k) continue;
        if (k >= 4 || node_winding(s, k) > 0.5) {
            count++;
            continue;
        }
        bool used = false; /* an outside node joined by nothing is no piece */
        for (int32_t j = k + 1; j < 4 + s->count && !used; j++) used = find_root(s->parent, j) == k;
        count += used;
    }
    return count;
}

static void find_pieces(scene *s)
{
    static const int edges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    for (int32_t k = 0; k < 4 + s->count; k++) s->parent[k] = k;
    join_neighbours(s);
    for (int k = 0; k < 6; k++) {
        int a = edges[k][0], b = edges[k][1];
        double end = probe(s, node(s, a), a, node(s, b), b, node_winding(s, a), -1);
        /* a probe through an edge or corner of the skin miscounts: then both its ends are tried on their own */
        if (fabs(end - node_winding(s, b)) > 0.5) probe(s, node(s, b), b, node(s, a), a, node_winding(s, b), -1);
    }
    if (pieces_left(s) > 1) probe_between(s);
}

static su_status make_room(scene *s, su_error *err)
{
    if (s->count + 4 <= s->room) return SU_OK;
    free(s->parent), free(s->crossings), free(s->pairs);
    s->parent = NULL, s->crossings = NULL, s->pairs = NULL;
    s->room = 2 * s->count + 64;
    SU_TRY(SU_ALLOC(&s->parent, s->room, "lattice pieces", err));
    SU_TRY(SU_ALLOC(&s->crossings, s->room, "lattice pieces", err));
    return SU_ALLOC(&s->pairs, 3 * s->room, "lattice pieces", err);
}

/* Intersecting triangles as rows, both ways, ascending. */
static su_status meeting_rows(const su_surface *surface, int64_t count, int64_t **start, int32_t **meet, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tree = {0};
    int64_t pairs = 0, *first = NULL;
    int32_t *list = NULL, *rows = NULL;
    SU_GO(su_boxtree_of_triangles(surface->x, surface->t, surface->triangles, &tree, err));
    SU_GO(su_surface_intersections(surface, &tree, 0, &pairs, &list, err));
    SU_GO(SU_ALLOC(&first, count + 2, "intersections", err));
    SU_GO(SU_ALLOC(&rows, 2 * pairs, "intersections", err));
    for (int64_t k = 0; k < 2 * pairs; k++) first[list[k] + 2]++;
    for (int64_t k = 2; k < count + 2; k++) first[k] += first[k - 1];
    for (int64_t k = 0; k < 2 * pairs; k++) rows[first[list[k] + 1]++] = list[k ^ 1];
    *start = first, *meet = rows, first = NULL, rows = NULL;
done:
    su_boxtree_free(&tree);
    free(list);
    free(first);
    free(rows);
    return status;
}

su_status su_pieces_create(const su_surface *surface, const su_lattice_items *items, const su_lattice *lattice,
                           const su_progress *progress, su_pieces *out, su_error *err)
{
    su_status status = SU_OK;
    su_pieces p = {0};
    scene s = {.surface = surface, .items = items, .lattice = lattice};
    int64_t *start = NULL;
    int32_t *meet = NULL, *name = NULL;
    SU_GO(meeting_rows(surface, items->count, &start, &meet, err));
    s.meet_start = start, s.meet = meet;
    SU_GO(SU_ALLOC(&p.first, lattice->t + 1, "lattice pieces", err));
    SU_GO(SU_ALLOC(&p.of_item, lattice->item_start[lattice->cut], "lattice pieces", err));
    SU_GO(SU_ALLOC(&p.of_node, 4 * lattice->t, "lattice pieces", err));
    for (int64_t e = 0; e < lattice->t; e++) {
        if (su_progress_stopped(progress)) {
            status = su_fail(err, SU_AGAIN, "stopped while meshing");
            goto done;
        }
        p.first[e] = (int32_t)p.count;
        if (e >= lattice->cut) {
            for (int i = 0; i < 4; i++)
                p.of_node[4 * e + i] = lattice->winding[lattice->tets[4 * e + i]] > 0.5 ? (int32_t)p.count : -1;
            p.count++;
            continue;
        }
        s.tet = e, s.list = lattice->items + lattice->item_start[e];
        s.count = (int32_t)(lattice->item_start[e + 1] - lattice->item_start[e]);
        SU_GO(make_room(&s, err));
        find_pieces(&s);
        int32_t *named = realloc(name, (size_t)s.room * sizeof *named);
        if (!named) {
            status = su_fail(err, SU_AGAIN, "out of memory for lattice pieces");
            goto done;
        }
        name = named;
        for (int32_t k = 0; k < 4 + s.count; k++) name[k] = -1;
        for (int32_t k = 0; k < 4 + s.count; k++) {
            bool counts = k >= 4 || node_winding(&s, k) > 0.5;
            int32_t root = find_root(s.parent, k);
            if (counts && name[root] < 0) name[root] = (int32_t)p.count++;
            if (k < 4)
                p.of_node[4 * e + k] = counts ? name[root] : -1;
            else
                p.of_item[lattice->item_start[e] + k - 4] = name[root];
        }
    }
    p.first[lattice->t] = (int32_t)p.count;
    *out = p;
    memset(&p, 0, sizeof p);
done:
    free(start);
    free(meet);
    free(name);
    free(s.parent);
    free(s.crossings);
    free(s.pairs);
    su_pieces_free(&p);
    return status;
}

void su_pieces_free(su_pieces *pieces)
{
    free(pieces->first);
    free(pieces->of_item);
    free(pieces->of_node);
    memset(pieces, 0, sizeof *pieces);
}
