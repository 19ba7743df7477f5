/* Inside cage.c: which of the skin's items and nodes belong together within one lattice tet. */
#ifndef SU_GEOMETRY_CAGE_PIECES_H
#define SU_GEOMETRY_CAGE_PIECES_H

#include "geometry/lattice.h"
#include "geometry/parting.h"

typedef struct su_pieces {
    int64_t count;    /* pieces over all tets */
    int32_t *first;   /* (t + 1) pieces of each tet */
    int32_t *of_item; /* (cut items, as lattice->items) piece of each */
    int32_t layers;
    uint32_t *layers_of; /* (count) bits of the layers that a piece's nodes and items are in; 0: of none */
    int32_t *of_node;    /* (layers,t,4) piece of each node that lies inside what the layer holds, else -1 */
} su_pieces;

/* Shells that part are in different pieces where nothing else is in the tet that belongs to both. */
su_status su_pieces_create(const su_surface *surface, const su_lattice_items *items, const su_lattice *lattice,
                           const su_parting *parting, int threads, const su_progress *progress, su_pieces *out,
                           su_error *err);
void su_pieces_free(su_pieces *pieces);

#endif
