/* A triangle mesh that moves in the world, from any file that holds one: a supple.anim, or a sequence as in
 * io/cache/sequence.h. */
#ifndef SU_IO_MOVING_MESH_H
#define SU_IO_MOVING_MESH_H

#include "core/error.h"
#include "core/memory.h"

#include <stdint.h>

/* Arrays belong to the arena that they were loaded into. */
typedef struct su_moving_mesh {
    int64_t frames, vertices, triangles;
    double *times;     /* (frames) s, as the file has them */
    double *points;    /* (frames,vertices,3) m, world */
    int32_t *triangle; /* (triangles,3) */
} su_moving_mesh;

/* neutral: the file of the faces, for formats without (NULL: none). scale: m a unit. start (s) and rate (frames/s): of
 * files without times. SU_INPUT where it cannot be read, or has no faces or no frames. */
su_status su_moving_mesh_load(const char *path, const char *neutral, double scale, double start, double rate,
                              su_arena *arena, su_moving_mesh *out, su_error *err);

#endif
