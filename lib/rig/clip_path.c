#include "rig/clip_path.h"

#include "core/random.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/root_frame.h"

#include <math.h>
#include <string.h>

/* Stretches of one kind, s: long enough for a stride or a blow with what leads to it, short enough that 20 s hold
 * several. */
#define STRETCH_LOW 2.0
#define STRETCH_HIGH 4.0
/* Longest fade, s: a walk goes slowly from pose to pose; between played clips half a stride would be lost. */
#define WALK_FADE 2.5
#define PLAY_FADE 0.8
/* Shortest way from pose to pose in the walk, s: about a step; what is faster is for the played clips. */
#define WALK_LEAST 0.6
/* A held frame stays so long, at most, s. */
#define HOLD 0.3
/* A clip that begins at its first frame may hold that for so long, s, so that a short one is seen whole after the fade.
 */
#define LEAD 0.3
/* A clip is begun where at least so much of it is left, s. */
#define LEFT 1.0
/* And may be left by so much before its time, s, where it is like the one that follows. */
#define LEAVE 0.7
/* Over so much of its end a clip comes to rest, s: a joint's shortest ordinary acceleration. */
#define SETTLE 0.1

enum { WALK_CANDIDATES = 8 }; /* random frames of which a walk goes to the farthest */

/* Frames (numbers among all) that interpolate a clip at a time: Catmull-Rom, so that speeds are continuous. */
typedef struct spline_frames {
    int32_t source;
    int64_t frame[4];
    double weight[4];
    int64_t cycle[4]; /* whole cycles that each lies beyond the clip */
} spline_frames;

/* ---- times ---- */

/* The entry that is there at a time; *next (a number, or -1) fades in with the weight *share. */
static int64_t entry_at(const su_path *path, double time, int64_t *next, double *share)
{
    int64_t low = 0, high = path->count; /* the last entry that has begun */
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (path->entry[middle].begin <= time)
            low = middle;
        else
            high = middle;
    }
    const su_path_entry *e = &path->entry[low];
    double t = e->fade > 0.0 ? (time - e->begin) / e->fade : 1.0;
    *next = -1, *share = 0.0;
    if (low == 0 || t >= 1.0) return low;
    t = fmax(t, 0.0);
    *next = low, *share = t * t * t * (10.0 + t * (6.0 * t - 15.0)); /* speed and acceleration 0 at both ends */
    return low - 1;
}

/* min(x, 0), its corner a parabola between -width and width. */
static double soft_negative(double x, double width)
{
    if (x <= -width) return x;
    return x >= width ? 0.0 : -(x - width) * (x - width) / (4.0 * width);
}

static void spline_at(const su_path *path, int64_t entry, double time, spline_frames *spline)
{
    const su_path_entry *e = &path->entry[entry];
    const su_path_source *s = &path->sources[e->source];
    double at = e->origin + e->speed * (time - e->begin), last = (double)(s->frames - 1);
    int64_t cycles = 0, period = s->frames - 1;
    if (!s->cyclic && s->frames > 1 && e->speed != 0.0) { /* eased into its ends */
        double width = fmin(SETTLE * s->fps, 0.25 * last);
        if (at > 0.5 * last)
            at = last + soft_negative(at - last, width);
        else
            at = -soft_negative(-at, width);
    }
    if (!s->cyclic)
        at = fmax(0.0, fmin(last, at));
    else
        cycles = (int64_t)floor(at / last), at -= (double)cycles * last;
    int64_t here = (int64_t)floor(at);
    if (here >= s->frames - 1) here = s->frames > 1 ? s->frames - 2 : 0;
    double t = s->frames > 1 ? at - (double)here : 0.0, t2 = t * t, t3 = t2 * t;
    const double weight[4] = {0.5 * (2 * t2 - t3 - t), 0.5 * (3 * t3 - 5 * t2 + 2), 0.5 * (4 * t2 - 3 * t3 + t),
                              0.5 * (t3 - t2)};
    spline->source = e->source;
    for (int k = 0; k < 4; k++) {
        int64_t frame = here - 1 + k, cycle = cycles;
        if (s->cyclic) {
            if (frame < 0) frame += period, cycle--;
            if (frame >= period) frame -= period, cycle++;
        } else {
            frame = frame < 0 ? 0 : frame >= s->frames ? s->frames - 1 : frame;
        }
        spline->frame[k] = s->first + frame, spline->cycle[k] = cycle, spline->weight[k] = weight[k];
    }
}

/* ---- places ---- */

/* The motion about the vertical and along the ground that takes `from` nearest to `to`, the centre's place exactly. */
static void align_on_ground(const double from[16], const double to[16], const double centre[3], double out[16])
{
    double a[9], b[9], m[9], p[3], q[3];
    su_affine_linear(from, a);
    su_affine_linear(to, b);
    su_mult33(b, a, m);
    double x = m[0] + m[8], y = m[2] - m[6]; /* trace(Y' M) is x cos + y sin */
    double yaw = hypot(x, y) < 1e-6 ? 0.0 : atan2(y, x);
    const double turn[9] = {cos(yaw), 0.0, sin(yaw), 0.0, 1.0, 0.0, -sin(yaw), 0.0, cos(yaw)};
    su_affine_point(from, centre, p);
    su_affine_point(to, centre, q);
    su_mulv3(turn, p, p);
    const double shift[3] = {q[0] - p[0], 0.0, q[2] - p[2]};
    su_affine_set(turn, shift, out);
}

static const double *source_root(const su_path_source *s, int64_t frame) { return s->root + 16 * (frame - s->first); }

void su_path_close(su_path_source *s, const double centre[3])
{
    s->cyclic = true;
    align_on_ground(source_root(s, s->first), source_root(s, s->first + s->frames - 1), centre, s->turn);
}

/* Root of a frame that lies whole cycles beyond the clip. */
static void cycled_root(const su_path_source *s, int64_t frame, int64_t cycle, double root[16])
{
    double step[16];
    memcpy(root, source_root(s, frame), 16 * sizeof *root);
    if (cycle < 0)
        su_rigid_inverse(s->turn, step);
    else
        memcpy(step, s->turn, sizeof step);
    for (int64_t k = cycle < 0 ? -cycle : cycle; k > 0; k--) su_affine_multiply(step, root, root);
}

/* Rotation (4) and place of the centre (3) of a path's root. */
static void entry_root(const su_path *path, int64_t entry, double time, double q[4], double place[3])
{
    const su_path_entry *e = &path->entry[entry];
    const su_path_source *s = &path->sources[e->source];
    spline_frames spline;
    double first[4] = {1, 0, 0, 0}, norm = 0.0;
    spline_at(path, entry, time, &spline);
    for (int i = 0; i < 4; i++) q[i] = 0.0;
    for (int i = 0; i < 3; i++) place[i] = 0.0;
    for (int order = 0; order < 4; order++) {
        int k = (order + 1) % 4; /* the frame before now comes first: signs follow it */
        if (spline.weight[k] == 0.0 && order > 0) continue;
        double root[16], linear[9], turn[4], at[3];
        cycled_root(s, spline.frame[k], spline.cycle[k], root);
        su_affine_multiply(e->place, root, root);
        su_affine_linear(root, linear);
        su_quaternion_of(linear, turn);
        su_affine_point(root, path->centre, at);
        if (order == 0) memcpy(first, turn, sizeof first);
        double dot = 0.0;
        for (int i = 0; i < 4; i++) dot += turn[i] * first[i];
        for (int i = 0; i < 4; i++) q[i] += (dot < 0.0 ? -spline.weight[k] : spline.weight[k]) * turn[i];
        for (int i = 0; i < 3; i++) place[i] += spline.weight[k] * at[i];
    }
    for (int i = 0; i < 4; i++) norm += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] = norm > 1e-12 ? q[i] / sqrt(norm) : first[i];
}

static void root_of(const su_path *path, const double q[4], const double place[3], double root[16])
{
    double linear[9], shift[3];
    su_quaternion_matrix(q, linear);
    su_mulv3(linear, path->centre, shift);
    for (int i = 0; i < 3; i++) shift[i] = place[i] - shift[i];
    su_affine_set(linear, shift, root);
}

/* a to b, unit quaternions, on the shorter arc. */
static void slerp(const double a[4], const double b[4], double share, double out[4])
{
    double dot = 0.0, norm = 0.0;
    for (int i = 0; i < 4; i++) dot += a[i] * b[i];
    double angle = acos(fmin(1.0, fabs(dot))), s = sin(angle), side = dot < 0.0 ? -1.0 : 1.0;
    double wa = s > 1e-6 ? sin((1.0 - share) * angle) / s : 1.0 - share, wb = s > 1e-6 ? sin(share * angle) / s : share,
           c[4];
    for (int i = 0; i < 4; i++) c[i] = wa * a[i] + side * wb * b[i], norm += c[i] * c[i];
    for (int i = 0; i < 4; i++) out[i] = norm > 1e-12 ? c[i] / sqrt(norm) : a[i];
}

void su_path_root(const su_path *path, double time, double root[16])
{
    double q[4], place[3], share;
    int64_t next, entry = entry_at(path, time, &next, &share);
    entry_root(path, entry, time, q, place);
    if (next >= 0) {
        double other[4], there[3];
        entry_root(path, next, time, other, there);
        slerp(q, other, share, q);
        for (int i = 0; i < 3; i++) place[i] += share * (there[i] - place[i]);
    }
    root_of(path, q, place, root);
}

/* ---- sampling ---- */

int su_path_terms(const su_path *path, double time, int64_t frame[8], double weight[8])
{
    double share;
    int64_t next, entry = entry_at(path, time, &next, &share);
    int count = 0;
    for (int which = 0; which < (next >= 0 ? 2 : 1); which++) {
        spline_frames spline;
        spline_at(path, which ? next : entry, time, &spline);
        for (int k = 0; k < 4; k++) {
            double w = spline.weight[k] * (which ? share : 1.0 - share);
            if (w != 0.0) frame[count] = spline.frame[k], weight[count++] = w;
        }
    }
    return count;
}

void su_path_blend(const su_path *path, double time, int64_t width, const double *rows, double *out)
{
    int64_t frame[8];
    double weight[8];
    int count = su_path_terms(path, time, frame, weight);
    for (int64_t c = 0; c < width; c++) out[c] = 0.0;
    for (int k = 0; k < count; k++)
        for (int64_t c = 0; c < width; c++) out[c] += weight[k] * rows[frame[k] * width + c];
}

/* ---- making ---- */

typedef struct deck {
    int32_t *card;
    int32_t count, dealt;
} deck;

typedef struct maker {
    su_path *path;
    const su_path_options *o;
    su_random random;
    int64_t room;
    deck clips, stills, poses; /* sources to play, clips to take frames of, and poses, each as it comes */
    double entry_most;         /* s: no clip is played longer at a time, so that all have their turn */
} maker;

static double between(su_random *random, double low, double high)
{
    return low + (high - low) * su_random_uniform(random);
}

static int64_t below(su_random *random, int64_t count) { return (int64_t)(su_random_uniform(random) * (double)count); }

static su_status append(maker *m, const su_path_entry *entry, su_error *err)
{
    su_path *path = m->path;
    if (path->count == m->room) {
        int64_t room = 2 * m->room + 16;
        su_path_entry *more = su_arena_alloc(&path->arena, room, sizeof *more);
        if (!more) return su_fail(err, SU_AGAIN, "not enough memory for %lld stretches of a motion", (long long)room);
        if (path->count) memcpy(more, path->entry, (size_t)path->count * sizeof *more);
        path->entry = more, m->room = room;
    }
    path->entry[path->count++] = *entry;
    return SU_OK;
}

/* The frame nearest to where an entry is at a time. */
static int64_t frame_at(const su_path *path, int64_t entry, double time)
{
    spline_frames spline;
    spline_at(path, entry, time, &spline);
    return spline.weight[2] > spline.weight[1] ? spline.frame[2] : spline.frame[1];
}

/* Joins an entry to the one before: the fade's length, and the place on the ground. */
static su_status join(maker *m, su_path_entry *e, double least, double most, su_error *err)
{
    su_path *path = m->path;
    int64_t from = frame_at(path, path->count - 1, e->begin), to;
    su_affine_identity(e->place);
    e->fade = 0.0;
    SU_TRY(append(m, e, err));
    su_path_entry *own = &path->entry[path->count - 1];
    to = frame_at(path, path->count - 1, e->begin);
    own->fade = fmax(least, fmin(most, m->o->duration(m->o->context, from, to)));
    double q[4], place[3], before[16], now[16], middle = own->begin + 0.5 * own->fade;
    entry_root(path, path->count - 2, middle, q, place);
    root_of(path, q, place, before);
    entry_root(path, path->count - 1, middle, q, place);
    root_of(path, q, place, now);
    align_on_ground(now, before, path->centre, own->place);
    return SU_OK;
}

/* One of a shuffled deck; when all have been dealt it is shuffled again. */
static int32_t deal(deck *d, su_random *random)
{
    if (d->dealt == 0)
        for (int32_t i = d->count - 1; i > 0; i--) {
            int32_t k = (int32_t)below(random, i + 1), other = d->card[i];
            d->card[i] = d->card[k], d->card[k] = other;
        }
    int32_t card = d->card[d->dealt];
    d->dealt = (d->dealt + 1) % d->count;
    return card;
}

/* Of some random frames of a clip the one farthest from all that were held (Mitchell's best candidate), so that a short
 * walk sees the whole of the clips. */
static int64_t far_frame(maker *m, const su_path_source *s)
{
    int64_t best = 0;
    double farthest = -1.0;
    for (int k = 0; k < WALK_CANDIDATES; k++) {
        int64_t frame = below(&m->random, s->frames);
        double nearest = INFINITY;
        for (int64_t e = 0; e < m->path->count; e++) {
            const su_path_entry *entry = &m->path->entry[e];
            if (entry->speed != 0.0) continue;
            int64_t held = m->path->sources[entry->source].first + (int64_t)entry->origin;
            nearest = fmin(nearest, m->o->distance(m->o->context, held, s->first + frame));
        }
        if (nearest > farthest) farthest = nearest, best = frame;
    }
    return best;
}

/* A frame to hold: one of the example poses or one of the clips' frames. */
static su_status walk_on(maker *m, double begin, su_error *err)
{
    su_path_entry e = {.begin = begin + HOLD * su_random_uniform(&m->random)};
    if (m->poses.count > 0 && su_random_uniform(&m->random) < 0.5) {
        e.source = deal(&m->poses, &m->random);
    } else {
        e.source = deal(&m->stills, &m->random);
        e.origin = (double)far_frame(m, &m->path->sources[e.source]);
    }
    return join(m, &e, WALK_LEAST, WALK_FADE, err);
}

/* A random frame of a clip from which enough of it is left. */
static double random_origin(maker *m, const su_path_source *s, double speed)
{
    double last = (double)(s->frames - 1), pace = fabs(speed), low = -LEAD * pace, high = fmax(low, last - LEFT * pace),
           origin;
    if (s->cyclic) return last * su_random_uniform(&m->random);
    origin = between(&m->random, low, high);
    return speed < 0.0 ? last - origin : origin;
}

/* Plays a clip from a random frame; of some such frames, and of some times to leave the clip before, those that are
 * most alike. *time: when that clip must be left at the latest; then the same of the new one, at most `stop`. */
static su_status play_on(maker *m, double stop, double *time, su_error *err)
{
    const su_path_options *o = m->o;
    su_path *path = m->path;
    su_path_entry best = {.source = deal(&m->clips, &m->random)};
    const su_path_source *s = &path->sources[best.source];
    const su_path_entry *before = &path->entry[path->count - 1];
    double earliest = before->speed == 0.0 ? *time : fmin(*time, fmax(before->begin + before->fade, *time - LEAVE));
    double nearest = INFINITY, last = (double)(s->frames - 1), sense = 1.0;
    if (o->backwards && su_random_uniform(&m->random) < 0.5) sense = -1.0;
    best.speed = sense * s->fps * between(&m->random, o->slowest, o->fastest);
    for (int k = 0; k < o->candidates; k++) {
        double begin = between(&m->random, earliest, *time), origin = random_origin(m, s, best.speed);
        int64_t from = frame_at(path, path->count - 1, begin), to = (int64_t)round(fmax(0.0, fmin(last, origin)));
        double d = o->distance(o->context, from, s->first + to);
        if (d < nearest) nearest = d, best.begin = begin, best.origin = origin;
    }
    SU_TRY(join(m, &best, o->fade, PLAY_FADE, err));
    double left = s->cyclic ? INFINITY : (sense > 0.0 ? last - best.origin : best.origin) / fabs(best.speed);
    *time = fmin(fmin(stop, best.begin + m->entry_most), best.begin + left);
    *time = fmax(*time, best.begin + path->entry[path->count - 1].fade);
    return SU_OK;
}

static su_status make(maker *m, int32_t start, su_error *err)
{
    const su_path_options *o = m->o;
    su_path_entry first = {.source = start, .begin = 0.0};
    double time = 0.0;
    su_affine_identity(first.place);
    SU_TRY(append(m, &first, err));
    for (bool walking = o->walk; time < o->seconds; walking = o->walk && !walking) {
        double stop = time + between(&m->random, STRETCH_LOW, STRETCH_HIGH);
        while (time < stop && time < o->seconds) {
            if (walking) {
                SU_TRY(walk_on(m, time, err));
                const su_path_entry *e = &m->path->entry[m->path->count - 1];
                time = e->begin + e->fade;
            } else {
                SU_TRY(play_on(m, stop, &time, err));
            }
        }
    }
    return SU_OK;
}

static su_status fill_deck(deck *d, int32_t first, int32_t count, su_arena *arena, su_error *err)
{
    if (!(d->card = su_arena_alloc(arena, count, sizeof *d->card))) return su_fail(err, SU_AGAIN, "not enough memory");
    for (int32_t i = 0; i < count; i++) d->card[i] = first + i;
    d->count = count;
    return SU_OK;
}

su_status su_path_create(int32_t sources, const su_path_source *source, int32_t start, const su_path_options *options,
                         su_path *out, su_error *err)
{
    maker m = {.path = out, .o = options, .random = su_random_seed(options->seed, 0)};
    su_status status = SU_OK;
    memset(out, 0, sizeof *out);
    out->sources = source;
    memcpy(out->centre, options->centre, sizeof out->centre);
    m.entry_most = fmax(LEFT, (options->walk ? 0.5 : 1.0) * options->seconds / options->clips);
    SU_GO(fill_deck(&m.clips, 0, options->clips, &out->arena, err));
    SU_GO(fill_deck(&m.stills, 0, options->clips, &out->arena, err));
    SU_GO(fill_deck(&m.poses, options->clips, sources - options->clips, &out->arena, err));
    SU_GO(make(&m, start, err));
done:
    if (status != SU_OK) su_path_free(out);
    return status;
}

void su_path_free(su_path *path)
{
    su_arena_free(&path->arena);
    memset(path, 0, sizeof *path);
}
