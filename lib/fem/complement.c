#include "fem/complement.h"

#include "core/memory.h"
#include "fem/conjugate_gradients.h"

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
 * shapes, orthonormal together. */
struct su_complement {
    const su_elastic *body;
    int64_t rows, shapes; /* filled up with zeros to whole groups */
    int64_t blocks;       /* of a component: the free vertices, filled up likewise */
    wide *Q, *S;          /* (rows,blocks), (shapes,3,blocks) */
    wide6 *Q6, *S6;       /* the same */
    wide *x;              /* (3,blocks) */
    wide6 *x6;            /* (3,blocks) */
    double *root;         /* (free) m^1/2 */
    su_cg_work work;      /* of su_complement_solve */
    su_arena arena;
};

/* ---- the projection ---- */

#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define CLONES
#endif

/* x (components,blocks) less what stands in it of each row (blocks) of Q, for each component alone. */
#define DEFINE_TAKE_OUT(name, vector, number, components)                                                              \
    CLONES static void name(int64_t rows, int64_t blocks, const vector *Q, vector *x)                                  \
    {                                                                                                                  \
        for (int64_t r = 0; r < rows; r += GROUP, Q += GROUP * blocks) {                                               \
            vector sum[GROUP][components] = {{{0}}};                                                                   \
            number along[GROUP][components] = {{0}};                                                                   \
            for (int64_t b = 0; b < blocks; b++)                                                                       \
                for (int g = 0; g < GROUP; g++)                                                                        \
                    for (int c = 0; c < components; c++) sum[g][c] += Q[g * blocks + b] * x[c * blocks + b];           \
            for (int g = 0; g < GROUP; g++)                                                                            \
                for (int c = 0; c < components; c++)                                                                   \
                    for (int l = 0; l < BLOCK; l++) along[g][c] += sum[g][c][l];                                       \
            for (int64_t b = 0; b < blocks; b++)                                                                       \
                for (int c = 0; c < components; c++) {                                                                 \
                    vector left = x[c * blocks + b];                                                                   \
                    for (int g = 0; g < GROUP; g++) left -= along[g][c] * Q[g * blocks + b];                           \
                    x[c * blocks + b] = left;                                                                          \
                }                                                                                                      \
        }                                                                                                              \
    }

DEFINE_TAKE_OUT(take_out_rows, wide, double, 3)
DEFINE_TAKE_OUT(take_out_shapes, wide, double, 1)
DEFINE_TAKE_OUT(take_out_rows_6, wide6, float, 3)
DEFINE_TAKE_OUT(take_out_shapes_6, wide6, float, 1)

static void project(su_complement *s, su_complement_digits digits, bool force, double *v)
{
    int64_t stride = BLOCK * s->blocks;
    bool all = digits == SU_COMPLEMENT_ALL;
    double *x = (double *)s->x;
    float *x6 = (float *)s->x6;
    for (int64_t f = 0; f < s->body->free_count; f++) {
        double scale = force ? 1.0 / s->root[f] : s->root[f];
        for (int c = 0; c < 3; c++) {
            double value = scale * v[3 * f + c];
            if (all)
                x[c * stride + f] = value;
            else
                x6[c * stride + f] = (float)value;
        }
    }
    if (all) {
        take_out_rows(s->rows, s->blocks, s->Q, s->x);
        take_out_shapes(s->shapes, 3 * s->blocks, s->S, s->x);
    } else {
        take_out_rows_6(s->rows, s->blocks, s->Q6, s->x6);
        take_out_shapes_6(s->shapes, 3 * s->blocks, s->S6, s->x6);
    }
    for (int64_t f = 0; f < s->body->free_count; f++) {
        double scale = force ? s->root[f] : 1.0 / s->root[f];
        for (int c = 0; c < 3; c++) v[3 * f + c] = scale * (all ? x[c * stride + f] : (double)x6[c * stride + f]);
    }
}

void su_complement_displacement(su_complement *s, su_complement_digits digits, double *u)
{
    project(s, digits, false, u);
}

void su_complement_force(su_complement *s, su_complement_digits digits, double *f) { project(s, digits, true, f); }

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
    su_complement_force(f->complement, SU_COMPLEMENT_ALL, r);
    f->status = su_cholesky_solve(f->factor, 1, r, z, f->err);
    if (f->status == SU_OK) su_complement_displacement(f->complement, SU_COMPLEMENT_ALL, z);
    return f->status == SU_OK;
}

su_status su_complement_solve(su_complement *s, const su_sparse *A, su_cholesky *factor, const double *b, double *x,
                              su_error *err)
{
    factored with = {s, factor, err, SU_OK};
    su_preconditioner B = {precondition, &with};
    bool solved = su_conjugate_gradients(A, B, &s->work, SOLVED, MOST_SOLVES, b, x);
    su_complement_displacement(s, SU_COMPLEMENT_ALL, x);
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
        for (int64_t k = 0; k < count; k++) take_out_rows(s->rows, s->blocks, s->Q, s->S + 3 * k * s->blocks);
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
    good &= (s->Q6 = su_arena_alloc(&s->arena, rows, sizeof *s->Q6)) != NULL;
    good &= (s->S6 = su_arena_alloc(&s->arena, shapes, sizeof *s->S6)) != NULL;
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
    s->body = body, s->blocks = whole(body->free_count, BLOCK);
    s->rows = GROUP * whole(rows, GROUP), s->shapes = GROUP * whole(shapes, GROUP);
    SU_GO(allocate(s, err));
    for (int64_t f = 0; f < body->free_count; f++) s->root[f] = sqrt(body->mass[body->free_vertex[f]]);
    SU_GO(set_rows(s, rows, row, err));
    SU_GO(set_shapes(s, shapes, shape, err));
    for (int64_t i = 0; i < s->rows * s->blocks * BLOCK; i++) ((float *)s->Q6)[i] = (float)((double *)s->Q)[i];
    for (int64_t i = 0; i < 3 * s->shapes * s->blocks * BLOCK; i++) ((float *)s->S6)[i] = (float)((double *)s->S)[i];
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
