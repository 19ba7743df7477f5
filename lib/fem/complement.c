#include "fem/complement.h"

#include "core/memory.h"
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

typedef double wide __attribute__((vector_size(8 * BLOCK)));
typedef float wide6 __attribute__((vector_size(4 * BLOCK)));

/* Vectors in here are by component, component c of all free vertices in a row, with M^1/2 in them (displacements) or
 * M^-1/2 (forces): there P is the orthogonal projection 1 - Q'Q, the same for both. Q are the scalar rows, S the
 * shapes, orthonormal together. The tuned projection is 1 - Y'C and its transpose, C Y' = 1, C with the rows of Q. */
typedef struct tuned {
    wide6 *C, *Y;
} tuned;

struct su_complement {
    const su_elastic *body;
    int64_t row_count, shape_count;
    int64_t rows, shapes; /* the same, filled up with zeros to whole groups */
    int64_t blocks;       /* of a component: the free vertices, filled up likewise */
    wide *Q, *S;          /* (rows,blocks), (shapes,3,blocks) */
    tuned row, shape;     /* the same */
    wide *x;              /* (3,blocks) */
    wide6 *x6;            /* (3,blocks) */
    double *root;         /* (free) m^1/2 */
    su_cg_work work;      /* of su_complement_solve */
    su_arena arena;
};

/* ---- projections ---- */

#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define CLONES
#endif

/* x (components,blocks) -= Y' C x for each component alone, C and Y (rows,blocks). */
#define DEFINE_TAKE_OUT(name, vector, number, components)                                                              \
    CLONES static void name(int64_t rows, int64_t blocks, const vector *C, const vector *Y, vector *x)                 \
    {                                                                                                                  \
        for (int64_t r = 0; r < rows; r += GROUP, C += GROUP * blocks, Y += GROUP * blocks) {                          \
            vector sum[GROUP][components] = {{{0}}};                                                                   \
            number along[GROUP][components] = {{0}};                                                                   \
            for (int64_t b = 0; b < blocks; b++)                                                                       \
                for (int g = 0; g < GROUP; g++)                                                                        \
                    for (int c = 0; c < components; c++) sum[g][c] += C[g * blocks + b] * x[c * blocks + b];           \
            for (int g = 0; g < GROUP; g++)                                                                            \
                for (int c = 0; c < components; c++)                                                                   \
                    for (int l = 0; l < BLOCK; l++) along[g][c] += sum[g][c][l];                                       \
            for (int64_t b = 0; b < blocks; b++)                                                                       \
                for (int c = 0; c < components; c++) {                                                                 \
                    vector left = x[c * blocks + b];                                                                   \
                    for (int g = 0; g < GROUP; g++) left -= along[g][c] * Y[g * blocks + b];                           \
                    x[c * blocks + b] = left;                                                                          \
                }                                                                                                      \
        }                                                                                                              \
    }

DEFINE_TAKE_OUT(take_out_rows, wide, double, 3)
DEFINE_TAKE_OUT(take_out_shapes, wide, double, 1)
DEFINE_TAKE_OUT(take_out_rows_6, wide6, float, 3)
DEFINE_TAKE_OUT(take_out_shapes_6, wide6, float, 1)

static void project(su_complement *s, bool force, double *v)
{
    int64_t stride = BLOCK * s->blocks;
    double *x = (double *)s->x;
    for (int64_t f = 0; f < s->body->free_count; f++) {
        double scale = force ? 1.0 / s->root[f] : s->root[f];
        for (int c = 0; c < 3; c++) x[c * stride + f] = scale * v[3 * f + c];
    }
    take_out_rows(s->rows, s->blocks, s->Q, s->Q, s->x);
    take_out_shapes(s->shapes, 3 * s->blocks, s->S, s->S, s->x);
    for (int64_t f = 0; f < s->body->free_count; f++) {
        double scale = force ? s->root[f] : 1.0 / s->root[f];
        for (int c = 0; c < 3; c++) v[3 * f + c] = scale * x[c * stride + f];
    }
}

void su_complement_displacement(su_complement *s, double *u) { project(s, false, u); }
void su_complement_force(su_complement *s, double *f) { project(s, true, f); }

/* The same in floats. Rows that belong to Y have none of those of C in them, so their order does not matter. */
static void project_tuned(su_complement *s, bool force, double *v)
{
    int64_t stride = BLOCK * s->blocks;
    float *x = (float *)s->x6;
    for (int64_t f = 0; f < s->body->free_count; f++) {
        double scale = force ? 1.0 / s->root[f] : s->root[f];
        for (int c = 0; c < 3; c++) x[c * stride + f] = (float)(scale * v[3 * f + c]);
    }
    take_out_rows_6(s->rows, s->blocks, force ? s->row.Y : s->row.C, force ? s->row.C : s->row.Y, s->x6);
    take_out_shapes_6(s->shapes, 3 * s->blocks, force ? s->shape.Y : s->shape.C, force ? s->shape.C : s->shape.Y,
                      s->x6);
    for (int64_t f = 0; f < s->body->free_count; f++) {
        double scale = force ? s->root[f] : 1.0 / s->root[f];
        for (int c = 0; c < 3; c++) v[3 * f + c] = scale * (double)x[c * stride + f];
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

/* Y = M^1/2 G^-1 M^1/2 C, both (count,free) */
static su_status soften(const su_complement *s, su_cholesky *G, int64_t count, const double *C, double *Y,
                        su_error *err)
{
    int64_t free_count = s->body->free_count;
    for (int64_t i = 0; i < count * free_count; i++) Y[i] = s->root[i % free_count] * C[i];
    SU_TRY(su_cholesky_solve(G, count, Y, Y, err));
    for (int64_t i = 0; i < count * free_count; i++) Y[i] *= s->root[i % free_count];
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

/* (count,free) to floats in whole blocks. */
static void keep(const su_complement *s, int64_t count, const double *from, wide6 *to)
{
    int64_t stride = BLOCK * s->blocks, free_count = s->body->free_count;
    for (int64_t r = 0; r < count; r++)
        for (int64_t f = 0; f < free_count; f++) ((float *)to)[r * stride + f] = (float)from[r * free_count + f];
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
    int64_t size = s->body->free_count, stride = BLOCK * s->blocks;
    int64_t counts[] = {s->row_count, 3 * s->shape_count};
    double *C[2] = {NULL}, *Y[2] = {NULL};
    su_cholesky *factor = NULL;
    su_sparse G = {0};
    su_status status;
    SU_GO(mean_block_matrix(A, &G, err));
    SU_GO(su_cholesky_create(&G, 1, &factor, err));
    SU_GO(su_cholesky_factorize(factor, &G, err));
    for (int k = 0; k < 2; k++) {
        const double *from = (const double *)(k ? s->S : s->Q);
        if (counts[k] == 0) continue;
        SU_GO(SU_ALLOC(&C[k], counts[k] * size, "the rig's rows", err));
        SU_GO(SU_ALLOC(&Y[k], counts[k] * size, "the rig's rows", err));
        for (int64_t r = 0; r < counts[k]; r++)
            memcpy(C[k] + r * size, from + r * stride, (size_t)size * sizeof(double));
        if (k == 1) take_out_of_shapes(s, C[0], Y[0], C[1]);
        SU_GO(soften(s, factor, counts[k], C[k], Y[k], err));
        SU_GO(make_dual(k ? s->shape_count : s->row_count, k ? 3 * size : size, C[k], Y[k], err));
    }
    keep(s, counts[0], C[0], s->row.C), keep(s, counts[0], Y[0], s->row.Y);
    keep(s, counts[1], C[1], s->shape.C), keep(s, counts[1], Y[1], s->shape.Y);
done:
    for (int k = 0; k < 2; k++) free(C[k]), free(Y[k]);
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

su_status su_complement_solve(su_complement *s, const su_sparse *A, su_cholesky *factor, const double *b, double *x,
                              su_error *err)
{
    factored with = {s, factor, err, SU_OK};
    su_preconditioner B = {precondition, &with};
    bool solved = su_conjugate_gradients(A, B, &s->work, SOLVED, MOST_SOLVES, b, x) == SU_CG_SOLVED;
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
    int64_t stride = BLOCK * s->blocks, free_count = s->body->free_count;
    double *Q = (double *)s->Q;
    for (int64_t r = 0; r < count; r++) {
        for (int64_t f = 0; f < free_count; f++)
            Q[r * stride + f] = row[r * s->body->n + s->body->free_vertex[f]] / s->root[f];
        SU_TRY(normalize(free_count, Q + r * stride, "the rig's row", r, err));
    }
    return orthonormalize(count, free_count, stride, Q, "the rig's row", err);
}

/* Orthogonal to the scalar rows, too: once more after what they shared was much of them. */
static su_status set_shapes(su_complement *s, int64_t count, const double *shape, su_error *err)
{
    int64_t stride = BLOCK * s->blocks, length = 3 * stride;
    double *S = (double *)s->S;
    for (int64_t k = 0; k < count; k++) {
        for (int64_t f = 0; f < s->body->free_count; f++)
            for (int c = 0; c < 3; c++)
                S[k * length + c * stride + f] = shape[3 * (k * s->body->n + s->body->free_vertex[f]) + c] / s->root[f];
        SU_TRY(normalize(length, S + k * length, "the rig's shape", k, err));
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < count; k++) take_out_rows(s->rows, s->blocks, s->Q, s->Q, s->S + 3 * k * s->blocks);
        SU_TRY(orthonormalize(count, length, length, S, "the rig's shape", err));
    }
    return SU_OK;
}

static su_status allocate(su_complement *s, su_error *err)
{
    int64_t free_count = s->body->free_count, rows = s->rows * s->blocks, shapes = 3 * s->shapes * s->blocks;
    bool good = su_cg_take(&s->work, &s->arena, 3 * free_count);
    good &= (s->root = su_arena_alloc(&s->arena, free_count, sizeof *s->root)) != NULL;
    good &= (s->x = su_arena_alloc(&s->arena, 3 * s->blocks, sizeof *s->x)) != NULL;
    good &= (s->x6 = su_arena_alloc(&s->arena, 3 * s->blocks, sizeof *s->x6)) != NULL;
    good &= (s->Q = su_arena_alloc(&s->arena, rows, sizeof *s->Q)) != NULL;
    good &= (s->S = su_arena_alloc(&s->arena, shapes, sizeof *s->S)) != NULL;
    tuned *both[] = {&s->row, &s->shape};
    for (int k = 0; k < 2; k++) {
        good &= (both[k]->C = su_arena_alloc(&s->arena, k ? shapes : rows, sizeof(wide6))) != NULL;
        good &= (both[k]->Y = su_arena_alloc(&s->arena, k ? shapes : rows, sizeof(wide6))) != NULL;
    }
    return good ? SU_OK : su_fail(err, SU_AGAIN, "no memory for the rig's rows");
}

static int64_t whole(int64_t count, int64_t of) { return (count + of - 1) / of; }

su_status su_complement_create(const su_elastic *body, int64_t rows, const double *row, int64_t shapes,
                               const double *shape, su_complement **out, su_error *err)
{
    su_complement *s = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "the rig's rows", err));
    s->row_count = rows, s->shape_count = shapes;
    s->body = body, s->blocks = whole(body->free_count, BLOCK);
    s->rows = GROUP * whole(rows, GROUP), s->shapes = GROUP * whole(shapes, GROUP);
    SU_GO(allocate(s, err));
    for (int64_t f = 0; f < body->free_count; f++) s->root[f] = sqrt(body->mass[body->free_vertex[f]]);
    SU_GO(set_rows(s, rows, row, err));
    SU_GO(set_shapes(s, shapes, shape, err));
    for (int64_t i = 0; i < s->rows * s->blocks * BLOCK; i++)
        ((float *)s->row.C)[i] = ((float *)s->row.Y)[i] = (float)((double *)s->Q)[i];
    for (int64_t i = 0; i < 3 * s->shapes * s->blocks * BLOCK; i++)
        ((float *)s->shape.C)[i] = ((float *)s->shape.Y)[i] = (float)((double *)s->S)[i];
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
