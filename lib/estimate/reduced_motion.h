/* A reduced shot at any instant, in double: displacements of the whole flesh, turned back to the neutral pose, and the
 * reduced mass and stiffness there. What the full space is placed at, and what carries the error of a bake. */
#ifndef SU_ESTIMATE_REDUCED_MOTION_H
#define SU_ESTIMATE_REDUCED_MOTION_H

#include "core/error.h"
#include "core/memory.h"
#include "fem/fullsim.h"
#include "io/stage/model.h"
#include "rig/shot.h"
#include "runtime/subspace/reduced_basis.h"

#include <stdint.h>

typedef struct su_reduced_motion {
    const su_model *model; /* borrowed, both */
    const su_shot *shot;
    su_reduced_basis basis;
    double stiffness;    /* factor on Young's modulus */
    int64_t corners;     /* vertices of cubature tets */
    int32_t *corner;     /* (corners) */
    int32_t *tet_corner; /* (c,4) into these */
    float *rows;         /* (bases,corners,3,r) U^ there */
    su_arena arena;
} su_reduced_motion;

/* One basis, turned back, at an instant: U^ = sum_i b_i U^_i Y. Owned by the caller, one a thread. */
typedef struct su_instant_basis {
    double *b, *scale, *q; /* (m), (r), (r) of the caller */
    double *scratch, *sum; /* of su_reduced_motion_tangent; (n,3) */
    su_arena arena;
} su_instant_basis;

/* For corotated bases. */
su_status su_reduced_motion_create(const su_model *model, const su_shot *shot, double stiffness,
                                   su_reduced_motion *motion, su_error *err);
void su_reduced_motion_free(su_reduced_motion *motion);
su_status su_instant_basis_create(const su_reduced_motion *motion, su_instant_basis *at, su_error *err);
void su_instant_basis_free(su_instant_basis *at);

/* The basis at fraction of the segment at `frame`. */
void su_reduced_motion_enter(const su_reduced_motion *motion, int64_t frame, double fraction, su_instant_basis *at);
/* back (n,3) m += U^ q, q (r). */
void su_reduced_motion_add(const su_reduced_motion *motion, su_instant_basis *at, const double *q, double *back);
/* out (r) = U^' x of a field x (n,3), turned back. */
void su_reduced_motion_project(const su_reduced_motion *motion, su_instant_basis *at, const double *x, double *out);
/* M (r,r) = U^' M U^. */
void su_reduced_motion_mass(const su_reduced_motion *motion, const su_instant_basis *at, double *M);
/* K (r,r): the reduced stiffness at an instant of the full space by the cubature tets and D, exact. */
void su_reduced_motion_tangent(const su_reduced_motion *motion, su_instant_basis *at, const su_fullsim_instant *instant,
                               double *K);

#endif
