/* Primitives that KHR_draco_mesh_compression has packed. Internal to lib/io. */
#ifndef SU_IO_GLTF_DRACO_H
#define SU_IO_GLTF_DRACO_H

#include "io/scene/gltf_file.h"

/* Sets the accessors of a primitive's attributes and indices (su_gltf_accessor gives them then) from its Draco data, of
 * as many vertices and triangles as these have, whatever the accessors say; nothing where it has none, or has its
 * numbers unpacked as well. 0 for success. */
int su_gltf_draco(su_gltf *g, const json_t *primitive);

#endif
