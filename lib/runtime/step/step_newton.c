/* The solves of a step. */
#include "runtime/step/step_internal.h"

#include "geometry/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool su_step_all_finite(int64_t count, const double *a)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) sum += a[k] * 0.0;
    return sum == 0.0;
}

void su_step_displace(su_stepper *s, const void *instant, su_state *state)
{
    s->subspace.displace(s->subspace.self, instant, state->q, state->subspace);
    s->force.keep(s->force.self, instant, &s->subspace, state);
}

double su_step_largest_square(const su_stepper *s, const su_state *a, const su_state *b)
{
    double most = s->subspace.largest_square(s->subspace.self, a->subspace, b ? b->subspace : NULL);
    if (!s->force.largest_square) return most;
    double here = s->force.largest_square(s->force.self, a->force, b ? b->force : NULL);
    return most < here || isnan(here) ? here : most;
}

int64_t su_step_look(su_stepper *s, const double *q)
{
    int64_t acting = 0;
    for (int k = 0; k < s->contacts; k++)
        if (s->near[k] > 0 && s->contact[k].look) acting += s->contact[k].look(s->contact[k].self, q);
    return acting;
}

/* What near points of the contacts do; nothing where none is near. */
static double add_contacts(su_stepper *s, const double *q, double *out, double *A)
{
    double energy = 0;
    for (int k = 0; k < s->contacts; k++)
        if (s->near[k] > 0) energy += s->contact[k].evaluate(s->contact[k].self, q, out, A);
    return energy;
}

/* contact = their force at q, force += it, *size += its norm (NULL: not wanted). Returns their energy. */
static double add_contact_force(su_stepper *s, const double *q, double *size)
{
    su_step_system *y = &s->system;
    if (s->near_any == 0) return 0;
    memset(y->contact, 0, (size_t)s->subspace.lead * sizeof *y->contact);
    double energy = add_contacts(s, q, y->contact, NULL);
    for (int64_t k = 0; k < s->subspace.r; k++) y->force[k] += y->contact[k];
    if (size) *size += su_norm(s->subspace.r, y->contact);
    return energy;
}

/* force += mass G q + load, held = G q. */
static void add_inertia_force(su_stepper *s, const void *instant, const double *q, double mass, double *square)
{
    su_step_system *y = &s->system;
    double sum = 0;
    s->subspace.mass_times(s->subspace.self, instant, q, y->held);
    for (int64_t k = 0; k < s->subspace.r; k++) {
        double a = mass * y->held[k] + y->load[k];
        y->force[k] += a;
        sum += a * a;
    }
    if (square) *square = sum;
}

/* Share of the load that a residual is measured against at least, so that one of nothing but rounding is small where no
 * other force acts. */
static const double LOAD_FLOOR = 1e-6;

double su_step_residual(su_stepper *s, const void *instant, const double *q, double mass, double damping,
                        double *potential, bool derivative)
{
    const su_force *force = &s->force;
    su_step_system *y = &s->system;
    int64_t r = s->subspace.r, lead = s->subspace.lead;
    size_t bytes = (size_t)lead * sizeof(double);
    double inertia, size = 0;
    su_force_at at = {.q = q, .from = s->now->q};
    if (damping != 0) { /* which is not among the forces that balance */
        if (!force->evaluate(force->self, instant, &at)) return NAN;
        memset(y->force, 0, bytes);
        force->add_force(force->self, instant, &at, y->force);
        size = su_norm(r, y->force);
        at.again = true;
    }
    at.damping = damping, at.tangent = derivative ? SU_TANGENT_EXACT : SU_TANGENT_NONE;
    if (!force->evaluate(force->self, instant, &at)) return NAN;
    at.again = true;
    memset(y->force, 0, bytes);
    force->add_force(force->self, instant, &at, y->force);
    if (size == 0) size = su_norm(r, y->force);
    add_inertia_force(s, instant, q, mass, &inertia);
    if (potential)
        *potential =
            force->energy(force->self, instant, &at) + 0.5 * mass * su_dot(r, q, y->held) + su_dot(r, q, y->load);
    size += sqrt(inertia);
    double energy = add_contact_force(s, q, &size);
    if (potential) *potential += energy;
    return su_norm(r, y->force) / fmax(size + su_norm(r, y->load) * LOAD_FLOOR, DBL_MIN);
}

double su_step_force(su_stepper *s, const void *instant, const double *q, double mass, double damping,
                     su_tangent tangent)
{
    const su_force *force = &s->force;
    su_step_system *y = &s->system;
    su_force_at at = {.q = q, .from = s->now->q, .damping = damping, .tangent = tangent};
    if (!force->evaluate(force->self, instant, &at)) return NAN;
    at.again = true;
    memset(y->force, 0, (size_t)s->subspace.lead * sizeof *y->force);
    force->add_force(force->self, instant, &at, y->force);
    add_inertia_force(s, instant, q, mass, NULL);
    add_contact_force(s, q, NULL);
    return su_norm(s->subspace.r, y->force);
}

double su_step_contact_again(su_stepper *s, const double *q)
{
    su_step_system *y = &s->system;
    for (int64_t k = 0; k < s->subspace.r; k++) y->force[k] -= y->contact[k];
    add_contact_force(s, q, NULL);
    return su_norm(s->subspace.r, y->force);
}

bool su_step_factor(su_stepper *s, const void *instant, const double *q, double mass, double damping, bool exact,
                    bool residual)
{
    const su_force *force = &s->force;
    const su_subspace *subspace = &s->subspace;
    su_step_system *y = &s->system;
    su_force_at at = {.q = q, .from = s->now->q, .damping = damping, .again = true};
    y->kept = false;
    if (residual) memset(y->force, 0, (size_t)subspace->lead * sizeof *y->force);
    for (int way = exact ? SU_TANGENT_EXACT : SU_TANGENT_PROJECTED; way <= SU_TANGENT_PROJECTED;
         way++, residual = false) {
        at.tangent = (su_tangent)way;
        if (way != SU_TANGENT_EXACT && !force->evaluate(force->self, instant, &at)) return false;
        subspace->mass(subspace->self, instant, mass, y->A);
        force->add_tangent(force->self, instant, &at, y->A, residual ? y->force : NULL);
        if (residual) add_inertia_force(s, instant, q, mass, NULL);
        add_contacts(s, q, residual ? y->force : y->held, y->A);
        if (y->kernels->cholesky(subspace->size, subspace->lead, y->A, y->inverse)) return true;
    }
    return false;
}

void su_step_substitute(su_stepper *s, double *x)
{
    s->system.kernels->solve(s->subspace.size, s->subspace.lead, s->system.A, s->system.inverse, x);
}

/* Without a tolerance: as many solves as are wanted, the right-hand side from the same pass as the matrix.
 * su_step_check looks at the end where points move far. */
static su_step_end plain_solves(su_stepper *s, const void *instant, double mass, double damping, int solves)
{
    double *q = s->next->q;
    const su_force_at at = {.q = q, .from = s->now->q, .damping = damping, .tangent = SU_TANGENT_EXACT};
    while (s->iterations < solves) {
        su_step_look(s, q);
        if (!s->force.evaluate(s->force.self, instant, &at)) return SU_STEP_NOT_FINITE;
        if (!su_step_factor(s, instant, q, mass, damping, true, true)) return SU_STEP_NOT_DEFINITE;
        su_step_substitute(s, s->system.force);
        for (int64_t k = 0; k < s->subspace.r; k++) q[k] -= s->system.force[k];
        s->iterations++;
    }
    return su_step_all_finite(s->subspace.r, q) ? SU_STEP_OK : SU_STEP_NOT_FINITE;
}

/* trial = q - length * direction */
static void try_at(su_stepper *s, double length)
{
    su_step_system *y = &s->system;
    memset(y->trial, 0, (size_t)s->subspace.lead * sizeof *y->trial);
    for (int64_t k = 0; k < s->subspace.r; k++) y->trial[k] = s->next->q[k] - length * y->direction[k];
}

su_step_end su_step_iterate(su_stepper *s, const void *instant, double mass, double damping, int max_iterations)
{
    enum { HALVINGS = 12 };
    su_step_system *y = &s->system;
    size_t bytes = (size_t)s->subspace.lead * sizeof(double);
    if (s->settings.tolerance == 0) return plain_solves(s, instant, mass, damping, max_iterations);
    double *q = s->next->q;
    su_step_look(s, q);
    double now = s->residual = su_step_residual(s, instant, q, mass, damping, NULL, true);
    while (s->iterations < max_iterations && now > s->settings.tolerance) {
        bool last = ++s->iterations == max_iterations;
        if (!su_step_factor(s, instant, q, mass, damping, true, false)) return SU_STEP_NOT_DEFINITE;
        memcpy(y->direction, y->force, bytes);
        su_step_substitute(s, y->direction);
        double length = 1, then = INFINITY;
        for (int halvings = 0; halvings < HALVINGS; halvings++, length *= 0.5) {
            try_at(s, length);
            then = su_step_residual(s, instant, y->trial, mass, damping, NULL, !last);
            if (then < now) break;
        }
        if (!(then < now)) break; /* rounding: no further descent */
        memcpy(q, y->trial, bytes);
        now = su_step_look(s, q) > 0 ? su_step_residual(s, instant, q, mass, damping, NULL, !last) : then;
        s->residual = now;
    }
    return isfinite(now) ? SU_STEP_OK : SU_STEP_NOT_FINITE;
}

su_step_end su_step_first_solve(su_stepper *s, const void *instant, double mass, double stiffness)
{
    const su_subspace *subspace = &s->subspace;
    su_step_system *y = &s->system;
    double *q = s->next->q;
    y->kept = false;
    memcpy(y->force, y->load, (size_t)subspace->lead * sizeof(double));
    subspace->mass(subspace->self, instant, mass, y->A);
    if (!s->force.linearize(s->force.self, instant, s->now->q, stiffness, y->A, y->force)) return SU_STEP_NOT_FINITE;
    add_contacts(s, NULL, y->force, y->A);
    for (int64_t k = 0; k < subspace->lead; k++) q[k] = k < subspace->r ? -y->force[k] : 0;
    if (!su_step_all_finite(subspace->r, q)) return SU_STEP_NOT_FINITE;
    if (!y->kernels->cholesky(subspace->size, subspace->lead, y->A, y->inverse)) return SU_STEP_NOT_DEFINITE;
    su_step_substitute(s, q);
    s->iterations = 1;
    return SU_STEP_OK;
}

/* Minimizes the potential by Newton with projected matrices and a line search, for steps that a linearization leads
 * astray: converged implicit Euler does not blow up. From s->next->q or from the q before, whichever is lower. */
static su_step_end minimize(su_stepper *s, const void *instant, double mass, double damping)
{
    enum { ITERATIONS = 30, HALVINGS = 25 };
    const double good = 0.01, fair = 0.1; /* relative residuals: to stop at, and to accept */
    su_step_system *y = &s->system;
    size_t bytes = (size_t)s->subspace.lead * sizeof(double);
    double *q = s->next->q, here = NAN, there = NAN;
    double now = su_step_residual(s, instant, q, mass, damping, &here, false);
    su_step_residual(s, instant, s->now->q, mass, damping, &there, false);
    if (!(here <= there)) memcpy(q, s->now->q, bytes);
    now = su_step_residual(s, instant, q, mass, damping, &here, false);
    for (int k = 0; k < ITERATIONS && now > good; k++) {
        memcpy(y->direction, y->force, bytes);
        if (!su_step_factor(s, instant, q, mass, damping, false, false)) return SU_STEP_NOT_DEFINITE;
        su_step_substitute(s, y->direction);
        s->iterations++;
        su_step_residual(s, instant, q, mass, damping, &here, false);
        double slope = su_dot(s->subspace.r, y->force, y->direction), length = 1;
        int halvings = 0;
        for (; halvings < HALVINGS; halvings++, length *= 0.5) {
            try_at(s, length);
            now = su_step_residual(s, instant, y->trial, mass, damping, &there, false);
            if (there <= here - SU_SUFFICIENT_DESCENT * length * slope) break;
        }
        if (halvings == HALVINGS) break;
        memcpy(q, y->trial, bytes);
        if (su_step_look(s, q) > 0) now = su_step_residual(s, instant, q, mass, damping, NULL, false);
    }
    now = su_step_residual(s, instant, q, mass, damping, NULL, false);
    s->residual = now;
    return now <= fair ? SU_STEP_OK : isfinite(now) ? SU_STEP_NO_DESCENT : SU_STEP_NOT_FINITE;
}

su_step_end su_step_check(su_stepper *s, const void *instant, double mass, double damping, double *leap)
{
    const double trusted = 0.1; /* relative residual up to which a step that moves far is taken as it is */
    double far = SU_STRIDE * s->subspace.diagonal;
    su_step_displace(s, instant, s->next);
    *leap = su_step_largest_square(s, s->next, s->now);
    if (*leap <= far * far) return SU_STEP_OK;
    s->residual = su_step_residual(s, instant, s->next->q, mass, damping, NULL, false);
    if (s->residual <= trusted) return SU_STEP_OK;
    su_step_end end = minimize(s, instant, mass, damping);
    su_step_displace(s, instant, s->next);
    *leap = su_step_largest_square(s, s->next, s->now);
    return end;
}
