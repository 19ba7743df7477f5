/* The flesh in equilibrium at one pose, with contacts (SP sections 3 and 5.2): Newton steps, contacts found anew at
 * each, a line search on elastic energy plus springs. Without contacts the problem is linear: one step. */
#ifndef SU_SKIN_EQUILIBRIUM_H
#define SU_SKIN_EQUILIBRIUM_H

#include "skin/pose_solver.h"

#include <stdbool.h>

/* Contacts of a shape x (n,3). find: *springs borrowed until the next call, with forces and H; *energy J; returns how
 * many, -1 without memory. meet: looks for contacts at x; until it is called again they keep their normals and the
 * places where their ways end, so that energy is a convex function of x with one equilibrium. NULL: find looks for them
 * anew each time, as in SP section 3. anew: as if none were known (su_kept_pairs_aim otherwise). */
typedef struct su_skin_contacts {
    int64_t (*find)(void *context, const double *x, const su_spring **springs, double *energy);
    su_status (*meet)(void *context, const double *x, bool anew, su_error *err);
    void *context;
} su_skin_contacts;

typedef struct su_equilibrium_settings {
    double tolerance; /* m: a step that moves no vertex farther ends the iteration */
    double settled;   /* m: contacts that move flesh by no more at the eighth meeting or later have settled, too */
    double inexact;   /* while contacts come and go, solves end at so much of the first error */
    int most;         /* steps */
    bool surface;     /* as SU_SKIN_SURFACE (skin_shot.h) */
    bool near;        /* x is near: contacts are asked at once, not where elasticity alone would have the flesh */
    /* (n,3) what is free of stress at the pose, whatever its tets are strained by: energy u'Ku/2, u = x - rest. NULL:
     * the neutral shape, as in SP. */
    const double *rest;
} su_equilibrium_settings;

typedef struct su_equilibrium_result {
    int steps, halvings;
    int64_t springs; /* at the end */
    double elastic;  /* J */
    double moved;    /* m, of the last step */
    bool converged;
} su_equilibrium_result;

/* x (n,3): start in, equilibrium out; held vertices stand where the pose has them, and stay. The solver stands at the
 * pose, R (t,9) are its tets' rotations. contacts NULL: none. SU_NUMERICS leaves x as it was. */
su_status su_equilibrium_find(su_pose_solver *solver, const su_ex_rotated *body, const double *R,
                              const su_skin_contacts *contacts, const su_equilibrium_settings *settings, double *x,
                              su_equilibrium_result *result, su_error *err);

#endif
