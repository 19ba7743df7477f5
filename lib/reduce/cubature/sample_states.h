/* States that the flesh might be in, drawn at random. */
#ifndef SU_REDUCE_SAMPLE_STATES_H
#define SU_REDUCE_SAMPLE_STATES_H

#include "reduce/cubature/pose_space.h"

#include <stdbool.h>

enum { SU_STATES_AT_ONCE = 8 }; /* held in the full space at a time, each thread one of them */

/* Sample states at a place: q = V z with the generalized eigenpairs (l, V) of (U'KU, U'MU), z_k normal with deviation
 * a / l_k, a such that the rms over the samples of the largest vertex motion is `amplitude` of the flesh diagonal. */
typedef struct su_sampling {
    int64_t samples;
    double amplitude;
    uint64_t seed; /* stream: the place's number is mixed in by the caller */
    uint64_t stream;
    bool mixed;         /* a quarter of them half as large after that, a quarter 1.4 times */
    int64_t soft;       /* further states: each of the `soft` lowest eigenvectors alone, half as large as the others,
                         * behind the samples: q then has samples + soft rows */
    double soft_weight; /* their rows count this much more */
} su_sampling;

/* At the place that was entered, of the shape `rest` (n,3); q (samples + soft,r). */
su_status su_sample_states(su_pose_space *space, const double *rest, const su_sampling *sampling, double *q,
                           su_error *err);

/* u (count, 3n) = q U for `count` states q (count,r) there. */
void su_states_expand(const su_pose_space *space, int64_t count, const double *q, double *u);

#endif
