#include "linalg/coarse_space.h"

#include "core/lapack.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

struct su_coarse_space {
    const su_sparse *pattern; /* of A */
    int64_t size;
    int64_t *before; /* (size + 1) of the entries in each row left of the diagonal, */
    int64_t *entry;  /* (entries below the diagonal) which they are */
    int32_t *column; /* (entries below the diagonal) and whose column they stand in */
    int32_t *place;  /* (size) one more than the place of a dof among those that columns have; 0: no column has it */
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

/* The rows of the lower triangle: where, in its columns, their entries are. */
static void index_rows(su_coarse_space *s)
{
    const su_sparse *A = s->pattern;
    for (int64_t j = 0; j < A->size; j++)
        for (int64_t e = A->start[j]; e < A->start[j + 1]; e++)
            if (A->row[e] != j) s->before[A->row[e] + 1]++;
    for (int64_t i = 0; i < A->size; i++) s->before[i + 1] += s->before[i];
    for (int64_t j = 0; j < A->size; j++)
        for (int64_t e = A->start[j]; e < A->start[j + 1]; e++) {
            if (A->row[e] == j) continue;
            int64_t at = s->before[A->row[e]]++;
            s->entry[at] = e, s->column[at] = (int32_t)j;
        }
    for (int64_t i = A->size; i > 0; i--) s->before[i] = s->before[i - 1];
    s->before[0] = 0;
}

su_status su_coarse_space_create(const su_sparse *pattern, su_coarse_space **out, su_error *err)
{
    su_coarse_space *s = NULL;
    su_status status;
    int64_t size = pattern->size, below = pattern->entries - size;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "the coarse space", err));
    s->pattern = pattern, s->size = size;
    SU_GO(SU_ALLOC(&s->place, size, "the coarse space", err));
    SU_GO(SU_ALLOC(&s->before, size + 1, "the coarse space", err));
    SU_GO(SU_ALLOC(&s->entry, below, "the coarse space", err));
    SU_GO(SU_ALLOC(&s->column, below, "the coarse space", err));
    index_rows(s);
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
    free(s->place), free(s->before), free(s->entry), free(s->column), free(s->row), free(s->A);
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

/* The places of a block's dofs among those of Z, -1: none; returns how many dofs it has at all. */
static int places_of(const su_coarse_space *s, const su_coupling *block, int32_t place[SU_COUPLED])
{
    int dofs = 0;
    for (int i = 0; i < SU_COUPLED; i++) {
        place[i] = block->dof[i] < 0 ? -1 : s->place[block->dof[i]] - 1;
        dofs += block->dof[i] >= 0;
    }
    return dofs;
}

static su_status take_entries(su_coarse_space *s, int64_t entries, su_error *err)
{
    s->entries = entries;
    if (entries <= s->entry_room) return SU_OK;
    free(s->row), free(s->A);
    s->row = NULL, s->A = NULL, s->entry_room = 0;
    SU_TRY(SU_ALLOC(&s->row, 2 * entries, "the coarse space", err));
    SU_TRY(SU_ALLOC(&s->A, 2 * entries, "the coarse space", err));
    s->entry_room = 2 * entries;
    return SU_OK;
}

static void put(su_coarse_space *s, int64_t d, int64_t row, double value)
{
    int64_t to = s->start[d]++;
    s->row[to] = row, s->A[to] = value;
}

/* Columns of A and of what stands beside it, whole, at the dofs of Z: the lower triangle has a part of each in the
 * others. */
static su_status collect_columns(su_coarse_space *s, const su_sparse *A, const su_couplings *beside, su_error *err)
{
    int64_t blocks = beside ? beside->count : 0;
    int32_t place[SU_COUPLED];
    memset(s->start, 0, (size_t)(s->dofs + 1) * sizeof *s->start);
    for (int64_t d = 0; d < s->dofs; d++) {
        int64_t j = s->dof[d];
        s->start[d + 1] = A->start[j + 1] - A->start[j] + s->before[j + 1] - s->before[j];
    }
    for (int64_t k = 0; k < blocks; k++) {
        int dofs = places_of(s, beside->block + k, place);
        for (int i = 0; i < SU_COUPLED; i++)
            if (place[i] >= 0) s->start[place[i] + 1] += dofs;
    }
    for (int64_t d = 0; d < s->dofs; d++) s->start[d + 1] += s->start[d];
    SU_TRY(take_entries(s, s->start[s->dofs], err));
    for (int64_t d = 0; d < s->dofs; d++) {
        int64_t j = s->dof[d];
        for (int64_t e = A->start[j]; e < A->start[j + 1]; e++) put(s, d, A->row[e], A->value[e]);
        for (int64_t e = s->before[j]; e < s->before[j + 1]; e++) put(s, d, s->column[e], A->value[s->entry[e]]);
    }
    for (int64_t k = 0; k < blocks; k++) {
        const su_coupling *block = beside->block + k;
        places_of(s, block, place);
        for (int i = 0; i < SU_COUPLED; i++)
            for (int j = 0; j < SU_COUPLED && place[i] >= 0; j++)
                if (block->dof[j] >= 0) put(s, place[i], block->dof[j], block->value[SU_COUPLED * i + j]);
    }
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

su_status su_coarse_space_set(su_coarse_space *s, const su_sparse *A, const su_couplings *beside, int64_t count,
                              const su_coarse_column *columns, bool *definite, su_error *err)
{
    *definite = true;
    SU_TRY(take_columns(s, count, err));
    number_dofs(s, count, columns);
    su_status status = collect_columns(s, A, beside, err);
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
