/* Columns, Gram matrices, gradients and weights of a fitting problem: the linear algebra under selection.c. */
#ifndef SU_REDUCE_SELECTION_POOL_H
#define SU_REDUCE_SELECTION_POOL_H

#include "core/memory.h"
#include "reduce/cubature/fit_problem.h"

/* Normal equations of one set, gathered from the pool. */
typedef struct su_pool_normal {
    int64_t count, capacity;
    double *gram;          /* (stations, count, count) times importance */
    double *target;        /* (stations, count) */
    double *v;             /* (stations, count) blended weights */
    double *group;         /* (groups, count, count) normal matrix of each group */
    double *G, *h, *x, *y; /* (count, count) and (count) scratch */
    su_arena arena;        /* owns all of these */
} su_pool_normal;

/* What is known of a station. */
typedef struct su_pool_station {
    float *columns;  /* (capacity, samples r), of vertices in factors (columns.h) */
    double *gram;    /* (capacity, capacity) */
    double *dot;     /* (capacity) column . target */
    float *residual; /* (samples, r), set by su_pool_residual, times the metric where there is one */
    double target2;  /* squared length of all targets */
} su_pool_station;

/* Of the candidates that were tried, one a slot. Columns and products are kept in single precision, which is far finer
 * than the errors of 1e-2 that cubature is about; sums over more than 512 rows are made in double. */
typedef struct su_pool {
    const su_fit_problem *problem;
    int threads;
    int64_t size, capacity;
    int32_t *candidate;  /* (capacity) of each slot, -1: free */
    int32_t *slot_of;    /* (candidates) -1: none */
    unsigned char *kept; /* (capacity) */
    su_pool_station *stations;
    su_pool_normal normal; /* of the set last fitted */
} su_pool;

su_status su_pool_create(su_pool *pool, const su_fit_problem *problem, int threads, su_error *err);
void su_pool_free(su_pool *pool);

/* Marks slots that the next su_pool_add must not take over; first clears all older marks. */
void su_pool_keep(su_pool *pool, bool first, int64_t count, const int64_t *slot);

/* Slots of the given candidates, made where they are new. slot (count). */
su_status su_pool_add(su_pool *pool, int64_t count, const int32_t *candidate, int64_t *slot, su_error *err);

/* Weights of the set (groups, stride) by NNLS, one group after the other, `sweeps` times or until nothing moves; on
 * entry where to start. errors (stations): their rms, from the Gram matrices; mean is set to the same. */
su_status su_pool_fit(su_pool *pool, int64_t count, const int64_t *slot, int64_t stride, double *weights, int sweeps,
                      su_error_pair *errors, su_error *err);

/* Residual of weights (groups, stride), kept for su_pool_gradient, and errors (stations). */
su_status su_pool_residual(su_pool *pool, int64_t count, const int64_t *slot, int64_t stride, const double *weights,
                           su_error_pair *errors, su_error *err);

/* out (stations, candidates): column . residual, times the station's importance. */
su_status su_pool_gradient(su_pool *pool, double *out, su_error *err);

/* By how much the squared residual would grow, about, if a member were left out and the others refitted:
 * v^2 / (G^-1)_ee, summed over groups. loss (count). */
su_status su_pool_losses(su_pool *pool, int64_t count, const int64_t *slot, int64_t stride, const double *weights,
                         double *loss, su_error *err);

#endif
