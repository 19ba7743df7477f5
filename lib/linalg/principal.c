#include "linalg/principal.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 3 * 512 }; /* columns at once */

typedef struct work {
    int64_t frames, columns;
    const float *values;
    double *block;   /* (frames,BLOCK) values minus mean */
    double *gram;    /* (frames,frames) */
    double *lambda;  /* (frames) ascending */
    double *vectors; /* (kept,frames) */
    double *rest;    /* (BLOCK) */
} work;

static int64_t load_block(work *w, const float *mean, int64_t at)
{
    int64_t width = w->columns - at < BLOCK ? w->columns - at : BLOCK;
    for (int64_t f = 0; f < w->frames; f++)
        for (int64_t c = 0; c < width; c++)
            w->block[f * width + c] = (double)w->values[f * w->columns + at + c] - (double)mean[at + c];
    return width;
}

static void average(const work *w, float *mean)
{
    for (int64_t c = 0; c < w->columns; c++) {
        double sum = 0.0;
        for (int64_t f = 0; f < w->frames; f++) sum += (double)w->values[f * w->columns + c];
        mean[c] = (float)(sum / (double)w->frames);
    }
}

static su_status eigenvectors(work *w, int64_t wanted, double bound, int64_t *kept, su_error *err)
{
    double left = 0.0, allowed = bound * bound * (double)(w->frames * w->columns / 3);
    for (int64_t f = 0; f < w->frames; f++) left += w->gram[f * w->frames + f]; /* dsyevr overwrites it */
    lapack_int n = (lapack_int)w->frames, found = 0, info;
    lapack_int first = (lapack_int)(w->frames - wanted + 1), *support = NULL;
    SU_TRY(SU_ALLOC(&support, 2 * w->frames, "principal shapes", err));
    /* row-major storage of a symmetric matrix is its own transpose: column-major calls are exact */
    info = LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'L', n, w->gram, n, 0.0, 0.0, first, n, 0.0, &found, w->lambda,
                          w->vectors, n, support);
    free(support);
    if (info != 0)
        return su_fail(err, su_lapack_status(info, SU_NUMERICS), "principal shapes: LAPACK dsyevr ended with %d",
                       (int)info);
    *kept = 0; /* directions that carry nothing are rounding */
    for (int64_t k = found - 1; k >= 0 && !(bound > 0.0 && left <= allowed); k--) {
        if (!(w->lambda[k] > 1e-13 * w->lambda[found - 1] && w->lambda[k] > 0.0)) break;
        left -= w->lambda[k];
        ++*kept;
    }
    return SU_OK;
}

/* Eigenvector of the k-th largest eigenvalue, scaled so that its largest entry is 1. */
static void weights_of(const work *w, int64_t found, int64_t k, double *out)
{
    const double *v = w->vectors + (found - 1 - k) * w->frames;
    double largest = 0.0;
    for (int64_t f = 0; f < w->frames; f++)
        if (fabs(v[f]) > fabs(largest) * (1.0 + 1e-9)) largest = v[f];
    for (int64_t f = 0; f < w->frames; f++) out[f] = v[f] / largest;
}

/* Shapes by least squares on the weights, which are orthogonal, and what they leave. */
static void project(work *w, su_principal *out, const double *weights)
{
    int64_t F = w->frames, k = out->count;
    double sum = 0.0, all = 0.0, largest = 0.0;
    for (int64_t at = 0; at < w->columns; at += BLOCK) {
        int64_t width = load_block(w, out->mean, at);
        for (int64_t i = 0; i < F * width; i++) all += w->block[i] * w->block[i];
        for (int64_t s = 0; s < k; s++) {
            double square = cblas_ddot((int)F, weights + s * F, 1, weights + s * F, 1);
            cblas_dgemv(CblasRowMajor, CblasTrans, (int)F, (int)width, 1.0 / square, w->block, (int)width,
                        weights + s * F, 1, 0.0, w->rest, 1);
            for (int64_t c = 0; c < width; c++) out->shapes[s * w->columns + at + c] = (float)w->rest[c];
            cblas_dger(CblasRowMajor, (int)F, (int)width, -1.0, weights + s * F, 1, w->rest, 1, w->block, (int)width);
        }
        for (int64_t i = 0; i < F * width; i += 3) {
            const double *d = w->block + i;
            double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            sum += square;
            if (square > largest) largest = square;
        }
    }
    double points = (double)(F * w->columns / 3);
    out->rms = sqrt(sum / points), out->largest = sqrt(largest), out->motion = sqrt(all / points);
}

su_status su_principal_shapes(int64_t frames, int64_t columns, const float *values, int64_t wanted, double bound,
                              su_principal *out, su_error *err)
{
    work w = {.frames = frames, .columns = columns, .values = values};
    double *weights = NULL;
    int64_t kept = 0;
    su_status status;
    *out = (su_principal){0};
    if (wanted > frames) wanted = frames;
    SU_GO(SU_ALLOC(&out->mean, columns, "principal shapes", err));
    SU_GO(SU_ALLOC(&w.block, frames * BLOCK, "principal shapes", err));
    SU_GO(SU_ALLOC(&w.gram, frames * frames, "principal shapes", err));
    SU_GO(SU_ALLOC(&w.lambda, frames, "principal shapes", err));
    SU_GO(SU_ALLOC(&w.vectors, wanted * frames, "principal shapes", err));
    SU_GO(SU_ALLOC(&w.rest, BLOCK, "principal shapes", err));
    average(&w, out->mean);
    for (int64_t at = 0; at < columns; at += BLOCK) {
        int64_t width = load_block(&w, out->mean, at);
        cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)frames, (int)width, 1.0, w.block, (int)width,
                    at ? 1.0 : 0.0, w.gram, (int)frames); /* the upper half by rows is the lower one by columns */
    }
    if (wanted > 0) SU_GO(eigenvectors(&w, wanted, bound, &kept, err));
    out->count = kept;
    SU_GO(SU_ALLOC(&out->shapes, kept * columns, "principal shapes", err));
    SU_GO(SU_ALLOC(&out->weights, frames * kept, "principal shapes", err));
    SU_GO(SU_ALLOC(&weights, kept * frames, "principal shapes", err));
    for (int64_t k = 0; k < kept; k++) {
        weights_of(&w, wanted, k, weights + k * frames);
        for (int64_t f = 0; f < frames; f++) out->weights[f * kept + k] = (float)weights[k * frames + f];
    }
    project(&w, out, weights);
done:
    free(w.block), free(w.gram), free(w.lambda), free(w.vectors), free(w.rest), free(weights);
    if (status != SU_OK) su_principal_free(out);
    return status;
}

void su_principal_free(su_principal *p)
{
    free(p->mean), free(p->shapes), free(p->weights);
    *p = (su_principal){0};
}
