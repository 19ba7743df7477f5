#include "contact/kept_pairs.h"

#include "contact/contact_entry.h"
#include "contact/contact_forces.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A pair may bring so much of its own energy along: what steps lose elsewhere is more. */
static const double BROUGHT = 0.01;

su_status su_kept_pairs_create(const su_contact_body *body, su_contact_finder *finder, su_kept_pairs *out,
                               su_error *err)
{
    su_status status;
    *out = (su_kept_pairs){.body = body, .finder = finder};
    SU_GO(SU_ALLOC(&out->first, body->n, "contact", err));
    SU_GO(SU_ALLOC(&out->before, 3 * body->n, "contact", err));
    SU_GO(SU_ALLOC(&out->stands, body->n, "contact", err));
    return SU_OK;
done:
    su_kept_pairs_free(out);
    return status;
}

void su_kept_pairs_free(su_kept_pairs *s)
{
    free(s->pairs), free(s->base), free(s->first), free(s->next), free(s->before);
    free(s->stands);
    *s = (su_kept_pairs){0};
}

void su_kept_pairs_begin(su_kept_pairs *s, const double *before)
{
    s->frozen = s->aimed = false, s->steps = before != NULL;
    if (before) memcpy(s->before, before, (size_t)(3 * s->body->n) * sizeof *before);
    su_contact_finder_start(s->finder, before);
    for (int64_t k = 0; k < s->count; k++) s->first[s->pairs[k].vertex] = 0;
    s->count = 0;
}

void su_kept_pairs_freeze(su_kept_pairs *s) { s->frozen = true; }

static bool grow(su_kept_pairs *s, int64_t most)
{
    if (most <= s->room) return true;
    su_contact_pair *pairs = realloc(s->pairs, (size_t)(2 * most) * sizeof *pairs);
    if (pairs) s->pairs = pairs;
    su_contact_pair *base = realloc(s->base, (size_t)(2 * most) * sizeof *base);
    if (base) s->base = base;
    int32_t *next = realloc(s->next, (size_t)(2 * most) * sizeof *next);
    if (next) s->next = next;
    if (pairs && base && next) s->room = 2 * most;
    return pairs && base && next;
}

/* Is the pair one of those kept? */
static bool have(const su_kept_pairs *s, const su_contact_pair *pair)
{
    for (int32_t k = s->first[pair->vertex]; k > 0; k = s->next[k - 1])
        if (su_contact_same(s->body, s->pairs + k - 1, pair)) return true;
    return false;
}

/* From the base on, so that it does not matter where the last trial was. */
void su_kept_pairs_follow(su_kept_pairs *s, const double *y)
{
    if (s->count) memcpy(s->pairs, s->base, (size_t)s->count * sizeof *s->pairs);
    if (!s->frozen) su_contact_follow(s->body, y, s->count, s->pairs);
    for (int64_t k = 0; k < s->count && s->frozen; k++) {
        su_contact_pair *pair = s->pairs + k;
        int32_t corner[4];
        double share[4], depth = 0;
        if (!(pair->depth > 0) && !s->aimed) continue;
        su_contact_corners(s->body, pair, corner, share);
        for (int i = 0; i < 12; i++)
            depth -= share[i / 3] * y[3 * (int64_t)corner[i / 3] + i % 3] * pair->normal[i % 3];
        pair->depth = fmax(depth, 0);
    }
}

/* Holds the ways that bring energy along; *held: how many. */
static su_status hold(su_kept_pairs *s, const double *y, int64_t *held, su_error *err)
{
    if (!s->steps || s->frozen) return SU_OK;
    for (int64_t k = 0; k < s->count; k++) {
        su_contact_pair *pair = s->pairs + k, start;
        double most = BROUGHT * su_contact_energy(1, pair);
        if (pair->held || !(su_contact_brought(s->body, s->before, y, pair) > most)) continue;
        SU_TRY(su_contact_find_start(s->finder, pair, &start, err));
        /* one that stood goes from face to face as the surface does; held there, resting flesh would not slide */
        if (!(start.depth > 0)) *held += su_contact_enter(s->body, s->before, y, pair);
    }
    return SU_OK;
}

/* Leads pairs along to y and adds those that no pair is; *met: so many of them press. one_way: a vertex that still has
 * a way gets no other, for which of several is the nearest changes with every move. */
static su_status find(su_kept_pairs *s, const double *y, bool one_way, int64_t *met, su_error *err)
{
    su_contact_pair *found;
    int64_t count, known = s->count;
    *met = 0;
    su_kept_pairs_follow(s, y);
    for (int64_t k = 0; k < known; k++) {
        const su_contact_pair *pair = s->pairs + k;
        if (s->frozen || pair->held || (one_way && pair->depth > 0)) s->stands[pair->vertex] = 1;
    }
    su_status status = su_contact_find_deep(s->finder, y, s->stands, &found, &count, err);
    for (int64_t k = 0; k < known; k++) s->stands[s->pairs[k].vertex] = 0;
    SU_TRY(status);
    if (!grow(s, s->count + count)) return su_fail(err, SU_AGAIN, "no memory for %lld contacts", (long long)count);
    for (int64_t k = 0; k < count; k++) {
        if (have(s, found + k)) continue;
        su_contact_allow(s->finder, 1, found + k);
        *met += su_contact_pressed(found + k);
        s->pairs[s->count] = s->base[s->count] = found[k];
        s->next[s->count] = s->first[found[k].vertex];
        s->first[found[k].vertex] = (int32_t)++s->count;
    }
    return SU_OK;
}

su_status su_kept_pairs_meet(su_kept_pairs *s, const double *y, int64_t *met, su_error *err)
{
    SU_TRY(find(s, y, true, met, err));
    SU_TRY(hold(s, y, met, err));
    if (s->count && !s->frozen) memcpy(s->base, s->pairs, (size_t)s->count * sizeof *s->base);
    return SU_OK;
}

su_status su_kept_pairs_aim(su_kept_pairs *s, const double *y, su_error *err)
{
    int64_t met, known = s->count;
    s->frozen = s->aimed = false;
    SU_TRY(find(s, y, false, &met, err));
    su_contact_allow(s->finder, known, s->pairs); /* where their ways end by now */
    for (int64_t k = 0; k < s->count; k++) {
        if (k >= known || s->pairs[k].depth > 0)
            s->base[k] = s->pairs[k];
        else
            s->base[k].depth = 0;
    }
    s->frozen = s->aimed = true;
    return SU_OK;
}
