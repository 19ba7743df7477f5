/* How a vertex came into the flesh during a step, and what a pair brings along that forgets it (docs/contact.md, "In a
 * step"). The nearest point of the surface is not convex in y: near an edge of the surface a vertex that came in
 * through one face may be pushed out through the other, with more work than it did on its way in. */
#ifndef SU_CONTACT_ENTRY_H
#define SU_CONTACT_ENTRY_H

#include "contact/contact_finder.h"

/* What a pair at y (n,3), none of which stood at `before` (n,3), adds to the energy of an implicit step that began
 * there, J: E(y) - dE/dy (y - before). Above 0 it brings energy along, since the step's end knows the force at y alone;
 * where E is convex between, never. */
double su_contact_brought(const su_contact_body *body, const double *before, const double *y,
                          const su_contact_pair *pair);

/* Puts such a pair on the plane of the triangle that its vertex came in through and holds it there: E is convex then.
 * False where there is no such triangle near; the pair is as it was. */
bool su_contact_enter(const su_contact_body *body, const double *before, const double *y, su_contact_pair *pair);

#endif
