/* The inertial loads that shots put on the flesh, for modes that answer them (load-dependent Ritz vectors: Wilson, Yuan,
 * Dickens, "Dynamic analysis by direct superposition of Ritz vectors", Earthquake Eng. & Struct. Dyn. 10, 1982). */
#ifndef SU_REDUCE_SHOT_LOADS_H
#define SU_REDUCE_SHOT_LOADS_H

#include "core/error.h"
#include "io/fit.h"
#include "io/tet.h"

#include <stdint.h>

/* Rig accelerations a of the flesh at frames spread evenly over all shots and one uniform acceleration along each axis as
 * strong as the mean of those (for changes of gravity), of them all the `keep` leading directions: *loads (*count,n,3),
 * m/s^2, turned back to the neutral pose by the rotation of each vertex; the caller frees. The rest shape is the Shepard interpolation of the rig's
 * skin: fitted corrections change accelerations little, and a fit need not hold all poses. */
su_status su_shot_loads_create(const su_tet *tet, const su_fit *fit, int shot_count, const char *const *shots, int64_t keep,
                               double **loads, int64_t *count, int threads, su_error *err);

/* The loads at a pose with rest shape x (n,3): turned forward, out (count,n,3). */
su_status su_shot_loads_turn(int64_t n, const double *vertices, int64_t t, const int32_t *tets, const double *x,
                             int64_t count, const double *loads, double *out, int threads, su_error *err);

#endif
