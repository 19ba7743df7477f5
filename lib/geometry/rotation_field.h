/* R_v(p): one rotation a flesh vertex, neutral -> current rest shape (convention 11 of docs/formats.md). The same field serves
 * alignment, elastic force, inertia and export. It is the polar rotation of the mean deformation gradient of the tets
 * around the vertex, weighted by neutral volume: one decomposition a vertex, and linear in positions up to it. PSSD eq. 13 averages
 * the tets' own rotations instead, as quaternions (docs/design.md, section 5). */
#ifndef SU_GEOMETRY_ROTATION_FIELD_H
#define SU_GEOMETRY_ROTATION_FIELD_H

#include "core/error.h"

#include <stdint.h>

/* The mean gradients of some vertices as sums over their neighbours j: F_v = sum_j (x_j - x_v) g_vj'. */
typedef struct su_mean_gradients {
    int64_t count;
    int32_t *vertex;        /* (count) */
    int64_t *start;         /* (count + 1) into the neighbours; none where no tet touches the vertex */
    int32_t *neighbour;
    double *coefficient;    /* (.,3) g, 1/m */
} su_mean_gradients;

/* vertices (n,3) neutral, tets (t,4); both are read at creation only. count, wanted: only these vertices (NULL: all n).
 * SU_INPUT where a tet around them has no positive volume. */
su_status su_mean_gradients_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets, int64_t count,
                                   const int32_t *wanted, su_mean_gradients *out, su_error *err);
void su_mean_gradients_free(su_mean_gradients *gradients);

typedef struct su_rotation_field su_rotation_field;

/* As su_mean_gradients_create. */
su_status su_rotation_field_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets,
                                   int64_t wanted_count, const int32_t *wanted, su_rotation_field **out, su_error *err);
void su_rotation_field_free(su_rotation_field *field);

/* x (n,3): rest positions at the pose (only the vertices wanted and their neighbours are read). quaternions (wanted,4), w >= 0:
 * the proper rotations nearest to the mean gradients, the identity where no tet is. */
void su_rotation_field_evaluate(const su_rotation_field *field, const double *x, double *quaternions, int threads);

#endif
