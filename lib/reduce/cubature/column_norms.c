#include "reduce/cubature/column_norms.h"

#include "core/memory.h"
#include "reduce/cubature/columns.h"

#include <cblas.h>
#include <omp.h>
#include <stdlib.h>

enum { WIDEST = 3 * SU_POINT_TET }; /* numbers of a stored force */

/* norm2 (count): squared lengths of columns from candidate `first` on, made for that. */
static su_status measured_norms(const su_fit_problem *p, int64_t a, int64_t first, int64_t count, double *norm2)
{
    const su_columns *columns = &su_tet_columns; /* which alone have metrics */
    int64_t size = columns->size(p, a);
    float *column = malloc((size_t)(count * size + 1) * sizeof *column);
    int32_t *candidate = malloc((size_t)count * sizeof *candidate);
    su_status status = column && candidate ? SU_OK : SU_AGAIN;
    for (int64_t e = 0; e < count && candidate; e++) candidate[e] = (int32_t)(first + e);
    if (status == SU_OK) status = columns->make(p, a, count, candidate, column);
    for (int64_t e = 0; e < count && status == SU_OK; e++) {
        double sum = 0;
        for (int64_t i = 0; i < size; i++) sum += (double)column[e * size + i] * column[e * size + i];
        norm2[e] = p->stations[a].importance * sum;
    }
    free(column), free(candidate);
    return status;
}

static su_status add_measured_norms(const su_fit_problem *p, int threads, double *norm2, su_error *err)
{
    enum { CHUNK = 64 }; /* a metric is packed once for all of them */
    const int64_t count = p->points->count, parts = (count + CHUNK - 1) / CHUNK;
    int failed = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(|| : failed)
    for (int64_t part = 0; part < p->station_count * parts; part++) {
        int64_t a = part / parts, first = part % parts * CHUNK, more = count - first < CHUNK ? count - first : CHUNK;
        if (p->stations[a].metric)
            failed = failed || measured_norms(p, a, first, more, norm2 + a * count + first) != SU_OK;
    }
    return failed ? su_fail(err, SU_AGAIN, "no memory for cubature columns") : SU_OK;
}

/* The same by the products of a candidate's rows of the basis. */
static double plain_norm(const su_fit_problem *p, const su_station_rows *station, int64_t e, float *B)
{
    const int width = 3 * (int)p->points->kind, r = (int)p->r;
    float W[WIDEST * WIDEST];
    double sum = 0;
    su_point_basis(p, station->basis, e, B);
    cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, width, r, 1, B, r, 0, W, width);
    for (int64_t k = 0; k < station->samples; k++) {
        const float *f = station->force + (k * p->points->count + e) * width;
        float part = 0;
        for (int i = 0; i < width; i++) {
            float row = 0.5f * W[width * i + i] * f[i];
            for (int j = i + 1; j < width; j++) row += W[width * i + j] * f[j];
            part += 2 * f[i] * row;
        }
        sum += part;
    }
    return sum > 0 ? station->importance * sum : 0;
}

su_status su_column_norms(const su_fit_problem *p, int threads, double *norm2, su_error *err)
{
    int64_t size = WIDEST * p->r, count = p->points->count;
    float *B;
    SU_TRY(SU_ROOM(&B, threads * size, "cubature columns", err));
    for (int64_t a = 0; a < p->station_count; a++) {
        if (p->stations[a].metric) continue;
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t e = 0; e < count; e++)
            norm2[a * count + e] = plain_norm(p, &p->stations[a], e, B + omp_get_thread_num() * size);
    }
    free(B);
    return add_measured_norms(p, threads, norm2, err);
}
