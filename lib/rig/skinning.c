#include "rig/skinning.h"

#include "core/order.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/inherited_scale.h"

#include <math.h>
#include <string.h>

/* The keys around t: returns the first, sets the fraction towards the next (0 outside the keys). */
static int64_t find_keys(int64_t count, const double *times, double t, double *fraction)
{
    *fraction = 0.0;
    if (count == 1 || !(t > times[0])) return 0;
    if (t >= times[count - 1]) return count - 1;
    int64_t low = su_interval(times, count, t);
    *fraction = (t - times[low]) / (times[low + 1] - times[low]);
    return low;
}

/* Value at t of a track with `components` numbers a value; cubic tracks are Hermite splines with tangents per second.
 */
static void interpolate(int64_t count, const double *times, const double *values, int64_t components, int32_t mode,
                        double t, double *out)
{
    double f;
    int64_t k = find_keys(count, times, t, &f), stride = components * su_key_values(mode);
    const double *a = values + k * stride, *b = f > 0.0 ? a + stride : a;
    if (mode == SU_KEYS_CUBIC) {
        double step = f > 0.0 ? times[k + 1] - times[k] : 0.0, f2 = f * f, f3 = f2 * f;
        for (int64_t i = 0; i < components; i++)
            out[i] = (2.0 * f3 - 3.0 * f2 + 1.0) * a[components + i] +
                     step * (f3 - 2.0 * f2 + f) * a[2 * components + i] + (3.0 * f2 - 2.0 * f3) * b[components + i] +
                     step * (f3 - f2) * b[i];
        return;
    }
    if (mode == SU_KEYS_STEP) f = 0.0;
    for (int64_t i = 0; i < components; i++) out[i] = a[i] + f * (b[i] - a[i]);
}

static void slerp(const double a[4], const double b[4], double f, double out[4])
{
    double dot = 0.0, norm = 0.0, u = 1.0 - f, v = f;
    for (int i = 0; i < 4; i++) dot += a[i] * b[i];
    double sign = dot < 0.0 ? -1.0 : 1.0;
    dot = fabs(dot);
    if (dot < 1.0 - 1e-9) { /* nearer than that, both formulas agree to rounding */
        double angle = acos(dot), s = sin(angle);
        u = sin((1.0 - f) * angle) / s, v = sin(f * angle) / s;
    }
    for (int i = 0; i < 4; i++) out[i] = u * a[i] + sign * v * b[i], norm += out[i] * out[i];
    norm = sqrt(norm);
    for (int i = 0; i < 4; i++) out[i] /= norm;
}

static void rotation_at(const su_scene_channel *c, double t, double q[4])
{
    if (c->rotation_mode == SU_KEYS_LINEAR) {
        double f;
        int64_t k = find_keys(c->rotations, c->rotation_times, t, &f);
        slerp(c->rotation + 4 * k, c->rotation + 4 * (f > 0.0 ? k + 1 : k), f, q);
        return;
    }
    double norm = 0.0;
    interpolate(c->rotations, c->rotation_times, c->rotation, 4, c->rotation_mode, t, q);
    for (int i = 0; i < 4; i++) norm += q[i] * q[i];
    norm = sqrt(norm);
    for (int i = 0; i < 4; i++) q[i] = norm > 1e-12 ? q[i] / norm : i == 0;
}

/* m = T R S of the channel at t; a part without keys comes from the node pose. */
static void channel_local(const su_scene_channel *c, double t, double m[16])
{
    double translation[3], scale[3], q[4], r[9], linear[9];
    su_affine_split_matrix(m, translation, r, scale);
    if (c->rotations > 0) {
        rotation_at(c, t, q);
        su_quaternion_matrix(q, r);
    }
    if (c->translations > 0)
        interpolate(c->translations, c->translation_times, c->translation, 3, c->translation_mode, t, translation);
    if (c->scales > 0) interpolate(c->scales, c->scale_times, c->scale, 3, c->scale_mode, t, scale);
    for (int i = 0; i < 9; i++) linear[i] = r[i] * scale[i % 3];
    su_affine_set(linear, translation, m);
}

void su_scene_local(const su_scene *scene, const su_scene_clip *clip, double time, double *local)
{
    for (int64_t i = 0; i < scene->nodes; i++) memcpy(local + 16 * i, scene->node[i].local, 16 * sizeof *local);
    for (int64_t i = 0; clip && i < clip->channels; i++)
        channel_local(&clip->channel[i], time, local + 16 * clip->channel[i].node);
    su_inherit_scales(scene, local);
}

void su_scene_pose(const su_scene *scene, const su_scene_clip *clip, double time, double *world)
{
    su_scene_local(scene, clip, time, world);
    for (int64_t i = 0; i < scene->nodes; i++)
        if (scene->node[i].parent >= 0)
            su_affine_multiply(world + 16 * scene->node[i].parent, world + 16 * i, world + 16 * i);
}

void su_node_in(const double *world, int32_t above, int32_t node, double local[16])
{
    if (above < 0 || su_affine_inverse(world + 16 * above, local) == 0.0) su_affine_identity(local);
    su_affine_multiply(local, world + 16 * node, local);
}

void su_scene_shape_weights(const su_scene *scene, const su_scene_clip *clip, double time, int32_t node,
                            const su_scene_mesh *mesh, double *weights)
{
    (void)scene;
    for (int64_t i = 0; i < mesh->shapes; i++) weights[i] = mesh->shape_defaults[i];
    for (int64_t i = 0; clip && i < clip->morph_channels; i++) {
        const su_scene_morph_channel *c = &clip->morph_channel[i];
        if (c->node != node || c->keys == 0) continue;
        if (c->shapes == mesh->shapes) {
            interpolate(c->keys, c->times, c->weights, c->shapes, c->mode, time, weights);
            continue;
        }
        for (int64_t j = 0; j < mesh->shapes && j < c->shapes && c->mode != SU_KEYS_CUBIC; j++) {
            double f; /* another number of shapes: those that both have */
            int64_t k = find_keys(c->keys, c->times, time, &f);
            const double *a = c->weights + k * c->shapes, *b = f > 0.0 && c->mode == SU_KEYS_LINEAR ? a + c->shapes : a;
            weights[j] = a[j] + f * (b[j] - a[j]);
        }
    }
}

void su_skin_points(const su_skin *skin, const double *points, const double *transforms, int threads, double *out)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (skin->vertices > 2000)
    for (int64_t v = 0; v < skin->vertices; v++) {
        double m[12] = {0};
        for (int64_t k = skin->start[v]; k < skin->start[v + 1]; k++) {
            const double *t = transforms + 16 * skin->bone[k];
            for (int i = 0; i < 12; i++) m[i] += skin->weight[k] * t[i];
        }
        const double *p = points + 3 * v;
        for (int i = 0; i < 3; i++)
            out[3 * v + i] = m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3];
    }
}

/* ---- dual quaternions ---- */

enum { DUAL = 17 }; /* real part (4), dual part (4), stretch (9) of each bone */

/* M = [R S | t]: the dual part is half of (0, t) times the real one. */
static void split_transform(const double *transform, double *out)
{
    double linear[9], r[9], t[4] = {0, 0, 0, 0};
    su_affine_linear(transform, linear);
    su_affine_translation(transform, t + 1);
    su_nearest_rotation(linear, r);
    su_quaternion_of(r, out);
    su_quaternion_multiply(t, out, out + 4);
    for (int i = 0; i < 4; i++) out[4 + i] *= 0.5;
    su_tmul33(r, linear, out + 8);
}

static void dual_point(const double q[4], const double d[4], const double p[3], double out[3])
{
    /* rotation of p, then translation 2 d conj(q) */
    double r[9], conj[4] = {q[0], -q[1], -q[2], -q[3]}, t[4];
    su_quaternion_matrix(q, r);
    su_quaternion_multiply(d, conj, t);
    su_mulv3(r, p, out);
    for (int i = 0; i < 3; i++) out[i] += 2.0 * t[1 + i];
}

void su_skin_points_dual(const su_skin *skin, int64_t bones, const double *points, const double *transforms,
                         int threads, double *room, double *out)
{
    for (int64_t b = 0; b < bones; b++) split_transform(transforms + 16 * b, room + DUAL * b);
#pragma omp parallel for schedule(static) num_threads(threads) if (skin->vertices > 2000)
    for (int64_t v = 0; v < skin->vertices; v++) {
        double q[8] = {0}, stretch[9] = {0}, p[3], norm = 0.0;
        int64_t heaviest = skin->start[v];
        for (int64_t k = skin->start[v]; k < skin->start[v + 1]; k++)
            if (skin->weight[k] > skin->weight[heaviest]) heaviest = k;
        const double *pivot = room + DUAL * skin->bone[heaviest];
        for (int64_t k = skin->start[v]; k < skin->start[v + 1]; k++) {
            const double *b = room + DUAL * skin->bone[k];
            double dot = b[0] * pivot[0] + b[1] * pivot[1] + b[2] * pivot[2] + b[3] * pivot[3];
            double w = dot < 0.0 ? -skin->weight[k] : skin->weight[k];
            for (int i = 0; i < 8; i++) q[i] += w * b[i];
            for (int i = 0; i < 9; i++) stretch[i] += skin->weight[k] * b[8 + i];
        }
        for (int i = 0; i < 4; i++) norm += q[i] * q[i];
        norm = 1.0 / sqrt(norm); /* at least the heaviest weight's share remains on its side */
        for (int i = 0; i < 8; i++) q[i] *= norm;
        su_mulv3(stretch, points + 3 * v, p);
        dual_point(q, q + 4, p, out + 3 * v);
    }
}
