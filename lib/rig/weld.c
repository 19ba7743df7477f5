#include "rig/weld.h"

#include "core/memory.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_TOLERANCE 1e-5

/* Cells of the size of the weld distance in a hash table of chains; a neighbour is at most one cell away. */
typedef struct grid {
    int64_t mask;
    int32_t *head; /* (mask + 1) welded vertex, -1: none */
    int32_t *next; /* by welded vertex */
    double low[3], inverse;
} grid;

static uint64_t hash_cell(const int64_t c[3])
{
    uint64_t h = (uint64_t)c[0] * 0x9e3779b97f4a7c15u ^ (uint64_t)c[1] * 0xc2b2ae3d27d4eb4fu ^
                 (uint64_t)c[2] * 0x165667b19e3779f9u;
    h ^= h >> 31;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 29;
}

static void cell_of(const grid *g, const double *p, int64_t c[3])
{
    for (int i = 0; i < 3; i++) {
        double x = (p[i] - g->low[i]) * g->inverse;
        c[i] = (int64_t)fmin(x, 9e15);
    }
}

/* Sum of |differences| of two rows whose bones ascend. */
static double row_difference(const su_skin *skin, int64_t a, int64_t b)
{
    int64_t i = skin->start[a], j = skin->start[b];
    double sum = 0.0;
    while (i < skin->start[a + 1] || j < skin->start[b + 1]) {
        int32_t left = i < skin->start[a + 1] ? skin->bone[i] : INT32_MAX;
        int32_t right = j < skin->start[b + 1] ? skin->bone[j] : INT32_MAX;
        double x = left <= right ? skin->weight[i++] : 0.0, y = right <= left ? skin->weight[j++] : 0.0;
        sum += fabs(x - y);
    }
    return sum;
}

static int moves_alike(const su_weld_input *in, int64_t a, int64_t b)
{
    if (in->object_ids && in->object_ids[a] != in->object_ids[b]) return 0;
    if (!(su_distance3(in->points + 3 * a, in->points + 3 * b) <= in->distance)) return 0;
    if (in->skin && row_difference(in->skin, a, b) > WEIGHT_TOLERANCE) return 0;
    for (int64_t k = 0; in->shape_offsets && k < in->shapes; k++) {
        const double *offset = in->shape_offsets + 3 * in->vertices * k;
        if (!(su_distance3(offset + 3 * a, offset + 3 * b) <= in->distance)) return 0;
    }
    return 1;
}

su_status su_weld(const su_weld_input *input, int32_t *source_vertex, int32_t *first, int64_t *count, su_error *err)
{
    su_arena arena = {0};
    grid g = {.mask = 1};
    while (g.mask < 2 * input->vertices) g.mask *= 2;
    g.head = su_arena_alloc(&arena, g.mask, sizeof *g.head);
    g.next = su_arena_alloc(&arena, input->vertices, sizeof *g.next);
    if (!g.head || !g.next) {
        su_arena_free(&arena);
        return su_fail(err, SU_AGAIN, "not enough memory to weld %lld vertices", (long long)input->vertices);
    }
    g.mask--;
    memset(g.head, 0xff, (size_t)(g.mask + 1) * sizeof *g.head);
    for (int i = 0; i < 3; i++) g.low[i] = INFINITY;
    for (int64_t i = 0; i < 3 * input->vertices; i++) g.low[i % 3] = fmin(g.low[i % 3], input->points[i]);
    double cell = fmax(input->distance, 1e-300);
    for (int i = 0; i < 3; i++) g.low[i] -= cell;
    g.inverse = 1.0 / cell;

    *count = 0;
    for (int64_t v = 0; v < input->vertices; v++) {
        int64_t home[3];
        int32_t found = -1;
        cell_of(&g, input->points + 3 * v, home);
        for (int n = 0; n < 27; n++) {
            int64_t c[3] = {home[0] + n / 9 - 1, home[1] + n / 3 % 3 - 1, home[2] + n % 3 - 1};
            for (int32_t w = g.head[hash_cell(c) & (uint64_t)g.mask]; w >= 0; w = g.next[w])
                if ((found < 0 || w < found) && moves_alike(input, v, first[w])) found = w;
        }
        if (found < 0) {
            found = (int32_t)(*count)++;
            first[found] = (int32_t)v;
            uint64_t slot = hash_cell(home) & (uint64_t)g.mask;
            g.next[found] = g.head[slot], g.head[slot] = found;
        }
        source_vertex[v] = found;
    }
    su_arena_free(&arena);
    return SU_OK;
}
