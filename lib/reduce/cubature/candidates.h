/* What cubature chooses from: tets or vertices of the flesh. */
#ifndef SU_REDUCE_CANDIDATES_H
#define SU_REDUCE_CANDIDATES_H

#include "fem/elastic.h"

#include <stdint.h>

/* Tets carry forces on four vertices, vertices on themselves: the value is their number. */
typedef enum su_point_kind { SU_POINT_VERTEX = 1, SU_POINT_TET = 4 } su_point_kind;

/* Points that may be chosen, and the vertices that they touch. */
typedef struct su_candidates {
    su_point_kind kind;
    int64_t count, vertex_count;
    int32_t *point;  /* (count) into the mesh */
    int32_t *vertex; /* (vertex_count) into the mesh */
    int32_t *corner; /* (count, kind) into `vertex` */
} su_candidates;

/* Tets with a free vertex, or free vertices, ascending; at random `most` of them where there are more. Owned by `out`,
 * after errors too. */
su_status su_candidates_create(const su_elastic *flesh, su_point_kind kind, int64_t most, uint64_t seed,
                               su_candidates *out, su_error *err);
/* Just these points (count). */
su_status su_candidates_of(const su_elastic *flesh, su_point_kind kind, int64_t count, const int32_t *points,
                           su_candidates *out, su_error *err);
void su_candidates_free(su_candidates *candidates);

#endif
