/* Solves the fitting problem behind cubature (fit_problem.h): a few points that stand for a sum over all of them.
 *
 * Columns are never stored for all candidates: the gradient goes through the full space, z = U residual, then f_e .
 * z_e. */
#ifndef SU_REDUCE_SELECTION_H
#define SU_REDUCE_SELECTION_H

#include "core/error.h"
#include "core/progress.h"
#include "reduce/cubature/fit_problem.h"

#include <stdint.h>

typedef struct su_fit_settings {
    double error;  /* stop at the smallest set whose error is below this; 0: use `count` */
    int64_t count; /* wanted size where error is 0; else the largest allowed (0: no bound) */
    int threads;
    su_progress *progress;
} su_fit_settings;

enum { SU_CURVE_POINTS = 64 }; /* kept of a curve */

typedef struct su_fit_curve_point {
    int64_t count;
    double error;
} su_fit_curve_point;

/* Tets or vertices with weights. Owned. */
typedef struct su_point_set {
    int64_t count, candidates;
    int32_t *points;                           /* (count) ascending, into the mesh */
    double *weights;                           /* (groups, count) */
    su_error_pair *errors;                     /* (stations) training errors */
    double worst;                              /* the error that is held below settings.error */
    su_fit_curve_point curve[SU_CURVE_POINTS]; /* error against size while growing */
    int curve_count;
    double seconds_rows, seconds_choice; /* what training took, the caller's */
} su_point_set;

/* Grows a set by the candidates that promise most, fits all weights, exchanges weak members, and, for an error bound,
 * shrinks it again as far as the bound holds. Deterministic, the same for any number of threads. out holds zeros but
 * for its times. */
su_status su_select_points(const su_fit_problem *problem, const su_fit_settings *settings, su_point_set *out,
                           su_error *err);
void su_point_set_free(su_point_set *set);

/* Errors of given weights of candidates on a problem, for samples that nobody trained on. errors (stations). */
su_status su_fit_errors(const su_fit_problem *problem, int64_t count, const int32_t *chosen, const double *weights,
                        int threads, su_error_pair *errors, su_error *err);

#endif
