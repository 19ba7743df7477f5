/* Binary glTF 2.0: a mesh with morph targets whose weights are animated, under a node that carries the root motion; or
 * one that stands still. */
#ifndef SU_IO_GLB_H
#define SU_IO_GLB_H

#include "core/error.h"
#include "io/cache/cache_parts.h"

#include <stdint.h>

typedef struct su_glb_morphs {        /* borrowed for the call */
    int64_t frames, vertices, shapes; /* frames 0: no clip */
    double fps;
    const float *base;    /* (vertices,3) m, y up */
    const float *shape;   /* (shapes,vertices,3) */
    const float *weights; /* (frames,shapes) */
    const float *lookup;  /* (vertices,2) one more set of texture coordinates, v from the top; NULL: none */
    const double *root;   /* (frames,4,4) rigid motion of the whole, row-major; NULL: none */
    const char *name, *application, *provenance;
    double frame_start;
} su_glb_morphs;

/* Polygons become triangles (fans), a vertex stands once for each of its texture coordinates. The clip starts at time
 * 0; the number of its first frame is in the extras of the asset. Writes under the final name only when whole. */
su_status su_glb_save(const char *path, const su_glb_morphs *morphs, const su_cache_parts *parts, su_error *err);

#endif
