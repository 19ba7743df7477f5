/* What depends on the animation alone, at one instant: weights, rest shape and rotations at the chosen vertices, basis
 * rows, matrices B of the cubature tets, Gram blends. No allocation; instants can be evaluated in parallel. B_e =
 * (shape gradient at x(p)) R U^(p) Y(p), 9 x columns: F_e = 1 + B_e q, row 3 a + b holds dF_ab. */
#ifndef SU_RUNTIME_POSE_PART_H
#define SU_RUNTIME_POSE_PART_H

#include "core/error.h"
#include "runtime/subspace/packed_model.h"

#include <stdint.h>

/* Instants that rest shapes and rotations are made for together. */
enum { SU_POSE_FRAMES = SU_REST_FRAMES };

/* The animation at an instant. */
typedef struct su_pose_input {
    double *p;    /* (s) */
    double *skin; /* (patch.skin_count,3) corrected skin at model->patch.skin, root frame, m; NULL: the work's `moved`
                   * is filled instead (runtime/subspace/shot_lanes.h) */
    double Q[9], c[3]; /* root frame to world */
} su_pose_input;

/* Weights at an instant; the arrays stand one behind the other. */
typedef struct su_blend {
    double *w, *b;    /* (m); of b only the model's `bases` are read */
    double *positive; /* (m) w+ */
    double *scale;    /* (lead) Y, 0 from r on */
    int64_t serial;   /* number of the instant, unique and not 0 */
} su_blend;

/* Arrays by component hold all first components, then all second ones: (9,kept_padded), (3,inertia_padded), ... */
typedef struct su_pose {
    su_blend blend;
    double Q[9], c[3];
    float *rotation;        /* (9,kept_padded) R_v, where the model has extra vertices */
    double *place;          /* (3,chosen_padded) x(p) of the chosen vertices there, root frame, m */
    float *corner_rotation; /* (4,9,tets_padded) R_v of each tet's corners; 0 where they never move */
    float *rows; /* panels of kept points: (points of the panel, 3, stride): U^(p) Y(p), as exact as the model's U^ */
    float *B;    /* tet panels: abreast [sixteen][column][9][16], others (tets of the panel, 9, stride) */
    double *gradient;    /* (12,tets_padded) shape gradient of each corner */
    double *volume;      /* (tets_padded) cubature weight times rest volume, m^3 */
    double *mu, *lambda; /* (tets_padded) Pa, without the stiffness factor */
    double *turn;        /* (9,inertia_padded) P = Q R */
    double *world;       /* (3,inertia_padded) X = c + Q x */
    float *gram;         /* pair blocks of U' M U; the model's own where it has one basis */
    float *mixed[2];     /* pair blocks of U' M U_k with rotations held still, k the instant `follows` */
    int64_t follows[2];  /* serials of the instants one and two before; 0: not evaluated */
    int64_t collapsed;   /* cubature tets below 0.1 of their neutral volume, or whose corners' rotations contradict each
                            other */
    su_arena arena;
} su_pose;

/* What su_pose_prepare leaves of SU_POSE_FRAMES instants for su_pose_finish, and scratch of one thread. The first
 * dimension of most is the half of the instants, the last are eight of them. */
typedef struct su_pose_work {
    int64_t count;                /* instants that are prepared */
    double *x;                    /* (2,chosen,3,8) */
    float *near;                  /* (patch.vertex_count,3,16) from the patch's middle */
    float *moved;                 /* (patch.skin_count,3,16) displacements of skin points */
    float *rest;                  /* (m,16) weights of the corrections */
    float *rotation;              /* (chosen,9,16) */
    float *nodes;                 /* (patch.nodes,9,16) mean gradients */
    double *gradient;             /* (2,tets,12,8) */
    double *volume, *mu, *lambda; /* (2,tets,8) */
    uint8_t *collapsed;           /* (2,tets) a bit for each instant */
    double *turn, *world;         /* (2,inertia,9,8), (2,inertia,3,8) */
    double *positive;             /* (m,8) */
    float *b, *older[2];          /* (2,bases,8) */
    float *scale;                 /* point panels with rows: (8, 3, stride) */
    uint8_t *blended;             /* (points) */
    float *rooms;                 /* (rooms,8,room_size) rows of points that are not kept */
    float *spread;                /* (4, 3, widest panel) */
    float *column_scale;          /* (8, widest panel) */
    su_arena arena;
} su_pose_work;

/* Room for one instant. */
su_status su_pose_create(const su_runtime_model *model, su_pose *pose, su_error *err);
void su_pose_free(su_pose *pose);
su_status su_pose_input_create(const su_runtime_model *model, bool skin, su_pose_input *input, su_error *err);
void su_pose_input_free(su_pose_input *input);
su_status su_pose_work_create(const su_runtime_model *model, su_pose_work *work, su_error *err);
void su_pose_work_free(su_pose_work *work);
su_status su_blend_create(const su_runtime_model *model, su_blend *blend, su_arena *arena, su_error *err);
void su_blend_copy(const su_runtime_model *model, const su_blend *from, su_blend *to);
/* How many numbers its arrays have, and a blend, without a serial, whose arrays are these. */
int64_t su_blend_size(const su_runtime_model *model);
su_blend su_blend_in(const su_runtime_model *model, double *numbers);

/* First the weights, at p (s). */
void su_blend_evaluate(const su_runtime_model *model, const double *p, int64_t serial, su_blend *blend);
/* Then rest shapes, rotations and what is small, of count <= SU_POSE_FRAMES instants at once. blends[f]: of each;
 * older[f]: of the instants one and two before, for the mixed blends (NULL: left out; the stepper then takes its slow
 * road). */
void su_pose_prepare(const su_runtime_model *model, int64_t count, const su_pose_input *inputs,
                     const su_blend *const *blends, const su_blend *(*older)[2], su_pose_work *work);
/* Then the rest, for prepared instants from `first`, a multiple of SU_FRAMES: at most SU_FRAMES of them, into poses[0],
 * ... Their blends are copied where poses do not hold them already. What a few instants need stays near if they are
 * stepped before the next are finished into the same poses. */
void su_pose_finish(const su_runtime_model *model, int64_t first, const su_pose_input *inputs,
                    const su_blend *const *blends, const su_blend *(*older)[2], su_pose_work *work, su_pose *poses);
/* Both for count <= SU_POSE_FRAMES instants whose blends poses hold. */
void su_pose_evaluate(const su_runtime_model *model, int64_t count, const su_pose_input *inputs,
                      const su_blend *(*older)[2], su_pose_work *work, su_pose *poses);

/* out (lead) = blocks times q (lead); padded (region_offset[d]) is scratch. */
void su_gram_times(const su_runtime_model *model, const float *blocks, const double *q, double *padded, double *out);
/* blocks = Y(a) sum_ij b_i(a) b_j(b) U^_i' M U^_j Y(b), rotations held still, to the same bits as in a su_pose; of
 * models with several bases. lanes (16 m): scratch. */
void su_gram_blend(const su_runtime_model *model, const su_blend *left, const su_blend *right, float *lanes,
                   float *blocks);

#endif
