#include "reduce/align/interpolate.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "reduce/align/align.h"

#include <string.h>

/* Norm lower bound of docs/formats.md, convention 18: a column that all but vanishes between poses must not be blown
 * up. */
#define LEAST_NORM 0.1

static void add_turned(int64_t n, double weight, const double *quaternions, const double *from, double *to)
{
    for (int64_t v = 0; v < n; v++) {
        double y[3];
        su_turn_vectors(1, quaternions + 4 * v, from + 3 * v, y);
        for (int i = 0; i < 3; i++) to[3 * v + i] += weight * y[i];
    }
}

void su_interpolate_basis(const su_pose_bases *bases, const double *weights, const double *rotation, double *U,
                          int threads)
{
    int64_t m = bases->m, r = bases->r, n = bases->n;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t k = 0; k < r; k++) {
        double *u = U + 3 * k * n;
        memset(u, 0, (size_t)(3 * n) * sizeof *u);
        for (int64_t i = 0; i < m; i++) {
            const double *from = bases->basis + 3 * (i * r + k) * n;
            if (weights[i] == 0) continue;
            if (bases->mode == SU_LINEAR)
                add_turned(n, weights[i], bases->rotations + 4 * i * n, from, u);
            else
                for (int64_t a = 0; a < 3 * n; a++) u[a] += weights[i] * from[a];
        }
        double norm2 = 0;
        for (int64_t v = 0; v < n; v++) norm2 += bases->mass[v] * su_dot3(u + 3 * v, u + 3 * v);
        double scale = 1 / fmax(sqrt(norm2), LEAST_NORM);
        for (int64_t a = 0; a < 3 * n; a++) u[a] *= scale;
    }
    if (bases->mode == SU_COROTATED) su_turn_basis(r, n, rotation, 0, U, U, threads);
}
