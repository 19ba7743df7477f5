/* From a basis to a model: places, both cubature sets, the model, and whether it moves as the flesh does. */
#ifndef SU_REDUCE_MODEL_TRAINING_H
#define SU_REDUCE_MODEL_TRAINING_H

#include "io/stage/model.h"
#include "io/stage/poses.h"
#include "reduce/cubature/cubature.h"
#include "reduce/cubature/linear_fit.h"
#include "reduce/cubature/motion_check.h"
#include "reduce/cubature/training_states.h"

/* All that a model is made of. Borrowed. */
typedef struct su_model_parts {
    su_training training; /* all but places and states */
    const su_poses *poses;
    su_shot_list shots;
    const char *basis_path; /* for messages */
} su_model_parts;

enum { SU_MOST_RETRAININGS = 8 };

/* One try with so many tets, held against the motion. */
typedef struct su_training_try {
    int64_t tets;
    su_motion_error motion;
} su_training_try;

/* A training and what came of it. Owned, released by su_model_training_free. */
typedef struct su_model_training {
    su_training_places places, moving;
    su_chosen_states chosen; /* with one basis */
    su_cubature cubature;
    su_model model;
    su_linear_fit_error linear_error; /* with one basis: of the forces at its states, as D was and
                                       * as it is; 0: as its tets leave it */
    int tries;                        /* with one basis; the last is the model's */
    su_training_try tried[SU_MOST_RETRAININGS + 1];
    double seconds_motion;
} su_model_training;

/* True where one basis serves all poses. */
bool su_basis_is_one(const su_basis *basis);
/* Modes of the region that has most. */
int64_t su_basis_region_modes(const su_basis *basis);

/* Chooses the places. With one basis: frames of the states that it was made from; SU_USAGE where the shots are not
 * those of its meta `shots`, in that order. Else example poses, frames of the shots. */
su_status su_model_training_create(const su_model_parts *parts, su_model_training *out, su_error *err);

/* Trains both sets and builds the model. With one basis the model is then stepped through the first shot of its basis,
 * and tets are trained anew, more of them, while it is too far off, that helps, and no number of them is given (plan).
 * tets_given: plan->tets is what somebody asked for. meta: borrowed; the model gets a copy of it and what it carries of
 * fit, basis and training. */
su_status su_model_train(const su_model_parts *parts, bool tets_given, const json_t *meta, su_model_training *training,
                         su_error *err);

void su_model_training_free(su_model_training *training);

/* Fresh samples at poses and at any place, largest mean errors. */
typedef struct su_fresh_errors {
    double factor; /* of the amplitude */
    double tets_at_poses, tets, vertices_at_poses, vertices;
} su_fresh_errors;

enum { SU_FRESH_SIZES = 3 };

/* Errors on `samples` states a place that nobody trained on, at half, whole and one and a half amplitudes and five
 * times as many frames, most of which nothing was trained at. With a basis a pose. */
su_status su_model_check(const su_model_parts *parts, int64_t samples, const su_cubature *cubature,
                         su_fresh_errors errors[SU_FRESH_SIZES], su_error *err);

#endif
