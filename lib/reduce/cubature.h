/* Training of both cubature sets over all places in pose space (PSSD sections 5.3, 5.4; DESIGN section 4). */
#ifndef SU_REDUCE_CUBATURE_H
#define SU_REDUCE_CUBATURE_H

#include "core/progress.h"
#include "reduce/anchors.h"
#include "reduce/selection.h"
#include "reduce/shot_states.h"
#include "reduce/training_places.h"

typedef struct su_cubature_settings {
    double error;           /* bound on the rms training error, where no count is given */
    int64_t tets;           /* wanted elements; 0: as many as the error needs */
    int64_t vertices;       /* wanted inertia vertices; 0: as many as the error needs */
    int64_t samples;        /* a pose; 0: by the number of modes and the memory */
    double amplitude;       /* convention 13: 0.05 */
    uint64_t seed;
    bool split;             /* tets are trained for what is not linear in the elastic force, and su_cubature.anchors have what they
                             * lack of the linear part; false: they stand for all of it, as in the paper */
    int64_t unlock;         /* lowest motions whose stiffness at the anchors is freed of locking; 0: none */
    const su_shot_states *states;   /* that the tets are trained on as well, where the force is split; NULL: none */
    su_status (*await)(void *context, su_error *err);   /* called before states are read, for they may come while anchors are made; NULL: they
                                                         * are there */
    void *await_context;
    int64_t memory;         /* bytes that stored samples may take */
    su_progress *progress;
} su_cubature_settings;

/* Defaults: 1.25 %, both counts free, amplitude 0.05, seed 1, split, 1 GiB. */
su_cubature_settings su_cubature_defaults(void);

typedef struct su_cubature {
    int64_t tet_count, vertex_count;
    int32_t *tets;               /* (tet_count) ascending, into the mesh */
    double *tet_weights;         /* (m, tet_count) */
    uint8_t *apart;              /* (tet_count) 1: the linear part of its force is not among what it stands for; NULL where the force is not split */
    su_anchors anchors;          /* none where the force is not split */
    int32_t *vertices;           /* (vertex_count) ascending */
    double *vertex_weights;      /* (vertex_count) */
    int64_t places;
    su_error_pair *tet_errors;      /* (places) training errors, in the order of the places */
    su_error_pair *vertex_errors;   /* (places) */
    double tet_worst, vertex_worst;
    su_fit_curve_point curve[64];   /* of the tets, while growing */
    int curve_count;
    int64_t samples, candidates;    /* what was used */
    double seconds_anchors, seconds_rows, seconds_tets, seconds_vertices;
} su_cubature;

/* anchors: where reduced stiffness is taken, the training places among them; not read where the force is not split. */
su_status su_cubature_train(su_pose_space *space, const su_training_places *places, const su_training_places *anchors,
                            const su_cubature_settings *settings, su_cubature *out, su_error *err);
void su_cubature_free(su_cubature *cubature);

/* Errors of trained sets on fresh samples: states drawn with another seed, scaled by `factor`, at the given places.
 * errors (places) each. */
su_status su_cubature_check(su_pose_space *space, const su_training_places *places, const su_cubature *cubature,
                            int64_t samples, double amplitude, uint64_t seed, su_error_pair *tet_errors,
                            su_error_pair *vertex_errors, su_error *err);

/* What interpolating the weights costs: elastic errors on fresh samples, mean over the edge middles, errors[0] with the weights of the
 * poses blended, errors[1] with weights fitted to `training` other samples at each middle alone. Zero where there is no middle. */
su_status su_cubature_retrain(su_pose_space *space, const su_training_places *places, const su_cubature *cubature,
                              int64_t training, int64_t samples, double amplitude, uint64_t seed, double errors[2], su_error *err);

#endif
