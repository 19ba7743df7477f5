/* R_v(p): one rotation a flesh vertex, neutral -> current rest shape (DESIGN convention 11; PSSD eq. 13). The same field
 * serves alignment, elastic force, inertia and export. */
#ifndef SU_GEOMETRY_ROTATION_FIELD_H
#define SU_GEOMETRY_ROTATION_FIELD_H

#include "core/error.h"

#include <stdint.h>

typedef struct su_rotation_field su_rotation_field;

/* vertices (n,3) neutral, tets (t,4); both are read at creation only. vertex_count and wanted: only these vertices are
 * evaluated (NULL: all), and only the tets around them are touched. */
su_status su_rotation_field_create(int64_t n, const double *vertices, int64_t t, const int32_t *tets,
                                   int64_t wanted_count, const int32_t *wanted, su_rotation_field **out, su_error *err);
void su_rotation_field_free(su_rotation_field *field);

/* x (n,3): rest positions at the pose (only vertices of the touched tets are read). quaternions (wanted,4): element
 * quaternions sign-aligned to the lowest-numbered incident tet, weighted by neutral volume, summed, normalized, w >= 0. */
void su_rotation_field_evaluate(const su_rotation_field *field, const double *x, double *quaternions, int threads);

#endif
