/* What the training of contact found, and the file that it becomes: numbers, patches of triangles and pose coordinates
 * of the chosen pairs (ASC section 4.3; docs/contact.md, "In reduced motion"). */
#ifndef SU_REDUCE_CONTACT_TRAINING_INTERNAL_H
#define SU_REDUCE_CONTACT_TRAINING_INTERNAL_H

#include "contact/contact_body.h"
#include "reduce/cubature/contact_scene.h"
#include "reduce/cubature/contact_training.h"

enum { SU_CONTACT_PROBES = 12 }; /* vertices that say where a domain is */

/* A pair that pressed at a pose. */
typedef struct su_contact_met {
    int64_t key; /* domains a <= b: a D + b */
    int32_t vertex, triangle, tet, pose, state;
    double size;   /* N */
    double weight; /* 0: not kept */
} su_contact_met;

typedef struct su_contact_training {
    const su_contact_plan *plan;
    su_contact_trained *report;
    su_contact_scene scene;
    su_pose ahead;
    su_contact_body body;
    int64_t n, r, T, D;
    su_clip_frame *frames; /* (T) */
    int32_t *domain;       /* (n) of surface vertices, -1 inside */
    int32_t *probe;        /* (D,SU_CONTACT_PROBES) */
    double *probes;        /* (T,D,SU_CONTACT_PROBES,3) where they were in the rest shapes */
    su_contact_met *met;
    double *rows; /* (room,r) beside them; only those of the pose at hand unless all are wanted */
    int64_t count, room, row_room;
    double *k;     /* (n) N/m^3 */
    int32_t *slot; /* (n) column of a vertex while a set is chosen, plus 1 */
} su_contact_training;

/* out: all arrays of the pairs whose weight is above 0; owned by it, su_pair_sets_free on failure too. */
su_status su_contact_sets_write(su_contact_training *training, su_pair_sets *out, su_error *err);

#endif
