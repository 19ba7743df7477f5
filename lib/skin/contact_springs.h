/* Contacts of the flesh with itself as springs (SP section 3): every overlap is pushed out. */
#ifndef SU_SKIN_CONTACT_SPRINGS_H
#define SU_SKIN_CONTACT_SPRINGS_H

#include "contact/contact_finder.h"
#include "skin/equilibrium.h"

/* Room for springs; zero-initialize, release with free(spring). */
typedef struct su_spring_list {
    int64_t count, room;
    su_spring *spring;
} su_spring_list;

/* Makes room for one more; NULL without memory. The caller fills it and counts it. */
su_spring *su_spring_next(su_spring_list *list);

/* Appends the pairs of the shape x (n,3): force k depth along the normal, H the semidefinite tangent of
 * contact/contact_forces.h; energy += theirs. Returns how many, -1 without memory. */
int64_t su_springs_of_pairs(const su_contact_body *body, su_contact_finder *finder, const double *x,
                            su_spring_list *list, double *energy);

#endif
