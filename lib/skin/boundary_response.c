#include "skin/boundary_response.h"

#include "core/memory.h"
#include "core/order.h"
#include "linalg/cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Boundary vertices a patch: a factor of its interior serves three times as many right-hand sides. */
enum { PATCH = 64 };

/* Vertices within so many edges of `count` seeds, those first; through rows from `low` on where they are not seeds.
 * distance (rows) is -1 everywhere, and again after su_reach_clear. */
static int64_t reach(const su_blocks *K, int64_t count, int rings, int64_t low, int32_t *list, int8_t *distance)
{
    for (int64_t k = 0; k < count; k++) distance[list[k]] = 0;
    for (int64_t at = 0; at < count && distance[list[at]] < rings; at++)
        for (int64_t k = K->start[list[at]]; k < K->start[list[at] + 1]; k++) {
            int32_t c = K->column[k];
            if (distance[c] < 0 && c >= low) distance[c] = (int8_t)(distance[list[at]] + 1), list[count++] = c;
        }
    return count;
}

static void clear(int64_t count, const int32_t *list, int8_t *distance)
{
    for (int64_t k = 0; k < count; k++) distance[list[k]] = -1;
}

/* The pattern: boundary vertices at most `rings` edges of the mesh apart. */
static su_status find_pattern(const su_ex_rotated *body, const su_blocks *K, int rings, su_blocks *out, su_error *err)
{
    int32_t *list = NULL;
    int8_t *distance = NULL;
    su_status status;
    out->rows = body->outer, out->owns_pattern = 1;
    SU_GO(SU_ALLOC(&out->start, body->outer + 1, "boundary response", err));
    SU_GO(SU_ALLOC(&list, body->count, "boundary response", err));
    SU_GO(SU_ALLOC(&distance, body->count, "boundary response", err));
    memset(distance, -1, (size_t)body->count);
    int64_t room = 0;
    for (int64_t b = 0; b < body->outer; b++) {
        list[0] = (int32_t)b;
        int64_t near = reach(K, 1, rings, 0, list, distance), kept = 0;
        clear(near, list, distance);
        for (int64_t k = 0; k < near; k++)
            if (list[k] < body->outer) list[kept++] = list[k];
        su_sort(list, (size_t)kept, sizeof *list, su_order_int32);
        if (out->entries + kept > room) {
            room = 2 * (out->entries + kept);
            int32_t *more = realloc(out->column, (size_t)room * sizeof *more);
            if (!more) {
                status = su_fail(err, SU_AGAIN, "no memory for the boundary response");
                goto done;
            }
            out->column = more;
        }
        memcpy(out->column + out->entries, list, (size_t)kept * sizeof *list);
        out->start[b + 1] = out->entries += kept;
    }
    SU_GO(SU_ALLOC(&out->value, 9 * out->entries, "boundary response", err));
done:
    free(list), free(distance);
    return status;
}

/* Rows of boundary vertices patch[0..count): S = K_bb - K_bi K_ii^-1 K_ib, into out; rest (body->outer,3) gains the
 * absolute values of what is not in the pattern, by columns of the patch. */
static su_status respond(const su_ex_rotated *body, const su_blocks *K, int rings, int64_t count, const int32_t *patch,
                         su_blocks *out, double *dropped, su_error *err)
{
    int32_t *list = NULL, *position = NULL;
    int8_t *distance = NULL;
    double *right = NULL, *full = NULL, *answer = NULL;
    su_sparse matrix = {0};
    su_cholesky *factor = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&list, body->count, "boundary response", err));
    SU_GO(SU_ALLOC(&position, body->count, "boundary response", err));
    SU_GO(SU_ALLOC(&distance, body->count, "boundary response", err));
    memset(distance, -1, (size_t)body->count);
    memset(position, -1, (size_t)body->count * sizeof *position);
    memcpy(list, patch, (size_t)count * sizeof *patch);
    int64_t near = reach(K, count, rings + 1, 0, list, distance), inside = 0;
    clear(near, list, distance);
    su_sort(list, (size_t)near, sizeof *list, su_order_int32);
    for (int64_t k = 0; k < near; k++)
        if (list[k] >= body->outer) position[list[k]] = (int32_t)inside++;
    SU_GO(SU_ALLOC(&full, 3 * body->count, "boundary response", err));
    SU_GO(SU_ALLOC(&answer, 3 * body->count, "boundary response", err));
    SU_GO(SU_ALLOC(&right, 9 * count * inside + 1, "boundary response", err));
    if (inside > 0) {
        SU_GO(su_blocks_lower(K, position, inside, &matrix, NULL, err));
        SU_GO(su_cholesky_create(&matrix, 1, &factor, err));
        SU_GO(su_cholesky_factorize(factor, &matrix, err));
        for (int64_t k = 0; k < count; k++)
            for (int64_t z = K->start[patch[k]]; z < K->start[patch[k] + 1]; z++) {
                int32_t at = position[K->column[z]];
                for (int j = 0; j < 3 && at >= 0; j++) /* K_ib = K_bi' */
                    for (int i = 0; i < 3; i++)
                        right[3 * inside * (3 * k + j) + 3 * at + i] = K->value[9 * z + 3 * j + i];
            }
        SU_GO(su_cholesky_solve(factor, 3 * count, right, right, err));
    }
    for (int64_t k = 0; k < count; k++)
        for (int j = 0; j < 3; j++) {
            const double *x = right + 3 * inside * (3 * k + j);
            for (int64_t m = 0; m < near; m++) {
                int32_t row = list[m];
                for (int i = 0; i < 3; i++)
                    full[3 * (int64_t)row + i] = position[row] >= 0          ? -x[3 * position[row] + i]
                                                 : row == patch[k] && i == j ? 1
                                                                             : 0;
            }
            int64_t own = patch[k];
            for (int64_t m = 0; m < near && list[m] < body->outer; m++) {
                int32_t row = list[m];
                double *to = answer + 3 * (int64_t)row;
                to[0] = to[1] = to[2] = 0;
                su_blocks_add_product(K, row, row + 1, 0, body->count, 1, full, answer);
                int64_t at = su_blocks_find(out, own, row); /* the column as a row: the matrix is symmetric */
                for (int i = 0; i < 3; i++) {
                    if (at >= 0)
                        out->value[9 * at + 3 * j + i] = to[i];
                    else
                        dropped[3 * own + j] += fabs(to[i]);
                }
            }
            for (int64_t m = 0; m < near; m++) memset(full + 3 * (int64_t)list[m], 0, 3 * sizeof *full);
        }
done:
    su_cholesky_free(factor);
    su_sparse_free(&matrix);
    free(list), free(position), free(distance), free(right), free(full), free(answer);
    return status;
}

/* What patches computed apart differs in the last bits, and by what each held: the mean of both. */
static void symmetrize(su_blocks *S, const double *dropped)
{
    for (int64_t r = 0; r < S->rows; r++)
        for (int64_t k = S->start[r]; k < S->start[r + 1]; k++) {
            if (S->column[k] > r) continue;
            double *a = S->value + 9 * k, *b = S->value + 9 * su_blocks_find(S, S->column[k], (int32_t)r);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    if (a == b && j > i) continue;
                    double mean = 0.5 * (a[3 * i + j] + b[3 * j + i]);
                    a[3 * i + j] = b[3 * j + i] = mean;
                }
            for (int i = 0; i < 3 && S->column[k] == r; i++) a[4 * i] += dropped[3 * r + i];
        }
}

su_status su_boundary_response_create(const su_ex_rotated *body, const su_blocks *K, int rings, int threads,
                                      su_blocks *out, su_error *err)
{
    su_blocks S = {0};
    double *dropped = NULL;
    int32_t *order = NULL;
    su_status status;
    SU_GO(find_pattern(body, K, rings, &S, err));
    SU_GO(SU_ALLOC(&dropped, 3 * body->outer + 1, "boundary response", err));
    SU_GO(SU_ALLOC(&order, body->outer + 1, "boundary response", err));
    SU_GO(su_blocks_band_order(&S, order, err)); /* neighbours make patches */
    int64_t patches = (body->outer + PATCH - 1) / PATCH;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (int64_t p = 0; p < patches; p++) {
        su_error mine = {0};
        int64_t first = p * PATCH, some = body->outer - first < PATCH ? body->outer - first : PATCH;
        su_status one = respond(body, K, rings, some, order + first, &S, dropped, &mine);
        if (one == SU_OK) continue;
#pragma omp critical(su_boundary_response)
        if (status == SU_OK) {
            status = one;
            if (err) *err = mine;
        }
    }
    if (status != SU_OK) goto done;
    symmetrize(&S, dropped);
    *out = S;
    S = (su_blocks){0};
done:
    su_blocks_free(&S);
    free(dropped), free(order);
    return status;
}
