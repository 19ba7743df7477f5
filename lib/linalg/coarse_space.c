#include "linalg/coarse_space.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Damping of Jacobi sweeps, the usual one: with it they shrink all that varies from vertex to vertex. */
static const double DAMPING = 2.0 / 3;
/* Of a vector's square in A, what those before it leave where it is another one: two pairs may press at one place. */
static const double INDEPENDENT = 1e-9;

/* Three entries of a vertex. */
typedef struct triple {
    int32_t vertex;
    double value[3];
} triple;

/* Vectors of few vertices, one after the other. */
typedef struct vectors {
    int64_t *first; /* (columns + 1) triples of each */
    triple *entry;
    int64_t count, room; /* triples of all */
} vectors;

struct su_coarse_space {
    const su_sparse *pattern; /* of A */
    int64_t size;
    int64_t *before; /* (size/3 + 1) of the blocks in each vertex's rows left of the diagonal, */
    int64_t *offset; /* (blocks) how far down their column they stand */
    int32_t *column; /* (blocks) and whose it is */
    int64_t columns, column_room;
    vectors Z, AZ;
    double *E;       /* (column_room,column_room) factor of Z'AZ, lower, by columns */
    double *c, *now; /* (columns) of S r; of what is asked last */
    /* While columns are made: */
    double *sum;         /* (size) a product with A; 0 in between */
    uint8_t *is_touched; /* (size/3) */
    int32_t *touched;    /* (touched_count) vertices that it has */
    int64_t touched_count;
    int32_t *place; /* (size/3) one more than where a vector has a vertex; 0 in between */
};

/* The rows of the lower triangle: where, in its columns, their blocks are. */
static void index_rows(su_coarse_space *s)
{
    const su_sparse *A = s->pattern;
    int64_t vertices = s->size / 3;
    for (int64_t v = 0; v < vertices; v++)
        for (int64_t e = A->start[3 * v] + 3; e < A->start[3 * v + 1]; e += 3) s->before[A->row[e] / 3 + 1]++;
    for (int64_t v = 0; v < vertices; v++) s->before[v + 1] += s->before[v];
    for (int64_t v = 0; v < vertices; v++)
        for (int64_t e = A->start[3 * v] + 3; e < A->start[3 * v + 1]; e += 3) {
            int64_t at = s->before[A->row[e] / 3]++;
            s->offset[at] = e - A->start[3 * v], s->column[at] = (int32_t)v;
        }
    for (int64_t v = vertices; v > 0; v--) s->before[v] = s->before[v - 1];
    s->before[0] = 0;
}

su_status su_coarse_space_create(const su_sparse *pattern, su_coarse_space **out, su_error *err)
{
    su_coarse_space *s = NULL;
    su_status status;
    int64_t size = pattern->size, vertices = size / 3, blocks = 0;
    *out = NULL;
    SU_GO(pattern->in_threes ? SU_OK : su_fail(err, SU_FAILED, "the coarse space: a matrix that is not in threes"));
    for (int64_t v = 0; v < vertices; v++) blocks += (pattern->start[3 * v + 1] - pattern->start[3 * v]) / 3 - 1;
    SU_GO(SU_ALLOC(&s, 1, "the coarse space", err));
    s->pattern = pattern, s->size = size;
    SU_GO(SU_ALLOC_ALL("the coarse space", err, SU_WANT(s->before, vertices + 1), SU_WANT(s->offset, blocks),
                       SU_WANT(s->column, blocks), SU_WANT(s->sum, size), SU_WANT(s->is_touched, vertices),
                       SU_WANT(s->touched, vertices), SU_WANT(s->place, vertices)));
    index_rows(s);
    *out = s;
    s = NULL;
done:
    su_coarse_space_free(s);
    return status;
}

static void free_columns(su_coarse_space *s)
{
    free(s->Z.first), free(s->AZ.first), free(s->E), free(s->c), free(s->now);
    s->Z.first = s->AZ.first = NULL, s->E = s->c = s->now = NULL;
    s->column_room = 0;
}

void su_coarse_space_free(su_coarse_space *s)
{
    if (!s) return;
    free_columns(s);
    free(s->Z.entry), free(s->AZ.entry);
    free(s->before), free(s->offset), free(s->column), free(s->sum), free(s->is_touched), free(s->touched),
        free(s->place);
    free(s);
}

static su_status take_columns(su_coarse_space *s, int64_t count, su_error *err)
{
    if (count <= s->column_room) return SU_OK;
    int64_t room = 2 * count;
    free_columns(s);
    SU_TRY(SU_ALLOC_ALL("the coarse space", err, SU_WANT(s->Z.first, room + 1), SU_WANT(s->AZ.first, room + 1),
                        SU_WANT(s->E, room * room), SU_WANT(s->c, room), SU_WANT(s->now, room)));
    s->column_room = room;
    return SU_OK;
}

/* ---- columns ---- */

/* Three numbers of the sum, which has this vertex from now on. */
static double *touch(su_coarse_space *s, int32_t vertex)
{
    if (!s->is_touched[vertex]) s->is_touched[vertex] = 1, s->touched[s->touched_count++] = vertex;
    return s->sum + 3 * (int64_t)vertex;
}

/* sum += A x of one vertex: its columns below the diagonal, on it, and its rows left of it. */
static void add_product(su_coarse_space *s, const su_sparse *A, const triple *x)
{
    int64_t v = x->vertex, length = A->start[3 * v + 1] - A->start[3 * v];
    const int64_t *row = A->row + A->start[3 * v];
    const double *c0 = A->value + A->start[3 * v], *c1 = c0 + length - 1, *c2 = c1 + length - 2;
    double x0 = x->value[0], x1 = x->value[1], x2 = x->value[2];
    double *own = touch(s, x->vertex);
    own[0] += c0[0] * x0 + c0[1] * x1 + c0[2] * x2;
    own[1] += c0[1] * x0 + c1[1] * x1 + c1[2] * x2;
    own[2] += c0[2] * x0 + c1[2] * x1 + c2[2] * x2;
    for (int64_t k = 3; k < length; k += 3) {
        double *to = touch(s, (int32_t)(row[k] / 3));
        for (int i = 0; i < 3; i++) to[i] += c0[k + i] * x0 + c1[k + i] * x1 + c2[k + i] * x2;
    }
    for (int64_t b = s->before[v]; b < s->before[v + 1]; b++) {
        int64_t first = 3 * (int64_t)s->column[b];
        double *to = touch(s, s->column[b]);
        for (int i = 0; i < 3; i++) { /* column i of three begins with its diagonal, i rows farther down */
            const double *block = A->value + A->start[first + i] + s->offset[b] - i;
            to[i] += block[0] * x0 + block[1] * x1 + block[2] * x2;
        }
    }
}

/* Appends the sum as a vector and clears it. */
static su_status append_sum(su_coarse_space *s, vectors *to, su_error *err)
{
    if (to->count + s->touched_count > to->room) {
        int64_t room = 2 * (to->count + s->touched_count);
        triple *larger = realloc(to->entry, (size_t)room * sizeof *larger);
        if (!larger) return su_fail(err, SU_AGAIN, "no memory for the coarse space");
        to->entry = larger, to->room = room;
    }
    for (int64_t k = 0; k < s->touched_count; k++) {
        triple *entry = to->entry + to->count++;
        double *sum = s->sum + 3 * (int64_t)s->touched[k];
        entry->vertex = s->touched[k];
        memcpy(entry->value, sum, sizeof entry->value), memset(sum, 0, sizeof entry->value);
        s->is_touched[s->touched[k]] = 0;
    }
    s->touched_count = 0;
    return SU_OK;
}

static double over_diagonal(const su_sparse *A, int64_t dof, double value)
{
    double diagonal = A->value[A->start[dof]];
    return diagonal > 0 ? value / diagonal : 0; /* what is not definite is found out by the factor of E */
}

/* Two sweeps towards A^-1 c: how the flesh itself gives way to what presses. */
static su_status append_z(su_coarse_space *s, const su_sparse *A, const su_coarse_column *c, su_error *err)
{
    for (int i = 0; i < SU_COARSE_ENTRIES; i += 3) {
        triple t = {.vertex = (int32_t)(c->dof[i] / 3)};
        if (c->dof[i] < 0) continue;
        for (int k = 0; k < 3; k++) t.value[k] = DAMPING * over_diagonal(A, c->dof[i + k], c->value[i + k]);
        add_product(s, A, &t);
    }
    int64_t first = s->Z.count;
    SU_TRY(append_sum(s, &s->Z, err));
    for (int64_t e = first; e < s->Z.count; e++) {
        triple *z = s->Z.entry + e;
        for (int k = 0; k < 3; k++) z->value[k] = -DAMPING * over_diagonal(A, 3 * (int64_t)z->vertex + k, z->value[k]);
        for (int i = 0; i < SU_COARSE_ENTRIES; i += 3)
            for (int k = 0; k < 3 && c->dof[i] == 3 * (int64_t)z->vertex; k++)
                z->value[k] += 2 * DAMPING * over_diagonal(A, c->dof[i + k], c->value[i + k]);
    }
    return SU_OK;
}

static double along(const triple *first, const triple *end, const double *x)
{
    double sum = 0;
    for (const triple *z = first; z < end; z++) {
        const double *there = x + 3 * (int64_t)z->vertex;
        sum += z->value[0] * there[0] + z->value[1] * there[1] + z->value[2] * there[2];
    }
    return sum;
}

static void add(const triple *first, const triple *end, double factor, double *x)
{
    for (const triple *z = first; z < end; z++)
        for (int i = 0; i < 3; i++) x[3 * (int64_t)z->vertex + i] += factor * z->value[i];
}

/* sum += C z */
static void add_couplings(su_coarse_space *s, const su_couplings *beside, const triple *first, const triple *end)
{
    for (const triple *z = first; z < end; z++) s->place[z->vertex] = (int32_t)(z - first) + 1;
    for (int64_t k = 0; k < beside->count; k++) {
        const su_coupling *block = beside->block + k;
        for (int j = 0; j < SU_COUPLED; j += 3) {
            int32_t place = block->dof[j] < 0 ? 0 : s->place[block->dof[j] / 3];
            if (!place) continue;
            const double *z = first[place - 1].value;
            for (int i = 0; i < SU_COUPLED; i++) {
                const double *entry = block->value + SU_COUPLED * i + j;
                if (block->dof[i] < 0) continue;
                touch(s, (int32_t)(block->dof[i] / 3))[i % 3] += entry[0] * z[0] + entry[1] * z[1] + entry[2] * z[2];
            }
        }
    }
    for (const triple *z = first; z < end; z++) s->place[z->vertex] = 0;
}

/* The row of E's factor that belongs to the last column, from its products with A and those before it; what is left of
 * the last one's square, over itself. */
static double factorize_row(su_coarse_space *s, int64_t k)
{
    double *E = s->E, square = E[k * s->column_room + k], left = square;
    for (int64_t j = 0; j < k; j++) {
        double sum = E[j * s->column_room + k];
        for (int64_t i = 0; i < j; i++) sum -= E[i * s->column_room + k] * E[i * s->column_room + j];
        E[j * s->column_room + k] = sum /= E[j * s->column_room + j];
        left -= sum * sum;
    }
    E[k * s->column_room + k] = left > 0 ? sqrt(left) : 0;
    return square != 0 ? left / fabs(square) : 0; /* 0: a pair of held vertices */
}

/* Takes the vector that is last in Z. *independent: A Z and E have it too; else it is as it was before. */
static su_status take_last(su_coarse_space *s, const su_sparse *A, const su_couplings *beside, bool *independent,
                           bool *definite, su_error *err)
{
    int64_t k = s->columns;
    const triple *first = s->Z.entry + s->Z.first[k], *end = s->Z.entry + s->Z.count;
    for (const triple *z = first; z < end; z++) add_product(s, A, z);
    if (beside) add_couplings(s, beside, first, end);
    s->Z.first[k + 1] = s->Z.count;
    for (int64_t j = 0; j <= k; j++)
        s->E[j * s->column_room + k] = along(s->Z.entry + s->Z.first[j], s->Z.entry + s->Z.first[j + 1], s->sum);
    double left = factorize_row(s, k);
    *independent = left > INDEPENDENT;
    *definite = left > -INDEPENDENT;
    s->AZ.first[k] = s->AZ.count;
    SU_TRY(append_sum(s, &s->AZ, err));
    if (!*independent) s->AZ.count = s->AZ.first[k], s->Z.count = s->Z.first[k];
    return SU_OK;
}

su_status su_coarse_space_set(su_coarse_space *s, const su_sparse *A, const su_couplings *beside, int64_t count,
                              const su_coarse_column *columns, bool *definite, su_error *err)
{
    *definite = true;
    SU_TRY(take_columns(s, count, err));
    s->columns = s->Z.count = s->AZ.count = 0;
    for (int64_t k = 0; k < count && *definite; k++) {
        bool independent;
        s->Z.first[s->columns] = s->Z.count;
        SU_TRY(append_z(s, A, columns + k, err));
        SU_TRY(take_last(s, A, beside, &independent, definite, err));
        s->columns += independent;
    }
    s->AZ.first[s->columns] = s->AZ.count;
    return SU_OK;
}

/* ---- use ---- */

/* c = (Z'AZ)^-1 of the products of some vectors with x. */
static void answer(su_coarse_space *s, const vectors *with, const double *x, double *c)
{
    if (s->columns == 0) return; /* all of them were dependent; LAPACK refuses systems of no rows */
    for (int64_t k = 0; k < s->columns; k++)
        c[k] = along(with->entry + with->first[k], with->entry + with->first[k + 1], x);
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', (lapack_int)s->columns, 1, s->E, (lapack_int)s->column_room, c,
                        (lapack_int)s->columns);
}

void su_coarse_space_before(su_coarse_space *s, const double *r, double *rest)
{
    answer(s, &s->Z, r, s->c);
    memcpy(rest, r, (size_t)s->size * sizeof *r);
    for (int64_t k = 0; k < s->columns; k++)
        add(s->AZ.entry + s->AZ.first[k], s->AZ.entry + s->AZ.first[k + 1], -s->c[k], rest);
}

void su_coarse_space_after(su_coarse_space *s, double *z)
{
    answer(s, &s->AZ, z, s->now);
    for (int64_t k = 0; k < s->columns; k++)
        add(s->Z.entry + s->Z.first[k], s->Z.entry + s->Z.first[k + 1], s->c[k] - s->now[k], z);
}
