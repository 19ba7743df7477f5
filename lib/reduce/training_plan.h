/* All that a training decides by policy: which shares, how many, how far. One struct, made by one function and handed
 * to every stage of lib/reduce; programs change single fields where their options say so. Value, unit, reason and
 * origin of each field stand beside each other in training_plan.c. */
#ifndef SU_REDUCE_TRAINING_PLAN_H
#define SU_REDUCE_TRAINING_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What a plan is made for. */
typedef struct su_training_case {
    bool one_basis;       /* for all poses; else one a pose */
    int64_t modes;        /* r, of all regions */
    int64_t region_modes; /* of the region that has most; without regions r */
} su_training_case;

typedef struct su_training_plan {
    /* modes */
    double linear_share;
    double least_motion, shortest_direction;
    int64_t balance_rounds;
    /* shots played in the full space */
    int64_t longest_stretch, run_in_frames;
    int64_t played_substeps, shape_solves, exact_solves, exact_every, soft_every;
    double soft_stiffness;
    /* places and states that cubature is trained at */
    int64_t frames, vertex_frame_factor, states, state_sizes;
    double state_reach;
    int64_t samples, least_samples, least_between;
    double between_share, amplitude;
    int64_t mixed_sizes, soft_modes;
    double soft_weight;
    /* the sets */
    int64_t tets, least_candidates, vertices, most_vertices;
    double error;
    double vertex_share, linear_aim, most_taken, linear_prior;
    int64_t pose_histories, frame_histories;
    double least_field, least_turn, default_spin, least_spin;
    /* the trained model in motion */
    double motion_bound, motion_warning, tet_growth, worth;
    int64_t retrainings;
} su_training_plan;

su_training_plan su_training_plan_make(const su_training_case *of);

/* An object with value, unit, reason and origin of each field by its name, for --stats. New reference; NULL where
 * memory is short. */
json_t *su_training_plan_json(const su_training_plan *plan);

#endif
