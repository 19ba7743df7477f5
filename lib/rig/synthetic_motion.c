#include "geometry/box.h"
#include "rig/synthetic_motion_internal.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/noise.h"
#include "rig/parameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Clips and poses are one character where their neutral skins agree to this part of its size (as for supple poses). */
#define SAME_NEUTRAL 1e-4
/* A clip whose first and last frames differ by less than this part of the diagonal can be played on and on. */
#define CLOSED 1e-3
#define CLOSED_TURN 0.1 /* rad, and its joints by less than this */
/* Playing, times the clip's own speed: with joints about natural; without, slower and faster are all the variety there
 * is. */
#define JOINTS_SLOWEST 0.7
#define JOINTS_FASTEST 1.3
#define FRAMES_SLOWEST 0.5
#define FRAMES_FASTEST 1.5
/* Shortest fade, s: about the shortest time between two gestures. */
#define FADE 0.3
/* Fades are no faster than skins move in the clips, but at least this, diagonals a second. */
#define LEAST_SKIN_SPEED 0.1
#define LEAN_SPEED 1.5 /* rad/s: bending down and getting up */
#define LIFT_SPEED 0.5 /* diagonals a second: a hop */

/* Root motion on top of that of the clips, each axis. Leaning, turning: rad rms in the bands of the joints' noise. */
#define LEAN 0.25
#define SWAY 0.05
#define SHAKE 0.015
/* Accelerations: m/s^2 rms in each of two bands (Hz), of a character with a diagonal of 2 m; a walking person's trunk
 * has 1 to 3, a running one 5 to 10. */
#define ACCELERATION 2.5
#define USUAL_DIAGONAL 2.0
static const double lean_bands[3][2] = {{0.15, 0.6}, {0.6, 1.8}, {1.8, 4.5}};
static const double place_bands[2][2] = {{0.5, 2.0}, {2.0, 5.0}};

enum {
    FEATURES = 128,        /* vertices that stand for the skin where frames are compared */
    JOINT_CANDIDATES = 4,  /* begin a clip near to where the motion is, but not always at the same frame */
    FRAME_CANDIDATES = 64, /* whole skins are blended: only near ones blend well */
    STREAM_ROOT = 10,
    STREAM_MORPHS = 100, /* of random numbers; paths have 0, joints those from 1000 on */
};

#define TAKE(m, out, count)                                                                                            \
    do {                                                                                                               \
        if (!((out) = su_arena_alloc(&(m)->arena, (count), sizeof *(out))))                                            \
            return su_fail(err, SU_AGAIN, "not enough memory for a motion of %lld frames", (long long)(m)->anim.F);    \
    } while (0)

/* ---- one character? ---- */

static bool corrected(const su_anim *a) { return json_is_true(json_object_get(a->file.meta, "corrected")); }

static su_status check_same(const su_synthetic *m, const char *poses_path, su_error *err)
{
    const su_poses *p = m->poses;
    for (int i = 0; i < m->clips; i++) {
        const su_anim *a = m->clip[i].anim;
        const char *path = m->clip[i].path;
        double worst = 0.0;
        if (a->nbar != p->nbar || a->T != p->T)
            return su_fail(err, SU_INPUT,
                           "%s: %lld vertices and %lld triangles, but %s has %lld and %lld: another character or "
                           "topology",
                           path, (long long)a->nbar, (long long)a->T, poses_path, (long long)p->nbar, (long long)p->T);
        if (memcmp(a->triangles, p->triangles, (size_t)(3 * a->T) * sizeof *a->triangles) != 0)
            return su_fail(err, SU_INPUT, "%s: its triangles differ from those of %s: another character or topology",
                           path, poses_path);
        for (int64_t k = 0; k < 3 * a->nbar; k++) worst = fmax(worst, fabs(a->neutral[k] - p->neutral[k]));
        if (worst > SAME_NEUTRAL * m->diagonal)
            return su_fail(err, SU_INPUT,
                           "%s: its neutral pose differs from that of %s by up to %.3g m; import all clips with the "
                           "same options",
                           path, poses_path, worst);
        if (corrected(a) != corrected(m->clip[0].anim))
            return su_fail(err, SU_INPUT, "%s: sculpted corrections are in its points or in those of %s, not in both",
                           path, m->clip[0].path);
    }
    return SU_OK;
}

static void measure_size(su_synthetic *m)
{
    double low[3], high[3];
    su_bounding_box(m->poses->nbar, m->poses->neutral, low, high);
    m->diagonal = su_distance3(low, high);
    for (int i = 0; i < 3; i++) m->centre[i] = 0.5 * (low[i] + high[i]);
}

/* ---- sources ---- */

/* Example poses are held in the walk where they have the clips' bones. */
static bool poses_have_bones(const su_synthetic *m)
{
    const su_anim *a = m->clip[0].anim;
    if (!m->poses->bones || m->poses->B != a->B) return false;
    for (int64_t b = 0; b < a->B; b++) {
        const char *own = su_file_name(&m->poses->file, "bone_names", b),
                   *name = su_file_name(&a->file, "bone_names", b);
        if (!own || !name || strcmp(own, name) != 0) return false;
    }
    return true;
}

/* Some vertices of a skin, of which one of the two is given, over the diagonal. */
static void take_features(su_synthetic *m, int64_t frame, const float *single, const double *twice)
{
    int64_t n = m->anim.nbar;
    float *to = m->features + 3 * FEATURES * frame;
    for (int64_t k = 0; k < FEATURES; k++)
        for (int64_t i = 0, at = 3 * (k * (n - 1) / (FEATURES - 1)); i < 3; i++)
            *to++ = (float)((single ? (double)single[at + i] : twice[at + i]) / m->diagonal);
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

/* How far two roots lie apart but for turns about the vertical and ways along the ground, in their two parts: angle
 * between the characters' verticals (rad), and height of the centre (m). */
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
        return su_fail(err, SU_INPUT,
                       "%s: has a single frame: there is no motion to learn ranges and speeds from; give a clip "
                       "that moves",
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
    for (int64_t i = 0; i < poses; i++)
        m->source[m->clips + i] = (su_path_source){.first = m->frames++, .frames = 1, .fps = 1.0};
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

static su_status make_joints(su_synthetic *m, su_error *err)
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
    /* where they do not carry the skin each bone is blended for itself, as the skin is */
    const su_joint_tree tree = {a->B, a->bone_rest, m->why ? none : a->bone_parent, m->why ? none : m->rig.twin};
    const su_joint_sources from = {m->sources, m->source, bones, m->near};
    SU_GO(su_joint_frames_create(&tree, &from, &m->joints, err));
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
        if (s->frames < 4 || skin_distance(m, s->first, last) > CLOSED) continue;
        if (!(su_joint_distance(&m->joints, s->first, last) > CLOSED_TURN)) su_path_close(s, m->centre);
    }
}

static su_status make_path(su_synthetic *m, su_error *err)
{
    bool joints = !m->why;
    su_path_options o = {.seed = m->options.seed,
                         .seconds = m->options.seconds,
                         .clips = m->clips,
                         .walk = joints,
                         .slowest = joints ? JOINTS_SLOWEST : FRAMES_SLOWEST,
                         .fastest = joints ? JOINTS_FASTEST : FRAMES_FASTEST,
                         .backwards = !joints,
                         .candidates = joints ? JOINT_CANDIDATES : FRAME_CANDIDATES,
                         .fade = FADE,
                         .distance = skin_distance,
                         .duration = fade_duration,
                         .context = m};
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
        double time = (double)f / m->options.fps, *root = m->anim.root + 16 * f, v[3], q[4], linear[9], shift[3],
               step[16];
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

/* Noise of one blend shape; never beyond what was seen, for shapes are made for their range. rows (frames,K). */
static void move_morph(su_synthetic *m, const su_axis_noise *noise, int64_t k, const double *rows)
{
    int64_t K = m->rig.character.K;
    double low = INFINITY, high = -INFINITY;
    for (int64_t f = 0; f < m->frames; f++) low = fmin(low, rows[f * K + k]), high = fmax(high, rows[f * K + k]);
    for (int64_t f = 0; f < m->anim.F && high > low; f++) {
        double *w = m->shape_weights + K * f + k, centre = fmax(low, fmin(high, *w));
        double more = su_axis_noise_at(noise, k, (double)f / m->options.fps, centre, low, high, m->options.share, 0);
        *w = fmax(low, fmin(high, centre + more));
    }
}

static su_status make_morphs(su_synthetic *m, su_error *err)
{
    int64_t K = m->rig.character.K;
    const su_poses *p = m->poses;
    double *rows;
    TAKE(m, m->shape_weights, m->anim.F * K);
    if (K == 0) return SU_OK;
    TAKE(m, rows, m->frames * K);
    su_axis_noise *noise = su_axis_noise_make(&m->arena, m->options.seed, STREAM_MORPHS, K);
    if (!noise) return su_fail(err, SU_AGAIN, "not enough memory for the noise of %lld blend shapes", (long long)K);
    for (int i = 0; i < m->clips; i++) {
        const su_anim *a = m->clip[i].anim;
        su_clip_rig_shape_weights(&m->rig, &a->file, a->F, a->s, a->params, rows + K * m->source[i].first);
    }
    if (m->sources > m->clips)
        su_clip_rig_shape_weights(&m->rig, &p->file, p->m, p->s, p->params, rows + K * m->source[m->clips].first);
    for (int64_t f = 0; f < m->anim.F; f++)
        su_path_blend(&m->path, (double)f / m->options.fps, K, rows, m->shape_weights + K * f);
    for (int64_t k = 0; k < K; k++) move_morph(m, noise, k, rows);
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

/* Parameters of the bones, as import finds them; those that no clip and no pose has are rounding. What only poses or
 * clips know stays at the neutral pose. */
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
    SU_TRY(su_rig_parameters(&m->rig.character, m->anim.F, m->anim.bones, m->shape_weights, &p, err));
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
    if (s > 0)
        add_names(&m->poses->file, m->poses->s, m->names, &s); /* else the poses found coordinates: so will others */
    TAKE(m, rows, m->frames * s);
    for (int i = 0; i < m->clips; i++) {
        const su_anim *a = m->clip[i].anim;
        for (int64_t k = 0; k < a->s; k++) {
            const char *name = su_file_name(&a->file, "param_names", k);
            int64_t to = name ? name_at(m->names, s, name) : -1;
            for (int64_t f = 0; f < a->F && to >= 0; f++)
                rows[s * (m->source[i].first + f) + to] = a->params[a->s * f + k];
        }
    }
    TAKE(m, m->anim.params, m->anim.F * s);
    for (int64_t f = 0; f < m->anim.F; f++)
        su_path_blend(&m->path, (double)f / m->options.fps, s, rows, m->anim.params + s * f);
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
    m->anim.node_parent = m->anim.joint_node = m->anim.object_node = NULL, m->anim.node_keys = NULL;
    m->anim.object_frames = NULL; /* of the clip's frames */
    m->anim.node_rest = m->anim.joint_bind = NULL,
    m->anim.nodes = m->anim.joints = 0; /* nobody leaves for another program with it */
    m->anim.F = (int64_t)round(m->options.seconds * m->options.fps) + 1;
}

static su_status create(su_synthetic *m, const char *poses_path, su_error *err)
{
    const su_anim *a = m->clip[0].anim;
    measure_size(m);
    SU_TRY(check_same(m, poses_path, err));
    borrow(m);
    TAKE(m, m->clip_anim, m->clips);
    for (int i = 0; i < m->clips; i++) m->clip_anim[i] = m->clip[i].anim;
    SU_TRY(su_clip_rig_create(m->clips, m->clip_anim, m->diagonal, &m->rig, &m->why, err));
    SU_TRY(make_sources(m, err));
    bool bones = !m->why || !su_same_bones(m->clips, m->clip_anim, m->diagonal);
    if (bones) SU_TRY(make_joints(m, err));
    close_cycles(m);
    SU_TRY(make_path(m, err));
    TAKE(m, m->anim.times, m->anim.F);
    TAKE(m, m->anim.root, 16 * m->anim.F);
    for (int64_t f = 0; f < m->anim.F; f++) m->anim.times[f] = (double)f / m->options.fps;
    make_root(m);
    if (bones) {
        TAKE(m, m->anim.bones, 16 * a->B * m->anim.F);
        const su_joint_noise noise = {
            .seed = m->options.seed, .share = m->why ? 0.0 : m->options.share, .diagonal = m->diagonal};
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
    if (status == SU_OK)
        *out = m;
    else
        su_synthetic_free(m);
    return status;
}

void su_synthetic_free(su_synthetic *m)
{
    if (!m) return;
    su_clip_rig_free(&m->rig);
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
