#include "rig/take.h"

#include "core/choice.h"
#include "core/json_text.h"
#include "geometry/affine.h"
#include "geometry/mat3.h"
#include "io/stage/anim.h"
#include "rig/root_frame.h"
#include "rig/skinning.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames ---- */

static double usual_rate(double rate)
{
    static const double film[] = {24000.0 / 1001.0, 30000.0 / 1001.0, 60000.0 / 1001.0};
    for (int i = 0; i < 3; i++)
        if (fabs(rate / film[i] - 1.0) < 2e-4) return film[i];
    double whole = round(rate);
    return whole >= 10.0 && whole <= 240.0 && fabs(rate - whole) < 0.02 * whole ? whole : 0.0;
}

su_status su_take_frames(const su_scene *scene, const su_scene_clip *clip, double fps, double first, double last,
                         double frame, su_take_range *range, su_error *err)
{
    if (!(fps > 0.0)) fps = usual_rate(scene->frame_rate); /* keys may be denser where a program took rotations apart */
    if (!(fps > 0.0)) fps = usual_rate(clip->key_rate);
    if (!(fps > 0.0)) fps = 30.0;
    double start = isnan(first) ? clip->start : first / fps, end = isnan(last) ? clip->end : last / fps;
    if (!(end >= start) || start > clip->end + 1e-6 || end < clip->start - 1e-6)
        return su_fail(err, SU_INPUT, "clip '%s' has frames %.6g to %.6g: nothing of it lies between %.6g and %.6g",
                       clip->name, clip->start * fps, clip->end * fps, start * fps, end * fps);
    double count = floor((end - start) * fps + 1e-3) + 1.0;
    if (!(count <= 1e7)) return su_fail(err, SU_INPUT, "clip '%s' would have %.0f frames", clip->name, count);
    range->frames = (int64_t)count, range->fps = fps, range->start = start;
    double number = start * fps, whole = round(number);
    range->frame_start = isnan(frame) ? fabs(number - whole) < 1e-2 ? whole : number : frame;
    range->shift = isnan(frame) ? 0.0 : frame / fps - start;
    return SU_OK;
}

/* ---- sampling ---- */

static void sample_frame(su_take *take, const su_scene_clip *clip, int64_t frame, double *world, double *shapes)
{
    const su_character *c = take->character;
    double time = take->range.start + (double)frame / take->range.fps, now[16], inverse[16];
    su_scene_local(c->scene, clip, time, world);
    su_node_tree_keys(&take->tree, world, take->node_keys + SU_NODE_KEY * take->tree.nodes * frame);
    su_scene_pose(c->scene, clip, time, world);
    for (int64_t i = 0; i < c->parts; i++)
        su_affine_multiply(c->convert, world + 16 * c->part[i].node,
                           take->object_frames + 16 * (c->objects * frame + c->part[i].object));
    su_affine_multiply(c->convert, world + 16 * c->root_node, now);
    su_affine_multiply(now, c->root_adjust, now);
    su_root_from_bone(now, c->root_rest, take->root + 16 * frame);
    su_rigid_inverse(take->root + 16 * frame, inverse);
    su_affine_multiply(inverse, c->convert, inverse);
    for (int64_t b = 0; b < c->B; b++) {
        double *bone = take->bones + 16 * (c->B * frame + b);
        su_affine_multiply(inverse, world + 16 * c->bone_node[b], bone);
        su_affine_multiply(bone, c->bone_adjust + 16 * b, bone);
    }
    for (int64_t k = 0; k < c->K; k++) {
        const su_character_part *part = &c->part[c->morph[k].part];
        su_scene_shape_weights(c->scene, clip, time, part->node, &c->scene->mesh[part->mesh], shapes);
        take->shape_weights[c->K * frame + k] = shapes[c->morph[k].shape];
    }
}

su_status su_take_create(const su_character *c, const su_scene_clip *clip, const su_take_range *range, su_take *out,
                         su_error *err)
{
    su_arena scratch = {0};
    su_status status = SU_OK;
    int64_t F = range->frames, most = 1;
    memset(out, 0, sizeof *out);
    out->character = c, out->range = *range;
    SU_GO(su_node_tree_create(c, &out->arena, &out->tree, err));
    for (int64_t i = 0; i < c->scene->meshes; i++)
        if (c->scene->mesh[i].shapes > most) most = c->scene->mesh[i].shapes;
    double *world = su_arena_alloc(&scratch, 16 * c->scene->nodes, sizeof *world);
    double *shapes = su_arena_alloc(&scratch, most, sizeof *shapes);
    out->root = su_arena_alloc(&out->arena, 16 * F, sizeof(double));
    out->bones = su_arena_alloc(&out->arena, 16 * F * c->B, sizeof(double));
    out->shape_weights = su_arena_alloc(&out->arena, F * c->K, sizeof(double));
    out->node_keys = su_arena_alloc(&out->arena, F * out->tree.nodes, SU_NODE_KEY * sizeof(float));
    out->object_frames = su_arena_alloc(&out->arena, 16 * F * c->objects, sizeof(double));
    if (!world || !shapes || !out->root || !out->bones || !out->shape_weights || !out->node_keys ||
        !out->object_frames) {
        status =
            su_fail(err, SU_AGAIN, "not enough memory for %lld frames of %lld bones", (long long)F, (long long)c->B);
        goto done;
    }
    for (int64_t f = 0; f < F; f++) sample_frame(out, clip, f, world, shapes);
    bool moves = false; /* away from where object_xform has them */
    for (int64_t i = 0; i < 16 * F * c->objects && !moves; i++) {
        double there = c->object_xform[i % (16 * c->objects)];
        moves = !(fabs(out->object_frames[i] - there) <= 1e-12 * fmax(1.0, fabs(there)));
    }
    if (!moves) out->object_frames = NULL;
    for (int64_t i = 0; i < 16 * F * c->B; i++)
        if (!isfinite(out->bones[i])) {
            status = su_fail(err, SU_INPUT, "clip '%s': joint '%s' has no finite place at frame %lld", clip->name,
                             c->bone_names[i / 16 % c->B], (long long)(i / 16 / c->B));
            goto done;
        }
    SU_GO(su_rig_parameters(c, F, out->bones, out->shape_weights, &out->parameters, err));
    for (int64_t i = 0; i < F * out->parameters.s; i++)
        if (!isfinite(out->parameters.values[i])) {
            status = su_fail(err, SU_INPUT, "clip '%s': %s has no finite value at frame %lld", clip->name,
                             out->parameters.names[i % out->parameters.s], (long long)(i / out->parameters.s));
            goto done;
        }
done:
    su_arena_free(&scratch);
    if (status != SU_OK) su_take_free(out);
    return status;
}

void su_take_free(su_take *take)
{
    su_parameters_free(&take->parameters);
    su_arena_free(&take->arena);
    memset(take, 0, sizeof *take);
}

/* Keys are of 32 bits: noise of this much of the character's size, or of 1 in a matrix, is no motion. */
static const double KEY_NOISE = 1e-5;

static bool stays(const double *values, int64_t frames, int64_t stride, double noise)
{
    for (int64_t i = stride; values && i < frames * stride; i++)
        if (fabs(values[i] - values[i % stride]) > noise) return false;
    return true;
}

bool su_take_is_still(const su_take *take)
{
    const su_character *c = take->character;
    int64_t F = take->range.frames;
    double noise = KEY_NOISE * fmax(1, c->diagonal);
    return stays(take->root, F, 16, noise) && stays(take->bones, F, 16 * c->B, noise) &&
           stays(take->shape_weights, F, c->K, KEY_NOISE) && stays(take->object_frames, F, 16 * c->objects, noise);
}

void su_take_points(const su_take *take, int64_t frame, int threads, double *room, double *matrices, double *points)
{
    const su_character *c = take->character;
    const double *neutral = c->neutral;
    for (int64_t b = 0; b < c->B; b++) {
        su_rigid_inverse(c->bone_rest + 16 * b, matrices + 16 * b);
        su_affine_multiply(take->bones + 16 * (c->B * frame + b), matrices + 16 * b, matrices + 16 * b);
    }
    for (int64_t k = 0; k < c->K; k++) {
        double w = take->shape_weights[c->K * frame + k];
        const double *offset = c->morphs + 3 * c->nbar * k;
        if (w == 0.0) continue;
        for (int64_t i = 0; i < 3 * c->nbar; i++) room[i] = neutral[i] + w * offset[i];
        neutral = room;
    }
    if (take->dual)
        su_skin_points_dual(&c->skin, c->B, neutral, matrices, threads, matrices + 16 * c->B, points);
    else
        su_skin_points(&c->skin, neutral, matrices, threads, points);
}

su_status su_take_show(su_take *take, su_sequence *shown, const char *path, su_error *err)
{
    const su_character *c = take->character;
    if (shown->vertices != c->N)
        return su_fail(err, SU_INPUT, "%s: has %lld vertices, the character %lld", path, (long long)shown->vertices,
                       (long long)c->N);
    if (shown->frames != take->range.frames)
        return su_fail(err, SU_INPUT, "%s: has %lld frames, the clip %lld", path, (long long)shown->frames,
                       (long long)take->range.frames);
    if (!(take->shown_vertex = su_arena_alloc(&take->arena, c->nbar, sizeof(int32_t))))
        return su_fail(err, SU_AGAIN, "not enough memory for %lld vertices", (long long)c->nbar);
    for (int64_t v = c->N - 1; v >= 0; v--) take->shown_vertex[c->source_vertex[v]] = (int32_t)v; /* the first wins */
    take->shown = shown;
    return SU_OK;
}

/* Of the diagonal: vertices that the file's rig moves as one may not lie farther apart in a cache. */
static const double TOGETHER = 1e-4;

/* points (nbar,3) of a frame as the cache has it, in the root frame; room (N,3). */
static su_status shown_points(const su_take *take, int64_t frame, double *room, double *points, su_error *err)
{
    const su_character *c = take->character;
    double inverse[16];
    su_rigid_inverse(take->root + 16 * frame, inverse);
    su_affine_multiply(inverse, c->convert, inverse);
    SU_TRY(su_sequence_read(take->shown, frame, room, err));
    for (int64_t v = 0; v < c->N; v++) {
        int64_t first = take->shown_vertex[c->source_vertex[v]];
        if (su_distance3(room + 3 * v, room + 3 * first) * c->unit <= TOGETHER * c->diagonal) continue;
        return su_fail(err, SU_INPUT,
                       "vertices %lld and %lld lie together in the neutral pose and move alike by the rig, but part in "
                       "frame %lld of the points; weld them or move them apart",
                       (long long)first, (long long)v, (long long)frame);
    }
    for (int64_t v = 0; v < c->nbar; v++)
        su_affine_point(inverse, room + 3 * (int64_t)take->shown_vertex[v], points + 3 * v);
    return SU_OK;
}

/* ---- saving ---- */

typedef struct point_stream {
    const su_take *take;
    int threads;
    su_progress *progress;
} point_stream;

static su_status write_points(void *context, su_npz_writer *writer, su_error *err)
{
    const point_stream *s = context;
    const su_character *c = s->take->character;
    su_arena scratch = {0};
    su_status status = SU_OK;
    double *room = su_arena_alloc(&scratch, 3 * (c->N > c->nbar ? c->N : c->nbar), sizeof *room);
    double *points = su_arena_alloc(&scratch, 3 * c->nbar, sizeof *points);
    double *matrices = su_arena_alloc(&scratch, 33 * c->B, sizeof *matrices);
    float *single = su_arena_alloc(&scratch, 3 * c->nbar, sizeof *single);
    if (!room || !points || !matrices || !single) {
        status = su_fail(err, SU_AGAIN, "not enough memory for a frame of %lld vertices", (long long)c->nbar);
        goto done;
    }
    for (int64_t f = 0; f < s->take->range.frames; f++) {
        if (s->take->shown)
            SU_GO(shown_points(s->take, f, room, points, err));
        else
            su_take_points(s->take, f, s->threads, room, matrices, points);
        for (int64_t i = 0; i < 3 * c->nbar; i++) {
            single[i] = (float)points[i];
            if (isfinite(single[i])) continue;
            status = su_fail(err, SU_INPUT, "frame %lld: vertex %lld has no finite position", (long long)f,
                             (long long)(i / 3));
            goto done;
        }
        SU_GO(su_npz_append(writer, single, 3 * c->nbar, err));
        SU_GO(su_progress_update(s->progress, (double)(f + 1) / (double)s->take->range.frames, err));
    }
done:
    su_arena_free(&scratch);
    return status;
}

/* NULL: no memory. */
static json_t *name_list(int64_t count, const char *const *names)
{
    json_t *list = json_array();
    int bad = 0;
    for (int64_t i = 0; i < count; i++) {
        char number[40];
        snprintf(number, sizeof number, "name%lld", (long long)i);
        bad |= json_array_append_new(list, su_json_text(names[i], number));
    }
    if (!bad) return list;
    json_decref(list);
    return NULL;
}

static su_status describe(const su_take *take, const su_scene_clip *clip, json_t *meta, su_error *err)
{
    int bad = 0;
    static const char *const axis[] = {"x", "y", "z"};
    const su_character *c = take->character;
    bad |= json_object_set_new(meta, "clip", su_json_text(clip->name, ""));
    bad |= json_object_set_new(meta, "fps", json_real(take->range.fps));
    bad |= json_object_set_new(meta, "frame_start", json_real(take->range.frame_start));
    bad |= json_object_set_new(meta, "skinning", su_choice_json(SU_SKINNING_NAMES, take->dual));
    bad |= json_object_set_new(meta, "source_unit", json_real(c->unit));
    bad |= json_object_set_new(meta, "source_up", json_string(axis[c->up]));
    bad |= json_object_set_new(meta, "param_names", name_list(take->parameters.s, take->parameters.names));
    bad |= json_object_set_new(meta, "object_names", name_list(c->objects, c->object_names));
    bad |= json_object_set_new(meta, "object_paths", name_list(c->objects, (const char *const *)c->object_paths));
    if (c->scene->mesh_is_node && c->B) bad |= json_object_set_new(meta, "usd_skinned", json_true());
    if (c->looks.materials)
        bad |= json_object_set_new(meta, "material_names",
                                   name_list(c->looks.materials, (const char *const *)c->looks.material_names));
    bad |= json_object_set_new(meta, "bone_names", name_list(c->B, c->bone_names));
    bad |= json_object_set_new(meta, "node_names", name_list(take->tree.nodes, take->tree.names));
    const char **morph_names = su_calloc(c->K, sizeof *morph_names);
    if (!morph_names) return su_fail(err, SU_AGAIN, "out of memory for meta");
    for (int64_t k = 0; k < c->K; k++) morph_names[k] = c->morph[k].name;
    bad |= json_object_set_new(meta, "morph_names", name_list(c->K, morph_names));
    free(morph_names);
    return bad ? su_fail(err, SU_AGAIN, "out of memory for meta") : SU_OK;
}

su_status su_take_save(const su_take *take, const char *path, const su_scene_clip *clip, json_t *meta, int threads,
                       su_progress *progress, su_error *err)
{
    const su_character *c = take->character;
    su_status status = SU_OK;
    su_anim anim = {.F = take->range.frames,
                    .nbar = c->nbar,
                    .T = c->T,
                    .P = c->P,
                    .corners = c->corners,
                    .N = c->N,
                    .s = take->parameters.s,
                    .uvs = c->uvs,
                    .objects = c->objects,
                    .K = c->K,
                    .B = c->B,
                    .nodes = take->tree.nodes,
                    .joints = take->tree.joints,
                    .materials = c->looks.materials};
    point_stream points = {take, threads, progress};
    su_field_stream stream = {"points", write_points, &points};
    SU_TRY(describe(take, clip, meta, err));
    anim.file.meta = json_incref(meta);
    anim.root = take->root, anim.neutral = c->neutral, anim.triangles = c->triangles;
    anim.face_counts = c->face_counts, anim.face_indices = c->face_indices, anim.source_vertex = c->source_vertex;
    anim.params = take->parameters.values;
    anim.uv = c->uv, anim.uv_indices = c->uv_indices;
    anim.object_ids = c->object_ids, anim.object_xform = c->object_xform, anim.color = c->color;
    if (c->looks.material) {
        anim.face_material = c->looks.material;
        anim.material_color = c->looks.color, anim.material_surface = c->looks.surface;
    }
    anim.object_frames = take->object_frames;
    anim.morphs = c->K ? c->morphs : NULL;
    anim.bones = take->bones, anim.bone_rest = c->bone_rest, anim.bone_parent = c->bone_parent;
    anim.bone_segments = c->bone_segments, anim.rigid = c->rigid;
    anim.node_parent = take->tree.parent, anim.node_rest = take->tree.rest, anim.node_keys = take->node_keys;
    anim.joint_node = take->tree.joint_node, anim.joint_bind = take->tree.joint_bind;
    anim.object_node = take->tree.object_node;
    SU_GO(SU_FILE_ALLOC(&anim.file, &anim.times, anim.F, err));
    SU_GO(SU_FILE_ALLOC(&anim.file, &anim.weights, c->nbar * c->B, err));
    for (int64_t f = 0; f < anim.F; f++)
        anim.times[f] = take->range.start + take->range.shift + (double)f / take->range.fps;
    for (int64_t v = 0; v < c->nbar; v++)
        for (int64_t k = c->skin.start[v]; k < c->skin.start[v + 1]; k++)
            anim.weights[v * c->B + c->skin.bone[k]] = (float)c->skin.weight[k];
    SU_GO(su_schema_save_streamed(&su_anim_schema, path, &anim, &stream, err));
done:
    su_schema_free(&su_anim_schema, &anim);
    return status;
}
