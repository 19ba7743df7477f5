/* Columns of a fitting problem as they are kept, and what is made of them; one set of functions a kind of point. */
#ifndef SU_REDUCE_COLUMNS_H
#define SU_REDUCE_COLUMNS_H

#include "core/error.h"
#include "reduce/cubature/fit_problem.h"

enum { SU_SINGLE_ROWS = 512 }; /* of a single-precision sum; beyond, sums are added in double */

/* Some of the columns of a station that are kept one a slot. */
typedef struct su_column_set {
    int64_t count;
    const int64_t *slot;   /* (count); NULL: the first ones */
    const double *weights; /* (count) */
    const float *columns;
} su_column_set;

/* Of a station; statuses are SU_AGAIN without memory. */
typedef struct su_columns {
    /* Numbers of a column. */
    int64_t (*size)(const su_fit_problem *problem, int64_t station);
    /* out (count, size): of each candidate. */
    su_status (*make)(const su_fit_problem *problem, int64_t station, int64_t count, const int32_t *candidate,
                      float *out);
    /* Of `some` columns, `count` one behind the other: gram (count,total) with `all` (total) columns, dot (count) with
     * the target. */
    su_status (*products)(const su_fit_problem *problem, int64_t station, int64_t count, const float *some,
                          int64_t total, const float *all, double *gram, double *dot);
    /* residual (samples,r): target less the weighted columns, from sample `first` on. */
    su_status (*residual)(const su_fit_problem *problem, int64_t station, int64_t first, int64_t samples,
                          const su_column_set *set, double *residual);
} su_columns;

/* What a tet contributes to all samples, B_e' f_e with U at its four corners in B_e (12,r), times the sample's metric
 * where there is one: samples r numbers. */
extern const su_columns su_tet_columns;

/* Of vertices in factors. What one contributes to a sample is U_e' f_e with f_e in R^3, so a column of S samples and r
 * modes is known by 3 (r + S) numbers, [U_e | f_e] by rows, and columns are multiplied by way of two 3 x 3 matrices:
 *   A_e . A_g = sum_s (U_e' f_es) . (U_g' f_gs) = sum_ij (U_e U_g')_ij (sum_s f_es f_gs')_ij. */
extern const su_columns su_vertex_columns;

/* B (3 corners,r): the rows that the stored force of candidate e meets, of a station's basis at its corners. */
void su_point_basis(const su_fit_problem *problem, const float *basis, int64_t e, float *B);

#endif
