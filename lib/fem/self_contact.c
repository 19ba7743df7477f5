#include "fem/self_contact.h"

#include "contact/contact_entry.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A pair may bring so much of its own energy along: what steps lose elsewhere is more. */
static const double BROUGHT = 0.01;

/* One number of the lower triangle that pairs add. */
typedef struct entry {
    int64_t column, row;
    double value;
} entry;

struct su_self_contact {
    const su_elastic *body;
    su_contact_body shape;
    su_contact_finder *finder;
    su_contact_pair *base;  /* met since the step began, as they were where something was met last */
    su_contact_pair *pairs; /* the same at the last positions */
    int64_t count, room;
    double *before; /* (n,3) where the step began */
    bool steps;     /* it did */
    bool frozen;    /* ways keep their normal and the place where they end */
    int32_t *first; /* (n) one more than the first pair of each vertex; 0: none */
    int32_t *next;  /* (room) and than the next one */
    su_contact_grip *grips;
    int64_t grip_count, grip_room;
    entry *entries, *sorted; /* (entry_room) as pairs add them; by columns, then rows */
    int64_t entry_count, entry_room;
    int64_t *entry_start;    /* (3 free + 1) of each column among the sorted ones */
    su_coarse_column *stiff; /* (room) */
    int64_t stiff_count;
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
    SU_GO(SU_ALLOC(&s->first, body->n, "contact", err));
    SU_GO(SU_ALLOC(&s->before, 3 * body->n, "contact", err));
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
    su_contact_finder_free(s->finder);
    su_contact_body_free(&s->shape);
    free(s->base), free(s->pairs), free(s->first), free(s->next), free(s->before), free(s->grips), free(s->entries),
        free(s->sorted), free(s->entry_start), free(s->start), free(s->row), free(s->stiff);
    free(s->extended.start), free(s->extended.row), free(s->extended.value);
    free(s);
}

void su_self_contact_set_stiffness(su_self_contact *s, const double *k)
{
    su_contact_finder_set_stiffness(s->finder, k);
}

const su_contact_body *su_self_contact_body(const su_self_contact *s) { return &s->shape; }

static bool grow(su_self_contact *s, int64_t most)
{
    if (most <= s->room) return true;
    su_contact_pair *pairs = realloc(s->pairs, (size_t)(2 * most) * sizeof *pairs);
    if (pairs) s->pairs = pairs;
    su_contact_pair *base = realloc(s->base, (size_t)(2 * most) * sizeof *base);
    if (base) s->base = base;
    int32_t *next = realloc(s->next, (size_t)(2 * most) * sizeof *next);
    if (next) s->next = next;
    su_coarse_column *stiff = realloc(s->stiff, (size_t)(2 * most) * sizeof *stiff);
    if (stiff) s->stiff = stiff;
    if (pairs && base && next && stiff) s->room = 2 * most;
    return pairs && base && next && stiff;
}

static bool have(const su_self_contact *s, const su_contact_pair *pair)
{
    if (s->frozen && s->first[pair->vertex]) return true;
    for (int32_t k = s->first[pair->vertex]; k > 0; k = s->next[k - 1])
        if (s->pairs[k - 1].held || su_contact_same(&s->shape, s->pairs + k - 1, pair)) return true;
    return false;
}

/* From the base on, so that it does not matter where the last trial was. */
static void follow(su_self_contact *s, const double *y)
{
    if (s->count) memcpy(s->pairs, s->base, (size_t)s->count * sizeof *s->pairs);
    if (!s->frozen) su_contact_follow(&s->shape, y, s->count, s->pairs);
    for (int64_t k = 0; k < s->count && s->frozen; k++) {
        su_contact_pair *pair = s->pairs + k;
        int32_t corner[4];
        double share[4], depth = 0;
        if (!(pair->depth > 0)) continue;
        su_contact_corners(&s->shape, pair, corner, share);
        for (int i = 0; i < 12; i++)
            depth -= share[i / 3] * y[3 * (int64_t)corner[i / 3] + i % 3] * pair->normal[i % 3];
        pair->depth = fmax(depth, 0);
    }
}

void su_self_contact_freeze(su_self_contact *s) { s->frozen = true; }

/* Holds the ways that bring energy along; *held: how many. */
static su_status hold(su_self_contact *s, const double *y, int64_t *held, su_error *err)
{
    if (!s->steps || s->frozen) return SU_OK;
    for (int64_t k = 0; k < s->count; k++) {
        su_contact_pair *pair = s->pairs + k, none = {0}, start;
        double most = BROUGHT * su_contact_energy(1, pair);
        if (pair->held || !(su_contact_brought(&s->shape, s->before, y, pair, &none) > most)) continue;
        SU_TRY(su_contact_find_start(s->finder, pair, &start, err));
        if (su_contact_brought(&s->shape, s->before, y, pair, &start) > most)
            *held += su_contact_enter(&s->shape, s->before, y, &start, pair);
    }
    return SU_OK;
}

su_status su_self_contact_meet(su_self_contact *s, const double *y, int64_t *met, su_error *err)
{
    const su_contact_pair *found;
    int64_t count;
    *met = 0;
    SU_TRY(su_contact_find(s->finder, y, &found, &count, err));
    follow(s, y);
    if (!grow(s, s->count + count)) return su_fail(err, SU_AGAIN, "no memory for %lld contacts", (long long)count);
    for (int64_t k = 0; k < count; k++) {
        if (have(s, found + k)) continue;
        *met += su_contact_pressed(found + k);
        s->pairs[s->count] = s->base[s->count] = found[k];
        s->next[s->count] = s->first[found[k].vertex];
        s->first[found[k].vertex] = (int32_t)++s->count;
    }
    SU_TRY(hold(s, y, met, err));
    if (s->count && !s->frozen) memcpy(s->base, s->pairs, (size_t)s->count * sizeof *s->base);
    return SU_OK;
}

void su_self_contact_begin(su_self_contact *s, const double *rest, const double *before)
{
    s->grip_count = 0, s->frozen = false, s->steps = before != NULL;
    if (before) memcpy(s->before, before, (size_t)(3 * s->body->n) * sizeof *before);
    su_contact_finder_start(s->finder, before);
    for (int64_t k = 0; k < s->count; k++) s->first[s->pairs[k].vertex] = 0;
    s->count = 0;
    su_contact_finder_allow(s->finder, rest);
}

su_status su_self_contact_grip(su_self_contact *s, double friction, double h, const double *y, const double *before,
                               su_error *err)
{
    s->grip_count = 0;
    if (!(friction > 0)) return SU_OK;
    int64_t met;
    SU_TRY(su_self_contact_meet(s, y, &met, err));
    if (s->count > s->grip_room) {
        su_contact_grip *larger = realloc(s->grips, (size_t)(2 * s->count) * sizeof *larger);
        if (!larger) return su_fail(err, SU_AGAIN, "no memory for the friction of %lld contacts", (long long)s->count);
        s->grips = larger, s->grip_room = 2 * s->count;
    }
    for (int64_t k = 0; k < s->count; k++) {
        su_contact_grip grip = su_contact_grip_of(&s->shape, s->pairs + k, friction, h, before);
        if (grip.limit > 0) s->grips[s->grip_count++] = grip;
    }
    return SU_OK;
}

double su_self_contact_energy(su_self_contact *s, const double *y)
{
    follow(s, y);
    double sum = su_contact_energy(s->count, s->pairs);
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
    follow(s, y);
    double pressing = su_contact_force(&s->shape, s->count, s->pairs, force), holding = 0;
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
    for (int64_t k = 0; k < s->count; k++) {
        if (!su_contact_pressed(s->pairs + k)) continue;
        depths->pressed++;
        depths->deepest = fmax(depths->deepest, s->pairs[k].depth - s->pairs[k].allowed);
    }
    return SU_OK;
}

/* ---- linear systems ---- */

static bool room_for(su_self_contact *s, int64_t couplings)
{
    int64_t most = 78 * couplings; /* a lower triangle of 12 x 12 */
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
    if (!room_for(s, s->count + s->grip_count)) return NULL;
    double K[144], share[4];
    int32_t corner[4];
    for (int64_t k = 0; k < s->count; k++) {
        if (!su_contact_pressed(s->pairs + k)) continue;
        su_contact_corners(&s->shape, s->pairs + k, corner, share);
        const double *n = s->pairs[k].normal;
        if (!s->frozen) su_contact_tangent(&s->shape, s->pairs + k, y, project, K);
        for (int i = 0; i < 144 && s->frozen; i++)
            K[i] = s->pairs[k].stiffness * share[i / 36] * share[i % 12 / 3] * n[i / 12 % 3] * n[i % 3];
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
