#include "skin/incomplete.h"

#include "core/memory.h"
#include "core/vector_clones.h"
#include "geometry/mat3.h"
#include "linalg/bfloat16.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRIDE = SU_INCOMPLETE_STRIDE };

struct su_incomplete {
    int64_t rows;
    double shift;
    int32_t *order;       /* (rows) row of A, from 0, at each place */
    int64_t *start;       /* (rows + 1) blocks of L left of the diagonal */
    int32_t *column;      /* places, ascending */
    uint16_t *by_columns; /* (.,9) blocks of L in bfloat16 by columns, one number behind them */
    uint16_t *by_rows;    /* the same by rows */
    float *inverse;       /* (rows,9) D^-1 by columns, one number behind them */
};

/* The fourth lane holds a number of the next column, or row, and says nothing. */
typedef float lanes __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(16)));
typedef uint16_t halves __attribute__((vector_size(8), aligned(2), may_alias));

void su_incomplete_free(su_incomplete *f)
{
    if (!f) return;
    free(f->order), free(f->start), free(f->column), free(f->by_columns), free(f->by_rows), free(f->inverse);
    free(f);
}

double su_incomplete_shift(const su_incomplete *f) { return f->shift; }

/* Inverse of a symmetric block; false where it is not positive definite, to a share of what it began with. */
static bool invert_pivot(const double D[9], const double of[9], double inverse[9])
{
    double least = 1e-6 * fmax(of[0], fmax(of[4], of[8]));
    double minor = D[0] * D[4] - D[1] * D[3];
    if (!(D[0] > least && minor > least * least)) return false;
    return su_inverse3(D, inverse) > least * minor;
}

/* L and D of A with its diagonal times 1 + shift; work values (blocks,9) hold A's lower rows on entry. */
static bool factorize(su_incomplete *f, const double *diagonal, double *value, double *D_inverse, int32_t *place)
{
    for (int64_t i = 0; i < f->rows; i++) place[i] = -1;
    for (int64_t i = 0; i < f->rows; i++) {
        double D[9];
        for (int c = 0; c < 9; c++) D[c] = diagonal[9 * i + c] * (1 + f->shift);
        for (int64_t k = f->start[i]; k < f->start[i + 1]; k++) place[f->column[k]] = (int32_t)(k - f->start[i]);
        /* value_ij = A_ij - sum_k U_ik L_jk' with U = L D of this row so far; then L_ij = U_ij D_j^-1 */
        for (int64_t k = f->start[i]; k < f->start[i + 1]; k++) {
            int32_t j = f->column[k];
            double *U = value + 9 * k;
            for (int64_t m = f->start[j]; m < f->start[j + 1]; m++) {
                int32_t at = place[f->column[m]];
                if (at < 0) continue;
                double part[9];
                su_mult33(value + 9 * (f->start[i] + at), value + 9 * m, part);
                for (int c = 0; c < 9; c++) U[c] -= part[c];
            }
        }
        for (int64_t k = f->start[i]; k < f->start[i + 1]; k++) {
            double L[9], part[9], *U = value + 9 * k;
            su_mul33(U, D_inverse + 9 * (int64_t)f->column[k], L);
            su_mult33(L, U, part);
            for (int c = 0; c < 9; c++) D[c] -= part[c];
            memcpy(U, L, sizeof L);
            place[f->column[k]] = -1;
        }
        if (!invert_pivot(D, diagonal + 9 * i, D_inverse + 9 * i)) return false;
    }
    return true;
}

static su_status order_rows(const su_blocks *A, int64_t from, int64_t to, su_incomplete *f, su_error *err)
{
    su_blocks part = {.rows = to - from};
    su_status status;
    SU_GO(SU_ALLOC(&part.start, part.rows + 1, "ordering", err));
    SU_GO(SU_ALLOC(&part.column, A->start[to] - A->start[from] + 1, "ordering", err));
    for (int64_t r = from; r < to; r++) {
        for (int64_t k = A->start[r]; k < A->start[r + 1]; k++)
            if (A->column[k] >= from && A->column[k] < to) part.column[part.entries++] = (int32_t)(A->column[k] - from);
        part.start[r - from + 1] = part.entries;
    }
    status = su_blocks_band_order(&part, f->order, err);
done:
    free(part.start), free(part.column);
    return status;
}

su_status su_incomplete_create(const su_blocks *A, int64_t from, int64_t to, su_incomplete **out, su_error *err)
{
    int64_t rows = to - from, blocks = 0;
    su_incomplete *f = NULL;
    int32_t *place = NULL, *work = NULL;
    double *first = NULL, *value = NULL, *diagonal = NULL, *D_inverse = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&f, 1, "incomplete factor", err));
    f->rows = rows;
    SU_GO(SU_ALLOC(&f->order, rows + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&f->start, rows + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&place, rows + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&work, rows + 1, "incomplete factor", err));
    SU_GO(order_rows(A, from, to, f, err));
    for (int64_t p = 0; p < rows; p++) place[f->order[p]] = (int32_t)p;
    for (int64_t k = A->start[from]; k < A->start[to]; k++) blocks += A->column[k] >= from && A->column[k] < to;
    blocks = (blocks - rows) / 2; /* left of the diagonal */
    SU_GO(SU_ALLOC(&f->column, blocks + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&f->by_columns, 9 * blocks + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&f->by_rows, 9 * blocks + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&f->inverse, 9 * rows + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&first, 9 * blocks + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&value, 9 * blocks + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&diagonal, 9 * rows + 1, "incomplete factor", err));
    SU_GO(SU_ALLOC(&D_inverse, 9 * rows + 1, "incomplete factor", err));
    int64_t write = 0;
    for (int64_t p = 0; p < rows; p++) {
        int64_t r = from + f->order[p], begin = write;
        for (int64_t k = A->start[r]; k < A->start[r + 1]; k++) {
            if (A->column[k] < from || A->column[k] >= to) continue;
            int32_t q = place[A->column[k] - from];
            if (q == p) memcpy(diagonal + 9 * p, A->value + 9 * k, 9 * sizeof *diagonal);
            if (q >= p) continue;
            int64_t at = write++; /* insertion: rows are short */
            for (; at > begin && f->column[at - 1] > q; at--) {
                f->column[at] = f->column[at - 1];
                memcpy(first + 9 * at, first + 9 * (at - 1), 9 * sizeof *first);
            }
            f->column[at] = q;
            memcpy(first + 9 * at, A->value + 9 * k, 9 * sizeof *first);
        }
        f->start[p + 1] = write;
    }
    for (f->shift = 0;; f->shift = f->shift > 0 ? 4 * f->shift : 1e-3) {
        memcpy(value, first, (size_t)(9 * blocks) * sizeof *value);
        if (factorize(f, diagonal, value, D_inverse, work)) break;
        if (f->shift > 1) {
            status = su_fail(err, SU_NUMERICS, "the stiffness has no incomplete factor: is flesh loose in the air?");
            goto done;
        }
    }
    for (int64_t k = 0; k < 9 * blocks; k++) {
        f->by_rows[k] = su_bfloat16((float)value[k]);
        f->by_columns[k - k % 9 + k % 3 * 3 + k % 9 / 3] = f->by_rows[k];
    }
    for (int64_t k = 0; k < 9 * rows; k++) f->inverse[k] = (float)D_inverse[k]; /* symmetric */
    *out = f;
    f = NULL;
done:
    su_incomplete_free(f);
    free(place), free(work), free(first), free(value), free(diagonal), free(D_inverse);
    return status;
}

SU_INLINE lanes widened(const uint16_t *a) { return (lanes)(__builtin_convertvector(*(const halves *)a, words) << 16); }

/* a v, the block's columns at a; a' v where they are its rows */
SU_INLINE lanes times(const uint16_t *a, const float *v)
{
    return v[0] * widened(a) + v[1] * widened(a + 3) + v[2] * widened(a + 6);
}

void su_incomplete_order_turns(const su_incomplete *f, const double *Q, float *out)
{
    for (int64_t p = 0; p < f->rows; p++)
        for (int i = 0; i < 9; i++) out[9 * p + i] = (float)Q[9 * (int64_t)f->order[p] + i];
}

SU_CLONES void su_incomplete_solve(const su_incomplete *f, const float *turns, const double *r, double *z, float *work)
{
    for (int64_t p = 0; p < f->rows; p++) { /* L D y = Q' r */
        const double *from = r + 3 * (int64_t)f->order[p];
        lanes sum = {(float)from[0], (float)from[1], (float)from[2], 0};
        if (turns) {
            const float *q = turns + 9 * p;
            float a = sum[0], b = sum[1], c = sum[2];
            for (int i = 0; i < 3; i++) sum[i] = q[i] * a + q[3 + i] * b + q[6 + i] * c;
        }
        for (int64_t k = f->start[p]; k < f->start[p + 1]; k++)
            sum -= times(f->by_columns + 9 * k, work + STRIDE * f->column[k]);
        *(lanes *)(work + STRIDE * p) = sum;
    }
    for (int64_t p = 0; p < f->rows; p++) { /* y = D^-1 L^-1 Q' r */
        float *y = work + STRIDE * p;
        const float *d = f->inverse + 9 * p;
        *(lanes *)y = y[0] * *(const lanes *)d + y[1] * *(const lanes *)(d + 3) + y[2] * *(const lanes *)(d + 6);
    }
    for (int64_t p = f->rows - 1; p >= 0; p--) { /* L' x = y */
        double *to = z + 3 * (int64_t)f->order[p];
        const float *x = work + STRIDE * p;
        for (int64_t k = f->start[p]; k < f->start[p + 1]; k++)
            *(lanes *)(work + STRIDE * f->column[k]) -= times(f->by_rows + 9 * k, x);
        for (int i = 0; i < 3; i++) {
            const float *q = turns ? turns + 9 * p + 3 * i : NULL;
            to[i] = q ? q[0] * x[0] + q[1] * x[1] + q[2] * x[2] : x[i];
        }
    }
}
