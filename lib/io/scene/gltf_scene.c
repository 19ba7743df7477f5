#include "io/scene/gltf_scene.h"

#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "io/scene/gltf_draco.h"
#include "io/scene/gltf_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct builder {
    su_gltf g;
    su_scene *scene;
    int32_t *node;    /* (glTF nodes) scene node; -1: not in the scene */
    int64_t *source;  /* (scene nodes) glTF node; -1: made by us */
    int64_t numbered; /* glTF nodes */
    int64_t *shared;  /* (glTF meshes) scene mesh of its first primitive, for nodes without skin and weights; -1 */
} builder;

enum { MOST_SETS = 64, DEEPEST = 1000 }; /* sets of joints of a vertex, levels of the node tree */

static int no_memory(builder *b)
{
    b->scene->arena.failed = true;
    return su_gltf_fail(&b->g, "not enough memory");
}

#define TAKE(pointer, count)                                                                                           \
    do {                                                                                                               \
        (pointer) = su_arena_alloc(&b->scene->arena, count, sizeof *(pointer));                                        \
        if (!(pointer)) return no_memory(b);                                                                           \
    } while (0)

/* A copy of a name; BEFORE<number>AFTER where there is none. */
static int copy_name(builder *b, const json_t *name, const char *before, int64_t number, const char *after,
                     const char **out)
{
    const char *text = json_string_value(name);
    size_t room = (text && text[0] ? strlen(text) : strlen(before) + 20 + strlen(after)) + 1;
    char *copy;
    TAKE(copy, (int64_t)room);
    if (text && text[0])
        memcpy(copy, text, room);
    else
        snprintf(copy, room, "%s%lld%s", before, (long long)number, after);
    *out = copy;
    return 0;
}

/* An entry of a list of integers; -1 where it is none. */
static int64_t integer_at(const json_t *list, size_t at)
{
    const json_t *value = json_array_get(list, at);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

/* ---- nodes ---- */

static int local_transform(builder *b, const json_t *node, int64_t index, double out[16])
{
    double m[16], t[3] = {0, 0, 0}, q[4] = {0, 0, 0, 1}, s[3] = {1, 1, 1}, r[9], norm = 0.0;
    const json_t *matrix = json_object_get(node, "matrix"), *translation = json_object_get(node, "translation");
    const json_t *rotation = json_object_get(node, "rotation"), *scale = json_object_get(node, "scale");
    if ((matrix && su_gltf_numbers(matrix, 16, m)) || (translation && su_gltf_numbers(translation, 3, t)) ||
        (rotation && su_gltf_numbers(rotation, 4, q)) || (scale && su_gltf_numbers(scale, 3, s)))
        return su_gltf_fail(&b->g, "the transform of node %lld is broken", (long long)index);
    if (matrix) { /* column after column */
        for (int i = 0; i < 16; i++) out[4 * (i % 4) + i / 4] = m[i];
        return 0;
    }
    for (int i = 0; i < 4; i++) norm += q[i] * q[i];
    norm = sqrt(norm);
    double w[4] = {norm > 0.0 ? q[3] / norm : 1.0, 0, 0, 0};
    for (int i = 0; i < 3; i++) w[1 + i] = norm > 0.0 ? q[i] / norm : 0.0;
    su_quaternion_matrix(w, r);
    for (int i = 0; i < 9; i++) r[i] *= s[i % 3];
    su_affine_set(r, t, out);
    return 0;
}

/* A list of nodes and all below them, depth first, so that parents come before their children. */
static int add_nodes(builder *b, const json_t *list, int32_t parent, int depth)
{
    if (depth > DEEPEST) return su_gltf_fail(&b->g, "the node tree is too deep");
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t index = integer_at(list, i);
        const json_t *item = su_gltf_item(&b->g, "nodes", index);
        if (!item || b->node[index] >= 0) return su_gltf_fail(&b->g, "the node tree is broken");
        int32_t at = (int32_t)b->scene->nodes++;
        su_scene_node *node = &b->scene->node[at];
        b->node[index] = at, b->source[at] = index;
        node->parent = parent;
        if (copy_name(b, json_object_get(item, "name"), "nodes[", index, "]", &node->name) ||
            local_transform(b, item, index, node->local) ||
            add_nodes(b, json_object_get(item, "children"), at, depth + 1))
            return 1;
    }
    return 0;
}

/* The roots of a file without scenes: nodes that are nobody's child. */
static json_t *find_roots(builder *b)
{
    json_t *roots = json_array();
    uint8_t *child = su_arena_alloc(&b->scene->arena, b->numbered, 1);
    int bad = !roots || !child;
    for (int64_t i = 0; !bad && i < b->numbered; i++) {
        const json_t *list = json_object_get(su_gltf_item(&b->g, "nodes", i), "children");
        for (size_t k = 0; k < json_array_size(list); k++) {
            int64_t index = integer_at(list, k);
            if (index >= 0 && index < b->numbered) child[index] = 1;
        }
    }
    for (int64_t i = 0; !bad && i < b->numbered; i++)
        if (!child[i]) bad = json_array_append_new(roots, json_integer(i));
    if (!bad) return roots;
    json_decref(roots);
    no_memory(b);
    return NULL;
}

/* One root: several hang on one of ours. */
static int read_nodes(builder *b)
{
    const json_t *scene = su_gltf_item(&b->g, "scenes", su_gltf_integer(b->g.json, "scene", 0));
    b->numbered = (int64_t)json_array_size(json_object_get(b->g.json, "nodes"));
    if (b->numbered > INT32_MAX / 2) return su_gltf_fail(&b->g, "it has too many nodes");
    TAKE(b->scene->node, b->numbered + 1);
    TAKE(b->node, b->numbered);
    TAKE(b->source, b->numbered + 1);
    memset(b->node, 0xff, (size_t)b->numbered * sizeof *b->node);
    json_t *roots = scene ? json_incref(json_object_get(scene, "nodes")) : find_roots(b);
    if (!scene && !roots) return 1;
    int32_t parent = -1;
    if (json_array_size(roots) != 1) {
        su_scene_node *top = &b->scene->node[b->scene->nodes++];
        top->name = "ROOT", top->parent = -1, b->source[0] = -1, parent = 0;
        su_affine_identity(top->local);
    }
    int failed = add_nodes(b, roots, parent, 0);
    json_decref(roots);
    return failed;
}

/* One node is a bone of a human. */
static int mark_human(builder *b, const char *bone, int64_t index)
{
    char *copy;
    if (!bone || !bone[0] || index < 0 || index >= b->numbered || b->node[index] < 0) return 0;
    TAKE(copy, (int64_t)strlen(bone) + 1);
    b->scene->node[b->node[index]].human = strcpy(copy, bone);
    return 0;
}

/* The bones of a human that VRM names: a list of bones and nodes in its version 0, nodes by their bones since. */
static int read_human(builder *b)
{
    static const char *const of[] = {"VRM", "VRMC_vrm", "VRMC_vrm_animation"};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        json_t *extension = json_object_get(json_object_get(b->g.json, "extensions"), of[k]);
        json_t *bones = json_object_get(json_object_get(extension, "humanoid"), "humanBones"), *item;
        const char *name;
        size_t i;
        json_array_foreach(bones, i, item)
        {
            name = json_string_value(json_object_get(item, "bone"));
            if (mark_human(b, name, su_gltf_integer(item, "node", -1))) return 1;
        }
        json_object_foreach(bones, name, item)
        {
            if (mark_human(b, name, su_gltf_integer(item, "node", -1))) return 1;
        }
    }
    return 0;
}

/* ---- materials ---- */

static int read_materials(builder *b)
{
    su_scene *scene = b->scene;
    scene->materials = (int64_t)json_array_size(json_object_get(b->g.json, "materials"));
    TAKE(scene->material, scene->materials);
    for (int64_t i = 0; i < scene->materials; i++) {
        const json_t *from = su_gltf_item(&b->g, "materials", i), *pbr = json_object_get(from, "pbrMetallicRoughness");
        const json_t *metallic = json_object_get(pbr, "metallicFactor"),
                     *rough = json_object_get(pbr, "roughnessFactor");
        su_scene_material *to = &scene->material[i];
        double color[4] = {1, 1, 1, 1}; /* where the file says nothing, by the specification */
        if (copy_name(b, json_object_get(from, "name"), "material", i, "", &to->name)) return 1;
        (void)su_gltf_numbers(json_object_get(pbr, "baseColorFactor"), 4, color);
        for (int k = 0; k < 4; k++) to->color[k] = (float)color[k];
        to->surface[0] = metallic ? (float)json_number_value(metallic) : 1.0f;
        to->surface[1] = rough ? (float)json_number_value(rough) : 1.0f;
    }
    return 0;
}

/* ---- meshes ---- */

enum { TRIANGLES = 4, STRIP = 5, FAN = 6 }; /* "mode" of a primitive */

static int read_faces(builder *b, const json_t *primitive, su_scene_mesh *mesh)
{
    int64_t mode = su_gltf_integer(primitive, "mode", TRIANGLES), at = su_gltf_integer(primitive, "indices", -1);
    const su_gltf_array *indices = NULL;
    if (at >= 0 && !(indices = su_gltf_accessor(&b->g, at, 1))) return 1;
    int64_t count = indices ? indices->count : mesh->vertices;
    mesh->polygons = mode == TRIANGLES ? count / 3 : count < 3 ? 0 : count - 2;
    mesh->corners = 3 * mesh->polygons;
    TAKE(mesh->face_counts, mesh->polygons);
    TAKE(mesh->face_indices, mesh->corners);
    for (int64_t f = 0; f < mesh->polygons; f++) {
        int64_t corner[3] = {f, f + 1, f + 2};
        mesh->face_counts[f] = 3;
        if (mode == TRIANGLES) corner[0] = 3 * f, corner[1] = 3 * f + 1, corner[2] = 3 * f + 2;
        if (mode == STRIP && f % 2) corner[0] = f + 1, corner[1] = f; /* all with one orientation */
        if (mode == FAN) corner[0] = 0;
        for (int k = 0; k < 3; k++) {
            double v = indices ? indices->value[corner[k]] : (double)corner[k];
            mesh->face_indices[3 * f + k] = v >= 0.0 && v < (double)mesh->vertices ? (int32_t)v : -1;
        }
    }
    return 0;
}

/* Integers as texture coordinates mean something only with the transform that a texture of the material has. */
static void texture_scale(const builder *b, const json_t *primitive, double scale[2], double offset[2])
{
    static const char *const textures[] = {"normalTexture", "occlusionTexture", "emissiveTexture"};
    const json_t *material = su_gltf_item(&b->g, "materials", su_gltf_integer(primitive, "material", -1));
    const json_t *pbr = json_object_get(material, "pbrMetallicRoughness"), *texture;
    if (!(texture = json_object_get(pbr, "baseColorTexture")))
        texture = json_object_get(pbr, "metallicRoughnessTexture");
    for (int i = 0; i < 3 && !texture; i++) texture = json_object_get(material, textures[i]);
    const json_t *transform = json_object_get(json_object_get(texture, "extensions"), "KHR_texture_transform");
    (void)su_gltf_numbers(json_object_get(transform, "scale"), 2, scale);
    (void)su_gltf_numbers(json_object_get(transform, "offset"), 2, offset);
}

/* An attribute of a primitive: NULL and 0 where there is none, 1 where it is broken. */
static int attribute(builder *b, const json_t *attributes, const char *name, int64_t width, int64_t vertices,
                     const su_gltf_array **out)
{
    int64_t index = su_gltf_integer(attributes, name, -1);
    *out = NULL;
    if (index < 0) return 0;
    if (!(*out = su_gltf_accessor(&b->g, index, width))) return 1;
    return (*out)->count == vertices ? 0
                                     : su_gltf_fail(&b->g, "%s has %lld values for %lld vertices", name,
                                                    (long long)(*out)->count, (long long)vertices);
}

static int read_looks(builder *b, const json_t *primitive, const json_t *attributes, su_scene_mesh *mesh)
{
    const su_gltf_array *uv, *color;
    int64_t n = mesh->vertices;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)attributes, name, value)
    {
        bool further = strncmp(name, "TEXCOORD_", 9) == 0 || strncmp(name, "COLOR_", 6) == 0;
        if (further && strcmp(strchr(name, '_'), "_0") != 0) su_name_list_add(&b->scene->unread, name);
    }
    if (attribute(b, attributes, "TEXCOORD_0", 2, n, &uv) || attribute(b, attributes, "COLOR_0", 0, n, &color))
        return 1;
    if (uv) {
        double scale[2] = {1, 1}, offset[2] = {0, 0};
        TAKE(mesh->uv, 2 * n);
        if (uv->whole) texture_scale(b, primitive, scale, offset);
        for (int64_t i = 0; i < 2 * n; i++) mesh->uv[i] = (float)(uv->value[i] * scale[i % 2] + offset[i % 2]);
        for (int64_t i = 0; i < n; i++) mesh->uv[2 * i + 1] = 1.0f - mesh->uv[2 * i + 1]; /* from the top in glTF */
    }
    if (color && color->width != 3 && color->width != 4)
        return su_gltf_fail(&b->g, "COLOR_0 has %lld components", (long long)color->width);
    if (color) {
        TAKE(mesh->color, 4 * n);
        for (int64_t i = 0; i < 4 * n; i++)
            mesh->color[i] = i % 4 < color->width ? (float)color->value[i / 4 * color->width + i % 4] : 1.0f;
    }
    return 0;
}

static int read_shapes(builder *b, const json_t *item, const json_t *primitive, su_scene_mesh *mesh)
{
    const json_t *targets = json_object_get(primitive, "targets"), *weights = json_object_get(item, "weights");
    const json_t *names = json_object_get(json_object_get(item, "extras"), "targetNames");
    int64_t n = mesh->vertices;
    mesh->shapes = (int64_t)json_array_size(targets);
    if (mesh->shapes > 65535) return su_gltf_fail(&b->g, "a mesh has too many blend shapes");
    TAKE(mesh->shape_names, mesh->shapes);
    TAKE(mesh->shape_defaults, mesh->shapes);
    TAKE(mesh->shape_positions, 3 * n * mesh->shapes);
    for (int64_t s = 0; s < mesh->shapes; s++) {
        const su_gltf_array *offset;
        if (copy_name(b, json_array_get(names, (size_t)s), "shape", s, "", &mesh->shape_names[s])) return 1;
        mesh->shape_defaults[s] = json_number_value(json_array_get(weights, (size_t)s));
        if (attribute(b, json_array_get(targets, (size_t)s), "POSITION", 3, n, &offset)) return 1;
        double *to = mesh->shape_positions + 3 * n * s;
        for (int64_t i = 0; i < 3 * n; i++) to[i] = mesh->positions[i] + (offset ? offset->value[i] : 0.0);
    }
    return 0;
}

/* Exporters divide by a sum of 0: such vertices have no weights. */
static bool has_weight(double weight) { return isfinite(weight) && weight != 0.0; }

/* All influences of a vertex, sorted by joint: one pass to count, one to fill. */
static int read_weights(builder *b, const json_t *attributes, su_scene_mesh *mesh)
{
    const su_gltf_array *joints[MOST_SETS], *weights[MOST_SETS];
    int64_t n = mesh->vertices, total = 0, *next;
    int sets = 0;
    for (; sets < MOST_SETS; sets++) {
        char key[24];
        snprintf(key, sizeof key, "JOINTS_%d", sets);
        if (attribute(b, attributes, key, 4, n, &joints[sets])) return 1;
        snprintf(key, sizeof key, "WEIGHTS_%d", sets);
        if (attribute(b, attributes, key, 4, n, &weights[sets])) return 1;
        if (!joints[sets] || !weights[sets]) break;
    }
    TAKE(next, mesh->bones);
    for (int s = 0; s < sets; s++)
        for (int64_t i = 0; i < 4 * n; i++) {
            double joint = joints[s]->value[i];
            if (!has_weight(weights[s]->value[i])) continue;
            if (!(joint >= 0.0 && joint < (double)mesh->bones))
                return su_gltf_fail(&b->g, "a vertex of mesh '%.100s' follows a joint that its skin does not have",
                                    mesh->name);
            mesh->bone[(int64_t)joint].count++, total++;
        }
    mesh->influences = total;
    TAKE(mesh->influence_vertex, total);
    TAKE(mesh->influence_weight, total);
    for (int64_t k = 1; k < mesh->bones; k++)
        mesh->bone[k].first = next[k] = mesh->bone[k - 1].first + mesh->bone[k - 1].count;
    for (int s = 0; s < sets; s++)
        for (int64_t i = 0; i < 4 * n; i++) {
            if (!has_weight(weights[s]->value[i])) continue;
            int64_t at = next[(int64_t)joints[s]->value[i]]++;
            mesh->influence_vertex[at] = (int32_t)(i / 4);
            mesh->influence_weight[at] = weights[s]->value[i];
        }
    return 0;
}

static int read_skin(builder *b, int64_t skin_index, const json_t *attributes, su_scene_mesh *mesh)
{
    const json_t *skin = su_gltf_item(&b->g, "skins", skin_index), *joints = json_object_get(skin, "joints");
    const su_gltf_array *bind = NULL;
    if (skin_index >= 0 && !skin) return su_gltf_fail(&b->g, "it has no skin %lld", (long long)skin_index);
    mesh->bones = (int64_t)json_array_size(joints);
    TAKE(mesh->bone, mesh->bones);
    if (json_object_get(skin, "inverseBindMatrices") &&
        !(bind = su_gltf_accessor(&b->g, su_gltf_integer(skin, "inverseBindMatrices", -1), 16)))
        return 1;
    if (bind && bind->count < mesh->bones)
        return su_gltf_fail(&b->g, "skin %lld has more joints than bind matrices", (long long)skin_index);
    for (int64_t k = 0; k < mesh->bones; k++) {
        int64_t index = integer_at(joints, (size_t)k);
        if (index < 0 || index >= b->numbered || b->node[index] < 0)
            return su_gltf_fail(&b->g, "joint %lld of skin %lld is not in the scene", (long long)k,
                                (long long)skin_index);
        mesh->bone[k].node = b->node[index];
        su_affine_identity(mesh->bone[k].inverse_bind);
        for (int i = 0; i < 16 && bind; i++) mesh->bone[k].inverse_bind[4 * (i % 4) + i / 4] = bind->value[16 * k + i];
    }
    if (skin) return read_weights(b, attributes, mesh);
    TAKE(mesh->influence_vertex, 0);
    TAKE(mesh->influence_weight, 0);
    return 0;
}

/* Points and lines carry no skin. */
static int has_faces(const json_t *primitive)
{
    int64_t mode = su_gltf_integer(primitive, "mode", TRIANGLES);
    return mode >= TRIANGLES && mode <= FAN &&
           json_object_get(json_object_get(primitive, "attributes"), "POSITION") != NULL;
}

/* The material of a primitive's faces, from number `first` on. */
static int read_material(builder *b, const json_t *primitive, int64_t first, su_scene_mesh *mesh)
{
    int64_t material = su_gltf_integer(primitive, "material", -1);
    if (material < 0 || material >= b->scene->materials) material = -1;
    if (material < 0 && !mesh->face_material) return 0;
    if (!mesh->face_material) {
        TAKE(mesh->face_material, mesh->polygons);
        for (int64_t f = 0; f < first; f++) mesh->face_material[f] = -1;
    }
    for (int64_t f = first; f < mesh->polygons; f++) mesh->face_material[f] = (int32_t)material;
    return 0;
}

/* Do two primitives have the same vertices? Then they are one mesh, of several materials. */
static bool same_vertices(builder *b, const json_t *one, const json_t *two)
{
    const json_t *attributes = json_object_get(one, "attributes"), *targets = json_object_get(one, "targets");
    const su_gltf_array *uv;
    int64_t coordinates = su_gltf_integer(attributes, "TEXCOORD_0", -1);
    if (json_object_get(one, "extensions") || json_object_get(two, "extensions") ||
        !json_equal(attributes, json_object_get(two, "attributes")) ||
        (targets != json_object_get(two, "targets") && !json_equal(targets, json_object_get(two, "targets"))))
        return false;
    /* integers as texture coordinates are scaled by the material */
    return coordinates < 0 || ((uv = su_gltf_accessor(&b->g, coordinates, 2)) && !uv->whole);
}

/* The first primitive with the vertices of this one: itself, where no other comes before it. */
static size_t first_alike(builder *b, const json_t *primitives, size_t number)
{
    for (size_t k = 0; k < number; k++)
        if (has_faces(json_array_get(primitives, k)) &&
            same_vertices(b, json_array_get(primitives, k), json_array_get(primitives, number)))
            return k;
    return number;
}

/* Faces of one primitive more at the end of a mesh. */
static int append_faces(builder *b, const json_t *primitive, su_scene_mesh *mesh)
{
    su_scene_mesh more = {.vertices = mesh->vertices}, whole = *mesh;
    if (read_faces(b, primitive, &more)) return 1;
    whole.polygons += more.polygons, whole.corners += more.corners;
    TAKE(whole.face_counts, whole.polygons);
    TAKE(whole.face_indices, whole.corners);
    if (mesh->face_material) TAKE(whole.face_material, whole.polygons);
    size_t polygons = (size_t)mesh->polygons, corners = (size_t)mesh->corners;
    if (polygons) memcpy(whole.face_counts, mesh->face_counts, polygons * sizeof(int32_t));
    if (corners) memcpy(whole.face_indices, mesh->face_indices, corners * sizeof(int32_t));
    if (polygons && mesh->face_material) memcpy(whole.face_material, mesh->face_material, polygons * sizeof(int32_t));
    memcpy(whole.face_counts + polygons, more.face_counts, (size_t)more.polygons * sizeof(int32_t));
    memcpy(whole.face_indices + corners, more.face_indices, (size_t)more.corners * sizeof(int32_t));
    *mesh = whole;
    return read_material(b, primitive, (int64_t)polygons, mesh);
}

static int read_primitive(builder *b, const json_t *item, int64_t mesh_index, size_t number, int64_t skin,
                          su_scene_mesh *mesh)
{
    const json_t *primitives = json_object_get(item, "primitives"), *primitive = json_array_get(primitives, number);
    const json_t *attributes = json_object_get(primitive, "attributes");
    const su_gltf_array *positions;
    if (copy_name(b, json_object_get(item, "name"), "meshes[", mesh_index, "]", &mesh->name)) return 1;
    if (json_array_size(primitives) > 1) {
        size_t room = strlen(mesh->name) + 24;
        char *text;
        TAKE(text, (int64_t)room);
        snprintf(text, room, "%s-%zu", mesh->name, number);
        mesh->name = text;
    }
    if (su_gltf_draco(&b->g, primitive)) return 1;
    if (!(positions = su_gltf_accessor(&b->g, su_gltf_integer(attributes, "POSITION", -1), 3))) return 1;
    mesh->vertices = positions->count, mesh->positions = positions->value;
    if (read_faces(b, primitive, mesh) || read_material(b, primitive, 0, mesh)) return 1;
    return read_looks(b, primitive, attributes, mesh) || read_shapes(b, item, primitive, mesh) ||
           read_skin(b, skin, attributes, mesh);
}

/* Weights that the node gives its blend shapes go before those of the mesh. */
static void own_weights(const json_t *weights, su_scene_mesh *mesh)
{
    for (int64_t s = 0; s < mesh->shapes && weights; s++)
        mesh->shape_defaults[s] = json_number_value(json_array_get(weights, (size_t)s));
}

static int read_node_mesh(builder *b, int32_t at)
{
    su_scene *scene = b->scene;
    const json_t *node = su_gltf_item(&b->g, "nodes", b->source[at]), *weights = json_object_get(node, "weights");
    int64_t index = su_gltf_integer(node, "mesh", -1), skin = su_gltf_integer(node, "skin", -1), shared = -1;
    const json_t *mesh = su_gltf_item(&b->g, "meshes", index), *primitives = json_object_get(mesh, "primitives");
    if (index >= 0 && !mesh) return su_gltf_fail(&b->g, "it has no mesh %lld", (long long)index);
    if (mesh && skin < 0 && !weights) {
        shared = b->shared[index];
        if (shared < 0) b->shared[index] = scene->meshes;
    }
    int64_t *place; /* (primitives) scene mesh of each that begins one */
    TAKE(place, (int64_t)json_array_size(primitives));
    for (size_t k = 0; k < json_array_size(primitives); k++) {
        const json_t *primitive = json_array_get(primitives, k);
        if (!has_faces(primitive)) continue;
        size_t alike = first_alike(b, primitives, k);
        if (alike < k) {
            if (shared < 0 && append_faces(b, primitive, &scene->mesh[place[alike]])) return 1;
            continue;
        }
        int64_t to = place[k] = shared >= 0 ? shared++ : scene->meshes++;
        scene->instance[scene->instances++] = (su_scene_instance){at, (int32_t)to};
        if (shared >= 0) continue;
        if (read_primitive(b, mesh, index, k, skin, &scene->mesh[to])) return 1;
        own_weights(weights, &scene->mesh[to]);
    }
    return 0;
}

static int read_meshes(builder *b)
{
    su_scene *scene = b->scene;
    int64_t most = 0, meshes = (int64_t)json_array_size(json_object_get(b->g.json, "meshes"));
    TAKE(b->shared, meshes);
    memset(b->shared, 0xff, (size_t)meshes * sizeof *b->shared);
    for (int32_t i = 0; i < scene->nodes; i++) {
        const json_t *node = su_gltf_item(&b->g, "nodes", b->source[i]);
        const json_t *mesh = su_gltf_item(&b->g, "meshes", su_gltf_integer(node, "mesh", -1));
        most += (int64_t)json_array_size(json_object_get(mesh, "primitives"));
    }
    TAKE(scene->mesh, most);
    TAKE(scene->instance, most);
    for (int32_t i = 0; i < scene->nodes; i++)
        if (read_node_mesh(b, i)) return 1;
    return 0;
}

/* ---- clips ---- */

static int32_t key_mode(const json_t *sampler)
{
    const char *mode = json_string_value(json_object_get(sampler, "interpolation"));
    return mode && strcmp(mode, "STEP") == 0          ? SU_KEYS_STEP
           : mode && strcmp(mode, "CUBICSPLINE") == 0 ? SU_KEYS_CUBIC
                                                      : SU_KEYS_LINEAR;
}

/* Keys of a sampler, of values with `width` components (0: any number, found out). */
static int read_track(builder *b, const json_t *sampler, int32_t mode, int64_t *width, int64_t *keys, double **times,
                      double **values)
{
    const su_gltf_array *in = su_gltf_accessor(&b->g, su_gltf_integer(sampler, "input", -1), 1);
    const su_gltf_array *out =
        in ? su_gltf_accessor(&b->g, su_gltf_integer(sampler, "output", -1), *width ? *width : 1) : NULL;
    if (!out) return 1;
    int64_t per_key = su_key_values(mode), rows = in->count * per_key;
    if (*width == 0 && rows > 0 && out->count % rows == 0) *width = out->count / rows;
    if (in->count < 1 || *width < 1 || out->count * out->width != rows * *width)
        return su_gltf_fail(&b->g, "an animation has %lld keys and %lld values", (long long)in->count,
                            (long long)out->count);
    *keys = in->count, *times = in->value, *values = out->value;
    return 0;
}

/* glTF has quaternions as x, y, z, w; integers make them a little longer or shorter than 1. Tangents stay. */
static int turn_quaternions(builder *b, int64_t count, bool unit, double **rotation)
{
    const double *from = *rotation; /* other channels may use it, too */
    double *q;
    TAKE(q, 4 * count);
    *rotation = q;
    for (int64_t i = 0; i < count; i++, q += 4, from += 4) {
        double norm = 0.0;
        for (int k = 0; k < 4; k++) norm += from[k] * from[k];
        norm = unit ? sqrt(norm) : 1.0;
        for (int k = 0; k < 4; k++) q[k] = norm > 0.0 ? from[(k + 3) % 4] / norm : k == 0;
    }
    return 0;
}

static su_scene_channel *channel_of(builder *b, su_scene_clip *clip, int32_t node)
{
    for (int64_t i = 0; i < clip->channels; i++)
        if (clip->channel[i].node == node) return &clip->channel[i];
    su_scene_channel *c = &clip->channel[clip->channels++];
    double **track[] = {&c->translation_times, &c->translation, &c->rotation_times,
                        &c->rotation,          &c->scale_times, &c->scale};
    for (int i = 0; i < 6; i++) *track[i] = su_arena_alloc(&b->scene->arena, 0, sizeof **track[i]);
    c->node = node;
    return c;
}

static int read_weight_keys(builder *b, const json_t *sampler, int32_t mode, int32_t node, su_scene_clip *clip)
{
    su_scene_morph_channel *c = &clip->morph_channel[clip->morph_channels];
    int64_t width = 0;
    if (read_track(b, sampler, mode, &width, &c->keys, &c->times, &c->weights)) return 1;
    if (width > 65535) return su_gltf_fail(&b->g, "an animation has too many blend shapes");
    c->node = node, c->mode = mode, c->shapes = width;
    clip->morph_channels++;
    return 0;
}

static int read_channel(builder *b, const json_t *channel, const json_t *sampler, su_scene_clip *clip)
{
    const json_t *target = json_object_get(channel, "target");
    const char *path = json_string_value(json_object_get(target, "path"));
    int64_t index = su_gltf_integer(target, "node", -1), three = 3, four = 4;
    int32_t mode = key_mode(sampler);
    if (!path || index < 0 || index >= b->numbered || b->node[index] < 0) return 0; /* it moves nothing of ours */
    if (strcmp(path, "weights") == 0) return read_weight_keys(b, sampler, mode, b->node[index], clip);
    if (strcmp(path, "translation") != 0 && strcmp(path, "rotation") != 0 && strcmp(path, "scale") != 0) return 0;
    su_scene_channel *c = channel_of(b, clip, b->node[index]);
    if (path[0] == 't') {
        c->translation_mode = mode;
        return read_track(b, sampler, mode, &three, &c->translations, &c->translation_times, &c->translation);
    }
    if (path[0] == 's') {
        c->scale_mode = mode;
        return read_track(b, sampler, mode, &three, &c->scales, &c->scale_times, &c->scale);
    }
    c->rotation_mode = mode;
    if (read_track(b, sampler, mode, &four, &c->rotations, &c->rotation_times, &c->rotation)) return 1;
    return turn_quaternions(b, c->rotations * su_key_values(mode), mode != SU_KEYS_CUBIC, &c->rotation);
}

static int read_clips(builder *b)
{
    const json_t *animations = json_object_get(b->g.json, "animations");
    su_scene *scene = b->scene;
    scene->clips = (int64_t)json_array_size(animations);
    TAKE(scene->clip, scene->clips);
    for (int64_t i = 0; i < scene->clips; i++) {
        const json_t *animation = json_array_get(animations, (size_t)i);
        const json_t *channels = json_object_get(animation, "channels");
        const json_t *samplers = json_object_get(animation, "samplers");
        su_scene_clip *clip = &scene->clip[i];
        if (copy_name(b, json_object_get(animation, "name"), "clip", i + 1, "", &clip->name)) return 1;
        TAKE(clip->channel, (int64_t)json_array_size(channels));
        TAKE(clip->morph_channel, (int64_t)json_array_size(channels));
        for (size_t k = 0; k < json_array_size(channels); k++) {
            const json_t *channel = json_array_get(channels, k);
            int64_t sampler = su_gltf_integer(channel, "sampler", -1);
            if (read_channel(b, channel, sampler < 0 ? NULL : json_array_get(samplers, (size_t)sampler), clip))
                return 1;
        }
        if (su_scene_measure_clip(clip, &scene->arena)) return no_memory(b);
    }
    return 0;
}

int su_gltf_scene(const char *path, su_scene *scene, char *message, size_t message_size)
{
    builder b = {.g = {.path = path, .arena = &scene->arena, .message = message, .message_size = message_size},
                 .scene = scene};
    scene->format = "glTF", scene->unit = 1.0, scene->up = 1, scene->exact = true;
    int failed = su_gltf_open(&b.g) || read_nodes(&b) || read_human(&b) || read_materials(&b) || read_meshes(&b) ||
                 read_clips(&b);
    su_gltf_close(&b.g);
    return failed;
}
