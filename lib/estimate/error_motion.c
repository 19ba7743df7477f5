#include "estimate/error_motion.h"

#include "linalg/eigen.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Of the largest eigenvalue: below it there is no stiffness to speak of, and no static answer. */
static const double LACKING = 1e-8;

su_status su_error_motion_create(int64_t r, double alpha, double beta, double h, su_error_motion *s, su_error *err)
{
    *s = (su_error_motion){.r = r, .alpha = alpha, .beta = beta, .h = h};
    double **vectors[] = {&s->x, &s->rate, &s->force, &s->load, &s->values}, **matrices[] = {&s->K, &s->mean, &s->A};
    for (int k = 0; k < 8; k++) {
        double **out = k < 5 ? vectors[k] : matrices[k - 5];
        if (!(*out = su_arena_alloc(&s->arena, k < 5 ? r : r * r, sizeof(double)))) {
            su_error_motion_free(s);
            return su_fail(err, SU_AGAIN, "no memory for the error of %lld modes", (long long)r);
        }
    }
    return SU_OK;
}

void su_error_motion_free(su_error_motion *s)
{
    su_arena_free(&s->arena);
    *s = (su_error_motion){0};
}

void su_error_motion_restart(su_error_motion *s)
{
    memset(s->rate, 0, (size_t)s->r * sizeof *s->rate);
    memset(s->force, 0, (size_t)s->r * sizeof *s->force);
}

/* K without what it has below zero. Its Cholesky factor says whether there is any. */
static su_status make_semidefinite(int64_t r, double *K, double *scratch, double *values, su_error *err)
{
    memcpy(scratch, K, (size_t)(r * r) * sizeof *K);
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', (lapack_int)r, scratch, (lapack_int)r) == 0) return SU_OK;
    memcpy(scratch, K, (size_t)(r * r) * sizeof *K);
    SU_TRY(su_eigen_symmetric(r, scratch, values, err));
    for (int64_t k = 0; k < r && values[k] < 0; k++)
        cblas_dsyr(CblasColMajor, CblasLower, (int)r, -values[k], scratch + k * r, 1, K, (int)r);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < i; j++) K[i * r + j] = K[j * r + i];
    return SU_OK;
}

su_status su_error_motion_advance(su_error_motion *s, int64_t steps, const double *M, const double *K, const double *f,
                                  su_error *err)
{
    int64_t r = s->r;
    double h = s->h, inertia = (1 / h + s->alpha) / h, stiff = 1 + s->beta / h;
    for (int64_t k = 0; k < r * r; k++) s->mean[k] = s->begun ? 0.5 * (s->K[k] + K[k]) : K[k];
    SU_TRY(make_semidefinite(r, s->mean, s->A, s->values, err));
    for (int64_t k = 0; k < r * r; k++) s->A[k] = inertia * M[k] + stiff * s->mean[k];
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', (lapack_int)r, s->A, (lapack_int)r) != 0)
        return su_fail(err, SU_NUMERICS, "the reduced error has no definite matrix");
    for (int64_t step = 1; step <= steps; step++) {
        double along = (double)step / (double)steps;
        for (int64_t k = 0; k < r; k++) {
            s->load[k] = (1 - along) * s->force[k] + along * f[k];
            s->values[k] = inertia * s->x[k] + s->rate[k] / h;
        }
        cblas_dsymv(CblasColMajor, CblasLower, (int)r, 1, M, (int)r, s->values, 1, 1, s->load, 1);
        cblas_dsymv(CblasColMajor, CblasLower, (int)r, s->beta / h, s->mean, (int)r, s->x, 1, 1, s->load, 1);
        LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', (lapack_int)r, 1, s->A, (lapack_int)r, s->load, (lapack_int)r);
        for (int64_t k = 0; k < r; k++) s->rate[k] = (s->load[k] - s->x[k]) / h, s->x[k] = s->load[k];
    }
    s->begun = true;
    memcpy(s->K, K, (size_t)(r * r) * sizeof *K);
    memcpy(s->force, f, (size_t)r * sizeof *f);
    return SU_OK;
}

/* Is a Cholesky factor of a matrix that has no eigenvalue near 0, by its diagonal? */
static bool well_conditioned(int64_t r, const double *factor)
{
    double low = INFINITY, high = 0;
    for (int64_t k = 0; k < r; k++) low = fmin(low, factor[k * (r + 1)]), high = fmax(high, factor[k * (r + 1)]);
    return low * low > LACKING * high * high;
}

su_status su_reduced_answer(int64_t r, const double *K, const double *f, double *x, double *scratch, double *values,
                            su_error *err)
{
    memcpy(scratch, K, (size_t)(r * r) * sizeof *K);
    memcpy(x, f, (size_t)r * sizeof *f);
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', (lapack_int)r, scratch, (lapack_int)r) == 0 &&
        well_conditioned(r, scratch)) {
        LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', (lapack_int)r, 1, scratch, (lapack_int)r, x, (lapack_int)r);
        return SU_OK;
    }
    memcpy(scratch, K, (size_t)(r * r) * sizeof *K);
    SU_TRY(su_eigen_symmetric(r, scratch, values, err));
    memset(x, 0, (size_t)r * sizeof *x);
    for (int64_t k = 0; k < r; k++) {
        if (values[k] <= LACKING * values[r - 1]) continue;
        cblas_daxpy((int)r, cblas_ddot((int)r, scratch + k * r, 1, f, 1) / values[k], scratch + k * r, 1, x, 1);
    }
    return SU_OK;
}
