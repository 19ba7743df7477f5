#include "reduce/modes/contact.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CARRIED 0.3 /* sum of weights in ties from which on a vertex follows the other side well enough */

void su_contact_free(su_contact_rows *contact)
{
    if (!contact) return;
    free(contact->offsets), free(contact->vertices), free(contact->coefficients);
    memset(contact, 0, sizeof *contact);
}

double su_contact_edge_length(const double *x, int64_t b, const int32_t *surface)
{
    double sum = 0;
    for (int64_t k = 0; k < b; k++)
        for (int c = 0; c < 3; c++)
            sum += su_distance3(x + 3 * (int64_t)surface[3 * k + c], x + 3 * (int64_t)surface[3 * k + (c + 1) % 3]);
    return b > 0 ? sum / (3 * (double)b) : 0;
}

void su_contact_normals(int64_t n, const double *x, int64_t b, const int32_t *surface, double *of_triangles,
                        double *of_vertices)
{
    for (int64_t k = 0; k < b; k++) {
        const int32_t *v = surface + 3 * k;
        double ab[3], ac[3], cross[3];
        su_sub3(x + 3 * (int64_t)v[1], x + 3 * (int64_t)v[0], ab);
        su_sub3(x + 3 * (int64_t)v[2], x + 3 * (int64_t)v[0], ac);
        su_cross3(ab, ac, cross);
        double length = su_norm3(cross);
        for (int i = 0; i < 3 && length > 0; i++) {
            if (of_triangles) of_triangles[3 * k + i] = cross[i] / length;
            for (int c = 0; c < 3; c++) of_vertices[3 * (int64_t)v[c] + i] += cross[i];
        }
    }
    for (int64_t v = 0; v < n; v++) {
        double length = su_norm3(of_vertices + 3 * v);
        for (int i = 0; i < 3 && length > 0; i++) of_vertices[3 * v + i] /= length;
    }
}

typedef struct detector {
    const double *neutral, *x;
    const int32_t *surface;
    const su_contact_settings *settings;
    double *normal;      /* (n,3) of the surface's vertices at x, unit */
    double *face_normal; /* (b,3) unit; 0 for triangles without area */
    int64_t *around;     /* (n + 1) first edge of each vertex in `next` */
    int32_t *next;       /* neighbours along the surface */
    su_arena arena;      /* owns these */
    su_boxtree tree;
} detector;

static su_status detector_create(detector *d, int64_t n, int64_t b, su_error *err)
{
    SU_TRY(SU_TAKE_ALL(&d->arena, "contact", err, SU_WANT(d->normal, 3 * n), SU_WANT(d->face_normal, 3 * b),
                       SU_WANT(d->around, n + 2), SU_WANT(d->next, 6 * b)));
    su_contact_normals(n, d->x, b, d->surface, d->face_normal, d->normal);
    for (int64_t k = 0; k < 3 * b; k++) d->around[d->surface[k] + 2] += 2;
    for (int64_t v = 0; v < n; v++) d->around[v + 2] += d->around[v + 1];

    for (int64_t k = 0; k < b; k++) /* around[v + 1] runs from the start of v to its end */
        for (int c = 0; c < 3; c++)
            for (int e = 1; e < 3; e++)
                d->next[d->around[d->surface[3 * k + c] + 1]++] = d->surface[3 * k + (c + e) % 3];
    return su_boxtree_of_triangles(d->x, b, d->surface, &d->tree, err);
}

/* Vertices within `apart` of one vertex along neutral surface edges: distances in `reached`, others INFINITY. Label
 * correcting; the neighbourhoods are small. */
typedef struct walk {
    double *reached;  /* (n) INFINITY between uses */
    int32_t *visited; /* list of those reached */
    uint8_t *settled; /* (n) looked at since it was last reached */
    int64_t count;
} walk;

static void walk_from(const detector *d, walk *w, int32_t start)
{
    w->reached[start] = 0;
    w->visited[0] = start, w->count = 1;
    for (bool changed = true; changed;) { /* sweeps until nothing changes; new vertices join at the end of the list */
        changed = false;
        for (int64_t k = 0; k < w->count; k++) {
            int32_t v = w->visited[k];
            if (w->settled[v]) continue;
            w->settled[v] = 1;
            for (int64_t e = d->around[v]; e < d->around[v + 1]; e++) {
                int32_t u = d->next[e];
                double length = w->reached[v] + su_distance3(d->neutral + 3 * (int64_t)v, d->neutral + 3 * (int64_t)u);
                if (length >= d->settings->apart || length >= w->reached[u]) continue;
                if (w->reached[u] == INFINITY) w->visited[w->count++] = u;
                w->reached[u] = length, w->settled[u] = 0;
                changed = true;
            }
        }
    }
}

static void walk_reset(walk *w)
{
    for (int64_t k = 0; k < w->count; k++) w->reached[w->visited[k]] = INFINITY, w->settled[w->visited[k]] = 0;
    w->count = 0;
}

typedef struct touch {
    int32_t triangle; /* -1: none */
    double bary[3], distance, side;
} touch;

typedef struct query {
    const detector *d;
    const walk *near;
    int32_t vertex;
    touch best;
} query;

static bool look(void *context, int32_t item)
{
    query *q = context;
    const detector *d = q->d;
    const int32_t *v = d->surface + 3 * (int64_t)item;
    const double *p = d->x + 3 * (int64_t)q->vertex, *normal = d->face_normal + 3 * (int64_t)item;
    if (su_dot3(normal, d->normal + 3 * (int64_t)q->vertex) > SU_CONTACT_OPPOSING) return true;
    for (int c = 0; c < 3; c++)
        if (q->near->reached[v[c]] < INFINITY) return true;
    double bary[3], at[3], away[3];
    double distance = sqrt(
        su_closest_on_triangle(p, d->x + 3 * (int64_t)v[0], d->x + 3 * (int64_t)v[1], d->x + 3 * (int64_t)v[2], bary));
    for (int i = 0; i < 3; i++)
        at[i] = bary[0] * d->x[3 * (int64_t)v[0] + i] + bary[1] * d->x[3 * (int64_t)v[1] + i] +
                bary[2] * d->x[3 * (int64_t)v[2] + i];
    su_sub3(p, at, away);
    double side = su_dot3(away, normal);
    if (distance > (side < 0 ? d->settings->depth : d->settings->tolerance)) return true;
    if (q->best.triangle >= 0 &&
        (distance > q->best.distance || (distance == q->best.distance && item > q->best.triangle)))
        return true;
    q->best.triangle = item, q->best.distance = distance, q->best.side = side;
    memcpy(q->best.bary, bary, sizeof bary);
    return true;
}

static su_status find_touches(const detector *d, int64_t n, const uint8_t *on_surface, int threads, touch *touches,
                              su_error *err)
{
    double reach = fmax(d->settings->tolerance, d->settings->depth);
    su_status first = SU_OK;
#pragma omp parallel num_threads(threads)
    {
        walk w = {0};
        su_error mine = {0};
        su_status status =
            SU_ALLOC_ALL("contact", &mine, SU_WANT(w.reached, n), SU_WANT(w.visited, n), SU_WANT(w.settled, n));
        for (int64_t v = 0; v < n && w.reached; v++) w.reached[v] = INFINITY;
#pragma omp critical(su_contact)
        su_keep_first_error(&first, err, status, &mine);
#pragma omp for schedule(dynamic, 64)
        for (int64_t v = 0; v < n; v++) {
            touches[v].triangle = -1;
            if (!on_surface[v] || status != SU_OK) continue;
            query q = {.d = d, .near = &w, .vertex = (int32_t)v, .best = {.triangle = -1}};
            double low[3], high[3];
            for (int i = 0; i < 3; i++) low[i] = d->x[3 * v + i] - reach, high[i] = d->x[3 * v + i] + reach;
            walk_from(d, &w, (int32_t)v);
            su_boxtree_overlap(&d->tree, low, high, look, &q);
            walk_reset(&w);
            touches[v] = q.best;
        }
        free(w.reached), free(w.visited), free(w.settled);
    }
    return first;
}

static su_status grow(void *array, int64_t old, int64_t more, size_t size, su_error *err)
{
    void **at = array, *wider;
    SU_TRY(su_allocate(&wider, old + more, size, "contact", err));
    if (*at) memcpy(wider, *at, (size_t)old * size);
    free(*at);
    *at = wider;
    return SU_OK;
}

su_status su_contact_reserve(su_contact_rows *contact, int64_t rows, int64_t entries, su_error *err)
{
    SU_TRY(grow(&contact->offsets, contact->rows + 1, rows, sizeof *contact->offsets, err));
    SU_TRY(grow(&contact->vertices, contact->entries, entries, sizeof *contact->vertices, err));
    return grow(&contact->coefficients, 3 * contact->entries, 3 * entries, sizeof *contact->coefficients, err);
}

void su_contact_append(su_contact_rows *contact, int count, const int32_t *vertices, const double *coefficients,
                       const uint8_t *held)
{
    double norm = 0;
    for (int k = 0; k < count; k++)
        if (!held[vertices[k]]) norm += su_dot3(coefficients + 3 * k, coefficients + 3 * k);
    if (!(norm > 0)) return;
    for (int k = 0; k < count; k++) {
        if (held[vertices[k]] || su_dot3(coefficients + 3 * k, coefficients + 3 * k) == 0) continue;
        contact->vertices[contact->entries] = vertices[k];
        for (int i = 0; i < 3; i++)
            contact->coefficients[3 * contact->entries + i] = coefficients[3 * k + i] / sqrt(norm);
        contact->entries++;
    }
    contact->offsets[++contact->rows] = (int32_t)contact->entries;
}

void su_contact_bind(su_contact_rows *contact, int count, const int32_t *vertices, const double *weights,
                     const double *normal, const uint8_t *held)
{
    for (int axis = 0; axis < (normal ? 1 : 3); axis++) {
        double row[12] = {0};
        for (int c = 0; c < count; c++)
            for (int i = 0; i < 3; i++)
                if (normal)
                    row[3 * c + i] = weights[c] * normal[i];
                else if (i == axis)
                    row[3 * c + i] = weights[c];
        su_contact_append(contact, count, vertices, row, held);
    }
}

static void append_touch(const detector *d, int32_t v, const touch *t, const uint8_t *held, su_contact_rows *out)
{
    const int32_t *c = d->surface + 3 * (int64_t)t->triangle, vertices[] = {v, c[0], c[1], c[2]};
    const double weights[] = {1, -t->bary[0], -t->bary[1], -t->bary[2]};
    su_contact_bind(out, su_contact_pairs(d->settings->kind) ? 4 : 1, vertices, weights,
                    su_contact_slides(d->settings->kind) ? d->face_normal + 3 * (int64_t)t->triangle : NULL, held);
}

/* Whether a contact binds anything that is not held. */
static bool can_move(const detector *d, int64_t v, const touch *t, const uint8_t *held)
{
    bool moves = !held[v];
    if (su_contact_pairs(d->settings->kind))
        for (int c = 0; c < 3; c++) moves |= t->bary[c] != 0 && !held[d->surface[3 * (int64_t)t->triangle + c]];
    return moves;
}

/* A connected part of the surface that touches, by its vertices in `members`. */
typedef struct patch {
    int64_t first, count;
} patch;

static int larger_patch(const void *a, const void *b)
{
    const patch *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

static int64_t find_patches(const detector *d, int64_t n, const touch *touches, int32_t *members, uint8_t *seen,
                            patch *patches)
{
    int64_t count = 0, write = 0;
    for (int64_t v = 0; v < n; v++) {
        if (touches[v].triangle < 0 || seen[v]) continue;
        int64_t first = write;
        members[write++] = (int32_t)v, seen[v] = 1;
        for (int64_t k = first; k < write; k++)
            for (int64_t e = d->around[members[k]]; e < d->around[members[k] + 1]; e++) {
                int32_t u = d->next[e];
                if (touches[u].triangle < 0 || seen[u]) continue;
                members[write++] = u, seen[u] = 1;
            }
        patches[count++] = (patch){first, write - first};
    }
    return count;
}

/* Which touches tie. Two faces that are tied to each other both ways can only move as one affine piece, because
 * interpolation from one to the other and back must leave every motion as it is. One way is enough: of each contact the
 * side with more vertices is tied to the triangles of the other. A vertex of that keeps its own tie only where hardly
 * any vertex is tied to it: at rims of unequal patches, and between vertices tied far from it. Others get triangle -1.
 */
static su_status choose_sides(detector *d, int64_t n, touch *touches, su_error *err)
{
    int32_t *members;
    uint8_t *seen;
    double *carries; /* (n) sum of the weights that a vertex has in ties */
    patch *patches;
    SU_TRY(SU_TAKE_ALL(&d->arena, "contact", err, SU_WANT(members, n), SU_WANT(seen, n), SU_WANT(carries, n),
                       SU_WANT(patches, n)));
    int64_t count = find_patches(d, n, touches, members, seen, patches);
    su_sort(patches, (size_t)count, sizeof *patches, larger_patch);
    for (int64_t p = 0; p < count; p++)
        for (int64_t k = patches[p].first; k < patches[p].first + patches[p].count; k++) {
            int32_t v = members[k];
            const int32_t *corners = d->surface + 3 * (int64_t)touches[v].triangle;
            if (carries[v] > CARRIED) {
                touches[v].triangle = -1;
                continue;
            }
            for (int c = 0; c < 3; c++) carries[corners[c]] += touches[v].bary[c];
        }
    return SU_OK;
}

su_status su_contact_detect(const su_contact_flesh *flesh, const su_contact_settings *settings, int threads,
                            su_contact_rows *out, su_error *err)
{
    int64_t n = flesh->n, b = flesh->b;
    const uint8_t *held = flesh->held;
    detector d = {.neutral = flesh->neutral, .x = flesh->x, .surface = flesh->surface, .settings = settings};
    touch *touches;
    uint8_t *on_surface;
    su_status status;
    memset(out, 0, sizeof *out);
    SU_GO(SU_TAKE_ALL(&d.arena, "contact", err, SU_WANT(touches, n), SU_WANT(on_surface, n)));
    SU_GO(detector_create(&d, n, b, err));
    for (int64_t k = 0; k < 3 * b; k++) on_surface[flesh->surface[k]] = 1;
    SU_GO(find_touches(&d, n, on_surface, threads, touches, err));
    for (int64_t v = 0; v < n; v++)
        if (touches[v].triangle >= 0 && can_move(&d, v, &touches[v], held)) {
            out->contacts++;
            out->penetrating += touches[v].side < 0;
        }
    if (settings->kind == SU_CONTACT_TIED) SU_GO(choose_sides(&d, n, touches, err));
    int64_t count = 0;
    for (int64_t v = 0; v < n; v++) count += touches[v].triangle >= 0;
    SU_GO(su_contact_reserve(out, 3 * count, 12 * count, err));
    for (int64_t v = 0; v < n; v++)
        if (touches[v].triangle >= 0) append_touch(&d, (int32_t)v, &touches[v], held, out);
done:
    if (status != SU_OK) su_contact_free(out);
    su_boxtree_free(&d.tree);
    su_arena_free(&d.arena);
    return status;
}
