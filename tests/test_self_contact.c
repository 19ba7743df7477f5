/* lib/contact: what pairs a curled bar has with itself, and that their forces are a gradient that keeps momentum and
 * angular momentum to rounding. */
#include "box.h"
#include "contact/contact_forces.h"
#include "contact/contact_patch.h"
#include "contact/kept_pairs.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A bar of 24 x 2 x 2 cells and its shape once round a circle, so that its ends lie 0.1 deep in each other, a little
 * askew. */
typedef struct curl {
    box_mesh box;
    double *y, *k, *force;
    su_contact_body body;
    su_contact_finder *finder;
} curl;

static void curl_create(curl *c, double turns, int threads)
{
    *c = (curl){.box = box_mesh_create(24, 2, 2, 12, 1, 1)};
    int64_t n = c->box.n;
    uint64_t seed = 5;
    box_mesh_jitter(&c->box, 0.1);
    c->y = malloc(3 * (size_t)n * sizeof *c->y), c->force = malloc(3 * (size_t)n * sizeof *c->force);
    c->k = box_constant(n, 1000.0);
    for (int64_t v = 0; v < n; v++) {
        const double *X = c->box.vertices + 3 * v;
        double angle = 2 * M_PI * turns * X[0] / 12,
               radius = 0.9 + X[1] + 0.9 * turns / 12 * X[0] + 0.01 * box_random(&seed);
        c->y[3 * v] = radius * sin(angle), c->y[3 * v + 1] = radius * cos(angle);
        c->y[3 * v + 2] = X[2] + 0.03 * X[0] + 0.01 * box_random(&seed);
    }
    assert_int_equal(su_contact_body_create(n, c->box.vertices, c->box.t, c->box.tets, &c->body, NULL), SU_OK);
    assert_int_equal(su_contact_finder_create(&c->body, threads, &c->finder, NULL), SU_OK);
    su_contact_finder_set_stiffness(c->finder, c->k);
}

static void curl_free(curl *c)
{
    su_contact_finder_free(c->finder);
    su_contact_body_free(&c->body);
    box_mesh_free(&c->box);
    free(c->y), free(c->k), free(c->force);
}

static const su_contact_pair *find(curl *c, const double *y, int64_t *count)
{
    const su_contact_pair *pairs;
    assert_int_equal(su_contact_find(c->finder, y, &pairs, count, NULL), SU_OK);
    return pairs;
}

static double energy_at(curl *c, const double *y)
{
    int64_t count;
    const su_contact_pair *pairs = find(c, y, &count);
    return su_contact_energy(count, pairs);
}

static void force_at(curl *c, const double *y)
{
    int64_t count;
    const su_contact_pair *pairs = find(c, y, &count);
    memset(c->force, 0, 3 * (size_t)c->box.n * sizeof *c->force);
    su_contact_force(&c->body, count, pairs, c->force);
}

/* |sum f| and |sum y x f| over the sums of the norms; the latter to the rounding of positions, as large as it becomes
 * when forces are `secant` (N/m) times their differences. */
static void check_momentum(int64_t count, const int32_t *index, const double *y, const double *force, double secant)
{
    double sum[3] = {0}, moment[3] = {0}, size = 0, arm = 0;
    for (int64_t i = 0; i < count; i++) {
        const double *p = y + 3 * (index ? index[i] : i), *f = force + 3 * i;
        double m[3];
        su_cross3(p, f, m);
        for (int k = 0; k < 3; k++) sum[k] += f[k], moment[k] += m[k];
        size += su_norm3(f), arm += su_norm3(p) * (su_norm3(f) + 1e-2 * secant * su_norm3(p));
    }
    assert_true(size > 0);
    assert_true(su_norm3(sum) < 1e-13 * size);
    assert_true(su_norm3(moment) < 1e-13 * arm);
}

static void every_tet_knows_its_way_out(void **unused)
{
    (void)unused;
    curl c;
    curl_create(&c, 0.9, 1);
    double area = 0;
    for (int64_t v = 0; v < c.box.n; v++) area += c.body.area[v];
    assert_true(fabs(area - 50) < 1e-9);
    for (int64_t e = 0; e < c.box.t; e++) {
        assert_true(c.body.nearest[e] >= 0);
        double p[3] = {0}, bary[3];
        for (int i = 0; i < 12; i++) p[i % 3] += 0.25 * c.box.vertices[3 * c.box.tets[4 * e + i / 3] + i % 3];
        int32_t k = c.body.nearest[e];
        double depth = su_contact_descend(&c.body, c.box.vertices, p, &k, bary);
        double box = fmin(fmin(p[0], 12 - p[0]), fmin(fmin(p[1], 1 - p[1]), fmin(p[2], 1 - p[2])));
        assert_true(fabs(depth - box) < 1e-12); /* descent from there ends at the nearest of all */
        assert_true(su_contact_behind(&c.body, c.box.vertices, p, k, bary));
    }
    curl_free(&c);
}

static void open_flesh_has_no_pairs(void **unused)
{
    (void)unused;
    curl c;
    int64_t count;
    curl_create(&c, 0.9, 1);
    find(&c, c.box.vertices, &count);
    assert_int_equal(count, 0);
    find(&c, c.y, &count);
    assert_int_equal(count, 0);
    curl_free(&c);
}

static void pairs_push_out_by_the_nearest_way(void **unused)
{
    (void)unused;
    curl c;
    int64_t count;
    curl_create(&c, 1.4, 1);
    const su_contact_pair *pairs = find(&c, c.y, &count);
    assert_true(count > 20);
    for (int64_t i = 0; i < count; i++) {
        const su_contact_pair *p = pairs + i;
        assert_false(su_contact_related(&c.body, p->vertex, c.body.surface + 3 * p->triangle, 3));
        /* moved along the normal by the depth, and a little more, it is outside */
        double out[3];
        for (int k = 0; k < 3; k++) out[k] = c.y[3 * p->vertex + k] + (1 + 1e-6) * p->depth * p->normal[k];
        assert_false(su_contact_behind(&c.body, c.y, out, p->triangle, p->bary));
        assert_true(fabs(su_norm3(p->normal) - 1) < 1e-12);
        assert_true(p->stiffness == 1000.0 * c.body.area[p->vertex]);
    }
    curl_free(&c);
}

static void forces_keep_both_momenta(void **unused)
{
    (void)unused;
    curl c;
    curl_create(&c, 1.4, 1);
    force_at(&c, c.y);
    check_momentum(c.box.n, NULL, c.y, c.force, 0);
    curl_free(&c);
}

/* Along random directions, with pairs found anew at each of the points. */
static void forces_are_the_gradient_of_the_energy(void **unused)
{
    (void)unused;
    curl c;
    uint64_t seed = 3;
    curl_create(&c, 1.4, 1);
    int64_t n3 = 3 * c.box.n;
    double *trial = malloc((size_t)n3 * sizeof *trial), *way = malloc((size_t)n3 * sizeof *way);
    for (int test = 0; test < 5; test++) {
        double slope = 0, step = 1e-6;
        for (int64_t i = 0; i < n3; i++) way[i] = box_random(&seed);
        force_at(&c, c.y);
        for (int64_t i = 0; i < n3; i++) slope += c.force[i] * way[i];
        for (int64_t i = 0; i < n3; i++) trial[i] = c.y[i] + step * way[i];
        double there = energy_at(&c, trial);
        for (int64_t i = 0; i < n3; i++) trial[i] = c.y[i] - step * way[i];
        double difference = (there - energy_at(&c, trial)) / (2 * step);
        assert_true(fabs(difference - slope) < 1e-5 * fabs(slope));
    }
    free(trial), free(way);
    curl_free(&c);
}

/* The pair's way to its own triangle, at y. */
static void refresh(const curl *c, const double *y, su_contact_pair *pair)
{
    const int32_t *t = c->body.surface + 3 * pair->triangle;
    const double *p = y + 3 * pair->vertex;
    pair->depth = sqrt(su_closest_on_triangle(p, y + 3 * t[0], y + 3 * t[1], y + 3 * t[2], pair->bary));
    for (int k = 0; k < 3; k++) {
        pair->normal[k] = -p[k] / pair->depth;
        for (int j = 0; j < 3; j++) pair->normal[k] += pair->bary[j] * y[3 * t[j] + k] / pair->depth;
    }
}

/* Every pair on its own, its feature (face, edge or vertex) as it is; a part of the depth allowed. */
static void tangents_are_the_derivative_of_forces(void **unused)
{
    (void)unused;
    curl c;
    int64_t count;
    int features[4] = {0};
    curl_create(&c, 1.4, 1);
    const su_contact_pair *found = find(&c, c.y, &count);
    su_contact_pair *pairs = malloc((size_t)count * sizeof *pairs);
    memcpy(pairs, found, (size_t)count * sizeof *pairs);
    double *trial = malloc(3 * (size_t)c.box.n * sizeof *trial);
    for (int64_t i = 0; i < count; i++) {
        double K[144], P[144], share[4], f[2][12];
        int32_t corner[4];
        const int32_t *t = c.body.surface + 3 * pairs[i].triangle;
        static const double beside[3][3] = {{0.5, 0.3, 0.2}, {0.6, 0.6, -0.2}, {1.5, -0.2, -0.3}};
        for (int k = 0; k < 3; k++) {
            c.y[3 * pairs[i].vertex + k] -= 0.5 * pairs[i].depth * pairs[i].normal[k];
            for (int j = 0; j < 3 && i % 3 > 0; j++)
                c.y[3 * pairs[i].vertex + k] += (beside[i % 3][j] - pairs[i].bary[j]) * c.y[3 * t[j] + k];
        }
        refresh(&c, c.y, pairs + i);
        int feature = (pairs[i].bary[0] > 0) + (pairs[i].bary[1] > 0) + (pairs[i].bary[2] > 0);
        pairs[i].allowed = 0.3 * pairs[i].depth;
        su_contact_tangent(&c.body, pairs + i, c.y, false, K);
        su_contact_tangent(&c.body, pairs + i, c.y, true, P);
        su_contact_corners(&c.body, pairs + i, corner, share);
        double off = 0, size = 0, step = 1e-6;
        for (int a = 0; a < 12; a++) {
            for (int side = 0; side < 2; side++) {
                memcpy(trial, c.y, 3 * (size_t)c.box.n * sizeof *trial);
                trial[3 * corner[a / 3] + a % 3] += side ? step : -step;
                su_contact_pair at = pairs[i];
                refresh(&c, trial, &at);
                memset(c.force, 0, 3 * (size_t)c.box.n * sizeof *c.force);
                su_contact_force(&c.body, 1, &at, c.force);
                for (int b = 0; b < 12; b++) f[side][b] = c.force[3 * corner[b / 3] + b % 3];
            }
            for (int b = 0; b < 12; b++) {
                double slope = (f[1][b] - f[0][b]) / (2 * step);
                off = fmax(off, fabs(slope - K[12 * a + b])), size = fmax(size, fabs(K[12 * a + b]));
                assert_true(fabs(P[12 * a + b] - P[12 * b + a]) < 1e-9 * pairs[i].stiffness);
            }
        }
        assert_true(off < 1e-5 * size + 1e-9 * pairs[i].stiffness);
        features[feature]++;
        for (int test = 0; test < 20; test++) { /* semidefinite */
            double z[12], curvature = 0;
            uint64_t seed = 1000 * (uint64_t)i + (uint64_t)test + 1;
            for (int a = 0; a < 12; a++) z[a] = box_random(&seed);
            for (int a = 0; a < 144; a++) curvature += z[a / 12] * P[a] * z[a % 12];
            assert_true(curvature > -1e-9 * pairs[i].stiffness);
        }
    }
    assert_true(features[3] > 3 && features[2] > 3 && features[1] > 3);
    free(pairs), free(trial);
    curl_free(&c);
}

static void what_the_rest_shape_overlaps_is_free_of_force(void **unused)
{
    (void)unused;
    curl c;
    int64_t count, pressed = 0;
    curl_create(&c, 1.4, 1);
    double all = energy_at(&c, c.y);
    su_contact_finder_allow(c.finder, c.y);
    assert_true(all > 0 && energy_at(&c, c.y) == 0);
    /* The end that lies inside, moved outwards by 0.05, is resisted by so much and no more. */
    for (int64_t v = 0; v < c.box.n; v++) {
        double *p = c.y + 3 * v, radius = hypot(p[0], p[1]);
        if (c.box.vertices[3 * v] < 3)
            for (int i = 0; i < 2; i++) p[i] *= 1 + 0.05 / radius;
    }
    const su_contact_pair *pairs = find(&c, c.y, &count);
    for (int64_t i = 0; i < count; i++) {
        pressed += su_contact_pressed(pairs + i);
        assert_true(pairs[i].depth - pairs[i].allowed < 0.12);
    }
    assert_true(pressed > 5);
    su_contact_finder_allow(c.finder, NULL);
    assert_true(energy_at(&c, c.y) > 0);
    curl_free(&c);
}

/* An end pushed right through a bar that is 1 thick: where both sides are as near, ways turn with every move, and what
 * they are allowed turns with them. Nothing that was inside is pressed by more than it and the surface have moved. */
static void what_is_allowed_does_not_jump(void **unused)
{
    enum { MOVES = 40 };
    const double move = 0.08;
    (void)unused;
    curl c;
    int64_t pairs_seen = 0, turned = 0;
    uint64_t seed = 3;
    curl_create(&c, 1.4, 1);
    int64_t n = c.box.n;
    double *rest = malloc(3 * (size_t)n * sizeof *rest), *way = calloc(3 * (size_t)n, sizeof *way);
    bool *inside = calloc((size_t)n, sizeof *inside);
    for (int64_t v = 0; v < n; v++) {
        double *p = c.y + 3 * v, radius = hypot(p[0], p[1]);
        for (int i = 0; i < 2 && c.box.vertices[3 * v] > 9; i++) p[i] *= 1 - 0.55 / radius;
    }
    memcpy(rest, c.y, 3 * (size_t)n * sizeof *rest);
    int64_t count;
    const su_contact_pair *pairs = find(&c, rest, &count);
    for (int64_t i = 0; i < count; i++)
        if (pairs[i].depth > 2 * move) inside[pairs[i].vertex] = true;
    su_contact_finder_allow(c.finder, rest);
    for (int k = 0; k < MOVES; k++) {
        for (int64_t i = 0; i < 3 * n; i++) c.y[i] = rest[i] + move * box_random(&seed) / sqrt(3);
        pairs = find(&c, c.y, &count);
        for (int64_t i = 0; i < count; i++) {
            const su_contact_pair *pair = pairs + i;
            if (!inside[pair->vertex]) continue;
            double *before = way + 3 * (int64_t)pair->vertex;
            pairs_seen++, turned += su_norm3(before) > 0 && su_dot3(before, pair->normal) < 0.5;
            memcpy(before, pair->normal, sizeof pair->normal);
            double shares = 1; /* of a foot beside its triangle are some below 0 */
            for (int j = 0; j < 3; j++) shares += fabs(pair->bary[j]);
            assert_true(pair->depth - pair->allowed <= shares * move);
        }
    }
    print_message("%d pairs, %d ways turned\n", (int)pairs_seen, (int)turned);
    assert_true(pairs_seen > 100 && turned > 10);
    free(rest), free(way), free(inside);
    curl_free(&c);
}

/* The same bits from three threads as from one, and from a finder that has followed the flesh there. */
static void pairs_depend_on_positions_alone(void **unused)
{
    (void)unused;
    curl a, b;
    int64_t counts[2];
    curl_create(&a, 1.4, 1), curl_create(&b, 1.4, 3);
    double *way = malloc(3 * (size_t)a.box.n * sizeof *way);
    for (int step = 0; step <= 20; step++) {
        for (int64_t i = 0; i < 3 * a.box.n; i++) way[i] = b.y[i] + 0.02 * (20 - step) * (b.box.vertices[i] - b.y[i]);
        find(&b, way, &counts[1]);
    }
    const su_contact_pair *p = find(&a, a.y, &counts[0]), *q = find(&b, way, &counts[1]);
    assert_int_equal(counts[0], counts[1]);
    for (int64_t i = 0; i < counts[0]; i++) {
        assert_int_equal(p[i].vertex, q[i].vertex);
        assert_int_equal(p[i].triangle, q[i].triangle);
        assert_memory_equal(p[i].bary, q[i].bary, sizeof p[i].bary);
        assert_true(p[i].depth == q[i].depth);
    }
    free(way);
    curl_free(&a), curl_free(&b);
}

/* What triangles and tets say of a body's vertices. */
static su_contact_patch piece_of(const curl *c, int64_t b, const int32_t *surface, const int32_t *nearest)
{
    su_contact_patch patch;
    int64_t n = c->box.n;
    int32_t *start = malloc((size_t)(n + 1) * sizeof *start);
    for (int64_t v = 0; v <= n; v++) start[v] = (int32_t)c->body.ring_start[v];
    const su_contact_piece piece = {.n = n,
                                    .b = b,
                                    .t = c->box.t,
                                    .neutral = c->box.vertices,
                                    .surface = surface,
                                    .tets = c->box.tets,
                                    .related_start = start,
                                    .related = c->body.ring,
                                    .nearest = nearest};
    assert_int_equal(su_contact_patch_create(&piece, &patch, NULL), SU_OK);
    free(start);
    return patch;
}

/* A piece finds what is found on the whole body: from the tet that holds the vertex and from those beside it, nothing
 * where no tet does, and of a single triangle what ends on that, not at its rim. */
static void a_piece_finds_what_the_whole_does(void **unused)
{
    (void)unused;
    curl c;
    int64_t count, beside = 0, rims = 0;
    curl_create(&c, 1.4, 1);
    const su_contact_pair *found = find(&c, c.y, &count);
    su_contact_patch all = piece_of(&c, c.body.b, c.body.surface, c.body.nearest);
    int32_t *first = calloc((size_t)c.box.t, sizeof *first);
    bool *inside = calloc((size_t)c.box.n, sizeof *inside);
    for (int64_t i = 0; i < count; i++) {
        const su_contact_pair *whole = found + i;
        inside[whole->vertex] = true;
        for (int side = -1; side < 4; side++) {
            su_contact_pair own = {.vertex = whole->vertex, .tet = whole->tet};
            if (side >= 0) own.tet = all.neighbour[4 * (int64_t)whole->tet + side];
            if (own.tet < 0) continue;
            su_contact_patch_look(&all, c.y, &own);
            if (own.tet != whole->tet) continue; /* on the face between the two */
            assert_int_equal(own.triangle, whole->triangle);
            assert_true(fabs(own.depth - whole->depth) <= 1e-12);
            assert_true(su_dot3(own.normal, whole->normal) > 1 - 1e-12);
            beside += side >= 0;
            su_contact_patch_look(&all, c.box.vertices, &own); /* straight */
            assert_true(own.depth == 0);
        }
        int32_t corner = c.body.surface[3 * (int64_t)whole->triangle];
        for (int64_t j = c.body.around_start[corner]; j < c.body.around_start[corner + 1]; j++) {
            su_contact_patch one = piece_of(&c, 1, c.body.surface + 3 * (int64_t)c.body.around[j], first);
            su_contact_pair own = {.vertex = whole->vertex, .tet = whole->tet};
            su_contact_patch_look(&one, c.y, &own);
            bool same = c.body.around[j] == whole->triangle;
            assert_true(same ? own.depth == whole->depth : own.depth == 0 || own.depth > whole->depth);
            rims += own.depth == 0;
            su_contact_patch_free(&one);
        }
    }
    assert_true(count > 20 && beside > 3 * count && rims > 3 * count);
    for (int64_t i = 0; i < c.body.surface_count; i++) {
        su_contact_pair none = {.vertex = c.body.vertex[i], .tet = found[0].tet};
        su_contact_patch_look(&all, c.y, &none);
        assert_true(inside[none.vertex] || none.depth == 0);
    }
    su_contact_patch_free(&all);
    free(first), free(inside);
    curl_free(&c);
}

/* Two boxes that fill the same space: the way out of each is its own surface, and vertices of one in the other see the
 * other's, all of which the mesh allows for where its neutral shape has it. */
static void copies_that_overlap_keep_apart(void **unused)
{
    (void)unused;
    box_mesh one = box_mesh_create(4, 4, 4, 1, 1, 1);
    int64_t n = 2 * one.n, t = 2 * one.t, count;
    double *x = malloc(3 * (size_t)n * sizeof *x), *k = box_constant(n, 1.0);
    int32_t *tets = malloc(4 * (size_t)t * sizeof *tets);
    for (int64_t i = 0; i < 3 * one.n; i++)
        x[i] = one.vertices[i], x[3 * one.n + i] = one.vertices[i] + (i % 3 == 0 ? 0.77 : 0.013);
    for (int64_t i = 0; i < 4 * one.t; i++) tets[i] = one.tets[i], tets[4 * one.t + i] = one.tets[i] + (int32_t)one.n;
    su_contact_body body;
    su_contact_finder *finder;
    const su_contact_pair *pairs;
    assert_int_equal(su_contact_body_create(n, x, t, tets, &body, NULL), SU_OK);
    for (int64_t e = 0; e < t; e++)
        assert_int_equal(body.owner[body.nearest[e]] < one.t, e < one.t); /* through the flesh */
    assert_int_equal(su_contact_finder_create(&body, 1, &finder, NULL), SU_OK);
    su_contact_finder_set_stiffness(finder, k);
    assert_int_equal(su_contact_find(finder, x, &pairs, &count, NULL), SU_OK);
    assert_true(count > 10);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(pairs[i].vertex < one.n, body.surface[3 * pairs[i].triangle] >= one.n);
        assert_true(pairs[i].depth <= 0.23 + 1e-12);
    }
    su_contact_finder_allow(finder, x);
    assert_int_equal(su_contact_find(finder, x, &pairs, &count, NULL), SU_OK);
    assert_true(su_contact_energy(count, pairs) == 0);

    /* at any pose: turned as a whole they are as they were, pushed together by 0.1 they are resisted by that */
    double *y = malloc(3 * (size_t)n * sizeof *y), deepest = 0;
    su_contact_finder_allow(finder, NULL);
    assert_int_equal(su_contact_finder_allow_copies(finder, NULL), SU_OK);
    for (int push = 0; push < 2; push++) {
        for (int64_t v = 0; v < n; v++) {
            double out = x[3 * v] - (push && v >= one.n ? 0.1 : 0);
            y[3 * v] = -0.8 * out + 0.6 * x[3 * v + 1], y[3 * v + 1] = -0.6 * out - 0.8 * x[3 * v + 1];
            y[3 * v + 2] = x[3 * v + 2];
        }
        assert_int_equal(su_contact_find(finder, y, &pairs, &count, NULL), SU_OK);
        assert_true(count > 10);
        if (!push) assert_true(su_contact_energy(count, pairs) < 1e-24);
    }
    for (int64_t i = 0; i < count; i++) deepest = fmax(deepest, pairs[i].depth - pairs[i].allowed);
    assert_true(fabs(deepest - 0.1) < 1e-9);
    su_contact_finder_free(finder);
    su_contact_body_free(&body);
    box_mesh_free(&one);
    free(x), free(y), free(k), free(tets);
}

/* The way of a vertex at y, out of what is kept; NULL: none. *count: its pairs. */
static const su_contact_pair *way_of(const su_kept_pairs *kept, int32_t vertex, int *count)
{
    const su_contact_pair *way = NULL;
    *count = 0;
    for (int64_t k = 0; k < kept->count; k++)
        if (kept->pairs[k].vertex == vertex) way = kept->pairs + k, ++*count;
    return way;
}

/* A box whose corner is deep in another, a little nearer to one face and then to the one beside: in one step it goes on
 * by the way it has, the next begins with the nearer one; where pairs are aimed it may have both. */
static void a_vertex_that_has_a_way_gets_no_other(void **unused)
{
    (void)unused;
    box_mesh one = box_mesh_create(8, 8, 8, 1, 1, 1);
    int64_t n = 2 * one.n, t = 2 * one.t, met;
    double *x = malloc(3 * (size_t)n * sizeof *x), *y = malloc(3 * (size_t)n * sizeof *y), *k = box_constant(n, 1.0);
    int32_t *tets = malloc(4 * (size_t)t * sizeof *tets), corner = 0;
    for (int64_t i = 0; i < 3 * one.n; i++) x[i] = one.vertices[i], x[3 * one.n + i] = one.vertices[i] + 2;
    for (int64_t i = 0; i < 4 * one.t; i++) tets[i] = one.tets[i], tets[4 * one.t + i] = one.tets[i] + (int32_t)one.n;
    for (int32_t v = 0; v < one.n; v++)
        if (one.vertices[3 * v] + one.vertices[3 * v + 1] + one.vertices[3 * v + 2] < 1e-9) corner = v + (int32_t)one.n;
    su_contact_body body;
    su_contact_finder *finder;
    su_kept_pairs kept;
    assert_int_equal(su_contact_body_create(n, x, t, tets, &body, NULL), SU_OK);
    assert_int_equal(su_contact_finder_create(&body, 1, &finder, NULL), SU_OK);
    su_contact_finder_set_stiffness(finder, k);
    assert_int_equal(su_kept_pairs_create(&body, finder, &kept, NULL), SU_OK);
    for (int aimed = 0; aimed < 2; aimed++) {
        const su_contact_pair *way;
        int count, nearer = 0;
        su_kept_pairs_begin(&kept, NULL);
        for (int move = 0; move < 3; move++, nearer = 1) {
            memcpy(y, x, 3 * (size_t)one.n * sizeof *y);
            for (int64_t i = 3 * one.n; i < 3 * n; i++)
                y[i] = x[i] - 2 + (i % 3 == 2 ? 0.51 : i % 3 == nearer ? 0.66 : 0.62);
            if (move == 2) su_kept_pairs_begin(&kept, NULL);
            if (aimed)
                assert_int_equal(su_kept_pairs_aim(&kept, y, NULL), SU_OK);
            else
                assert_int_equal(su_kept_pairs_meet(&kept, y, &met, NULL), SU_OK);
            assert_non_null(way = way_of(&kept, corner, &count));
            assert_int_equal(count, move == 1 && aimed ? 2 : 1);
            bool first = move == 0 || (move == 1 && !aimed); /* the last one is shown */
            assert_true(fabs(way->normal[first ? 0 : 1] - 1) < 1e-9);
            assert_true(fabs(way->depth - (move == 1 && !aimed ? 0.38 : 0.34)) < 1e-9);
        }
    }
    su_kept_pairs_free(&kept);
    su_contact_finder_free(finder);
    su_contact_body_free(&body);
    box_mesh_free(&one);
    free(x), free(y), free(k), free(tets);
}

static void friction_keeps_both_momenta_and_is_a_gradient(void **unused)
{
    (void)unused;
    curl c;
    int64_t count;
    int held = 0, slid = 0;
    uint64_t seed = 11;
    curl_create(&c, 1.4, 1);
    const su_contact_pair *pairs = find(&c, c.y, &count);
    double *before = malloc(3 * (size_t)c.box.n * sizeof *before);
    for (int64_t i = 0; i < count; i++) {
        double f[12], g[12], K[144], share[4], h = 0.01, step = 1e-9;
        int32_t corner[4];
        double reach = i % 2 ? 1e-5 : 1e-3; /* below and above what holds */
        for (int64_t v = 0; v < 3 * c.box.n; v++) before[v] = c.y[v] + reach * box_random(&seed);
        su_contact_grip grip = su_contact_grip_of(&c.body, pairs + i, 0.5, h, before);
        assert_true(grip.limit > 0);
        su_contact_corners(&c.body, pairs + i, corner, share);
        double energy = su_contact_grip_evaluate(&c.body, &grip, c.y, f, K);
        assert_true(energy > 0);
        *(energy > 0.5 * grip.limit * grip.hold ? &slid : &held) += 1;
        check_momentum(4, corner, c.y, f, grip.limit / grip.hold);
        for (int a = 0; a < 12; a++) {
            double *at = c.y + 3 * corner[a / 3] + a % 3, kept = *at, value[2];
            for (int side = 0; side < 2; side++) {
                *at = kept + (side ? step : -step);
                value[side] = su_contact_grip_evaluate(&c.body, &grip, c.y, NULL, NULL);
            }
            *at = kept, g[a] = (value[1] - value[0]) / (2 * step);
            assert_true(fabs(g[a] - f[a]) < 1e-4 * grip.limit);
        }
    }
    assert_true(held > 5 && slid > 5);
    free(before);
    curl_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tet_knows_its_way_out),
        cmocka_unit_test(open_flesh_has_no_pairs),
        cmocka_unit_test(pairs_push_out_by_the_nearest_way),
        cmocka_unit_test(forces_keep_both_momenta),
        cmocka_unit_test(forces_are_the_gradient_of_the_energy),
        cmocka_unit_test(tangents_are_the_derivative_of_forces),
        cmocka_unit_test(what_the_rest_shape_overlaps_is_free_of_force),
        cmocka_unit_test(what_is_allowed_does_not_jump),
        cmocka_unit_test(pairs_depend_on_positions_alone),
        cmocka_unit_test(a_piece_finds_what_the_whole_does),
        cmocka_unit_test(copies_that_overlap_keep_apart),
        cmocka_unit_test(a_vertex_that_has_a_way_gets_no_other),
        cmocka_unit_test(friction_keeps_both_momenta_and_is_a_gradient),
    };
    return cmocka_run_group_tests_name("self_contact", tests, NULL, NULL);
}
