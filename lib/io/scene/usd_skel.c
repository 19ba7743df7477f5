#include "io/scene/usd_skel.h"

#include "geometry/affine.h"
#include "geometry/polygon.h"
#include "io/scene/usd_skel_internal.h"
#include "io/usd/usd_file.h"
#include "io/usd/usd_primvar.h"
#include "io/usd/usd_stage.h"
#include "io/usd/usd_surface.h"
#include "io/usd/usd_visible.h"
#include "io/usd/usd_xform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All numbers of a value; *count -1 where something else stands there. */
static double *numbers_of(su_usd_skel *b, su_usd_value value, int64_t *count)
{
    *count = su_usd_numbers(value, 0, NULL);
    double *out = *count > 0 ? su_arena_alloc(b->arena, *count, sizeof *out) : NULL;
    if (out) (void)su_usd_numbers(value, *count, out);
    return out;
}

/* ---- nodes ---- */

static int32_t add_node(su_usd_skel *b, const char *name, int32_t parent, const double local[16])
{
    su_scene *s = b->out;
    su_scene_node *node = &s->node[s->nodes];
    *node = (su_scene_node){.name = name, .parent = parent};
    memcpy(node->local, local, sizeof node->local);
    return (int32_t)s->nodes++;
}

static double first_code(const su_usd_layer *layer, int64_t prim)
{
    double code = INFINITY;
    for (int64_t k = layer->prim[prim].attribute; k >= 0; k = layer->attribute[k].next)
        if (layer->attribute[k].samples) code = fmin(code, layer->attribute[k].sample[0].time);
    return isfinite(code) ? code : 0;
}

/* The node of a prim and, before it, of those above it. */
static su_status prim_node(su_usd_skel *b, int64_t prim, int32_t *node)
{
    double local[16];
    bool reset = false;
    int32_t above = 0; /* the stage */
    if (prim < 0 || b->node_of[prim] >= 0) {
        *node = prim < 0 ? 0 : b->node_of[prim];
        return SU_OK;
    }
    SU_TRY(su_usd_local_at(&b->layer, prim, first_code(&b->layer, prim), local, &reset, &b->err));
    if (!reset) SU_TRY(prim_node(b, b->layer.prim[prim].parent, &above));
    *node = b->node_of[prim] = add_node(b, su_usd_skel_text(b, b->layer.prim[prim].name), above, local);
    return SU_OK;
}

/* The last part of a joint's path; the whole of it where another joint has that name. */
static const char *joint_name(su_usd_skel *b, const su_usd_skeleton *s, int64_t joint)
{
    su_usd_text path = s->joint[joint], last = {path.at + path.size, 0};
    while (last.at > path.at && last.at[-1] != '/') last.at--, last.size++;
    for (int64_t k = 0; k < s->joints; k++) {
        su_usd_text other = s->joint[k];
        if (k != joint && other.size >= last.size &&
            memcmp(other.at + other.size - last.size, last.at, (size_t)last.size) == 0 &&
            (other.size == last.size || other.at[other.size - last.size - 1] == '/'))
            return su_usd_skel_text(b, path);
    }
    return su_usd_skel_text(b, last);
}

/* The joint above one, by its path; -1: there is none. */
static int64_t parent_joint(const su_usd_skeleton *s, int64_t joint)
{
    su_usd_text path = s->joint[joint];
    while (path.size > 0 && path.at[path.size - 1] != '/') path.size--;
    if (path.size) path.size--;
    for (int64_t k = 0; path.size && k < s->joints; k++)
        if (su_usd_same(s->joint[k], path)) return k;
    return -1;
}

static su_status add_skeleton(su_usd_skel *b, su_usd_skeleton *s)
{
    int64_t binds, rests;
    int32_t own;
    s->joint = su_usd_skel_tokens(b, su_usd_find(&b->layer, s->prim, "joints"), &s->joints);
    double *bind = numbers_of(b, su_usd_first(su_usd_find(&b->layer, s->prim, "bindTransforms")), &binds);
    double *rest = numbers_of(b, su_usd_first(su_usd_find(&b->layer, s->prim, "restTransforms")), &rests);
    s->bind = su_arena_alloc(b->arena, 16 * s->joints, sizeof *s->bind);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    if (binds != 16 * s->joints) return su_usd_skel_refuse(b, s->prim, "as many bindTransforms as joints are wanted");
    for (int64_t k = 0; k < s->joints; k++) su_usd_matrix(bind + 16 * k, s->bind + 16 * k);
    SU_TRY(prim_node(b, s->prim, &own));
    s->first = (int32_t)b->out->nodes;
    for (int64_t k = 0; k < s->joints; k++) {
        int64_t above = parent_joint(s, k);
        double local[16];
        if (above >= k) return su_usd_skel_refuse(b, s->prim, "a joint stands before the one above it");
        if (rests == 16 * s->joints)
            su_usd_matrix(rest + 16 * k, local);
        else if (above < 0)
            memcpy(local, s->bind + 16 * k, sizeof local);
        else if (su_affine_inverse(s->bind + 16 * above, local) != 0)
            su_affine_multiply(local, s->bind + 16 * k, local);
        else
            return su_usd_skel_refuse(b, s->prim, "a joint is bound flat");
        add_node(b, joint_name(b, s, k), above < 0 ? own : s->first + (int32_t)above, local);
    }
    return SU_OK;
}

/* ---- meshes ---- */

static su_status whole_numbers(su_usd_skel *b, int64_t prim, const char *name, double limit, int32_t **out,
                               int64_t *count)
{
    double *value = numbers_of(b, su_usd_first(su_usd_find(&b->layer, prim, name)), count);
    *out = su_arena_alloc(b->arena, *count > 0 ? *count : 0, sizeof **out);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    for (int64_t k = 0; k < *count; k++) {
        if (!(value[k] >= 0 && value[k] < limit))
            return su_usd_skel_refuse(b, prim, "its faces or joints cannot be read");
        (*out)[k] = (int32_t)value[k];
    }
    return *count < 0 ? su_usd_skel_refuse(b, prim, "its faces or joints cannot be read") : SU_OK;
}

static su_status add_faces(su_usd_skel *b, int64_t prim, su_scene_mesh *mesh)
{
    int64_t corners = 0;
    SU_TRY(whole_numbers(b, prim, "faceVertexCounts", INT32_MAX, &mesh->face_counts, &mesh->polygons));
    SU_TRY(whole_numbers(b, prim, "faceVertexIndices", (double)mesh->vertices, &mesh->face_indices, &mesh->corners));
    for (int64_t f = 0; f < mesh->polygons; f++) {
        if (mesh->face_counts[f] < 3) return su_usd_skel_refuse(b, prim, "a face has fewer than 3 corners");
        corners += mesh->face_counts[f];
    }
    if (corners != mesh->corners) return su_usd_skel_refuse(b, prim, "faceVertexCounts and faceVertexIndices disagree");
    return SU_OK;
}

/* Vertices and polygons are the file's. */
static su_status keep_order(su_usd_skel *b, su_scene_mesh *mesh)
{
    mesh->control_point = su_arena_alloc(b->arena, mesh->vertices, sizeof *mesh->control_point);
    mesh->source_polygon = su_arena_alloc(b->arena, mesh->polygons, sizeof *mesh->source_polygon);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    for (int64_t v = 0; v < mesh->vertices; v++) mesh->control_point[v] = (int32_t)v;
    for (int64_t f = 0; f < mesh->polygons; f++) mesh->source_polygon[f] = (int32_t)f;
    mesh->control_points = mesh->vertices;
    return SU_OK;
}

/* Texture coordinates at corners: each corner becomes a vertex of its own, that knows the file's. */
static su_status add_uv(su_usd_skel *b, int64_t prim, su_scene_mesh *mesh)
{
    const su_usd_attribute *st = su_usd_find_uv(&b->layer, prim);
    int64_t numbers, indices = 0;
    double *uv = numbers_of(b, su_usd_first(st), &numbers);
    int32_t *index = NULL;
    bool corner = st && su_usd_scope(st) == 'f', vertex = st && su_usd_scope(st) == 'v';
    char name[220];
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    if (numbers <= 0 || numbers % 2 || (!corner && !vertex)) return SU_OK;
    snprintf(name, sizeof name, "%.*s:indices", (int)(st->name.size < 200 ? st->name.size : 200), st->name.at);
    if (su_usd_find(&b->layer, prim, name))
        SU_TRY(whole_numbers(b, prim, name, 0.5 * (double)numbers, &index, &indices));
    int64_t places = corner ? mesh->corners : mesh->vertices;
    if ((index ? indices : numbers / 2) != places) return SU_OK;
    mesh->uv = su_arena_alloc(b->arena, 2 * places, sizeof *mesh->uv);
    if (!mesh->uv) return su_usd_skel_no_memory(b);
    for (int64_t k = 0; k < places; k++)
        for (int i = 0; i < 2; i++) mesh->uv[2 * k + i] = (float)uv[2 * (index ? index[k] : k) + i];
    if (!corner) return SU_OK;
    double *position = su_arena_alloc(b->arena, 3 * mesh->corners, sizeof *position);
    mesh->control_point = su_arena_alloc(b->arena, mesh->corners, sizeof *mesh->control_point);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    for (int64_t k = 0; k < mesh->corners; k++) {
        int32_t point = mesh->face_indices[k];
        memcpy(position + 3 * k, mesh->positions + 3 * (int64_t)point, 3 * sizeof *position);
        mesh->control_point[k] = point, mesh->face_indices[k] = (int32_t)k;
    }
    mesh->positions = position, mesh->vertices = mesh->corners;
    return SU_OK;
}

static su_status add_skin(su_usd_skel *b, int64_t prim, const su_usd_skeleton *s, su_scene_mesh *mesh)
{
    const su_usd_attribute *indices = su_usd_find(&b->layer, prim, SU_USD_JOINT_INDICES);
    int64_t count, weights, own, binds, points = mesh->control_points;
    su_usd_text *joint = su_usd_skel_tokens(b, su_usd_find(&b->layer, prim, "skel:joints"), &own);
    double *weight = numbers_of(b, su_usd_first(su_usd_find(&b->layer, prim, "primvars:skel:jointWeights")), &weights);
    double *given =
        numbers_of(b, su_usd_first(su_usd_find(&b->layer, prim, "primvars:skel:geomBindTransform")), &binds);
    double bind[16];
    int32_t *index;
    SU_TRY(whole_numbers(b, prim, SU_USD_JOINT_INDICES, (double)(own ? own : s->joints), &index, &count));
    bool all_alike = indices && su_usd_is(indices->interpolation, "constant"); /* a rigid part */
    int64_t each = all_alike ? count : points ? count / points : 0;
    if (weights != count || each < 1 || (!all_alike && each * points != count))
        return su_usd_skel_refuse(b, prim, "its joints and weights do not fit its points");
    int32_t *of = su_arena_alloc(b->arena, own ? own : s->joints, sizeof *of);
    mesh->bone = su_arena_alloc(b->arena, s->joints, sizeof *mesh->bone);
    int64_t *start = su_arena_alloc(b->arena, s->joints + 1, sizeof *start);
    mesh->influence_vertex = su_arena_alloc(b->arena, each * mesh->vertices, sizeof *mesh->influence_vertex);
    mesh->influence_weight = su_arena_alloc(b->arena, each * mesh->vertices, sizeof *mesh->influence_weight);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    for (int64_t k = 0; k < (own ? own : s->joints); k++) {
        of[k] = own ? -1 : (int32_t)k;
        for (int64_t j = 0; own && j < s->joints; j++)
            if (su_usd_same(joint[k], s->joint[j])) of[k] = (int32_t)j;
    }
    su_affine_identity(bind);
    if (binds == 16) su_usd_matrix(given, bind);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t v = 0; v < mesh->vertices; v++)
            for (int64_t k = 0; k < each; k++) {
                int64_t at = (all_alike ? 0 : each * mesh->control_point[v]) + k;
                if (of[index[at]] < 0)
                    return su_usd_skel_refuse(b, prim, "it names a joint that its skeleton does not have");
                if (!(weight[at] > 0)) continue;
                int64_t place = start[of[index[at]] + (pass ? 0 : 1)]++;
                if (pass) mesh->influence_vertex[place] = (int32_t)v, mesh->influence_weight[place] = weight[at];
            }
        for (int64_t j = 0; j < s->joints && !pass; j++) start[j + 1] += start[j];
    }
    for (int64_t j = 0; j < s->joints; j++) { /* start[j] is where the next joint's begin now */
        su_scene_bone *bone = &mesh->bone[mesh->bones];
        *bone = (su_scene_bone){.node = s->first + (int32_t)j, .first = j ? start[j - 1] : 0};
        bone->count = start[j] - bone->first;
        if (bone->count == 0) continue;
        if (su_affine_inverse(s->bind + 16 * j, bone->inverse_bind) == 0)
            return su_usd_skel_refuse(b, prim, "a joint is bound flat");
        su_affine_multiply(bone->inverse_bind, bind, bone->inverse_bind);
        mesh->bones++;
    }
    mesh->influences = start[s->joints];
    return SU_OK;
}

/* The BlendShape that a mesh has for a token: that which it points to, else one below it of that name; -1: none. */
static int64_t blend_shape(const su_usd_skel *b, int64_t prim, int64_t number, su_usd_text token)
{
    su_usd_text name;
    int64_t target = -1;
    (void)su_usd_target(&b->layer, su_usd_find(&b->layer, prim, "skel:blendShapeTargets"), number, &name, &target);
    if (target >= 0 && su_usd_skel_stands(&b->layer.prim[target], "BlendShape")) return target;
    for (int64_t i = prim + 1; i < b->layer.prims && b->layer.prim[i].parent >= prim; i++)
        if (b->layer.prim[i].parent == prim && su_usd_skel_stands(&b->layer.prim[i], "BlendShape") &&
            su_usd_same(b->layer.prim[i].name, token))
            return i;
    return -1;
}

/* Whether an attribute of a BlendShape is an inbetween, "inbetweens:NAME" with a weight. */
static bool is_inbetween(const su_usd_attribute *a, double *weight)
{
    static const char begin[] = "inbetweens:";
    int64_t length = (int64_t)sizeof begin - 1;
    return a->name.size > length && memcmp(a->name.at, begin, (size_t)length) == 0 &&
           !memchr(a->name.at + length, ':', (size_t)(a->name.size - length)) &&
           su_usd_numbers(a->weight, 1, weight) == 1 && *weight != 0 && *weight != 1;
}

/* One shape more of a mesh: its points moved by the offsets. index (count): of points; NULL: of all. */
static su_status add_shape(su_usd_skel *b, int64_t shape, su_usd_value offsets, const int32_t *index, int64_t count,
                           su_scene_mesh *mesh)
{
    int64_t numbers, points = mesh->control_points;
    double *offset = numbers_of(b, offsets, &numbers);
    double *moved = su_arena_alloc(b->arena, 3 * points, sizeof *moved);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    if (numbers < 0 || (numbers > 0 && numbers != 3 * (index ? count : points))) /* of none: normals alone turn */
        return su_usd_skel_refuse(b, shape, "its offsets do not fit its mesh");
    for (int64_t k = 0; k < numbers / 3; k++)
        memcpy(moved + 3 * (index ? index[k] : k), offset + 3 * k, 3 * sizeof *moved);
    double *to = mesh->shape_positions + 3 * mesh->vertices * mesh->shapes++;
    for (int64_t v = 0; v < mesh->vertices; v++)
        for (int c = 0; c < 3; c++) to[3 * v + c] = mesh->positions[3 * v + c] + moved[3 * mesh->control_point[v] + c];
    return SU_OK;
}

/* A BlendShape's inbetweens, and behind them the shape itself. */
static su_status add_channel(su_usd_skel *b, int64_t shape, su_usd_text token, su_scene_mesh *mesh,
                             su_shape_channel *channel)
{
    const su_usd_layer *layer = &b->layer;
    const char *name = su_usd_skel_text(b, token);
    int64_t count = 0;
    int32_t *index = NULL;
    double weight;
    if (su_usd_find(layer, shape, "pointIndices"))
        SU_TRY(whole_numbers(b, shape, "pointIndices", (double)mesh->control_points, &index, &count));
    if (count == 0) index = NULL; /* all of them */
    for (int64_t i = layer->prim[shape].attribute; i >= 0; i = layer->attribute[i].next) {
        if (!is_inbetween(&layer->attribute[i], &weight)) continue;
        channel->full[channel->shapes++] = weight;
        mesh->shape_names[mesh->shapes] = su_shape_between(b->arena, name, weight);
        SU_TRY(add_shape(b, shape, su_usd_first(&layer->attribute[i]), index, count, mesh));
    }
    channel->full[channel->shapes++] = 1;
    mesh->shape_names[mesh->shapes] = name;
    return add_shape(b, shape, su_usd_first(su_usd_find(layer, shape, "offsets")), index, count, mesh);
}

/* The shapes of a mesh's tokens, in their order. */
static su_status add_shapes(su_usd_skel *b, int64_t prim, su_scene_mesh *mesh, su_usd_shapes *out)
{
    const su_usd_layer *layer = &b->layer;
    int64_t wanted, shapes = 0;
    double weight;
    su_usd_text *token = su_usd_skel_tokens(b, su_usd_find(layer, prim, "skel:blendShapes"), &wanted);
    out->token = su_arena_alloc(b->arena, wanted, sizeof *out->token);
    out->channel = su_arena_alloc(b->arena, wanted, sizeof *out->channel);
    int64_t *shape = su_arena_alloc(b->arena, wanted, sizeof *shape);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    for (int64_t t = 0; t < wanted; t++) {
        int64_t own = blend_shape(b, prim, t, token[t]), between = 0;
        if (own < 0) continue;
        for (int64_t i = layer->prim[own].attribute; i >= 0; i = layer->attribute[i].next)
            between += is_inbetween(&layer->attribute[i], &weight);
        out->token[out->tokens] = token[t], shape[out->tokens] = own;
        out->channel[out->tokens++].full = su_arena_alloc(b->arena, between + 1, sizeof(double));
        shapes += between + 1;
    }
    mesh->shape_names = su_arena_alloc(b->arena, shapes, sizeof *mesh->shape_names);
    mesh->shape_defaults = su_arena_alloc(b->arena, shapes, sizeof *mesh->shape_defaults);
    mesh->shape_positions = su_arena_alloc(b->arena, shapes * 3 * mesh->vertices, sizeof *mesh->shape_positions);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    for (int64_t t = 0; t < out->tokens; t++) SU_TRY(add_channel(b, shape[t], out->token[t], mesh, &out->channel[t]));
    return SU_OK;
}

/* The material that a prim or one above it is bound to, entered by its name; -1: none, or no memory. */
static int32_t material_of(su_usd_skel *b, int64_t prim)
{
    su_usd_text name = {0};
    int64_t target = -1;
    bool found = false;
    for (int64_t at = prim; at >= 0 && !found; at = b->layer.prim[at].parent)
        found = su_usd_target(&b->layer, su_usd_find(&b->layer, at, "material:binding"), 0, &name, &target);
    if (!found) return -1;
    for (int64_t k = 0; k < b->out->materials; k++)
        if (su_usd_is(name, b->out->material[k].name)) return (int32_t)k;
    su_scene_material *own = &b->out->material[b->out->materials];
    *own = (su_scene_material){.name = su_usd_skel_text(b, name), .color = {0.8f, 0.8f, 0.8f, 1}, .surface = {0, 0.5f}};
    if (target >= 0) su_usd_surface(&b->layer, target, own->color, own->surface);
    return (int32_t)b->out->materials++;
}

/* That of the mesh for all polygons, those of its subsets for theirs. */
static su_status add_materials(su_usd_skel *b, int64_t prim, su_scene_mesh *mesh)
{
    mesh->face_material = su_arena_alloc(b->arena, mesh->polygons, sizeof *mesh->face_material);
    if (!mesh->face_material) return su_usd_skel_no_memory(b);
    int32_t own = material_of(b, prim);
    for (int64_t f = 0; f < mesh->polygons; f++) mesh->face_material[f] = own;
    for (int64_t i = prim + 1; i < b->layer.prims && b->layer.prim[i].parent >= prim; i++) {
        int64_t count;
        int32_t *face;
        if (b->layer.prim[i].parent != prim || !su_usd_skel_stands(&b->layer.prim[i], "GeomSubset")) continue;
        if (!su_usd_find(&b->layer, i, "material:binding")) continue;
        SU_TRY(whole_numbers(b, i, "indices", (double)mesh->polygons, &face, &count));
        own = material_of(b, i);
        for (int64_t k = 0; k < count; k++) mesh->face_material[face[k]] = own;
    }
    return SU_OK;
}

static su_status add_mesh(su_usd_skel *b, int64_t prim)
{
    const su_usd_skeleton *s = su_usd_has_joints(&b->layer, prim) ? su_usd_skel_of(b, prim) : NULL;
    su_scene_mesh *mesh = &b->out->mesh[b->out->meshes];
    int64_t numbers;
    int32_t node;
    mesh->positions = numbers_of(b, su_usd_first(su_usd_find(&b->layer, prim, "points")), &numbers);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    if (numbers == 0) return SU_OK; /* a mesh of nothing */
    if (numbers < 0 || numbers % 3) return su_usd_skel_refuse(b, prim, "its points cannot be read");
    mesh->name = su_usd_skel_text(b, b->layer.prim[prim].name);
    mesh->vertices = numbers / 3, mesh->source_mesh = b->out->meshes;
    SU_TRY(add_faces(b, prim, mesh));
    SU_TRY(add_materials(b, prim, mesh));
    SU_TRY(keep_order(b, mesh));
    SU_TRY(add_uv(b, prim, mesh));
    mesh->bone = su_arena_alloc(b->arena, 0, sizeof *mesh->bone);
    mesh->influence_vertex = su_arena_alloc(b->arena, 0, sizeof *mesh->influence_vertex);
    mesh->influence_weight = su_arena_alloc(b->arena, 0, sizeof *mesh->influence_weight);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    if (s) SU_TRY(add_skin(b, prim, s, mesh));
    for (int64_t at = prim; at >= 0; at = b->layer.prim[at].parent) { /* primvars are inherited */
        const su_usd_attribute *method = su_usd_find(&b->layer, at, "primvars:skel:skinningMethod");
        if (su_usd_is(su_usd_token(su_usd_first(method)), "dualQuaternion")) mesh->skinning = SU_SCENE_DUAL;
        if (method) break;
    }
    SU_TRY(add_shapes(b, prim, mesh, &b->shapes[b->out->meshes]));
    if (su_usd_is(su_usd_token(su_usd_first(su_usd_find(&b->layer, prim, "orientation"))), "leftHanded"))
        su_polygons_turn_round(mesh->polygons, mesh->face_counts, mesh->face_indices);
    SU_TRY(prim_node(b, prim, &node)); /* what a skeleton moves stands in its space, wherever the mesh does */
    b->instance_prim[b->out->instances] = prim;
    b->out->instance[b->out->instances++] = (su_scene_instance){node, (int32_t)b->out->meshes++};
    return SU_OK;
}

/* ---- the layer ---- */

static su_status read_layer(su_usd_skel *b)
{
    su_scene *s = b->out;
    int64_t prims = b->layer.prims, meshes = 0, animations = 0, bindings = 0, nodes = prims + 1;
    double identity[16];
    for (int64_t i = 0; i < prims; i++) {
        b->skeletons += su_usd_skel_stands(&b->layer.prim[i], "Skeleton");
        meshes += su_usd_skel_stands(&b->layer.prim[i], "Mesh"),
            bindings += su_usd_find(&b->layer, i, "material:binding") != NULL;
        animations += su_usd_skel_stands(&b->layer.prim[i], "SkelAnimation");
    }
    b->skeleton = su_arena_alloc(b->arena, b->skeletons, sizeof *b->skeleton);
    b->node_of = su_arena_alloc(b->arena, prims, sizeof *b->node_of);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    b->skeletons = 0;
    for (int64_t i = 0; i < prims; i++) {
        int64_t joints;
        b->node_of[i] = -1;
        if (!su_usd_skel_stands(&b->layer.prim[i], "Skeleton")) continue;
        (void)su_usd_skel_tokens(b, su_usd_find(&b->layer, i, "joints"), &joints);
        nodes += joints;
        b->skeleton[b->skeletons++] =
            (su_usd_skeleton){.prim = i, .animation = su_usd_skel_inherited(&b->layer, i, "skel:animationSource")};
    }
    s->node = su_arena_alloc(b->arena, nodes + meshes, sizeof *s->node);
    s->mesh = su_arena_alloc(b->arena, meshes, sizeof *s->mesh);
    s->instance = su_arena_alloc(b->arena, meshes, sizeof *s->instance);
    b->instance_prim = su_arena_alloc(b->arena, meshes, sizeof *b->instance_prim);
    b->shapes = su_arena_alloc(b->arena, meshes, sizeof *b->shapes);
    s->clip = su_arena_alloc(b->arena, animations + 1, sizeof *s->clip);
    s->material = su_arena_alloc(b->arena, bindings, sizeof *s->material);
    if (b->arena->failed) return su_usd_skel_no_memory(b);
    su_affine_identity(identity);
    add_node(b, "RootNode", -1, identity); /* the stage itself */
    for (int64_t k = 0; k < b->skeletons; k++) SU_TRY(add_skeleton(b, &b->skeleton[k]));
    bool renders = su_usd_has_renders(&b->layer);
    for (int64_t i = 0; i < prims; i++)
        if (su_usd_skel_stands(&b->layer.prim[i], "Mesh") && su_usd_visibility(&b->layer, i, renders) != SU_USD_HIDDEN)
            SU_TRY(add_mesh(b, i));
    return su_usd_skel_clips(b);
}

static su_status name_files(su_usd_skel *b)
{
    su_scene *s = b->out;
    s->file = su_arena_alloc(b->arena, b->layer.files, sizeof *s->file);
    if (!s->file) return su_usd_skel_no_memory(b);
    for (; s->files < b->layer.files; s->files++) {
        const char *path = b->layer.file[s->files];
        s->file[s->files] = su_usd_skel_text(b, (su_usd_text){path, (int64_t)strlen(path)});
    }
    return SU_OK;
}

int su_usd_skel_scene(const char *path, su_scene *scene, char *message, size_t message_size)
{
    su_usd_skel b = {.out = scene, .arena = &scene->arena};
    su_status status = su_usd_open(path, &b.layer, &b.err);
    scene->format = "USD", scene->exact = scene->mesh_is_node = true;
    if (status == SU_OK) {
        scene->up = b.layer.up == 'Z' ? 2 : 1;
        scene->unit = b.layer.says_meters ? b.layer.meters : 0;
        scene->frame_rate = b.layer.codes_per_second;
        if (b.layer.missing)
            scene->missing = su_usd_skel_text(&b, (su_usd_text){b.layer.missing, (int64_t)strlen(b.layer.missing)});
        status = name_files(&b);
        if (status == SU_OK) status = read_layer(&b);
        if (status == SU_OK && b.layer.no_memory) status = su_usd_skel_no_memory(&b);
    }
    if (status != SU_OK) snprintf(message, message_size, "%s", b.err.text);
    if (status == SU_AGAIN) scene->arena.failed = true; /* of the layer's memory, too */
    su_usd_close(&b.layer);
    return status != SU_OK;
}

su_status su_usd_is_skinned(const char *path, bool *skinned, su_error *err)
{
    su_usd_layer layer = {0};
    bool bones = false, skin = false, mesh = false, motion = false;
    su_status status = su_usd_open(path, &layer, err);
    for (int64_t i = 0; i < layer.prims && status == SU_OK; i++) {
        const su_usd_attribute *points = su_usd_find(&layer, i, "points");
        bones |= su_usd_skel_stands(&layer.prim[i], "Skeleton"),
            motion |= su_usd_skel_stands(&layer.prim[i], "SkelAnimation");
        mesh |= su_usd_skel_stands(&layer.prim[i], "Mesh");
        bool moved =
            su_usd_has_joints(&layer, i) || !su_usd_none(su_usd_first(su_usd_find(&layer, i, "skel:blendShapes")));
        skin |= su_usd_skel_stands(&layer.prim[i], "Mesh") && moved && !(points && points->samples > 1);
    }
    if (status == SU_OK && layer.no_memory) status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    su_usd_close(&layer);
    *skinned = bones && (skin || (motion && !mesh));
    return status == SU_AGAIN ? SU_AGAIN : SU_OK;
}
