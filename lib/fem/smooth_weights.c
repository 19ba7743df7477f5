#include "fem/smooth_weights.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/mat3.h"
#include "linalg/cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Implicit steps of diffusion: two make the kernel round enough that its gradient has no kink at the node. */
enum { DIFFUSIONS = 2 };
/* Weights below this are dropped, as a part of 1: what is left sums to 1 again. The kernel's tail is exponential. */
#define LEAST_WEIGHT 0.01
/* Right-hand sides solved at a time. */
enum { COLUMNS = 32 };

void su_smooth_weights_free(su_smooth_weights *weights)
{
    free(weights->start), free(weights->node), free(weights->weight);
    *weights = (su_smooth_weights){0};
}

/* ---- the graph of the edges ---- */

/* Both directions of every edge, sorted; rows ascending. */
typedef struct graph {
    int64_t *start; /* (n + 1) */
    int32_t *to;
    double *length;    /* m */
    double *stiffness; /* entries of the Laplacian off the diagonal, <= 0 (m) */
} graph;

static void graph_free(graph *g) { free(g->start), free(g->to), free(g->length), free(g->stiffness); }

/* Linear elements' Laplacian. Entries that obtuse angles make positive count as 0: then no phi leaves [0, 1] (maximum
 * principle). */
static void add_laplacian(const double *vertices, int64_t t, const int32_t *tets, graph *g)
{
    for (int64_t e = 0; e < t; e++) {
        const int32_t *tet = tets + 4 * e;
        double gradient[12], volume = su_tet_gradients(vertices, tet, gradient) / 6;

        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                if (a == b) continue;
                int64_t k = g->start[tet[a]];
                while (g->to[k] != tet[b]) k++;
                g->stiffness[k] += volume * su_dot3(gradient + 3 * a, gradient + 3 * b);
            }
    }
}

static su_status graph_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets, graph *g,
                              su_error *err)
{
    int64_t *fill = NULL, write = 0;
    su_status status;
    SU_GO(SU_ALLOC(&g->start, n + 1, "edges", err));
    SU_GO(SU_ALLOC(&fill, n + 1, "edges", err));
    for (int64_t c = 0; c < 4 * t; c++) g->start[tets[c] + 1] += 3;
    for (int64_t v = 0; v < n; v++) g->start[v + 1] += g->start[v], fill[v] = g->start[v];
    SU_GO(SU_ALLOC(&g->to, g->start[n], "edges", err));
    for (int64_t c = 0; c < 4 * t; c++)
        for (int k = 0; k < 4; k++)
            if (k != c % 4) g->to[fill[tets[c]]++] = tets[c / 4 * 4 + k];
    for (int64_t v = 0; v < n; v++) {
        int64_t from = g->start[v];
        su_sort(g->to + from, (size_t)(fill[v] - from), sizeof *g->to, su_order_int32);
        g->start[v] = write;
        for (int64_t k = from; k < fill[v]; k++)
            if (k == from || g->to[k] != g->to[write - 1]) g->to[write++] = g->to[k];
    }
    g->start[n] = write;
    SU_GO(SU_ALLOC(&g->length, write, "edges", err));
    SU_GO(SU_ALLOC(&g->stiffness, write, "edges", err));
    for (int64_t v = 0; v < n; v++)
        for (int64_t k = g->start[v]; k < g->start[v + 1]; k++)
            g->length[k] = su_distance3(vertices + 3 * v, vertices + 3 * (int64_t)g->to[k]);
    add_laplacian(vertices, t, tets, g);
done:
    free(fill);
    return status;
}

/* ---- nodes ---- */

/* A binary heap of vertices by distance, each at most once. */
typedef struct heap {
    int64_t count;
    int32_t *item;     /* (n) */
    int32_t *place;    /* (n) in `item`, -1 */
    const double *key; /* (n) */
} heap;

static void swap_items(heap *h, int64_t a, int64_t b)
{
    int32_t x = h->item[a], y = h->item[b];
    h->item[a] = y, h->item[b] = x, h->place[y] = (int32_t)a, h->place[x] = (int32_t)b;
}

static void heap_rise(heap *h, int32_t v)
{
    if (h->place[v] < 0) h->place[v] = (int32_t)h->count, h->item[h->count++] = v;
    for (int64_t k = h->place[v]; k > 0 && h->key[h->item[k]] < h->key[h->item[(k - 1) / 2]]; k = (k - 1) / 2)
        swap_items(h, k, (k - 1) / 2);
}

static int32_t heap_take(heap *h)
{
    int32_t first = h->item[0];
    swap_items(h, 0, --h->count);
    h->place[first] = -1;
    for (int64_t k = 0;;) {
        int64_t least = k;
        for (int64_t child = 2 * k + 1; child <= 2 * k + 2 && child < h->count; child++)
            if (h->key[h->item[child]] < h->key[h->item[least]]) least = child;
        if (least == k) return first;
        swap_items(h, k, least), k = least;
    }
}

/* Farthest-point sampling along the edges: nearest (n) is the node of each vertex. */
static su_status choose_nodes(int64_t n, const graph *g, double spacing, int32_t *nearest, int64_t *nodes,
                              su_error *err)
{
    double *distance = NULL;
    heap h = {0};
    su_status status;
    SU_GO(SU_ALLOC(&distance, n, "nodes", err));
    SU_GO(SU_ALLOC(&h.item, n, "nodes", err));
    SU_GO(SU_ALLOC(&h.place, n, "nodes", err));
    h.key = distance;
    for (int64_t v = 0; v < n; v++) distance[v] = HUGE_VAL, h.place[v] = -1, nearest[v] = 0;
    for (*nodes = 0;;) {
        int32_t far = 0;
        for (int32_t v = 1; v < n; v++)
            if (distance[v] > distance[far]) far = v;
        if (!(distance[far] > spacing)) break;
        distance[far] = 0, nearest[far] = (int32_t)*nodes;
        heap_rise(&h, far);
        while (h.count > 0) {
            int32_t v = heap_take(&h);
            for (int64_t k = g->start[v]; k < g->start[v + 1]; k++) {
                double through = distance[v] + g->length[k];
                if (!(through < distance[g->to[k]])) continue;
                distance[g->to[k]] = through, nearest[g->to[k]] = (int32_t)*nodes;
                heap_rise(&h, g->to[k]);
            }
        }
        ++*nodes;
    }
done:
    free(distance), free(h.item), free(h.place);
    return status;
}

/* ---- diffusion ---- */

/* M + tau L, lower triangle; mass (n) lumped volumes. */
static su_status diffusion_matrix(int64_t n, const graph *g, const double *mass, double tau, su_sparse *A,
                                  su_error *err)
{
    int64_t write = 0;
    A->size = n, A->owns_pattern = 1, A->entries = n + g->start[n] / 2;
    SU_TRY(SU_ALLOC(&A->start, n + 1, "smoothing", err));
    SU_TRY(SU_ALLOC(&A->row, A->entries, "smoothing", err));
    SU_TRY(SU_ALLOC(&A->value, A->entries, "smoothing", err));
    for (int64_t v = 0; v < n; v++) {
        int64_t diagonal = write++;
        A->start[v] = diagonal, A->row[diagonal] = v, A->value[diagonal] = mass[v];
        for (int64_t k = g->start[v]; k < g->start[v + 1]; k++) {
            double coupling = tau * fmin(g->stiffness[k], 0);
            A->value[diagonal] -= coupling;
            if (g->to[k] > v) A->row[write] = g->to[k], A->value[write++] = coupling;
        }
    }
    A->start[n] = write;
    return SU_OK;
}

/* phi (count,n) of nodes first, first + 1, ... from their indicators. */
static su_status diffuse(int64_t n, su_cholesky *factor, const double *mass, const int32_t *nearest, int64_t first,
                         int64_t count, double *phi, su_error *err)
{
    for (int64_t k = 0; k < count; k++)
        for (int64_t v = 0; v < n; v++) phi[k * n + v] = nearest[v] == first + k;
    for (int step = 0; step < DIFFUSIONS; step++) {
        for (int64_t i = 0; i < count * n; i++) phi[i] *= mass[i % n];
        SU_TRY(su_cholesky_solve(factor, count, phi, phi, err));
    }
    return SU_OK;
}

/* Entries of a block of nodes, behind those that are there: as (vertex, weight) in the order of nodes. */
typedef struct entries {
    int64_t count, room;
    int32_t *vertex, *node;
    double *weight;
} entries;

static void entries_free(entries *list) { free(list->vertex), free(list->node), free(list->weight); }

static su_status keep_entries(int64_t n, int64_t first, int64_t count, const double *phi, entries *list, su_error *err)
{
    int64_t more = 0;
    for (int64_t i = 0; i < count * n; i++) more += phi[i] >= LEAST_WEIGHT;
    if (list->count + more > list->room) {
        entries grown = {.count = list->count, .room = 2 * list->room + more};
        su_status status = SU_ALLOC(&grown.vertex, grown.room, "smoothing", err);
        if (status == SU_OK) status = SU_ALLOC(&grown.node, grown.room, "smoothing", err);
        if (status == SU_OK) status = SU_ALLOC(&grown.weight, grown.room, "smoothing", err);
        if (status != SU_OK) {
            entries_free(&grown);
            return status;
        }
        if (list->count > 0) {
            memcpy(grown.vertex, list->vertex, (size_t)list->count * sizeof *list->vertex);
            memcpy(grown.node, list->node, (size_t)list->count * sizeof *list->node);
            memcpy(grown.weight, list->weight, (size_t)list->count * sizeof *list->weight);
        }
        entries_free(list);
        *list = grown;
    }
    for (int64_t k = 0; k < count; k++)
        for (int64_t v = 0; v < n; v++)
            if (phi[k * n + v] >= LEAST_WEIGHT) {
                list->vertex[list->count] = (int32_t)v, list->node[list->count] = (int32_t)(first + k);
                list->weight[list->count++] = phi[k * n + v];
            }
    return SU_OK;
}

/* Rows of vertices, nodes ascending, each summing to 1. A vertex below all bounds keeps its own node. */
static su_status make_rows(int64_t n, const int32_t *nearest, const entries *list, su_smooth_weights *out,
                           su_error *err)
{
    int64_t *fill;
    int32_t *number = NULL;
    double *sum = NULL;
    su_status status;
    SU_TRY(SU_ALLOC(&fill, n, "smoothing", err));
    SU_GO(SU_ALLOC(&sum, n, "smoothing", err));
    SU_GO(SU_ALLOC(&out->start, n + 1, "smoothing", err));
    for (int64_t k = 0; k < list->count; k++)
        out->start[list->vertex[k] + 1]++, sum[list->vertex[k]] += list->weight[k];
    for (int64_t v = 0; v < n; v++) {
        if (out->start[v + 1] == 0) out->start[v + 1] = 1;
        out->start[v + 1] += out->start[v], fill[v] = out->start[v];
    }
    out->entries = out->start[n];
    SU_GO(SU_ALLOC(&out->node, out->entries, "smoothing", err));
    SU_GO(SU_ALLOC(&out->weight, out->entries, "smoothing", err));
    for (int64_t k = 0; k < list->count; k++) {
        int64_t v = list->vertex[k], at = fill[v]++;
        out->node[at] = list->node[k], out->weight[at] = list->weight[k] / sum[v];
    }
    for (int64_t v = 0; v < n; v++)
        if (sum[v] == 0) out->node[out->start[v]] = nearest[v], out->weight[out->start[v]] = 1;
    /* A node of a corner so small that diffusion empties it reaches no vertex: the others close up. */
    SU_GO(SU_ALLOC(&number, out->nodes, "nodes", err));
    for (int64_t k = 0; k < out->entries; k++) number[out->node[k]] = 1;
    int32_t left = 0;
    for (int64_t k = 0; k < out->nodes; k++) number[k] = number[k] ? left++ : -1;
    for (int64_t k = 0; k < out->entries; k++) out->node[k] = number[out->node[k]];
    out->nodes = left;
done:
    free(fill), free(sum), free(number);
    return status;
}

su_status su_smooth_weights_create(const su_tet_mesh *mesh, double spacing, double length, int threads,
                                   su_smooth_weights *out, su_error *err)
{
    int64_t n = mesh->n, t = mesh->t;
    const double *vertices = mesh->x;
    const int32_t *tets = mesh->tets;
    graph g = {0};
    su_sparse A = {0};
    su_cholesky *factor = NULL;
    entries list = {0};
    int32_t *nearest = NULL;
    double *mass = NULL, *phi = NULL;
    su_status status;
    *out = (su_smooth_weights){0};
    SU_GO(graph_create(n, vertices, t, tets, &g, err));
    SU_GO(SU_ALLOC(&nearest, n, "nodes", err));
    SU_GO(SU_ALLOC(&mass, n, "smoothing", err));
    SU_GO(SU_ALLOC(&phi, COLUMNS * n, "smoothing", err));
    SU_GO(choose_nodes(n, &g, spacing, nearest, &out->nodes, err));
    for (int64_t e = 0; e < t; e++) {
        const int32_t *tet = tets + 4 * e;
        double edges[9];
        su_tet_edges(vertices + 3 * (int64_t)tet[0], vertices + 3 * (int64_t)tet[1], vertices + 3 * (int64_t)tet[2],
                     vertices + 3 * (int64_t)tet[3], edges);
        for (int c = 0; c < 4; c++) mass[tet[c]] += su_det3(edges) / 24;
    }
    /* A step of tau spreads by sqrt(2 tau) along each axis; squares add. */
    SU_GO(diffusion_matrix(n, &g, mass, 0.5 * length * length / DIFFUSIONS, &A, err));
    SU_GO(su_cholesky_create(&A, threads, &factor, err));
    SU_GO(su_cholesky_factorize(factor, &A, err));
    for (int64_t first = 0; first < out->nodes; first += COLUMNS) {
        int64_t count = out->nodes - first < COLUMNS ? out->nodes - first : COLUMNS;
        SU_GO(diffuse(n, factor, mass, nearest, first, count, phi, err));
        SU_GO(keep_entries(n, first, count, phi, &list, err));
    }
    SU_GO(make_rows(n, nearest, &list, out, err));
done:
    graph_free(&g), su_sparse_free(&A), su_cholesky_free(factor), entries_free(&list);
    free(nearest), free(mass), free(phi);
    if (status != SU_OK) su_smooth_weights_free(out);
    return status;
}
