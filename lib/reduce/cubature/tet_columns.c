#include "reduce/cubature/columns.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 3 * SU_POINT_TET }; /* numbers of a stored force, of a tet's four corners */

void su_point_basis(const su_fit_problem *p, const float *basis, int64_t e, float *B)
{
    const int kind = (int)p->points->kind;
    const int32_t *corner = p->points->corner + e * kind;
    for (int c = 0; c < kind; c++)
        memcpy(B + 3 * p->r * c, basis + 3 * p->r * corner[c], (size_t)(3 * p->r) * sizeof *B);
}

/* in (count,r) times the transpose of a sample's metric: rows of `out`, `stride` from row to row. */
static void apply_metric(const su_station_rows *station, int64_t r, int64_t sample, int64_t count, const float *in,
                         float *out, int64_t stride)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)r, (int)r, 1, in, (int)r,
                station->metric + sample * r * r, (int)r, 0, out, (int)stride);
}

static int64_t size(const su_fit_problem *p, int64_t a) { return p->stations[a].samples * p->r; }

static su_status make(const su_fit_problem *p, int64_t a, int64_t count, const int32_t *candidate, float *out)
{
    const su_station_rows *station = &p->stations[a];
    int64_t r = p->r, rows = size(p, a);
    float *B = malloc((size_t)((WIDEST + count) * r) * sizeof *B), *plain = B + WIDEST * r;
    if (!B) return SU_AGAIN;
    for (int64_t k = 0; k < count; k++) {
        su_point_basis(p, station->basis, candidate[k], B);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)station->samples, (int)r, WIDEST, 1,
                    station->force + (int64_t)candidate[k] * WIDEST, (int)(p->points->count * WIDEST), B, (int)r, 0,
                    out + k * rows, (int)r);
    }
    for (int64_t s = 0; station->metric && s < station->samples; s++) {
        for (int64_t k = 0; k < count; k++) memcpy(plain + k * r, out + k * rows + s * r, (size_t)r * sizeof *plain);
        apply_metric(station, r, s, count, plain, out + s * r, rows);
    }
    free(B);
    return SU_OK;
}

static su_status products(const su_fit_problem *p, int64_t a, int64_t count, const float *some, int64_t total,
                          const float *all, double *gram, double *dot)
{
    int64_t rows = size(p, a);
    const double *target = p->stations[a].target;
    float *part = malloc((size_t)(count * total) * sizeof *part);
    if (!part) return SU_AGAIN;
    memset(gram, 0, (size_t)(count * total) * sizeof *gram);
    for (int64_t k = 0; k < count; k++) {
        dot[k] = 0;
        for (int64_t i = 0; i < rows; i++) dot[k] += some[k * rows + i] * target[i];
    }
    for (int64_t from = 0; from < rows; from += SU_SINGLE_ROWS) {
        int64_t more = rows - from < SU_SINGLE_ROWS ? rows - from : SU_SINGLE_ROWS;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)total, (int)more, 1, some + from,
                    (int)rows, all + from, (int)rows, 0, part, (int)total);
        for (int64_t i = 0; i < count * total; i++) gram[i] += part[i];
    }
    free(part);
    return SU_OK;
}

static su_status take_off(const su_fit_problem *p, int64_t a, int64_t first, int64_t samples, const su_column_set *set,
                          double *residual)
{
    int64_t r = p->r, rows = size(p, a), start = first * r, end = (first + samples) * r;
    memcpy(residual, p->stations[a].target + start, (size_t)(end - start) * sizeof *residual);
    for (int64_t from = start; from < end; from += SU_SINGLE_ROWS) { /* a block of the residual stays in cache */
        int64_t to = from + SU_SINGLE_ROWS < end ? from + SU_SINGLE_ROWS : end;
        for (int64_t k = 0; k < set->count; k++) {
            const float *column = set->columns + set->slot[k] * rows;
            double v = set->weights[k];
            for (int64_t i = from; v != 0 && i < to; i++) residual[i - start] -= v * column[i];
        }
    }
    return SU_OK;
}

const su_columns su_tet_columns = {size, make, products, take_off};
