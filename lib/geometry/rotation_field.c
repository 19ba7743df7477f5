#include "geometry/rotation_field.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_mean_gradients_free(su_mean_gradients *g)
{
    free(g->vertex);
    free(g->start);
    free(g->neighbour);
    free(g->coefficient);
    memset(g, 0, sizeof *g);
}

/* The slot of each wanted vertex: first[v], or -1; a vertex that is wanted twice chains its slots through next. */
typedef struct slots {
    int32_t *first, *next;
} slots;

/* For each slot the tets around its vertex, ascending: start (wanted + 1) into around. */
static su_status tets_around(int64_t t, const int32_t *tets, int64_t wanted, const slots *at, int64_t *start,
                             int32_t **around, su_error *err)
{
    int64_t *fill;
    for (int64_t c = 0; c < 4 * t; c++)
        for (int32_t k = at->first[tets[c]]; k >= 0; k = at->next[k]) start[k + 1]++;
    for (int64_t k = 0; k < wanted; k++) start[k + 1] += start[k];
    SU_TRY(SU_ALLOC(around, start[wanted], "tets around vertices", err));
    SU_TRY(SU_ALLOC(&fill, wanted, "tets around vertices", err));
    for (int64_t c = 0; c < 4 * t; c++)
        for (int32_t k = at->first[tets[c]]; k >= 0; k = at->next[k])
            (*around)[start[k] + fill[k]++] = (int32_t)(c / 4);
    free(fill);
    return SU_OK;
}

/* Rows of gradients as they grow. */
typedef struct rows {
    const double *vertices;
    const int32_t *tets;
    su_mean_gradients *g;
    int64_t used, room; /* neighbours in g */
    int32_t *place;     /* (n) where a vertex stands among the neighbours of the row at hand, -1 */
} rows;

/* The row behind those that are there, from the tets `ring` around `own`: neighbours in order of first meeting. */
static su_status add_ring(rows *r, const int32_t *ring, int64_t count, int32_t own, su_error *err)
{
    su_mean_gradients *g = r->g;
    int32_t *place = r->place;
    int64_t first = r->used;
    double total = 0, gradient[12] = {0};
    for (int64_t a = 0; a < count; a++) {
        const int32_t *tet = r->tets + 4 * (int64_t)ring[a];
        double volume = su_tet_gradients(r->vertices, tet, gradient);
        if (!(volume > 0)) return su_fail(err, SU_INPUT, "tet %d has no positive volume", ring[a]);
        total += volume;
        for (int c = 0; c < 4; c++) {
            if (tet[c] == own) continue; /* positions are taken from there */
            if (place[tet[c]] < 0) place[tet[c]] = (int32_t)(r->used - first), g->neighbour[r->used++] = tet[c];
            double *to = g->coefficient + 3 * (first + place[tet[c]]);
            for (int b = 0; b < 3; b++) to[b] += volume * gradient[3 * c + b];
        }
    }
    for (int64_t j = first; j < r->used; j++) {
        place[g->neighbour[j]] = -1;
        for (int b = 0; b < 3; b++) g->coefficient[3 * j + b] /= total;
    }
    return SU_OK;
}

su_status su_mean_gradients_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets, int64_t count,
                                   const int32_t *wanted, su_mean_gradients *out, su_error *err)
{
    su_status status;
    slots at = {0};
    rows r = {.vertices = vertices, .tets = tets, .g = out};
    int64_t *start = NULL;
    int32_t *around = NULL;
    if (!wanted) count = n;
    *out = (su_mean_gradients){.count = count};
    SU_GO(SU_ALLOC(&start, count + 1, "rotation field", err));
    SU_GO(SU_ALLOC(&at.first, n, "rotation field", err));
    SU_GO(SU_ALLOC(&at.next, count, "rotation field", err));
    SU_GO(SU_ALLOC(&r.place, n, "rotation field", err));
    for (int64_t v = 0; v < n; v++) at.first[v] = r.place[v] = -1;
    for (int64_t k = 0; k < count; k++) {
        int64_t v = wanted ? wanted[k] : k;
        at.next[k] = at.first[v], at.first[v] = (int32_t)k;
    }
    SU_GO(tets_around(t, tets, count, &at, start, &around, err));
    SU_GO(SU_ALLOC(&out->start, count + 1, "rotation field", err));
    SU_GO(SU_ALLOC(&out->vertex, count, "rotation field", err));
    SU_GO(SU_ALLOC(&out->neighbour, 3 * start[count], "rotation field", err));
    SU_GO(SU_ALLOC(&out->coefficient, 9 * start[count], "rotation field", err));
    for (int64_t k = 0; k < count; k++) {
        out->vertex[k] = wanted ? wanted[k] : (int32_t)k;
        SU_GO(add_ring(&r, around + start[k], start[k + 1] - start[k], out->vertex[k], err));
        out->start[k + 1] = r.used;
    }
done:
    free(start), free(around), free(r.place), free(at.first), free(at.next);
    if (status != SU_OK) su_mean_gradients_free(out);
    return status;
}

/* ---- nodes of a smoothing ---- */

/* The rows of a smoothing the other way round: of each node its vertices and phi. */
typedef struct supports {
    int64_t *start; /* (nodes + 1) */
    int32_t *vertex;
    double *weight;
} supports;

static su_status turn_round(int64_t n, const su_smoothing *smoothing, supports *out, su_error *err)
{
    int64_t entries = smoothing->start[n];
    SU_TRY(SU_ALLOC(&out->start, smoothing->nodes + 2, "rotation field", err));
    SU_TRY(SU_ALLOC(&out->vertex, entries, "rotation field", err));
    SU_TRY(SU_ALLOC(&out->weight, entries, "rotation field", err));
    for (int64_t k = 0; k < entries; k++) out->start[smoothing->node[k] + 2]++;
    for (int64_t k = 0; k < smoothing->nodes; k++) out->start[k + 2] += out->start[k + 1];
    for (int32_t v = 0; v < n; v++)
        for (int64_t k = smoothing->start[v]; k < smoothing->start[v + 1]; k++) {
            int64_t at = out->start[smoothing->node[k] + 1]++;
            out->vertex[at] = v, out->weight[at] = smoothing->weight[k];
        }
    return SU_OK;
}

/* What the nodes' rows are made of: their vertices, the tets around each vertex, and scratch. */
typedef struct nodes {
    supports all;
    int64_t *start;  /* (n + 1) into around */
    int32_t *around; /* tets */
    double *phi;     /* (n) of the node at hand */
    int32_t *seen;   /* (t) the last node that has met the tet */
} nodes;

/* Room for `more` neighbours behind those that there are, at least doubled. */
static su_status make_room(rows *r, int64_t more, su_error *err)
{
    su_mean_gradients *g = r->g;
    int32_t *neighbour = NULL;
    double *coefficient = NULL;
    su_status status;
    if (r->used + more <= r->room) return SU_OK;
    int64_t wanted = 2 * r->room + more;
    SU_GO(SU_ALLOC(&neighbour, wanted, "rotation field", err));
    SU_GO(SU_ALLOC(&coefficient, 3 * wanted, "rotation field", err));
    for (int64_t k = 0; k < r->used; k++) neighbour[k] = g->neighbour[k];
    for (int64_t k = 0; k < 3 * r->used; k++) coefficient[k] = g->coefficient[k];
    free(g->neighbour), free(g->coefficient);
    g->neighbour = neighbour, g->coefficient = coefficient, r->room = wanted;
    return SU_OK;
done:
    free(neighbour);
    return status;
}

static su_status add_node(rows *r, const nodes *all, int32_t node, su_error *err)
{
    const int32_t *members = all->all.vertex;
    int64_t first = r->used, from = all->all.start[node], to = all->all.start[node + 1];
    double total = 0, gradient[12];
    for (int64_t k = from; k < to; k++) all->phi[members[k]] = all->all.weight[k];
    for (int64_t k = from; k < to; k++)
        for (int64_t a = all->start[members[k]]; a < all->start[members[k] + 1]; a++) {
            int32_t e = all->around[a];
            const int32_t *tet = r->tets + 4 * (int64_t)e;
            if (all->seen[e] == node + 1) continue;
            all->seen[e] = node + 1;
            double volume = su_tet_gradients(r->vertices, tet, gradient);
            if (!(volume > 0)) return su_fail(err, SU_INPUT, "tet %d has no positive volume", e);
            volume *= 0.25 * (all->phi[tet[0]] + all->phi[tet[1]] + all->phi[tet[2]] + all->phi[tet[3]]);
            total += volume;
            SU_TRY(make_room(r, 4, err));
            for (int c = 0; c < 4; c++) {
                if (r->place[tet[c]] < 0) {
                    r->place[tet[c]] = (int32_t)(r->used - first), r->g->neighbour[r->used] = tet[c];
                    for (int b = 0; b < 3; b++) r->g->coefficient[3 * r->used + b] = 0;
                    r->used++;
                }
                double *sum = r->g->coefficient + 3 * (first + r->place[tet[c]]);
                for (int b = 0; b < 3; b++) sum[b] += volume * gradient[3 * c + b];
            }
        }
    for (int64_t j = first; j < r->used; j++) {
        r->place[r->g->neighbour[j]] = -1;
        for (int b = 0; b < 3; b++) r->g->coefficient[3 * j + b] /= total;
    }
    for (int64_t k = from; k < to; k++) all->phi[members[k]] = 0;
    return SU_OK;
}

su_status su_node_gradients_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets,
                                   const su_smoothing *smoothing, su_mean_gradients *out, su_error *err)
{
    su_status status;
    slots every = {0};
    nodes all = {0};
    rows r = {.vertices = vertices, .tets = tets, .g = out};
    *out = (su_mean_gradients){.count = smoothing->nodes};
    SU_GO(turn_round(n, smoothing, &all.all, err));
    SU_GO(SU_ALLOC(&all.start, n + 1, "rotation field", err));
    SU_GO(SU_ALLOC(&every.first, n, "rotation field", err));
    SU_GO(SU_ALLOC(&every.next, n, "rotation field", err));
    SU_GO(SU_ALLOC(&all.phi, n, "rotation field", err));
    SU_GO(SU_ALLOC(&r.place, n, "rotation field", err));
    SU_GO(SU_ALLOC(&all.seen, t, "rotation field", err));
    for (int32_t v = 0; v < n; v++) every.first[v] = v, every.next[v] = r.place[v] = -1;
    SU_GO(tets_around(t, tets, n, &every, all.start, &all.around, err));
    SU_GO(SU_ALLOC(&out->start, out->count + 1, "rotation field", err));
    for (int32_t k = 0; k < out->count; k++) {
        SU_GO(add_node(&r, &all, k, err));
        out->start[k + 1] = r.used;
    }
done:
    free(all.all.start), free(all.all.vertex), free(all.all.weight);
    free(all.start), free(all.around), free(all.phi), free(all.seen);
    free(every.first), free(every.next), free(r.place);
    if (status != SU_OK) su_mean_gradients_free(out);
    return status;
}

/* ---- the field ---- */

struct su_rotation_field {
    su_mean_gradients gradients; /* of the wanted vertices, or of the nodes */
    su_smoothing smoothing;
    int64_t count;   /* wanted vertices */
    int32_t *wanted; /* (count) with a smoothing */
    double *node;    /* (nodes,9) with a smoothing */
};

void su_rotation_field_free(su_rotation_field *field)
{
    if (!field) return;
    su_mean_gradients_free(&field->gradients);
    free(field->wanted), free(field->node);
    free(field);
}

/* Which vertices are wanted, and room for the nodes' gradients. */
static su_status allocate_smooth(su_rotation_field *field, int64_t node_count, const int32_t *wanted, su_error *err)
{
    SU_TRY(SU_ALLOC(&field->wanted, field->count, "rotation field", err));
    for (int64_t k = 0; k < field->count; k++) field->wanted[k] = wanted ? wanted[k] : (int32_t)k;
    return SU_ALLOC(&field->node, 9 * node_count, "rotation field", err);
}

su_status su_rotation_field_create(const su_tet_mesh *mesh, const su_smoothing *smoothing, int64_t wanted_count,
                                   const int32_t *wanted, su_rotation_field **out, su_error *err)
{
    int64_t n = mesh->n, t = mesh->t;
    const double *vertices = mesh->x;
    const int32_t *tets = mesh->tets;
    su_rotation_field *field;
    su_status status;
    SU_TRY(SU_ALLOC(&field, 1, "rotation field", err));
    field->count = wanted ? wanted_count : n;
    if (smoothing && smoothing->nodes > 0) {
        field->smoothing = *smoothing;
        status = allocate_smooth(field, smoothing->nodes, wanted, err);
        if (status == SU_OK) status = su_node_gradients_create(n, vertices, t, tets, smoothing, &field->gradients, err);
    } else {
        status = su_mean_gradients_create(n, vertices, t, tets, wanted_count, wanted, &field->gradients, err);
    }
    if (status == SU_OK)
        *out = field;
    else
        su_rotation_field_free(field);
    return status;
}

static void mean_gradient(const su_mean_gradients *g, int64_t k, const double *x, double F[9])
{
    static const double origin[3];
    const double *own = g->vertex ? x + 3 * (int64_t)g->vertex[k] : origin;
    for (int i = 0; i < 9; i++) F[i] = 0;
    for (int64_t j = g->start[k]; j < g->start[k + 1]; j++) {
        const double *at = x + 3 * (int64_t)g->neighbour[j], *c = g->coefficient + 3 * j;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) F[3 * a + b] += (at[a] - own[a]) * c[b];
    }
}

/* F += the nodes' gradients as a vertex weighs them */
static void add_smooth(const su_smoothing *smooth, int64_t vertex, const double *node, double F[9])
{
    for (int64_t j = smooth->start[vertex]; j < smooth->start[vertex + 1]; j++)
        for (int i = 0; i < 9; i++) F[i] += smooth->weight[j] * node[9 * (int64_t)smooth->node[j] + i];
}

void su_rotation_field_evaluate(su_rotation_field *field, const double *x, double *quaternions, int threads)
{
    const su_mean_gradients *g = &field->gradients;
    const su_smoothing *smooth = &field->smoothing;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (int64_t k = 0; k < smooth->nodes; k++) mean_gradient(g, k, x, field->node + 9 * k);
#pragma omp for schedule(static)
        for (int64_t from = 0; from < field->count; from += SU_ROTATION_LANES) {
            double F[9 * SU_ROTATION_LANES] = {0}, R[9 * SU_ROTATION_LANES];
            int64_t some = field->count - from < SU_ROTATION_LANES ? field->count - from : SU_ROTATION_LANES;
            for (int64_t k = from; k < from + some; k++) {
                double *own = F + 9 * (k - from);
                if (smooth->nodes == 0)
                    mean_gradient(g, k, x, own);
                else
                    add_smooth(smooth, field->wanted[k], field->node, own);
            }
            su_nearest_rotations(some, F, R); /* the identity where there is no tet */
            for (int64_t k = 0; k < some; k++) su_quaternion_of(R + 9 * k, quaternions + 4 * (from + k));
        }
    }
}
