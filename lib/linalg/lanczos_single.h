/* The upper end of the spectrum of a symmetric operator in single precision, as a start for what goes on in double. */
#ifndef SU_LINALG_LANCZOS_SINGLE_H
#define SU_LINALG_LANCZOS_SINGLE_H

#include "core/error.h"
#include "linalg/lane_blocks.h"

#include <stdint.h>

/* x = T x in place, x (size,SU_LANES), a row's entries beside each other. */
typedef struct su_lanczos_operator {
    int64_t size;
    void (*apply)(void *context, float *x);
    void *context;
} su_lanczos_operator;

/* How far it goes: until the `count` highest Ritz pairs have residuals below `tolerance` of their values, the Krylov
 * space is `most` columns wide, or nothing new is left. */
typedef struct su_lanczos_ends {
    int64_t count, most;
    double tolerance;
} su_lanczos_ends;

/* The `keep` highest Ritz vectors, orthonormal to single precision: blocks (ceil(keep / SU_LANES),size,
 * SU_LANES), highest first; *kept of them are there, fewer where the Krylov space is smaller. Block Lanczos
 * with all of the basis kept and orthogonalized against twice (Golub and Underwood 1977; Parlett 1980, chapter 13),
 * from a fixed start. */
su_status su_lanczos_single(const su_lanczos_operator *T, const su_lanczos_ends *ends, int64_t keep, float *vectors,
                            int64_t *kept, su_error *err);

#endif
