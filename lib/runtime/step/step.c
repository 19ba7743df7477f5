#include "runtime/step/step.h"

#include "runtime/kernels/kernel_set.h"
#include "runtime/step/step_internal.h"

#include <math.h>
#include <string.h>

const char *su_step_end_text(su_step_end end)
{
    static const char *const texts[] = {[SU_STEP_OK] = "",
                                        [SU_STEP_NOT_DEFINITE] = "the reduced matrix is not definite",
                                        [SU_STEP_NOT_FINITE] = "the forces are not finite",
                                        [SU_STEP_TOO_FAR] = "the flesh leapt",
                                        [SU_STEP_NO_DESCENT] = "no descent"};
    return texts[end];
}

/* ---- memory ---- */

static su_status allocate(su_stepper *s, su_error *err)
{
    int64_t lead = s->subspace.lead;
    su_step_system *y = &s->system;
    for (su_state *state = s->states; state < s->states + 3; state++)
        SU_TRY(SU_TAKE_ALL(&s->arena, "the integrator", err, SU_WANT(state->q, lead),
                           SU_WANT(state->subspace, s->subspace.state_size),
                           SU_WANT(state->force, s->force.state_size)));
    if (s->settings.newton == 0) {
        SU_TRY(SU_TAKE_ALL(&s->arena, "the integrator", err, SU_WANT(y->last, lead)));
        SU_TRY(su_secant_pairs_take(&y->pairs, &s->arena, SU_SECANT_PAIRS, s->subspace.r, err));
    }
    return SU_TAKE_ALL(&s->arena, "the integrator", err, SU_WANT(y->inverse, lead), SU_WANT(y->load, lead),
                       SU_WANT(y->force, lead), SU_WANT(y->held, lead), SU_WANT(y->direction, lead),
                       SU_WANT(y->trial, lead), SU_WANT(y->contact, lead), SU_WANT(y->A, lead * lead));
}

su_status su_stepper_plug(const su_subspace *subspace, const su_force *force, const su_step_settings *settings,
                          su_stepper *s, su_error *err)
{
    const su_kernel_set *set;
    memset(s, 0, sizeof *s);
    s->subspace = *subspace, s->force = *force;

    s->settings = *settings;
    s->now = s->states, s->before = s->states + 1, s->next = s->states + 2;
    su_status status = su_kernel_set_find(&set, err);
    if (status == SU_OK) status = allocate(s, err);
    if (status == SU_OK)
        s->system.kernels = &set->step;
    else
        su_stepper_free(s);
    return status;
}

void su_stepper_add_contact(su_stepper *s, const su_contact *contact) { s->contact[s->contacts++] = *contact; }

void su_stepper_free(su_stepper *s)
{
    for (int k = 0; k < s->contacts; k++) s->contact[k].release(s->contact[k].self);
    if (s->force.self) s->force.release(s->force.self);
    if (s->subspace.self) s->subspace.release(s->subspace.self);
    su_arena_free(&s->arena);
    memset(s, 0, sizeof *s);
}

/* ---- states ---- */

static void keep_contacts(su_stepper *s, const void *instant, const su_state *state)
{
    for (int k = 0; k < s->contacts; k++) s->contact[k].keep(s->contact[k].self, instant, &s->subspace, state);
}

static void prepare_contacts(su_stepper *s, const void *instant, double h)
{
    s->near_any = 0;
    for (int k = 0; k < s->contacts; k++) {
        s->near[k] = s->contact[k].prepare(s->contact[k].self, instant, &s->subspace, s->now, h, s->system.load);
        s->near_any += s->near[k];
    }
}

/* Largest displacement of a point from the rest shape, over the flesh's diagonal. */
static double farthest(const su_stepper *s, const su_state *state)
{
    return sqrt(su_step_largest_square(s, state, NULL)) / s->subspace.diagonal;
}

/* The step to s->next is done; its displacements are there. */
static void accept(su_stepper *s, const void *instant, double h)
{
    s->subspace.keep(s->subspace.self, instant, s->next->q, s->next->subspace);
    keep_contacts(s, instant, s->next);
    s->next->h = h;
    su_state *oldest = s->before;
    s->before = s->now, s->now = s->next, s->next = oldest;
}

/* ---- steps ---- */

/* Solves of a step that a kept factor does not settle. */
enum { ANEW = 2 };

static su_step_end solve(su_stepper *s, const void *instant, double mass, double damping)
{
    int most = s->settings.newton > 0 ? s->settings.newton : ANEW;
    s->iterations = 0;
    if (s->settings.newton == 0 && su_step_solve_kept(s, instant, mass, damping) == SU_STEP_OK) return SU_STEP_OK;
    su_step_end end = su_step_first_solve(s, instant, mass, 1 + damping);
    return end == SU_STEP_OK && most > 1 ? su_step_iterate(s, instant, mass, damping, most) : end;
}

su_step_end su_stepper_advance(su_stepper *s, const void *instant, double h, const su_gravity *gravity, double extra)
{
    const su_subspace *subspace = &s->subspace;
    const su_step_settings *settings = &s->settings;
    const su_history history = {s->now, s->before, h, settings->alpha + extra, gravity, settings->inertia};
    double mass = 1 / (h * h) + history.alpha / h, damping = settings->beta / h, leap = NAN;
    subspace->history(subspace->self, instant, &history, s->system.load);
    prepare_contacts(s, instant, h);
    s->force.prepare(s->force.self, instant, subspace, s->now, settings->inertia == SU_INERTIA_CONSISTENT);
    su_step_end end = solve(s, instant, mass, damping);
    if (end == SU_STEP_OK) end = su_step_check(s, instant, mass, damping, &leap);
    if (end != SU_STEP_OK) return end;
    if (!su_step_all_finite(subspace->r, s->next->q)) return SU_STEP_NOT_FINITE;
    double limit = SU_LEAP * subspace->diagonal;
    if (!(leap <= limit * limit) || !(farthest(s, s->next) <= SU_REACH)) return SU_STEP_TOO_FAR;
    accept(s, instant, h);
    return SU_STEP_OK;
}

/* q with U1 q nearest, in the mass norm, to the present displacement turned along: (U1'MU1) q = U1'MU0 q0. */
static void carry_over(su_stepper *s, const void *instant, double *q)
{
    const su_subspace *subspace = &s->subspace;
    su_step_system *y = &s->system;
    size_t bytes = (size_t)subspace->lead * sizeof(double);
    memcpy(y->trial, s->now->q, bytes);
    if (s->settings.inertia == SU_INERTIA_CONSISTENT) {
        subspace->carried_mass(subspace->self, instant, s->now, y->held);
        y->kept = false;
        subspace->mass(subspace->self, instant, 1, y->A);
        if (y->kernels->cholesky(subspace->size, subspace->lead, y->A, y->inverse)) {
            y->kernels->solve(subspace->size, subspace->lead, y->A, y->inverse, y->held);
            memcpy(y->trial, y->held, bytes);
        }
    }
    memcpy(q, y->trial, bytes);
    for (int64_t k = subspace->r; k < subspace->lead; k++) q[k] = 0;
}

void su_stepper_jump(su_stepper *s, const void *instant, const void *next, double h)
{
    carry_over(s, instant, s->next->q);
    su_stepper_start(s, instant, s->next->q, NULL, next, h);
}

void su_stepper_follow(su_stepper *s, const void *instant, double h)
{
    carry_over(s, instant, s->next->q);
    for (int64_t k = 0; k < s->subspace.r; k++) s->next->q[k] *= 0.5;
    su_step_displace(s, instant, s->next);
    accept(s, instant, h);
}

/* The state's q is set: all else of it, at an instant that is not stepped to. */
static void set_state(su_stepper *s, const void *instant, su_state *state)
{
    s->subspace.keep(s->subspace.self, instant, state->q, state->subspace);
    su_step_displace(s, instant, state);
}

void su_stepper_start(su_stepper *s, const void *instant, const double *q, const double *q_before, const void *next,
                      double h)
{
    const su_subspace *subspace = &s->subspace;
    size_t size = (size_t)subspace->r * sizeof *q;
    s->system.kept = false; /* what follows does not hang on what came before */
    if (q)
        memmove(s->next->q, q, size);
    else
        memset(s->next->q, 0, size);
    if (q_before)
        memmove(s->before->q, q_before, size);
    else
        memcpy(s->before->q, s->next->q, size);
    memcpy(s->now->q, s->next->q, size);
    for (int k = 0; k < 2; k++) {
        su_state *state = k ? s->before : s->now;
        for (int64_t i = subspace->r; i < subspace->lead; i++) state->q[i] = 0;
        set_state(s, instant, state);
        state->h = h;
    }
    keep_contacts(s, instant, s->now);
    if (next) subspace->start_moving(subspace->self, instant, next, s->before->subspace);
}

su_step_end su_stepper_settle(su_stepper *s, const void *instant, const su_gravity *gravity)
{
    enum { SOLVES = 200 };       /* most, linear ones */
    const double at_rest = 1e-9; /* relative residual, where the settings' own is none or that of a step */
    const su_history still = {s->now, s->before, 0, 0, gravity, s->settings.inertia};
    size_t bytes = (size_t)s->subspace.lead * sizeof(double);
    s->subspace.history(s->subspace.self, instant, &still, s->system.load);
    prepare_contacts(s, instant, 0);
    memcpy(s->next->q, s->now->q, bytes);
    s->iterations = 0;
    double tolerance = s->settings.tolerance;
    if (!(tolerance > 0) || s->settings.newton == 0) s->settings.tolerance = at_rest;
    su_step_end end = su_step_iterate(s, instant, 0, 0, SOLVES);
    s->settings.tolerance = tolerance;
    if (end != SU_STEP_OK) return end;
    if (!su_step_all_finite(s->subspace.r, s->next->q)) return SU_STEP_NOT_FINITE;
    for (int k = 0; k < 2; k++) {
        su_state *state = k ? s->before : s->now;
        memcpy(state->q, s->next->q, bytes);
        set_state(s, instant, state);
    }
    return SU_STEP_OK;
}

void su_stepper_energy(su_stepper *s, const void *instant, const su_gravity *gravity)
{
    const su_history history = {s->now, s->before, s->now->h, 0, gravity, s->settings.inertia};
    const su_force_at at = {.q = s->now->q, .from = s->now->q};
    s->subspace.energy(s->subspace.self, instant, &history, &s->kinetic, &s->weight);
    s->elastic = s->force.energy(s->force.self, instant, &at);
}
