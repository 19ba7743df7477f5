#include "geometry/ties.h"

#include "core/memory.h"
#include "geometry/kdtree.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define RIDGE 1e-4      /* on the linear part, over the sum of weights */
#define LARGEST_SUM 3.0 /* of |w|: deep vertices extrapolate from one side and would fold tets between the poses */

/* Sum over bones of the smaller weight: 1 where the same bones move both, 0 where none is common. */
static double overlap(int64_t B, const float *a, const float *b)
{
    double sum = 0;
    for (int64_t k = 0; k < B; k++) sum += fmin(a[k], b[k]);
    return fmin(fmax(sum, 0), 1);
}

/* Solves A x = (1, 0, 0, 0)' by Cholesky; A (4,4) is positive definite. */
static void solve4(double A[16], double x[4])
{
    double b[4] = {1, 0, 0, 0};
    for (int j = 0; j < 4; j++) {
        for (int k = 0; k < j; k++) A[5 * j] -= A[4 * j + k] * A[4 * j + k];
        A[5 * j] = sqrt(A[5 * j]);
        for (int i = j + 1; i < 4; i++) {
            for (int k = 0; k < j; k++) A[4 * i + j] -= A[4 * i + k] * A[4 * j + k];
            A[4 * i + j] /= A[5 * j];
        }
    }
    for (int i = 0; i < 4; i++) {
        x[i] = b[i];
        for (int k = 0; k < i; k++) x[i] -= A[4 * i + k] * x[k];
        x[i] /= A[5 * i];
    }
    for (int i = 3; i >= 0; i--) {
        for (int k = i + 1; k < 4; k++) x[i] -= A[4 * k + i] * x[k];
        x[i] /= A[5 * i];
    }
}

/* Weights at the origin of an affine fit through values at points P (count,3), by importance. The ridge grows until the
 * weights are moderate. */
static void affine_weights(int count, const double *P, double radius, const double *importance, double *weight)
{
    double moments[16] = {0};
    for (int k = 0; k < count; k++) {
        double row[4] = {1, P[3 * k] / radius, P[3 * k + 1] / radius, P[3 * k + 2] / radius};
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) moments[4 * i + j] += importance[k] * row[i] * row[j];
    }
    for (double ridge = RIDGE;; ridge *= 2) {
        double A[16], x[4], sum = 0, size = 0;
        memcpy(A, moments, sizeof A);
        for (int i = 1; i < 4; i++) A[5 * i] += ridge * A[0];
        solve4(A, x);
        for (int k = 0; k < count; k++) {
            const double *p = P + 3 * k;
            weight[k] = importance[k] * (x[0] + (x[1] * p[0] + x[2] * p[1] + x[3] * p[2]) / radius);
            sum += weight[k], size += fabs(weight[k]);
        }
        for (int k = 0; k < count; k++) weight[k] /= sum;
        if (size <= LARGEST_SUM * sum || ridge > 1e6) break;
    }
}

/* Ties of flesh vertex v among the skin vertices of a tree; of (tree's points) their numbers in the skin. */
static void tie_vertex(const su_kdtree *tree, const int32_t *of, const su_tie_skin *skin, const double *p, int32_t *at,
                       double *w)
{
    double distance[SU_TIES], importance[SU_TIES] = {0}, P[3 * SU_TIES];
    int found = su_kdtree_nearest(tree, p, SU_TIES, at, distance);
    for (int k = 0; k < found; k++) at[k] = of[at[k]];
    for (int k = found; k < SU_TIES; k++) at[k] = at[0];
    memset(w, 0, SU_TIES * sizeof *w);
    double radius = distance[found - 1];
    if (distance[0] == 0 || radius == 0) {
        w[0] = 1;
        return;
    }
    for (int k = 0; k < found; k++) {
        importance[k] = radius / distance[k];
        if (skin->skinning) {
            double same =
                overlap(skin->B, skin->skinning + skin->B * (int64_t)at[k], skin->skinning + skin->B * (int64_t)at[0]);
            importance[k] *= same * same;
        }
        for (int i = 0; i < 3; i++) P[3 * k + i] = skin->x[3 * (int64_t)at[k] + i] - p[i];
    }
    if (!(importance[0] > 0)) importance[0] = radius / distance[0]; /* a skin vertex without any bone */
    affine_weights(found, P, radius, importance, w);
}

typedef struct tie_flesh {
    int64_t n;
    const double *x;        /* (n,3) */
    const uint32_t *layers; /* (n) NULL: none */
} tie_flesh;

/* Ties of the flesh vertices of these layers, no others. */
static su_status tie_layers(const tie_flesh *flesh, uint32_t which, const su_tie_skin *skin, int threads,
                            int32_t *index, double *weight, su_error *err)
{
    su_kdtree *tree = NULL;
    int32_t *of = NULL;
    double *x = NULL;
    int64_t count = 0;
    su_status status;
    SU_GO(SU_ALLOC(&of, skin->count, "ties", err));
    SU_GO(SU_ALLOC(&x, 3 * skin->count, "ties", err));
    for (int64_t v = 0; v < skin->count; v++) {
        if (skin->layers && !(skin->layers[v] & which)) continue;
        memcpy(x + 3 * count, skin->x + 3 * v, 3 * sizeof *x);
        of[count++] = (int32_t)v;
    }
    SU_GO(su_kdtree_create(count, x, &tree, err));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t v = 0; v < flesh->n; v++)
        if (!flesh->layers || flesh->layers[v] == which)
            tie_vertex(tree, of, skin, flesh->x + 3 * v, index + SU_TIES * v, weight + SU_TIES * v);
done:
    su_kdtree_free(tree);
    free(of), free(x);
    return status;
}

su_status su_ties(int64_t n, const double *flesh, const uint32_t *layers, const su_tie_skin *skin, int threads,
                  int32_t *index, double *weight, su_error *err)
{
    const tie_flesh all = {n, flesh, layers};
    if (!layers) return tie_layers(&all, UINT32_MAX, skin, threads, index, weight, err);
    for (int64_t v = 0; v < n; v++) {
        bool met = false; /* few layers are there, and vertices of one lie together */
        for (int64_t k = v - 1; k >= 0 && !met; k--) met = layers[k] == layers[v];
        if (!met) SU_TRY(tie_layers(&all, layers[v], skin, threads, index, weight, err));
    }
    return SU_OK;
}
