/* What the files of the full simulation share: its state, and what they call of each other. fullsim_create makes it,
 * fullsim_instant evaluates the animation and all that depends on it alone, fullsim steps. */
#ifndef SU_FEM_FULLSIM_INTERNAL_H
#define SU_FEM_FULLSIM_INTERNAL_H

#include "fem/complement.h"
#include "fem/elastic.h"
#include "fem/fullsim.h"
#include "fem/implicit.h"
#include "fem/transport.h"
#include "geometry/rotation_field.h"
#include "physics/loads.h"
#include "physics/shot_driver.h"
#include "rig/rest_shape.h"
#include "rig/rig_space.h"

/* What the animation alone gives at one instant. */
typedef struct su_instant {
    double *x;         /* (n,3) rest shape, root frame */
    double *turn;      /* (n,4) R_v, neutral to rest shape */
    double *tet_turn;  /* (t,9) R_e, the mean of the corners' R_v */
    double *w;         /* (m) */
    double Q[9], c[3]; /* root frame to world */
} su_instant;

struct su_fullsim {
    const su_tet *tet;
    const su_fit *fit;
    su_rig_space rig; /* the fit's */
    const su_shot *shot;
    su_sim_settings settings;
    su_fullsim_options options;
    su_shot_driver driver;
    su_elastic body;
    su_implicit *implicit;
    su_transport *transport;   /* of u from instant to instant */
    su_self_contact *contact;  /* NULL: flesh passes through itself */
    double *contact_k;         /* (n) N/m^3 */
    su_complement *complement; /* NULL: u is free */
    bool shear_only;           /* lambda = 0 */
    su_smoothing smoothing;    /* with nodes: stress-free shapes are turned by the field, else they are x(p) */
    su_rotation_field *field;
    su_rest_shape rest;
    su_arena arena;
    bool blend_materials; /* do the poses differ in E or nu? */
    bool preconditioned;  /* the factor of the neutral pose is that of the stiffness now */
    double *neutral, *skin, *p, *positive, *young, *poisson;
    su_instant now, next;
    double *u, *u_next, *carried, *inertial; /* (n,3) */
    double *touched;                         /* (n,3) positions to look for contacts at */
    double *from;                            /* (n,3) where a step begins, in the root frame of its end */
    double *gravity;                         /* (n,3) of each vertex at the instant that a step leads to, m/s^2 */
    double *y, *y_before;                    /* (n,3) world, at the state and one step earlier */
    double h_before;                         /* s between them */
    int64_t frame;
    int64_t entered;     /* the frame in whose segment, or at whose start, s->next is, */
    double within;       /* and how far in it, 0..1 */
    bool stepped;        /* the last way to s->now was a step: the body is there */
    double *led, *leads; /* (n,3) turned back: the leader at instant `led_at` and one on; NULL without one */
    int64_t led_at;      /* below -1: none */
    double time;         /* s, of the instant `next` on the clip's clock */
    su_loads loads;      /* where there are forces from outside */
    su_fullsim_frame record;
};

/* ---- fullsim_instant ---- */

/* The instant `fraction` behind a frame; leaves the skin there in s->skin. */
void su_fullsim_evaluate(su_fullsim *s, int64_t frame, double fraction, su_instant *at);
/* y = c + Q x, one point. */
void su_fullsim_world(const su_instant *at, const double *x, double *y);
/* s->young and poisson (t), into the body and its contacts. */
void su_fullsim_set_material(su_fullsim *s, const double *poisson);
/* Rest shape and materials of the instant (blended with w+, docs/formats.md, convention 6) into the elastic body. */
void su_fullsim_set_body(su_fullsim *s, const su_instant *at);
/* out = R_to R_from' u, vertex by vertex. */
void su_fullsim_turn_along(const su_fullsim *s, const su_instant *from, const su_instant *to, const double *u,
                           double *out);
/* The loads at an instant whose skin is in s->skin; those of a step of h to it, with u (n,3) guessed there; where the
 * points are at displacement u of the instant that the loads were set for. */
void su_fullsim_set_loads(su_fullsim *s, const su_instant *at, double h);
void su_fullsim_prepare_loads(su_fullsim *s, const su_instant *at, double h, const double *u, su_implicit_step *step);
void su_fullsim_keep_loads(su_fullsim *s, const double *u);
/* Contact of the flesh with itself for steps to an instant from `before` (n,3; NULL: statics), with u there to look for
 * contacts at. */
su_status su_fullsim_begin_contact(su_fullsim *s, const su_instant *at, double h, const double *u, const double *before,
                                   su_implicit_step *step, su_error *err);
/* How deep the flesh is in itself at s->now, and the rig's own shape, into the record. */
su_status su_fullsim_measure_contact(su_fullsim *s, su_error *err);

/* ---- fullsim ---- */

extern const su_shot_stepper su_fullsim_stepper;
/* The record of the frame at s->now: energies, displacement, how the steps went. */
void su_fullsim_finish_record(su_fullsim *s);

#endif
