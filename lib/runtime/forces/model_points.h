/* Which points and tets a run-time model has, in which order, and the panels that they form; a part of pack_model.c.
 */
#ifndef SU_RUNTIME_MODEL_POINTS_H
#define SU_RUNTIME_MODEL_POINTS_H

#include "core/error.h"
#include "runtime/subspace/packed_model.h"

#include <stdbool.h>
#include <stdint.h>

/* A point or tet on its way into a panel, with the set of its regions. */
enum { SU_REGION_WORDS = 4, SU_MOST_REGIONS = 64 * SU_REGION_WORDS };
typedef struct su_member {
    uint64_t bits[SU_REGION_WORDS];
    int32_t rank; /* of a point: -1 asked for, 0 kept, 1 its rows are wanted by the way, 2 not at all; of a tet: 0
                   * abreast, 1 not */
    int32_t use;  /* of a vertex: the first tet, in their sorted order, that it is a corner of, or past the last */
    int32_t item; /* what it belongs to: flesh vertex or index into cubature_tets */
    bool filler;  /* a tet that fills sixteen, of no weight */
} su_member;

/* Region sets of all flesh vertices: of (n). */
void su_vertex_regions(const su_reduced_basis *basis, su_member *of);
/* Cubature tets that move, those abreast first, and their panels: *sorted (model->tets) is freed by the caller. */
su_status su_choose_tets(const su_model *source, su_runtime_model *model, const su_member *of, su_member **sorted,
                         su_error *err);
/* Points: corners of moving cubature tets and moving inertia vertices, each once, those kept first, sorted by regions,
 * then as the tets (in their order) first ask for them, so that their rows are read one behind the other. point_of (n)
 * -1 where there is none; *vertices (model->chosen, in the model's arena). Spoils `of`. */
su_status su_choose_points(const su_model *source, su_runtime_model *model, su_member *of, const su_member *tets,
                           const int32_t *extra, int32_t *point_of, int32_t **vertices, su_error *err);

#endif
