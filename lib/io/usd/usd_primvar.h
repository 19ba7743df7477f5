/* Values on the meshes of a USD layer. Internal to lib/io. */
#ifndef SU_IO_USD_PRIMVAR_H
#define SU_IO_USD_PRIMVAR_H

#include "io/usd/usd_layer.h"

/* How values are spread: 'f' a corner each, 'v' a point, 'c' one for all, 0 otherwise. */
char su_usd_scope(const su_usd_attribute *a);
/* Texture coordinates of a mesh: st, else the last that is called UVMap or has their type; NULL: none. */
const su_usd_attribute *su_usd_find_uv(const su_usd_layer *layer, int64_t prim);

/* Whether a mesh is bound to joints. */
#define SU_USD_JOINT_INDICES "primvars:skel:jointIndices"
bool su_usd_has_joints(const su_usd_layer *layer, int64_t prim);

#endif
