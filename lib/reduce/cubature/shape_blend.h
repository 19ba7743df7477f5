/* A plausible shape between two poses of the same tet mesh, for places where the rig was never asked: each tet's
 * deformation is interpolated as rotation and stretch apart (Alexa, Cohen-Or and Levin 2000), then the mesh is put
 * together again by a Poisson solve (Xu, Zhang, Wang and Bao 2005). Limbs keep their length, unlike by linear blending.
 */
#ifndef SU_REDUCE_SHAPE_BLEND_H
#define SU_REDUCE_SHAPE_BLEND_H

#include "core/error.h"
#include "geometry/tetmesh.h"

#include <stdint.h>

typedef struct su_shape_blend su_shape_blend;

/* The mesh's arrays are borrowed. Factors one Laplacian of size n. */
su_status su_shape_blend_create(const su_tet_mesh *mesh, int threads, su_shape_blend **out, su_error *err);
void su_shape_blend_free(su_shape_blend *blend);

/* out (n,3): the shape at `fraction` of the way from a to b (n,3 each); 0 gives a, 1 gives b. Rotations of neighbouring
 * tets take the same way round, up to a whole turn. */
su_status su_shape_blend_at(su_shape_blend *blend, const double *a, const double *b, double fraction, double *out,
                            su_error *err);

#endif
