#include "runtime/skinning/skinning_step.h"

#include "geometry/mat3.h"
#include "geometry/secant_pairs.h"
#include "geometry/vector.h"
#include "runtime/forces/load_contact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times a step of the line search is halved, and the share of the promised descent that it must keep. */
enum { HALVINGS = 20 };
#define DESCENT 1e-4
/* Shares of the largest entry of the diagonal that is added to it, the next where there is still no Cholesky factor:
 * modes may say the same twice. A is a first matrix only: what is minimized does not change by it. */
static const double ridges[] = {1e-11, 1e-8, 1e-5};
/* Of the stiffness in a static search, where nothing has mass: only a first matrix. */
#define STATIC_MASS 1e-6
enum { STATIC_ITERATIONS = 2000 };
#define STATIC_TOLERANCE 1e-8
/* Least size of Z against which a change of it is small, in diagonals of the flesh. */
#define LEAST_MOTION 1e-5

/* A^-1 of a step length, kept: whole steps, halves and damped ones take turns. */
typedef struct inverse {
    double mass, stiff; /* A = mass + stiff L */
    double *B;          /* (stride,stride); unused where mass and stiff are 0 */
} inverse;
enum { INVERSES = 4 };

struct su_skinning_stepper {
    const su_skinning_model *model;
    su_skinning_settings settings;
    su_skinning_state now;
    su_contact contact;
    su_subspace subspace; /* what load points ask of one */
    su_loads loads;
    int32_t *point;  /* (points,4): which of the carriers */
    double *carrier; /* (4 points,K) phi of the vertices that carry load points */
    int64_t near, lead;
    inverse inverses[INVERSES];
    int newest;
    /* the step's problem: minimize z.Qz/2 - b.z + stiff E_c(N + z'A) (+ contact), Q = mass + stiff remainder */
    double mass, stiff;
    double *b;       /* (3,stride) */
    double first;    /* mass of the first matrix, A = first + stiff L */
    const double *B; /* A^-1 */
    bool factored;   /* the contacts' stiffness is in the first matrix, too */
    const double *N; /* (panels,9,8) borrowed */
    /* an iterate */
    double *z, *Qz, *g, *F, *R, *S; /* (3,stride) three times, lanes */
    double energy;
    double *d, *Qd, *dF, *trial, *trial_R, *last_g; /* the search */
    su_secant_pairs pairs;                          /* of (3,stride) */
    double *lanes, *column, *square;                /* scratch; square (stride,stride) */
    double *flat, *flat_g, *flat_A, *flat_inverse;  /* entries by rows of Z, and the full matrix, where contacts are */
    su_arena arena;
};

static int64_t width(const su_skinning_stepper *s) { return 3 * s->model->stride; }
static size_t bytes(const su_skinning_stepper *s) { return (size_t)width(s) * sizeof(double); }
static size_t lane_bytes(const su_skinning_stepper *s)
{
    return (size_t)(SU_CLUSTER_MATRICES * s->model->panels) * sizeof(double);
}

/* ---- frames ---- */

/* to = R from or, back, R' from, of vectors that stand in three columns; to is not from. */
static void turn(int64_t stride, const double R[9], bool back, const double *from, double *to)
{
    for (int i = 0; i < 3; i++) {
        double a = back ? R[i] : R[3 * i], b = back ? R[3 + i] : R[3 * i + 1], c = back ? R[6 + i] : R[3 * i + 2];
        for (int64_t k = 0; k < stride; k++)
            to[i * stride + k] = a * from[k] + b * from[stride + k] + c * from[2 * stride + k];
    }
}

/* to = T from or T' from, cluster by cluster. */
static void turn_lanes(int64_t panels, const double *T, bool back, const double *from, double *to)
{
    for (int64_t p = 0; p < panels; p++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                for (int lane = 0; lane < 8; lane++) {
                    int64_t at = SU_CLUSTER_MATRICES * p + lane;
                    double sum = 0;
                    for (int k = 0; k < 3; k++)
                        sum += T[at + 8 * (back ? 3 * k + i : 3 * i + k)] * from[at + 8 * (3 * k + j)];
                    to[at + 8 * (3 * i + j)] = sum;
                }
}

/* Momentum of the rig's own shape at an instant, world. */
static void rig_momentum(const su_skinning_stepper *s, const su_skinning_instant *at, double *out)
{
    const su_skinning_model *m = s->model;
    turn(m->stride, at->Q, false, at->rig, out);
    for (int i = 0; i < 3; i++)
        for (int64_t k = 0; k < m->K; k++) out[i * m->stride + k] += m->weight[k] * at->c[i];
}

/* ---- the problem ---- */

/* Stress (V P, J) of clusters at F with their rotations R; returns the energy. */
static double respond(const su_skinning_model *m, const double *F, const double *R, double *S)
{
    if (m->material == SU_COROTATIONAL) return m->kernels->corotational(m->panels, m->vmu, m->vlambda, F, R, S);
    double energy = 0;
    for (int64_t c = 0; c < 8 * m->panels; c++) {
        double f[9], p[9];
        int64_t at = su_strain_at(c);
        for (int a = 0; a < 9; a++) f[a] = F[at + 8 * a];
        memset(p, 0, sizeof p);
        if (m->vmu[c] > 0) {
            energy += su_material_energy(m->material, m->vmu[c], m->vlambda[c], f);
            su_material_stress(m->material, m->vmu[c], m->vlambda[c], f, p);
        }
        for (int a = 0; a < 9; a++) S[at + 8 * a] = p[a];
    }
    return energy;
}

static double respond_at(const su_skinning_model *m, const double *F, double *R, double *S)
{
    if (m->material == SU_COROTATIONAL) su_skinning_rotations(m, F, R);
    return respond(m, F, R, S);
}

/* Entries of Z by rows, as load points have them, and back. */
static void flatten(const su_skinning_model *m, const double *Z, double *q)
{
    for (int64_t k = 0; k < m->K; k++)
        for (int i = 0; i < 3; i++) q[3 * k + i] = Z[i * m->stride + k];
}

static void add_flat(const su_skinning_model *m, double factor, const double *q, double *Z)
{
    for (int64_t k = 0; k < m->K; k++)
        for (int i = 0; i < 3; i++) Z[i * m->stride + k] += factor * q[3 * k + i];
}

/* Energy of near contacts at Z; their gradient is added to g, their stiffness to A; either may be NULL. */
static double contact_energy(su_skinning_stepper *s, const double *Z, double *g, double *A)
{
    if (s->near == 0) return 0;
    memset(s->flat_g, 0, (size_t)s->lead * sizeof *s->flat_g);
    flatten(s->model, Z, s->flat);
    double energy = s->contact.evaluate(s->contact.self, s->flat, s->flat_g, A);
    if (g) add_flat(s->model, 1, s->flat_g, g);
    return energy;
}

/* A^-1 for A = mass + stiff L. */
static const double *inverse_of(su_skinning_stepper *s, double mass, double stiff)
{
    const su_skinning_model *m = s->model;
    int64_t n = m->stride;
    for (int k = 0; k < INVERSES; k++)
        if (s->inverses[k].mass == mass && s->inverses[k].stiff == stiff) return s->inverses[k].B;
    s->newest = (s->newest + 1) % INVERSES;
    inverse *to = s->inverses + s->newest;
    to->mass = mass, to->stiff = stiff;
    double *A = s->square, largest = 0, *diagonal = s->column;
    for (int64_t i = 0; i < m->K; i++) largest = fmax(largest, mass + stiff * m->stiffness[i * n + i]);
    for (size_t ridge = 0; ridge < sizeof ridges / sizeof *ridges; ridge++) {
        for (int64_t i = 0; i < n * n; i++) A[i] = stiff * m->stiffness[i];
        for (int64_t i = 0; i < n; i++) A[i * n + i] += i < m->K ? mass + ridges[ridge] * largest : 1;
        if (m->linear->cholesky(n, n, A, diagonal)) break;
    }
    for (int64_t i = 0; i < n; i++) {
        double *row = to->B + i * n;
        memset(row, 0, (size_t)n * sizeof *row);
        if (i >= m->K) continue;
        row[i] = 1;
        m->linear->solve(n, n, A, diagonal, row);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            to->B[i * n + j] = to->B[j * n + i] = 0.5 * (to->B[i * n + j] + to->B[j * n + i]);
    return to->B;
}

/* x = A^-1 of the problem times y: with the contacts' stiffness at the iterate where there are any. */
static void first_matrix(su_skinning_stepper *s, const double *y, double *x)
{
    const su_skinning_model *m = s->model;
    if (!s->factored) {
        m->kernels->triple(m->stride, s->B, y, x);
        return;
    }
    memset(s->flat, 0, (size_t)s->lead * sizeof *s->flat);
    flatten(m, y, s->flat);
    m->linear->solve(s->lead, s->lead, s->flat_A, s->flat_inverse, s->flat);
    memset(x, 0, bytes(s));
    add_flat(m, 1, s->flat, x);
}

/* The first matrix with the contacts' stiffness at the iterate, factored; where it has no factor it goes without. */
static void factor_contacts(su_skinning_stepper *s)
{
    const su_skinning_model *m = s->model;
    int64_t r = 3 * m->K;
    memset(s->flat_A, 0, (size_t)(s->lead * s->lead) * sizeof *s->flat_A);
    contact_energy(s, s->z, NULL, s->flat_A);
    for (int64_t i = 0; i < m->K; i++)
        for (int64_t j = i; j < m->K; j++)
            for (int c = 0; c < 3; c++)
                s->flat_A[(3 * i + c) * s->lead + 3 * j + c] +=
                    (i == j ? s->first : 0) + s->stiff * m->stiffness[i * m->stride + j];
    for (int64_t i = r; i < s->lead; i++) s->flat_A[i * s->lead + i] = 1;
    s->factored = m->linear->cholesky(s->lead, s->lead, s->flat_A, s->flat_inverse);
}

/* ---- the search ---- */

/* out = Q x */
static void quadratic(const su_skinning_stepper *s, const double *x, double *out)
{
    const su_skinning_model *m = s->model;
    m->kernels->triple(m->stride, m->remainder, x, out);
    for (int64_t k = 0; k < width(s); k++) out[k] = s->mass * x[k] + s->stiff * out[k];
}

/* All of the iterate z: F, R, stress, gradient, energy. */
static void evaluate_iterate(su_skinning_stepper *s)
{
    const su_skinning_model *m = s->model;
    quadratic(s, s->z, s->Qz);
    m->kernels->gradients(m->panels, m->K, m->stride, m->A, s->z, s->N, s->F);
    s->energy = s->stiff * respond_at(m, s->F, s->R, s->S);
    for (int64_t k = 0; k < width(s); k++) s->energy += (0.5 * s->Qz[k] - s->b[k]) * s->z[k];
    s->energy += contact_energy(s, s->z, NULL, NULL);
}

static void take_gradient(su_skinning_stepper *s)
{
    const su_skinning_model *m = s->model;
    m->kernels->gather(m->panels, m->K, m->stride, m->A, s->S, s->g);
    for (int64_t k = 0; k < width(s); k++) s->g[k] = s->stiff * s->g[k] + s->Qz[k] - s->b[k];
    contact_energy(s, s->z, s->g, NULL);
}

/* d = -H g with the inverse H of the quasi-Newton method. */
static void find_direction(su_skinning_stepper *s)
{
    memcpy(s->trial, s->g, bytes(s));
    su_secant_pairs_before(&s->pairs, s->trial);
    first_matrix(s, s->trial, s->d);
    su_secant_pairs_after(&s->pairs, s->d);
    for (int64_t j = 0; j < width(s); j++) s->d[j] = -s->d[j];
}

/* Takes z along d as far as the energy falls. Local-global steps of ARAP need no search. */
static double search(su_skinning_stepper *s, bool sure)
{
    const su_skinning_model *m = s->model;
    int64_t n = width(s);
    quadratic(s, s->d, s->Qd);
    m->kernels->gradients(m->panels, m->K, m->stride, m->A, s->d, NULL, s->dF);
    double slope = su_dot(n, s->g, s->d), linear = 0, square = 0, energy = s->energy, step = 1, base = s->energy;
    for (int64_t k = 0; k < n; k++) linear += (s->Qz[k] - s->b[k]) * s->d[k], square += s->d[k] * s->Qd[k];
    double rest = 0; /* the part of the energy that is not the clusters' and contacts' */
    for (int64_t k = 0; k < n; k++) rest += (0.5 * s->Qz[k] - s->b[k]) * s->z[k];
    for (int halved = 0;; halved++, step *= 0.5) {
        for (int64_t k = 0; k < SU_CLUSTER_MATRICES * m->panels; k++) s->lanes[k] = s->F[k] + step * s->dF[k];
        memcpy(s->trial_R, s->R, lane_bytes(s));
        energy = s->stiff * respond_at(m, s->lanes, s->trial_R, s->S) + rest + step * (linear + 0.5 * step * square);
        if (s->near > 0) {
            for (int64_t k = 0; k < n; k++) s->trial[k] = s->z[k] + step * s->d[k];
            energy += contact_energy(s, s->trial, NULL, NULL);
        }
        if ((sure && isfinite(energy)) || energy <= base + DESCENT * step * slope) break;
        if (halved == HALVINGS) return 0;
    }
    for (int64_t k = 0; k < n; k++) s->z[k] += step * s->d[k], s->Qz[k] += step * s->Qd[k];
    memcpy(s->F, s->lanes, lane_bytes(s));
    memcpy(s->R, s->trial_R, lane_bytes(s));
    s->energy = energy;
    return step;
}

/* Minimizes from z; the number of iterations, or -1 where something is not finite. *ended: to the tolerance. */
static int minimize(su_skinning_stepper *s, int most, double tolerance, bool *ended)
{
    const su_skinning_model *m = s->model;
    double least = LEAST_MOTION * m->diagonal * sqrt(m->total_mass);
    su_secant_pairs_forget(&s->pairs);
    *ended = false;
    evaluate_iterate(s);
    if (!isfinite(s->energy)) return -1;
    s->factored = false;
    if (s->near > 0) factor_contacts(s);
    take_gradient(s);
    int done = 0;
    while (done < most) {
        if (s->settings.plain) su_secant_pairs_forget(&s->pairs);
        find_direction(s);
        if (!(su_dot(width(s), s->g, s->d) < 0)) { /* the pairs led astray, or nothing is left to gain */
            if (s->pairs.count == 0) {
                *ended = true;
                break;
            }
            su_secant_pairs_forget(&s->pairs);
            continue;
        }
        bool sure = m->arap && s->near == 0 && s->pairs.count == 0;
        memcpy(s->last_g, s->g, bytes(s));
        double step = search(s, sure), moved;
        done++;
        if (step == 0) {
            if (s->pairs.count == 0) {
                *ended = true; /* rounding */
                break;
            }
            su_secant_pairs_forget(&s->pairs);
            continue;
        }
        take_gradient(s);
        if (!isfinite(s->energy)) return -1;
        su_secant_pairs_add(&s->pairs, step, s->d, s->last_g, s->g);
        if (tolerance <= 0) continue;
        moved = step * su_norm(width(s), s->d);
        if (moved <= tolerance * fmax(su_norm(width(s), s->z), least)) {
            *ended = true;
            break;
        }
    }
    return done;
}

/* ---- steps ---- */

/* b += what gravity exerts, root frame. */
static void add_gravity(su_skinning_stepper *s, const su_skinning_instant *at, const su_gravity *gravity)
{
    const su_skinning_model *m = s->model;
    for (int i = 0; i < 3; i++)
        for (int64_t k = 0; k < m->K; k++)
            s->b[i * m->stride + k] += gravity->acts[i] * m->weight[k] - at->carried[i * m->stride + k];
}

/* What load points feel at the present displacement. h = 0: static. */
static void prepare_contacts(su_skinning_stepper *s, const su_skinning_instant *at, double h)
{
    s->near = 0;
    if (!s->contact.self) return;
    su_state now = {.q = NULL, .subspace = s->z};
    memset(s->flat_g, 0, (size_t)s->lead * sizeof *s->flat_g);
    s->near = s->contact.prepare(s->contact.self, at, &s->subspace, &now, h, s->flat_g);
    add_flat(s->model, -1, s->flat_g, s->b);
}

/* The problem of an instant, its loads still missing; first: mass of the first matrix. */
static void pose_problem(su_skinning_stepper *s, const su_skinning_instant *at, double mass, double first, double stiff)
{
    s->mass = mass, s->first = first, s->stiff = stiff, s->N = at->N;
    s->B = inverse_of(s, first, stiff);
    turn_lanes(s->model->panels, at->turn, false, s->now.rotation, s->R);
    memset(s->b, 0, bytes(s));
}

/* The state at an instant out of the iterate: history, stress for damping, rotations. */
static void keep(su_skinning_stepper *s, const su_skinning_instant *at, double h)
{
    const su_skinning_model *m = s->model;
    su_skinning_state *now = &s->now;
    double *swap = now->older;
    now->older = now->momentum, now->momentum = swap;
    swap = now->before, now->before = now->Z, now->Z = swap;
    turn(m->stride, at->Q, false, s->z, now->Z);
    rig_momentum(s, at, now->momentum);
    for (int64_t k = 0; k < width(s); k++) now->momentum[k] += now->Z[k];
    turn_lanes(m->panels, at->turn, true, s->R, now->rotation);
    if (s->settings.beta > 0) {
        respond(m, s->F, s->R, s->S);
        if (m->neutral_rest) { /* over the stress that the rig itself makes */
            respond(m, at->N, at->turn, s->lanes);
            for (int64_t k = 0; k < SU_CLUSTER_MATRICES * m->panels; k++) s->S[k] -= s->lanes[k];
        }
        turn_lanes(m->panels, at->turn, true, s->S, now->stress);
    }
    memcpy(now->Q, at->Q, sizeof now->Q);
    now->h = h;
    if (s->contact.self) {
        su_state reached = {.q = NULL, .subspace = s->z};
        s->contact.keep(s->contact.self, at, &s->subspace, &reached);
    }
}

bool su_skinning_advance(su_skinning_stepper *s, const su_skinning_instant *at, double h, const su_gravity *gravity,
                         double extra, int *iterations)
{
    const su_skinning_model *m = s->model;
    const su_skinning_settings *set = &s->settings;
    su_skinning_state *now = &s->now;
    int64_t n = width(s);
    double alpha = set->alpha + extra, ratio = set->beta / h, mass = 1 / (h * h) + alpha / h;
    double stiff = set->stiffness * (1 + ratio), step = now->h > 0 ? h / now->h : 0;
    pose_problem(s, at, mass, mass, stiff);
    turn(m->stride, at->Q, true, now->Z, s->z);
    /* inertia: where the flesh would go, less where the rig is */
    for (int64_t k = 0; k < n; k++) s->g[k] = now->momentum[k] + step * (now->momentum[k] - now->older[k]);
    for (int i = 0; i < 3; i++)
        for (int64_t k = 0; k < m->K; k++) s->g[i * m->stride + k] -= m->weight[k] * at->c[i];
    turn(m->stride, at->Q, true, s->g, s->trial);
    for (int64_t k = 0; k < n; k++) s->b[k] = (s->trial[k] - at->rig[k]) / (h * h) - set->stiffness * at->strain[k];
    for (int64_t k = 0; k < n; k++) s->b[k] += alpha / h * s->z[k];
    if (ratio > 0) { /* the elastic forces of before, turned along */
        turn_lanes(m->panels, at->turn, false, now->stress, s->S);
        if (m->neutral_rest) {
            respond(m, at->N, at->turn, s->lanes);
            for (int64_t k = 0; k < SU_CLUSTER_MATRICES * m->panels; k++) s->S[k] += s->lanes[k];
        }
        m->kernels->gather(m->panels, m->K, m->stride, m->A, s->S, s->g);
        m->kernels->triple(m->stride, m->remainder, s->z, s->column);
        for (int64_t k = 0; k < n; k++) s->b[k] += set->stiffness * ratio * (s->g[k] + s->column[k]);
    }
    add_gravity(s, at, gravity);
    prepare_contacts(s, at, h);
    bool ended;
    *iterations = minimize(s, set->iterations, set->tolerance, &ended);
    if (*iterations < 0) {
        *iterations = 0;
        return false;
    }
    keep(s, at, h);
    return true;
}

/* The iterate of the present Z at an instant, for `keep`. */
static void place(su_skinning_stepper *s, const su_skinning_instant *at)
{
    const su_skinning_model *m = s->model;
    turn(m->stride, at->Q, true, s->now.Z, s->z);
    turn_lanes(m->panels, at->turn, false, s->now.rotation, s->R);
    m->kernels->gradients(m->panels, m->K, m->stride, m->A, s->z, at->N, s->F);
    if (m->material == SU_COROTATIONAL) su_skinning_rotations(m, s->F, s->R);
}

void su_skinning_rest(su_skinning_stepper *s, const su_skinning_instant *at)
{
    memset(s->now.Z, 0, bytes(s));
    memset(s->now.before, 0, bytes(s));
    for (int64_t c = 0; c < 8 * s->model->panels; c++)
        for (int a = 0; a < 9; a++) s->now.rotation[su_strain_at(c) + 8 * a] = a % 4 == 0;
    place(s, at);
    keep(s, at, 0);
    memcpy(s->now.older, s->now.momentum, bytes(s));
}

bool su_skinning_settle(su_skinning_stepper *s, const su_skinning_instant *at, const su_gravity *gravity)
{
    const su_skinning_model *m = s->model;
    double stiff = s->settings.stiffness, largest = 0;
    bool ended;
    for (int64_t i = 0; i < m->K; i++) largest = fmax(largest, m->stiffness[i * (m->stride + 1)]);
    pose_problem(s, at, 0, STATIC_MASS * stiff * largest, stiff);
    turn(m->stride, at->Q, true, s->now.Z, s->z);
    for (int64_t k = 0; k < width(s); k++) s->b[k] = -s->settings.stiffness * at->strain[k];
    add_gravity(s, at, gravity);
    prepare_contacts(s, at, 0);
    int done = minimize(s, STATIC_ITERATIONS, STATIC_TOLERANCE, &ended);
    if (done < 0 || !ended) return false;
    keep(s, at, 0);
    memcpy(s->now.older, s->now.momentum, bytes(s));
    return true;
}

void su_skinning_start(su_skinning_stepper *s, const su_skinning_instant *at, const su_skinning_instant *next, bool ran,
                       double h)
{
    su_skinning_state *now = &s->now;
    double *rig = s->g, *then = s->trial;
    rig_momentum(s, at, rig);
    if (!ran) memcpy(now->older, now->momentum, bytes(s));
    if (next) { /* y_-1 = 2 X0 - X1 + Q u, and what the flesh did against the rig before */
        rig_momentum(s, next, then);
        for (int64_t k = 0; k < width(s); k++) now->older[k] += rig[k] - then[k];
    }
    now->h = h;
}

/* factor times the displacement, turned with the root from where it was to an instant. */
static void turn_along(su_skinning_stepper *s, const su_skinning_instant *at, double factor)
{
    double R[9];
    su_mult33(at->Q, s->now.Q, R); /* Q1 Q0' */
    turn(s->model->stride, R, false, s->now.Z, s->trial);
    for (int64_t k = 0; k < width(s); k++) s->now.Z[k] = factor * s->trial[k];
}

void su_skinning_jump(su_skinning_stepper *s, const su_skinning_instant *at, const su_skinning_instant *next, double h)
{
    turn_along(s, at, 1);
    place(s, at);
    keep(s, at, h);
    su_skinning_start(s, at, next, false, h);
}

void su_skinning_follow(su_skinning_stepper *s, const su_skinning_instant *at, double h)
{
    turn_along(s, at, 0.5);
    place(s, at);
    keep(s, at, h);
}

/* ---- results ---- */

void su_skinning_coordinates(const su_skinning_stepper *s, double *q, double *qdot)
{
    const su_skinning_model *m = s->model;
    turn(m->stride, s->now.Q, true, s->now.Z, s->trial);
    su_skinning_to_file(m, s->trial, q);
    if (!qdot) return;
    for (int64_t k = 0; k < width(s); k++)
        s->column[k] = s->now.h > 0 ? (s->now.Z[k] - s->now.before[k]) / s->now.h : 0;
    turn(m->stride, s->now.Q, true, s->column, s->trial);
    su_skinning_to_file(m, s->trial, qdot);
}

void su_skinning_energy(su_skinning_stepper *s, const su_skinning_instant *at, const su_gravity *gravity,
                        double energy[3])
{
    const su_skinning_model *m = s->model;
    int64_t n = width(s);
    double kinetic = 0, elastic, rest = 0;
    place(s, at);
    elastic = respond(m, s->F, s->R, s->S);
    if (m->neutral_rest) rest = respond(m, at->N, at->turn, s->S);
    m->kernels->triple(m->stride, m->remainder, s->z, s->column);
    elastic += 0.5 * su_dot(n, s->z, s->column) + su_dot(n, s->z, at->strain) - rest;
    if (s->now.h > 0) { /* its own and that of the coupling with the rig: V . dZ - |dZ|^2 / 2 */
        double *rate = s->d;
        for (int64_t k = 0; k < n; k++) rate[k] = (s->now.Z[k] - s->now.before[k]) / s->now.h;
        for (int64_t k = 0; k < n; k++)
            kinetic += ((s->now.momentum[k] - s->now.older[k]) / s->now.h - 0.5 * rate[k]) * rate[k];
    }
    memset(s->b, 0, bytes(s));
    add_gravity(s, at, gravity);
    energy[0] = kinetic;
    energy[1] = s->settings.stiffness * elastic;
    energy[2] = -su_dot(n, s->b, s->z);
}

/* ---- forces from outside ---- */

static void instant_frame(const void *instant, double Q[9], double c[3])
{
    const su_skinning_instant *at = instant;
    memcpy(Q, at->Q, sizeof at->Q);
    memcpy(c, at->c, sizeof at->c);
}

/* The parts of a subspace that load points ask for; a state's share is Z in the root frame, by columns. */
static void add_force(void *self, const void *instant, int count, const int32_t *points, const double *share,
                      const double f[3], double *out)
{
    const su_skinning_stepper *s = self;
    (void)instant;
    for (int at = 0; at < count; at++) {
        const double *phi = s->carrier + points[at] * s->model->stride;
        for (int64_t k = 0; k < s->model->K; k++)
            for (int i = 0; i < 3; i++) out[3 * k + i] += share[at] * phi[k] * f[i];
    }
}

static void add_displacement(void *self, const void *instant, const double *state, int64_t point, double factor,
                             double u[3])
{
    const su_skinning_stepper *s = self;
    const double *phi = s->carrier + point * s->model->stride;
    (void)instant;
    for (int i = 0; i < 3; i++) u[i] += factor * su_dot(s->model->K, phi, state + i * s->model->stride);
}

static su_status take_loads(su_skinning_stepper *s, const su_external *external, su_error *err)
{
    const su_skinning_model *m = s->model;
    const su_model *source = m->source;
    int64_t points = external->points;
    SU_TRY(su_loads_create(external, source->embed_tet, source->embed_bary, source->tets, &s->loads, err));
    double *row;
    SU_TRY(SU_TAKE_ALL(&s->arena, "the contact points", err, SU_WANT(s->point, 4 * points), SU_WANT(row, m->rows),
                       SU_WANT(s->carrier, 4 * points * m->stride), SU_WANT(s->flat_A, s->lead * s->lead)));

    for (int64_t k = 0; k < 4 * points; k++) {
        s->point[k] = (int32_t)k;
        su_skinning_row(source, &m->frame, s->loads.corner[k], row);
        su_skinning_transform(m, 1, row, s->carrier + k * m->stride);
    }
    su_subspace parts = {.self = s,
                         .r = 3 * m->K,
                         .size = s->lead,
                         .lead = s->lead,
                         .diagonal = m->diagonal,
                         .add_force = add_force,
                         .add_displacement = add_displacement};
    s->subspace = parts;
    return su_load_contact_create(&s->loads, s->point, &s->subspace, instant_frame, &s->contact, err);
}

void su_skinning_set_damping(su_skinning_stepper *s, double beta) { s->settings.beta = beta; }
void su_skinning_set_stiffness(su_skinning_stepper *s, double stiffness) { s->settings.stiffness = stiffness; }

su_loads *su_skinning_loads(su_skinning_stepper *s) { return s->contact.self ? &s->loads : NULL; }

/* ---- creation ---- */

su_status su_skinning_stepper_create(const su_skinning_model *model, const su_skinning_settings *settings,
                                     const su_external *external, su_skinning_stepper **out, su_error *err)
{
    su_status status;
    su_skinning_stepper *s = NULL;
    int64_t n = model->stride, w = 3 * n, lanes = SU_CLUSTER_MATRICES * model->panels;
    SU_GO(SU_ALLOC(&s, 1, "step", err));
    s->model = model, s->settings = *settings, s->lead = su_padded(3 * model->K);
    double **columns[] = {&s->now.Z, &s->now.before, &s->now.momentum, &s->now.older, &s->b,      &s->z,     &s->Qz,
                          &s->g,     &s->d,          &s->Qd,           &s->trial,     &s->last_g, &s->column};
    double **clusters[] = {&s->now.stress, &s->now.rotation, &s->F, &s->R, &s->S, &s->dF, &s->trial_R, &s->lanes};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        *columns[k] = su_arena_alloc(&s->arena, w, sizeof(double));
    for (size_t k = 0; k < sizeof clusters / sizeof *clusters; k++)
        *clusters[k] = su_arena_alloc(&s->arena, lanes, sizeof(double));
    SU_GO(su_secant_pairs_take(&s->pairs, &s->arena, SU_SECANT_PAIRS, w, err));
    for (int k = 0; k < INVERSES; k++) s->inverses[k].B = su_arena_alloc(&s->arena, n * n, sizeof(double));
    SU_GO(SU_TAKE_ALL(&s->arena, "the steps", err, SU_WANT(s->square, n * n), SU_WANT(s->flat, s->lead),
                      SU_WANT(s->flat_g, s->lead), SU_WANT(s->flat_inverse, s->lead)));
    if (s->arena.failed) SU_GO(su_fail(err, SU_AGAIN, "not enough memory for the steps"));
    if (external && external->points > 0) SU_GO(take_loads(s, external, err));
    *out = s;
    s = NULL;
done:
    su_skinning_stepper_free(s);
    return status;
}

void su_skinning_stepper_free(su_skinning_stepper *s)
{
    if (!s) return;
    if (s->contact.self) s->contact.release(s->contact.self);
    su_loads_free(&s->loads);
    su_arena_free(&s->arena);
    free(s);
}

/* ---- the state as numbers ---- */

static int64_t walk(const su_skinning_stepper *s, double *out, const double *in)
{
    const su_skinning_state *now = &s->now;
    const su_external *external = s->contact.self ? s->loads.external : NULL;
    double *parts[] = {now->Z,      now->before,   now->momentum,    now->older,
                       now->stress, now->rotation, (double *)now->Q, external ? s->loads.now : NULL};
    int64_t w = width(s), lanes = SU_CLUSTER_MATRICES * s->model->panels, total = 0;
    int64_t count[] = {w, w, w, w, lanes, lanes, 9, external ? 3 * external->points : 0};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        size_t size = (size_t)count[k] * sizeof(double);
        if (out && size) memcpy(out + total, parts[k], size);
        if (in && size) memcpy(parts[k], in + total, size);
        total += count[k];
    }
    return total;
}

int64_t su_skinning_state_size(const su_skinning_stepper *s) { return walk(s, NULL, NULL) + 1; }

void su_skinning_get_state(const su_skinning_stepper *s, double *out) { out[walk(s, out, NULL)] = s->now.h; }

void su_skinning_set_state(su_skinning_stepper *s, const double *in) { s->now.h = in[walk(s, NULL, in)]; }
