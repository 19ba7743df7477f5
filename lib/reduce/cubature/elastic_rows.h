/* Training rows of elastic cubature at one place in pose space (docs/formats.md, convention 13; PSSD eq. 18). */
#ifndef SU_REDUCE_ELASTIC_ROWS_H
#define SU_REDUCE_ELASTIC_ROWS_H

#include "reduce/cubature/pose_space.h"
#include "reduce/cubature/selection.h"

#include <stdbool.h>

/* Sample states at a place: q = V z with the generalized eigenpairs (l, V) of (U'KU, U'MU), z_k normal with deviation
 * a / l_k, a such that the rms over the samples of the largest vertex motion is `amplitude` of the flesh diagonal. */
typedef struct su_sampling {
    int64_t samples;
    double amplitude;
    uint64_t seed; /* stream: the place's number is mixed in by the caller */
    uint64_t stream;
    int factor_count; /* sample k is scaled by factors[k % factor_count] after that; 0: none */
    double factors[8];
    bool steep;   /* every other sample has deviations a / l_k^2: in motion soft modes carry most of the force, not an
                     equal share */
    int64_t soft; /* further states: each of the `soft` lowest eigenvectors alone, half as large as the others,
                   * behind the samples: q then has samples + soft rows */
    double soft_weight; /* their rows count this much more */
} su_sampling;

/* What the rows of a place are to meet. */
typedef enum su_force_kind {
    SU_FORCE_WHOLE,
    SU_FORCE_REMAINDER, /* less K_e U q of the neutral pose, which does not follow the pose, as in the model; errors are
                         * relative to the whole force all the same */
    SU_FORCE_LINEAR     /* that part alone, and relative to it */
} su_force_kind;

typedef struct su_force_part {
    su_force_kind kind;
    const double
        *stiffness; /* (r,r) with the remainder: the sum of U'K_e U over all tets there, or what stands for it */
} su_force_part;

/* U (r,n,3) as su_pose_space_enter left it at the shape `rest` (n,3); q (samples,r). eigenvalues (r), may be NULL: l
 * ascending. */
su_status su_sample_states(su_pose_space *space, const double *U, const double *rest, const su_sampling *sampling,
                           double *q, double *eigenvalues, su_error *err);

/* Enters the place and fills rows->basis, force, target for the candidate tets (list (count), corners numbered in
 * vertex (vertices)); blend and group are the caller's. Owned by rows, released by su_station_rows_free. */
su_status su_elastic_rows(su_pose_space *space, const su_place *place, const su_sampling *sampling, su_force_part part,
                          int64_t count, const int32_t *list, int64_t vertices, const int32_t *vertex,
                          su_station_rows *rows, su_error *err);

/* The same for given states q (samples,r). Errors of the force are measured by the displacement that they make from
 * there, K(u)^-1 f in M with the projected tangent at the state, relative to the displacement u: in turned flesh what
 * was stiff at rest is soft. For linear forces the tangent is that of the rest shape. */
su_status su_state_rows(su_pose_space *space, const su_place *place, int64_t samples, const double *q,
                        su_force_part part, int64_t count, const int32_t *list, int64_t vertices, const int32_t *vertex,
                        su_station_rows *rows, su_error *err);

/* U'K_e U (r,r) at the rest shape of a place, summed over tets (count) times weights (count). */
su_status su_tets_stiffness(su_pose_space *space, const su_place *place, int64_t count, const int32_t *tets,
                            const double *weights, double *stiffness, su_error *err);

/* U'KU (r,r) at the rest shape of a place. */
su_status su_place_stiffness(su_pose_space *space, const su_place *place, double *stiffness, su_error *err);

void su_station_rows_free(su_station_rows *rows);

/* basis (vertices,3,r) in single precision of U (r,n,3) at the listed vertices. */
void su_rows_basis(int64_t r, int64_t n, const double *U, int64_t vertices, const int32_t *vertex, float *basis);

#endif
