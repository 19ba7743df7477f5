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

/* Another shape, and what is known of the vertices that had to be looked for in it. */
typedef struct other_shape {
    double *at; /* (n,3) */
    bool on;
    su_near_shape near;
    int32_t *answer; /* (n) -1: not looked for */
    int32_t *sought; /* (sought_count) those that were */
    int64_t sought_count;
} other_shape;

struct su_contact_finder {
    const su_contact_body *body;
    int threads;
    su_near_tets *near;
    double *k;             /* (n) N/m^3 */
    chunk *chunks;         /* (threads) */
    su_contact_pair *pair; /* all of them */
    int64_t pair_room;
    other_shape rest;   /* whose overlaps are allowed; answer: does flesh hold the vertex there? */
    other_shape before; /* where a step began; answer: the first of the vertex's pairs there, */
    chunk began;        /* in this list, */
    int32_t *count;     /* (n) and how many they are */
    su_arena arena;
};

void su_contact_finder_free(su_contact_finder *f)
{
    if (!f) return;
    for (int c = 0; f->chunks && c < f->threads; c++) free(f->chunks[c].pair);
    su_near_shape_free(&f->rest.near), su_near_shape_free(&f->before.near);
    free(f->began.pair);
    su_near_tets_free(f->near);
    free(f->pair);
    su_arena_free(&f->arena);
    free(f);
}

static su_status take_shape(su_contact_finder *f, other_shape *shape, su_error *err)
{
    int64_t n = f->body->n;
    SU_TRY(SU_TAKE_ALL(&f->arena, "contact", err, SU_WANT(shape->at, 3 * n), SU_WANT(shape->answer, n),
                       SU_WANT(shape->sought, n)));
    for (int64_t v = 0; v < n; v++) shape->answer[v] = -1;
    return su_near_shape_create(f->near, shape->at, &shape->near, err);
}

su_status su_contact_finder_create(const su_contact_body *body, int threads, su_contact_finder **out, su_error *err)
{
    su_status status = SU_OK;
    su_contact_finder *f = NULL;
    *out = NULL;
    SU_GO(SU_ALLOC(&f, 1, "contact", err));
    f->body = body, f->threads = threads > 1 ? threads : 1;
    SU_GO(su_near_tets_create(body, f->threads, &f->near, err));
    SU_GO(SU_TAKE_ALL(&f->arena, "contact", err, SU_WANT(f->k, body->n), SU_WANT(f->chunks, f->threads),
                      SU_WANT(f->count, body->n)));
    SU_GO(take_shape(f, &f->rest, err));
    SU_GO(take_shape(f, &f->before, err));
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

/* Barycentric coordinates of p in a tet; false where it is outside, and in one that is inverted unless those count. */
static bool inside(const double *y, const int32_t *tet, const double p[3], bool inverted, double bary[4])
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
    double volume = su_inverse3(m, inverse);
    if (!(volume > 0 || (inverted && volume < 0))) return false;
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

double su_contact_way_length(const su_contact_body *body, const double *x, const su_contact_pair *pair)
{
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    double way[3];
    for (int i = 0; i < 3; i++) {
        way[i] = -x[3 * (int64_t)pair->vertex + i];
        for (int j = 0; j < 3; j++) way[i] += pair->bary[j] * x[3 * (int64_t)corner[j] + i];
    }
    return su_norm3(way);
}

/* The pair's way at y, from its triangle on; returns its depth, 0 where there is none: on the outer side. */
static double follow(const su_contact_body *body, const double *y, su_contact_pair *pair)
{
    pair->depth = 0;
    if (!(pair->held ? on_plane(body, y, pair) : nearest_end(body, y, pair))) return 0;
    const double *p = y + 3 * (int64_t)pair->vertex;
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    double way[3];
    for (int i = 0; i < 3; i++) {
        way[i] = -p[i];
        for (int j = 0; j < 3; j++) way[i] += pair->bary[j] * y[3 * (int64_t)corner[j] + i];
    }
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
        if (!inside(y, f->body->tets + 4 * (int64_t)next.tet, y + 3 * (int64_t)vertex, false, next.bary)) continue;
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

static void find_pairs(su_contact_finder *f, const double *y, int c)
{
    chunk *into = f->chunks + c;
    into->pairs = 0, into->failed = false;
    for (int64_t i = su_near_tets_first(f->near, c); i < su_near_tets_first(f->near, c + 1); i++) {
        const su_near_list list = su_near_tets_list(f->near, y, i, c);
        append_pairs(f, into, y, su_near_tets_vertex(f->near, i), &list);
    }
}

/* All pairs at y. */
static su_status find_all(su_contact_finder *f, const double *y, int64_t *count, su_error *err)
{
    SU_TRY(su_near_tets_bring(f->near, y, err));
#pragma omp parallel for num_threads(f->threads) schedule(static, 1)
    for (int c = 0; c < f->threads; c++) find_pairs(f, y, c);
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

static void set_shape(const su_contact_finder *f, other_shape *shape, const double *x)
{
    shape->on = x, shape->near.order = 0;
    for (int64_t k = 0; k < shape->sought_count; k++) shape->answer[shape->sought[k]] = -1;
    shape->sought_count = 0;
    if (x) memcpy(shape->at, x, (size_t)(3 * f->body->n) * sizeof *x);
}

/* The near tets of a vertex that was not looked for yet. */
static su_status seek(su_contact_finder *f, other_shape *shape, int32_t vertex, su_near_list *list, su_error *err)
{
    SU_TRY(su_near_shape_list(f->near, &shape->near, vertex, list, err));
    shape->sought[shape->sought_count++] = vertex;
    return SU_OK;
}

/* Does flesh hold a vertex in the rest shape? Also such as skinning has turned inside out. */
static su_status ask_rest(su_contact_finder *f, int32_t vertex, su_error *err)
{
    su_near_list list;
    double bary[4];
    if (f->rest.answer[vertex] >= 0) return SU_OK;
    SU_TRY(seek(f, &f->rest, vertex, &list, err));
    bool held = false;
    for (int64_t k = 0; k < list.count && !held; k++)
        held = list.tet[k].gap <= list.reach && inside(f->rest.at, f->body->tets + 4 * (int64_t)list.tet[k].tet,
                                                       f->rest.at + 3 * (int64_t)vertex, true, bary);
    f->rest.answer[vertex] = held;
    return SU_OK;
}

/* The pairs that a vertex had when the step began. */
static su_status ask_before(su_contact_finder *f, int32_t vertex, su_error *err)
{
    su_near_list list;
    if (f->before.answer[vertex] >= 0) return SU_OK;
    SU_TRY(seek(f, &f->before, vertex, &list, err));
    int64_t first = f->began.pairs;
    f->began.failed = false;
    append_pairs(f, &f->began, f->before.at, vertex, &list);
    if (f->began.failed) return su_fail(err, SU_AGAIN, "no memory for contact");
    f->before.answer[vertex] = (int32_t)first, f->count[vertex] = (int32_t)(f->began.pairs - first);
    return SU_OK;
}

void su_contact_finder_allow(su_contact_finder *f, const double *x) { set_shape(f, &f->rest, x); }

void su_contact_finder_start(su_contact_finder *f, const double *x)
{
    set_shape(f, &f->before, x);
    f->began.pairs = 0;
}

su_status su_contact_find_start(su_contact_finder *f, const su_contact_pair *pair, su_contact_pair *start,
                                su_error *err)
{
    *start = (su_contact_pair){0};
    SU_TRY(ask_before(f, pair->vertex, err));
    const su_contact_pair *found = f->began.pair + f->before.answer[pair->vertex];
    for (int32_t i = 0; i < f->count[pair->vertex]; i++)
        if (found[i].depth > start->depth && su_contact_same(f->body, pair, found + i)) *start = found[i];
    return SU_OK;
}

su_status su_contact_allow(su_contact_finder *f, int64_t count, su_contact_pair *pairs, su_error *err)
{
    if (!f->rest.on) return SU_OK;
    for (int64_t k = 0; k < count; k++) {
        SU_TRY(ask_rest(f, pairs[k].vertex, err));
        su_contact_pair there = pairs[k];
        bool held = f->rest.answer[pairs[k].vertex] || follow(f->body, f->rest.at, &there) > 0;
        pairs[k].allowed = held ? su_contact_way_length(f->body, f->rest.at, pairs + k) : 0;
    }
    return SU_OK;
}

su_status su_contact_find_deep(su_contact_finder *f, const double *y, su_contact_pair **pairs, int64_t *count,
                               su_error *err)
{
    *pairs = NULL, *count = 0;
    SU_TRY(find_all(f, y, count, err));
    *pairs = f->pair;
    return SU_OK;
}

su_status su_contact_find(su_contact_finder *f, const double *y, const su_contact_pair **pairs, int64_t *count,
                          su_error *err)
{
    su_contact_pair *found;
    *pairs = NULL;
    SU_TRY(su_contact_find_deep(f, y, &found, count, err));
    SU_TRY(su_contact_allow(f, *count, found, err));
    *pairs = found;
    return SU_OK;
}
