/* supple motion: noise, paths through clips, and the motion of an arm made in memory: ranges, speeds, skin, parameters.
 */
#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/clip_path.h"
#include "rig/noise.h"
#include "rig/synthetic_motion.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- an arm along x: base (still), upper, lower, and a finger that never moves; a bulge as a blend shape ---- */

enum { B = 4, RINGS = 9, V = 4 * RINGS, T = 8 * (RINGS - 1), MOST = 64, S = 13 };

static const char *const bone_names[B] = {"base", "upper", "lower", "finger"};
static const int32_t parents[B] = {-1, 0, 1, 2};
static const double heads[B] = {0.0, 0.5, 1.0, 1.5};
static const char *const param_names[S] = {"base.rx",   "base.ry",   "base.rz",  "upper.rx", "upper.ry",
                                           "upper.rz",  "lower.rx",  "lower.ry", "lower.rz", "finger.rx",
                                           "finger.ry", "finger.rz", "bulge"};
/* Every joint may turn by so much to either side, rad, whether it moves in the clips or not (rig/joint_motion.c). */
#define TREMBLE 0.33
enum { UPPER_X = 3, UPPER_Y = 4, UPPER_Z = 5, LOWER_Z = 8, BULGE = 12 };

typedef struct arm {
    su_anim anim;
    double neutral[3 * V], morphs[3 * V], rest[16 * B], times[MOST], root[16 * MOST], params[S * MOST],
        bones[16 * B * MOST];
    float points[3 * V * MOST], weights[V * B];
    int32_t triangles[3 * T], parent[B], counts[T], corners[3 * T], source[V];
} arm;

static void pose_arm(const arm *a, const double *p, double *bones)
{
    for (int b = 0; b < B; b++) {
        double q[4], r[9], local[16], at[3] = {b ? heads[b] - heads[b - 1] : heads[0], 0.0, 0.0};
        su_quaternion_exp(p + 3 * b, q);
        su_quaternion_matrix(q, r);
        su_affine_set(r, at, local);
        if (b == 0)
            memcpy(bones, local, sizeof local);
        else
            su_affine_multiply(bones + 16 * (b - 1), local, bones + 16 * b);
    }
    (void)a;
}

static void skin_arm(const arm *a, const double *bones, double bulge, double *points)
{
    for (int v = 0; v < V; v++) {
        double shape[3], sum[3] = {0, 0, 0};
        for (int i = 0; i < 3; i++) shape[i] = a->neutral[3 * v + i] + bulge * a->morphs[3 * v + i];
        for (int b = 0; b < B; b++) {
            double at[3] = {shape[0] - heads[b], shape[1], shape[2]}; /* rest bones only shift */
            su_affine_point(bones + 16 * b, at, at);
            for (int i = 0; i < 3; i++) sum[i] += (double)a->weights[B * v + b] * at[i];
        }
        for (int i = 0; i < 3; i++) points[3 * v + i] = sum[i];
    }
}

static json_t *list(int count, const char *const *names)
{
    json_t *out = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(out, json_string(names[i]));
    return out;
}

/* Frame f at f / 25 s; pose gives the parameters and the root's place of a time. */
static void make_arm(arm *a, int frames, void (*pose)(double time, double *p, double *place))
{
    static const char *const morph[1] = {"bulge"};
    memset(a, 0, sizeof *a);
    for (int v = 0; v < V; v++) {
        double x = 2.0 * (v / 4) / (RINGS - 1.0), angle = 0.5 * M_PI * (v % 4);
        a->neutral[3 * v] = x, a->neutral[3 * v + 1] = 0.1 * cos(angle), a->neutral[3 * v + 2] = 0.1 * sin(angle);
        a->morphs[3 * v + 1] = 0.5 * a->neutral[3 * v + 1];
        a->source[v] = v;
        int b = x < 0.5 ? 0 : x < 1.0 ? 1 : x < 1.5 ? 2 : 3;
        double share = x >= 2.0 ? 0.0 : (x - heads[b]) / 0.5; /* straight from joint to joint */
        a->weights[B * v + b] += (float)(1.0 - share);
        a->weights[B * v + (b < B - 1 ? b + 1 : b)] += (float)share;
    }
    for (int ring = 0, t = 0; ring < RINGS - 1; ring++)
        for (int k = 0; k < 4; k++) {
            int32_t i = 4 * ring + k, j = 4 * ring + (k + 1) % 4;
            const int32_t corner[6] = {i, j, i + 4, j, j + 4, i + 4};
            memcpy(a->triangles + 3 * t, corner, sizeof corner), t += 2;
        }
    memcpy(a->corners, a->triangles, sizeof a->corners);
    memcpy(a->parent, parents, sizeof parents);
    for (int t = 0; t < T; t++) a->counts[t] = 3;
    const double none[3 * B] = {0};
    pose_arm(a, none, a->rest);
    for (int f = 0; f < frames; f++) {
        double place[3] = {0, 0, 0}, points[3 * V], *p = a->params + S * f;
        a->times[f] = f / 25.0;
        pose(a->times[f], p, place);
        pose_arm(a, p, a->bones + 16 * B * f);
        skin_arm(a, a->bones + 16 * B * f, p[BULGE], points);
        for (int i = 0; i < 3 * V; i++) a->points[3 * V * f + i] = (float)points[i];
        su_affine_identity(a->root + 16 * f);
        for (int i = 0; i < 3; i++) a->root[16 * f + 4 * i + 3] = place[i];
    }
    a->anim = (su_anim){.F = frames,
                        .nbar = V,
                        .T = T,
                        .P = T,
                        .corners = 3 * T,
                        .N = V,
                        .s = S,
                        .K = 1,
                        .B = B,
                        .points = a->points,
                        .root = a->root,
                        .neutral = a->neutral,
                        .triangles = a->triangles,
                        .face_counts = a->counts,
                        .face_indices = a->corners,
                        .source_vertex = a->source,
                        .times = a->times,
                        .params = a->params,
                        .morphs = a->morphs,
                        .weights = a->weights,
                        .bones = a->bones,
                        .bone_rest = a->rest,
                        .bone_parent = a->parent};
    a->anim.file.meta =
        json_pack("{s:s, s:f, s:o, s:o, s:o}", "clip", "arm", "fps", 25.0, "param_names", list(S, param_names),
                  "bone_names", list(B, bone_names), "morph_names", list(1, morph));
}

/* One beat of 1.2 s, walking 1 m/s along x, that ends as it begins. */
static void wave(double time, double *p, double *place)
{
    double phase = 2.0 * M_PI * time / 1.2;
    p[UPPER_X] = 5e-4 * sin(phase), p[UPPER_Z] = 0.8 * sin(phase), p[LOWER_Z] = 1.0 + 0.7 * cos(phase);
    p[BULGE] = 0.5 - 0.4 * cos(phase);
    place[0] = time;
}

/* A slow reach to where wave never goes. */
static void reach(double time, double *p, double *place)
{
    p[UPPER_Y] = 0.6 * time, p[LOWER_Z] = 0.3, p[BULGE] = 0.2;
    place[1] = 0.1 * time;
}

/* Round past half a turn, where a rotation has two rotation vectors. */
static void over(double time, double *p, double *place)
{
    (void)place;
    p[UPPER_Z] = 3.0 * time; /* to 3.6 rad */
}

static void stand(double time, double *p, double *place) { (void)time, (void)p, (void)place; }

typedef struct scene {
    arm arms[2];
    su_synthetic_clip clip[2];
    su_poses poses;
    double params[2 * S], shapes[6 * V], bones[2 * 16 * B];
} scene;

/* Poses: the neutral one and a frame of the first clip. */
static int make_scene(void **state)
{
    scene *s = calloc(1, sizeof *s);
    if (!s) return -1;
    make_arm(&s->arms[0], 31, wave);
    make_arm(&s->arms[1], 26, reach);
    for (int i = 0; i < 2; i++)
        s->clip[i] = (su_synthetic_clip){&s->arms[i].anim, i ? "reach.anim.npz" : "wave.anim.npz"};
    arm *a = &s->arms[0];
    memcpy(s->params + S, a->params + S * 7, S * sizeof *s->params);
    memcpy(s->bones, a->rest, sizeof a->rest);
    memcpy(s->bones + 16 * B, a->bones + 16 * B * 7, 16 * B * sizeof *s->bones);
    for (int i = 0; i < 3 * V; i++)
        s->shapes[i] = a->neutral[i], s->shapes[3 * V + i] = (double)a->points[3 * V * 7 + i];
    s->poses = (su_poses){.m = 2,
                          .nbar = V,
                          .T = T,
                          .s = S,
                          .B = B,
                          .K = 1,
                          .neutral = a->neutral,
                          .triangles = a->triangles,
                          .params = s->params,
                          .shapes = s->shapes,
                          .rigged = s->shapes,
                          .bones = s->bones};
    s->poses.file.meta = json_pack("{s:O, s:O}", "param_names", json_object_get(a->anim.file.meta, "param_names"),
                                   "bone_names", json_object_get(a->anim.file.meta, "bone_names"));
    *state = s;
    return 0;
}

static int free_scene(void **state)
{
    scene *s = *state;
    for (int i = 0; i < 2; i++) json_decref(s->arms[i].anim.file.meta);
    json_decref(s->poses.file.meta);
    free(s);
    return 0;
}

static const su_synthetic_options usual = {.seconds = 20.0, .fps = 30.0, .share = 0.25, .seed = 3, .threads = 1};

static su_synthetic *make(const scene *s, int clips, const su_synthetic_options *options)
{
    su_error err = {0};
    su_synthetic *m = NULL;
    if (su_synthetic_create(&s->poses, "arm.poses.npz", clips, s->clip, options, &m, &err) != SU_OK)
        fail_msg("%s", err.text);
    return m;
}

/* ---- noise ---- */

static void test_noise_has_its_rms_and_its_band(void **state)
{
    (void)state;
    enum { COUNT = 40000 };
    const double step = 0.005; /* s */
    su_random random = su_random_seed(5, 0);
    su_noise noise;
    su_noise_make(&random, 0.6, 1.8, &noise);
    double sum = 0.0, rate = 0.0, before = su_noise_value(&noise, 0.0);
    for (int i = 1; i <= COUNT; i++) {
        double t = step * i, value = su_noise_value(&noise, t);
        sum += value * value, rate += (value - before) * (value - before);
        before = value;
        double second = (su_noise_integrated_twice(&noise, t + 1e-3) - 2.0 * su_noise_integrated_twice(&noise, t) +
                         su_noise_integrated_twice(&noise, t - 1e-3)) /
                        1e-6;
        assert_true(fabs(second - value) < 1e-3);
    }
    assert_true(fabs(sqrt(sum / COUNT) - 1.0) < 0.03);
    double hertz =
        sqrt(rate / sum) / step / (2.0 * M_PI); /* rms frequency: of a flat band sqrt((l^2 + l h + h^2) / 3) */
    assert_true(fabs(hertz - sqrt((0.36 + 1.08 + 3.24) / 3.0)) < 0.05);
    for (int i = 0; i < SU_NOISE_TONES; i++)
        assert_true(noise.frequency[i] >= 2.0 * M_PI * 0.6 && noise.frequency[i] <= 2.0 * M_PI * 1.8);
}

/* ---- paths ---- */

static double no_distance(const void *context, int64_t a, int64_t b) { return (void)context, (void)a, (void)b, 0.0; }
static double half_second(const void *context, int64_t a, int64_t b) { return (void)context, (void)a, (void)b, 0.5; }

/* A walk of 1 m/s played on and on keeps its speed, over the ends of the clip and over fades. */
static void test_a_cycle_goes_on(void **state)
{
    scene *s = *state;
    su_path_source source = {.first = 0, .frames = 31, .fps = 25.0, .root = s->arms[0].root};
    const su_path_options o = {.seed = 2,
                               .seconds = 20.0,
                               .clips = 1,
                               .slowest = 1.0,
                               .fastest = 1.0,
                               .candidates = 3,
                               .fade = 0.3,
                               .distance = no_distance,
                               .duration = half_second};
    const double centre[3] = {0.2, 0.3, 0.1};
    su_path path;
    su_error err;
    su_path_close(&source, centre);
    assert_true(source.cyclic && fabs(source.turn[3] - 1.2) < 1e-12);
    assert_int_equal(su_path_create(1, &source, 0, &o, &path, &err), SU_OK);
    assert_true(path.count > 4);
    double before[16], now[16];
    su_path_root(&path, 1.0, before);
    for (int f = 1; f < 380; f++) {
        su_path_root(&path, 1.0 + f / 20.0, now);
        assert_true(fabs(20.0 * (now[3] - before[3]) - 1.0) < 1e-6);
        assert_true(fabs(now[7]) < 1e-9 && fabs(now[0] - 1.0) < 1e-9);
        memcpy(before, now, sizeof before);
    }
    for (int f = 0; f < 200; f++) { /* weights add up, and none is far outside */
        int64_t frame[8];
        double weight[8], sum = 0.0;
        int count = su_path_terms(&path, 0.1 * f, frame, weight);
        for (int k = 0; k < count; k++)
            sum += weight[k], assert_true(frame[k] >= 0 && frame[k] < 31 && fabs(weight[k]) < 1.2);
        assert_true(fabs(sum - 1.0) < 1e-12);
    }
    su_path_free(&path);
}

/* ---- joints ---- */

static int param(const su_synthetic *m, const char *name)
{
    const char *const *names;
    int64_t s = su_synthetic_params(m, &names);
    for (int k = 0; k < s; k++)
        if (strcmp(names[k], name) == 0) return k;
    fail_msg("no parameter %s", name);
    return -1;
}

static void range_of(const double *values, int64_t count, int64_t stride, double *low, double *high)
{
    *low = INFINITY, *high = -INFINITY;
    for (int64_t f = 0; f < count; f++) *low = fmin(*low, values[f * stride]), *high = fmax(*high, values[f * stride]);
}

static void test_ranges_are_kept_and_covered(void **state)
{
    scene *s = *state;
    const char *why;
    su_synthetic *m = make(s, 2, &usual);
    const su_anim *a = su_synthetic_anim(m);
    assert_true(su_synthetic_of_joints(m, &why));
    assert_int_equal(a->F, 601);
    for (int k = 0; k < S; k++) {
        double low, high, seen_low, seen_high, other_low, other_high;
        range_of(a->params + param(m, param_names[k]), a->F, a->s, &low, &high);
        range_of(s->arms[0].params + k, 31, S, &seen_low, &seen_high);
        range_of(s->arms[1].params + k, 26, S, &other_low, &other_high);
        seen_low = fmin(0.0, fmin(seen_low, other_low)),
        seen_high = fmax(0.0, fmax(seen_high, other_high)); /* 0: pose 0 */
        /* 0.05 wider, and some noise; joints that hardly turn tremble all the same */
        double spread = seen_high - seen_low, more = k == BULGE ? 0.0 : fmax(0.1 * spread, TREMBLE - 0.5 * spread);
        if (low < seen_low - more || high > seen_high + more)
            fail_msg("%s: %.3f to %.3f, seen %.3f to %.3f", param_names[k], low, high, seen_low, seen_high);
        if (high - low < 0.8 * spread)
            fail_msg("%s: %.3f to %.3f covers too little of %.3f to %.3f", param_names[k], low, high, seen_low,
                     seen_high);
    }
    su_synthetic_report report;
    su_error err;
    assert_int_equal(su_synthetic_measure(m, &report, &err), SU_OK);
    assert_true(report.covered > 0.9 && report.covered <= 1.0);
    su_synthetic_free(m);
}

static void test_bones_carry_the_skin_and_give_the_parameters(void **state)
{
    scene *s = *state;
    su_synthetic *m = make(s, 2, &usual);
    su_error err;
    const su_anim *a = su_synthetic_anim(m);
    int own_param[S];
    for (int k = 0; k < S; k++) own_param[k] = param(m, param_names[k]);
    for (int f = 0; f < a->F; f += 7) {
        double p[S], bones[16 * B], points[3 * V], own[3 * V];
        const double *row = a->params + a->s * f;
        for (int k = 0; k < S; k++) p[k] = row[own_param[k]];
        pose_arm(&s->arms[0], p, bones);
        for (int i = 0; i < 16 * B; i++) assert_true(fabs(bones[i] - a->bones[16 * B * f + i]) < 1e-6);
        skin_arm(&s->arms[0], bones, p[BULGE], points);
        assert_int_equal(su_synthetic_points(m, f, own, &err), SU_OK);
        for (int i = 0; i < 3 * V; i++) assert_true(fabs(points[i] - own[i]) < 1e-6);
    }
    su_synthetic_free(m);
}

static int upwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 99 % of the speeds of each moving joint, and how far joints swing, lie near what the clips show. */
static void test_speeds_are_those_of_the_clips(void **state)
{
    scene *s = *state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        su_synthetic_options o = usual;
        o.seed = seed;
        su_synthetic *m = make(s, 2, &o);
        const su_anim *a = su_synthetic_anim(m);
        for (int b = 1; b <= 2; b++) {
            double fastest = 0.0, *speed = calloc((size_t)a->F, sizeof *speed);
            for (int i = 0; i < 2; i++)
                for (int f = 1; f < s->arms[i].anim.F; f++) {
                    const double *v = s->arms[i].params + S * f + 3 * b;
                    fastest = fmax(fastest, 25.0 * su_distance3(v, v - S));
                }
            int first = param(m, b == 1 ? "upper.rx" : "lower.rx");
            for (int64_t f = 1; f < a->F; f++)
                speed[f - 1] = 30.0 * su_distance3(a->params + a->s * f + first, a->params + a->s * (f - 1) + first);
            qsort(speed, (size_t)a->F - 1, sizeof *speed, upwards);
            double high = speed[(int)(0.99 * (double)(a->F - 2))];
            if (high > 2.0 * fastest || high < 0.5 * fastest)
                fail_msg("seed %d, %s: %.2f rad/s, in the clips %.2f", (int)seed, bone_names[b], high, fastest);
            free(speed);
        }
        su_synthetic_free(m);
    }
}

/* The rotation vector never changes to the branch where no frame of the clips is. */
static void test_half_turns_keep_their_branch(void **state)
{
    scene *s = *state;
    json_decref(s->arms[1].anim.file.meta);
    make_arm(&s->arms[1], 31, over);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        su_synthetic_options o = usual;
        o.seed = seed;
        su_synthetic *m = make(s, 2, &o);
        const su_anim *a = su_synthetic_anim(m);
        double low, high;
        range_of(a->params + param(m, "upper.rz"), a->F, a->s, &low, &high);
        assert_true(low > -0.8 - 0.1 * 4.4 && high < 3.6 + 0.1 * 4.4);
        su_synthetic_free(m);
    }
}

static void test_root_moves_as_much_as_it_should(void **state)
{
    scene *s = *state;
    json_decref(s->arms[0].anim.file.meta);
    json_decref(s->arms[1].anim.file.meta);
    make_arm(&s->arms[0], 2, stand);
    make_arm(&s->arms[1], 2, stand);
    su_synthetic_options o = usual;
    o.seconds = 200.0;
    su_synthetic *m = make(s, 2, &o);
    const su_anim *a = su_synthetic_anim(m);
    double size = sqrt(4.0 + 0.04 + 0.04), sum = 0.0, lean = 0.0, centre[3] = {1.0, 0.0, 0.0}, place[3][3];
    for (int64_t f = 0; f < a->F; f++) {
        double linear[9], q[4], v[3];
        su_affine_point(a->root + 16 * f, centre, place[f % 3]);
        su_affine_linear(a->root + 16 * f, linear);
        assert_true(fabs(su_det3(linear) - 1.0) < 1e-9);
        su_quaternion_of(linear, q);
        su_quaternion_log(q, v);
        lean += su_dot3(v, v);
        for (int i = 0; i < 3 && f > 1; i++)
            sum += pow(900.0 * (place[f % 3][i] - 2.0 * place[(f + 2) % 3][i] + place[(f + 1) % 3][i]), 2);
    }
    double acceleration = sqrt(sum / (3.0 * (double)(a->F - 2))), wanted = 2.5 * sqrt(2.0) * size / 2.0; /* two bands */
    assert_true(fabs(acceleration / wanted - 1.0) < 0.1);
    assert_true(fabs(sqrt(lean / (3.0 * (double)a->F)) - 0.25) < 0.03);
    su_synthetic_free(m);
}

static void test_the_seed_says_all(void **state)
{
    scene *s = *state;
    su_synthetic_options threads = usual, other = usual;
    threads.threads = 3, other.seed = 4;
    su_synthetic *m[3] = {make(s, 2, &usual), make(s, 2, &threads), make(s, 2, &other)};
    const su_anim *a = su_synthetic_anim(m[0]), *b = su_synthetic_anim(m[1]), *c = su_synthetic_anim(m[2]);
    assert_memory_equal(a->params, b->params, (size_t)(a->F * a->s) * sizeof *a->params);
    assert_memory_equal(a->root, b->root, (size_t)(16 * a->F) * sizeof *a->root);
    assert_memory_equal(a->bones, b->bones, (size_t)(16 * B * a->F) * sizeof *a->bones);
    assert_true(memcmp(a->params, c->params, (size_t)(a->F * a->s) * sizeof *a->params) != 0);
    for (int i = 0; i < 3; i++) su_synthetic_free(m[i]);
}

/* ---- frames ---- */

/* Frames of a sequence are blended, never left; the skin stays within what they show. */
static void check_blend(scene *s, const char *reason)
{
    const char *why;
    su_error err;
    su_synthetic *m = make(s, 2, &usual);
    const su_anim *a = su_synthetic_anim(m);
    double moved = 0.0, first[3 * V], points[3 * V];
    assert_false(su_synthetic_of_joints(m, &why));
    assert_non_null(strstr(why, reason));
    assert_int_equal(su_synthetic_points(m, 0, first, &err), SU_OK);
    for (int64_t f = 1; f < a->F; f += 3) {
        assert_int_equal(su_synthetic_points(m, f, points, &err), SU_OK);
        for (int i = 0; i < 3 * V; i++) {
            double low = INFINITY, high = -INFINITY;
            for (int k = 0; k < 2; k++)
                for (int64_t g = 0; g < s->arms[k].anim.F; g++) {
                    double x = (double)s->arms[k].points[3 * V * g + i];
                    low = fmin(low, x), high = fmax(high, x);
                }
            assert_true(points[i] > low - 0.02 && points[i] < high + 0.02);
            moved = fmax(moved, fabs(points[i] - first[i]));
        }
    }
    assert_true(moved > 0.5);
    su_synthetic_free(m);
}

static void test_sequences_are_walked_through(void **state)
{
    scene *s = *state;
    for (int i = 0; i < 2; i++) s->arms[i].anim.bones = NULL, s->arms[i].anim.s = 0;
    check_blend(s, "no bones");
    su_synthetic *m = make(s, 2, &usual);
    assert_int_equal(su_synthetic_anim(m)->s, 0);
    assert_null(su_synthetic_anim(m)->bones);
    su_synthetic_free(m);
}

/* A rig that does more than its bones: parameters go with the skin. */
static void test_black_boxes_are_walked_through(void **state)
{
    scene *s = *state;
    for (int i = 0; i < 2; i++) {
        arm *a = &s->arms[i];
        for (int64_t f = 0; f < a->anim.F; f++) a->points[3 * V * f + 1] += 0.1f * (float)a->params[S * f + LOWER_Z];
    }
    check_blend(s, "carry");
    su_error err;
    su_synthetic *m = make(s, 2, &usual);
    const su_anim *a = su_synthetic_anim(m);
    int lower = param(m, "lower.rz"), bulge = param(m, "bulge");
    for (int64_t f = 0; f < a->F; f += 5) { /* vertex 0 rides on the base: its height is linear in two parameters */
        double points[3 * V], w = a->params[a->s * f + bulge], angle = a->params[a->s * f + lower];
        assert_int_equal(su_synthetic_points(m, f, points, &err), SU_OK);
        assert_true(fabs(points[1] - (0.1 + 0.05 * w + 0.1 * angle)) < 1e-5);
    }
    su_synthetic_free(m);
}

static void test_other_parameters_are_walked_through(void **state)
{
    scene *s = *state;
    for (int i = 0; i < 2; i++)
        for (int64_t f = 0; f < s->arms[i].anim.F; f++) s->arms[i].params[S * f + LOWER_Z] *= 2.0;
    check_blend(s, "parameters");
}

static void expect_error(const scene *s, int clips, const char *text)
{
    su_error err = {0};
    su_synthetic *m = NULL;
    assert_int_equal(su_synthetic_create(&s->poses, "arm.poses.npz", clips, s->clip, &usual, &m, &err), SU_INPUT);
    assert_null(m);
    if (!strstr(err.text, text)) fail_msg("%s", err.text);
}

static void test_what_cannot_be_is_said(void **state)
{
    scene *s = *state;
    s->arms[0].anim.F = 1;
    s->arms[0].anim.bones = NULL;
    expect_error(s, 1, "single frame");
    s->arms[0].anim.F = 31;
    s->arms[1].anim.triangles[0] = 5;
    expect_error(s, 2, "topology");
    s->arms[1].anim.triangles[0] = 0;
    s->arms[1].anim.neutral[4] += 0.1;
    expect_error(s, 2, "neutral pose differs");
}

int main(void)
{
#define WITH_SCENE(test) cmocka_unit_test_setup_teardown(test, make_scene, free_scene)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_has_its_rms_and_its_band),
        WITH_SCENE(test_a_cycle_goes_on),
        WITH_SCENE(test_ranges_are_kept_and_covered),
        WITH_SCENE(test_bones_carry_the_skin_and_give_the_parameters),
        WITH_SCENE(test_speeds_are_those_of_the_clips),
        WITH_SCENE(test_half_turns_keep_their_branch),
        WITH_SCENE(test_root_moves_as_much_as_it_should),
        WITH_SCENE(test_the_seed_says_all),
        WITH_SCENE(test_sequences_are_walked_through),
        WITH_SCENE(test_black_boxes_are_walked_through),
        WITH_SCENE(test_other_parameters_are_walked_through),
        WITH_SCENE(test_what_cannot_be_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
