/* Three stages. Box trees are asked only now and then: a list of near tets, with a margin, serves every vertex until
 * something has moved by half the margin (Verlet's neighbour lists), so that the trials of a line search and the solves
 * of a step ask no tree. Exact tests follow, so that no result depends on when a list was made. */
#include "contact/contact_finder.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/boxtree.h"
#include "geometry/mat3.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const double MARGIN = 0.25; /* mean edges of the surface: larger lists live longer and take longer to test */
static const double LOOSE = 1.5;   /* a tree is made anew when its boxes have so many times the surface they had */
/* Where the rest shape has a vertex overlapping, its way may slide by so many diagonals along the surface and stay
 * allowed; over as much again what is allowed falls to nothing. */
static const double SLIDE = 0.05;
/* Two tets that hold one vertex lead to one contact where their ways end within so many mean edges. */
static const double SAME = 2.0;

/* Of a contiguous range of vertices; grows and never shrinks. */
typedef struct chunk {
    int32_t *tet; /* near ones, by vertex */
    int64_t tets, tet_room;
    su_contact_pair *pair;
    int64_t pairs, pair_room;
    bool failed;
} chunk;

/* The near tets of one kind of shape: of those that move, of those that rest. */
typedef struct near_list {
    double *at;     /* (n,3) positions it was made at */
    int64_t *start; /* (vertices + 1) of each chunk's own array */
    chunk *chunks;  /* (threads) */
    bool made;
} near_list;

struct su_contact_finder {
    const su_contact_body *body;
    int threads;
    int64_t vertices, tets, watched;
    int32_t *vertex; /* (vertices) */
    int32_t *tet;    /* (tets) */
    int32_t *watch;  /* (watched) vertices whose motion counts */
    double *k;       /* (n) N/m^3 */
    double *box;     /* (tets,6) */
    su_boxtree tree;
    double surface; /* of the tree's boxes when it was made */
    near_list moving, resting;
    su_contact_pair *pair; /* all of them */
    int64_t pair_room;
    su_contact_pair *rest; /* of the shape whose overlaps are allowed */
    int64_t rest_count, rest_room;
    int64_t *rest_start; /* (n + 1) by vertex */
    double *rest_at;     /* (n,3) that shape */
    bool allows, sought; /* that shape; its pairs are known */
    su_arena arena;
};

static void free_list(near_list *list, int threads)
{
    for (int c = 0; list->chunks && c < threads; c++) free(list->chunks[c].tet), free(list->chunks[c].pair);
}

void su_contact_finder_free(su_contact_finder *f)
{
    if (!f) return;
    free_list(&f->moving, f->threads), free_list(&f->resting, f->threads);
    su_boxtree_free(&f->tree);
    free(f->pair), free(f->rest);
    su_arena_free(&f->arena);
    free(f);
}

static su_status take_list(su_contact_finder *f, near_list *list, su_error *err)
{
    list->at = su_arena_alloc(&f->arena, 3 * f->body->n, sizeof(double));
    list->start = su_arena_alloc(&f->arena, f->vertices + f->threads, sizeof *list->start);
    list->chunks = su_arena_alloc(&f->arena, f->threads, sizeof *list->chunks);
    return f->arena.failed ? su_fail(err, SU_AGAIN, "no memory for contact") : SU_OK;
}

/* Vertices sought and corners of tets. */
static su_status find_watched(su_contact_finder *f, su_error *err)
{
    uint8_t *mark = NULL;
    SU_TRY(SU_ALLOC(&mark, f->body->n, "contact", err));
    for (int64_t i = 0; i < f->vertices; i++) mark[f->vertex[i]] = 1;
    for (int64_t i = 0; i < 4 * f->tets; i++) mark[f->body->tets[4 * (int64_t)f->tet[i / 4] + i % 4]] = 1;
    for (int64_t v = 0; v < f->body->n; v++)
        if (mark[v]) f->watch[f->watched++] = (int32_t)v;
    free(mark);
    return SU_OK;
}

su_status su_contact_finder_create(const su_contact_body *body, int64_t vertex_count, const int32_t *vertices,
                                   int64_t tet_count, const int32_t *tets, int threads, su_contact_finder **out,
                                   su_error *err)
{
    su_status status = SU_OK;
    su_contact_finder *f = NULL;
    *out = NULL;
    SU_GO(SU_ALLOC(&f, 1, "contact", err));
    f->body = body, f->threads = threads > 1 ? threads : 1;
    f->vertices = vertices ? vertex_count : body->surface_count;
    f->tets = tets ? tet_count : body->t;
    f->vertex = su_arena_alloc(&f->arena, f->vertices, sizeof *f->vertex);
    f->tet = su_arena_alloc(&f->arena, f->tets, sizeof *f->tet);
    f->watch = su_arena_alloc(&f->arena, body->n, sizeof *f->watch);
    f->k = su_arena_alloc(&f->arena, body->n, sizeof *f->k);
    f->box = su_arena_alloc(&f->arena, 6 * f->tets, sizeof *f->box);
    f->rest_at = su_arena_alloc(&f->arena, 3 * body->n, sizeof *f->rest_at);
    f->rest_start = su_arena_alloc(&f->arena, body->n + 1, sizeof *f->rest_start);
    SU_GO(take_list(f, &f->moving, err));
    memcpy(f->vertex, vertices ? vertices : body->vertex, (size_t)f->vertices * sizeof *f->vertex);
    for (int64_t i = 0; i < f->tets; i++) f->tet[i] = tets ? tets[i] : (int32_t)i;
    SU_GO(find_watched(f, err));
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

/* ---- near tets ---- */

static su_status prepare_tree(su_contact_finder *f, const double *y, su_error *err)
{
#pragma omp parallel for num_threads(f->threads) schedule(static)
    for (int64_t i = 0; i < f->tets; i++) {
        const int32_t *corner = f->body->tets + 4 * (int64_t)f->tet[i];
        for (int k = 0; k < 3; k++) {
            double low = DBL_MAX, high = -DBL_MAX;
            for (int c = 0; c < 4; c++) {
                double value = y[3 * (int64_t)corner[c] + k];
                low = fmin(low, value), high = fmax(high, value);
            }
            f->box[6 * i + k] = low, f->box[6 * i + 3 + k] = high;
        }
    }
    if (!f->tree.nodes)
        SU_TRY(su_boxtree_create(f->tets, f->box, &f->tree, err));
    else if (su_boxtree_refit(&f->tree, f->box) <= LOOSE * f->surface)
        return SU_OK;
    else
        su_boxtree_rebuild(&f->tree, f->box);
    f->surface = su_boxtree_refit(&f->tree, f->box);
    return SU_OK;
}

/* room for one more; false where there is none */
static bool grow(void *array, int64_t count, int64_t *room, size_t size)
{
    void **at = array;
    if (count < *room) return true;
    int64_t wanted = *room ? 2 * *room : 256;
    void *larger = realloc(*at, (size_t)wanted * size);
    if (!larger) return false;
    *at = larger, *room = wanted;
    return true;
}

typedef struct search {
    const su_contact_finder *f;
    chunk *into;
    int32_t vertex;
    double low[3], high[3];
} search;

static bool keep_near(void *context, int32_t item)
{
    search *s = context;
    const su_contact_finder *f = s->f;
    const double *box = f->box + 6 * (int64_t)item;
    for (int i = 0; i < 3; i++)
        if (box[i] > s->high[i] || box[3 + i] < s->low[i]) return true;
    int32_t e = f->tet[item];
    if (f->body->nearest[e] < 0 || su_contact_related(f->body, s->vertex, f->body->tets + 4 * (int64_t)e, 4))
        return true;
    if (!grow(&s->into->tet, s->into->tets, &s->into->tet_room, sizeof *s->into->tet)) s->into->failed = true;
    if (s->into->failed) return false;
    s->into->tet[s->into->tets++] = e;
    return true;
}

static int64_t chunk_start(const su_contact_finder *f, int c) { return f->vertices * c / f->threads; }

static int compare_tets(const void *a, const void *b)
{
    int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
    return (p > q) - (p < q);
}

static void list_near(su_contact_finder *f, near_list *list, const double *y, int c)
{
    chunk *into = list->chunks + c;
    int64_t *start = list->start + chunk_start(f, c) + c;
    double margin = MARGIN * f->body->edge;
    into->tets = 0, into->failed = false;
    for (int64_t i = chunk_start(f, c); i < chunk_start(f, c + 1); i++) {
        search s = {.f = f, .into = into, .vertex = f->vertex[i]};
        const double *p = y + 3 * (int64_t)s.vertex;
        for (int k = 0; k < 3; k++) s.low[k] = p[k] - margin, s.high[k] = p[k] + margin;
        int64_t first = *start++ = into->tets;
        su_boxtree_overlap(&f->tree, s.low, s.high, keep_near, &s);
        if (into->tets > first)
            su_sort(into->tet + first, (size_t)(into->tets - first), sizeof *into->tet, compare_tets);
    }
    *start = into->tets;
}

static bool still_near(const su_contact_finder *f, const near_list *list, const double *y)
{
    double most = 0.5 * MARGIN * f->body->edge, far = 0;
    if (!list->made) return false;
    for (int64_t i = 0; i < f->watched; i++) {
        int64_t v = 3 * (int64_t)f->watch[i];
        for (int c = 0; c < 3; c++) {
            double way = fabs(y[v + c] - list->at[v + c]);
            far = way <= far ? far : way; /* keeps what is not a number */
        }
    }
    return far <= most;
}

static su_status bring_near(su_contact_finder *f, near_list *list, const double *y, su_error *err)
{
    if (still_near(f, list, y)) return SU_OK;
    list->made = false;
    SU_TRY(prepare_tree(f, y, err));
#pragma omp parallel for num_threads(f->threads) schedule(static, 1)
    for (int c = 0; c < f->threads; c++) list_near(f, list, y, c);
    for (int c = 0; c < f->threads; c++)
        if (list->chunks[c].failed) return su_fail(err, SU_AGAIN, "no memory for contact");
    memcpy(list->at, y, (size_t)(3 * f->body->n) * sizeof *y);
    list->made = true;
    return SU_OK;
}

/* ---- pairs ---- */

/* Barycentric coordinates of p in a tet that is not inverted; false where it is outside. */
static bool inside(const double *y, const int32_t *tet, const double p[3], double bary[4])
{
    const double *a = y + 3 * (int64_t)tet[0], *b = y + 3 * (int64_t)tet[1], *c = y + 3 * (int64_t)tet[2],
                 *d = y + 3 * (int64_t)tet[3];
    for (int i = 0; i < 3; i++) {
        if (p[i] < fmin(fmin(a[i], b[i]), fmin(c[i], d[i]))) return false;
        if (p[i] > fmax(fmax(a[i], b[i]), fmax(c[i], d[i]))) return false;
    }
    double m[9], inverse[9], r[3];
    su_tet_edges(a, b, c, d, m);
    if (!(su_inverse3(m, inverse) > 0)) return false;
    su_sub3(p, a, r);
    su_mulv3(inverse, r, bary + 1);
    bary[0] = 1 - bary[1] - bary[2] - bary[3];
    return bary[0] >= 0 && bary[1] >= 0 && bary[2] >= 0 && bary[3] >= 0;
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

/* The pair's way at y, from its triangle on; returns its depth, 0 where there is none: on the outer side. */
static double follow(const su_contact_body *body, const double *y, su_contact_pair *pair)
{
    const double *p = y + 3 * (int64_t)pair->vertex;
    double depth = su_contact_descend_apart(body, y, pair->vertex, &pair->triangle, pair->bary);
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    pair->depth = 0, pair->plane = false;
    if (!(depth > 0) || isinf(depth)) return 0;
    if (su_contact_borders(body, pair->vertex, pair->triangle, pair->bary)) {
        pair->plane = true;
        if (!su_contact_foot(body, y, p, pair->triangle, pair->bary)) return 0;
    } else if (!su_contact_behind(body, y, p, pair->triangle, pair->bary)) {
        return 0;
    }
    double way[3];
    for (int i = 0; i < 3; i++) {
        way[i] = -p[i];
        for (int j = 0; j < 3; j++) way[i] += pair->bary[j] * y[3 * (int64_t)corner[j] + i];
    }
    depth = su_norm3(way);
    if (!(depth > 0) || (pair->plane && !(outward(y, corner, way)))) return 0;
    for (int i = 0; i < 3; i++) pair->normal[i] = way[i] / depth;
    pair->depth = depth;
    return depth;
}

void su_contact_follow(const su_contact_body *body, const double *y, int64_t count, su_contact_pair *pairs)
{
    for (int64_t k = 0; k < count; k++) follow(body, y, pairs + k);
}

bool su_contact_same(const su_contact_body *body, const su_contact_pair *a, const su_contact_pair *b)
{
    return a->vertex == b->vertex && apart(body, a, b) <= SAME * body->edge;
}

/* Vertex v in tet e: back to the neutral shape, there to the surface, and from there to the deformed one. False where
 * it is not in the tet, or the way ends at its own neighbourhood or on the outer side of the surface. */
static bool pair_of(const su_contact_finder *f, const double *y, int32_t v, int32_t e, su_contact_pair *pair)
{
    const su_contact_body *body = f->body;
    const int32_t *tet = body->tets + 4 * (int64_t)e;
    const double *p = y + 3 * (int64_t)v;
    double bary[4], neutral[3] = {0};
    if (!inside(y, tet, p, bary)) return false;
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 3; i++) neutral[i] += bary[c] * body->neutral[3 * (int64_t)tet[c] + i];
    *pair = (su_contact_pair){.vertex = v, .triangle = body->nearest[e]};
    su_contact_descend(body, body->neutral, neutral, &pair->triangle, pair->bary);
    if (!(follow(body, y, pair) > 0)) return false;
    for (int j = 0; j < 3; j++)
        if (pair->bary[j] < -SU_CONTACT_BESIDE) return false;
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    double softest = f->k[v];
    for (int j = 0; j < 3; j++) softest = fmin(softest, f->k[corner[j]]);
    pair->stiffness = softest * body->area[v];
    return true;
}

/* The deepest that the rest shape has v near this way, m: in pairs of its own, or below the surface that the way leads
 * to, since tets that skinning has turned inside out hold nothing. */
static double allowed(const su_contact_finder *f, const su_contact_pair *pair)
{
    double slide = SLIDE * f->body->diagonal;
    su_contact_pair there = *pair;
    double most = follow(f->body, f->rest_at, &there);
    for (int64_t i = f->rest_start[pair->vertex]; i < f->rest_start[pair->vertex + 1]; i++) {
        double share = fmin(2 - apart(f->body, pair, f->rest + i) / slide, 1);
        most = fmax(most, share * f->rest[i].depth);
    }
    return most;
}

/* Pairs of a chunk's vertices. Of ways that end at one place the shortest stays. */
static void find_pairs(su_contact_finder *f, near_list *list, const double *y, int c)
{
    chunk *into = list->chunks + c;
    const int64_t *start = list->start + chunk_start(f, c) + c;
    into->pairs = 0, into->failed = false;
    for (int64_t i = chunk_start(f, c); i < chunk_start(f, c + 1); i++, start++) {
        int64_t first = into->pairs;
        for (int64_t k = start[0]; k < start[1]; k++) {
            su_contact_pair pair;
            if (!pair_of(f, y, f->vertex[i], into->tet[k], &pair)) continue;
            int64_t same = first;
            while (same < into->pairs && !su_contact_same(f->body, &pair, into->pair + same)) same++;
            if (same < into->pairs) {
                if (pair.depth < into->pair[same].depth) into->pair[same] = pair;
                continue;
            }
            if (!grow(&into->pair, into->pairs, &into->pair_room, sizeof pair)) {
                into->failed = true;
                return;
            }
            into->pair[into->pairs++] = pair;
        }
    }
}

/* All pairs at y into an array that grows. */
static su_status find_all(su_contact_finder *f, near_list *list, const double *y, su_contact_pair **pairs,
                          int64_t *room, int64_t *count, su_error *err)
{
    SU_TRY(bring_near(f, list, y, err));
#pragma omp parallel for num_threads(f->threads) schedule(static, 1)
    for (int c = 0; c < f->threads; c++) find_pairs(f, list, y, c);
    *count = 0;
    for (int c = 0; c < f->threads; c++) {
        if (list->chunks[c].failed) return su_fail(err, SU_AGAIN, "no memory for contact");
        *count += list->chunks[c].pairs;
    }
    if (*count > *room) {
        su_contact_pair *larger = realloc(*pairs, (size_t)(2 * *count) * sizeof **pairs);
        if (!larger) return su_fail(err, SU_AGAIN, "no memory for %lld contact pairs", (long long)*count);
        *pairs = larger, *room = 2 * *count;
    }
    int64_t at = 0;
    for (int c = 0; c < f->threads; c++) {
        int64_t own = list->chunks[c].pairs;
        if (own) memcpy(*pairs + at, list->chunks[c].pair, (size_t)own * sizeof **pairs);
        at += own;
    }
    return SU_OK;
}

su_status su_contact_finder_allow(su_contact_finder *f, const double *x, su_error *err)
{
    f->allows = x, f->sought = false;
    if (!x) return SU_OK;
    memcpy(f->rest_at, x, (size_t)(3 * f->body->n) * sizeof *x);
    return f->resting.chunks ? SU_OK : take_list(f, &f->resting, err);
}

/* The pairs of the shape whose overlaps are allowed; not before there is one to allow. */
static su_status seek_rest(su_contact_finder *f, su_error *err)
{
    if (f->sought) return SU_OK;
    memset(f->rest_start, 0, (size_t)(f->body->n + 1) * sizeof *f->rest_start);
    SU_TRY(find_all(f, &f->resting, f->rest_at, &f->rest, &f->rest_room, &f->rest_count, err));
    for (int64_t i = 0; i < f->rest_count; i++) f->rest_start[f->rest[i].vertex + 1]++;
    for (int64_t v = 0; v < f->body->n; v++) f->rest_start[v + 1] += f->rest_start[v];
    f->sought = true;
    return SU_OK;
}

su_status su_contact_find(su_contact_finder *f, const double *y, const su_contact_pair **pairs, int64_t *count,
                          su_error *err)
{
    *pairs = NULL, *count = 0;
    SU_TRY(find_all(f, &f->moving, y, &f->pair, &f->pair_room, count, err));
    *pairs = f->pair;
    if (*count == 0 || !f->allows) return SU_OK;
    SU_TRY(seek_rest(f, err));
    for (int64_t k = 0; k < *count; k++) f->pair[k].allowed = allowed(f, f->pair + k);
    return SU_OK;
}
