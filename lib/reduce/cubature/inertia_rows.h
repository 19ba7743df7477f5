/* Training rows of inertial cubature at one place in pose space (PSSD section 5.4, and what the time-consistent step,
 * docs/design.md, eq. 11, adds). Everything that inertia vertices must reproduce is linear in an acceleration field
 * a_v: f = sum m_v U_v' a_v. */
#ifndef SU_REDUCE_INERTIA_ROWS_H
#define SU_REDUCE_INERTIA_ROWS_H

#include "reduce/cubature/elastic_rows.h"
#include "reduce/cubature/pose_space.h"
#include "reduce/cubature/selection.h"

/* How the character moves through a place. */
typedef struct su_motion {
    int64_t accelerations;
    double *acceleration; /* (accelerations,n,3) root frame: rig acceleration minus gravity */
    int64_t turns;
    double *turn;       /* (turns,n,4) quaternion of P1' P0 with P = Q R: from an earlier instant to the place's, in
                         * neutral coordinates */
    double *turn_share; /* (turns) angle, RMS over the mass, as a part of the largest among the places */
} su_motion;

void su_motion_free(su_motion *motion);

typedef struct su_inertia_sampling {
    su_sampling states;  /* states.samples histories q */
    const double *given; /* (states.samples,r) these instead; NULL: drawn as elastic samples are */
    double spin;         /* rad by which the root turns in a substep; 0: no spins */
    double least_field;  /* of a field's mass norm that its target counts as, at least */
    double least_turn;   /* of the largest turn among the places that one counts as, at least */
    bool turned_back;    /* one basis: forces as they are in the neutral flesh's frame, so that rows of all places are
                          * of the same U */
} su_inertia_sampling;

/* Enters the place and fills rows for the candidate vertices, for
 *   constant accelerations along three axes;
 *   with spin: angular accelerations e_i x x and centripetal ones e_i x (e_j x x) of the rest shape;
 *   for each history q: (S - I) U q with the root turned by `spin` about one axis after the other, and R (T - I) R' U q
 * for each turn T of the motion; the accelerations of the motion (NULL: none). Each is scaled to unit target, or to
 * least_field of its own mass norm where it is nearly orthogonal to the basis, and less where the turn T is below
 * least_turn of the largest one: relative accuracy of next to nothing is not asked for. Fields that vanish are left out
 * (rows->samples). rows->basis is U of the place; not made where forces are turned back. Released as elastic rows. */
su_status su_inertia_rows(su_pose_space *space, const su_place *place, const su_motion *motion,
                          const su_inertia_sampling *sampling, const su_candidates *points, su_station_rows *rows,
                          su_error *err);

#endif
