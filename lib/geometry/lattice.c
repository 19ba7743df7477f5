/* The lattice of isosurface stuffing (Labelle and Shewchuk 2007): nodes at the corners and centres of cubes, a tet for
 * every pair of neighbouring centres and edge of the face between them. Its dihedral angles are 60 and 90 degrees. It
 * is kept sparse: only what the skin meets, and what a flood from there finds inside. */
#include "geometry/lattice.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/box.h"
#include "geometry/mat3.h"
#include "geometry/winding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- separating axes ---- */

/* Touching within this (in units of the bodies' own coordinates, about 1 here) counts as meeting. */
static const double TOUCH = 1e-9;

/* A little over the circumradius of the octahedron that four tets of an axis fill, sqrt(1/2). */
static const double OCTAHEDRON = 0.8;

static bool separates(const double axis[3], const double (*p)[3], int np, const double (*q)[3], int nq)
{
    double low_p = INFINITY, high_p = -INFINITY, low_q = INFINITY, high_q = -INFINITY;
    for (int k = 0; k < np; k++) { /* no fmin: a call of the library each, in the innermost loop of all */
        double s = su_dot3(axis, p[k]);
        low_p = s < low_p ? s : low_p, high_p = s > high_p ? s : high_p;
    }
    for (int k = 0; k < nq; k++) {
        double s = su_dot3(axis, q[k]);
        low_q = s < low_q ? s : low_q, high_q = s > high_q ? s : high_q;
    }
    if (!(low_p > high_q) && !(low_q > high_p)) return false;
    double length = su_norm3(axis);
    return length >= 1e-12 && (low_p > high_q + TOUCH * length || low_q > high_p + TOUCH * length);
}

static void edge(const double (*p)[3], int a, int b, double out[3]) { su_sub3(p[b], p[a], out); }

static void normal_of(const double (*p)[3], const int *face, double out[3])
{
    double u[3], v[3];
    edge(p, face[0], face[1], u), edge(p, face[0], face[2], v);
    su_cross3(u, v, out);
}

static const int whole[3] = {0, 1, 2};

/* How far the triangle's corners are behind each face of the tet, times the length of its normal; false where all three
 * lie before one. */
static bool behind_faces(const double p[3][3], const double q[4][3], double depth[4][3])
{
    static const int faces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    for (int f = 0; f < 4; f++) {
        double normal[3], way[3];
        normal_of(q, faces[f], normal);
        su_sub3(q[f], q[faces[f][0]], way);
        double side = su_dot3(normal, way) < 0 ? -1 : 1, most = -INFINITY;
        for (int k = 0; k < 3; k++) {
            su_sub3(p[k], q[faces[f][0]], way);
            depth[f][k] = side * su_dot3(normal, way);
            most = su_larger(most, depth[f][k]);
        }
        if (most < 0 && most < -TOUCH * su_norm3(normal)) return false;
    }
    return true;
}

/* Is some of the segment between two corners behind all faces? */
static bool edge_enters(const double depth[4][3], int a, int b)
{
    double from = 0, to = 1;
    for (int f = 0; f < 4; f++) {
        double x = depth[f][a], y = depth[f][b];
        if (x < 0 && y < 0) return false;
        if (x < 0) from = su_larger(from, x / (x - y));
        if (y < 0) to = su_smaller(to, x / (x - y));
    }
    return from <= to;
}

bool su_triangle_meets_tet(const double p[3][3], const double q[4][3])
{
    static const int edges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    double depth[4][3], axis[3], u[3], v[3];
    if (!behind_faces(p, q, depth)) return false;
    for (int i = 0; i < 3; i++) /* as mostly: no other axis parts them */
        if (edge_enters((const double(*)[3])depth, i, (i + 1) % 3)) return true;
    normal_of(p, whole, axis);
    if (separates(axis, p, 3, q, 4)) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 6; j++) {
            edge(p, i, (i + 1) % 3, u), edge(q, edges[j][0], edges[j][1], v);
            su_cross3(u, v, axis);
            if (separates(axis, p, 3, q, 4)) return false;
        }
    return true;
}

bool su_triangle_meets_triangle(const double p[3][3], const double q[3][3])
{
    double axis[3], u[3], v[3], np[3], nq[3];
    normal_of(p, whole, np), normal_of(q, whole, nq);
    if (separates(np, p, 3, q, 3) || separates(nq, p, 3, q, 3)) return false;
    for (int i = 0; i < 3; i++) {
        edge(p, i, (i + 1) % 3, u);
        su_cross3(np, u, axis);
        if (separates(axis, p, 3, q, 3)) return false;
        edge(q, i, (i + 1) % 3, v);
        su_cross3(nq, v, axis);
        if (separates(axis, p, 3, q, 3)) return false;
        for (int j = 0; j < 3; j++) {
            edge(q, j, (j + 1) % 3, v);
            su_cross3(u, v, axis);
            if (separates(axis, p, 3, q, 3)) return false;
        }
    }
    return true;
}

/* ---- keys ---- */

typedef struct frame {
    double cell, origin[3];
    int64_t size[3]; /* cubes along each axis, with a margin */
} frame;

/* Origin at an odd fraction of a cell, so that skins modelled on round numbers do not run along lattice planes; but the
 * lattice mirrors itself in a plane of nodes, and no tet has a face in one. */
static su_status make_frame(const su_surface *s, const su_mirror *mirror, double cell, frame *out, su_error *err)
{
    static const double shift[3] = {0.37139, 0.43717, 0.28633};
    double total = 1.0;
    out->cell = cell;
    for (int i = 0; i < 3; i++) {
        out->origin[i] = s->low[i] - (2.0 + shift[i]) * cell;
        if (mirror->axis == i) out->origin[i] = mirror->at - ceil((mirror->at - out->origin[i]) / cell) * cell;
        double size = ceil((s->high[i] - out->origin[i]) / cell) + 3.0;
        total *= size;
        if (!(size < 2e6) || !(total < 1e17))
            return su_fail(err, SU_FAILED, "cells of %g m are too small for a skin of %g m", cell, s->diagonal);
        out->size[i] = (int64_t)size;
    }
    return SU_OK;
}

static int64_t linear(const frame *f, const int64_t c[3]) { return (c[0] * f->size[1] + c[1]) * f->size[2] + c[2]; }

static void unlinear(const frame *f, int64_t k, int64_t c[3])
{
    c[2] = k % f->size[2], c[1] = k / f->size[2] % f->size[1], c[0] = k / f->size[2] / f->size[1];
}

/* Tet key: 12 * cube + 4 * axis + quarter. Node key: 2 * cube for the low corner of a cube, 2 * cube + 1 for its
 * centre. */
static void nodes_of_tet(const frame *f, int64_t key, int64_t node[4])
{
    static const int corner[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    int64_t c[3], p[3];
    int axis = (int)(key % 12 / 4), quarter = (int)(key % 4), u = (axis + 1) % 3, v = (axis + 2) % 3;
    unlinear(f, key / 12, c);
    node[0] = 2 * linear(f, c) + 1;
    for (int k = 0; k < 2; k++) {
        memcpy(p, c, sizeof p);
        p[axis]++;
        p[u] += corner[(quarter + k) % 4][0], p[v] += corner[(quarter + k) % 4][1];
        node[2 + k] = 2 * linear(f, p);
    }
    c[axis]++;
    node[1] = 2 * linear(f, c) + 1;
}

/* In cells from the origin. */
static void node_position(const frame *f, int64_t node, double out[3])
{
    int64_t c[3];
    unlinear(f, node / 2, c);
    for (int i = 0; i < 3; i++) out[i] = (double)c[i] + (node & 1 ? 0.5 : 0.0);
}

/* The 24 tets around a node. */
static void tets_of_node(const frame *f, int64_t node, int64_t key[24])
{
    int64_t p[3], m[3];
    int count = 0;
    unlinear(f, node / 2, p);
    if (node & 1) {
        for (int axis = 0; axis < 3; axis++)
            for (int side = 0; side < 2; side++) {
                memcpy(m, p, sizeof m);
                m[axis] -= side;
                for (int q = 0; q < 4; q++) key[count++] = 12 * linear(f, m) + 4 * axis + q;
            }
        return;
    }
    /* for each of the six edges to neighbouring corners, the four tets around it */
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) {
            int u = (d + 1) % 3, v = (d + 2) % 3;
            int64_t low[3] = {p[0], p[1], p[2]};
            low[d] -= side;
            for (int k = 0; k < 2; k++) {
                memcpy(m, low, sizeof m);
                m[u]--, m[v] -= k;
                key[count++] = 12 * linear(f, m) + 4 * u + (k ? 1 : 3);
                memcpy(m, low, sizeof m);
                m[v]--, m[u] -= k;
                key[count++] = 12 * linear(f, m) + 4 * v + (k ? 2 : 0);
            }
        }
}

/* ---- a set of keys, numbered in order of arrival ---- */

typedef struct key_set {
    int64_t *keys;  /* (count) */
    int32_t *slots; /* (capacity) index + 1; 0: free */
    int64_t count, capacity, room;
} key_set;

static void set_free(key_set *s)
{
    free(s->keys);
    free(s->slots);
}

static uint64_t mix(int64_t key)
{
    uint64_t z = (uint64_t)key * 0x9e3779b97f4a7c15u;
    return z ^ z >> 32;
}

static int64_t set_find(const key_set *s, int64_t key)
{
    if (!s->capacity) return -1;
    for (uint64_t at = mix(key) & (uint64_t)(s->capacity - 1);; at = (at + 1) & (uint64_t)(s->capacity - 1)) {
        if (!s->slots[at]) return -1;
        if (s->keys[s->slots[at] - 1] == key) return s->slots[at] - 1;
    }
}

static su_status set_grow(key_set *s, su_error *err)
{
    int64_t capacity = s->capacity ? 2 * s->capacity : 1024;
    int32_t *slots;
    int64_t *keys = realloc(s->keys, (size_t)(capacity / 2) * sizeof *keys);
    if (!keys) return su_fail(err, SU_AGAIN, "out of memory for %lld lattice cells", (long long)capacity);
    s->keys = keys;
    SU_TRY(SU_ALLOC(&slots, capacity, "lattice", err));
    for (int64_t k = 0; k < s->count; k++) {
        uint64_t at = mix(keys[k]) & (uint64_t)(capacity - 1);
        while (slots[at]) at = (at + 1) & (uint64_t)(capacity - 1);
        slots[at] = (int32_t)k + 1;
    }
    free(s->slots);
    s->slots = slots, s->capacity = capacity;
    return SU_OK;
}

static su_status set_add(key_set *s, int64_t key, int64_t *index, su_error *err)
{
    int64_t found = set_find(s, key);
    if (found < 0) {
        if (2 * s->count >= s->capacity) SU_TRY(set_grow(s, err));
        if (s->count >= INT32_MAX / 8)
            return su_fail(err, SU_FAILED, "the flesh would have more than %d tets", INT32_MAX / 8);
        found = s->count++;
        s->keys[found] = key;
        uint64_t at = mix(key) & (uint64_t)(s->capacity - 1);
        while (s->slots[at]) at = (at + 1) & (uint64_t)(s->capacity - 1);
        s->slots[at] = (int32_t)found + 1;
    }
    *index = found;
    return SU_OK;
}

/* ---- which tets the skin meets ---- */

typedef struct meeting {
    int64_t key;
    int32_t item;
} meeting;

typedef struct meetings {
    meeting *list;
    int64_t count, capacity;
} meetings;

static bool add_meeting(meetings *m, int64_t key, int32_t item)
{
    if (m->count == m->capacity) {
        int64_t capacity = 2 * m->capacity + 1024;
        meeting *grown = realloc(m->list, (size_t)capacity * sizeof *grown);
        if (!grown) return false;
        m->list = grown, m->capacity = capacity;
    }
    m->list[m->count++] = (meeting){key, item};
    return true;
}

static bool meet_item(const frame *f, const double p[3][3], int32_t item, meetings *out)
{
    int64_t low[3], high[3], c[3];
    double box_low[3], box_high[3], normal[3], centre[3];
    for (int i = 0; i < 3; i++) {
        box_low[i] = fmin(p[0][i], fmin(p[1][i], p[2][i])) - TOUCH,
        box_high[i] = fmax(p[0][i], fmax(p[1][i], p[2][i])) + TOUCH;
        low[i] = (int64_t)floor(box_low[i]) - 1, high[i] = (int64_t)floor(box_high[i]);
    }
    normal_of(p, whole, normal);
    double length = su_norm3(normal);
    for (c[0] = low[0]; c[0] <= high[0]; c[0]++)
        for (c[1] = low[1]; c[1] <= high[1]; c[1]++)
            for (c[2] = low[2]; c[2] <= high[2]; c[2]++)
                for (int axis = 0; axis < 3; axis++) {
                    /* the four tets of an axis fill an octahedron around the face between two cubes */
                    bool apart = false;
                    for (int i = 0; i < 3; i++) {
                        double start = (double)c[i] + (i == axis ? 0.5 : 0.0);
                        apart |= start > box_high[i] || start + 1.0 < box_low[i];
                        centre[i] = start + 0.5 - p[0][i];
                    }
                    if (apart || fabs(su_dot3(normal, centre)) > OCTAHEDRON * length + TOUCH) continue;
                    for (int quarter = 0; quarter < 4; quarter++) {
                        int64_t key = 12 * linear(f, c) + 4 * axis + quarter, node[4];
                        double q[4][3];
                        nodes_of_tet(f, key, node);
                        for (int k = 0; k < 4; k++) node_position(f, node[k], q[k]);
                        if (su_triangle_meets_tet(p, (const double(*)[3])q) && !add_meeting(out, key, item))
                            return false;
                    }
                }
    return true;
}

static int compare_meetings(const void *a, const void *b)
{
    const meeting *p = a, *q = b;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    return (p->item > q->item) - (p->item < q->item);
}

static su_status find_meetings(const frame *f, const su_surface *s, const su_lattice_items *items, int threads,
                               meetings *out, su_error *err)
{
    bool failed = false;
    meetings all = {0};
#pragma omp parallel num_threads(threads)
    {
        meetings own = {0};
        bool lost = false;
#pragma omp for schedule(dynamic, 256)
        for (int64_t k = 0; k < items->count; k++) {
            double p[3][3];
            for (int i = 0; i < 9; i++)
                p[i / 3][i % 3] =
                    (s->x[3 * (int64_t)items->corners[3 * k + i / 3] + i % 3] - f->origin[i % 3]) / f->cell;
            if (!lost) lost = !meet_item(f, (const double(*)[3])p, (int32_t)k, &own);
        }
#pragma omp critical
        {
            for (int64_t k = 0; k < own.count && !lost; k++)
                lost = !add_meeting(&all, own.list[k].key, own.list[k].item);
            failed |= lost;
        }
        free(own.list);
    }
    if (failed) {
        free(all.list);
        return su_fail(err, SU_AGAIN, "out of memory for the lattice");
    }
    if (all.count) su_sort(all.list, (size_t)all.count, sizeof *all.list, compare_meetings);
    *out = all;
    return SU_OK;
}

/* ---- the lattice ---- */

typedef struct builder {
    frame frame;
    meetings meetings;
    key_set tets, nodes;
    int64_t cut;
    double *winding; /* (nodes.count) */
} builder;

static void builder_free(builder *b)
{
    free(b->meetings.list);
    set_free(&b->tets);
    set_free(&b->nodes);
    free(b->winding);
}

/* Winding numbers of nodes [first, count). */
static su_status wind(builder *b, const su_winding *winding, int64_t first, int threads, su_error *err)
{
    double *all = realloc(b->winding, (size_t)(b->nodes.count + 1) * sizeof *all);
    if (!all) return su_fail(err, SU_AGAIN, "out of memory for the lattice");
    b->winding = all;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t v = first; v < b->nodes.count; v++) {
        double p[3];
        node_position(&b->frame, b->nodes.keys[v], p);
        for (int i = 0; i < 3; i++) p[i] = p[i] * b->frame.cell + b->frame.origin[i];
        b->winding[v] = winding ? su_winding_at(winding, p) : 1.0;
    }
    return SU_OK;
}

/* Winding numbers at the nodes of cut tets, then a flood through uncut tets from the nodes inside. What the flood
 * reaches of a closed skin is inside; an open skin can leak, so there every node is asked. */
static su_status fill(builder *b, const su_surface *s, int threads, const su_progress *progress, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tree = {0};
    su_winding *winding = NULL;
    int64_t node[4], key[24], index;
    for (int64_t k = 0; k < b->meetings.count; k++)
        if (!k || b->meetings.list[k].key != b->meetings.list[k - 1].key)
            SU_GO(set_add(&b->tets, b->meetings.list[k].key, &index, err));
    b->cut = b->tets.count;
    for (int64_t e = 0; e < b->cut; e++) {
        nodes_of_tet(&b->frame, b->tets.keys[e], node);
        for (int i = 0; i < 4; i++) SU_GO(set_add(&b->nodes, node[i], &index, err));
    }
    SU_GO(su_boxtree_of_triangles(s->x, s->t, s->triangles, &tree, err));
    SU_GO(su_winding_create(&tree, s->x, s->triangles, &winding, err));
    SU_GO(wind(b, winding, 0, threads, err));
    for (int64_t first = 0, last; (last = b->nodes.count) > first; first = last) {
        if (su_progress_stopped(progress)) {
            status = su_fail(err, SU_AGAIN, "stopped while meshing");
            goto done;
        }
        for (int64_t v = first; v < last; v++) {
            if (b->winding[v] <= 0.5) continue;
            tets_of_node(&b->frame, b->nodes.keys[v], key);
            for (int k = 0; k < 24; k++) {
                int64_t before = b->tets.count;
                SU_GO(set_add(&b->tets, key[k], &index, err));
                if (b->tets.count == before) continue;
                nodes_of_tet(&b->frame, key[k], node);
                for (int i = 0; i < 4; i++) SU_GO(set_add(&b->nodes, node[i], &index, err));
            }
        }
        SU_GO(wind(b, s->closed ? NULL : winding, last, threads, err));
    }
done:
    su_winding_free(winding);
    su_boxtree_free(&tree);
    return status;
}

static su_status begin(const su_surface *s, const su_lattice_items *items, double cell, int threads,
                       const su_progress *progress, builder *b, su_error *err)
{
    SU_TRY(make_frame(s, &items->mirror, cell, &b->frame, err));
    SU_TRY(find_meetings(&b->frame, s, items, threads, &b->meetings, err));
    return fill(b, s, threads, progress, err);
}

su_status su_lattice_count(const su_surface *surface, const su_lattice_items *items, double cell, int threads,
                           const su_progress *progress, int64_t *count, int64_t *cut, su_error *err)
{
    builder b = {0};
    su_status status = begin(surface, items, cell, threads, progress, &b, err);
    *count = b.tets.count, *cut = b.cut;
    builder_free(&b);
    return status;
}

su_status su_lattice_create(const su_surface *surface, const su_lattice_items *items, double cell, int threads,
                            const su_progress *progress, su_lattice *out, su_error *err)
{
    su_status status = SU_OK;
    builder b = {0};
    su_lattice l = {.cell = cell};
    SU_GO(begin(surface, items, cell, threads, progress, &b, err));
    l.n = b.nodes.count, l.t = b.tets.count, l.cut = b.cut;
    memcpy(l.origin, b.frame.origin, sizeof l.origin);
    SU_GO(SU_ALLOC(&l.x, 3 * l.n, "lattice nodes", err));
    SU_GO(SU_ALLOC(&l.tets, 4 * l.t, "lattice tets", err));
    SU_GO(SU_ALLOC(&l.item_start, l.cut + 1, "lattice cuts", err));
    SU_GO(SU_ALLOC(&l.items, b.meetings.count, "lattice cuts", err));
    l.winding = b.winding, b.winding = NULL;
    for (int64_t v = 0; v < l.n; v++) {
        node_position(&b.frame, b.nodes.keys[v], l.x + 3 * v);
        for (int i = 0; i < 3; i++) l.x[3 * v + i] = l.x[3 * v + i] * cell + l.origin[i];
    }
    for (int64_t e = 0; e < l.t; e++) {
        int64_t node[4];
        double m[9];
        int32_t *tet = l.tets + 4 * e;
        nodes_of_tet(&b.frame, b.tets.keys[e], node);
        for (int i = 0; i < 4; i++) tet[i] = (int32_t)set_find(&b.nodes, node[i]);
        su_tet_edges(l.x + 3 * (int64_t)tet[0], l.x + 3 * (int64_t)tet[1], l.x + 3 * (int64_t)tet[2],
                     l.x + 3 * (int64_t)tet[3], m);
        if (su_det3(m) > 0.0) continue;
        int32_t swap = tet[2];
        tet[2] = tet[3], tet[3] = swap;
    }
    for (int64_t k = 0, e = -1; k < b.meetings.count; k++) {
        if (!k || b.meetings.list[k].key != b.meetings.list[k - 1].key) l.item_start[++e] = k;
        l.items[k] = b.meetings.list[k].item;
    }
    l.item_start[l.cut] = b.meetings.count;
    *out = l;
    memset(&l, 0, sizeof l);
done:
    builder_free(&b);
    su_lattice_free(&l);
    return status;
}

/* ---- orders that mirror images share ---- */

/* Places of nodes and sums of four are told apart in parts of a cell: graded nodes lie at halves of halves. */
#define PARTS_OF_CELL 1048576.0

static void place_in_parts(const su_lattice *l, const su_mirror *mirror, const double x[3], int64_t out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = llround((x[i] - (i == mirror->axis ? mirror->at : l->origin[i])) / l->cell * PARTS_OF_CELL);
        if (i == mirror->axis) out[i] = llabs(out[i]);
    }
}

typedef struct ranked {
    int64_t place[3];
    int32_t tet;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    for (int i = 0; i < 3; i++)
        if (p->place[i] != q->place[i]) return p->place[i] < q->place[i] ? -1 : 1;
    return 0;
}

su_status su_lattice_rank(const su_lattice *lattice, const su_mirror *mirror, int32_t *rank, su_error *err)
{
    ranked *all;
    for (int64_t e = 0; e < lattice->t; e++) rank[e] = (int32_t)e;
    if (mirror->axis < 0) return SU_OK;
    SU_TRY(SU_ALLOC(&all, lattice->t, "lattice tets", err));
    for (int64_t e = 0; e < lattice->t; e++) {
        double middle[3] = {0, 0, 0};
        for (int k = 0; k < 12; k++) middle[k % 3] += lattice->x[3 * (int64_t)lattice->tets[4 * e + k / 3] + k % 3] / 4;
        place_in_parts(lattice, mirror, middle, all[e].place);
        all[e].tet = (int32_t)e;
    }
    su_sort(all, (size_t)lattice->t, sizeof *all, compare_ranked);
    for (int64_t k = 0; k < lattice->t; k++) rank[all[k].tet] = (int32_t)k;
    free(all);
    return SU_OK;
}

void su_lattice_corner_order(const su_lattice *lattice, const su_mirror *mirror, int64_t e, int out[4])
{
    ranked corner[4];
    for (int i = 0; i < 4; i++) {
        ranked own = {.tet = i};
        int at = i;
        if (mirror->axis >= 0)
            place_in_parts(lattice, mirror, lattice->x + 3 * (int64_t)lattice->tets[4 * e + i], own.place);
        for (; at > 0 && compare_ranked(&own, &corner[at - 1]) < 0; at--) corner[at] = corner[at - 1];
        corner[at] = own;
    }
    for (int i = 0; i < 4; i++) out[i] = corner[i].tet;
}

void su_lattice_free(su_lattice *lattice)
{
    free(lattice->x);
    free(lattice->winding);
    free(lattice->tets);
    free(lattice->item_start);
    free(lattice->items);
    memset(lattice, 0, sizeof *lattice);
}

su_status su_lattice_items_create(const su_surface *surface, const su_mirror *mirror, su_lattice_items *out,
                                  su_error *err)
{
    su_status status = SU_OK;
    uint8_t *used = NULL;
    int64_t loose = 0;
    su_lattice_items items = {0};
    SU_GO(SU_ALLOC(&used, surface->n, "skin marks", err));
    for (int64_t k = 0; k < 3 * surface->t; k++) used[surface->triangles[k]] = 1;
    for (int64_t v = 0; v < surface->n; v++) loose += !used[v];
    items.count = surface->t + loose;
    SU_GO(SU_ALLOC(&items.corners, 3 * items.count, "skin items", err));
    memcpy(items.corners, surface->triangles, (size_t)(3 * surface->t) * sizeof *items.corners);
    for (int64_t v = 0, k = surface->t; v < surface->n; v++)
        for (int i = 0; !used[v] && i < 3; i++) {
            items.corners[3 * k + i] = (int32_t)v;
            k += i == 2;
        }
    items.mirror = *mirror;
    *out = items;
    items.corners = NULL;
done:
    free(used);
    su_lattice_items_free(&items);
    return status;
}

void su_lattice_items_free(su_lattice_items *items)
{
    free(items->corners);
    memset(items, 0, sizeof *items);
}
