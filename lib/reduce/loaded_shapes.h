/* Static shapes of the flesh at full size under inertial loads: what second-order modal derivatives miss of large motion. */
#ifndef SU_REDUCE_LOADED_SHAPES_H
#define SU_REDUCE_LOADED_SHAPES_H

#include "core/progress.h"
#include "fem/elastic.h"
#include "reduce/constrained_inverse.h"

#include <stdint.h>

/* All pointers borrowed; dofs as in the elastic's stiffness. */
typedef struct su_loaded_problem {
    const su_elastic *elastic;
    const double *x;                    /* (n,3) the rest shape */
    su_constrained_inverse *inverse;    /* of W K W at rest */
    const double *weight, *mass;        /* (dofs) W', lumped mass */
} su_loaded_problem;

/* out (count,dofs): u = W y with W f_int(x + u) = W M a, for each of the accelerations (count,n,3). Limited-memory quasi-Newton
 * steps from the inverse at rest (Nocedal & Wright, Numerical Optimization, algorithm 7.4), until
 * a step promises less than a thousandth of the energy, at most 40: only directions are wanted. applications grows by the solves. SU_AGAIN when stopped. */
su_status su_loaded_shapes(const su_loaded_problem *problem, int64_t count, const double *accelerations, double *out,
                           int64_t *applications, int threads, const su_progress *progress, su_error *err);

#endif
