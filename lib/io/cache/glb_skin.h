/* Linear skinning as the reader of a glTF file does it, from the numbers that the file holds, and its inverse. Internal
 * to lib/io/cache. */
#ifndef SU_IO_GLB_SKIN_H
#define SU_IO_GLB_SKIN_H

#include "core/error.h"
#include "io/cache/cache_layout.h"

#include <stdint.h>

typedef struct su_glb_skin {
    const su_cache_skin *source;
    int slots;       /* joints of a vertex: a multiple of four */
    int32_t *joint;  /* (vertices,slots) those with weight first, the strongest first; 0 behind them */
    float *weight;   /* (vertices,slots) sum to 1 to rounding */
    int64_t reduced; /* vertices that have more joints than are kept */
    double cut;      /* the largest share of a vertex' weight that was taken off */
    uint8_t *fixed;  /* (nodes) its rest has a shear, and it does not move: a matrix */
    double *world;   /* (nodes,16) of the frame that was set last */
    double *joints;  /* (joints,16) neutral skin to world of that frame */
} su_glb_skin;

/* The source is borrowed. SU_INPUT where a vertex has no weight. */
su_status su_glb_skin_create(const su_cache_skin *source, su_glb_skin *out, su_error *err);
void su_glb_skin_free(su_glb_skin *skin);

/* Poses the nodes at a frame (-1: at their rest). */
void su_glb_skin_pose(su_glb_skin *skin, int64_t frame);
/* m (12, rows of an affine matrix): what skinning does to a vertex at that frame. Thread-safe, as the next. */
void su_glb_skin_matrix(const su_glb_skin *skin, int64_t vertex, double m[12]);
/* out (3): the vector that the linear part of m takes to v (3). Directions that m flattens to less than a tenth of the
 * longest are taken as that long: what lies along them cannot be shown. */
void su_glb_skin_solve(const double m[12], const double v[3], double out[3]);

#endif
