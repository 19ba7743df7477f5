#include "reduce/modes/rows_inverse.h"

#include "core/memory.h"
#include "linalg/eigen.h"
#include "linalg/lane_blocks.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = SU_LANES };
/* Answers, one dense column a row, are kept as long as they are no more than this many times the entries of the factor;
 * beyond, their own making costs more than the solves that they save. */
#define MOST_DENSE 2.0
/* Directions of the rows whose compliance is less than this part of the largest are rounding: answers are known to 1e-6
 * of themselves, compliances to the square of that. */
#define STIFF 1e-10
/* Rows of the answers whose products are taken at once in double, in the second cache. */
enum { CHUNK = 512 };

/* T = L^-T (1 - Q (Q'Q)^-1 Q') L^-1, the columns of Q spanning L^-1 J', orthonormal up to rounding of single
 * precision, which (Q'Q)^-1 takes out. */
struct su_rows_inverse {
    const su_factor_single *factor;
    int64_t size, blocks;
    float *Q;                /* (blocks,size,LANES), in the order of the factor */
    double *inner;           /* (blocks LANES)^2 (Q'Q)^-1, 0 beyond the columns that there are */
    double *seen, *answered; /* (blocks LANES,LANES) Q'x, (Q'Q)^-1 of it */
    float *work;             /* of the factor */
};

void su_rows_inverse_free(su_rows_inverse *s)
{
    if (!s) return;
    free(s->Q), free(s->inner), free(s->seen), free(s->answered), free(s->work);
    free(s);
}

int su_rows_inverse_constrained(const su_rows_inverse *s) { return s->blocks > 0; }

void su_rows_inverse_apply(su_rows_inverse *s, float *x)
{
    int columns = (int)s->blocks * LANES;
    su_factor_single_forward(s->factor, x, s->work);
    if (columns > 0) {
        su_lane_products(s->size, s->blocks, s->Q, x, s->seen);
        cblas_dsymm(CblasRowMajor, CblasLeft, CblasLower, columns, LANES, 1, s->inner, columns, s->seen, LANES, 0,
                    s->answered, LANES);
        su_lane_combine(s->size, s->blocks, s->Q, s->answered, LANES, -1, 1, x);
    }
    su_factor_single_backward(s->factor, x, s->work);
}

/* F (blocks,size,LANES) = orthonormal rows that span J's, in the order of the factor. What nearly dependent rows do not
 * have in common would be rounding in single precision, so that it is taken apart before. */
static su_status orthonormal_rows(const su_rows_inverse *s, const su_dense_rows *J, float *F, su_error *err)
{
    const int32_t *order = su_factor_single_order(s->factor);
    int32_t *place = NULL;
    int64_t *next = NULL, rows = J->rows;
    double *chunk = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(place, s->size), SU_WANT(next, J->panels),
                       SU_WANT(chunk, CHUNK * rows)));
    for (int64_t i = 0; i < s->size; i++) place[order[i]] = (int32_t)i;
    for (int64_t from = 0; from < s->size; from += CHUNK) {
        int64_t count = s->size - from < CHUNK ? s->size - from : CHUNK;
        memset(chunk, 0, (size_t)(count * rows) * sizeof *chunk);
        for (int64_t p = 0, row = 0; p < J->panels; row += J->panel[p++].rows) {
            const su_row_panel *panel = &J->panel[p];
            for (; next[p] < panel->count && panel->vertex[next[p]] < from + count; next[p]++)
                memcpy(chunk + (panel->vertex[next[p]] - from) * rows + row, panel->value + next[p] * panel->rows,
                       (size_t)panel->rows * sizeof *chunk);
        }
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)rows, (int)count, 1,
                    J->gram_factor, (int)rows, chunk, (int)rows);
        for (int64_t b = 0; b < s->blocks; b++) {
            int64_t some = rows - b * LANES < LANES ? rows - b * LANES : LANES;
            for (int64_t i = 0; i < count; i++) {
                float *to = F + (b * s->size + place[from + i]) * LANES;
                for (int64_t l = 0; l < LANES; l++) to[l] = l < some ? (float)chunk[i * rows + b * LANES + l] : 0;
            }
        }
    }
done:
    free(place), free(next), free(chunk);
    return status;
}

/* gram (columns,columns), both triangles: F'F in double, of the first columns of the blocks. */
static su_status gram_of(int64_t size, int64_t columns, const float *F, double *gram, su_error *err)
{
    double *chunk;
    SU_TRY(SU_ROOM(&chunk, CHUNK * columns, "constraints", err));
    memset(gram, 0, (size_t)(columns * columns) * sizeof *gram);
    for (int64_t from = 0; from < size; from += CHUNK) {
        int64_t rows = size - from < CHUNK ? size - from : CHUNK;
        for (int64_t c = 0; c < columns; c += LANES) {
            const float *block = F + (c * size / LANES + from) * LANES;
            int64_t some = columns - c < LANES ? columns - c : LANES;
            for (int64_t i = 0; i < rows; i++)
                for (int64_t l = 0; l < some; l++) chunk[i * columns + c + l] = (double)block[i * LANES + l];
        }
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (int)columns, (int)rows, 1, chunk, (int)columns, 1, gram,
                    (int)columns);
    }
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = j + 1; i < columns; i++) gram[i * columns + j] = gram[j * columns + i];
    free(chunk);
    return SU_OK;
}

/* combination (rows,wide), row by row: its first *kept columns make orthonormal columns of those of F, whose Gram
 * matrix is given; eigenvectors of that of columns of length 1, over the square roots of the eigenvalues. */
static su_status orthonormal(int64_t rows, double *gram, int64_t wide, double *combination, int64_t *kept,
                             su_error *err)
{
    double *length = NULL, *value = NULL;
    su_status status;
    *kept = 0;
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(length, rows), SU_WANT(value, rows)));
    for (int64_t j = 0; j < rows; j++) length[j] = sqrt(gram[j * rows + j]);
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < rows; i++)
            gram[j * rows + i] = length[i] > 0 && length[j] > 0 ? gram[j * rows + i] / (length[i] * length[j]) : 0;
    SU_GO(su_eigen_symmetric(rows, gram, value, err));
    for (int64_t k = 0; k < rows; k++) {
        if (!(value[k] > STIFF * value[rows - 1])) continue;
        for (int64_t i = 0; i < rows; i++)
            combination[i * wide + *kept] = length[i] > 0 ? gram[k * rows + i] / (length[i] * sqrt(value[k])) : 0;
        ++*kept;
    }
done:
    free(length), free(value);
    return status;
}

/* (Q'Q)^-1; without an inverse (rounding has made columns dependent) there is no Q. */
static su_status invert_inner(su_rows_inverse *s, int64_t columns, su_error *err)
{
    int64_t wide = s->blocks * LANES;
    double *gram = NULL, *products = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(gram, columns * columns), SU_WANT(products, wide * LANES)));
    for (int64_t j = 0; j < columns; j += LANES) {
        /* (wide - j,LANES) the blocks from this one on with it: below the diagonal */
        su_lane_products(s->size, s->blocks - j / LANES, s->Q + j * s->size, s->Q + j * s->size, products);
        for (int64_t i = j; i < columns; i++)
            for (int64_t l = 0; l < LANES && j + l < columns && j + l <= i; l++)
                gram[(j + l) * columns + i] = products[(i - j) * LANES + l];
    }
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)columns, gram, (int)columns) != 0 ||
        LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', (int)columns, gram, (int)columns) != 0)
        s->blocks = 0;
    for (int64_t j = 0; j < columns && s->blocks > 0; j++)
        for (int64_t i = j; i < columns; i++) s->inner[i * wide + j] = s->inner[j * wide + i] = gram[j * columns + i];
done:
    free(gram), free(products);
    return status;
}

static su_status make_answers(su_rows_inverse *s, const su_dense_rows *J, su_error *err)
{
    int64_t rows = J->rows, wide = s->blocks * LANES, kept;
    double *gram = NULL, *combination = NULL;
    float *work = NULL;
    su_status status;
    SU_GO(SU_ROOM(&s->Q, s->size * wide, "constraints", err));
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(s->inner, wide * wide), SU_WANT(s->seen, wide * LANES),
                       SU_WANT(s->answered, wide * LANES), SU_WANT(gram, rows * rows),
                       SU_WANT(combination, wide * wide), SU_WANT(work, su_lane_work(s->blocks))));
    SU_GO(orthonormal_rows(s, J, s->Q, err));
    for (int64_t b = 0; b < s->blocks; b++) su_factor_single_forward(s->factor, s->Q + b * s->size * LANES, s->work);
    SU_GO(gram_of(s->size, rows, s->Q, gram, err));
    SU_GO(orthonormal(rows, gram, wide, combination, &kept, err));
    su_lane_multiply(s->size, s->blocks, s->Q, combination, work);
    SU_GO(invert_inner(s, kept, err));
done:
    free(gram), free(combination), free(work);
    return status;
}

su_status su_rows_inverse_create(const su_factor_single *factor, int64_t size, const su_dense_rows *J,
                                 su_rows_inverse **out, su_error *err)
{
    su_rows_inverse *s;
    *out = NULL;
    SU_TRY(SU_ALLOC(&s, 1, "constraints", err));
    s->factor = factor, s->size = size;
    su_status status = SU_ALLOC(&s->work, su_factor_single_work(factor), "constraints", err);
    if (status == SU_OK && J->rows > 0 &&
        (double)(J->rows * size) <= MOST_DENSE * (double)su_factor_single_entries(factor)) {
        s->blocks = (J->rows + LANES - 1) / LANES;
        status = make_answers(s, J, err);
    }
    if (status != SU_OK)
        su_rows_inverse_free(s);
    else
        *out = s;
    return status;
}
