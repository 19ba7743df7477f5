/* A reduced model of a scene with a basis made up by the test, whose cubature may hold every tet and vertex. */
#ifndef TESTS_REDUCED_SCENE_H
#define TESTS_REDUCED_SCENE_H

#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "runtime/pack_model.h"
#include "runtime/simulate.h"
#include "scene.h"

typedef struct reduced_scene {
    scene *scene;
    su_model model;
    su_sim sim;
    double *basis;       /* (bases,r,n,3) what the model's blocks hold, in double */
    double *rotations;   /* (m,n,4) */
    double *mass;        /* (n) */
    double *tet_weights; /* (t) of the tets where they lack something, else NULL */
    su_runtime_model runtime;
    su_arena arena;
} reduced_scene;

typedef struct reduced_options {
    int r;        /* modes; 0: every free degree of freedom, a basis that spans everything */
    int regions;  /* 1 or 2 (overlapping halves along the beam) */
    int stride;   /* every stride-th tet and free vertex is a cubature point, with its weight; 1: all */
    bool one;     /* one basis for all poses */
    bool lacking; /* tets have other weights, and D the linear stiffness that they lack at the neutral pose, also a
                     negative one */
    bool no_gram; /* the model has no Gram matrices: they are made when it is loaded */
    su_interpolation interpolation;
} reduced_options;

/* Smooth pseudo-random bases with unit mass norm, different at each example pose; the rest is the scene's. Aborts on
 * failure. */
void reduced_create(reduced_scene *out, scene *s, const reduced_options *options);
void reduced_free(reduced_scene *r);

/* Runs the whole shot into r->sim; resolves a copy of the settings for 4 Hz. */
su_status reduced_run(reduced_scene *r, const su_sim_settings *settings, su_step_settings step, int threads,
                      su_shot_counts *counts);

#endif
