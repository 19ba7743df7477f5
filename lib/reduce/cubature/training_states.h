/* Which of the states that one basis was made from its cubature is trained on. */
#ifndef SU_REDUCE_TRAINING_STATES_H
#define SU_REDUCE_TRAINING_STATES_H

#include "io/stage/basis.h"
#include "reduce/cubature/training_rows.h"

/* Owned, released by su_chosen_states_free. */
typedef struct su_chosen_states {
    su_shot_frames_list places; /* by the shots of meta `shots` */
    su_training_states states;  /* of these places */
} su_chosen_states;

/* Largest motion of a vertex in state q (r), m; a basis for all poses. */
double su_state_displacement(const su_basis *basis, const double *q);

/* Up to plan->states frames evenly apart through the states of the basis, half of them in the first `motions` shots and
 * half in the known ones behind, each with its own state and with one of a frame far away, so that no pair of pose and
 * motion is taken for a rule; most are enlarged, but for the own ones of known shots. diagonal: of the flesh, m.
 * SU_INPUT where the basis has no states. */
su_status su_choose_states(const su_basis *basis, int motions, double diagonal, const su_training_plan *plan,
                           su_chosen_states *out, su_error *err);
void su_chosen_states_free(su_chosen_states *chosen);

#endif
