#include "geometry/cage.h"

#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/cage_pieces.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A piece at one side of a face that continues in a piece at the other side. */
typedef struct bond {
    int32_t a, b;         /* pieces */
    int32_t strength;     /* nodes inside count for much, triangles across the face for one */
    int32_t corner[2][3]; /* local corners of the face in either tet, in the same order */
} bond;

typedef struct work {
    const su_surface *surface;
    const su_lattice_items *items;
    const su_lattice *lattice;
    su_pieces pieces;
    int32_t *by_rank; /* (t) lattice tets in an order that mirror images share */
    int32_t *rank;    /* (t) */
    int32_t *tet_of;  /* (pieces) */
    int32_t *parent;  /* (4 pieces) virtual nodes */
    bond *set_aside;  /* bonds that did not find their own partner */
    int64_t aside_count, aside_room;
} work;

static int32_t find_root(int32_t *parent, int32_t k)
{
    while (parent[k] != k) parent[k] = parent[parent[k]], k = parent[k];
    return k;
}

static void join(work *w, int32_t a, int32_t b)
{
    a = find_root(w->parent, a), b = find_root(w->parent, b);
    if (a != b) w->parent[a > b ? a : b] = a > b ? b : a;
}

/* Is node i of tet e inside the piece's material? */
static bool owns(const work *w, int32_t piece, int64_t e, int i)
{
    for (int32_t layer = 0; layer < w->pieces.layers; layer++)
        if (w->pieces.of_node[4 * (layer * w->lattice->t + e) + i] == piece) return true;
    return false;
}

static bool item_crosses(const work *w, int32_t item, const int32_t *nodes)
{
    double p[3][3], q[3][3];
    const su_lattice *l = w->lattice;
    for (int i = 0; i < 9; i++) {
        int c = i / 3, axis = i % 3;
        p[c][axis] =
            (w->surface->x[3 * (int64_t)w->items->corners[3 * (int64_t)item + c] + axis] - l->origin[axis]) / l->cell;
        q[c][axis] = (l->x[3 * (int64_t)nodes[c] + axis] - l->origin[axis]) / l->cell;
    }
    return su_triangle_meets_triangle((const double(*)[3])p, (const double(*)[3])q);
}

static void strengthen(bond *bonds, int *count, int most, int32_t a, int32_t b, int32_t by)
{
    int k = 0;
    while (k < *count && (bonds[k].a != a || bonds[k].b != b)) k++;
    if (k == most) return;
    if (k == *count) bonds[(*count)++] = (bond){.a = a, .b = b};
    bonds[k].strength += by;
}

static bool put_aside(work *w, const bond *l)
{
    if (w->aside_count == w->aside_room) {
        int64_t room = 2 * w->aside_room + 64;
        bond *grown = realloc(w->set_aside, (size_t)room * sizeof *grown);
        if (!grown) return false;
        w->set_aside = grown, w->aside_room = room;
    }
    w->set_aside[w->aside_count++] = *l;
    return true;
}

/* Joins what continues across the face between tets e and f. Each piece has at most one partner there, the strongest,
 * so that no face ever has three tets. */
static bool link_face(work *w, int64_t e, int face, int64_t f)
{
    enum { MOST = 64 };
    const su_lattice *l = w->lattice;
    bond bonds[MOST];
    int count = 0;
    int32_t corner[2][3], nodes[3];
    for (int i = 0; i < 3; i++) {
        corner[0][i] = su_tet_face[face][i];
        nodes[i] = l->tets[4 * e + corner[0][i]];
        corner[1][i] = 0;
        while (l->tets[4 * f + corner[1][i]] != nodes[i]) corner[1][i]++;
        for (int32_t layer = 0; layer < w->pieces.layers; layer++) {
            const int32_t *of_node = w->pieces.of_node + 4 * layer * l->t;
            int32_t a = of_node[4 * e + corner[0][i]], b = of_node[4 * f + corner[1][i]];
            if (a >= 0 && b >= 0) strengthen(bonds, &count, MOST, a, b, 1 << 16);
        }
    }
    bool single = w->pieces.first[e + 1] - w->pieces.first[e] == 1 && w->pieces.first[f + 1] - w->pieces.first[f] == 1;
    if (e < l->cut && f < l->cut && !(single && count)) {
        int64_t i = l->item_start[e], j = l->item_start[f];
        while (i < l->item_start[e + 1] && j < l->item_start[f + 1]) {
            if (l->items[i] == l->items[j]) {
                if (item_crosses(w, l->items[i], nodes))
                    strengthen(bonds, &count, MOST, w->pieces.of_item[i], w->pieces.of_item[j], 1);
                if (single && count) break;
                i++, j++;
            } else if (l->items[i] < l->items[j])
                i++;
            else
                j++;
        }
    }
    for (int k = 0; k < count; k++) memcpy(bonds[k].corner, corner, sizeof corner);
    for (int taken = 0; taken < count; taken++) {
        int best = taken;
        for (int k = taken + 1; k < count; k++)
            if (bonds[k].strength > bonds[best].strength ||
                (bonds[k].strength == bonds[best].strength &&
                 (bonds[k].a < bonds[best].a || (bonds[k].a == bonds[best].a && bonds[k].b < bonds[best].b))))
                best = k;
        bond swap = bonds[taken];
        bonds[taken] = bonds[best], bonds[best] = swap;
        bool free_pair = true;
        for (int k = 0; k < taken; k++)
            if (bonds[k].strength > 0 && (bonds[k].a == bonds[taken].a || bonds[k].b == bonds[taken].b))
                free_pair = false;
        if (!free_pair) {
            if (!put_aside(w, &bonds[taken])) return false;
            bonds[taken].strength = 0;
            continue;
        }
        for (int i = 0; i < 3; i++) join(w, 4 * bonds[taken].a + corner[0][i], 4 * bonds[taken].b + corner[1][i]);
    }
    return true;
}

/* Material that lost its only connection by the one-partner rule is joined all the same; the fold this makes is looked
 * after below. */
static su_status hang_loose_parts(work *w, su_error *err)
{
    su_status status = SU_OK;
    int32_t *part = NULL;
    if (!w->aside_count) return SU_OK;
    SU_GO(SU_ALLOC(&part, 4 * w->pieces.count, "flesh parts", err));
    for (int64_t k = 0; k < 4 * w->pieces.count; k++) part[k] = (int32_t)k;
    for (int64_t k = 0; k < 4 * w->pieces.count; k++) {
        int32_t a = find_root(part, find_root(w->parent, (int32_t)k)),
                b = find_root(part, find_root(w->parent, (int32_t)(k - k % 4)));
        if (a != b) part[a > b ? a : b] = a > b ? b : a;
    }
    for (int64_t k = 0; k < w->aside_count; k++) {
        const bond *l = &w->set_aside[k];
        int32_t a = find_root(part, find_root(w->parent, 4 * l->a)),
                b = find_root(part, find_root(w->parent, 4 * l->b));
        if (a == b) continue;
        part[a > b ? a : b] = a > b ? b : a;
        for (int i = 0; i < 3; i++) join(w, 4 * l->a + l->corner[0][i], 4 * l->b + l->corner[1][i]);
    }
done:
    free(part);
    return status;
}

static su_status join_pieces(work *w, su_error *err)
{
    su_status status = SU_OK;
    const su_lattice *l = w->lattice;
    int32_t *neighbour = NULL;
    SU_GO(SU_ALLOC(&w->tet_of, w->pieces.count, "flesh tets", err));
    SU_GO(SU_ALLOC(&w->parent, 4 * w->pieces.count, "flesh vertices", err));
    SU_GO(SU_ALLOC(&neighbour, 4 * l->t, "tet neighbours", err));
    for (int64_t e = 0; e < l->t; e++)
        for (int32_t p = w->pieces.first[e]; p < w->pieces.first[e + 1]; p++) w->tet_of[p] = (int32_t)e;
    for (int64_t k = 0; k < 4 * w->pieces.count; k++) w->parent[k] = (int32_t)k;
    SU_GO(su_tet_neighbours(l->t, l->tets, neighbour, err));
    for (int64_t k = 0; k < l->t; k++) {
        int64_t e = w->by_rank[k];
        int order[4];
        su_lattice_corner_order(l, &w->items->mirror, e, order);
        for (int i = 0; i < 4; i++) {
            int32_t other = neighbour[4 * e + order[i]];
            if (other >= 0 && w->rank[other] > k && !link_face(w, e, order[i], other)) {
                status = su_fail(err, SU_AGAIN, "out of memory for the flesh");
                goto done;
            }
        }
    }
    SU_GO(hang_loose_parts(w, err));
done:
    free(neighbour);
    return status;
}

static int same_corners(const int32_t *corner, int32_t a, int32_t b)
{
    int same = 0;
    for (int i = 0; i < 4; i++) same += corner[4 * (int64_t)a + i] == corner[4 * (int64_t)b + i];
    return same;
}

/* The pieces with names for their corners. */
typedef struct naming {
    int32_t *corner; /* (pieces,4) vertex */
    int32_t *tet;    /* (pieces) cage tet; pieces with the same corners are one */
    int32_t *tets;   /* (tet_count,4) */
    int64_t vertices, tet_count, copies;
    int32_t (*torn)[2]; /* (torn_count) pairs of pieces of one tet */
    int64_t torn_count, torn_room;
} naming;

static void naming_free(naming *m)
{
    free(m->corner), free(m->tet), free(m->tets), free(m->torn);
    memset(m, 0, sizeof *m);
}

/* Has the cage tet that this piece becomes, or one of the others that become the same, node i inside its material? */
static bool one_owns(const work *w, const naming *m, int32_t piece, int64_t e, int i)
{
    for (int32_t p = w->pieces.first[e]; p < w->pieces.first[e + 1]; p++)
        if ((p == piece || same_corners(m->corner, p, piece) == 4) && owns(w, p, e, i)) return true;
    return false;
}

/* Gives corner i of the cage tet that this piece of tet e becomes a vertex of its own. */
static void tear_corner(const work *w, naming *m, int64_t e, int32_t piece, int i)
{
    int32_t old[4];
    memcpy(old, m->corner + 4 * (int64_t)piece, sizeof old);
    for (int32_t p = w->pieces.first[e]; p < w->pieces.first[e + 1]; p++)
        if (memcmp(m->corner + 4 * (int64_t)p, old, sizeof old) == 0)
            m->corner[4 * (int64_t)p + i] = (int32_t)m->vertices;
    m->vertices++;
}

/* Where a slit of the skin ends, two copies of a tet can come to stand on the same face. One of them then gets a corner
 * of its own there, rather than both becoming one, which would close the slit step by step over its whole length.
 * Pieces with all four corners in common are one copy and stay so. */
static su_status tear_folds(const work *w, naming *m, su_error *err)
{
    for (int64_t k = 0; k < w->lattice->t; k++) {
        int64_t e = w->by_rank[k];
        int order[4];
        su_lattice_corner_order(w->lattice, &w->items->mirror, e, order);
        for (int32_t a = w->pieces.first[e]; a < w->pieces.first[e + 1]; a++)
            for (int32_t b = a + 1; b < w->pieces.first[e + 1]; b++) {
                if (same_corners(m->corner, a, b) != 3) continue;
                int32_t torn = a; /* where b owns all that they share, so that a owns nothing of it */
                int corner = -1;
                for (int j = 0; j < 4; j++) {
                    int i = order[j];
                    if (m->corner[4 * (int64_t)a + i] != m->corner[4 * (int64_t)b + i]) continue;
                    if (!one_owns(w, m, b, e, i))
                        torn = b, corner = i;
                    else if (corner < 0)
                        corner = i;
                }
                tear_corner(w, m, e, torn, corner);
                if (m->torn_count == m->torn_room) {
                    m->torn_room = 2 * m->torn_room + 64;
                    void *grown = realloc(m->torn, (size_t)m->torn_room * sizeof *m->torn);
                    if (!grown) return su_fail(err, SU_AGAIN, "out of memory for the flesh");
                    m->torn = grown;
                }
                m->torn[m->torn_count][0] = a, m->torn[m->torn_count++][1] = b;
            }
    }
    return SU_OK;
}

static su_status name_corners(work *w, naming *out, su_error *err)
{
    su_status status = SU_OK;
    naming m = {0};
    int32_t *name = NULL;
    int64_t total = 4 * w->pieces.count;
    SU_GO(SU_ALLOC(&name, total, "flesh vertices", err));
    SU_GO(SU_ALLOC(&m.corner, total, "flesh vertices", err));
    SU_GO(SU_ALLOC(&m.tet, w->pieces.count, "flesh tets", err));
    SU_GO(SU_ALLOC(&m.tets, total, "flesh tets", err));
    for (int64_t k = 0; k < total; k++)
        if (w->parent[k] == k) name[k] = (int32_t)m.vertices++;
    for (int64_t k = 0; k < total; k++) m.corner[k] = name[find_root(w->parent, (int32_t)k)];
    SU_GO(tear_folds(w, &m, err));
    for (int64_t e = 0; e < w->lattice->t; e++)
        for (int32_t a = w->pieces.first[e]; a < w->pieces.first[e + 1]; a++) {
            m.tet[a] = -1;
            for (int32_t b = w->pieces.first[e]; b < a && m.tet[a] < 0; b++)
                if (same_corners(m.corner, a, b) == 4) m.tet[a] = m.tet[b];
            if (m.tet[a] >= 0) continue;
            if (a > w->pieces.first[e]) m.copies++;
            memcpy(m.tets + 4 * m.tet_count, m.corner + 4 * (int64_t)a, 4 * sizeof *m.tets);
            m.tet[a] = (int32_t)m.tet_count++;
        }
    *out = m;
    memset(&m, 0, sizeof m);
done:
    free(name);
    naming_free(&m);
    return status;
}

/* A tear may leave material that hangs by an edge only, free to swing. There the two copies do become one after all. */
static su_status close_hinges(work *w, const naming *m, int64_t *closed, su_error *err)
{
    su_status status = SU_OK;
    int32_t *part = NULL, *parent = NULL;
    int64_t parts;
    *closed = 0;
    if (!m->torn_count) return SU_OK;
    SU_GO(SU_ALLOC(&part, m->tet_count, "flesh parts", err));
    SU_GO(su_tet_parts(m->tet_count, m->tets, part, &parts, err));
    SU_GO(SU_ALLOC(&parent, parts, "flesh parts", err));
    for (int64_t k = 0; k < parts; k++) parent[k] = (int32_t)k;
    for (int64_t k = 0; k < m->torn_count; k++) {
        int32_t a = m->torn[k][0], b = m->torn[k][1];
        int32_t p = find_root(parent, part[m->tet[a]]), q = find_root(parent, part[m->tet[b]]);
        if (p == q) continue;
        parent[p > q ? p : q] = p > q ? q : p;
        for (int i = 0; i < 4; i++) join(w, 4 * a + i, 4 * b + i);
        (*closed)++;
    }
done:
    free(part);
    free(parent);
    return status;
}

/* Layers that all pieces around a vertex have in common; where there is none, those of any of them. */
static su_status layer_vertices(const work *w, const naming *m, su_cage *out, su_error *err)
{
    uint32_t *any, all = w->pieces.layers < 32 ? (1u << w->pieces.layers) - 1 : UINT32_MAX;
    SU_TRY(SU_ALLOC(&any, m->vertices, "flesh vertices", err));
    for (int64_t v = 0; v < m->vertices; v++) out->layers[v] = all;
    for (int64_t k = 0; k < 4 * w->pieces.count; k++) {
        uint32_t layers = w->pieces.layers_of[k / 4] ? w->pieces.layers_of[k / 4] : all;
        out->layers[m->corner[k]] &= layers, any[m->corner[k]] |= layers;
    }
    for (int64_t v = 0; v < m->vertices; v++)
        if (!out->layers[v]) out->layers[v] = any[v];
    free(any);
    return SU_OK;
}

static su_status number(work *w, naming *m, su_cage *out, su_error *err)
{
    su_status status = SU_OK;
    const su_lattice *l = w->lattice;
    for (int64_t closed = 1; closed;) {
        naming_free(m);
        SU_GO(name_corners(w, m, err));
        SU_GO(close_hinges(w, m, &closed, err));
        out->joined += closed;
    }
    out->mesh.n = m->vertices, out->mesh.t = m->tet_count, out->copies = m->copies, out->torn = m->torn_count;
    SU_GO(SU_ALLOC(&out->mesh.x, 3 * out->mesh.n, "flesh vertices", err));
    SU_GO(SU_ALLOC(&out->inside, out->mesh.n, "flesh vertices", err));
    SU_GO(SU_ALLOC(&out->layers, out->mesh.n, "flesh vertices", err));
    SU_GO(layer_vertices(w, m, out, err));
    out->mesh.tets = m->tets, m->tets = NULL;
    for (int64_t a = 0; a < w->pieces.count; a++) {
        int64_t e = w->tet_of[a];
        for (int i = 0; i < 4; i++) {
            int32_t node = l->tets[4 * e + i], v = m->corner[4 * a + i];
            memcpy(out->mesh.x + 3 * (int64_t)v, l->x + 3 * (int64_t)node, 3 * sizeof *l->x);
            out->inside[v] |= owns(w, (int32_t)a, e, i);
        }
    }
done:
    return status;
}

/* ---- the points to enclose ---- */

typedef struct locate {
    const work *w;
    const double *p;
    int32_t item;
    int32_t vertex; /* >= 0: any item at this vertex will do */
    double best;
    int32_t piece;
} locate;

static bool try_tet(void *context, int32_t e)
{
    locate *q = context;
    const su_lattice *l = q->w->lattice;
    double bary[4];
    su_tet_barycentric(l->x, l->tets + 4 * (int64_t)e, q->p, bary);
    double smallest = fmin(fmin(bary[0], bary[1]), fmin(bary[2], bary[3]));
    if (smallest <= q->best) return true;
    for (int64_t k = l->item_start[e]; k < l->item_start[e + 1]; k++) {
        const int32_t *c = q->w->items->corners + 3 * (int64_t)l->items[k];
        if (q->vertex >= 0 ? c[0] != q->vertex && c[1] != q->vertex && c[2] != q->vertex : l->items[k] != q->item)
            continue;
        q->best = smallest, q->piece = q->w->pieces.of_item[k], q->item = l->items[k];
        break;
    }
    return true;
}

static bool add_point(su_cage *cage, int64_t *room, const double p[3], int32_t item)
{
    if (cage->point_count == *room) {
        int64_t grown = 2 * *room + 256;
        su_cage_point *points = realloc(cage->points, (size_t)grown * sizeof *points);
        if (!points) return false;
        cage->points = points, *room = grown;
    }
    cage->points[cage->point_count++] = (su_cage_point){.p = {p[0], p[1], p[2]}, .tet = -1, .item = item};
    return true;
}

/* Distance of the samples on triangles, over the cell size of the finest tet that meets the triangle. */
#define SPACING 0.5

/* Rows parallel to the longest edge, corners left out: they are vertices. */
static bool sample_triangle(su_cage *cage, int64_t *room, const su_surface *s, int32_t item, double spacing)
{
    const int32_t *c = s->triangles + 3 * (int64_t)item;
    int longest = 0;
    double length = 0.0, u[3], v[3], n[3];
    for (int i = 0; i < 3; i++) {
        double d = su_distance3(s->x + 3 * (int64_t)c[i], s->x + 3 * (int64_t)c[(i + 1) % 3]);
        if (d > length) length = d, longest = i;
    }
    const double *a = s->x + 3 * (int64_t)c[longest], *b = s->x + 3 * (int64_t)c[(longest + 1) % 3],
                 *top = s->x + 3 * (int64_t)c[(longest + 2) % 3];
    su_sub3(b, a, u), su_sub3(top, a, v), su_cross3(u, v, n);
    int64_t rows = (int64_t)ceil(su_norm3(n) / length / spacing);
    for (int64_t j = 0; j < rows; j++) {
        double f = (double)j / (double)rows;
        int64_t columns = (int64_t)ceil((1.0 - f) * length / spacing);
        for (int64_t i = j ? 0 : 1; i < columns + (j ? 1 : 0); i++) {
            double g = (1.0 - f) * (double)i / (double)columns, p[3];
            for (int k = 0; k < 3; k++) p[k] = a[k] + g * u[k] + f * v[k];
            if (!add_point(cage, room, p, item)) return false;
        }
    }
    return true;
}

/* Edge of the cube whose lattice has tets of this size: 12 to a cube. */
static double cell_of(const su_lattice *l, int64_t e) { return cbrt(12.0 * su_tet_volume(l->x, l->tets + 4 * e)); }

static su_status place_points(work *w, const int32_t *piece_tet, su_cage *out, su_error *err)
{
    su_status status = SU_OK;
    const su_surface *s = w->surface;
    su_boxtree tree = {0};
    int64_t room = 0;
    bool fits = true;
    double *cell = NULL;
    SU_GO(SU_ALLOC(&cell, w->items->count, "cell sizes", err));
    for (int64_t k = 0; k < w->items->count; k++) cell[k] = INFINITY;
    for (int64_t e = 0; e < w->lattice->cut; e++)
        for (int64_t k = w->lattice->item_start[e]; k < w->lattice->item_start[e + 1]; k++)
            cell[w->lattice->items[k]] = fmin(cell[w->lattice->items[k]], cell_of(w->lattice, e));
    SU_GO(su_boxtree_of_tets(w->lattice->x, w->lattice->cut, w->lattice->tets, &tree, err));
    for (int64_t v = 0; v < s->n && fits; v++) fits = add_point(out, &room, s->x + 3 * v, -1);
    for (int64_t k = 0; k < s->t && fits; k++) fits = sample_triangle(out, &room, s, (int32_t)k, SPACING * cell[k]);
    if (!fits) {
        status = su_fail(err, SU_AGAIN, "out of memory for %lld skin points", (long long)out->point_count);
        goto done;
    }
    int64_t kept = 0;
    for (int64_t k = 0; k < out->point_count; k++) {
        su_cage_point *point = &out->points[k];
        locate q = {w, point->p, point->item, k < s->n ? (int32_t)k : -1, -1e-7, -1};
        su_boxtree_overlap(&tree, point->p, point->p, try_tet, &q);
        if (q.piece < 0 && k < s->n) {
            status = su_fail(err, SU_NUMERICS, "skin vertex at (%g, %g, %g) fell between the lattice's tets",
                             point->p[0], point->p[1], point->p[2]);
            goto done;
        }
        if (q.piece < 0) continue;
        point->tet = piece_tet[q.piece], point->item = q.item;
        out->points[kept++] = *point;
    }
    out->point_count = kept;
done:
    su_boxtree_free(&tree);
    free(cell);
    return status;
}

su_status su_cage_create(const su_surface *surface, const su_lattice_items *items, const su_lattice *lattice,
                         const su_parting *parting, int threads, const su_progress *progress, su_cage *out,
                         su_error *err)
{
    su_status status = SU_OK;
    su_cage cage = {0};
    naming names = {0};
    work w = {.surface = surface, .items = items, .lattice = lattice};
    SU_GO(su_pieces_create(surface, items, lattice, parting, threads, progress, &w.pieces, err));
    if (w.pieces.count > INT32_MAX / 8) {
        status = su_fail(err, SU_FAILED, "%lld tets are too many", (long long)w.pieces.count);
        goto done;
    }
    SU_GO(SU_ALLOC(&w.rank, lattice->t, "lattice tets", err));
    SU_GO(SU_ALLOC(&w.by_rank, lattice->t, "lattice tets", err));
    SU_GO(su_lattice_rank(lattice, &items->mirror, w.rank, err));
    for (int64_t e = 0; e < lattice->t; e++) w.by_rank[w.rank[e]] = (int32_t)e;
    SU_GO(join_pieces(&w, err));
    SU_GO(number(&w, &names, &cage, err));
    SU_GO(place_points(&w, names.tet, &cage, err));
    *out = cage;
    memset(&cage, 0, sizeof cage);
done:
    su_pieces_free(&w.pieces);
    free(w.rank), free(w.by_rank);
    free(w.tet_of);
    free(w.parent);
    free(w.set_aside);
    naming_free(&names);
    su_cage_free(&cage);
    return status;
}

void su_cage_free(su_cage *cage)
{
    su_tets_free(&cage->mesh);
    free(cage->inside);
    free(cage->layers);
    free(cage->points);
    memset(cage, 0, sizeof *cage);
}
