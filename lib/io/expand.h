/* From the welded skin in the root frame back to what the artist's program sees: source vertices, units, up axis,
 * space. */
#ifndef SU_IO_EXPAND_H
#define SU_IO_EXPAND_H

#include "core/error.h"
#include "core/memory.h"
#include "io/stage/anim.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum su_space {
    SU_SPACE_WORLD,
    SU_SPACE_ROOT,  /* without the motion of the root frame */
    SU_SPACE_OBJECT /* of each object: what its transform takes to the world at that frame */
} su_space;

typedef struct su_expand {
    const su_anim *anim;
    su_space space;
    double convert[16];    /* metres, y up -> output units and up axis */
    double *object_xform;  /* (objects,16) object to output world at the first frame; object space only */
    double *object_frames; /* (F,objects,16) the same at every frame; NULL: none moves */
    su_arena arena;
} su_expand;

/* unit: metres of one output unit; up 'x', 'y' or 'z'. anim is borrowed for the life of expand. SU_INPUT where indices
 * of the source vertices are missing or an object's transform cannot be inverted. */
su_status su_expand_create(const su_anim *anim, su_space space, double unit, char up, su_expand *expand, su_error *err);
void su_expand_free(su_expand *expand);

/* points (nbar,3) of a frame, root frame, m -> out (N,3). vectors: values are displacements, not positions.
 * Thread-safe. */
void su_expand_frame(const su_expand *expand, int64_t frame, const double *points, bool vectors, float *out);

/* The same for any points (count,3) of the root frame; not in object space. */
void su_expand_points(const su_expand *expand, int64_t frame, int64_t count, const double *points, float *out);
/* A point (3) of the output's world back to metres with y up, as the root frame has it at the neutral pose. */
void su_expand_back(const su_expand *expand, const double *point, double *out);

#endif
