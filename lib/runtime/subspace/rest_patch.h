/* Rest positions and rotations of chosen flesh vertices, from as few skin points as that takes: the chosen vertices,
 * those that the means of gradients around them read (the tets around them, or the nodes of the smoothing), and the
 * skin vertices that all these follow, renumbered. */
#ifndef SU_RUNTIME_REST_PATCH_H
#define SU_RUNTIME_REST_PATCH_H

#include "core/error.h"
#include "geometry/rotation_field.h"
#include "io/stage/model.h"
#include "rig/rest_shape.h"

#include <stdint.h>

typedef struct su_rest_patch {
    int64_t wanted;       /* chosen vertices; they come first among the patch's vertices, in the order given */
    int64_t turned;       /* the first of them, whose surrounding tets are here */
    int64_t vertex_count; /* patch vertices */
    int32_t *vertices;    /* (vertex_count) flesh vertices */
    int64_t skin_count;
    int32_t *skin; /* (skin_count) skin vertices that must be known, ascending */
    int64_t tet_count;
    int32_t *tets;               /* (tet_count,4) in patch numbering, in the order of the mesh; without a smoothing */
    int64_t nodes;               /* of the smoothing, that the turned vertices read; 0: there is none */
    su_mean_gradients gradients; /* (nodes) in patch numbering */
    int32_t *node_start, *node;  /* (turned + 1), (.) rows of the turned vertices into the nodes */
    double *node_weight;
    su_rest_shape shape; /* on patch numbering */
    su_arena arena;
} su_rest_patch;

/* vertices (count) without repetition; NULL with count = n: all. turned: how many of them, from the first, get the tets
 * around them. */
su_status su_rest_patch_create(const su_model *model, int64_t count, const int32_t *vertices, int64_t turned,
                               su_rest_patch *patch, su_error *err);
void su_rest_patch_free(su_rest_patch *patch);

#endif
