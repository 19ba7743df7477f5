/* One character as training sees it: at any place in pose space its rest shape, weights, basis, materials. */
#ifndef SU_REDUCE_POSE_SPACE_H
#define SU_REDUCE_POSE_SPACE_H

#include "core/error.h"
#include "core/progress.h"
#include "fem/elastic.h"
#include "geometry/rotation_field.h"
#include "io/stage/basis.h"
#include "io/stage/fit.h"
#include "io/stage/tet.h"
#include "reduce/align/interpolate.h"
#include "rig/rig_space.h"

#include <stdint.h>

typedef struct su_pose_space {
    int64_t n, t, m, s, r;
    const su_tet *tet; /* borrowed, all three; the fit holds all poses in order */
    const su_fit *fit;
    const su_basis *basis;
    su_rig_space rig;       /* the fit's, with the basis's blending */
    su_elastic elastic;     /* rest shape and materials of the place last entered */
    su_smoothing smoothing; /* of the field; with nodes the rest is turned */
    su_rotation_field *field;
    su_pose_bases bases;
    double *U, *rotation; /* (r,n,3), (n,4) of the place last entered: its basis in pose coordinates, exactly 0 at held
                           * vertices, and the rotation field */
    double diagonal;      /* of the neutral flesh's bounding box, m */
    su_material material;
    su_interpolation interpolation;
    int threads;
} su_pose_space;

/* A place: an example pose, or one between. */
typedef struct su_place {
    int64_t pose;         /* >= 0: this is an example pose */
    double *p;            /* (s) */
    double *w, *positive; /* (m) */
    double *b;            /* (m) of the bases; with one basis b[0] = 1 and no other is read */
    double *rest;         /* (n,3) x(p) */
} su_place;

/* SU_INPUT where the three files do not fit together. */
su_status su_pose_space_create(su_pose_space *space, const su_tet *tet, const su_fit *fit, const su_basis *basis,
                               su_material material, su_interpolation interpolation, int threads, su_error *err);
void su_pose_space_free(su_pose_space *space);

/* Place at parameters p (s): weights evaluated; rest (n,3) copied. pose -1: between. */
su_status su_place_create(const su_pose_space *space, int64_t pose, const double *p, const double *rest,
                          su_place *place, su_error *err);
/* Example pose i with its fitted shape. */
su_status su_place_at_pose(const su_pose_space *space, int64_t i, su_place *place, su_error *err);
void su_place_free(su_place *place);

/* Sets rest shape and blended materials (with w+) in space->elastic, and space->U and rotation. */
su_status su_pose_space_enter(su_pose_space *space, const su_place *place, su_error *err);
/* Enters example pose 0. */
su_status su_pose_space_enter_neutral(su_pose_space *space, su_error *err);

/* Work at one of many places, in a pose space of the calling thread's own (which may be entered); worker: which of
 * them, from 0. */
typedef su_status su_place_work(void *context, su_pose_space *own, int worker, int64_t place, su_error *err);

/* Calls `work` for places 0 .. count - 1, in no order. The first failure, by number of the place, is returned; later
 * ones need not begin. progress, may be NULL, goes from 0 to 1. */
su_status su_pose_space_each(su_pose_space *space, int64_t count, su_place_work *work, void *context,
                             su_progress *progress, su_error *err);

#endif
