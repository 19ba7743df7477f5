#include "linalg/lanczos_single.h"

#include "core/memory.h"
#include "core/random.h"
#include "linalg/eigen.h"
#include "linalg/lane_blocks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = SU_LANES, SQUARE = LANES * LANES };
/* A block whose columns are less than this part of T's size, or of each other, once all that is known is taken from
 * them, is rounding. */
#define DEPENDENT 1e-5
/* The Krylov space is looked at from this many times the vectors wanted on: it takes three to four solves a vector
 * (docs/skinning.md), fewer never did. */
#define FIRST_LOOK 4

typedef struct krylov {
    const su_lanczos_operator *T;
    int64_t blocks, room; /* there, allocated */
    float *V;             /* (room,size,LANES) orthonormal */
    double *C;            /* (room,SQUARE) products of all blocks with one */
    double *alpha, *beta; /* (room,SQUARE) V_j'T V_j; R of T V_j - ... = V_j+1 R, row by row */
    double *Y, *mu;       /* (m,m) Ritz vectors, (m) values, ascending */
} krylov;

static float *block(const krylov *k, int64_t j) { return k->V + j * k->T->size * LANES; }

/* R, upper, with G = R'R; false where a pivot is below `least`. */
static bool cholesky(double G[LANES][LANES], double least, double R[LANES][LANES])
{
    memset(R, 0, SQUARE * sizeof(double));
    for (int i = 0; i < LANES; i++)
        for (int j = i; j < LANES; j++) {
            double sum = G[i][j];
            for (int k = 0; k < i; k++) sum -= R[k][i] * R[k][j];
            if (j == i && !(sum > least)) return false;
            R[i][j] = j == i ? sqrt(sum) : sum / R[i][i];
        }
    return true;
}

static void invert_upper(double R[LANES][LANES], double inverse[LANES][LANES])
{
    memset(inverse, 0, SQUARE * sizeof(double));
    for (int j = 0; j < LANES; j++)
        for (int i = j; i >= 0; i--) {
            double sum = i == j;
            for (int k = i + 1; k <= j; k++) sum -= R[i][k] * inverse[k][j];
            inverse[i][j] = sum / R[i][i];
        }
}

/* W = V R with V orthonormal in its place, R as `total` = R total; false where a column is shorter than `least` when
 * the others are taken from it. */
static bool orthonormalize(int64_t size, float *W, float *scratch, double least, double total[LANES][LANES])
{
    double G[LANES][LANES], R[LANES][LANES], inverse[LANES][LANES], next[LANES][LANES];
    su_lane_products(size, 1, W, W, &G[0][0]);
    if (!cholesky(G, least * least, R)) return false;
    invert_upper(R, inverse);
    su_lane_combine(size, 1, W, &inverse[0][0], LANES, 1, 0, scratch);
    memcpy(W, scratch, (size_t)(size * LANES) * sizeof *W);
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < LANES; j++) {
            next[i][j] = 0;
            for (int k = 0; k < LANES; k++) next[i][j] += R[i][k] * total[k][j];
        }
    memcpy(total, next, sizeof next);
    return true;
}

/* Makes block `blocks` of W in its place; R of W less what all others say of it. False where nothing is left. */
static bool extend(krylov *k, float *scratch, double largest, double *R)
{
    int64_t size = k->T->size, m = k->blocks;
    float *W = block(k, m);
    double total[LANES][LANES] = {{0}};
    for (int i = 0; i < LANES; i++) total[i][i] = 1;
    for (int pass = 0; pass < 2; pass++) {
        int64_t from =
            pass == 0 && m > 2 ? m - 2 : 0; /* what T V of the last is made of, then what rounding left of all */
        if (m > 0) {
            su_lane_products(size, m - from, block(k, from), W, k->C);
            su_lane_combine(size, m - from, block(k, from), k->C, LANES, -1, 1, W);
            for (int i = 0; i < SQUARE && pass == 0; i++)
                k->alpha[(m - 1) * SQUARE + i] = k->C[(m - 1 - from) * SQUARE + i];
        }
        if (!orthonormalize(size, W, scratch, pass == 0 ? DEPENDENT * largest : DEPENDENT, total)) return false;
    }
    if (R) memcpy(R, total, sizeof total);
    return true;
}

/* Ritz pairs of the first `blocks` blocks, whose alphas are known. */
static su_status ritz(krylov *k, int64_t blocks, su_error *err)
{
    int64_t m = blocks * LANES;
    memset(k->Y, 0, (size_t)(m * m) * sizeof *k->Y);
    for (int64_t b = 0; b < blocks; b++)
        for (int i = 0; i < LANES; i++)
            for (int j = 0; j < LANES; j++) {
                const double *a = k->alpha + b * SQUARE;
                k->Y[(b * LANES + i) * m + b * LANES + j] = 0.5 * (a[i * LANES + j] + a[j * LANES + i]);
                if (b + 1 < blocks)
                    k->Y[(b * LANES + j) * m + (b + 1) * LANES + i] = k->beta[b * SQUARE + i * LANES + j];
            }
    return su_eigen_symmetric(m, k->Y, k->mu, err);
}

/* Whether the `count` highest Ritz pairs of `blocks` blocks have converged. */
static bool converged(const krylov *k, int64_t blocks, const su_lanczos_ends *ends)
{
    int64_t m = blocks * LANES;
    const double *R = k->beta + (blocks - 1) * SQUARE;
    if (m < ends->count) return false;
    for (int64_t c = m - ends->count; c < m; c++) {
        double square = 0;
        for (int i = 0; i < LANES; i++) {
            double sum = 0;
            for (int j = 0; j < LANES; j++) sum += R[i * LANES + j] * k->Y[c * m + m - LANES + j];
            square += sum * sum;
        }
        if (!(sqrt(square) <= ends->tolerance * k->mu[c])) return false;
    }
    return true;
}

static void start(krylov *k)
{
    su_random random = su_random_seed(20230806, 0);
    float *x = block(k, 0);
    for (int64_t i = 0; i < k->T->size * LANES; i++) x[i] = (float)(su_random_uniform(&random) - 0.5);
    k->T->apply(k->T->context, x); /* smooth from the start */
}

/* vectors = the highest *kept Ritz vectors of `blocks` blocks. */
static void ritz_vectors(const krylov *k, int64_t blocks, int64_t kept, float *vectors, double *C)
{
    int64_t m = blocks * LANES, size = k->T->size;
    for (int64_t from = 0; from < kept; from += LANES) {
        memset(C, 0, (size_t)(m * LANES) * sizeof *C);
        for (int64_t c = from; c < kept && c < from + LANES; c++)
            for (int64_t i = 0; i < m; i++) C[i * LANES + c - from] = k->Y[(m - 1 - c) * m + i];
        su_lane_combine(size, blocks, k->V, C, LANES, 1, 0, vectors + from * size);
    }
}

/* Grows the space to its end; *used blocks of it have their alpha, *looked of them their Ritz pairs. */
static su_status grow(krylov *k, const su_lanczos_ends *ends, float *scratch, int64_t *used, int64_t *looked,
                      su_error *err)
{
    double largest = 0;
    *used = *looked = 0;
    start(k);
    if (!extend(k, scratch, 0, NULL)) return SU_OK;
    for (k->blocks = 1; k->blocks < k->room; k->blocks++) {
        int64_t j = k->blocks - 1;
        memcpy(block(k, j + 1), block(k, j), (size_t)(k->T->size * LANES) * sizeof *k->V);
        k->T->apply(k->T->context, block(k, j + 1));
        bool more = extend(k, scratch, largest, k->beta + j * SQUARE);
        for (int i = 0; i < LANES; i++) largest = fmax(largest, k->alpha[j * SQUARE + i * LANES + i]);
        *used = j + 1;
        if (!more) break;
        if (*used * LANES < FIRST_LOOK * ends->count) continue;
        SU_TRY(ritz(k, *looked = *used, err));
        if (converged(k, *used, ends)) break;
    }
    return SU_OK;
}

su_status su_lanczos_single(const su_lanczos_operator *T, const su_lanczos_ends *ends, int64_t keep, float *vectors,
                            int64_t *kept, su_error *err)
{
    krylov k = {.T = T, .room = ends->most / LANES + 1};
    int64_t used, looked;
    float *scratch = NULL;
    su_status status;
    *kept = 0;
    SU_GO(SU_ROOM(&k.V, k.room * T->size * LANES, "eigenvectors", err));
    SU_GO(SU_ROOM(&scratch, T->size * LANES, "eigenvectors", err));
    SU_GO(SU_ALLOC(&k.C, k.room * SQUARE, "eigenvectors", err));
    SU_GO(SU_ALLOC(&k.alpha, k.room * SQUARE, "eigenvectors", err));
    SU_GO(SU_ALLOC(&k.beta, k.room * SQUARE, "eigenvectors", err));
    SU_GO(SU_ALLOC(&k.Y, k.room * k.room * SQUARE, "eigenvectors", err));
    SU_GO(SU_ALLOC(&k.mu, k.room * LANES, "eigenvectors", err));
    SU_GO(grow(&k, ends, scratch, &used, &looked, err));
    if (used != looked) SU_GO(ritz(&k, used, err));
    *kept = keep < used * LANES ? keep : used * LANES;
    ritz_vectors(&k, used, *kept, vectors, k.C);
done:
    free(k.V), free(scratch), free(k.C), free(k.alpha), free(k.beta), free(k.Y), free(k.mu);
    return status;
}
