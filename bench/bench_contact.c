/* PSSD Table 1 again: 20 modes of meshes of its sizes with as many contacts, free and constrained, by the paper's own
 * road and by ours. The paper's road: a null-space basis Z of C by LU with column pivoting (eq. 29-30), then Z'KZ z =
 * lambda Z'MZ z (eq. 26) in ARPACK's shift-invert mode, whose inverse is a direct solver of the thresholded matrix
 * (`thresholded`) or conjugate gradients with that as their preconditioner. Kept as a reference: slow, and only here.
 * Processor time of one thread, assembly included. */
#include "block.h"
#include "fem/elastic.h"
#include "linalg/cholesky.h"
#include "reduce/modes/modes.h"

#include <arpack/arpack.h>
#include <cholmod.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern void openblas_set_num_threads(int) __attribute__((weak));

enum { MODES = 20, REPEATS = 3 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_contact: %s\n", what);
    exit(1);
}

static void *room(int64_t count, size_t size)
{
    void *p = calloc((size_t)count + 1, size);
    if (!p) fail("no memory");
    return p;
}

/* Z = P [-Cp^-1 Cn; I] (eq. 29): a dof is a pivot, or free with a column of its own. Only free dofs that C touches have
 * entries among the pivots. */
typedef struct null_space {
    int64_t size, rows, count;       /* dofs; constraints = pivots; columns of Z */
    int64_t *column;                 /* (size) of a free dof; -1 - row: pivot of a row */
    int64_t touched_count, *touched; /* columns with entries at pivots */
    double *top;                     /* (touched_count,rows) = -Cp^-1 Cn */
} null_space;

static null_space null_space_create(const su_elastic *elastic, const block *b)
{
    null_space z = {.size = elastic->pattern.size, .rows = b->contacts};
    int64_t *place = room(z.size, sizeof *place), *dofs = room(z.size, sizeof *dofs), k = 0, c = z.rows;
    for (int64_t i = 0; i < z.size; i++) place[i] = -1;
    for (int64_t e = 0; e < 4 * c; e++)
        for (int i = 0; i < 3; i++) {
            int64_t f = elastic->free_index[b->row_vertices[e]];
            if (f >= 0 && place[3 * f + i] < 0) place[3 * f + i] = k, dofs[k++] = 3 * f + i;
        }
    double *Ct = room(k * c, sizeof *Ct); /* (c,k): C' by columns, dofs in the order they were met */
    for (int64_t r = 0; r < c; r++)
        for (int e = 4 * (int)r; e < 4 * (int)r + 4; e++)
            for (int i = 0; i < 3; i++) {
                int64_t f = elastic->free_index[b->row_vertices[e]];
                if (f >= 0) Ct[r * k + place[3 * f + i]] += b->row_coefficients[3 * e + i];
            }
    lapack_int *swaps = room(c, sizeof *swaps);
    if (LAPACKE_dgetrf(LAPACK_COL_MAJOR, (int)k, (int)c, Ct, (int)k, swaps) != 0) fail("the contacts are dependent");
    for (int64_t i = 0; i < c; i++) { /* C' = P' L U: row pivoting of C' is column pivoting of C */
        int64_t other = swaps[i] - 1, swap = dofs[i];
        dofs[i] = dofs[other], dofs[other] = swap;
    }
    z.column = room(z.size, sizeof *z.column), z.touched = room(k, sizeof *z.touched);
    for (int64_t i = 0; i < c; i++) z.column[dofs[i]] = -1 - i;
    for (int64_t i = 0; i < z.size; i++)
        if (z.column[i] >= 0) z.column[i] = z.count++;
    /* C' = [L1; L2] U, so Cn Cp^-1 = L2 L1^-1 transposed: (Cp^-1 Cn)' = L2 L1^-1 */
    z.touched_count = k - c;
    z.top = room((k - c) * c, sizeof *z.top);
    double *L2 = room((k - c) * c, sizeof *L2);
    for (int64_t r = 0; r < c; r++)
        for (int64_t i = c; i < k; i++) L2[r * (k - c) + i - c] = Ct[r * k + i];
    for (int64_t r = c - 1; r >= 0; r--) /* X L1 = L2, column by column from the last */
        for (int64_t s = r + 1; s < c; s++)
            for (int64_t i = 0; i < k - c; i++) L2[r * (k - c) + i] -= L2[s * (k - c) + i] * Ct[r * k + s];
    for (int64_t i = 0; i < k - c; i++) {
        z.touched[i] = z.column[dofs[c + i]];
        for (int64_t r = 0; r < c; r++) z.top[i * c + r] = -L2[r * (k - c) + i];
    }
    free(place), free(dofs), free(Ct), free(swaps), free(L2);
    return z;
}

static void null_space_free(null_space *z) { free(z->column), free(z->touched), free(z->top); }

/* u = Z x */
static void expand(const null_space *z, const double *x, double *u)
{
    double *pivot = room(z->rows, sizeof *pivot);
    for (int64_t i = 0; i < z->touched_count; i++)
        for (int64_t r = 0; r < z->rows; r++) pivot[r] += z->top[i * z->rows + r] * x[z->touched[i]];
    for (int64_t i = 0; i < z->size; i++) u[i] = z->column[i] >= 0 ? x[z->column[i]] : pivot[-1 - z->column[i]];
    free(pivot);
}

/* x = Z' u */
static void restrict_to(const null_space *z, const double *u, double *x)
{
    double *pivot = room(z->rows, sizeof *pivot);
    for (int64_t i = 0; i < z->size; i++)
        if (z->column[i] >= 0)
            x[z->column[i]] = u[i];
        else
            pivot[-1 - z->column[i]] = u[i];
    for (int64_t i = 0; i < z->touched_count; i++)
        for (int64_t r = 0; r < z->rows; r++) x[z->touched[i]] += z->top[i * z->rows + r] * pivot[r];
    free(pivot);
}

typedef struct road {
    null_space z;
    const su_elastic *elastic;
    su_sparse K, reduced; /* K; Z'KZ with entries of Z below 1e-10 cut */
    su_cholesky *factor;
    bool gradients;  /* conjugate gradients, else the thresholded matrix alone */
    double *full[2]; /* (size) */
    int64_t iterations, solves;
} road;

/* Z'KZ of the thresholded Z, lower triangle. */
static void make_reduced(road *p)
{
    cholmod_common common;
    cholmod_l_start(&common);
    const null_space *z = &p->z;
    cholmod_triplet *t = cholmod_l_allocate_triplet(
        (size_t)z->size, (size_t)z->count, (size_t)(z->count + z->touched_count * z->rows), 0, CHOLMOD_REAL, &common);
    SuiteSparse_long *ti = t->i, *tj = t->j;
    double *tx = t->x;
    int64_t *pivot = room(z->rows, sizeof *pivot);
    for (int64_t i = 0; i < z->size; i++)
        if (z->column[i] >= 0)
            ti[t->nnz] = i, tj[t->nnz] = z->column[i], tx[t->nnz++] = 1;
        else
            pivot[-1 - z->column[i]] = i;
    for (int64_t i = 0; i < z->touched_count; i++)
        for (int64_t r = 0; r < z->rows; r++)
            if (fabs(z->top[i * z->rows + r]) > 1e-10)
                ti[t->nnz] = pivot[r], tj[t->nnz] = z->touched[i], tx[t->nnz++] = z->top[i * z->rows + r];
    cholmod_sparse lower = {.nrow = (size_t)z->size,
                            .ncol = (size_t)z->size,
                            .nzmax = (size_t)p->K.entries,
                            .p = p->K.start,
                            .i = p->K.row,
                            .x = p->K.value,
                            .stype = -1,
                            .itype = CHOLMOD_LONG,
                            .xtype = CHOLMOD_REAL,
                            .sorted = 1,
                            .packed = 1};
    cholmod_sparse *Z = cholmod_l_triplet_to_sparse(t, 0, &common), *K = cholmod_l_copy(&lower, 0, 1, &common);
    cholmod_sparse *KZ = cholmod_l_ssmult(K, Z, 0, 1, 1, &common), *Zt = cholmod_l_transpose(Z, 1, &common);
    cholmod_sparse *ZKZ = cholmod_l_ssmult(Zt, KZ, 0, 1, 1, &common), *half = cholmod_l_copy(ZKZ, -1, 1, &common);
    if (!half) fail("CHOLMOD cannot multiply");
    const SuiteSparse_long *start = half->p;
    p->reduced = (su_sparse){.size = z->count, .entries = start[z->count], .owns_pattern = 1};
    p->reduced.start = room(z->count + 1, sizeof(int64_t)), p->reduced.row = room(p->reduced.entries, sizeof(int64_t));
    p->reduced.value = room(p->reduced.entries, sizeof(double));
    memcpy(p->reduced.start, half->p, ((size_t)z->count + 1) * sizeof(int64_t));
    memcpy(p->reduced.row, half->i, (size_t)p->reduced.entries * sizeof(int64_t));
    memcpy(p->reduced.value, half->x, (size_t)p->reduced.entries * sizeof(double));
    free(pivot);
    cholmod_l_free_triplet(&t, &common);
    cholmod_l_free_sparse(&Z, &common), cholmod_l_free_sparse(&K, &common), cholmod_l_free_sparse(&KZ, &common);
    cholmod_l_free_sparse(&Zt, &common), cholmod_l_free_sparse(&ZKZ, &common), cholmod_l_free_sparse(&half, &common);
    cholmod_l_finish(&common);
}

static void times_mass(road *p, const double *x, double *y)
{
    expand(&p->z, x, p->full[0]);
    for (int64_t i = 0; i < p->z.size; i++) p->full[0][i] *= p->elastic->mass[p->elastic->free_vertex[i / 3]];
    restrict_to(&p->z, p->full[0], y);
}

static void times_stiffness(road *p, const double *x, double *y)
{
    expand(&p->z, x, p->full[0]);
    su_sparse_multiply(&p->K, p->full[0], p->full[1]);
    restrict_to(&p->z, p->full[1], y);
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* x = (Z'KZ)^-1 b */
static void solve(road *p, const double *b, double *x)
{
    int64_t n = p->z.count;
    p->solves++;
    if (su_cholesky_solve(p->factor, 1, b, x, NULL)) fail("solve");
    if (!p->gradients) return;
    double *r = room(4 * n, sizeof *r), *z = r + n, *d = z + n, *Ad = d + n, start = sqrt(dot(n, b, b));
    times_stiffness(p, x, Ad);
    for (int64_t i = 0; i < n; i++) r[i] = b[i] - Ad[i];
    double old = 1;
    for (int k = 0; k < 200 && sqrt(dot(n, r, r)) > 1e-12 * start; k++) {
        if (su_cholesky_solve(p->factor, 1, r, z, NULL)) fail("solve");
        double now = dot(n, r, z);
        for (int64_t i = 0; i < n; i++) d[i] = z[i] + (k ? now / old * d[i] : 0);
        times_stiffness(p, d, Ad);
        double step = now / dot(n, d, Ad);
        for (int64_t i = 0; i < n; i++) x[i] += step * d[i], r[i] -= step * Ad[i];
        old = now, p->iterations++;
    }
    free(r);
}

/* Eigenvalues by ARPACK's generalized shift-invert mode at 0. */
static void arpack(road *p, double *values)
{
    a_int n = (a_int)p->z.count, ncv = 2 * MODES + 20, ido = 0, info = 0, iparam[11] = {0}, ipntr[14] = {0};
    a_int lworkl = ncv * (ncv + 8), select[2 * MODES + 20];
    double *residual = room(n, 8), *basis = room((int64_t)ncv * n, 8), *workd = room(3 * (int64_t)n, 8),
           *workl = room(lworkl, 8);
    iparam[0] = 1, iparam[2] = 300, iparam[3] = 1, iparam[6] = 3;
    for (;;) {
        dsaupd_c(&ido, "G", n, "LM", MODES, 1e-10, residual, ncv, basis, n, iparam, ipntr, workd, workl, lworkl, &info);
        double *x = workd + ipntr[0] - 1, *y = workd + ipntr[1] - 1;
        if (ido == -1) {
            times_mass(p, x, y);
            double *b = room(n, 8);
            memcpy(b, y, (size_t)n * 8);
            solve(p, b, y);
            free(b);
        } else if (ido == 1) {
            solve(p, workd + ipntr[2] - 1, y);
        } else if (ido == 2) {
            times_mass(p, x, y);
        } else {
            break;
        }
    }
    if (info) fail("ARPACK does not converge");
    dseupd_c(1, "A", select, values, basis, n, 0.0, "G", n, "LM", MODES, 1e-10, residual, ncv, basis, n, iparam, ipntr,
             workd, workl, lworkl, &info);
    if (info) fail("ARPACK gives no vectors");
    free(residual), free(basis), free(workd), free(workl);
}

/* The paper's road; seconds, and values. */
static double paper(const su_elastic *elastic, const block *b, bool gradients, double *values, double *iterations)
{
    double from = seconds();
    road p = {.elastic = elastic, .gradients = gradients};
    su_error err = {0};
    p.z = null_space_create(elastic, b);
    if (su_sparse_clone_pattern(&elastic->pattern, &p.K, &err)) fail(err.text);
    su_elastic_stiffness(elastic, b->x, false, &p.K, 1);
    make_reduced(&p);
    if (su_cholesky_create(&p.reduced, 1, &p.factor, &err) || su_cholesky_factorize(p.factor, &p.reduced, &err))
        fail(err.text);
    for (int k = 0; k < 2; k++) p.full[k] = room(p.z.size, sizeof(double));
    arpack(&p, values);
    *iterations = (double)p.iterations / (double)p.solves;
    null_space_free(&p.z);
    su_sparse_free(&p.K), su_sparse_free(&p.reduced);
    su_cholesky_free(p.factor);
    free(p.full[0]), free(p.full[1]);
    return seconds() - from;
}

typedef enum rows { NONE, PAIRS, TIES } rows;

static double ours(const su_elastic *elastic, const block *b, rows kind, double *values)
{
    double from = seconds(), *modes = room(3 * MODES * b->n, sizeof *modes);
    su_error err = {0};
    su_contact_rows contact = {0};
    su_mode_problem problem = {.elastic = elastic, .x = b->x, .contact = &contact};
    if (kind == TIES)
        contact.rows = 3 * b->contacts, contact.offsets = b->tie_offsets, contact.vertices = b->tie_vertices,
        contact.coefficients = b->tie_coefficients;
    if (kind == PAIRS)
        contact.rows = b->contacts, contact.offsets = b->row_offsets, contact.vertices = b->row_vertices,
        contact.coefficients = b->row_coefficients;
    if (su_modes_solve(&problem, MODES, MODES, values, modes, NULL, 1, &err)) fail(err.text);
    free(modes);
    return seconds() - from;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, REPEATS, sizeof *v, compare_doubles);
    return v[REPEATS / 2];
}

int main(void)
{
    static const struct {
        const char *name;
        int nx, ny, nz, contacts;
        double dofs, free, thresholded, gradients;
    } cases[] = {{"human arm", 14, 12, 12, 54, 7092, 0.9, 1.2, 2.6},
                 {"polar bear", 18, 14, 14, 73, 12054, 1.9, 2.2, 7.3},
                 {"gorilla", 18, 15, 12, 114, 11313, 1.7, 2.4, 6.2}};
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    printf("20 modes, seconds, and times the free ones. PSSD Table 1 in brackets: its character of that size, its "
           "machine.\n");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        block b = block_create(cases[c].nx, cases[c].ny, cases[c].nz, cases[c].contacts);
        su_elastic elastic;
        su_error err = {0};
        double values[5][MODES], time[5][REPEATS], ratio[5][REPEATS], iterations = 0, none, apart = 0;
        if (su_elastic_create(&elastic,
                              &(su_elastic_body){.mesh = {b.n, b.t, b.x, b.tets},
                                                 .held_count = b.held_count,
                                                 .held = b.held,
                                                 .material = SU_NEOHOOKEAN,
                                                 .young = b.young,
                                                 .poisson = b.poisson,
                                                 .density = b.density},
                              &err))
            fail(err.text);
        for (int k = 0; k < REPEATS; k++) {
            time[0][k] = ours(&elastic, &b, NONE, values[0]);
            time[1][k] = paper(&elastic, &b, false, values[1], &none);
            time[2][k] = paper(&elastic, &b, true, values[2], &iterations);
            time[3][k] = ours(&elastic, &b, PAIRS, values[3]);
            time[4][k] = ours(&elastic, &b, TIES, values[4]);
            for (int i = 0; i < 5; i++) ratio[i][k] = time[i][k] / time[0][k];
        }
        for (int i = 1; i < 3; i++)
            for (int k = 0; k < MODES; k++) apart = fmax(apart, fabs(values[i][k] / values[3][k] - 1));
        printf("%-10s %d dofs, %d contacts (%.0f): free %.3f (%.1f); null space thresholded %.3f = %.2f x (%.1f = %.1f "
               "x); with "
               "gradients %.3f = %.2f x, %.1f a solve (%.1f = %.1f x); ours %.3f = %.2f x; eigenvalues within %.0e; "
               "ours, tied "
               "(%d rows) %.3f = %.2f x\n",
               cases[c].name, (int)elastic.pattern.size, b.contacts, cases[c].dofs, median(time[0]), cases[c].free,
               median(time[1]), median(ratio[1]), cases[c].thresholded, cases[c].thresholded / cases[c].free,
               median(time[2]), median(ratio[2]), iterations, cases[c].gradients, cases[c].gradients / cases[c].free,
               median(time[3]), median(ratio[3]), apart, 3 * b.contacts, median(time[4]), median(ratio[4]));
        su_elastic_free(&elastic);
        block_free(&b);
    }
    return 0;
}
