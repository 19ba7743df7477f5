#include "fem/self_contact.h"

#include "contact/kept_pairs.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One number of the lower triangle of a block. */
typedef struct entry {
    int64_t column, row;
    double value;
} entry;

struct su_self_contact {
    const su_elastic *body;
    su_contact_body shape;
    su_contact_finder *finder;
    su_kept_pairs kept;
    su_contact_grips grips;
    su_coupling *blocks; /* (block_room) tangents of what presses or grips */
    int64_t block_count, block_room;
    entry *entries, *sorted; /* (entry_room) of all blocks in turn; by columns, then rows */
    int64_t entry_count, entry_room;
    int64_t *entry_start;    /* (3 free + 1) of each column among the sorted ones */
    su_coarse_column *stiff; /* (block_room) */
    int64_t stiff_count;
    su_sparse extended; /* A and the blocks */
    int64_t extended_room;
    su_cholesky *factor;  /* of the pattern below */
    int64_t *start, *row; /* it was analysed with */
    int64_t analysed, row_room;
};

su_status su_self_contact_create(const su_elastic *body, const double *neutral, int threads, su_self_contact **out,
                                 su_error *err)
{
    su_status status = SU_OK;
    su_self_contact *s = NULL;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "contact", err));
    s->body = body;
    SU_GO(su_contact_body_create(body->n, neutral, body->t, body->tets, &s->shape, err));
    SU_GO(su_contact_finder_create(&s->shape, threads, &s->finder, err));
    SU_GO(SU_ALLOC(&s->extended.start, 3 * body->free_count + 1, "contact", err));
    SU_GO(SU_ALLOC(&s->entry_start, 3 * body->free_count + 1, "contact", err));
    SU_GO(su_kept_pairs_create(&s->shape, s->finder, &s->kept, err));
    SU_GO(SU_ALLOC(&s->start, 3 * body->free_count + 1, "contact", err));
    s->extended.size = 3 * body->free_count;
    *out = s;
    s = NULL;
done:
    su_self_contact_free(s);
    return status;
}

void su_self_contact_free(su_self_contact *s)
{
    if (!s) return;
    su_cholesky_free(s->factor);
    su_kept_pairs_free(&s->kept);
    su_contact_finder_free(s->finder);
    su_contact_body_free(&s->shape);
    free(s->grips.grip), free(s->blocks), free(s->stiff), free(s->entries), free(s->sorted), free(s->entry_start),
        free(s->start), free(s->row);
    free(s->extended.start), free(s->extended.row), free(s->extended.value);
    free(s);
}

void su_self_contact_set_stiffness(su_self_contact *s, const double *k)
{
    su_contact_finder_set_stiffness(s->finder, k);
}

const su_contact_body *su_self_contact_body(const su_self_contact *s) { return &s->shape; }

void su_self_contact_freeze(su_self_contact *s) { su_kept_pairs_freeze(&s->kept); }

su_status su_self_contact_meet(su_self_contact *s, const double *y, int64_t *met, su_error *err)
{
    return su_kept_pairs_meet(&s->kept, y, met, err);
}

void su_self_contact_begin(su_self_contact *s, const double *rest, const double *before)
{
    s->grips.count = 0;
    su_kept_pairs_begin(&s->kept, before);
    su_contact_finder_allow(s->finder, rest);
}

su_status su_self_contact_allow_copies(su_self_contact *s, su_error *err)
{
    return su_contact_finder_allow_copies(s->finder, err);
}

su_status su_self_contact_grip(su_self_contact *s, double friction, double h, const double *y, const double *before,
                               su_error *err)
{
    s->grips.count = 0;
    if (!(friction > 0)) return SU_OK;
    int64_t met;
    SU_TRY(su_self_contact_meet(s, y, &met, err));
    if (!su_contact_grip_all(&s->shape, s->kept.count, s->kept.pairs, friction, h, before, &s->grips))
        return su_fail(err, SU_AGAIN, "no memory for the friction of %lld contacts", (long long)s->kept.count);
    return SU_OK;
}

double su_self_contact_energy(su_self_contact *s, const double *y)
{
    su_kept_pairs_follow(&s->kept, y);
    double sum = su_contact_energy(s->kept.count, s->kept.pairs);
    for (int64_t k = 0; k < s->grips.count; k++)
        sum += su_contact_grip_evaluate(&s->shape, s->grips.grip + k, y, NULL, NULL);
    return sum;
}

static void grip_corners(const su_self_contact *s, const su_contact_grip *grip, int32_t corner[4])
{
    corner[0] = grip->vertex;
    memcpy(corner + 1, s->shape.surface + 3 * (int64_t)grip->triangle, 3 * sizeof *corner);
}

double su_self_contact_force(su_self_contact *s, const double *y, double *force)
{
    su_kept_pairs_follow(&s->kept, y);
    double pressing = su_contact_force(&s->shape, s->kept.count, s->kept.pairs, force), holding = 0;
    for (int64_t k = 0; k < s->grips.count; k++) {
        double f[12];
        int32_t corner[4];
        su_contact_grip_evaluate(&s->shape, s->grips.grip + k, y, f, NULL);
        grip_corners(s, s->grips.grip + k, corner);
        for (int i = 0; i < 12; i++) force[3 * (int64_t)corner[i / 3] + i % 3] += f[i];
        for (int i = 0; i < 3; i++) holding += f[i] * f[i];
    }
    return pressing + sqrt(holding);
}

su_status su_self_contact_depths(su_self_contact *s, const double *y, su_contact_depths *depths, su_error *err)
{
    int64_t met;
    SU_TRY(su_self_contact_meet(s, y, &met, err));
    *depths = (su_contact_depths){0};
    for (int64_t k = 0; k < s->kept.count; k++) {
        if (!su_contact_pressed(s->kept.pairs + k)) continue;
        depths->pressed++;
        depths->deepest = fmax(depths->deepest, s->kept.pairs[k].depth - s->kept.pairs[k].allowed);
    }
    return SU_OK;
}

/* ---- linear systems ---- */

static su_status room_for(su_self_contact *s, int64_t blocks, su_error *err)
{
    if (blocks <= s->block_room) return SU_OK;
    free(s->blocks), free(s->stiff);
    s->blocks = NULL, s->stiff = NULL, s->block_room = 0;
    SU_TRY(SU_ALLOC(&s->blocks, 2 * blocks, "the couplings of contacts", err));
    SU_TRY(SU_ALLOC(&s->stiff, 2 * blocks, "the couplings of contacts", err));
    s->block_room = 2 * blocks;
    return SU_OK;
}

/* A block whose values are still to come. */
static su_coupling *add_block(su_self_contact *s, const int32_t corner[4])
{
    su_coupling *block = s->blocks + s->block_count++;
    for (int i = 0; i < SU_COUPLED; i++) {
        int64_t vertex = s->body->free_index[corner[i / 3]];
        block->dof[i] = vertex < 0 ? -1 : 3 * vertex + i % 3;
    }
    return block;
}

static void add_stiff(su_self_contact *s, const su_coupling *block, const double share[4], const double normal[3])
{
    su_coarse_column *column = s->stiff + s->stiff_count++;
    for (int i = 0; i < SU_COARSE_ENTRIES; i++)
        column->dof[i] = block->dof[i], column->value[i] = share[i / 3] * normal[i % 3];
}

su_status su_self_contact_couple(su_self_contact *s, const double *y, bool project, su_couplings *couplings,
                                 su_error *err)
{
    double share[4];
    int32_t corner[4];
    s->block_count = s->stiff_count = 0;
    SU_TRY(room_for(s, s->kept.count + s->grips.count, err));
    for (int64_t k = 0; k < s->kept.count; k++) {
        const su_contact_pair *pair = s->kept.pairs + k;
        const double *n = pair->normal;
        if (!su_contact_pressed(pair)) continue;
        su_contact_corners(&s->shape, pair, corner, share);
        su_coupling *block = add_block(s, corner);
        add_stiff(s, block, share, n);
        if (!s->kept.frozen) su_contact_tangent(&s->shape, pair, y, project, block->value);
        for (int i = 0; i < 144 && s->kept.frozen; i++)
            block->value[i] = pair->stiffness * share[i / 36] * share[i % 12 / 3] * n[i / 12 % 3] * n[i % 3];
    }
    for (int64_t k = 0; k < s->grips.count; k++) {
        grip_corners(s, s->grips.grip + k, corner);
        su_contact_grip_evaluate(&s->shape, s->grips.grip + k, y, NULL, add_block(s, corner)->value);
    }
    *couplings = (su_couplings){s->block_count, s->blocks};
    return SU_OK;
}

int64_t su_self_contact_stiff(const su_self_contact *s, const su_coarse_column **columns)
{
    *columns = s->stiff;
    return s->stiff_count;
}

/* Counted by columns, then inserted by rows; equal ones stay in the order in which pairs added them. */
static void sort_entries(su_self_contact *s, int64_t columns)
{
    int64_t *start = s->entry_start;
    memset(start, 0, (size_t)(columns + 1) * sizeof *start);
    for (int64_t k = 0; k < s->entry_count; k++) start[s->entries[k].column + 1]++;
    for (int64_t c = 0; c < columns; c++) start[c + 1] += start[c];
    for (int64_t k = s->entry_count - 1; k >= 0; k--) s->sorted[--start[s->entries[k].column + 1]] = s->entries[k];
    memmove(start, start + 1, (size_t)columns * sizeof *start), start[columns] = s->entry_count;
    for (int64_t c = 0; c < columns; c++)
        for (int64_t k = start[c] + 1; k < start[c + 1]; k++) {
            entry moving = s->sorted[k];
            int64_t at = k;
            for (; at > start[c] && s->sorted[at - 1].row > moving.row; at--) s->sorted[at] = s->sorted[at - 1];
            s->sorted[at] = moving;
        }
}

static su_status room_to_extend(su_self_contact *s, const su_sparse *A, su_error *err)
{
    int64_t most = 78 * s->block_count; /* a lower triangle of 12 x 12 */
    if (most > s->entry_room) {
        free(s->entries), free(s->sorted);
        s->entries = s->sorted = NULL, s->entry_room = 0;
        SU_TRY(SU_ALLOC(&s->entries, 2 * most, "the couplings of contacts", err));
        SU_TRY(SU_ALLOC(&s->sorted, 2 * most, "the couplings of contacts", err));
        s->entry_room = 2 * most;
    }
    if (A->entries + most <= s->extended_room) return SU_OK;
    free(s->extended.row), free(s->extended.value);
    s->extended.row = NULL, s->extended.value = NULL, s->extended_room = 0;
    SU_TRY(SU_ALLOC(&s->extended.row, A->entries + 2 * most, "the couplings of contacts", err));
    SU_TRY(SU_ALLOC(&s->extended.value, A->entries + 2 * most, "the couplings of contacts", err));
    s->extended_room = A->entries + 2 * most;
    return SU_OK;
}

/* A and the blocks in one matrix. */
static su_status extend(su_self_contact *s, const su_sparse *A, su_error *err)
{
    SU_TRY(room_to_extend(s, A, err));
    s->entry_count = 0;
    for (const su_coupling *block = s->blocks; block < s->blocks + s->block_count; block++)
        for (int a = 0; a < SU_COUPLED; a++)
            for (int b = 0; b < SU_COUPLED; b++)
                if (block->dof[b] >= 0 && block->dof[a] >= block->dof[b])
                    s->entries[s->entry_count++] =
                        (entry){block->dof[b], block->dof[a], block->value[SU_COUPLED * a + b]};
    sort_entries(s, A->size);
    su_sparse *out = &s->extended;
    out->in_threes = A->in_threes; /* entries come by pairs of vertices */
    int64_t at = 0;
    for (int64_t column = 0; column < A->size; column++) {
        int64_t e = A->start[column], end = A->start[column + 1];
        const entry *k = s->sorted + s->entry_start[column], *last = s->sorted + s->entry_start[column + 1];
        out->start[column] = at;
        while (k < last) {
            int64_t row = e < end && A->row[e] <= k->row ? A->row[e] : k->row;
            double sum = 0;
            if (e < end && A->row[e] == row) sum = A->value[e++];
            while (k < last && k->row == row) sum += k++->value;
            out->row[at] = row, out->value[at++] = sum;
        }
        memcpy(out->row + at, A->row + e, (size_t)(end - e) * sizeof *out->row);
        memcpy(out->value + at, A->value + e, (size_t)(end - e) * sizeof *out->value);
        at += end - e;
    }
    out->start[A->size] = out->entries = at;
    return SU_OK;
}

su_status su_self_contact_factorize(su_self_contact *s, const su_sparse *A, const su_cholesky *plain,
                                    su_cholesky **factor, su_error *err)
{
    const su_sparse *all = &s->extended;
    SU_TRY(extend(s, A, err));
    size_t starts = (size_t)(all->size + 1) * sizeof *all->start, rows = (size_t)all->entries * sizeof *all->row;
    if (!s->factor || s->analysed != all->entries || memcmp(s->start, all->start, starts) ||
        memcmp(s->row, all->row, rows)) {
        su_cholesky_free(s->factor), s->factor = NULL;
        if (all->entries > s->row_room) {
            int64_t *larger = realloc(s->row, (size_t)(2 * all->entries) * sizeof *larger);
            if (!larger) return su_fail(err, SU_AGAIN, "no memory for %lld couplings", (long long)all->entries);
            s->row = larger, s->row_room = 2 * all->entries;
        }
        SU_TRY(su_cholesky_create_ordered(all, su_cholesky_order(plain), &s->factor, err));
        memcpy(s->start, all->start, starts), memcpy(s->row, all->row, rows);
        s->analysed = all->entries;
    }
    SU_TRY(su_cholesky_factorize(s->factor, all, err));
    *factor = s->factor;
    return SU_OK;
}
