#include "reduce/cubature/column_norms.h"

#include "reduce/cubature/tet_columns.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 3 * SU_POINT_TET }; /* numbers of a stored force */

/* sum (count): squared lengths of columns from candidate `first` on, at a station with metrics. work (count, 2 r). */
static void measured_norms(const su_fit_problem *p, const su_station_rows *station, int64_t first, int64_t count,
                           float *work, double *sum)
{
    const int kind = (int)p->points->kind;
    int64_t r = p->r;
    float *row = work, *measured = work + r * count;
    memset(sum, 0, (size_t)count * sizeof *sum);
    for (int64_t k = 0; k < station->samples; k++) {
        memset(row, 0, (size_t)(r * count) * sizeof *row);
        for (int64_t e = 0; e < count; e++)
            for (int c = 0; c < kind; c++)
                cblas_sgemv(CblasRowMajor, CblasTrans, 3, (int)r, 1,
                            station->basis + 3 * r * p->points->corner[(first + e) * kind + c], (int)r,
                            station->force + ((k * p->points->count + first + e) * kind + c) * 3, 1, 1, row + r * e, 1);
        su_apply_metric(station, r, k, count, row, measured, r);
        for (int64_t e = 0; e < count; e++)
            for (int64_t i = 0; i < r; i++) sum[e] += (double)measured[r * e + i] * measured[r * e + i];
    }
}

static su_status add_measured_norms(const su_fit_problem *p, int threads, double *norm2, su_error *err)
{
    enum { CHUNK = 256 }; /* a metric is packed once for all of them */
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        float *work = malloc((size_t)(2 * p->r * CHUNK) * sizeof *work);
        double *sum = malloc(CHUNK * sizeof *sum);
        if (!work || !sum) {
#pragma omp atomic write
            failed = 1;
        }
        for (int64_t a = 0; a < p->station_count; a++) {
            const su_station_rows *station = &p->stations[a];
            if (!station->metric) continue;
#pragma omp for schedule(dynamic)
            for (int64_t first = 0; first < p->points->count; first += CHUNK) {
                int64_t count = p->points->count - first < CHUNK ? p->points->count - first : CHUNK;
                if (!work || !sum) continue;
                measured_norms(p, station, first, count, work, sum);
                for (int64_t e = 0; e < count; e++)
                    norm2[a * p->points->count + first + e] = station->importance * sum[e];
            }
        }
        free(work), free(sum);
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
