#include "reduce/regions.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "linalg/cholesky.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All entries of a symmetric matrix by rows. */
typedef struct rows {
    int64_t *start;
    int32_t *column;
    double *value;
} rows;

static void rows_free(rows *r) { free(r->start), free(r->column), free(r->value); }

static int compare_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* L_ab = sum of V g_a . g_b, and lumped volumes. */
static su_status laplacian(int64_t n, const double *x, int64_t t, const int32_t *tets, rows *L, double *volume,
                           su_error *err)
{
    int64_t *fill = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&L->start, n + 2, "Laplacian", err));
    SU_GO(SU_ALLOC(&L->column, 16 * t, "Laplacian", err));
    SU_GO(SU_ALLOC(&fill, n + 1, "Laplacian", err));
    for (int64_t k = 0; k < 4 * t; k++) L->start[tets[k] + 1] += 4;
    for (int64_t v = 0; v < n; v++) L->start[v + 1] += L->start[v], fill[v] = L->start[v];
    for (int64_t e = 0; e < t; e++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) L->column[fill[tets[4 * e + a]]++] = tets[4 * e + b];
    int64_t write = 0;
    for (int64_t v = 0; v < n; v++) {   /* sorted, each once */
        int64_t from = L->start[v], to = fill[v];
        qsort(L->column + from, (size_t)(to - from), sizeof *L->column, compare_int32);
        L->start[v] = write;
        for (int64_t k = from; k < to; k++)
            if (k == from || L->column[k] != L->column[write - 1]) L->column[write++] = L->column[k];
    }
    L->start[n] = write;
    SU_GO(SU_ALLOC(&L->value, write, "Laplacian", err));
    for (int64_t e = 0; e < t; e++) {
        const int32_t *tet = tets + 4 * e;
        double edges[9], inverse[9], g[12];
        su_tet_edges(x + 3 * (int64_t)tet[0], x + 3 * (int64_t)tet[1], x + 3 * (int64_t)tet[2], x + 3 * (int64_t)tet[3], edges);
        double V = su_inverse3(edges, inverse) / 6;
        for (int i = 0; i < 3; i++) g[i] = -(inverse[i] + inverse[3 + i] + inverse[6 + i]);
        memcpy(g + 3, inverse, sizeof inverse);
        for (int a = 0; a < 4; a++) {
            volume[tet[a]] += 0.25 * V;
            for (int b = 0; b < 4; b++) {
                int64_t at = L->start[tet[a]];
                const int32_t *found = bsearch(&tet[b], L->column + at, (size_t)(L->start[tet[a] + 1] - at),
                                               sizeof tet[b], compare_int32);
                L->value[found - L->column] += V * su_dot3(g + 3 * a, g + 3 * b);
            }
        }
    }
    status = SU_OK;
done:
    free(fill);
    return status;
}

/* Lower triangle of Q = L M^-1 L on the free vertices (number >= 0). */
static su_status biharmonic(int64_t n, const rows *L, const double *volume, const int32_t *number, int64_t free_count,
                            su_sparse *Q, su_error *err)
{
    double *sum = NULL;
    int32_t *list = NULL;
    uint8_t *seen = NULL;
    su_status status;
    memset(Q, 0, sizeof *Q);
    Q->size = free_count, Q->owns_pattern = 1;
    SU_GO(SU_ALLOC(&Q->start, free_count + 1, "biharmonic matrix", err));
    SU_GO(SU_ALLOC(&sum, n, "biharmonic matrix", err));
    SU_GO(SU_ALLOC(&list, n, "biharmonic matrix", err));
    SU_GO(SU_ALLOC(&seen, n, "biharmonic matrix", err));
    for (int pass = 0; pass < 2; pass++) {
        int64_t write = 0;
        for (int64_t j = 0; j < n; j++) {
            if (number[j] < 0) continue;
            int64_t count = 0;
            Q->start[number[j]] = write;
            for (int64_t a = L->start[j]; a < L->start[j + 1]; a++) {
                int32_t k = L->column[a];
                double scale = L->value[a] / volume[k];
                for (int64_t b = L->start[k]; b < L->start[k + 1]; b++) {
                    int32_t i = L->column[b];
                    if (number[i] < number[j]) continue;   /* held ones too */
                    if (!seen[i]) seen[i] = 1, list[count++] = i, sum[i] = 0;
                    sum[i] += scale * L->value[b];
                }
            }
            if (pass) qsort(list, (size_t)count, sizeof *list, compare_int32);
            for (int64_t k = 0; k < count; k++) {
                seen[list[k]] = 0;
                if (pass) Q->row[write + k] = number[list[k]], Q->value[write + k] = sum[list[k]];
            }
            write += count;
        }
        Q->start[free_count] = Q->entries = write;
        if (pass) break;
        SU_GO(SU_ALLOC(&Q->row, write, "biharmonic matrix", err));
        SU_GO(SU_ALLOC(&Q->value, write, "biharmonic matrix", err));
    }
    status = SU_OK;
done:
    free(sum), free(list), free(seen);
    return status;
}

/* y = L M^-1 L x over all vertices; work (n) */
static void apply_biharmonic(int64_t n, const rows *L, const double *volume, const double *x, double *work, double *y)
{
    for (int pass = 0; pass < 2; pass++) {
        const double *in = pass ? work : x;
        double *out = pass ? y : work;
        for (int64_t v = 0; v < n; v++) {
            double sum = 0;
            for (int64_t k = L->start[v]; k < L->start[v + 1]; k++) sum += L->value[k] * in[L->column[k]];
            out[v] = pass ? sum : sum / volume[v];
        }
    }
}

typedef struct admm {
    int64_t n, free_count;
    const rows *L;
    const double *volume;
    const int32_t *free_vertex;
    su_sparse Q;
    su_cholesky *factor;
    double rho;            /* of the factor: Q + rho M */
    double *w, *z, *u, *right, *work;
    double *diagonal;      /* (free_count) of Q alone */
    int8_t *bound;         /* (free_count) 1: at 1, -1: at 0, 0: between */
} admm;

static su_status set_rho(admm *a, double rho, su_error *err)
{
    for (int64_t f = 0; f < a->free_count; f++)
        a->Q.value[a->Q.start[f]] = a->diagonal[f] + rho * a->volume[a->free_vertex[f]];
    a->rho = rho;
    return su_cholesky_factorize(a->factor, &a->Q, err);
}

/* The bounds that the present z touches are made equations, then corrected until none changes (primal-dual active sets,
 * Hintermueller, Ito, Kunisch 2003): a few factorizations instead of a thousand iterations. Equations are stiff springs, so that
 * one symbolic factor serves all. *settled: no weight is farther outside than 1e-5, no bound pulls the wrong way by more than 5e-3
 * of the largest force; then z is the solution. */
static su_status active_sets(admm *a, const double *b, bool *settled, su_error *err)
{
    enum { LIMIT = 80 };
    int64_t count = a->free_count;
    double stiffest = 0, outside = INFINITY, wrong = INFINITY;
    for (int64_t f = 0; f < count; f++) {
        stiffest = fmax(stiffest, a->diagonal[f]);
        a->bound[f] = a->z[f] >= 1 ? 1 : a->z[f] <= 0 ? -1 : 0;
    }
    double spring = 1e8 * stiffest;
    for (int k = 0; k < LIMIT && (outside > 1e-5 || wrong > 5e-3); k++) {
        for (int64_t f = 0; f < count; f++) {
            a->Q.value[a->Q.start[f]] = a->diagonal[f] + (a->bound[f] ? spring : 0);
            a->right[f] = -b[f] + (a->bound[f] > 0 ? spring : 0);
        }
        SU_TRY(su_cholesky_factorize(a->factor, &a->Q, err));
        SU_TRY(su_cholesky_solve(a->factor, 1, a->right, a->w, err));
        double force = 0;   /* of the springs: its sign says whether a bound is needed */
        outside = wrong = 0;
        for (int64_t f = 0; f < count; f++) {
            double w = a->w[f], over = fmax(w - 1, -w), pull = a->bound[f] > 0 ? w - 1 : -w;
            if (a->bound[f]) {
                force = fmax(force, fabs(pull)), wrong = fmax(wrong, -pull);
                if (pull <= 0) a->bound[f] = 0;
            } else {
                outside = fmax(outside, over);
                if (over > 1e-7) a->bound[f] = w > 1 ? 1 : -1;
            }
        }
        wrong /= fmax(force, 1e-300);
    }
    *settled = outside <= 1e-5 && wrong <= 5e-3;
    for (int64_t f = 0; f < count && *settled; f++) a->z[f] = fmin(fmax(a->w[f], 0), 1);
    return SU_OK;
}

/* One region: minimize 1/2 w'Qw + b'w over w = z, z in [0,1] (Boyd et al. 2011, section 3, scaled form in the mass norm) until
 * the bounds that matter are known, which active_sets finishes; where that does not settle, to the end. rho follows the ratio
 * of the residuals. */
static su_status solve_handle(admm *a, const double *b, int *iterations, double *residual, su_error *err)
{
    enum { LIMIT = 2000 };
    int64_t count = a->free_count;
    double primal = INFINITY, dual, near = 2e-2;
    bool settled = false;
    memset(a->z, 0, (size_t)count * sizeof *a->z);
    memset(a->u, 0, (size_t)count * sizeof *a->u);
    int k = 0;
    for (; k < LIMIT; k++) {
        double sum_primal = 0, sum_dual = 0;
        primal = dual = 0;
        for (int64_t f = 0; f < count; f++)
            a->right[f] = a->rho * a->volume[a->free_vertex[f]] * (a->z[f] - a->u[f]) - b[f];
        SU_TRY(su_cholesky_solve(a->factor, 1, a->right, a->w, err));
        for (int64_t f = 0; f < count; f++) {
            double old = a->z[f], m = a->volume[a->free_vertex[f]];
            a->z[f] = fmin(fmax(a->w[f] + a->u[f], 0), 1);
            a->u[f] += a->w[f] - a->z[f];
            primal = fmax(primal, fabs(a->w[f] - a->z[f])), dual = fmax(dual, fabs(a->z[f] - old));
            sum_primal += m * (a->w[f] - a->z[f]) * (a->w[f] - a->z[f]), sum_dual += m * (a->z[f] - old) * (a->z[f] - old);
        }
        if (primal < 1e-5 && dual < 1e-5) break;
        if (primal < near && dual < near) {
            double rho = a->rho;
            near = 0;   /* once */
            SU_TRY(active_sets(a, b, &settled, err));
            SU_TRY(set_rho(a, rho, err));
            if (settled) {
                primal = 0;
                break;
            }
        }
        if (k % 25 == 24) {   /* the residuals are both lengths in w here: keep them alike */
            double ratio = sqrt(sum_primal / fmax(sum_dual, 1e-300));
            if (ratio > 4 || ratio < 0.25) {
                double factor = fmin(fmax(ratio, 0.1), 10);
                for (int64_t f = 0; f < count; f++) a->u[f] /= factor;
                SU_TRY(set_rho(a, a->rho * factor, err));
            }
        }
    }
    *iterations = k > *iterations ? k : *iterations;
    *residual = fmax(*residual, primal);
    return SU_OK;
}

/* Vertices that no edge path joins to a handle take weight 0: known, like the handles. */
static void reach(int64_t n, int64_t t, const int32_t *tets, const int32_t *region_of, uint8_t *reached)
{
    for (int64_t v = 0; v < n; v++) reached[v] = region_of[v] >= 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t e = 0; e < t; e++) {
            const int32_t *v = tets + 4 * e;
            int sum = reached[v[0]] + reached[v[1]] + reached[v[2]] + reached[v[3]];
            if (sum == 0 || sum == 4) continue;
            for (int a = 0; a < 4; a++) reached[v[a]] = 1;
            changed = true;
        }
    }
}

su_status su_bounded_biharmonic(int64_t n, const double *vertices, int64_t t, const int32_t *tets, int64_t count,
                                const int32_t *region_of, double *W, int *iterations, double *residual, su_error *err)
{
    rows L = {0};
    double *volume = NULL, *known = NULL, *force = NULL, *b = NULL, cut = 0;
    int32_t *number = NULL, *free_vertex = NULL;
    uint8_t *reached = NULL;
    int most = 0;
    admm a = {.n = n, .L = &L};
    su_status status;
    SU_GO(SU_ALLOC(&volume, n, "region weights", err));
    SU_GO(SU_ALLOC(&known, n, "region weights", err));
    SU_GO(SU_ALLOC(&force, n, "region weights", err));
    SU_GO(SU_ALLOC(&number, n, "region weights", err));
    SU_GO(SU_ALLOC(&free_vertex, n, "region weights", err));
    SU_GO(SU_ALLOC(&reached, n, "region weights", err));
    SU_GO(SU_ALLOC(&a.work, n, "region weights", err));
    SU_GO(laplacian(n, vertices, t, tets, &L, volume, err));
    reach(n, t, tets, region_of, reached);
    for (int64_t v = 0; v < n; v++) {
        number[v] = region_of[v] >= 0 || !reached[v] ? -1 : (int32_t)a.free_count;
        if (number[v] >= 0) free_vertex[a.free_count++] = (int32_t)v;
    }
    a.volume = volume, a.free_vertex = free_vertex;
    SU_GO(SU_ALLOC(&b, a.free_count, "region weights", err));
    SU_GO(SU_ALLOC(&a.w, a.free_count, "region weights", err));
    SU_GO(SU_ALLOC(&a.z, a.free_count, "region weights", err));
    SU_GO(SU_ALLOC(&a.u, a.free_count, "region weights", err));
    SU_GO(SU_ALLOC(&a.right, a.free_count, "region weights", err));
    SU_GO(SU_ALLOC(&a.diagonal, a.free_count, "region weights", err));
    SU_GO(SU_ALLOC(&a.bound, a.free_count, "region weights", err));
    if (a.free_count) {
        SU_GO(biharmonic(n, &L, volume, number, a.free_count, &a.Q, err));
        for (int64_t f = 0; f < a.free_count; f++) a.diagonal[f] = a.Q.value[a.Q.start[f]];
        SU_GO(su_cholesky_create(&a.Q, 1, &a.factor, err));
        double low[3], high[3];   /* rho: the biharmonic eigenvalue of a wave as long as the flesh */
        for (int i = 0; i < 3; i++) low[i] = INFINITY, high[i] = -INFINITY;
        for (int64_t k = 0; k < 3 * n; k++) low[k % 3] = fmin(low[k % 3], vertices[k]), high[k % 3] = fmax(high[k % 3], vertices[k]);
        SU_GO(set_rho(&a, pow(2 * 3.14159265358979 / su_distance3(low, high), 4), err));
    }
    for (int64_t h = 0; h < count; h++) {
        for (int64_t v = 0; v < n; v++) known[v] = region_of[v] == h;
        apply_biharmonic(n, &L, volume, known, a.work, force);
        for (int64_t f = 0; f < a.free_count; f++) b[f] = force[free_vertex[f]];
        if (a.free_count) SU_GO(solve_handle(&a, b, &most, &cut, err));
        for (int64_t v = 0; v < n; v++) W[h * n + v] = number[v] >= 0 ? a.z[number[v]] : known[v];
    }
    if (iterations) *iterations = most;
    if (residual) *residual = cut;
    status = SU_OK;
done:
    rows_free(&L);
    su_sparse_free(&a.Q);
    su_cholesky_free(a.factor);
    free(a.w), free(a.z), free(a.u), free(a.right), free(a.work), free(a.diagonal), free(a.bound);
    free(volume), free(known), free(force), free(number), free(free_vertex), free(b), free(reached);
    return status;
}

void su_region_sharpen(int64_t count, double *W, double eta, double kappa)
{
    for (int64_t k = 0; k < count; k++) W[k] = W[k] > eta ? pow((W[k] - eta) / (1 - eta), kappa) : 0;
}
