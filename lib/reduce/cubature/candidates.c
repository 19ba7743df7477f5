#include "reduce/cubature/candidates.h"

#include "core/memory.h"
#include "core/random.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void su_candidates_free(su_candidates *candidates)
{
    free(candidates->point), free(candidates->vertex), free(candidates->corner);
    *candidates = (su_candidates){0};
}

static int32_t corner_of(const su_elastic *flesh, su_point_kind kind, int32_t point, int c)
{
    return kind == SU_POINT_TET ? flesh->tets[SU_POINT_TET * (int64_t)point + c] : point;
}

static bool is_free(const su_elastic *flesh, su_point_kind kind, int32_t point)
{
    for (int c = 0; c < (int)kind; c++)
        if (flesh->free_index[corner_of(flesh, kind, point, c)] >= 0) return true;
    return false;
}

/* Keeps a random `most` of a list, in order. */
static int64_t thin(int64_t count, int32_t *list, int64_t most, uint64_t seed)
{
    enum { STREAM = 0x7468696e }; /* "thin": numbers that nothing else draws */
    su_random random = su_random_seed(seed, STREAM);
    int64_t kept = 0;
    if (count <= most) return count;
    for (int64_t k = 0; k < count; k++) /* selection sampling: Knuth, TAOCP 2, algorithm 3.4.2 S */
        if ((double)(count - k) * su_random_uniform(&random) < (double)(most - kept)) list[kept++] = list[k];
    return kept;
}

/* The vertices that the points touch, ascending, and each corner's number among them. */
static su_status number_vertices(const su_elastic *flesh, su_candidates *out, su_error *err)
{
    int32_t *number;
    SU_TRY(SU_ALLOC(&number, flesh->n, "cubature candidates", err));
    su_status status;
    SU_GO(SU_ALLOC_ALL("cubature candidates", err, SU_WANT(out->vertex, flesh->n),
                       SU_WANT(out->corner, out->kind * out->count)));
    for (int64_t k = 0; k < out->count; k++)
        for (int c = 0; c < (int)out->kind; c++) number[corner_of(flesh, out->kind, out->point[k], c)] = 1;
    for (int32_t v = 0; v < flesh->n; v++)
        if (number[v]) number[v] = (int32_t)out->vertex_count, out->vertex[out->vertex_count++] = v;
    for (int64_t k = 0; k < out->count; k++)
        for (int c = 0; c < (int)out->kind; c++)
            out->corner[out->kind * k + c] = number[corner_of(flesh, out->kind, out->point[k], c)];
done:
    free(number);
    return status;
}

su_status su_candidates_create(const su_elastic *flesh, su_point_kind kind, int64_t most, uint64_t seed,
                               su_candidates *out, su_error *err)
{
    int64_t total = kind == SU_POINT_TET ? flesh->t : flesh->n;
    *out = (su_candidates){.kind = kind};
    SU_TRY(SU_ALLOC(&out->point, total, "cubature candidates", err));
    for (int32_t k = 0; k < total; k++)
        if (is_free(flesh, kind, k)) out->point[out->count++] = k;
    out->count = thin(out->count, out->point, most, seed);
    return number_vertices(flesh, out, err);
}

su_status su_candidates_of(const su_elastic *flesh, su_point_kind kind, int64_t count, const int32_t *points,
                           su_candidates *out, su_error *err)
{
    *out = (su_candidates){.kind = kind, .count = count};
    SU_TRY(SU_ALLOC(&out->point, count, "cubature set", err));
    memcpy(out->point, points, (size_t)count * sizeof *points);
    return number_vertices(flesh, out, err);
}
