/* USD text layers (.usda): an Xform with a Mesh for each part, time samples at frame numbers. */
#ifndef SU_IO_USDA_H
#define SU_IO_USDA_H

#include "core/error.h"
#include "io/cache/cache_layout.h"
#include "io/cache/cache_parts.h"

typedef struct su_usda_writer su_usda_writer;

/* layout and parts are borrowed for the life of the writer. A layer lists all samples of one attribute together, so
 * frames wait in an unnamed file beside the output until the commit writes them as text: memory stays at one frame. */
su_status su_usda_create(const char *path, const su_cache_layout *layout, const su_cache_parts *parts,
                         su_usda_writer **out, su_error *err);
/* points, velocities, normals (layout.vertices,3), as su_cache_frame. */
su_status su_usda_frame(su_usda_writer *writer, const float *points, const float *velocities, const float *normals,
                        su_error *err);
/* Frees the writer in every case. */
su_status su_usda_commit(su_usda_writer *writer, su_error *err);
void su_usda_abandon(su_usda_writer *writer);

#endif
