/* The surface of the shape by marching tetrahedra on a body-centred cubic lattice. Cut points that lie near the same
 * lattice point are merged into one vertex, which leaves far more even triangles (Treece, Prager, Gee, "Regularised
 * marching tetrahedra", Computers & Graphics 23, 1999); where merging would break the surface it is undone. */
#include "creature.h"
#include "core/memory.h"
#include "core/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct lattice {
    int64_t n[3]; /* cells */
    double low[3], step;
    int64_t corners, points; /* corner points come first, then centres */
    float *value;
    unsigned char *apart; /* 1: cut points near this lattice point stay apart */
} lattice;

static int64_t corner_index(const lattice *l, int64_t i, int64_t j, int64_t k)
{
    return (k * (l->n[1] + 1) + j) * (l->n[0] + 1) + i;
}

static int64_t centre_index(const lattice *l, int64_t i, int64_t j, int64_t k)
{
    return l->corners + (k * l->n[1] + j) * l->n[0] + i;
}

static void lattice_point(const lattice *l, int64_t index, double at[3])
{
    int64_t centre = index >= l->corners, nx = l->n[0] + !centre, ny = l->n[1] + !centre;
    if (centre) index -= l->corners;
    int64_t ijk[3] = {index % nx, index / nx % ny, index / (nx * ny)};
    for (int a = 0; a < 3; a++) at[a] = l->low[a] + l->step * ((double)ijk[a] + 0.5 * (double)centre);
}

static su_status lattice_make(const body *b, double step, lattice *l, su_error *err)
{
    double low[3], high[3];
    shape_bounds(b, low, high);
    *l = (lattice){.step = step};
    for (int a = 0; a < 3; a++) {
        l->n[a] = (int64_t)ceil((high[a] - low[a]) / step) + 2;
        l->low[a] = 0.5 * (low[a] + high[a]) - 0.5 * step * (double)l->n[a];
    }
    l->corners = (l->n[0] + 1) * (l->n[1] + 1) * (l->n[2] + 1);
    l->points = l->corners + l->n[0] * l->n[1] * l->n[2];
    SU_TRY(SU_ALLOC(&l->value, l->points, "lattice values", err));
    SU_TRY(SU_ALLOC(&l->apart, l->points, "lattice flags", err));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < l->points; i++) {
        double at[3];
        lattice_point(l, i, at);
        l->value[i] = (float)shape_distance(b, at);
        if (l->value[i] == 0) l->value[i] = 1e-7f; /* never exactly on the surface */
    }
    return SU_OK;
}

static void lattice_free(lattice *l)
{
    free(l->value);
    free(l->apart);
}

/* ---- vertices, found by key in a hash table ---- */

typedef struct builder {
    const lattice *l;
    uint64_t *keys; /* lattice point (merged) or pair of points (apart), plus 1; 0: empty */
    int32_t *slots; /* vertex of the key */
    uint64_t mask;
    double *sum;    /* (vertices,4) sum of cut points and their number */
    int64_t *owner; /* lattice point that merged this vertex, -1 */
    int64_t vertices, vertex_room;
    int32_t *triangles;
    int64_t triangle_count, triangle_room;
    int failed;
} builder;

static int grow(void **array, int64_t *room, int64_t wanted, size_t size)
{
    if (wanted <= *room) return 0;
    int64_t larger = *room ? 2 * *room : 4096;
    void *grown = realloc(*array, (size_t)larger * size);
    if (!grown) return -1;
    *array = grown;
    *room = larger;
    return 0;
}

static int32_t vertex_of(builder *b, uint64_t key, int64_t owner)
{
    uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 20 & b->mask;
    while (b->keys[at] && b->keys[at] != key + 1) at = (at + 1) & b->mask;
    if (b->keys[at]) return b->slots[at];
    int64_t room = b->vertex_room;
    if (grow((void **)&b->sum, &room, b->vertices + 1, 4 * sizeof *b->sum) != 0 ||
        grow((void **)&b->owner, &b->vertex_room, b->vertices + 1, sizeof *b->owner) != 0 ||
        2 * (uint64_t)b->vertices > b->mask) {
        b->failed = 1;
        return 0;
    }
    b->keys[at] = key + 1;
    b->slots[at] = (int32_t)b->vertices;
    memset(b->sum + 4 * b->vertices, 0, 4 * sizeof *b->sum);
    b->owner[b->vertices] = owner;
    return (int32_t)b->vertices++;
}

/* The vertex for the cut of edge p-q; p inside, q outside. */
static int32_t cut(builder *b, int64_t p, int64_t q)
{
    double x[3], y[3], fp = b->l->value[p], fq = b->l->value[q], t = fp / (fp - fq);
    int64_t near = t < 0.5 ? p : q;
    int merged = !b->l->apart[near];
    int64_t low = p < q ? p : q, high = p < q ? q : p;
    /* Pairs of points get keys beyond all single points. */
    uint64_t key = merged ? (uint64_t)near : (uint64_t)(b->l->points + low * b->l->points + high);
    int32_t v = vertex_of(b, key, merged ? near : -1);
    if (b->failed) return 0;
    lattice_point(b->l, p, x);
    lattice_point(b->l, q, y);
    for (int a = 0; a < 3; a++) b->sum[4 * v + a] += x[a] + t * (y[a] - x[a]);
    b->sum[4 * v + 3] += 1;
    return v;
}

static void add_triangle(builder *b, int32_t i, int32_t j, int32_t k)
{
    if (i == j || j == k || k == i || b->failed) return;
    if (grow((void **)&b->triangles, &b->triangle_room, b->triangle_count + 1, 3 * sizeof *b->triangles) != 0) {
        b->failed = 1;
        return;
    }
    int32_t *t = b->triangles + 3 * b->triangle_count++;
    t[0] = i, t[1] = j, t[2] = k;
}

/* One tet of positive orientation: the surface inside it, outward. */
static void march(builder *b, const int64_t tet[4])
{
    /* For one corner i alone on its side: the other three in an order that keeps (i, a, b, c) even. */
    static const int others[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    /* For corners i, j inside: (i, j, k, l) even. */
    static const int pairs[6][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 2, 0}, {2, 3, 0, 1}};
    int inside[4], count = 0;
    for (int i = 0; i < 4; i++) count += inside[i] = b->l->value[tet[i]] < 0;
    if (count == 0 || count == 4) return;
    if (count == 2) {
        for (int p = 0; p < 6; p++) {
            const int *o = pairs[p];
            if (!inside[o[0]] || !inside[o[1]]) continue;
            int32_t ik = cut(b, tet[o[0]], tet[o[2]]), il = cut(b, tet[o[0]], tet[o[3]]);
            int32_t jk = cut(b, tet[o[1]], tet[o[2]]), jl = cut(b, tet[o[1]], tet[o[3]]);
            add_triangle(b, ik, jl, jk);
            add_triangle(b, ik, il, jl);
        }
        return;
    }
    int lone = 0;
    while (inside[lone] != (count == 1)) lone++;
    int32_t v[3];
    for (int i = 0; i < 3; i++) {
        int64_t other = tet[others[lone][i]];
        v[i] = count == 1 ? cut(b, tet[lone], other) : cut(b, other, tet[lone]);
    }
    if (count == 1)
        add_triangle(b, v[0], v[1], v[2]);
    else
        add_triangle(b, v[0], v[2], v[1]);
}

/* Around every lattice face: four tets between the centres on its sides and each of its edges. */
static void march_face(builder *b, const int64_t cell[3], int axis)
{
    const lattice *l = b->l;
    int u = (axis + 1) % 3, w = (axis + 2) % 3;
    int64_t next[3] = {cell[0], cell[1], cell[2]}, corner[4];
    next[axis]++;
    static const int ring[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    for (int i = 0; i < 4; i++) {
        int64_t at[3] = {next[0], next[1], next[2]};
        at[u] += ring[i][0];
        at[w] += ring[i][1];
        corner[i] = corner_index(l, at[0], at[1], at[2]);
    }
    int64_t from = centre_index(l, cell[0], cell[1], cell[2]), to = centre_index(l, next[0], next[1], next[2]);
    for (int i = 0; i < 4; i++) march(b, (int64_t[4]){corner[i], corner[(i + 1) % 4], from, to});
}

static void builder_free(builder *b)
{
    free(b->keys);
    free(b->slots);
    free(b->sum);
    free(b->owner);
    free(b->triangles);
}

static su_status extract(const lattice *l, builder *b, su_error *err)
{
    *b = (builder){.l = l};
    b->mask = ((uint64_t)1 << 22) - 1;
    SU_TRY(SU_ALLOC(&b->keys, (int64_t)b->mask + 1, "vertex keys", err));
    SU_TRY(SU_ALLOC(&b->slots, (int64_t)b->mask + 1, "vertex slots", err));
    for (int64_t k = 0; k < l->n[2]; k++)
        for (int64_t j = 0; j < l->n[1]; j++)
            for (int64_t i = 0; i < l->n[0]; i++) {
                const int64_t cell[3] = {i, j, k};
                for (int axis = 0; axis < 3; axis++)
                    if (cell[axis] + 1 < l->n[axis]) march_face(b, cell, axis);
            }
    return b->failed ? su_fail(err, SU_AGAIN, "out of memory for the skin") : SU_OK;
}

/* ---- is it a closed manifold? ---- */

static int by_edge(const void *a, const void *b)
{
    const int32_t *l = a, *r = b;
    return l[0] != r[0] ? (l[0] > r[0]) - (l[0] < r[0]) : (l[1] > r[1]) - (l[1] < r[1]);
}

static void keep_apart(lattice *l, const builder *b, int32_t v, int64_t *found)
{
    if (b->owner[v] >= 0 && !l->apart[b->owner[v]]) l->apart[b->owner[v]] = 1;
    (*found)++;
}

/* Counts flaws and marks the lattice points that caused them. Directed edges must be unique, each with its opposite,
 * and the triangles around a vertex must form one ring. */
static su_status find_flaws(lattice *l, const builder *b, int64_t *flaws, su_error *err)
{
    su_status status = SU_OK;
    int64_t count = 3 * b->triangle_count;
    int32_t(*edges)[3] = NULL, *first = NULL, *size = NULL;
    *flaws = 0;
    SU_GO(SU_ALLOC(&edges, count, "edges", err));
    SU_GO(SU_ALLOC(&first, b->vertices, "rings", err));
    SU_GO(SU_ALLOC(&size, b->vertices, "rings", err));
    for (int64_t t = 0; t < b->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            int32_t *e = edges[3 * t + i];
            e[0] = b->triangles[3 * t + i];
            e[1] = b->triangles[3 * t + (i + 1) % 3];
            e[2] = b->triangles[3 * t + (i + 2) % 3];
            size[e[0]]++;
        }
    su_sort(edges, (size_t)count, sizeof *edges, by_edge);
    for (int64_t i = 0; i < count; i++) {
        int32_t back[2] = {edges[i][1], edges[i][0]};
        int twice = i + 1 < count && by_edge(edges[i], edges[i + 1]) == 0;
        int32_t(*found)[3] = bsearch(back, edges, (size_t)count, sizeof *edges, by_edge);
        if (twice || !found) {
            for (int k = 0; k < 3; k++) keep_apart(l, b, edges[i][k], flaws);
        }
        if (i == 0 || edges[i - 1][0] != edges[i][0]) first[edges[i][0]] = (int32_t)i;
    }
    for (int64_t v = 0; *flaws == 0 && v < b->vertices; v++) {
        if (!size[v]) continue;
        int32_t at = first[v], steps = 0;
        do { /* triangle (v, w, x): next edge around v is v-x */
            const int32_t next[2] = {edges[at][0], edges[at][2]};
            int32_t(*found)[3] = bsearch(next, edges, (size_t)count, sizeof *edges, by_edge);
            if (!found) break;
            at = (int32_t)(found - edges);
            steps++;
        } while (at != first[v] && steps <= size[v]);
        if (steps == size[v]) continue;
        keep_apart(l, b, (int32_t)v, flaws);
        for (int32_t i = 0; i < size[v]; i++) keep_apart(l, b, edges[first[v] + i][1], flaws);
    }
done:
    free(edges);
    free(first);
    free(size);
    return status;
}

/* Drops vertices that lost all their triangles to merging, and takes over the rest. */
static su_status take(const builder *b, skin *out, su_error *err)
{
    su_status status = SU_OK;
    int32_t *number = NULL;
    SU_GO(SU_ALLOC(&number, b->vertices, "vertex numbers", err));
    SU_GO(SU_ALLOC(&out->points, 3 * b->vertices, "points", err));
    SU_GO(SU_ALLOC(&out->triangles, 3 * b->triangle_count, "triangles", err));
    for (int64_t i = 0; i < 3 * b->triangle_count; i++) number[b->triangles[i]] = 1;
    for (int64_t v = 0; v < b->vertices; v++) {
        if (!number[v]) continue;
        number[v] = (int32_t)out->vertex_count++;
        for (int a = 0; a < 3; a++) out->points[3 * number[v] + a] = b->sum[4 * v + a] / b->sum[4 * v + 3];
    }
    for (int64_t i = 0; i < 3 * b->triangle_count; i++) out->triangles[i] = number[b->triangles[i]];
    out->triangle_count = b->triangle_count;
done:
    free(number);
    return status;
}

static su_status surface(const body *shape, double step, skin *out, su_error *err)
{
    su_status status = SU_OK;
    lattice l = {0};
    builder b = {0};
    int64_t flaws = 1;
    *out = (skin){0};
    SU_GO(lattice_make(shape, step, &l, err));
    for (int round = 0; flaws && round < 30; round++) {
        builder_free(&b);
        SU_GO(extract(&l, &b, err));
        SU_GO(find_flaws(&l, &b, &flaws, err));
    }
    if (flaws || b.triangle_count == 0) {
        status =
            su_fail(err, SU_NUMERICS, "the skin does not close at a spacing of %.3g m; ask for more vertices", step);
        goto done;
    }
    SU_GO(take(&b, out, err));
done:
    lattice_free(&l);
    builder_free(&b);
    if (status != SU_OK) skin_free(out);
    return status;
}

su_status skin_make(const body *b, int64_t vertices, skin *out, su_error *err)
{
    double step =
        2.6 / sqrt((double)vertices); /* a good guess for this shape; the number of vertices goes as step^-2 */
    for (int attempt = 0;; attempt++) {
        SU_TRY(surface(b, step, out, err));
        double ratio = (double)out->vertex_count / (double)vertices;
        if (fabs(ratio - 1) < 0.03 || attempt == 6) break;
        step *= sqrt(ratio);
        skin_free(out);
    }
    su_status status = skin_refine(b, out, err);
    if (status != SU_OK) skin_free(out);
    return status;
}

/* ---- weights ---- */

/* Averages weights over the triangles' neighbours, so that bends spread over some rows of triangles. */
static void smooth_weights(const skin *mesh, int joints, double *weights, double *sum)
{
    memset(sum, 0, (size_t)mesh->vertex_count * (size_t)(joints + 1) * sizeof *sum);
    for (int64_t t = 0; t < mesh->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            int64_t v = mesh->triangles[3 * t + i], w = mesh->triangles[3 * t + (i + 1) % 3];
            double *to = sum + v * (joints + 1);
            for (int j = 0; j < joints; j++) to[j] += weights[w * joints + j];
            to[joints] += 1;
        }
    for (int64_t v = 0; v < mesh->vertex_count; v++)
        for (int j = 0; j < joints; j++)
            weights[v * joints + j] =
                0.5 * weights[v * joints + j] + 0.5 * sum[v * (joints + 1) + j] / sum[v * (joints + 1) + joints];
}

static void keep_four(const double *weights, int joints, uint8_t index[4], float out[4])
{
    double kept[4] = {0}, total = 0;
    memset(index, 0, 4);
    for (int j = 0; j < joints; j++) {
        double w = weights[j];
        if (w < 1e-3) continue;
        int at = 4;
        while (at > 0 && kept[at - 1] < w) at--;
        for (int k = 3; k > at; k--) kept[k] = kept[k - 1], index[k] = index[k - 1];
        if (at < 4) kept[at] = w, index[at] = (uint8_t)j;
    }
    for (int k = 0; k < 4; k++) total += kept[k];
    float rest = 1;
    for (int k = 3; k > 0; k--) rest -= out[k] = (float)(kept[k] / total);
    out[0] = rest;
}

su_status skin_bind(const skeleton *s, skin *out, su_error *err)
{
    const double reach = 0.045; /* m over which one joint's influence gives way to the next */
    su_status status = SU_OK;
    double *weights = NULL, *sum = NULL;
    int joints = s->count;
    SU_GO(SU_ALLOC(&weights, out->vertex_count * joints, "weights", err));
    SU_GO(SU_ALLOC(&sum, out->vertex_count * (joints + 1), "weights", err));
    SU_GO(SU_ALLOC(&out->joints, 4 * out->vertex_count, "joints", err));
    SU_GO(SU_ALLOC(&out->weights, 4 * out->vertex_count, "weights", err));
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < out->vertex_count; v++) {
        double distance[CREATURE_MAX_JOINTS], least = 1e3, total = 0, *w = weights + v * joints;
        shape_joint_distances(s, out->points + 3 * v, distance);
        for (int j = 0; j < joints; j++) least = fmin(least, distance[j]);
        for (int j = 0; j < joints; j++) total += w[j] = exp(-(distance[j] - least) / reach);
        for (int j = 0; j < joints; j++) w[j] /= total;
    }
    /* The same distance of smoothing whatever the resolution. */
    int rounds = (int)ceil(14.0 * (double)out->vertex_count / 7000);
    for (int i = 0; i < (rounds > 60 ? 60 : rounds); i++) smooth_weights(out, joints, weights, sum);
    for (int64_t v = 0; v < out->vertex_count; v++)
        keep_four(weights + v * joints, joints, out->joints + 4 * v, out->weights + 4 * v);
done:
    free(weights);
    free(sum);
    return status;
}

void skin_free(skin *out)
{
    free(out->points);
    free(out->triangles);
    free(out->joints);
    free(out->weights);
    *out = (skin){0};
}
