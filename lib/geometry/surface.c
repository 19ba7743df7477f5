#include "geometry/surface.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/mat3.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

void su_surface_free(su_surface *surface)
{
    free(surface->x);
    free(surface->vertex);
    free(surface->triangles);
    free(surface->component);
    memset(surface, 0, sizeof *surface);
}

/* ---- welding ---- */

typedef struct point_key {
    double x[3];
    int32_t index;
} point_key;

static int compare_points(const void *a, const void *b)
{
    const point_key *p = a, *q = b;
    for (int i = 0; i < 3; i++)
        if (p->x[i] != q->x[i]) return p->x[i] < q->x[i] ? -1 : 1;
    return (p->index > q->index) - (p->index < q->index);
}

/* Distinct positions keep the order of their first source vertex. */
static su_status weld(int64_t n, const double *x, const uint8_t *rigid, su_surface *out, su_error *err)
{
    su_status status = SU_OK;
    point_key *keys = NULL;
    int32_t *first = NULL;
    int64_t count = 0;
    SU_GO(SU_ALLOC(&keys, n, "points to weld", err));
    SU_GO(SU_ALLOC(&first, n, "welded points", err));
    for (int64_t v = 0; v < n; v++) {
        if (rigid && rigid[v]) continue;
        for (int i = 0; i < 3; i++) keys[count].x[i] = x[3 * v + i] + 0.0; /* -0 becomes 0 */
        keys[count++].index = (int32_t)v;
    }
    su_sort(keys, (size_t)count, sizeof *keys, compare_points);
    for (int64_t k = 0, head = 0; k < count; k++) {
        if (memcmp(keys[k].x, keys[head].x, sizeof keys[k].x)) head = k;
        first[keys[k].index] = keys[head].index;
    }
    for (int64_t v = 0; v < n; v++) {
        if (rigid && rigid[v]) {
            out->vertex[v] = -1;
            continue;
        }
        if (first[v] == v) {
            memcpy(out->x + 3 * out->n, x + 3 * v, 3 * sizeof *x);
            out->vertex[v] = (int32_t)out->n++;
        } else {
            out->vertex[v] = out->vertex[first[v]];
        }
    }
done:
    free(keys);
    free(first);
    return status;
}

/* ---- triangles ---- */

typedef struct triangle_key {
    int32_t sorted[3];
    int32_t index;
} triangle_key;

static int compare_triangles(const void *a, const void *b)
{
    const triangle_key *p = a, *q = b;
    for (int i = 0; i < 3; i++)
        if (p->sorted[i] != q->sorted[i]) return p->sorted[i] < q->sorted[i] ? -1 : 1;
    return (p->index > q->index) - (p->index < q->index);
}

static double doubled_area(const double *x, const int32_t *t, double normal[3])
{
    double a[3], b[3];
    su_sub3(x + 3 * t[1], x + 3 * t[0], a);
    su_sub3(x + 3 * t[2], x + 3 * t[0], b);
    su_cross3(a, b, normal);
    return su_norm3(normal);
}

static su_status keep_triangles(int64_t t, const int32_t *triangles, su_surface *out, su_error *err)
{
    su_status status = SU_OK;
    triangle_key *keys = NULL;
    uint8_t *repeated = NULL;
    int64_t kept = 0;
    SU_GO(SU_ALLOC(&keys, t, "triangles to compare", err));
    SU_GO(SU_ALLOC(&repeated, t, "triangle marks", err));
    for (int64_t k = 0; k < t; k++) {
        int32_t *o = out->triangles + 3 * kept;
        bool loose = false;
        for (int i = 0; i < 3; i++) o[i] = out->vertex[triangles[3 * k + i]], loose |= o[i] < 0;
        if (loose) continue;
        double normal[3], edge = 0.0;
        for (int i = 0; i < 3; i++) edge = fmax(edge, su_distance3(out->x + 3 * o[i], out->x + 3 * o[(i + 1) % 3]));
        /* thinner than what double positions of this size can express: no normal to speak of */
        if (doubled_area(out->x, o, normal) <= 1e-12 * edge * edge || edge == 0.0) {
            out->dropped_degenerate++;
            continue;
        }
        triangle_key *key = &keys[kept];
        memcpy(key->sorted, o, sizeof key->sorted);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                if (key->sorted[j] > key->sorted[j + 1]) {
                    int32_t swap = key->sorted[j];
                    key->sorted[j] = key->sorted[j + 1], key->sorted[j + 1] = swap;
                }
        key->index = (int32_t)kept++;
    }
    su_sort(keys, (size_t)kept, sizeof *keys, compare_triangles);
    for (int64_t k = 1; k < kept; k++)
        if (!memcmp(keys[k].sorted, keys[k - 1].sorted, sizeof keys[k].sorted)) repeated[keys[k].index] = 1;
    for (int64_t k = 0; k < kept; k++) {
        if (repeated[k]) {
            out->dropped_repeated++;
            continue;
        }
        memmove(out->triangles + 3 * out->t++, out->triangles + 3 * k, 3 * sizeof *out->triangles);
    }
done:
    free(keys);
    free(repeated);
    return status;
}

/* ---- edges, orientation, components ---- */

typedef struct half_edge {
    int32_t low, high;
    int32_t triangle;
    int32_t forward; /* 1: the triangle runs from low to high */
} half_edge;

static int compare_edges(const void *a, const void *b)
{
    const half_edge *p = a, *q = b;
    if (p->low != q->low) return p->low < q->low ? -1 : 1;
    if (p->high != q->high) return p->high < q->high ? -1 : 1;
    return (p->triangle > q->triangle) - (p->triangle < q->triangle);
}

static void sorted_edges(const su_surface *s, half_edge *edges)
{
    for (int64_t k = 0; k < s->t; k++)
        for (int i = 0; i < 3; i++) {
            int32_t a = s->triangles[3 * k + i], b = s->triangles[3 * k + (i + 1) % 3];
            edges[3 * k + i] = (half_edge){a < b ? a : b, a < b ? b : a, (int32_t)k, a < b};
        }
    su_sort(edges, (size_t)(3 * s->t), sizeof *edges, compare_edges);
}

static int64_t run_length(const half_edge *edges, int64_t first, int64_t count)
{
    int64_t k = first + 1;
    while (k < count && edges[k].low == edges[first].low && edges[k].high == edges[first].high) k++;
    return k - first;
}

/* Union-find over triangles that also keeps whether a triangle must be flipped against its root. */
static int32_t find_root(int32_t *parent, uint8_t *flip, int32_t k, uint8_t *parity)
{
    int32_t root = k;
    uint8_t p = 0;
    while (parent[root] != root) p ^= flip[root], root = parent[root];
    *parity = p;
    while (parent[k] != root) {
        int32_t next = parent[k];
        uint8_t own = flip[k];
        parent[k] = root, flip[k] = p;
        p ^= own, k = next;
    }
    return root;
}

static su_status orient_patches(su_surface *s, const half_edge *edges, su_error *err)
{
    su_status status = SU_OK;
    int32_t *parent = NULL;
    uint8_t *flip = NULL;
    double *against = NULL, *total = NULL;
    SU_GO(SU_ALLOC(&parent, s->t, "patches", err));
    SU_GO(SU_ALLOC(&flip, s->t, "patch parities", err));
    SU_GO(SU_ALLOC(&against, s->t, "patch areas", err));
    SU_GO(SU_ALLOC(&total, s->t, "patch areas", err));
    for (int64_t k = 0; k < s->t; k++) parent[k] = (int32_t)k;
    for (int64_t e = 0, run; e < 3 * s->t; e += run) {
        run = run_length(edges, e, 3 * s->t);
        if (run == 1) s->boundary_edges++;
        if (run > 2) s->nonmanifold_edges++;
        if (run != 2) continue;
        uint8_t disagree = edges[e].forward == edges[e + 1].forward, pa, pb;
        s->flipped_edges += disagree;
        int32_t a = find_root(parent, flip, edges[e].triangle, &pa),
                b = find_root(parent, flip, edges[e + 1].triangle, &pb);
        if (a == b) continue; /* a Moebius band keeps its seam */
        if (a > b) {
            int32_t swap = a;
            a = b, b = swap;
        }
        parent[b] = a, flip[b] = pa ^ pb ^ disagree;
    }
    for (int64_t k = 0; k < s->t; k++) {
        uint8_t parity;
        double normal[3], area = doubled_area(s->x, s->triangles + 3 * k, normal);
        int32_t root = find_root(parent, flip, (int32_t)k, &parity);
        total[root] += area;
        if (parity) against[root] += area;
    }
    for (int64_t k = 0; k < s->t; k++) {
        uint8_t parity;
        int32_t root = find_root(parent, flip, (int32_t)k, &parity);
        if (parity == (2.0 * against[root] > total[root])) continue;
        int32_t swap = s->triangles[3 * k + 1];
        s->triangles[3 * k + 1] = s->triangles[3 * k + 2], s->triangles[3 * k + 2] = swap;
        s->flipped_triangles++;
    }
done:
    free(parent);
    free(flip);
    free(against);
    free(total);
    return status;
}

static int32_t find_plain(int32_t *parent, int32_t k)
{
    while (parent[k] != k) parent[k] = parent[parent[k]], k = parent[k];
    return k;
}

static su_status find_components(su_surface *s, su_error *err)
{
    su_status status = SU_OK;
    int32_t *parent = NULL, *label = NULL;
    SU_GO(SU_ALLOC(&parent, s->n, "components", err));
    SU_GO(SU_ALLOC(&label, s->n, "components", err));
    for (int64_t v = 0; v < s->n; v++) parent[v] = (int32_t)v, label[v] = -1;
    for (int64_t k = 0; k < 3 * s->t; k++) {
        int32_t a = find_plain(parent, s->triangles[k]), b = find_plain(parent, s->triangles[k - k % 3]);
        if (a != b) parent[a > b ? a : b] = a > b ? b : a;
    }
    for (int64_t k = 0; k < s->t; k++) {
        int32_t root = find_plain(parent, s->triangles[3 * k]);
        if (label[root] < 0) label[root] = (int32_t)s->components++;
        s->component[k] = label[root];
    }
done:
    free(parent);
    free(label);
    return status;
}

/* Crossings of a ray from p along a fixed skew direction with triangles of other components, signed: > 0 inside. */
static int crossings_from(const su_surface *s, const double p[3], int32_t own)
{
    static const double d[3] = {0.5257311121191336, 0.2762903111, 0.8045467321};
    int count = 0;
    for (int64_t k = 0; k < s->t; k++) {
        if (s->component[k] == own) continue;
        const int32_t *t = s->triangles + 3 * k;
        double a[3], b[3], c[3], h[3];
        su_sub3(s->x + 3 * t[0], p, a), su_sub3(s->x + 3 * t[1], p, b), su_sub3(s->x + 3 * t[2], p, c);
        su_cross3(a, b, h);
        double w = su_dot3(h, d), volume = su_dot3(h, c);
        su_cross3(b, c, h);
        double u = su_dot3(h, d);
        su_cross3(c, a, h);
        double v = su_dot3(h, d);
        if (u > 0 && v > 0 && w > 0 && volume > 0) count++; /* leaves */
        if (u < 0 && v < 0 && w < 0 && volume < 0) count--; /* enters */
    }
    return count;
}

/* Turns closed components outward, unless they are cavities of another one. */
static su_status turn_outward(su_surface *s, const half_edge *edges, su_error *err)
{
    su_status status = SU_OK;
    double *volume = NULL;
    uint8_t *open = NULL;
    SU_GO(SU_ALLOC(&volume, s->components, "component volumes", err));
    SU_GO(SU_ALLOC(&open, s->components, "component marks", err));
    for (int64_t e = 0, run; e < 3 * s->t; e += run)
        if ((run = run_length(edges, e, 3 * s->t)) != 2) open[s->component[edges[e].triangle]] = 1;
    for (int64_t k = 0; k < s->t; k++) {
        double a[3], b[3], c[3], h[3];
        const int32_t *t = s->triangles + 3 * k;
        su_sub3(s->x + 3 * t[0], s->low, a), su_sub3(s->x + 3 * t[1], s->low, b), su_sub3(s->x + 3 * t[2], s->low, c);
        su_cross3(a, b, h);
        volume[s->component[k]] += su_dot3(h, c) / 6.0;
    }
    for (int64_t q = 0; q < s->components; q++) {
        if (volume[q] >= 0.0 || (open[q] && s->components > 1)) continue;
        int64_t first = 0;
        while (s->component[first] != q) first++;
        if (!open[q] && crossings_from(s, s->x + 3 * s->triangles[3 * first], (int32_t)q) > 0) continue;
        for (int64_t k = 0; k < s->t; k++) {
            if (s->component[k] != q) continue;
            int32_t swap = s->triangles[3 * k + 1];
            s->triangles[3 * k + 1] = s->triangles[3 * k + 2], s->triangles[3 * k + 2] = swap;
            s->flipped_triangles++;
        }
        volume[q] = -volume[q];
    }
    for (int64_t q = 0; q < s->components; q++) s->volume += volume[q];
done:
    free(volume);
    free(open);
    return status;
}

static void measure(su_surface *s)
{
    for (int i = 0; i < 3; i++) s->low[i] = DBL_MAX, s->high[i] = -DBL_MAX;
    for (int64_t v = 0; v < 3 * s->n; v++) {
        s->low[v % 3] = fmin(s->low[v % 3], s->x[v]);
        s->high[v % 3] = fmax(s->high[v % 3], s->x[v]);
    }
    s->diagonal = s->n ? su_distance3(s->low, s->high) : 0.0;
    for (int64_t k = 0; k < s->t; k++) {
        double normal[3];
        s->area += 0.5 * doubled_area(s->x, s->triangles + 3 * k, normal);
    }
}

su_status su_surface_create(int64_t n, const double *x, int64_t t, const int32_t *triangles, const uint8_t *rigid,
                            su_surface *out, su_error *err)
{
    su_status status = SU_OK;
    su_surface s = {.source_count = n};
    half_edge *edges = NULL;
    SU_GO(SU_ALLOC(&s.x, 3 * n, "surface vertices", err));
    SU_GO(SU_ALLOC(&s.vertex, n, "surface vertices", err));
    SU_GO(SU_ALLOC(&s.triangles, 3 * t, "surface triangles", err));
    SU_GO(SU_ALLOC(&s.component, t, "surface triangles", err));
    SU_GO(SU_ALLOC(&edges, 3 * t, "surface edges", err));
    SU_GO(weld(n, x, rigid, &s, err));
    SU_GO(keep_triangles(t, triangles, &s, err));
    if (s.n < 4) {
        status = su_fail(err, SU_INPUT, "the skin has %lld distinct vertices that can move, flesh needs at least 4",
                         (long long)s.n);
        goto done;
    }
    measure(&s);
    sorted_edges(&s, edges);
    SU_GO(orient_patches(&s, edges, err));
    SU_GO(find_components(&s, err));
    sorted_edges(&s, edges);
    SU_GO(turn_outward(&s, edges, err));
    s.closed = s.t > 0 && !s.boundary_edges && !s.nonmanifold_edges;
    for (int64_t e = 0; s.closed && e < 3 * s.t; e += 2) s.closed = edges[e].forward != edges[e + 1].forward;
    *out = s;
    memset(&s, 0, sizeof s);
done:
    free(edges);
    su_surface_free(&s);
    return status;
}
