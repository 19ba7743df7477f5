/* Morph targets of a clip, their weights from 0 to 1, and normals on the same weights. Internal to lib/io/cache. */
#ifndef SU_IO_GLB_TARGETS_H
#define SU_IO_GLB_TARGETS_H

#include "core/error.h"
#include "io/cache/cache_layout.h"
#include "io/cache/glb_skin.h"

#include <stdint.h>

/* A reader has base + sum of weights . targets, positions and normals alike, and skins the sum where there is a skin.
 */
typedef struct su_glb_targets {
    int64_t count;                 /* targets */
    int64_t shapes;                /* of these principal ones: with a skin the first target is what is always there */
    float *base, *base_normal;     /* (vertices,3); with a skin the neutral pose: weights of 0 are the rig alone */
    float *target, *target_normal; /* (count,vertices,3) */
    float *weights;                /* (frames,count) */
    double rms, largest;           /* m, in the world: what is left over frames and vertices */
    double bound;                  /* m, that rms was to keep: not below what 32-bit positions hold; 0: none */
    double motion;                 /* m, RMS: of what the targets carry, without a skin about its mean */
} su_glb_targets;

/* With a skin: offset (vertices,3) of the neutral pose that skinning at the frame the skin is posed at takes to points
 * (vertices,3), root frame. Adds what it cannot take there to *left, m^2. */
void su_glb_unskin(const su_cache_layout *layout, const su_glb_skin *skin, int64_t frame, const float *points,
                   float *offset, double *left);

/* values (frames,vertices,3): points, or with a skin (else NULL) offsets as above. The fewest shapes, layout->morphs at
 * most, that leave layout->morph_error of `motion` (m, RMS; 0: of the motion of the values); the error is what a
 * reader of the file sees, and `left` (m^2) is part of it. Normals are least squares over the frames, joined across
 * seams. */
su_status su_glb_targets_fit(const su_cache_layout *layout, su_glb_skin *skin, const float *values, double motion,
                             double left, su_glb_targets *out, su_error *err);
void su_glb_targets_free(su_glb_targets *targets);

#endif
