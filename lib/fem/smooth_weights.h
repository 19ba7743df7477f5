/* The partition of unity that smooths the field of rotations (docs/design.md, "Rest shape and rotations"): nodes spread
 * over the flesh, each with the flesh nearest to it, diffused. Distances and diffusion go through the flesh, so that
 * limbs that lie beside each other do not mix. */
#ifndef SU_FEM_SMOOTH_WEIGHTS_H
#define SU_FEM_SMOOTH_WEIGHTS_H

#include "core/error.h"
#include "geometry/tetmesh.h"

#include <stdint.h>

/* Default of length and spacing, as a part of the flesh's diagonal. A field is a mean over such a neighbourhood twice,
 * by the nodes and by the vertices. Shorter ones follow the folds that skinning makes, longer ones mix limbs
 * (docs/design.md, section 5). */
#define SU_SMOOTHING_LENGTH 0.04

/* Rows of vertices as su_smoothing wants them; owned, released by su_smooth_weights_free. */
typedef struct su_smooth_weights {
    int64_t nodes, entries;
    int32_t *start; /* (n + 1) */
    int32_t *node;  /* (entries) ascending within a row */
    double *weight; /* (entries) positive; a row sums to 1 */
} su_smooth_weights;

/* Nodes at most `spacing` (m, along edges) from any vertex, each part of the flesh with one at least; phi of a node is
 * the indicator of the vertices nearest to it after diffusion by `length` (m, deviation along each axis of the kernel
 * in a large body). */
su_status su_smooth_weights_create(const su_tet_mesh *mesh, double spacing, double length, int threads,
                                   su_smooth_weights *out, su_error *err);
void su_smooth_weights_free(su_smooth_weights *weights);

#endif
