#include "geometry/rotation_field.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

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
static su_status tets_around(int64_t t, const int32_t *tets, int64_t wanted, const slots *at, int64_t *start, int32_t **around,
                             su_error *err)
{
    int64_t *fill;
    for (int64_t c = 0; c < 4 * t; c++)
        for (int32_t k = at->first[tets[c]]; k >= 0; k = at->next[k]) start[k + 1]++;
    for (int64_t k = 0; k < wanted; k++) start[k + 1] += start[k];
    SU_TRY(SU_ALLOC(around, start[wanted], "tets around vertices", err));
    SU_TRY(SU_ALLOC(&fill, wanted, "tets around vertices", err));
    for (int64_t c = 0; c < 4 * t; c++)
        for (int32_t k = at->first[tets[c]]; k >= 0; k = at->next[k]) (*around)[start[k] + fill[k]++] = (int32_t)(c / 4);
    free(fill);
    return SU_OK;
}

/* Rows of the inverse edge matrix are the gradients of the shape functions of corners 1 to 3. Returns 6 times the volume. */
static double corner_gradients(const double *vertices, const int32_t *tet, double g[12])
{
    double edges[9];
    su_tet_edges(vertices + 3 * (int64_t)tet[0], vertices + 3 * (int64_t)tet[1], vertices + 3 * (int64_t)tet[2],
                 vertices + 3 * (int64_t)tet[3], edges);
    double volume = su_inverse3(edges, g + 3);
    for (int b = 0; b < 3; b++) g[b] = -g[3 + b] - g[6 + b] - g[9 + b];
    return volume;
}

/* Neighbours of slot k behind those that are there, in order of first meeting. place (n): scratch, -1 everywhere. */
static su_status add_ring(const double *vertices, const int32_t *tets, const int32_t *ring, int64_t count, int32_t own,
                          int32_t *place, su_mean_gradients *g, int64_t *at, su_error *err)
{
    int64_t first = *at;
    double total = 0, gradient[12] = {0};
    for (int64_t a = 0; a < count; a++) {
        const int32_t *tet = tets + 4 * (int64_t)ring[a];
        double volume = corner_gradients(vertices, tet, gradient);
        if (!(volume > 0)) return su_fail(err, SU_INPUT, "tet %d has no positive volume", ring[a]);
        total += volume;
        for (int c = 0; c < 4; c++) {
            if (tet[c] == own) continue;   /* positions are taken from there */
            if (place[tet[c]] < 0) place[tet[c]] = (int32_t)(*at - first), g->neighbour[(*at)++] = tet[c];
            double *to = g->coefficient + 3 * (first + place[tet[c]]);
            for (int b = 0; b < 3; b++) to[b] += volume * gradient[3 * c + b];
        }
    }
    for (int64_t j = first; j < *at; j++) {
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
    int64_t *start = NULL, used = 0;
    int32_t *around = NULL, *place = NULL;
    if (!wanted) count = n;
    *out = (su_mean_gradients){.count = count};
    SU_GO(SU_ALLOC(&start, count + 1, "rotation field", err));
    SU_GO(SU_ALLOC(&at.first, n, "rotation field", err));
    SU_GO(SU_ALLOC(&at.next, count, "rotation field", err));
    SU_GO(SU_ALLOC(&place, n, "rotation field", err));
    for (int64_t v = 0; v < n; v++) at.first[v] = place[v] = -1;
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
        SU_GO(add_ring(vertices, tets, around + start[k], start[k + 1] - start[k], out->vertex[k], place, out, &used, err));
        out->start[k + 1] = used;
    }
done:
    free(start), free(around), free(place), free(at.first), free(at.next);
    if (status != SU_OK) su_mean_gradients_free(out);
    return status;
}

/* ---- the field ---- */

struct su_rotation_field {
    su_mean_gradients gradients;
};

void su_rotation_field_free(su_rotation_field *field)
{
    if (!field) return;
    su_mean_gradients_free(&field->gradients);
    free(field);
}

su_status su_rotation_field_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets,
                                   int64_t wanted_count, const int32_t *wanted, su_rotation_field **out, su_error *err)
{
    su_rotation_field *field;
    SU_TRY(SU_ALLOC(&field, 1, "rotation field", err));
    su_status status = su_mean_gradients_create(n, vertices, t, tets, wanted_count, wanted, &field->gradients, err);
    if (status == SU_OK) *out = field;
    else free(field);
    return status;
}

static void vertex_quaternion(const su_mean_gradients *g, int64_t k, const double *x, double out[4])
{
    const double *own = x + 3 * (int64_t)g->vertex[k];
    double F[9] = {0}, R[9];
    for (int64_t j = g->start[k]; j < g->start[k + 1]; j++) {
        const double *at = x + 3 * (int64_t)g->neighbour[j], *c = g->coefficient + 3 * j;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) F[3 * a + b] += (at[a] - own[a]) * c[b];
    }
    su_nearest_rotation(F, R);   /* the identity where there is no tet */
    su_quaternion_of(R, out);
}

void su_rotation_field_evaluate(const su_rotation_field *field, const double *x, double *quaternions, int threads)
{
    const su_mean_gradients *g = &field->gradients;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t k = 0; k < g->count; k++) vertex_quaternion(g, k, x, quaternions + 4 * k);
}
