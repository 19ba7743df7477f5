#include "reduce/cubature/linear_fit.h"

#include "core/lapack.h"
#include "core/memory.h"
#include "core/order.h"
#include "linalg/eigen.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Matrices lie by columns, so states are columns; of symmetric ones the lower triangle is meant. With K = L L', L'q and
 * L^-1 f have lengths whose squares are energies. */
typedef struct workspace {
    double *L;               /* (r,r) */
    double *state, *lack;    /* (count,r) c L'q, c L^-1 (lacking), c what a state counts by */
    double *A, *B, *T;       /* (r,r) */
    double *l;               /* (r) */
    double *length, *sorted; /* (count) */
    su_arena arena;          /* owns all of these */
} workspace;

static su_status workspace_create(const su_linear_fit *fit, workspace *w, su_error *err)
{
    int64_t square = fit->r * fit->r, states = fit->r * fit->count;
    return SU_TAKE_ALL(&w->arena, "states", err, SU_WANT(w->L, square), SU_WANT(w->state, states),
                       SU_WANT(w->lack, states), SU_WANT(w->A, square), SU_WANT(w->B, square), SU_WANT(w->T, square),
                       SU_WANT(w->l, fit->r), SU_WANT(w->length, fit->count), SU_WANT(w->sorted, fit->count));
}

/* The upper triangle as the lower one. */
static void mirror(int r, double *A)
{
    for (int64_t j = 0; j < r; j++)
        for (int64_t i = j + 1; i < r; i++) A[i * r + j] = A[j * r + i];
}

/* States and what is lacking in lengths of energy, each divided by its own and by the root of their number. False where
 * nothing moves. */
static bool weigh(const su_linear_fit *fit, workspace *w)
{
    int r = (int)fit->r, count = (int)fit->count;
    memcpy(w->state, fit->q, (size_t)(fit->r * fit->count) * sizeof *w->state);
    memcpy(w->lack, fit->lacking, (size_t)(fit->r * fit->count) * sizeof *w->lack);
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, r, count, 1, w->L, r, w->state, r);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, r, count, 1, w->L, r, w->lack, r);
    for (int64_t k = 0; k < count; k++) w->length[k] = cblas_dnrm2(r, w->state + k * r, 1);
    memcpy(w->sorted, w->length, (size_t)count * sizeof *w->sorted);
    su_sort(w->sorted, (size_t)count, sizeof *w->sorted, su_order_doubles);
    double least = fit->least * w->sorted[count / 2];
    if (w->sorted[count - 1] <= 0) return false;
    for (int64_t k = 0; k < count; k++) {
        double factor = w->length[k] + least > 0 ? 1 / ((w->length[k] + least) * sqrt((double)count)) : 0;
        cblas_dscal(r, factor, w->state + k * r, 1);
        cblas_dscal(r, factor, w->lack + k * r, 1);
    }
    return true;
}

/* w->T = Delta in the frame of L: sum |Delta s - e|^2 + prior tr(A)/r |Delta|^2 is least over the symmetric ones, A =
 * sum s s', where A Delta + Delta A + 2 prior tr(A)/r Delta = sum (e s' + s e'), which the eigenvectors of A take
 * apart. */
static su_status least_squares(const su_linear_fit *fit, workspace *w, su_error *err)
{
    int r = (int)fit->r, count = (int)fit->count;
    double mean = 0;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, r, count, 1, w->state, r, 0, w->A, r);
    cblas_dsyr2k(CblasColMajor, CblasLower, CblasNoTrans, r, count, 1, w->lack, r, w->state, r, 0, w->B, r);
    for (int64_t i = 0; i < r; i++) mean += w->A[i * r + i] / r;
    SU_TRY(su_eigen_symmetric(r, w->A, w->l, err));
    cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, r, r, 1, w->B, r, w->A, r, 0, w->T, r);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, r, r, r, 1, w->A, r, w->T, r, 0, w->B, r);
    for (int64_t j = 0; j < r; j++)
        for (int64_t i = 0; i < r; i++) w->B[j * r + i] /= fmax(w->l[i], 0) + fmax(w->l[j], 0) + 2 * fit->prior * mean;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, r, r, r, 1, w->B, r, w->A, r, 0, w->T, r);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, r, r, r, 1, w->A, r, w->T, r, 0, w->B, r);
    memcpy(w->T, w->B, (size_t)(fit->r * fit->r) * sizeof *w->T);
    return SU_OK;
}

/* w->T += L^-1 D L^-T, eigenvalues bounded below; D = L w->T L'. Leaves in w->B what was added in the frame of L. */
static su_status add_bounded(const su_linear_fit *fit, workspace *w, double *linear, su_error *err)
{
    int r = (int)fit->r;
    size_t bytes = (size_t)(fit->r * fit->r) * sizeof *linear;
    double *old = w->B;
    memcpy(old, linear, bytes);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, r, r, 1, w->L, r, old, r);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, r, r, 1, w->L, r, old, r);
    for (int64_t i = 0; i < (int64_t)r * r; i++) w->A[i] = w->T[i] + old[i];
    SU_TRY(su_eigen_symmetric(r, w->A, w->l, err));
    memset(w->T, 0, bytes);
    for (int64_t k = 0; k < r; k++)
        cblas_dsyr(CblasColMajor, CblasLower, r, fmax(w->l[k], -fit->most_taken), w->A + k * r, 1, w->T, r);
    mirror(r, w->T);
    for (int64_t i = 0; i < (int64_t)r * r; i++) old[i] = w->T[i] - old[i];
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, r, r, 1, w->L, r, w->T, r);
    cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, r, r, 1, w->L, r, w->T, r);
    mirror(r, w->T); /* symmetric to the last bit */
    memcpy(linear, w->T, bytes);
    return SU_OK;
}

su_status su_fit_linear_force(const su_linear_fit *fit, double *linear, su_linear_fit_error *error, su_error *err)
{
    int r = (int)fit->r, count = (int)fit->count;
    workspace w = {0};
    su_status status;
    *error = (su_linear_fit_error){0};
    SU_GO(workspace_create(fit, &w, err));
    memcpy(w.L, fit->stiffness, (size_t)(fit->r * fit->r) * sizeof *w.L);
    int info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', r, w.L, r);
    if (info != 0)
        SU_GO(su_fail(err, su_lapack_status(info, SU_NUMERICS),
                      "the reduced stiffness at the neutral pose is not definite (%d of %d)", info, r));
    if (count == 0 || !weigh(fit, &w)) goto done;
    error->before = cblas_dnrm2(r * count, w.lack, 1);
    SU_GO(least_squares(fit, &w, err));
    SU_GO(add_bounded(fit, &w, linear, err));
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, r, count, r, -1, w.B, r, w.state, r, 1, w.lack, r);
    error->after = cblas_dnrm2(r * count, w.lack, 1);
done:
    su_arena_free(&w.arena);
    return status;
}
