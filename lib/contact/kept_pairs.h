/* Pairs that a solver keeps while it looks for one equilibrium: those met since it began, led along, so that what they
 * exert is a smooth function of positions in between (docs/contact.md, "In a step"). */
#ifndef SU_CONTACT_KEPT_PAIRS_H
#define SU_CONTACT_KEPT_PAIRS_H

#include "contact/contact_finder.h"

typedef struct su_kept_pairs {
    const su_contact_body *body; /* borrowed */
    su_contact_finder *finder;   /* borrowed */
    su_contact_pair *pairs;      /* (count) at the last positions */
    int64_t count, room;
    bool frozen;           /* ways keep their normal and the place where they end */
    bool aimed;            /* frozen, and those that have come out still resist */
    su_contact_pair *base; /* (count) as they were where something was met last */
    int32_t *first;        /* (n) one more than the first pair of each vertex; 0: none */
    int32_t *next;         /* (room) and than the next one */
    double *before;        /* (n,3) where a step began */
    uint8_t *stands;       /* (n) scratch, 0 and left so: vertices that get no other way */
    bool steps;            /* it did */
} su_kept_pairs;

su_status su_kept_pairs_create(const su_contact_body *body, su_contact_finder *finder, su_kept_pairs *out,
                               su_error *err);
void su_kept_pairs_free(su_kept_pairs *kept);

/* None. before (n,3): where a step begins, in a frame that does not move with y's, copied: new pairs that
 * bring energy along are held on the side that the vertex came from (contact_entry.h). NULL: there is no step. */
void su_kept_pairs_begin(su_kept_pairs *kept, const double *before);
/* Finds the pairs at y (n,3) of vertices that have none that goes on, and keeps them; *met: so many of them press, or
 * are held from now on. */
su_status su_kept_pairs_meet(su_kept_pairs *kept, const double *y, int64_t *met, su_error *err);
/* Until the next beginning ways keep their normal and end, and a vertex that has one gets no other: what they exert is
 * the derivative of a convex function of y then, whatever the surface does. */
void su_kept_pairs_freeze(su_kept_pairs *kept);
/* Finds the pairs at y, with those known led along there, and freezes them until the next call. Those that have come
 * out since they were aimed last stay as they were, with depth 0 in `base`: dropped, the flesh would come back to them
 * and take turns. */
su_status su_kept_pairs_aim(su_kept_pairs *kept, const double *y, su_error *err);
/* `pairs` as they are at y (n,3), from where they were met. */
void su_kept_pairs_follow(su_kept_pairs *kept, const double *y);

#endif
