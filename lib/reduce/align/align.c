#include "reduce/align/align.h"

#include "core/lapack.h"
#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

void su_turn_basis(int64_t r, int64_t n, const double *quaternions, int back, const double *in, double *out,
                   int threads)
{
    /* Vertex blocks outside: a block's matrices are made once and stay in cache for all rows. */
    enum { BLOCK = 128 };
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        int64_t count = n - begin < BLOCK ? n - begin : BLOCK;
        double R[BLOCK][9];
        for (int64_t v = 0; v < count; v++) su_quaternion_matrix(quaternions + 4 * (begin + v), R[v]);
        for (int64_t k = 0; k < r; k++) {
            const double *from = in + 3 * (k * n + begin);
            double *to = out + 3 * (k * n + begin);
            if (back)
                for (int64_t v = 0; v < count; v++) su_tmulv3(R[v], from + 3 * v, to + 3 * v);
            else
                for (int64_t v = 0; v < count; v++) su_mulv3(R[v], from + 3 * v, to + 3 * v);
        }
    }
}

su_status su_mass_product(int64_t r, int64_t n, const double *mass, const double *A, const double *B, double *C,
                          int threads, su_error *err)
{
    /* Each block of vertices has its own partial sum, added up in order. */
    enum { BLOCKS = 16, LEAST = 256 };
    int64_t size = (n + BLOCKS - 1) / BLOCKS;
    if (size < LEAST) size = LEAST;
    int64_t blocks = (n + size - 1) / size;
    double *scaled = NULL, *partial = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("mass product", err, SU_WANT(scaled, 3 * r * n), SU_WANT(partial, blocks * r * r)));
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t b = 0; b < blocks; b++) {
        int64_t begin = b * size, end = begin + size < n ? begin + size : n;
        for (int64_t k = 0; k < r; k++)
            for (int64_t v = begin; v < end; v++)
                for (int i = 0; i < 3; i++) scaled[3 * (k * n + v) + i] = mass[v] * B[3 * (k * n + v) + i];
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)r, (int)r, (int)(3 * (end - begin)), 1.0,
                    A + 3 * begin, (int)(3 * n), scaled + 3 * begin, (int)(3 * n), 0.0, partial + b * r * r, (int)r);
    }
    memset(C, 0, (size_t)(r * r) * sizeof *C);
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t i = 0; i < r * r; i++) C[i] += partial[b * r * r + i];
done:
    free(scaled), free(partial);
    return status;
}

static double parameter_distance2(int64_t s, const double *a, const double *b, const double *scale)
{
    double sum = 0;
    for (int64_t k = 0; k < s; k++) sum += (a[k] - b[k]) * (a[k] - b[k]) * scale[k] * scale[k];
    return sum;
}

void su_alignment_tree(int64_t m, int64_t s, const double *params, const double *scale, int32_t *parent, int32_t *order)
{
    for (int64_t i = 0; i < m; i++) parent[i] = -2;
    parent[0] = -1, order[0] = 0;
    for (int64_t count = 1; count < m; count++) {
        double best = HUGE_VAL;
        int32_t from = 0, to = -1;
        for (int32_t i = 0; i < m; i++)
            for (int32_t j = 0; j < m && parent[i] != -2; j++) {
                if (parent[j] != -2) continue;
                double d = parameter_distance2(s, params + i * s, params + j * s, scale);
                if (d < best || to < 0) best = d, from = i, to = j;
            }
        parent[to] = from, order[count] = to;
    }
}

/* One region: rows [first, first + k) of both. */
static su_status procrustes_region(int64_t k, int64_t n, const double *mass, const double *parent, double *basis,
                                   double *angles, int threads, su_error *err)
{
    su_status status;
    double *C = NULL, *Y = NULL, *Zt = NULL, *sigma = NULL, *Q = NULL, *turned = NULL;
    SU_GO(SU_ALLOC_ALL("alignment", err, SU_WANT(C, k * k), SU_WANT(Y, k * k), SU_WANT(Zt, k * k), SU_WANT(Q, k * k),
                       SU_WANT(sigma, k), SU_WANT(turned, 3 * k * n)));
    SU_GO(su_mass_product(k, n, mass, basis, parent, C, threads, err));
    int info = LAPACKE_dgesdd(LAPACK_ROW_MAJOR, 'A', (int)k, (int)k, C, (int)k, sigma, Y, (int)k, Zt, (int)k);
    if (info != 0)
        SU_GO(su_fail(err, su_lapack_status(info, SU_NUMERICS),
                      "the singular values of a cross product of bases do not converge"));
    /* U_j' M U_i = Y S Z', Q = Y Z'; rows of the new basis are Q' times the old rows (PSSD eq. 12). */
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)k, (int)k, (int)k, 1.0, Y, (int)k, Zt, (int)k, 0.0, Q,
                (int)k);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)k, (int)(3 * n), (int)k, 1.0, Q, (int)k, basis,
                (int)(3 * n), 0.0, turned, (int)(3 * n));
    memcpy(basis, turned, (size_t)(3 * k * n) * sizeof *basis);
    for (int64_t a = 0; a < k; a++) angles[a] = acos(fmin(1.0, sigma[a]));
done:
    free(C), free(Y), free(Zt), free(Q), free(sigma), free(turned);
    return status;
}

su_status su_procrustes(const su_alignment *what, const double *parent, double *basis, double *angles, int threads,
                        su_error *err)
{
    int64_t n = what->n;
    for (int64_t first = 0, end; first < what->r; first = end) {
        for (end = first; end < what->r && what->mode_region[end] == what->mode_region[first];) end++;
        SU_TRY(procrustes_region(end - first, n, what->mass, parent + 3 * first * n, basis + 3 * first * n,
                                 angles + first, threads, err));
    }
    return SU_OK;
}

su_status su_align(const su_alignment *what, double *basis, int32_t *parent, double *angles, int threads, su_error *err)
{
    int64_t m = what->m, r = what->r, n = what->n, size = 3 * r * n;
    int32_t *order;
    SU_TRY(SU_ALLOC(&order, m, "alignment tree", err));
    su_alignment_tree(m, what->s, what->params, what->scale, parent, order);
    su_status status = SU_OK;
    for (int64_t a = 0; a < m && status == SU_OK; a++) {
        int64_t i = order[a];
        su_turn_basis(r, n, what->rotations + 4 * i * n, 1, basis + i * size, basis + i * size, threads);
        memset(angles + i * r, 0, (size_t)r * sizeof *angles);
        if (parent[i] >= 0)
            status = su_procrustes(what, basis + parent[i] * size, basis + i * size, angles + i * r, threads, err);
    }
    free(order);
    return status;
}

su_status su_gram(int64_t m, int64_t r, int64_t n, const double *mass, const double *basis, double *gram, int threads,
                  su_error *err)
{
    int64_t size = 3 * r * n;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i; j < m; j++) {
            double *upper = gram + (i * m + j) * r * r, *lower = gram + (j * m + i) * r * r;
            SU_TRY(su_mass_product(r, n, mass, basis + i * size, basis + j * size, upper, threads, err));
            for (int64_t a = 0; a < r; a++)
                for (int64_t b = 0; b < (i == j ? a : r); b++)
                    if (i == j)
                        lower[a * r + b] = upper[b * r + a] = 0.5 * (lower[a * r + b] + upper[b * r + a]);
                    else
                        lower[b * r + a] = upper[a * r + b];
        }
    return SU_OK;
}
