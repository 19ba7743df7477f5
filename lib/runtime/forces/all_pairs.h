/* Contact of the flesh with itself in a reduced step with every pair that there is, found on the deformed flesh: what
 * pair sets (pair_sets.h) stand for, and are trained and judged by. */
#ifndef SU_RUNTIME_ALL_PAIRS_H
#define SU_RUNTIME_ALL_PAIRS_H

#include "runtime/forces/contact_points.h"

typedef struct su_all_pairs {
    int64_t n, t;
    const double *neutral;         /* (n,3) borrowed, m */
    const int32_t *tets;           /* (t,4) borrowed */
    const double *young, *poisson; /* (t) Pa, 1; read when it is made */
    double stiffness;              /* factor on that of docs/contact.md */
    double friction;               /* coefficient; 0: skin slides */
    bool allow_overlap;            /* what the rest shape has overlapping is free of force */
    int threads;
    const int32_t *place,
        *point; /* (n) of all flesh vertices, as extra_place and extra_point of the packed model; borrowed */
} su_all_pairs;

/* subspace: with places. */
su_status su_all_pairs_create(const su_all_pairs *what, const su_subspace *subspace, su_contact *out, su_error *err);

/* Of such a contact: the pairs of the last step as they were looked at last, at y (n,3) m of the rest positions x, and
 * what to make rows of them with. All is borrowed until the next step. */
int64_t su_all_pairs_met(const su_contact *contact, const su_contact_pair **pairs, su_contact_points **points,
                         const double **y, const double **x);

#endif
