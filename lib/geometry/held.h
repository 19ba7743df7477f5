/* Which flesh vertices are held to the rig, and by which bone (PSSD section 9). */
#ifndef SU_GEOMETRY_HELD_H
#define SU_GEOMETRY_HELD_H

#include "geometry/mirror.h"
#include "geometry/tetmesh.h"

#include <stdint.h>

typedef struct su_held_bones {
    int64_t count;
    const double *segments; /* (count,2,3) head and tail at the neutral pose; a point where both are equal */
    const uint8_t *holds;   /* (count) 0: this bone lets its flesh go; NULL: all hold */
    const int32_t *owner;   /* (count) number of the bone that a segment belongs to; NULL: its own */
    const uint8_t *foreign; /* (bones,n) 1: the flesh vertex goes other ways than this bone, which does not hold it even
                             * where it passes through; by owner; NULL: no vertex does */
    su_mirror mirror;       /* of the skin; with reach 0 not looked at */
    double reach;           /* a vertex this near to the mirror image of a held one is held as well, m */
} su_held_bones;

typedef struct su_held {
    uint8_t *fixed; /* (n) 1: held */
    int32_t *bone;  /* (n) bone that carries a held vertex, -1: follows the skin around it */
    int32_t *part;  /* (t) connected parts of the flesh */
    int64_t parts;
    uint8_t *part_core; /* (parts) 1: no bone passes through, a core is held instead */
    double *part_share; /* (parts) held vertices over all */
    int64_t count;
} su_held;

/* Holds the vertices of tets that a bone's segment passes through, and those that lie within a fifth of the local
 * half-thickness of it, each carried by the nearest such bone. depth, half (n): as su_flesh_thickness has them. wanted
 * (n) or NULL: vertices to hold as well (bone -1). A part that is held nowhere gets a core: its vertices deeper than
 * 0.6 of the local half-thickness, at least the deepest one and enough to stop every rigid motion. */
su_status su_held_find(const su_tets *mesh, const double *depth, const double *half, const su_held_bones *bones,
                       const uint8_t *wanted, su_held *out, su_error *err);
void su_held_free(su_held *held);

#endif
