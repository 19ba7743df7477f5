#include "linalg/factor_single.h"

#include "core/memory.h"
#include "core/order.h"
#include "linalg/cholesky.h"
#include "linalg/dissection.h"
#include "linalg/lane_kernels.h"

#include <cblas.h>
#include <cholmod.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Shifts tried, as parts of the diagonal. The first is some times the rounding of a pivot. */
#define FIRST_SHIFT 1e-6
#define LAST_SHIFT 1e-2

/* L by supernodes (Davis 2006, "Direct methods for sparse linear systems"): columns that share their rows below. */
struct su_factor_single {
    int64_t size, supernodes, tallest, entries;
    int32_t *order;     /* (size) */
    int32_t *first;     /* (supernodes + 1) columns */
    int64_t *rows_at;   /* (supernodes + 1) in row */
    int64_t *values_at; /* (supernodes) in value: height x width, columns one after the other */
    int32_t *row;
    float *value;
};

void su_factor_single_free(su_factor_single *f)
{
    if (!f) return;
    free(f->order), free(f->first), free(f->rows_at), free(f->values_at), free(f->row), free(f->value);
    free(f);
}

static su_status copy_pattern(const cholmod_factor *L, su_factor_single *f, su_error *err)
{
    const SuiteSparse_long *super = L->super, *pi = L->pi, *px = L->px, *row = L->s, *order = L->Perm;
    f->size = (int64_t)L->n, f->supernodes = (int64_t)L->nsuper, f->entries = (int64_t)L->xsize;
    SU_TRY(SU_ALLOC(&f->order, f->size, "factor", err));
    SU_TRY(SU_ALLOC(&f->first, f->supernodes + 1, "factor", err));
    SU_TRY(SU_ALLOC(&f->rows_at, f->supernodes + 1, "factor", err));
    SU_TRY(SU_ALLOC(&f->values_at, f->supernodes, "factor", err));
    SU_TRY(SU_ALLOC(&f->row, (int64_t)L->ssize, "factor", err));
    SU_TRY(SU_ROOM(&f->value, (int64_t)L->xsize, "factor", err));
    for (int64_t i = 0; i < f->size; i++) f->order[i] = (int32_t)order[i];
    for (int64_t k = 0; k <= f->supernodes; k++) f->first[k] = (int32_t)super[k], f->rows_at[k] = pi[k];
    for (int64_t k = 0; k < f->supernodes; k++) {
        f->values_at[k] = px[k];
        if (pi[k + 1] - pi[k] > f->tallest) f->tallest = pi[k + 1] - pi[k];
    }
    for (int64_t i = 0; i < pi[f->supernodes]; i++) f->row[i] = (int32_t)row[i];
    return SU_OK;
}

/* ---- the numeric factorization, left-looking ---- */

typedef struct elimination {
    su_factor_single *f;
    const su_sparse *matrix;
    int64_t *to;    /* (entries) where entries of the matrix go in the values, supernode by supernode */
    int64_t *entry; /* (entries) which they are */
    int64_t *begin; /* (supernodes + 1) */
    int32_t *owner; /* (size) supernode of each column */
    int32_t *local; /* (size) place of a row in the panel at work */
    int32_t *head;  /* (supernodes) first of the supernodes whose next rows are columns of this one, -1 */
    int32_t *next;  /* (supernodes) */
    int64_t *done;  /* (supernodes) rows of a supernode that have been used */
    float *product; /* tallest x widest */
} elimination;

static void elimination_free(elimination *e)
{
    free(e->to), free(e->entry), free(e->begin), free(e->owner), free(e->local), free(e->head), free(e->next),
        free(e->done), free(e->product);
}

/* Row `row` of supernode s: its place in the panel. */
static int64_t row_in(const su_factor_single *f, int64_t s, int32_t row)
{
    return su_first_not_below(f->row, f->rows_at[s], f->rows_at[s + 1] - 1, row) - f->rows_at[s];
}

/* place (size): of each row of the matrix in the order of the factor. */
static void place_entries(elimination *e, const int32_t *place)
{
    const su_factor_single *f = e->f;
    const su_sparse *A = e->matrix;
    int64_t *fill = e->begin + 1; /* of supernode s the place of its next entry, and so in the end where s + 1 begins */
    for (int64_t j = 0; j < A->size; j++)
        for (int64_t k = A->start[j]; k < A->start[j + 1]; k++) {
            int32_t a = place[j], b = place[A->row[k]];
            int64_t s = e->owner[a < b ? a : b];
            if (s + 1 < f->supernodes) fill[s + 1]++;
        }
    for (int64_t s = 1; s < f->supernodes; s++) fill[s] += fill[s - 1];
    for (int64_t j = 0; j < A->size; j++)
        for (int64_t k = A->start[j]; k < A->start[j + 1]; k++) {
            int32_t a = place[j], b = place[A->row[k]], column = a < b ? a : b, row = a < b ? b : a;
            int64_t s = e->owner[column], height = f->rows_at[s + 1] - f->rows_at[s], at = fill[s]++;
            e->entry[at] = k;
            e->to[at] = f->values_at[s] + (column - f->first[s]) * height + row_in(f, s, row);
        }
}

static su_status elimination_create(su_factor_single *f, const su_sparse *matrix, elimination *e, su_error *err)
{
    int64_t n = f->size, widest = 0;
    int32_t *place = NULL;
    su_status status;
    e->f = f, e->matrix = matrix;
    SU_GO(SU_ROOM(&e->to, matrix->entries, "factor", err));
    SU_GO(SU_ROOM(&e->entry, matrix->entries, "factor", err));
    SU_GO(SU_ALLOC(&e->begin, f->supernodes + 2, "factor", err));
    SU_GO(SU_ALLOC(&e->owner, n, "factor", err));
    SU_GO(SU_ALLOC(&e->local, n, "factor", err));
    SU_GO(SU_ALLOC(&e->head, f->supernodes, "factor", err));
    SU_GO(SU_ALLOC(&e->next, f->supernodes, "factor", err));
    SU_GO(SU_ALLOC(&e->done, f->supernodes, "factor", err));
    SU_GO(SU_ALLOC(&place, n, "factor", err));
    for (int64_t k = 0; k < n; k++) place[f->order[k]] = (int32_t)k;
    for (int64_t k = 0; k < f->supernodes; k++) {
        for (int32_t c = f->first[k]; c < f->first[k + 1]; c++) e->owner[c] = (int32_t)k;
        if (f->first[k + 1] - f->first[k] > widest) widest = f->first[k + 1] - f->first[k];
    }
    SU_GO(SU_ROOM(&e->product, widest * f->tallest, "factor", err));
    place_entries(e, place);
done:
    free(place);
    return status;
}

static void hand_on(elimination *e, int32_t s)
{
    const su_factor_single *f = e->f;
    if (f->rows_at[s] + e->done[s] == f->rows_at[s + 1]) return;
    int32_t to = e->owner[f->row[f->rows_at[s] + e->done[s]]];
    e->next[s] = e->head[to], e->head[to] = s;
}

/* What the columns of supernode d say about the panel of s, taken from it. */
static void update(elimination *e, int32_t d, int32_t s)
{
    su_factor_single *f = e->f;
    const int32_t *row = f->row + f->rows_at[d] + e->done[d];
    int height = (int)(f->rows_at[d + 1] - f->rows_at[d]), width = f->first[d + 1] - f->first[d];
    int below = height - (int)e->done[d], inside = 0, target = (int)(f->rows_at[s + 1] - f->rows_at[s]);
    while (inside < below && row[inside] < f->first[s + 1]) inside++;
    const float *L = f->value + f->values_at[d] + e->done[d];
    cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, inside, width, 1, L, height, 0, e->product, below);
    if (below > inside)
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, below - inside, inside, width, 1, L + inside, height, L,
                    height, 0, e->product + inside, below);
    for (int c = 0; c < inside; c++) {
        float *to = f->value + f->values_at[s] + (int64_t)(row[c] - f->first[s]) * target;
        const float *from = e->product + (int64_t)c * below;
        for (int r = c; r < below; r++) to[e->local[row[r]]] -= from[r];
    }
    e->done[d] += inside;
}

/* False where a pivot is not positive. */
static bool factorize(elimination *e, double shift)
{
    su_factor_single *f = e->f;
    const su_sparse *A = e->matrix;
    for (int64_t s = 0; s < f->supernodes; s++) e->head[s] = -1, e->done[s] = 0;
    for (int32_t s = 0; s < f->supernodes; s++) {
        int width = f->first[s + 1] - f->first[s], height = (int)(f->rows_at[s + 1] - f->rows_at[s]);
        float *L = f->value + f->values_at[s];
        memset(L, 0, (size_t)width * (size_t)height * sizeof *L);
        for (int64_t k = e->begin[s]; k < e->begin[s + 1]; k++)
            L[e->to[k] - f->values_at[s]] = (float)A->value[e->entry[k]];
        for (int c = 0; c < width && shift > 0; c++) L[(int64_t)c * height + c] *= (float)(1 + shift);
        for (int r = 0; r < height; r++) e->local[f->row[f->rows_at[s] + r]] = r;
        for (int32_t d = e->head[s], next; d >= 0; d = next) {
            next = e->next[d];
            update(e, d, s);
            hand_on(e, d);
        }
        if (LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'L', width, L, height) != 0) return false;
        if (height > width)
            cblas_strsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, height - width, width, 1, L,
                        height, L + width, height);
        e->done[s] = width;
        hand_on(e, s);
    }
    return true;
}

su_status su_factor_single_create(const su_sparse *matrix, const double *points, su_factor_single **out, su_error *err)
{
    su_factor_single *f = NULL;
    su_cholesky *pattern = NULL;
    elimination e = {0};
    int64_t *order = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&f, 1, "factor", err));
    SU_GO(SU_ALLOC(&order, matrix->size, "ordering", err));
    SU_GO(su_dissection_order(matrix, points, order, err));
    SU_GO(su_cholesky_create_ordered(matrix, order, &pattern, err));
    SU_GO(copy_pattern(su_cholesky_pattern(pattern), f, err));
    su_cholesky_free(pattern);
    pattern = NULL;
    SU_GO(elimination_create(f, matrix, &e, err));
    double shift = 0;
    while (!factorize(&e, shift)) {
        shift = shift == 0 ? FIRST_SHIFT : 10 * shift;
        if (shift > 1.1 * LAST_SHIFT) {
            status = su_fail(err, SU_NUMERICS, "matrix not positive definite");
            goto done;
        }
    }
    *out = f;
    f = NULL;
done:
    elimination_free(&e);
    free(order);
    su_cholesky_free(pattern);
    su_factor_single_free(f);
    return status;
}

/* ---- solves ---- */

const int32_t *su_factor_single_order(const su_factor_single *f) { return f->order; }
int64_t su_factor_single_work(const su_factor_single *f) { return f->tallest * SU_LANES; }
int64_t su_factor_single_entries(const su_factor_single *f) { return f->entries; }

static void take_rows(int height, const int32_t *row, const float *x, float *work)
{
    for (int r = 0; r < height; r++) memcpy(work + SU_LANES * r, x + SU_LANES * (int64_t)row[r], SU_LANES * sizeof *x);
}

static void put_rows(int count, const int32_t *row, const float *work, float *x)
{
    for (int r = 0; r < count; r++) memcpy(x + SU_LANES * (int64_t)row[r], work + SU_LANES * r, SU_LANES * sizeof *x);
}

void su_factor_single_forward(const su_factor_single *f, float *values, float *scratch)
{
    const su_lane_kernels *kernels = SU_OF_SET_HERE(su_lane_kernels);
    for (int64_t s = 0; s < f->supernodes; s++) {
        int width = f->first[s + 1] - f->first[s], height = (int)(f->rows_at[s + 1] - f->rows_at[s]);
        const int32_t *row = f->row + f->rows_at[s];
        const float *own = values + (int64_t)SU_LANES * f->first[s];
        bool reached = false;
        for (int k = 0; k < SU_LANES * width && !reached; k++) reached = own[k] != 0;
        if (!reached) continue;
        take_rows(height, row, values, scratch);
        kernels->forward(width, height, f->value + f->values_at[s], scratch);
        put_rows(height, row, scratch, values);
    }
}

void su_factor_single_backward(const su_factor_single *f, float *values, float *scratch)
{
    const su_lane_kernels *kernels = SU_OF_SET_HERE(su_lane_kernels);
    for (int64_t s = f->supernodes - 1; s >= 0; s--) {
        int width = f->first[s + 1] - f->first[s], height = (int)(f->rows_at[s + 1] - f->rows_at[s]);
        const int32_t *row = f->row + f->rows_at[s];
        take_rows(height, row, values, scratch);
        kernels->backward(width, height, f->value + f->values_at[s], scratch);
        put_rows(width, row, scratch, values);
    }
}
