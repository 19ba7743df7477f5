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

/* Factors a step, and where flesh touches itself: what these do not settle is one for the line search. */
enum { FACTORS = 3, FACTORS_TOUCHING = 6 };

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

/* Contacts are looked for anew where so much is left of what the last look found lacking, while that is more than the
 * tolerance; at most so many times a step. The model that the last look made is solved. */
static const double LOOK_AGAIN = 0.1;
enum { MOST_LOOKS = 12 };

/* How far the solves of a step have come. */
typedef struct progress {
    double now, forces; /* |residual|, and of the forces that balance in it, N */
    int here, factors;  /* iterations with the present factor; factors */
} progress;

/* Iterations until the residual is at most `aim` of the forces, with contacts as they were looked at last. */
static su_step_end approach(su_stepper *s, const void *instant, double mass, double damping, double aim, int most,
                            progress *at)
{
    su_step_system *y = &s->system;
    double *q = s->next->q;
    while (s->residual > aim) {
        if (!y->kept) {
            if (++at->factors > most) return SU_STEP_NO_DESCENT;
            if (!su_step_factor(s, instant, q, mass, damping, true, true)) return SU_STEP_NOT_DEFINITE;
            su_secant_pairs_forget(&y->pairs);
            y->kept = true, at->here = 0;
        }
        update(s, q);
        double then = su_step_force(s, instant, q, mass, damping, SU_TANGENT_NONE);
        s->residual = then / at->forces;
        if (s->residual <= s->settings.tolerance) break;
        y->kept = then <= SLOW * at->now && ++at->here < MOST; /* false for what is not finite, too */
        if (y->kept)
            su_secant_pairs_add(&y->pairs, -1, y->direction, y->last, y->force);
        else if (s->residual > aim && !isfinite(su_step_force(s, instant, q, mass, damping, SU_TANGENT_EXACT)))
            return SU_STEP_NOT_FINITE;
        at->now = then;
    }
    return isfinite(s->residual) ? SU_STEP_OK : SU_STEP_NOT_FINITE;
}

su_step_end su_step_solve_kept(su_stepper *s, const void *instant, double mass, double damping)
{
    su_step_system *y = &s->system;
    double *q = s->next->q, tolerance = s->settings.tolerance, aim = tolerance;
    if (!s->force.linearize(s->force.self, instant, s->now->q, 1 + damping, NULL, NULL)) return SU_STEP_NOT_FINITE;
    memcpy(q, s->now->q, (size_t)s->subspace.lead * sizeof *q);
    s->residual = su_step_residual(s, instant, q, mass, damping, NULL, !y->kept);
    progress at = {.now = su_norm(s->subspace.r, y->force)};
    at.forces = at.now / s->residual;
    int64_t acting = su_step_look(s, NULL);
    for (int looks = 0;; looks++) {
        bool last = looks > 0 && aim == tolerance;
        su_step_end end = approach(s, instant, mass, damping, aim, acting ? FACTORS_TOUCHING + looks : FACTORS, &at);
        if (end != SU_STEP_OK || last) return end;
        int64_t before = acting;
        acting = su_step_look(s, q);
        if (before == 0 && acting == 0) return SU_STEP_OK; /* nothing touches */
        at.now = y->kept ? su_step_contact_again(s, q) : su_step_force(s, instant, q, mass, damping, SU_TANGENT_EXACT);
        s->residual = at.now / at.forces;
        if (s->residual <= tolerance) return SU_STEP_OK;
        aim = looks + 1 < MOST_LOOKS ? fmax(tolerance, LOOK_AGAIN * s->residual) : tolerance;
    }
}
