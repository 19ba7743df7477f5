/* Joins vertices that a file has split for texture seams and normals. */
#ifndef SU_RIG_WELD_H
#define SU_RIG_WELD_H

#include "core/error.h"
#include "rig/skinning.h"

#include <stdint.h>

/* What makes two source vertices one: the same object, positions within `distance`, and everything that moves them the
 * same: skinning weights (rows of `skin`, bones ascending) within 1e-5 in sum, blend-shape offsets within `distance`.
 */
typedef struct su_weld_input {
    int64_t vertices;
    const double *points;      /* (vertices,3) */
    const int32_t *object_ids; /* (vertices); NULL: one object */
    const su_skin *skin;       /* NULL: none */
    int64_t shapes;
    const double *shape_offsets; /* (shapes,vertices,3); NULL: none */
    double distance;
} su_weld_input;

/* source_vertex (vertices): the welded vertex of each; welded vertices are numbered in the order of their first source
 * vertex, first (vertices, *count used) whose place they take. Points chain by nearness to that first one only. */
su_status su_weld(const su_weld_input *input, int32_t *source_vertex, int32_t *first, int64_t *count, su_error *err);

#endif
