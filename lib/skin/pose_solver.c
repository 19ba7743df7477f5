#include "skin/pose_solver.h"

#include "core/memory.h"
#include "core/threads.h"
#include "geometry/mat3.h"
#include "geometry/vector.h"
#include "linalg/cholesky.h"
#include "linalg/cholesky_half.h"
#include "linalg/single_blocks.h"
#include "skin/incomplete.h"
#include "skin/boundary_response.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2000, RITZ = 32, SAFER = 6 };

/* What the largest eigenvalue may lie above its estimate, and by how much less is tried where that was not enough. */
static const double ESTIMATE_SLACK = 1.03, SAFER_SHARE = 0.85;

struct su_skin_factors {
    const su_ex_rotated *body;
    su_skin_method method;
    su_incomplete *all, *interior, *boundary; /* of K(0), K_ii(0), K_b(0) */
    su_cholesky_half *full;                   /* of K(0) */
};

struct su_pose_solver {
    const su_skin_factors *of;
    const su_ex_rotated *body;
    su_blocks K;
    su_single_blocks single; /* K, for products */
    su_sparse lower;         /* direct: K as its factor wants it */
    int64_t *source;
    su_cholesky *factor;
    su_arena arena;
    double *Q;                  /* (count,9) of the free vertices */
    float *turns;               /* (count,9) the same in the order of the factors that there are, boundary first */
    double *r, *z, *p, *Ap;     /* (count,3) of conjugate gradients */
    double *w, *y;              /* (count,3) of preconditioners and operators */
    float *work;                /* of what solves with the factors */
    const su_pose_solve *solve; /* the one under way */
    bool failed;                /* a factor's solve did */
    double share;               /* of Q (L_i L_i')^-1 Q' in K~_b, so that it stays below K_ii^-1 */
    double ritz[2][RITZ];       /* the tridiagonal matrix of the last iteration: diagonal, squares beside it */
    int ritz_count;
    su_pose_counts counts;
};

/* ---- what all poses share ---- */

static su_status full_factor(const su_blocks *K, su_cholesky_half **out, su_error *err)
{
    su_sparse lower = {0};
    su_cholesky *factor = NULL;
    su_status status;
    SU_GO(su_blocks_lower(K, NULL, K->rows, &lower, NULL, err));
    SU_GO(su_cholesky_create(&lower, 1, &factor, err));
    SU_GO(su_cholesky_factorize(factor, &lower, err));
    SU_GO(su_cholesky_half_create(factor, out, err));
done:
    su_cholesky_free(factor);
    su_sparse_free(&lower);
    return status;
}

su_status su_skin_factors_create(const su_ex_rotated *body, su_skin_method method, int rings, int threads,
                                 su_skin_factors **out, su_error *err)
{
    su_skin_factors *f = NULL;
    su_blocks K = {0}, response = {0};
    double *identity = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&f, 1, "factors", err));
    f->body = body, f->method = method;
    if (method != SU_SKIN_DIRECT) {
        SU_GO(su_blocks_clone(&body->pattern, &K, err));
        SU_GO(SU_ALLOC(&identity, 9 * body->t, "rotations", err));
        for (int64_t k = 0; k < 9 * body->t; k++) identity[k] = k % 9 % 4 == 0;
        su_ex_rotated_stiffness(body, identity, &K);
    }
    if (method == SU_SKIN_VOLUME) SU_GO(su_incomplete_create(&K, 0, body->count, &f->all, err));
    if (method == SU_SKIN_KEPT) SU_GO(full_factor(&K, &f->full, err));
    if (method == SU_SKIN_SURFACE || method == SU_SKIN_COUPLED) {
        SU_GO(su_incomplete_create(&K, body->outer, body->count, &f->interior, err));
        SU_GO(su_boundary_response_create(body, &K, rings, threads, &response, err));
        SU_GO(su_incomplete_create(&response, 0, body->outer, &f->boundary, err));
    }
    *out = f;
    f = NULL;
done:
    su_skin_factors_free(f);
    su_blocks_free(&K);
    su_blocks_free(&response);
    free(identity);
    return status;
}

void su_skin_factors_free(su_skin_factors *f)
{
    if (!f) return;
    su_incomplete_free(f->all);
    su_incomplete_free(f->interior);
    su_incomplete_free(f->boundary);
    su_cholesky_half_free(f->full);
    free(f);
}

/* ---- preconditioners: z = B r over the vertices they act on ---- */

typedef void operation(su_pose_solver *s, const double *in, double *out);

static void by_incomplete(su_pose_solver *s, const double *r, double *z)
{
    su_incomplete_solve(s->of->all, s->turns, r, z, s->work);
}

static void by_full_factor(su_pose_solver *s, const double *r, double *z)
{
    for (int64_t k = 0; k < s->body->count; k++) su_tmulv3(s->Q + 9 * k, r + 3 * k, z + 3 * k);
    su_cholesky_half_solve(s->of->full, 1, z, z, s->work);
    for (int64_t k = 0; k < s->body->count; k++) su_mulv3(s->Q + 9 * k, z + 3 * k, z + 3 * k);
}

static void by_factor(su_pose_solver *s, const double *r, double *z)
{
    if (su_cholesky_solve(s->factor, 1, r, z, NULL) != SU_OK) s->failed = true;
}

/* of the interior: r, z point to its first vertex */
static void by_interior(su_pose_solver *s, const double *r, double *z)
{
    su_incomplete_solve(s->of->interior, s->turns + 9 * s->body->outer, r, z, s->work);
}

static void by_boundary(su_pose_solver *s, const double *r, double *z)
{
    su_incomplete_solve(s->of->boundary, s->turns, r, z, s->work);
}

/* Block elimination with both factors: symmetric, and exact were they. */
static void by_both(su_pose_solver *s, const double *r, double *z)
{
    int64_t outer = s->body->outer, count = s->body->count;
    by_interior(s, r + 3 * outer, s->w + 3 * outer);
    memcpy(s->w, r, (size_t)(3 * outer) * sizeof *r);
    su_single_blocks_add_product(&s->single, 0, outer, outer, count, -1, s->w, s->w);
    by_boundary(s, s->w, z);
    memset(s->y, 0, (size_t)(3 * count) * sizeof *s->y);
    su_single_blocks_add_product(&s->single, outer, count, 0, outer, 1, z, s->y);
    by_interior(s, s->y + 3 * outer, z + 3 * outer);
    for (int64_t k = 3 * outer; k < 3 * count; k++) z[k] = s->w[k] - z[k];
}

/* ---- operators ---- */

/* y += C x */
static void add_springs(const su_pose_solver *s, const double *x, double *y)
{
    for (int64_t k = 0; k < s->solve->springs; k++) {
        const su_spring *spring = s->solve->spring + k;
        double at[3] = {0, 0, 0}, force[3];
        for (int i = 0; i < 4; i++) {
            int32_t f = spring->weight[i] != 0 ? s->body->number[spring->vertex[i]] : -1;
            for (int c = 0; c < 3 && f >= 0; c++) at[c] += spring->weight[i] * x[3 * (int64_t)f + c];
        }
        su_mulv3(spring->H, at, force);
        for (int c = 0; c < 3 && spring->stiffness > 0; c++)
            force[c] += s->solve->sideways * (spring->stiffness * at[c] - force[c]);
        for (int i = 0; i < 4; i++) {
            int32_t f = spring->weight[i] != 0 ? s->body->number[spring->vertex[i]] : -1;
            for (int c = 0; c < 3 && f >= 0; c++) y[3 * (int64_t)f + c] += spring->weight[i] * force[c];
        }
    }
}

static void whole(su_pose_solver *s, const double *x, double *y)
{
    su_pose_solver_multiply(s, x, y);
    add_springs(s, x, y);
}

/* K_ii; vectors from the first interior vertex on */
static void inner(su_pose_solver *s, const double *x, double *y)
{
    int64_t outer = s->body->outer, count = s->body->count;
    memset(y, 0, (size_t)(3 * (count - outer)) * sizeof *y);
    su_single_blocks_add_product(&s->single, outer, count, outer, count, 1, x - 3 * outer, y - 3 * outer);
}

/* K_bb - share K_bi Q (L_i L_i')^-1 Q' K_ib + C (SP section 6.1, where the share is 1) */
static void response(su_pose_solver *s, const double *x, double *y)
{
    int64_t outer = s->body->outer, count = s->body->count;
    memset(y, 0, (size_t)(3 * outer) * sizeof *y);
    memset(s->w, 0, (size_t)(3 * count) * sizeof *s->w);
    su_single_blocks_add_product(&s->single, outer, count, 0, outer, 1, x, s->w);
    by_interior(s, s->w + 3 * outer, s->w + 3 * outer);
    su_single_blocks_add_product(&s->single, 0, outer, 0, outer, 1, x, y);
    su_single_blocks_add_product(&s->single, 0, outer, outer, count, -s->share, s->w, y);
    add_springs(s, x, y);
}

/* ---- conjugate gradients ---- */

typedef struct system {
    operation *A, *B;
    int64_t size; /* numbers */
} system_of;

/* x = A^-1 b from x = 0; false where A is not positive along a direction. */
static bool iterate(su_pose_solver *s, system_of of, double length, double relative, int most, const double *b,
                    double *x, int64_t *iterations)
{
    double *r = s->r, *z = s->z, *p = s->p, *Ap = s->Ap;
    memcpy(r, b, (size_t)of.size * sizeof *b);
    memset(x, 0, (size_t)of.size * sizeof *x);
    of.B(s, r, z);
    memcpy(p, z, (size_t)of.size * sizeof *p);
    double error = su_dot(of.size, r, z), aim = relative * relative * error, last = 0, carried = 0;
    int quiet = 0;
    s->ritz_count = 0;
    for (int k = 0; k < (most > 0 ? most : MOST) && quiet < 2 && error > aim; k++) {
        of.A(s, p, Ap);
        double curvature = su_dot(of.size, p, Ap), step = error / curvature, moved = 0;
        if (!(curvature > 0)) return error == 0;
        for (int64_t i = 0; i < of.size; i++) {
            x[i] += step * p[i], r[i] -= step * Ap[i];
            moved = fmax(moved, fabs(p[i]));
        }
        of.B(s, r, z);
        double next = su_dot(of.size, r, z), share = next / error;
        for (int64_t i = 0; i < of.size; i++) p[i] = z[i] + share * p[i];
        if (s->ritz_count < RITZ) {
            s->ritz[0][s->ritz_count] = 1 / step + carried;
            s->ritz[1][s->ritz_count++] = last;
            last = share / (step * step), carried = share / step;
        }
        error = next;
        quiet = step * moved <= length ? quiet + 1 : 0;
        ++*iterations;
    }
    return true;
}

/* The largest eigenvalue of B A as the last iteration saw it (Lanczos): bisection by Sturm's count. */
static double largest_ritz(const su_pose_solver *s)
{
    double low = 0, high = 0;
    for (int k = 0; k < s->ritz_count; k++) {
        double next = k + 1 < s->ritz_count ? sqrt(s->ritz[1][k + 1]) : 0;
        low = fmax(low, s->ritz[0][k]), high = fmax(high, s->ritz[0][k] + sqrt(s->ritz[1][k]) + next);
    }
    for (int pass = 0; pass < 30; pass++) {
        double middle = 0.5 * (low + high), pivot = 1;
        int below = 0;
        for (int k = 0; k < s->ritz_count; k++) {
            pivot = s->ritz[0][k] - middle - (k ? s->ritz[1][k] / pivot : 0);
            below += pivot < 0;
        }
        if (below == s->ritz_count)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* ---- a pose ---- */

su_status su_pose_solver_create(const su_skin_factors *factors, su_pose_solver **out, su_error *err)
{
    su_pose_solver *s = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "the solver", err));
    s->of = factors, s->body = factors->body;
    int64_t size = 3 * s->body->count;
    double **vectors[] = {&s->r, &s->z, &s->p, &s->Ap, &s->w, &s->y};
    bool good = (s->Q = su_arena_alloc(&s->arena, 3 * size, sizeof(double))) != NULL;
    for (int k = 0; k < 6; k++) good = (*vectors[k] = su_arena_alloc(&s->arena, size, sizeof(double))) && good;
    good = (s->turns = su_arena_alloc(&s->arena, 3 * size, sizeof(float))) && good;
    int64_t room = factors->full ? su_cholesky_half_room(factors->full, 1) : SU_INCOMPLETE_STRIDE * s->body->count;
    good = (s->work = su_arena_alloc(&s->arena, room, sizeof(float))) && good;
    SU_GO(good ? SU_OK : su_fail(err, SU_AGAIN, "no memory for %lld degrees of freedom", (long long)size));
    SU_GO(su_blocks_clone(&s->body->pattern, &s->K, err));
    SU_GO(su_single_blocks_create(&s->body->pattern, &s->single, err));
    if (factors->method == SU_SKIN_DIRECT) {
        SU_GO(su_blocks_lower(&s->K, NULL, s->K.rows, &s->lower, &s->source, err));
        SU_GO(su_cholesky_create(&s->lower, 1, &s->factor, err));
    }
    *out = s;
    s = NULL;
done:
    su_pose_solver_free(s);
    return status;
}

void su_pose_solver_free(su_pose_solver *s)
{
    if (!s) return;
    su_cholesky_free(s->factor);
    su_sparse_free(&s->lower);
    free(s->source);
    su_single_blocks_free(&s->single);
    su_blocks_free(&s->K);
    su_arena_free(&s->arena);
    free(s);
}

const su_pose_counts *su_pose_solver_counts(const su_pose_solver *s) { return &s->counts; }

void su_pose_solver_multiply(su_pose_solver *s, const double *x, double *y)
{
    int64_t count = s->body->count;
    memset(y, 0, (size_t)(3 * count) * sizeof *y);
    su_single_blocks_add_product(&s->single, 0, count, 0, count, 1, x, y);
}

su_status su_pose_solver_set(su_pose_solver *s, const double *R, const double *Q, su_error *err)
{
    double start = su_seconds();
    for (int64_t k = 0; k < s->body->count; k++)
        memcpy(s->Q + 9 * k, Q + 9 * (int64_t)s->body->vertex[k], 9 * sizeof *Q);
    const su_incomplete *factors[] = {s->of->all, s->of->boundary, s->of->interior};
    const int64_t first[] = {0, 0, 9 * s->body->outer};
    for (int k = 0; k < 3; k++)
        if (factors[k]) su_incomplete_order_turns(factors[k], s->Q + first[k], s->turns + first[k]);
    su_ex_rotated_stiffness(s->body, R, &s->K);
    su_single_blocks_set(&s->single, &s->K);
    s->counts.stiffness++, s->counts.stiffness_seconds += su_seconds() - start;
    if (s->of->method != SU_SKIN_DIRECT) return SU_OK;
    for (int64_t k = 0; k < s->lower.entries; k++) s->lower.value[k] = s->K.value[s->source[k]];
    su_status status = su_cholesky_factorize(s->factor, &s->lower, err);
    s->counts.factorizations++, s->counts.solve_seconds += su_seconds() - start;
    return status;
}

void su_pose_solver_relax(su_pose_solver *s, double length, const double *r, double *d)
{
    int64_t from = 3 * s->body->outer, size = 3 * s->body->count - from;
    double start = su_seconds();
    memset(d, 0, (size_t)from * sizeof *d);
    iterate(s, (system_of){inner, by_interior, size}, length, 0, 0, r + from, d + from, &s->counts.interior_iterations);
    s->share = s->ritz_count > 0 ? fmin(1, 1 / (ESTIMATE_SLACK * largest_ritz(s))) : 1;
    s->counts.interior_solves++, s->counts.interior_seconds += su_seconds() - start;
}

/* d_b by the boundary alone, then d_i in balance with it. */
static bool solve_boundary(su_pose_solver *s, const su_pose_solve *solve, const double *r, double *d)
{
    int64_t outer = s->body->outer, count = s->body->count, from = 3 * outer;
    double *right = s->y;
    bool good = false;
    for (int k = 0; k < SAFER && !good; k++) {
        good = iterate(s, (system_of){response, by_boundary, from}, solve->length, solve->relative, solve->most, r, d,
                       &s->counts.iterations);
        if (!good) s->share *= SAFER_SHARE;
    }
    double start = su_seconds();
    memcpy(right + from, r + from, (size_t)(3 * count - from) * sizeof *r);
    su_single_blocks_add_product(&s->single, outer, count, 0, outer, -1, d, right);
    iterate(s, (system_of){inner, by_interior, 3 * count - from}, solve->length, 0, 0, right + from, d + from,
            &s->counts.interior_iterations);
    double spent = su_seconds() - start;
    s->counts.interior_solves++, s->counts.interior_seconds += spent, s->counts.solve_seconds -= spent;
    return good;
}

su_status su_pose_solver_solve(su_pose_solver *s, const su_pose_solve *solve, const double *r, double *d, su_error *err)
{
    static operation *const preconditioners[] = {by_factor, by_incomplete, NULL, by_full_factor, by_both};
    double start = su_seconds();
    bool good = true;
    s->solve = solve, s->failed = false;
    if (s->of->method == SU_SKIN_SURFACE)
        good = solve_boundary(s, solve, r, d);
    else if (s->of->method == SU_SKIN_DIRECT && solve->springs == 0)
        by_factor(s, r, d);
    else
        good = iterate(s, (system_of){whole, preconditioners[s->of->method], 3 * s->body->count}, solve->length,
                       solve->relative, solve->most, r, d, &s->counts.iterations);
    s->counts.solves++, s->counts.solve_seconds += su_seconds() - start;
    if (s->failed || !good) return su_fail(err, SU_NUMERICS, "the stiffness of the pose is not positive");
    return SU_OK;
}
