#include "skin/equilibrium.h"

#include "core/memory.h"
#include "geometry/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HALVINGS = 2 };        /* of a step where contacts are found anew at each length */
enum { HALVINGS_KEPT = 20 };  /* where energy is convex: a few do */
enum { ENOUGH_MEETINGS = 8 }; /* on an arm bent to 150 degrees what they move falls by half each time until then */
/* Contacts have not settled where those met then hold more energy than before by so much. */
static const double DEEPER = 2;
enum { ANEW_MEETINGS = 3 }; /* what came out before is forgotten: the start may be far, and its ways wrong */
/* Between meetings steps end where one moves so much of what the first did: they converge faster than linearly, those
 * of `surface` do not. */
static const double INNER = 1e-3;
/* No contact came or went along a step whose energy fell as a quadratic one would, but for so much: a plane that opens
 * or closes on the way changes it by more. */
static const double QUADRATIC = 0.01;
/* What a solve that ended at a share of its first error leaves to go at one vertex, over that share of the way that it
 * went: the share is of the whole. With 8 the solvers agree as well as without (an arm of 26 k tets, to 1e-7 of its
 * diagonal where steps end there), with 4 to 2e-6. */
static const double UNEVEN = 8;

/* At least so much of each way is gone. */
static const double LEAST_RELAXED = 0.1;

/* What springs resist sideways over what they resist along their normal, in the matrix alone. SP's springs pull to
 * their targets in all directions (1); with none, pairs slide from triangle to triangle and steps are three times as
 * many on an arm bent to 150 degrees. Once pairs stand it only holds sliding up, and falls by so much a step. */
static const double SIDEWAYS = 0.5, SIDEWAYS_FALL = 0.25, SIDEWAYS_LEAST = 0.005;

typedef struct state {
    const su_ex_rotated *body;
    su_pose_solver *solver;
    const su_skin_contacts *contacts;
    bool keeps;                     /* contacts are met and kept */
    double *x, *trial;              /* (n,3) */
    double *force, *total, *d, *Kd; /* (count,3): elastic force, with contacts, step */
    double *met;                    /* (count,3): where contacts were met last */
    double *way;                    /* (count,3): the way that led on from where they were met before */
    double relaxation;              /* of that way; 0: none yet */
    su_arena arena;
} state;

static bool take(state *s)
{
    double **vectors[] = {&s->force, &s->total, &s->d, &s->Kd, &s->met, &s->way};
    bool good = (s->trial = su_arena_alloc(&s->arena, 3 * s->body->n, sizeof(double))) != NULL;
    for (int k = 0; k < 6; k++)
        good = (*vectors[k] = su_arena_alloc(&s->arena, 3 * s->body->count, sizeof(double))) && good;
    return good;
}

/* Number i of the free vertices' (count,3) out of x (n,3). */
static double at_free(const state *s, const double *x, int64_t i)
{
    return x[3 * (int64_t)s->body->vertex[i / 3] + i % 3];
}

/* to = x + step d */
static void move(const state *s, const double *x, double step, double *to)
{
    if (to != x) memcpy(to, x, (size_t)(3 * s->body->n) * sizeof *to);
    for (int64_t k = 0; k < s->body->count; k++)
        for (int c = 0; c < 3; c++) to[3 * (int64_t)s->body->vertex[k] + c] += step * s->d[3 * k + c];
}

/* The step is taken: x and the elastic force, which is affine. */
static void take_step(state *s, double step)
{
    move(s, s->x, step, s->x);
    for (int64_t i = 0; i < 3 * s->body->count; i++) s->force[i] -= step * s->Kd[i];
}

static su_status find(const state *s, const double *x, su_pose_solve *solve, double *energy, su_error *err)
{
    *energy = 0;
    solve->springs = 0;
    if (!s->contacts) return SU_OK;
    solve->springs = s->contacts->find(s->contacts->context, x, &solve->spring, energy);
    return solve->springs < 0 ? su_fail(err, SU_AGAIN, "no memory for contacts") : SU_OK;
}

/* Contacts may send flesh to and fro: it goes so much of each way that the last two ways would have ended, were their
 * difference all in one direction (Aitken's relaxation; Irons and Tuck 1969). */
static void relax(state *s)
{
    int64_t size = 3 * s->body->count;
    double along = 0, square = 0;
    for (int64_t i = 0; i < size; i++) {
        double last = s->way[i];
        s->way[i] = at_free(s, s->x, i) - s->met[i];
        double change = s->way[i] - last;
        along += last * change, square += change * change;
    }
    double factor = s->relaxation > 0 && along < 0 ? -s->relaxation * along / square : 1; /* ways grow: all of them */
    s->relaxation = fmax(LEAST_RELAXED, fmin(factor, 1));
    if (s->relaxation == 1) return;
    for (int64_t i = 0; i < size; i++) s->d[i] = (s->relaxation - 1) * s->way[i];
    su_pose_solver_multiply(s->solver, s->d, s->Kd);
    take_step(s, 1);
}

/* The contacts at x, met for the n-th time. */
static su_status meet(state *s, int n, su_pose_solve *solve, double *energy, su_error *err)
{
    const bool anew = n <= ANEW_MEETINGS;
    if (s->keeps) {
        if (!anew) relax(s);
        for (int64_t i = 0; i < 3 * s->body->count; i++) s->met[i] = at_free(s, s->x, i);
        SU_TRY(s->contacts->meet(s->contacts->context, s->x, anew, err));
    }
    return find(s, s->x, solve, energy, err);
}

/* How a step was taken. */
typedef struct taken {
    double step;    /* of d */
    bool quadratic; /* whole, and energy fell as d foresaw */
} taken;

/* Half, half of that ... of the step while energy rises; contacts that appear where none were counted may make it rise
 * at any length, so the shortest is taken then: found anew, they stand in the next step's matrix. Leaves the contacts
 * there in *solve, their energy in *energy. */
static su_status search(state *s, su_pose_solve *solve, double *energy, taken *out, int *halvings, su_error *err)
{
    /* conjugate gradients from 0: d'(K + C) d = d'f wherever they end */
    double foreseen = -0.5 * su_dot(3 * s->body->count, s->total, s->d);
    double slope = su_dot(3 * s->body->count, s->force, s->d), curvature = su_dot(3 * s->body->count, s->d, s->Kd);
    double before = *energy;
    *out = (taken){.step = 1};
    for (int k = 0;; k++, out->step *= 0.5, ++*halvings) {
        move(s, s->x, out->step, s->trial);
        SU_TRY(find(s, s->trial, solve, energy, err));
        double change = -out->step * slope + 0.5 * out->step * out->step * curvature + *energy - before;
        out->quadratic = k == 0 && fabs(change - foreseen) <= QUADRATIC * fabs(foreseen);
        if (change <= 1e-9 * fabs(slope) || k == (s->keeps ? HALVINGS_KEPT : HALVINGS)) return SU_OK;
    }
}

/* d = x - rest over the free vertices, Kd = K d */
static void displace(state *s, const double *rest)
{
    for (int64_t i = 0; i < 3 * s->body->count; i++) s->d[i] = at_free(s, s->x, i) - at_free(s, rest, i);
    su_pose_solver_multiply(s->solver, s->d, s->Kd);
}

static void start_force(state *s, const double *R, const double *rest)
{
    if (!rest) {
        su_ex_rotated_force(s->body, R, s->x, s->force);
        return;
    }
    displace(s, rest);
    for (int64_t i = 0; i < 3 * s->body->count; i++) s->force[i] = -s->Kd[i];
}

static double energy_of_displacement(state *s, const double *rest)
{
    displace(s, rest);
    return 0.5 * su_dot(3 * s->body->count, s->d, s->Kd);
}

/* total = elastic force + those of the springs */
static void add_forces(state *s, const su_pose_solve *solve)
{
    memcpy(s->total, s->force, (size_t)(3 * s->body->count) * sizeof *s->total);
    for (int64_t i = 0; i < solve->springs; i++)
        for (int a = 0; a < 4; a++) {
            const su_spring *spring = solve->spring + i;
            int32_t f = spring->weight[a] != 0 ? s->body->number[spring->vertex[a]] : -1;
            for (int c = 0; c < 3 && f >= 0; c++) s->total[3 * (int64_t)f + c] += spring->weight[a] * spring->force[c];
        }
}

static su_status iterate(state *s, const su_equilibrium_settings *set, su_equilibrium_result *result, su_error *err)
{
    su_pose_solve solve = {.length = 0.25 * set->tolerance, .sideways = SIDEWAYS};
    double energy = 0;
    bool asked = set->near; /* solve holds the contacts at x */
    if (set->surface) {
        su_pose_solver_relax(s->solver, solve.length, s->force, s->d);
        su_pose_solver_multiply(s->solver, s->d, s->Kd);
        take_step(s, 1);
    }
    /* the rig's shape crosses itself: else what touches is asked where elasticity alone would have the flesh */
    s->keeps = s->contacts && s->contacts->meet;
    if (s->keeps) solve.sideways = 0; /* they stand */
    if (asked) SU_TRY(meet(s, 1, &solve, &energy, err));
    double since = 0; /* m, moved since contacts were met */
    int meetings = 1;
    for (int k = 0; k < set->most && !result->converged; k++) {
        double moved = 0;
        taken took = {.step = 1};
        int64_t pressed = solve.springs;
        solve.relative = solve.springs > 0 || set->surface ? set->inexact : 0;
        add_forces(s, &solve);
        SU_TRY(su_pose_solver_solve(s->solver, &solve, s->total, s->d, err));
        su_pose_solver_multiply(s->solver, s->d, s->Kd);
        if (asked) SU_TRY(search(s, &solve, &energy, &took, &result->halvings, err));
        take_step(s, took.step);
        for (int64_t i = 0; i < 3 * s->body->count; i++) moved = fmax(moved, fabs(took.step * s->d[i]));
        if (!isfinite(moved)) return su_fail(err, SU_NUMERICS, "the equilibrium diverged");
        /* contacts that are kept are met first where elasticity has the flesh, which takes `surface` many steps */
        bool ask = !asked && (!s->keeps || !set->surface || moved <= set->tolerance);
        if (ask) SU_TRY(meet(s, 1, &solve, &energy, err));
        result->springs = solve.springs, result->moved = moved;
        result->steps++, since = fmax(since, moved);
        bool linear = pressed == 0 && solve.springs == 0 && !set->surface; /* solved, and nothing touches */
        bool newton = s->keeps && !set->surface;                           /* on one convex energy */
        double left = newton && took.quadratic ? fmin(UNEVEN * solve.relative, 1) * moved : moved; /* to go */
        bool stands = left <= fmax(set->tolerance, newton ? INNER * since : 0);
        if (s->keeps && asked && (stands || linear)) {
            result->converged = since <= set->tolerance;
            if (!result->converged) {
                double before = energy;
                bool settled = meetings >= ENOUGH_MEETINGS && since <= set->settled;
                SU_TRY(meet(s, ++meetings, &solve, &energy, err));
                result->converged = (linear && solve.springs == 0) || (settled && energy <= DEEPER * before);
                result->springs = solve.springs;
                since = 0;
            }
        } else {
            result->converged = linear || (stands && !s->keeps);
        }
        if (!s->keeps)
            solve.sideways = solve.springs != pressed || took.step < 1 ? SIDEWAYS : SIDEWAYS_FALL * solve.sideways;
        if (solve.sideways < SIDEWAYS_LEAST) solve.sideways = 0;
        if (ask) since = 0;
        asked = asked || ask;
    }
    return SU_OK;
}

su_status su_equilibrium_find(su_pose_solver *solver, const su_ex_rotated *body, const double *R,
                              const su_skin_contacts *contacts, const su_equilibrium_settings *settings, double *x,
                              su_equilibrium_result *result, su_error *err)
{
    state s = {.body = body, .solver = solver, .contacts = contacts};
    su_status status = SU_OK;
    *result = (su_equilibrium_result){0};
    s.x = su_arena_alloc(&s.arena, 3 * body->n, sizeof(double));
    if (!s.x || !take(&s)) {
        status = su_fail(err, SU_AGAIN, "no memory for %lld flesh vertices", (long long)body->n);
        goto done;
    }
    memcpy(s.x, x, (size_t)(3 * body->n) * sizeof *x);
    start_force(&s, R, settings->rest);
    SU_GO(iterate(&s, settings, result, err));
    memcpy(x, s.x, (size_t)(3 * body->n) * sizeof *x);
    result->elastic = settings->rest ? energy_of_displacement(&s, settings->rest) : su_ex_rotated_energy(body, R, x);
done:
    su_arena_free(&s.arena);
    return status;
}
