#include "contact/near_tets.h"

#include "core/order.h"
#include "core/vector_clones.h"
#include "geometry/bisection.h"
#include "geometry/boxtree.h"
#include "geometry/tetmesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MARGIN = 0.25; /* mean edges of the surface: larger lists live longer and take longer to test */
static const double LOOSE = 1.5;   /* tets are put into order anew when boxes have so many times the surface they had */
enum { BLOCK = 4, WIDE = SU_WIDE }; /* vertices near each other that ask the tree together */

/* Tets of a leaf that are related to the vertices of a block: bit WIDE i + k says that its k-th is to the i-th. */
typedef struct related_leaf {
    int32_t leaf;
    uint32_t tets;
} related_leaf;

/* Of a contiguous range of slots; grows and never shrinks. */
typedef struct chunk {
    su_near_tet *tet; /* by slot */
    int64_t tets, room;
    /* (leaves + 1) near a block: bit WIDE i + k of its tets says that the k-th may be near the i-th vertex */
    su_wide_leaf *leaf;
    bool failed;
} chunk;

struct su_near_tets {
    const su_contact_body *body;
    int threads;
    int64_t vertices, tets, watched, leaves;
    int32_t *vertex;    /* (vertices) by slot: in blocks, each near itself in the neutral shape */
    int32_t *slot;      /* (n) of each vertex */
    int32_t *tet;       /* (tets) in the order of the trees */
    int32_t *place;     /* (t) of each tet in that order, -1: it is not among them */
    int64_t *tet_start; /* (n + 1) tets around a vertex */
    int32_t *tet_around;
    int32_t *watch;         /* (watched) vertices whose motion counts */
    int32_t *own;           /* (tets) the same as the body has them */
    double *centre;         /* (tets,3) four times theirs, for putting them into order */
    double surface;         /* of the boxes when that was done */
    int64_t order;          /* how often it was */
    int64_t *related_start; /* (blocks + 1) */
    related_leaf *related;  /* by leaf */
    int64_t related_room;
    uint32_t *mark;  /* (leaves) of the block at hand */
    int32_t *marked; /* (leaves) */
    su_wide_tree tree;
    double *list_at; /* (n,3) positions the lists were made at */
    int64_t *start;  /* (vertices + threads) of each chunk's own list */
    chunk *chunks;   /* (threads) */
    double far;      /* how far anything has moved since, m, along an axis */
    chunk single;    /* of a vertex in another shape */
    bool listed;
    su_arena arena;
};

static void free_chunk(chunk *c) { free(c->tet); }

void su_near_tets_free(su_near_tets *s)
{
    if (!s) return;
    for (int c = 0; s->chunks && c < s->threads; c++) free_chunk(s->chunks + c);
    free_chunk(&s->single);
    su_wide_tree_free(&s->tree);
    free(s->related);
    su_arena_free(&s->arena);
    free(s);
}

/* ---- what stays ---- */

static su_status take_arrays(su_near_tets *s, su_error *err)
{
    int64_t n = s->body->n, t = s->body->t, blocks = (s->vertices + BLOCK - 1) / BLOCK;
    SU_TRY(SU_TAKE_ALL(
        &s->arena, "contact", err, SU_WANT(s->vertex, s->vertices), SU_WANT(s->slot, n), SU_WANT(s->tet, s->tets),
        SU_WANT(s->place, t), SU_WANT(s->tet_start, n + 1), SU_WANT(s->tet_around, 4 * t), SU_WANT(s->watch, n),
        SU_WANT(s->own, s->tets), SU_WANT(s->centre, 3 * s->tets), SU_WANT(s->related_start, blocks + 1),
        SU_WANT(s->list_at, 3 * n), SU_WANT(s->start, s->vertices + s->threads), SU_WANT(s->chunks, s->threads)));
    SU_TRY(su_wide_tree_create(s->tets, &s->tree, err));
    s->leaves = s->tree.levels ? s->tree.start[1] : 0;
    SU_TRY(SU_TAKE_ALL(&s->arena, "contact", err, SU_WANT(s->mark, s->leaves), SU_WANT(s->marked, s->leaves),
                       SU_WANT(s->single.leaf, s->leaves + 1)));
    for (int c = 0; c < s->threads; c++)
        SU_TRY(SU_TAKE_ALL(&s->arena, "contact", err, SU_WANT(s->chunks[c].leaf, s->leaves + 1)));
    return SU_OK;
}

/* Puts the vertices into the order of a tree's leaves, which are blocks. */
static su_status order_vertices(su_near_tets *s, su_error *err)
{
    const int32_t *vertices = s->body->vertex;
    su_status status = SU_OK;
    su_boxtree tree = {0};
    double *box = NULL;
    SU_GO(SU_ALLOC(&box, 6 * s->vertices, "contact", err));
    for (int64_t i = 0; i < 6 * s->vertices; i++) box[i] = s->body->neutral[3 * (int64_t)vertices[i / 6] + i % 3];
    SU_GO(su_boxtree_create(s->vertices, box, &tree, err));
    for (int64_t i = 0; i < s->vertices; i++) {
        s->vertex[i] = vertices[tree.items[i]];
        s->slot[s->vertex[i]] = (int32_t)i;
    }
done:
    su_boxtree_free(&tree);
    free(box);
    return status;
}

/* Vertices sought and corners of the tets. */
static void find_watched(su_near_tets *s)
{
    for (int64_t v = 0; v < s->body->n; v++) {
        bool corner = false;
        for (int64_t k = s->tet_start[v]; k < s->tet_start[v + 1] && !corner; k++)
            corner = s->place[s->tet_around[k]] >= 0;
        if (corner || s->slot[v] >= 0) s->watch[s->watched++] = (int32_t)v;
    }
}

su_status su_near_tets_create(const su_contact_body *body, int threads, su_near_tets **out, su_error *err)
{
    su_status status = SU_OK;
    su_near_tets *s = NULL;
    *out = NULL;
    SU_GO(SU_ALLOC(&s, 1, "contact", err));
    s->body = body, s->threads = threads > 1 ? threads : 1, s->vertices = body->surface_count;
    for (int64_t e = 0; e < body->t; e++) s->tets += body->nearest[e] >= 0;
    SU_GO(take_arrays(s, err));
    for (int64_t v = 0; v < body->n; v++) s->slot[v] = -1;
    for (int64_t e = 0, at = 0; e < body->t; e++) {
        s->place[e] = body->nearest[e] >= 0 ? (int32_t)at : -1;
        if (s->place[e] >= 0) s->own[at++] = (int32_t)e;
    }
    SU_GO(order_vertices(s, err));
    su_simplices_around(body->n, body->t, body->tets, 4, s->tet_start, s->tet_around);
    find_watched(s);
    *out = s;
    s = NULL;
done:
    su_near_tets_free(s);
    return status;
}

/* ---- order ---- */

static int by_leaf(const void *a, const void *b)
{
    const related_leaf *x = a, *y = b;
    return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

/* room for so many; false where there is none */
static bool grow(void *array, int64_t count, int64_t *room, size_t size)
{
    void **at = array;
    if (count <= *room) return true;
    void *larger = realloc(*at, (size_t)(2 * count) * size);
    if (!larger) return false;
    *at = larger, *room = 2 * count;
    return true;
}

/* Which tets of which leaves are related to the vertices of a block. */
static int64_t mark_related(su_near_tets *s, int64_t block)
{
    const su_contact_body *body = s->body;
    int64_t marked = 0;
    for (int64_t i = BLOCK * block; i < BLOCK * (block + 1) && i < s->vertices; i++)
        for (int64_t k = body->ring_start[s->vertex[i]]; k < body->ring_start[s->vertex[i] + 1]; k++)
            for (int64_t e = s->tet_start[body->ring[k]]; e < s->tet_start[body->ring[k] + 1]; e++) {
                int32_t place = s->place[s->tet_around[e]];
                if (place < 0) continue;
                if (!s->mark[place / WIDE]) s->marked[marked++] = place / WIDE;
                s->mark[place / WIDE] |= 1U << (WIDE * (i - BLOCK * block) + place % WIDE);
            }
    return marked;
}

static su_status relate(su_near_tets *s, su_error *err)
{
    int64_t blocks = (s->vertices + BLOCK - 1) / BLOCK;
    for (int64_t i = 0; i < s->tets; i++) s->place[s->tet[i]] = (int32_t)i;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t at = s->related_start[b], count = mark_related(s, b);
        if (!grow(&s->related, at + count, &s->related_room, sizeof *s->related))
            return su_fail(err, SU_AGAIN, "no memory for contact");
        for (int64_t k = 0; k < count; k++) {
            s->related[at + k] = (related_leaf){s->marked[k], s->mark[s->marked[k]]};
            s->mark[s->marked[k]] = 0;
        }
        su_sort(s->related + at, (size_t)count, sizeof *s->related, by_leaf);
        s->related_start[b + 1] = at + count;
    }
    return SU_OK;
}

static su_status put_in_order(su_near_tets *s, const double *y, su_error *err)
{
    for (int64_t i = 0; i < s->tets; i++) {
        const int32_t *corner = s->body->tets + 4 * (int64_t)s->own[i];
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            for (int c = 0; c < 4; c++) sum += y[3 * (int64_t)corner[c] + k];
            s->centre[3 * i + k] = sum;
        }
    }
    su_bisection_order(s->tets, s->centre, WIDE, s->tet);
    for (int64_t i = 0; i < s->tets; i++) s->tet[i] = s->own[s->tet[i]];
    s->order++;
    return relate(s, err);
}

static double fit(const su_near_tets *s, su_wide_tree *tree, const double *y)
{
    return su_wide_tree_fit(tree, s->tet, s->body->tets, y, s->threads);
}

/* The tree at y, in a good order. */
static su_status fit_tree(su_near_tets *s, const double *y, su_error *err)
{
    if (s->order && fit(s, &s->tree, y) <= LOOSE * s->surface) return SU_OK;
    SU_TRY(put_in_order(s, y, err));
    s->surface = fit(s, &s->tree, y);
    return SU_OK;
}

/* ---- lists ---- */

/* How far one of a node's boxes is from a point, along the axis where it is farthest; below 0 inside. */
SU_INLINE float gap_of(const su_wide_node *node, int k, const float p[3])
{
    float gap = node->low[0][k] - p[0];
    for (int i = 0; i < 3; i++) {
        float before = node->low[i][k] - p[i], behind = p[i] - node->high[i][k];
        gap = before > gap ? before : gap, gap = behind > gap ? behind : gap;
    }
    return gap;
}

/* Appends what a chunk's leaves have as near as `most` to a point, the block's `lane`-th vertex. There is room. */
SU_CLONES static void append_near(const su_wide_tree *tree, const int32_t *tets, int64_t leaves, const float p[3],
                                  float most, int lane, chunk *into)
{
    const float low[3] = {p[0] - most, p[1] - most, p[2] - most}, high[3] = {p[0] + most, p[1] + most, p[2] + most};
    for (int64_t l = 0; l < leaves; l++) {
        int64_t leaf = into->leaf[l].leaf;
        uint32_t bits = into->leaf[l].tets >> (WIDE * lane) & ((1U << WIDE) - 1);
        if (bits) bits &= su_wide_touching(tree->nodes + leaf, low, high);
        for (; bits; bits &= bits - 1) {
            int k = __builtin_ctz(bits);
            into->tet[into->tets++] = (su_near_tet){gap_of(tree->nodes + leaf, k, p), tets[WIDE * leaf + k]};
        }
    }
}

/* Leaves with tets that come as near as `most` to the points (count,3) of a block's vertices and are not related to
 * all of them, into the chunk. */
static int64_t near_leaves(const su_near_tets *s, const su_wide_tree *tree, int64_t block, int count,
                           const float (*points)[3], float most, chunk *into)
{
    float low[3], high[3];
    for (int i = 0; i < 3; i++) {
        low[i] = high[i] = points[0][i];
        for (int k = 1; k < count; k++) low[i] = fminf(low[i], points[k][i]), high[i] = fmaxf(high[i], points[k][i]);
        low[i] -= most, high[i] += most;
    }
    int64_t found = su_wide_tree_leaves(tree, low, high, into->leaf), kept = 0;
    const related_leaf *related = s->related + s->related_start[block], *end = s->related + s->related_start[block + 1];
    for (int64_t l = 0; l < found; l++) {
        su_wide_leaf near = into->leaf[l];
        while (related < end && related->leaf < near.leaf) related++;
        near.tets *= 0x01010101U; /* of all vertices */
        if (related < end && related->leaf == near.leaf) near.tets &= ~related->tets;
        into->leaf[kept] = near, kept += near.tets != 0;
    }
    return kept;
}

static void points_of(const su_wide_tree *tree, const double *y, int count, const int32_t *vertices, float (*out)[3])
{
    for (int i = 0; i < 3 * count; i++)
        out[i / 3][i % 3] = (float)(y[3 * (int64_t)vertices[i / 3] + i % 3] - tree->origin[i % 3]);
}

int64_t su_near_tets_first(const su_near_tets *s, int thread)
{
    int64_t blocks = (s->vertices + BLOCK - 1) / BLOCK, start = BLOCK * (blocks * thread / s->threads);
    return start < s->vertices ? start : s->vertices;
}

int32_t su_near_tets_vertex(const su_near_tets *s, int64_t slot) { return s->vertex[slot]; }

su_near_list su_near_tets_list(const su_near_tets *s, const double *y, int64_t slot, int thread)
{
    const int64_t *start = s->start + slot + thread, v = 3 * (int64_t)s->vertex[slot];
    double way = 0; /* both ends of a gap move */
    for (int c = 0; c < 3; c++) way = fmax(way, fabs(y[v + c] - s->list_at[v + c]));
    return (su_near_list){start[1] - start[0], s->chunks[thread].tet + start[0], way + s->far + s->tree.rounding};
}

static void list_near(su_near_tets *s, const double *y, int c)
{
    chunk *into = s->chunks + c;
    int64_t *start = s->start + su_near_tets_first(s, c) + c, end = su_near_tets_first(s, c + 1);
    float points[BLOCK][3], most = (float)(MARGIN * s->body->edge + s->tree.rounding);
    into->tets = 0, into->failed = false;
    for (int64_t i = su_near_tets_first(s, c); i < end; i += BLOCK) {
        int count = end - i < BLOCK ? (int)(end - i) : BLOCK;
        points_of(&s->tree, y, count, s->vertex + i, points);
        int64_t leaves = near_leaves(s, &s->tree, i / BLOCK, count, (const float(*)[3])points, most, into);
        into->failed |= !grow(&into->tet, into->tets + BLOCK * WIDE * leaves, &into->room, sizeof *into->tet);
        for (int k = 0; k < count && !into->failed; k++) {
            *start++ = into->tets;
            append_near(&s->tree, s->tet, leaves, points[k], most, k, into);
        }
    }
    *start = into->tets;
}

/* How far anything has moved since the lists were made, m, along an axis. */
static double moved(const su_near_tets *s, const double *y)
{
    double far = 0;
    for (int64_t i = 0; i < s->watched; i++) {
        int64_t v = 3 * (int64_t)s->watch[i];
        for (int c = 0; c < 3; c++) {
            double way = fabs(y[v + c] - s->list_at[v + c]);
            far = way <= far ? far : way; /* keeps what is not a number */
        }
    }
    return far;
}

su_status su_near_tets_bring(su_near_tets *s, const double *y, su_error *err)
{
    s->far = s->listed ? moved(s, y) : 0;
    if (s->listed && s->far <= 0.5 * MARGIN * s->body->edge) return SU_OK;
    s->listed = false, s->far = 0;
    SU_TRY(fit_tree(s, y, err));
#pragma omp parallel for num_threads(s->threads) schedule(static, 1)
    for (int c = 0; c < s->threads; c++) list_near(s, y, c);
    for (int c = 0; c < s->threads; c++)
        if (s->chunks[c].failed) return su_fail(err, SU_AGAIN, "no memory for contact");
    memcpy(s->list_at, y, (size_t)(3 * s->body->n) * sizeof *y);
    s->listed = true;
    return SU_OK;
}

/* ---- other shapes ---- */

su_status su_near_shape_create(const su_near_tets *s, const double *at, su_near_shape *out, su_error *err)
{
    *out = (su_near_shape){.at = at};
    return su_wide_tree_create(s->tets, &out->tree, err);
}

void su_near_shape_free(su_near_shape *shape) { su_wide_tree_free(&shape->tree); }

su_status su_near_shape_list(su_near_tets *s, su_near_shape *shape, int32_t vertex, su_near_list *out, su_error *err)
{
    chunk *into = &s->single;
    int64_t slot = s->slot[vertex];
    float point[1][3];
    if (!s->order) SU_TRY(put_in_order(s, shape->at, err));
    if (shape->order != s->order) fit(s, &shape->tree, shape->at);
    shape->order = s->order;
    points_of(&shape->tree, shape->at, 1, &vertex, point);
    int64_t leaves =
        near_leaves(s, &shape->tree, slot / BLOCK, 1, (const float(*)[3])point, (float)shape->tree.rounding, into);
    if (!grow(&into->tet, WIDE * leaves, &into->room, sizeof *into->tet))
        return su_fail(err, SU_AGAIN, "no memory for contact");
    into->tets = 0;
    append_near(&shape->tree, s->tet, leaves, point[0], (float)shape->tree.rounding, (int)(slot % BLOCK), into);
    *out = (su_near_list){into->tets, into->tet, shape->tree.rounding};
    return SU_OK;
}
