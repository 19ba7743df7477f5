/* Training of both cubature sets over all places in pose space (PSSD sections 5.3, 5.4; docs/reduction.md, section 5).
 */
#ifndef SU_REDUCE_CUBATURE_H
#define SU_REDUCE_CUBATURE_H

#include "reduce/cubature/selection.h"
#include "reduce/cubature/training_rows.h"

typedef struct su_cubature {
    su_point_set tets, vertices; /* weights (m,count) of tets, (count) of vertices; errors in the order of the places */
    double *linear;           /* (r,r) D, what the tets lack of the linear force; NULL where they stand for all of it */
    double *stiffness;        /* (r,r) U'KU of the flesh at the neutral pose, where there is D */
    double stiffest;          /* largest eigenvalue of the tets' own stiffness against the flesh's, where there is D */
    int64_t places;           /* that errors are of */
    int64_t samples;          /* a pose, or states in all */
    su_candidates candidates; /* tets to choose from */
    su_fit_problem rows;      /* theirs, with one basis kept for su_cubature_train_tets, else empty behind training */
} su_cubature;

/* With a basis a pose the tets stand for the whole elastic force, with weights a pose (PSSD section 5.3). With one
 * basis (training->states) they are trained for what is not linear in it, their weights do not depend on the pose, and
 * D is added (docs/design.md, eq. 12 to 14). */
su_status su_cubature_train(const su_training *training, su_cubature *out, su_error *err);
/* Trains the tets alone anew, `tets` of them (with states); the vertices stay. Where that fails the old ones stay, too.
 */
su_status su_cubature_train_tets(const su_training *training, int64_t tets, su_cubature *cubature, su_error *err);
void su_cubature_free(su_cubature *cubature);

/* Errors of sets with a basis a pose on fresh samples: `samples` states a place drawn with another seed, `factor` times
 * as large, at training->places. errors (places) each. */
su_status su_cubature_check(const su_training *training, const su_cubature *cubature, int64_t samples, double factor,
                            su_error_pair *tet_errors, su_error_pair *vertex_errors, su_error *err);

#endif
