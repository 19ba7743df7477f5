/* One basis for all poses, from motion: displacements of the full space, turned back to the neutral pose, have few
 * directions whatever the pose, so their principal directions in the mass norm serve all of them (docs/reduction.md,
 * eq. 15 and 16).
 */
#ifndef SU_REDUCE_MOTION_BASIS_H
#define SU_REDUCE_MOTION_BASIS_H

#include "core/error.h"
#include "io/stage/basis.h"
#include "physics/material.h"
#include "reduce/modes/played_shots.h"

#include <stdint.h>

/* played: what su_shots_play made of `play`, with its forces, whose plan says how many modes are the lowest linear ones
 * of the neutral pose, behind play->contact_modes that answer forces of contact; the others are principal directions of
 * what these leave of the shapes: each shot counts like the others, all motions together like all known shots. Fills
 * all of the file but its meta: modes orthonormal in M, 0 at held vertices, and the states. Fewer than `wanted` modes
 * where the motion has fewer directions; SU_INPUT where it has none. basis: empty; owned by the caller, after errors
 * too. */
su_status su_motion_basis_create(const su_play *play, const su_played_shots *played, su_material material,
                                 int64_t wanted, su_basis *basis, su_progress *progress, su_error *err);

#endif
