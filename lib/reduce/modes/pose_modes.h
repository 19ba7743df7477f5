/* All modes of one example pose: region by region, with contact. */
#ifndef SU_REDUCE_POSE_MODES_H
#define SU_REDUCE_POSE_MODES_H

#include "core/progress.h"
#include "physics/material.h"
#include "geometry/rotation_field.h"
#include "reduce/modes/contact.h"
#include "reduce/modes/modes.h"

#include <stdbool.h>
#include <stdint.h>

/* What all poses share. Pointers borrowed. */
typedef struct su_mode_setup {
    int64_t n, t, held_count;
    const double *vertices; /* (n,3) neutral */
    const int32_t *tets;    /* (t,4) */
    const int32_t *held;    /* (held_count) */
    const double *density;  /* (t) */
    su_material material;
    su_smoothing smoothing;    /* of the rotations; with nodes the rest is turned by them */
    int64_t d;                 /* regions */
    const double *weights;     /* (d,n) W'; all ones on free vertices where d = 1 stands for no regions */
    const int64_t *linear, *r; /* (d) linear modes, and all modes, of each region */
    bool keep_rigid;
} su_mode_setup;

/* Told how far a pose is: of the region at work, eigenvalues converged and solves done. From any thread. */
typedef struct su_pose_watch {
    void (*tell)(void *context, int64_t pose, int64_t region, int64_t converged, int64_t wanted, int64_t applications);
    void *context;
    int64_t pose;
    const su_progress *progress; /* asked for stops */
} su_pose_watch;

/* The flesh at one pose. Borrowed. */
typedef struct su_pose_flesh {
    const double *x;                /* (n,3) rest shape */
    const double *young, *poisson;  /* (t) */
    const su_contact_rows *contact; /* NULL: none */
} su_pose_flesh;

/* eigenvalues (sum linear) and modes (sum r,n,3), region after region. report (may be NULL): sums over regions, the
 * largest residual. watch may be NULL. */
su_status su_pose_modes(const su_mode_setup *setup, const su_pose_flesh *pose, double *eigenvalues, double *modes,
                        su_mode_report *report, int threads, const su_pose_watch *watch, su_error *err);

#endif
