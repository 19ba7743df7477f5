/* The stiffness of the flesh as scalar weights feel it (docs/skinning.md, eq. 29; FCD eq. 15 to 18), assembled from the
 * tets: a third of the rows of the elastic one, a ninth of its entries. */
#ifndef SU_REDUCE_WEIGHT_STIFFNESS_H
#define SU_REDUCE_WEIGHT_STIFFNESS_H

#include "geometry/tetmesh.h"
#include "linalg/sparse.h"
#include "physics/material.h"

#include <stdint.h>

/* Zero-initialize; owned arrays. */
typedef struct su_weight_stiffness {
    int64_t free_count;
    int32_t *free_index;  /* (n) number among the free vertices, -1: held */
    int32_t *free_vertex; /* (free_count) ascending */
    su_sparse matrix;     /* over the free vertices, every row with its diagonal, first in its column */
} su_weight_stiffness;

/* sum_e V_e c_e g_a . g_b over the tets (t,4), g the gradients of linear elements: with c = 4 mu + lambda the sum of
 * the three diagonal blocks of the stiffness at rest, of any isotropic material; with c = 1 the Laplacian. held (n): 1
 * where a vertex has no row; NULL: none. SU_INPUT on a tet without volume. */
su_status su_weight_stiffness_create(const su_tet_mesh *mesh, const uint8_t *held, const double *c,
                                     su_weight_stiffness *out, su_error *err);
/* 4 mu + lambda, the sum of the three diagonal blocks of the stiffness. */
static inline double su_trace_stiffness(double young, double poisson)
{
    return 4 * SU_LAME_MU(young, poisson) + SU_LAME_LAMBDA(young, poisson);
}

/* Which entries of the affine maps the weights are made for (FCD eq. 17 and fig. 8): all independent, of unit variance,
 * the others 0. Scale and shear depend on an origin, the mean of the bounding box. */
typedef enum su_covariance { SU_COVARIANCE_TRANSLATION, SU_COVARIANCE_SCALE, SU_COVARIANCE_SHEAR } su_covariance;
#define SU_COVARIANCE_NAMES "translation|scale|shear"

/* sum_ij c_ij A_i' K A_j of eq. 15 there; young (t) Pa, poisson (t). */
su_status su_weight_stiffness_of(su_covariance covariance, const su_tet_mesh *mesh, const uint8_t *held,
                                 const double *young, const double *poisson, su_weight_stiffness *out, su_error *err);
void su_weight_stiffness_free(su_weight_stiffness *stiffness);

#endif
