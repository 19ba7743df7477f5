/* What a rig does that is not linear in its bones and blend shapes (docs/skinning.md, eq. 39): dual quaternions,
 * sculpted corrections, anything that only its skins tell. */
#ifndef SU_REDUCE_RIG_RESIDUALS_H
#define SU_REDUCE_RIG_RESIDUALS_H

#include "core/error.h"

#include <stdint.h>

/* Skins of a rig at several poses. All pointers borrowed. */
typedef struct su_rig_skins {
    int64_t nbar, bones, morphs, poses;
    const double *neutral; /* (nbar,3) m */
    const float *weights;  /* (nbar,bones) skinning weights; not read where bones is 0 */
    const double *morph;   /* (morphs,nbar,3) m; not read where morphs is 0 */
    const float *skin;     /* (poses,nbar,3) m, each in any frame of its own */
} su_rig_skins;

/* residual (poses,nbar,3): each skin less the nearest that affine maps of the bones and multiples of the blend shapes
 * make, a factor a component, in the least squares over the vertices. SU_AGAIN without memory. */
su_status su_rig_residuals(const su_rig_skins *skins, float *residual, su_error *err);

#endif
