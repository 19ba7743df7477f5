/* Training rows of elastic cubature at one place in pose space (docs/formats.md, convention 13; PSSD eq. 18). */
#ifndef SU_REDUCE_ELASTIC_ROWS_H
#define SU_REDUCE_ELASTIC_ROWS_H

#include "reduce/cubature/candidates.h"
#include "reduce/cubature/pose_space.h"
#include "reduce/cubature/sample_states.h"
#include "reduce/cubature/selection.h"

/* What the rows of a place are to meet. */
typedef enum su_force_kind {
    SU_FORCE_WHOLE,
    SU_FORCE_REMAINDER, /* less K_e U q of the neutral pose, which does not follow the pose, as in the model; errors are
                         * relative to the whole force all the same */
    SU_FORCE_LINEAR     /* that part alone, and relative to it */
} su_force_kind;

typedef struct su_force_part {
    su_force_kind kind;
    const double *stiffness; /* (r,r) with the remainder: the sum of U'K_e U over all tets at the neutral pose */
    const double *norm;      /* (r,r) of displacements, su_displacement_norm, for su_state_rows */
} su_force_part;

/* Enters the place and fills rows->basis, force, target for the candidate tets at random states, for the whole force;
 * blend and group are the caller's. Owned by rows, released by su_station_rows_free, after errors too. */
su_status su_elastic_rows(su_pose_space *space, const su_place *place, const su_sampling *sampling,
                          const su_candidates *points, su_station_rows *rows, su_error *err);

/* The same for given states q (samples,r). Errors of the force are measured by the displacement that they make from
 * there, K(u)^-1 f in the norm of `part` with the projected tangent at the state, relative to the displacement u: in
 * turned flesh what was stiff at rest is soft. For linear forces the tangent is that of the rest shape. With one basis:
 * forces are turned back into the neutral flesh's frame, rows of all places are of the same U, and rows->basis is not
 * made. */
su_status su_state_rows(su_pose_space *space, const su_place *place, int64_t samples, const double *q,
                        su_force_part part, const su_candidates *points, su_station_rows *rows, su_error *err);

void su_station_rows_free(su_station_rows *rows);

/* basis (vertex_count,3,r), owned by the caller: single precision of space->U at the vertices that the points touch. */
su_status su_rows_basis(const su_pose_space *space, const su_candidates *points, float **basis, su_error *err);

#endif
