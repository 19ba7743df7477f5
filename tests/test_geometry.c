/* Surfaces, search structures, winding numbers, embedding, held vertices: against brute force and closed forms. */
#include "geometry/distance.h"
#include "geometry/embed.h"
#include "geometry/flesh.h"
#include "geometry/intersect.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"
#include "geometry/ties.h"
#include "geometry/surface.h"
#include "geometry/thickness.h"
#include "geometry/winding.h"
#include "skins.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"
#include "held_flesh.h"

static uint64_t seed = 1;

static double uniform(void) /* in [-1, 1) */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(1ull << 52) - 1.0;
}

static void random_point(double scale, double p[3])
{
    for (int i = 0; i < 3; i++) p[i] = scale * uniform();
}

static su_surface surface_of(skin *s)
{
    su_surface surface;
    su_error err = {0};
    if (su_surface_create(s->n, s->x, s->t, s->triangles, NULL, &surface, &err)) fail_msg("%s: %s", s->name, err.text);
    skin_free(s);
    return surface;
}

static void test_surface_topology(void **state)
{
    (void)state;
    skin s = skin_sphere(0.1, 12);
    int64_t n = s.n, t = s.t;
    su_surface a = surface_of(&s);
    assert_true(a.closed && a.n == n && a.t == t && a.components == 1);
    assert_true(a.volume > 0.95 * 4.0 / 3.0 * M_PI * 1e-3 && a.volume < 4.0 / 3.0 * M_PI * 1e-3);
    s = skin_turned_around();
    su_surface b = surface_of(&s);
    assert_true(b.closed && b.flipped_edges > 0);
    assert_near(b.volume, a.volume, 1e-12);
    s = skin_repeated();
    su_surface c = surface_of(&s);
    assert_true(c.closed && c.n == n && c.t == t && c.dropped_repeated == t);
    s = skin_degenerate();
    su_surface d = surface_of(&s);
    assert_true(d.closed && d.dropped_degenerate == 20);
    s = skin_fin();
    su_surface e = surface_of(&s);
    assert_true(!e.closed && e.nonmanifold_edges == 11 && e.boundary_edges > 0);
    s = skin_components(7);
    su_surface f = surface_of(&s);
    assert_true(f.closed && f.components == 7);
    /* a cavity keeps its orientation, so its volume is subtracted; a shell inside a shell counts twice */
    s = skin_nested(0.1, 0.05, 1);
    su_surface g = surface_of(&s);
    s = skin_nested(0.1, 0.05, 0);
    su_surface h = surface_of(&s);
    assert_true(g.volume < 0.9 * h.volume);
    su_surface *all[] = {&a, &b, &c, &d, &e, &f, &g, &h};
    for (int k = 0; k < 8; k++) su_surface_free(all[k]);
}

static void test_rigid_vertices_are_left_out(void **state)
{
    (void)state;
    skin s = skin_components(2);
    uint8_t *rigid = calloc((size_t)s.n, 1);
    for (int64_t v = s.n / 2; v < s.n; v++) rigid[v] = 1;
    su_surface surface;
    su_error err = {0};
    assert_int_equal(su_surface_create(s.n, s.x, s.t, s.triangles, rigid, &surface, &err), SU_OK);
    assert_true(surface.n == s.n / 2 && surface.components == 1 && surface.closed);
    for (int64_t v = 0; v < s.n; v++) assert_int_equal(surface.vertex[v] < 0, rigid[v]);
    su_surface_free(&surface);
    skin_free(&s);
    free(rigid);
}

static void test_closest_point(void **state)
{
    (void)state;
    skin s = skin_scan(8);
    su_surface surface = surface_of(&s);
    su_boxtree tree;
    su_error err = {0};
    assert_int_equal(su_boxtree_of_triangles(surface.x, surface.t, surface.triangles, &tree, &err), SU_OK);
    for (int k = 0; k < 300; k++) {
        double p[3], bary[3], best = INFINITY, back[3] = {0, 0, 0};
        int32_t triangle;
        random_point(0.6, p);
        double d = su_closest_point(&tree, surface.x, surface.triangles, p, INFINITY, &triangle, bary);
        for (int i = 0; i < 9; i++)
            back[i % 3] += bary[i / 3] * surface.x[3 * surface.triangles[3 * triangle + i / 3] + i % 3];
        assert_near(su_distance3(back, p), d, 1e-14);
        for (int64_t t = 0; t < surface.t; t++) {
            /* dense samples can only be farther, the corners are exact */
            const int32_t *c = surface.triangles + 3 * t;
            for (int i = 0; i <= 8; i++)
                for (int j = 0; i + j <= 8; j++) {
                    double q[3];
                    for (int m = 0; m < 3; m++)
                        q[m] = (i * surface.x[3 * c[0] + m] + j * surface.x[3 * c[1] + m] +
                                (8 - i - j) * surface.x[3 * c[2] + m]) /
                               8.0;
                    best = fmin(best, su_distance3(p, q));
                }
        }
        assert_true(d <= best + 1e-14 && d >= best - 0.02);
        if (d > 0.01)
            assert_true(su_closest_point(&tree, surface.x, surface.triangles, p, 0.99 * d, &triangle, NULL) ==
                            0.99 * d &&
                        triangle == -1);
    }
    su_boxtree_free(&tree);
    su_surface_free(&surface);
}

static void test_winding_numbers(void **state)
{
    (void)state;
    skin s = skin_nested(0.1, 0.05, 0);
    su_surface surface = surface_of(&s);
    su_boxtree tree;
    su_winding *winding;
    su_error err = {0};
    assert_int_equal(su_boxtree_of_triangles(surface.x, surface.t, surface.triangles, &tree, &err), SU_OK);
    assert_int_equal(su_winding_create(&tree, surface.x, surface.triangles, &winding, &err), SU_OK);
    for (int k = 0; k < 2000; k++) {
        double p[3];
        random_point(0.15, p);
        double r = su_norm3(p), w = su_winding_at(winding, p);
        if (fabs(r - 0.1) < 0.002 || fabs(r - 0.05) < 0.002) continue;
        assert_near(w, (r < 0.1) + (r < 0.05), 0.05);
    }
    su_winding_free(winding);
    su_boxtree_free(&tree);
    su_surface_free(&surface);
}

static void test_nearest_points(void **state)
{
    (void)state;
    enum { N = 700 };
    double points[3 * N];
    for (int v = 0; v < N; v++) random_point(1.0, points + 3 * v);
    memcpy(points + 3 * 5, points + 3 * 4, 3 * sizeof *points); /* a tie */
    su_kdtree *tree;
    su_error err = {0};
    assert_int_equal(su_kdtree_create(N, points, &tree, &err), SU_OK);
    for (int k = 0; k < 200; k++) {
        double p[3], d[4];
        int32_t index[4];
        random_point(1.2, p);
        if (k == 0) memcpy(p, points + 3 * 4, sizeof p);
        assert_int_equal(su_kdtree_nearest(tree, p, 4, index, d), 4);
        for (int i = 0; i < 4; i++) {
            int nearer = 0;
            for (int v = 0; v < N; v++) {
                double e = su_distance3(points + 3 * v, p);
                nearer += e < d[i] || (e == d[i] && v < index[i]);
            }
            assert_int_equal(nearer, i);
        }
    }
    su_kdtree_free(tree);
}

/* Points inside a cloud of skin points: rows sum to 1, affine motion is followed to a few thousandths of the size (the
 * nearest four by inverse distance miss it by a tenth); a point on the skin takes that vertex alone; other bones'
 * vertices do not pull. */
static void test_ties(void **state)
{
    (void)state;
    enum { SKIN = 400, FLESH = 60 };
    double cloud[3 * SKIN], flesh[3 * FLESH], map[9] = {0.1, -0.9, 0.2, 0.8, 0.2, -0.3, 0.1, 0.4, 1.1};
    static int32_t index[SU_TIES * FLESH];
    static double weight[SU_TIES * FLESH];
    su_error err = {0};
    for (int k = 0; k < SKIN; k++) { /* a sphere, by the golden angle */
        double z = 1 - (2 * k + 1.0) / SKIN, r = sqrt(1 - z * z), a = 2.399963229728653 * k;
        cloud[3 * k] = r * cos(a), cloud[3 * k + 1] = r * sin(a), cloud[3 * k + 2] = z;
    }
    for (int v = 0; v < FLESH; v++)
        for (int i = 0; i < 3; i++) flesh[3 * v + i] = (0.8 + 0.002 * v) * cloud[3 * (6 * v + 3) + i];
    memcpy(flesh, cloud + 3 * 17, 3 * sizeof *flesh);
    su_tie_skin tied = {.count = SKIN, .x = cloud};
    assert_int_equal(su_ties(FLESH, flesh, NULL, &tied, 1, index, weight, &err), SU_OK);
    assert_true(index[0] == 17 && weight[0] == 1);
    double worst = 0;
    for (int v = 1; v < FLESH; v++) {
        double want[3], d[3] = {0}, image[3], sum = 0;
        su_mulv3(map, flesh + 3 * v, want);
        for (int k = 0; k < SU_TIES; k++) {
            double w = weight[SU_TIES * v + k];
            su_mulv3(map, cloud + 3 * index[SU_TIES * v + k], image);
            for (int i = 0; i < 3; i++) d[i] += w * image[i];
            sum += w;
        }
        assert_near(sum, 1, 1e-12);
        worst = fmax(worst, su_distance3(d, want));
    }
    assert_true(worst < 0.02);
    static float skinning[2 * SKIN]; /* the upper half of the sphere belongs to another bone */
    for (int k = 0; k < SKIN; k++) skinning[2 * k + (cloud[3 * k + 2] > 0)] = 1;
    tied.B = 2, tied.skinning = skinning;
    assert_int_equal(su_ties(FLESH, flesh, NULL, &tied, 2, index, weight, &err), SU_OK);
    for (int v = 1; v < FLESH; v++)
        for (int k = 0; k < SU_TIES; k++)
            if (skinning[2 * index[SU_TIES * v + k]] != skinning[2 * index[SU_TIES * v]])
                assert_true(weight[SU_TIES * v + k] == 0);
}

static void test_intersections(void **state)
{
    (void)state;
    double x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, 0.2, -1, 0.3, 0.2, 1, 0.2, 0.3, 1, 5, 5, 5, 6, 5, 5, 5, 6, 5};
    int32_t t[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    su_surface surface;
    su_boxtree tree;
    su_error err = {0};
    int64_t count;
    int32_t *pairs;
    assert_int_equal(su_surface_create(9, x, 3, t, NULL, &surface, &err), SU_OK);
    assert_int_equal(su_boxtree_of_triangles(surface.x, surface.t, surface.triangles, &tree, &err), SU_OK);
    assert_int_equal(su_surface_intersections(&surface, &tree, 0, &count, &pairs, &err), SU_OK);
    assert_int_equal(count, 1);
    assert_true(pairs[0] == 0 && pairs[1] == 1);
    free(pairs);
    su_boxtree_free(&tree);
    su_surface_free(&surface);
}

/* ---- held vertices: in a capsule along y ---- */

static su_flesh capsule_flesh(int64_t tets)
{
    skin s = skin_capsule(0.05, 0.4, 12);
    su_surface surface = surface_of(&s);
    su_flesh_settings settings = su_flesh_defaults();
    su_flesh flesh;
    su_error err = {0};
    settings.method = SU_MESH_SDF, settings.tets = tets;
    if (su_flesh_build(&surface, &settings, &flesh, &err)) fail_msg("%s", err.text);
    su_surface_free(&surface);
    return flesh;
}

static void test_bones_hold_what_they_pass_through(void **state)
{
    (void)state;
    su_flesh flesh = capsule_flesh(5000);
    double segments[] = {0, 0.0, 0, 0, 0.2, 0, 0, 0.2, 0, 0, 0.4, 0};
    su_held_bones bones = {.count = 2, .segments = segments};
    su_held held = held_by(&flesh.mesh, &bones, 2);
    su_error err = {0};
    assert_true(held.parts == 1 && !held.part_core[0] && held.count > 20);
    /* every tet at 2000 points of the bones is held, and nothing farther than a tet from them is */
    double points[3 * 2000], bary[4 * 2000];
    int32_t holder[2000];
    int64_t outside, seen[2] = {0, 0};
    for (int k = 0; k < 2000; k++) points[3 * k] = 0, points[3 * k + 1] = 0.4 * k / 1999.0, points[3 * k + 2] = 0;
    assert_int_equal(su_embed_points(&flesh.mesh, 2000, points, 1, holder, bary, &outside, &err), SU_OK);
    assert_int_equal(outside, 0);
    for (int k = 0; k < 2000; k++)
        for (int i = 0; i < 4; i++) assert_true(held.fixed[flesh.mesh.tets[4 * (int64_t)holder[k] + i]]);
    for (int64_t v = 0; v < flesh.mesh.n; v++) {
        const double *x = flesh.mesh.x + 3 * v;
        if (!held.fixed[v]) {
            assert_int_equal(held.bone[v], -1);
            continue;
        }
        assert_true(hypot(x[0], x[2]) < 2.0 * flesh.cell);
        assert_true(held.bone[v] == 0 || held.bone[v] == 1);
        if (x[1] < 0.2 - flesh.cell) assert_int_equal(held.bone[v], 0);
        if (x[1] > 0.2 + flesh.cell) assert_int_equal(held.bone[v], 1);
        seen[held.bone[v]]++;
    }
    assert_true(seen[0] > 0 && seen[1] > 0);
    int64_t all = held.count;
    su_held_free(&held);
    uint8_t holds[] = {1, 0}; /* the upper bone wobbles */
    bones.holds = holds;
    held = held_by(&flesh.mesh, &bones, 2);
    assert_true(held.count < all && held.count > 0);
    for (int64_t v = 0; v < flesh.mesh.n; v++)
        assert_true(!held.fixed[v] || flesh.mesh.x[3 * v + 1] < 0.2 + 1.5 * flesh.cell);
    su_held_free(&held);
    su_flesh_free(&flesh);
}

/* A bone is a fifth of its depth thick, and not as thin as the mesh is fine. */
static void test_bones_are_thick_in_fine_meshes(void **state)
{
    (void)state;
    su_flesh flesh = capsule_flesh(60000);
    double segment[] = {0, 0.1, 0, 0, 0.3, 0};
    su_held_bones bones = {.count = 1, .segments = segment};
    su_held held;
    int64_t inside = 0;
    assert_true(flesh.cell < 0.2 * 0.05);
    held = held_by(&flesh.mesh, &bones, 1);
    for (int64_t v = 0; v < flesh.mesh.n; v++) {
        const double *x = flesh.mesh.x + 3 * v;
        if (x[1] < 0.1 || x[1] > 0.3 || hypot(x[0], x[2]) > 0.2 * 0.05) continue;
        assert_true(held.fixed[v]);
        inside++;
    }
    assert_true(inside > 50);
    for (int64_t v = 0; v < flesh.mesh.n; v++) /* nor thicker than that or a tet */
        assert_true(!held.fixed[v] || hypot(flesh.mesh.x[3 * v], flesh.mesh.x[3 * v + 2]) < 0.2 * 0.06 + flesh.cell);
    su_held_free(&held);
    su_flesh_free(&flesh);
}

static void test_core_where_no_bone_passes(void **state)
{
    (void)state;
    su_flesh flesh = capsule_flesh(5000);
    double away[] = {5, 5, 5, 6, 6, 6};
    su_held_bones bones = {.count = 1, .segments = away};
    su_held held = held_by(&flesh.mesh, &bones, 2);
    assert_true(held.parts == 1 && held.part_core[0] && held.count >= 3);
    assert_true(held.part_share[0] > 0.02 && held.part_share[0] < 0.4);
    for (int64_t v = 0; v < flesh.mesh.n; v++) {
        const double *x = flesh.mesh.x + 3 * v;
        assert_int_equal(held.bone[v], -1);
        if (held.fixed[v]) assert_true(hypot(x[0], x[2]) < 0.03); /* deeper than 0.6 of about 0.05 */
    }
    su_held_free(&held);
    su_flesh_free(&flesh);
}

static void test_thickness_of_a_ball(void **state)
{
    (void)state;
    skin s = skin_sphere(0.1, 16);
    su_surface surface = surface_of(&s);
    su_flesh_settings settings = su_flesh_defaults();
    su_flesh flesh;
    su_error err = {0};
    settings.method = SU_MESH_SDF, settings.tets = 8000;
    assert_int_equal(su_flesh_build(&surface, &settings, &flesh, &err), SU_OK);
    double *depth = malloc((size_t)flesh.mesh.n * sizeof *depth), *half = malloc((size_t)flesh.mesh.n * sizeof *half);
    assert_int_equal(su_flesh_thickness(&flesh.mesh, 2, depth, half, &err), SU_OK);
    for (int64_t v = 0; v < flesh.mesh.n; v++) {
        double r = su_norm3(flesh.mesh.x + 3 * v);
        if (r < 0.08) assert_near(depth[v], 0.1 - r, 0.008);
        if (r < 0.08) assert_near(half[v], 0.1, 0.02);
        assert_true(half[v] >= depth[v]);
    }
    free(depth);
    free(half);
    su_flesh_free(&flesh);
    su_surface_free(&surface);
}

/* As its definition says, ball by ball. */
static void test_thickness_is_that_of_the_largest_ball(void **state)
{
    (void)state;
    su_flesh flesh = capsule_flesh(5000);
    const int64_t n = flesh.mesh.n;
    const double *x = flesh.mesh.x;
    su_error err = {0};
    double *depth = malloc((size_t)n * sizeof *depth), *half = malloc((size_t)n * sizeof *half);
    assert_int_equal(su_flesh_thickness(&flesh.mesh, 2, depth, half, &err), SU_OK);
    for (int64_t v = 0; v < n; v++) {
        double largest = 0;
        for (int64_t w = 0; w < n; w++)
            if (su_distance3(x + 3 * v, x + 3 * w) <= depth[w]) largest = fmax(largest, depth[w]);
        assert_true(half[v] == largest);
    }
    free(depth), free(half);
    su_flesh_free(&flesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_surface_topology),
        cmocka_unit_test(test_rigid_vertices_are_left_out),
        cmocka_unit_test(test_closest_point),
        cmocka_unit_test(test_winding_numbers),
        cmocka_unit_test(test_nearest_points),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_intersections),
        cmocka_unit_test(test_bones_hold_what_they_pass_through),
        cmocka_unit_test(test_bones_are_thick_in_fine_meshes),
        cmocka_unit_test(test_core_where_no_bone_passes),
        cmocka_unit_test(test_thickness_of_a_ball),
        cmocka_unit_test(test_thickness_is_that_of_the_largest_ball),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
