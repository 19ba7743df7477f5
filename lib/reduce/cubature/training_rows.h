/* The fitting problems that tets and vertices are chosen by: a station for each training place. */
#ifndef SU_REDUCE_TRAINING_ROWS_H
#define SU_REDUCE_TRAINING_ROWS_H

#include "core/progress.h"
#include "reduce/cubature/selection.h"
#include "reduce/cubature/training_places.h"
#include "reduce/training_plan.h"

/* With one basis: a frame's own state, and that of a frame far away. */
enum { SU_STATES_A_PLACE = 2 };

/* States that the flesh visits, SU_STATES_A_PLACE at each training place. Borrowed. */
typedef struct su_training_states {
    int64_t count;
    int64_t *place; /* (count) ascending */
    double *q;      /* (count,r) */
} su_training_states;

/* One training: all that it reads. Borrowed. */
typedef struct su_training {
    su_pose_space *space;
    const su_training_plan *plan;
    const su_training_places *places; /* of tets */
    const su_training_places *moving; /* of vertices */
    const su_training_states *states; /* with one basis for all poses: what tets are trained on; NULL: random states */
    uint64_t seed;
    int64_t memory; /* bytes that stored samples may take */
    su_progress *progress;
} su_training;

/* Most tets to choose from: those whose forces the memory holds, but no fewer than the plan says. */
int64_t su_training_room(const su_training *training);

/* Random states at each example pose; a place between has a part of that, because it shares the poses' weights.
 * candidates: how many tets there are. */
int64_t su_training_samples(const su_training *training, int64_t candidates);

/* Forces of tets. With states: what is not linear, in the metric of K(u)^-1, and beside it the linear force of the same
 * states at the neutral pose (stiffness (r,r) = U'KU there); else the whole force of `samples` random states a pose.
 * Released by su_fit_problem_free, after errors too. */
su_status su_tet_problem(const su_training *training, const su_candidates *points, int64_t samples,
                         const double *stiffness, su_fit_problem *problem, su_error *err);

/* Accelerations at the moving places, a station each; with one basis all in one station. */
su_status su_vertex_problem(const su_training *training, const su_candidates *points, su_fit_problem *problem,
                            su_error *err);

void su_fit_problem_free(su_fit_problem *problem);

#endif
