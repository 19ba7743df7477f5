/* Lengths of the columns of a fitting problem, without making them. */
#ifndef SU_REDUCE_COLUMN_NORMS_H
#define SU_REDUCE_COLUMN_NORMS_H

#include "core/error.h"
#include "reduce/cubature/fit_problem.h"

/* norm2 (stations, candidates): squared length of every candidate's column at every station, times the station's
 * importance. SU_AGAIN without memory. */
su_status su_column_norms(const su_fit_problem *problem, int threads, double *norm2, su_error *err);

#endif
