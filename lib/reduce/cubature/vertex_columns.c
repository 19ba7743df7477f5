#include "reduce/cubature/columns.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

static int64_t row_length(const su_fit_problem *p, int64_t station) { return p->r + p->stations[station].samples; }

static int64_t size(const su_fit_problem *p, int64_t station) { return 3 * row_length(p, station); }

static su_status make(const su_fit_problem *p, int64_t station, int64_t count, const int32_t *candidate, float *out)
{
    const su_station_rows *rows = &p->stations[station];
    int64_t length = row_length(p, station), r = p->r;
    for (int64_t e = 0; e < count; e++, out += 3 * length) {
        const float *U = rows->basis + 3 * r * p->points->corner[candidate[e]], *f = rows->force + 3 * candidate[e];
        for (int i = 0; i < 3; i++) memcpy(out + i * length, U + i * r, (size_t)r * sizeof *out);
        for (int64_t k = 0; k < rows->samples; k++, f += 3 * p->points->count)
            for (int i = 0; i < 3; i++) out[i * length + r + k] = f[i];
    }
    return SU_OK;
}

/* sum_ij of the products of the 3 x 3 blocks of a and b (3, stride). */
static double block_product(const float *a, const float *b, int64_t stride)
{
    double sum = 0;
    for (int i = 0; i < 3; i++, a += stride, b += stride)
        sum += (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2];
    return sum;
}

/* out (3 count,width): a part of the rows of a set, times weights where there are some. */
static void gather(const su_column_set *set, int64_t length, int64_t first, int64_t width, const double *weights,
                   double *out)
{
    for (int64_t k = 0; k < 3 * set->count; k++) {
        const float *row = set->columns + (3 * (set->slot ? set->slot[k / 3] : k / 3) + k % 3) * length + first;
        for (int64_t i = 0; i < width; i++) out[k * width + i] = (weights ? weights[k / 3] : 1) * row[i];
    }
}

/* dot (count): columns times the target. */
static su_status targets(const su_fit_problem *p, int64_t station, int64_t count, const float *columns, double *dot)
{
    int64_t length = row_length(p, station), r = p->r, S = length - r;
    double *U = malloc((size_t)(3 * count * (r + S) + 1) * sizeof *U), *z = U + 3 * count * r;
    if (!U) return SU_AGAIN;
    gather(&(su_column_set){count, NULL, NULL, columns}, length, 0, r, NULL, U);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(3 * count), (int)S, (int)r, 1, U, (int)r,
                p->stations[station].target, (int)r, 0, z, (int)S);
    for (int64_t k = 0; k < count; k++) {
        dot[k] = 0;
        for (int64_t row = 3 * k; row < 3 * k + 3; row++)
            for (int64_t s = 0; s < S; s++) dot[k] += z[row * S + s] * columns[row * length + r + s];
    }
    free(U);
    return SU_OK;
}

static su_status products(const su_fit_problem *p, int64_t station, int64_t count, const float *some, int64_t total,
                          const float *all, double *gram, double *dot)
{
    const int length = (int)row_length(p, station), r = (int)p->r, from = (int)(3 * count), to = (int)(3 * total);
    float *U = malloc((size_t)(2 * 9 * count * total) * sizeof *U), *f = U + 9 * count * total;
    if (!U) return SU_AGAIN;
    memset(gram, 0, (size_t)(count * total) * sizeof *gram);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, from, to, r, 1, some, length, all, length, 0, U, to);
    for (int first = r; first < length; first += SU_SINGLE_ROWS) {
        int more = length - first < SU_SINGLE_ROWS ? length - first : SU_SINGLE_ROWS;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, from, to, more, 1, some + first, length, all + first,
                    length, 0, f, to);
        for (int64_t k = 0; k < count; k++)
            for (int64_t l = 0; l < total; l++)
                gram[k * total + l] += block_product(U + 3 * (k * to + l), f + 3 * (k * to + l), to);
    }
    free(U);
    return targets(p, station, count, some, dot);
}

static su_status take_off(const su_fit_problem *p, int64_t station, int64_t first, int64_t samples,
                          const su_column_set *set, double *residual)
{
    int64_t length = row_length(p, station), r = p->r, rows = 3 * set->count;
    double *U = malloc((size_t)(rows * (r + samples) + 1) * sizeof *U), *f = U + rows * r;
    if (!U) return SU_AGAIN;
    memcpy(residual, p->stations[station].target + first * r, (size_t)(samples * r) * sizeof *residual);
    gather(set, length, 0, r, set->weights, U);
    gather(set, length, r + first, samples, NULL, f);
    if (rows > 0)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)samples, (int)r, (int)rows, -1, f, (int)samples, U,
                    (int)r, 1, residual, (int)r);
    free(U);
    return SU_OK;
}

const su_columns su_vertex_columns = {size, make, products, take_off};
