/* The solves of a step, shared by the files that make it up. */
#ifndef SU_RUNTIME_STEP_INTERNAL_H
#define SU_RUNTIME_STEP_INTERNAL_H

#include "runtime/step/step.h"

bool su_step_all_finite(int64_t count, const double *a);
/* The record's displacements at its q, of all points that the parts know. */
void su_step_displace(su_stepper *s, const void *instant, su_state *state);
/* Largest square of the difference of two states' displacements (b NULL: of a's) among all points. */
double su_step_largest_square(const su_stepper *s, const su_state *a, const su_state *b);

/* The linearization at the turned previous state u*: [mass G + stiffness K*] q = -load - (f(u*) - stiffness K* u*) into
 * s->next->q. */
su_step_end su_step_first_solve(su_stepper *s, const void *instant, double mass, double stiffness);
/* Looks for contacts anew at q; NULL: not anew. Returns how many act, or may before the next look. */
int64_t su_step_look(su_stepper *s, const double *q);
/* Newton iterations on s->next->q, until s->iterations reaches the maximum or the residual the tolerance. damping: beta
 * / h. */
su_step_end su_step_iterate(su_stepper *s, const void *instant, double mass, double damping, int max_iterations);
/* Newton iterations from the present q to the tolerance, with the factor that is kept. SU_STEP_NO_DESCENT where it does
 * not come there: nothing is changed but s->next->q. */
su_step_end su_step_solve_kept(su_stepper *s, const void *instant, double mass, double damping);
/* force = the residual at q, |r| over the forces that balance in it. mass = 0: static. damping: beta / h, of the
 * derivative at the turned previous state. NaN where something is not finite. potential (NULL: not wanted): what the
 * residual is the gradient of. derivative: the exact one may be asked for next. */
double su_step_residual(su_stepper *s, const void *instant, const double *q, double mass, double damping,
                        double *potential, bool derivative);
/* |force| alone, for a step whose forces are known. */
double su_step_force(su_stepper *s, const void *instant, const double *q, double mass, double damping,
                     su_tangent tangent);
/* The same at the q of the last call of these two, after another look. */
double su_step_contact_again(su_stepper *s, const double *q);
/* A = mass * U'MU + (K + damping K*)(q), factored; exact where that is wanted, was evaluated and is definite, else
 * projected, which is definite but for what little a linear part may take off. residual: leaves the residual at q in
 * force, too. Spoils held. */
bool su_step_factor(su_stepper *s, const void *instant, const double *q, double mass, double damping, bool exact,
                    bool residual);
/* x = A^-1 x */
void su_step_substitute(su_stepper *s, double *x);
/* Displaces the points. Is the linearization to be trusted? Looked at where points move far; if not, the step is
 * minimized. *leap: square of the largest motion of a point against the rig, at the end. */
su_step_end su_step_check(su_stepper *s, const void *instant, double mass, double damping, double *leap);

#endif
