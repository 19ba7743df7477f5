#include "rig/character.h"

#include "geometry/affine.h"
#include "geometry/mat3.h"
#include "geometry/polygon.h"
#include "rig/character_internal.h"
#include "rig/weld.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WELD_DISTANCE 4e-6 /* of the diagonal */

static su_status no_memory(su_error *err) { return su_fail(err, SU_AGAIN, "not enough memory for the character"); }

#define TAKE(arena, pointer, count)                                                                                    \
    do {                                                                                                               \
        (pointer) = su_arena_alloc(arena, count, sizeof *(pointer));                                                   \
        if (!(pointer)) return no_memory(err);                                                                         \
    } while (0)

double su_choose_unit(double file_unit, double extent, int *guessed)
{
    static const double candidates[] = {1.0, 0.01, 0.001};
    double own = file_unit > 0.0 ? file_unit : 1.0;
    *guessed = 0;
    if (own * extent >= 0.1 && own * extent <= 50.0) return own;
    for (int i = 0; i < 3; i++) {
        double size = candidates[i] * extent;
        if (size < 0.1 || size > 50.0) continue;
        *guessed = 1;
        return candidates[i];
    }
    return own;
}

/* ---- which meshes ---- */

static int is_skinned(const su_scene_mesh *mesh)
{
    for (int64_t i = 0; i < mesh->bones; i++)
        if (mesh->bone[i].count > 0) return 1;
    return 0;
}

/* An object is all meshes of one node, and has its name; nameless nodes take the name of the mesh. */
static const char *object_name(const su_scene *scene, const su_scene_instance *at)
{
    const char *name = scene->node[at->node].name;
    if (!name[0]) name = scene->mesh[at->mesh].name;
    return name[0] ? name : "object";
}

/* The node above that the file has: -1 also where the reader made one. */
static int32_t above(const su_scene *scene, int32_t node)
{
    for (node = scene->node[node].parent; node >= 0; node = scene->node[node].parent) {
        const char *name = scene->node[node].name;
        bool made = scene->node[node].parent < 0 && (strcmp(name, "ROOT") == 0 || strcmp(name, "RootNode") == 0);
        if (!made && !strstr(name, "_$AssimpFbx$_")) return node;
    }
    return -1;
}

/* Whether a node has the path "/group/object", or stands below what has it. */
static bool is_below(const su_scene *scene, int32_t node, const char *path)
{
    for (; node >= 0; node = above(scene, node)) {
        size_t left = strlen(path);
        int32_t at = node;
        for (; at >= 0; at = above(scene, at)) {
            size_t length = strlen(scene->node[at].name);
            if (left <= length || path[left - length - 1] != '/' ||
                memcmp(path + left - length, scene->node[at].name, length) != 0)
                break;
            left -= length + 1;
        }
        if (at < 0 && left == 0) return true;
    }
    return false;
}

/* Whether a list has the name of an object, or a path that it stands at or below. */
static bool is_named(const su_scene *scene, const su_scene_instance *at, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(object_name(scene, at), list[i]) == 0 || (*list[i] == '/' && is_below(scene, at->node, list[i])))
            return true;
    return false;
}

/* The node or the nearest above it that is a joint of a skin, with weight or without; -1: none. */
static int32_t joint_above(const su_scene *scene, const uint8_t *joint, int32_t node)
{
    while (node >= 0 && !joint[node]) node = scene->node[node].parent;
    return node;
}

static su_status check_names(const su_scene *scene, const char *const *list, int count, su_error *err)
{
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (int64_t k = 0; k < scene->instances && !found; k++)
            found = is_named(scene, &scene->instance[k], list + i, 1);
        if (!found) return su_fail(err, SU_INPUT, "no object is called '%s'; --list names them", list[i]);
    }
    return SU_OK;
}

static su_status choose_parts(su_character *c, const su_character_options *options, su_arena *scratch, su_error *err)
{
    const su_scene *scene = c->scene;
    uint8_t *joint;
    int skinned = 0, faces = 0;
    SU_TRY(check_names(scene, options->objects, options->object_count, err));
    SU_TRY(check_names(scene, options->rigid, options->rigid_count, err));
    TAKE(scratch, joint, scene->nodes);
    TAKE(&c->arena, c->part, scene->instances);
    TAKE(&c->arena, c->object_names, scene->instances);
    TAKE(&c->arena, c->left_out_names, scene->instances);
    TAKE(&c->arena, c->carried_names, scene->instances);
    for (int64_t i = 0; i < scene->instances; i++) {
        const su_scene_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        skinned |= is_skinned(mesh);
        for (int64_t b = 0; b < mesh->bones; b++) joint[mesh->bone[b].node] = 1;
    }
    for (int64_t i = 0; i < scene->instances; i++) {
        const su_scene_instance *at = &scene->instance[i];
        const su_scene_mesh *mesh = &scene->mesh[at->mesh];
        const char *name = object_name(scene, at);
        int hangs = skinned && !is_skinned(mesh);
        faces |= mesh->polygons > 0;
        if (mesh->polygons == 0 ||
            (options->object_count && !is_named(scene, at, options->objects, options->object_count)))
            continue;
        if (hangs && !options->object_count && joint_above(scene, joint, at->node) < 0) { /* a floor, a prop on it */
            if (c->left_out == 0 || strcmp(c->left_out_names[c->left_out - 1], name) != 0)
                c->left_out_names[c->left_out++] = name;
            continue;
        }
        su_character_part *part = &c->part[c->parts];
        int begins = c->parts == 0 || part[-1].node != at->node, carried = hangs;
        if (begins) c->object_names[c->objects++] = name;
        if (begins && carried) c->carried_names[c->carried++] = name;
        *part =
            (su_character_part){.node = at->node, .mesh = at->mesh, .object = (int32_t)c->objects - 1, .first = c->N};
        part->carrier = carried ? joint_above(scene, joint, at->node) : -1;
        part->rigid = carried || is_named(scene, at, options->rigid, options->rigid_count);
        c->parts++;
        c->N += mesh->vertices, c->P += mesh->polygons, c->corners += mesh->corners;
    }
    if (c->parts == 0 && !faces)
        return su_fail(err, SU_INPUT,
                       "the file holds no mesh with faces; a motion alone goes behind its character "
                       "(supple bake rig.fbx walk.fbx -o out)");
    if (c->parts == 0) return su_fail(err, SU_INPUT, "no mesh is left to import");
    if (c->N > INT32_MAX / 4 || c->corners > INT32_MAX)
        return su_fail(err, SU_INPUT, "the character has more vertices than supple can number");
    return SU_OK;
}

/* ---- neutral pose, unit ---- */

static void scale_affine(double m[16], double unit, const double shift[3])
{
    for (int i = 0; i < 12; i++) m[i] *= unit;
    for (int i = 0; i < 3; i++) m[4 * i + 3] += shift[i];
}

static void grow_box(const su_scene_mesh *mesh, const double bind[16], double low[3], double high[3])
{
    for (int64_t k = 0; k < mesh->corners; k++) {
        double p[3];
        su_affine_point(bind, mesh->positions + 3 * (int64_t)mesh->face_indices[k], p);
        for (int i = 0; i < 3; i++) low[i] = fmin(low[i], p[i]), high[i] = fmax(high[i], p[i]);
    }
}

/* Bind matrices of all parts in metres: skinned meshes first, the largest of them before all. */
static su_status place_parts(su_character *c, const su_character_options *options, su_bind_pose *bind,
                             su_arena *scratch, su_error *err)
{
    const su_scene *scene = c->scene;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, extent = 0.0;
    int64_t largest = -1;
    for (int64_t i = 0; i < c->parts; i++)
        if (is_skinned(&scene->mesh[c->part[i].mesh]) &&
            (largest < 0 || scene->mesh[c->part[i].mesh].vertices > scene->mesh[c->part[largest].mesh].vertices))
            largest = i;
    su_bind_known *how;
    TAKE(scratch, how, c->parts);
    for (int pass = 0; pass < 3; pass++) /* the largest skin, the others, what has none */
        for (int64_t i = 0; i < c->parts; i++) {
            su_character_part *part = &c->part[i];
            if (pass == (i == largest ? 0 : is_skinned(&scene->mesh[part->mesh]) ? 1 : 2))
                how[i] = su_bind_pose_mesh(bind, &scene->mesh[part->mesh], part->node, part->bind);
        }
    for (int64_t i = 0; i < c->parts; i++) {
        su_character_part *part = &c->part[i];
        if (is_skinned(&scene->mesh[part->mesh]) || bind->known[part->node]) continue;
        memcpy(bind->rest + 16 * part->node, part->bind, sizeof part->bind);
        bind->known[part->node] = (uint8_t)how[i];
    }
    SU_TRY(su_character_stand_upright(c, bind, how, scratch, err));
    for (int64_t i = 0; i < c->parts; i++) grow_box(&scene->mesh[c->part[i].mesh], c->part[i].bind, low, high);
    for (int i = 0; i < 3; i++) extent = fmax(extent, high[i] - low[i]);
    if (!(extent > 0.0) || !isfinite(extent))
        return su_fail(err, SU_INPUT, "the character has no size: its bind pose is a point or not finite");

    c->unit = options->unit > 0.0 ? options->unit : su_choose_unit(scene->unit, extent, &c->unit_guessed);
    if (options->scale > 0.0) c->unit *= options->scale;
    double shift[3] = {0, 0, 0}, far = 0.0, diagonal = c->unit * su_distance3(low, high);
    for (int i = 0; i < 3; i++) {
        c->size[i] = c->unit * (high[i] - low[i]);
        shift[i] = -0.5 * c->unit * (low[i] + high[i]);
        far = fmax(far, fabs(shift[i]));
    }
    /* A character that was bound far from the origin would lose its digits in 32-bit positions. */
    for (int i = 0; i < 3; i++) shift[i] = far > 100.0 * diagonal ? shift[i] : 0.0;
    const double none[3] = {0, 0, 0};
    memcpy(c->convert, bind->up, sizeof c->convert);
    scale_affine(c->convert, c->unit, none);
    for (int64_t i = 0; i < c->parts; i++) scale_affine(c->part[i].bind, c->unit, shift);
    for (int64_t i = 0; i < scene->nodes; i++)
        if (bind->known[i]) scale_affine(bind->rest + 16 * i, c->unit, shift);
    scale_affine(bind->up, c->unit, none);
    c->diagonal = diagonal;
    return SU_OK;
}

/* ---- source vertices ---- */

/* Blend shapes of the same object and name are one. */
static int64_t find_morph(const su_character *c, int32_t object, const char *name)
{
    for (int64_t k = 0; k < c->K; k++)
        if (c->part[c->morph[k].part].object == object && strcmp(c->morph[k].name, name) == 0) return k;
    return -1;
}

static su_status collect_morphs(su_character *c, su_error *err)
{
    int64_t most = 0;
    for (int64_t i = 0; i < c->parts; i++) most += c->scene->mesh[c->part[i].mesh].shapes;
    TAKE(&c->arena, c->morph, most);
    for (int64_t i = 0; i < c->parts; i++) {
        const su_scene_mesh *mesh = &c->scene->mesh[c->part[i].mesh];
        for (int64_t s = 0; s < mesh->shapes; s++)
            if (find_morph(c, c->part[i].object, mesh->shape_names[s]) < 0)
                c->morph[c->K++] = (su_morph_source){mesh->shape_names[s], (int32_t)i, (int32_t)s};
    }
    return SU_OK;
}

/* Where two objects have shapes of one name, the object's name goes in front. */
static su_status name_morphs(su_character *c, su_error *err)
{
    const char **name;
    TAKE(&c->arena, name, c->K);
    for (int64_t k = 0; k < c->K; k++) {
        int alike = 0;
        for (int64_t j = 0; j < c->K; j++) alike += strcmp(c->morph[j].name, c->morph[k].name) == 0;
        name[k] = c->morph[k].name;
        if (alike < 2) continue;
        const char *object = c->object_names[c->part[c->morph[k].part].object];
        size_t room = strlen(object) + strlen(c->morph[k].name) + 24;
        int earlier = 0; /* objects may have equal names, too */
        char *text;
        TAKE(&c->arena, text, (int64_t)room);
        for (int64_t j = 0; j < k; j++)
            earlier += strcmp(c->morph[j].name, c->morph[k].name) == 0 &&
                       strcmp(c->object_names[c->part[c->morph[j].part].object], object) == 0;
        snprintf(text, room, earlier ? "%s.%s#%d" : "%s.%s", object, c->morph[k].name, earlier + 1);
        name[k] = text;
    }
    for (int64_t k = 0; k < c->K; k++) c->morph[k].name = name[k];
    return SU_OK;
}

/* Copies of faces and attributes of one part; mirrored parts turn their faces round to stay outward. */
static void append_faces(su_character *c, const su_character_part *part, int64_t *face, int64_t *corner)
{
    const su_scene_mesh *mesh = &c->scene->mesh[part->mesh];
    double linear[9];
    su_affine_linear(part->bind, linear);
    int mirrored = su_det3(linear) < 0.0;
    const int32_t *from = mesh->face_indices;
    for (int64_t f = 0; f < mesh->polygons; from += mesh->face_counts[f++]) {
        int32_t count = mesh->face_counts[f];
        c->face_counts[(*face)++] = count;
        for (int32_t k = 0; k < count; k++)
            c->face_indices[(*corner)++] = (int32_t)part->first + from[mirrored ? count - 1 - k : k];
    }
}

/* Materials of all parts, by name: what is called alike is one. */
static su_status gather_looks(su_character *c, su_arena *scratch, su_error *err)
{
    const su_scene *scene = c->scene;
    su_looks *looks = &c->looks;
    int32_t *number;
    int64_t face = 0;
    TAKE(scratch, number, scene->materials);
    for (int64_t i = 0; i < scene->materials; i++) number[i] = -1;
    for (int64_t i = 0; i < c->parts; i++) {
        const su_scene_mesh *mesh = &scene->mesh[c->part[i].mesh];
        for (int64_t f = 0; f < mesh->polygons && mesh->face_material; f++) {
            int32_t material = mesh->face_material[f], *own = &number[material < 0 ? 0 : material];
            if (material < 0) continue;
            if (!looks->material) {
                SU_TRY(SU_ALLOC(&looks->material, c->P, "materials", err));
                for (int64_t k = 0; k < c->P; k++) looks->material[k] = -1;
            }
            if (*own < 0) {
                const su_scene_material *from = &scene->material[material];
                int64_t before = looks->materials;
                SU_TRY(su_looks_material(looks, from->name, own, err));
                if (looks->materials > before) {
                    memcpy(looks->color + 4 * (int64_t)*own, from->color, sizeof from->color);
                    memcpy(looks->surface + 2 * (int64_t)*own, from->surface, sizeof from->surface);
                }
            }
            looks->material[face + f] = *own;
        }
        face += mesh->polygons;
    }
    return SU_OK;
}

/* "/hips/body/body": the nodes of each object and, behind them, the name of its mesh, which is called after its node
 * where it has none; where meshes are nodes, the nodes alone. */
static su_status name_paths(su_character *c, su_error *err)
{
    const su_scene *scene = c->scene;
    TAKE(&c->arena, c->object_paths, c->objects);
    for (int64_t i = 0; i < c->parts; i++) {
        const su_character_part *part = &c->part[i];
        const char *node = scene->node[part->node].name, *mesh = scene->mesh[part->mesh].name, *shape = mesh;
        if (c->object_paths[part->object]) continue; /* of several meshes of a node the first names the path */
        size_t room = strlen(mesh) + strlen(node) + 32, at;
        for (int32_t n = part->node; n >= 0; n = scene->node[n].parent) room += strlen(scene->node[n].name) + 8;
        char *path = su_arena_alloc(&c->arena, (int64_t)room, 1), *end = path + room - 1, *text;
        if (!path) return no_memory(err);
        TAKE(&c->arena, text, (int64_t)room);
        /* parts of one mesh are numbered, NAME-0; FBX has the node's name where the mesh has none */
        size_t length = strlen(shape), tail = length;
        while (tail > 0 && shape[tail - 1] >= '0' && shape[tail - 1] <= '9') tail--;
        if (tail > 1 && tail < length && shape[tail - 1] == '-') length = tail - 1;
        if (length == 0 || (strlen(node) == length && strncmp(node, shape, length) == 0))
            snprintf(text, room, "%sShape", node[0] ? node : "mesh");
        else
            snprintf(text, room, "%.*s", (int)length, shape);
        for (char *s = text; *s; s++) *s = *s == '/' ? '_' : *s;
        at = strlen(text);
        if (!scene->mesh_is_node) {
            memcpy(end -= at, text, at);
            *--end = '/';
        }
        for (int32_t n = part->node; n >= 0; n = above(scene, n)) {
            const char *name = scene->node[n].name;
            at = strlen(name);
            memcpy(end -= at, name, at);
            for (size_t k = 0; k < at; k++) end[k] = end[k] == '/' ? '_' : end[k];
            *--end = '/';
        }
        c->object_paths[part->object] = end;
    }
    return SU_OK;
}

static su_status gather_sources(su_character *c, su_source_skin *source, su_arena *scratch, su_error *err)
{
    int with_uv = 0, with_color = 0;
    int64_t face = 0, corner = 0;
    for (int64_t i = 0; i < c->parts; i++) {
        with_uv |= c->scene->mesh[c->part[i].mesh].uv != NULL;
        with_color |= c->scene->mesh[c->part[i].mesh].color != NULL;
    }
    TAKE(&c->arena, c->face_counts, c->P);
    TAKE(&c->arena, c->face_indices, c->corners);
    TAKE(&c->arena, c->object_ids, c->N);
    TAKE(&c->arena, c->object_xform, 16 * c->objects);
    if (with_uv) TAKE(&c->arena, c->uv, 2 * c->N);
    if (with_color) TAKE(&c->arena, c->color, 4 * c->N);
    TAKE(scratch, source->points, 3 * c->N);
    TAKE(scratch, source->shape_offsets, 3 * c->N * c->K);
    for (int64_t i = 0; i < c->parts; i++) {
        const su_character_part *part = &c->part[i];
        const su_scene_mesh *mesh = &c->scene->mesh[part->mesh];
        double linear[9];
        su_affine_linear(part->bind, linear);
        append_faces(c, part, &face, &corner);
        for (int64_t v = 0; v < mesh->vertices; v++) {
            int64_t to = part->first + v;
            c->object_ids[to] = part->object;
            su_affine_point(part->bind, mesh->positions + 3 * v, source->points + 3 * to);
            for (int k = 0; k < 2 && mesh->uv; k++) c->uv[2 * to + k] = mesh->uv[2 * v + k];
            for (int k = 0; k < 4 && with_color; k++)
                c->color[4 * to + k] = mesh->color ? mesh->color[4 * v + k] : 1.0f;
        }
        for (int64_t s = 0; s < mesh->shapes; s++) {
            int64_t k = find_morph(c, part->object, mesh->shape_names[s]);
            for (int64_t v = 0; v < mesh->vertices; v++) {
                double *offset = source->shape_offsets + 3 * (c->N * k + part->first + v);
                su_sub3(mesh->shape_positions + 3 * (mesh->vertices * s + v), mesh->positions + 3 * v, offset);
                su_mulv3(linear, offset, offset);
            }
        }
    }
    if (with_uv) {
        TAKE(&c->arena, c->uv_indices, c->corners);
        memcpy(c->uv_indices, c->face_indices, (size_t)c->corners * sizeof *c->uv_indices);
        c->uvs = c->N;
    }
    return SU_OK;
}

/* ---- welded skin ---- */

static su_status weld_sources(su_character *c, const su_source_skin *source, su_arena *scratch, su_error *err)
{
    int32_t *first;
    TAKE(scratch, first, c->N);
    TAKE(&c->arena, c->source_vertex, c->N);
    su_weld_input input = {
        c->N, source->points, c->object_ids, &source->skin, c->K, source->shape_offsets, WELD_DISTANCE * c->diagonal};
    SU_TRY(su_weld(&input, c->source_vertex, first, &c->nbar, err));

    int64_t entries = 0, *start;
    int32_t *bone;
    double *weight;
    for (int64_t i = 0; i < c->nbar; i++) entries += source->skin.start[first[i] + 1] - source->skin.start[first[i]];
    TAKE(&c->arena, c->neutral, 3 * c->nbar);
    TAKE(&c->arena, c->morphs, 3 * c->nbar * c->K);
    TAKE(&c->arena, start, c->nbar + 1);
    TAKE(&c->arena, bone, entries);
    TAKE(&c->arena, weight, entries);
    for (int64_t i = 0; i < c->nbar; i++) {
        memcpy(c->neutral + 3 * i, source->points + 3 * (int64_t)first[i], 3 * sizeof(double));
        for (int64_t k = 0; k < c->K; k++)
            memcpy(c->morphs + 3 * (c->nbar * k + i), source->shape_offsets + 3 * (c->N * k + first[i]),
                   3 * sizeof(double));
        start[i + 1] = start[i];
        for (int64_t k = source->skin.start[first[i]]; k < source->skin.start[first[i] + 1]; k++) {
            bone[start[i + 1]] = source->skin.bone[k];
            weight[start[i + 1]++] = source->skin.weight[k];
        }
    }
    c->skin = (su_skin){c->nbar, start, bone, weight};
    return SU_OK;
}

static su_status cut_triangles(su_character *c, su_error *err)
{
    TAKE(&c->arena, c->triangles, 3 * (c->corners - 2 * c->P));
    SU_TRY(su_polygons_triangulate(&(su_polygons){c->P, c->face_counts, c->face_indices}, c->source_vertex, c->neutral,
                                   c->triangles, &c->T, &c->degenerate, err));
    return c->T > 0 ? SU_OK : su_fail(err, SU_INPUT, "the mesh has no triangle with area");
}

/* ---- props ---- */

/* The joint that moves all of each object, -1: several do. What skinning to one joint makes of an object is what
 * hanging it there would. */
static void find_sole_joints(const su_character *c, int32_t *sole)
{
    enum { NONE_YET = -2 };
    for (int64_t o = 0; o < c->objects; o++) sole[o] = NONE_YET;
    for (int64_t i = 0; i < c->parts; i++) {
        const su_scene_mesh *mesh = &c->scene->mesh[c->part[i].mesh];
        int32_t *own = &sole[c->part[i].object];
        for (int64_t v = 0; v < mesh->vertices; v++) {
            int64_t at = c->source_vertex[c->part[i].first + v];
            for (int64_t k = c->skin.start[at]; k < c->skin.start[at + 1]; k++) {
                int32_t node = c->bone_node[c->skin.bone[k]];
                *own = *own == NONE_YET || *own == node ? node : -1;
            }
        }
        if (!is_skinned(mesh)) *own = -1;
    }
}

/* Surface of each object in the neutral pose. */
static void measure_objects(const su_character *c, double *area)
{
    const int32_t *corner = c->face_indices;
    for (int64_t f = 0; f < c->P; corner += c->face_counts[f++])
        for (int32_t k = 2; k < c->face_counts[f]; k++) {
            const double *a = c->neutral + 3 * (int64_t)c->source_vertex[corner[0]],
                         *b = c->neutral + 3 * (int64_t)c->source_vertex[corner[k - 1]],
                         *d = c->neutral + 3 * (int64_t)c->source_vertex[corner[k]];
            double u[3], w[3], n[3];
            for (int i = 0; i < 3; i++) u[i] = b[i] - a[i], w[i] = d[i] - a[i];
            su_cross3(u, w, n);
            area[c->object_ids[corner[0]]] += 0.5 * su_norm3(n);
        }
}

static int is_above(const su_scene *scene, int32_t node, int32_t below)
{
    do below = scene->node[below].parent;
    while (below > node);
    return below == node;
}

/* moves (nodes): 1 for those that vertices of a part follow, too. */
static void add_followed(const su_character *c, const su_character_part *part, uint8_t *moves)
{
    for (int64_t v = 0; v < c->scene->mesh[part->mesh].vertices; v++) {
        int64_t at = c->source_vertex[part->first + v];
        for (int64_t k = c->skin.start[at]; k < c->skin.start[at + 1]; k++) moves[c->bone_node[c->skin.bone[k]]] = 1;
    }
}

/* Objects that hang on joints are carried: eyes, a sword. But where what hangs on joints that no skin follows has more
 * surface than all skin, the body is such objects, and skinned at its hands and feet alone: all is flesh then. */
/* area: of each object. */
static su_status find_hung_body(su_character *c, const su_character_options *options, const double *area,
                                su_arena *scratch, su_error *err)
{
    double skin = 0.0, hung = 0.0;
    uint8_t *moves, *counted, *held;
    int joints = 0;
    if (c->carried == 0) return SU_OK;
    TAKE(scratch, moves, c->scene->nodes);
    TAKE(scratch, counted, c->objects);
    TAKE(scratch, held, c->scene->nodes);
    for (int64_t i = 0; i < c->parts; i++)
        if (is_skinned(&c->scene->mesh[c->part[i].mesh])) add_followed(c, &c->part[i], moves);
    for (int64_t i = 0; i < c->parts; i++) {
        const su_character_part *part = &c->part[i];
        if (counted[part->object]++) continue;
        if (is_skinned(&c->scene->mesh[part->mesh])) {
            skin += area[part->object];
        } else if (part->carrier >= 0 && !moves[part->carrier]) {
            hung += area[part->object];
            joints += !held[part->carrier];
            held[part->carrier] = 1;
        }
    }
    if (joints < SU_JOINTS_OF_A_BODY || hung <= skin) return SU_OK;
    for (int64_t i = 0; i < c->parts; i++)
        c->part[i].rigid = is_named(c->scene, &(su_scene_instance){c->part[i].node, (int32_t)c->part[i].mesh},
                                    options->rigid, options->rigid_count);
    c->hung = c->carried, c->carried = 0;
    return SU_OK;
}

/* No joint below moves skin of the body. */
static bool is_last(const su_character *c, const uint8_t *moves, int32_t node)
{
    for (int64_t n = 0; n < c->scene->nodes; n++)
        if (moves[n] && is_above(c->scene, node, (int32_t)n)) return false;
    return true;
}

/* Props that were skinned instead of hung: objects that follow one joint, the last of its limb, which moves some of the
 * body's skin, too: a hand's pickaxe, a head's hat. The body is the objects that follow several. Figures that are put
 * together of such objects, the trunk as well, have none, nor is one what is larger than the body. */
static su_status mark_props(su_character *c, const double *area, su_arena *scratch, su_error *err)
{
    int32_t *sole;
    double body = 0.0;
    uint8_t *moves;
    TAKE(scratch, sole, c->objects);
    TAKE(scratch, moves, c->scene->nodes);
    TAKE(&c->arena, c->prop_names, c->objects);
    find_sole_joints(c, sole);
    for (int64_t o = 0; o < c->objects; o++) body += sole[o] == -1 ? area[o] : 0.0;
    for (int64_t i = 0; i < c->parts; i++)
        if (sole[c->part[i].object] == -1) add_followed(c, &c->part[i], moves);
    for (int64_t o = 0; o < c->objects; o++)
        if (sole[o] >= 0 && !is_last(c, moves, sole[o])) return SU_OK;
    for (int64_t o = 0; o < c->objects; o++) {
        bool known = false;
        if (sole[o] < 0 || !moves[sole[o]] || !(area[o] < body)) continue;
        for (int64_t i = 0; i < c->parts; i++)
            if (c->part[i].object == o) known |= c->part[i].rigid, c->part[i].rigid = 1;
        if (!known) c->prop_names[c->props++] = c->object_names[o];
    }
    return SU_OK;
}

/* Which objects are flesh. */
static su_status choose_flesh(su_character *c, const su_character_options *options, su_arena *scratch, su_error *err)
{
    double *area;
    TAKE(scratch, area, c->objects);
    measure_objects(c, area);
    SU_TRY(find_hung_body(c, options, area, scratch, err));
    return mark_props(c, area, scratch, err);
}

/* Vertices of rigid parts, and those that no triangle uses: flesh must not reach out for them. */
static su_status mark_rigid(su_character *c, su_error *err)
{
    uint8_t *rigid;
    int any = 0;
    TAKE(&c->arena, rigid, c->nbar);
    memset(rigid, 1, (size_t)c->nbar);
    for (int64_t k = 0; k < 3 * c->T; k++) rigid[c->triangles[k]] = 0;
    for (int64_t i = 0; i < c->parts; i++) {
        int64_t count = c->scene->mesh[c->part[i].mesh].vertices;
        for (int64_t v = 0; v < count && c->part[i].rigid; v++) rigid[c->source_vertex[c->part[i].first + v]] = 1;
    }
    int all = 1;
    for (int64_t i = 0; i < c->nbar; i++) any |= rigid[i], all &= rigid[i];
    if (all) return su_fail(err, SU_INPUT, "every vertex is rigid: nothing is left to simulate");
    if (any) c->rigid = rigid;
    return SU_OK;
}

su_status su_character_create(const su_scene *scene, const su_character_options *options, su_character *out,
                              su_error *err)
{
    su_arena scratch = {0};
    su_bind_pose bind;
    su_source_skin source = {0};
    su_status status = SU_OK;
    memset(out, 0, sizeof *out);
    out->scene = scene;
    out->up = options->up >= 0 ? options->up : su_scene_up(scene);
    SU_GO(choose_parts(out, options, &scratch, err));
    SU_GO(su_bind_pose_begin(&bind, scene, out->up, &scratch, err));
    SU_GO(place_parts(out, options, &bind, &scratch, err));
    SU_GO(collect_morphs(out, err));
    SU_GO(gather_sources(out, &source, &scratch, err));
    SU_GO(gather_looks(out, &scratch, err));
    SU_GO(name_paths(out, err));
    SU_GO(name_morphs(out, err));
    SU_GO(su_character_bones(out, &source, &scratch, err));
    SU_GO(weld_sources(out, &source, &scratch, err));
    SU_GO(cut_triangles(out, err));
    SU_GO(choose_flesh(out, options, &scratch, err));
    SU_GO(mark_rigid(out, err));
    SU_GO(su_character_skeleton(out, &bind, err));
    if (strcmp(scene->format, "FBX") == 0 || strcmp(scene->format, "Collada") == 0 ||
        strcmp(scene->format, "USD") == 0) { /* formats of corners */
        SU_GO(su_character_source_order(out, &scratch, err));
        if (out->uv)
            SU_GO(su_polygons_merge_uv(out->N, out->corners, out->face_indices, &out->uvs, out->uv, out->uv_indices,
                                       err));
    }
done:
    su_arena_free(&scratch);
    if (status != SU_OK) su_character_free(out);
    return status;
}

void su_character_free(su_character *character)
{
    su_looks_free(&character->looks);
    su_arena_free(&character->arena);
    memset(character, 0, sizeof *character);
}
