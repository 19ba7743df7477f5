/* Three stages. Box trees are asked only now and then: a list of near tets, with a margin, serves every vertex until
 * something has moved by half the margin (Verlet's neighbour lists), so that the trials of a line search and the solves
 * of a step ask no tree. Exact tests follow, so that no result depends on when a list was made. */
#include "contact/contact_finder.h"

#include "core/memory.h"
#include "geometry/box.h"
#include "geometry/boxtree.h"
#include "geometry/mat3.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const double MARGIN = 0.25;  /* mean edges of the surface: larger lists live longer and take longer to test */
static const double ROUNDED = 1e-6; /* mean edges: gaps are kept in single precision, and tets have a seam */
enum { BLOCK = 4 };                 /* vertices near each other that ask the tree together */
static const double LOOSE = 1.5;    /* a tree is made anew when its boxes have so many times the surface they had */
/* Where the rest shape has a vertex overlapping, its way may slide by so many diagonals along the surface and stay
 * allowed; over as much again what is allowed falls to nothing. */
static const double SLIDE = 0.05;
/* Barycentrics of a vertex on the face between two tets are rounded below 0 in both: it must not fall through. */
static const double SEAM = 1e-9;
/* Two tets that hold one vertex lead to one contact where their ways end within so many mean edges. */
static const double SAME = 2.0;

enum { LANES = 8 };

/* So many tets and their boxes from an origin near them, low and high, in single precision. */
typedef struct near_items {
    float low[3][LANES], high[3][LANES];
    int32_t tet[LANES];
} near_items;

/* A tet near a vertex, and how far its box was, m, along the axis where it was farthest. */
typedef struct near_tet {
    float gap;
    int32_t tet;
} near_tet;

/* Of a contiguous range of vertices; grows and never shrinks. */
typedef struct chunk {
    near_tet *tet; /* by vertex */
    int64_t tets, tet_room;
    near_items *item; /* near a block, LANES beside each other */
    int64_t items, item_room;
    double origin[3]; /* of their boxes */
    int32_t *mark;    /* (n) one more than the last vertex to which this one was related */
    su_contact_pair *pair;
    int64_t pairs, pair_room;
    bool failed;
} chunk;

/* A tree of the tets' boxes at some positions. */
typedef struct tet_tree {
    su_boxtree tree;
    double *box;    /* (tets,6) */
    double surface; /* of its boxes when it was made */
} tet_tree;

/* The pairs of another shape, of the vertices that had to be looked for. */
typedef struct other_shape {
    double *at; /* (n,3) */
    bool on, prepared;
    tet_tree tree; /* once prepared; as long as the shape */
    chunk found;
    int32_t *first;  /* (n) first of a vertex's pairs, -1: not looked for */
    int32_t *count;  /* (n) */
    int32_t *sought; /* (sought_count) those vertices */
    int64_t sought_count;
} other_shape;

struct su_contact_finder {
    const su_contact_body *body;
    int threads;
    int64_t vertices, tets, watched;
    int32_t *vertex; /* (vertices) in blocks, each near itself in the neutral shape */
    int32_t *tet;    /* (tets) */
    int32_t *watch;  /* (watched) vertices whose motion counts */
    double *k;       /* (n) N/m^3 */
    tet_tree tree;   /* of where the lists were made */
    double *list_at; /* (n,3) positions the lists of near tets were made at */
    int64_t *start;  /* (vertices + threads) of each chunk's own list */
    chunk *chunks;   /* (threads) */
    bool listed;
    double moved;          /* m, what the lists are off by at most: an end of any gap has moved by that */
    su_contact_pair *pair; /* all of them */
    int64_t pair_room;
    other_shape rest;   /* whose overlaps are allowed */
    other_shape before; /* where a step began */
    su_arena arena;
};

static void free_chunk(chunk *c) { free(c->tet), free(c->item), free(c->pair); }

static void free_shape(other_shape *shape)
{
    free_chunk(&shape->found);
    su_boxtree_free(&shape->tree.tree);
}

void su_contact_finder_free(su_contact_finder *f)
{
    if (!f) return;
    for (int c = 0; f->chunks && c < f->threads; c++) free_chunk(f->chunks + c);
    free_shape(&f->rest), free_shape(&f->before);
    su_boxtree_free(&f->tree.tree);
    free(f->pair);
    su_arena_free(&f->arena);
    free(f);
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

/* Puts the vertices into the order of a tree's leaves. */
static su_status order_vertices(su_contact_finder *f, const int32_t *vertices, su_error *err)
{
    su_status status = SU_OK;
    su_boxtree tree = {0};
    double *box = NULL;
    SU_GO(SU_ALLOC(&box, 6 * f->vertices, "contact", err));
    for (int64_t i = 0; i < 6 * f->vertices; i++) box[i] = f->body->neutral[3 * (int64_t)vertices[i / 6] + i % 3];
    SU_GO(su_boxtree_create(f->vertices, box, &tree, err));
    for (int64_t i = 0; i < f->vertices; i++) f->vertex[i] = vertices[tree.items[i]];
done:
    su_boxtree_free(&tree);
    free(box);
    return status;
}

static void take_shape(su_contact_finder *f, other_shape *shape)
{
    int64_t n = f->body->n;
    shape->at = su_arena_alloc(&f->arena, 3 * n, sizeof *shape->at);
    shape->first = su_arena_alloc(&f->arena, n, sizeof *shape->first);
    shape->count = su_arena_alloc(&f->arena, n, sizeof *shape->count);
    shape->sought = su_arena_alloc(&f->arena, n, sizeof *shape->sought);
    shape->found.mark = su_arena_alloc(&f->arena, n, sizeof *shape->found.mark);
    shape->tree.box = su_arena_alloc(&f->arena, 6 * f->tets, sizeof *shape->tree.box);
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
    f->tree.box = su_arena_alloc(&f->arena, 6 * f->tets, sizeof *f->tree.box);
    take_shape(f, &f->rest), take_shape(f, &f->before);
    f->list_at = su_arena_alloc(&f->arena, 3 * body->n, sizeof *f->list_at);
    f->start = su_arena_alloc(&f->arena, f->vertices + f->threads, sizeof *f->start);
    f->chunks = su_arena_alloc(&f->arena, f->threads, sizeof *f->chunks);
    for (int c = 0; f->chunks && c < f->threads; c++)
        f->chunks[c].mark = su_arena_alloc(&f->arena, body->n, sizeof *f->chunks[c].mark);
    if (f->arena.failed) {
        status = su_fail(err, SU_AGAIN, "no memory for contact");
        goto done;
    }
    for (int64_t v = 0; v < body->n; v++) f->rest.first[v] = f->before.first[v] = -1;
    SU_GO(order_vertices(f, vertices ? vertices : body->vertex, err));
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

/* The tree of the tets' boxes at y. */
static su_status prepare_tree(const su_contact_finder *f, const double *y, tet_tree *t, su_error *err)
{
#pragma omp parallel for num_threads(f->threads) schedule(static)
    for (int64_t i = 0; i < f->tets; i++) {
        const int32_t *corner = f->body->tets + 4 * (int64_t)f->tet[i];
        for (int k = 0; k < 3; k++) {
            double low = DBL_MAX, high = -DBL_MAX;
            for (int c = 0; c < 4; c++) {
                double value = y[3 * (int64_t)corner[c] + k];
                if (value < low) low = value;
                if (value > high) high = value;
            }
            t->box[6 * i + k] = low, t->box[6 * i + 3 + k] = high;
        }
    }
    if (!t->tree.nodes)
        SU_TRY(su_boxtree_create(f->tets, t->box, &t->tree, err));
    else if (su_boxtree_refit(&t->tree, t->box) <= LOOSE * t->surface)
        return SU_OK;
    else
        su_boxtree_rebuild(&t->tree, t->box);
    t->surface = su_boxtree_refit(&t->tree, t->box);
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
    const double *box;
    chunk *into;
    double low[3], high[3];
} search;

static float wider(float a, float b) { return a > b ? a : b; }

static bool apart_from(const double box[6], const double low[3], const double high[3])
{
    for (int i = 0; i < 3; i++)
        if (box[i] > high[i] || box[3 + i] < low[i]) return true;
    return false;
}

static bool keep_item(void *context, int32_t item)
{
    search *s = context;
    chunk *into = s->into;
    const double *box = s->box + 6 * (int64_t)item;
    if (apart_from(box, s->low, s->high)) return true;
    if (!grow(&into->item, into->items / LANES, &into->item_room, sizeof *into->item)) into->failed = true;
    if (into->failed) return false;
    near_items *group = into->item + into->items / LANES;
    int lane = (int)(into->items++ % LANES);
    for (int i = 0; i < 3; i++) {
        group->low[i][lane] = (float)(box[i] - into->origin[i]);
        group->high[i][lane] = (float)(box[3 + i] - into->origin[i]);
    }
    group->tet[lane] = s->f->tet[item];
    return true;
}

static int64_t chunk_start(const su_contact_finder *f, int c)
{
    int64_t blocks = (f->vertices + BLOCK - 1) / BLOCK, start = BLOCK * (blocks * c / f->threads);
    return start < f->vertices ? start : f->vertices;
}

/* Puts into the chunk's items those that come as near as `margin` to one of a few vertices. */
static void ask_tree(const su_contact_finder *f, const tet_tree *tree, chunk *into, const double *y, int64_t count,
                     const int32_t *vertices, double margin)
{
    search s = {f, tree->box, into, {DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};
    for (int64_t i = 0; i < 3 * count; i++) {
        double value = y[3 * (int64_t)vertices[i / 3] + i % 3];
        if (value - margin < s.low[i % 3]) s.low[i % 3] = value - margin;
        if (value + margin > s.high[i % 3]) s.high[i % 3] = value + margin;
    }
    into->items = 0;
    memcpy(into->origin, y + 3 * (int64_t)vertices[0], sizeof into->origin);
    su_boxtree_overlap(&tree->tree, s.low, s.high, keep_item, &s);
}

/* How far boxes are from a point, along the axis where each is farthest; below 0 inside. Is one nearer than `most`? */
static bool gaps_of(const near_items *items, const float p[3], float most, float gap[LANES])
{
    int32_t near = 0;
    for (int k = 0; k < LANES; k++) {
        float x = wider(items->low[0][k] - p[0], p[0] - items->high[0][k]);
        float y = wider(items->low[1][k] - p[1], p[1] - items->high[1][k]);
        float z = wider(items->low[2][k] - p[2], p[2] - items->high[2][k]);
        gap[k] = wider(wider(x, y), z);
        near |= gap[k] <= most;
    }
    return near;
}

/* Has the tet a corner that is marked as related to the vertex? */
static bool related(const su_contact_body *body, const int32_t *mark, int32_t vertex, int32_t tet)
{
    const int32_t *corner = body->tets + 4 * (int64_t)tet;
    bool any = false;
    for (int c = 0; c < 4; c++) any |= mark[corner[c]] == vertex + 1;
    return any;
}

/* Appends those of the chunk's items that come as near as `margin` to a vertex and are not related to it. */
static void append_near(const su_contact_finder *f, chunk *into, const double *y, int32_t vertex, double margin)
{
    const su_contact_body *body = f->body;
    float p[3], gap[LANES], most = (float)(margin + ROUNDED * body->edge);
    for (int i = 0; i < 3; i++) p[i] = (float)(y[3 * (int64_t)vertex + i] - into->origin[i]);
    for (int64_t k = body->ring_start[vertex]; k < body->ring_start[vertex + 1]; k++)
        into->mark[body->ring[k]] = vertex + 1;
    for (int64_t first = 0; first < into->items; first += LANES) {
        const near_items *group = into->item + first / LANES;
        int64_t left = into->items - first;
        if (!gaps_of(group, p, most, gap)) continue;
        for (int k = 0; k < LANES && k < left; k++) {
            int32_t e = group->tet[k];
            if (gap[k] > most || related(body, into->mark, vertex, e) || body->nearest[e] < 0) continue;
            if (!grow(&into->tet, into->tets, &into->tet_room, sizeof *into->tet)) into->failed = true;
            if (into->failed) return;
            into->tet[into->tets++] = (near_tet){gap[k], e};
        }
    }
}

static void list_near(su_contact_finder *f, const double *y, int c)
{
    chunk *into = f->chunks + c;
    int64_t *start = f->start + chunk_start(f, c) + c, end = chunk_start(f, c + 1);
    double margin = MARGIN * f->body->edge;
    into->tets = 0, into->failed = false;
    for (int64_t i = chunk_start(f, c); i < end; i++) {
        int64_t left = end - i < BLOCK ? end - i : BLOCK;
        if ((i - chunk_start(f, c)) % BLOCK == 0) ask_tree(f, &f->tree, into, y, left, f->vertex + i, margin);
        *start++ = into->tets;
        append_near(f, into, y, f->vertex[i], margin);
    }
    *start = into->tets;
}

static bool still_near(su_contact_finder *f, const double *y)
{
    double most = 0.5 * MARGIN * f->body->edge, far = 0;
    if (!f->listed) return false;
    for (int64_t i = 0; i < f->watched; i++) {
        int64_t v = 3 * (int64_t)f->watch[i];
        for (int c = 0; c < 3; c++) {
            double way = fabs(y[v + c] - f->list_at[v + c]);
            far = way <= far ? far : way; /* keeps what is not a number */
        }
    }
    f->moved = far;
    return far <= most;
}

static su_status bring_near(su_contact_finder *f, const double *y, su_error *err)
{
    if (still_near(f, y)) return SU_OK;
    f->listed = false;
    SU_TRY(prepare_tree(f, y, &f->tree, err));
#pragma omp parallel for num_threads(f->threads) schedule(static, 1)
    for (int c = 0; c < f->threads; c++) list_near(f, y, c);
    for (int c = 0; c < f->threads; c++)
        if (f->chunks[c].failed) return su_fail(err, SU_AGAIN, "no memory for contact");
    memcpy(f->list_at, y, (size_t)(3 * f->body->n) * sizeof *y);
    f->listed = true, f->moved = 0;
    return SU_OK;
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
        double seam = SEAM * (high - low);
        if (p[i] < low - seam || p[i] > high + seam) return false;
    }
    double m[9], inverse[9] = {0}, r[3];
    su_tet_edges(a, b, c, d, m);
    if (!(su_inverse3(m, inverse) > 0)) return false;
    su_sub3(p, a, r);
    su_mulv3(inverse, r, bary + 1);
    bary[0] = 1 - bary[1] - bary[2] - bary[3];
    return su_smaller(su_smaller(bary[0], bary[1]), su_smaller(bary[2], bary[3])) >= -SEAM;
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

bool su_contact_same(const su_contact_body *body, const su_contact_pair *a, const su_contact_pair *b)
{
    return a->vertex == b->vertex && apart(body, a, b) <= SAME * body->edge;
}

/* A tet that a vertex is in, and where. */
typedef struct holder {
    int32_t tet;
    double bary[4];
} holder;

/* Vertex v in a tet: back to the neutral shape, there to the surface, and from there to the deformed one. False where
 * the way ends at its own neighbourhood or on the outer side of the surface. */
static bool pair_of(const su_contact_finder *f, const double *y, int32_t v, const holder *in, su_contact_pair *pair)
{
    const su_contact_body *body = f->body;
    const int32_t *tet = body->tets + 4 * (int64_t)in->tet;
    double neutral[3] = {0};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 3; i++) neutral[i] += in->bary[c] * body->neutral[3 * (int64_t)tet[c] + i];
    *pair = (su_contact_pair){.vertex = v, .triangle = body->nearest[in->tet]};
    su_contact_descend(body, body->neutral, neutral, &pair->triangle, pair->bary);
    if (!(follow(body, y, pair) > 0)) return false;
    for (int j = 0; j < 3; j++)
        if (pair->bary[j] < -SU_CONTACT_BESIDE) return false;
    const int32_t *corner = body->surface + 3 * (int64_t)pair->triangle;
    double softest = f->k[v];
    for (int j = 0; j < 3; j++) softest = su_smaller(softest, f->k[corner[j]]);
    pair->stiffness = softest * body->area[v];
    return true;
}

/* The pairs of a vertex with those of some tets that were as near as `reach`, whatever their order. Of ways that end at
 * one place the shortest stays. */
static void append_pairs(const su_contact_finder *f, chunk *into, const double *y, int32_t vertex, int64_t count,
                         const near_tet *tets, double reach)
{
    enum { MOST = 64 }; /* tets that one vertex can be in: copies of flesh that overlap there */
    holder in[MOST], next;
    int found = 0;
    for (int64_t k = 0; k < count; k++) {
        if (tets[k].gap > reach) continue;
        next.tet = tets[k].tet;
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
        if (!grow(&into->pair, into->pairs, &into->pair_room, sizeof pair)) {
            into->failed = true;
            return;
        }
        into->pair[into->pairs++] = pair;
    }
}

static void find_pairs(su_contact_finder *f, const double *y, int c)
{
    chunk *into = f->chunks + c;
    const int64_t *start = f->start + chunk_start(f, c) + c;
    double reach = 2 * f->moved + ROUNDED * f->body->edge; /* both ends of a gap move */
    into->pairs = 0, into->failed = false;
    for (int64_t i = chunk_start(f, c); i < chunk_start(f, c + 1); i++, start++)
        append_pairs(f, into, y, f->vertex[i], start[1] - start[0], into->tet + start[0], reach);
}

/* All pairs at y. */
static su_status find_all(su_contact_finder *f, const double *y, int64_t *count, su_error *err)
{
    SU_TRY(bring_near(f, y, err));
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

/* ---- pairs of other shapes ---- */

static void set_shape(const su_contact_finder *f, other_shape *shape, const double *x)
{
    shape->on = x, shape->prepared = false;
    for (int64_t k = 0; k < shape->sought_count; k++) shape->first[shape->sought[k]] = -1;
    shape->sought_count = shape->found.pairs = 0;
    if (x) memcpy(shape->at, x, (size_t)(3 * f->body->n) * sizeof *x);
}

/* The pairs that another shape has of the vertices of some pairs. */
static su_status seek(su_contact_finder *f, other_shape *shape, int64_t count, const su_contact_pair *pairs,
                      su_error *err)
{
    chunk *into = &shape->found;
    for (int64_t k = 0; k < count; k++) {
        int32_t v = pairs[k].vertex;
        if (shape->first[v] >= 0) continue;
        if (!shape->prepared) SU_TRY(prepare_tree(f, shape->at, &shape->tree, err));
        shape->prepared = true;
        into->tets = 0, into->failed = false;
        ask_tree(f, &shape->tree, into, shape->at, 1, &v, 0);
        append_near(f, into, shape->at, v, 0);
        shape->first[v] = (int32_t)into->pairs, shape->sought[shape->sought_count++] = v;
        append_pairs(f, into, shape->at, v, into->tets, into->tet, ROUNDED * f->body->edge);
        shape->count[v] = (int32_t)into->pairs - shape->first[v];
        if (into->failed) return su_fail(err, SU_AGAIN, "no memory for contact");
    }
    return SU_OK;
}

/* The deepest that the rest shape has v near this way, m: in pairs of its own, or below the surface that the way leads
 * to, since tets that skinning has turned inside out hold nothing. */
static double allowed(const su_contact_finder *f, const su_contact_pair *pair)
{
    double slide = SLIDE * f->body->diagonal;
    su_contact_pair there = *pair;
    double most = follow(f->body, f->rest.at, &there);
    const su_contact_pair *rest = f->rest.found.pair + f->rest.first[pair->vertex];
    for (int32_t i = 0; i < f->rest.count[pair->vertex]; i++) {
        double share = su_smaller(2 - apart(f->body, pair, rest + i) / slide, 1);
        most = su_larger(most, share * rest[i].depth);
    }
    return most;
}

void su_contact_finder_allow(su_contact_finder *f, const double *x) { set_shape(f, &f->rest, x); }

void su_contact_finder_start(su_contact_finder *f, const double *x) { set_shape(f, &f->before, x); }

su_status su_contact_find_start(su_contact_finder *f, const su_contact_pair *pair, su_contact_pair *start,
                                su_error *err)
{
    *start = (su_contact_pair){0};
    SU_TRY(seek(f, &f->before, 1, pair, err));
    const su_contact_pair *found = f->before.found.pair + f->before.first[pair->vertex];
    for (int32_t i = 0; i < f->before.count[pair->vertex]; i++)
        if (found[i].depth > start->depth && su_contact_same(f->body, pair, found + i)) *start = found[i];
    return SU_OK;
}

su_status su_contact_allow(su_contact_finder *f, int64_t count, su_contact_pair *pairs, su_error *err)
{
    if (count == 0 || !f->rest.on) return SU_OK;
    SU_TRY(seek(f, &f->rest, count, pairs, err));
    for (int64_t k = 0; k < count; k++) pairs[k].allowed = allowed(f, pairs + k);
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
