/* Makes the triangles even: edges are flipped where that brings the numbers of neighbours nearer to six, vertices move
 * along the surface towards the middle of their neighbours (after Botsch, Kobbelt, "A remeshing approach to
 * multiresolution modeling", 2004, without splits and collapses, so the number of vertices stays). */
#include "creature.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The two triangles at every edge, in an open hash table; removed edges leave a tombstone. */
typedef struct edge_table {
    uint64_t *keys; /* 0: empty, 1: removed, else edge key + 2 */
    int32_t (*sides)[2];
    uint64_t mask;
} edge_table;

static uint64_t edge_key(int32_t a, int32_t b)
{
    return a < b ? (uint64_t)a << 32 | (uint32_t)b : (uint64_t)b << 32 | (uint32_t)a;
}

static uint64_t edge_find(const edge_table *t, uint64_t key)
{
    uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 24 & t->mask;
    while (t->keys[at] && t->keys[at] != key + 2) at = (at + 1) & t->mask;
    return at;
}

static void edge_add(edge_table *t, int32_t a, int32_t b, int32_t triangle)
{
    uint64_t at = edge_find(t, edge_key(a, b));
    if (!t->keys[at]) {
        t->keys[at] = edge_key(a, b) + 2;
        t->sides[at][0] = t->sides[at][1] = -1;
    }
    t->sides[at][t->sides[at][0] >= 0] = triangle;
}

static void edge_move(edge_table *t, int32_t a, int32_t b, int32_t from, int32_t to)
{
    int32_t *sides = t->sides[edge_find(t, edge_key(a, b))];
    sides[sides[0] == from ? 0 : 1] = to;
}

static su_status edge_table_make(const skin *mesh, edge_table *t, int32_t *valence, su_error *err)
{
    uint64_t room = 1024;
    while (room < (uint64_t)mesh->triangle_count * 8) room *= 2;
    t->mask = room - 1;
    SU_TRY(SU_ALLOC(&t->keys, (int64_t)room, "edges", err));
    SU_TRY(SU_ALLOC(&t->sides, (int64_t)room, "edges", err));
    memset(valence, 0, (size_t)mesh->vertex_count * sizeof *valence);
    for (int64_t i = 0; i < mesh->triangle_count; i++)
        for (int k = 0; k < 3; k++) {
            edge_add(t, mesh->triangles[3 * i + k], mesh->triangles[3 * i + (k + 1) % 3], (int32_t)i);
            valence[mesh->triangles[3 * i + k]]++;
        }
    return SU_OK;
}

static void normal_of(const skin *mesh, int32_t a, int32_t b, int32_t c, double n[3])
{
    const double *p = mesh->points + 3 * (int64_t)a, *q = mesh->points + 3 * (int64_t)b,
                 *r = mesh->points + 3 * (int64_t)c;
    double u[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]}, v[3] = {r[0] - p[0], r[1] - p[1], r[2] - p[2]};
    n[0] = u[1] * v[2] - u[2] * v[1];
    n[1] = u[2] * v[0] - u[0] * v[2];
    n[2] = u[0] * v[1] - u[1] * v[0];
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; k++) n[k] /= length > 0 ? length : 1;
}

static double dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static int32_t opposite(const int32_t *triangle, int32_t a, int32_t b)
{
    for (int k = 0; k < 3; k++)
        if (triangle[k] != a && triangle[k] != b) return triangle[k];
    return -1;
}

/* Would the two triangles on a-b be better as two on c-d? Fewer odd valences, no fold, and the edge must be new. */
static int worth_flipping(const skin *mesh, const edge_table *t, const int32_t *valence, int32_t a, int32_t b,
                          int32_t c, int32_t d)
{
    int before = 0, after = 0;
    const int32_t v[4] = {a, b, c, d};
    for (int i = 0; i < 4; i++) {
        int now = valence[v[i]] - 6, then = now + (i < 2 ? -1 : 1);
        before += now * now;
        after += then * then;
    }
    if (after >= before || valence[a] <= 4 || valence[b] <= 4) return 0;
    if (t->keys[edge_find(t, edge_key(c, d))]) return 0;
    double old[3], first[3], second[3], other[3];
    normal_of(mesh, a, b, c, old);
    normal_of(mesh, b, a, d, other);
    normal_of(mesh, c, d, b, first);
    normal_of(mesh, d, c, a, second);
    return dot3(old, other) > 0.7 && dot3(first, second) > 0.7 && dot3(old, first) > 0.5 && dot3(other, second) > 0.5;
}

/* Triangle `one` holds a -> b with c opposite, `two` holds b -> a with d opposite; they become (c, d, b), (d, c, a). */
static void flip(skin *mesh, edge_table *t, int32_t *valence, int32_t one, int32_t two, int32_t a, int32_t b)
{
    int32_t *first = mesh->triangles + 3 * (int64_t)one, *second = mesh->triangles + 3 * (int64_t)two;
    int32_t c = opposite(first, a, b), d = opposite(second, a, b);
    t->keys[edge_find(t, edge_key(a, b))] = 1;
    edge_move(t, c, a, one, two);
    edge_move(t, b, d, two, one);
    first[0] = c, first[1] = d, first[2] = b;
    second[0] = d, second[1] = c, second[2] = a;
    edge_add(t, c, d, one);
    edge_add(t, c, d, two);
    valence[a]--, valence[b]--, valence[c]++, valence[d]++;
}

static su_status flip_edges(skin *mesh, su_error *err)
{
    su_status status = SU_OK;
    edge_table t = {0};
    int32_t *valence = NULL;
    SU_GO(SU_ALLOC(&valence, mesh->vertex_count, "valences", err));
    SU_GO(edge_table_make(mesh, &t, valence, err));
    for (int64_t i = 0; i < mesh->triangle_count; i++) {
        for (int k = 0; k < 3; k++) {
            int32_t a = mesh->triangles[3 * i + k], b = mesh->triangles[3 * i + (k + 1) % 3];
            const int32_t *sides = t.sides[edge_find(&t, edge_key(a, b))];
            int32_t one = (int32_t)i, two = sides[sides[0] == one];
            int32_t c = opposite(mesh->triangles + 3 * i, a, b);
            int32_t d = opposite(mesh->triangles + 3 * (int64_t)two, a, b);
            if (!worth_flipping(mesh, &t, valence, a, b, c, d)) continue;
            flip(mesh, &t, valence, one, two, a, b);
            break; /* the triangle's edges have changed */
        }
    }
done:
    free(t.keys);
    free(t.sides);
    free(valence);
    return status;
}

static void project(const body *b, double at[3])
{
    for (int i = 0; i < 3; i++) {
        double gradient[3], value = shape_distance(b, at);
        shape_gradient(b, at, gradient);
        double square = dot3(gradient, gradient);
        if (square < 1e-12) return;
        for (int k = 0; k < 3; k++) at[k] -= value * gradient[k] / square;
    }
}

static su_status smooth(const body *b, skin *mesh, int rounds, su_error *err)
{
    su_status status = SU_OK;
    double *sum = NULL;
    SU_GO(SU_ALLOC(&sum, 4 * mesh->vertex_count, "neighbour sums", err));
    for (int round = 0; round < rounds; round++) {
        memset(sum, 0, (size_t)mesh->vertex_count * 4 * sizeof *sum);
        for (int64_t i = 0; i < mesh->triangle_count; i++)
            for (int k = 0; k < 3; k++) {
                int64_t v = mesh->triangles[3 * i + k], w = mesh->triangles[3 * i + (k + 1) % 3];
                for (int a = 0; a < 3; a++) sum[4 * v + a] += mesh->points[3 * w + a];
                sum[4 * v + 3] += 1;
            }
#pragma omp parallel for schedule(static)
        for (int64_t v = 0; v < mesh->vertex_count; v++) {
            double *x = mesh->points + 3 * v;
            for (int a = 0; a < 3; a++) x[a] += 0.6 * (sum[4 * v + a] / sum[4 * v + 3] - x[a]);
            project(b, x);
        }
    }
done:
    free(sum);
    return status;
}

su_status skin_refine(const body *b, skin *mesh, su_error *err)
{
    SU_TRY(smooth(b, mesh, 2, err));
    for (int round = 0; round < 6; round++) {
        SU_TRY(flip_edges(mesh, err));
        SU_TRY(smooth(b, mesh, 4, err));
    }
    return SU_OK;
}
