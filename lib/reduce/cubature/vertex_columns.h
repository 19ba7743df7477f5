/* Columns of vertices in factors. What a vertex contributes to a sample is U_e' f_e with f_e in R^3, so a column of S
 * samples and r modes is known by 3 (r + S) numbers, [U_e | f_e], and columns are multiplied by way of two 3 x 3
 * matrices:
 *   A_e . A_g = sum_s (U_e' f_es) . (U_g' f_gs) = sum_ij (U_e U_g')_ij (sum_s f_es f_gs')_ij.
 * Not so those of tets, with twelve numbers a sample and a metric for each. */
#ifndef SU_REDUCE_VERTEX_COLUMNS_H
#define SU_REDUCE_VERTEX_COLUMNS_H

#include "core/error.h"
#include "reduce/cubature/fit_problem.h"

/* Numbers of a column at a station, and of its three rows each. */
int64_t su_vertex_column_size(const su_fit_problem *problem, int64_t station);

/* out (count, 3, r + samples): [U_e | f_e] of each candidate. */
void su_vertex_columns(const su_fit_problem *problem, int64_t station, int64_t count, const int32_t *candidate,
                       float *out);

/* Of `some` columns, `count` one behind the other: gram (count,size) with all `size` columns, dot (count) with the
 * target. SU_AGAIN without memory. */
su_status su_vertex_products(const su_fit_problem *problem, int64_t station, int64_t count, const float *some,
                             int64_t size, const float *all, double *gram, double *dot);

/* residual (samples,r): target less the weighted columns, from sample `first` on. SU_AGAIN without memory. */
su_status su_vertex_residual(const su_fit_problem *problem, int64_t station, int64_t first, int64_t samples,
                             const su_column_set *set, double *residual);

#endif
