#include "linalg/eigen.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <arpack/arpack.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DENSE_LIMIT = 240 }; /* below this size (or three times the count) all eigenpairs are found by LAPACK */

void su_eigen_fix_sign(int64_t size, double *vector)
{
    double largest = 0;
    for (int64_t i = 0; i < size; i++) largest = fmax(largest, fabs(vector[i]));
    for (int64_t i = 0; i < size; i++) {
        if (fabs(vector[i]) < (1 - 1e-6) * largest) continue;
        if (vector[i] < 0)
            for (int64_t k = 0; k < size; k++) vector[k] = -vector[k];
        return;
    }
}

su_status su_eigen_symmetric(int64_t size, double *matrix, double *values, su_error *err)
{
    if (size == 0) return SU_OK;
    for (int64_t i = 0; i < size * size; i++)
        if (!isfinite(matrix[i])) return su_fail(err, SU_NUMERICS, "eigenproblem with entries that are not finite");
    int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', (lapack_int)size, matrix, (lapack_int)size, values);
    if (info != 0)
        return su_fail(err, su_lapack_status(info, SU_NUMERICS), "dense eigenproblem of size %lld did not converge",
                       (long long)size);
    return SU_OK;
}

su_status su_eigen_generalized(int64_t size, double *A, double *B, double *values, const char *dependent, su_error *err)
{
    lapack_int n = (lapack_int)size;
    int info = LAPACKE_dsygvd(LAPACK_COL_MAJOR, 1, 'V', 'L', n, A, n, B, n, values);
    if (info == 0) return SU_OK;
    su_status status = su_lapack_status(info, SU_NUMERICS);
    return info > n ? su_fail(err, status, "%s (%d of %d)", dependent, (int)(info - n), (int)n)
                    : su_fail(err, status, "dense eigenproblem of size %d did not converge", (int)n);
}

typedef struct problem {
    int64_t size, count, applications;
    const su_inverse *inverse;
    double *root; /* (size) M^1/2 */
    const su_eigen_watch *watch;
    const su_progress *progress;
} problem;

/* y = M^1/2 S M^1/2 x */
static su_status apply(problem *p, const double *x, double *y, su_error *err)
{
    if (su_progress_stopped(p->progress)) return su_fail(err, SU_AGAIN, "stopped");
    for (int64_t i = 0; i < p->size; i++) y[i] = p->root[i] * x[i];
    SU_TRY(p->inverse->apply(p->inverse->context, 1, y, y, err));
    for (int64_t i = 0; i < p->size; i++) y[i] *= p->root[i];
    p->applications++;
    return SU_OK;
}

/* Leading eigenvectors psi (count,size) of M^1/2 S M^1/2 with theta descending; small sizes. */
static su_status solve_dense(problem *p, double *theta, double *psi, su_error *err)
{
    int64_t size = p->size;
    double *matrix = NULL, *all = NULL, *unit = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&matrix, size * size, "dense eigenproblem", err));
    SU_GO(SU_ALLOC(&all, size, "dense eigenproblem", err));
    SU_GO(SU_ALLOC(&unit, size, "dense eigenproblem", err));
    for (int64_t j = 0; j < size; j++) {
        memset(unit, 0, (size_t)size * sizeof *unit);
        unit[j] = 1;
        SU_GO(apply(p, unit, matrix + j * size, err));
    }
    for (int64_t j = 0; j < size; j++)
        for (int64_t i = j + 1; i < size; i++)
            matrix[j * size + i] = 0.5 * (matrix[j * size + i] + matrix[i * size + j]);
    SU_GO(su_eigen_symmetric(size, matrix, all, err));
    for (int64_t k = 0; k < p->count; k++) {
        theta[k] = all[size - 1 - k];
        memcpy(psi + k * size, matrix + (size - 1 - k) * size, (size_t)size * sizeof *psi);
    }
    status = SU_OK;
done:
    free(matrix), free(all), free(unit);
    return status;
}

/* Ritz values that have converged, as of ARPACK's last restart: it leaves them and their error estimates in workl (6th
 * and 7th of ipntr). */
static int64_t converged(a_int ncv, a_int wanted, double tolerance, const a_int *ipntr, const double *workl)
{
    int64_t count = 0;
    if (ipntr[5] < 1 || ipntr[6] < 1) return 0;
    for (a_int j = 0; j < ncv; j++) {
        double ritz = fabs(workl[ipntr[5] - 1 + j]), estimate = fabs(workl[ipntr[6] - 1 + j]);
        count += ritz > 0 && estimate <= tolerance * ritz;
    }
    return count < wanted ? count : wanted;
}

/* The same by ARPACK's implicitly restarted Lanczos method, by reverse communication. */
static su_status solve_arpack(problem *p, double *theta, double *psi, su_error *err)
{
    a_int n = (a_int)p->size, wanted = (a_int)p->count, ncv = 2 * wanted + 20 < n ? 2 * wanted + 20 : n;
    a_int ido = 0, info = 1 /* start vector given */, iparam[11] = {0}, ipntr[14] = {0}, lworkl = ncv * (ncv + 8);
    double *residual = NULL, *basis = NULL, *workd = NULL, *workl = NULL;
    a_int *select = NULL;
    uint64_t seed = 20160724;
    const double tolerance = 1e-12;
    su_status status;
    SU_GO(SU_ALLOC(&residual, n, "eigenvectors", err));
    SU_GO(SU_ALLOC(&basis, (int64_t)ncv * n, "eigenvectors", err));
    SU_GO(SU_ALLOC(&workd, 3 * (int64_t)n, "eigenvectors", err));
    SU_GO(SU_ALLOC(&workl, lworkl, "eigenvectors", err));
    SU_GO(SU_ALLOC(&select, ncv, "eigenvectors", err));
    for (a_int i = 0; i < n; i++) { /* without symmetry, so that it misses no mode */
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        residual[i] = p->root[i] * ((double)(seed >> 11) / (double)(1ull << 53) - 0.5);
    }
    /* In the range of the operator from the start: constraints leave directions that it maps to zero. */
    SU_GO(apply(p, residual, residual, err));
    iparam[0] = 1, iparam[2] = 300, iparam[3] = 1, iparam[6] = 1;
    for (;;) {
        dsaupd_c(&ido, "I", n, "LM", wanted, tolerance, residual, ncv, basis, n, iparam, ipntr, workd, workl, lworkl,
                 &info);
        if (ido != 1 && ido != -1) break;
        SU_GO(apply(p, workd + ipntr[0] - 1, workd + ipntr[1] - 1, err));
        if (p->watch)
            p->watch->tell(p->watch->context, converged(ncv, wanted, tolerance, ipntr, workl), wanted, p->applications);
    }
    if (info != 0 || iparam[4] < wanted) {
        status =
            su_fail(err, SU_NUMERICS, "the eigensolver found %d of %d modes (ARPACK info %d)", iparam[4], wanted, info);
        goto done;
    }
    dseupd_c(1, "A", select, theta, basis, n, 0.0, "I", n, "LM", wanted, tolerance, residual, ncv, basis, n, iparam,
             ipntr, workd, workl, lworkl, &info);
    if (info != 0) {
        status = su_fail(err, SU_NUMERICS, "the eigensolver cannot give its vectors (ARPACK info %d)", info);
        goto done;
    }
    for (a_int k = 0; k < wanted; k++) /* ARPACK orders the values upwards */
        memcpy(psi + (size_t)k * (size_t)n, basis + (size_t)(wanted - 1 - k) * (size_t)n, (size_t)n * sizeof *psi);
    for (a_int k = 0; k < wanted / 2; k++) {
        double swap = theta[k];
        theta[k] = theta[wanted - 1 - k], theta[wanted - 1 - k] = swap;
    }
    status = SU_OK;
done:
    free(residual), free(basis), free(workd), free(workl), free(select);
    return status;
}

/* Y = S M^1/2 Psi / theta, then Rayleigh-Ritz in its span: with B = Y' M Y and A = Y' (K + shift M) Y = Psi' M^1/2 Y /
 * theta. The error of Y in stiff directions is that of Psi times theta/theta_stiff, and B-orthonormal combinations are
 * M-orthonormal. */
static su_status refine(problem *p, const double *mass, double shift, const double *theta, const double *psi,
                        double *values, double *vectors, su_error *err)
{
    int64_t size = p->size, count = p->count;
    double *y = NULL, *scaled = NULL, *a = NULL, *b = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&y, size * count, "eigenvectors", err));
    SU_GO(SU_ALLOC(&scaled, size * count, "eigenvectors", err));
    SU_GO(SU_ALLOC(&a, count * count, "eigenvectors", err));
    SU_GO(SU_ALLOC(&b, count * count, "eigenvectors", err));
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < size; i++) scaled[k * size + i] = p->root[i] * psi[k * size + i] / theta[k];
    SU_GO(p->inverse->apply(p->inverse->context, count, scaled, y, err));
    p->applications += count;
    int n = (int)size, c = (int)count;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, c, c, n, 1, scaled, n, y, n, 0, a, c);
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < size; i++) scaled[k * size + i] = mass[i] * y[k * size + i];
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, c, c, n, 1, scaled, n, y, n, 0, b, c);
    int info = LAPACKE_dsygvd(LAPACK_COL_MAJOR, 1, 'V', 'L', c, a, c, b, c, values);
    if (info != 0) {
        status = su_fail(err, su_lapack_status(info, SU_NUMERICS), "the eigenvectors found are dependent");
        goto done;
    }
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, c, c, 1, y, n, a, c, 0, vectors, n);
    for (int64_t k = 0; k < count; k++) {
        values[k] -= shift;
        su_eigen_fix_sign(size, vectors + k * size);
    }
    status = SU_OK;
done:
    free(y), free(scaled), free(a), free(b);
    return status;
}

su_status su_eigen_lowest(const su_eigen_problem *of, int64_t count, double *values, double *vectors,
                          int64_t *applications, su_error *err)
{
    int64_t size = of->size, rank = of->rank;
    problem p = {.size = size, .count = count, .inverse = &of->inverse, .watch = of->watch, .progress = of->progress};
    double *theta = NULL, *psi = NULL;
    su_status status;
    if (count < 1 || count > rank)
        return su_fail(err, SU_INPUT, "%lld modes asked of %lld degrees of freedom", (long long)count, (long long)rank);
    SU_GO(SU_ALLOC(&p.root, size, "eigenvectors", err));
    SU_GO(SU_ALLOC(&theta, count, "eigenvectors", err));
    SU_GO(SU_ALLOC(&psi, size * count, "eigenvectors", err));
    for (int64_t i = 0; i < size; i++) p.root[i] = sqrt(of->mass[i]);
    if (size <= DENSE_LIMIT || 3 * count >= rank)
        SU_GO(solve_dense(&p, theta, psi, err));
    else {
#pragma omp critical(su_arpack) /* ARPACK keeps state in static variables between its calls */
        status = solve_arpack(&p, theta, psi, err);
        if (status != SU_OK) goto done;
    }
    SU_GO(refine(&p, of->mass, of->shift, theta, psi, values, vectors, err));
    if (applications) *applications = p.applications;
    status = SU_OK;
done:
    free(p.root), free(theta), free(psi);
    return status;
}
