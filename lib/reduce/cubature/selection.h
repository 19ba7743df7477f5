/* A few points that stand for a sum over all of them: the fitting problem behind cubature of elastic and of inertial
 * forces (PSSD eq. 17-25; An, Kim and James 2008), and its solution.
 *
 * A station is a place in pose space with a basis and some sample states. A candidate (a tet or a vertex) contributes
 * to each sample a reduced force U_e' f_e; summed over all points these give the target. Wanted are a small set C and
 * weights V (groups, C), V >= 0, such that at every station, whose weights are blend' V, the weighted sum over C comes
 * near the target. Groups are the example poses, blend their w+; or there is one group.
 *
 * Columns are never stored for all candidates: the gradient goes through the full space, z = U residual, then f_e .
 * z_e. */
#ifndef SU_REDUCE_SELECTION_H
#define SU_REDUCE_SELECTION_H

#include "core/error.h"
#include "core/progress.h"
#include "reduce/cubature/candidates.h"

#include <stdbool.h>
#include <stdint.h>

/* Rows of one station, each sample scaled to a target of length 1. */
typedef struct su_station_rows {
    int64_t samples;
    float *basis;   /* (vertices, 3, r) U in pose coordinates at the candidates' vertices */
    float *force;   /* (samples, candidates, corners, 3) */
    double *target; /* (samples, r) */
    float *metric;  /* (samples, r, r) what a sample's reduced forces are multiplied by before they are compared, as the
                     * target is already;  NULL: nothing */
    double *blend;  /* (groups) */
    double importance; /* factor on the squared residuals of this station */
    int group;         /* >= 0: this is example pose `group`; -1: a place between */
    bool guide;        /* fitted as far as the others allow; its error is not held below the bound */
} su_station_rows;

typedef struct su_fit_problem {
    int64_t r, groups, station_count;
    const su_candidates *points; /* borrowed */
    su_station_rows *stations;
} su_fit_problem;

typedef struct su_fit_settings {
    double error;  /* stop at the smallest set whose error is below this; 0: use `count` */
    int64_t count; /* wanted size where error is 0; else the largest allowed (0: no bound) */
    int threads;
    su_progress *progress;
} su_fit_settings;

typedef struct su_error_pair {
    double mean, rms; /* of |difference| / |force| over the samples of a station */
} su_error_pair;

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
