#include "geometry/wrap.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"
#include "geometry/twins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

su_wrap_settings su_wrap_defaults(void) { return (su_wrap_settings){.angle = 15.0, .offset = 0.02, .passes = 8}; }

/* Lengths over the cell at a vertex. Nodes less deep than SHALLOW under the skin are pushed out, so that the tets
 * beyond become empty; from nearer than AT_SKIN the way out is the skin's normal. */
#define SHALLOW 0.35
#define AT_SKIN 1e-3
/* Of the way to the skin that vertices go in a pass of the first half: shapes are kept the better the slower. */
#define FIRST_PULL 0.4
/* Of the way to a tip that its neighbours go in a round, to let its tets get empty; and the badness up to which tets
 * may come back from there, which all can, for they were so before (the worst is 2). */
#define TIP_STEP 0.12
#define ANY_SHAPE 1.999
/* Vertices farther than this from the skin, after two passes that pulled them to it, are tips. */
#define TIP_REACH 0.12
enum { RING = 80, STAR = 80 }; /* of two tips: vertices around them; tets around each */
/* A smoothed star must get better by so much to be worth the move. */
#define BETTER 0.999

/* A node is pushed out with its twin where that is no deeper than this many times what is shallow; else skin differs
 * there, and each goes its own way. */
#define MATE_DEPTH 2

/* A point may leave its tet by this much before it counts as outside. */
static const double LOOSE = -1e-12;

typedef struct wrap {
    const su_surface *surface;
    const su_lattice_items *items;
    const su_wrap_settings *settings;
    su_cage *cage;
    double *cell;         /* (n) size of the lattice around each vertex: edge of the cube that has 12 such tets */
    int64_t *star_start;  /* (n + 1) */
    int32_t *star;        /* tets around each vertex, dead ones too */
    int32_t *neighbour;   /* (t,4) live neighbours */
    uint8_t *dead;        /* (t) */
    uint8_t *touched;     /* (n) moved, or next to what moved or went, since the last smoothing */
    int32_t *open_faces;  /* (n) boundary faces at each vertex */
    int32_t *head, *next; /* points of each tet */
    su_twins twins;       /* vertices move, and tets go, together with their mirror images */
    int32_t exempt[2];    /* tets at these vertices may get any shape (they are about to go); -1: none */
    int32_t *moved;       /* new tets of the points around the vertex at work */
    int32_t *around;      /* those points */
    int64_t room;
} wrap;

static void wrap_free(wrap *w)
{
    free(w->cell), free(w->star_start), free(w->star), free(w->neighbour), free(w->dead), free(w->touched),
        free(w->open_faces);
    free(w->head), free(w->next), free(w->moved), free(w->around);
    su_twins_free(&w->twins);
}

/* v and its twin; how many that are. */
static int mates(const wrap *w, int32_t v, int32_t out[2])
{
    out[0] = v, out[1] = w->twins.vertex[v];
    return out[1] < 0 || out[1] == v ? 1 : 2;
}

/* Of two twins the first one has the say. */
static bool follows(const wrap *w, int64_t v) { return w->twins.vertex[v] >= 0 && w->twins.vertex[v] < v; }

static void part(wrap *w, int32_t v)
{
    int32_t other = w->twins.vertex[v];
    if (other >= 0) w->twins.vertex[other] = -1;
    w->twins.vertex[v] = -1;
}

/* Places are exact images of each other, not within rounding. */
static void align_twins(wrap *w)
{
    double *x = w->cage->mesh.x;
    for (int64_t v = 0; v < w->cage->mesh.n; v++) {
        int32_t other = w->twins.vertex[v];
        if (other == v) x[3 * v + w->twins.mirror.axis] = w->twins.mirror.at;
        if (other > v) su_mirror_image(&w->twins.mirror, x + 3 * v, x + 3 * (int64_t)other);
    }
}

static su_status wrap_init(wrap *w, su_error *err)
{
    const su_tets *m = &w->cage->mesh;
    int64_t points = w->cage->point_count;
    SU_TRY(SU_ALLOC(&w->cell, m->n, "flesh vertices", err));
    SU_TRY(SU_ALLOC(&w->star_start, m->n + 1, "flesh stars", err));
    SU_TRY(SU_ALLOC(&w->star, 4 * m->t, "flesh stars", err));
    SU_TRY(SU_ALLOC(&w->neighbour, 4 * m->t, "tet neighbours", err));
    SU_TRY(SU_ALLOC(&w->dead, m->t, "flesh tets", err));
    SU_TRY(SU_ALLOC(&w->touched, m->n, "flesh vertices", err));
    SU_TRY(SU_ALLOC(&w->open_faces, m->n, "flesh boundary", err));
    SU_TRY(SU_ALLOC(&w->head, m->t, "skin points", err));
    SU_TRY(SU_ALLOC(&w->next, points, "skin points", err));
    SU_TRY(SU_ALLOC(&w->moved, points, "skin points", err));
    SU_TRY(SU_ALLOC(&w->around, points, "skin points", err));
    SU_TRY(su_tet_neighbours(m->t, m->tets, w->neighbour, err));
    su_simplices_around(m->n, m->t, m->tets, 4, w->star_start, w->star);
    for (int64_t k = 0; k < 4 * m->t; k++)
        for (int i = 0; i < 3 && w->neighbour[k] < 0; i++) w->open_faces[m->tets[k - k % 4 + su_tet_face[k % 4][i]]]++;
    for (int64_t k = 0; k < 4 * m->t; k++) w->cell[m->tets[k]] += 12.0 * su_tet_volume(m->x, m->tets + k - k % 4);
    for (int64_t v = 0; v < m->n; v++)
        w->cell[v] = cbrt(w->cell[v] / (double)(w->star_start[v + 1] - w->star_start[v]));
    memset(w->head, -1, (size_t)m->t * sizeof *w->head);
    for (int64_t k = points - 1; k >= 0; k--) {
        int32_t tet = w->cage->points[k].tet;
        w->next[k] = w->head[tet], w->head[tet] = (int32_t)k;
    }
    SU_TRY(su_twins_find(w->surface, w->items, w->cage, &w->twins, err));
    align_twins(w);
    return SU_OK;
}

/* How far the angles are from right ones: the largest |cosine|, 2 for an inverted or flat tet. */
static double badness(const su_tets *m, int32_t e)
{
    const int32_t *tet = m->tets + 4 * (int64_t)e;
    const double *p[4] = {m->x + 3 * (int64_t)tet[0], m->x + 3 * (int64_t)tet[1], m->x + 3 * (int64_t)tet[2],
                          m->x + 3 * (int64_t)tet[3]};
    double normal[4][3], length[4], worst = 0.0;
    if (su_tet_volume(m->x, tet) <= 0.0) return 2.0;
    for (int f = 0; f < 4; f++) {
        double u[3], v[3];
        su_sub3(p[su_tet_face[f][1]], p[su_tet_face[f][0]], u), su_sub3(p[su_tet_face[f][2]], p[su_tet_face[f][0]], v);
        su_cross3(u, v, normal[f]);
        length[f] = su_norm3(normal[f]);
    }
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) {
            double cosine = fabs(su_dot3(normal[i], normal[j])) / (length[i] * length[j]);
            worst = cosine > worst ? cosine : worst; /* fmax is a call */
        }
    return worst;
}

static double star_badness(const wrap *w, int32_t v)
{
    double worst = 0.0;
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++)
        if (!w->dead[w->star[k]]) worst = fmax(worst, badness(&w->cage->mesh, w->star[k]));
    return worst;
}

static double smallest_bary(const wrap *w, int32_t e, const double p[3])
{
    double bary[4];
    su_tet_barycentric(w->cage->mesh.x, w->cage->mesh.tets + 4 * (int64_t)e, p, bary);
    return fmin(fmin(bary[0], bary[1]), fmin(bary[2], bary[3]));
}

static int32_t holder_around(const wrap *w, int32_t v, const double p[3])
{
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++)
        if (!w->dead[w->star[k]] && smallest_bary(w, w->star[k], p) >= LOOSE) return w->star[k];
    return -1;
}

static bool has_corner(const wrap *w, int32_t e, int32_t v)
{
    const int32_t *tet = w->cage->mesh.tets + 4 * (int64_t)e;
    return tet[0] == v || tet[1] == v || tet[2] == v || tet[3] == v;
}

static bool neighbours(const wrap *w, int32_t a, int32_t b)
{
    for (int64_t k = w->star_start[a]; k < w->star_start[a + 1]; k++)
        if (!w->dead[w->star[k]] && has_corner(w, w->star[k], b)) return true;
    return false;
}

/* Do all tets around the vertex keep a shape within `limit`? Those at `seen` (-1: none) were looked at. */
static bool shapes_hold(const wrap *w, int32_t v, int32_t seen, double limit)
{
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++) {
        int32_t e = w->star[k];
        if (w->dead[e] || (seen >= 0 && has_corner(w, e, seen))) continue;
        double bad = badness(&w->cage->mesh, e);
        bool exempt = (w->exempt[0] >= 0 && has_corner(w, e, w->exempt[0])) ||
                      (w->exempt[1] >= 0 && has_corner(w, e, w->exempt[1]));
        if (bad > limit && !(bad < 2.0 && exempt)) return false;
    }
    return true;
}

/* Finds the points around the vertex their new tets, there or around `other` (-1: none), whose own tets were looked
 * at; false where one gets out. */
static bool points_stay(wrap *w, int32_t v, int32_t other, bool other_seen, int64_t *count)
{
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++) {
        int32_t e = w->star[k];
        if (w->dead[e] || (other_seen && has_corner(w, e, other))) continue;
        for (int32_t p = w->head[e]; p >= 0; p = w->next[p]) {
            const double *at = w->cage->points[p].p;
            int32_t tet = smallest_bary(w, e, at) >= LOOSE ? e : holder_around(w, v, at);
            if (tet < 0 && other >= 0) tet = holder_around(w, other, at);
            if (tet < 0) return false;
            w->around[*count] = p, w->moved[(*count)++] = tet;
        }
    }
    return true;
}

/* Moves v, and its twin to the mirrored place, when no tet around them gets worse than `limit` and no point gets out.
 */
static bool try_move(wrap *w, int32_t v, const double to[3], double limit)
{
    double *x = w->cage->mesh.x, old[2][3];
    int32_t who[2];
    int count = mates(w, v, who);
    bool touching = count == 2 && neighbours(w, who[0], who[1]), good = true;
    for (int i = 0; i < count; i++) memcpy(old[i], x + 3 * (int64_t)who[i], sizeof old[i]);
    memcpy(x + 3 * (int64_t)v, to, sizeof old[0]);
    if (count == 2) su_mirror_image(&w->twins.mirror, to, x + 3 * (int64_t)who[1]);
    int64_t points = 0;
    for (int i = 0; i < count && good; i++) good = shapes_hold(w, who[i], touching && i ? who[0] : -1, limit);
    for (int i = 0; i < count && good; i++)
        good = points_stay(w, who[i], touching ? who[1 - i] : -1, touching && i, &points);
    if (!good) {
        for (int i = 0; i < count; i++) memcpy(x + 3 * (int64_t)who[i], old[i], sizeof old[i]);
        return false;
    }
    for (int i = 0; i < count; i++)
        for (int64_t k = w->star_start[who[i]]; k < w->star_start[who[i] + 1]; k++) {
            if (w->dead[w->star[k]]) continue;
            w->head[w->star[k]] = -1;
            for (int j = 0; j < 4; j++) w->touched[w->cage->mesh.tets[4 * (int64_t)w->star[k] + j]] = 1;
        }
    for (int64_t k = points - 1; k >= 0; k--) {
        int32_t p = w->around[k], tet = w->moved[k];
        w->cage->points[p].tet = tet;
        w->next[p] = w->head[tet], w->head[tet] = p;
    }
    return true;
}

/* ---- removal ---- */

/* An inner edge touches no boundary face. */
static bool edge_on_boundary(const wrap *w, int32_t a, int32_t b)
{
    const int32_t *tets = w->cage->mesh.tets;
    for (int64_t k = w->star_start[a]; k < w->star_start[a + 1]; k++) {
        int64_t e = w->star[k];
        if (w->dead[e]) continue;
        int at_b = -1;
        for (int i = 0; i < 4; i++)
            if (tets[4 * e + i] == b) at_b = i;
        for (int i = 0; at_b >= 0 && i < 4; i++)
            if (i != at_b && tets[4 * e + i] != a && w->neighbour[4 * e + i] < 0) return true;
    }
    return false;
}

static int live_tets(const wrap *w, int32_t v)
{
    int count = 0;
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++) count += !w->dead[w->star[k]];
    return count;
}

/* Removal keeps the flesh a solid with the same pieces and handles: what becomes boundary was not boundary before. */
static bool removable(const wrap *w, int32_t e)
{
    const int32_t *tet = w->cage->mesh.tets + 4 * (int64_t)e;
    int open[4], closed[4], opens = 0, closes = 0;
    for (int f = 0; f < 4; f++) {
        if (w->neighbour[4 * (int64_t)e + f] < 0)
            open[opens++] = f;
        else
            closed[closes++] = f;
    }
    switch (opens) {
    case 1:
        return w->open_faces[tet[open[0]]] == 0; /* the corner opposite comes to light */
    case 2:
        return !edge_on_boundary(w, tet[open[0]], tet[open[1]]); /* the edge opposite the shared one */
    case 3:
        return live_tets(w, tet[closed[0]]) == 1; /* the tip goes with its tet */
    case 4:
        return true;
    default:
        return false;
    }
}

/* neighbour: receives what restore_tet wants. */
static void remove_tet(wrap *w, int32_t e, int32_t neighbour[4])
{
    const int32_t *tets = w->cage->mesh.tets;
    w->dead[e] = 1;
    memcpy(neighbour, w->neighbour + 4 * (int64_t)e, 4 * sizeof *neighbour);
    for (int i = 0; i < 4; i++) w->touched[tets[4 * (int64_t)e + i]] = 1;
    for (int f = 0; f < 4; f++) {
        int64_t side = 4 * (int64_t)e + f;
        int32_t other = w->neighbour[side];
        for (int i = 0; i < 3; i++) w->open_faces[tets[4 * (int64_t)e + su_tet_face[f][i]]] += other < 0 ? -1 : 1;
        if (other < 0) continue;
        for (int g = 0; g < 4; g++)
            if (w->neighbour[4 * (int64_t)other + g] == e) w->neighbour[4 * (int64_t)other + g] = -1;
        w->neighbour[side] = -1;
    }
}

/* The last that went comes back first. */
static void restore_tet(wrap *w, int32_t e, const int32_t neighbour[4])
{
    const int32_t *tets = w->cage->mesh.tets;
    w->dead[e] = 0;
    for (int f = 0; f < 4; f++) {
        int32_t other = neighbour[f];
        w->neighbour[4 * (int64_t)e + f] = other;
        for (int i = 0; i < 3; i++) w->open_faces[tets[4 * (int64_t)e + su_tet_face[f][i]]] += other < 0 ? 1 : -1;
        for (int g = 0; other >= 0 && g < 4; g++) {
            const int32_t *corner = tets + 4 * (int64_t)other;
            if (!has_corner(w, e, corner[g])) w->neighbour[4 * (int64_t)other + g] = e;
        }
    }
}

/* Holds no point of the skin, and no node inside it. */
static bool tet_empty(const wrap *w, int32_t e)
{
    if (w->dead[e] || w->head[e] >= 0) return false;
    for (int i = 0; i < 4; i++)
        if (w->cage->inside[w->cage->mesh.tets[4 * (int64_t)e + i]]) return false;
    return true;
}

/* Removes boundary tets that are empty, as their twins are. */
static int64_t peel(wrap *w)
{
    int64_t removed = 0, before;
    do {
        before = removed;
        for (int32_t e = 0; e < w->cage->mesh.t; e++) {
            int32_t twin = w->twins.tet[e], own[4], other[4];
            bool two = twin >= 0 && twin != e;
            if ((two && twin < e) || !tet_empty(w, e) || (two && !tet_empty(w, twin)) || !removable(w, e)) continue;
            remove_tet(w, e, own);
            if (two && !removable(w, twin)) {
                restore_tet(w, e, own);
                continue;
            }
            if (two) remove_tet(w, twin, other);
            removed += 1 + two;
        }
    } while (removed > before);
    return removed;
}

/* ---- moves ---- */

/* Closest point of the skin that the tets around v hold. */
static bool skin_near(const wrap *w, int32_t v, double closest[3], double *distance, double normal[3])
{
    const double *x = w->cage->mesh.x + 3 * (int64_t)v, *sx = w->surface->x;
    double best = INFINITY, bary[3];
    int32_t last = -1;
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++) {
        if (w->dead[w->star[k]]) continue;
        for (int32_t p = w->head[w->star[k]]; p >= 0; p = w->next[p]) {
            int32_t item = w->cage->points[p].item;
            if (item == last) continue;
            last = item;
            const int32_t *c = w->items->corners + 3 * (int64_t)item;
            const double *a = sx + 3 * (int64_t)c[0], *b = sx + 3 * (int64_t)c[1], *d = sx + 3 * (int64_t)c[2];
            double squared = su_closest_on_triangle(x, a, b, d, bary);
            if (!(squared < best)) continue;
            best = squared;
            double u[3], t[3];
            su_sub3(b, a, u), su_sub3(d, a, t), su_cross3(u, t, normal);
            for (int i = 0; i < 3; i++) closest[i] = bary[0] * a[i] + bary[1] * b[i] + bary[2] * d[i];
        }
    }
    *distance = sqrt(best);
    return best < INFINITY;
}

static bool step_towards(wrap *w, int32_t v, const double target[3], double limit, int halvings)
{
    const double *x = w->cage->mesh.x + 3 * (int64_t)v;
    double from[3] = {x[0], x[1], x[2]}, step = 1.0;
    for (int k = 0; k <= halvings; k++, step *= 0.5) {
        double to[3];
        for (int i = 0; i < 3; i++) to[i] = from[i] + step * (target[i] - from[i]);
        if (try_move(w, v, to, limit)) return true;
    }
    return false;
}

/* Where a vertex would go by itself; false: it would stay. */
typedef bool wish_of(const wrap *w, int32_t v, double by, double target[3]);

/* The mean of what a vertex and its twin, mirrored, wish; in the plane where it is its own. */
static bool common_wish(const wrap *w, int32_t v, wish_of *wish, double by, double target[3])
{
    int32_t who[2];
    int count = mates(w, v, who), wishing = 0;
    double sum[3] = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        double own[3];
        if (!wish(w, who[i], by, own)) continue;
        if (i) su_mirror_image(&w->twins.mirror, own, own);
        for (int j = 0; j < 3; j++) sum[j] += own[j];
        wishing++;
    }
    for (int j = 0; j < 3 && wishing; j++) target[j] = sum[j] / wishing;
    if (w->twins.vertex[v] == v) target[w->twins.mirror.axis] = w->twins.mirror.at;
    return wishing > 0;
}

/* A little outside the skin, where the node is no deeper inside it than `reach` cells. */
static bool out_of_skin(const wrap *w, int32_t v, double reach, double target[3])
{
    double offset = w->settings->offset * w->cell[v];
    double closest[3], normal[3], distance, d[3];
    const double *x = w->cage->mesh.x + 3 * (int64_t)v;
    if (!w->cage->inside[v] || !skin_near(w, v, closest, &distance, normal) || distance > reach * w->cell[v])
        return false;
    su_sub3(closest, x, d);
    if (distance < AT_SKIN * w->cell[v]) memcpy(d, normal, sizeof d);
    double length = su_norm3(d);
    for (int i = 0; i < 3; i++) target[i] = closest[i] + (length > 0.0 ? d[i] / length : 0.0) * offset;
    return true;
}

/* Nodes a little inside the skin go a little outside, so that the tets beyond them become empty. */
static void push_shallow(wrap *w, double reach, double limit)
{
    for (int32_t v = 0; v < w->cage->mesh.n; v++) {
        int32_t who[2];
        double target[3], unused[3];
        bool wishes[2] = {false, false};
        if (follows(w, v)) continue;
        int count = mates(w, v, who);
        for (int i = 0; i < count; i++) wishes[i] = out_of_skin(w, who[i], reach, target);
        for (int i = 0; i < 2; i++) {
            int32_t mate = who[1 - i];
            if (count == 1 || !wishes[i] || wishes[1 - i] || !w->cage->inside[mate]) continue;
            if (!out_of_skin(w, mate, MATE_DEPTH * reach, unused)) part(w, v);
        }
        count = mates(w, v, who);
        if (!common_wish(w, v, out_of_skin, reach, target) || !try_move(w, v, target, limit)) continue;
        for (int i = 0; i < count; i++) w->cage->inside[who[i]] = 0;
    }
}

/* `rate` of the way to the skin, of a boundary vertex farther than the offset. */
static bool to_skin(const wrap *w, int32_t v, double rate, double target[3])
{
    double offset = w->settings->offset * w->cell[v];
    double closest[3], normal[3], distance;
    const double *x = w->cage->mesh.x + 3 * (int64_t)v;
    if (!w->open_faces[v] || w->cage->inside[v] || !skin_near(w, v, closest, &distance, normal)) return false;
    if (distance <= offset) return false;
    double share = rate * (distance - offset) / distance;
    for (int i = 0; i < 3; i++) target[i] = x[i] + share * (closest[i] - x[i]);
    return true;
}

/* Boundary vertices approach the skin. */
static void pull(wrap *w, double rate, double limit)
{
    double target[3];
    for (int32_t v = 0; v < w->cage->mesh.n; v++)
        if (!follows(w, v) && common_wish(w, v, to_skin, rate, target)) step_towards(w, v, target, limit, 2);
}

/* The middle of the neighbours, of a boundary vertex within the boundary's tangent plane. */
static bool to_middle(const wrap *w, int32_t v, double unused, double target[3])
{
    (void)unused;
    const su_tets *m = &w->cage->mesh;
    double sum[3] = {0, 0, 0}, normal[3] = {0, 0, 0};
    const double *x = m->x + 3 * (int64_t)v;
    int64_t count = 0;
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++) {
        int64_t e = w->star[k];
        if (w->dead[e]) continue;
        for (int f = 0; f < 4; f++) {
            if (m->tets[4 * e + f] == v || (w->open_faces[v] && w->neighbour[4 * e + f] >= 0)) continue;
            /* inner: every corner around; boundary: the corners of the boundary faces at v */
            const int32_t *tet = m->tets + 4 * e;
            double u[3], t[3], n[3];
            for (int i = 0; i < 3; i++) {
                int32_t c = tet[su_tet_face[f][i]];
                if (c == v) continue;
                for (int j = 0; j < 3; j++) sum[j] += m->x[3 * (int64_t)c + j];
                count++;
            }
            su_sub3(m->x + 3 * (int64_t)tet[su_tet_face[f][1]], m->x + 3 * (int64_t)tet[su_tet_face[f][0]], u);
            su_sub3(m->x + 3 * (int64_t)tet[su_tet_face[f][2]], m->x + 3 * (int64_t)tet[su_tet_face[f][0]], t);
            su_cross3(u, t, n);
            for (int j = 0; j < 3; j++) normal[j] += n[j];
        }
    }
    if (!count) return false;
    double length = su_norm3(normal), along = 0.0;
    for (int j = 0; j < 3; j++) target[j] = sum[j] / (double)count - x[j];
    if (w->open_faces[v] && length > 0.0) along = su_dot3(target, normal) / (length * length);
    for (int j = 0; j < 3; j++) target[j] += x[j] - along * normal[j];
    return true;
}

/* Towards the middle of the neighbours; only where angles improve. */
static void smooth(wrap *w)
{
    for (int32_t v = 0; v < w->cage->mesh.n; v++) {
        int32_t who[2];
        double target[3], worst = 0;
        int count = mates(w, v, who);
        bool touched = false;
        if (follows(w, v)) continue;
        for (int i = 0; i < count; i++) touched = touched || w->touched[who[i]], w->touched[who[i]] = 0;
        if (!touched || !common_wish(w, v, to_middle, 0, target)) continue;
        for (int i = 0; i < count; i++) worst = fmax(worst, star_badness(w, who[i]));
        step_towards(w, v, target, BETTER * worst, 2);
    }
}

/* ---- tips ---- */

/* May all tets around the boundary vertex v go at once? What they uncover must have been inside the flesh. */
static bool tip_removable(const wrap *w, int32_t v)
{
    const int32_t *tets = w->cage->mesh.tets;
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++) {
        int64_t e = w->star[k];
        if (w->dead[e]) continue;
        for (int f = 0; f < 4; f++) {
            int32_t c = tets[4 * e + f];
            if (c == v) {
                if (w->neighbour[4 * e + f] < 0) return false; /* a sheet one tet thick */
                continue;
            }
            if (w->open_faces[c] && !edge_on_boundary(w, v, c)) return false;
            if (w->neighbour[4 * e + f] < 0) continue;
            int32_t ends[2];
            int count = 0;
            for (int i = 0; i < 4; i++)
                if (i != f && tets[4 * e + i] != v) ends[count++] = tets[4 * e + i];
            if (edge_on_boundary(w, ends[0], ends[1])) return false;
        }
    }
    return true;
}

static bool star_empty(const wrap *w, int32_t v)
{
    for (int64_t k = w->star_start[v]; k < w->star_start[v + 1]; k++)
        if (!w->dead[w->star[k]] && w->head[w->star[k]] >= 0) return false;
    return true;
}

/* What surrounds a tip and its twin: each vertex once, with neither its own twin nor the tips. */
typedef struct ring {
    int32_t vertex[RING];
    double towards[RING][3]; /* the tip next to it, or the middle of both */
    int count;
} ring;

static bool find_ring(const wrap *w, const int32_t *tips, int tip_count, ring *out)
{
    const su_tets *m = &w->cage->mesh;
    int at_tip[RING];
    out->count = 0;
    for (int tip = 0; tip < tip_count; tip++)
        for (int64_t k = w->star_start[tips[tip]]; k < w->star_start[tips[tip] + 1]; k++)
            for (int i = 0; i < 4 && !w->dead[w->star[k]]; i++) {
                int32_t c = m->tets[4 * (int64_t)w->star[k] + i];
                const double *x = m->x + 3 * (int64_t)tips[tip];
                int j = 0;
                if (c == tips[0] || (tip_count == 2 && c == tips[1])) continue;
                double place[3] = {x[0], x[1], x[2]};
                if (follows(w, c)) c = w->twins.vertex[c], su_mirror_image(&w->twins.mirror, x, place);
                while (j < out->count && out->vertex[j] != c) j++;
                if (j == out->count) {
                    if (out->count == RING) return false;
                    out->vertex[j] = c, at_tip[j] = tip, out->count++;
                    memcpy(out->towards[j], place, sizeof place);
                } else if (at_tip[j] != tip) {
                    at_tip[j] = tip;
                    for (int d = 0; d < 3; d++) out->towards[j][d] = (out->towards[j][d] + place[d]) / 2;
                }
            }
    return true;
}

/* Removes the tets around the tips, or none. */
static bool remove_stars(wrap *w, const int32_t *tips, int tip_count)
{
    int32_t gone[2 * STAR], neighbour[2 * STAR][4];
    int count = 0;
    bool good = true;
    for (int tip = 0; tip < tip_count && good; tip++) {
        good = tip_removable(w, tips[tip]);
        for (int64_t k = w->star_start[tips[tip]]; k < w->star_start[tips[tip] + 1] && good; k++) {
            if (w->dead[w->star[k]]) continue;
            good = count < 2 * STAR;
            if (good) remove_tet(w, w->star[k], neighbour[count]), gone[count++] = w->star[k];
        }
    }
    while (!good && count-- > 0) restore_tet(w, gone[count], neighbour[count]);
    return good;
}

static bool stars_empty(const wrap *w, const int32_t *tips, int tip_count)
{
    for (int tip = 0; tip < tip_count; tip++)
        if (!star_empty(w, tips[tip])) return false;
    return true;
}

/* A tip that could not come nearer to the skin, with its twin: neighbours go towards it until the tets below hold all
 * points, then its own tets go. Where that does not work out everything is put back. */
static bool remove_tip(wrap *w, int32_t v, double limit)
{
    enum { ROUNDS = 3 };
    const su_tets *m = &w->cage->mesh;
    ring around;
    int32_t tips[2], done[RING * ROUNDS];
    double old[RING * ROUNDS][3];
    int count = mates(w, v, tips), moves = 0;
    for (int i = 0; i < count; i++)
        if (!tip_removable(w, tips[i])) return false;
    if (!find_ring(w, tips, count, &around)) return false;
    for (int i = 0; i < count; i++) w->exempt[i] = tips[i];
    for (int round = 0; round < ROUNDS && !stars_empty(w, tips, count); round++)
        for (int j = 0; j < around.count && !stars_empty(w, tips, count); j++) {
            const double *x = m->x + 3 * (int64_t)around.vertex[j];
            double to[3];
            memcpy(old[moves], x, sizeof old[moves]);
            for (int i = 0; i < 3; i++) to[i] = x[i] + TIP_STEP * (around.towards[j][i] - x[i]);
            if (w->twins.vertex[around.vertex[j]] == around.vertex[j]) to[w->twins.mirror.axis] = w->twins.mirror.at;
            if (try_move(w, around.vertex[j], to, limit)) done[moves++] = around.vertex[j];
        }
    bool good = stars_empty(w, tips, count) && remove_stars(w, tips, count);
    if (!good)
        while (moves-- > 0) try_move(w, done[moves], old[moves], ANY_SHAPE);
    w->exempt[0] = w->exempt[1] = -1;
    return good;
}

/* How far a boundary vertex is from the skin, in cells; 0 inside it. */
static double height(const wrap *w, int32_t v)
{
    double closest[3], normal[3], distance;
    if (!w->open_faces[v] || w->cage->inside[v]) return 0;
    return skin_near(w, v, closest, &distance, normal) ? distance / w->cell[v] : INFINITY;
}

static int64_t remove_tips(wrap *w, double reach, double limit)
{
    int64_t removed = 0;
    for (int32_t v = 0; v < w->cage->mesh.n; v++) {
        int32_t who[2];
        double mean = 0, least = INFINITY;
        if (follows(w, v)) continue;
        int count = mates(w, v, who);
        for (int i = 0; i < count; i++) {
            double h = height(w, who[i]);
            mean += h / count, least = fmin(least, h);
        }
        if (least > 0 && mean >= reach) removed += remove_tip(w, v, limit);
    }
    return removed;
}

/* ---- the result ---- */

static su_status compress(wrap *w, su_error *err)
{
    su_cage *cage = w->cage;
    su_tets *m = &cage->mesh;
    int32_t *vertex = NULL, *tet = NULL;
    int64_t n = 0, t = 0;
    su_status status = SU_OK;
    SU_GO(SU_ALLOC(&vertex, m->n, "flesh vertices", err));
    SU_GO(SU_ALLOC(&tet, m->t, "flesh tets", err));
    for (int64_t e = 0; e < m->t; e++)
        for (int i = 0; i < 4 && !w->dead[e]; i++) vertex[m->tets[4 * e + i]] = 1;
    for (int64_t v = 0; v < m->n; v++) {
        if (!vertex[v]) continue;
        memmove(m->x + 3 * n, m->x + 3 * v, 3 * sizeof *m->x);
        cage->inside[n] = cage->inside[v];
        cage->layers[n] = cage->layers[v];
        vertex[v] = (int32_t)n++;
    }
    for (int64_t e = 0; e < m->t; e++) {
        if (w->dead[e]) continue;
        for (int i = 0; i < 4; i++) m->tets[4 * t + i] = vertex[m->tets[4 * e + i]];
        tet[e] = (int32_t)t++;
    }
    m->n = n, m->t = t;
    for (int64_t k = 0; k < cage->point_count; k++) cage->points[k].tet = tet[cage->points[k].tet];
done:
    free(vertex);
    free(tet);
    return status;
}

su_status su_wrap(const su_surface *surface, const su_lattice_items *items, const su_wrap_settings *settings,
                  su_cage *cage, su_error *err)
{
    su_status status = SU_OK;
    wrap w = {.surface = surface, .items = items, .settings = settings, .cage = cage, .exempt = {-1, -1}};
    double limit = cos(settings->angle * M_PI / 180.0);
    SU_GO(wrap_init(&w, err));
    peel(&w);
    push_shallow(&w, SHALLOW, limit);
    peel(&w);
    for (int pass = 0; pass < settings->passes; pass++) {
        SU_GO(su_progress_update(settings->progress, (double)pass / settings->passes, err));
        pull(&w, pass < settings->passes / 2 ? FIRST_PULL : 1.0, limit);
        if (su_progress_stopped(settings->progress)) continue; /* the next update ends it */
        smooth(&w);
        if (pass >= 2) remove_tips(&w, TIP_REACH, limit);
        peel(&w);
    }
    SU_GO(compress(&w, err));
done:
    wrap_free(&w);
    return status;
}
