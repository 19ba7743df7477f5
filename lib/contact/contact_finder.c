/* Three stages: lists of near tets (near_tets), which tets hold a vertex, and its way out of each. The last two are
 * exact, so that no result depends on when a list was made. */
#include "contact/contact_finder.h"

#include "contact/near_tets.h"
#include "core/memory.h"
#include "geometry/box.h"
#include "geometry/mat3.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two tets that hold one vertex lead to one contact where their ways end within so many mean edges. */
static const double SAME = 2.0;

/* Pairs of a contiguous range of vertices; grows and never shrinks. */
typedef struct chunk {
    su_contact_pair *pair;
    int64_t pairs, pair_room;
    bool failed;
} chunk;

/* The shape that a step began with, and the pairs that vertices had there which were asked about. */
typedef struct earlier {
    double *at; /* (n,3) */
    su_near_shape near;
    chunk found;
    int32_t *first;  /* (n) first of a vertex's pairs, -1: not looked for */
    int32_t *count;  /* (n) */
    int32_t *sought; /* (sought_count) those vertices */
    int64_t sought_count;
} earlier;

struct su_contact_finder {
    const su_contact_body *body;
    int threads;
    su_near_tets *near;
    double *k;             /* (n) N/m^3 */
    chunk *chunks;         /* (threads) */
    su_contact_pair *pair; /* all of them */
    int64_t pair_room;
    enum { NOTHING, REST, COPIES } allow;
    double *rest;    /* (n,3) whose overlaps are allowed, where it is the rest shape's */
    uint8_t *copied; /* (n) vertices inside other flesh of the neutral shape; NULL: not looked for */
    earlier before;
    su_arena arena;
};

void su_contact_finder_free(su_contact_finder *f)
{
    if (!f) return;
    for (int c = 0; f->chunks && c < f->threads; c++) free(f->chunks[c].pair);
    su_near_shape_free(&f->before.near);
    free(f->before.found.pair);
    su_near_tets_free(f->near);
    free(f->pair);
    su_arena_free(&f->arena);
    free(f);
}

su_status su_contact_finder_create(const su_contact_body *body, int threads, su_contact_finder **out, su_error *err)
{
    su_status status = SU_OK;
    su_contact_finder *f = NULL;
    *out = NULL;
    SU_GO(SU_ALLOC(&f, 1, "contact", err));
    f->body = body, f->threads = threads > 1 ? threads : 1;
    SU_GO(su_near_tets_create(body, f->threads, &f->near, err));
    earlier *before = &f->before;
    SU_GO(SU_TAKE_ALL(&f->arena, "contact", err, SU_WANT(f->k, body->n), SU_WANT(f->chunks, f->threads),
                      SU_WANT(f->rest, 3 * body->n), SU_WANT(before->at, 3 * body->n), SU_WANT(before->first, body->n),
                      SU_WANT(before->count, body->n), SU_WANT(before->sought, body->n)));
    for (int64_t v = 0; v < body->n; v++) before->first[v] = -1;
    SU_GO(su_near_shape_create(f->near, before->at, &before->near, err));
    *out = f;
    f = NULL;
done:
    su_contact_finder_free(f);
    return status;
}

void su_contact_finder_set_stiffness(su_contact_finder *f, const double *k)
{
    memcpy(f->k, k, (size_t)f->body->n * sizeof *k);
}

/* ---- pairs ---- */

/* Barycentric coordinates of p in a tet that is not inverted; false where it is outside. */
static bool inside(const double *y, const int32_t *tet, const double p[3], double bary[4])
{
    const double *a = y + 3 * (int64_t)tet[0], *b = y + 3 * (int64_t)tet[1], *c = y + 3 * (int64_t)tet[2],
                 *d = y + 3 * (int64_t)tet[3];
    for (int i = 0; i < 3; i++) {
        double low = su_smaller(su_smaller(a[i], b[i]), su_smaller(c[i], d[i])),
               high = su_larger(su_larger(a[i], b[i]), su_larger(c[i], d[i]));
        double seam = SU_CONTACT_SEAM * (high - low);
        if (p[i] < low - seam || p[i] > high + seam) return false;
    }
    double m[9], inverse[9] = {0}, r[3];
    su_tet_edges(a, b, c, d, m);
    if (!(su_inverse3(m, inverse) > 0)) return false;
    su_sub3(p, a, r);
    su_mulv3(inverse, r, bary + 1);
    bary[0] = 1 - bary[1] - bary[2] - bary[3];
    return su_smaller(su_smaller(bary[0], bary[1]), su_smaller(bary[2], bary[3])) >= -SU_CONTACT_SEAM;
}

/* Where a pair's way ends, in the neutral shape. */
static void neutral_end(const su_contact_body *body, const su_contact_pair *pair, double out[3])
{
    const int32_t *c = body->surface + 3 * (int64_t)pair->triangle;
    for (int i = 0; i < 3; i++) {
        out[i] = 0;
        for (int j = 0; j < 3; j++) out[i] += pair->bary[j] * body->neutral[3 * (int64_t)c[j] + i];
    }
}

static double apart(const su_contact_body *body, const su_contact_pair *a, const su_contact_pair *b)
{
    double p[3], q[3];
    neutral_end(body, a, p), neutral_end(body, b, q);
    return su_distance3(p, q);
}

/* Does a way leave a triangle on its outer side? */
static bool outward(const double *y, const int32_t *corner, const double way[3])
{
    double a[3], b[3], normal[3];
    su_sub3(y + 3 * (int64_t)corner[1], y + 3 * (int64_t)corner[0], a);
    su_sub3(y + 3 * (int64_t)corner[2], y + 3 * (int64_t)corner[0], b);
    su_cross3(a, b, normal);
    return su_dot3(way, normal) > 0;
}

/* The foot on the plane of the pair's triangle. */
static bool on_plane(const su_contact_body *body, const double *y, su_contact_pair *pair)
{
    pair->plane = true;
    return su_contact_foot(body, y, y + 3 * (int64_t)pair->vertex, pair->triangle, pair->bary);
}

/* The nearest point of the surface, or the foot on a plane where that borders on what is related to the vertex. */
static bool nearest_end(const su_contact_body *body, const double *y, su_contact_pair *pair)
{
    double depth = su_contact_descend_apart(body, y, pair->vertex, &pair->triangle, pair->bary);
    pair->plane = false;
    if (!(depth > 0) || isinf(depth)) return false;
    if (su_contact_borders(body, pair->vertex, pair->triangle, pair->bary)) return on_plane(body, y, pair);
    return su_contact_behind(body, y, y + 3 * (int64_t)pair->vertex, pair->triangle, pair->bary);
}

/* From a pair's vertex to where its way ends, at x (n,3). */
static void way_of(const su_contact_body *body, const double *x, const su_contact_pair *pair, double way[3])
{
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    for (int i = 0; i < 3; i++) {
        way[i] = -x[3 * (int64_t)pair->vertex + i];
        for (int j = 0; j < 3; j++) way[i] += pair->bary[j] * x[3 * (int64_t)corner[j] + i];
    }
}

/* Parts of itself that what is allowed may be off by rounding: at the rest shape nothing presses. */
static const double ROUNDING = 1e-12;

double su_contact_allowed(const su_contact_body *body, const double *x, const su_contact_pair *pair)
{
    double way[3];
    way_of(body, x, pair, way);
    return su_larger(su_dot3(way, pair->normal), 0) * (1 + ROUNDING);
}

/* The pair's way at y, from its triangle on; returns its depth, 0 where there is none: on the outer side. */
static double follow(const su_contact_body *body, const double *y, su_contact_pair *pair)
{
    pair->depth = 0;
    if (!(pair->held ? on_plane(body, y, pair) : nearest_end(body, y, pair))) return 0;
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    double way[3];
    way_of(body, y, pair, way);
    double depth = su_norm3(way);
    if (!(depth > 0) || (pair->plane && !(outward(y, corner, way)))) return 0;
    for (int i = 0; i < 3; i++) pair->normal[i] = way[i] / depth;
    pair->depth = depth;
    return depth;
}

void su_contact_follow(const su_contact_body *body, const double *y, int64_t count, su_contact_pair *pairs)
{
    for (int64_t k = 0; k < count; k++) follow(body, y, pairs + k);
}

bool su_contact_way(const su_contact_body *body, const double *y, const double bary[4], su_contact_pair *pair)
{
    const int32_t *tet = body->tets + 4 * (int64_t)pair->tet;
    double neutral[3] = {0};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 3; i++) neutral[i] += bary[c] * body->neutral[3 * (int64_t)tet[c] + i];
    su_contact_descend(body, body->neutral, neutral, &pair->triangle, pair->bary);
    return follow(body, y, pair) > 0 && !su_contact_far_beside(pair);
}

bool su_contact_same(const su_contact_body *body, const su_contact_pair *a, const su_contact_pair *b)
{
    return a->vertex == b->vertex && apart(body, a, b) <= SAME * body->edge;
}

/* room for one more; false where there is none */
static bool grow(chunk *into)
{
    if (into->pairs < into->pair_room) return true;
    int64_t wanted = into->pair_room ? 2 * into->pair_room : 256;
    su_contact_pair *larger = realloc(into->pair, (size_t)wanted * sizeof *larger);
    if (!larger) return false;
    into->pair = larger, into->pair_room = wanted;
    return true;
}

/* A tet that a vertex is in, and where. */
typedef struct holder {
    int32_t tet;
    double bary[4];
} holder;

/* Vertex v in a tet, and its way out; false where there is none. */
static bool pair_of(const su_contact_finder *f, const double *y, int32_t v, const holder *in, su_contact_pair *pair)
{
    const su_contact_body *body = f->body;
    *pair = (su_contact_pair){.vertex = v, .triangle = body->nearest[in->tet], .tet = in->tet};
    if (!su_contact_way(body, y, in->bary, pair)) return false;
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    double softest = f->k[v];
    for (int j = 0; j < 3; j++) softest = su_smaller(softest, f->k[corner[j]]);
    pair->stiffness = softest * body->area[v];
    return true;
}

/* The pairs of a vertex with those of some near tets, whatever their order. Of ways that end at
 * one place the shortest stays. */
static void append_pairs(const su_contact_finder *f, chunk *into, const double *y, int32_t vertex,
                         const su_near_list *list)
{
    enum { MOST = 64 }; /* tets that one vertex can be in: copies of flesh that overlap there */
    holder in[MOST], next;
    int found = 0;
    for (int64_t k = 0; k < list->count; k++) {
        if (list->tet[k].gap > list->reach) continue;
        next.tet = list->tet[k].tet;
        if (found == MOST && next.tet > in[MOST - 1].tet) continue;
        if (!inside(y, f->body->tets + 4 * (int64_t)next.tet, y + 3 * (int64_t)vertex, next.bary)) continue;
        int at = found < MOST ? found++ : MOST - 1;
        for (; at > 0 && in[at - 1].tet > next.tet; at--) in[at] = in[at - 1];
        in[at] = next;
    }
    int64_t first = into->pairs;
    for (int k = 0; k < found; k++) {
        su_contact_pair pair;
        if (!pair_of(f, y, vertex, in + k, &pair)) continue;
        int64_t same = first;
        while (same < into->pairs && !su_contact_same(f->body, &pair, into->pair + same)) same++;
        if (same < into->pairs) {
            if (pair.depth < into->pair[same].depth) into->pair[same] = pair;
            continue;
        }
        if (!grow(into)) {
            into->failed = true;
            return;
        }
        into->pair[into->pairs++] = pair;
    }
}

static void find_pairs(su_contact_finder *f, const double *y, const uint8_t *known, int c)
{
    chunk *into = f->chunks + c;
    into->pairs = 0, into->failed = false;
    for (int64_t i = su_near_tets_first(f->near, c); i < su_near_tets_first(f->near, c + 1); i++) {
        int32_t vertex = su_near_tets_vertex(f->near, i);
        if (known && known[vertex]) continue;
        const su_near_list list = su_near_tets_list(f->near, y, i, c);
        append_pairs(f, into, y, vertex, &list);
    }
}

/* All pairs at y but those of vertices that are known. */
static su_status find_all(su_contact_finder *f, const double *y, const uint8_t *known, int64_t *count, su_error *err)
{
    SU_TRY(su_near_tets_bring(f->near, y, err));
#pragma omp parallel for num_threads(f->threads) schedule(static, 1)
    for (int c = 0; c < f->threads; c++) find_pairs(f, y, known, c);
    *count = 0;
    for (int c = 0; c < f->threads; c++) {
        if (f->chunks[c].failed) return su_fail(err, SU_AGAIN, "no memory for contact");
        *count += f->chunks[c].pairs;
    }
    if (*count > f->pair_room) {
        su_contact_pair *larger = realloc(f->pair, (size_t)(2 * *count) * sizeof *larger);
        if (!larger) return su_fail(err, SU_AGAIN, "no memory for %lld contact pairs", (long long)*count);
        f->pair = larger, f->pair_room = 2 * *count;
    }
    int64_t at = 0;
    for (int c = 0; c < f->threads; c++) {
        int64_t own = f->chunks[c].pairs;
        if (own) memcpy(f->pair + at, f->chunks[c].pair, (size_t)own * sizeof *f->pair);
        at += own;
    }
    return SU_OK;
}

/* ---- other shapes ---- */

su_status su_contact_finder_allow_copies(su_contact_finder *f, su_error *err)
{
    f->allow = COPIES;
    if (f->copied) return SU_OK;
    int64_t count;
    SU_TRY(find_all(f, f->body->neutral, NULL, &count, err));
    if (!(f->copied = su_arena_alloc(&f->arena, f->body->n, 1)))
        return su_fail(err, SU_AGAIN, "no memory for contact of %lld vertices", (long long)f->body->n);
    for (int64_t k = 0; k < count; k++) f->copied[f->pair[k].vertex] = 1;
    return SU_OK;
}

void su_contact_finder_allow(su_contact_finder *f, const double *x)
{
    f->allow = x ? REST : NOTHING;
    if (x) memcpy(f->rest, x, (size_t)(3 * f->body->n) * sizeof *x);
}

void su_contact_finder_start(su_contact_finder *f, const double *x)
{
    earlier *before = &f->before;
    for (int64_t k = 0; k < before->sought_count; k++) before->first[before->sought[k]] = -1;
    before->sought_count = before->found.pairs = before->near.order = 0;
    if (x) memcpy(before->at, x, (size_t)(3 * f->body->n) * sizeof *x);
}

/* The pairs that a vertex had when the step began. */
static su_status ask_before(su_contact_finder *f, int32_t vertex, su_error *err)
{
    earlier *before = &f->before;
    su_near_list list;
    if (before->first[vertex] >= 0) return SU_OK;
    SU_TRY(su_near_shape_list(f->near, &before->near, vertex, &list, err));
    int64_t first = before->found.pairs;
    before->found.failed = false;
    append_pairs(f, &before->found, before->at, vertex, &list);
    if (before->found.failed) return su_fail(err, SU_AGAIN, "no memory for contact");
    before->sought[before->sought_count++] = vertex;
    before->first[vertex] = (int32_t)first, before->count[vertex] = (int32_t)(before->found.pairs - first);
    return SU_OK;
}

su_status su_contact_find_start(su_contact_finder *f, const su_contact_pair *pair, su_contact_pair *start,
                                su_error *err)
{
    *start = (su_contact_pair){0};
    SU_TRY(ask_before(f, pair->vertex, err));
    const su_contact_pair *found = f->before.found.pair + f->before.first[pair->vertex];
    for (int32_t i = 0; i < f->before.count[pair->vertex]; i++)
        if (found[i].depth > start->depth && su_contact_same(f->body, pair, found + i)) *start = found[i];
    return SU_OK;
}

void su_contact_allow(const su_contact_finder *f, int64_t count, su_contact_pair *pairs)
{
    for (int64_t k = 0; k < count; k++) {
        su_contact_pair there = pairs[k];
        if (f->allow == REST) pairs[k].allowed = su_contact_allowed(f->body, f->rest, pairs + k);
        if (f->allow == COPIES && f->copied[there.vertex]) pairs[k].allowed = follow(f->body, f->body->neutral, &there);
    }
}

su_status su_contact_find_deep(su_contact_finder *f, const double *y, const uint8_t *known, su_contact_pair **pairs,
                               int64_t *count, su_error *err)
{
    *pairs = NULL, *count = 0;
    SU_TRY(find_all(f, y, known, count, err));
    *pairs = f->pair;
    return SU_OK;
}

su_status su_contact_find(su_contact_finder *f, const double *y, const su_contact_pair **pairs, int64_t *count,
                          su_error *err)
{
    su_contact_pair *found;
    *pairs = NULL;
    SU_TRY(su_contact_find_deep(f, y, NULL, &found, count, err));
    su_contact_allow(f, *count, found);
    *pairs = found;
    return SU_OK;
}
