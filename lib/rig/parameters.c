#include "rig/parameters.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/rig_space.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST 1e-3 /* scale: hidden parts are scaled to 0 */

enum { PER_JOINT = 9 }; /* r, t, s: three each */

/* Joint to the joint above it (or to the root frame), split into rotation, translation and scale. */
static void local_parts(const double *bone, const double *above, double r[9], double t[3], double scale[3])
{
    double m[16], inverse[16], linear[9];
    memcpy(m, bone, sizeof m);
    if (above && fabs(su_affine_inverse(above, inverse)) > LEAST * LEAST * LEAST) su_affine_multiply(inverse, bone, m);
    su_affine_linear(m, linear);
    su_affine_translation(m, t);
    su_nearest_rotation(linear, r);
    for (int i = 0; i < 3; i++) {
        double column[3] = {linear[i], linear[3 + i], linear[6 + i]};
        scale[i] = fmax(su_norm3(column), LEAST);
    }
}

void su_unwrap_rotation(double v[3], const double before[3])
{
    double angle = su_norm3(v), axis[3];
    if (angle < 1e-9) { /* the axis is lost: keep that of the frame before */
        double turns = round(su_norm3(before) / (2.0 * M_PI));
        if (turns == 0.0) return;
        for (int i = 0; i < 3; i++) v[i] = before[i] / su_norm3(before) * 2.0 * M_PI * turns;
        return;
    }
    for (int i = 0; i < 3; i++) axis[i] = v[i] / angle;
    double turns = round((su_dot3(axis, before) - angle) / (2.0 * M_PI));
    for (int i = 0; i < 3; i++) v[i] = axis[i] * (angle + 2.0 * M_PI * turns);
}

/* The nine numbers of a joint at every frame. */
static void joint_columns(const su_character *c, int64_t joint, int64_t above, int64_t frames, const double *bones,
                          double *out)
{
    double rest_r[9], rest_t[3], rest_s[3];
    local_parts(c->bone_rest + 16 * joint, above >= 0 ? c->bone_rest + 16 * above : NULL, rest_r, rest_t, rest_s);
    for (int64_t f = 0; f < frames; f++) {
        const double *frame = bones + 16 * c->B * f;
        double r[9], t[3], scale[3], turn[9], q[4], *to = out + PER_JOINT * f;
        local_parts(frame + 16 * joint, above >= 0 ? frame + 16 * above : NULL, r, t, scale);
        su_tmul33(rest_r, r, turn);
        su_quaternion_of(turn, q);
        su_quaternion_log(q, to);
        if (f > 0) su_unwrap_rotation(to, to - PER_JOINT);
        for (int i = 0; i < 3; i++) {
            to[3 + i] = (t[i] - rest_t[i]) / c->diagonal;
            to[6 + i] = log(scale[i] / rest_s[i]);
        }
    }
}

/* Holds a column that hardly moves; returns whether it differs from 0 anywhere. */
static int hold_still(int64_t frames, int64_t stride, double *column)
{
    double low = column[0], high = column[0];
    for (int64_t f = 0; f < frames; f++) {
        low = fmin(low, column[f * stride]);
        high = fmax(high, column[f * stride]);
    }
    if (high - low >= SU_STILL_PARAMETER) return 1;
    double value = fmax(fabs(low), fabs(high)) < SU_STILL_PARAMETER ? 0.0 : column[0];
    for (int64_t f = 0; f < frames; f++) column[f * stride] = value;
    return value != 0.0;
}

static const char *column_name(su_parameters *out, const char *joint, int repeat, int component)
{
    static const char *const ending[PER_JOINT] = {"rx", "ry", "rz", "tx", "ty", "tz", "sx", "sy", "sz"};
    size_t room = strlen(joint) + 24;
    char *name = su_arena_alloc(&out->arena, (int64_t)room, 1);
    if (!name) return NULL;
    if (repeat)
        snprintf(name, room, "%s#%d.%s", joint, repeat + 1, ending[component]);
    else
        snprintf(name, room, "%s.%s", joint, ending[component]);
    return name;
}

su_status su_rig_parameters(const su_character *c, int64_t frames, const double *bones, const double *shape_weights,
                            su_parameters *out, su_error *err)
{
    su_arena scratch = {0};
    su_status status = SU_OK;
    memset(out, 0, sizeof *out);
    int64_t *joint = su_arena_alloc(&scratch, c->B, sizeof *joint), joints = 0, most = PER_JOINT * c->B + c->K;
    int64_t *at = su_arena_alloc(&scratch, c->B, sizeof *at);
    double *columns = su_arena_alloc(&scratch, PER_JOINT * frames * c->B, sizeof *columns);
    uint8_t *moves = su_arena_alloc(&scratch, PER_JOINT * c->B, 1);
    out->names = su_arena_alloc(&out->arena, most, sizeof *out->names);
    if (!joint || !at || !columns || !moves || !out->names) goto no_memory;

    for (int64_t b = 0; b < c->B; b++) { /* a node that two meshes bind differently counts once */
        at[b] = -1;
        if (!c->bone_deforms[b]) continue;
        for (int64_t j = 0; j < joints && at[b] < 0; j++)
            if (c->bone_node[joint[j]] == c->bone_node[b]) at[b] = j;
        if (at[b] < 0) at[b] = joints, joint[joints++] = b;
    }
    for (int64_t j = 0; j < joints; j++) {
        int32_t above = c->bone_parent[joint[j]];
        double *own = columns + PER_JOINT * frames * j;
        while (above >= 0 && !c->bone_deforms[above]) above = c->bone_parent[above];
        joint_columns(c, joint[j], above, frames, bones, own);
        int repeat = 0;
        for (int64_t i = 0; i < j; i++) repeat += strcmp(c->bone_names[joint[i]], c->bone_names[joint[j]]) == 0;
        for (int k = 0; k < PER_JOINT; k++) {
            moves[PER_JOINT * j + k] = hold_still(frames, PER_JOINT, own + k) || k < 3;
            if (!moves[PER_JOINT * j + k]) continue;
            if (!(out->names[out->s++] = column_name(out, c->bone_names[joint[j]], repeat, k))) goto no_memory;
        }
    }
    for (int64_t k = 0; k < c->K; k++) out->names[out->s++] = c->morph[k].name;

    out->values = su_arena_alloc(&out->arena, frames * out->s, sizeof *out->values);
    if (!out->values) goto no_memory;
    for (int64_t f = 0; f < frames; f++) {
        double *to = out->values + f * out->s;
        for (int64_t j = 0; j < joints; j++)
            for (int k = 0; k < PER_JOINT; k++)
                if (moves[PER_JOINT * j + k]) *to++ = columns[PER_JOINT * (frames * j + f) + k];
        for (int64_t k = 0; k < c->K; k++) *to++ = shape_weights[f * c->K + k];
    }
    goto done;
no_memory:
    status = su_fail(err, SU_AGAIN, "not enough memory for the rig parameters");
    su_parameters_free(out);
done:
    su_arena_free(&scratch);
    return status;
}

void su_parameters_free(su_parameters *parameters)
{
    su_arena_free(&parameters->arena);
    memset(parameters, 0, sizeof *parameters);
}
