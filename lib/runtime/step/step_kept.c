/* Steps with a factor that is kept: modified Newton, its inverse mended by what the iterations teach (a quasi-Newton
 * method around the factor; Liu, Bouaziz, Kavan 2017: Quasi-Newton methods for real-time simulation of hyperelastic
 * materials). A reduced tangent takes 9 r^2 operations a tet and its factor r^3/3, a residual 36 r a tet: with three
 * tets a mode a tangent costs r/4 residuals. From step to step it changes little, so that three or four residuals are
 * a step. */
#include "runtime/step/step_internal.h"

#include "geometry/vector.h"

#include <math.h>
#include <string.h>

/* What an iteration must bring, in parts of the residual: a factor that brings less is made anew, as is one that took
 * so many iterations in one step. A factor costs that many residuals at about thirty modes, more above. */
static const double SLOW = 0.5;
enum { MOST = 8 };

/* Factors a step: what these do not settle is one for the line search. */
enum { FACTORS = 3 };

/* q less the quasi-Newton step for the residual in force, which goes to `last`. */
static void update(su_stepper *s, double *q)
{
    su_step_system *y = &s->system;
    size_t bytes = (size_t)s->subspace.lead * sizeof(double);
    memcpy(y->last, y->force, bytes);
    memcpy(y->direction, y->force, bytes);
    su_secant_pairs_before(&y->pairs, y->direction);
    su_step_substitute(s, y->direction);
    su_secant_pairs_after(&y->pairs, y->direction);
    for (int64_t k = 0; k < s->subspace.r; k++) q[k] -= y->direction[k];
    s->iterations++;
}

su_step_end su_step_solve_kept(su_stepper *s, const void *instant, double mass, double damping)
{
    su_step_system *y = &s->system;
    double *q = s->next->q;
    if (!s->force.linearize(s->force.self, instant, s->now->q, 1 + damping, NULL, NULL)) return SU_STEP_NOT_FINITE;
    memcpy(q, s->now->q, (size_t)s->subspace.lead * sizeof *q);
    s->residual = su_step_residual(s, instant, q, mass, damping, NULL, !y->kept);
    double now = su_norm(s->subspace.r, y->force), forces = now / s->residual;
    int here = 0, factors = 0; /* iterations with the present factor */
    while (s->residual > s->settings.tolerance) {
        if (!y->kept) {
            if (++factors > FACTORS) return SU_STEP_NO_DESCENT;
            if (!su_step_factor(s, instant, q, mass, damping, true, true)) return SU_STEP_NOT_DEFINITE;
            su_secant_pairs_forget(&y->pairs);
            y->kept = true, here = 0;
        }
        update(s, q);
        double then = su_step_force(s, instant, q, mass, damping, SU_TANGENT_NONE);
        s->residual = then / forces;
        if (s->residual <= s->settings.tolerance) break;
        y->kept = then <= SLOW * now && ++here < MOST; /* false for what is not finite, too */
        if (y->kept)
            su_secant_pairs_add(&y->pairs, -1, y->direction, y->last, y->force);
        else if (!isfinite(su_step_force(s, instant, q, mass, damping, SU_TANGENT_EXACT)))
            return SU_STEP_NOT_FINITE;
        now = then;
    }
    return isfinite(s->residual) ? SU_STEP_OK : SU_STEP_NOT_FINITE;
}
