/* Newton on phi. The first matrix is M/h^2 + alpha M/h + (1 + beta/h) K_d when the guess is u* itself, so that one
 * assembly serves damping and solve. Later matrices, and the first of a guess that is near, are exact where Cholesky
 * accepts them (quadratic convergence), else projected. A step is taken whole where it lowers the residual; only
 * otherwise phi decides how much of it. */
#include "fem/implicit.h"

#include "core/memory.h"
#include "fem/turned_solver.h"
#include "geometry/mat3.h"
#include "geometry/vector.h"
#include "linalg/cholesky.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Over the tolerance, what a descent that rounding has stopped may have left: forces of bodies a thousand times as
 * stiff as soft flesh are rounded by that much. */
#define ROUNDED 1e4

struct su_implicit {
    su_elastic *body;
    su_cholesky *factor; /* NULL before the first */
    su_cholesky_half *neutral;
    su_cholesky_half *recent;   /* the last system's that had to have one; NULL: none so far */
    double *recent_turn;        /* (n,4) R_v of its pose */
    su_turned_solver *turned;   /* with that factor; NULL: every system has its own */
    su_complement *complement;  /* borrowed; NULL: u is free */
    su_sparse_product *product; /* by K_d, and by what is solved */
    su_sparse damping;          /* K_d */
    su_sparse matrix;
    bool factored; /* `factor` is that of `matrix` */
    su_arena arena;
    double *y, *force, *pressing;                   /* (n,3): positions; elastic forces; those of contact */
    double *residual, *direction, *offset, *damped; /* (3 free) */
    double *u, *trial;                              /* (n,3) */
    int threads;
};

su_status su_implicit_create(su_elastic *body, int threads, su_implicit **out, su_error *err)
{
    su_status status = SU_OK;
    su_implicit *s = calloc(1, sizeof *s);
    if (!s) return su_fail(err, SU_AGAIN, "no memory for the solver");
    *out = NULL;
    s->body = body, s->threads = threads;
    int64_t dofs = 3 * body->free_count, n = body->n;
    double **full[] = {&s->y, &s->force, &s->pressing, &s->u, &s->trial};
    double **reduced[] = {&s->residual, &s->direction, &s->offset, &s->damped};
    bool good = (s->recent_turn = su_arena_alloc(&s->arena, 4 * n, sizeof(double))) != NULL;
    for (int i = 0; i < 5; i++) good = (*full[i] = su_arena_alloc(&s->arena, 3 * n, sizeof(double))) && good;
    for (int i = 0; i < 4; i++) good = (*reduced[i] = su_arena_alloc(&s->arena, dofs + 1, sizeof(double))) && good;
    SU_GO(good ? SU_OK : su_fail(err, SU_AGAIN, "no memory for %lld flesh vertices", (long long)n));
    SU_GO(su_sparse_product_create(&body->pattern, threads, &s->product, err));
    SU_GO(su_sparse_clone_pattern(&body->pattern, &s->damping, err));
    SU_GO(su_sparse_clone_pattern(&body->pattern, &s->matrix, err));
    *out = s;
done:
    if (status != SU_OK) su_implicit_free(s);
    return status;
}

void su_implicit_free(su_implicit *s)
{
    if (!s) return;
    su_cholesky_free(s->factor);
    su_turned_solver_free(s->turned), su_cholesky_half_free(s->neutral), su_cholesky_half_free(s->recent);
    su_sparse_product_free(s->product);
    su_sparse_free(&s->damping);
    su_sparse_free(&s->matrix);
    su_arena_free(&s->arena);
    free(s);
}

static void place(su_implicit *s, const su_implicit_step *step, const double *u)
{
    for (int64_t i = 0; i < 3 * s->body->n; i++) s->y[i] = step->rest[i] + u[i];
}

/* damped = K_d (u - u*); offset = u - u* */
static void damping_product(su_implicit *s, const su_implicit_step *step, const double *u)
{
    for (int64_t f = 0; f < s->body->free_count; f++)
        for (int c = 0; c < 3; c++) {
            int64_t v = 3 * (int64_t)s->body->free_vertex[f] + c;
            s->offset[3 * f + c] = u[v] - step->carried[v];
        }
    if (step->beta > 0.0) su_sparse_product_multiply(s->product, &s->damping, s->offset, s->damped);
}

/* ---- forces from outside ---- */

/* World position of load point k at displacement u (n,3). */
static void place_load(const su_loads *loads, int64_t k, const double *u, double y[3])
{
    double a[3] = {0};
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++) a[c] += loads->bary[4 * k + i] * u[3 * (int64_t)loads->corner[4 * k + i] + c];
    su_loads_place(loads, k, a, y);
}

/* residual -= A' f; returns |f|. */
static double subtract_loads(const su_implicit *s, const su_loads *loads, const double *u, double *residual)
{
    double size = 0.0;
    for (int64_t k = 0; loads && k < loads->external->points; k++) {
        double y[3], f[3];
        place_load(loads, k, u, y);
        su_loads_evaluate(loads, k, y, f, NULL);
        size += su_dot3(f, f);
        for (int i = 0; i < 4; i++) {
            int64_t at = s->body->free_index[loads->corner[4 * k + i]];
            for (int c = 0; c < 3 && at >= 0; c++) residual[3 * at + c] -= loads->bary[4 * k + i] * f[c];
        }
    }
    return sqrt(size);
}

static double loads_energy(const su_loads *loads, const double *u)
{
    double sum = 0.0;
    for (int64_t k = 0; loads && k < loads->external->points; k++) {
        double y[3], f[3];
        place_load(loads, k, u, y);
        sum += su_loads_evaluate(loads, k, y, f, NULL);
    }
    return sum;
}

static void add_entry(su_sparse *K, int64_t row, int64_t column, double value)
{
    int64_t low = K->start[column], high = K->start[column + 1] - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (K->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    K->value[low] += value; /* corners of one tet: the entry is there */
}

/* K += A' H A at s->u. */
static void add_load_matrix(su_implicit *s, const su_loads *loads)
{
    for (int64_t k = 0; loads && k < loads->external->points; k++) {
        double y[3], f[3], H[9], size = 0.0;
        place_load(loads, k, s->u, y);
        su_loads_evaluate(loads, k, y, f, H);
        for (int c = 0; c < 9; c++) size += H[c] * H[c];
        if (size == 0.0) continue;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                int64_t row = s->body->free_index[loads->corner[4 * k + i]],
                        column = s->body->free_index[loads->corner[4 * k + j]];
                double share = loads->bary[4 * k + i] * loads->bary[4 * k + j];
                for (int c = 0; c < 9 && row >= 0 && column >= 0; c++)
                    if (3 * row + c / 3 >= 3 * column + c % 3)
                        add_entry(&s->matrix, 3 * row + c / 3, 3 * column + c % 3, share * H[c]);
            }
    }
}

/* r = d phi / du at u into s->residual, with s->y, elastic forces and damping as they are there; returns the size of
 * the forces that balance in it. */
static double balance(su_implicit *s, const su_implicit_step *step, const double *u)
{
    const su_elastic *body = s->body;
    double h = step->h, elastic = 0.0, inertia = 0.0, gravity = 0.0, noise = 0.0, pressing = 0.0;
    memset(s->pressing, 0, (size_t)(3 * body->n) * sizeof *s->pressing);
    if (step->contact) pressing = su_self_contact_force(step->contact, s->y, s->pressing);
    for (int64_t f = 0; f < body->free_count; f++) {
        int64_t v = 3 * (int64_t)body->free_vertex[f];
        double mass = body->mass[body->free_vertex[f]];
        for (int c = 0; c < 3; c++) {
            double load = mass * step->gravity[v + c], internal = s->force[v + c] + s->pressing[v + c],
                   r = internal - load;
            elastic += internal * internal, gravity += load * load;
            if (h > 0.0) {
                double a = mass * (u[v + c] - step->inertial[v + c]) / (h * h);
                double at = mass * s->y[v + c] / (h * h);
                inertia += a * a, noise += at * at;
                r += a + step->alpha * mass * s->offset[3 * f + c] / h;
                if (step->beta > 0.0) r += step->beta * s->damped[3 * f + c] / h;
            }
            s->residual[3 * f + c] = r;
        }
    }
    double outside = subtract_loads(s, step->loads, u, s->residual);
    if (s->complement) su_complement_force(s->complement, s->residual);
    /* Positions carry rounding, and h^2 magnifies it: below that no residual can fall. */
    double floor = 16.0 * DBL_EPSILON * sqrt(noise) / step->tolerance;
    return fmax(sqrt(elastic) + sqrt(inertia) + sqrt(gravity) + outside + pressing, fmax(floor, DBL_MIN));
}

/* The same with all of them at u. */
static double evaluate_residual(su_implicit *s, const su_implicit_step *step, const double *u)
{
    place(s, step, u);
    su_elastic_force(s->body, s->y, s->force, s->threads);
    if (step->h > 0.0) damping_product(s, step, u);
    return balance(s, step, u);
}

static double evaluate_energy(su_implicit *s, const su_implicit_step *step, const double *u)
{
    const su_elastic *body = s->body;
    double h = step->h, phi = 0.0;
    place(s, step, u);
    if (h > 0.0) damping_product(s, step, u);
    for (int64_t f = 0; f < body->free_count; f++) {
        int64_t v = 3 * (int64_t)body->free_vertex[f];
        double mass = body->mass[body->free_vertex[f]];
        for (int c = 0; c < 3; c++) {
            phi -= mass * step->gravity[v + c] * u[v + c];
            if (h > 0.0) {
                double a = u[v + c] - step->inertial[v + c], d = s->offset[3 * f + c];
                phi += 0.5 * mass * (a * a / (h * h) + step->alpha * d * d / h);
                if (step->beta > 0.0) phi += 0.5 * step->beta * d * s->damped[3 * f + c] / h;
            }
        }
    }
    if (step->contact) phi += su_self_contact_energy(step->contact, s->y);
    return phi + loads_energy(step->loads, u) + su_elastic_energy(body, s->y, s->threads);
}

/* Adds mass and damping to the stiffness now in s->matrix. */
static void add_inertia(su_implicit *s, double h, double alpha, double beta)
{
    const su_elastic *body = s->body;
    if (h == 0.0) return;
    double share = beta / h;
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1 && beta > 0.0)
    for (int64_t e = 0; e < s->matrix.entries; e++) s->matrix.value[e] += share * s->damping.value[e];
    for (int64_t f = 0; f < body->free_count; f++) {
        double add = body->mass[body->free_vertex[f]] * (1.0 / (h * h) + alpha / h);
        for (int c = 0; c < 3; c++) s->matrix.value[s->matrix.start[3 * f + c]] += add; /* diagonal first */
    }
}

static su_status factorize(su_implicit *s, su_error *err)
{
    if (!s->factor) SU_TRY(su_cholesky_create(&s->body->pattern, s->threads, &s->factor, err));
    SU_TRY(su_cholesky_factorize(s->factor, &s->matrix, err));
    s->factored = true;
    return SU_OK;
}

su_status su_implicit_precondition(su_implicit *s, const double *y, double h, double alpha, double beta, su_error *err)
{
    su_turned_solver_free(s->turned), su_cholesky_half_free(s->neutral);
    s->turned = NULL, s->neutral = NULL;
    su_elastic_stiffness(s->body, y, true, &s->damping, s->threads);
    memcpy(s->matrix.value, s->damping.value, (size_t)s->matrix.entries * sizeof(double));
    add_inertia(s, h, alpha, beta);
    if (s->complement) SU_TRY(su_complement_tune(s->complement, &s->matrix, err));
    SU_TRY(factorize(s, err));
    SU_TRY(su_cholesky_half_create(s->factor, &s->neutral, err));
    SU_TRY(su_turned_solver_create(s->body, s->neutral, s->product, s->threads, &s->turned, err));
    su_turned_solver_constrain(s->turned, s->complement);
    return SU_OK;
}

void su_implicit_forget(su_implicit *s)
{
    if (s->turned) su_turned_solver_precondition(s->turned, s->neutral, NULL);
}

/* The factor that a system has just got, for those to come. */
static su_status keep_factor(su_implicit *s, const double *turn, su_error *err)
{
    if (!s->turned || s->complement) return SU_OK; /* the complement is tuned to the neutral one */
    if (s->recent)
        su_cholesky_half_copy(s->recent, s->factor);
    else
        SU_TRY(su_cholesky_half_create(s->factor, &s->recent, err));
    memcpy(s->recent_turn, turn, (size_t)(4 * s->body->n) * sizeof *turn);
    su_turned_solver_precondition(s->turned, s->recent, s->recent_turn);
    return SU_OK;
}

void su_implicit_constrain(su_implicit *s, su_complement *complement)
{
    s->complement = complement;
    if (s->turned) su_turned_solver_constrain(s->turned, complement);
}

void su_implicit_admit(su_implicit *s, double *u)
{
    if (!s->complement) return;
    for (int64_t f = 0; f < s->body->free_count; f++)
        memcpy(s->offset + 3 * f, u + 3 * (int64_t)s->body->free_vertex[f], 3 * sizeof *u);
    su_complement_displacement(s->complement, s->offset);
    memset(u, 0, (size_t)(3 * s->body->n) * sizeof *u);
    for (int64_t f = 0; f < s->body->free_count; f++)
        memcpy(u + 3 * (int64_t)s->body->free_vertex[f], s->offset + 3 * f, 3 * sizeof *u);
}

/* direction = A^-1 residual for the matrix now in s->matrix. SU_NUMERICS where that is not definite; exact: it may be
 * so, and what conjugate gradients find of that needs no factorization to confirm it. */
static su_status solve_linear(su_implicit *s, const su_implicit_step *step, bool exact, su_implicit_result *result,
                              su_error *err)
{
    enum { MOST = 40 };              /* iterations take as long as a factor and its solve */
    enum { MOST_CONSTRAINED = 100 }; /* and as a factor and the solves of su_complement_solve */
    enum { MOST_TOUCHING = 80 };     /* and as an analysis and a factor with the couplings of pairs */
    const su_sparse *A = &s->matrix;
    su_couplings pairs = {0};
    const su_couplings *beside = NULL;
    if (step->contact) SU_TRY(su_self_contact_couple(step->contact, s->y, !exact, &pairs, err));
    if (pairs.count > 0) beside = &pairs;
    if (s->turned && beside && !s->complement) {
        const su_coarse_column *columns;
        int64_t count = su_self_contact_stiff(step->contact, &columns);
        SU_TRY(su_turned_solver_stiffen(s->turned, A, beside, count, columns, err));
    }
    int most = s->complement ? MOST_CONSTRAINED : beside ? MOST_TOUCHING : MOST;
    if (s->turned &&
        su_turned_solver_solve(s->turned, A, beside, step->turn, SU_LINEAR_TOLERANCE, most, s->residual, s->direction))
        return SU_OK;
    if (exact && s->turned && su_turned_solver_indefinite(s->turned))
        return su_fail(err, SU_NUMERICS, "matrix not positive definite");
    su_cholesky *factor = s->factor;
    if (beside || !s->factored) result->factorizations++;
    if (!beside && !s->factored) {
        SU_TRY(factorize(s, err));
        SU_TRY(keep_factor(s, step->turn, err));
        factor = s->factor;
    } else if (beside) {
        if (!s->factor) SU_TRY(su_cholesky_create(&s->body->pattern, s->threads, &s->factor, err));
        SU_TRY(su_self_contact_factorize(step->contact, A, s->factor, &factor, err));
    }
    if (s->complement) return su_complement_solve(s->complement, A, beside, factor, s->residual, s->direction, err);
    return su_cholesky_solve(factor, 1, s->residual, s->direction, err);
}

typedef enum tangent { CARRIED, EXACT, PROJECTED, SAME } tangent;

/* s->matrix: that of the step at u with K_d, K exact or projected there, or as it is. */
static void assemble(su_implicit *s, const su_implicit_step *step, const double *u, tangent wanted)
{
    if (wanted == SAME) return;
    if (wanted == CARRIED) {
        memcpy(s->matrix.value, s->damping.value, (size_t)s->matrix.entries * sizeof(double));
    } else {
        place(s, step, u);
        su_elastic_stiffness(s->body, s->y, wanted == PROJECTED, &s->matrix, s->threads);
    }
    add_inertia(s, step->h, step->alpha, step->beta);
    add_load_matrix(s, step->loads);
    s->factored = false;
}

/* The direction of a Newton step at u. An exact matrix that is not definite is refused, and *wanted then is PROJECTED.
 */
static su_status find_direction(su_implicit *s, const su_implicit_step *step, const double *u, tangent *wanted,
                                su_implicit_result *result, su_error *err)
{
    assemble(s, step, u, *wanted);
    su_status status = solve_linear(s, step, *wanted == EXACT, result, err);
    if (*wanted != EXACT || status != SU_NUMERICS) return status;
    *wanted = PROJECTED;
    return find_direction(s, step, u, wanted, result, err);
}

static void move(const su_implicit *s, const double *u, double length, double *out)
{
    memcpy(out, u, (size_t)(3 * s->body->n) * sizeof *u);
    for (int64_t f = 0; f < s->body->free_count; f++)
        for (int c = 0; c < 3; c++) out[3 * (int64_t)s->body->free_vertex[f] + c] -= length * s->direction[3 * f + c];
}

/* Moves s->u along -direction. residual_norm: |r| at s->u in, at the new s->u out (its vector in s->residual).
 * False where no length lowers phi. */
static bool line_search(su_implicit *s, const su_implicit_step *step, double *residual_norm, double *scale,
                        double *taken)
{
    int64_t dofs = 3 * s->body->free_count;
    double slope = su_dot(dofs, s->residual, s->direction), phi = NAN;
    double length = 1.0;
    for (int halvings = 0; halvings < 24; halvings++, length *= 0.5) {
        move(s, s->u, length, s->trial);
        *taken = length;
        if (halvings == 0) {
            double size = evaluate_residual(s, step, s->trial), now = su_norm(dofs, s->residual);
            if (now < *residual_norm) {
                *residual_norm = now, *scale = fmax(*scale, size);
                memcpy(s->u, s->trial, (size_t)(3 * s->body->n) * sizeof(double));
                return true;
            }
            phi = evaluate_energy(s, step, s->u);
        }
        double there = evaluate_energy(s, step, s->trial);
        if (there <= phi - SU_SUFFICIENT_DESCENT * length * slope && there < phi) {
            double size = evaluate_residual(s, step, s->trial);
            *residual_norm = su_norm(dofs, s->residual), *scale = fmax(*scale, size);
            memcpy(s->u, s->trial, (size_t)(3 * s->body->n) * sizeof(double));
            return isfinite(*residual_norm);
        }
    }
    return false;
}

/* K_d, projected, at the state carried along. */
static void set_damping(su_implicit *s, const su_implicit_step *step)
{
    place(s, step, step->carried);
    su_elastic_stiffness(s->body, s->y, true, &s->damping, s->threads);
}

const su_sparse *su_implicit_residual(su_implicit *s, const su_implicit_step *step, const double *u, double *residual)
{
    set_damping(s, step);
    evaluate_residual(s, step, u);
    memset(residual, 0, (size_t)(3 * s->body->n) * sizeof *residual);
    for (int64_t f = 0; f < s->body->free_count; f++)
        memcpy(residual + 3 * (int64_t)s->body->free_vertex[f], s->residual + 3 * f, 3 * sizeof *residual);
    return &s->damping;
}

/* Of the tolerance, what a direction with the matrix of the one before has to leave by that one's rate. An assembly is
 * a quarter of a solve, and where the rate is not kept the solve was one too many: with all of the tolerance one in six
 * were, with so much one in thirteen. */
static const double SURELY = 0.7;

/* Where directions end before so much of their length, or solves are so many, contacts come and go and none stands. */
static const double LEAST_LENGTH = 0.25;
enum { MOST_RETARGETED = 15 };

/* The contacts at s->u: with new ones there is more to do, and no end. Where phi jumps, since the end of a way does,
 * the line search finds no descent: from then on ways stay for the rest of the step. */
static su_status meet(su_implicit *s, const su_implicit_step *step, bool halts, bool *frozen, bool *moved, double *now,
                      double *scale, su_error *err)
{
    int64_t met;
    bool freezes = halts && !*frozen;
    place(s, step, s->u);
    SU_TRY(su_self_contact_meet(step->contact, s->y, &met, err));
    if (freezes) su_self_contact_freeze(step->contact), *frozen = true;
    if (met == 0 && !freezes) return SU_OK;
    /* what the line search left is at s->u where that has moved */
    *scale = fmax(*scale, *moved ? balance(s, step, s->u) : evaluate_residual(s, step, s->u));
    *now = su_norm(3 * s->body->free_count, s->residual);
    *moved = true;
    return SU_OK;
}

su_status su_implicit_solve(su_implicit *s, const su_implicit_step *step, double *u, su_implicit_result *result,
                            su_error *err)
{
    int64_t dofs = 3 * s->body->free_count, n3 = 3 * s->body->n;
    *result = (su_implicit_result){0};
    if (dofs == 0) return SU_OK;
    memcpy(s->u, u, (size_t)n3 * sizeof *u);
    bool at_carried = step->h > 0.0 && memcmp(u, step->carried, (size_t)n3 * sizeof *u) == 0;
    bool need_damping = step->h > 0.0 && step->beta > 0.0;
    su_implicit_admit(s, s->u);
    if (need_damping || at_carried) set_damping(s, step);
    if (step->contact) {
        int64_t met;
        place(s, step, s->u);
        SU_TRY(su_self_contact_meet(step->contact, s->y, &met, err));
    }
    double scale = evaluate_residual(s, step, s->u), now = su_norm(dofs, s->residual);
    bool moved = true;
    bool frozen = false; /* contacts */
    double taken = 1;    /* of the last direction */
    double rate = 1;     /* what that left of the residual */
    int pause = 0;       /* solves until the exact tangent is tried again */
    for (;;) {
        if (step->contact && result->iterations > 0) {
            bool halts = !moved || taken < LEAST_LENGTH || result->iterations > MOST_RETARGETED;
            SU_TRY(meet(s, step, halts, &frozen, &moved, &now, &scale, err));
        }
        result->residual = now / scale;
        if (!isfinite(now)) return su_fail(err, SU_NUMERICS, "forces are not finite");
        if (now <= step->tolerance * scale && !(step->near && result->iterations == 0)) break;
        if (!moved) {
            /* Rounding of the forces stops the descent a little early in stiff bodies; that is no failure. */
            if (now <= ROUNDED * step->tolerance * scale) break;
            return su_fail(err, SU_NUMERICS, "Newton stalls at a residual of %.2g", now / scale);
        }
        if (result->iterations == step->max_iterations) {
            if (step->accept_unconverged) break;
            return su_fail(err, SU_NUMERICS, "Newton: residual %.2g after %d iterations", now / scale,
                           result->iterations);
        }
        bool first = result->iterations == 0, exact = (!first || step->near) && pause == 0;
        /* at the rate that the matrix had the next direction is the last */
        bool same = !first && taken == 1 && rate * now <= SURELY * step->tolerance * scale;
        tangent used = same ? SAME : first && at_carried ? CARRIED : exact ? EXACT : PROJECTED;
        if (pause > 0) pause--;
        SU_TRY(find_direction(s, step, s->u, &used, result, err));
        if (exact && used == PROJECTED) pause = 1;
        result->iterations++;
        rate = 1 / now;
        moved = line_search(s, step, &now, &scale, &taken);
        rate *= now;
    }
    memcpy(u, s->u, (size_t)n3 * sizeof *u);
    return SU_OK;
}
