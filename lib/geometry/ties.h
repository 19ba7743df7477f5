/* How flesh vertices follow the skin between the example poses: an interpolation of its displacement that is exact for
 * affine motion. Shepard's weights (PSSD section 4.1) are not, and the noise that they leave in the rest shape makes
 * thin parts look several times too stiff to the interpolated basis (docs/notes/2026-11-rest.md). */
#ifndef SU_GEOMETRY_TIES_H
#define SU_GEOMETRY_TIES_H

#include "core/error.h"

#include <stdint.h>

enum { SU_TIES = 32 }; /* skin vertices that each flesh vertex follows */

typedef struct su_tie_skin {
    int64_t count;          /* vertices */
    const double *x;        /* (count,3) in the neutral pose */
    int64_t B;              /* bones */
    const float *skinning;  /* (count,B); NULL: not known */
    const uint32_t *layers; /* (count) bits of the layers (geometry/parting.h) it is in; NULL: all in all */
} su_tie_skin;

/* index, weight (n,SU_TIES): for each flesh vertex (n,3) the nearest skin vertices that share a bit of its layers (n;
 * NULL: all do) and
 * weights of a moving least-squares fit of an affine map to their displacements, by 1/d, regularized so that deep
 * vertices extrapolate little (sum of |w| at most 3). Rows sum to 1, weights have any sign. Skin vertices that other
 * bones move than the nearest one count less. A flesh vertex on a skin vertex takes that one alone; where the skin has
 * fewer vertices the rest has weight 0. */
su_status su_ties(int64_t n, const double *flesh, const uint32_t *layers, const su_tie_skin *skin, int threads,
                  int32_t *index, double *weight, su_error *err);

#endif
