#include "reduce/modes/weight_stiffness.h"

#include "core/memory.h"
#include "geometry/box.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pairs of corners, and where they stand in the couplings of a tet. */
enum { PAIRS = 6 };
static const int pair_of[4][4] = {{-1, 0, 1, 2}, {0, -1, 3, 4}, {1, 3, -1, 5}, {2, 4, 5, -1}};

void su_weight_stiffness_free(su_weight_stiffness *s)
{
    free(s->free_index), free(s->free_vertex);
    su_sparse_free(&s->matrix);
    *s = (su_weight_stiffness){0};
}

/* V c g_a . g_b of the six edges of a tet. */
static su_status tet_couplings(const double *vertices, const int32_t *tet, int64_t e, double c, double out[PAIRS],
                               su_error *err)
{
    double g[12], det = su_tet_gradients(vertices, tet, g);
    if (!(det > 0)) return su_fail(err, SU_INPUT, "tet %lld has no positive volume", (long long)e);
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++) out[pair_of[a][b]] = det / 6 * c * su_dot3(g + 3 * a, g + 3 * b);
    return SU_OK;
}

typedef struct assembly {
    const int32_t *tets;
    int64_t *start; /* (n + 1) tets around each vertex */
    int32_t *list;
    double *coupling; /* (t,6) */
    double *sum;      /* (n) coupling of the vertex at work with each neighbour */
    uint8_t *seen;    /* (n) */
    int32_t *around;  /* (n) its neighbours, as far as they have been met */
} assembly;

/* Neighbours of v and their couplings; their number. */
static int64_t gather(assembly *a, int64_t v)
{
    int64_t count = 0;
    for (int64_t k = a->start[v]; k < a->start[v + 1]; k++) {
        const int64_t e = a->list[k];
        const int32_t *tet = a->tets + 4 * e;
        int corner = 0;
        while (tet[corner] != v) corner++;
        for (int c = 0; c < 4; c++) {
            int32_t w = tet[c];
            if (c == corner) continue;
            if (!a->seen[w]) a->seen[w] = 1, a->sum[w] = 0, a->around[count++] = w;
            a->sum[w] += a->coupling[PAIRS * e + pair_of[corner][c]];
        }
    }
    for (int64_t k = 0; k < count; k++) a->seen[a->around[k]] = 0;
    return count;
}

/* Column of v: its diagonal, minus the sum of all couplings, so that constants cost nothing; then later free vertices,
 * ascending. */
static void write_column(assembly *a, int64_t v, su_weight_stiffness *out, int64_t *at)
{
    su_sparse *K = &out->matrix;
    int64_t count = gather(a, v), first = *at;
    double diagonal = 0;
    K->row[(*at)++] = out->free_index[v];
    for (int64_t k = 0; k < count; k++) {
        int32_t w = a->around[k], row = out->free_index[w];
        diagonal -= a->sum[w];
        if (row < out->free_index[v]) continue; /* held as well: -1 */
        int64_t to = (*at)++;
        for (; to > first + 1 && K->row[to - 1] > row; to--)
            K->row[to] = K->row[to - 1], K->value[to] = K->value[to - 1];
        K->row[to] = row, K->value[to] = a->sum[w];
    }
    K->value[first] = diagonal;
}

static su_status number_free(int64_t n, const uint8_t *held, su_weight_stiffness *out, su_error *err)
{
    SU_TRY(SU_ALLOC_ALL("stiffness", err, SU_WANT(out->free_index, n), SU_WANT(out->free_vertex, n)));
    for (int64_t v = 0; v < n; v++) {
        out->free_index[v] = held && held[v] ? -1 : (int32_t)out->free_count;
        if (out->free_index[v] >= 0) out->free_vertex[out->free_count++] = (int32_t)v;
    }
    return SU_OK;
}

su_status su_weight_stiffness_create(const su_tet_mesh *mesh, const uint8_t *held, const double *c,
                                     su_weight_stiffness *out, su_error *err)
{
    int64_t n = mesh->n, t = mesh->t, at = 0;
    assembly a = {.tets = mesh->tets};
    su_sparse *K = &out->matrix;
    su_status status;
    *out = (su_weight_stiffness){0};
    SU_GO(number_free(n, held, out, err));
    SU_GO(SU_ALLOC_ALL("stiffness", err, SU_WANT(a.start, n + 1), SU_WANT(a.list, 4 * t),
                       SU_WANT(a.coupling, PAIRS * t), SU_WANT(a.sum, n), SU_WANT(a.seen, n), SU_WANT(a.around, n)));
    su_simplices_around(n, t, a.tets, 4, a.start, a.list);
    for (int64_t e = 0; e < t; e++) SU_GO(tet_couplings(mesh->x, a.tets + 4 * e, e, c[e], a.coupling + PAIRS * e, err));
    K->size = out->free_count, K->owns_pattern = 1;
    SU_GO(SU_ALLOC(&K->start, K->size + 1, "stiffness", err));
    for (int64_t v = 0; v < n; v++) { /* count first */
        if (out->free_index[v] < 0) continue;
        int64_t count = 0, around = gather(&a, v);
        for (int64_t k = 0; k < around; k++) count += out->free_index[a.around[k]] > out->free_index[v];
        K->start[out->free_index[v] + 1] = K->start[out->free_index[v]] + 1 + count;
    }
    K->entries = K->start[K->size];
    SU_GO(SU_ALLOC_ALL("stiffness", err, SU_WANT(K->row, K->entries), SU_WANT(K->value, K->entries)));
    for (int64_t f = 0; f < K->size; f++) write_column(&a, out->free_vertex[f], out, &at);
done:
    free(a.start), free(a.list), free(a.coupling), free(a.sum), free(a.seen), free(a.around);
    if (status != SU_OK) su_weight_stiffness_free(out);
    return status;
}

/* ---- other entries of the maps than translations ---- */

/* Entry (row, column) of K, which is there. */
static double *entry_of(su_sparse *K, int64_t column, int64_t row)
{
    int64_t at = K->start[column];
    while (K->row[at] != row) at++;
    return &K->value[at];
}

/* sum over components d of K_dd between corners a and b, times coordinate d of both (scale), or times the sum over the
 * two other coordinates (shear); X (4,3) the corners in the unit of eq. 28, g (4,3) gradients. */
static double entry_coupling(su_covariance covariance, double mu, double lambda, const double *X, const double *g,
                             int a, int b)
{
    double products[3], all = 0, sum = 0;
    for (int d = 0; d < 3; d++) products[d] = X[3 * a + d] * X[3 * b + d], all += products[d];
    for (int d = 0; d < 3; d++)
        sum += (covariance == SU_COVARIANCE_SCALE ? products[d] : all - products[d]) *
               ((lambda + mu) * g[3 * a + d] * g[3 * b + d] + mu * su_dot3(g + 3 * a, g + 3 * b));
    return sum;
}

static void add_tet(su_covariance covariance, const double *vertices, const int32_t *tet, const double centre[3],
                    double length, double mu, double lambda, su_weight_stiffness *out)
{
    double g[12], X[12], volume = su_tet_gradients(vertices, tet, g) / 6;
    for (int k = 0; k < 12; k++) X[k] = (vertices[3 * (int64_t)tet[k / 3] + k % 3] - centre[k % 3]) / length;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b <= a; b++) {
            int32_t i = out->free_index[tet[a]], j = out->free_index[tet[b]];
            if (i >= 0 && j >= 0)
                *entry_of(&out->matrix, i < j ? i : j, i < j ? j : i) +=
                    volume * entry_coupling(covariance, mu, lambda, X, g, a, b);
        }
}

su_status su_weight_stiffness_of(su_covariance covariance, const su_tet_mesh *mesh, const uint8_t *held,
                                 const double *young, const double *poisson, su_weight_stiffness *out, su_error *err)
{
    int64_t t = mesh->t;
    double *c, low[3], high[3], centre[3], square = 0;
    SU_TRY(SU_ROOM(&c, t, "stiffness", err));
    for (int64_t e = 0; e < t; e++) c[e] = su_trace_stiffness(young[e], poisson[e]);
    su_status status = su_weight_stiffness_create(mesh, held, c, out, err);
    free(c);
    if (status != SU_OK || covariance == SU_COVARIANCE_TRANSLATION) return status;
    su_bounding_box(mesh->n, mesh->x, low, high);
    for (int i = 0; i < 3; i++) centre[i] = (low[i] + high[i]) / 2, square += (high[i] - low[i]) * (high[i] - low[i]);
    memset(out->matrix.value, 0, (size_t)out->matrix.entries * sizeof *out->matrix.value);
    for (int64_t e = 0; e < t; e++)
        add_tet(covariance, mesh->x, mesh->tets + 4 * e, centre, sqrt(square) / 2, SU_LAME_MU(young[e], poisson[e]),
                SU_LAME_LAMBDA(young[e], poisson[e]), out);
    return SU_OK;
}
