#include "geometry/grade.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "geometry/winding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- thickness ---- */

su_status su_skin_thickness(const su_surface *surface, const su_lattice_items *items, int threads, double *thickness,
                            su_error *err)
{
    su_boxtree tree = {0};
    SU_TRY(su_boxtree_of_triangles(surface->x, surface->t, surface->triangles, &tree, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
    for (int64_t k = 0; k < items->count; k++) {
        thickness[k] = INFINITY;
        if (k >= surface->t) continue;
        const int32_t *c = surface->triangles + 3 * k;
        const double *p = surface->x + 3 * (int64_t)c[0], *q = surface->x + 3 * (int64_t)c[1],
                     *r = surface->x + 3 * (int64_t)c[2];
        double u[3], v[3], n[3], across[3], middle[3], hit[5];
        su_sub3(q, p, u), su_sub3(r, p, v), su_cross3(u, v, n), su_cross3(n, u, across);
        double ln = su_norm3(n), lu = su_norm3(u), la = su_norm3(across);
        for (int i = 0; i < 3; i++) middle[i] = (p[i] + q[i] + r[i]) / 3.0;
        for (int ray = 0; ray < 5; ray++) {
            double d[3], tilt = ray ? 0.5 : 0.0, side = ray % 2 ? 1.0 : -1.0;
            for (int i = 0; i < 3; i++)
                d[i] = -(ray ? sqrt(0.75) : 1.0) * n[i] / ln + side * tilt * (ray <= 2 ? u[i] / lu : across[i] / la);
            hit[ray] = su_first_hit(&tree, surface->x, surface->triangles, middle, d, 1e-9 * surface->diagonal);
        }
        su_sort(hit, 5, sizeof *hit, su_order_doubles);
        thickness[k] = hit[2];
    }
    su_boxtree_free(&tree);
    return SU_OK;
}

/* ---- bisection ---- */

typedef struct grade {
    const su_surface *surface;
    const su_lattice_items *items;
    const double *size;
    double origin[3], cell;
    int64_t n, n_room, t, t_room, pool_count, pool_room;
    double *x;           /* (n,3) */
    double *winding;     /* (n) NAN: still to be found */
    int32_t *tets;       /* (t,4) */
    int64_t *item_first; /* (t) into pool */
    int32_t *item_count; /* (t) */
    int32_t *pool;
    int64_t *star_start; /* (n + 1) */
    int32_t *star;
    uint8_t *longest; /* (t) which of the six edges */
    int64_t *place;   /* (t,3) the sum of the corners in parts of a cell, the same for the mirror image */
    uint8_t *wanted;  /* (t) */
    uint8_t *halved;  /* (t) bisected in this round: its corners are no longer those the stars were made from */
    int32_t *stack;   /* (t) */
} grade;

static const int edges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

static void grade_free(grade *g)
{
    free(g->x), free(g->winding), free(g->tets), free(g->item_first), free(g->item_count), free(g->pool);
    free(g->star_start), free(g->star), free(g->longest), free(g->place), free(g->wanted), free(g->halved),
        free(g->stack);
}

/* Room for `wanted` elements; *room counts how many there is room for. */
static su_status grow(void *pointer, int64_t *room, int64_t wanted, size_t size, su_error *err)
{
    void **at = pointer;
    if (wanted <= *room) return SU_OK;
    int64_t next = wanted + wanted / 2 + 1024;
    void *grown = realloc(*at, (size_t)next * size);
    if (!grown) return su_fail(err, SU_AGAIN, "out of memory for the lattice");
    *at = grown;
    *room = next;
    return SU_OK;
}

/* Places are told apart in parts of a cell: nodes lie at halves of halves of cells. */
#define PARTS_OF_CELL 1048576.0 /* twenty bisections */

/* The sum of two nodes, across the plane of symmetry from there. */
static void sum_of(const grade *g, int32_t a, int32_t b, int64_t out[3])
{
    const su_mirror *mirror = &g->items->mirror;
    for (int i = 0; i < 3; i++) {
        double from = i == mirror->axis ? mirror->at : g->origin[i];
        double sum = (g->x[3 * (int64_t)a + i] - from) + (g->x[3 * (int64_t)b + i] - from);
        out[i] = llround(sum / g->cell * PARTS_OF_CELL);
    }
}

/* Twice the middle of an edge; edges that are each other's mirror images have the same one. */
static void middle_of(const grade *g, int32_t a, int32_t b, int64_t out[3])
{
    int axis = g->items->mirror.axis;
    sum_of(g, a, b, out);
    if (axis >= 0) out[axis] = llabs(out[axis]);
}

/* A strict order of the edges of a tet, the same for its mirror image: by length, then by their middles, then (a tet
 * across the plane has edges that are each other's images) by their ends. Lengths of a lattice's edges are exact in
 * double up to rounding of the origin, hence the tolerance. */
static bool longer(const grade *g, int32_t a, int32_t b, double length, int32_t c, int32_t d, double than)
{
    if (fabs(length - than) > 1e-6 * g->cell * g->cell) return length > than;
    int64_t p[3], q[3];
    middle_of(g, a, b, p), middle_of(g, c, d, q);
    for (int i = 0; i < 3; i++)
        if (p[i] != q[i]) return p[i] < q[i];
    int32_t low = a < b ? a : b, high = a < b ? b : a, low2 = c < d ? c : d, high2 = c < d ? d : c;
    return low != low2 ? low < low2 : high < high2;
}

static double squared(const grade *g, int32_t a, int32_t b)
{
    double d[3];
    su_sub3(g->x + 3 * (int64_t)a, g->x + 3 * (int64_t)b, d);
    return su_dot3(d, d);
}

static void find_longest(grade *g, int64_t e)
{
    const int32_t *tet = g->tets + 4 * e;
    int best = 0;
    double best_length = squared(g, tet[0], tet[1]);
    for (int k = 1; k < 6; k++) {
        double length = squared(g, tet[edges[k][0]], tet[edges[k][1]]);
        if (!longer(g, tet[edges[k][0]], tet[edges[k][1]], length, tet[edges[best][0]], tet[edges[best][1]],
                    best_length))
            continue;
        best = k, best_length = length;
    }
    g->longest[e] = (uint8_t)best;
}

/* A tet that is exactly as long as is wanted is not cut for what its lengths are rounded by. */
#define ROUNDING 1e-3

static bool too_long(const grade *g, int64_t e)
{
    const int32_t *tet = g->tets + 4 * e;
    double length = sqrt(squared(g, tet[edges[g->longest[e]][0]], tet[edges[g->longest[e]][1]]));
    for (int32_t k = 0; k < g->item_count[e]; k++)
        if (length > (1 + ROUNDING) * g->size[g->pool[g->item_first[e] + k]]) return true;
    return false;
}

static su_status build_stars(grade *g, su_error *err)
{
    free(g->star_start), free(g->star);
    g->star_start = NULL, g->star = NULL;
    SU_TRY(SU_ALLOC(&g->star_start, g->n + 1, "lattice stars", err));
    SU_TRY(SU_ALLOC(&g->star, 4 * g->t, "lattice stars", err));
    su_simplices_around(g->n, g->t, g->tets, 4, g->star_start, g->star);
    return SU_OK;
}

static int corner_of(const int32_t *tet, int32_t v)
{
    for (int i = 0; i < 4; i++)
        if (tet[i] == v) return i;
    return -1;
}

/* Spreads the wish from each tet to the tets around its longest edge that have a longer one. */
static void spread(grade *g, int64_t count)
{
    while (count) {
        const int32_t e = g->stack[--count], *tet = g->tets + 4 * (int64_t)e;
        int32_t a = tet[edges[g->longest[e]][0]], b = tet[edges[g->longest[e]][1]];
        for (int64_t k = g->star_start[a]; k < g->star_start[a + 1]; k++) {
            const int32_t f = g->star[k], *other = g->tets + 4 * (int64_t)f;
            if (g->wanted[f] || corner_of(other, b) < 0) continue;
            g->wanted[f] = 1;
            g->stack[count++] = f;
        }
    }
}

static bool in_star(const grade *g, int32_t v, int32_t e)
{
    for (int64_t k = g->star_start[v]; k < g->star_start[v + 1]; k++)
        if (g->star[k] == e) return true;
    return false;
}

/* Is ab the longest edge of all tets around it, none of them halved in this round? */
static bool terminal(const grade *g, int32_t a, int32_t b)
{
    for (int64_t k = g->star_start[a]; k < g->star_start[a + 1]; k++) {
        const int32_t f = g->star[k], *other = g->tets + 4 * (int64_t)f;
        if (g->halved[f] && in_star(g, b, f)) return false;
        int i = corner_of(other, a), j = corner_of(other, b);
        if (j < 0) continue;
        int p = edges[g->longest[f]][0], q = edges[g->longest[f]][1];
        if (!((p == i && q == j) || (p == j && q == i))) return false;
    }
    return true;
}

/* Items of a parent that meet the child. */
static su_status inherit_items(grade *g, int64_t child, int64_t first, int32_t count, su_error *err)
{
    double q[4][3];
    for (int i = 0; i < 12; i++)
        q[i / 3][i % 3] = (g->x[3 * (int64_t)g->tets[4 * child + i / 3] + i % 3] - g->origin[i % 3]) / g->cell;
    SU_TRY(grow(&g->pool, &g->pool_room, g->pool_count + count, sizeof *g->pool, err));
    g->item_first[child] = g->pool_count;
    for (int32_t k = 0; k < count; k++) {
        int32_t item = g->pool[first + k];
        double p[3][3];
        for (int i = 0; i < 9; i++)
            p[i / 3][i % 3] =
                (g->surface->x[3 * (int64_t)g->items->corners[3 * (int64_t)item + i / 3] + i % 3] - g->origin[i % 3]) /
                g->cell;
        if (su_triangle_meets_tet((const double(*)[3])p, (const double(*)[3])q)) g->pool[g->pool_count++] = item;
    }
    g->item_count[child] = (int32_t)(g->pool_count - g->item_first[child]);
    return SU_OK;
}

static su_status room_for_tet(grade *g, su_error *err)
{
    int64_t corners = 4 * g->t_room, first = g->t_room, count = g->t_room, longest = g->t_room, place = 3 * g->t_room;
    SU_TRY(grow(&g->tets, &corners, 4 * (g->t + 1), sizeof *g->tets, err));
    SU_TRY(grow(&g->item_first, &first, corners / 4, sizeof *g->item_first, err));
    SU_TRY(grow(&g->item_count, &count, corners / 4, sizeof *g->item_count, err));
    SU_TRY(grow(&g->longest, &longest, corners / 4, sizeof *g->longest, err));
    SU_TRY(grow(&g->place, &place, 3 * (corners / 4), sizeof *g->place, err));
    g->t_room = corners / 4;
    return SU_OK;
}

static su_status add_middle(grade *g, int32_t a, int32_t b, su_error *err)
{
    int64_t coordinates = 3 * g->n_room, nodes = g->n_room;
    SU_TRY(grow(&g->x, &coordinates, 3 * (g->n + 1), sizeof *g->x, err));
    SU_TRY(grow(&g->winding, &nodes, coordinates / 3, sizeof *g->winding, err));
    g->n_room = coordinates / 3;
    for (int i = 0; i < 3; i++) g->x[3 * g->n + i] = 0.5 * (g->x[3 * (int64_t)a + i] + g->x[3 * (int64_t)b + i]);
    g->winding[g->n++] = NAN;
    return SU_OK;
}

static void find_place(grade *g, int64_t e)
{
    const su_mirror *mirror = &g->items->mirror;
    for (int i = 0; i < 3; i++) {
        double from = i == mirror->axis ? mirror->at : g->origin[i], sum = 0;
        for (int k = 0; k < 4; k++) sum += g->x[3 * (int64_t)g->tets[4 * e + k] + i] - from;
        g->place[3 * e + i] = llround(sum / g->cell * PARTS_OF_CELL);
        if (i == mirror->axis) g->place[3 * e + i] = llabs(g->place[3 * e + i]);
    }
}

static su_status bisect_edge(grade *g, int32_t a, int32_t b, su_error *err)
{
    int32_t middle = (int32_t)g->n;
    SU_TRY(add_middle(g, a, b, err));
    for (int64_t k = g->star_start[a]; k < g->star_start[a + 1]; k++) {
        int64_t e = g->star[k], child = g->t;
        if (corner_of(g->tets + 4 * e, a) < 0 || corner_of(g->tets + 4 * e, b) < 0) continue;
        SU_TRY(room_for_tet(g, err));
        g->t++;
        int32_t *tet = g->tets + 4 * e, *other = g->tets + 4 * child, count = g->item_count[e];
        int64_t first = g->item_first[e];
        memcpy(other, tet, 4 * sizeof *tet);
        other[corner_of(other, a)] = middle;
        tet[corner_of(tet, b)] = middle;
        /* off the skin the winding number does not change */
        if (!count) g->winding[middle] = g->winding[a];
        SU_TRY(inherit_items(g, e, first, count, err));
        SU_TRY(inherit_items(g, child, first, count, err));
        find_longest(g, e), find_longest(g, child);
        find_place(g, e), find_place(g, child);
    }
    return SU_OK;
}

static uint64_t mix(const int64_t place[3])
{
    uint64_t z = 0;
    for (int i = 0; i < 3; i++) z = (z ^ (uint64_t)place[i]) * 0x9e3779b97f4a7c15u, z ^= z >> 32;
    return z;
}

/* What is wanted of a tet is wanted of its mirror image: nearly the same sizes may lie on either side of its length. */
static su_status mirror_wishes(grade *g, su_error *err)
{
    int64_t wanted = 0;
    uint64_t slots = 16;
    int32_t *slot; /* index + 1 of wanted tets by their places; 0: free */
    for (int64_t e = 0; e < g->t; e++) wanted += g->wanted[e];
    if (g->items->mirror.axis < 0 || wanted == 0) return SU_OK;
    while (slots < 2 * (uint64_t)wanted) slots *= 2;
    SU_TRY(SU_ALLOC(&slot, (int64_t)slots, "lattice tets", err));
    for (int64_t e = 0; e < g->t; e++) {
        uint64_t at = mix(g->place + 3 * e) & (slots - 1);
        if (!g->wanted[e]) continue;
        while (slot[at]) at = (at + 1) & (slots - 1);
        slot[at] = (int32_t)e + 1;
    }
    for (int64_t e = 0; e < g->t; e++)
        for (uint64_t at = mix(g->place + 3 * e) & (slots - 1); slot[at] && !g->wanted[e]; at = (at + 1) & (slots - 1))
            g->wanted[e] = !memcmp(g->place + 3 * (int64_t)(slot[at] - 1), g->place + 3 * e, 3 * sizeof *g->place);
    free(slot);
    return SU_OK;
}

/* One round: every terminal edge that is wanted is bisected. */
static su_status pass(grade *g, bool *changed, su_error *err)
{
    int64_t count = 0, tets = g->t;
    SU_TRY(build_stars(g, err));
    free(g->wanted), free(g->halved), free(g->stack);
    g->wanted = g->halved = NULL, g->stack = NULL;
    SU_TRY(SU_ALLOC(&g->wanted, tets, "lattice tets", err));
    SU_TRY(SU_ALLOC(&g->halved, tets, "lattice tets", err));
    SU_TRY(SU_ALLOC(&g->stack, tets, "lattice tets", err));
    for (int64_t e = 0; e < tets; e++) g->wanted[e] = too_long(g, e);
    SU_TRY(mirror_wishes(g, err));
    for (int64_t e = 0; e < tets; e++)
        if (g->wanted[e]) g->stack[count++] = (int32_t)e;
    *changed = count > 0;
    spread(g, count);
    for (int64_t e = 0; e < tets; e++) {
        const int32_t *tet = g->tets + 4 * e;
        if (!g->wanted[e]) continue;
        int32_t a = tet[edges[g->longest[e]][0]], b = tet[edges[g->longest[e]][1]];
        if (!terminal(g, a, b)) continue;
        for (int64_t k = g->star_start[a]; k < g->star_start[a + 1]; k++)
            if (corner_of(g->tets + 4 * (int64_t)g->star[k], b) >= 0)
                g->wanted[g->star[k]] = 0, g->halved[g->star[k]] = 1;
        SU_TRY(bisect_edge(g, a, b, err));
    }
    return SU_OK;
}

/* ---- in and out ---- */

static su_status find_windings(grade *g, int threads, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tree = {0};
    su_winding *winding = NULL;
    SU_GO(su_boxtree_of_triangles(g->surface->x, g->surface->t, g->surface->triangles, &tree, err));
    SU_GO(su_winding_create(&tree, g->surface->x, g->surface->triangles, &winding, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t v = 0; v < g->n; v++)
        if (isnan(g->winding[v])) g->winding[v] = su_winding_at(winding, g->x + 3 * v);
done:
    su_winding_free(winding);
    su_boxtree_free(&tree);
    return status;
}

static su_status take(grade *g, const su_lattice *l, su_error *err)
{
    g->cell = l->cell, g->n = l->n, g->t = l->t, g->n_room = l->n, g->t_room = l->t;
    memcpy(g->origin, l->origin, sizeof g->origin);
    SU_TRY(SU_ALLOC(&g->x, 3 * l->n, "lattice nodes", err));
    SU_TRY(SU_ALLOC(&g->winding, l->n, "lattice nodes", err));
    SU_TRY(SU_ALLOC(&g->tets, 4 * l->t, "lattice tets", err));
    SU_TRY(SU_ALLOC(&g->item_first, l->t, "lattice tets", err));
    SU_TRY(SU_ALLOC(&g->item_count, l->t, "lattice tets", err));
    SU_TRY(SU_ALLOC(&g->longest, l->t, "lattice tets", err));
    SU_TRY(SU_ALLOC(&g->place, 3 * l->t, "lattice tets", err));
    g->pool_count = g->pool_room = l->item_start[l->cut];
    SU_TRY(SU_ALLOC(&g->pool, g->pool_count, "lattice cuts", err));
    memcpy(g->x, l->x, (size_t)(3 * l->n) * sizeof *g->x);
    memcpy(g->winding, l->winding, (size_t)l->n * sizeof *g->winding);
    memcpy(g->tets, l->tets, (size_t)(4 * l->t) * sizeof *g->tets);
    memcpy(g->pool, l->items, (size_t)g->pool_count * sizeof *g->pool);
    for (int64_t e = 0; e < l->cut; e++) {
        g->item_first[e] = l->item_start[e];
        g->item_count[e] = (int32_t)(l->item_start[e + 1] - l->item_start[e]);
    }
    return SU_OK;
}

/* Tets that meet the skin first, then those inside; what is neither goes. */
static su_status give(const grade *g, su_lattice *l, su_error *err)
{
    su_status status = SU_OK;
    su_lattice out = {.cell = l->cell};
    int32_t *name = NULL;
    int64_t items = 0;
    memcpy(out.origin, l->origin, sizeof out.origin);
    SU_GO(SU_ALLOC(&name, g->n, "lattice nodes", err));
    memset(name, -1, (size_t)g->n * sizeof *name);
    for (int64_t e = 0; e < g->t; e++) items += g->item_count[e];
    SU_GO(SU_ALLOC(&out.x, 3 * g->n, "lattice nodes", err));
    SU_GO(SU_ALLOC(&out.winding, g->n, "lattice nodes", err));
    SU_GO(SU_ALLOC(&out.tets, 4 * g->t, "lattice tets", err));
    SU_GO(SU_ALLOC(&out.item_start, g->t + 1, "lattice cuts", err));
    SU_GO(SU_ALLOC(&out.items, items, "lattice cuts", err));
    items = 0;
    for (int cut = 1; cut >= 0; cut--)
        for (int64_t e = 0; e < g->t; e++) {
            bool inside = false;
            if ((g->item_count[e] > 0) != cut) continue;
            for (int i = 0; i < 4; i++) inside |= g->winding[g->tets[4 * e + i]] > 0.5;
            if (!cut && !inside) continue;
            for (int i = 0; i < 4; i++) {
                int32_t v = g->tets[4 * e + i];
                if (name[v] < 0) {
                    memcpy(out.x + 3 * out.n, g->x + 3 * (int64_t)v, 3 * sizeof *out.x);
                    out.winding[out.n] = g->winding[v];
                    name[v] = (int32_t)out.n++;
                }
                out.tets[4 * out.t + i] = name[v];
            }
            if (cut) {
                out.item_start[out.t] = items;
                memcpy(out.items + items, g->pool + g->item_first[e], (size_t)g->item_count[e] * sizeof *out.items);
                items += g->item_count[e];
                out.cut = out.t + 1;
            }
            out.t++;
        }
    out.item_start[out.cut] = items;
    su_lattice_free(l);
    *l = out;
    memset(&out, 0, sizeof out);
done:
    free(name);
    su_lattice_free(&out);
    return status;
}

su_status su_lattice_grade(const su_surface *surface, const su_lattice_items *items, const double *size, int threads,
                           su_lattice *lattice, su_error *err)
{
    enum { PASSES = 200 };
    su_status status = SU_OK;
    grade g = {.surface = surface, .items = items, .size = size};
    bool changed = true;
    SU_GO(take(&g, lattice, err));
    for (int64_t e = 0; e < g.t; e++) find_longest(&g, e), find_place(&g, e);
    for (int k = 0; k < PASSES && changed; k++) SU_GO(pass(&g, &changed, err));
    SU_GO(find_windings(&g, threads, err));
    SU_GO(give(&g, lattice, err));
done:
    grade_free(&g);
    return status;
}
