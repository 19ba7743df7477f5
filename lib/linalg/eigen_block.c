#include "linalg/eigen_block.h"

#include "core/memory.h"
#include "core/random.h"
#include "linalg/eigen.h"
#include "linalg/lane_blocks.h"
#include "linalg/lanczos_single.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The space holds so many times the vectors wanted, or what is kept where that is more, and a block's width beside it
 * before it is cut down to its lowest: KEPT_TIMES the vectors wanted and a width. */
enum { MOST_TIMES = 16, KEPT_TIMES = 2 };
/* A vector counts as converged as long as its eigenvalue moves by less than this part of the largest wanted; the square
 * of any tolerance is below that. */
#define STILL 1e-10
/* Ritz vectors of the inverse in single precision are looked for to this part of their values: what is left then its
 * rounding leaves as well, and the steps in double take both out. */
#define SINGLE 3e-6
enum { MOST_STEPS = 400 };
/* Below this size, or this multiple of the vectors wanted, all eigenpairs are found by LAPACK. */
enum { DENSE_SIZE = 300, DENSE_MULTIPLE = 6 };
/* A direction whose square is less than this part of the longest of its block is rounding. */
#define DEPENDENT 1e-14
/* Directions of which less is left by what is taken out of them are gone through once more: what rounding leaves of it
 * is then no more than ten times that of a number (the test of Daniel, Gragg, Kaufman and Stewart 1976). */
#define LEFT 0.1

typedef struct space {
    const su_block_operator *A;
    int64_t count, most, m;  /* vectors wanted, room, present */
    double *V, *AV;          /* (most,size) vectors of the range of P, P A times them */
    double *G;               /* (most,most) V'AV, both triangles */
    double *Y, *theta;       /* (most,most), (most) its eigenvectors and values; theta is scratch while it grows */
    double *X, *R, *room;    /* (kept,size) Ritz vectors, (width,size) their residuals; scratch as X */
    double *small;           /* (most,most) */
    double *error, *settled; /* (count) residual last seen; eigenvalue at which it was within the tolerance, or NAN */
    int64_t *chosen;         /* (width) Ritz vectors at work */
    int64_t applications;
} space;

static void space_free(space *s)
{
    free(s->V), free(s->AV), free(s->G), free(s->Y), free(s->theta), free(s->X), free(s->R), free(s->room);
    free(s->small), free(s->error), free(s->settled), free(s->chosen);
}

static su_status space_create(const su_block_operator *A, int64_t count, space *s, su_error *err)
{
    int64_t kept = KEPT_TIMES * count + A->width;
    s->A = A, s->count = count;
    s->most = A->width + (MOST_TIMES * count > kept ? MOST_TIMES * count : kept);
    SU_TRY(SU_ROOM(&s->V, s->most * A->size, "eigenvectors", err));
    SU_TRY(SU_ROOM(&s->AV, s->most * A->size, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->G, s->most * s->most, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->Y, s->most * s->most, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->small, s->most * s->most, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->theta, s->most, "eigenvectors", err));
    SU_TRY(SU_ROOM(&s->X, kept * A->size, "eigenvectors", err));
    SU_TRY(SU_ROOM(&s->room, kept * A->size, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->error, count, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->settled, count, "eigenvectors", err));
    SU_TRY(SU_ALLOC(&s->chosen, A->width, "eigenvectors", err));
    for (int64_t k = 0; k < count; k++) s->error[k] = INFINITY, s->settled[k] = NAN;
    return SU_ROOM(&s->R, A->width * A->size, "eigenvectors", err);
}

static su_status project(const su_block_operator *A, int64_t columns, double *x, su_error *err)
{
    return A->project && columns ? A->project(A->context, columns, x, err) : SU_OK;
}

/* C (a,b) = X'Y over the vectors X (a,size), Y (b,size); columns of C are `rows` apart. */
static void products(int64_t size, int64_t a, const double *X, int64_t b, const double *Y, double *C, int64_t rows)
{
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)a, (int)b, (int)size, 1, X, (int)size, Y, (int)size, 0, C,
                (int)rows);
}

/* out (b,size) = combinations C (a,b) of the vectors X (a,size). */
static void combine(int64_t size, int64_t a, const double *X, int64_t b, const double *C, double *out)
{
    if (a > 0)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)size, (int)b, (int)a, 1, X, (int)size, C, (int)a, 0,
                    out, (int)size);
}

/* x (columns,size) -= V V' x */
static void remove_space(space *s, int64_t columns, double *x)
{
    int size = (int)s->A->size, m = (int)s->m;
    if (m == 0) return;
    products(size, m, s->V, columns, x, s->small, m);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, size, (int)columns, m, -1, s->V, size, s->small, m, 1, x,
                size);
}

/* Each of x (columns,size) to length 1, 0 as it is; *shortest the least there was. */
static su_status normalize(int64_t size, int64_t columns, double *x, double *shortest, su_error *err)
{
    *shortest = INFINITY;
    for (int64_t k = 0; k < columns; k++) {
        double norm = cblas_dnrm2((int)size, x + k * size, 1);
        if (!isfinite(norm)) return su_fail(err, SU_NUMERICS, "eigenvectors that are not finite");
        if (norm > 0) cblas_dscal((int)size, 1 / norm, x + k * size, 1);
        *shortest = fmin(*shortest, norm);
    }
    return SU_OK;
}

/* Orthonormal combinations of x (*columns,size), lengths 1, in its place, those that are rounding left out
 * (Stathopoulos and Wu 2002); *shortest the least length that a combination had. */
static su_status orthonormalize(space *s, int64_t *columns, double *x, double *shortest, su_error *err)
{
    int64_t size = s->A->size, count = *columns, kept = 0;
    double *gram = s->small, *values = s->theta;
    products(size, count, x, count, x, gram, count);
    SU_TRY(su_eigen_symmetric(count, gram, values, err));
    *shortest = 1;
    for (int64_t k = count - 1; k >= 0 && values[k] > DEPENDENT * values[count - 1] && values[k] > 0; k--, kept++) {
        cblas_dscal((int)count, 1 / sqrt(values[k]), gram + k * count, 1);
        *shortest = sqrt(values[k]);
    }
    if (kept > 0) {
        combine(size, count, x, kept, gram + (count - kept) * count, s->room);
        memcpy(x, s->room, (size_t)(kept * size) * sizeof *x);
    }
    *columns = kept;
    return SU_OK;
}

/* Takes what P leaves of x (columns,size) into the space, as far as it is new. */
static su_status extend(space *s, int64_t columns, double *x, su_error *err)
{
    int64_t size = s->A->size, m = s->m;
    double left = 0, shortest;
    SU_TRY(normalize(size, columns, x, &shortest, err)); /* columns of very different lengths count alike */
    for (int pass = 0; pass < 2 && columns > 0 && left < LEFT; pass++) {
        SU_TRY(project(s->A, columns, x, err));
        remove_space(s, columns, x);
        SU_TRY(normalize(size, columns, x, &left, err));
        SU_TRY(orthonormalize(s, &columns, x, &shortest, err));
        left *= shortest;
    }
    if (columns == 0) return SU_OK;
    memcpy(s->V + m * size, x, (size_t)(columns * size) * sizeof *x);
    SU_TRY(s->A->apply(s->A->context, columns, s->V + m * size, s->AV + m * size, err));
    SU_TRY(project(s->A, columns, s->AV + m * size, err));
    s->applications += columns, s->m += columns;
    products(size, s->m, s->V, columns, s->AV + m * size, s->G + m * s->most, s->most);
    for (int64_t j = m; j < s->m; j++)
        for (int64_t i = 0; i < j; i++) s->G[i * s->most + j] = s->G[j * s->most + i];
    return SU_OK;
}

static su_status ritz(space *s, su_error *err)
{
    for (int64_t j = 0; j < s->m; j++) memcpy(s->Y + j * s->m, s->G + j * s->most, (size_t)s->m * sizeof *s->Y);
    return su_eigen_symmetric(s->m, s->Y, s->theta, err);
}

/* Down to the lowest Ritz vectors. */
static void restart(space *s)
{
    int64_t size = s->A->size, keep = KEPT_TIMES * s->count + s->A->width;
    combine(size, s->m, s->V, keep, s->Y, s->room);
    memcpy(s->V, s->room, (size_t)(keep * size) * sizeof *s->V);
    combine(size, s->m, s->AV, keep, s->Y, s->room);
    memcpy(s->AV, s->room, (size_t)(keep * size) * sizeof *s->AV);
    memset(s->G, 0, (size_t)(s->most * s->most) * sizeof *s->G);
    memset(s->Y, 0, (size_t)(s->most * s->most) * sizeof *s->Y);
    for (int64_t k = 0; k < keep; k++) s->G[k * s->most + k] = s->theta[k], s->Y[k * keep + k] = 1;
    s->m = keep;
}

/* Of the lowest Ritz vectors that have not converged those whose residuals were largest, at most A->width; *chosen of
 * them. */
static void choose(space *s, int64_t *chosen)
{
    int64_t there = s->count < s->m ? s->count : s->m;
    *chosen = 0;
    for (int64_t k = 0; k < there; k++) {
        if (fabs(s->theta[k] - s->settled[k]) <= STILL * fabs(s->theta[there - 1])) continue;
        int64_t at = *chosen < s->A->width ? (*chosen)++ : s->A->width;
        for (; at > 0 && s->error[s->chosen[at - 1]] < s->error[k]; at--)
            if (at < s->A->width) s->chosen[at] = s->chosen[at - 1];
        if (at < s->A->width) s->chosen[at] = k;
    }
}

/* Preconditioned residuals of the chosen Ritz vectors, those that have converged left out, into R; *active of them. */
static su_status residuals(space *s, int64_t chosen, double tolerance, int64_t *active, su_error *err)
{
    int64_t size = s->A->size;
    *active = 0;
    for (int64_t k = 0; k < chosen; k++)
        memcpy(s->small + k * s->m, s->Y + s->chosen[k] * s->m, (size_t)s->m * sizeof *s->Y);
    combine(size, s->m, s->V, chosen, s->small, s->X);
    combine(size, s->m, s->AV, chosen, s->small, s->R);
    for (int64_t k = 0; k < chosen; k++)
        cblas_daxpy((int)size, -s->theta[s->chosen[k]], s->X + k * size, 1, s->R + k * size, 1);
    SU_TRY(s->A->precondition(s->A->context, chosen, s->R, err));
    if (!s->A->inverse) SU_TRY(project(s->A, chosen, s->R, err));
    for (int64_t k = 0; k < chosen; k++) {
        double norm = cblas_dnrm2((int)size, s->R + k * size, 1);
        s->error[s->chosen[k]] = norm;
        s->settled[s->chosen[k]] = norm <= tolerance ? s->theta[s->chosen[k]] : NAN;
        if (norm <= tolerance) continue;
        if (*active < k) memcpy(s->R + *active * size, s->R + k * size, (size_t)size * sizeof *s->R);
        (*active)++;
    }
    return SU_OK;
}

static su_status start(space *s, su_error *err)
{
    su_random random = su_random_seed(20230806, 0);
    int64_t entries = s->A->width * s->A->size;
    for (int64_t i = 0; i < entries; i++) s->R[i] = su_random_uniform(&random) - 0.5;
    SU_TRY(s->A->precondition(s->A->context, s->A->width, s->R, err)); /* smooth from the start */
    return extend(s, s->A->width, s->R, err);
}

/* The lowest vectors of a Krylov space of the inverse: right to single precision but for a few steps. */
static su_status start_by_inverse(space *s, su_error *err)
{
    const su_block_operator *A = s->A;
    const su_lanczos_operator T = {A->size, A->inverse, A->context};
    const su_lanczos_ends ends = {s->count, s->most < A->rank / 2 ? s->most : A->rank / 2, SINGLE};
    int64_t size = A->size, keep = s->count + A->width, kept, blocks = (keep + SU_LANES - 1) / SU_LANES;
    float *found = NULL;
    su_status status;
    SU_GO(SU_ROOM(&found, blocks * SU_LANES * size, "eigenvectors", err));
    SU_GO(su_lanczos_single(&T, &ends, keep, found, &kept, err));
    for (int64_t c = 0; c < kept; c++) {
        const float *from = found + c / SU_LANES * SU_LANES * size + c % SU_LANES;
        for (int64_t i = 0; i < size; i++) s->X[c * size + A->order[i]] = (double)from[SU_LANES * i];
    }
    SU_GO(extend(s, kept, s->X, err));
done:
    free(found);
    return status;
}

static double largest(int64_t count, const double *x)
{
    double most = 0;
    for (int64_t k = 0; k < count; k++) most = fmax(most, x[k]);
    return most;
}

static su_status solve(const su_block_operator *A, int64_t count, double tolerance, double *values, double *vectors,
                       su_block_report *report, const su_progress *progress, su_error *err)
{
    space s = {0};
    su_status status;
    SU_GO(space_create(A, count, &s, err));
    SU_GO(A->inverse ? start_by_inverse(&s, err) : start(&s, err));
    for (report->steps = 1;; report->steps++) {
        int64_t chosen, active = 0, before;
        if (su_progress_stopped(progress)) {
            status = su_fail(err, SU_AGAIN, "stopped");
            goto done;
        }
        SU_GO(ritz(&s, err));
        if (s.m + A->width > s.most) restart(&s);
        before = s.m;
        do {
            choose(&s, &chosen);
            if (chosen > 0) SU_GO(residuals(&s, chosen, tolerance, &active, err));
        } while (chosen > 0 && active == 0);
        if (chosen == 0 && s.m >= count) break;
        if (report->steps < MOST_STEPS) SU_GO(extend(&s, active, s.R, err));
        if (s.m == before) {
            status = su_fail(err, SU_NUMERICS, "the eigensolver stands at an error of %.1e after %lld steps",
                             largest(count, s.error), (long long)report->steps);
            goto done;
        }
    }
    memcpy(values, s.theta, (size_t)count * sizeof *values);
    combine(A->size, s.m, s.V, count, s.Y, vectors);
    report->applications = s.applications, report->residual = largest(count, s.error);
done:
    space_free(&s);
    return status;
}

/* All eigenpairs of P A P + c (1 - P), c above the spectrum. */
static su_status solve_dense(const su_block_operator *A, int64_t count, double *values, double *vectors, su_error *err)
{
    int64_t n = A->size;
    double *P = NULL, *B = NULL, *all = NULL, top = 0;
    su_status status;
    SU_GO(SU_ALLOC(&P, n * n, "dense eigenproblem", err));
    SU_GO(SU_ALLOC(&B, n * n, "dense eigenproblem", err));
    SU_GO(SU_ALLOC(&all, n, "dense eigenproblem", err));
    for (int64_t k = 0; k < n; k++) P[k * n + k] = 1;
    SU_GO(project(A, n, P, err));
    SU_GO(A->apply(A->context, n, P, B, err));
    SU_GO(project(A, n, B, err));
    for (int64_t k = 0; k < n; k++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += fabs(B[k * n + i]);
        top = fmax(top, sum);
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++) B[k * n + i] += 2 * top * ((i == k) - P[k * n + i]);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < k; i++) B[i * n + k] = B[k * n + i] = 0.5 * (B[i * n + k] + B[k * n + i]);
    SU_GO(su_eigen_symmetric(n, B, all, err));
    memcpy(values, all, (size_t)count * sizeof *values);
    memcpy(vectors, B, (size_t)(count * n) * sizeof *vectors);
done:
    free(P), free(B), free(all);
    return status;
}

su_status su_eigen_block(const su_block_operator *A, int64_t count, double tolerance, double *values, double *vectors,
                         su_block_report *report, const su_progress *progress, su_error *err)
{
    su_block_report unused;
    if (!report) report = &unused;
    *report = (su_block_report){0};
    if (count < 1 || count > A->rank)
        return su_fail(err, SU_INPUT, "%lld modes asked of %lld degrees of freedom", (long long)count,
                       (long long)A->rank);
    if (A->size <= DENSE_SIZE || A->rank < DENSE_MULTIPLE * (count + A->width))
        SU_TRY(solve_dense(A, count, values, vectors, err));
    else
        SU_TRY(solve(A, count, tolerance, values, vectors, report, progress, err));
    for (int pass = 0; pass < 2; pass++) SU_TRY(project(A, count, vectors, err));
    for (int64_t k = 0; k < count; k++) su_eigen_fix_sign(A->size, vectors + k * A->size);
    return SU_OK;
}
