/* Energies, forces and tangent stiffness of several tets at once, one in each lane of the vector units. Same formulas
 * as material.h; the derivative is never formed: each 3 x 3 block comes in closed form (stable neo-Hookean, exact), or
 * from its spectrum in the frame of the singular vectors. */
#ifndef SU_FEM_TET_LANES_H
#define SU_FEM_TET_LANES_H

#include "core/vector_set.h"
#include "physics/material.h"

#include <stdbool.h>
#include <stdint.h>

enum { SU_TET_LANES = 8, SU_LANE_BLOCKS = 10 };
/* Numbers that a group of tets leaves. */
enum { SU_LANE_FORCES = 12 * SU_TET_LANES, SU_LANE_STIFFNESS = 9 * SU_LANE_BLOCKS * SU_TET_LANES };

/* What a mesh has of each of its tets e. */
typedef struct su_lane_tets {
    su_material material;
    const int32_t *corners;         /* (.,4) */
    const double *offset, *inverse; /* (.,9) of the edges; D_m^-1 */
    const double *volume, *mu, *lambda;
} su_lane_tets;

/* For one set of vector units; AVX2 and AVX-512 give the same bytes. Each takes the tets e (count, 1..SU_TET_LANES) of
 * the mesh, y (.,3): positions; what comes out for one does not depend on those beside it. */
typedef struct su_tet_kernels {
    /* f (SU_LANE_FORCES, 64-byte aligned): f[SU_TET_LANES * (3 corner + component) + lane], N. */
    void (*forces)(const su_lane_tets *mesh, int count, const int32_t *e, const double *y, double *f);
    /* energy (SU_TET_LANES, 64-byte aligned), J. */
    void (*energies)(const su_lane_tets *mesh, int count, const int32_t *e, const double *y, double *energy);
    /* K (SU_LANE_STIFFNESS, 64-byte aligned): blocks (0,0) (0,1) (0,2) (0,3) (1,1) (1,2) (1,3) (2,2) (2,3) (3,3) of
     * each tet's stiffness, rows of the first corner, columns of the second; K[SU_TET_LANES * (9 block + 3 row +
     * column) + lane]. by_ratio (.,2), or NULL: first and second derivative of a further energy density by the volume
     * ratio det F, whose stiffness is added before the whole is projected. */
    void (*stiffness)(const su_lane_tets *mesh, bool project, int count, const int32_t *e, const double *y,
                      const double *by_ratio, double *K);
} su_tet_kernels;

extern const su_tet_kernels su_tet_kernels_base, su_tet_kernels_avx2, su_tet_kernels_avx512;

#endif
