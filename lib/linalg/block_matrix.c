#include "linalg/block_matrix.h"

#include "core/memory.h"
#include "core/order.h"

#include <stdlib.h>
#include <string.h>

su_status su_blocks_of_tets(const int32_t *number, int64_t rows, int64_t t, const int32_t *tets, su_blocks *out,
                            su_error *err)
{
    int64_t *fill = NULL, write = 0;
    su_blocks A = {.rows = rows, .owns_pattern = 1};
    su_status status;
    SU_GO(SU_ALLOC(&A.start, rows + 1, "stiffness pattern", err));
    SU_GO(SU_ALLOC(&fill, rows + 1, "stiffness pattern", err));
    SU_GO(SU_ALLOC(&A.column, 16 * t + 1, "stiffness pattern", err));
    for (int64_t k = 0; k < 4 * t; k++)
        if (number[tets[k]] >= 0) fill[number[tets[k]] + 1] += 4; /* at most */
    for (int64_t r = 0; r < rows; r++) fill[r + 1] += fill[r];
    memcpy(A.start, fill, (size_t)(rows + 1) * sizeof *fill);
    for (int64_t e = 0; e < t; e++)
        for (int a = 0; a < 4; a++) {
            int32_t row = number[tets[4 * e + a]];
            for (int b = 0; b < 4 && row >= 0; b++)
                if (number[tets[4 * e + b]] >= 0) A.column[fill[row]++] = number[tets[4 * e + b]];
        }
    for (int64_t r = 0; r < rows; r++) { /* sorted, each once */
        int64_t from = A.start[r], to = fill[r];
        su_sort(A.column + from, (size_t)(to - from), sizeof *A.column, su_order_int32);
        A.start[r] = write;
        for (int64_t k = from; k < to; k++)
            if (k == from || A.column[k] != A.column[write - 1]) A.column[write++] = A.column[k];
    }
    A.start[rows] = A.entries = write;
    int32_t *tight = realloc(A.column, (size_t)(write + 1) * sizeof *tight);
    if (tight) A.column = tight;
    SU_GO(SU_ALLOC(&A.value, 9 * write, "stiffness", err));
    *out = A;
    A = (su_blocks){0};
done:
    free(fill);
    su_blocks_free(&A);
    return status;
}

su_status su_blocks_clone(const su_blocks *pattern, su_blocks *out, su_error *err)
{
    su_blocks clone = *pattern;
    clone.owns_pattern = 0, clone.value = NULL;
    SU_TRY(SU_ALLOC(&clone.value, 9 * pattern->entries, "stiffness", err));
    *out = clone;
    return SU_OK;
}

void su_blocks_free(su_blocks *A)
{
    if (!A) return;
    if (A->owns_pattern) free(A->start), free(A->column);
    free(A->value);
    *A = (su_blocks){0};
}

int64_t su_blocks_find(const su_blocks *A, int64_t row, int32_t column)
{
    int64_t at = su_first_not_below(A->column, A->start[row], A->start[row + 1], column);
    return at < A->start[row + 1] && A->column[at] == column ? at : -1;
}

void su_blocks_add_product(const su_blocks *A, int64_t from, int64_t to, int64_t low, int64_t high, double factor,
                           const double *x, double *y)
{
    for (int64_t r = from; r < to; r++) {
        double s0 = 0, s1 = 0, s2 = 0;
        for (int64_t k = A->start[r]; k < A->start[r + 1]; k++) {
            int32_t c = A->column[k];
            if (c < low || c >= high) continue;
            const double *a = A->value + 9 * k, *v = x + 3 * (int64_t)c;
            s0 += a[0] * v[0] + a[1] * v[1] + a[2] * v[2];
            s1 += a[3] * v[0] + a[4] * v[1] + a[5] * v[2];
            s2 += a[6] * v[0] + a[7] * v[1] + a[8] * v[2];
        }
        y[3 * r] += factor * s0, y[3 * r + 1] += factor * s1, y[3 * r + 2] += factor * s2;
    }
}

/* Of a row among those that are listed. */
static int32_t place_of(const int32_t *position, int64_t row) { return position ? position[row] : (int32_t)row; }

su_status su_blocks_lower(const su_blocks *A, const int32_t *position, int64_t count, su_sparse *out, int64_t **source,
                          su_error *err)
{
    su_sparse L = {.size = 3 * count, .owns_pattern = 1};
    int32_t *row_at = NULL; /* (count) */
    int64_t *from = NULL, write = 0, entries = 0;
    su_status status;
    SU_GO(SU_ALLOC(&row_at, count + 1, "stiffness", err));
    for (int64_t r = 0; r < A->rows; r++)
        if (place_of(position, r) >= 0) row_at[place_of(position, r)] = (int32_t)r;
    for (int64_t p = 0; p < count; p++)
        for (int64_t k = A->start[row_at[p]]; k < A->start[row_at[p] + 1]; k++) {
            int32_t q = place_of(position, A->column[k]);
            entries += q < p ? 0 : q == p ? 6 : 9;
        }
    L.entries = entries;
    SU_GO(SU_ALLOC(&L.start, 3 * count + 1, "stiffness", err));
    SU_GO(SU_ALLOC(&L.row, entries, "stiffness", err));
    SU_GO(SU_ALLOC(&L.value, entries, "stiffness", err));
    SU_GO(SU_ALLOC(&from, entries, "stiffness", err));
    for (int64_t p = 0; p < count; p++)
        for (int c = 0; c < 3; c++) { /* column 3p + c: row p of blocks, transposed by symmetry */
            int64_t first = write;
            L.start[3 * p + c] = write;
            for (int64_t k = A->start[row_at[p]]; k < A->start[row_at[p] + 1]; k++) {
                int32_t q = place_of(position, A->column[k]);
                if (q < p) continue;
                for (int i = q == p ? c : 0; i < 3; i++)
                    L.row[write] = 3 * (int64_t)q + i, from[write++] = 9 * k + 3 * c + i;
            }
            for (int64_t a = first + 1; a < write; a++) /* rows ascend; nearly sorted where positions follow rows */
                for (int64_t b = a; b > first && L.row[b] < L.row[b - 1]; b--) {
                    int64_t row = L.row[b], place = from[b];
                    L.row[b] = L.row[b - 1], from[b] = from[b - 1];
                    L.row[b - 1] = row, from[b - 1] = place;
                }
        }
    L.start[3 * count] = write;
    for (int64_t k = 0; k < write; k++) L.value[k] = A->value[from[k]];
    *out = L;
    L = (su_sparse){0};
    if (source) *source = from, from = NULL;
done:
    free(row_at), free(from);
    su_sparse_free(&L);
    return status;
}

su_status su_blocks_band_order(const su_blocks *A, int32_t *order, su_error *err)
{
    uint8_t *seen;
    int64_t done = 0, seed = 0;
    SU_TRY(SU_ALLOC(&seen, A->rows + 1, "ordering", err));
    while (done < A->rows) {
        int64_t first = done;
        while (seen[seed] == 2) seed++;
        int32_t start = (int32_t)seed;
        for (int sweep = 0; sweep < 3; sweep++) { /* the last one reached is an end of this part */
            for (int64_t k = first; k < done; k++) seen[order[k]] = 0;
            done = first;
            order[done++] = start, seen[start] = 1;
            for (int64_t at = first; at < done; at++)
                for (int64_t k = A->start[order[at]]; k < A->start[order[at] + 1]; k++)
                    if (!seen[A->column[k]]) seen[A->column[k]] = 1, order[done++] = A->column[k];
            start = order[done - 1];
        }
        for (int64_t k = first; k < done; k++) seen[order[k]] = 2;
    }
    for (int64_t a = 0, b = A->rows - 1; a < b; a++, b--) {
        int32_t swap = order[a];
        order[a] = order[b], order[b] = swap;
    }
    free(seen);
    return SU_OK;
}
