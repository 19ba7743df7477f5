#include "reduce/cubature/column_norms.h"

#include "reduce/cubature/columns.h"

#include <cblas.h>
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
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t part = 0; part < p->station_count * parts; part++) {
        int64_t a = part / parts, first = part % parts * CHUNK, more = count - first < CHUNK ? count - first : CHUNK;
        if (p->stations[a].metric && measured_norms(p, a, first, more, norm2 + a * count + first) != SU_OK) {
#pragma omp atomic write
            failed = 1;
        }
    }
    return failed ? su_fail(err, SU_AGAIN, "no memory for cubature columns") : SU_OK;
}

su_status su_column_norms(const su_fit_problem *p, int threads, double *norm2, su_error *err)
{
    int64_t r = p->r, count = p->points->count;
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        float *B = malloc((size_t)(WIDEST * r) * sizeof *B);
        if (!B) {
#pragma omp atomic write
            failed = 1;
        }
        for (int64_t a = 0; a < p->station_count; a++) {
            const su_station_rows *station = &p->stations[a];
            if (station->metric) continue;
#pragma omp for schedule(static)
            for (int64_t e = 0; e < count; e++) {
                if (!B) continue;
                float W[WIDEST * WIDEST];
                const int width = 3 * (int)p->points->kind;
                su_point_basis(p, station->basis, e, B);
                cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, width, (int)r, 1, B, (int)r, 0, W, width);
                double sum = 0;
                for (int64_t k = 0; k < station->samples; k++) {
                    const float *f = station->force + (k * count + e) * width;
                    float part = 0;
                    for (int i = 0; i < width; i++) {
                        float row = 0.5f * W[width * i + i] * f[i];
                        for (int j = i + 1; j < width; j++) row += W[width * i + j] * f[j];
                        part += 2 * f[i] * row;
                    }
                    sum += part;
                }
                norm2[a * count + e] = sum > 0 ? station->importance * sum : 0;
            }
        }
        free(B);
    }
    return failed ? su_fail(err, SU_AGAIN, "no memory for cubature columns")
                  : add_measured_norms(p, threads, norm2, err);
}
