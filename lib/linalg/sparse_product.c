#include "linalg/sparse_product.h"

#include "core/memory.h"
#include "core/vector_clones.h"

#include <stdlib.h>
#include <string.h>

/* Block columns of a piece: two vectors of them and of the rows beyond, 15 kB, stay in the nearest cache. */
enum { PIECE = 256 };

/* Rows are numbered piece by piece: its own, from 0 on, then those beyond it. */
struct su_sparse_product {
    int64_t columns, pieces; /* of three */
    int threads;
    int64_t *block_at;  /* (columns + 1) in row */
    int32_t *row;       /* below the diagonal, of each column, in its piece's numbers */
    int64_t *beyond_at; /* (pieces + 1) in beyond */
    int32_t *beyond;    /* which rows they are */
    double *x, *y;      /* of all pieces, three numbers a row, and one more that vectors of four reach to */
};

static int64_t first_of(const su_sparse_product *s, int64_t piece)
{
    return piece * PIECE < s->columns ? piece * PIECE : s->columns;
}

/* Where the numbers of a piece begin in x and y. */
static int64_t begin_of(const su_sparse_product *s, int64_t piece)
{
    return 3 * (first_of(s, piece) + s->beyond_at[piece]) + piece;
}

/* The rows beyond each piece, in the order in which its columns name them. Without a list they are counted. */
static void list_beyond(su_sparse_product *s, const su_sparse *pattern, int32_t *seen)
{
    int64_t count = 0;
    for (int64_t k = 0; k < s->columns; k++) seen[k] = -1;
    for (int64_t p = 0; p < s->pieces; p++) {
        int64_t from = first_of(s, p), to = first_of(s, p + 1);
        s->beyond_at[p] = count;
        for (int64_t j = from; j < to; j++) {
            const int64_t *row = pattern->row + pattern->start[3 * j] + 3;
            int64_t blocks = s->block_at[j + 1] - s->block_at[j];
            for (int64_t k = 0; k < blocks; k++) {
                int64_t r = row[3 * k] / 3;
                if (r >= to && seen[r] < s->beyond_at[p]) {
                    if (s->beyond) s->beyond[count] = (int32_t)r;
                    seen[r] = (int32_t)count++;
                }
                if (s->beyond)
                    s->row[s->block_at[j] + k] = (int32_t)(r < to ? r - from : to - from + seen[r] - s->beyond_at[p]);
            }
        }
    }
    s->beyond_at[s->pieces] = count;
}

su_status su_sparse_product_create(const su_sparse *pattern, int threads, su_sparse_product **out, su_error *err)
{
    su_sparse_product *s = NULL;
    int32_t *seen = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "products", err));
    s->columns = pattern->size / 3, s->threads = threads;
    s->pieces = (s->columns + PIECE - 1) / PIECE;
    SU_GO(SU_ALLOC(&s->block_at, s->columns + 1, "products", err));
    for (int64_t j = 0; j < s->columns; j++)
        s->block_at[j + 1] = s->block_at[j] + (pattern->start[3 * j + 1] - pattern->start[3 * j]) / 3 - 1;
    SU_GO(SU_ALLOC(&s->row, s->block_at[s->columns], "products", err));
    SU_GO(SU_ALLOC(&s->beyond_at, s->pieces + 1, "products", err));
    SU_GO(SU_ALLOC(&seen, s->columns, "products", err));
    list_beyond(s, pattern, seen);
    SU_GO(SU_ALLOC(&s->beyond, s->beyond_at[s->pieces], "products", err));
    list_beyond(s, pattern, seen);
    SU_GO(SU_ALLOC(&s->x, begin_of(s, s->pieces), "products", err));
    SU_GO(SU_ALLOC(&s->y, begin_of(s, s->pieces), "products", err));
    *out = s;
    s = NULL;
done:
    free(seen);
    su_sparse_product_free(s);
    return status;
}

void su_sparse_product_free(su_sparse_product *s)
{
    if (!s) return;
    free(s->block_at), free(s->row), free(s->beyond_at), free(s->beyond), free(s->x), free(s->y);
    free(s);
}

/* Three entries and one more, whose products are zero or are not looked at. */
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

/* y += A x of the columns of a piece, in its numbers. */
SU_CLONES static void multiply_piece(const su_sparse_product *s, const su_sparse *A, int64_t from, int64_t to,
                                     const double *x, double *y)
{
    for (int64_t j = from; j < to; j++) {
        const int32_t *row = s->row + s->block_at[j];
        int64_t blocks = s->block_at[j + 1] - s->block_at[j], length = 3 * blocks + 3, at = 3 * (j - from);
        const double *c0 = A->value + A->start[3 * j], *c1 = c0 + length - 1, *c2 = c1 + length - 2;
        double x0 = x[at], x1 = x[at + 1], x2 = x[at + 2];
        double y0 = c0[0] * x0 + c0[1] * x1 + c0[2] * x2, y1 = c0[1] * x0 + c1[1] * x1 + c1[2] * x2,
               y2 = c0[2] * x0 + c1[2] * x1 + c2[2] * x2;
        four a = {x0, x0, x0}, b = {x1, x1, x1}, c = {x2, x2, x2}, s0 = {0}, s1 = {0}, s2 = {0};
        for (int64_t k = 0; k < blocks; k++) {
            four f0 = *(const four *)(c0 + 3 * k + 3), f1 = *(const four *)(c1 + 3 * k + 3);
            four f2 = *(const four *)(c2 + 3 * k + 3), there = *(const four *)(x + 3 * (int64_t)row[k]);
            s0 += f0 * there, s1 += f1 * there, s2 += f2 * there;
            *(four *)(y + 3 * (int64_t)row[k]) += f0 * a + f1 * b + f2 * c;
        }
        y[at] += y0 + (s0[0] + s0[1] + s0[2]), y[at + 1] += y1 + (s1[0] + s1[1] + s1[2]);
        y[at + 2] += y2 + (s2[0] + s2[1] + s2[2]);
    }
}

void su_sparse_product_multiply(su_sparse_product *s, const su_sparse *A, const double *x, double *y)
{
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (int64_t p = 0; p < s->pieces; p++) {
        int64_t from = first_of(s, p), own = 3 * (first_of(s, p + 1) - from), begin = begin_of(s, p);
        double *here = s->x + begin, *sum = s->y + begin;
        memcpy(here, x + 3 * from, (size_t)own * sizeof *x);
        for (int64_t k = s->beyond_at[p]; k < s->beyond_at[p + 1]; k++)
            memcpy(here + own + 3 * (k - s->beyond_at[p]), x + 3 * (int64_t)s->beyond[k], 3 * sizeof *x);
        memset(sum, 0, (size_t)(begin_of(s, p + 1) - begin) * sizeof *sum);
        multiply_piece(s, A, from, first_of(s, p + 1), here, sum);
        memcpy(y + 3 * from, sum, (size_t)own * sizeof *y);
    }
    for (int64_t p = 0; p < s->pieces; p++) {
        const double *sum = s->y + begin_of(s, p) + 3 * (first_of(s, p + 1) - first_of(s, p));
        for (int64_t k = s->beyond_at[p]; k < s->beyond_at[p + 1]; k++, sum += 3)
            for (int c = 0; c < 3; c++) y[3 * (int64_t)s->beyond[k] + c] += sum[c];
    }
}
