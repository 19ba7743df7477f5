#include "fem/complement.h"

#include "core/memory.h"
#include "core/vector_clones.h"
#include "fem/conjugate_gradients.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Entries of a block: sums have that many parts, so that vector units make them, and one order for all of these. */
enum { BLOCK = 16 };
/* Rows that are taken out at a time, while a block of the vector is in registers. */
enum { GROUP = 4 };

typedef double wide __attribute__((vector_size(8 * BLOCK), aligned(64))); /* as memory is */
typedef float wide6 __attribute__((vector_size(4 * BLOCK)));

/* Vectors in here are by component, component c of all free vertices in a row, with M^1/2 in them (displacements) or
 * M^-1/2 (forces): there P is the orthogonal projection 1 - Q'Q, the same for both. Q are the scalar rows, S the
 * shapes, orthonormal together. The tuned projection is 1 - Y'C and its transpose, C Y' = 1, C with the rows of Q.
 * Vertices that a row touches come first: Q, S and C end with them. */
typedef struct tuned {
    wide6 *C, *Y;
} tuned;

struct su_complement {
    const su_elastic *body;
    int64_t row_count, shape_count;
    int64_t rows, shapes;    /* the same, filled up with zeros to whole groups */
    int64_t touched, blocks; /* of a component: the vertices that rows touch, all free ones; filled up likewise */
    int64_t touched_count;
    int32_t *order;   /* (free) free vertices, touched ones first */
    wide *Q, *S;      /* (rows,touched), (shapes,3,touched) */
    tuned row, shape; /* C the same, Y (rows,blocks), (shapes,3,blocks) */
    wide *x;          /* (3,blocks) */
    wide6 *x6;        /* (3,blocks) */
    double *root;     /* (free) m^1/2, in that order */
    su_cg_work work;  /* of su_complement_solve */
    su_arena arena;
};

/* ---- projections ---- */

/* x (3,stride) -= Y' C x, C with c blocks of a component and Y with y. Rows have one component, per = 1, and a sum for
 * each of x; shapes have three, per = 3, and one sum. */
#define DEFINE_TAKE_OUT(name, vector, number, per, sums)                                                               \
    SU_CLONES static void name(int64_t rows, int64_t c, const vector *C, int64_t y, const vector *Y, int64_t stride,   \
                               vector *x)                                                                              \
    {                                                                                                                  \
        for (int64_t r = 0; r < rows; r += GROUP, C += GROUP * per * c, Y += GROUP * per * y) {                        \
            vector sum[GROUP][sums] = {{{0}}};                                                                         \
            number along[GROUP][sums] = {{0}};                                                                         \
            for (int64_t b = 0; b < c; b++)                                                                            \
                for (int g = 0; g < GROUP; g++)                                                                        \
                    for (int k = 0; k < 3; k++)                                                                        \
                        sum[g][k % sums] += C[(per * g + k % per) * c + b] * x[k * stride + b];                        \
            for (int g = 0; g < GROUP; g++)                                                                            \
                for (int k = 0; k < sums; k++)                                                                         \
                    for (int l = 0; l < BLOCK; l++) along[g][k] += sum[g][k][l];                                       \
            for (int64_t b = 0; b < y; b++)                                                                            \
                for (int k = 0; k < 3; k++) {                                                                          \
                    vector left = x[k * stride + b];                                                                   \
                    for (int g = 0; g < GROUP; g++) left -= along[g][k % sums] * Y[(per * g + k % per) * y + b];       \
                    x[k * stride + b] = left;                                                                          \
                }                                                                                                      \
        }                                                                                                              \
    }

DEFINE_TAKE_OUT(take_out_rows, wide, double, 1, 3)
DEFINE_TAKE_OUT(take_out_shapes, wide, double, 3, 1)
DEFINE_TAKE_OUT(take_out_rows_6, wide6, float, 1, 3)
DEFINE_TAKE_OUT(take_out_shapes_6, wide6, float, 3, 1)

static void project(su_complement *s, bool force, double *v)
{
    int64_t stride = BLOCK * s->touched;
    double *x = (double *)s->x;
    for (int64_t i = 0; i < s->touched_count; i++) {
        double scale = force ? 1.0 / s->root[i] : s->root[i];
        for (int c = 0; c < 3; c++) x[c * stride + i] = scale * v[3 * (int64_t)s->order[i] + c];
    }
    take_out_rows(s->rows, s->touched, s->Q, s->touched, s->Q, s->touched, s->x);
    take_out_shapes(s->shapes, s->touched, s->S, s->touched, s->S, s->touched, s->x);
    for (int64_t i = 0; i < s->touched_count; i++) {
        double scale = force ? s->root[i] : 1.0 / s->root[i];
        for (int c = 0; c < 3; c++) v[3 * (int64_t)s->order[i] + c] = scale * x[c * stride + i];
    }
}

void su_complement_displacement(su_complement *s, double *u) { project(s, false, u); }
void su_complement_force(su_complement *s, double *f) { project(s, true, f); }

/* The same in floats. Rows that belong to Y have none of those of C in them, so their order does not matter. */
static void project_tuned(su_complement *s, bool force, double *v)
{
    int64_t stride = BLOCK * s->blocks, touched = s->touched, blocks = s->blocks;
    float *x = (float *)s->x6;
    for (int64_t i = 0; i < s->body->free_count; i++) {
        double scale = force ? 1.0 / s->root[i] : s->root[i];
        for (int c = 0; c < 3; c++) x[c * stride + i] = (float)(scale * v[3 * (int64_t)s->order[i] + c]);
    }
    if (force) {
        take_out_rows_6(s->rows, blocks, s->row.Y, touched, s->row.C, blocks, s->x6);
        take_out_shapes_6(s->shapes, blocks, s->shape.Y, touched, s->shape.C, blocks, s->x6);
    } else {
        take_out_rows_6(s->rows, touched, s->row.C, blocks, s->row.Y, blocks, s->x6);
        take_out_shapes_6(s->shapes, touched, s->shape.C, blocks, s->shape.Y, blocks, s->x6);
    }
    for (int64_t i = 0; i < s->body->free_count; i++) {
        double scale = force ? s->root[i] : 1.0 / s->root[i];
        for (int c = 0; c < 3; c++) v[3 * (int64_t)s->order[i] + c] = scale * (double)x[c * stride + i];
    }
}

void su_complement_tuned_displacement(su_complement *s, double *u) { project_tuned(s, false, u); }
void su_complement_tuned_force(su_complement *s, double *f) { project_tuned(s, true, f); }

/* ---- tuning ---- */

/* G of A, on the vertices: columns of A come in threes of whole blocks. */
static su_status mean_block_matrix(const su_sparse *A, su_sparse *G, su_error *err)
{
    int64_t size = A->size / 3, write = 0;
    *G = (su_sparse){.size = size, .owns_pattern = 1};
    for (int64_t f = 0; f < size; f++) G->entries += (A->start[3 * f + 1] - A->start[3 * f]) / 3;
    SU_TRY(SU_ALLOC(&G->start, size + 1, "the rig's rows", err));
    SU_TRY(SU_ALLOC(&G->row, G->entries, "the rig's rows", err));
    SU_TRY(SU_ALLOC(&G->value, G->entries, "the rig's rows", err));
    for (int64_t f = 0; f < size; f++) {
        for (int64_t k = 0; k < A->start[3 * f + 1] - A->start[3 * f]; k += 3, write++) {
            G->row[write] = A->row[A->start[3 * f] + k] / 3;
            for (int c = 0; c < 3; c++) G->value[write] += A->value[A->start[3 * f + c] + k] / 3;
        }
        G->start[f + 1] = write;
    }
    return SU_OK;
}

/* Y = M^1/2 G^-1 M^1/2 C, both (count,free); work likewise */
static su_status soften(const su_complement *s, su_cholesky *G, int64_t count, const double *C, double *Y, double *work,
                        su_error *err)
{
    int64_t size = s->body->free_count;
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < size; i++) work[r * size + s->order[i]] = s->root[i] * C[r * size + i];
    SU_TRY(su_cholesky_solve(G, count, work, work, err));
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < size; i++) Y[r * size + i] = s->root[i] * work[r * size + s->order[i]];
    return SU_OK;
}

/* C and Y (count,length), their products symmetric, so that C Y' = 1. */
static su_status make_dual(int64_t count, int64_t length, double *C, double *Y, su_error *err)
{
    int n = (int)count, m = (int)length;
    double *B;
    if (count == 0) return SU_OK;
    SU_TRY(SU_ALLOC(&B, count * count, "the rig's rows", err));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, n, m, 1, C, m, Y, m, 0, B, n);
    su_status status = SU_OK;
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, B, n) != 0)
        status = su_fail(err, SU_NUMERICS, "the rig's rows are not independent in the stiffness of the flesh");
    for (int k = 0; k < 2 && status == SU_OK; k++)
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1, B, n, k ? Y : C, m);
    free(B);
    return status;
}

/* The first `size` of (count,free) to floats in whole blocks. */
static void keep(const su_complement *s, int64_t count, const double *from, int64_t size, int64_t blocks, wide6 *to)
{
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < size; i++)
            ((float *)to)[r * BLOCK * blocks + i] = (float)from[r * s->body->free_count + i];
}

/* Shapes (3,free each) less what rows say of them: C -= (C Y') C for each component. */
static void take_out_of_shapes(const su_complement *s, const double *C, const double *Y, double *shapes)
{
    int rows = (int)s->row_count, size = (int)s->body->free_count;
    double *along = (double *)s->x; /* (rows) */
    for (int64_t k = 0; k < 3 * s->shape_count; k++) {
        double *shape = shapes + k * size;
        for (int r = 0; r < rows; r++) {
            double sum = 0.0;
            for (int f = 0; f < size; f++) sum += Y[(int64_t)r * size + f] * shape[f];
            along[r] = sum;
        }
        for (int r = 0; r < rows; r++)
            for (int f = 0; f < size; f++) shape[f] -= along[r] * C[(int64_t)r * size + f];
    }
}

su_status su_complement_tune(su_complement *s, const su_sparse *A, su_error *err)
{
    int64_t size = s->body->free_count, stride = BLOCK * s->touched, touched = s->touched_count;
    int64_t counts[] = {s->row_count, 3 * s->shape_count};
    double *C[2] = {NULL}, *Y[2] = {NULL}, *work = NULL;
    su_cholesky *factor = NULL;
    su_sparse G = {0};
    su_status status;
    SU_GO(mean_block_matrix(A, &G, err));
    SU_GO(su_cholesky_create(&G, 1, &factor, err));
    SU_GO(su_cholesky_factorize(factor, &G, err));
    SU_GO(SU_ALLOC(&work, (counts[0] > counts[1] ? counts[0] : counts[1]) * size, "the rig's rows", err));
    for (int k = 0; k < 2; k++) {
        const double *from = (const double *)(k ? s->S : s->Q);
        if (counts[k] == 0) continue;
        SU_GO(SU_ALLOC(&C[k], counts[k] * size, "the rig's rows", err));
        SU_GO(SU_ALLOC(&Y[k], counts[k] * size, "the rig's rows", err));
        for (int64_t r = 0; r < counts[k]; r++)
            memcpy(C[k] + r * size, from + r * stride, (size_t)touched * sizeof(double));
        if (k == 1) take_out_of_shapes(s, C[0], Y[0], C[1]);
        SU_GO(soften(s, factor, counts[k], C[k], Y[k], work, err));
        SU_GO(make_dual(k ? s->shape_count : s->row_count, k ? 3 * size : size, C[k], Y[k], err));
    }
    keep(s, counts[0], C[0], touched, s->touched, s->row.C), keep(s, counts[0], Y[0], size, s->blocks, s->row.Y);
    keep(s, counts[1], C[1], touched, s->touched, s->shape.C), keep(s, counts[1], Y[1], size, s->blocks, s->shape.Y);
done:
    for (int k = 0; k < 2; k++) free(C[k]), free(Y[k]);
    free(work);
    su_cholesky_free(factor);
    su_sparse_free(&G);
    return status;
}

/* ---- linear systems ---- */

/* What is left of the first error: a Newton step to all digits that matter. Where inertia governs what the rows bind
 * that takes 20 to 30 solves; in statics, where flesh that they keep still is far stiffer than flesh that they do not
 * see, more. */
static const double SOLVED = 1e-10;
enum { MOST_SOLVES = 400 };

typedef struct factored {
    su_complement *complement;
    su_cholesky *factor;
    su_error *err;
    su_status status;
} factored;

static bool precondition(void *context, double *r, double *z)
{
    factored *f = context;
    su_complement_force(f->complement, r);
    f->status = su_cholesky_solve(f->factor, 1, r, z, f->err);
    if (f->status == SU_OK) su_complement_displacement(f->complement, z);
    return f->status == SU_OK;
}

su_status su_complement_solve(su_complement *s, const su_sparse *A, const su_couplings *beside, su_cholesky *factor,
                              const double *b, double *x, su_error *err)
{
    factored with = {s, factor, err, SU_OK};
    su_preconditioner B = {precondition, &with};
    bool solved = su_conjugate_gradients(A, beside, B, &s->work, SOLVED, MOST_SOLVES, b, x) == SU_CG_SOLVED;
    su_complement_displacement(s, x);
    if (solved) return SU_OK;
    if (with.status != SU_OK) return with.status;
    return su_fail(err, SU_NUMERICS, "a system under the rig's constraint is not solved after %d iterations",
                   MOST_SOLVES);
}

/* ---- creation ---- */

/* Part of a row that is its own, below which it depends on others: a thousand times the rounding of a row. */
static const double INDEPENDENT = 1e-12;

static su_status normalize(int64_t size, double *row, const char *what, int64_t number, su_error *err)
{
    double square = 0.0;
    for (int64_t i = 0; i < size; i++) square += row[i] * row[i];
    if (!(square > 0.0))
        return su_fail(err, SU_INPUT, "%s %lld is 0 at all vertices that move", what, (long long)number);
    for (int64_t i = 0; i < size; i++) row[i] /= sqrt(square);
    return SU_OK;
}

/* rows (count,stride) of norm 1 or less, orthonormal; their first `size` entries are in use. */
static su_status orthonormalize(int64_t count, int64_t size, int64_t stride, double *rows, const char *what,
                                su_error *err)
{
    lapack_int n = (lapack_int)count, m = (lapack_int)size, step = (lapack_int)stride;
    double *tau;
    if (count == 0) return SU_OK;
    if (count > size) return su_fail(err, SU_INPUT, "%s %lld depends on those before it", what, (long long)size);
    SU_TRY(SU_ALLOC(&tau, count, "the rig's rows", err));
    su_status status = SU_OK;
    bool done = LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, rows, step, tau) == 0;
    for (int64_t r = 0; r < count && done && status == SU_OK; r++)
        if (!(fabs(rows[r * stride + r]) > INDEPENDENT))
            status = su_fail(err, SU_INPUT, "%s %lld depends on those before it", what, (long long)r);
    if (status == SU_OK && done) done = LAPACKE_dorgqr(LAPACK_COL_MAJOR, m, n, n, rows, step, tau) == 0;
    free(tau);
    return done ? status : su_fail(err, SU_AGAIN, "no memory for the rig's rows");
}

static su_status set_rows(su_complement *s, int64_t count, const double *row, su_error *err)
{
    int64_t stride = BLOCK * s->touched, size = s->touched_count;
    double *Q = (double *)s->Q;
    for (int64_t r = 0; r < count; r++) {
        for (int64_t i = 0; i < size; i++)
            Q[r * stride + i] = row[r * s->body->n + s->body->free_vertex[s->order[i]]] / s->root[i];
        SU_TRY(normalize(size, Q + r * stride, "the rig's row", r, err));
    }
    return orthonormalize(count, size, stride, Q, "the rig's row", err);
}

/* Orthogonal to the scalar rows, too: once more after what they shared was much of them. */
static su_status set_shapes(su_complement *s, int64_t count, const double *shape, su_error *err)
{
    int64_t stride = BLOCK * s->touched, length = 3 * stride;
    double *S = (double *)s->S;
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < s->touched_count; i++)
            for (int c = 0; c < 3; c++)
                S[k * length + c * stride + i] =
                    shape[3 * (k * s->body->n + s->body->free_vertex[s->order[i]]) + c] / s->root[i];
        SU_TRY(normalize(length, S + k * length, "the rig's shape", k, err));
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < count; k++)
            take_out_rows(s->rows, s->touched, s->Q, s->touched, s->Q, s->touched, s->S + 3 * k * s->touched);
        SU_TRY(orthonormalize(count, length, length, S, "the rig's shape", err));
    }
    return SU_OK;
}

static int64_t whole(int64_t count, int64_t of) { return (count + of - 1) / of; }

static bool touches(int64_t n, int64_t v, int64_t rows, const double *row, int64_t shapes, const double *shape)
{
    for (int64_t r = 0; r < rows; r++)
        if (row[r * n + v] != 0.0) return true;
    for (int64_t i = 0; i < 3 * shapes; i++)
        if (shape[3 * (i / 3 * n + v) + i % 3] != 0.0) return true;
    return false;
}

/* Touched vertices first, each part ascending. */
static su_status set_order(su_complement *s, const double *row, const double *shape, su_error *err)
{
    const su_elastic *body = s->body;
    s->order = su_arena_alloc(&s->arena, body->free_count, sizeof *s->order);
    s->root = su_arena_alloc(&s->arena, body->free_count, sizeof *s->root);
    if (!s->order || !s->root) return su_fail(err, SU_AGAIN, "no memory for the rig's rows");
    for (int64_t f = 0, last = body->free_count; f < body->free_count; f++)
        if (touches(body->n, body->free_vertex[f], s->row_count, row, s->shape_count, shape))
            s->order[s->touched_count++] = (int32_t)f;
        else
            s->order[--last] = (int32_t)f;
    for (int64_t i = 0; i < body->free_count; i++) s->root[i] = sqrt(body->mass[body->free_vertex[s->order[i]]]);
    s->touched = whole(s->touched_count, BLOCK), s->blocks = whole(body->free_count, BLOCK);
    return SU_OK;
}

static su_status allocate(su_complement *s, su_error *err)
{
    int64_t lines[] = {s->rows, 3 * s->shapes};
    tuned *both[] = {&s->row, &s->shape};
    wide **exact[] = {&s->Q, &s->S};
    bool good = su_cg_take(&s->work, &s->arena, 3 * s->body->free_count);
    good &= (s->x = su_arena_alloc(&s->arena, 3 * s->blocks, sizeof *s->x)) != NULL;
    good &= (s->x6 = su_arena_alloc(&s->arena, 3 * s->blocks, sizeof *s->x6)) != NULL;
    for (int k = 0; k < 2; k++) {
        good &= (*exact[k] = su_arena_alloc(&s->arena, lines[k] * s->touched, sizeof(wide))) != NULL;
        good &= (both[k]->C = su_arena_alloc(&s->arena, lines[k] * s->touched, sizeof(wide6))) != NULL;
        good &= (both[k]->Y = su_arena_alloc(&s->arena, lines[k] * s->blocks, sizeof(wide6))) != NULL;
    }
    return good ? SU_OK : su_fail(err, SU_AGAIN, "no memory for the rig's rows");
}

/* P itself, for the tuned one: C and Y are both Q, or S. */
static void tune_to_mass(su_complement *s, int64_t lines, const wide *from, tuned *to)
{
    const double *of = (const double *)from;
    for (int64_t r = 0; r < lines; r++)
        for (int64_t i = 0; i < BLOCK * s->touched; i++)
            ((float *)to->C)[r * BLOCK * s->touched + i] = ((float *)to->Y)[r * BLOCK * s->blocks + i] =
                (float)of[r * BLOCK * s->touched + i];
}

su_status su_complement_create(const su_elastic *body, int64_t rows, const double *row, int64_t shapes,
                               const double *shape, su_complement **out, su_error *err)
{
    su_complement *s = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "the rig's rows", err));
    s->body = body, s->row_count = rows, s->shape_count = shapes;
    s->rows = GROUP * whole(rows, GROUP), s->shapes = GROUP * whole(shapes, GROUP);
    SU_GO(set_order(s, row, shape, err));
    SU_GO(allocate(s, err));
    SU_GO(set_rows(s, rows, row, err));
    SU_GO(set_shapes(s, shapes, shape, err));
    tune_to_mass(s, s->rows, s->Q, &s->row), tune_to_mass(s, 3 * s->shapes, s->S, &s->shape);
    *out = s;
    s = NULL;
    status = SU_OK;
done:
    su_complement_free(s);
    return status;
}

void su_complement_free(su_complement *s)
{
    if (!s) return;
    su_arena_free(&s->arena);
    free(s);
}
