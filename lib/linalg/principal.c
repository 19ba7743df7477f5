#include "linalg/principal.h"

#include "core/lapack.h"
#include "core/memory.h"
#include "linalg/eigen.h"

#include <cblas.h>
#include <lapacke.h>
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

/* ---- in a mass ---- */

/* Of the largest eigenvalue of a Gram matrix. */
#define ROUNDING 1e-13

/* x -= V (V' x), twice; V (count,size) orthonormal */
static void remove_span(int64_t size, int64_t count, const double *v, int64_t columns, double *x, double *coefficients)
{
    if (count == 0) return;
    for (int pass = 0; pass < 2; pass++) {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)count, (int)columns, (int)size, 1, v, (int)size, x,
                    (int)size, 0, coefficients, (int)count);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)size, (int)columns, (int)count, -1, v, (int)size,
                    coefficients, (int)count, 1, x, (int)size);
    }
}

/* Candidates on their way to directions, in the scaled variables M^1/2 v, where the mass product is the plain one. */
typedef struct directions {
    int64_t size, candidate_count, wanted;
    const double *root;   /* (size) M^1/2 */
    double *candidates;   /* (candidate_count,size), without the span of what there is */
    double *gram;         /* (candidate_count,candidate_count); then its eigenvectors */
    double *values;       /* (candidate_count) ascending */
    double *coefficients; /* room */
    double longest;       /* square of the longest candidate */
} directions;

/* out (columns of the candidates): K of candidates from `first` on, in the scaled variables. */
static su_status stiff_block(const directions *d, const su_balance *balance, int64_t first, int64_t columns,
                             double *room, double *out, su_error *err)
{
    const double *from = d->candidates + first * d->size;
    for (int64_t k = 0; k < columns * d->size; k++) room[k] = from[k] / d->root[k % d->size];
    SU_TRY(su_sparse_multiply_many(balance->stiffness, columns, room, out, balance->threads, err));
    for (int64_t k = 0; k < columns * d->size; k++) out[k] /= d->root[k % d->size];
    return SU_OK;
}

/* stiff (candidate_count,candidate_count): products of the candidates in K. */
static su_status stiff_products(const directions *d, const su_balance *balance, double *stiff, su_error *err)
{
    enum { COLUMNS = 32 }; /* at once */
    double *room = NULL, *block = NULL;
    int64_t c = d->candidate_count;
    su_status status;
    SU_GO(
        SU_ALLOC_ALL("principal directions", err, SU_WANT(room, COLUMNS * d->size), SU_WANT(block, COLUMNS * d->size)));
    for (int64_t first = 0; first < c; first += COLUMNS) {
        int64_t columns = c - first < COLUMNS ? c - first : COLUMNS;
        SU_GO(stiff_block(d, balance, first, columns, room, block, err));
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)c, (int)columns, (int)d->size, 1, d->candidates,
                    (int)d->size, block, (int)d->size, 0, stiff + first * c, (int)c);
    }
    status = SU_OK;
done:
    free(room), free(block);
    return status;
}

/* Sum of x' A x over the first `count` of the vectors, of the lower triangle of A. */
static double left_in(int64_t size, const double *A, int64_t count, const double *vectors, double *room)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        const double *x = vectors + k * size;
        cblas_dsymv(CblasColMajor, CblasLower, (int)size, 1, A, (int)size, x, 1, 0, room, 1);
        sum += cblas_ddot((int)size, x, 1, room, 1);
    }
    return sum;
}

/* Eigenpairs of the candidates' products in M + kappa K: log m + log k, m and k what is left in either, is concave in
 * both, so that directions that leave least of m / m_0 + k / k_0 lower it. */
static su_status balanced_eigenvectors(directions *d, su_balance *balance, su_error *err)
{
    int64_t c = d->candidate_count, square = c * c, left = c > d->wanted ? c - d->wanted : 0;
    double *mass = NULL, *stiff = NULL, stiffest = 0;
    su_status status;
    SU_GO(SU_ALLOC_ALL("principal directions", err, SU_WANT(mass, square), SU_WANT(stiff, square)));
    memcpy(mass, d->gram, (size_t)square * sizeof *mass);
    if (balance->rounds > 0 && left > 0) SU_GO(stiff_products(d, balance, stiff, err));
    balance->kappa = 0;
    SU_GO(su_eigen_symmetric(c, d->gram, d->values, err));
    for (int64_t k = 0; k < balance->rounds && left > 0; k++) {
        double in_mass = left_in(c, mass, left, d->gram, d->coefficients),
               in_stiffness = left_in(c, stiff, left, d->gram, d->coefficients);
        if (!(in_mass > 0 && in_stiffness > 0)) break;
        balance->kappa = in_mass / in_stiffness;
        for (int64_t i = 0; i < square; i++) d->gram[i] = mass[i] + balance->kappa * stiff[i];
        SU_GO(su_eigen_symmetric(c, d->gram, d->values, err));
    }
    for (int64_t k = 0; k < c; k++) stiffest = fmax(stiffest, stiff[k * c + k]);
    d->longest += balance->kappa * stiffest;
done:
    free(mass), free(stiff);
    return status;
}

/* out (wanted,size): the leading eigenvectors, made orthonormal in M beside the `count` vectors of v. Directions come
 * from the Gram matrix; a second orthonormalization takes out what its squared condition costs. */
static su_status make_directions(directions *d, int64_t count, const double *v, double *out, su_error *err)
{
    int n = (int)d->size, c = (int)d->candidate_count, w = (int)d->wanted;
    double *chosen;
    SU_TRY(SU_ALLOC(&chosen, d->wanted * d->wanted, "principal directions", err));
    su_status status = SU_OK;
    for (int64_t k = 0; k < d->wanted; k++) {
        double *direction = d->gram + (d->candidate_count - 1 - k) * d->candidate_count;
        double scale = 1 / sqrt(d->values[d->candidate_count - 1 - k]);
        for (int64_t i = 0; i < d->candidate_count; i++) direction[i] *= scale;
        cblas_dgemv(CblasColMajor, CblasNoTrans, n, c, 1, d->candidates, n, direction, 1, 0, out + k * d->size, 1);
    }
    remove_span(d->size, count, v, d->wanted, out, d->coefficients);
    for (int pass = 0; pass < 2; pass++) { /* Cholesky QR: the columns are orthonormal but for rounding */
        cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, w, n, 1, out, n, 0, chosen, w);
        if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', w, chosen, w) != 0) {
            status = su_fail(err, SU_NUMERICS, "the principal directions of the derivatives are dependent");
            break;
        }
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, w, 1, chosen, w, out, n);
    }
    free(chosen);
    return status;
}

/* In M, or with a balance in M + kappa K. */
su_status su_mass_pca(const su_pca *pca, int64_t *got, su_error *err)
{
    int64_t size = pca->size, count = pca->known, candidate_count = pca->candidate_count;
    double *v = pca->vectors, *candidates = pca->candidates;
    double *root = NULL;
    int n = (int)size, c = (int)candidate_count;
    directions d = {.size = size, .candidate_count = candidate_count, .wanted = pca->wanted, .candidates = candidates};
    su_status status;
    if (pca->wanted == 0) return SU_OK;
    SU_GO(SU_ALLOC_ALL("principal directions", err, SU_WANT(root, size),
                       SU_WANT(d.gram, candidate_count * candidate_count), SU_WANT(d.values, candidate_count),
                       SU_WANT(d.coefficients, (count + 1) * candidate_count + 1)));
    d.root = root;
    for (int64_t i = 0; i < size; i++) root[i] = sqrt(pca->mass[i]);
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < size; i++) v[k * size + i] *= root[i];
    for (int64_t k = 0; k < candidate_count; k++)
        for (int64_t i = 0; i < size; i++) candidates[k * size + i] *= root[i];
    for (int64_t k = 0; k < candidate_count; k++)
        d.longest = fmax(d.longest, cblas_ddot(n, candidates + k * size, 1, candidates + k * size, 1));
    remove_span(size, count, v, candidate_count, candidates, d.coefficients);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, c, n, 1, candidates, n, 0, d.gram, c);
    if (pca->balance)
        SU_GO(balanced_eigenvectors(&d, pca->balance, err));
    else
        SU_GO(su_eigen_symmetric(candidate_count, d.gram, d.values, err));
    double floor = pca->shortest > 0 ? pca->shortest * pca->shortest * d.longest
                   : candidate_count ? ROUNDING * d.values[candidate_count - 1]
                                     : 0;
    int64_t rank = 0;
    while (rank < candidate_count && d.values[candidate_count - 1 - rank] > floor) rank++;
    if (got) *got = d.wanted = pca->wanted < rank ? pca->wanted : rank;
    if (d.wanted > rank) {
        status = su_fail(err, SU_INPUT,
                         "the modal derivatives give %lld directions, %lld are needed: ask for fewer "
                         "modes or for more linear ones",
                         (long long)rank, (long long)pca->wanted);
        goto done;
    }
    status = SU_OK;
    if (d.wanted > 0) SU_GO(make_directions(&d, count, v, v + count * size, err));
    for (int64_t k = 0; k < count + d.wanted; k++) {
        for (int64_t i = 0; i < size; i++) v[k * size + i] /= root[i];
        if (k >= count) su_eigen_fix_sign(size, v + k * size);
    }
done:
    free(root), free(d.gram), free(d.values), free(d.coefficients);
    return status;
}
