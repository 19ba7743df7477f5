/* What a quasi-Newton method remembers (L-BFGS; Nocedal, Wright: Numerical Optimization, algorithm 7.4): its last steps
 * and the changes of the gradient along them, around a first matrix that is the caller's:
 *
 *     memcpy(d, gradient), su_secant_pairs_before(pairs, d), d = B d, su_secant_pairs_after(pairs, d)
 *
 * makes of d the quasi-Newton step, to be taken away; B is the inverse of the first matrix. */
#ifndef SU_GEOMETRY_SECANT_PAIRS_H
#define SU_GEOMETRY_SECANT_PAIRS_H

#include "core/memory.h"

#include <stdbool.h>
#include <stdint.h>

/* Pairs at most, and as a rule: more than a handful brings nothing (Liu, Bouaziz, Kavan 2017: Quasi-Newton methods for
 * real-time simulation of hyperelastic materials, section 5). */
enum { SU_SECANT_MOST = 10, SU_SECANT_PAIRS = 8 };

typedef struct su_secant_pairs {
    int64_t size, room, count, next; /* entries of a vector; pairs at most, that there are; where the next goes */
    double *steps, *changes;         /* (room,size) */
    double inverse[SU_SECANT_MOST], along[SU_SECANT_MOST]; /* 1 / step.change; of the recursion */
} su_secant_pairs;

/* Room for so many pairs of vectors of `size` entries, from an arena. Without pairs. */
su_status su_secant_pairs_take(su_secant_pairs *pairs, su_arena *arena, int64_t room, int64_t size, su_error *err);
void su_secant_pairs_forget(su_secant_pairs *pairs);
/* The pair `length` times d (size), `after` less `before` (size); left out where its curvature is not positive. */
void su_secant_pairs_add(su_secant_pairs *pairs, double length, const double *d, const double *before,
                         const double *after);
/* step.change / change.change of the newest pair: the first matrix where there is no better one. 1 without pairs. */
double su_secant_pairs_scale(const su_secant_pairs *pairs);
void su_secant_pairs_before(su_secant_pairs *pairs, double *d);
void su_secant_pairs_after(const su_secant_pairs *pairs, double *d);

#endif
