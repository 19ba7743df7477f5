/* A piece of a body: triangles of its surface and the tets below them. What a few pairs need to find themselves
 * without the rest (docs/contact.md, "In reduced motion"). */
#ifndef SU_CONTACT_PATCH_H
#define SU_CONTACT_PATCH_H

#include "contact/contact_finder.h"

typedef struct su_contact_patch {
    su_contact_body body; /* n, b, t, neutral, tets, surface, around, ring, nearest */
    int32_t *neighbour;   /* (t,4) the tet across the face opposite to each corner; -1: none of the patch */
    uint8_t *open;        /* (b) bit i: no triangle of the patch beyond the edge opposite to corner i; bit 3 + i: the
                           * corner lies on such an edge */
    su_arena arena;
} su_contact_patch;

/* n vertices of any numbering; neutral (n,3), tets (t,4) are borrowed; surface (b,3) outward; related (start (n + 1),
 * list) the vertices that share a tet of the whole body with each, ascending; nearest (t) the triangle nearest to each
 * tet through the flesh, counted from `first` on. */
typedef struct su_contact_piece {
    int64_t n, b, t;
    const double *neutral;
    const int32_t *surface, *tets, *related_start, *related, *nearest;
    int32_t first;
} su_contact_piece;

su_status su_contact_patch_create(const su_contact_piece *piece, su_contact_patch *out, su_error *err);
void su_contact_patch_free(su_contact_patch *patch);

/* The pair's way at y (n,3), as su_contact_find has it, looked for from pair->tet on: depth 0 where no tet of the patch
 * holds its vertex, or where its way ends at the rim of the patch, since the surface goes on there and nobody knows
 * where. pair->tet is then where the search ended: the next one begins there. Does a tet hold the vertex? */
bool su_contact_patch_look(const su_contact_patch *patch, const double *y, su_contact_pair *pair);

#endif
