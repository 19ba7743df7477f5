#include "io/scene/scene.h"

#include "core/order.h"
#include "geometry/mat3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int all_finite(const double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

static int all_finite_f32(const float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

static int all_in_range(const int32_t *index, int64_t count, int64_t limit)
{
    for (int64_t i = 0; i < count; i++)
        if (index[i] < 0 || index[i] >= limit) return 0;
    return 1;
}

/* The last row of an affine matrix. */
static int is_affine(const double m[16])
{
    return all_finite(m, 16) && fabs(m[12]) + fabs(m[13]) + fabs(m[14]) + fabs(m[15] - 1.0) < 1e-6;
}

static su_status check_mesh(const su_scene *scene, const su_scene_mesh *mesh, su_error *err)
{
    if (!mesh->positions || !mesh->face_counts || !mesh->face_indices || !mesh->bone || !mesh->influence_vertex ||
        !mesh->influence_weight || !mesh->shape_defaults || !mesh->shape_positions)
        return su_fail(err, SU_INPUT, "mesh '%s' is incomplete", mesh->name);
    for (int64_t i = 0; i < 3 * mesh->vertices; i++)
        if (!isfinite(mesh->positions[i]))
            return su_fail(err, SU_INPUT, "mesh '%s': the position of vertex %lld is not a finite number", mesh->name,
                           (long long)(i / 3));
    if (!all_in_range(mesh->face_indices, mesh->corners, mesh->vertices))
        return su_fail(err, SU_INPUT, "mesh '%s': a face uses a vertex that does not exist", mesh->name);
    for (int64_t i = 0; i < mesh->polygons && mesh->face_material; i++)
        if (mesh->face_material[i] < -1 || mesh->face_material[i] >= scene->materials)
            return su_fail(err, SU_INPUT, "mesh '%s': a face has a material that does not exist", mesh->name);
    int64_t corners = 0;
    for (int64_t i = 0; i < mesh->polygons; i++) corners += mesh->face_counts[i] < 3 ? INT32_MAX : mesh->face_counts[i];
    if (corners != mesh->corners) return su_fail(err, SU_INPUT, "mesh '%s' has broken faces", mesh->name);
    if ((mesh->uv && !all_finite_f32(mesh->uv, 2 * mesh->vertices)) ||
        (mesh->color && !all_finite_f32(mesh->color, 4 * mesh->vertices)))
        return su_fail(err, SU_INPUT, "mesh '%s': texture coordinates or colours are not finite numbers", mesh->name);
    for (int64_t i = 0; i < mesh->bones; i++) {
        const su_scene_bone *b = &mesh->bone[i];
        if (b->node < 0 || b->node >= scene->nodes || b->first < 0 || b->count < 0 || b->first > mesh->influences ||
            b->count > mesh->influences - b->first)
            return su_fail(err, SU_INPUT, "mesh '%s': bone %lld is broken", mesh->name, (long long)i);
        if (!is_affine(b->inverse_bind))
            return su_fail(err, SU_INPUT, "mesh '%s': the bind matrix of joint '%s' is not an affine transform",
                           mesh->name, scene->node[b->node].name);
    }
    if (!all_in_range(mesh->influence_vertex, mesh->influences, mesh->vertices) ||
        !all_finite(mesh->influence_weight, mesh->influences))
        return su_fail(err, SU_INPUT, "mesh '%s': a skinning weight is not a number or points past the vertices",
                       mesh->name);
    if (mesh->control_point && (!mesh->source_polygon || mesh->control_points > INT32_MAX ||
                                !all_in_range(mesh->control_point, mesh->vertices, mesh->control_points)))
        return su_fail(err, SU_INPUT, "mesh '%s': a corner uses a vertex that does not exist", mesh->name);
    if (!all_finite(mesh->shape_defaults, mesh->shapes) ||
        !all_finite(mesh->shape_positions, 3 * mesh->vertices * mesh->shapes))
        return su_fail(err, SU_INPUT, "mesh '%s': a blend shape has positions that are not finite numbers", mesh->name);
    return SU_OK;
}

static int track_is_sound(int64_t count, int components, const double *times, const double *values)
{
    if (count < 0 || !times || !values || !all_finite(times, count) || !all_finite(values, components * count))
        return 0;
    for (int64_t i = 0; i + 1 < count; i++)
        if (times[i + 1] < times[i]) return 0;
    return 1;
}

static su_status check_clip(const su_scene *scene, const su_scene_clip *clip, su_error *err)
{
    for (int64_t i = 0; i < clip->channels; i++) {
        const su_scene_channel *c = &clip->channel[i];
        if (c->node < 0 || c->node >= scene->nodes)
            return su_fail(err, SU_INPUT, "clip '%s' moves a node that does not exist", clip->name);
        if (!track_is_sound(c->translations, 3 * su_key_values(c->translation_mode), c->translation_times,
                            c->translation) ||
            !track_is_sound(c->rotations, 4 * su_key_values(c->rotation_mode), c->rotation_times, c->rotation) ||
            !track_is_sound(c->scales, 3 * su_key_values(c->scale_mode), c->scale_times, c->scale))
            return su_fail(err, SU_INPUT, "clip '%s': the keys of '%s' are not finite or not in order of time",
                           clip->name, scene->node[c->node].name);
    }
    for (int64_t i = 0; i < clip->morph_channels; i++) {
        const su_scene_morph_channel *c = &clip->morph_channel[i];
        if (c->node < 0 || c->node >= scene->nodes || c->shapes > 65535 ||
            !track_is_sound(c->keys, (int)c->shapes * su_key_values(c->mode), c->times, c->weights))
            return su_fail(err, SU_INPUT, "clip '%s': keys of blend shapes are not finite or not in order of time",
                           clip->name);
    }
    if (!isfinite(clip->start) || !isfinite(clip->end) || clip->end < clip->start)
        return su_fail(err, SU_INPUT, "clip '%s' has no usable times", clip->name);
    return SU_OK;
}

su_status su_scene_check(const su_scene *scene, su_error *err)
{
    if (scene->nodes < 1 || !scene->instance) return su_fail(err, SU_INPUT, "the file holds no scene");
    for (int64_t i = 0; i < scene->nodes; i++) {
        if (scene->node[i].parent >= i || scene->node[i].parent < (i > 0 ? 0 : -1))
            return su_fail(err, SU_INPUT, "the node tree is broken");
        if (!is_affine(scene->node[i].local))
            return su_fail(err, SU_INPUT, "node '%s' has a transform that is not affine or not finite",
                           scene->node[i].name);
    }
    for (int64_t i = 0; i < scene->materials; i++)
        if (!all_finite_f32(scene->material[i].color, 4) || !all_finite_f32(scene->material[i].surface, 2))
            return su_fail(err, SU_INPUT, "material '%s': its colour is not finite", scene->material[i].name);
    for (int64_t i = 0; i < scene->meshes; i++) SU_TRY(check_mesh(scene, &scene->mesh[i], err));
    for (int64_t i = 0; i < scene->clips; i++) SU_TRY(check_clip(scene, &scene->clip[i], err));
    int64_t polygons = 0;
    for (int64_t i = 0; i < scene->instances; i++) {
        const su_scene_instance *at = &scene->instance[i];
        if (at->mesh < 0 || at->mesh >= scene->meshes || at->node < 0 || at->node >= scene->nodes)
            return su_fail(err, SU_INPUT, "the node tree is broken");
        polygons += scene->mesh[at->mesh].polygons;
    }
    if (polygons == 0 && scene->clips == 0)
        return su_fail(err, SU_INPUT, "the file holds neither a mesh with faces nor a motion");
    return SU_OK;
}

/* ---- clips ---- */

static int measure_track(int64_t count, const double *times, int64_t *most, su_scene_clip *clip, su_arena *arena)
{
    if (count == 0) return 0;
    if (clip->end < clip->start) clip->start = times[0], clip->end = times[count - 1];
    clip->start = fmin(clip->start, times[0]), clip->end = fmax(clip->end, times[count - 1]);
    if (count <= *most || count < 2) return 0;
    double *gap = su_arena_alloc(arena, count - 1, sizeof *gap);
    if (!gap) return 1;
    for (int64_t i = 0; i + 1 < count; i++) gap[i] = times[i + 1] - times[i];
    su_sort(gap, (size_t)count - 1, sizeof *gap, su_order_doubles);
    double median = gap[(count - 1) / 2];
    if (median > 0.0) clip->key_rate = 1.0 / median, *most = count;
    return 0;
}

int su_scene_measure_clip(su_scene_clip *clip, su_arena *arena)
{
    int64_t most = 0;
    int failed = 0;
    clip->start = 0.0, clip->end = -1.0, clip->key_rate = 0.0;
    for (int64_t i = 0; i < clip->channels; i++) {
        const su_scene_channel *c = &clip->channel[i];
        failed |= measure_track(c->translations, c->translation_times, &most, clip, arena) ||
                  measure_track(c->rotations, c->rotation_times, &most, clip, arena) ||
                  measure_track(c->scales, c->scale_times, &most, clip, arena);
    }
    for (int64_t i = 0; i < clip->morph_channels; i++)
        failed |= measure_track(clip->morph_channel[i].keys, clip->morph_channel[i].times, &most, clip, arena);
    if (clip->end < clip->start) clip->end = clip->start;
    return failed;
}

void su_scene_free(su_scene *scene)
{
    su_arena_free(&scene->arena);
    memset(scene, 0, sizeof *scene);
}

int su_scene_up(const su_scene *scene) { return scene->up >= 0 ? scene->up : 1; }

double su_scene_travel(const su_scene_channel *c)
{
    int64_t values = su_key_values(c->translation_mode);
    const double *first = c->translation + 3 * (values / 2); /* tangents stand around a value */
    double most = 0.0;
    for (int64_t k = 0; k < c->translations; k++) most = fmax(most, su_distance3(first + 3 * values * k, first));
    return most;
}
