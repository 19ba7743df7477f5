/* Contact of the flesh with itself in reduced coordinates: where the vertices of pairs are at q, and what their forces
 * are there (docs/contact.md, "In reduced motion"). */
#ifndef SU_RUNTIME_CONTACT_POINTS_H
#define SU_RUNTIME_CONTACT_POINTS_H

#include "contact/contact_forces.h"
#include "core/error.h"
#include "runtime/step/parts.h"

/* Sums over the steps of a run, for --stats. */
typedef struct su_reduced_contact_counts {
    int64_t steps;            /* that were prepared */
    int64_t searches, tested; /* times that pairs were looked for, vertices looked at then */
    int64_t pressed;          /* pairs with a force, where each step looked last */
    int64_t most_pressed;
    int64_t untrained;            /* steps that left what pair sets were trained on */
    double deepest;               /* beyond what is allowed, where steps looked last, m */
    double seconds, most_seconds; /* of all that; of the dearest step */
    double before;                /* seconds when the step at hand began */
} su_reduced_contact_counts;

/* Adds what presses where a step looked last. */
void su_reduced_contact_count(su_reduced_contact_counts *counts, int64_t count, const su_contact_pair *pairs);

typedef struct su_contact_points {
    int64_t n;                    /* vertices */
    const su_contact_body *body;  /* borrowed; of these vertices: the one whose pairs are asked about next */
    const int32_t *place, *point; /* (n) as extra_place and extra_point of the packed model; borrowed */
    int32_t *order;               /* (n) vertices as their places rise */
    int64_t count;
    int32_t *vertex, *chosen;    /* (count) those that are asked about, as their places rise, and their places */
    double *packed;              /* (n,3) */
    const su_subspace *subspace; /* of the step at hand, as its contact was prepared */
    const void *instant;
    double *q; /* (lead) where they were looked at last, at this instant */
    bool at_q;
    int64_t lead;
    su_arena arena;
} su_contact_points;

su_status su_contact_points_create(int64_t n, const int32_t *place, const int32_t *point, const su_subspace *subspace,
                                   su_contact_points *out, su_error *err);
void su_contact_points_free(su_contact_points *points);

/* They are asked for at an instant next. */
void su_contact_points_enter(su_contact_points *points, const void *instant, const su_subspace *subspace);
/* Vertices marked in wanted (n; NULL: all, as at first) are asked about from here on. */
void su_contact_points_want(su_contact_points *points, const uint8_t *wanted);
/* y (n,3) of these at q; false, and y is as it was, where q is the one before at this instant. */
bool su_contact_points_look(su_contact_points *points, const double *q, double *y);
/* Some more are asked about from here on; y (n,3) of those at the q looked at last. */
void su_contact_points_add(su_contact_points *points, int64_t count, const int32_t *vertex, double *y);
/* y (n,3) of these, as su_subspace.places says. */
void su_contact_points_place(su_contact_points *points, const double *q, const double *state, double *y);
/* row (lead) = sum share U'axis of four vertices. */
void su_contact_points_project(su_contact_points *points, const int32_t corner[4], const double share[4],
                               const double axis[3], double *row);
/* Of a pair's force: row (lead) = U' (its gradient per N of its size), that is -U_p n + sum beta U_i n. */
void su_contact_points_row(su_contact_points *points, const su_contact_pair *pair, double *row);

#endif
