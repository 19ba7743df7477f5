/* Vertex-animation textures: positions and normals of all frames as images, for shaders that move a mesh by looking its
 * vertices up; a JSON file says how, and a mesh in glTF carries the places to look. */
#ifndef SU_IO_VAT_H
#define SU_IO_VAT_H

#include "core/error.h"
#include "io/cache/cache_layout.h"
#include "io/cache/cache_parts.h"
#include "io/cache/image.h"

typedef struct su_vat_writer su_vat_writer;

/* path: of the JSON file, `name.json`; beside it go name.positions.exr (or .png), with normals name.normals.exr, and
 * unless the layout holds displacements name.mesh.glb, the first frame. layout and parts are borrowed for the life of
 * the writer. SU_USAGE where no texture of 16,384 x 16,384 texels holds all frames. */
su_status su_vat_create(const char *path, const su_cache_layout *layout, const su_cache_parts *parts,
                        su_vat_writer **out, su_error *err);
su_status su_vat_frame(su_vat_writer *vat, const float *points, const float *normals, su_error *err);
/* Frees the writer in every case. Fails as a whole: none of the files stays. */
su_status su_vat_commit(su_vat_writer *vat, su_error *err);
void su_vat_abandon(su_vat_writer *vat);

#endif
