#include "linalg/nnls.h"

#include "core/memory.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RIDGE 1e-12
#define TOLERANCE 1e-9
#define SHORTEST 1e-12 /* squared length over the longest one's, below which a column is left out */

/* The problem scaled to unit diagonal: columns that are nothing beside others are left out for good (usable = false).
 */
typedef struct problem {
    int64_t n;
    const double *G, *h;
    double *scale;  /* (n) 1 / sqrt(G_ii) */
    double *target; /* (n) scaled h */
    double largest; /* of |target| */
    bool *usable;
    double *factor;   /* (p,p) scratch */
    int64_t *list;    /* (n) passive variables */
    double *solution; /* (n) */
} problem;

static void problem_free(problem *p)
{
    free(p->scale), free(p->target), free(p->usable), free(p->factor), free(p->list), free(p->solution);
}

static su_status problem_create(problem *p, int64_t n, const double *G, const double *h, su_error *err)
{
    *p = (problem){.n = n, .G = G, .h = h};
    su_status status;
    SU_GO(SU_ALLOC(&p->scale, n, "non-negative least squares", err));
    SU_GO(SU_ALLOC(&p->target, n, "non-negative least squares", err));
    SU_GO(SU_ALLOC(&p->usable, n, "non-negative least squares", err));
    SU_GO(SU_ALLOC(&p->factor, n * n, "non-negative least squares", err));
    SU_GO(SU_ALLOC(&p->list, n, "non-negative least squares", err));
    SU_GO(SU_ALLOC(&p->solution, n, "non-negative least squares", err));
    double longest = 0;
    for (int64_t i = 0; i < n; i++) longest = fmax(longest, G[i * n + i]);
    for (int64_t i = 0; i < n; i++) {
        double d = G[i * n + i];
        if (!(d >= 0) || isinf(d) || !isfinite(h[i])) {
            status = su_fail(err, SU_NUMERICS, "non-negative least squares: column %lld is not finite", (long long)i);
            goto done;
        }
        p->usable[i] = d > SHORTEST * longest;
        p->scale[i] = p->usable[i] ? 1 / sqrt(d) : 0;
        p->target[i] = h[i] * p->scale[i];
        p->largest = fmax(p->largest, fabs(p->target[i]));
    }
done:
    if (status != SU_OK) problem_free(p);
    return status;
}

/* Unconstrained minimum over the passive set into solution[0..count). */
static su_status solve_passive(problem *p, int64_t count, su_error *err)
{
    int64_t n = p->n;
    if (count == 0) return SU_OK;
    for (double ridge = RIDGE; ridge < 1e-3; ridge *= 100) {
        for (int64_t i = 0; i < count; i++) {
            int64_t a = p->list[i];
            const double *row = p->G + a * n;
            for (int64_t j = 0; j < i; j++)
                p->factor[i * count + j] = row[p->list[j]] * p->scale[a] * p->scale[p->list[j]];
            p->factor[i * count + i] = 1 + ridge;
            p->solution[i] = p->target[a];
        }
        /* Row-major lower is column-major upper. */
        int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)count, p->factor, (int)count);
        if (info > 0) continue;
        if (info == 0 && LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', (int)count, 1, p->factor, (int)count, p->solution,
                                             (int)count) == 0)
            return SU_OK;
        break;
    }
    return su_fail(err, SU_NUMERICS, "non-negative least squares: the normal matrix is not positive semidefinite");
}

/* g = scaled gradient G x - h at the scaled x. */
static void gradient(const problem *p, const double *x, double *g)
{
    for (int64_t i = 0; i < p->n; i++) g[i] = x[i] * p->scale[i];
    double *y = p->solution; /* free between solves */
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)p->n, (int)p->n, 1.0, p->G, (int)p->n, g, 1, 0.0, y, 1);
    for (int64_t i = 0; i < p->n; i++) g[i] = y[i] * p->scale[i] - p->target[i];
}

static su_status set_passive(problem *p, const bool *passive, double *x, su_error *err)
{
    int64_t count = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (passive[i]) p->list[count++] = i;
    SU_TRY(solve_passive(p, count, err));
    memset(x, 0, (size_t)p->n * sizeof *x);
    for (int64_t i = 0; i < count; i++) x[p->list[i]] = p->solution[i];
    return SU_OK;
}

/* Kim and Park 2011, algorithm 1. *solved: false where it ran out of exchanges. */
static su_status block_pivoting(problem *p, bool *passive, double *x, double *g, bool *solved, su_error *err)
{
    double tolerance = TOLERANCE * p->largest;
    int64_t best = p->n + 1;
    int patience = 3;
    *solved = false;
    for (int turn = 0; turn < 100; turn++) {
        SU_TRY(set_passive(p, passive, x, err));
        gradient(p, x, g);
        int64_t wrong = 0, last = -1;
        for (int64_t i = 0; i < p->n; i++)
            if (p->usable[i] && (passive[i] ? x[i] < 0 : g[i] < -tolerance)) wrong++, last = i;
        if (wrong == 0) {
            *solved = true;
            return SU_OK;
        }
        bool single = false;
        if (wrong < best)
            best = wrong, patience = 3;
        else if (patience-- <= 0)
            single = true;
        for (int64_t i = single ? last : 0; i <= last; i++)
            if (p->usable[i] && (passive[i] ? x[i] < 0 : g[i] < -tolerance)) passive[i] = !passive[i];
    }
    return SU_OK;
}

/* Lawson and Hanson 1974, chapter 23, from the feasible point x. */
static su_status active_set(problem *p, bool *passive, double *x, double *g, double *trial, su_error *err)
{
    double tolerance = TOLERANCE * p->largest;
    for (int64_t i = 0; i < p->n; i++) passive[i] = x[i] > 0;
    for (int64_t turn = 0; turn < 10 * p->n + 100; turn++) {
        for (;;) {
            SU_TRY(set_passive(p, passive, trial, err));
            double step = 1;
            for (int64_t i = 0; i < p->n; i++)
                if (passive[i] && trial[i] <= 0 && x[i] - trial[i] > 0) step = fmin(step, x[i] / (x[i] - trial[i]));
            bool inside = true;
            for (int64_t i = 0; i < p->n; i++) {
                if (!passive[i]) continue;
                bool leaves = trial[i] <= 0 && x[i] <= step * (x[i] - trial[i]) * (1 + 1e-14);
                x[i] += step * (trial[i] - x[i]);
                if (leaves) x[i] = 0, passive[i] = inside = false;
            }
            if (inside) break;
        }
        gradient(p, x, g);
        int64_t enter = -1;
        for (int64_t i = 0; i < p->n; i++)
            if (p->usable[i] && !passive[i] && g[i] < -tolerance && (enter < 0 || g[i] < g[enter])) enter = i;
        if (enter < 0) return SU_OK;
        passive[enter] = true;
    }
    /* Only round-off at the tolerance can keep it going: x is feasible and optimal to working accuracy. */
    return SU_OK;
}

su_status su_nnls(int64_t n, const double *G, const double *h, double *x, su_error *err)
{
    problem p;
    su_status status;
    bool *passive = NULL, solved;
    double *g = NULL, *trial = NULL;
    SU_TRY(problem_create(&p, n, G, h, err));
    SU_GO(SU_ALLOC(&passive, n, "non-negative least squares", err));
    SU_GO(SU_ALLOC(&g, n, "non-negative least squares", err));
    SU_GO(SU_ALLOC(&trial, n, "non-negative least squares", err));
    for (int64_t i = 0; i < n; i++) passive[i] = p.usable[i] && x[i] > 0;
    SU_GO(block_pivoting(&p, passive, x, g, &solved, err));
    if (!solved) {
        for (int64_t i = 0; i < n; i++) x[i] = fmax(x[i], 0);
        SU_GO(active_set(&p, passive, x, g, trial, err));
    }
    for (int64_t i = 0; i < n; i++) x[i] = fmax(x[i], 0) * p.scale[i];
done:
    problem_free(&p);
    free(passive), free(g), free(trial);
    return status;
}
