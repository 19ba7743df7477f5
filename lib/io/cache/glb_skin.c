#include "io/cache/glb_skin.h"

#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far a flattened direction is stretched at most by the inverse, against the longest. */
#define FLATTEST 0.1

/* The strongest joints of a row, each above all weaker ones; ties go to the lower number. Returns how many have weight.
 */
static int strongest(const float *row, int64_t joints, int most, int32_t *joint, float *weight)
{
    int count = 0, with_weight = 0;
    for (int64_t b = 0; b < joints; b++) {
        if (!(row[b] > 0.0f)) continue;
        with_weight++;
        if (count == most && row[b] <= weight[most - 1]) continue;
        int at = count < most ? count++ : most - 1;
        for (; at > 0 && weight[at - 1] < row[b]; at--) weight[at] = weight[at - 1], joint[at] = joint[at - 1];
        weight[at] = row[b], joint[at] = (int32_t)b;
    }
    return with_weight;
}

/* As many joints as any vertex has, rounded up to sets of four. */
static int slots_of(const su_cache_skin *s)
{
    int slots = 1;
    for (int64_t v = 0; v < s->vertices; v++) {
        int own = 0;
        for (int64_t b = 0; b < s->weighted; b++) own += s->weights[v * s->weighted + b] > 0.0f;
        if (own > slots) slots = own;
    }
    if (slots > s->most_joints) slots = s->most_joints;
    return (slots + 3) / 4 * 4;
}

enum { KEY = 10 }; /* numbers of a key: translation, rotation w x y z, scale */

static void join(const double key[KEY], double m[16])
{
    double r[9];
    su_quaternion_matrix(key + 3, r);
    for (int i = 0; i < 9; i++) r[i] *= key[7 + i % 3];
    su_affine_set(r, key, m);
}

/* Is the node's rest more than a translation, a rotation and a scale, and does no frame leave it? */
static bool is_fixed(const su_cache_skin *source, int64_t node)
{
    const double *rest = source->node_rest + 16 * node;
    double key[KEY], m[16], size = 0.0, worst = 0.0;
    su_affine_split(rest, key, key + 3, key + 7);
    join(key, m);
    for (int i = 0; i < 12; i++) {
        if (i % 4 == 3) continue;
        size = fmax(size, fabs(rest[i])), worst = fmax(worst, fabs(rest[i] - m[i]));
    }
    if (worst <= 1e-6 * size) return false; /* what f32 keeps */
    for (int64_t f = 0; f < source->frames; f++)
        for (int i = 0; i < KEY; i++)
            if (source->node_keys[KEY * (f * source->nodes + node) + i] != (float)key[i]) return false;
    return true;
}

su_status su_glb_skin_create(const su_cache_skin *s, su_glb_skin *out, su_error *err)
{
    su_status status;
    *out = (su_glb_skin){.source = s, .slots = slots_of(s)};
    SU_GO(SU_ALLOC(&out->joint, s->vertices * out->slots, "a skin", err));
    SU_GO(SU_ALLOC(&out->weight, s->vertices * out->slots, "a skin", err));
    SU_GO(SU_ALLOC(&out->fixed, s->nodes, "a skin", err));
    SU_GO(SU_ALLOC(&out->world, 16 * s->nodes, "a skin", err));
    SU_GO(SU_ALLOC(&out->joints, 16 * s->joints, "a skin", err));
    for (int64_t n = 0; n < s->nodes; n++) out->fixed[n] = is_fixed(s, n);
    for (int64_t v = 0; v < s->vertices; v++) {
        const float *row = s->weights + v * s->weighted;
        int32_t *joint = out->joint + v * out->slots;
        float *weight = out->weight + v * out->slots;
        double all = 0.0, kept = 0.0;
        int most = s->most_joints < out->slots ? s->most_joints : out->slots;
        out->reduced += strongest(row, s->weighted, most, joint, weight) > most;
        for (int64_t b = 0; b < s->weighted; b++) all += row[b] > 0.0f ? (double)row[b] : 0.0;
        for (int k = 0; k < most; k++) kept += (double)weight[k];
        if (!(kept > 0.0)) {
            status = su_fail(err, SU_INPUT, "skin vertex %lld has no weight", (long long)v);
            goto done;
        }
        for (int k = 0; k < most; k++) weight[k] = (float)((double)weight[k] / kept);
        out->cut = fmax(out->cut, 1.0 - kept / all);
    }
done:
    if (status != SU_OK) su_glb_skin_free(out);
    return status;
}

void su_glb_skin_free(su_glb_skin *skin)
{
    free(skin->joint), free(skin->weight), free(skin->fixed), free(skin->world), free(skin->joints);
    *skin = (su_glb_skin){0};
}

void su_glb_skin_pose(su_glb_skin *skin, int64_t frame)
{
    const su_cache_skin *s = skin->source;
    for (int64_t n = 0; n < s->nodes; n++) {
        double *world = skin->world + 16 * n;
        if (frame < 0 || skin->fixed[n]) {
            memcpy(world, s->node_rest + 16 * n, 16 * sizeof *world);
        } else {
            const float *key = s->node_keys + KEY * (frame * s->nodes + n);
            double part[KEY], length;
            for (int i = 0; i < KEY; i++) part[i] = (double)key[i];
            length = sqrt(part[3] * part[3] + part[4] * part[4] + part[5] * part[5] + part[6] * part[6]);
            for (int i = 3; i < 7; i++) part[i] /= length;
            join(part, world);
        }
        if (s->node_parent[n] >= 0) su_affine_multiply(skin->world + 16 * s->node_parent[n], world, world);
    }
    for (int64_t b = 0; b < s->joints; b++) {
        double bind[16]; /* as the file holds it */
        for (int i = 0; i < 16; i++) bind[i] = (double)(float)s->joint_bind[16 * b + i];
        su_affine_multiply(skin->world + 16 * s->joint_node[b], bind, skin->joints + 16 * b);
    }
}

void su_glb_skin_matrix(const su_glb_skin *skin, int64_t vertex, double m[12])
{
    memset(m, 0, 12 * sizeof *m);
    for (int k = 0; k < skin->slots; k++) {
        double weight = (double)skin->weight[vertex * skin->slots + k];
        const double *joint = skin->joints + 16 * skin->joint[vertex * skin->slots + k];
        if (weight == 0.0) break; /* those with weight stand first */
        for (int i = 0; i < 12; i++) m[i] += weight * joint[i];
    }
}

void su_glb_skin_solve(const double m[12], const double v[3], double out[3])
{
    double linear[9], inverse[9], square = 0.0, u[9], s[3], w[9], turned[3];
    for (int i = 0; i < 9; i++) linear[i] = m[4 * (i / 3) + i % 3], square += linear[i] * linear[i];
    /* smallest / largest singular value >= |det| / largest^3 >= |det| / norm^3 */
    if (fabs(su_det3(linear)) >= FLATTEST * square * sqrt(square) && su_inverse3(linear, inverse) != 0.0) {
        su_mulv3(inverse, v, out);
        return;
    }
    su_svd3(linear, u, s, w);
    su_tmulv3(u, v, turned);
    double least = FLATTEST * fabs(s[0]);
    for (int i = 0; i < 3; i++) turned[i] = least > 0.0 ? turned[i] / copysign(fmax(fabs(s[i]), least), s[i]) : 0.0;
    su_mulv3(w, turned, out);
}
