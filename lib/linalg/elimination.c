#include "linalg/elimination.h"

#include "core/memory.h"
#include "core/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RANK_TOLERANCE 1e-8
#define PIVOT_THRESHOLD 0.3 /* of the largest coefficient: weights stay below its inverse */
#define ROUNDING 1e-14      /* of a coefficient: three rows of one vertex bind it alike in x, y and z */
#define NOTHING 1e-14       /* coefficients that substitution has cancelled */

enum { MOST = 12 }; /* vertices that one may depend on: more would fill Z'KZ */

void su_constraint_rows_free(su_constraint_rows *C)
{
    if (!C) return;
    free(C->start), free(C->column), free(C->value);
    memset(C, 0, sizeof *C);
}

void su_constraint_multiply(const su_constraint_rows *C, const double *x, double *y)
{
    for (int64_t r = 0; r < C->rows; r++) {
        double sum = 0;
        for (int64_t k = C->start[r]; k < C->start[r + 1]; k++) sum += C->value[k] * x[C->column[k]];
        y[r] = sum;
    }
}

void su_elimination_free(su_elimination *Z)
{
    if (!Z) return;
    free(Z->start), free(Z->column), free(Z->weight);
    memset(Z, 0, sizeof *Z);
}

/* ---- elimination ---- */

/* A sum of weights times vertices; one of a vertex that others bind, or a row. */
typedef struct sum {
    int count;
    int32_t vertex[MOST + 1];
    double weight[MOST + 1];
} sum;

typedef struct worker {
    sum *bound;            /* (bound_count) what each bound vertex is in terms of the others */
    int32_t *bound_vertex; /* (bound_count) */
    int64_t bound_count;
    int32_t *number; /* (vertices) among the bound, -1: not bound */
    int32_t *uses;   /* (vertices) in how many sums it stands */
} worker;

/* False where there would be too many terms. */
static bool add_term(sum *s, int32_t vertex, double weight)
{
    int k = 0;
    while (k < s->count && s->vertex[k] != vertex) k++;
    if (k > MOST) return false;
    if (k == s->count) s->vertex[s->count++] = vertex, s->weight[k] = 0;
    s->weight[k] += weight;
    return true;
}

static void drop_cancelled(sum *s, double floor)
{
    int kept = 0;
    for (int k = 0; k < s->count; k++)
        if (fabs(s->weight[k]) > floor) s->vertex[kept] = s->vertex[k], s->weight[kept++] = s->weight[k];
    s->count = kept;
}

/* s += scale * other */
static bool add_sum(sum *s, const sum *other, double scale)
{
    for (int k = 0; k < other->count; k++)
        if (!add_term(s, other->vertex[k], scale * other->weight[k])) return false;
    return true;
}

/* Three rows from r on that say the same in x, y and z. */
static bool binds_vertices(const su_constraint_rows *C, int64_t r)
{
    if (r + 3 > C->rows) return false;
    int64_t length = C->start[r + 1] - C->start[r];
    for (int i = 0; i < 3; i++) {
        if (C->start[r + i + 1] - C->start[r + i] != length) return false;
        for (int64_t k = 0; k < length; k++) {
            int64_t at = C->start[r + i] + k, first = C->start[r] + k;
            if (C->column[first] % 3 != 0 || C->column[at] != C->column[first] + i) return false;
            if (fabs(C->value[at] - C->value[first]) > ROUNDING * fabs(C->value[first])) return false;
        }
    }
    return true;
}

/* Row r in terms of vertices that are not bound. */
static bool substitute(const worker *w, const su_constraint_rows *C, int64_t r, sum *row)
{
    row->count = 0;
    for (int64_t k = C->start[r]; k < C->start[r + 1]; k++) {
        int32_t v = (int32_t)(C->column[k] / 3);
        bool fits =
            w->number[v] < 0 ? add_term(row, v, C->value[k]) : add_sum(row, &w->bound[w->number[v]], C->value[k]);
        if (!fits) return false;
    }
    return true;
}

/* The term to solve for: of those that are not small the largest that no sum uses; else the largest. */
static int choose_pivot(const worker *w, const sum *row)
{
    int pivot = 0, unused = -1;
    for (int k = 1; k < row->count; k++)
        if (fabs(row->weight[k]) > fabs(row->weight[pivot])) pivot = k;
    for (int k = 0; k < row->count; k++)
        if (w->uses[row->vertex[k]] == 0 && fabs(row->weight[k]) >= PIVOT_THRESHOLD * fabs(row->weight[pivot]) &&
            (unused < 0 || fabs(row->weight[k]) > fabs(row->weight[unused])))
            unused = k;
    return unused >= 0 ? unused : pivot;
}

/* Writes `own` for vertex v in the sum; false, and the sum as it was, where that gets too long. */
static bool replace(sum *s, int32_t v, const sum *own)
{
    sum other = {0};
    double scale = 0;
    for (int k = 0; k < s->count; k++) {
        if (s->vertex[k] == v)
            scale = s->weight[k];
        else
            add_term(&other, s->vertex[k], s->weight[k]);
    }
    if (scale == 0) return true;
    if (!add_sum(&other, own, scale)) return false;
    drop_cancelled(&other, NOTHING);
    if (other.count > MOST) return false;
    *s = other;
    return true;
}

/* Solves a row for one of its vertices; false where sums would get too long. */
static bool eliminate(worker *w, const sum *row)
{
    int pivot = choose_pivot(w, row);
    int32_t v = row->vertex[pivot];
    sum own = {0};
    for (int k = 0; k < row->count; k++)
        if (k != pivot) add_term(&own, row->vertex[k], -row->weight[k] / row->weight[pivot]);
    if (own.count > MOST) return false;
    if (w->uses[v]) {
        for (int64_t b = 0; b < w->bound_count; b++) { /* first look, then leap */
            sum trial = w->bound[b];
            if (!replace(&trial, v, &own)) return false;
        }
        for (int64_t b = 0; b < w->bound_count; b++) {
            sum *s = &w->bound[b];
            for (int k = 0; k < s->count; k++) w->uses[s->vertex[k]]--;
            (void)replace(s, v, &own);
            for (int k = 0; k < s->count; k++) w->uses[s->vertex[k]]++;
        }
    }
    for (int k = 0; k < own.count; k++) w->uses[own.vertex[k]]++;
    w->number[v] = (int32_t)w->bound_count;
    w->bound_vertex[w->bound_count] = v, w->bound[w->bound_count++] = own;
    return true;
}

static double longest_row(const su_constraint_rows *C)
{
    double longest = 0;
    for (int64_t r = 0; r < C->rows; r++) {
        double square = 0;
        for (int64_t k = C->start[r]; k < C->start[r + 1]; k++) square += C->value[k] * C->value[k];
        longest = fmax(longest, sqrt(square));
    }
    return longest;
}

/* done[r]: row r is an equation of a bound vertex now, or says nothing new. */
static void eliminate_all(worker *w, const su_constraint_rows *C, double longest, uint8_t *done)
{
    for (int64_t r = 0; r < C->rows; r++) {
        if (!binds_vertices(C, r)) continue;
        sum row;
        double square = 0;
        if (substitute(w, C, r, &row)) {
            drop_cancelled(&row, NOTHING * longest);
            for (int k = 0; k < row.count; k++) square += row.weight[k] * row.weight[k];
            if (sqrt(square) <= RANK_TOLERANCE * longest || eliminate(w, &row)) done[r] = done[r + 1] = done[r + 2] = 1;
        }
        r += 2;
    }
}

/* The rows not done, as C Z, less those that Z obeys already. */
static su_status remaining_rows(const su_elimination *Z, const uint8_t *done, double longest, su_constraint_rows *C,
                                su_error *err)
{
    su_constraint_rows out = {0};
    int64_t *where = NULL, entries = 0;
    su_status status;
    for (int64_t r = 0; r < C->rows; r++)
        for (int64_t k = C->start[r]; k < C->start[r + 1] && !done[r]; k++)
            entries += Z->start[C->column[k] / 3 + 1] - Z->start[C->column[k] / 3];
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(out.start, C->rows + 1), SU_WANT(out.column, entries),
                       SU_WANT(out.value, entries)));
    SU_GO(SU_ALLOC(&where, 3 * Z->kept, "constraints", err)); /* entry of each dof, plus 1 */
    int64_t write = 0;
    for (int64_t r = 0; r < C->rows; r++) {
        int64_t from = write;
        if (done[r]) continue;
        for (int64_t k = C->start[r]; k < C->start[r + 1]; k++) {
            int64_t v = C->column[k] / 3;
            for (int64_t e = Z->start[v]; e < Z->start[v + 1]; e++) {
                int64_t dof = 3 * (int64_t)Z->column[e] + C->column[k] % 3;
                if (where[dof] <= from) out.column[write] = dof, out.value[write] = 0, where[dof] = ++write;
                out.value[where[dof] - 1] += Z->weight[e] * C->value[k];
            }
        }
        double square = 0;
        for (int64_t k = from; k < write; k++) square += out.value[k] * out.value[k];
        if (sqrt(square) > RANK_TOLERANCE * longest) {
            out.start[++out.rows] = write;
            continue;
        }
        for (int64_t k = from; k < write; k++) where[out.column[k]] = 0;
        write = from;
    }
    su_constraint_rows_free(C);
    *C = out;
    memset(&out, 0, sizeof out);
    status = SU_OK;
done:
    su_constraint_rows_free(&out);
    free(where);
    return status;
}

static su_status assemble(const worker *w, int64_t vertices, su_elimination *Z, su_error *err)
{
    int32_t *kept_number = NULL;
    int64_t entries = vertices - w->bound_count, write = 0;
    su_status status;
    Z->vertices = vertices, Z->kept = 0;
    for (int64_t b = 0; b < w->bound_count; b++) entries += w->bound[b].count;
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(Z->start, vertices + 1), SU_WANT(Z->column, entries),
                       SU_WANT(Z->weight, entries), SU_WANT(kept_number, vertices)));
    for (int64_t v = 0; v < vertices; v++)
        if (w->number[v] < 0) kept_number[v] = (int32_t)Z->kept++;
    for (int64_t v = 0; v < vertices; v++) {
        if (w->number[v] < 0) {
            Z->column[write] = kept_number[v], Z->weight[write++] = 1;
        } else {
            const sum *s = &w->bound[w->number[v]];
            for (int k = 0; k < s->count; k++)
                Z->column[write] = kept_number[s->vertex[k]], Z->weight[write++] = s->weight[k];
        }
        Z->start[v + 1] = write;
    }
    status = SU_OK;
done:
    free(kept_number);
    return status;
}

su_status su_elimination_create(int64_t vertices, su_constraint_rows *C, su_elimination *Z, su_error *err)
{
    worker w = {0};
    uint8_t *done = NULL;
    su_status status;
    memset(Z, 0, sizeof *Z);
    SU_GO(SU_ALLOC_ALL("constraints", err, SU_WANT(w.bound, C->rows / 3), SU_WANT(w.bound_vertex, C->rows / 3),
                       SU_WANT(w.number, vertices), SU_WANT(w.uses, vertices), SU_WANT(done, C->rows)));
    for (int64_t v = 0; v < vertices; v++) w.number[v] = -1;
    double longest = longest_row(C);
    eliminate_all(&w, C, longest, done);
    SU_GO(assemble(&w, vertices, Z, err));
    SU_GO(remaining_rows(Z, done, longest, C, err));
done:
    if (status != SU_OK) su_elimination_free(Z);
    free(w.bound), free(w.bound_vertex), free(w.number), free(w.uses), free(done);
    return status;
}

/* ---- Z'KZ ---- */

/* Calls for each 3 x 3 block of Z'KZ that block (a, b) of K, a >= b, goes into: where p >= q as it stands, else
 * transposed. */
typedef void visit(void *context, int64_t p, int64_t q, double weight, int64_t b, int64_t block);

static void visit_blocks(const su_elimination *Z, const su_sparse *K, visit *call, void *context)
{
    for (int64_t b = 0; b < Z->vertices; b++)
        for (int64_t k = 0; k < (K->start[3 * b + 1] - K->start[3 * b]) / 3; k++) {
            int64_t a = K->row[K->start[3 * b] + 3 * k] / 3;
            for (int64_t i = Z->start[a]; i < Z->start[a + 1]; i++)
                for (int64_t j = Z->start[b]; j < Z->start[b + 1]; j++) {
                    if (a == b && Z->column[i] < Z->column[j]) continue; /* met the other way round */
                    call(context, Z->column[i], Z->column[j], Z->weight[i] * Z->weight[j], b, k);
                }
        }
}

/* Rows of each column of blocks, with repeats until they are sorted out. */
typedef struct graph {
    const su_sparse *K;
    su_sparse *out; /* for add_values */
    int64_t *start; /* (kept + 2) */
    int32_t *row;
} graph;

static void count_block(void *context, int64_t p, int64_t q, double weight, int64_t b, int64_t block)
{
    graph *g = context;
    (void)weight, (void)b, (void)block;
    g->start[(p < q ? p : q) + 2]++;
}

static void list_block(void *context, int64_t p, int64_t q, double weight, int64_t b, int64_t block)
{
    graph *g = context;
    (void)weight, (void)b, (void)block;
    g->row[g->start[(p < q ? p : q) + 1]++] = (int32_t)(p < q ? q : p);
}

static void add_values(void *context, int64_t p, int64_t q, double weight, int64_t b, int64_t block)
{
    graph *g = context;
    double A[9]; /* of K: row i of the vertex a, column c of the vertex b */
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) {
            bool upper = block == 0 && i < c;
            int64_t column = 3 * b + (upper ? i : c);
            A[3 * i + c] = weight * g->K->value[g->K->start[column] + 3 * block + (upper ? c - i : i - c)];
        }
    bool turned = p < q;
    int64_t low = turned ? p : q;
    int32_t high = (int32_t)(turned ? q : p);
    const int32_t *rows = g->row + g->start[low];
    int64_t at = (const int32_t *)bsearch(&high, rows, (size_t)(g->start[low + 1] - g->start[low]), sizeof high,
                                          su_order_int32) -
                 rows;
    for (int c = 0; c < 3; c++)
        for (int i = at == 0 ? c : 0; i < 3;
             i++) { /* a block off the diagonal of K that falls on this one counts both ways */
            double value = turned ? A[3 * c + i] : A[3 * i + c];
            if (at == 0 && block != 0) value += turned ? A[3 * i + c] : A[3 * c + i];
            g->out->value[g->out->start[3 * low + c] + 3 * at + i - c] += value;
        }
}

su_status su_elimination_reduce(const su_elimination *Z, const su_sparse *K, su_sparse *reduced, su_error *err)
{
    graph g = {.K = K, .out = reduced};
    int64_t write = 0;
    su_status status;
    memset(reduced, 0, sizeof *reduced);
    reduced->size = 3 * Z->kept, reduced->owns_pattern = 1;
    SU_GO(SU_ALLOC(&g.start, Z->kept + 2, "reduced stiffness", err));
    visit_blocks(Z, K, count_block, &g);
    for (int64_t q = 0; q < Z->kept; q++) g.start[q + 2] += g.start[q + 1];
    SU_GO(SU_ALLOC(&g.row, g.start[Z->kept + 1], "reduced stiffness", err));
    visit_blocks(Z, K, list_block, &g); /* moves start[q + 1] from the start of q to its end */
    for (int64_t q = 0, from = 0; q < Z->kept; q++) {
        int64_t to = g.start[q + 1], first = write;
        su_sort(g.row + from, (size_t)(to - from), sizeof *g.row, su_order_int32);
        for (int64_t k = from; k < to; k++)
            if (write == first || g.row[write - 1] != g.row[k]) g.row[write++] = g.row[k];
        g.start[q] = first, from = to;
    }
    g.start[Z->kept] = write;
    SU_GO(SU_ALLOC(&reduced->start, reduced->size + 1, "reduced stiffness", err));
    for (int64_t q = 0; q < Z->kept; q++)
        for (int c = 0; c < 3; c++)
            reduced->start[3 * q + c + 1] = reduced->start[3 * q + c] + 3 * (g.start[q + 1] - g.start[q]) - c;
    reduced->entries = reduced->start[reduced->size];
    SU_GO(SU_ALLOC_ALL("reduced stiffness", err, SU_WANT(reduced->row, reduced->entries),
                       SU_WANT(reduced->value, reduced->entries)));
    for (int64_t q = 0; q < Z->kept; q++)
        for (int c = 0; c < 3; c++)
            for (int64_t k = c; k < 3 * (g.start[q + 1] - g.start[q]); k++)
                reduced->row[reduced->start[3 * q + c] + k - c] = 3 * (int64_t)g.row[g.start[q] + k / 3] + k % 3;
    visit_blocks(Z, K, add_values, &g);
    status = SU_OK;
done:
    if (status != SU_OK) su_sparse_free(reduced);
    free(g.start), free(g.row);
    return status;
}

void su_elimination_expand(const su_elimination *Z, int64_t columns, const double *y, double *u)
{
    for (int64_t c = 0; c < columns; c++, y += 3 * Z->kept)
        for (int64_t v = 0; v < Z->vertices; v++, u += 3) {
            u[0] = u[1] = u[2] = 0;
            for (int64_t e = Z->start[v]; e < Z->start[v + 1]; e++)
                for (int i = 0; i < 3; i++) u[i] += Z->weight[e] * y[3 * (int64_t)Z->column[e] + i];
        }
}

void su_elimination_restrict(const su_elimination *Z, int64_t columns, const double *u, double *y)
{
    memset(y, 0, (size_t)(3 * Z->kept * columns) * sizeof *y);
    for (int64_t c = 0; c < columns; c++, y += 3 * Z->kept)
        for (int64_t v = 0; v < Z->vertices; v++, u += 3)
            for (int64_t e = Z->start[v]; e < Z->start[v + 1]; e++)
                for (int i = 0; i < 3; i++) y[3 * (int64_t)Z->column[e] + i] += Z->weight[e] * u[i];
}
