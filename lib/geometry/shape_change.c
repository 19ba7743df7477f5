#include "geometry/shape_change.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 96, LEAST = 10 }; /* neighbours looked at; fewer say nothing */
#define STRETCH 1.3             /* a tet that is longer or shorter by more than this has little room left to give */
#define SAMPLES 3.0             /* per radius: a dense skin is thinned out to that */

typedef struct sample {
    int64_t cube[3];
    uint32_t order; /* by chance, so that of shells that lie on each other all are among the samples */
    int32_t vertex;
} sample;

static int compare(const void *a, const void *b)
{
    const sample *p = a, *q = b;
    for (int i = 0; i < 3; i++)
        if (p->cube[i] != q->cube[i]) return p->cube[i] < q->cube[i] ? -1 : 1;
    return p->order != q->order ? (p->order > q->order) - (p->order < q->order)
                                : (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

/* Mean of the neighbours' positions, and the positions about it. */
static void centre(int count, const int32_t *vertex, const double *x, double local[][3])
{
    double mean[3] = {0, 0, 0};
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) mean[i] += x[3 * (int64_t)vertex[k] + i] / count;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) local[k][i] = x[3 * (int64_t)vertex[k] + i] - mean[i];
}

/* Mean squared distance of b from F a. */
static double squared_distance(int count, const double F[9], double a[][3], double b[][3])
{
    double sum = 0;
    for (int k = 0; k < count; k++) {
        double to[3];
        su_mulv3(F, a[k], to);
        su_sub3(b[k], to, to);
        sum += su_dot3(to, to);
    }
    return sum / count;
}

/* Mean squared distance of b from the best rotation of a, or from the best linear map with its stretches bounded, which
 * is better where the skin stretches and worse where it is torn apart. */
static double misfit_of(int count, double a[][3], double b[][3])
{
    double P[9] = {0}, Q[9] = {0}, R[9], inverse[9], F[9], u[9], s[3], v[9];
    for (int k = 0; k < count; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) P[3 * i + j] += a[k][i] * a[k][j], Q[3 * i + j] += b[k][i] * a[k][j];
    double spread = P[0] + P[4] + P[8];
    if (!(spread > 0)) return 0;
    su_nearest_rotation(Q, R);
    double turned = squared_distance(count, R, a, b);
    /* flat neighbourhoods say nothing about the direction across, which then follows the rotation */
    for (int i = 0; i < 9; i++) Q[i] += 1e-3 * spread * R[i];
    for (int i = 0; i < 3; i++) P[4 * i] += 1e-3 * spread;
    if (su_inverse3(P, inverse) == 0) return turned;
    su_mul33(Q, inverse, F);
    su_svd3(F, u, s, v);
    for (int i = 0; i < 3; i++) s[i] = fmin(fmax(s[i], 1 / STRETCH), STRETCH);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            F[3 * i + j] =
                u[3 * i] * s[0] * v[3 * j] + u[3 * i + 1] * s[1] * v[3 * j + 1] + u[3 * i + 2] * s[2] * v[3 * j + 2];
    return fmin(turned, squared_distance(count, F, a, b));
}

su_status su_shape_change(int64_t n, const double *x, int64_t poses, const double *shapes, double radius, int threads,
                          double *misfit, su_error *err)
{
    sample *samples = NULL;
    int64_t *first = NULL, count = 0;
    double *points = NULL;
    su_kdtree *tree = NULL;
    su_status status;
    if (n == 0) return SU_OK;
    memset(misfit, 0, (size_t)n * sizeof *misfit);
    SU_GO(SU_ALLOC(&samples, n, "skin samples", err));
    SU_GO(SU_ALLOC(&first, n + 1, "skin samples", err));
    SU_GO(SU_ALLOC(&points, 3 * n, "skin samples", err));
    for (int64_t v = 0; v < n; v++) {
        uint32_t mixed = (uint32_t)v * 2654435761u; /* Knuth's multiplicative hash, then folded */
        samples[v].vertex = (int32_t)v, samples[v].order = (mixed ^ mixed >> 15) * 2246822519u;
        for (int i = 0; i < 3; i++)
            samples[v].cube[i] = (int64_t)floor(fmax(-1e15, fmin(1e15, x[3 * v + i] * SAMPLES / radius)));
    }
    su_sort(samples, (size_t)n, sizeof *samples, compare);
    for (int64_t k = 0; k < n; k++)
        if (k == 0 || memcmp(samples[k].cube, samples[k - 1].cube, sizeof samples->cube)) {
            memcpy(points + 3 * count, x + 3 * (int64_t)samples[k].vertex, 3 * sizeof *x);
            first[count++] = k;
        }
    first[count] = n;
    SU_GO(su_kdtree_create(count, points, &tree, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (int64_t k = 0; k < count; k++) {
        int32_t near[MOST];
        double distance[MOST], neutral[MOST][3], posed[MOST][3], worst = 0;
        int found = su_kdtree_nearest(tree, points + 3 * k, MOST, near, distance);
        while (found > LEAST && distance[found - 1] > radius) found--;
        /* a coarse skin is judged by a wider neighbourhood, whose misfit grows with the square of its size */
        double scale = found && distance[found - 1] > radius ? radius / distance[found - 1] : 1;
        for (int j = 0; j < found; j++) near[j] = samples[first[near[j]]].vertex;
        centre(found, near, x, neutral);
        for (int64_t pose = 0; pose < poses; pose++) {
            centre(found, near, shapes + 3 * pose * n, posed);
            worst = fmax(worst, misfit_of(found, neutral, posed));
        }
        for (int64_t j = first[k]; j < first[k + 1]; j++) misfit[samples[j].vertex] = scale * scale * sqrt(worst);
    }
    status = SU_OK;
done:
    su_kdtree_free(tree);
    free(samples), free(first), free(points);
    return status;
}
