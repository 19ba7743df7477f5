/* Contacts of the flesh with itself as springs (SP section 3): every overlap is pushed out. */
#ifndef SU_SKIN_CONTACT_SPRINGS_H
#define SU_SKIN_CONTACT_SPRINGS_H

#include "contact/kept_pairs.h"
#include "skin/equilibrium.h"

/* Of what pairs resist along their normal, sideways, until they are met again. None: two vertices that slide off each
 * other come and go in turns; more: contacts settle more slowly. */
#define SU_SKIN_SIDEWAYS 0.2

/* Room for springs; zero-initialize, release with free(spring). */
typedef struct su_spring_list {
    int64_t count, room;
    su_spring *spring;
} su_spring_list;

/* Makes room for one more; NULL without memory. The caller fills it and counts it. */
su_spring *su_spring_next(su_spring_list *list);

/* Appends pairs as they are at x (n,3): force k depth along the normal, H the semidefinite tangent of
 * contact/contact_forces.h; energy += theirs. Returns how many, -1 without memory. */
int64_t su_springs_of_pairs(const su_contact_body *body, int64_t count, const su_contact_pair *pairs, const double *x,
                            su_spring_list *list, double *energy);
/* The same of frozen pairs that pressed where they were met. They also resist to slide from there, by `sideways` of
 * their stiffness: a proximal term, in force, H and energy, which vanishes where they are met again. */
int64_t su_springs_of_kept(su_kept_pairs *kept, const double *x, double sideways, su_spring_list *list, double *energy);

#endif
