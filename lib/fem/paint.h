/* Materials painted on the skin, spread over the flesh (PSSD section 8, eq. 37). */
#ifndef SU_FEM_PAINT_H
#define SU_FEM_PAINT_H

#include "core/error.h"
#include "geometry/tetmesh.h"

#include <stdint.h>

#define SU_PAINT_ZETA 1e-2 /* smoothness, dimensionless */

/* Where the skin is in the flesh. Borrowed. */
typedef struct su_paint_skin {
    int64_t nbar;
    const int32_t *embed_tet; /* (nbar) */
    const uint8_t *left_out;  /* (nbar) vertices without a say (rigid); NULL: none */
} su_paint_skin;

/* out (fields,t) from painted values (fields,nbar), for each field
 *     argmin_E  sum_e (E_e - Ebar_e)^2 + zeta/2 E' L E                                            (PSSD eq. 37)
 * where e runs over the tets that hold skin vertices, Ebar_e is the mean of those. L weighs the two tets of a face by
 * vbar^-1/3 area / distance of centroids: the Laplacian of finite volumes without its unit, so that neither scale nor
 * refinement changes how far paint reaches. Values stay between the least and the greatest painted one.  Parts of the
 * flesh without paint take the mean of all. */
su_status su_paint_spread(const su_tet_mesh *mesh, const su_paint_skin *skin, double zeta, int64_t fields,
                          const double *values, double *out, su_error *err);

#endif
