/* Parameters for shots without a rig: principal coordinates of their skins (docs/formats.md, convention 19). */
#ifndef SU_RIG_SEQUENCE_PARAMS_H
#define SU_RIG_SEQUENCE_PARAMS_H

#include "core/error.h"
#include "io/stage/anim.h"

#include <stdint.h>

/* mean (3 nbar): the neutral skin, so that p = 0 there. basis (s,3 nbar): orthonormal directions of largest motion over
 * up to 256 frames spread evenly over the clips, as many as leave less than `rest` of the sum of squares, at most
 * `most`. p = basis (points - mean), m; |p| / sqrt(nbar) is about the RMS displacement. *basis is the caller's (free).
 */
su_status su_sequence_basis(int clips, const su_anim *anims, int64_t most, double rest, double **basis, int64_t *s,
                            su_error *err);
/* p (s) of one frame (nbar,3). */
void su_sequence_project(int64_t nbar, const double *mean, int64_t s, const double *basis, const float *points,
                         double *p);

#endif
