/* Static answers of the flesh at many states at once: conjugate gradients on each state's own stiffness, all with the one factor of the
 * neutral flesh, turned along. Flesh turned as the rotation field says is nearly as stiff as at the neutral pose, so a few steps do. */
#ifndef SU_ESTIMATE_FULL_ANSWER_H
#define SU_ESTIMATE_FULL_ANSWER_H

#include "core/error.h"
#include "linalg/cholesky.h"
#include "linalg/sparse.h"

#include <stdint.h>

typedef struct su_full_answer {
    su_cholesky *neutral;         /* factor of K at the neutral pose; borrowed, as all */
    int64_t free_count;
    const int32_t *free_vertex;   /* (free_count) */
    const su_sparse **K;          /* (count) semidefinite, root frame */
    const double **turn;          /* (count) of (n,4): R_v */
    double *work;                 /* (3 count, 3 free_count) */
} su_full_answer;

/* x (count, 3 free) m: about K^-1 b after `steps` steps from 0; b (count, 3 free) N, root frame, is left as what x lacks. The same bytes
 * for any number of threads. */
su_status su_full_answer_solve(const su_full_answer *answer, int64_t count, int steps, double *b, double *x, int threads, su_error *err);

#endif
