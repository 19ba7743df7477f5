/* Meshing any skin: what must hold for every result, on good skins and on a dozen bad ones. */
#include "box.h"
#include "core/threads.h"
#include "geometry/bridges.h"
#include "geometry/embed.h"
#include "geometry/flesh.h"
#include "geometry/mat3.h"
#include "skins.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static su_surface surface_of(const skin *s)
{
    su_surface surface;
    su_error err = {0};
    if (su_surface_create(s->n, s->x, s->t, s->triangles, NULL, &surface, &err)) fail_msg("%s: %s", s->name, err.text);
    return surface;
}

static su_flesh build(const skin *s, const su_surface *surface, su_mesh_method method, int64_t tets)
{
    su_flesh_settings settings = su_flesh_defaults();
    su_flesh flesh;
    su_error err = {0};
    settings.method = method, settings.tets = tets, settings.threads = 2;
    if (su_flesh_build(surface, &settings, &flesh, &err)) fail_msg("%s: %s", s->name, err.text);
    return flesh;
}

static int32_t root_of(int32_t *parent, int32_t k)
{
    while (parent[k] != k) k = parent[k] = parent[parent[k]];
    return k;
}

/* Nothing hangs by an edge or a vertex only: that would swing freely and make stiffness matrices singular. */
static void check_no_hinge(const char *name, const su_tets *m)
{
    su_error err = {0};
    int64_t by_face, by_vertex = 0;
    int32_t *part = malloc((size_t)m->t * sizeof *part), *parent = malloc((size_t)m->n * sizeof *parent);
    assert_int_equal(su_tet_parts(m->t, m->tets, part, &by_face, &err), SU_OK);
    for (int64_t v = 0; v < m->n; v++) parent[v] = (int32_t)v;
    for (int64_t k = 0; k < 4 * m->t; k++) parent[root_of(parent, m->tets[k])] = root_of(parent, m->tets[k - k % 4]);
    for (int64_t v = 0; v < m->n; v++) by_vertex += parent[v] == v;
    if (by_face != by_vertex)
        fail_msg("%s: %lld parts by faces, %lld by vertices", name, (long long)by_face, (long long)by_vertex);
    free(part);
    free(parent);
}

/* Orientation, angles, enclosure, the boundary of a solid: each edge of it has an even number of triangles. */
static void check_flesh(const char *name, const su_surface *surface, const su_flesh *flesh, int64_t wanted)
{
    const su_tets *m = &flesh->mesh;
    su_error err = {0};
    double smallest = 180.0;
    if (llabs(m->t - wanted) > wanted / 5)
        fail_msg("%s: %lld tets, %lld wanted", name, (long long)m->t, (long long)wanted);
    for (int64_t e = 0; e < m->t; e++) {
        const int32_t *t = m->tets + 4 * e;
        assert_true(su_tet_volume(m->x, t) > 0.0);
        double c = su_tet_dihedral_cosine(m->x + 3 * t[0], m->x + 3 * t[1], m->x + 3 * t[2], m->x + 3 * t[3]);
        smallest = fmin(smallest, acos(fmin(1.0, c)) * 180.0 / M_PI);
    }
    if (smallest < 5.0) fail_msg("%s: smallest dihedral angle %g", name, smallest);
    assert_true(fabs(smallest - flesh->quality.dihedral_min) < 1e-6);
    for (int64_t v = 0; v < surface->n; v++) {
        double bary[4], back[3] = {0, 0, 0};
        su_tet_barycentric(m->x, m->tets + 4 * (int64_t)flesh->holder[v], surface->x + 3 * v, bary);
        for (int i = 0; i < 4; i++) {
            if (bary[i] < -1e-9) fail_msg("%s: vertex %lld is outside by %g", name, (long long)v, bary[i]);
            for (int j = 0; j < 3; j++)
                back[j] += bary[i] * m->x[3 * (int64_t)m->tets[4 * (int64_t)flesh->holder[v] + i] + j];
        }
        assert_true(su_distance3(back, surface->x + 3 * v) < 1e-12 + 1e-9 * surface->diagonal);
    }
    int64_t b;
    int32_t *faces;
    double volume = 0.0;
    if (su_tet_boundary(m->t, m->tets, &b, &faces, NULL, &err)) fail_msg("%s: %s", name, err.text);
    for (int64_t k = 0; k < b; k++) { /* divergence theorem: the boundary is outward and whole */
        double h[3];
        const double *p = m->x + 3 * (int64_t)faces[3 * k], *q = m->x + 3 * (int64_t)faces[3 * k + 1],
                     *r = m->x + 3 * (int64_t)faces[3 * k + 2];
        su_cross3(p, q, h);
        volume += su_dot3(h, r) / 6.0;
    }
    assert_true(fabs(volume - flesh->quality.volume) < 1e-9 * flesh->quality.volume + 1e-18);
    free(faces);
    check_no_hinge(name, m);
}

static void check_skin(skin s, int64_t tets)
{
    su_surface surface = surface_of(&s);
    double start = su_seconds();
    su_flesh flesh = build(&s, &surface, SU_MESH_AUTO, tets);
    print_message("# %-30s %7lld tets, %s, dihedral %4.1f / %4.1f, volume %.3f of the skin's, %.2f s\n", s.name,
                  (long long)flesh.mesh.t, flesh.method == SU_MESH_DIRECT ? "direct" : "sdf",
                  flesh.quality.dihedral_min, flesh.quality.dihedral_percentile, flesh.quality.volume / surface.volume,
                  su_seconds() - start);
    check_flesh(s.name, &surface, &flesh, tets);
    su_flesh_free(&flesh);
    su_surface_free(&surface);
    skin_free(&s);
}

static void test_hard_skins(void **state)
{
    (void)state;
    check_skin(skin_sphere(0.1, 16), 4000);
    check_skin(skin_cube(0.1, 6), 4000);
    check_skin(skin_capsule(0.05, 0.3, 12), 4000);
    check_skin(skin_nested(0.1, 0.05, 0), 4000);
    check_skin(skin_nested(0.1, 0.05, 1), 4000);
    check_skin(skin_half_ear(), 4000);
    check_skin(skin_fin(), 4000);
    check_skin(skin_crossing_limbs(), 4000);
    check_skin(skin_components(40), 4000);
    check_skin(skin_degenerate(), 4000);
    check_skin(skin_repeated(), 4000);
    check_skin(skin_membrane(), 4000);
    check_skin(skin_soup(), 4000);
    check_skin(skin_turned_around(), 4000);
    check_skin(skin_fingers(0.001), 4000);
}

static void test_scan_like_surface(void **state)
{
    (void)state;
    check_skin(skin_scan(158), 50000); /* 100 k triangles */
}

/* Both methods on a skin that TetGen likes: one keeps it as it is, the other stays close around it. */
static void test_direct_keeps_the_skin(void **state)
{
    (void)state;
    skin s = skin_cube(0.1, 5);
    su_surface surface = surface_of(&s);
    su_flesh direct = build(&s, &surface, SU_MESH_DIRECT, 8000), around = build(&s, &surface, SU_MESH_SDF, 8000);
    check_flesh("direct", &surface, &direct, 8000);
    check_flesh("sdf", &surface, &around, 8000);
    assert_true(fabs(direct.quality.volume - 1e-3) < 1e-8);
    assert_memory_equal(direct.mesh.x, surface.x, (size_t)(3 * surface.n) * sizeof *surface.x);
    assert_true(around.quality.volume > 1e-3 && around.quality.volume < 1.08e-3);
    assert_true(around.quality.dihedral_min >= 14.9);
    su_flesh_free(&direct);
    su_flesh_free(&around);
    su_surface_free(&surface);
    skin_free(&s);
}

/* A cavity stays empty, a shell inside a solid does not matter. */
static void test_cavity(void **state)
{
    (void)state;
    for (int inward = 0; inward < 2; inward++) {
        skin s = skin_nested(0.1, 0.05, inward);
        su_surface surface = surface_of(&s);
        su_flesh flesh = build(&s, &surface, SU_MESH_SDF, 20000);
        double ball = 4.0 / 3.0 * M_PI * 0.1 * 0.1 * 0.1, ratio = flesh.quality.volume / ball;
        assert_true(inward ? ratio > 0.84 && ratio < 0.93 : ratio > 0.98 && ratio < 1.08);
        su_flesh_free(&flesh);
        su_surface_free(&surface);
        skin_free(&s);
    }
}

/* Shortest way along tet edges, from the corners of one tet to those of another (Dijkstra by sweeps). */
static double way_through(const su_tets *m, int32_t from, int32_t to)
{
    double *d = malloc((size_t)m->n * sizeof *d);
    for (int64_t v = 0; v < m->n; v++) d[v] = INFINITY;
    for (int i = 0; i < 4; i++) d[m->tets[4 * (int64_t)from + i]] = 0.0;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int64_t e = 0; e < m->t; e++)
            for (int i = 0; i < 16; i++) {
                int32_t a = m->tets[4 * e + i / 4], b = m->tets[4 * e + i % 4];
                double length = d[a] + su_distance3(m->x + 3 * (int64_t)a, m->x + 3 * (int64_t)b);
                if (length < d[b] - 1e-15) d[b] = length, changed = 1;
            }
    }
    double best = INFINITY;
    for (int i = 0; i < 4; i++) best = fmin(best, d[m->tets[4 * (int64_t)to + i]]);
    free(d);
    return best;
}

/* Two fingers 1 mm apart, in meshes whose tets are much larger than the gap. */
static void test_fingers_stay_apart(void **state)
{
    (void)state;
    static const int64_t counts[] = {400, 1500, 6000};
    for (int k = 0; k < 3; k++) {
        skin s = skin_fingers(0.001);
        su_surface surface = surface_of(&s);
        su_flesh flesh = build(&s, &surface, SU_MESH_SDF, counts[k]);
        check_flesh(s.name, &surface, &flesh, counts[k]);
        /* inner edges of the two tips, face to face across the gap; the way over the skin is down to the palm and up
         * again */
        int64_t left = -1, right = -1;
        for (int64_t v = 0; v < surface.n; v++) {
            const double *x = surface.x + 3 * v;
            if (x[1] < 0.0799 || fabs(x[2] - 0.005) > 1e-4) continue;
            if (fabs(x[0] - 0.010) < 1e-4) left = v;
            if (fabs(x[0] - 0.011) < 1e-4) right = v;
        }
        assert_true(left >= 0 && right >= 0);
        double way = way_through(&flesh.mesh, flesh.holder[left], flesh.holder[right]), geodesic = 2 * 0.06 + 0.001;
        print_message("# fingers: %lld tets, cell %.1f mm, way through tets %.1f mm, over the skin %.1f mm\n",
                      (long long)flesh.mesh.t, 1e3 * flesh.cell, 1e3 * way, 1e3 * geodesic);
        assert_true(way >= 0.5 * geodesic);
        su_flesh_free(&flesh);
        su_surface_free(&surface);
        skin_free(&s);
    }
}

/* The check that names places where flesh bridges a gap: a plain box of tets around two fingers does, the mesher does
 * not; a thin sheet, whose two sides are far apart along the skin, is no gap. */
static void test_bridges(void **state)
{
    (void)state;
    skin s = skin_fingers(0.001);
    su_surface surface = surface_of(&s);
    su_error err = {0};
    su_bridges found;
    box_mesh box = box_mesh_create(3, 10, 1, 0.0212, 0.0802, 0.0102);
    for (int64_t v = 0; v < 3 * box.n; v++) box.vertices[v] -= 1e-4;
    su_tets mesh = {box.n, box.t, box.vertices, box.tets};
    int32_t *holder = malloc((size_t)surface.n * sizeof *holder);
    double *bary = malloc(4 * (size_t)surface.n * sizeof *bary);
    int64_t outside;
    assert_int_equal(su_embed_points(&mesh, surface.n, surface.x, 1, holder, bary, &outside, &err), SU_OK);
    assert_int_equal(outside, 0);
    assert_int_equal(su_bridges_find(&surface, &mesh, holder, 0, NULL, &found, &err), SU_OK);
    print_message("# a box around the fingers bridges them at %lld vertices\n", (long long)found.count);
    assert_true(found.count > 5 && found.places >= 1);
    for (int k = 0; k < found.places; k++) { /* in the slit, not in the palm */
        assert_true(fabs(found.place[k][0] - 0.0105) < 0.011 && found.place[k][1] > 0.02);
    }
    /* with poses it depends on what they do: fingers that go together are joined without harm, those that part not */
    int64_t all = found.count;
    double *shapes = malloc(6 * (size_t)s.n * sizeof *shapes);
    memcpy(shapes, s.x, 3 * (size_t)s.n * sizeof *shapes);
    memcpy(shapes + 3 * s.n, s.x, 3 * (size_t)s.n * sizeof *shapes);
    for (int64_t v = 0; v < s.n; v++) shapes[3 * v] += 1.0, shapes[3 * (s.n + v)] += 1.0;
    assert_int_equal(su_bridges_find(&surface, &mesh, holder, 2, shapes, &found, &err), SU_OK);
    assert_int_equal(found.count, 0);
    for (int64_t v = 0; v < s.n; v++)
        if (s.x[3 * v + 1] > 0.02 && s.x[3 * v] > 0.0105) shapes[3 * (s.n + v) + 2] += 0.1;
    assert_int_equal(su_bridges_find(&surface, &mesh, holder, 2, shapes, &found, &err), SU_OK);
    print_message("# %lld of %lld where one finger leaves the other at a pose\n", (long long)found.count,
                  (long long)all);
    assert_true(found.count > 5 && found.count <= all);
    free(shapes);
    su_flesh flesh = build(&s, &surface, SU_MESH_SDF, 400);
    assert_int_equal(su_bridges_find(&surface, &flesh.mesh, flesh.holder, 0, NULL, &found, &err), SU_OK);
    assert_int_equal(found.count, 0);
    su_flesh_free(&flesh);
    free(holder), free(bary);
    box_mesh_free(&box);
    su_surface_free(&surface);
    skin_free(&s);
    s = skin_cube(0.1, 8);
    for (int64_t v = 0; v < s.n; v++) s.x[3 * v + 1] *= 0.02;
    surface = surface_of(&s);
    flesh = build(&s, &surface, SU_MESH_SDF, 2000);
    assert_int_equal(su_bridges_find(&surface, &flesh.mesh, flesh.holder, 0, NULL, &found, &err), SU_OK);
    assert_int_equal(found.count, 0);
    su_flesh_free(&flesh);
    su_surface_free(&surface);
    skin_free(&s);
}

/* Finer where thin: the legs of a body whose trunk is twenty times as thick. */
static void test_grading(void **state)
{
    (void)state;
    skin s = skin_sphere(0.2, 24);
    for (int64_t v = 0; v < s.n; v++) { /* two long thin spikes up and down */
        double *x = s.x + 3 * v, r = hypot(x[0], x[2]);
        if (r < 0.06) x[1] *= 1.0 + 2.0 * (0.06 - r) / 0.06;
    }
    su_surface surface = surface_of(&s);
    double edge[2][2] = {{0}};
    for (int k = 0; k < 2; k++) {
        su_flesh_settings settings = su_flesh_defaults();
        su_flesh flesh;
        su_error err = {0};
        int64_t count[2] = {0, 0};
        settings.method = SU_MESH_SDF, settings.tets = 8000, settings.grade = k ? 4.0 : 1.0, settings.threads = 2;
        if (su_flesh_build(&surface, &settings, &flesh, &err)) fail_msg("%s", err.text);
        check_flesh("spikes", &surface, &flesh, 8000);
        for (int64_t e = 0; e < flesh.mesh.t; e++) {
            const int32_t *t = flesh.mesh.tets + 4 * e;
            int thin = fabs(flesh.mesh.x[3 * t[0] + 1]) > 0.35;
            edge[k][thin] += cbrt(su_tet_volume(flesh.mesh.x, t)), count[thin]++;
        }
        for (int i = 0; i < 2; i++) edge[k][i] /= (double)count[i];
        su_flesh_free(&flesh);
    }
    print_message("# grading: mean size of thin over thick %.2f, uniform %.2f\n", edge[1][1] / edge[1][0],
                  edge[0][1] / edge[0][0]);
    assert_true(edge[1][1] / edge[1][0] < 0.75 * edge[0][1] / edge[0][0]);
    su_surface_free(&surface);
    skin_free(&s);
}

/* --edge-length: the mean edge is near the wanted one, by both ways. */
static void test_edge_length(void **state)
{
    (void)state;
    for (int direct = 0; direct < 2; direct++) {
        skin s = direct ? skin_cube(0.1, 4) : skin_sphere(0.1, 16);
        su_surface surface = surface_of(&s);
        su_flesh_settings settings = su_flesh_defaults();
        su_flesh flesh;
        su_error err = {0};
        double sum = 0, wanted = 0.015;
        settings.method = direct ? SU_MESH_DIRECT : SU_MESH_SDF, settings.edge_length = wanted;
        if (su_flesh_build(&surface, &settings, &flesh, &err)) fail_msg("%s: %s", s.name, err.text);
        check_flesh(s.name, &surface, &flesh, flesh.mesh.t);
        for (int64_t k = 0; k < 6 * flesh.mesh.t; k++) {
            static const int edge[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
            const int32_t *tet = flesh.mesh.tets + 4 * (k / 6);
            sum += su_distance3(flesh.mesh.x + 3 * (int64_t)tet[edge[k % 6][0]],
                                flesh.mesh.x + 3 * (int64_t)tet[edge[k % 6][1]]);
        }
        double mean = sum / (6.0 * (double)flesh.mesh.t);
        print_message("# edge length %.4f wanted, mean %.4f\n", wanted, mean);
        assert_true(mean > 0.8 * wanted && mean < 1.2 * wanted);
        su_flesh_free(&flesh);
        su_surface_free(&surface);
        skin_free(&s);
    }
}

/* Grading on skins that leave the lattice in doubt: nothing inverted, nothing on a hinge. */
static void test_grading_bad_skins(void **state)
{
    (void)state;
    skin skins[] = {skin_degenerate(), skin_soup(), skin_fin(), skin_half_ear()};
    for (int k = 0; k < 4; k++) {
        su_surface surface = surface_of(&skins[k]);
        su_flesh_settings settings = su_flesh_defaults();
        su_flesh flesh;
        su_error err = {0};
        settings.method = SU_MESH_SDF, settings.tets = 2500, settings.grade = 3.3, settings.threads = 2;
        if (su_flesh_build(&surface, &settings, &flesh, &err)) fail_msg("%s: %s", skins[k].name, err.text);
        check_flesh(skins[k].name, &surface, &flesh, 2500);
        su_flesh_free(&flesh);
        su_surface_free(&surface);
        skin_free(&skins[k]);
    }
}

static void test_same_bytes_for_any_thread_count(void **state)
{
    (void)state;
    skin s = skin_crossing_limbs();
    su_surface surface = surface_of(&s);
    su_flesh flesh[2];
    for (int k = 0; k < 2; k++) {
        su_flesh_settings settings = su_flesh_defaults();
        su_error err = {0};
        settings.method = SU_MESH_SDF, settings.tets = 4000, settings.threads = 1 + 2 * k;
        assert_int_equal(su_flesh_build(&surface, &settings, &flesh[k], &err), SU_OK);
    }
    assert_int_equal(flesh[0].mesh.n, flesh[1].mesh.n);
    assert_int_equal(flesh[0].mesh.t, flesh[1].mesh.t);
    assert_memory_equal(flesh[0].mesh.x, flesh[1].mesh.x, (size_t)(3 * flesh[0].mesh.n) * sizeof(double));
    assert_memory_equal(flesh[0].mesh.tets, flesh[1].mesh.tets, (size_t)(4 * flesh[0].mesh.t) * sizeof(int32_t));
    for (int k = 0; k < 2; k++) su_flesh_free(&flesh[k]);
    su_surface_free(&surface);
    skin_free(&s);
}

static void test_too_little_skin(void **state)
{
    (void)state;
    double x[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    int32_t t[3] = {0, 1, 2};
    su_surface surface;
    su_error err = {0};
    assert_int_equal(su_surface_create(3, x, 1, t, NULL, &surface, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "at least 4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hard_skins),
        cmocka_unit_test(test_scan_like_surface),
        cmocka_unit_test(test_direct_keeps_the_skin),
        cmocka_unit_test(test_cavity),
        cmocka_unit_test(test_fingers_stay_apart),
        cmocka_unit_test(test_bridges),
        cmocka_unit_test(test_grading),
        cmocka_unit_test(test_grading_bad_skins),
        cmocka_unit_test(test_edge_length),
        cmocka_unit_test(test_same_bytes_for_any_thread_count),
        cmocka_unit_test(test_too_little_skin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
