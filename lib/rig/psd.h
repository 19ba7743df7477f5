/* Pose-space deformation: sculpted corrections interpolated over the sculpted poses and the neutral (PSSD eq. 1-2). */
#ifndef SU_RIG_PSD_H
#define SU_RIG_PSD_H

#include "core/error.h"
#include "rig/rig_space.h"

#include <stdint.h>

/* out (3 nbar) = sum_j w_j(p) delta_j over the rig's sculpts; w (a) scratch. */
void su_psd_correction(const su_rig_space *rig, const double *p, double *w, double *out);

/* Sculpted source vertices (count,3) on the welded skin: source_vertex (N) as in supple.anim; count is N or nbar.
 * Vertices that were welded take the mean of theirs; *spread is the farthest that one of them lies from it. SU_INPUT
 * with the numbers where the count is another. */
su_status su_weld_sculpt(int64_t count, const double *points, int64_t N, const int32_t *source_vertex, int64_t nbar,
                         double *welded, double *spread, su_error *err);

#endif
