#include "rig/synthetic_motion.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/character.h"
#include "rig/clip_path.h"
#include "rig/joint_motion.h"
#include "rig/noise.h"
#include "rig/parameters.h"
#include "rig/skinning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clips and poses are one character where their neutral skins agree to this part of its size (as for supple poses). */
#define SAME_NEUTRAL 1e-4
/* Bones carry the skin where they meet its points to this part of the diagonal: points are single precision. */
#define CARRIED 1e-4
/* And they have the parameters where those computed from them meet the clip's: rad, or what the parameter counts in. */
#define SAME_PARAMS 1e-3
/* A clip whose first and last frames differ by less than this part of the diagonal can be played on and on. */
#define CLOSED 1e-3
#define CLOSED_TURN 0.1   /* rad, and its joints by less than this */
/* A bone that keeps its place to another of the same name to this (rotation, or parts of the diagonal) is one node with it. */
#define TWIN 1e-6
/* Playing, times the clip's own speed: with joints about natural; without, slower and faster are all the variety there is. */
#define JOINTS_SLOWEST 0.7
#define JOINTS_FASTEST 1.3
#define FRAMES_SLOWEST 0.5
#define FRAMES_FASTEST 1.5
/* Shortest fade, s: about the shortest time between two gestures. */
#define FADE 0.3
/* Fades are no faster than skins move in the clips, but at least this, diagonals a second. */
#define LEAST_SKIN_SPEED 0.1
#define LEAN_SPEED 1.5        /* rad/s: bending down and getting up */
#define LIFT_SPEED 0.5        /* diagonals a second: a hop */

/* Root motion on top of that of the clips, each axis. Leaning, turning: rad rms in the bands of the joints' noise. */
#define LEAN 0.25
#define SWAY 0.05
#define SHAKE 0.015
/* Accelerations: m/s^2 rms in each of two bands (Hz), of a character with a diagonal of 2 m; a walking person's trunk has 1 to 3. */
#define ACCELERATION 2.5
#define USUAL_DIAGONAL 2.0
static const double lean_bands[3][2] = {{0.15, 0.6}, {0.6, 1.8}, {1.8, 4.5}};
static const double place_bands[2][2] = {{0.5, 2.0}, {2.0, 5.0}};

enum {
    CHECKED = 5,          /* frames of each clip on which the bones are tried */
    FEATURES = 128,       /* vertices that stand for the skin where frames are compared */
    JOINT_CANDIDATES = 4,   /* begin a clip near to where the motion is, but not always at the same frame */
    FRAME_CANDIDATES = 64,   /* whole skins are blended: only near ones blend well */
    STREAM_ROOT = 10, STREAM_MORPHS = 100,   /* of random numbers; paths have 0, joints those from 1000 on */
};

struct su_synthetic {
    su_arena arena;
    const su_poses *poses;
    int clips;
    const su_synthetic_clip *clip;
    su_synthetic_options options;
    su_anim anim;                /* file.meta NULL; arrays of the arena or of the first clip */
    const char **names;          /* (anim.s) */
    const char *why;             /* NULL: joints were moved */
    double diagonal, centre[3];

    int32_t sources;             /* clips, then example poses */
    su_path_source *source;
    int64_t *near;               /* (sources) of poses: the frame that they are most like; poses stand in the world as it does */
    int64_t frames;              /* of all sources */
    float *features;             /* (frames,3 FEATURES) */
    double skin_speed;           /* of features in the clips, diagonals a second */
    su_path path;
    su_joint_frames joints;      /* B 0: none */

    su_character character;      /* what skinning and parameters ask for; arrays borrowed, arena unused */
    bool dual;
    double *shape_weights;       /* (F,K) */
};

#define TAKE(m, out, count)                                                                                                              \
    do {                                                                                                                                 \
        if (!((out) = su_arena_alloc(&(m)->arena, (count), sizeof *(out)))) return su_fail(err, SU_AGAIN, "not enough memory for a motion"); \
    } while (0)

/* ---- one character? ---- */

static su_status check_same(const su_synthetic *m, const char *poses_path, su_error *err)
{
    const su_poses *p = m->poses;
    for (int i = 0; i < m->clips; i++) {
        const su_anim *a = m->clip[i].anim;
        double worst = 0.0;
        if (a->nbar != p->nbar || a->T != p->T || memcmp(a->triangles, p->triangles, (size_t)(3 * a->T) * sizeof *a->triangles) != 0)
            return su_fail(err, SU_INPUT, "%s: %lld vertices and %lld triangles, %s has %lld and %lld, or others: another character or topology",
                           m->clip[i].path, (long long)a->nbar, (long long)a->T, poses_path, (long long)p->nbar, (long long)p->T);
        for (int64_t k = 0; k < 3 * a->nbar; k++) worst = fmax(worst, fabs(a->neutral[k] - p->neutral[k]));
        if (worst > SAME_NEUTRAL * m->diagonal)
            return su_fail(err, SU_INPUT, "%s: its neutral pose differs from that of %s by up to %.3g m; import all clips with the same options",
                           m->clip[i].path, poses_path, worst);
        const json_t *own = json_object_get(a->file.meta, "corrected"), *first = json_object_get(m->clip[0].anim->file.meta, "corrected");
        if (json_is_true(own) != json_is_true(first))
            return su_fail(err, SU_INPUT, "%s: sculpted corrections are in its points or in those of %s, not in both", m->clip[i].path,
                           m->clip[0].path);
    }
    return SU_OK;
}

static void measure_size(su_synthetic *m)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t k = 0; k < 3 * m->poses->nbar; k++) {
        low[k % 3] = fmin(low[k % 3], m->poses->neutral[k]);
        high[k % 3] = fmax(high[k % 3], m->poses->neutral[k]);
    }
    m->diagonal = su_distance3(low, high);
    for (int i = 0; i < 3; i++) m->centre[i] = 0.5 * (low[i] + high[i]);
}

/* ---- do the bones carry the skin? ---- */

static const char *text_of(const su_anim *a, const char *key, const char *fallback)
{
    const char *text = json_string_value(json_object_get(a->file.meta, key));
    return text ? text : fallback;
}

static int64_t find_name(const su_file *file, int64_t count, const char *name)
{
    for (int64_t k = 0; k < count; k++) {
        const char *other = su_file_name(file, "param_names", k);
        if (other && strcmp(other, name) == 0) return k;
    }
    return -1;
}

static bool same_names(const su_file *a, const su_file *b, const char *key, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const char *x = su_file_name(a, key, k), *y = su_file_name(b, key, k);
        if (!x || !y || strcmp(x, y) != 0) return false;
    }
    return true;
}

static bool same_matrices(int64_t count, const double *a, const double *b, double size)
{
    for (int64_t k = 0; k < 16 * count; k++)
        if (!(fabs(a[k] - b[k]) <= SAME_NEUTRAL * (k % 4 == 3 ? size : 1.0))) return false;
    return true;
}

/* NULL, or what is missing. */
static const char *same_skeletons(const su_synthetic *m)
{
    const su_anim *a = m->clip[0].anim;
    for (int i = 0; i < m->clips; i++) {
        const su_anim *b = m->clip[i].anim;
        if (!b->bones || !b->bone_rest || !b->bone_parent || !b->weights) return "a clip has no bones";
        if (b->B != a->B || b->K != a->K || !same_names(&a->file, &b->file, "bone_names", a->B) ||
            !same_names(&a->file, &b->file, "morph_names", a->K) || !same_matrices(a->B, a->bone_rest, b->bone_rest, m->diagonal) ||
            memcmp(a->bone_parent, b->bone_parent, (size_t)a->B * sizeof *a->bone_parent) != 0)
            return "the clips have different skeletons, or bones without names";
        if (strcmp(text_of(a, "skinning", "lbs"), text_of(b, "skinning", "lbs")) != 0) return "the clips are skinned in different ways";
    }
    for (int64_t b = 0; b < a->B; b++)
        if (a->bone_parent[b] >= b) return "a bone stands before its parent";
    return NULL;
}

/* Does bone b keep its place to bone a in every frame? */
static bool fixed_to(const su_synthetic *m, int64_t a, int64_t b)
{
    const su_anim *first = m->clip[0].anim;
    double rest[16], now[16];
    if (su_affine_inverse(first->bone_rest + 16 * a, rest) == 0.0) return false;
    su_affine_multiply(rest, first->bone_rest + 16 * b, rest);
    for (int i = 0; i < m->clips; i++)
        for (int64_t f = 0; f < m->clip[i].anim->F; f++) {
            const double *bones = m->clip[i].anim->bones + 16 * first->B * f;
            if (su_affine_inverse(bones + 16 * a, now) == 0.0) return false;
            su_affine_multiply(now, bones + 16 * b, now);
            for (int k = 0; k < 16; k++)
                if (fabs(now[k] - rest[k]) > TWIN * (k % 4 == 3 ? m->diagonal : 1.0)) return false;
        }
    return true;
}

/* What skinning and parameters need of a character, out of a clip. */
static su_status make_character(su_synthetic *m, int32_t *twin, su_error *err)
{
    const su_anim *a = m->clip[0].anim;
    su_character *c = &m->character;
    int64_t *start, weights = 0;
    int32_t *bone;
    double *weight;
    char *text;
    c->diagonal = m->diagonal, c->nbar = a->nbar, c->B = a->B, c->K = a->K;
    c->neutral = a->neutral, c->morphs = a->morphs, c->bone_rest = a->bone_rest, c->bone_parent = a->bone_parent;
    TAKE(m, c->bone_names, a->B);
    TAKE(m, c->bone_node, a->B);
    TAKE(m, c->bone_deforms, a->B);
    TAKE(m, c->morph, a->K);
    for (int64_t k = 0; k < a->K; k++) c->morph[k].name = su_file_name(&a->file, "morph_names", k);
    for (int64_t b = 0; b < a->B; b++) {
        const char *name = su_file_name(&a->file, "bone_names", b);
        int64_t room = (int64_t)strlen(name) + 24, earlier = 0;
        TAKE(m, text, room);
        c->bone_names[b] = name, c->bone_node[b] = (int32_t)b, twin[b] = -1;
        for (int64_t i = 0; i < b; i++) earlier += c->bone_node[i] == i && strcmp(c->bone_names[i], name) == 0;
        snprintf(text, (size_t)room, earlier ? "%s#%d.rx" : "%s.rx", name, (int)earlier + 1);
        bool known = false;
        for (int i = 0; i < m->clips; i++) known |= find_name(&m->clip[i].anim->file, m->clip[i].anim->s, text) >= 0;
        for (int64_t i = 0; i < b && twin[b] < 0 && !(earlier && known); i++)   /* "name#2" is another node of the same name */
            if (c->bone_node[i] == i && strcmp(c->bone_names[i], name) == 0 && fixed_to(m, i, b)) twin[b] = (int32_t)i;
        if (twin[b] >= 0) c->bone_node[b] = twin[b];
        c->bone_deforms[b] = twin[b] >= 0 ? c->bone_deforms[twin[b]] : known;
    }
    TAKE(m, start, a->nbar + 1);
    for (int64_t k = 0; k < a->nbar * a->B; k++) weights += a->weights[k] != 0.0f;
    TAKE(m, bone, weights);
    TAKE(m, weight, weights);
    weights = 0;
    for (int64_t v = 0; v < a->nbar; v++) {
        double sum = 0.0;
        for (int64_t b = 0; b < a->B; b++) {
            float w = a->weights[v * a->B + b];
            if (w == 0.0f) continue;
            bone[weights] = (int32_t)b, weight[weights++] = (double)w, sum += (double)w;
        }
        start[v + 1] = weights;
        for (int64_t k = start[v]; k < weights && fabs(sum) > 0.5; k++) weight[k] /= sum;   /* single precision rounded them */
    }
    c->skin = (su_skin){a->nbar, start, bone, weight};
    m->dual = strcmp(text_of(a, "skinning", "lbs"), "dqs") == 0;
    return SU_OK;
}

/* Scratch of skinning, a frame. */
typedef struct skin_room {
    double *shape, *matrices;
} skin_room;

static su_status take_room(const su_synthetic *m, su_arena *arena, skin_room *room, su_error *err)
{
    room->shape = su_arena_alloc(arena, 3 * m->anim.nbar, sizeof(double));
    room->matrices = su_arena_alloc(arena, 33 * m->character.B, sizeof(double));
    return room->shape && room->matrices ? SU_OK : su_fail(err, SU_AGAIN, "not enough memory for a frame of %lld vertices", (long long)m->anim.nbar);
}

static void skin_frame(const su_synthetic *m, const double *bones, const double *shape_weights, const skin_room *room, double *points)
{
    const su_character *c = &m->character;
    const double *neutral = c->neutral;
    double *matrices = room->matrices;
    for (int64_t b = 0; b < c->B; b++) {
        su_affine_inverse(c->bone_rest + 16 * b, matrices + 16 * b);
        su_affine_multiply(bones + 16 * b, matrices + 16 * b, matrices + 16 * b);
    }
    for (int64_t k = 0; k < c->K; k++) {
        if (shape_weights[k] == 0.0) continue;
        for (int64_t i = 0; i < 3 * c->nbar; i++) room->shape[i] = neutral[i] + shape_weights[k] * c->morphs[3 * c->nbar * k + i];
        neutral = room->shape;
    }
    if (m->dual) su_skin_points_dual(&c->skin, c->B, neutral, matrices, m->options.threads, matrices + 16 * c->B, points);
    else su_skin_points(&c->skin, neutral, matrices, m->options.threads, points);
}

/* Blend-shape weights of rows of parameters, by name; 0 where a file has none. */
static void read_morphs(const su_synthetic *m, const su_file *file, int64_t rows, int64_t s, const double *params, double *out)
{
    for (int64_t k = 0; k < m->character.K; k++) {
        int64_t from = find_name(file, s, m->character.morph[k].name);
        for (int64_t f = 0; f < rows; f++) out[f * m->character.K + k] = from >= 0 ? params[f * s + from] : 0.0;
    }
}

/* Are the clip's points those of its bones, and its parameters too? *why: what is not. */
static su_status try_clip(su_synthetic *m, const su_anim *a, const char **why, su_error *err)
{
    su_arena arena = {0};
    su_parameters p = {0};
    su_status status = SU_OK;
    skin_room room;
    double *points = su_arena_alloc(&arena, 3 * a->nbar, sizeof *points), *morphs = su_arena_alloc(&arena, a->F * a->K, sizeof *morphs);
    if (!points || !morphs) {
        status = su_fail(err, SU_AGAIN, "not enough memory for a frame of %lld vertices", (long long)a->nbar);
        goto done;
    }
    SU_GO(take_room(m, &arena, &room, err));
    read_morphs(m, &a->file, a->F, a->s, a->params, morphs);
    for (int i = 0; i < CHECKED && !*why; i++) {
        int64_t f = i * (a->F - 1) / (CHECKED - 1);
        skin_frame(m, a->bones + 16 * a->B * f, morphs + a->K * f, &room, points);
        for (int64_t k = 0; k < 3 * a->nbar && !*why; k++)
            if (!(fabs(points[k] - (double)a->points[3 * a->nbar * f + k]) <= CARRIED * m->diagonal)) *why = "its bones do not carry the skin";
    }
    if (*why) goto done;
    SU_GO(su_rig_parameters(&m->character, a->F, a->bones, morphs, &p, err));
    for (int64_t k = 0; k < a->s && !*why; k++) {
        const char *name = su_file_name(&a->file, "param_names", k);
        int64_t own = -1;
        for (int64_t i = 0; i < p.s && own < 0 && name; i++)
            if (strcmp(p.names[i], name) == 0) own = i;
        for (int64_t f = 0; f < a->F && !*why; f++)
            if (!(fabs(a->params[f * a->s + k] - (own >= 0 ? p.values[f * p.s + own] : 0.0)) <= SAME_PARAMS)) *why = "its parameters are not those of its bones";
    }
done:
    su_parameters_free(&p);
    su_arena_free(&arena);
    return status;
}

static su_status try_bones(su_synthetic *m, int32_t **twin, su_error *err)
{
    m->why = same_skeletons(m);
    if (m->why) return SU_OK;
    TAKE(m, *twin, m->clip[0].anim->B);
    SU_TRY(make_character(m, *twin, err));
    for (int i = 0; i < m->clips && !m->why; i++) SU_TRY(try_clip(m, m->clip[i].anim, &m->why, err));
    return SU_OK;
}

/* ---- sources ---- */

/* Example poses are held in the walk where they have bones of their own. */
static bool poses_have_bones(const su_synthetic *m)
{
    const su_anim *a = m->clip[0].anim;
    return m->poses->bones && m->poses->B == a->B && same_names(&m->poses->file, &a->file, "bone_names", a->B);
}

static void take_features(su_synthetic *m, int64_t frame, const float *single, const double *twice)
{
    int64_t n = m->anim.nbar;
    for (int64_t k = 0; k < FEATURES; k++) {
        int64_t v = n > 1 ? k * (n - 1) / (FEATURES - 1) : 0;
        for (int i = 0; i < 3; i++)
            m->features[3 * (FEATURES * frame + k) + i] = (float)((single ? (double)single[3 * v + i] : twice[3 * v + i]) / m->diagonal);
    }
}

/* RMS distance of two skins over the diagonal. */
static double skin_distance(const void *context, int64_t a, int64_t b)
{
    const su_synthetic *m = context;
    const float *x = m->features + 3 * FEATURES * a, *y = m->features + 3 * FEATURES * b;
    double sum = 0.0;
    for (int k = 0; k < 3 * FEATURES; k++) sum += (double)(x[k] - y[k]) * (double)(x[k] - y[k]);
    return sqrt(sum / FEATURES);
}

static const double *root_of(const su_synthetic *m, int64_t frame)
{
    int32_t s = 0;
    while (frame >= m->source[s].first + m->source[s].frames) s++;
    return m->source[s].root + 16 * (frame - m->source[s].first);
}

/* How far two roots lie apart but for turns about the vertical and ways along the ground, in their two parts: angle between
 * the characters' verticals (rad), and height of the centre (m). */
static void root_distance(const su_synthetic *m, int64_t a, int64_t b, double *lean, double *height)
{
    const double *x = root_of(m, a), *y = root_of(m, b);
    double p[3], q[3];
    su_affine_point(x, m->centre, p);
    su_affine_point(y, m->centre, q);
    *lean = acos(fmax(-1.0, fmin(1.0, su_dot3(x + 4, y + 4)))), *height = fabs(p[1] - q[1]);
}

static double fade_duration(const void *context, int64_t a, int64_t b)
{
    const su_synthetic *m = context;
    double lean, height, root;
    root_distance(m, a, b, &lean, &height);
    root = SU_PATH_PEAK * fmax(lean / LEAN_SPEED, height / (LIFT_SPEED * m->diagonal));
    double skin = SU_PATH_PEAK * skin_distance(m, a, b) / fmax(m->skin_speed, LEAST_SKIN_SPEED);
    return fmax(root, m->why ? skin : fmax(skin, su_joint_fade(&m->joints, a, b)));
}

/* The clips' frame that is most like an example pose, most often the very one that it was taken from. */
static int64_t nearest_frame(const su_synthetic *m, int64_t pose)
{
    int64_t best = 0;
    double nearest = INFINITY;
    for (int64_t f = 0; f < m->source[m->clips - 1].first + m->source[m->clips - 1].frames; f++) {
        double d = skin_distance(m, f, pose);
        if (d < nearest) nearest = d, best = f;
    }
    return best;
}

static double frame_rate(const su_anim *a)
{
    double fps = json_number_value(json_object_get(a->file.meta, "fps"));
    if (!(fps > 0.0) && a->F > 1) fps = (double)(a->F - 1) / (a->times[a->F - 1] - a->times[0]);
    return fps > 0.0 ? fps : 30.0;
}

static su_status make_sources(su_synthetic *m, su_error *err)
{
    int64_t poses = !m->why && poses_have_bones(m) ? m->poses->m : 0, played = 0;
    for (int i = 0; i < m->clips; i++) played += m->clip[i].anim->F;
    if (played < 2 && poses < 2)
        return su_fail(err, SU_INPUT, "%s: has a single frame: there is no motion to learn ranges and speeds from; give a clip that moves",
                       m->clip[0].path);
    m->sources = (int32_t)(m->clips + poses);
    TAKE(m, m->source, m->sources);
    TAKE(m, m->near, m->sources);
    for (int i = 0; i < m->clips; i++) {
        const su_anim *a = m->clip[i].anim;
        m->near[i] = -1;
        m->source[i] = (su_path_source){.first = m->frames, .frames = a->F, .fps = frame_rate(a), .root = a->root};
        m->frames += a->F;
    }
    for (int64_t i = 0; i < poses; i++) m->source[m->clips + i] = (su_path_source){.first = m->frames++, .frames = 1, .fps = 1.0};
    TAKE(m, m->features, m->frames * 3 * FEATURES);
    for (int i = 0; i < m->clips; i++) {
        su_path_source *s = &m->source[i];
        for (int64_t f = 0; f < s->frames; f++) {
            take_features(m, s->first + f, m->clip[i].anim->points + 3 * m->anim.nbar * f, NULL);
            if (f > 0) m->skin_speed = fmax(m->skin_speed, s->fps * skin_distance(m, s->first + f - 1, s->first + f));
        }
    }
    for (int64_t i = 0; i < poses; i++) {
        su_path_source *s = &m->source[m->clips + i];
        take_features(m, s->first, NULL, m->poses->rigged + 3 * m->anim.nbar * i);
        m->near[m->clips + i] = nearest_frame(m, s->first);
        s->root = root_of(m, m->near[m->clips + i]);
    }
    return SU_OK;
}

/* ---- motion ---- */

static su_status make_joints(su_synthetic *m, const int32_t *twin, su_error *err)
{
    const su_anim *a = m->clip[0].anim;
    su_arena scratch = {0};
    su_status status = SU_OK;
    const double **bones = su_arena_alloc(&scratch, m->sources, sizeof *bones);
    int32_t *none = su_arena_alloc(&scratch, a->B, sizeof *none);
    if (!bones || !none) {
        status = su_fail(err, SU_AGAIN, "not enough memory");
        goto done;
    }
    for (int64_t b = 0; b < a->B; b++) none[b] = -1;
    for (int i = 0; i < m->clips; i++) bones[i] = m->clip[i].anim->bones;
    for (int32_t i = m->clips; i < m->sources; i++) bones[i] = m->poses->bones + 16 * a->B * (i - m->clips);
    /* without joints each bone is blended for itself, as the skin is */
    SU_GO(su_joint_frames_create(a->B, a->bone_rest, m->why ? none : a->bone_parent, m->why ? none : twin, m->sources, m->source, bones,
                                 m->near, &m->joints, err));
done:
    su_arena_free(&scratch);
    return status;
}

/* Clips that end as they begin can go on; not where a joint has made whole turns meanwhile. */
static void close_cycles(su_synthetic *m)
{
    for (int i = 0; i < m->clips; i++) {
        su_path_source *s = &m->source[i];
        int64_t last = s->first + s->frames - 1;
        if (s->frames > 3 && skin_distance(m, s->first, last) < CLOSED && !(su_joint_distance(&m->joints, s->first, last) > CLOSED_TURN))
            su_path_close(s, m->centre);
    }
}

static su_status make_path(su_synthetic *m, su_error *err)
{
    bool joints = !m->why;
    su_path_options o = {.seed = m->options.seed, .seconds = m->options.seconds, .clips = m->clips, .walk = joints,
                         .slowest = joints ? JOINTS_SLOWEST : FRAMES_SLOWEST, .fastest = joints ? JOINTS_FASTEST : FRAMES_FASTEST,
                         .backwards = !joints, .candidates = joints ? JOINT_CANDIDATES : FRAME_CANDIDATES, .fade = FADE,
                         .distance = skin_distance, .duration = fade_duration, .context = m};
    memcpy(o.centre, m->centre, sizeof o.centre);
    /* Poses begin with the neutral one, from which every simulation starts at rest. */
    return su_path_create(m->sources, m->source, m->sources > m->clips ? m->clips : 0, &o, &m->path, err);
}

/* Root of the path, with leaning, turning and shoving about the character's middle. */
static void make_root(su_synthetic *m)
{
    su_noise turn[3][3], shove[3][2];
    double a = ACCELERATION * m->diagonal / USUAL_DIAGONAL;
    static const double strength[3] = {LEAN, SWAY, SHAKE};
    for (int i = 0; i < 3; i++) {
        su_random random = su_random_seed(m->options.seed, STREAM_ROOT + (uint64_t)i);
        for (int k = 0; k < 3; k++) su_noise_make(&random, lean_bands[k][0], lean_bands[k][1], &turn[i][k]);
        for (int k = 0; k < 2; k++) su_noise_make(&random, place_bands[k][0], place_bands[k][1], &shove[i][k]);
    }
    for (int64_t f = 0; f < m->anim.F; f++) {
        double time = (double)f / m->options.fps, *root = m->anim.root + 16 * f, v[3], q[4], linear[9], shift[3], step[16];
        su_path_root(&m->path, time, root);
        for (int i = 0; i < 3; i++) {
            v[i] = 0.0;
            for (int k = 0; k < 3; k++) v[i] += strength[k] * su_noise_value(&turn[i][k], time);
        }
        su_quaternion_exp(v, q);
        su_quaternion_matrix(q, linear);
        su_mulv3(linear, m->centre, shift);
        for (int i = 0; i < 3; i++) shift[i] = m->centre[i] - shift[i];
        su_affine_set(linear, shift, step);
        su_affine_multiply(root, step, root);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 2; k++) root[4 * i + 3] += a * su_noise_integrated_twice(&shove[i][k], time);
    }
}

static su_status make_morphs(su_synthetic *m, su_error *err)
{
    const su_character *c = &m->character;
    int64_t K = c->K;
    double *rows, low, high;
    TAKE(m, m->shape_weights, m->anim.F * K);
    if (K == 0) return SU_OK;
    TAKE(m, rows, m->frames * K);
    su_axis_noise *noise = su_axis_noise_make(&m->arena, m->options.seed, STREAM_MORPHS, K);
    if (!noise) return su_fail(err, SU_AGAIN, "not enough memory for a motion");
    for (int i = 0; i < m->clips; i++) {
        const su_anim *a = m->clip[i].anim;
        read_morphs(m, &a->file, a->F, a->s, a->params, rows + K * m->source[i].first);
    }
    if (m->sources > m->clips)
        read_morphs(m, &m->poses->file, m->poses->m, m->poses->s, m->poses->params, rows + K * m->source[m->clips].first);
    for (int64_t f = 0; f < m->anim.F; f++) su_path_blend(&m->path, (double)f / m->options.fps, K, rows, m->shape_weights + K * f);
    for (int64_t k = 0; k < K; k++) {
        low = INFINITY, high = -INFINITY;
        for (int64_t f = 0; f < m->frames; f++) low = fmin(low, rows[f * K + k]), high = fmax(high, rows[f * K + k]);
        for (int64_t f = 0; f < m->anim.F && high > low; f++) {   /* never beyond what was seen: shapes are made for their range */
            double *w = m->shape_weights + K * f + k, centre = fmax(low, fmin(high, *w));
            *w = fmax(low, fmin(high, centre + su_axis_noise_at(noise, k, (double)f / m->options.fps, centre, low, high, m->options.share)));
        }
    }
    return SU_OK;
}

/* ---- parameters ---- */

static int64_t name_at(const char *const *names, int64_t count, const char *name)
{
    for (int64_t k = 0; k < count; k++)
        if (strcmp(names[k], name) == 0) return k;
    return -1;
}

/* Names that a file has and the motion has not yet. */
static void add_names(const su_file *file, int64_t s, const char **names, int64_t *count)
{
    for (int64_t k = 0; k < s; k++) {
        const char *name = su_file_name(file, "param_names", k);
        if (name && name_at(names, *count, name) < 0) names[(*count)++] = name;
    }
}

/* Parameters of the bones, as import finds them; those that no clip and no pose has are rounding. What only poses or clips
 * know stays at the neutral pose. */
static su_status params_of_joints(su_synthetic *m, su_error *err)
{
    su_parameters p;
    int64_t most = m->poses->s, s = 0;
    for (int i = 0; i < m->clips; i++) most += m->clip[i].anim->s;
    TAKE(m, m->names, most);
    for (int i = 0; i < m->clips; i++) add_names(&m->clip[i].anim->file, m->clip[i].anim->s, m->names, &s);
    add_names(&m->poses->file, m->poses->s, m->names, &s);
    TAKE(m, m->anim.params, m->anim.F * s);
    m->anim.s = s;
    SU_TRY(su_rig_parameters(&m->character, m->anim.F, m->anim.bones, m->shape_weights, &p, err));
    for (int64_t k = 0; k < p.s; k++) {
        int64_t to = name_at(m->names, s, p.names[k]);
        for (int64_t f = 0; f < m->anim.F && to >= 0; f++) m->anim.params[s * f + to] = p.values[p.s * f + k];
    }
    su_parameters_free(&p);
    return SU_OK;
}

/* Without joints they are blended as the skins are. */
static su_status params_of_frames(su_synthetic *m, su_error *err)
{
    int64_t most = m->poses->s, s = 0;
    double *rows;
    for (int i = 0; i < m->clips; i++) most += m->clip[i].anim->s;
    TAKE(m, m->names, most);
    for (int i = 0; i < m->clips; i++) add_names(&m->clip[i].anim->file, m->clip[i].anim->s, m->names, &s);
    if (s > 0) add_names(&m->poses->file, m->poses->s, m->names, &s);   /* else the poses found coordinates: so will others */
    TAKE(m, rows, m->frames * s);
    for (int i = 0; i < m->clips; i++) {
        const su_anim *a = m->clip[i].anim;
        for (int64_t k = 0; k < a->s; k++) {
            const char *name = su_file_name(&a->file, "param_names", k);
            int64_t to = name ? name_at(m->names, s, name) : -1;
            for (int64_t f = 0; f < a->F && to >= 0; f++) rows[s * (m->source[i].first + f) + to] = a->params[a->s * f + k];
        }
    }
    TAKE(m, m->anim.params, m->anim.F * s);
    for (int64_t f = 0; f < m->anim.F; f++) su_path_blend(&m->path, (double)f / m->options.fps, s, rows, m->anim.params + s * f);
    m->anim.s = s;
    return SU_OK;
}

/* ---- the whole ---- */

static void borrow(su_synthetic *m)
{
    const su_anim *a = m->clip[0].anim;
    m->anim = *a;
    m->anim.file = (su_file){0};
    m->anim.points = NULL, m->anim.root = m->anim.times = m->anim.params = m->anim.bones = NULL, m->anim.s = 0;
    m->anim.F = (int64_t)round(m->options.seconds * m->options.fps) + 1;
}

static su_status create(su_synthetic *m, const char *poses_path, su_error *err)
{
    int32_t *twin = NULL;
    const su_anim *a = m->clip[0].anim;
    measure_size(m);
    SU_TRY(check_same(m, poses_path, err));
    borrow(m);
    SU_TRY(try_bones(m, &twin, err));
    SU_TRY(make_sources(m, err));
    bool bones = !m->why || (same_skeletons(m) == NULL);
    if (bones) SU_TRY(make_joints(m, twin, err));
    close_cycles(m);
    SU_TRY(make_path(m, err));
    TAKE(m, m->anim.times, m->anim.F);
    TAKE(m, m->anim.root, 16 * m->anim.F);
    for (int64_t f = 0; f < m->anim.F; f++) m->anim.times[f] = (double)f / m->options.fps;
    make_root(m);
    if (bones) {
        TAKE(m, m->anim.bones, 16 * a->B * m->anim.F);
        const su_joint_noise noise = {.seed = m->options.seed, .share = m->why ? 0.0 : m->options.share, .diagonal = m->diagonal};
        SU_TRY(su_joint_motion(&m->joints, &m->path, &noise, m->anim.F, m->options.fps, m->anim.bones, err));
    }
    if (m->why) return params_of_frames(m, err);
    SU_TRY(make_morphs(m, err));
    return params_of_joints(m, err);
}

su_status su_synthetic_create(const su_poses *poses, const char *poses_path, int clips, const su_synthetic_clip *clip,
                           const su_synthetic_options *options, su_synthetic **out, su_error *err)
{
    *out = NULL;
    su_synthetic *m = calloc(1, sizeof *m);
    if (!m) return su_fail(err, SU_AGAIN, "not enough memory for a motion");
    m->poses = poses, m->clips = clips, m->clip = clip, m->options = *options;
    su_status status = create(m, poses_path, err);
    if (status == SU_OK) *out = m;
    else su_synthetic_free(m);
    return status;
}

void su_synthetic_free(su_synthetic *m)
{
    if (!m) return;
    su_joint_frames_free(&m->joints);
    su_path_free(&m->path);
    su_arena_free(&m->arena);
    free(m);
}

const su_anim *su_synthetic_anim(const su_synthetic *m) { return &m->anim; }

int64_t su_synthetic_params(const su_synthetic *m, const char *const **names)
{
    *names = m->names;
    return m->anim.s;
}

bool su_synthetic_of_joints(const su_synthetic *m, const char **why)
{
    *why = m->why;
    return !m->why;
}

static void blend_points(const su_synthetic *m, double time, double *points)
{
    int64_t frame[8], n = 3 * m->anim.nbar;
    double weight[8];
    int count = su_path_terms(&m->path, time, frame, weight);
    for (int64_t i = 0; i < n; i++) points[i] = 0.0;
    for (int k = 0; k < count; k++) {
        int32_t s = 0;
        while (frame[k] >= m->source[s].first + m->source[s].frames) s++;
        const float *from = m->clip[s].anim->points + n * (frame[k] - m->source[s].first);
        for (int64_t i = 0; i < n; i++) points[i] += weight[k] * (double)from[i];
    }
}

static void frame_points(const su_synthetic *m, int64_t frame, const skin_room *room, double *points)
{
    if (m->why) blend_points(m, (double)frame / m->options.fps, points);
    else skin_frame(m, m->anim.bones + 16 * m->anim.B * frame, m->shape_weights + m->character.K * frame, room, points);
}

su_status su_synthetic_points(const su_synthetic *m, int64_t frame, double *points, su_error *err)
{
    su_arena arena = {0};
    skin_room room;
    su_status status = take_room(m, &arena, &room, err);
    if (status == SU_OK) frame_points(m, frame, &room, points);
    su_arena_free(&arena);
    return status;
}

/* ---- report ---- */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Appends the angular speeds of moving joints from frame to frame. */
static int64_t joint_speeds(const su_synthetic *m, int64_t F, double fps, const double *bones, double *out)
{
    int64_t count = 0, B = m->joints.B;
    for (int64_t b = 0; b < B; b++) {
        int64_t above = m->joints.above[b];
        if (!(m->joints.speed[b] > 0.0)) continue;
        double q[2][4];
        for (int64_t f = 0; f < F; f++) {
            double local[16], linear[9], r[9], dot = 0.0;
            memcpy(local, bones + 16 * (B * f + b), sizeof local);
            if (above >= 0 && su_affine_inverse(bones + 16 * (B * f + above), local) != 0.0)
                su_affine_multiply(local, bones + 16 * (B * f + b), local);
            su_affine_linear(local, linear);
            su_nearest_rotation(linear, r);
            su_quaternion_of(r, q[f % 2]);
            for (int i = 0; i < 4; i++) dot += q[0][i] * q[1][i];
            if (f > 0) out[count++] = 2.0 * acos(fmin(1.0, fabs(dot))) * fps;
        }
    }
    return count;
}

static double percentile_99(int64_t count, double *values)
{
    if (count == 0) return 0.0;
    qsort(values, (size_t)count, sizeof *values, compare_numbers);
    return values[(int64_t)(0.99 * (double)(count - 1))];
}

su_status su_synthetic_measure(const su_synthetic *m, su_synthetic_report *report, su_error *err)
{
    int64_t most = m->anim.F, count = 0, moving = 0;
    double *values, sum = 0.0;
    *report = (su_synthetic_report){0};
    for (int i = 0; i < m->clips; i++) most += m->clip[i].anim->F;
    SU_TRY(SU_ALLOC(&values, most * m->joints.B, "speeds", err));
    if (m->joints.B && !m->why) {
        for (int i = 0; i < m->clips; i++)
            count += joint_speeds(m, m->clip[i].anim->F, m->source[i].fps, m->clip[i].anim->bones, values + count);
        report->clip_speed = percentile_99(count, values);
        report->speed = percentile_99(joint_speeds(m, m->anim.F, m->options.fps, m->anim.bones, values), values);
    }
    free(values);
    for (int64_t k = 0; k < m->anim.s; k++) {
        double low = INFINITY, high = -INFINITY, first = INFINITY, last = -INFINITY;
        for (int i = 0; i < m->clips; i++) {
            const su_anim *a = m->clip[i].anim;
            int64_t from = find_name(&a->file, a->s, m->names[k]);
            for (int64_t f = 0; f < a->F && from >= 0; f++) low = fmin(low, a->params[a->s * f + from]), high = fmax(high, a->params[a->s * f + from]);
        }
        for (int64_t f = 0; f < m->anim.F; f++)
            first = fmin(first, m->anim.params[m->anim.s * f + k]), last = fmax(last, m->anim.params[m->anim.s * f + k]);
        if (!(high - low > SAME_PARAMS)) continue;
        moving++;
        sum += fmax(0.0, fmin(high, last) - fmax(low, first)) / (high - low);
    }
    report->covered = moving ? sum / (double)moving : 0.0;
    return SU_OK;
}

/* ---- saving ---- */

typedef struct point_stream {
    const su_synthetic *m;
    su_progress *progress;
} point_stream;

static su_status write_points(void *context, su_npz_writer *writer, su_error *err)
{
    const point_stream *s = context;
    const su_synthetic *m = s->m;
    su_arena arena = {0};
    su_status status = SU_OK;
    skin_room room;
    int64_t n = 3 * m->anim.nbar;
    double *points = su_arena_alloc(&arena, n, sizeof *points);
    float *single = su_arena_alloc(&arena, n, sizeof *single);
    if (!points || !single) {
        status = su_fail(err, SU_AGAIN, "not enough memory for a frame of %lld vertices", (long long)m->anim.nbar);
        goto done;
    }
    SU_GO(take_room(m, &arena, &room, err));
    for (int64_t f = 0; f < m->anim.F; f++) {
        frame_points(m, f, &room, points);
        for (int64_t i = 0; i < n; i++) {
            single[i] = (float)points[i];
            if (isfinite(single[i])) continue;
            status = su_fail(err, SU_NUMERICS, "frame %lld: vertex %lld has no finite position", (long long)f, (long long)(i / 3));
            goto done;
        }
        SU_GO(su_npz_append(writer, single, n, err));
        SU_GO(su_progress_update(s->progress, (double)(f + 1) / (double)m->anim.F, err));
    }
done:
    su_arena_free(&arena);
    return status;
}

static void describe(const su_synthetic *m, json_t *meta)
{
    static const char *const carried[] = {"skinning", "source", "source_unit", "source_up", "object_names", "bone_names", "morph_names", "corrected"};
    json_t *names = json_array();
    for (int64_t k = 0; k < m->anim.s; k++) json_array_append_new(names, json_string(m->names[k]));
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++) {
        json_t *value = json_object_get(m->clip[0].anim->file.meta, carried[i]);
        if (value) json_object_set(meta, carried[i], value);
    }
    json_object_set_new(meta, "param_names", names);
    json_object_set_new(meta, "clip", json_string("motion"));
    json_object_set_new(meta, "fps", json_real(m->options.fps));
    json_object_set_new(meta, "frame_start", json_real(0.0));
    json_object_set_new(meta, "motion", json_string(m->why ? "frames" : "joints"));
    json_object_set_new(meta, "seconds", json_real(m->options.seconds));
    json_object_set_new(meta, "seed", json_integer((json_int_t)m->options.seed));
    json_object_set_new(meta, "range", json_real(m->options.share));
}

su_status su_synthetic_save(const su_synthetic *m, const char *path, json_t *meta, su_progress *progress, su_error *err)
{
    su_anim anim = m->anim;
    point_stream points = {m, progress};
    su_field_stream stream = {"points", write_points, &points};
    describe(m, meta);
    anim.file.meta = meta;   /* borrowed: all of this struct is */
    return su_schema_save_streamed(&su_anim_schema, path, &anim, &stream, err);
}
