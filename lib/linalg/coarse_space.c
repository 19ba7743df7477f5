#include "linalg/coarse_space.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

struct su_coarse_space {
    int64_t size;
    int32_t *place; /* (size) one more than the place of a dof among those that columns have; 0: no column has it */
    int64_t columns, column_room;
    int32_t (*at)[SU_COARSE_ENTRIES]; /* (columns) places, -1: none */
    double (*value)[SU_COARSE_ENTRIES];
    int64_t dofs, entries, entry_room;
    int64_t *dof;   /* (dofs) */
    int64_t *start; /* (dofs + 1) of their columns of A, whole */
    int64_t *row;   /* (entries) */
    double *A;      /* (entries) */
    double *E;      /* (columns,columns) factor of Z'AZ, lower, by columns */
    double *c;      /* (columns) */
    double *local;  /* (dofs) */
    double *solved; /* (dofs) S r */
};

su_status su_coarse_space_create(int64_t size, su_coarse_space **out, su_error *err)
{
    su_coarse_space *s = NULL;
    su_status status;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "the coarse space", err));
    s->size = size;
    SU_GO(SU_ALLOC(&s->place, size, "the coarse space", err));
    *out = s;
    s = NULL;
done:
    su_coarse_space_free(s);
    return status;
}

static void free_columns(su_coarse_space *s)
{
    free(s->at), free(s->value), free(s->dof), free(s->start), free(s->E), free(s->c), free(s->local), free(s->solved);
    s->at = NULL, s->value = NULL, s->dof = s->start = NULL, s->E = s->c = s->local = s->solved = NULL;
    s->column_room = 0;
}

void su_coarse_space_free(su_coarse_space *s)
{
    if (!s) return;
    free_columns(s);
    free(s->place), free(s->row), free(s->A);
    free(s);
}

static su_status take_columns(su_coarse_space *s, int64_t count, su_error *err)
{
    if (count <= s->column_room) return SU_OK;
    int64_t room = 2 * count;
    free_columns(s);
    SU_TRY(SU_ALLOC(&s->at, room, "the coarse space", err));
    SU_TRY(SU_ALLOC(&s->value, room, "the coarse space", err));
    SU_TRY(SU_ALLOC(&s->dof, room * SU_COARSE_ENTRIES, "the coarse space", err));
    SU_TRY(SU_ALLOC(&s->start, room * SU_COARSE_ENTRIES + 1, "the coarse space", err));
    SU_TRY(SU_ALLOC(&s->E, room * room, "the coarse space", err));
    SU_TRY(SU_ALLOC(&s->c, room, "the coarse space", err));
    SU_TRY(SU_ALLOC(&s->local, room * SU_COARSE_ENTRIES, "the coarse space", err));
    SU_TRY(SU_ALLOC(&s->solved, room * SU_COARSE_ENTRIES, "the coarse space", err));
    s->column_room = room;
    return SU_OK;
}

static void number_dofs(su_coarse_space *s, int64_t count, const su_coarse_column *columns)
{
    s->dofs = 0, s->columns = count;
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < SU_COARSE_ENTRIES; i++) {
            int64_t dof = columns[k].dof[i];
            s->at[k][i] = -1, s->value[k][i] = columns[k].value[i];
            if (dof < 0) continue;
            if (!s->place[dof]) s->dof[s->dofs] = dof, s->place[dof] = (int32_t)++s->dofs;
            s->at[k][i] = s->place[dof] - 1;
        }
}

/* One entry of A below its diagonal or on it, where Z has its column or its row: counted, or put where `start` says. */
static void take_entry(su_coarse_space *s, int64_t i, int64_t j, double value, bool count)
{
    const int32_t column = s->place[j], row = i != j ? s->place[i] : 0;
    if (count) {
        if (column) s->start[column]++;
        if (row) s->start[row]++;
        return;
    }
    if (column) {
        int64_t to = s->start[column - 1]++;
        s->row[to] = i, s->A[to] = value;
    }
    if (row) {
        int64_t to = s->start[row - 1]++;
        s->row[to] = j, s->A[to] = value;
    }
}

/* The entries of a vertex' three columns of a matrix in threes: Z has all dofs of a vertex or none, so that one look at
 * a row's place says it of nine. */
static void visit_threes(su_coarse_space *s, const su_sparse *A, int64_t j, bool count)
{
    const int64_t *row = A->row + A->start[j];
    for (int64_t k = 0, length = A->start[j + 1] - A->start[j]; k < length; k += 3) {
        if (!s->place[j] && !s->place[row[k]]) continue;
        for (int c = 0; c < 3; c++) { /* column j + c begins with its diagonal, c rows farther down */
            int64_t own = A->start[j + c] - c;
            for (int64_t r = k > 0 ? k : c; r < k + 3; r++)
                take_entry(s, A->row[own + r], j + c, A->value[own + r], count);
        }
    }
}

/* All entries of A that Z has to do with. */
static void visit_entries(su_coarse_space *s, const su_sparse *A, bool count)
{
    for (int64_t j = 0; j < A->size && A->in_threes; j += 3) visit_threes(s, A, j, count);
    for (int64_t j = 0; j < A->size && !A->in_threes; j++)
        for (int64_t k = A->start[j]; k < A->start[j + 1]; k++) take_entry(s, A->row[k], j, A->value[k], count);
}

/* Columns of A, whole, at the dofs of Z: the lower triangle has a part of each in the others. */
static su_status collect_columns(su_coarse_space *s, const su_sparse *A, su_error *err)
{
    memset(s->start, 0, (size_t)(s->dofs + 1) * sizeof *s->start);
    visit_entries(s, A, true);
    for (int64_t d = 0; d < s->dofs; d++) s->start[d + 1] += s->start[d];
    s->entries = s->start[s->dofs];
    if (s->entries > s->entry_room) {
        free(s->row), free(s->A);
        s->row = NULL, s->A = NULL, s->entry_room = 0;
        SU_TRY(SU_ALLOC(&s->row, 2 * s->entries, "the coarse space", err));
        SU_TRY(SU_ALLOC(&s->A, 2 * s->entries, "the coarse space", err));
        s->entry_room = 2 * s->entries;
    }
    visit_entries(s, A, false);
    for (int64_t d = s->dofs; d > 0; d--) s->start[d] = s->start[d - 1];
    s->start[0] = 0;
    return SU_OK;
}

/* E = Z'AZ, column by column, and its factor. */
static su_status factorize(su_coarse_space *s, bool *definite, su_error *err)
{
    int64_t n = s->columns;
    for (int64_t k = 0; k < n; k++) {
        memset(s->local, 0, (size_t)s->dofs * sizeof *s->local);
        for (int i = 0; i < SU_COARSE_ENTRIES; i++) {
            int32_t d = s->at[k][i];
            for (int64_t e = d < 0 ? 0 : s->start[d]; d >= 0 && e < s->start[d + 1]; e++) {
                int32_t to = s->place[s->row[e]];
                if (to) s->local[to - 1] += s->A[e] * s->value[k][i];
            }
        }
        for (int64_t j = k; j < n; j++) {
            double sum = 0;
            for (int i = 0; i < SU_COARSE_ENTRIES; i++)
                if (s->at[j][i] >= 0) sum += s->value[j][i] * s->local[s->at[j][i]];
            s->E[k * n + j] = sum;
        }
    }
    lapack_int info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', (lapack_int)n, s->E, (lapack_int)n);
    *definite = info == 0;
    if (info >= 0) return SU_OK;
    return su_fail(err, su_lapack_status(info, SU_FAILED), "the coarse space: LAPACK %d", (int)info);
}

su_status su_coarse_space_set(su_coarse_space *s, const su_sparse *A, int64_t count, const su_coarse_column *columns,
                              bool *definite, su_error *err)
{
    *definite = true;
    SU_TRY(take_columns(s, count, err));
    number_dofs(s, count, columns);
    su_status status = collect_columns(s, A, err);
    if (!status) status = factorize(s, definite, err);
    for (int64_t d = 0; d < s->dofs; d++) s->place[s->dof[d]] = 0;
    return status;
}

/* out (dofs) = S in, both at the dofs of Z; may be the same. */
static void answer(su_coarse_space *s, const double *in, double *out)
{
    for (int64_t k = 0; k < s->columns; k++) {
        s->c[k] = 0;
        for (int i = 0; i < SU_COARSE_ENTRIES; i++)
            if (s->at[k][i] >= 0) s->c[k] += s->value[k][i] * in[s->at[k][i]];
    }
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', (lapack_int)s->columns, 1, s->E, (lapack_int)s->columns, s->c,
                        (lapack_int)s->columns);
    memset(out, 0, (size_t)s->dofs * sizeof *out);
    for (int64_t k = 0; k < s->columns; k++)
        for (int i = 0; i < SU_COARSE_ENTRIES; i++)
            if (s->at[k][i] >= 0) out[s->at[k][i]] += s->value[k][i] * s->c[k];
}

void su_coarse_space_before(su_coarse_space *s, const double *r, double *rest)
{
    for (int64_t d = 0; d < s->dofs; d++) s->local[d] = r[s->dof[d]];
    answer(s, s->local, s->solved);
    memcpy(rest, r, (size_t)s->size * sizeof *r);
    for (int64_t d = 0; d < s->dofs; d++)
        for (int64_t e = s->start[d]; e < s->start[d + 1]; e++) rest[s->row[e]] -= s->A[e] * s->solved[d];
}

void su_coarse_space_after(su_coarse_space *s, double *z)
{
    for (int64_t d = 0; d < s->dofs; d++) {
        s->local[d] = 0;
        for (int64_t e = s->start[d]; e < s->start[d + 1]; e++) s->local[d] += s->A[e] * z[s->row[e]];
    }
    answer(s, s->local, s->local);
    for (int64_t d = 0; d < s->dofs; d++) z[s->dof[d]] += s->solved[d] - s->local[d];
}
