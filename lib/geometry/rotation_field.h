/* R_v(p): one rotation a flesh vertex, neutral -> current rest shape (docs/formats.md, convention 11). The same field
 * serves basis, elastic rest, damping, inertia and export. It is the polar rotation of a mean deformation gradient,
 * weighted by neutral volume: one decomposition a vertex, and linear in positions up to it. The mean is over the tets
 * around the vertex, or, with a smoothing, over a neighbourhood of a given length (docs/design.md, "Rest shape and
 * rotations"). PSSD eq. 13 averages the rotations of the tets around the vertex instead, as quaternions. */
#ifndef SU_GEOMETRY_ROTATION_FIELD_H
#define SU_GEOMETRY_ROTATION_FIELD_H

#include "core/error.h"
#include "geometry/tetmesh.h"

#include <stdint.h>

/* Weighted sums of positions that give mean gradients: F_k = sum_j x_j g_kj' - x_vertex (sum_j g_kj)'. */
typedef struct su_mean_gradients {
    int64_t count;
    int32_t *vertex; /* (count) where positions are taken from; NULL: from the origin, the g of a row sum to 0 */
    int64_t *start;  /* (count + 1) into the neighbours; none where no tet touches the vertex */
    int32_t *neighbour;
    double *coefficient; /* (.,3) g, 1/m */
} su_mean_gradients;

/* vertices (n,3) neutral, tets (t,4); both are read at creation only. count, wanted: only these vertices (NULL: all n).
 * SU_INPUT where a tet around them has no positive volume. */
su_status su_mean_gradients_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets, int64_t count,
                                   const int32_t *wanted, su_mean_gradients *out, su_error *err);
void su_mean_gradients_free(su_mean_gradients *gradients);

/* A smooth partition of unity over the vertices: phi_k(v), one function a node, sum_k phi_k = 1 (fem/smooth_weights.h
 * makes it). Arrays borrowed; rows of vertices. nodes = 0: no smoothing. */
typedef struct su_smoothing {
    int64_t nodes;
    const int32_t *start; /* (n + 1) */
    const int32_t *node;  /* (start[n]) */
    const double *weight; /* (start[n]) phi > 0 */
} su_smoothing;

/* Of each node the mean of the tets' gradients, weighted by volume times phi (its mean over the corners). */
su_status su_node_gradients_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets,
                                   const su_smoothing *smoothing, su_mean_gradients *out, su_error *err);

typedef struct su_rotation_field su_rotation_field;

/* As su_mean_gradients_create. With a smoothing (NULL or no nodes: none), which is borrowed, the gradient of a vertex
 * is the mean of the nodes', by phi. */
su_status su_rotation_field_create(const su_tet_mesh *mesh, const su_smoothing *smoothing, int64_t wanted_count,
                                   const int32_t *wanted, su_rotation_field **out, su_error *err);
void su_rotation_field_free(su_rotation_field *field);

/* x (n,3): rest positions at the pose (only the vertices wanted and those that their means are made of are read).
 * quaternions (wanted,4), w >= 0: the proper rotations nearest to the mean gradients, the identity where no tet is. One
 * call at a time: the field has scratch. */
void su_rotation_field_evaluate(su_rotation_field *field, const double *x, double *quaternions, int threads);

#endif
