/* Two triangles in a tet belong to one piece of material when they share an edge there, when they intersect, or when a
 * straight probe inside the tet runs from one to the other through the inside of the skin. Probes are the tet's edges,
 * and where those leave several pieces, lines between the pieces and the nodes. Along a probe the winding number falls
 * by one where it leaves through a triangle and rises where it enters. Of shells that part only those of one layer are
 * looked at together; what layers have in common makes their pieces one. */
#include "geometry/cage_pieces.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/intersect.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "geometry/winding.h"

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

/* One tet at work, seen in one layer. Local elements: its nodes, four a layer, then its items. */
typedef struct scene {
    const su_surface *surface;
    const su_lattice_items *items;
    const su_lattice *lattice;
    const su_parting *parting;
    const double *class_winding; /* (classes,n) of the lattice's nodes; NULL: nothing parts */
    const double *layer_winding; /* (layers,n) */
    int32_t layer;
    int32_t nodes;             /* elements that are nodes: four a layer */
    const int64_t *meet_start; /* (items + 1) intersecting triangles of each triangle */
    const int32_t *meet;
    int64_t tet;
    int order[4];        /* of its corners, as its mirror image has them */
    const int32_t *list; /* items of this tet */
    int32_t count;
    int32_t *parent; /* (nodes + count) */
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

static double node_winding(const scene *s, int i)
{
    return s->layer_winding[s->layer * s->lattice->n + s->lattice->tets[4 * s->tet + i]];
}

static int32_t node_element(const scene *s, int i) { return 4 * s->layer + i; }

/* Points are in all layers. */
static uint32_t item_layers(const scene *s, int32_t item)
{
    return s->parting->layers_of[item < s->surface->t ? s->parting->class_of[item] : 0];
}

/* Is item k of the list in the layer? */
static bool seen(const scene *s, int32_t k) { return item_layers(s, s->list[k]) >> s->layer & 1; }

static bool seen_triangle(const scene *s, int32_t k) { return s->list[k] < s->surface->t && seen(s, k); }

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
        if (!seen_triangle(s, k) || s->nodes + k == skip) continue;
        const double *p = corner(s, item, 0), *q = corner(s, item, 1), *r = corner(s, item, 2);
        if (!su_segment_meets_triangle(a, b, p, q, r, &where)) continue;
        double u[3], v[3], n[3];
        su_sub3(q, p, u), su_sub3(r, p, v), su_cross3(u, v, n);
        s->crossings[found++] = (crossing){where, s->nodes + k, su_dot3(n, d) > 0.0 ? 1 : -1};
    }
    su_sort(s->crossings, (size_t)found, sizeof *s->crossings, compare_crossings);
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
        if (!seen_triangle(s, k)) continue;
        const int32_t *c = s->items->corners + 3 * (int64_t)s->list[k];
        for (int i = 0; i < 3; i++) {
            int32_t a = c[i], b = c[(i + 1) % 3];
            s->pairs[count++] = (corner_pair){a < b ? a : b, a < b ? b : a, s->nodes + k};
        }
    }
    su_sort(s->pairs, (size_t)count, sizeof *s->pairs, compare_pairs);
    for (int32_t k = 0, run; k < count; k += run) {
        for (run = 1;
             k + run < count && s->pairs[k + run].low == s->pairs[k].low && s->pairs[k + run].high == s->pairs[k].high;)
            run++;
        if (run > 1 && edge_meets_tet(s, s->pairs[k].low, s->pairs[k].high))
            for (int32_t j = 1; j < run; j++) join(s, s->pairs[k].local, s->pairs[k + j].local);
    }
    for (int32_t k = 0; k < s->count; k++) {
        if (!seen_triangle(s, k)) continue;
        for (int64_t m = s->meet_start[s->list[k]]; m < s->meet_start[s->list[k] + 1]; m++)
            for (int32_t low = k + 1, high = s->count; low < high;) { /* both lists are ascending */
                int32_t middle = low + (high - low) / 2;
                if (s->list[middle] == s->meet[m]) {
                    if (seen(s, middle)) join(s, s->nodes + k, s->nodes + middle);
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
        bool known = !seen(s, k);
        for (int j = 0; j < count && !known; j++)
            known = find_root(s->parent, element[j]) == find_root(s->parent, s->nodes + k);
        if (!known && point_within(s, s->list[k], point[count])) element[count++] = s->nodes + k;
    }
    for (int k = 0; k < count; k++)
        for (int i = 3; i >= 0; i--)
            w[k] = probe(s, node(s, s->order[i]), node_element(s, s->order[i]), point[k], element[k],
                         node_winding(s, s->order[i]), element[k]);
    for (int k = 0; k < count; k++)
        for (int j = k + 1; j < count; j++) {
            int32_t item = s->list[element[k] - s->nodes];
            double start = w[k], u[3], v[3], n[3], d[3], from[3];
            if (find_root(s->parent, element[k]) == find_root(s->parent, element[j])) continue;
            if (item < s->surface->t) {
                su_sub3(corner(s, item, 1), corner(s, item, 0), u), su_sub3(corner(s, item, 2), corner(s, item, 0), v);
                su_cross3(u, v, n), su_sub3(point[j], point[k], d), su_sub3(point[k], node(s, s->order[0]), from);
                if (su_dot3(d, n) * su_dot3(from, n) > 0.0) start -= su_dot3(from, n) > 0.0 ? 1.0 : -1.0;
            }
            /* the far end's own triangle is met at the end of the probe and must not count on the way */
            probe(s, point[k], element[k], point[j], element[j], start, element[k]);
        }
}

/* Does more than one piece hold a node inside, or an item, of the layer? */
static bool several_pieces(scene *s)
{
    int32_t first = -1;
    for (int32_t k = 0; k < 4 + s->count; k++) {
        int32_t element = k < 4 ? node_element(s, k) : s->nodes + k - 4;
        if (k < 4 ? !(node_winding(s, k) > 0.5) : !seen(s, k - 4)) continue;
        int32_t root = find_root(s->parent, element);
        if (first >= 0 && root != first) return true;
        first = root;
    }
    return false;
}

static void find_pieces_of_layer(scene *s)
{
    static const int edges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    join_neighbours(s);
    for (int k = 0; k < 6; k++) {
        int a = edges[k][0], b = edges[k][1];
        double end = probe(s, node(s, a), node_element(s, a), node(s, b), node_element(s, b), node_winding(s, a), -1);
        /* a probe through an edge or corner of the skin miscounts: then both its ends are tried on their own */
        if (fabs(end - node_winding(s, b)) > 0.5)
            probe(s, node(s, b), node_element(s, b), node(s, a), node_element(s, a), node_winding(s, b), -1);
    }
    if (several_pieces(s)) probe_between(s);
}

/* Is the tet's node i inside a class that both layers hold? */
static bool common(const scene *s, int32_t l, int32_t m, int i)
{
    for (int32_t c = 0; c < s->parting->classes; c++)
        if ((s->parting->layers_of[c] >> l & 1) && (s->parting->layers_of[c] >> m & 1) &&
            s->class_winding[c * s->lattice->n + s->lattice->tets[4 * s->tet + i]] > 0.5)
            return true;
    return false;
}

/* Of a tet that no item meets: what lies inside in the layer is one piece. */
static void join_inside(scene *s)
{
    int32_t first = -1;
    for (int i = 0; i < 4; i++) {
        if (!(node_winding(s, i) > 0.5)) continue;
        join(s, first, node_element(s, i));
        first = node_element(s, i);
    }
}

static void find_pieces(scene *s)
{
    for (int32_t k = 0; k < s->nodes + s->count; k++) s->parent[k] = k;
    for (s->layer = 0; s->layer < s->parting->layers; s->layer++)
        if (s->tet < s->lattice->cut)
            find_pieces_of_layer(s);
        else
            join_inside(s);
    for (int32_t l = 0; l < s->parting->layers; l++)
        for (int32_t m = l + 1; m < s->parting->layers; m++)
            for (int i = 0; i < 4; i++)
                if (common(s, l, m, i)) join(s, 4 * l + i, 4 * m + i);
}

static su_status make_room(scene *s, su_error *err)
{
    if (s->count + s->nodes <= s->room) return SU_OK;
    free(s->parent), free(s->crossings), free(s->pairs);
    s->parent = NULL, s->crossings = NULL, s->pairs = NULL;
    s->room = 2 * s->count + s->nodes + 60;
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

/* Winding numbers of the lattice's nodes in the triangles of one class alone. */
static su_status wind_class(const su_surface *surface, const su_lattice *lattice, const su_parting *parting, int32_t c,
                            int threads, double *out, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tree = {0};
    su_winding *winding = NULL;
    int32_t *triangles = NULL;
    int64_t count = 0;
    SU_GO(SU_ALLOC(&triangles, 3 * surface->t, "triangles of a shell", err));
    for (int64_t k = 0; k < surface->t; k++)
        if (parting->class_of[k] == c)
            memcpy(triangles + 3 * count++, surface->triangles + 3 * k, 3 * sizeof *triangles);
    if (!count) goto done;
    SU_GO(su_boxtree_of_triangles(surface->x, count, triangles, &tree, err));
    SU_GO(su_winding_create(&tree, surface->x, triangles, &winding, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t v = 0; v < lattice->n; v++) out[v] = su_winding_at(winding, lattice->x + 3 * v);
done:
    su_winding_free(winding);
    su_boxtree_free(&tree);
    free(triangles);
    return status;
}

/* Winding numbers of the lattice's nodes by class and by layer; caller frees both. */
static su_status wind_classes(const su_surface *surface, const su_lattice *lattice, const su_parting *parting,
                              int threads, double **by_class, double **by_layer, su_error *err)
{
    su_status status = SU_OK;
    int64_t n = lattice->n;
    double *classes = NULL, *layers = NULL;
    SU_GO(SU_ALLOC(&classes, parting->classes * n, "winding numbers", err));
    SU_GO(SU_ALLOC(&layers, parting->layers * n, "winding numbers", err));
    for (int32_t c = 0; c < parting->classes; c++) {
        SU_GO(wind_class(surface, lattice, parting, c, threads, classes + c * n, err));
        for (int32_t l = 0; l < parting->layers; l++)
            for (int64_t v = 0; v < n && (parting->layers_of[c] >> l & 1); v++) layers[l * n + v] += classes[c * n + v];
    }
    *by_class = classes, *by_layer = layers, classes = layers = NULL;
done:
    free(classes), free(layers);
    return status;
}

/* Numbers the pieces of the tet at work from out->count on. name (room of the scene): scratch. */
static void number_pieces(scene *s, int32_t *name, su_pieces *out)
{
    int64_t e = s->tet, t = s->lattice->t;
    for (int32_t k = 0; k < s->nodes + s->count; k++) name[k] = -1;
    for (int32_t j = 0; j < s->nodes + s->count; j++) {
        int32_t k = j < s->nodes ? j - j % 4 + s->order[j % 4] : j;
        s->layer = k / 4;
        bool counts = k >= s->nodes || node_winding(s, k % 4) > 0.5;
        int32_t root = find_root(s->parent, k);
        if (counts && name[root] < 0) name[root] = (int32_t)out->count++;
        if (counts) out->layers_of[name[root]] |= k < s->nodes ? 1u << s->layer : item_layers(s, s->list[k - s->nodes]);
        if (k < s->nodes)
            out->of_node[4 * (s->layer * t + e) + k % 4] = counts ? name[root] : -1;
        else
            out->of_item[s->lattice->item_start[e] + k - s->nodes] = name[root];
    }
}

/* layers_room: of out->layers_of, which grows. */
static su_status pieces_of_tet(scene *s, int32_t **name, su_pieces *out, int64_t *layers_room, su_error *err)
{
    const su_lattice *lattice = s->lattice;
    int64_t before = out->count;
    bool cut = s->tet < lattice->cut;
    s->list = cut ? lattice->items + lattice->item_start[s->tet] : NULL;
    s->count = cut ? (int32_t)(lattice->item_start[s->tet + 1] - lattice->item_start[s->tet]) : 0;
    int64_t room = s->room;
    SU_TRY(make_room(s, err));
    if (s->room != room) {
        free(*name), *name = NULL;
        SU_TRY(SU_ALLOC(name, s->room, "lattice pieces", err));
    }
    if (out->count + s->nodes + s->count >= *layers_room) {
        int64_t grown = 2 * (*layers_room + s->nodes + s->count);
        uint32_t *all = realloc(out->layers_of, (size_t)grown * sizeof *all);
        if (!all) return su_fail(err, SU_AGAIN, "out of memory for lattice pieces");
        memset(all + *layers_room, 0, (size_t)(grown - *layers_room) * sizeof *all);
        out->layers_of = all, *layers_room = grown;
    }
    su_lattice_corner_order(lattice, &s->items->mirror, s->tet, s->order);
    find_pieces(s);
    number_pieces(s, *name, out);
    if (out->count == before) out->count++; /* inside for the skin as a whole, in no layer */
    return SU_OK;
}

su_status su_pieces_create(const su_surface *surface, const su_lattice_items *items, const su_lattice *lattice,
                           const su_parting *parting, int threads, const su_progress *progress, su_pieces *out,
                           su_error *err)
{
    su_status status = SU_OK;
    su_pieces p = {.layers = parting->layers};
    scene s = {
        .surface = surface, .items = items, .lattice = lattice, .parting = parting, .nodes = 4 * parting->layers};
    int64_t *start = NULL, layers_room = 0;
    int32_t *meet = NULL, *name = NULL;
    double *by_class = NULL, *by_layer = NULL;
    SU_GO(meeting_rows(surface, items->count, &start, &meet, err));
    s.meet_start = start, s.meet = meet;
    if (parting->layers > 1) SU_GO(wind_classes(surface, lattice, parting, threads, &by_class, &by_layer, err));
    s.class_winding = by_class, s.layer_winding = by_layer ? by_layer : lattice->winding;
    SU_GO(SU_ALLOC(&p.first, lattice->t + 1, "lattice pieces", err));
    SU_GO(SU_ALLOC(&p.of_item, lattice->item_start[lattice->cut], "lattice pieces", err));
    SU_GO(SU_ALLOC(&p.of_node, s.nodes * lattice->t, "lattice pieces", err));
    for (s.tet = 0; s.tet < lattice->t; s.tet++) {
        if (su_progress_stopped(progress)) {
            status = su_fail(err, SU_AGAIN, "stopped while meshing");
            goto done;
        }
        p.first[s.tet] = (int32_t)p.count;
        SU_GO(pieces_of_tet(&s, &name, &p, &layers_room, err));
    }
    p.first[lattice->t] = (int32_t)p.count;
    *out = p;
    memset(&p, 0, sizeof p);
done:
    free(start), free(meet), free(name);
    free(by_class), free(by_layer);
    free(s.parent), free(s.crossings), free(s.pairs);
    su_pieces_free(&p);
    return status;
}

void su_pieces_free(su_pieces *pieces)
{
    free(pieces->first);
    free(pieces->of_item);
    free(pieces->of_node);
    free(pieces->layers_of);
    memset(pieces, 0, sizeof *pieces);
}
