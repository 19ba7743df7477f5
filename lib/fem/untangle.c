#include "fem/untangle.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/secant_pairs.h"
#include "geometry/vector.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RINGS_FIRST = 2, RINGS_LAST = 6, OUTER = 30, INNER = 60, HALVINGS = 40 };
#define THETA 0.5 /* weight of volume against shape */
#define TETHER                                                                                                         \
    3.0 /* how firmly vertices stay where the fit put them: 0.1 opens the same tets but leaves twice the distance to   \
           the skin */

#define FIRST_STEP 0.1  /* of a tet's size, while L-BFGS knows no curvature */
#define LEAST_GAIN 1e-5 /* share of the objective that a step has to be worth */
/* eps: a fifth of the volume ratio of the worst tet while that is inverted, about; never below LEAST_EPS. */
#define EPS_OF_WORST_SQUARED 0.04
#define LEAST_EPS 1e-3
#define LEAST_OPENING 1e-3 /* of the worst volume ratio, that another round has to bring */

typedef struct patch {
    const int32_t *tets;
    const double *inverse, *volume;
    int64_t tet_count, size; /* tets at moving vertices; unknowns, 3 a vertex */
    int32_t *tet;            /* (tet_count) */
    int32_t *number;         /* (n) number of a moving vertex, -1: stays */
    int32_t *vertex;         /* (size / 3) */
    uint8_t *ring;           /* (n) */
    double *x;               /* (n,3) borrowed */
    double *home, *tether;   /* (size), (size / 3): where the fit put the vertices, how firmly they stay there */
    double *gradient, *previous, *direction, *start; /* (size) */
    su_secant_pairs pairs;                           /* of L-BFGS */
} patch;

static void gradient_of(const patch *p, int64_t e, double F[9])
{
    const int32_t *tet = p->tets + 4 * e;
    double edges[9];
    su_tet_edges(p->x + 3 * (int64_t)tet[0], p->x + 3 * (int64_t)tet[1], p->x + 3 * (int64_t)tet[2],
                 p->x + 3 * (int64_t)tet[3], edges);
    su_mul33(edges, p->inverse + 9 * e, F);
}

static void cofactors(const double F[9], double C[9])
{
    su_cross3(F + 3, F + 6, C);
    su_cross3(F + 6, F, C + 3);
    su_cross3(F, F + 3, C + 6);
}

/* Energy at x; with_gradient: also its gradient on the unknowns. */
static double evaluate(const patch *p, double eps, bool with_gradient)
{
    double sum = 0;
    if (with_gradient) memset(p->gradient, 0, (size_t)p->size * sizeof(double));
    for (int64_t k = 0; k < p->tet_count; k++) {
        int64_t e = p->tet[k];
        double F[9], C[9], norm = 0;
        gradient_of(p, e, F);
        double J = su_det3(F), root = sqrt(J * J + eps * eps);
        double chi = J > 0 ? (J + root) / 2 : eps * eps / (2 * (root - J));
        double power = pow(chi, -2.0 / 3);
        for (int i = 0; i < 9; i++) norm += F[i] * F[i];
        sum += p->volume[e] * (norm * power + THETA * (J * J + 1) / chi);
        if (!with_gradient) continue;
        /* d chi / dJ = chi / root, without cancellation */
        double by_J = -2.0 / 3 * norm * power / root + THETA * (2 * J / chi - (J * J + 1) / (chi * root));
        const double *g = p->inverse + 9 * e;
        double P[9];
        cofactors(F, C);
        for (int i = 0; i < 9; i++) P[i] = p->volume[e] * (2 * power * F[i] + by_J * C[i]);
        double total[3] = {0, 0, 0};
        for (int a = 3; a >= 0; a--) {
            int32_t v = p->number[p->tets[4 * e + a]];
            for (int i = 0; i < 3; i++) {
                double f = a ? su_dot3(P + 3 * i, g + 3 * (a - 1)) : -total[i];
                total[i] += f;
                if (v >= 0) p->gradient[3 * (int64_t)v + i] += f;
            }
        }
    }
    for (int64_t k = 0; k < p->size; k++) {
        double moved = p->x[3 * (int64_t)p->vertex[k / 3] + k % 3] - p->home[k];
        sum += p->tether[k / 3] * moved * moved;
        if (with_gradient) p->gradient[k] += 2 * p->tether[k / 3] * moved;
    }
    return sum;
}

/* What L-BFGS moves by. */
static void find_direction(patch *p)
{
    double *d = p->direction;
    for (int64_t i = 0; i < p->size; i++) d[i] = -p->gradient[i];
    su_secant_pairs_before(&p->pairs, d);
    double scale = su_secant_pairs_scale(&p->pairs);
    for (int64_t i = 0; i < p->size; i++) d[i] *= scale;
    su_secant_pairs_after(&p->pairs, d);
}

static void place(const patch *p, double length)
{
    for (int64_t k = 0; k < p->size; k++)
        p->x[3 * (int64_t)p->vertex[k / 3] + k % 3] = p->start[k] + length * p->direction[k];
}

/* L-BFGS at a fixed eps. */
static void descend(patch *p, double eps)
{
    su_secant_pairs_forget(&p->pairs);
    double value = evaluate(p, eps, true), scale = cbrt(p->volume[p->tet[0]]);
    for (int iteration = 0; iteration < INNER; iteration++) {
        find_direction(p);
        double slope = su_dot(p->size, p->gradient, p->direction), length = 1;
        if (!(slope < 0)) break;
        if (p->pairs.count == 0) length = FIRST_STEP * scale / sqrt(su_dot(p->size, p->direction, p->direction));
        for (int64_t k = 0; k < p->size; k++) p->start[k] = p->x[3 * (int64_t)p->vertex[k / 3] + k % 3];
        double before = value;
        bool accepted = false;
        for (int halvings = 0; halvings < HALVINGS && !accepted; halvings++, length *= 0.5) {
            place(p, length);
            double trial = evaluate(p, eps, false);
            accepted = trial <= value + SU_SUFFICIENT_DESCENT * length * slope;
            if (accepted) value = trial;
        }
        if (!accepted) {
            place(p, 0);
            break;
        }
        memcpy(p->previous, p->gradient, (size_t)p->size * sizeof(double));
        evaluate(p, eps, true);
        /* what it moved by, as x has it */
        for (int64_t k = 0; k < p->size; k++)
            p->direction[k] = p->x[3 * (int64_t)p->vertex[k / 3] + k % 3] - p->start[k];
        su_secant_pairs_add(&p->pairs, 1, p->direction, p->previous, p->gradient);
        if (before - value < LEAST_GAIN * value) break;
    }
}

/* Smallest volume ratio over the tets of the patch. */
static double smallest(const patch *p)
{
    double least = INFINITY;
    for (int64_t k = 0; k < p->tet_count; k++) {
        double F[9];
        gradient_of(p, p->tet[k], F);
        least = fmin(least, su_det3(F));
    }
    return least;
}

/* Free vertices within `rings` rings of the bad tets become unknowns. Returns the number of bad tets. */
static int64_t choose(patch *p, int64_t n, int64_t t, const int32_t *free_index, double least, int rings)
{
    int64_t bad = 0, moving = 0;
    memset(p->ring, 0, (size_t)n);
    for (int64_t e = 0; e < t; e++) {
        const int32_t *tet = p->tets + 4 * e;
        double F[9];
        gradient_of(p, e, F);
        if (su_det3(F) >= least) continue;
        if (free_index[tet[0]] < 0 && free_index[tet[1]] < 0 && free_index[tet[2]] < 0 && free_index[tet[3]] < 0)
            continue;
        bad++;
        for (int a = 0; a < 4; a++) p->ring[tet[a]] = 1;
    }
    for (int ring = 1; ring < rings && bad; ring++)
        for (int64_t e = 0; e < t; e++) {
            const int32_t *tet = p->tets + 4 * e;
            bool touched = false;
            for (int a = 0; a < 4; a++) touched |= p->ring[tet[a]] && p->ring[tet[a]] <= ring;
            for (int a = 0; a < 4 && touched; a++)
                if (!p->ring[tet[a]]) p->ring[tet[a]] = (uint8_t)(ring + 1);
        }
    for (int64_t v = 0; v < n; v++) {
        p->number[v] = -1;
        if (!p->ring[v] || free_index[v] < 0) continue;
        p->vertex[moving] = (int32_t)v;
        p->number[v] = (int32_t)moving++;
    }
    p->size = 3 * moving;
    p->tet_count = 0;
    for (int64_t e = 0; e < t; e++)
        for (int a = 0; a < 4; a++)
            if (p->number[p->tets[4 * e + a]] >= 0) {
                p->tet[p->tet_count++] = (int32_t)e;
                break;
            }
    return bad;
}

static su_status open_patch(patch *p, double least, su_error *err)
{
    su_arena arena = {0};
    int64_t size = p->size;
    su_status status;
    SU_GO(SU_TAKE_ALL(&arena, "untangling", err, SU_WANT(p->gradient, size), SU_WANT(p->previous, size),
                      SU_WANT(p->direction, size), SU_WANT(p->start, size), SU_WANT(p->home, size),
                      SU_WANT(p->tether, size / 3)));
    SU_GO(su_secant_pairs_take(&p->pairs, &arena, SU_SECANT_MOST, size, err));
    for (int64_t k = 0; k < p->size; k++) p->home[k] = p->x[3 * (int64_t)p->vertex[k / 3] + k % 3];
    for (int64_t k = 0; k < p->tet_count; k++) {
        int64_t e = p->tet[k];
        for (int a = 0; a < 4; a++) {
            int32_t v = p->number[p->tets[4 * e + a]];
            if (v >= 0) p->tether[v] += TETHER * cbrt(p->volume[e]); /* volume over edge length squared */
        }
    }
    for (int outer = 0; outer < OUTER; outer++) {
        double worst = smallest(p);
        if (worst >= least) break;
        /* eps of the paper's first variant: in step with the worst tet, never zero */
        descend(p, sqrt(LEAST_EPS * LEAST_EPS + EPS_OF_WORST_SQUARED * fmin(worst, 0) * fmin(worst, 0)));
        if (worst > 0 && smallest(p) < worst + LEAST_OPENING) break; /* open, and as open as it gets */
    }
done:
    su_arena_free(&arena);
    return status;
}

su_status su_untangle(const su_elastic *flesh, double least, double *x, su_error *err)
{
    int64_t n = flesh->n, t = flesh->t;
    const int32_t *tets = flesh->tets, *free_index = flesh->free_index;
    const double *inverse = flesh->neutral_inverse, *volume = flesh->neutral_volume;
    patch p = {.tets = tets, .inverse = inverse, .volume = volume, .x = x};
    su_status status;
    SU_GO(SU_ALLOC(&p.tet, t, "untangling", err));
    SU_GO(SU_ALLOC(&p.number, n, "untangling", err));
    SU_GO(SU_ALLOC(&p.vertex, n, "untangling", err));
    SU_GO(SU_ALLOC(&p.ring, n, "untangling", err));
    for (int rings = RINGS_FIRST; rings <= RINGS_LAST; rings++) {
        if (choose(&p, n, t, free_index, least, rings) == 0 || p.size == 0) break;
        SU_GO(open_patch(&p, least, err));
    }
    status = SU_OK;
done:
    free(p.tet);
    free(p.number);
    free(p.vertex);
    free(p.ring);
    return status;
}
