/* A few points that stand for a sum over all of them: the fitting problem behind cubature of elastic and of inertial
 * forces (PSSD eq. 17-25; An, Kim and James 2008).
 *
 * A station is a place in pose space with a basis and some sample states, or all places where these have one basis. A
 * candidate (a tet or a vertex) contributes to each sample a reduced force U_e' f_e; summed over all points these give
 * the target. Wanted are a small set C and weights V (groups, C), V >= 0, such that at every station, whose weights are
 * blend' V, the weighted sum over C comes near the target. Groups are the example poses, blend their w+; or there is
 * one group. */
#ifndef SU_REDUCE_FIT_PROBLEM_H
#define SU_REDUCE_FIT_PROBLEM_H

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

typedef struct su_error_pair {
    double mean, rms; /* of |difference| / |force| over the samples of a station */
} su_error_pair;

#endif
