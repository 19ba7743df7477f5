#include "reduce/cubature/pair_selection.h"

#include "core/memory.h"
#include "geometry/vector.h"
#include "linalg/nnls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A set grows by this share of itself, at least by one. */
static const double GROWTH = 0.125;

typedef struct grown {
    int64_t rows, count, size, room;
    const double *a, *b;
    int32_t *chosen; /* (count), `size` of them set, as of the two below */
    uint8_t *in;     /* (count) */
    double *norm;    /* (count) */
    double *along;   /* (count) */
    double *gram;    /* (room,room) */
    double *right;   /* (count) */
    double *x;       /* (count) */
    double *packed;  /* (size,size) */
    double *left;    /* (rows) b - sum x a */
} grown;

static void grown_free(grown *g)
{
    free(g->chosen), free(g->in), free(g->norm), free(g->along), free(g->gram), free(g->right), free(g->x),
        free(g->packed), free(g->left);
}

static su_status make_room(grown *g, int64_t size, su_error *err)
{
    if (size <= g->room) return SU_OK;
    int64_t room = 2 * size < g->count ? 2 * size : g->count;
    double *gram, *packed;
    SU_TRY(SU_ALLOC(&gram, room * room, "contact pairs", err));
    for (int64_t i = 0; i < g->size; i++)
        memcpy(gram + i * room, g->gram + i * g->room, (size_t)g->size * sizeof *gram);
    free(g->gram);
    g->gram = gram, g->room = room;
    SU_TRY(SU_ALLOC(&packed, room * room, "contact pairs", err));
    free(g->packed);
    g->packed = packed;
    return SU_OK;
}

/* How well each column lies along what is left. */
static void look_along(grown *g)
{
    for (int64_t k = 0; k < g->count; k++)
        g->along[k] = g->in[k] || !(g->norm[k] > 0) ? 0 : su_dot(g->rows, g->a + k * g->rows, g->left) / g->norm[k];
}

/* The best of them that is not in the set; -1: none lies along it. */
static int64_t best_column(const grown *g)
{
    int64_t best = -1;
    for (int64_t k = 0; k < g->count; k++)
        if (!g->in[k] && g->along[k] > (best < 0 ? 0 : g->along[best])) best = k;
    return best;
}

static su_status add_column(grown *g, int64_t k, su_error *err)
{
    const double *column = g->a + k * g->rows;
    SU_TRY(make_room(g, g->size + 1, err));
    g->chosen[g->size] = (int32_t)k, g->in[k] = 1, g->x[g->size] = 0;
    g->right[g->size] = su_dot(g->rows, column, g->b);
    for (int64_t i = 0; i <= g->size; i++)
        g->gram[i * g->room + g->size] = g->gram[g->size * g->room + i] =
            su_dot(g->rows, column, g->a + g->chosen[i] * g->rows);
    g->size++;
    return SU_OK;
}

static su_status fit(grown *g, su_error *err)
{
    for (int64_t i = 0; i < g->size; i++)
        memcpy(g->packed + i * g->size, g->gram + i * g->room, (size_t)g->size * sizeof *g->packed);
    SU_TRY(su_nnls(g->size, g->packed, g->right, g->x, err));
    memcpy(g->left, g->b, (size_t)g->rows * sizeof *g->left);
    for (int64_t i = 0; i < g->size; i++)
        for (int64_t j = 0; j < g->rows; j++) g->left[j] -= g->x[i] * g->a[g->chosen[i] * g->rows + j];
    return SU_OK;
}

su_status su_pairs_select(const su_column_sum *of, double tolerance, double *weight, int64_t *used, double *error,
                          su_error *err)
{
    int64_t rows = of->rows, count = of->count;
    const double *a = of->a, *b = of->b;
    grown g = {.rows = rows, .count = count, .a = a, .b = b};
    double size = su_norm(rows, b);
    su_status status;
    memset(weight, 0, (size_t)count * sizeof *weight);
    *used = 0, *error = 0;
    if (!(size > 0)) return SU_OK;
    SU_GO(SU_ALLOC_ALL("contact pairs", err, SU_WANT(g.in, count), SU_WANT(g.norm, count), SU_WANT(g.along, count),
                       SU_WANT(g.left, rows), SU_WANT(g.chosen, count), SU_WANT(g.right, count), SU_WANT(g.x, count)));
    memcpy(g.left, b, (size_t)rows * sizeof *b);
    for (int64_t k = 0; k < count; k++) g.norm[k] = su_norm(rows, a + k * rows);
    *error = 1;
    while (*error > tolerance) {
        int64_t more = (int64_t)(GROWTH * (double)g.size) + 1, before = g.size, k;
        look_along(&g);
        while (more-- > 0 && (k = best_column(&g)) >= 0) SU_GO(add_column(&g, k, err));
        if (g.size == before) break;
        SU_GO(fit(&g, err));
        *error = su_norm(rows, g.left) / size;
    }
    for (int64_t i = 0; i < g.size; i++) {
        weight[g.chosen[i]] = g.x[i];
        *used += g.x[i] > 0;
    }
done:
    grown_free(&g);
    return status;
}
