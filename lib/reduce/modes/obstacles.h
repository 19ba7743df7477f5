/* Contact of the flesh with a ground plane or a collider at an example pose (PSSD sections 6 and 10, Fig. 14): linear
 * constraints, as those of self-contact. */
#ifndef SU_REDUCE_OBSTACLES_H
#define SU_REDUCE_OBSTACLES_H

#include "reduce/modes/contact.h"

/* What does not move, in the root frame of the pose. Pointers borrowed. */
typedef struct su_obstacle {
    double point[3], normal[3]; /* a plane, normal towards the flesh; where triangles is NULL */
    int64_t n, t;               /* or a mesh, triangles counter-clockwise seen from outside */
    const double *x;            /* (n,3) */
    const int32_t *triangles;   /* (t,3) */
} su_obstacle;

/* Appends rows for the vertices of the surface that are within settings->tolerance of the
 * obstacle or up to settings->depth inside it; of a mesh only triangles that face the flesh count (by more than 120
 * degrees). Along the obstacle's normal for pairs and sliding, in all directions for fixed and tied. Counts contacts
 * and penetrating ones in. */
su_status su_contact_obstacle(const su_contact_flesh *flesh, const su_obstacle *obstacle,
                              const su_contact_settings *settings, su_contact_rows *contact, su_error *err);

#endif
