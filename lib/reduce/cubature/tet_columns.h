/* Columns of tets: what one contributes to all samples of a station, B_e' f_e with U at its four corners in B_e (12,r),
 * times the sample's metric where there is one. */
#ifndef SU_REDUCE_TET_COLUMNS_H
#define SU_REDUCE_TET_COLUMNS_H

#include "core/error.h"
#include "reduce/cubature/fit_problem.h"

/* B (3 corners,r): the rows that the stored force of candidate e meets, of a station's basis at its corners. */
void su_point_basis(const su_fit_problem *problem, const float *basis, int64_t e, float *B);

/* in (count,r) times the transpose of a sample's metric: rows of `out`, `stride` from row to row. */
void su_apply_metric(const su_station_rows *station, int64_t r, int64_t sample, int64_t count, const float *in,
                     float *out, int64_t stride);

/* out (count, samples r). SU_AGAIN without memory. */
su_status su_tet_columns(const su_fit_problem *problem, int64_t station, int64_t count, const int32_t *candidate,
                         float *out);

/* Of `some` columns, `count` one behind the other: gram (count,size) with all `size` columns, dot (count) with the
 * target. SU_AGAIN without memory. */
su_status su_tet_products(const su_fit_problem *problem, int64_t station, int64_t count, const float *some,
                          int64_t size, const float *all, double *gram, double *dot);

/* residual (samples,r): target less the weighted columns, from sample `first` on. */
su_status su_tet_residual(const su_fit_problem *problem, int64_t station, int64_t first, int64_t samples,
                          const su_column_set *set, double *residual);

#endif
