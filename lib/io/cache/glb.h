/* Binary glTF 2.0: a mesh with morph targets whose weights are animated, under a node that carries the root motion or
 * on the skeleton of the source; or one that stands still. */
#ifndef SU_IO_GLB_H
#define SU_IO_GLB_H

#include "core/error.h"
#include "io/cache/cache_parts.h"
#include "io/cache/glb_skin.h"
#include "io/cache/glb_targets.h"

#include <stdint.h>

typedef struct su_glb {       /* borrowed for the call */
    int64_t frames, vertices; /* frames 0: no clip */
    double fps;
    const su_glb_targets *targets; /* base, normals and what is added to them */
    su_glb_skin *skin;             /* NULL: none */
    const su_looks *looks;         /* of the layout that the parts are of; NULL: none */
    const float *lookup;           /* (vertices,2) one more set of texture coordinates, v from the top; NULL: none */
    const double *root;            /* (frames,4,4) rigid motion of the whole, row-major; NULL: none. Not with a skin */
    const char *name, *application, *provenance;
    double frame_start;
} su_glb;

/* Polygons become triangles (fans). The vertices of each mesh are those of its object in their order; a vertex with
 * several texture coordinates stands once more for each further one, behind all of them. With a skin there are the
 * source's nodes; an object that hangs on its own node as a whole stays there, without a skin. The clip starts at
 * time 0; the number of its first frame is in the extras of the asset. Writes under the final name only when whole. */
su_status su_glb_save(const char *path, const su_glb *glb, const su_cache_parts *parts, su_error *err);

#endif
