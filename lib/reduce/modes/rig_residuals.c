#include "reduce/modes/rig_residuals.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column whose square is this part of the longest one's, after all before it are taken out, depends on them. */
#define DEPENDENT 1e-12

/* One least-squares problem a component: columns are w_b (X, 1) of the bones, X about its mean and of size 1, and the
 * blend shapes. */
typedef struct problem {
    const su_rig_skins *skins;
    int64_t columns;
    double mean[3], size;
    double *gram;      /* (columns,columns) */
    double *right;     /* (poses,columns) right-hand sides, then coefficients */
    double *permuted;  /* (columns) */
    double *value;     /* (columns) entries of one vertex that are not 0 */
    lapack_int *pivot; /* (columns) */
    int32_t *index;    /* (columns) and where they are */
} problem;

/* The entries of vertex v that are not 0; their number. */
static int64_t row_of(problem *p, int64_t v, int axis)
{
    const su_rig_skins *s = p->skins;
    int64_t count = 0;
    for (int64_t b = 0; b < s->bones; b++) {
        double w = (double)s->weights[v * s->bones + b];
        if (w == 0) continue;
        for (int i = 0; i < 4; i++) {
            p->value[count] = i < 3 ? w * (s->neutral[3 * v + i] - p->mean[i]) / p->size : w;
            p->index[count++] = (int32_t)(4 * b + i);
        }
    }
    for (int64_t m = 0; m < s->morphs; m++) {
        double c = s->morph[3 * (m * s->nbar + v) + axis] / p->size;
        if (c != 0) p->value[count] = c, p->index[count++] = (int32_t)(4 * s->bones + m);
    }
    return count;
}

static void sum_up(problem *p, int axis)
{
    const su_rig_skins *s = p->skins;
    int64_t n = p->columns;
    memset(p->gram, 0, (size_t)(n * n) * sizeof *p->gram);
    memset(p->right, 0, (size_t)(n * s->poses) * sizeof *p->right);
    for (int64_t v = 0; v < s->nbar; v++) {
        int64_t count = row_of(p, v, axis);
        for (int64_t a = 0; a < count; a++)
            for (int64_t b = 0; b <= a; b++) /* indices ascend: the lower triangle by columns */
                p->gram[p->index[b] * n + p->index[a]] += p->value[a] * p->value[b];
        for (int64_t f = 0; f < s->poses; f++) {
            double x = (double)s->skin[3 * (f * s->nbar + v) + axis] - p->mean[axis];
            for (int64_t a = 0; a < count; a++) p->right[f * n + p->index[a]] += p->value[a] * x;
        }
    }
}

/* right = coefficients, 0 of columns that depend on others. */
static su_status solve(problem *p, su_error *err)
{
    int64_t n = p->columns;
    lapack_int rank = 0;
    double longest = 0;
    for (int64_t c = 0; c < n; c++) longest = fmax(longest, p->gram[c * n + c]);
    if (longest > 0) {
        int info = LAPACKE_dpstrf(LAPACK_COL_MAJOR, 'L', (lapack_int)n, p->gram, (lapack_int)n, p->pivot, &rank,
                                  DEPENDENT * longest);
        if (info < 0)
            return su_fail(err, su_lapack_status(info, SU_NUMERICS), "the rig's motions cannot be told apart");
    }
    for (int64_t f = 0; f < p->skins->poses; f++) {
        double *right = p->right + f * n;
        for (lapack_int c = 0; c < rank; c++) p->permuted[c] = right[p->pivot[c] - 1];
        memset(right, 0, (size_t)n * sizeof *right);
        if (rank == 0) continue;
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, rank, p->gram, (int)n, p->permuted, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, rank, p->gram, (int)n, p->permuted, 1);
        for (lapack_int c = 0; c < rank; c++) right[p->pivot[c] - 1] = p->permuted[c];
    }
    return SU_OK;
}

static void subtract(problem *p, int axis, float *residual)
{
    const su_rig_skins *s = p->skins;
    for (int64_t v = 0; v < s->nbar; v++) {
        int64_t count = row_of(p, v, axis);
        for (int64_t f = 0; f < s->poses; f++) {
            int64_t at = 3 * (f * s->nbar + v) + axis;
            double left = (double)s->skin[at] - p->mean[axis];
            for (int64_t a = 0; a < count; a++) left -= p->value[a] * p->right[f * p->columns + p->index[a]];
            residual[at] = (float)left;
        }
    }
}

/* Mean and root mean square distance from it of the neutral skin. */
static void measure(problem *p)
{
    const su_rig_skins *s = p->skins;
    double square = 0;
    for (int64_t k = 0; k < 3 * s->nbar; k++) p->mean[k % 3] += s->neutral[k] / (double)s->nbar;
    for (int64_t k = 0; k < 3 * s->nbar; k++) square += pow(s->neutral[k] - p->mean[k % 3], 2);
    p->size = square > 0 ? sqrt(square / (double)s->nbar) : 1;
}

su_status su_rig_residuals(const su_rig_skins *skins, float *residual, su_error *err)
{
    problem p = {.skins = skins, .columns = 4 * skins->bones + skins->morphs};
    su_status status;
    measure(&p);
    SU_GO(SU_ALLOC_ALL("the rig's motions", err, SU_WANT(p.gram, p.columns * p.columns),
                       SU_WANT(p.right, p.columns * skins->poses), SU_WANT(p.permuted, p.columns),
                       SU_WANT(p.value, p.columns), SU_WANT(p.pivot, p.columns), SU_WANT(p.index, p.columns)));
    for (int axis = 0; axis < 3; axis++) {
        sum_up(&p, axis);
        SU_GO(solve(&p, err));
        subtract(&p, axis, residual);
    }
done:
    free(p.gram), free(p.right), free(p.permuted), free(p.value), free(p.pivot), free(p.index);
    return status;
}
