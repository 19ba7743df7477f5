#include "io/scene/fbx_deformers.h"

#include "geometry/affine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Brings a scene as assimp has it to what the file says. */

int32_t su_fbx_inheritance(int32_t type)
{
    return type == 0 ? SU_INHERIT_APART : type == 2 ? SU_INHERIT_NOT_PARENT : SU_INHERIT_ALL;
}

/* Geometric offsets of 3ds Max: links of the mesh alone, which stand last in its chain. */
static void geometric_offset(const su_scene *scene, int32_t node, double out[16])
{
    su_affine_identity(out);
    const su_scene_node *own = &scene->node[node];
    int32_t i = own->parent;
    size_t length = strlen(own->name) + strlen(SU_ASSIMP_LINK);
    for (int32_t k = own->links; k > 0; k--, i = scene->node[i].parent)
        if (strncmp(scene->node[i].name + length, "Geometric", 9) == 0)
            su_affine_multiply(scene->node[i].local, out, out);
}

static bool has_name(const su_scene *scene, int32_t node, const char *name, size_t length)
{
    return strlen(scene->node[node].name) == length && memcmp(scene->node[node].name, name, length) == 0;
}

/* Binds a mesh as the file says, bone by bone. */
static void bind_mesh(const su_scene *scene, int32_t node, su_scene_mesh *mesh, const su_fbx_mesh *file)
{
    double offset[16];
    geometric_offset(scene, node, offset);
    for (int64_t b = 0; b < mesh->bones; b++)
        for (int64_t k = 0; k < file->bones; k++) {
            if (!has_name(scene, mesh->bone[b].node, file->bone[k].name, file->bone[k].length)) continue;
            su_affine_multiply(file->bone[k].bind, offset, mesh->bone[b].inverse_bind);
            break;
        }
}

/* Takes of a shape what its vertices take. */
static int part_shape(su_scene *scene, su_scene_mesh *mesh, int64_t shape, const su_fbx_channel *channel)
{
    int64_t most = mesh->vertices;
    for (int64_t i = 0; mesh->control_point && i < mesh->vertices; i++)
        if (mesh->control_point[i] >= most) most = (int64_t)mesh->control_point[i] + 1;
    double *part = su_arena_alloc(&scene->arena, most, sizeof *part),
           *to = mesh->shape_positions + 3 * mesh->vertices * shape;
    if (!part) return 1;
    for (int64_t i = 0; i < most; i++) part[i] = 1.0;
    for (int64_t k = 0; k < channel->points; k++)
        if (channel->point[k] >= 0 && channel->point[k] < most) part[channel->point[k]] = channel->part[k];
    for (int64_t i = 0; i < mesh->vertices; i++)
        for (int k = 0; k < 3; k++) {
            double from = mesh->positions[3 * i + k];
            to[3 * i + k] = from + part[mesh->control_point ? mesh->control_point[i] : i] * (to[3 * i + k] - from);
        }
    return 0;
}

static int set_shapes(su_scene *scene, int32_t node, su_scene_mesh *mesh, const su_fbx_mesh *file)
{
    int64_t shapes = 0;
    bool mixed = false;
    su_shape_channel *mixes = su_arena_alloc(&scene->arena, file->channels, sizeof *mixes);
    if (!mixes) return 1;
    for (int64_t k = 0; k < file->channels; k++) {
        const su_fbx_channel *channel = &file->channel[k];
        if (shapes + channel->mix.shapes <= mesh->shapes)
            su_shape_shares(&channel->mix, channel->mix.weight, mesh->shape_defaults + shapes);
        for (int64_t s = 0; s < channel->mix.shapes && shapes + s < mesh->shapes && channel->mix.shapes > 1; s++)
            if (channel->mix.full[s] != 1.0)
                mesh->shape_names[shapes + s] =
                    su_shape_between(&scene->arena, mesh->shape_names[shapes + s], channel->mix.full[s]);
        if (channel->points > 0 && shapes < mesh->shapes && mesh->control_point &&
            part_shape(scene, mesh, shapes, channel))
            return 1;
        shapes += channel->mix.shapes;
        mixed |= channel->mix.shapes != 1 || channel->mix.full[0] != 1.0;
        mixes[k] = channel->mix;
    }
    if (shapes != mesh->shapes) return 0;
    for (int64_t c = 0; c < scene->clips; c++)
        for (int64_t k = 0; k < scene->clip[c].morph_channels; k++) {
            su_scene_morph_channel *channel = &scene->clip[c].morph_channel[k];
            if (channel->node != node || channel->shapes > file->channels) continue;
            for (int64_t i = 0; i < channel->keys * channel->shapes; i++)
                if (isnan(channel->weights[i])) channel->weights[i] = mixes[i % channel->shapes].weight;
            if (mixed && su_shape_mix_keys(&scene->arena, file->channels, mixes, shapes, channel)) return 1;
        }
    return 0;
}

/* What no key and no file says of shapes: there is nothing of them. */
void su_scene_settle_weights(su_scene *scene)
{
    for (int64_t c = 0; c < scene->clips; c++)
        for (int64_t k = 0; k < scene->clip[c].morph_channels; k++) {
            su_scene_morph_channel *channel = &scene->clip[c].morph_channel[k];
            for (int64_t i = 0; i < channel->keys * channel->shapes; i++)
                if (isnan(channel->weights[i])) channel->weights[i] = 0.0;
        }
}

int su_fbx_complete(su_scene *scene, const char *data, size_t size)
{
    su_fbx_mesh *file;
    int32_t inherit;
    int64_t count = su_fbx_read_meshes(data, size, &scene->arena, &file, &inherit);
    for (int64_t i = 0; i < scene->nodes; i++)
        if (scene->node[i].inherit == SU_INHERIT_UNSAID) scene->node[i].inherit = su_fbx_inheritance(inherit);
    for (int64_t i = 0; i < scene->instances; i++) {
        int32_t node = scene->instance[i].node;
        su_scene_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        bool first = true; /* of the nodes that have the mesh */
        for (int64_t k = 0; k < i; k++) first = first && scene->instance[k].mesh != scene->instance[i].mesh;
        if ((mesh->bones == 0 && mesh->shapes == 0) || !first) continue;
        for (int64_t k = 0; k < count; k++) {
            if (!has_name(scene, node, file[k].name, file[k].length)) continue;
            mesh->skinning = file[k].skinning;
            if (file[k].bones > 0) bind_mesh(scene, node, mesh, &file[k]);
            if (mesh->shapes > 0 && set_shapes(scene, node, mesh, &file[k])) return 1;
            break;
        }
    }
    return scene->arena.failed;
}
