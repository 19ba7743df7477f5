#include "rig/joint_motion.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/noise.h"
#include "rig/parameters.h"

#include <math.h>
#include <string.h>

/* Bands, Hz: what posture, gestures and steps, and impacts and shaking do (gait has 1-2 Hz and its harmonics). */
#define SLOW_LOW 0.15
#define SLOW_HIGH 0.6
#define MEDIUM_LOW 0.6
#define MEDIUM_HIGH 1.8
#define FAST_LOW 1.8
#define FAST_HIGH 4.5
/* Their amplitudes, of the range; the faster ones are smaller, as in motion capture, where spectra fall. */
#define SLOW 0.55
#define MEDIUM 0.35
#define FAST 0.22
/* Beyond so much of the range the noise bends off. */
#define BEND 1.25
/* Envelopes: logs of the faster bands' strength, of the whole body and of one parameter; noise of 0.05 to 0.35 Hz keeps
 * its sign for about a second. The product stays within [0.1, 2.5]. */
#define ENVELOPE_LOW 0.05
#define ENVELOPE_HIGH 0.35
#define BODY_SPREAD 0.6
#define AXIS_SPREAD 0.4
#define ENVELOPE_LEAST 0.1
#define ENVELOPE_MOST 2.5
/* A range is taken so much wider than what was seen. Every joint trembles by so much at least (rad; its range is twice
 * that to each side), whether it moves in the clips or not: in the next shot it may. */
#define WIDER 1.1
#define LEAST_TURN 0.15
/* A joint drawn out of its place by more would be seen, of the diagonal: ranges of translation are cut to it. */
#define MOST_SHIFT 0.02
/* What moves over less is still: rad, parts of the diagonal, log of scale. Twice the limit below which import holds a
 * parameter and poses forgets it, so that nothing moves that no pose knows. */
#define STILL 2e-4
/* Joints that hardly turn in the clips may turn so fast from pose to pose, rad/s. */
#define LEAST_SPEED 1.0
/* A joint whose volume falls below this (a part hidden by scale) has no frame that others can be relative to. */
#define COLLAPSED 1e-9

/* ---- joints and states ---- */

/* Bone relative to the one above: rotation (quaternion), translation (3), stretch (9). */
static void split(const double *bone, const double *above, double q[4], double *translation, double *stretch)
{
    double m[16], inverse[16], linear[9], r[9];
    memcpy(m, bone, sizeof m);
    if (above && su_affine_inverse(above, inverse) != 0.0) su_affine_multiply(inverse, bone, m);
    su_affine_linear(m, linear);
    su_nearest_rotation(linear, r);
    su_quaternion_of(r, q);
    su_affine_translation(m, translation);
    su_tmul33(r, linear, stretch);
}

static void state_of(const double *bone, const double *above, const double neutral[4], const double *before,
                     double state[SU_JOINT_STATE])
{
    const double back[4] = {neutral[0], -neutral[1], -neutral[2], -neutral[3]};
    double q[4], turn[4];
    split(bone, above, q, state + 3, state + 6);
    su_quaternion_multiply(back, q, turn);
    for (int i = 0, flip = turn[0] < 0.0; i < 4; i++) turn[i] = flip ? -turn[i] : turn[i];
    su_quaternion_log(turn, state);
    if (before) su_unwrap_rotation(state, before);
}

static void join(const double state[SU_JOINT_STATE], const double neutral[4], const double *above, double *bone)
{
    double q[4], r[9], linear[9];
    su_quaternion_exp(state, q);
    su_quaternion_multiply(neutral, q, q);
    su_quaternion_matrix(q, r);
    su_mul33(r, state + 6, linear);
    su_affine_set(linear, state + 3, bone);
    if (above) su_affine_multiply(above, bone, bone);
}

static void axes_of(const double *state, double v[SU_JOINT_AXES])
{
    for (int i = 0; i < 3; i++) {
        double column[3] = {state[6 + i], state[9 + i], state[12 + i]};
        v[i] = state[i], v[3 + i] = state[3 + i];
        v[6 + i] = log(fmax(su_norm3(column), 1e-3)); /* the least scale of import's parameters */
    }
}

static void measure(su_joint_frames *o, int32_t sources, const su_path_source *source, int64_t b)
{
    double v[SU_JOINT_AXES], *low = o->low + SU_JOINT_AXES * b, *high = o->high + SU_JOINT_AXES * b;
    for (int i = 0; i < SU_JOINT_AXES; i++) low[i] = INFINITY, high[i] = -INFINITY;
    for (int32_t s = 0; s < sources; s++)
        for (int64_t f = source[s].first; f < source[s].first + source[s].frames; f++) {
            const double *state = o->state + SU_JOINT_STATE * (o->B * f + b);
            axes_of(state, v);
            for (int i = 0; i < SU_JOINT_AXES; i++) low[i] = fmin(low[i], v[i]), high[i] = fmax(high[i], v[i]);
            if (f == source[s].first) continue;
            o->speed[b] = fmax(o->speed[b], source[s].fps * su_distance3(state, state - SU_JOINT_STATE * o->B));
        }
}

static bool collapses(int64_t B, int32_t sources, const su_path_source *source, const double *const *bones, int64_t b)
{
    double inverse[16];
    for (int32_t s = 0; s < sources; s++)
        for (int64_t f = 0; f < source[s].frames; f++)
            if (!(fabs(su_affine_inverse(bones[s] + 16 * (B * f + b), inverse)) > COLLAPSED)) return true;
    return false;
}

su_status su_joint_frames_create(const su_joint_tree *tree, const su_joint_sources *from, su_joint_frames *out,
                                 su_error *err)
{
    int64_t B = tree->B;
    int32_t sources = from->count;
    const su_path_source *source = from->source;
    const double *bone_rest = tree->rest, *const *bones = from->bones;
    su_joint_frames o = {.B = B};
    su_arena scratch = {0};
    for (int32_t s = 0; s < sources; s++) o.frames += source[s].frames;
    o.above = su_arena_alloc(&o.arena, B, sizeof *o.above);
    o.state = su_arena_alloc(&o.arena, o.frames * B, SU_JOINT_STATE * sizeof *o.state);
    o.neutral = su_arena_alloc(&o.arena, B, 4 * sizeof *o.neutral);
    o.low = su_arena_alloc(&o.arena, B, SU_JOINT_AXES * sizeof *o.low);
    o.high = su_arena_alloc(&o.arena, B, SU_JOINT_AXES * sizeof *o.high);
    o.speed = su_arena_alloc(&o.arena, B, sizeof *o.speed);
    uint8_t *gone = su_arena_alloc(&scratch, B, 1);
    if (!o.above || !o.state || !o.neutral || !o.low || !o.high || !o.speed || !gone) {
        su_arena_free(&o.arena);
        su_arena_free(&scratch);
        return su_fail(err, SU_AGAIN, "not enough memory for %lld frames of %lld bones", (long long)o.frames,
                       (long long)B);
    }
    for (int64_t b = 0; b < B; b++) {
        int32_t above = tree->twin[b] >= 0 ? tree->twin[b] : tree->parent[b];
        while (above >= 0 && gone[above]) above = tree->parent[above];
        o.above[b] = above;
        gone[b] = collapses(B, sources, source, bones, b);
        double translation[3], stretch[9];
        split(bone_rest + 16 * b, above >= 0 ? bone_rest + 16 * above : NULL, o.neutral + 4 * b, translation, stretch);
        for (int32_t s = 0; s < sources; s++) {
            const double *before = from->near[s] >= 0 ? o.state + SU_JOINT_STATE * (B * from->near[s] + b) : NULL;
            for (int64_t f = 0; f < source[s].frames; f++) {
                const double *frame = bones[s] + 16 * B * f;
                double *state = o.state + SU_JOINT_STATE * (B * (source[s].first + f) + b);
                state_of(frame + 16 * b, above >= 0 ? frame + 16 * above : NULL, o.neutral + 4 * b, before, state);
                before = state;
            }
        }
        measure(&o, sources, source, b);
    }
    su_arena_free(&scratch);
    *out = o;
    return SU_OK;
}

void su_joint_frames_free(su_joint_frames *frames)
{
    su_arena_free(&frames->arena);
    memset(frames, 0, sizeof *frames);
}

double su_joint_distance(const su_joint_frames *o, int64_t a, int64_t b)
{
    double most = 0.0;
    for (int64_t j = 0; j < o->B; j++)
        most = fmax(
            most, su_distance3(o->state + SU_JOINT_STATE * (o->B * a + j), o->state + SU_JOINT_STATE * (o->B * b + j)));
    return most;
}

double su_joint_fade(const su_joint_frames *o, int64_t a, int64_t b)
{
    double most = 0.0;
    for (int64_t j = 0; j < o->B; j++) {
        double angle =
            su_distance3(o->state + SU_JOINT_STATE * (o->B * a + j), o->state + SU_JOINT_STATE * (o->B * b + j));
        most = fmax(most, SU_PATH_PEAK * angle / fmax(o->speed[j], LEAST_SPEED));
    }
    return most;
}

/* ---- noise of a parameter ---- */

struct su_axis_noise {
    su_noise body, envelope, slow, medium, fast; /* body: the same for all parameters of a seed */
};

su_axis_noise *su_axis_noise_make(su_arena *arena, uint64_t seed, uint64_t stream, int64_t count)
{
    su_axis_noise *noise = su_arena_alloc(arena, count, sizeof *noise);
    for (int64_t k = 0; noise && k < count; k++) {
        su_random body = su_random_seed(seed, 1), own = su_random_seed(seed, stream + (uint64_t)k);
        su_noise_make(&body, ENVELOPE_LOW, ENVELOPE_HIGH, &noise[k].body);
        su_noise_make(&own, ENVELOPE_LOW, ENVELOPE_HIGH, &noise[k].envelope);
        su_noise_make(&own, SLOW_LOW, SLOW_HIGH, &noise[k].slow);
        su_noise_make(&own, MEDIUM_LOW, MEDIUM_HIGH, &noise[k].medium);
        su_noise_make(&own, FAST_LOW, FAST_HIGH, &noise[k].fast);
    }
    return noise;
}

static double envelope(double x)
{
    double bound = x < 0.0 ? -log(ENVELOPE_LEAST) : log(ENVELOPE_MOST);
    return exp(bound * tanh(x / bound));
}

/* What is left up to a limit of a wish for `a`, without a corner. */
static double within(double a, double room)
{
    room = fmax(room, 0.0);
    return room > 0.0 ? a * room / sqrt(a * a + room * room) : 0.0;
}

/* Towards a limit of the range there is less room than away from it: an outstretched knee bends but does not bend over.
 */
double su_axis_noise_at(const su_axis_noise *noise, int64_t k, double time, double centre, double low, double high,
                        double share, double least)
{
    const su_axis_noise *n = noise + k;
    double e =
        envelope(BODY_SPREAD * su_noise_value(&n->body, time) + AXIS_SPREAD * su_noise_value(&n->envelope, time));
    double g = SLOW * su_noise_value(&n->slow, time) +
               e * (MEDIUM * su_noise_value(&n->medium, time) + FAST * su_noise_value(&n->fast, time));
    double a = fmax(share * 0.5 * (high - low), least), up = within(a, high - centre), down = within(a, centre - low);
    return BEND * tanh(g / BEND) * (0.5 * (up + down) + 0.5 * (up - down) * tanh(2.0 * g));
}

/* ---- motion ---- */

/* Ranges of the noise: wider than what was seen; empty where nothing moves. */
static void widen(const su_joint_frames *o, double diagonal, double *low, double *high)
{
    for (int64_t k = 0; k < o->B * SU_JOINT_AXES; k++) {
        int kind = (int)(k % SU_JOINT_AXES) / 3;
        double middle = 0.5 * (o->low[k] + o->high[k]), half = 0.5 * (o->high[k] - o->low[k]);
        bool still = kind != 0 && 2.0 * half < STILL * (kind == 1 ? diagonal : 1.0);
        half = fmax(WIDER * half, kind == 0 ? 2.0 * LEAST_TURN : 0.0);
        low[k] = still ? middle : middle - half;
        high[k] = still ? middle : middle + half;
    }
}

static void add_noise(int64_t b, const su_axis_noise *noise, const su_joint_noise *n, double time, const double *low,
                      const double *high, double *state)
{
    double v[SU_JOINT_AXES], delta[SU_JOINT_AXES];
    axes_of(state, v);
    for (int i = 0; i < SU_JOINT_AXES; i++) {
        double l = low[i], h = high[i];
        delta[i] = 0.0;
        if (!(h > l)) continue;
        double share = i / 3 == 1 ? fmin(n->share, 2.0 * n->share * MOST_SHIFT * n->diagonal / (h - l)) : n->share;
        delta[i] = su_axis_noise_at(noise, SU_JOINT_AXES * b + i, time, v[i], l, h, share, i < 3 ? LEAST_TURN : 0);
    }
    for (int i = 0; i < 6; i++) state[i] += delta[i];
    for (int i = 0; i < 9; i++) state[6 + i] *= exp(delta[6 + i % 3]);
}

su_status su_joint_motion(const su_joint_frames *o, const su_path *path, const su_joint_noise *n, int64_t F, double fps,
                          double *bones, su_error *err)
{
    enum { STREAM = 1000 }; /* of the joints' random numbers */
    su_arena arena = {0};
    double *state = su_arena_alloc(&arena, o->B * SU_JOINT_STATE, sizeof *state);
    double *low = su_arena_alloc(&arena, o->B * SU_JOINT_AXES, sizeof *low);
    double *high = su_arena_alloc(&arena, o->B * SU_JOINT_AXES, sizeof *high);
    su_axis_noise *noise = su_axis_noise_make(&arena, n->seed, STREAM, o->B * SU_JOINT_AXES);
    if (!state || !low || !high || !noise) {
        su_arena_free(&arena);
        return su_fail(err, SU_AGAIN, "not enough memory for the motion of %lld bones", (long long)o->B);
    }
    widen(o, n->diagonal, low, high);
    for (int64_t f = 0; f < F; f++) {
        double time = (double)f / fps, *frame = bones + 16 * o->B * f;
        su_path_blend(path, time, o->B * SU_JOINT_STATE, o->state, state);
        for (int64_t b = 0; b < o->B; b++) {
            int64_t above = o->above[b];
            if (n->share > 0.0)
                add_noise(b, noise, n, time, low + SU_JOINT_AXES * b, high + SU_JOINT_AXES * b,
                          state + SU_JOINT_STATE * b);
            join(state + SU_JOINT_STATE * b, o->neutral + 4 * b, above >= 0 ? frame + 16 * above : NULL,
                 frame + 16 * b);
        }
    }
    su_arena_free(&arena);
    return SU_OK;
}
