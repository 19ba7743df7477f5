/* Training of both cubature sets over all places in pose space (PSSD sections 5.3, 5.4; docs/reduction.md, section 5).
 */
#ifndef SU_REDUCE_CUBATURE_H
#define SU_REDUCE_CUBATURE_H

#include "core/progress.h"
#include "reduce/cubature/selection.h"
#include "reduce/cubature/training_places.h"

/* States that the flesh visits, each at a training place. Borrowed. */
typedef struct su_training_states {
    int64_t count;
    const int64_t *place; /* (count) ascending */
    const double *q;      /* (count,r) */
} su_training_states;

typedef struct su_cubature_settings {
    double error;     /* bound on the rms training error, where no count is given */
    int64_t tets;     /* wanted elements; 0: as many as the error needs, with states three a mode */
    int64_t vertices; /* wanted inertia vertices; 0: as many as the error needs */
    int64_t samples;  /* a pose; 0: by the number of modes and the memory */
    double amplitude; /* docs/formats.md, convention 13: 0.05 */
    uint64_t seed;
    const su_training_states *states; /* with one basis for all poses: what tets are trained on; NULL: random states */
    int64_t memory;                   /* bytes that stored samples may take */
    su_progress *progress;
} su_cubature_settings;

/* Defaults: 1.25 %, both counts free, amplitude 0.05, seed 1, 1 GiB. */
su_cubature_settings su_cubature_defaults(void);

typedef struct su_cubature {
    int64_t tet_count, vertex_count;
    int32_t *tets;          /* (tet_count) ascending, into the mesh */
    double *tet_weights;    /* (m, tet_count) */
    double *linear;         /* (r,r) D, what the tets lack of the linear force; NULL where they stand for all of it */
    double stiffest;        /* largest eigenvalue of the tets' own stiffness against the flesh's, where there is D */
    int32_t *vertices;      /* (vertex_count) ascending */
    double *vertex_weights; /* (vertex_count) */
    int64_t places;
    su_error_pair *tet_errors;    /* (places) training errors, in the order of the places */
    su_error_pair *vertex_errors; /* (places) */
    double tet_worst, vertex_worst;
    su_fit_curve_point curve[64]; /* of the tets, while growing */
    int curve_count;
    int64_t samples, candidates; /* what was used */
    double seconds_vertex_rows, seconds_rows, seconds_tets, seconds_vertices;
} su_cubature;

/* With a basis a pose the tets stand for the whole elastic force, with weights a pose (PSSD section 5.3). With one
 * basis (settings->states) they are trained for what is not linear in it, their weights do not depend on the pose, and
 * D is added (docs/design.md, eq. 12 to 14). moving: places that inertia vertices are trained at; it begins with
 * `places`. */
su_status su_cubature_train(su_pose_space *space, const su_training_places *places, const su_training_places *moving,
                            const su_cubature_settings *settings, su_cubature *out, su_error *err);
/* Trains the tets alone anew, `tets` of them (with states); the vertices stay. Where that fails the old ones stay, too.
 */
su_status su_cubature_train_tets(su_pose_space *space, const su_training_places *places,
                                 const su_cubature_settings *settings, int64_t tets, su_cubature *cubature,
                                 su_error *err);
void su_cubature_free(su_cubature *cubature);

/* Errors of trained sets on fresh samples: states drawn with another seed, scaled by `factor`, at the given places.
 * errors (places) each. */
su_status su_cubature_check(su_pose_space *space, const su_training_places *places, const su_cubature *cubature,
                            int64_t samples, double amplitude, uint64_t seed, su_error_pair *tet_errors,
                            su_error_pair *vertex_errors, su_error *err);

/* What interpolating the weights costs: elastic errors on fresh samples, mean over the edge middles, errors[0] with the
 * weights of the poses blended, errors[1] with weights fitted to `training` other samples at each middle alone. Zero
 * where there is no middle. */
su_status su_cubature_retrain(su_pose_space *space, const su_training_places *places, const su_cubature *cubature,
                              int64_t training, int64_t samples, double amplitude, uint64_t seed, double errors[2],
                              su_error *err);

#endif
