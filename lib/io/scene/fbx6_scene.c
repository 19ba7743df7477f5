#include "io/scene/fbx6_scene.h"

#include "geometry/affine.h"
#include "geometry/looks.h"
#include "io/scene/control_points.h"
#include "io/scene/fbx6_clips.h"
#include "io/scene/fbx_deformers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
    su_arena *arena;
    su_scene *out;
    const su_fbx6_node *objects, *links; /* first ones */
    su_fbx6_model *model;
    int64_t models;
    const su_fbx6_node **material; /* of each material of the scene */
} builder;

#define TAKE(pointer, count)                                                                                           \
    do {                                                                                                               \
        (pointer) = su_arena_alloc(b->arena, count, sizeof *(pointer));                                                \
        if (!(pointer)) return 1;                                                                                      \
    } while (0)

/* ---- models ---- */

static const char *plain_name(const su_fbx6_node *object)
{
    const char *name = su_fbx6_text(object, 0), *cut = strstr(name, "::");
    return cut ? cut + 2 : name;
}

/* Connect: "OO", child, parent. */
static bool hangs_on(const su_fbx6_node *link, const char *parent)
{
    return strcmp(link->name, "Connect") == 0 && strcmp(su_fbx6_text(link, 2), parent) == 0;
}

/* Adds the models below one, or below the scene, each behind its parent. */
static void add_below(builder *b, const char *parent, int32_t parent_node)
{
    for (const su_fbx6_node *link = b->links; link; link = link->next) {
        const su_fbx6_model *found =
            hangs_on(link, parent) ? su_fbx6_find_model(b->models, b->model, su_fbx6_text(link, 1)) : NULL;
        if (!found || found->node >= 0) continue;
        su_fbx6_model *m = &b->model[found - b->model];
        su_scene_node *node = &b->out->node[m->node = (int32_t)b->out->nodes++];
        double inherit = 1;
        su_fbx6_property(m->object, "InheritType", 1, &inherit);
        int32_t type = inherit == 0 ? 0 : inherit == 2 ? 2 : 1;
        *node =
            (su_scene_node){.name = plain_name(m->object), .parent = parent_node, .inherit = su_fbx_inheritance(type)};
        su_fbx6_local(m, m->translation, m->rotation, m->scale, node->local);
        add_below(b, su_fbx6_text(m->object, 0), m->node);
    }
}

static int add_models(builder *b)
{
    int64_t count = 0;
    for (const su_fbx6_node *n = b->objects; n; n = n->next) count += strcmp(n->name, "Model") == 0;
    TAKE(b->model, count);
    TAKE(b->out->node, count + 1);
    for (const su_fbx6_node *n = b->objects; n; n = n->next)
        if (strcmp(n->name, "Model") == 0) su_fbx6_read_model(n, &b->model[b->models++]);
    b->out->node[b->out->nodes++] = (su_scene_node){.name = "RootNode", .parent = -1};
    su_affine_identity(b->out->node[0].local);
    add_below(b, "Model::Scene", 0);
    add_below(b, "Scene", 0);
    return 0;
}

/* ---- meshes ---- */

/* A number as an index; -1: it is none. */
static int64_t index_of(double number) { return number >= 0.0 && number < INT32_MAX ? (int64_t)number : -1; }

/* What a layer element says of a corner: the entry of its list; -1: none. */
static int64_t layer_entry(const su_fbx6_node *layer, const char *list, int64_t corner, int64_t point, int64_t polygon)
{
    const char *by = su_fbx6_text(su_fbx6_child(layer, "MappingInformationType"), 0);
    int64_t at = strcmp(by, "ByPolygonVertex") == 0                            ? corner
                 : strcmp(by, "ByVertice") == 0 || strcmp(by, "ByVertex") == 0 ? point
                 : strcmp(by, "ByPolygon") == 0                                ? polygon
                 : strcmp(by, "AllSame") == 0                                  ? 0
                                                                               : -1;
    const su_fbx6_node *indices = list ? su_fbx6_child(layer, list) : NULL;
    if (!indices || at < 0) return at;
    return at < indices->values ? index_of(indices->value[at].number) : -1;
}

static int64_t find_material(const builder *b, const char *name)
{
    for (int64_t i = 0; i < b->out->materials; i++)
        if (strcmp(su_fbx6_text(b->material[i], 0), name) == 0) return i;
    return -1;
}

/* Materials of a mesh by the numbers that its polygons call them: they hang on its model in order. */
static int list_materials(builder *b, const char *model, int32_t **list, int64_t *count)
{
    TAKE(*list, b->out->materials);
    *count = 0;
    for (const su_fbx6_node *link = b->links; link && *count < b->out->materials; link = link->next) {
        int64_t material = hangs_on(link, model) ? find_material(b, su_fbx6_text(link, 1)) : -1;
        if (material >= 0) (*list)[(*count)++] = (int32_t)material;
    }
    return 0;
}

static int add_materials(builder *b)
{
    int64_t count = 0;
    for (const su_fbx6_node *n = b->objects; n; n = n->next) count += strcmp(n->name, "Material") == 0;
    TAKE(b->material, count);
    TAKE(b->out->material, count);
    for (const su_fbx6_node *n = b->objects; n; n = n->next) {
        double color[3] = {SU_MATERIAL_GREY, SU_MATERIAL_GREY, SU_MATERIAL_GREY}, opacity = 1;
        if (strcmp(n->name, "Material") != 0) continue;
        if (!su_fbx6_property(n, "DiffuseColor", 3, color)) su_fbx6_property(n, "Diffuse", 3, color);
        su_fbx6_property(n, "Opacity", 1, &opacity);
        b->material[b->out->materials] = n;
        su_scene_material *to = &b->out->material[b->out->materials++];
        to->name = plain_name(n);
        for (int k = 0; k < 3; k++) to->color[k] = (float)color[k];
        to->color[3] = (float)opacity, to->surface[1] = SU_MATERIAL_ROUGHNESS;
    }
    return 0;
}

/* The geometry's own place at its node (3ds Max). */
static void geometric(const su_fbx6_node *object, double m[16])
{
    double t[3] = {0}, r[3] = {0}, s[3] = {1, 1, 1}, linear[9];
    su_fbx6_property(object, "GeometricTranslation", 3, t);
    su_fbx6_property(object, "GeometricRotation", 3, r);
    su_fbx6_property(object, "GeometricScaling", 3, s);
    su_fbx6_turn(r, 0, linear);
    for (int i = 0; i < 9; i++) linear[i] *= s[i % 3];
    su_affine_set(linear, t, m);
}

/* Polygons with a vertex a corner, as assimp has them. */
static int add_polygons(builder *b, const su_fbx6_node *object, const double place[16], su_scene_mesh *mesh)
{
    const su_fbx6_node *points = su_fbx6_child(object, "Vertices"), *list = su_fbx6_child(object, "PolygonVertexIndex");
    const su_fbx6_node *uv = su_fbx6_child(object, "LayerElementUV"),
                       *material = su_fbx6_child(object, "LayerElementMaterial"), *table = su_fbx6_child(uv, "UV");
    const char *name = su_fbx6_text(object, 0);
    bool indexed = strcmp(su_fbx6_text(su_fbx6_child(uv, "ReferenceInformationType"), 0), "Direct") != 0;
    int64_t corner = 0, polygon = 0, materials;
    int32_t *known;
    if (list_materials(b, name, &known, &materials)) return 1;
    mesh->control_points = points->values / 3;
    TAKE(mesh->positions, 3 * list->values);
    TAKE(mesh->control_point, list->values);
    TAKE(mesh->face_counts, list->values);
    TAKE(mesh->face_indices, list->values);
    TAKE(mesh->source_polygon, list->values);
    if (table) TAKE(mesh->uv, 2 * list->values);
    if (material) TAKE(mesh->face_material, list->values);
    for (; corner < list->values; polygon++) {
        int64_t end = corner;
        while (end < list->values && list->value[end].number >= 0) end++;
        if (end == list->values) break;
        int64_t count = ++end - corner;
        for (; count >= 3 && corner < end; corner++) {
            double number = list->value[corner].number, p[3];
            int64_t point = index_of(number < 0 ? -1 - number : number), v = mesh->vertices++;
            if (point < 0 || point >= mesh->control_points) return 2;
            for (int i = 0; i < 3; i++) p[i] = points->value[3 * point + i].number;
            su_affine_point(place, p, mesh->positions + 3 * v);
            mesh->control_point[v] = (int32_t)point;
            mesh->face_indices[mesh->corners++] = (int32_t)v;
            int64_t at = table ? layer_entry(uv, indexed ? "UVIndex" : NULL, corner, point, polygon) : -1;
            for (int i = 0; i < 2 && at >= 0 && 2 * at + i < table->values; i++)
                mesh->uv[2 * v + i] = (float)table->value[2 * at + i].number;
        }
        corner = end;
        if (count < 3) continue;
        if (material) {
            int64_t which = layer_entry(material, "Materials", 0, 0, polygon);
            mesh->face_material[mesh->polygons] = which >= 0 && which < materials ? known[which] : -1;
        }
        mesh->face_counts[mesh->polygons] = (int32_t)count;
        mesh->source_polygon[mesh->polygons++] = (int32_t)polygon;
    }
    return 0;
}

/* first (control points + 1), corner (vertices): the vertices of each control point. */
static int list_corners(builder *b, const su_scene_mesh *mesh, int64_t **first, int32_t **corner)
{
    TAKE(*first, mesh->control_points + 2);
    TAKE(*corner, mesh->vertices);
    for (int64_t v = 0; v < mesh->vertices; v++) (*first)[mesh->control_point[v] + 2]++;
    for (int64_t p = 0; p <= mesh->control_points; p++) (*first)[p + 1] += (*first)[p];
    for (int64_t v = 0; v < mesh->vertices; v++) (*corner)[(*first)[mesh->control_point[v] + 1]++] = (int32_t)v;
    return 0;
}

typedef struct cluster {
    const su_fbx6_node *object;
    int32_t node; /* of its joint */
} cluster;

static const su_fbx6_node *find_object(const builder *b, const char *name)
{
    const su_fbx6_node *n = b->objects;
    while (n && strcmp(su_fbx6_text(n, 0), name) != 0) n = n->next;
    return n;
}

/* What hangs on a cluster: its joint; NULL: none. */
static const su_fbx6_model *joint_of(const builder *b, const char *name)
{
    const su_fbx6_model *found = NULL;
    for (const su_fbx6_node *link = b->links; link && !found; link = link->next)
        if (hangs_on(link, name)) found = su_fbx6_find_model(b->models, b->model, su_fbx6_text(link, 1));
    return found && found->node >= 0 ? found : NULL;
}

/* Clusters of the deformers on a model, as far as they know their joint and how it was bound. */
static int list_clusters(builder *b, const char *model, cluster **list, int64_t *count)
{
    enum { MATRIX = 16 };
    int64_t all = 0;
    for (const su_fbx6_node *link = b->links; link; link = link->next) all++;
    TAKE(*list, all);
    *count = 0;
    for (const su_fbx6_node *skin = b->links; skin; skin = skin->next) {
        if (!hangs_on(skin, model) || strncmp(su_fbx6_text(skin, 1), "Deformer::", 10) != 0) continue;
        for (const su_fbx6_node *link = b->links; link && *count < all; link = link->next) {
            if (!hangs_on(link, su_fbx6_text(skin, 1))) continue;
            const su_fbx6_node *object = find_object(b, su_fbx6_text(link, 1)),
                               *bind = su_fbx6_child(object, "Transform");
            const su_fbx6_model *joint = joint_of(b, su_fbx6_text(link, 1));
            if (joint && bind && bind->values >= MATRIX) (*list)[(*count)++] = (cluster){object, joint->node};
        }
    }
    return 0;
}

/* The weights of a cluster, for every vertex of a control point; returns how many. */
static int64_t add_weights(const su_fbx6_node *object, const int64_t *first, const int32_t *corner, su_scene_mesh *mesh,
                           bool count_alone)
{
    const su_fbx6_node *at = su_fbx6_child(object, "Indexes"), *weight = su_fbx6_child(object, "Weights");
    int64_t count = 0;
    for (int64_t i = 0; at && weight && i < at->values && i < weight->values; i++) {
        int64_t p = index_of(at->value[i].number);
        if (p < 0 || p >= mesh->control_points) continue;
        count += first[p + 1] - first[p];
        for (int64_t k = first[p]; !count_alone && k < first[p + 1]; k++) {
            mesh->influence_vertex[mesh->influences] = corner[k];
            mesh->influence_weight[mesh->influences++] = weight->value[i].number;
        }
    }
    return count;
}

static int add_skin(builder *b, const char *model, const int64_t *first, const int32_t *corner, su_scene_mesh *mesh)
{
    cluster *list;
    int64_t count, room = 0;
    if (list_clusters(b, model, &list, &count)) return 1;
    for (int64_t c = 0; c < count; c++) room += add_weights(list[c].object, first, corner, mesh, true);
    TAKE(mesh->bone, count);
    TAKE(mesh->influence_vertex, room);
    TAKE(mesh->influence_weight, room);
    for (int64_t c = 0; c < count; c++) {
        su_scene_bone *bone = &mesh->bone[mesh->bones++];
        const su_fbx6_node *bind = su_fbx6_child(list[c].object, "Transform"); /* column by column */
        *bone = (su_scene_bone){.node = list[c].node, .first = mesh->influences};
        for (int i = 0; i < 16; i++) bone->inverse_bind[4 * (i % 4) + i / 4] = bind->value[i].number;
        bone->count = add_weights(list[c].object, first, corner, mesh, false);
    }
    return 0;
}

/* Shape: "name" { Indexes, Vertices: how far these go }. */
static int add_shapes(builder *b, const su_fbx6_node *object, const double place[16], const int64_t *first,
                      const int32_t *corner, su_scene_mesh *mesh)
{
    int64_t count = 0;
    double linear[9];
    su_affine_linear(place, linear);
    for (const su_fbx6_node *n = object->child; n; n = n->next) count += strcmp(n->name, "Shape") == 0;
    TAKE(mesh->shape_names, count);
    TAKE(mesh->shape_defaults, count);
    TAKE(mesh->shape_positions, 3 * count * mesh->vertices);
    for (const su_fbx6_node *n = object->child; n; n = n->next) {
        const su_fbx6_node *at = su_fbx6_child(n, "Indexes"), *way = su_fbx6_child(n, "Vertices");
        if (strcmp(n->name, "Shape") != 0) continue;
        double *to = mesh->shape_positions + 3 * mesh->vertices * mesh->shapes;
        memcpy(to, mesh->positions, 3 * (size_t)mesh->vertices * sizeof *to);
        mesh->shape_names[mesh->shapes++] = plain_name(n);
        for (int64_t i = 0; at && way && i < at->values && 3 * i + 2 < way->values; i++) {
            int64_t p = index_of(at->value[i].number);
            if (p < 0 || p >= mesh->control_points) continue;
            double step[3] = {way->value[3 * i].number, way->value[3 * i + 1].number, way->value[3 * i + 2].number};
            su_mulv3(linear, step, step);
            for (int64_t k = first[p]; k < first[p + 1]; k++)
                for (int j = 0; j < 3; j++) to[3 * (int64_t)corner[k] + j] += step[j];
        }
    }
    return 0;
}

/* 2: an index is out of range. */
static int add_meshes(builder *b)
{
    su_scene *out = b->out;
    TAKE(out->mesh, b->models);
    TAKE(out->instance, b->models);
    for (int32_t node = 1; node < out->nodes; node++)
        for (int64_t i = 0; i < b->models; i++) {
            const su_fbx6_node *object = b->model[i].object;
            int64_t *first;
            int32_t *corner;
            double place[16];
            if (b->model[i].node != node || !su_fbx6_child(object, "Vertices") ||
                !su_fbx6_child(object, "PolygonVertexIndex"))
                continue;
            su_scene_mesh *mesh = &out->mesh[out->meshes];
            mesh->name = plain_name(object), mesh->source_mesh = out->meshes;
            geometric(object, place);
            int failed = add_polygons(b, object, place, mesh);
            if (failed) return failed;
            if (list_corners(b, mesh, &first, &corner) || add_skin(b, su_fbx6_text(object, 0), first, corner, mesh) ||
                add_shapes(b, object, place, first, corner, mesh))
                return 1;
            out->instance[out->instances++] = (su_scene_instance){node, (int32_t)out->meshes++};
        }
    return 0;
}

/* ---- the whole ---- */

/* The settings stand among the objects, or at the top. */
static void read_conventions(const su_fbx6_node *file, builder *b)
{
    const su_fbx6_node *settings = su_fbx6_find(b->objects, "GlobalSettings");
    double up = 1, unit = 1;
    if (!settings) settings = su_fbx6_find(file, "GlobalSettings");
    su_fbx6_property(settings, "UpAxis", 1, &up);
    su_fbx6_property(settings, "UnitScaleFactor", 1, &unit);
    b->out->format = "FBX";
    b->out->up = up == 0 || up == 1 || up == 2 ? (int32_t)up : -1;
    b->out->unit = isfinite(unit) && unit > 0 ? 0.01 * unit : 0;
    const su_fbx6_node *rate = su_fbx6_child(su_fbx6_child(su_fbx6_find(file, "Version5"), "Settings"), "FrameRate");
    double said = rate ? strtod(su_fbx6_text(rate, 0), NULL) : 0;
    if (said == 0) said = su_fbx6_number(rate, 0);
    b->out->frame_rate = said >= 1 && said <= 1000 ? said : 0;
}

int su_fbx6_scene(const char *path, su_scene *scene, char *message, size_t message_size)
{
    builder b = {.arena = &scene->arena, .out = scene};
    size_t size;
    const char *data = su_fbx_file(path, scene, &size);
    const su_fbx6_node *file = data ? su_fbx6_read(data, size, &scene->arena) : NULL;
    const su_fbx6_node *objects = su_fbx6_find(file, "Objects"), *connections = su_fbx6_find(file, "Connections");
    int failed = 2;
    if (objects) {
        b.objects = objects->child, b.links = connections ? connections->child : NULL;
        read_conventions(file, &b);
        failed = add_models(&b) || add_materials(&b);
        if (!failed) failed = add_meshes(&b);
        if (!failed) failed = su_fbx6_clips(file, b.models, b.model, scene);
    }
    if (failed)
        snprintf(message, message_size, "%s",
                 failed == 2 && !scene->arena.failed ? "the file is damaged" : "not enough memory");
    return failed != 0;
}
