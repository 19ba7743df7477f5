#include "rig/rbf_train.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>

#define NEAREST 1e-6 /* two poses nearer than this are an error (docs/formats.md, convention 19) */

/* distance (m,m) between the scaled poses; SU_INPUT where two of them coincide. */
static su_status pose_distances(int64_t m, int64_t s, const double *params, const double *scale, double *distance,
                                su_error *err)
{
    for (int64_t i = 0; i < m; i++) {
        distance[i * m + i] = 0.0;
        for (int64_t j = 0; j < i; j++) {
            double sum = 0.0;
            for (int64_t k = 0; k < s; k++) {
                double d = (params[i * s + k] - params[j * s + k]) * scale[k];
                sum += d * d;
            }
            double r = sqrt(sum);
            if (!(r >= NEAREST))
                return su_fail(err, SU_INPUT,
                               "example poses %lld and %lld are %.3g apart, nearer than 1e-6; remove one", (long long)j,
                               (long long)i, r);
            distance[i * m + j] = distance[j * m + i] = r;
        }
    }
    return SU_OK;
}

/* Solves A X = B in place (row-major, B (size,columns) becomes X), refining the solution once; A is kept. What LAPACK
 * says: not 0 where A is singular to working precision, and where memory is missing. */
static int solve_dense(int64_t size, const double *a, int64_t columns, double *b, double *lu, double *rest, int *pivots)
{
    lapack_int n = (lapack_int)size, c = (lapack_int)columns;
    double norm = 0.0, rcond = 0.0;
    for (int64_t j = 0; j < size; j++) {
        double sum = 0.0;
        for (int64_t i = 0; i < size; i++) sum += fabs(a[i * size + j]);
        norm = fmax(norm, sum);
    }
    for (int64_t i = 0; i < size * size; i++) lu[i] = a[i];
    for (int64_t i = 0; i < size * columns; i++) rest[i] = b[i];
    int info = LAPACKE_dgetrf(LAPACK_ROW_MAJOR, n, n, lu, n, pivots);
    if (info == 0) info = LAPACKE_dgecon(LAPACK_ROW_MAJOR, '1', n, lu, n, norm, &rcond);
    if (info == 0 && !(rcond > 1e-14)) info = 1;
    if (info == 0) info = LAPACKE_dgetrs(LAPACK_ROW_MAJOR, 'N', n, c, lu, n, pivots, b, c);
    if (info != 0) return info;
    for (int64_t i = 0; i < size; i++)
        for (int64_t k = 0; k < size; k++)
            for (int64_t j = 0; j < columns; j++) rest[i * columns + j] -= a[i * size + k] * b[k * columns + j];
    info = LAPACKE_dgetrs(LAPACK_ROW_MAJOR, 'N', n, c, lu, n, pivots, rest, c);
    for (int64_t i = 0; i < size * columns && info == 0; i++) b[i] += rest[i];
    return info;
}

su_status su_rbf_train(int64_t m, int64_t s, const double *params, const double *scale, double *rbf, su_error *err)
{
    if (m < 1) return su_fail(err, SU_INPUT, "no example poses");
    if (m == 1) {
        rbf[0] = 1.0;
        return SU_OK;
    }
    su_arena arena = {0};
    su_status status = SU_OK;
    double *distance = su_arena_alloc(&arena, m * m, sizeof *distance);
    double *lu = su_arena_alloc(&arena, m * m, sizeof *lu), *rest = su_arena_alloc(&arena, m * m, sizeof *rest);
    int *pivots = su_arena_alloc(&arena, m, sizeof *pivots);
    if (!distance || !lu || !rest || !pivots) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the weights of %lld poses", (long long)m);
        goto done;
    }
    SU_GO(pose_distances(m, s, params, scale, distance, err));
    /* Distance matrices of distinct points are never singular (Micchelli 1986). */
    for (int64_t i = 0; i < m * m; i++) rbf[i] = i % (m + 1) == 0;
    int info = solve_dense(m, distance, m, rbf, lu, rest, pivots);
    if (info != 0)
        status = su_fail(err, su_lapack_status(info, SU_NUMERICS),
                         "the weights of %lld example poses cannot be told apart; remove near ones", (long long)m);
done:
    su_arena_free(&arena);
    return status;
}

/* Principal axes of the scaled, centred poses: mean (s), axes (s, up to limit) row-major with `limit` columns; returns
 * how many are in use, the rank or the limit, or -1. */
static int64_t principal_axes(int64_t m, int64_t s, const double *params, const double *scale, int64_t limit,
                              double *mean, double *axes, su_arena *arena)
{
    int64_t least = m < s ? m : s;
    double *z = su_arena_alloc(arena, m * s, sizeof *z), *singular = su_arena_alloc(arena, least, sizeof *singular);
    double *vt = su_arena_alloc(arena, least * s, sizeof *vt), *u = su_arena_alloc(arena, m * least, sizeof *u);
    double *super = su_arena_alloc(arena, least, sizeof *super);
    if (!z || !singular || !vt || !u || !super) return -1;
    for (int64_t k = 0; k < s; k++) {
        mean[k] = 0.0;
        for (int64_t i = 0; i < m; i++) mean[k] += params[i * s + k] / (double)m;
        for (int64_t i = 0; i < m; i++) z[i * s + k] = (params[i * s + k] - mean[k]) * scale[k];
    }
    if (least == 0) return 0;
    if (LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'S', 'S', (lapack_int)m, (lapack_int)s, z, (lapack_int)s, singular, u,
                       (lapack_int)least, vt, (lapack_int)s, super) != 0)
        return -1;
    int64_t count = 0;
    while (count < limit && count < least && singular[count] > 1e-9 * singular[0]) count++;
    for (int64_t k = 0; k < s; k++)
        for (int64_t c = 0; c < count; c++) axes[k * limit + c] = vt[c * s + k];
    return count;
}

su_status su_basis_rbf_train(int64_t m, int64_t s, const double *params, const double *scale, int64_t *columns,
                             double *basis_rbf, su_error *err)
{
    *columns = 0;
    if (m <= 2) return SU_OK;
    su_arena arena = {0};
    su_status status = SU_OK;
    int64_t limit = m - 2, most = m + 1 + limit;
    double *distance = su_arena_alloc(&arena, m * m, sizeof *distance);
    double *mean = su_arena_alloc(&arena, s, sizeof *mean), *axes = su_arena_alloc(&arena, s * limit, sizeof *axes);
    double *a = su_arena_alloc(&arena, most * most, sizeof *a), *lu = su_arena_alloc(&arena, most * most, sizeof *lu);
    double *x = su_arena_alloc(&arena, most * m, sizeof *x), *rest = su_arena_alloc(&arena, most * m, sizeof *rest);
    int *pivots = su_arena_alloc(&arena, most, sizeof *pivots);
    int64_t axis_count = 0;
    if (distance && mean && axes && a && lu && x && rest && pivots)
        axis_count = principal_axes(m, s, params, scale, limit, mean, axes, &arena);
    if (!distance || !mean || !axes || !a || !lu || !x || !rest || !pivots || axis_count < 0) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the basis weights of %lld poses", (long long)m);
        goto done;
    }
    SU_GO(pose_distances(m, s, params, scale, distance, err));
    double unit = 0.0; /* lengths are divided by the largest distance, so that the two blocks are of one size */
    for (int64_t i = 0; i < m * m; i++) unit = fmax(unit, distance[i]);

    /* [Phi P; P' 0] with Phi = r^3 and P = [1, principal coordinates]. With fewer coordinates than the rank the system
     * is singular for rare arrangements of poses (three poses with a base of 4^(1/3) legs): then take one axis less. */
    int64_t size = 0;
    for (;; axis_count--) {
        if (axis_count < 0) goto done; /* b = w */
        size = m + 1 + axis_count;
        for (int64_t i = 0; i < size * size; i++) a[i] = 0.0;
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < m; j++) a[i * size + j] = pow(distance[i * m + j] / unit, 3.0);
            a[i * size + m] = a[m * size + i] = 1.0;
            for (int64_t c = 0; c < axis_count; c++) {
                double y = 0.0;
                for (int64_t k = 0; k < s; k++)
                    y += (params[i * s + k] - mean[k]) * scale[k] * axes[k * limit + c] / unit;
                a[i * size + m + 1 + c] = a[(m + 1 + c) * size + i] = y;
            }
        }
        for (int64_t i = 0; i < size; i++)
            for (int64_t j = 0; j < m; j++) x[i * m + j] = i == j;
        int info = solve_dense(size, a, m, x, lu, rest, pivots);
        if (info == 0) break;
        if (su_lapack_status(info, SU_OK) != SU_OK) {
            status = su_fail(err, SU_AGAIN, "not enough memory for the basis weights of %lld poses", (long long)m);
            goto done;
        }
    }

    *columns = m + 1 + s;
    for (int64_t i = 0; i < m; i++) {
        double *row = basis_rbf + i * *columns;
        for (int64_t j = 0; j < m; j++) row[j] = x[j * m + i] / (unit * unit * unit);
        row[m] = x[m * m + i];
        for (int64_t k = 0; k < s; k++) {
            double slope = 0.0;
            for (int64_t c = 0; c < axis_count; c++) slope += axes[k * limit + c] * x[(m + 1 + c) * m + i];
            row[m + 1 + k] = slope * scale[k] / unit;
            row[m] -= row[m + 1 + k] * mean[k];
        }
    }
done:
    su_arena_free(&arena);
    return status;
}
