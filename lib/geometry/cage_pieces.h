/* Inside cage.c: which of the skin's items and nodes belong together within one lattice tet. */
#ifndef SU_GEOMETRY_CAGE_PIECES_H
#define SU_GEOMETRY_CAGE_PIECES_H

#include "geometry/lattice.h"

typedef struct su_pieces {
    int64_t count;    /* pieces over all tets */
    int32_t *first;   /* (t + 1) pieces of each tet */
    int32_t *of_item; /* (cut items, as lattice->items) piece of each */
    int32_t *of_node; /* (t,4) piece of each node that lies inside, else -1 */
} su_pieces;

su_status su_pieces_create(const su_surface *surface, const su_lattice_items *items, const su_lattice *lattice,
                           const su_progress *progress, su_pieces *out, su_error *err);
void su_pieces_free(su_pieces *pieces);

#endif
