/* From a scene to a shot: welding, polygons, bind pose, parameters, root frame, on a bar with two joints made in
 * memory. */
#include "geometry/affine.h"
#include "geometry/polygon.h"
#include "geometry/rotation.h"
#include "rig/character.h"
#include "rig/root_frame.h"
#include "rig/take.h"
#include "rig/weld.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a bar along z (mesh space is z up), bent at its middle by joint "tip" below joint "base" ---- */

enum { RINGS = 5, V = 4 * RINGS + 1, KEYS = 9 };

typedef struct bar {
    su_scene scene;
    su_scene_node node[4];
    su_scene_mesh mesh;
    su_scene_bone bone[2];
    su_scene_instance instance;
    su_scene_clip clip;
    su_scene_channel channel[2];
    double positions[3 * V], weight[2 * V], times[KEYS], base_turn[4 * KEYS], tip_turn[4 * KEYS], base_place[3 * KEYS];
    double tip_scale[3 * KEYS];
    int32_t vertex[2 * V], counts[4 * (RINGS - 1) + 2], corners[16 * (RINGS - 1) + 8];
} bar;

static void turn_about(int axis, double angle, double q[4])
{
    q[0] = cos(0.5 * angle);
    for (int i = 0; i < 3; i++) q[1 + i] = i == axis ? sin(0.5 * angle) : 0.0;
}

static void set_translation(double m[16], double x, double y, double z)
{
    su_affine_identity(m);
    m[3] = x, m[7] = y, m[11] = z;
}

/* The last vertex repeats vertex 0: a seam. Joints at z = 0 and z = 2; the bar runs from z = 0 to 4. */
static void make_bar(bar *b)
{
    memset(b, 0, sizeof *b);
    su_scene *s = &b->scene;
    s->format = "glTF", s->unit = 1.0, s->up = 1;
    s->nodes = 4, s->meshes = s->instances = s->clips = 1;
    s->node = b->node, s->mesh = &b->mesh, s->instance = &b->instance, s->clip = &b->clip;
    const char *const names[4] = {"up", "base", "tip", "bar"};
    const int32_t parents[4] = {-1, 0, 1, 0};
    for (int i = 0; i < 4; i++) {
        b->node[i].name = names[i], b->node[i].parent = parents[i];
        su_affine_identity(b->node[i].local);
    }
    const double z_to_y[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0}, zero[3] = {0, 0, 0};
    su_affine_set(z_to_y, zero, b->node[0].local);
    set_translation(b->node[2].local, 0, 0, 2);
    b->instance = (su_scene_instance){3, 0};

    b->mesh = (su_scene_mesh){.name = "bar",
                              .vertices = V,
                              .positions = b->positions,
                              .face_counts = b->counts,
                              .face_indices = b->corners,
                              .bones = 2,
                              .bone = b->bone,
                              .influence_vertex = b->vertex,
                              .influence_weight = b->weight};
    for (int v = 0; v < V; v++) {
        int ring = v / 4 % RINGS, at = v % 4;
        b->positions[3 * v] = at == 0 || at == 3 ? -0.5 : 0.5;
        b->positions[3 * v + 1] = at < 2 ? -0.5 : 0.5;
        b->positions[3 * v + 2] = ring;
        double tip = fmin(fmax(0.5 * (ring - 1), 0.0), 1.0);
        if (tip < 1.0)
            b->vertex[b->mesh.influences] = v, b->weight[b->mesh.influences++] = 3.0 * (1.0 - tip); /* not normal */
    }
    b->bone[0] = (su_scene_bone){.node = 1, .first = 0, .count = b->mesh.influences};
    for (int v = 0; v < V; v++) {
        double tip = fmin(fmax(0.5 * (v / 4 % RINGS - 1), 0.0), 1.0);
        if (tip > 0.0) b->vertex[b->mesh.influences] = v, b->weight[b->mesh.influences++] = 3.0 * tip;
    }
    b->bone[1] = (su_scene_bone){.node = 2, .first = b->bone[0].count, .count = b->mesh.influences - b->bone[0].count};
    set_translation(b->bone[0].inverse_bind, 0, 0, 0);
    set_translation(b->bone[1].inverse_bind, 0, 0, -2);
    int32_t *c = b->corners;
    for (int ring = 0; ring + 1 < RINGS; ring++)
        for (int at = 0; at < 4; at++) {
            int a = 4 * ring + at, d = 4 * ring + (at + 1) % 4;
            b->counts[b->mesh.polygons++] = 4;
            *c++ = a == 0 ? V - 1 : a, *c++ = d, *c++ = d + 4, *c++ = a + 4;
        }
    for (int end = 0; end < 2; end++) {
        b->counts[b->mesh.polygons++] = 4;
        for (int at = 0; at < 4; at++) *c++ = end ? 4 * (RINGS - 1) + at : 3 - at;
    }
    b->mesh.corners = c - b->corners;

    b->clip = (su_scene_clip){
        .name = "bend", .start = 0.0, .end = 1.0, .key_rate = KEYS - 1, .channels = 2, .channel = b->channel};
    for (int k = 0; k < KEYS; k++) {
        b->times[k] = (double)k / (KEYS - 1);
        turn_about(1, 0.3 + 0.1 * k, b->base_turn + 4 * k);
        turn_about(0, -0.2 + 0.7 * k, b->tip_turn + 4 * k); /* beyond half a turn */
        b->base_place[3 * k] = 5.0 * k;
        for (int i = 0; i < 3; i++) b->tip_scale[3 * k + i] = i == 2 ? 1.0 + 0.1 * k : 1.0;
    }
    b->channel[0] = (su_scene_channel){.node = 1,
                                       .translations = KEYS,
                                       .translation_times = b->times,
                                       .translation = b->base_place,
                                       .rotations = KEYS,
                                       .rotation_times = b->times,
                                       .rotation = b->base_turn};
    b->channel[1] = (su_scene_channel){.node = 2,
                                       .rotations = KEYS,
                                       .rotation_times = b->times,
                                       .rotation = b->tip_turn,
                                       .scales = KEYS,
                                       .scale_times = b->times,
                                       .scale = b->tip_scale};
}

static const su_character_options plain = {.up = -1};

static void build(bar *b, su_character *c, su_take *take)
{
    su_take_range range;
    su_error err = {0};
    if (su_character_create(&b->scene, &plain, c, &err) != SU_OK) fail_msg("%s", err.text);
    assert_int_equal(su_take_frames(&b->scene, &b->clip, KEYS - 1, NAN, NAN, NAN, &range, &err), SU_OK);
    if (!take) return;
    if (su_take_create(c, &b->clip, &range, take, &err) != SU_OK) fail_msg("%s", err.text);
}

static int64_t column(const su_take *take, const char *name)
{
    for (int64_t k = 0; k < take->parameters.s; k++)
        if (strcmp(take->parameters.names[k], name) == 0) return k;
    return -1;
}

static void neutral_is_the_bind_pose_upright(void **unused)
{
    (void)unused;
    bar b;
    su_character c;
    for (int posed = 0; posed < 2; posed++) {
        make_bar(&b);
        if (posed) { /* the node pose is not the bind pose: the neutral shape must not change */
            const double t[3] = {0, 0, 2};
            double q[4], r[9];
            turn_about(0, 0.9, q);
            su_quaternion_matrix(q, r);
            su_affine_set(r, t, b.node[2].local);
        }
        build(&b, &c, NULL);
        assert_int_equal(c.nbar, V - 1);
        assert_int_equal(c.N, V);
        assert_int_equal(c.source_vertex[V - 1], 0);
        for (int v = 0; v < V - 1; v++) { /* mesh (x, y, z) stands in the world as (x, z, -y) */
            const double want[3] = {b.positions[3 * v], b.positions[3 * v + 2], -b.positions[3 * v + 1]};
            assert_true(su_distance3(c.neutral + 3 * v, want) < 1e-12);
        }
        assert_int_equal(c.normalized, V);
        assert_int_equal(c.T, 2 * b.mesh.polygons);
        su_character_free(&c);
    }
}

static void bones_carry_names_parents_and_segments(void **unused)
{
    (void)unused;
    bar b;
    su_character c;
    make_bar(&b);
    build(&b, &c, NULL);
    assert_int_equal(c.B, 2);
    assert_string_equal(c.bone_names[0], "base");
    assert_true(c.bone_parent[0] == -1 && c.bone_parent[1] == 0);
    const double joint[3] = {0, 2, 0};
    assert_true(su_distance3(c.bone_segments + 3, joint) < 1e-12 && su_distance3(c.bone_segments + 6, joint) < 1e-12);
    assert_true(c.bone_segments[6 + 4] > 2.0 && c.bone_segments[6 + 4] < 4.0); /* the tip ends inside the flesh */
    su_character_free(&c);
}

static void points_turn_back_into_the_world(void **unused)
{
    (void)unused;
    bar b;
    su_character c;
    su_take take;
    make_bar(&b);
    build(&b, &c, &take);
    assert_int_equal(take.range.frames, KEYS);
    double room[3 * V], matrices[66], points[3 * V];
    for (int k = 0; k < KEYS; k++) {
        const double *root = take.root + 16 * k;
        su_take_points(&take, k, 1, room, matrices, points);
        for (int v = 0; v < V; v++) {
            /* Straight: tip below base below the upright frame, blended by hand. */
            double bend[9], swing[9], p[3], q[3], got[3];
            double tip = fmin(fmax(0.5 * (v / 4 % RINGS - 1), 0.0), 1.0);
            su_quaternion_matrix(b.tip_turn + 4 * k, bend);
            su_quaternion_matrix(b.base_turn + 4 * k, swing);
            memcpy(p, b.positions + 3 * v, sizeof p);
            memcpy(q, p, sizeof q);
            q[2] = (q[2] - 2.0) * b.tip_scale[3 * k + 2];
            su_mulv3(bend, q, q);
            q[2] += 2.0;
            for (int i = 0; i < 3; i++) p[i] = (1.0 - tip) * p[i] + tip * q[i];
            su_mulv3(swing, p, p);
            p[0] += b.base_place[3 * k];
            const double want[3] = {p[0], p[2], -p[1]};
            su_affine_point(root, points + 3 * c.source_vertex[v], got);
            assert_true(su_distance3(got, want) < 1e-12);
        }
        /* The root frame takes the base joint along: its lower end does not move in it. */
        for (int v = 0; v < 4; v++) assert_true(su_distance3(points + 3 * v, c.neutral + 3 * v) < 1e-12);
    }
    su_take_free(&take);
    su_character_free(&c);
}

static void parameters_are_angles_that_go_on(void **unused)
{
    (void)unused;
    bar b;
    su_character c;
    su_take take;
    make_bar(&b);
    build(&b, &c, &take);
    int64_t s = take.parameters.s, rx = column(&take, "tip.rx"), sz = column(&take, "tip.sz");
    assert_true(rx >= 0 && sz >= 0 && column(&take, "base.ry") >= 0 && column(&take, "base.tx") < 0);
    for (int k = 0; k < KEYS; k++) {
        const double *p = take.parameters.values + s * k;
        assert_true(fabs(p[rx] - (-0.2 + 0.7 * k)) < 1e-9);
        assert_true(fabs(p[sz] - log(1.0 + 0.1 * k)) < 1e-12);
        assert_true(fabs(p[column(&take, "tip.ry")]) < 1e-9);
        assert_true(fabs(p[column(&take, "base.ry")]) < 1e-9); /* it is the root */
    }
    su_take_free(&take);

    for (int k = 0; k < KEYS; k++) { /* all keys in the bind pose: everything 0 */
        turn_about(0, 0.0, b.tip_turn + 4 * k);
        b.tip_scale[3 * k + 2] = 1.0;
    }
    su_take_range range = {.frames = 3, .fps = 2.0};
    assert_int_equal(su_take_create(&c, &b.clip, &range, &take, NULL), SU_OK);
    for (int64_t i = 0; i < 3 * take.parameters.s; i++) assert_true(take.parameters.values[i] == 0.0);
    su_take_free(&take);
    su_character_free(&c);
}

static void units_are_chosen_by_size(void **unused)
{
    (void)unused;
    int guessed;
    assert_true(su_choose_unit(1.0, 1.8, &guessed) == 1.0 && !guessed);
    assert_true(su_choose_unit(1.0, 155.0, &guessed) == 0.01 && guessed);
    assert_true(su_choose_unit(0.01, 3.7, &guessed) == 1.0 && guessed);
    assert_true(su_choose_unit(0.01, 180.0, &guessed) == 0.01 && !guessed);
    assert_true(su_choose_unit(0.0, 1800.0, &guessed) == 0.01 && guessed);
    assert_true(su_choose_unit(0.0, 1e9, &guessed) == 1.0 && !guessed);
}

static void far_characters_keep_their_digits(void **unused)
{
    (void)unused;
    bar b;
    su_character c;
    make_bar(&b);
    b.node[0].local[3] = 10000.0; /* 10 km away */
    build(&b, &c, NULL);
    for (int v = 0; v < V - 1; v++) assert_true(fabs(c.neutral[3 * v]) < 10.0);
    su_take take;
    su_take_range range = {.frames = 1, .fps = 2.0};
    assert_int_equal(su_take_create(&c, &b.clip, &range, &take, NULL), SU_OK);
    double p[3];
    su_affine_point(take.root, c.neutral, p);
    assert_true(fabs(p[0] - 10000.0) < 10.0);
    su_take_free(&take);
    su_character_free(&c);
}

static void bad_scenes_are_refused(void **unused)
{
    (void)unused;
    bar b;
    su_character c;
    su_error err;
    make_bar(&b);
    memset(b.positions, 0, sizeof b.positions);
    assert_int_equal(su_character_create(&b.scene, &plain, &c, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "no size"));
    make_bar(&b);
    b.bone[1].inverse_bind[0] = 0.0;
    assert_int_equal(su_character_create(&b.scene, &plain, &c, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "'tip'"));
}

/* ---- parts alone ---- */

static void dual_quaternions_keep_the_radius(void **unused)
{
    (void)unused;
    double transforms[32], room[34], q[4], r[9], got[9], linear[9];
    const double t[3] = {1, 2, 3}, zero[3] = {0, 0, 0}, points[9] = {1, 0, 0.3, 1, 0, 0.3, 1, 0, 0.3};
    const int64_t start[4] = {0, 1, 2, 4};
    const int32_t bone[4] = {0, 1, 0, 1};
    const double weight[4] = {1, 1, 0.5, 0.5};
    su_skin skin = {3, start, bone, weight};
    su_affine_identity(transforms);
    turn_about(2, 3.0, q); /* a twist that makes linear blending collapse */
    su_quaternion_matrix(q, r);
    su_affine_set(r, zero, transforms + 16);
    su_skin_points_dual(&skin, 2, points, transforms, 1, room, got);
    const double turned[3] = {cos(3.0), sin(3.0), 0.3}, half[3] = {cos(1.5), sin(1.5), 0.3};
    assert_true(su_distance3(got, points) < 1e-12 && su_distance3(got + 3, turned) < 1e-12);
    assert_true(su_distance3(got + 6, half) < 1e-12);

    /* One affine transform on every bone, stretch included: whatever the weights, it is that transform. */
    for (int i = 0; i < 9; i++) linear[i] = r[i] * (i % 3 == 1 ? 1.7 : 0.9);
    for (int b = 0; b < 2; b++) su_affine_set(linear, t, transforms + 16 * b);
    su_skin_points_dual(&skin, 2, points, transforms, 1, room, got);
    for (int v = 0; v < 3; v++) {
        double want[3];
        su_affine_point(transforms, points + 3 * v, want);
        assert_true(su_distance3(got + 3 * v, want) < 1e-12);
    }
}

static void welding_joins_what_moves_together(void **unused)
{
    (void)unused;
    const double points[18] = {0, 0, 0, 1, 0, 0, 5e-7, 0, 0, 0, 0, 0, 0, 0, 0, 3e-6, 0, 0};
    const int32_t object[6] = {0, 0, 0, 1, 0, 0}, bone[7] = {0, 0, 0, 0, 0, 1, 0};
    const int64_t start[7] = {0, 1, 2, 3, 4, 6, 7};
    const double weight[7] = {1, 1, 1, 1, 0.9, 0.1, 1};
    su_skin skin = {6, start, bone, weight};
    su_weld_input in = {6, points, object, &skin, 0, NULL, 1e-6};
    int32_t source[6], first[6];
    int64_t count;
    assert_int_equal(su_weld(&in, source, first, &count, NULL), SU_OK);
    const int32_t want[6] = {0, 1, 0, 2, 3, 4}; /* other object, other weights, too far */
    assert_int_equal(count, 5);
    assert_memory_equal(source, want, sizeof want);
}

static void polygons_keep_area_and_orientation(void **unused)
{
    (void)unused;
    /* An L of six corners, a dart (concave quad), and a quad with a repeated vertex, in the plane z = 0. */
    const double points[] = {0, 0, 0, 2, 0, 0, 2, 1, 0, 1, 1, 0, 1, 2,   0,
                             0, 2, 0, 0, 5, 0, 1, 4, 0, 2, 5, 0, 1, 4.5, 0};
    const int32_t counts[] = {6, 4, 4}, corners[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 1, 2};
    int32_t triangles[3 * 8];
    int64_t count, dropped;
    assert_int_equal(
        su_polygons_triangulate(&(su_polygons){3, counts, corners}, NULL, points, triangles, &count, &dropped, NULL),
        SU_OK);
    assert_int_equal(count, 7);
    assert_int_equal(dropped, 1);
    double area = 0.0;
    for (int64_t t = 0; t < count; t++) {
        double u[3], v[3], n[3];
        su_sub3(points + 3 * triangles[3 * t + 1], points + 3 * triangles[3 * t], u);
        su_sub3(points + 3 * triangles[3 * t + 2], points + 3 * triangles[3 * t], v);
        su_cross3(u, v, n);
        assert_true(n[2] > 0.0);
        area += 0.5 * n[2];
    }
    assert_true(fabs(area - (3.0 + 0.5 + 1.0)) < 1e-12);
}

/* Two quads with a common edge, a coordinate a corner: at the edge those of vertex 1 agree, those of vertex 2 do not.
 * The fourth coordinate is used by two vertices and stays one; the last is used by none. */
static void equal_texture_coordinates_of_a_vertex_are_one(void **unused)
{
    (void)unused;
    const int32_t corners[] = {0, 1, 2, 3, 1, 4, 5, 2};
    int32_t indices[] = {0, 1, 2, 3, 4, 3, 5, 6};
    float uv[] = {0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 2, 1, 1, 1.5f, 9, 9};
    const float want[] = {0, 0, 1, 0, 1, 1, 0, 1, 2, 1, 1, 1.5f};
    const int32_t want_indices[] = {0, 1, 2, 3, 1, 3, 4, 5};
    int64_t uvs = 8;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(su_polygons_merge_uv(6, 8, corners, &uvs, uv, indices, NULL), SU_OK);
        assert_int_equal(uvs, 6);
        assert_memory_equal(uv, want, sizeof want);
        assert_memory_equal(indices, want_indices, sizeof want_indices);
    }
}

static void root_of_points_is_their_rigid_motion(void **unused)
{
    (void)unused;
    bar b;
    double moved[3 * V], root[16], q[4], r[9];
    const double t[3] = {1, -2, 30};
    make_bar(&b);
    turn_about(1, 2.5, q);
    su_quaternion_matrix(q, r);
    double motion[16];
    su_affine_set(r, t, motion);
    for (int v = 0; v < V; v++) su_affine_point(motion, b.positions + 3 * v, moved + 3 * v);
    su_root_from_points(V, b.positions, moved, root);
    for (int i = 0; i < 16; i++) assert_true(fabs(root[i] - motion[i]) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neutral_is_the_bind_pose_upright),
        cmocka_unit_test(bones_carry_names_parents_and_segments),
        cmocka_unit_test(points_turn_back_into_the_world),
        cmocka_unit_test(parameters_are_angles_that_go_on),
        cmocka_unit_test(units_are_chosen_by_size),
        cmocka_unit_test(far_characters_keep_their_digits),
        cmocka_unit_test(bad_scenes_are_refused),
        cmocka_unit_test(dual_quaternions_keep_the_radius),
        cmocka_unit_test(welding_joins_what_moves_together),
        cmocka_unit_test(polygons_keep_area_and_orientation),
        cmocka_unit_test(equal_texture_coordinates_of_a_vertex_are_one),
        cmocka_unit_test(root_of_points_is_their_rigid_motion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
