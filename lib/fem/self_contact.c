#include "fem/self_contact.h"

#include "contact/kept_pairs.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One number of the lower triangle that pairs add. */
typedef struct entry {
    int64_t column, row;
    double value;
} entry;

struct su_self_contact {
    const su_elastic *body;
    su_contact_body shape;
    su_contact_finder *finder;
    su_kept_pairs kept;
    su_contact_grip *grips;
    int64_t grip_count, grip_room;
    entry *entries, *sorted; /* (entry_room) as pairs add them; by columns, then rows */
    int64_t entry_count, entry_room;
    int64_t *entry_start;    /* (3 free + 1) of each column among the sorted ones */
    su_coarse_column *stiff; /* (stiff_room) */
    int64_t stiff_count, stiff_room;
    su_sparse extended;
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
    SU_GO(su_contact_finder_create(&s->shape, 0, NULL, 0, NULL, threads, &s->finder, err));
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
    free(s->grips), free(s->entries), free(s->sorted), free(s->entry_start), free(s->start), free(s->row),
        free(s->stiff);
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
    s->grip_count = 0;
    su_kept_pairs_begin(&s->kept, before);
    su_contact_finder_allow(s->finder, rest);
}

su_status su_self_contact_grip(su_self_contact *s, double friction, double h, const double *y, const double *before,
                               su_error *err)
{
    s->grip_count = 0;
    if (!(friction > 0)) return SU_OK;
    int64_t met;
    SU_TRY(su_self_contact_meet(s, y, &met, err));
    if (s->kept.count > s->grip_room) {
        su_contact_grip *larger = realloc(s->grips, (size_t)(2 * s->kept.count) * sizeof *larger);
        if (!larger)
            return su_fail(err, SU_AGAIN, "no memory for the friction of %lld contacts", (long long)s->kept.count);
        s->grips = larger, s->grip_room = 2 * s->kept.count;
    }
    for (int64_t k = 0; k < s->kept.count; k++) {
        su_contact_grip grip = su_contact_grip_of(&s->shape, s->kept.pairs + k, friction, h, before);
        if (grip.limit > 0) s->grips[s->grip_count++] = grip;
    }
    return SU_OK;
}

double su_self_contact_energy(su_self_contact *s, const double *y)
{
    su_kept_pairs_follow(&s->kept, y);
    double sum = su_contact_energy(s->kept.count, s->kept.pairs);
    for (int64_t k = 0; k < s->grip_count; k++) sum += su_contact_grip_evaluate(&s->shape, s->grips + k, y, NULL, NULL);
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
    for (int64_t k = 0; k < s->grip_count; k++) {
        double f[12];
        int32_t corner[4];
        su_contact_grip_evaluate(&s->shape, s->grips + k, y, f, NULL);
        grip_corners(s, s->grips + k, corner);
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

static bool room_for(su_self_contact *s, int64_t couplings)
{
    int64_t most = 78 * couplings; /* a lower triangle of 12 x 12 */
    if (couplings > s->stiff_room) {
        su_coarse_column *stiff = realloc(s->stiff, (size_t)(2 * couplings) * sizeof *stiff);
        if (!stiff) return false;
        s->stiff = stiff, s->stiff_room = 2 * couplings;
    }
    if (most <= s->entry_room) return true;
    entry *larger = realloc(s->entries, (size_t)(2 * most) * sizeof *larger);
    if (larger) s->entries = larger;
    entry *sorted = realloc(s->sorted, (size_t)(2 * most) * sizeof *sorted);
    if (sorted) s->sorted = sorted;
    if (larger && sorted) s->entry_room = 2 * most;
    return larger && sorted;
}

static void add_coupling(su_self_contact *s, const int32_t corner[4], const double K[144])
{
    for (int a = 0; a < 12; a++)
        for (int b = 0; b < 12; b++) {
            int64_t i = s->body->free_index[corner[a / 3]], j = s->body->free_index[corner[b / 3]];
            int64_t row = 3 * i + a % 3, column = 3 * j + b % 3;
            if (i < 0 || j < 0 || row < column) continue;
            s->entries[s->entry_count++] = (entry){column, row, K[12 * a + b]};
        }
}

static void add_stiff(su_self_contact *s, const int32_t corner[4], const double share[4], const double normal[3])
{
    su_coarse_column *column = s->stiff + s->stiff_count++;
    for (int i = 0; i < SU_COARSE_ENTRIES; i++) {
        int64_t vertex = s->body->free_index[corner[i / 3]];
        column->dof[i] = vertex < 0 ? -1 : 3 * vertex + i % 3;
        column->value[i] = share[i / 3] * normal[i % 3];
    }
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

const su_sparse *su_self_contact_extend(su_self_contact *s, const su_sparse *A, const double *y, bool project)
{
    s->entry_count = s->stiff_count = 0;
    if (!room_for(s, s->kept.count + s->grip_count)) return NULL;
    double K[144], share[4];
    int32_t corner[4];
    for (int64_t k = 0; k < s->kept.count; k++) {
        if (!su_contact_pressed(s->kept.pairs + k)) continue;
        su_contact_corners(&s->shape, s->kept.pairs + k, corner, share);
        const double *n = s->kept.pairs[k].normal;
        if (!s->kept.frozen) su_contact_tangent(&s->shape, s->kept.pairs + k, y, project, K);
        for (int i = 0; i < 144 && s->kept.frozen; i++)
            K[i] = s->kept.pairs[k].stiffness * share[i / 36] * share[i % 12 / 3] * n[i / 12 % 3] * n[i % 3];
        add_coupling(s, corner, K);
        add_stiff(s, corner, share, n);
    }
    for (int64_t k = 0; k < s->grip_count; k++) {
        grip_corners(s, s->grips + k, corner);
        su_contact_grip_evaluate(&s->shape, s->grips + k, y, NULL, K);
        add_coupling(s, corner, K);
    }
    if (s->entry_count == 0) return A;
    sort_entries(s, A->size);
    su_sparse *out = &s->extended;
    out->in_threes = A->in_threes; /* entries come by pairs of vertices */
    if (A->entries + s->entry_count > s->extended_room) {
        int64_t room = A->entries + 2 * s->entry_count;
        int64_t *row = realloc(out->row, (size_t)room * sizeof *row);
        if (row) out->row = row;
        double *value = realloc(out->value, (size_t)room * sizeof *value);
        if (value) out->value = value;
        if (!row || !value) return NULL;
        s->extended_room = room;
    }
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
    return out;
}

su_status su_self_contact_factorize(su_self_contact *s, const su_sparse *A, const su_cholesky *plain,
                                    su_cholesky **factor, su_error *err)
{
    size_t starts = (size_t)(A->size + 1) * sizeof *A->start, rows = (size_t)A->entries * sizeof *A->row;
    if (!s->factor || s->analysed != A->entries || memcmp(s->start, A->start, starts) || memcmp(s->row, A->row, rows)) {
        su_cholesky_free(s->factor), s->factor = NULL;
        if (A->entries > s->row_room) {
            int64_t *larger = realloc(s->row, (size_t)(2 * A->entries) * sizeof *larger);
            if (!larger) return su_fail(err, SU_AGAIN, "no memory for %lld couplings", (long long)A->entries);
            s->row = larger, s->row_room = 2 * A->entries;
        }
        SU_TRY(su_cholesky_create_ordered(A, su_cholesky_order(plain), &s->factor, err));
        memcpy(s->start, A->start, starts), memcpy(s->row, A->row, rows);
        s->analysed = A->entries;
    }
    SU_TRY(su_cholesky_factorize(s->factor, A, err));
    *factor = s->factor;
    return SU_OK;
}
