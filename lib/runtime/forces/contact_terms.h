/* What contact pairs exert between two looks, as functions of q alone. A look at the pairs of deformed flesh costs
 * fifty times as much as their forces, and between the iterations of a solver the ways of pairs hardly turn. So where
 * they were looked at the depth of each is linear in q from there on,
 *   over(q) = depth - allowed - g.(q - q_look),   g = sum share U'n,
 * and with a vertex or an edge of the surface a quadratic sideways (docs/contact.md, eq. 8): all in all the convex
 * model that Gauss and Newton's method makes of the energy. A step looks again where the model is solved, until that
 * changes nothing. */
#ifndef SU_RUNTIME_CONTACT_TERMS_H
#define SU_RUNTIME_CONTACT_TERMS_H

#include "runtime/forces/contact_points.h"
#include "runtime/kernels/kernels.h"

/* Products of so many rows are added at once, so that the matrix is read and written seldom. */
enum { SU_CONTACT_ROWS = 64 };

/* One pair. */
typedef struct su_contact_term {
    double stiffness, over;  /* N/m; m, at q = 0 */
    double beside, moved[2]; /* N/m; m along each direction sideways, at q = 0 */
    int sides;               /* directions: none where a face was hit, across an edge one, around a corner two */
    bool pressed;            /* where it was looked at last */
} su_contact_term;

/* Friction of one pair (contact_forces.h). */
typedef struct su_grip_term {
    double limit, hold, way[2]; /* N; m; m, of the slip at q = 0 */
    double secant;              /* N/m, where it was looked at */
} su_grip_term;

typedef struct su_contact_terms {
    int64_t r, lead, room, grip_room;
    int64_t count, grip_count;
    su_contact_term *terms; /* (count) of `room` */
    float *rows;            /* (room,3,lead): g, and those of the directions sideways */
    su_grip_term *grips;    /* (grip_count) of `grip_room` */
    float *grip_rows;       /* (grip_room,2,lead) */
    float *scaled;          /* (SU_CONTACT_ROWS,lead) whose products are still to be added, the first scaled_count */
    int64_t scaled_count;
    double *row; /* (lead) scratch */
    const su_kernels *kernels;
    su_arena arena;
} su_contact_terms;

su_status su_contact_terms_create(const su_subspace *subspace, su_contact_terms *out, su_error *err);
void su_contact_terms_free(su_contact_terms *terms);

/* A step begins: there are none. */
void su_contact_terms_begin(su_contact_terms *terms);
/* There are so many pairs and grips in all from here on; what was looked at stays. False where there is no memory for
 * more than ever. */
bool su_contact_terms_reserve(su_contact_terms *terms, int64_t count, int64_t grips);

/* The terms from number `first` on are those of pairs (count), looked at y (n,3): at the points' own q, or with x (n,3)
 * not NULL at a displacement y - x that need not lie in the span of U. A pair that has come out stays the plane that it
 * was: without it the flesh would come back, and take turns. Returns how many there are. */
int64_t su_contact_terms_look(su_contact_terms *terms, su_contact_points *points, int64_t first, int64_t count,
                              const su_contact_pair *pairs, const double *y, const double *x);
/* The same of their friction during a step. */
void su_contact_terms_grip(su_contact_terms *terms, su_contact_points *points, int64_t first, int64_t count,
                           const su_contact_grip *grips, const double *y, const double *x);

/* At q (lead): out (lead) += the gradient of their energy, N, which is returned, J; A (NULL: not wanted) += its second
 * derivative. q NULL: out is the gradient at q = 0 of those that pressed where they were looked at. */
double su_contact_terms_evaluate(su_contact_terms *terms, const double *q, double *out, double *A);

#endif
