/* Binary USD layers (.usdc): the same prims as in usda.h. Frames go to the file as they come; a word for each attribute
 * and frame stays in memory. */
#ifndef SU_IO_USDC_H
#define SU_IO_USDC_H

#include "core/error.h"
#include "io/cache/cache_layout.h"
#include "io/cache/cache_parts.h"

typedef struct su_usdc_writer su_usdc_writer;

/* layout and parts are borrowed for the life of the writer. */
su_status su_usdc_writer_create(const char *path, const su_cache_layout *layout, const su_cache_parts *parts,
                                su_usdc_writer **out, su_error *err);
/* points, velocities, normals (layout.vertices,3), as su_cache_frame. */
su_status su_usdc_writer_frame(su_usdc_writer *writer, const float *points, const float *velocities,
                               const float *normals, su_error *err);
/* Frees the writer in every case. */
su_status su_usdc_writer_commit(su_usdc_writer *writer, su_error *err);
void su_usdc_writer_abandon(su_usdc_writer *writer);

#endif
