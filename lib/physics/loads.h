/* Forces from outside during a step, on chosen skin points in the world: colliders by penalty with friction, wind,
 * point forces. sim and fullsim evaluate the same potential, sum over points k of kappa a_k d^2 / 2  +  mu N_k
 * phi(|slip|)  -  f_k . y with d the depth below a collider, a_k the skin area that the point stands for, N_k the
 * normal force and the contact's normal where the step begins (lagged friction), phi(s) = s^2 / 2e below e = h * 5
 * mm/s, s - e/2 above. */
#ifndef SU_PHYSICS_LOADS_H
#define SU_PHYSICS_LOADS_H

#include "core/error.h"
#include "core/memory.h"
#include "physics/collider_mesh.h"
#include "physics/external.h"

#include <stdint.h>

/* The points of one body during one step. Belongs to one thread at a time. */
typedef struct su_loads {
    const su_external *external;
    const int32_t *corner;     /* (points,4) flesh vertices that carry them */
    const double *bary;        /* (points,4) */
    double *skin;              /* (points,3) the rig's skin at the instant to reach, root frame */
    double Q[9], c[3];         /* root frame to world there */
    double t, h;               /* s: its time, the step that leads there (0: static) */
    double *now;               /* (points,3) world positions at the state before */
    double *steady;            /* (points,3) forces that do not depend on y, N */
    double *contact;           /* (points,8) lagged: normal (3), mu N, anchor (3), unused */
    int64_t state_count;       /* colliders when this was created; meshes are among those */
    su_collider_state *states; /* (state_count) */
    su_arena arena;
} su_loads;

/* embed_tet (nbar), embed_bary (nbar,4), tets (.,4): the embedding of the skin. */
su_status su_loads_create(const su_external *external, const int32_t *embed_tet, const double *embed_bary,
                          const int32_t *tets, su_loads *loads, su_error *err);
void su_loads_free(su_loads *loads);

/* y = c + Q (skin + a), a (3) the displacement of point k in the root frame. */
void su_loads_place(const su_loads *loads, int64_t k, const double a[3], double y[3]);
/* Before a step, for point k with its guess y (world): lagged friction, steady forces. t, h, now must be set. */
void su_loads_prepare(su_loads *loads, int64_t k, const double y[3]);
/* Energy of point k at y (world); force (3) and the semidefinite H (9) ~ -dforce/dy (NULL: not wanted), root frame. */
double su_loads_evaluate(const su_loads *loads, int64_t k, const double y[3], double force[3], double *H);
/* Depth of y below collider c at loads->t and its outward normal; a mesh farther than margin (m) may give -INFINITY. */
double su_loads_depth(const su_loads *loads, int64_t c, const double y[3], double margin, double normal[3]);

#endif
