#include "linalg/cholesky.h"

#include "core/memory.h"

#include <cblas.h>
#include <cholmod.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct su_cholesky {
    cholmod_common common;
    cholmod_factor *factor;
    cholmod_dense *solution, *work_y, *work_e; /* kept between solves */
    bool ready;                                /* a numeric factor is there */
};

static cholmod_sparse borrow(const su_sparse *matrix, double *value)
{
    cholmod_sparse a;
    memset(&a, 0, sizeof a);
    a.nrow = a.ncol = (size_t)matrix->size;
    a.nzmax = (size_t)matrix->entries;
    a.p = matrix->start, a.i = matrix->row, a.x = value;
    a.stype = -1, a.itype = CHOLMOD_LONG, a.xtype = value ? CHOLMOD_REAL : CHOLMOD_PATTERN, a.dtype = CHOLMOD_DOUBLE;
    a.sorted = 1, a.packed = 1;
    return a;
}

static su_status failed(const cholmod_common *common, const char *what, su_error *err)
{
    if (common->status == CHOLMOD_OUT_OF_MEMORY) return su_fail(err, SU_AGAIN, "out of memory in %s", what);
    if (common->status == CHOLMOD_TOO_LARGE) return su_fail(err, SU_AGAIN, "matrix too large for %s", what);
    return su_fail(err, SU_NUMERICS, "%s failed (CHOLMOD status %d)", what, common->status);
}

/* True where the columns come in threes that share their rows (vertices with three degrees of freedom each). */
static bool in_blocks_of_three(const su_sparse *a)
{
    if (a->size % 3 != 0) return false;
    for (int64_t j = 0; j < a->size; j += 3) {
        int64_t length = a->start[j + 1] - a->start[j];
        for (int c = 1; c < 3; c++) {
            if (a->start[j + c + 1] - a->start[j + c] != length - c) return false;
            if (memcmp(a->row + a->start[j] + c, a->row + a->start[j + c], (size_t)(length - c) * sizeof *a->row))
                return false;
        }
        if (length % 3 != 0) return false;
        for (int64_t e = a->start[j]; e < a->start[j + 1]; e++)
            if (a->row[e] != a->row[e - (e - a->start[j]) % 3] + (e - a->start[j]) % 3) return false;
    }
    return true;
}

/* Nested dissection of the vertex graph, a ninth of the entries of the matrix graph, expanded to degrees of freedom. */
static su_status order_blocks(const su_sparse *a, cholmod_common *common, int64_t *permutation, su_error *err)
{
    int64_t blocks = a->size / 3, entries = 0;
    su_sparse graph = {.size = blocks};
    int64_t *vertex_order = NULL;
    su_status status;
    for (int64_t b = 0; b < blocks; b++) entries += (a->start[3 * b + 1] - a->start[3 * b]) / 3;
    graph.entries = entries, graph.owns_pattern = 1;
    SU_GO(SU_ALLOC(&graph.start, blocks + 1, "vertex graph", err));
    SU_GO(SU_ALLOC(&graph.row, entries, "vertex graph", err));
    SU_GO(SU_ALLOC(&vertex_order, blocks, "vertex graph", err));
    int64_t e = 0;
    for (int64_t b = 0; b < blocks; b++) {
        graph.start[b] = e;
        for (int64_t k = a->start[3 * b]; k < a->start[3 * b + 1]; k += 3) graph.row[e++] = a->row[k] / 3;
    }
    graph.start[blocks] = e;
    cholmod_sparse view = borrow(&graph, NULL);
    int ordered;
#pragma omp critical(su_metis) /* METIS draws from rand(): threads would take numbers from each other */
    ordered = cholmod_l_metis(&view, NULL, 0, 1, (SuiteSparse_long *)vertex_order, common);
    if (!ordered) {
        if (common->status == CHOLMOD_OUT_OF_MEMORY) {
            status = failed(common, "the ordering", err);
            goto done;
        }
        if (!cholmod_l_amd(&view, NULL, 0, (SuiteSparse_long *)vertex_order, common)) {
            status = failed(common, "the ordering", err);
            goto done;
        }
    }
    for (int64_t b = 0; b < blocks; b++)
        for (int c = 0; c < 3; c++) permutation[3 * b + c] = 3 * vertex_order[b] + c;
    status = SU_OK;
done:
    su_sparse_free(&graph);
    free(vertex_order);
    return status;
}

static void settings(cholmod_common *common)
{
    common->print = 0;
    common->supernodal = CHOLMOD_SUPERNODAL; /* also makes indefinite matrices fail instead of giving LDL' */
    common->final_ll = 1;
    common->nmethods = 1;
    common->postorder = 1;
    /* Supernodes are merged as long as that adds few zeros. Between CHOLMOD's bounds and twice these, times differ by a
     * few per cent at 11 k degrees of freedom; far larger supernodes (32, 64, 192; 0.9, 0.3, 0.15) cost a quarter more
     * where the vector units are slow against the caches (bench_fullsim, Emerald Rapids), although they gain on other
     * processors. */
    common->nrelax[0] = 16, common->nrelax[1] = 48, common->nrelax[2] = 128;
    common->zrelax[0] = 0.5, common->zrelax[1] = 0.1, common->zrelax[2] = 0.02;
}

/* order (size; NULL: the best that CHOLMOD finds, blocks of three kept together). */
static su_status analyze(const su_sparse *pattern, const int64_t *order, su_cholesky **out, su_error *err)
{
    su_cholesky *solver = NULL;
    int64_t *permutation = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&solver, 1, "Cholesky factor", err));
    if (!cholmod_l_start(&solver->common)) {
        status = su_fail(err, SU_AGAIN, "cannot start CHOLMOD");
        goto done;
    }
    settings(&solver->common);
    solver->common.method[0].ordering = CHOLMOD_GIVEN;
    if (!order && pattern->size > 600 && in_blocks_of_three(pattern)) {
        SU_GO(SU_ALLOC(&permutation, pattern->size, "ordering", err));
        SU_GO(order_blocks(pattern, &solver->common, permutation, err));
        order = permutation;
    } else if (!order)
        solver->common.method[0].ordering = pattern->size > 600 ? CHOLMOD_METIS : CHOLMOD_AMD;
    cholmod_sparse view = borrow(pattern, NULL);
#pragma omp critical(su_metis)
    solver->factor = cholmod_l_analyze_p(&view, (SuiteSparse_long *)(uintptr_t)order, NULL, 0, &solver->common);
    if (!solver->factor) {
        status = failed(&solver->common, "the symbolic analysis", err);
        goto done;
    }
    *out = solver;
    solver = NULL;
    status = SU_OK;
done:
    free(permutation);
    su_cholesky_free(solver);
    return status;
}

su_status su_cholesky_create(const su_sparse *pattern, int threads, su_cholesky **out, su_error *err)
{
    (void)threads; /* one thread: BLAS with several would let results depend on their number */
    return analyze(pattern, NULL, out, err);
}

su_status su_cholesky_create_ordered(const su_sparse *pattern, const int64_t *order, su_cholesky **out, su_error *err)
{
    return analyze(pattern, order, out, err);
}

const int64_t *su_cholesky_order(const su_cholesky *factor) { return (const int64_t *)factor->factor->Perm; }

su_status su_cholesky_factorize(su_cholesky *factor, const su_sparse *matrix, su_error *err)
{
    factor->ready = false;
    if ((size_t)matrix->size != factor->factor->n)
        return su_fail(err, SU_NUMERICS, "factorization of a matrix of size %lld with the analysis of size %lld",
                       (long long)matrix->size, (long long)factor->factor->n);
    double sum = 0; /* LAPACK may let NaN through */
    for (int64_t e = 0; e < matrix->entries; e++) sum += matrix->value[e] - matrix->value[e];
    if (sum != 0) return su_fail(err, SU_NUMERICS, "matrix with entries that are not finite");
    cholmod_sparse view = borrow(matrix, matrix->value);
    /* CHOLMOD opens parallel regions of four threads for tiny loops, whatever OMP_NUM_THREADS says. */
    int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(0);
    int fine = cholmod_l_factorize(&view, factor->factor, &factor->common);
    omp_set_max_active_levels(levels);
    if (factor->common.status == CHOLMOD_NOT_POSDEF || (fine && factor->factor->minor < factor->factor->n))
        return su_fail(err, SU_NUMERICS, "matrix not positive definite (column %lld of %lld)",
                       (long long)((SuiteSparse_long *)factor->factor->Perm)[factor->factor->minor],
                       (long long)factor->factor->n);
    if (!fine || factor->common.status < 0) return failed(&factor->common, "the factorization", err);
    factor->ready = true;
    return SU_OK;
}

/* Leaves the solution of one of CHOLMOD's systems in factor->solution. */
static su_status solve_system(su_cholesky *factor, int system, int64_t columns, const double *b, su_error *err)
{
    if (!factor->ready) return su_fail(err, SU_NUMERICS, "solve without a factorization");
    size_t n = factor->factor->n;
    cholmod_dense right;
    memset(&right, 0, sizeof right);
    right.nrow = right.d = n, right.ncol = (size_t)columns, right.nzmax = n * (size_t)columns;
    right.x = (void *)(uintptr_t)b, right.xtype = CHOLMOD_REAL, right.dtype = CHOLMOD_DOUBLE;
    /* CHOLMOD 4 crashes where it finds no memory for the first of its work spaces: all are there before. */
    size_t largest = factor->factor->maxesize;
    if (!cholmod_l_ensure_dense(&factor->solution, n, (size_t)columns, n, CHOLMOD_REAL, &factor->common) ||
        !cholmod_l_ensure_dense(&factor->work_y, n, (size_t)columns, n, CHOLMOD_REAL, &factor->common) ||
        !cholmod_l_ensure_dense(&factor->work_e, (size_t)columns, largest, (size_t)columns, CHOLMOD_REAL,
                                &factor->common))
        return failed(&factor->common, "the triangular solve", err);
    int levels = omp_get_max_active_levels(); /* as in su_cholesky_factorize */
    omp_set_max_active_levels(0);
    int fine = cholmod_l_solve2(system, factor->factor, &right, NULL, &factor->solution, NULL, &factor->work_y,
                                &factor->work_e, &factor->common);
    omp_set_max_active_levels(levels);
    return fine ? SU_OK : failed(&factor->common, "the triangular solve", err);
}

su_status su_cholesky_solve(su_cholesky *factor, int64_t columns, const double *b, double *x, su_error *err)
{
    if (factor->factor->n == 0 || columns == 0) return SU_OK;
    SU_TRY(solve_system(factor, CHOLMOD_A, columns, b, err));
    memcpy(x, factor->solution->x, factor->factor->n * (size_t)columns * sizeof *x);
    return SU_OK;
}

/* X = L^-1 X by supernodes. A column takes part in a supernode only where it has entries: those of a sparse right-hand
 * side stay on its path to the root of the elimination tree, which CHOLMOD's own solve does not use. */
static void forward_sparse(const cholmod_factor *L, int64_t columns, double *x, double *block, double *update,
                           int64_t *taking_part)
{
    const SuiteSparse_long *super = L->super, *pi = L->pi, *px = L->px, *row = L->s;
    const double *values = L->x;
    int64_t n = (int64_t)L->n;
    for (size_t k = 0; k < L->nsuper; k++) {
        int64_t first = super[k], width = super[k + 1] - first, height = pi[k + 1] - pi[k], below = height - width;
        int64_t count = 0;
        for (int64_t c = 0; c < columns; c++) {
            bool zero = true;
            for (int64_t i = 0; i < width && zero; i++) zero = x[c * n + first + i] == 0;
            if (zero) continue;
            memcpy(block + count * width, x + c * n + first, (size_t)width * sizeof *x);
            taking_part[count++] = c;
        }
        if (count == 0) continue;
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)width, (int)count, 1,
                    values + px[k], (int)height, block, (int)width);
        if (below > 0)
            cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)below, (int)count, (int)width, 1,
                        values + px[k] + width, (int)height, block, (int)width, 0, update, (int)below);
        for (int64_t c = 0; c < count; c++) {
            double *to = x + taking_part[c] * n;
            memcpy(to + first, block + c * width, (size_t)width * sizeof *x);
            for (int64_t i = 0; i < below; i++) to[row[pi[k] + width + i]] -= update[c * below + i];
        }
    }
}

su_status su_cholesky_forward(su_cholesky *factor, int64_t columns, const double *b, double *z, su_error *err)
{
    int64_t n = (int64_t)factor->factor->n, *taking_part = NULL;
    const SuiteSparse_long *permutation = factor->factor->Perm;
    double *permuted = NULL, *block = NULL, *update = NULL;
    su_status status = SU_OK;
    if (n == 0 || columns == 0) return SU_OK;
    SU_GO(SU_ALLOC(&permuted, n * columns, "triangular solve", err));
    for (int64_t c = 0; c < columns; c++)
        for (int64_t i = 0; i < n; i++) permuted[c * n + i] = b[c * n + permutation[i]];
    if (columns == 1) {
        SU_GO(solve_system(factor, CHOLMOD_L, columns, permuted, err));
        memcpy(z, factor->solution->x, (size_t)n * sizeof *z);
        goto done;
    }
    if (!factor->ready) {
        status = su_fail(err, SU_NUMERICS, "solve without a factorization");
        goto done;
    }
    SU_GO(SU_ALLOC(&block, n * columns, "triangular solve", err));
    SU_GO(SU_ALLOC(&update, n * columns, "triangular solve", err));
    SU_GO(SU_ALLOC(&taking_part, columns, "triangular solve", err));
    forward_sparse(factor->factor, columns, permuted, block, update, taking_part);
    memcpy(z, permuted, (size_t)(n * columns) * sizeof *z);
done:
    free(permuted), free(block), free(update), free(taking_part);
    return status;
}

su_status su_cholesky_backward(su_cholesky *factor, int64_t columns, const double *z, double *x, su_error *err)
{
    int64_t n = (int64_t)factor->factor->n;
    const SuiteSparse_long *permutation = factor->factor->Perm;
    if (n == 0 || columns == 0) return SU_OK;
    SU_TRY(solve_system(factor, CHOLMOD_Lt, columns, z, err));
    const double *solution = factor->solution->x;
    for (int64_t c = 0; c < columns; c++)
        for (int64_t i = 0; i < n; i++) x[c * n + permutation[i]] = solution[c * n + i];
    return SU_OK;
}

const cholmod_factor *su_cholesky_supernodes(const su_cholesky *factor)
{
    return factor->ready ? factor->factor : NULL;
}

const cholmod_factor *su_cholesky_pattern(const su_cholesky *factor) { return factor->factor; }

void su_cholesky_free(su_cholesky *factor)
{
    if (!factor) return;
    cholmod_l_free_dense(&factor->solution, &factor->common);
    cholmod_l_free_dense(&factor->work_y, &factor->common);
    cholmod_l_free_dense(&factor->work_e, &factor->common);
    cholmod_l_free_factor(&factor->factor, &factor->common);
    cholmod_l_finish(&factor->common);
    free(factor);
}
