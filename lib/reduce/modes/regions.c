#include "reduce/modes/regions.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/mat3.h"
#include "linalg/cholesky.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG_PULL 5e-3 /* of the largest force: less may stay on a bound */
#define OUTSIDE 1e-5    /* of a bound: nearer weights may stay free */
#define JUST_OUTSIDE 1e-7
#define SPRING                                                                                                         \
    1e8 /* of the stiffest diagonal entry: an equation leaves 1e-8 of a weight, half the digits of a factor */
#define NOT_SMALL 0.02

enum { RINGS = 5 };

/* Lower triangle of Q = L M^-1 L on the free vertices (number >= 0). */
static su_status biharmonic(int64_t n, const su_laplacian *L, const double *volume, const int32_t *number,
                            int64_t free_count, su_sparse *Q, su_error *err)
{
    double *sum = NULL;
    int32_t *list = NULL;
    uint8_t *seen = NULL;
    su_status status;
    memset(Q, 0, sizeof *Q);
    Q->size = free_count, Q->owns_pattern = 1;
    SU_GO(SU_ALLOC_ALL("biharmonic matrix", err, SU_WANT(Q->start, free_count + 1), SU_WANT(sum, n), SU_WANT(list, n),
                       SU_WANT(seen, n)));
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
                    if (number[i] < number[j]) continue; /* held ones too */
                    if (!seen[i]) seen[i] = 1, list[count++] = i, sum[i] = 0;
                    sum[i] += scale * L->value[b];
                }
            }
            if (pass) su_sort(list, (size_t)count, sizeof *list, su_order_int32);
            for (int64_t k = 0; k < count; k++) {
                seen[list[k]] = 0;
                if (pass) Q->row[write + k] = number[list[k]], Q->value[write + k] = sum[list[k]];
            }
            write += count;
        }
        Q->start[free_count] = Q->entries = write;
        if (pass) break;
        SU_GO(SU_ALLOC_ALL("biharmonic matrix", err, SU_WANT(Q->row, write), SU_WANT(Q->value, write)));
    }
done:
    free(sum), free(list), free(seen);
    return status;
}

/* y = L M^-1 L x over all vertices; work (n) */
static void apply_biharmonic(int64_t n, const su_laplacian *L, const double *volume, const double *x, double *work,
                             double *y)
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

/* The problem of one region on the vertices near it: 1/2 w'Qw + b'w, w in [0,1]. */
typedef struct bounded {
    int64_t free_count;
    su_sparse Q;
    su_cholesky *factor;
    double *w, *right;
    double *diagonal; /* (free_count) of Q alone */
    int8_t *bound;    /* (free_count) 1: at 1, -1: at 0, 0: between */
} bounded;

/* The bounds set in a->bound are made equations, then corrected until none changes (primal-dual active sets,
 * Hintermueller, Ito, Kunisch 2003); after a few steps only those that miss the tolerances change, lest bounds of
 * hardly any force come and go for ever. Equations are stiff springs, so that one symbolic factor serves all. At the
 * end no weight is farther outside than 1e-5, no bound pulls the wrong way by more than WRONG_PULL of the largest
 * force; then, or after LIMIT steps, w is cut off at its bounds. */
static su_status active_sets(bounded *a, const double *b, int *steps, su_error *err)
{
    enum { LIMIT = 80, FREELY = 10 };
    const double later = 0.2; /* of the tolerances: what a bound has to miss to change once changes are few */
    int64_t count = a->free_count;
    double stiffest = 0, outside = INFINITY, wrong = INFINITY, largest = 0;
    for (int64_t f = 0; f < count; f++) stiffest = fmax(stiffest, a->diagonal[f]);
    double spring = SPRING * stiffest;
    for (int k = 0; k < LIMIT && (outside > OUTSIDE || wrong > WRONG_PULL); k++, ++*steps) {
        for (int64_t f = 0; f < count; f++) {
            a->Q.value[a->Q.start[f]] = a->diagonal[f] + (a->bound[f] ? spring : 0);
            a->right[f] = -b[f] + (a->bound[f] > 0 ? spring : 0);
        }
        SU_TRY(su_cholesky_factorize(a->factor, &a->Q, err));
        SU_TRY(su_cholesky_solve(a->factor, 1, a->right, a->w, err));
        double force = 0; /* of the springs: its sign says whether a bound is needed */
        double let = k < FREELY ? 0 : later * WRONG_PULL * largest, hold = k < FREELY ? JUST_OUTSIDE : later * OUTSIDE;
        outside = wrong = 0;
        for (int64_t f = 0; f < count; f++) {
            double w = a->w[f], over = fmax(w - 1, -w), pull = a->bound[f] > 0 ? w - 1 : -w;
            if (a->bound[f]) {
                force = fmax(force, fabs(pull)), wrong = fmax(wrong, -pull);
                if (pull <= -let) a->bound[f] = 0;
            } else {
                outside = fmax(outside, over);
                if (over > hold) a->bound[f] = w > 1 ? 1 : -1;
            }
        }
        largest = force, wrong /= fmax(force, DBL_MIN);
    }
    for (int64_t f = 0; f < count; f++) a->w[f] = fmin(fmax(a->w[f], 0), 1);
    return SU_OK;
}

/* Vertices that no edge path joins to a handle take weight 0: known, like the handles. */
static void reach(const su_tet_mesh *mesh, const int32_t *region_of, uint8_t *reached)
{
    for (int64_t v = 0; v < mesh->n; v++) reached[v] = region_of[v] >= 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t e = 0; e < mesh->t; e++) {
            const int32_t *v = mesh->tets + 4 * e;
            int sum = reached[v[0]] + reached[v[1]] + reached[v[2]] + reached[v[3]];
            if (sum == 0 || sum == 4) continue;
            for (int a = 0; a < 4; a++) reached[v[a]] = 1;
            changed = true;
        }
    }
}

/* What all regions share. */
typedef struct field {
    int64_t n, free_count; /* free: not held by a handle, and joined to one */
    su_laplacian L;
    double *volume;  /* (n) */
    int32_t *number; /* (n) among the free vertices, -1: held */
    int32_t *free_vertex;
} field;

static void field_free(field *f)
{
    su_laplacian_free(&f->L);
    free(f->volume), free(f->number), free(f->free_vertex);
}

static su_status field_create(field *f, const su_tet_mesh *mesh, const int32_t *region_of, su_error *err)
{
    int64_t n = mesh->n;
    uint8_t *reached = NULL;
    su_status status;
    f->n = n;
    SU_GO(SU_ALLOC_ALL("region weights", err, SU_WANT(f->volume, n), SU_WANT(f->number, n), SU_WANT(f->free_vertex, n),
                       SU_WANT(reached, n)));
    SU_GO(su_laplacian_create(mesh, &f->L, f->volume, err));
    reach(mesh, region_of, reached);
    for (int64_t v = 0; v < n; v++) {
        f->number[v] = region_of[v] >= 0 || !reached[v] ? -1 : (int32_t)f->free_count;
        if (f->number[v] >= 0) f->free_vertex[f->free_count++] = (int32_t)v;
    }
done:
    free(reached);
    return status;
}

/* W (count,n): without bounds, all regions at once. */
static su_status unbounded(const field *f, int64_t count, const int32_t *region_of, double *W, su_error *err)
{
    su_sparse Q = {0};
    su_cholesky *factor = NULL;
    double *b = NULL, *work = NULL, *force = NULL;
    su_status status;
    for (int64_t h = 0; h < count; h++)
        for (int64_t v = 0; v < f->n; v++) W[h * f->n + v] = region_of[v] == h;
    if (f->free_count == 0) return SU_OK;
    SU_GO(SU_ALLOC_ALL("region weights", err, SU_WANT(b, count * f->free_count), SU_WANT(work, f->n),
                       SU_WANT(force, f->n)));
    SU_GO(biharmonic(f->n, &f->L, f->volume, f->number, f->free_count, &Q, err));
    SU_GO(su_cholesky_create(&Q, 1, &factor, err));
    SU_GO(su_cholesky_factorize(factor, &Q, err));
    for (int64_t h = 0; h < count; h++) {
        apply_biharmonic(f->n, &f->L, f->volume, W + h * f->n, work, force);
        for (int64_t k = 0; k < f->free_count; k++) b[h * f->free_count + k] = -force[f->free_vertex[k]];
    }
    SU_GO(su_cholesky_solve(factor, count, b, b, err));
    for (int64_t h = 0; h < count; h++)
        for (int64_t k = 0; k < f->free_count; k++) W[h * f->n + f->free_vertex[k]] = b[h * f->free_count + k];
done:
    su_sparse_free(&Q);
    su_cholesky_free(factor);
    free(b), free(work), free(force);
    return status;
}

/* inside |= neighbours of inside, RINGS times; free vertices only */
static void dilate(const field *f, uint8_t *inside)
{
    for (int ring = 1; ring <= RINGS; ring++)
        for (int64_t v = 0; v < f->n; v++) {
            if (inside[v] == 0 || inside[v] > ring) continue;
            for (int64_t k = f->L.start[v]; k < f->L.start[v + 1]; k++)
                if (!inside[f->L.column[k]]) inside[f->L.column[k]] = (uint8_t)(ring + 1);
        }
    int64_t count = 0;
    for (int64_t v = 0; v < f->n; v++) count += inside[v] = inside[v] && f->number[v] >= 0;
    for (int64_t v = 0; v < f->n && 10 * count > 9 * f->free_count; v++)
        inside[v] = f->number[v] >= 0; /* nearly all: all */
}

static su_status bounded_create(const field *f, const uint8_t *inside, int32_t *number, int32_t *list, bounded *a,
                                su_error *err)
{
    memset(a, 0, sizeof *a);
    for (int64_t v = 0; v < f->n; v++) {
        number[v] = inside[v] ? (int32_t)a->free_count : -1;
        if (inside[v]) list[a->free_count++] = (int32_t)v;
    }
    SU_TRY(SU_ALLOC_ALL("region weights", err, SU_WANT(a->w, a->free_count), SU_WANT(a->right, a->free_count),
                        SU_WANT(a->diagonal, a->free_count), SU_WANT(a->bound, a->free_count)));
    SU_TRY(biharmonic(f->n, &f->L, f->volume, number, a->free_count, &a->Q, err));
    for (int64_t k = 0; k < a->free_count; k++) a->diagonal[k] = a->Q.value[a->Q.start[k]];
    return su_cholesky_create(&a->Q, 1, &a->factor, err);
}

static void bounded_free(bounded *a)
{
    su_sparse_free(&a->Q);
    su_cholesky_free(a->factor);
    free(a->w), free(a->right), free(a->diagonal), free(a->bound);
    memset(a, 0, sizeof *a);
}

/* Marks free vertices that are not inside and want to leave 0: the gradient of the energy at w says so, by the measure
 * of active_sets. Returns how many. */
static int64_t reach_out(const field *f, const double *w, double *work, double *force, uint8_t *inside)
{
    double most = 0;
    int64_t more = 0;
    apply_biharmonic(f->n, &f->L, f->volume, w, work, force);
    for (int64_t k = 0; k < f->free_count; k++) {
        int32_t v = f->free_vertex[k];
        if (w[v] <= 0 || w[v] >= 1) most = fmax(most, fabs(force[v]));
    }
    for (int64_t k = 0; k < f->free_count; k++) {
        int32_t v = f->free_vertex[k];
        if (inside[v] || force[v] >= -WRONG_PULL * most) continue;
        inside[v] = 1, more++;
    }
    return more;
}

/* w (n): the function without bounds, becomes the one with them. Most of the flesh is far from a region and stays at 0,
 * so the problem is solved where the function is not small and a few rings around that, and once more with more of the
 * flesh as long as vertices outside would leave 0. */
static su_status solve_region(const field *f, const int32_t *region_of, int64_t h, double *w, int *most, su_error *err)
{
    int32_t *number = NULL, *list = NULL;
    uint8_t *inside = NULL;
    double *b = NULL, *work = NULL, *force = NULL;
    bounded a = {0};
    int steps = 0;
    su_status status;
    SU_GO(SU_ALLOC_ALL("region weights", err, SU_WANT(number, f->n), SU_WANT(list, f->n), SU_WANT(inside, f->n),
                       SU_WANT(b, f->free_count), SU_WANT(work, f->n), SU_WANT(force, f->n)));
    for (int64_t v = 0; v < f->n; v++) inside[v] = w[v] > NOT_SMALL;
    for (bool first = true;; first = false) {
        dilate(f, inside);
        if (!memchr(inside, 1, (size_t)f->n)) break; /* handles leave nothing to find */
        SU_GO(bounded_create(f, inside, number, list, &a, err));
        double slack = first ? JUST_OUTSIDE : 0; /* later, weights at their bounds are there exactly */
        for (int64_t k = 0; k < a.free_count; k++)
            a.bound[k] = w[list[k]] >= 1 + slack ? 1 : w[list[k]] <= -slack ? -1 : 0;
        for (int64_t v = 0; v < f->n; v++) w[v] = region_of[v] == h;
        apply_biharmonic(f->n, &f->L, f->volume, w, work, force);
        for (int64_t k = 0; k < a.free_count; k++) b[k] = force[list[k]];
        SU_GO(active_sets(&a, b, &steps, err));
        for (int64_t k = 0; k < a.free_count; k++) w[list[k]] = a.w[k];
        bounded_free(&a);
        if (reach_out(f, w, work, force, inside) == 0) break;
    }
    *most = steps > *most ? steps : *most;
done:
    bounded_free(&a);
    free(number), free(list), free(inside), free(b), free(work), free(force);
    return status;
}

su_status su_bounded_biharmonic(const su_tet_mesh *mesh, int64_t count, const int32_t *region_of, double *W,
                                int *iterations, int threads, su_error *err)
{
    field f = {0};
    int most = 0;
    su_status status;
    SU_GO(field_create(&f, mesh, region_of, err));
    SU_GO(unbounded(&f, count, region_of, W, err));
    int team = threads < count ? threads : (int)count;
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
    for (int64_t h = 0; h < count; h++) {
        su_error mine = {0};
        int steps = 0;
        su_status one = solve_region(&f, region_of, h, W + h * mesh->n, &steps, &mine);
#pragma omp critical(su_regions)
        {
            most = steps > most ? steps : most;
            su_keep_first_error(&status, err, one, &mine);
        }
    }
    if (iterations) *iterations = most;
done:
    field_free(&f);
    return status;
}

void su_region_sharpen(int64_t count, double *W, double eta, double kappa)
{
    for (int64_t k = 0; k < count; k++) W[k] = W[k] > eta ? pow((W[k] - eta) / (1 - eta), kappa) : 0;
}

void su_region_shares(int64_t r, int64_t d, int64_t *share)
{
    int64_t least = r / d / 8 * 8, over = r - d * least, most = least + (over < 8 ? over : 8);
    bool eights = least > 0 && 4 * most <= 5 * least;
    for (int64_t g = 0; g < d; g++) {
        int64_t more = over < 8 ? over : 8;
        if (eights)
            share[g] = least + more, over -= more;
        else
            share[g] = r < d ? 1 : r / d + (g < r % d);
    }
}
