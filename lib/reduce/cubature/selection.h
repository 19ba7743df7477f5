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

typedef struct su_selection {
    int64_t count;
    int32_t *chosen;                           /* (count) candidates, ascending */
    double *weights;                           /* (groups, count) */
    su_error_pair *errors;                     /* (stations) training errors */
    double worst;                              /* the error that is held below settings.error */
    su_fit_curve_point curve[SU_CURVE_POINTS]; /* error against size while growing */
    int curve_count;
} su_selection;

/* Grows a set by the candidates that promise most, fits all weights, exchanges weak members, and, for an error bound,
 * shrinks it again as far as the bound holds. Deterministic, the same for any number of threads. */
su_status su_select_points(const su_fit_problem *problem, const su_fit_settings *settings, su_selection *out,
                           su_error *err);
void su_selection_free(su_selection *selection);

/* Errors of given weights on a problem, for samples that nobody trained on. errors (stations). */
su_status su_fit_errors(const su_fit_problem *problem, int64_t count, const int32_t *chosen, const double *weights,
                        int threads, su_error_pair *errors, su_error *err);

#endif
