/* Natural cubic splines over uniform frames, in units of the frame step: on [k, k+1] with a = 1 - t,
 *   S = a f_k + t f_{k+1} + ((a^3 - a) M_k + (t^3 - t) M_{k+1}) / 6,   M_{k-1} + 4 M_k + M_{k+1} = 6 (second
 * difference), M = 0 at both ends of a piece. M of the skin would take as much room as all its frames, so there it is a
 * sum of the second differences nearby, by a row of the inverse of that system. Rows fall by 2 - sqrt(3) a frame: what
 * lies more than SU_SHOT_REACH frames away would change S by at most 2e-8 of a second difference, less than the skin's
 * rounding. (4e-6, with eight frames, changed the error of a trained model by a hundredth of it.) */
#include "rig/shot.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMS = 4096 };

struct su_shot {
    const su_anim *anim;
    su_shot_target target;
    su_arena arena;
    int64_t F, nbar, s;
    bool *cut;                      /* (F) the spline is cut before this frame */
    double *pivot;                  /* (F) forward elimination factors of the piece that starts at the last cut */
    double *params, *params_second; /* (F,s) */
    double *quaternion, *quaternion_second;   /* (F,4) signs continuous */
    double *translation, *translation_second; /* (F,3) */
    bool add_psd;
};

/* ---- splines ---- */

/* One piece after the other: forward elimination of the tridiagonal system, then back substitution. */
void su_shot_spline(const su_shot *shot, int64_t width, const double *f, double *second)
{
    int64_t F = shot->F;
    memset(second, 0, (size_t)(F * width) * sizeof *second);
    for (int64_t first = 0, last; first < F; first = last + 1) {
        for (last = first; last + 1 < F && !shot->cut[last + 1];) last++;
        for (int64_t k = first + 1; k < last; k++)
            for (int64_t c = k * width; c < (k + 1) * width; c++)
                second[c] = (6.0 * ((f[c + width] - f[c]) - (f[c] - f[c - width])) - second[c - width]) *
                            shot->pivot[k - first];
        for (int64_t k = last - 1; k > first; k--)
            for (int64_t c = k * width; c < (k + 1) * width; c++)
                second[c] -= shot->pivot[k - first] * second[c + width];
    }
}

/* ---- parameters ---- */

static int64_t find_name(const json_t *names, const char *name)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *other = json_string_value(json_array_get(names, i));
        if (other && strcmp(other, name) == 0) return (int64_t)i;
    }
    return -1;
}

/* Columns of the target take the anim's column of the same name; what the shot lacks stays as in pose 0. */
static su_status map_params(su_shot *shot, const char *path, json_t **unknown, su_error *err)
{
    const su_anim *anim = shot->anim;
    const su_rig_space *rig = &shot->target.rig;
    const json_t *names = anim->file.meta ? json_object_get(anim->file.meta, "param_names") : NULL;
    bool by_name = rig->param_names && names && (int64_t)json_array_size(names) == anim->s;
    if (!by_name && anim->s != rig->s && anim->s != 0)
        return su_fail(err, SU_INPUT,
                       "%s: has %lld rig parameters, the character has %lld, and no names to match them by", path,
                       (long long)anim->s, (long long)rig->s);
    for (int64_t i = 0; i < shot->s; i++) {
        int64_t source = i;
        if (by_name) {
            const char *name = json_string_value(json_array_get(rig->param_names, (size_t)i));
            source = name ? find_name(names, name) : -1;
        }
        for (int64_t k = 0; k < shot->F; k++)
            shot->params[k * shot->s + i] =
                source >= 0 && source < anim->s ? anim->params[k * anim->s + source] : rig->params[i];
    }
    if (by_name && unknown)
        for (int64_t j = 0; j < anim->s; j++) {
            json_t *name = json_array_get(names, (size_t)j);
            if (json_is_string(name) && find_name(rig->param_names, json_string_value(name)) < 0 &&
                su_parameter_moves(anim->F, anim->s, anim->params + j))
                if (json_array_append(*unknown, name)) return su_fail(err, SU_AGAIN, "%s: no memory", path);
        }
    return SU_OK;
}

/* A plain sequence, or blend shapes alone: p = basis (points - mean). */
static void project_params(su_shot *shot)
{
    const su_rig_space *rig = &shot->target.rig;
    int64_t columns = 3 * shot->nbar;
    for (int64_t k = 0; k < shot->F; k++)
        for (int64_t i = 0; i < shot->s; i++) {
            double sum = 0.0;
            for (int64_t c = 0; c < columns; c++)
                sum += rig->param_basis[i * columns + c] *
                       ((double)shot->anim->points[k * columns + c] - rig->param_mean[c]);
            shot->params[k * shot->s + i] = sum;
        }
}

/* ---- root ---- */

/* Quaternion (w, x, y, z) of the rotation in a rigid 4 x 4; the largest of the four parts is the divisor. */
static void root_quaternion(const double *m, double q[4])
{
    double xx = m[0], yy = m[5], zz = m[10];
    double four[4] = {1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz};
    int big = 0;
    for (int i = 1; i < 4; i++)
        if (four[i] > four[big]) big = i;
    double x = m[9] - m[6], y = m[2] - m[8], z = m[4] - m[1]; /* 4 w (x, y, z) */
    double xy = m[1] + m[4], xz = m[2] + m[8], yz = m[6] + m[9];
    double parts[4][4] = {{four[0], x, y, z}, {x, four[1], xy, xz}, {y, xy, four[2], yz}, {z, xz, yz, four[3]}};
    double norm = 0.0;
    for (int i = 0; i < 4; i++) norm += parts[big][i] * parts[big][i];
    norm = sqrt(norm);
    for (int i = 0; i < 4; i++) q[i] = parts[big][i] / norm;
}

static void split_roots(su_shot *shot)
{
    for (int64_t k = 0; k < shot->F; k++) {
        const double *m = shot->anim->root + 16 * k;
        double *q = shot->quaternion + 4 * k;
        root_quaternion(m, q);
        if (k > 0) {
            double dot = 0.0;
            for (int i = 0; i < 4; i++) dot += q[i] * q[i - 4];
            if (dot < 0.0)
                for (int i = 0; i < 4; i++) q[i] = -q[i];
        }
        for (int i = 0; i < 3; i++) shot->translation[3 * k + i] = m[4 * i + 3];
    }
}

/* ---- creation ---- */

static su_status check_skin(const su_anim *anim, const char *path, const su_shot_target *target, su_error *err)
{
    if (anim->nbar != target->nbar)
        return su_fail(err, SU_INPUT,
                       "%s: has %lld skin vertices, the character has %lld: another character or topology", path,
                       (long long)anim->nbar, (long long)target->nbar);
    if (anim->F < 1) return su_fail(err, SU_INPUT, "%s: has no frames", path);
    if (!target->neutral || !anim->neutral) return SU_OK;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, sum = 0.0,
           diagonal = 0.0;
    for (int64_t v = 0; v < anim->nbar; v++)
        for (int c = 0; c < 3; c++) {
            double there = target->neutral[3 * v + c], d = anim->neutral[3 * v + c] - there;
            low[c] = fmin(low[c], there), high[c] = fmax(high[c], there);
            sum += d * d;
        }
    for (int c = 0; c < 3; c++) diagonal += (high[c] - low[c]) * (high[c] - low[c]);
    if (sum > 0.01 * diagonal * (double)anim->nbar)
        return su_fail(
            err, SU_INPUT,
            "%s: its neutral skin is off by %.0f %% of the character's size: another character or vertex order", path,
            100.0 * sqrt(sum / ((double)anim->nbar * diagonal)));
    return SU_OK;
}

static su_status allocate(su_shot *shot, su_error *err)
{
    int64_t F = shot->F, s = shot->s;
    shot->cut = su_arena_alloc(&shot->arena, F, sizeof *shot->cut);
    shot->pivot = su_arena_alloc(&shot->arena, F + 1, sizeof *shot->pivot);
    shot->params = su_arena_alloc(&shot->arena, F * s, sizeof *shot->params);
    shot->params_second = su_arena_alloc(&shot->arena, F * s, sizeof *shot->params_second);
    shot->quaternion = su_arena_alloc(&shot->arena, F * 4, sizeof *shot->quaternion);
    shot->quaternion_second = su_arena_alloc(&shot->arena, F * 4, sizeof *shot->quaternion_second);
    shot->translation = su_arena_alloc(&shot->arena, F * 3, sizeof *shot->translation);
    shot->translation_second = su_arena_alloc(&shot->arena, F * 3, sizeof *shot->translation_second);
    if (shot->arena.failed) return su_fail(err, SU_AGAIN, "no memory for a shot of %lld frames", (long long)F);
    return SU_OK;
}

static su_status fill(su_shot *shot, const char *path, int teleport_count, const int *teleports, json_t **unknown,
                      su_error *err)
{
    for (int i = 0; i < teleport_count; i++) {
        if (teleports[i] < 1 || teleports[i] >= shot->F)
            return su_fail(err, SU_USAGE, "%s: teleport before frame %d, the shot has frames 0 to %lld", path,
                           teleports[i], (long long)shot->F - 1);
        shot->cut[teleports[i]] = true;
    }
    for (int64_t k = 1; k <= shot->F; k++) shot->pivot[k] = 1.0 / (4.0 - (k > 1 ? shot->pivot[k - 1] : 0.0));
    if (shot->target.rig.param_basis && shot->target.rig.param_mean)
        project_params(shot);
    else
        SU_TRY(map_params(shot, path, unknown, err));
    split_roots(shot);
    su_shot_spline(shot, shot->s, shot->params, shot->params_second);
    su_shot_spline(shot, 4, shot->quaternion, shot->quaternion_second);
    su_shot_spline(shot, 3, shot->translation, shot->translation_second);
    return SU_OK;
}

su_status su_shot_create(const su_anim *anim, const char *path, const su_shot_target *target, int teleport_count,
                         const int *teleports, su_shot **out, json_t **unknown, su_error *err)
{
    *out = NULL;
    if (unknown) *unknown = NULL;
    const su_rig_space *rig = &target->rig;
    SU_TRY(check_skin(anim, path, target, err));
    if (rig->s > MAX_PARAMS || rig->a > SU_SHOT_SCULPTS)
        return su_fail(err, SU_INPUT, "%s: more than %d rig parameters or %d sculpted poses", path, MAX_PARAMS,
                       SU_SHOT_SCULPTS);
    su_shot *shot = calloc(1, sizeof *shot);
    json_t *names = json_array();
    su_status status = SU_OK;
    if (!shot || !names) {
        status = su_fail(err, SU_AGAIN, "%s: no memory", path);
        goto done;
    }
    shot->anim = anim;
    shot->target = *target;
    shot->F = anim->F, shot->nbar = anim->nbar, shot->s = rig->s;
    shot->add_psd = rig->psd_shapes && rig->psd_params && rig->psd_rbf && rig->a > 0 &&
                    !(anim->file.meta && json_is_true(json_object_get(anim->file.meta, "corrected")));
    SU_GO(allocate(shot, err));
    SU_GO(fill(shot, path, teleport_count, teleports, &names, err));
    *out = shot;
    if (unknown) *unknown = json_incref(names);
done:
    json_decref(names);
    if (status != SU_OK) su_shot_free(shot);
    return status;
}

void su_shot_free(su_shot *shot)
{
    if (!shot) return;
    su_arena_free(&shot->arena);
    free(shot);
}

/* ---- sampling ---- */

int64_t su_shot_frames(const su_shot *shot) { return shot->F; }
int64_t su_shot_skin(const su_shot *shot) { return shot->nbar; }
bool su_shot_cut(const su_shot *shot, int64_t frame) { return shot->cut[frame]; }

/* Past the end of a piece its last frame holds. */
su_shot_segment su_shot_segment_at(const su_shot *shot, int64_t frame, double t)
{
    if (frame + 1 >= shot->F || (t > 0.0 && shot->cut[frame + 1]))
        return (su_shot_segment){frame, frame, 1.0, 0.0, 0.0, 0.0};
    double a = 1.0 - t;
    return (su_shot_segment){frame, frame + 1, a, t, (a * a * a - a) / 6.0, (t * t * t - t) / 6.0};
}

const float *su_shot_points(const su_shot *shot, int64_t frame) { return shot->anim->points + frame * 3 * shot->nbar; }

int64_t su_shot_sculpts(const su_shot *shot, const double *p, double *weights, const double **shapes)
{
    const su_rig_space *rig = &shot->target.rig;
    if (!shot->add_psd) return 0;
    su_rig_sculpt_weights(rig, p, weights);
    *shapes = rig->psd_shapes;
    return rig->a;
}

void su_shot_blend(su_shot_segment at, int64_t width, const double *f, const double *second, double *out)
{
    for (int64_t c = 0; c < width; c++)
        out[c] = at.here * f[at.frame * width + c] + at.there * f[at.next * width + c] +
                 at.here_second * second[at.frame * width + c] + at.there_second * second[at.next * width + c];
}

/* Adds `factor` times M of a frame, as weights of the second differences at frames from `base` on: 6 G, where the
 * pivots from both ends give G, the row of the inverse. */
static void add_second(const su_shot *shot, int64_t frame, double factor, int64_t base, double *bend)
{
    int64_t left = 0, right = 0; /* frames to the ends of the piece, as far as is looked */
    while (left <= SU_SHOT_REACH && frame - left > 0 && !shot->cut[frame - left]) left++;
    while (right <= SU_SHOT_REACH && frame + right + 1 < shot->F && !shot->cut[frame + right + 1]) right++;
    if (left == 0 || right == 0) return; /* M = 0 at an end */
    double middle = 6.0 * factor / (4.0 - shot->pivot[left - 1] - shot->pivot[right - 1]), g = middle;
    double *at = bend + (frame - base);
    at[0] += middle;
    for (int64_t d = 1; d < left && d <= SU_SHOT_REACH; d++) at[-d] += g *= -shot->pivot[left - d];
    g = middle;
    for (int64_t d = 1; d < right && d <= SU_SHOT_REACH; d++) at[d] += g *= -shot->pivot[right - d];
}

su_shot_weights su_shot_weights_at(const su_shot *shot, int64_t frame, double fraction)
{
    su_shot_segment at = su_shot_segment_at(shot, frame, fraction);
    su_shot_weights out = {.frame = at.frame, .next = at.next, .here = at.here, .there = at.there};
    double bend[SU_SHOT_BENDS] = {0};
    int64_t base = at.frame - SU_SHOT_REACH, first = 0, end = SU_SHOT_BENDS;
    if (at.here_second != 0.0) add_second(shot, at.frame, at.here_second, base, bend);
    if (at.there_second != 0.0) add_second(shot, at.next, at.there_second, base, bend);
    while (first < end && bend[first] == 0.0) first++;
    while (first < end && bend[end - 1] == 0.0) end--;
    out.first = base + first, out.count = end - first;
    memcpy(out.bend, bend + first, (size_t)out.count * sizeof *bend);
    return out;
}

/* Vertices that a thread samples at a time. */
enum { SAMPLED = 512 };

/* Frames that a skin is a sum of: those of the segment, and of bends one more on either side. */
enum { MOST_TERMS = SU_SHOT_BENDS + 4 };
typedef struct terms {
    int64_t count;
    const float *points[MOST_TERMS];
    double weight[MOST_TERMS];
} terms;

/* The same sum as by bends, in which a frame stands three times. */
static terms terms_of(const su_shot *shot, const su_shot_weights *at)
{
    terms t = {.count = 2,
               .points = {su_shot_points(shot, at->frame), su_shot_points(shot, at->next)},
               .weight = {at->here, at->there}};
    for (int64_t i = -1; at->count > 0 && i <= at->count; i++) {
        double before = i > 0 ? at->bend[i - 1] : 0, own = i >= 0 && i < at->count ? at->bend[i] : 0,
               behind = i + 1 < at->count ? at->bend[i + 1] : 0;
        t.points[t.count] = su_shot_points(shot, at->first + i), t.weight[t.count++] = before - 2 * own + behind;
    }
    return t;
}

/* What all vertices of an instant share. */
typedef struct skin_sample {
    const terms *terms;
    const int32_t *list;
    int64_t sculpts;
    double weights[SU_SHOT_SCULPTS];
    const double *shapes;
} skin_sample;

static void sample_points(const su_shot *shot, const skin_sample *s, int64_t from, int64_t to, double *skin)
{
    int64_t columns = 3 * shot->nbar;
    for (int64_t k = from; k < to; k++)
        for (int64_t c = 0; c < 3; c++) skin[3 * k + c] = 0;
    for (int64_t i = 0; i < s->terms->count; i++) {
        const float *points = s->terms->points[i];
        double weight = s->terms->weight[i];
        for (int64_t k = 3 * from; k < 3 * to && !s->list; k++) skin[k] += weight * (double)points[k];
        for (int64_t k = from; k < to && s->list; k++)
            for (int64_t c = 0; c < 3; c++) skin[3 * k + c] += weight * (double)points[3 * (int64_t)s->list[k] + c];
    }
    for (int64_t j = 0; j < s->sculpts; j++) {
        if (s->weights[j] == 0.0) continue;
        const double *shape = s->shapes + j * columns;
        for (int64_t k = from; k < to; k++) {
            int64_t first = 3 * (s->list ? (int64_t)s->list[k] : k);
            for (int64_t c = 0; c < 3; c++) skin[3 * k + c] += s->weights[j] * shape[first + c];
        }
    }
}

void su_shot_sample_skin(const su_shot *shot, int64_t frame, double fraction, int64_t count, const int32_t *list,
                         int threads, double *skin)
{
    const su_shot_weights at = su_shot_weights_at(shot, frame, fraction);
    const terms sum = terms_of(shot, &at);
    skin_sample s = {.terms = &sum, .list = list};
    double p[MAX_PARAMS];
    if (shot->add_psd) su_shot_sample(shot, frame, fraction, p, NULL, NULL);
    s.sculpts = su_shot_sculpts(shot, p, s.weights, &s.shapes);
    if (!list) count = shot->nbar;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t from = 0; from < count; from += SAMPLED)
        sample_points(shot, &s, from, from + SAMPLED < count ? from + SAMPLED : count, skin);
}

void su_shot_sample(const su_shot *shot, int64_t frame, double fraction, double *p, double *rotation,
                    double *translation)
{
    su_shot_segment at = su_shot_segment_at(shot, frame, fraction);
    if (p) su_shot_blend(at, shot->s, shot->params, shot->params_second, p);
    if (rotation) {
        double q[4], norm = 0.0;
        su_shot_blend(at, 4, shot->quaternion, shot->quaternion_second, q);
        for (int i = 0; i < 4; i++) norm += q[i] * q[i];
        norm = 1.0 / sqrt(norm);
        double w = q[0] * norm, x = q[1] * norm, y = q[2] * norm, z = q[3] * norm;
        double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                       2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                       2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
        memcpy(rotation, m, sizeof m);
    }
    if (translation) su_shot_blend(at, 3, shot->translation, shot->translation_second, translation);
}
