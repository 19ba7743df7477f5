#include "contact/contact_body.h"

#include "core/order.h"
#include "geometry/box.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "physics/material.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_contact_body_free(su_contact_body *body)
{
    su_arena_free(&body->arena);
    memset(body, 0, sizeof *body);
}

/* ---- the surface ---- */

static double triangle_normal(const double *x, const int32_t *k, double normal[3])
{
    double a[3], b[3];
    su_sub3(x + 3 * (int64_t)k[1], x + 3 * (int64_t)k[0], a);
    su_sub3(x + 3 * (int64_t)k[2], x + 3 * (int64_t)k[0], b);
    su_cross3(a, b, normal);
    return su_norm3(normal);
}

static void measure(su_contact_body *body)
{
    double edges = 0, normal[3];
    for (int64_t k = 0; k < body->b; k++) {
        const int32_t *corner = body->surface + 3 * k;
        double third = triangle_normal(body->neutral, corner, normal) / 6;
        for (int i = 0; i < 3; i++) {
            body->area[corner[i]] += third;
            edges +=
                su_distance3(body->neutral + 3 * (int64_t)corner[i], body->neutral + 3 * (int64_t)corner[(i + 1) % 3]);
        }
    }
    body->edge = body->b ? edges / (3.0 * (double)body->b) : 0;
    body->diagonal = su_box_diagonal(body->n, body->neutral);
}

static bool has_corner(const int32_t *surface, int32_t triangle, int32_t vertex)
{
    const int32_t *c = surface + 3 * (int64_t)triangle;
    return c[0] == vertex || c[1] == vertex || c[2] == vertex;
}

/* Does triangle k hold one of the first `corners` of `from`? */
static bool shares_corner(const int32_t *surface, int32_t from, int corners, int32_t k)
{
    for (int i = 0; i < corners; i++)
        if (has_corner(surface, k, surface[3 * (int64_t)from + i])) return true;
    return false;
}

/* Triangles around each vertex, and those that share a corner with each triangle, corner by corner. */
static su_status list_triangles(su_contact_body *body, su_error *err)
{
    su_simplices_around(body->n, body->b, body->surface, 3, body->around_start, body->around);
    for (int pass = 0; pass < 2; pass++) { /* counted, then kept */
        int64_t total = 0;
        for (int32_t t = 0; t < body->b; t++) {
            for (int i = 0; i < 3; i++) {
                int32_t v = body->surface[3 * (int64_t)t + i];
                for (int64_t j = body->around_start[v]; j < body->around_start[v + 1]; j++) {
                    int32_t k = body->around[j];
                    if (k == t || shares_corner(body->surface, t, i, k)) continue;
                    if (pass) body->beside[total] = k;
                    total++;
                }
            }
            body->beside_start[t + 1] = total;
        }
        if (pass == 0 && !(body->beside = su_arena_alloc(&body->arena, total, sizeof *body->beside)))
            return su_fail(err, SU_AGAIN, "no memory for the neighbours of %lld triangles", (long long)body->b);
    }
    return SU_OK;
}

static int compare_indices(const void *a, const void *b)
{
    int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
    return (p > q) - (p < q);
}

static su_status list_rings(su_contact_body *body, su_error *err)
{
    su_status status = SU_OK;
    int64_t *start = NULL, most = 0;
    int32_t *around = NULL, *ring = NULL;
    SU_GO(SU_ALLOC(&start, body->n + 1, "tets around vertices", err));
    SU_GO(SU_ALLOC(&around, 4 * body->t, "tets around vertices", err));
    su_simplices_around(body->n, body->t, body->tets, 4, start, around);
    for (int64_t v = 0; v < body->n; v++) most = start[v + 1] - start[v] > most ? start[v + 1] - start[v] : most;
    SU_GO(SU_ALLOC(&ring, 4 * most, "vertices around a vertex", err));
    for (int pass = 0; pass < 2; pass++) { /* counted, then kept */
        int64_t total = 0;
        for (int64_t v = 0; v < body->n; v++) {
            int64_t count = 0;
            for (int64_t i = start[v]; i < start[v + 1]; i++)
                for (int c = 0; c < 4; c++) ring[count++] = body->tets[4 * (int64_t)around[i] + c];
            su_sort(ring, (size_t)count, sizeof *ring, compare_indices);
            for (int64_t i = 0; i < count; i++) {
                if (i > 0 && ring[i] == ring[i - 1]) continue;
                if (pass) body->ring[total] = ring[i];
                total++;
            }
            body->ring_start[v + 1] = total;
        }
        if (pass == 0 && !(body->ring = su_arena_alloc(&body->arena, total, sizeof *body->ring)))
            SU_GO(su_fail(err, SU_AGAIN, "no memory for the neighbours of %lld vertices", (long long)body->n));
    }
done:
    free(start), free(around), free(ring);
    return status;
}

/* ---- walking inside the flesh ---- */

typedef struct reached { /* a tet, and a triangle that is so far away */
    double distance;
    int32_t tet, triangle;
} reached;

static bool sooner(const reached *a, const reached *b)
{
    if (a->distance != b->distance) return a->distance < b->distance;
    return a->tet != b->tet ? a->tet < b->tet : a->triangle < b->triangle;
}

static void push(reached *heap, int64_t *count, reached item)
{
    int64_t at = (*count)++;
    while (at > 0 && sooner(&item, &heap[(at - 1) / 2])) heap[at] = heap[(at - 1) / 2], at = (at - 1) / 2;
    heap[at] = item;
}

static reached pop(reached *heap, int64_t *count)
{
    reached first = heap[0], last = heap[--*count];
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= *count) break;
        if (child + 1 < *count && sooner(&heap[child + 1], &heap[child])) child++;
        if (!sooner(&heap[child], &last)) break;
        heap[at] = heap[child], at = child;
    }
    heap[at] = last;
    return first;
}

static void centroid(const su_contact_body *body, int32_t e, double out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = 0;
        for (int c = 0; c < 4; c++) out[i] += 0.25 * body->neutral[3 * (int64_t)body->tets[4 * (int64_t)e + c] + i];
    }
}

/* Nearest triangles spread from tet to tet through common faces, the nearest first; each tet looks around the triangle
 * that it is handed for a nearer one. */
static su_status walk(su_contact_body *body, su_error *err)
{
    su_status status = SU_OK;
    int32_t *neighbour = NULL;
    reached *heap = NULL;
    int64_t count = 0;
    double p[3], bary[3];
    SU_GO(SU_ALLOC(&neighbour, 4 * body->t, "tet neighbours", err));
    SU_GO(SU_ALLOC(&heap, body->b + 4 * body->t + 1, "the walk inside the flesh", err));
    SU_GO(su_tet_neighbours(body->t, body->tets, neighbour, err));
    for (int64_t e = 0; e < body->t; e++) body->nearest[e] = -1;
    for (int32_t k = 0; k < body->b; k++) {
        reached item = {0, body->owner[k], k};
        centroid(body, item.tet, p);
        item.distance = su_contact_descend(body, body->neutral, p, &item.triangle, bary);
        push(heap, &count, item);
    }
    while (count > 0) {
        reached at = pop(heap, &count);
        if (body->nearest[at.tet] >= 0) continue;
        body->nearest[at.tet] = at.triangle;
        for (int f = 0; f < 4; f++) {
            reached next = {0, neighbour[4 * (int64_t)at.tet + f], at.triangle};
            if (next.tet < 0 || body->nearest[next.tet] >= 0) continue;
            centroid(body, next.tet, p);
            next.distance = su_contact_descend(body, body->neutral, p, &next.triangle, bary);
            push(heap, &count, next);
        }
    }
done:
    free(neighbour), free(heap);
    return status;
}

su_status su_contact_body_create(int64_t n, const double *neutral, int64_t t, const int32_t *tets, su_contact_body *out,
                                 su_error *err)
{
    su_status status = SU_OK;
    su_contact_body body = {.n = n, .t = t, .neutral = neutral, .tets = tets};
    int32_t *surface = NULL, *owner = NULL;
    SU_GO(su_tet_boundary(t, tets, &body.b, &surface, &owner, err));
    body.surface = su_arena_alloc(&body.arena, 3 * body.b, sizeof *surface);
    body.owner = su_arena_alloc(&body.arena, body.b, sizeof *owner);
    body.vertex = su_arena_alloc(&body.arena, n, sizeof *body.vertex);
    body.area = su_arena_alloc(&body.arena, n, sizeof *body.area);
    body.nearest = su_arena_alloc(&body.arena, t, sizeof *body.nearest);
    body.around_start = su_arena_alloc(&body.arena, n + 1, sizeof *body.around_start);
    body.around = su_arena_alloc(&body.arena, 3 * body.b, sizeof *body.around);
    body.beside_start = su_arena_alloc(&body.arena, body.b + 1, sizeof *body.beside_start);
    body.ring_start = su_arena_alloc(&body.arena, n + 1, sizeof *body.ring_start);
    if (body.arena.failed) SU_GO(su_fail(err, SU_AGAIN, "no memory for contact of %lld tets", (long long)t));
    memcpy(body.surface, surface, (size_t)(3 * body.b) * sizeof *surface);
    memcpy(body.owner, owner, (size_t)body.b * sizeof *owner);
    SU_GO(list_triangles(&body, err));
    for (int64_t v = 0; v < n; v++)
        if (body.around_start[v + 1] > body.around_start[v]) body.vertex[body.surface_count++] = (int32_t)v;
    measure(&body);
    SU_GO(list_rings(&body, err));
    SU_GO(walk(&body, err));
    *out = body;
    memset(&body, 0, sizeof body);
done:
    free(surface), free(owner);
    su_contact_body_free(&body);
    return status;
}

su_status su_contact_body_of_patch(int64_t n, int64_t b, const int32_t *surface, const int32_t *related_start,
                                   const int32_t *related, su_contact_body *out, su_error *err)
{
    su_status status = SU_OK;
    su_contact_body body = {.n = n, .b = b};
    body.surface = su_arena_alloc(&body.arena, 3 * b, sizeof *body.surface);
    body.around_start = su_arena_alloc(&body.arena, n + 1, sizeof *body.around_start);
    body.around = su_arena_alloc(&body.arena, 3 * b, sizeof *body.around);
    body.beside_start = su_arena_alloc(&body.arena, b + 1, sizeof *body.beside_start);
    body.ring_start = su_arena_alloc(&body.arena, n + 1, sizeof *body.ring_start);
    body.ring = su_arena_alloc(&body.arena, related_start[n], sizeof *body.ring);
    if (body.arena.failed) SU_GO(su_fail(err, SU_AGAIN, "no memory for contact of %lld triangles", (long long)b));
    memcpy(body.surface, surface, (size_t)(3 * b) * sizeof *surface);
    memcpy(body.ring, related, (size_t)related_start[n] * sizeof *related);
    for (int64_t v = 0; v <= n; v++) body.ring_start[v] = related_start[v];
    SU_GO(list_triangles(&body, err));
    *out = body;
    memset(&body, 0, sizeof body);
done:
    su_contact_body_free(&body);
    return status;
}

/* ---- queries ---- */

static double to_triangle(const su_contact_body *body, const double *x, const double p[3], int32_t k, double bary[3])
{
    const int32_t *c = body->surface + 3 * (int64_t)k;
    return su_closest_on_triangle(p, x + 3 * (int64_t)c[0], x + 3 * (int64_t)c[1], x + 3 * (int64_t)c[2], bary);
}

/* The square of the distance from p to a triangle's box: no more than that to the triangle, and sooner known. */
static double box_distance(const su_contact_body *body, const double *x, const double p[3], int32_t triangle)
{
    const int32_t *c = body->surface + 3 * (int64_t)triangle;
    const double *u = x + 3 * (int64_t)c[0], *v = x + 3 * (int64_t)c[1], *w = x + 3 * (int64_t)c[2];
    double squared = 0;
    for (int i = 0; i < 3; i++) {
        double below = su_smaller(su_smaller(u[i], v[i]), w[i]) - p[i],
               above = p[i] - su_larger(su_larger(u[i], v[i]), w[i]), far = su_larger(su_larger(below, above), 0);
        squared += far * far;
    }
    return squared;
}

/* avoid: a vertex; -1: none. What the triangle before had around it is no nearer than the one that it led to. */
static double descend(const su_contact_body *body, const double *x, const double p[3], int32_t avoid, int32_t *triangle,
                      double bary[3])
{
    int32_t at = *triangle, previous = -1;
    double best = to_triangle(body, x, p, at, bary), w[3];
    for (;;) {
        int32_t from = at;
        for (int64_t j = body->beside_start[from]; j < body->beside_start[from + 1]; j++) {
            int32_t k = body->beside[j];
            if (!(box_distance(body, x, p, k) < best)) continue;
            if (previous >= 0 && shares_corner(body->surface, previous, 3, k)) continue;
            double squared = to_triangle(body, x, p, k, w);
            if (!(squared < best)) continue; /* nor what is not a number */
            if (avoid >= 0 && su_contact_related(body, avoid, body->surface + 3 * (int64_t)k, 3)) continue;
            best = squared, at = k;
            memcpy(bary, w, sizeof w);
        }
        if (at == from) break;
        previous = from;
    }
    *triangle = at;
    return sqrt(best);
}

double su_contact_descend(const su_contact_body *body, const double *x, const double p[3], int32_t *triangle,
                          double bary[3])
{
    return descend(body, x, p, -1, triangle, bary);
}

double su_contact_descend_apart(const su_contact_body *body, const double *x, int32_t v, int32_t *triangle,
                                double bary[3])
{
    if (su_contact_related(body, v, body->surface + 3 * (int64_t)*triangle, 3)) return INFINITY;
    return descend(body, x, x + 3 * (int64_t)v, v, triangle, bary);
}

bool su_contact_behind(const su_contact_body *body, const double *x, const double p[3], int32_t triangle,
                       const double bary[3])
{
    const int32_t *c = body->surface + 3 * (int64_t)triangle;
    double d[3], normal[3] = {0};
    int corners[3], count = 0;
    for (int i = 0; i < 3; i++)
        if (bary[i] > 0) corners[count++] = c[i];
    for (int i = 0; i < 3; i++) {
        d[i] = -p[i];
        for (int j = 0; j < 3; j++) d[i] += bary[j] * x[3 * (int64_t)c[j] + i];
    }
    if (count == 3) {
        triangle_normal(x, c, normal);
        return su_dot3(d, normal) > 0;
    }
    int32_t v = corners[0];
    for (int64_t j = body->around_start[v]; j < body->around_start[v + 1]; j++) {
        const int32_t *k = body->surface + 3 * (int64_t)body->around[j];
        double face[3], weight = 1, size = triangle_normal(x, k, face);
        if (count == 2 && k[0] != corners[1] && k[1] != corners[1] && k[2] != corners[1]) continue;
        if (!(size > 0)) continue;
        if (count == 1) {
            int at = k[0] == v ? 0 : k[1] == v ? 1 : 2;
            double a[3], b[3], cross[3];
            su_sub3(x + 3 * (int64_t)k[(at + 1) % 3], x + 3 * (int64_t)v, a);
            su_sub3(x + 3 * (int64_t)k[(at + 2) % 3], x + 3 * (int64_t)v, b);
            su_cross3(a, b, cross);
            weight = atan2(su_norm3(cross), su_dot3(a, b));
        }
        for (int i = 0; i < 3; i++) normal[i] += weight * face[i] / size;
    }
    return su_dot3(d, normal) > 0;
}

bool su_contact_foot(const su_contact_body *body, const double *x, const double p[3], int32_t triangle, double bary[3])
{
    const int32_t *c = body->surface + 3 * (int64_t)triangle;
    double u[3], v[3], r[3];
    su_sub3(x + 3 * (int64_t)c[1], x + 3 * (int64_t)c[0], u);
    su_sub3(x + 3 * (int64_t)c[2], x + 3 * (int64_t)c[0], v);
    su_sub3(p, x + 3 * (int64_t)c[0], r);
    double uu = su_dot3(u, u), uv = su_dot3(u, v), vv = su_dot3(v, v), det = uu * vv - uv * uv;
    if (!(det > SU_CONTACT_FLAT * uu * vv)) return false;
    double a = su_dot3(u, r), b = su_dot3(v, r);
    bary[1] = (vv * a - uv * b) / det, bary[2] = (uu * b - uv * a) / det;
    bary[0] = 1 - bary[1] - bary[2];
    return true;
}

bool su_contact_borders(const su_contact_body *body, int32_t v, int32_t triangle, const double bary[3])
{
    int32_t corners[3];
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (bary[i] > 0) corners[count++] = body->surface[3 * (int64_t)triangle + i];
    if (count == 3) return false;
    for (int64_t j = body->around_start[corners[0]]; j < body->around_start[corners[0] + 1]; j++) {
        const int32_t *k = body->surface + 3 * (int64_t)body->around[j];
        bool has = count == 1 || k[0] == corners[1] || k[1] == corners[1] || k[2] == corners[1];
        if (has && su_contact_related(body, v, k, 3)) return true;
    }
    return false;
}

bool su_contact_related(const su_contact_body *body, int32_t v, const int32_t *simplex, int corners)
{
    const int32_t *ring = body->ring + body->ring_start[v];
    int64_t count = body->ring_start[v + 1] - body->ring_start[v];
    for (int c = 0; c < corners; c++) {
        int64_t low = 0, high = count;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (ring[middle] < simplex[c])
                low = middle + 1;
            else
                high = middle;
        }
        if (low < count && ring[low] == simplex[c]) return true;
    }
    return false;
}

void su_contact_stiffness(const su_contact_body *body, const double *young, const double *poisson, double *k)
{
    memset(k, 0, (size_t)body->n * sizeof *k);
    for (int64_t v = 0; v < body->n; v++) k[v] = INFINITY;
    for (int64_t e = 0; e < body->t; e++) {
        double mu = SU_LAME_MU(young[e], poisson[e]), lambda = SU_LAME_LAMBDA(young[e], poisson[e]);
        double stiffness = (lambda + 2 * mu) / (SU_CONTACT_DEPTH * body->diagonal);
        for (int c = 0; c < 4; c++) {
            double *at = k + body->tets[4 * e + c];
            *at = fmin(*at, stiffness);
        }
    }
}
