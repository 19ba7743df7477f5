#include "runtime/forces/trained_pairs.h"

#include "contact/contact_patch.h"
#include "core/memory.h"
#include "core/threads.h"
#include "geometry/box.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "runtime/forces/contact_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Diagonals of the flesh that parts may have moved against the rig's shape and still be found near each other, as for
 * colliders (load_contact.c). */
static const double NEAR = 0.05;
/* So many times as far from the nearest training pose as those are from each other is a guess. */
static const double BEYOND = 2;

enum { NEAREST = 2 }; /* pair sets that are blended */

/* A pair set that takes part in a step, with its share; its pairs stand one behind the other. */
typedef struct part {
    int64_t set, first;
    double share;
    bool beyond; /* what was trained */
} part;

typedef struct contact {
    const su_pair_sets *sets;
    double stiffness, margin, friction;
    bool allow_overlap;
    su_contact_points points;
    su_contact_terms terms;  /* of the pairs and, aligned with them, of their friction */
    su_contact_patch *patch; /* (z) */
    uint8_t *reads;          /* (z,v) vertices that a set reads */
    uint8_t *probed;         /* (v) vertices that say where domains are */
    uint8_t *wanted;         /* (v) vertices that the sets of this step read */
    uint8_t *fresh;          /* (v) of these the ones whose y is that of the last look, not of when the step began */
    int32_t *stale;          /* (v) scratch */
    int64_t *ends;           /* (z,2,2) of each set in `lists`: vertices of its pairs, of its triangles */
    int32_t *lists;
    double *neutral;        /* (v,3) */
    double *x, *y, *at;     /* (v,3), (v,3), (3c) */
    part *parts;            /* (NEAREST s) of this step */
    su_contact_pair *pairs; /* (room) theirs, as they were looked at last */
    int32_t *twin;          /* (room) the pair of the same vertex in the set before, of the same domains; -1: none */
    uint8_t *inside;        /* (room) did a tet hold its vertex there? */
    int32_t *pair_of;       /* (v) scratch, -1 and left so */
    su_contact_grip *grips; /* (room) their friction; no limit: none */
    double *before;         /* (v,3) where vertices were at the state reached, and (v) */
    double *known;          /* 1: of this one that is known, 0: no set that takes part there reads it */
    int64_t count, pair_count, acting;
    bool prepared, left;
    bool narrow;   /* y follows q at those that are fresh alone */
    bool gripping; /* grips are of the step at hand */
    su_reduced_contact_counts counts;
    su_arena arena;
} contact;

/* ---- where a pose lies among those of training ---- */

void su_domain_probes(const su_domain_pose *pose, const double *neutral, const double *x, double *at)
{
    double from[3] = {0}, to[3] = {0}, S[9] = {0}, R[9], d[3];
    for (int64_t k = 0; k < pose->c; k++)
        for (int i = 0; i < 3; i++) {
            from[i] += neutral[3 * (int64_t)pose->first[k] + i] / (double)pose->c;
            to[i] += x[3 * (int64_t)pose->first[k] + i] / (double)pose->c;
        }
    for (int64_t k = 0; k < pose->c; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                S[3 * i + j] +=
                    (x[3 * (int64_t)pose->first[k] + i] - to[i]) * (neutral[3 * (int64_t)pose->first[k] + j] - from[j]);
    su_nearest_rotation(S, R);
    for (int64_t k = 0; k < pose->c; k++) {
        su_sub3(x + 3 * (int64_t)pose->second[k], to, d);
        su_tmulv3(R, d, at + 3 * k);
    }
}

void su_domain_coordinates(const su_domain_pose *pose, const double *at, double out[SU_PAIR_COORDINATES])
{
    for (int a = 0; a < SU_PAIR_COORDINATES; a++) {
        out[a] = 0;
        for (int64_t k = 0; k < 3 * pose->c; k++) out[a] += pose->axes[3 * pose->c * a + k] * (at[k] - pose->mean[k]);
    }
}

static int64_t size_of(const contact *c, int64_t set) { return c->sets->set_start[set + 1] - c->sets->set_start[set]; }

/* The nearest sets of a domain pair that hold pairs, and their weights, which sum to 1: by how much nearer each is than
 * the next one that is left out, so that no force jumps where that changes; with two in all by their distances (ASC eq.
 * 16). Returns how many; *distance of the nearest of all sets. */
static int nearest_sets(const contact *c, int64_t s, const double pose[SU_PAIR_COORDINATES], int64_t set[NEAREST],
                        double weight[NEAREST], double *distance)
{
    double far[NEAREST + 1];
    int64_t number[NEAREST + 1], found = 0;
    *distance = INFINITY;
    for (int64_t k = 0; k < c->sets->z; k++) {
        if (c->sets->set_pair[k] != s) continue;
        double square = 0;
        for (int a = 0; a < SU_PAIR_COORDINATES; a++) {
            double d = pose[a] - c->sets->set_pose[SU_PAIR_COORDINATES * k + a];
            square += d * d;
        }
        *distance = fmin(*distance, sqrt(square));
        if (size_of(c, k) == 0) continue;
        int64_t at = found <= NEAREST ? found++ : NEAREST + 1;
        if (at > NEAREST) at = sqrt(square) < far[NEAREST] ? NEAREST : -1;
        if (at < 0) continue;
        for (; at > 0 && far[at - 1] > sqrt(square); at--) far[at] = far[at - 1], number[at] = number[at - 1];
        far[at] = sqrt(square), number[at] = k;
    }
    int used = found < NEAREST ? (int)found : NEAREST;
    double sum = 0;
    for (int i = 0; i < used; i++) {
        double bound = found > NEAREST ? far[NEAREST] : found > 1 ? far[0] + far[1] : 1;
        set[i] = number[i], weight[i] = bound - far[i];
        if (found == 1) weight[i] = 1;
        sum += weight[i];
    }
    for (int i = 0; i < used; i++) weight[i] = sum > 0 ? weight[i] / sum : 1.0 / used;
    return used;
}

/* ---- which pairs take part ---- */

static void box_of(const contact *c, const int64_t ends[2], double low[3], double high[3])
{
    for (int i = 0; i < 3; i++) low[i] = INFINITY, high[i] = -INFINITY;
    for (int64_t k = ends[0]; k < ends[1]; k++)
        for (int i = 0; i < 3; i++) {
            double value = c->x[3 * (int64_t)c->lists[k] + i];
            low[i] = su_smaller(low[i], value), high[i] = su_larger(high[i], value);
        }
}

/* Are the vertices of a set's pairs anywhere near its triangles? In the rig's shape. */
static bool near(const contact *c, int64_t set)
{
    double low[2][3], high[2][3];
    for (int k = 0; k < 2; k++) box_of(c, c->ends + 4 * set + 2 * k, low[k], high[k]);
    for (int i = 0; i < 3; i++)
        if (low[0][i] > high[1][i] + c->margin || low[1][i] > high[0][i] + c->margin) return false;
    return true;
}

/* The vertices that the sets of c->parts read are asked about from here on. */
static void want(contact *c)
{
    int64_t count = c->sets->v;
    memset(c->wanted, 0, (size_t)count);
    for (int64_t i = 0; i < c->count; i++) {
        const uint8_t *reads = c->reads + c->parts[i].set * count;
        uint8_t *restrict wanted = c->wanted;
        for (int64_t v = 0; v < count; v++) wanted[v] |= reads[v];
    }
    su_contact_points_want(&c->points, c->wanted);
}

/* The sets whose training poses are nearest, by where the rig's shape has the probes. */
static void choose_by_pose(contact *c)
{
    const su_pair_sets *sets = c->sets;
    c->count = 0;
    su_contact_points_want(&c->points, c->probed);
    su_contact_points_place(&c->points, NULL, NULL, c->x);
    for (int64_t s = 0; s < sets->s; s++) {
        const int32_t *domain = sets->domain_pair + 2 * s;
        su_domain_pose at = {sets->c, sets->probe + sets->c * domain[0], sets->probe + sets->c * domain[1],
                             sets->pose_mean + sets->c3 * s, sets->pose_axes + SU_PAIR_COORDINATES * sets->c3 * s};
        double pose[SU_PAIR_COORDINATES], weight[NEAREST], distance;
        int64_t set[NEAREST];
        su_domain_probes(&at, c->neutral, c->x, c->at);
        su_domain_coordinates(&at, c->at, pose);
        int used = nearest_sets(c, s, pose, set, weight, &distance);
        for (int i = 0; i < used; i++)
            if (weight[i] > 0) c->parts[c->count++] = (part){set[i], 0, weight[i], distance > BEYOND * sets->reach[s]};
    }
}

/* Of these the sets that lie near what they may touch; c->x is known of their vertices then. */
static void choose(contact *c)
{
    int64_t count = 0;
    choose_by_pose(c);
    want(c);
    su_contact_points_place(&c->points, NULL, NULL, c->x);
    c->pair_count = 0, c->left = false;
    for (int64_t i = 0; i < c->count; i++) {
        part at = c->parts[i];
        if (!near(c, at.set)) continue;
        at.first = c->pair_count, c->pair_count += size_of(c, at.set), c->left = c->left || at.beyond;
        c->parts[count++] = at;
    }
    if (count == c->count) return;
    c->count = count;
    want(c);
}

/* ---- do they touch? ---- */

/* Lists those of some vertices that were not fresh in c->stale, behind `count` others, and makes them so; returns how
 * many are listed then. */
static int64_t need(contact *c, int vertices, const int32_t *vertex, int64_t count)
{
    for (int i = 0; i < vertices; i++) {
        if (c->fresh[vertex[i]]) continue;
        c->fresh[vertex[i]] = 1, c->stale[count++] = vertex[i];
    }
    return count;
}

/* The vertices that say where a look ends: its own and the corners of the tet; of a vertex inside those of the triangle
 * and of all around, too. */
static int64_t need_pair(contact *c, const su_contact_body *body, const su_contact_pair *pair, int64_t count)
{
    count = need(c, 1, &pair->vertex, count);
    count = need(c, 4, body->tets + 4 * (int64_t)pair->tet, count);
    if (!c->inside[pair - c->pairs]) return count;
    count = need(c, 3, body->surface + 3 * (int64_t)pair->triangle, count);
    for (int64_t k = body->beside_start[pair->triangle]; k < body->beside_start[pair->triangle + 1]; k++)
        count = need(c, 3, body->surface + 3 * (int64_t)body->beside[k], count);
    return count;
}

/* From here to the end of the step places are asked of the vertices near which looks end, and of more as they get
 * there: a set reads far more, for other poses, and y of the others stays where it was when the step began. */
static void narrow(contact *c)
{
    memset(c->fresh, 0, (size_t)c->sets->v);
    for (int64_t n = 0, count = 0; n < c->count; n++)
        for (int64_t k = 0; k < size_of(c, c->parts[n].set); k++)
            count = need_pair(c, &c->patch[c->parts[n].set].body, c->pairs + c->parts[n].first + k, count);
    su_contact_points_want(&c->points, c->fresh);
    c->narrow = true;
}

static void touch(contact *c, const su_contact_patch *patch, su_contact_pair *pair)
{
    uint8_t *inside = c->inside + (pair - c->pairs);
    for (;;) {
        int32_t tet = pair->tet, triangle = pair->triangle, was = *inside;
        *inside = su_contact_patch_look(patch, c->y, pair);
        bool stays = pair->tet == tet && (!*inside || (was && pair->triangle == triangle));
        int64_t count = c->narrow && !stays ? need_pair(c, &patch->body, pair, 0) : 0;
        if (count == 0) break; /* it ends among places that are known */
        su_contact_points_add(&c->points, count, c->stale, c->y);
    }
    if (pair->depth > 0 && c->allow_overlap) pair->allowed = su_contact_allowed(&patch->body, c->x, pair);
}

static void touch_all(contact *c)
{
    c->counts.searches++, c->counts.tested += c->pair_count;
    for (int64_t n = 0; n < c->count; n++) {
        su_contact_pair *pair = c->pairs + c->parts[n].first;
        for (int64_t k = 0; k < size_of(c, c->parts[n].set); k++, pair++) {
            int32_t twin = c->twin[pair - c->pairs];
            if (twin >= 0 && c->pairs[twin].depth > 0)
                pair->depth = 0, c->inside[pair - c->pairs] = false;
            else
                touch(c, c->patch + c->parts[n].set, pair);
        }
    }
}

/* This step's pairs with their stiffness. */
static void begin(contact *c, const part *of)
{
    const su_pair_sets *sets = c->sets;
    for (int64_t k = 0; k < size_of(c, of->set); k++) {
        int64_t i = sets->set_start[of->set] + k;
        su_contact_pair *pair = c->pairs + of->first + k;
        const int32_t *corner = sets->triangles + 3 * (int64_t)sets->pair_triangle[i];
        *pair = (su_contact_pair){.vertex = sets->pair_vertex[i],
                                  .triangle = sets->pair_triangle[i] - sets->triangle_start[of->set],
                                  .tet = sets->pair_tet[i] - sets->tet_start[of->set]};
        double softest = sets->stiffness[pair->vertex];
        for (int j = 0; j < 3; j++) softest = fmin(softest, sets->stiffness[corner[j]]);
        pair->stiffness = c->stiffness * of->share * sets->pair_weight[i] * softest * sets->area[pair->vertex];
    }
}

/* A vertex that two sets of the same domains have takes one way, with the stiffness of both: that in the first set's
 * surroundings, or where these do not reach so far that in the other's. */
static void find_twins(contact *c)
{
    for (int64_t i = 0; i < c->pair_count; i++) c->twin[i] = -1;
    for (int64_t n = 1; n < c->count; n++) {
        const part *first = c->parts + n - 1, *second = c->parts + n;
        if (c->sets->set_pair[first->set] != c->sets->set_pair[second->set]) continue;
        int64_t first_end = first->first + size_of(c, first->set), end = second->first + size_of(c, second->set);
        for (int64_t i = first->first; i < first_end; i++) c->pair_of[c->pairs[i].vertex] = (int32_t)i;
        for (int64_t i = second->first; i < end; i++) {
            int32_t twin = c->twin[i] = c->pair_of[c->pairs[i].vertex];
            if (twin >= 0) c->pairs[i].stiffness = c->pairs[twin].stiffness += c->pairs[i].stiffness;
        }
        for (int64_t i = first->first; i < first_end; i++) c->pair_of[c->pairs[i].vertex] = -1;
    }
}

/* The terms of all that was looked at: x as su_contact_terms_look has it. */
static void take_terms(contact *c, const double *x)
{
    c->acting = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const part *of = c->parts + i;
        c->points.body = &c->patch[of->set].body;
        c->acting +=
            su_contact_terms_look(&c->terms, &c->points, of->first, size_of(c, of->set), c->pairs + of->first, c->y, x);
        if (c->gripping)
            su_contact_terms_grip(&c->terms, &c->points, of->first, size_of(c, of->set), c->grips + of->first, c->y, x);
    }
}

/* ---- as a part of the stepper ---- */

static int64_t look(void *self, const double *q)
{
    contact *c = self;
    double started = su_seconds();
    if (q && c->count > 0 && su_contact_points_look(&c->points, q, c->y)) {
        touch_all(c);
        take_terms(c, NULL);
    }
    c->counts.seconds += su_seconds() - started;
    return c->acting;
}

/* Where all vertices are at q. */
static void remember(contact *c, const double *q)
{
    const su_pair_sets *sets = c->sets;
    if (c->count > 0) {
        su_contact_points_want(&c->points, c->wanted);
        su_contact_points_place(&c->points, q, NULL, c->y);
    }
    for (int64_t v = 0; v < sets->v; v++) {
        c->known[v] = c->count > 0 && c->wanted[v];
        for (int i = 0; i < 3 && c->known[v] > 0; i++) c->before[3 * v + i] = c->y[3 * v + i];
    }
}

/* Friction of the pairs of a step of h seconds, of those whose vertices were looked at when it began: a set that was
 * not takes part with no more than the share that one step gave it. */
static void grip(contact *c, const part *of, double h)
{
    const su_contact_body *patch = &c->patch[of->set].body;
    for (int64_t k = of->first; k < of->first + size_of(c, of->set); k++) {
        const int32_t *corner = patch->surface + 3 * (int64_t)c->pairs[k].triangle;
        bool known = c->known[c->pairs[k].vertex] > 0;
        for (int i = 0; i < 3; i++) known = known && c->known[corner[i]] > 0;
        c->grips[k] = (su_contact_grip){.limit = 0};
        if (known) c->grips[k] = su_contact_grip_of(patch, c->pairs + k, c->friction, h, c->before);
    }
    c->gripping = true;
}

static int64_t prepare(void *self, const void *instant, const su_subspace *subspace, const su_state *now, double h,
                       double *load)
{
    contact *c = self;
    double started = su_seconds();
    (void)load;
    c->counts.before = c->counts.seconds;
    su_contact_points_enter(&c->points, instant, subspace);
    c->prepared = h > 0, c->gripping = c->narrow = false, c->acting = 0;
    choose(c);
    su_contact_terms_begin(&c->terms);
    su_contact_terms_reserve(&c->terms, c->pair_count, c->friction > 0 ? c->pair_count : 0); /* there is room */
    if (c->count > 0) {
        su_contact_points_place(&c->points, NULL, now->subspace, c->y);
        for (int64_t i = 0; i < c->count; i++) begin(c, c->parts + i);
        find_twins(c);
        touch_all(c);
        for (int64_t i = 0; i < c->count && h > 0 && c->friction > 0; i++) grip(c, c->parts + i, h);
        take_terms(c, c->x);
        narrow(c);
    }
    c->counts.steps++, c->counts.untrained += c->left;
    c->counts.seconds += su_seconds() - started;
    return c->count;
}

static double evaluate(void *self, const double *q, double *out, double *A)
{
    contact *c = self;
    double started = su_seconds();
    double energy = su_contact_terms_evaluate(&c->terms, q, out, A);
    c->counts.seconds += su_seconds() - started;
    return energy;
}

static void start(contact *c, const void *instant, const su_subspace *subspace, const su_state *at)
{
    su_contact_points_enter(&c->points, instant, subspace);
    choose(c);
    remember(c, at->q);
    c->count = c->pair_count = 0; /* none has been looked at */
}

static void keep(void *self, const void *instant, const su_subspace *subspace, const su_state *reached)
{
    contact *c = self;
    if (!c->prepared) { /* a start: nothing has been looked for there */
        if (c->friction > 0) start(c, instant, subspace, reached);
        return;
    }
    c->prepared = false;
    if (c->friction > 0) look(c, reached->q);
    double started = su_seconds();
    if (c->friction > 0) remember(c, reached->q);
    if (c->count == 0) return;
    su_reduced_contact_count(&c->counts, c->pair_count, c->pairs);
    c->counts.seconds += su_seconds() - started;
    c->counts.most_seconds = fmax(c->counts.most_seconds, c->counts.seconds - c->counts.before);
}

static void release(void *self)
{
    contact *c = self;
    for (int64_t k = 0; c->patch && k < c->sets->z; k++) su_contact_patch_free(c->patch + k);
    su_contact_terms_free(&c->terms);
    su_contact_points_free(&c->points);
    su_arena_free(&c->arena);
    free(c);
}

/* ---- creation ---- */

/* Adds the vertices of index (indices), each once, to `lists` from ends[1] on; mark (v): scratch, 0 and left so. */
static void list_vertices(contact *c, int64_t indices, const int32_t *index, uint8_t *mark, int64_t ends[2])
{
    for (int64_t k = 0; k < indices; k++) {
        if (!mark[index[k]]) c->lists[ends[1]++] = index[k];
        mark[index[k]] = 1;
    }
    for (int64_t k = ends[0]; k < ends[1]; k++) mark[c->lists[k]] = 0;
}

static void list_all(contact *c)
{
    const su_pair_sets *sets = c->sets;
    int64_t end = 0;
    for (int64_t z = 0; z < sets->z; z++) {
        int64_t *ends = c->ends + 4 * z, triangle = sets->triangle_start[z];
        ends[0] = ends[1] = end;
        list_vertices(c, size_of(c, z), sets->pair_vertex + sets->set_start[z], c->wanted, ends);
        ends[2] = ends[3] = ends[1];
        list_vertices(c, 3 * (sets->triangle_start[z + 1] - triangle), sets->triangles + 3 * triangle, c->wanted,
                      ends + 2);
        end = ends[3];
    }
    for (int64_t k = 0; k < sets->d * sets->c; k++) c->probed[sets->probe[k]] = 1;
}

static su_status make_patch(contact *c, int64_t set, su_error *err)
{
    const su_pair_sets *sets = c->sets;
    int64_t first = sets->triangle_start[set], tet = sets->tet_start[set];
    uint8_t *reads = c->reads + set * sets->v;
    const su_contact_piece piece = {.n = sets->v,
                                    .b = sets->triangle_start[set + 1] - first,
                                    .t = sets->tet_start[set + 1] - tet,
                                    .neutral = c->neutral,
                                    .surface = sets->triangles + 3 * first,
                                    .tets = sets->tets + 4 * tet,
                                    .related_start = sets->related_start,
                                    .related = sets->related,
                                    .nearest = sets->tet_triangle + tet,
                                    .first = (int32_t)first};
    for (int64_t k = 0; k < 3 * piece.b; k++) reads[piece.surface[k]] = 1;
    for (int64_t k = 0; k < 4 * piece.t; k++) reads[piece.tets[k]] = 1;
    for (int64_t k = sets->set_start[set]; k < sets->set_start[set + 1]; k++) reads[sets->pair_vertex[k]] = 1;
    return su_contact_patch_create(&piece, c->patch + set, err);
}

/* Pairs of the NEAREST largest sets of all domain pairs together. */
static int64_t most_pairs(const su_pair_sets *sets)
{
    int64_t room = 0;
    for (int64_t s = 0; s < sets->s; s++) {
        int64_t most[NEAREST] = {0};
        for (int64_t k = 0; k < sets->z; k++) {
            int64_t size = sets->set_start[k + 1] - sets->set_start[k];
            if (sets->set_pair[k] != s) continue;
            for (int i = 0; i < NEAREST; i++)
                if (size > most[i]) {
                    int64_t swap = most[i];
                    most[i] = size, size = swap;
                }
        }
        for (int i = 0; i < NEAREST; i++) room += most[i];
    }
    return room;
}

su_status su_trained_pairs_create(const su_trained_pairs *what, const su_subspace *subspace, su_contact *out,
                                  su_error *err)
{
    contact *c;
    const su_pair_sets *sets = what->sets;
    int64_t v = sets->v, room = most_pairs(sets);
    su_status status;
    SU_TRY(SU_ALLOC(&c, 1, "contact", err));
    c->sets = sets, c->stiffness = what->stiffness, c->friction = what->friction, c->margin = NEAR * subspace->diagonal;
    c->allow_overlap = su_pair_sets_allow(sets);
    SU_GO(SU_TAKE_ALL(&c->arena, "contact pairs", err, SU_WANT(c->patch, sets->z), SU_WANT(c->reads, sets->z * v),
                      SU_WANT(c->probed, v), SU_WANT(c->wanted, v), SU_WANT(c->fresh, v), SU_WANT(c->stale, v),
                      SU_WANT(c->ends, 4 * sets->z), SU_WANT(c->lists, sets->p + 3 * sets->k),
                      SU_WANT(c->neutral, 3 * v), SU_WANT(c->x, 3 * v), SU_WANT(c->y, 3 * v), SU_WANT(c->at, sets->c3),
                      SU_WANT(c->parts, NEAREST * sets->s), SU_WANT(c->pairs, room), SU_WANT(c->grips, room),
                      SU_WANT(c->twin, room), SU_WANT(c->inside, room), SU_WANT(c->pair_of, v),
                      SU_WANT(c->before, 4 * v)));
    c->known = c->before + 3 * v;
    for (int64_t i = 0; i < v; i++) c->pair_of[i] = -1;

    for (int64_t i = 0; i < v; i++)
        memcpy(c->neutral + 3 * i, what->neutral + 3 * (int64_t)sets->vertices[i], 3 * sizeof(double));
    list_all(c);
    for (int64_t k = 0; k < sets->z; k++) SU_GO(make_patch(c, k, err));
    SU_GO(su_contact_points_create(v, what->place, what->point, subspace, &c->points, err));
    SU_GO(su_contact_terms_create(subspace, &c->terms, err));
    if (!su_contact_terms_reserve(&c->terms, room, room)) SU_GO(su_fail(err, SU_AGAIN, "no memory for contact pairs"));
    *out = (su_contact){.self = c,
                        .state_size = c->friction > 0 ? 4 * v : 0,
                        .state = c->before,
                        .counts = &c->counts,
                        .keep = keep,
                        .prepare = prepare,
                        .look = look,
                        .evaluate = evaluate,
                        .release = release};
done:
    if (status != SU_OK) release(c);
    return status;
}

void su_trained_pairs_set_friction(su_contact *trained, double friction)
{
    ((contact *)trained->self)->friction = friction;
}

su_trained_pairs_now su_trained_pairs_state(const su_contact *trained)
{
    const contact *c = trained->self;
    su_reduced_contact_counts counts = {0};
    su_reduced_contact_count(&counts, c->pair_count, c->pairs);
    return (su_trained_pairs_now){c->pair_count, counts.pressed, counts.deepest, c->left};
}
