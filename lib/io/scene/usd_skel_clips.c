/* Clips of UsdSkel: animations of skeletons, and transforms that move. */
#include "core/order.h"
#include "geometry/affine.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "io/scene/usd_skel_internal.h"
#include "io/usd/usd_xform.h"

#include <math.h>
#include <string.h>

/* An attribute's samples, or its one value, as keys of `size` numbers; *keys 0 where it has none. */
static su_status read_keys(su_usd_skel *b, int64_t prim, const char *name, int64_t size, double **value, double **times,
                           int64_t *keys)
{
    const su_usd_attribute *a = su_usd_find(&b->layer, prim, name);
    int64_t count = !a ? 0 : a->samples ? a->samples : !su_usd_none(a->value);
    *keys = 0;
    *value = su_arena_alloc(b->arena, count * size, sizeof **value);
    *times = su_arena_alloc(b->arena, count, sizeof **times);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    for (int64_t k = 0; k < count; k++) {
        su_usd_value v = a->samples ? a->sample[k].value : a->value;
        if (su_usd_numbers(v, size, *value + size * k) != size)
            return su_usd_skel_refuse(b, prim, "a sample has another number of joints or blend shapes");
        (*times)[k] = a->samples ? a->sample[k].time / b->layer.codes_per_second : 0;
    }
    *keys = count;
    return SU_OK;
}

/* Of keys of all joints those of one; quaternions made unit. */
static double *keys_of(su_usd_skel *b, int64_t keys, int64_t joints, int64_t joint, int width, const double *all)
{
    double *out = su_arena_alloc(b->arena, keys * width, sizeof *out);
    for (int64_t k = 0; out && k < keys; k++) {
        double length = 0;
        memcpy(out + width * k, all + width * (joints * k + joint), (size_t)width * sizeof *out);
        for (int i = 0; i < width; i++) length += out[width * k + i] * out[width * k + i];
        for (int i = 0; i < width && width == 4; i++)
            out[width * k + i] = length > 0 ? out[width * k + i] / sqrt(length) : i == 0;
    }
    return out;
}

static su_status add_joint_tracks(su_usd_skel *b, const su_usd_skeleton *s, int64_t animation, su_scene_clip *clip)
{
    int64_t joints;
    su_usd_text *joint = su_usd_skel_tokens(b, su_usd_find(&b->layer, animation, "joints"), &joints);
    su_scene_channel all = {0};
    SU_TRY(read_keys(b, animation, "translations", 3 * joints, &all.translation, &all.translation_times,
                     &all.translations));
    SU_TRY(read_keys(b, animation, "rotations", 4 * joints, &all.rotation, &all.rotation_times, &all.rotations));
    SU_TRY(read_keys(b, animation, "scales", 3 * joints, &all.scale, &all.scale_times, &all.scales));
    for (int64_t k = 0; k < joints; k++)
        for (int64_t j = 0; j < s->joints; j++) {
            if (!su_usd_same(joint[k], s->joint[j])) continue;
            su_scene_channel *own = &clip->channel[clip->channels++];
            *own = all, own->node = s->first + (int32_t)j;
            own->translation = keys_of(b, all.translations, joints, k, 3, all.translation);
            own->rotation = keys_of(b, all.rotations, joints, k, 4, all.rotation);
            own->scale = keys_of(b, all.scales, joints, k, 3, all.scale);
            break;
        }
    return b->arena->failed ? su_usd_skel_no_memory(b) : SU_OK;
}

/* Of blend shapes on the meshes that a skeleton moves; s NULL: on all. */
static su_status add_shape_tracks(su_usd_skel *b, int64_t animation, const su_usd_skeleton *s, su_scene_clip *clip)
{
    int64_t shapes, keys;
    su_usd_text *token = su_usd_skel_tokens(b, su_usd_find(&b->layer, animation, "blendShapes"), &shapes);
    double *weight, *times;
    SU_TRY(read_keys(b, animation, "blendShapeWeights", shapes, &weight, &times, &keys));
    for (int64_t i = 0; i < b->out->instances && keys; i++) {
        int32_t mesh = b->out->instance[i].mesh;
        const su_usd_shapes *of = &b->shapes[mesh];
        su_scene_morph_channel *own = &clip->morph_channel[clip->morph_channels];
        if (of->tokens == 0 || (s && su_usd_skel_of(b, b->instance_prim[i]) != s)) continue;
        *own = (su_scene_morph_channel){.node = b->out->instance[i].node, .keys = keys, .shapes = of->tokens};
        own->times = times;
        own->weights = su_arena_alloc(b->arena, keys * of->tokens, sizeof *own->weights);
        if (!own->weights) return su_usd_skel_no_memory(b);
        for (int64_t k = 0; k < of->tokens; k++)
            for (int64_t t = 0; t < shapes; t++)
                for (int64_t f = 0; f < keys && su_usd_same(token[t], of->token[k]); f++)
                    own->weights[of->tokens * f + k] = weight[shapes * f + t];
        if (b->out->mesh[mesh].shapes > of->tokens &&
            su_shape_mix_keys(b->arena, of->tokens, of->channel, b->out->mesh[mesh].shapes, own))
            return su_usd_skel_no_memory(b);
        clip->morph_channels++;
    }
    return SU_OK;
}

/* A prim whose own transform moves, at all of its samples. */
static su_status add_prim_track(su_usd_skel *b, int64_t prim, su_scene_clip *clip)
{
    const su_usd_layer *layer = &b->layer;
    int64_t count = su_usd_xform_codes(layer, prim, NULL), kept = 0;
    if (count == 0) return SU_OK;
    double *code = su_arena_alloc(b->arena, count, sizeof *code);
    su_scene_channel *own = &clip->channel[clip->channels];
    *own = (su_scene_channel){.node = b->node_of[prim]};
    own->translation_times = own->rotation_times = own->scale_times = su_arena_alloc(b->arena, count, sizeof(double));
    own->translation = su_arena_alloc(b->arena, 3 * count, sizeof(double));
    own->rotation = su_arena_alloc(b->arena, 4 * count, sizeof(double));
    own->scale = su_arena_alloc(b->arena, 3 * count, sizeof(double));
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    (void)su_usd_xform_codes(layer, prim, code);
    su_sort(code, (size_t)count, sizeof *code, su_order_doubles);
    for (int64_t k = 0; k < count; k++) {
        double m[16], r[9];
        bool reset;
        if (kept && code[k] - code[kept - 1] <= SU_USD_SAME_CODE) continue;
        SU_TRY(su_usd_local_at(layer, prim, code[k], m, &reset, &b->err));
        su_affine_linear(m, r);
        for (int c = 0; c < 3; c++) {
            double size = sqrt(r[c] * r[c] + r[3 + c] * r[3 + c] + r[6 + c] * r[6 + c]);
            own->scale[3 * kept + c] = size, own->translation[3 * kept + c] = m[4 * c + 3];
            for (int i = 0; i < 3; i++) r[3 * i + c] /= size > 0 ? size : 1;
        }
        if (su_det3(r) < 0) { /* a mirror along x */
            own->scale[3 * kept] = -own->scale[3 * kept];
            for (int i = 0; i < 3; i++) r[3 * i] = -r[3 * i];
        }
        su_quaternion_of(r, own->rotation + 4 * kept);
        code[kept] = code[k], own->translation_times[kept++] = code[k] / layer->codes_per_second;
    }
    own->translations = own->rotations = own->scales = kept;
    clip->channels++;
    return SU_OK;
}

static su_status begin_clip(su_usd_skel *b, const char *name, su_scene_clip **clip)
{
    *clip = &b->out->clip[b->out->clips];
    **clip = (su_scene_clip){.name = name};
    (*clip)->channel = su_arena_alloc(b->arena, b->out->nodes, sizeof *(*clip)->channel);
    (*clip)->morph_channel = su_arena_alloc(b->arena, b->out->instances, sizeof *(*clip)->morph_channel);
    return b->arena->failed ? su_usd_skel_no_memory(b) : SU_OK;
}

/* A clip has what moves without animations as well, and counts where anything moves. */
static su_status end_clip(su_usd_skel *b, su_scene_clip *clip)
{
    for (int64_t i = 0; i < b->layer.prims; i++)
        if (b->node_of[i] >= 0) SU_TRY(add_prim_track(b, i, clip));
    if (clip->channels + clip->morph_channels == 0) return SU_OK;
    if (su_scene_measure_clip(clip, b->arena)) return su_usd_skel_no_memory(b);
    b->out->clips++;
    return SU_OK;
}

static bool is_bound(const su_usd_skel *b, int64_t animation)
{
    for (int64_t k = 0; k < b->skeletons; k++)
        if (b->skeleton[k].animation == animation) return true;
    return false;
}

/* Animations that skeletons are bound to play at once, in a clip that is called after them: "walk", "walk+blink". */
static su_status add_bound_clip(su_usd_skel *b)
{
    su_scene_clip *clip;
    int64_t room = 1;
    for (int64_t k = 0; k < b->skeletons; k++)
        if (b->skeleton[k].animation >= 0) room += 1 + b->layer.prim[b->skeleton[k].animation].name.size;
    char *name = su_arena_alloc(b->arena, room, 1), *end = name;
    if (!name) return su_usd_skel_no_memory(b);
    for (int64_t k = 0; k < b->skeletons; k++) {
        bool said = b->skeleton[k].animation < 0;
        su_usd_text own = said ? (su_usd_text){0} : b->layer.prim[b->skeleton[k].animation].name;
        for (int64_t j = 0; j < k && !said; j++)
            said = b->skeleton[j].animation >= 0 && su_usd_same(b->layer.prim[b->skeleton[j].animation].name, own);
        if (said) continue;
        if (end > name) *end++ = '+';
        memcpy(end, own.at, (size_t)own.size);
        end += own.size;
    }
    SU_TRY(begin_clip(b, end > name ? name : "animation", &clip));
    for (int64_t k = 0; k < b->skeletons; k++) {
        if (b->skeleton[k].animation < 0) continue;
        SU_TRY(add_joint_tracks(b, &b->skeleton[k], b->skeleton[k].animation, clip));
        SU_TRY(add_shape_tracks(b, b->skeleton[k].animation, &b->skeleton[k], clip));
    }
    return end_clip(b, clip);
}

/* One that no skeleton is bound to moves the only one. */
static su_status add_free_clip(su_usd_skel *b, int64_t animation)
{
    su_scene_clip *clip;
    SU_TRY(begin_clip(b, su_usd_skel_text(b, b->layer.prim[animation].name), &clip));
    if (b->skeletons == 1) SU_TRY(add_joint_tracks(b, &b->skeleton[0], animation, clip));
    SU_TRY(add_shape_tracks(b, animation, NULL, clip));
    return end_clip(b, clip);
}

su_status su_usd_skel_clips(su_usd_skel *b)
{
    bool bound = false, any = false;
    for (int64_t k = 0; k < b->skeletons; k++) bound |= b->skeleton[k].animation >= 0;
    for (int64_t i = 0; i < b->layer.prims; i++) any |= su_usd_skel_stands(&b->layer.prim[i], "SkelAnimation");
    if (bound || !any) SU_TRY(add_bound_clip(b));
    for (int64_t i = 0; i < b->layer.prims; i++)
        if (su_usd_skel_stands(&b->layer.prim[i], "SkelAnimation") && !is_bound(b, i)) SU_TRY(add_free_clip(b, i));
    return SU_OK;
}
