/* What depends on the animation alone, at one instant: weights, rest shape and rotations at the chosen vertices, basis rows,
 * matrices B of the cubature tets, Gram blends. No allocation; instants can be evaluated in parallel.
 *   B_e = (shape gradient at x(p)) R U^(p) Y(p), 9 x columns: F_e = 1 + B_e q, row 3 a + b holds dF_ab. */
#ifndef SU_RUNTIME_POSE_PART_H
#define SU_RUNTIME_POSE_PART_H

#include "core/error.h"
#include "runtime/model_runtime.h"

#include <stdint.h>

/* The animation at an instant. */
typedef struct su_pose_input {
    double *p;           /* (s) */
    double *skin;        /* (patch.skin_count,3) corrected skin at model->patch.skin, root frame, m */
    double Q[9], c[3];   /* root frame to world */
} su_pose_input;

typedef struct su_pose {
    double *w, *b;             /* (m) */
    double *positive;          /* (m) w+ */
    double *scale;             /* (r) Y */
    double Q[9], c[3];
    double *x;                 /* (patch.vertex_count,3) rest positions, root frame */
    double *rotation;          /* (chosen,9) R_v */
    double *rows;              /* point panels: (points of the panel, 3, stride): U^(p) Y(p) */
    double *B;                 /* tet panels: (tets of the panel, 9, stride) */
    double *gradient;          /* (tets,12) shape gradient of each corner */
    double *volume;            /* (tets) cubature weight times rest volume, m^3 */
    double *mu, *lambda;       /* (tets) Pa, without the stiffness factor */
    double *turn;              /* (inertia,9) P = Q R */
    double *world;             /* (inertia,3) X = c + Q x */
    double *gram;              /* (r,r) U' M U */
    int64_t collapsed;         /* cubature tets below 0.1 of their neutral volume */
    double *scratch;
    su_arena arena;
} su_pose;

/* Room for one instant. */
su_status su_pose_create(const su_runtime_model *model, su_pose *pose, su_error *err);
void su_pose_free(su_pose *pose);
su_status su_pose_input_create(const su_runtime_model *model, su_pose_input *input, su_error *err);
void su_pose_input_free(su_pose_input *input);

void su_pose_evaluate(const su_runtime_model *model, const su_pose_input *input, su_pose *pose);

/* out (r) = U_a' M U_b q with rotations held still, Y(a) sum_ij b_i(a) b_j(b) U^_i' M U^_j Y(b) q, straight from the stored
 * matrices; scratch (r + factor). For instants that do not follow each other on the plan. */
void su_gram_apply(const su_reduced_basis *basis, const double *b_left, const double *scale_left,
                   const double *b_right, const double *scale_right, const double *q, double *scratch, double *out);

#endif
