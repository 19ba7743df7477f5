/* Contact of the flesh with itself by pose-space cubature (ASC section 4.3; docs/contact.md, "In reduced motion"): a
 * few weighted pairs of the nearest training poses stand for all. Each looks for itself whether it touches. */
#ifndef SU_RUNTIME_TRAINED_PAIRS_H
#define SU_RUNTIME_TRAINED_PAIRS_H

#include "io/stage/pair_sets.h"
#include "runtime/forces/contact_points.h"

typedef struct su_trained_pairs {
    const su_pair_sets *sets;     /* borrowed */
    const double *neutral;        /* (n,3) flesh vertices of the model; read when it is made */
    const int32_t *place, *point; /* (sets->v) of its vertices, as extra_place and extra_point of the packed model;
                                   * borrowed */
    double stiffness;             /* factor on that of training */
    double friction;              /* coefficient; 0: skin slides */
} su_trained_pairs;

/* subspace: with places. Allocates nothing later. */
su_status su_trained_pairs_create(const su_trained_pairs *what, const su_subspace *subspace, su_contact *out,
                                  su_error *err);
/* From the next step on. */
void su_trained_pairs_set_friction(su_contact *contact, double friction);
/* Of the last step, where its pairs were looked at last. */
typedef struct su_trained_pairs_now {
    int64_t tested, pressed;
    double deepest; /* m, beyond what is allowed */
    bool left;      /* domains are near each other in a pose that is far from all that were trained */
} su_trained_pairs_now;
su_trained_pairs_now su_trained_pairs_state(const su_contact *contact);

/* Coordinates of a pose between two domains: the probes (c) of `second` at x, in the frame of `first`, minus mean,
 * along six axes. neutral, x (.,3). */
typedef struct su_domain_pose {
    int64_t c;
    const int32_t *first, *second; /* (c) */
    const double *mean, *axes;     /* (3c), (6,3c) */
} su_domain_pose;
/* at (3c) the probes alone. */
void su_domain_probes(const su_domain_pose *pose, const double *neutral, const double *x, double *at);
void su_domain_coordinates(const su_domain_pose *pose, const double *at, double out[SU_PAIR_COORDINATES]);

#endif
