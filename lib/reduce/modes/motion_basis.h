/* One basis for all poses, from motion: displacements of the full space, turned back to the neutral pose, have few
 * directions whatever the pose, so their principal directions in the mass norm serve all of them (docs/reduction.md,
 * eq. 15 and 16).
 */
#ifndef SU_REDUCE_MOTION_BASIS_H
#define SU_REDUCE_MOTION_BASIS_H

#include "core/error.h"
#include "io/stage/fit.h"
#include "io/stage/tet.h"
#include "reduce/modes/played_shots.h"

#include <stdint.h>

/* shapes: what was played; shots before `known` are motions of the rig's own, the others known shots (each counts like
 * the others, all of them together like the motions). basis (r,n,3), orthonormal in M, 0 at held vertices; its first
 * `linear` modes are given, the others are principal directions of what these leave of the shapes. q (shapes.count,r) =
 * basis' M shapes. *got: how many modes there are, at most r; what is beyond stays 0. mass (n) lumped. */
su_status su_motion_basis_create(const su_tet *tet, const double *mass, const su_played_shots *shapes, int shot_count,
                                 int known, int64_t linear, int64_t r, double *basis, double *q, int64_t *got,
                                 su_error *err);

#endif
