#include "io/cache/glb.h"

#include "core/json_text.h"
#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "io/cache/glb_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a part goes. */
typedef struct place {
    int64_t node;
    int64_t carrier; /* joint that it hangs on as a whole, without a skin; -1: none */
    bool skinned, targets;
} place;

typedef struct writer {
    su_glb_file file;
    const su_glb *glb;
    const su_cache_parts *parts;
    place *place;                 /* (parts) */
    int32_t *slot;                /* (joints) number in the list of joints; -1: not in it */
    int64_t *joint_node;          /* (joints) */
    int64_t joints, nodes, roots; /* in the list; nodes written; those that stand in the scene */
    su_error *err;
} writer;

/* ---- vertices of a part ---- */

typedef struct corner_map {
    int64_t count;        /* glTF vertices: those of the part, then more for further texture coordinates */
    int32_t *vertex, *uv; /* (count) of the part; uv -1: none */
    int32_t *corner;      /* (corners) glTF vertex of each corner */
} corner_map;

/* Splits vertices by texture coordinate: each keeps its number with the first that its corners name. */
static su_status map_corners(const su_cache_part *p, corner_map *map, su_error *err)
{
    int32_t *next = NULL; /* chain of the glTF vertices of one vertex */
    su_status status;
    SU_GO(SU_ALLOC(&map->vertex, p->vertices + p->corners, "glTF vertices", err));
    SU_GO(SU_ALLOC(&map->uv, p->vertices + p->corners, "glTF vertices", err));
    SU_GO(SU_ALLOC(&map->corner, p->corners, "glTF vertices", err));
    SU_GO(SU_ALLOC(&next, p->vertices + p->corners, "glTF vertices", err));
    map->count = p->vertices;
    for (int64_t v = 0; v < p->vertices; v++) map->vertex[v] = (int32_t)v, map->uv[v] = next[v] = -1;
    for (int64_t k = 0; k < p->corners; k++) {
        int32_t v = p->face_indices[k], uv = p->uvs ? p->uv_indices[k] : -1, at = v;
        if (map->uv[v] < 0) map->uv[v] = uv;
        while (at >= 0 && map->uv[at] != uv) at = next[at];
        if (at < 0) {
            at = (int32_t)map->count++;
            map->vertex[at] = v, map->uv[at] = uv, next[at] = next[v], next[v] = at;
        }
        map->corner[k] = at;
    }
done:
    free(next);
    return status;
}

/* What vectors are. */
typedef enum vectors { POINTS, OFFSETS, NORMALS, NORMAL_OFFSETS } vectors;

/* from (layout vertices,3) at the split vertices of a part; by (16, NULL: none) takes them to another space. */
static int put_vectors(writer *w, const su_cache_part *p, const corner_map *map, const float *from, const double *by,
                       vectors kind)
{
    const float *normals = w->glb->targets->base_normal;
    float *data;
    double linear[9], turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, inverse[9];
    int index = su_glb_accessor(&w->file, map->count, 3, SU_GLB_FLOAT, SU_GLB_ATTRIBUTES, &data);
    if (index < 0) return -1;
    if (by) su_affine_linear(by, linear);
    if (by && su_inverse3(linear, inverse) != 0.0) /* normals: the inverse transpose */
        for (int i = 0; i < 9; i++) turn[i] = inverse[3 * (i % 3) + i / 3];
    for (int64_t i = 0; i < map->count; i++) {
        int64_t vertex = p->vertex[map->vertex[i]];
        double x[3], normal[3], out[3];
        for (int k = 0; k < 3; k++) {
            out[k] = x[k] = (double)from[3 * vertex + k];
            normal[k] = (double)normals[3 * vertex + k];
        }
        if (by && kind == POINTS) {
            su_affine_point(by, x, out);
        } else if (by && kind == OFFSETS) {
            su_mulv3(linear, x, out);
        } else if (by) { /* the offsets of a normal are scaled as the normal is */
            double turned[3], length;
            su_mulv3(turn, normal, turned);
            su_mulv3(turn, x, out);
            length = su_norm3(turned);
            for (int k = 0; k < 3; k++) out[k] = length > 0.0 ? out[k] / length : x[k];
        }
        for (int k = 0; k < 3; k++) data[3 * i + k] = (float)out[k];
    }
    if (kind == POINTS || kind == OFFSETS) su_glb_range(&w->file, index, map->count, 3, data);
    return index;
}

/* Triangles of some of the part's faces (NULL: of all that `left`, (faces), is set for). */
static int put_triangles(writer *w, const su_cache_part *p, const corner_map *map, const int64_t *first,
                         const su_cache_group *group, const bool *left)
{
    int64_t triangles = 0, faces = group ? group->faces : p->faces;
    uint32_t *data;
    for (int64_t i = 0; i < faces; i++) {
        int64_t f = group ? group->face[i] : i;
        if ((group || left[f]) && p->face_counts[f] > 2) triangles += p->face_counts[f] - 2;
    }
    int index = su_glb_accessor(&w->file, 3 * triangles, 1, SU_GLB_U32, SU_GLB_INDICES, &data);
    for (int64_t i = 0; i < faces && index >= 0; i++) {
        int64_t f = group ? group->face[i] : i, at = first[f];
        for (int32_t k = 2; k < p->face_counts[f] && (group || left[f]); k++, data += 3) {
            data[0] = (uint32_t)map->corner[at];
            data[1] = (uint32_t)map->corner[at + k - 1];
            data[2] = (uint32_t)map->corner[at + k];
        }
    }
    return index;
}

static int put_color(writer *w, const su_cache_part *p, const corner_map *map)
{
    float *data;
    int index = su_glb_accessor(&w->file, map->count, 4, SU_GLB_FLOAT, SU_GLB_ATTRIBUTES, &data);
    for (int64_t i = 0; i < map->count && index >= 0; i++)
        for (int k = 0; k < 4; k++) { /* the specification wants them within 0 and 1 */
            float c = p->color[4 * (int64_t)map->vertex[i] + k];
            data[4 * i + k] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
        }
    return index;
}

static int put_uv(writer *w, const su_cache_part *p, const corner_map *map)
{
    float *data;
    int index = su_glb_accessor(&w->file, map->count, 2, SU_GLB_FLOAT, SU_GLB_ATTRIBUTES, &data);
    for (int64_t i = 0; i < map->count && index >= 0; i++) {
        if (map->uv[i] < 0) continue; /* no polygon has it */
        data[2 * i] = p->uv[2 * (int64_t)map->uv[i]];
        data[2 * i + 1] = 1.0f - p->uv[2 * (int64_t)map->uv[i] + 1]; /* glTF counts v from the top */
    }
    return index;
}

/* The second set, a pair a vertex. */
static int put_lookup(writer *w, const su_cache_part *p, const corner_map *map)
{
    float *data;
    int index = su_glb_accessor(&w->file, map->count, 2, SU_GLB_FLOAT, SU_GLB_ATTRIBUTES, &data);
    for (int64_t i = 0; i < map->count && index >= 0; i++)
        memcpy(data + 2 * i, w->glb->lookup + 2 * (int64_t)p->vertex[map->vertex[i]], 2 * sizeof *data);
    return index;
}

/* Joints and weights in sets of four. */
static su_status put_influences(writer *w, const su_cache_part *p, const corner_map *map, json_t *attributes)
{
    const su_glb_skin *skin = w->glb->skin;
    for (int set = 0; 4 * set < skin->slots; set++) {
        bool wide = w->joints > 256;
        uint8_t *small = NULL;
        uint16_t *large = NULL;
        float *weights;
        char name[24];
        int joints = su_glb_accessor(&w->file, map->count, 4, wide ? SU_GLB_U16 : SU_GLB_U8, SU_GLB_ATTRIBUTES,
                                     wide ? (void *)&large : (void *)&small);
        if (joints < 0) return su_glb_no_memory(&w->file);
        for (int64_t i = 0; i < 4 * map->count; i++) {
            int64_t at = skin->source->skin_vertex[p->vertex[map->vertex[i / 4]]] * skin->slots + 4 * set + i % 4;
            int32_t slot = skin->weight[at] > 0.0f ? w->slot[skin->joint[at]] : 0;
            if (wide)
                large[i] = (uint16_t)slot;
            else
                small[i] = (uint8_t)slot;
        }
        int values = su_glb_accessor(&w->file, map->count, 4, SU_GLB_FLOAT, SU_GLB_ATTRIBUTES, &weights);
        if (values < 0) return su_glb_no_memory(&w->file);
        for (int64_t i = 0; i < 4 * map->count; i++)
            weights[i] =
                skin->weight[skin->source->skin_vertex[p->vertex[map->vertex[i / 4]]] * skin->slots + 4 * set + i % 4];
        snprintf(name, sizeof name, "JOINTS_%d", set);
        w->file.bad |= json_object_set_new(attributes, name, json_integer(joints));
        snprintf(name, sizeof name, "WEIGHTS_%d", set);
        w->file.bad |= json_object_set_new(attributes, name, json_integer(values));
    }
    return SU_OK;
}

static su_status put_targets(writer *w, const su_cache_part *p, const corner_map *map, const double *by,
                             json_t *targets)
{
    const su_glb_targets *t = w->glb->targets;
    for (int64_t k = 0; k < t->count; k++) {
        int64_t from = 3 * k * w->glb->vertices;
        int position = put_vectors(w, p, map, t->target + from, by, OFFSETS);
        int normal = position < 0 ? -1 : put_vectors(w, p, map, t->target_normal + from, by, NORMAL_OFFSETS);
        if (normal < 0) return su_glb_no_memory(&w->file);
        w->file.bad |= json_array_append_new(targets, json_pack("{s:i, s:i}", "POSITION", position, "NORMAL", normal));
    }
    return SU_OK;
}

/* Names of the targets where programs look for them, and weights before any clip plays: those of the first frame, with
 * a skin none, which is the rig alone. */
static void describe_targets(writer *w, json_t *mesh)
{
    const su_glb_targets *t = w->glb->targets;
    json_t *names = json_array(), *weights = json_array();
    for (int64_t k = 0; k < t->count; k++) {
        char name[40];
        snprintf(name, sizeof name, "%s_%lld", w->glb->skin ? "flesh" : "shape", (long long)k);
        w->file.bad |= json_array_append_new(names, json_string(name));
        w->file.bad |= json_array_append_new(weights, json_real(w->glb->skin ? 0.0 : (double)t->weights[k]));
    }
    w->file.bad |= json_object_set_new(mesh, "weights", weights);
    w->file.bad |= json_object_set_new(mesh, "extras", json_pack("{s:o}", "targetNames", names));
}

/* One primitive a material over the vertices of all, and one of the polygons without any. */
static su_status put_primitives(writer *w, const su_cache_part *p, const corner_map *map, json_t *attributes,
                                json_t *targets, json_t *primitives)
{
    int64_t *first = NULL, remain = p->faces; /* (faces) first corner */
    bool *left = NULL;                        /* (faces) of no material */
    su_status status;
    SU_GO(SU_ALLOC(&first, p->faces, "glTF primitives", w->err));
    SU_GO(SU_ALLOC(&left, p->faces, "glTF primitives", w->err));
    for (int64_t f = 0, at = 0; f < p->faces; at += p->face_counts[f], f++) first[f] = at, left[f] = true;
    for (int i = 0; i <= p->groups; i++) {
        const su_cache_group *group = i < p->groups ? &p->group[i] : NULL;
        if (group && group->material < 0) continue;
        if (!group && remain == 0 && json_array_size(primitives) > 0) break;
        int indices = put_triangles(w, p, map, first, group, left);
        if (indices < 0) {
            status = su_glb_no_memory(&w->file);
            goto done;
        }
        json_t *primitive = json_pack("{s:O, s:i}", "attributes", attributes, "indices", indices);
        if (targets) w->file.bad |= json_object_set(primitive, "targets", targets);
        if (group) w->file.bad |= json_object_set_new(primitive, "material", json_integer(group->material));
        w->file.bad |= json_array_append_new(primitives, primitive);
        for (int64_t k = 0; group && k < group->faces; k++) left[group->face[k]] = false;
        if (group) remain -= group->faces;
    }
done:
    free(first), free(left);
    return status;
}

static su_status put_part(writer *w, int number)
{
    const su_glb *g = w->glb;
    const su_cache_part *p = &w->parts->part[number];
    const place *to = &w->place[number];
    const double *by = to->carrier >= 0 ? g->skin->source->joint_bind + 16 * to->carrier : NULL;
    corner_map map = {0};
    json_t *targets = json_array(), *attributes = json_object(), *primitives = json_array();
    su_status status;
    SU_GO(map_corners(p, &map, w->err));
    int position = put_vectors(w, p, &map, g->targets->base, by, POINTS);
    int normal = position < 0 ? -1 : put_vectors(w, p, &map, g->targets->base_normal, by, NORMALS);
    int uv = p->uvs ? put_uv(w, p, &map) : 0, lookup = g->lookup ? put_lookup(w, p, &map) : 0;
    int color = p->color ? put_color(w, p, &map) : 0;
    if (position < 0 || normal < 0 || uv < 0 || lookup < 0 || color < 0) {
        status = su_glb_no_memory(&w->file);
        goto done;
    }
    if (to->skinned) SU_GO(put_influences(w, p, &map, attributes));
    if (to->targets) SU_GO(put_targets(w, p, &map, by, targets));
    w->file.bad |= json_object_set_new(attributes, "POSITION", json_integer(position));
    w->file.bad |= json_object_set_new(attributes, "NORMAL", json_integer(normal));
    if (p->uvs) w->file.bad |= json_object_set_new(attributes, "TEXCOORD_0", json_integer(uv));
    if (g->lookup)
        w->file.bad |= json_object_set_new(attributes, p->uvs ? "TEXCOORD_1" : "TEXCOORD_0", json_integer(lookup));
    if (p->color) w->file.bad |= json_object_set_new(attributes, "COLOR_0", json_integer(color));
    SU_GO(put_primitives(w, p, &map, attributes, to->targets ? targets : NULL, primitives));
    json_t *mesh = json_pack("{s:o, s:O}", "name", su_json_text(p->name, "mesh"), "primitives", primitives);
    if (to->targets) describe_targets(w, mesh);
    w->file.bad |= json_array_append_new(w->file.meshes, mesh);
done:
    free(map.vertex), free(map.uv), free(map.corner);
    json_decref(targets), json_decref(attributes), json_decref(primitives);
    return status;
}

/* ---- where parts go ---- */

/* Is there anything in the targets at the part's vertices? */
static bool has_flesh(const su_glb *g, const su_cache_part *p)
{
    for (int64_t k = 0; k < g->targets->count; k++)
        for (int64_t v = 0; v < p->vertices; v++) {
            const float *d = g->targets->target + 3 * (k * g->vertices + p->vertex[v]);
            if (d[0] != 0.0f || d[1] != 0.0f || d[2] != 0.0f) return true;
        }
    return false;
}

/* The joint of the part's own node that carries all of it; -1: none does. */
static int64_t carrier_of(const su_glb_skin *skin, const su_cache_part *p)
{
    const su_cache_skin *s = skin->source;
    for (int64_t v = 0; v < p->vertices; v++) {
        int64_t at = s->skin_vertex[p->vertex[v]] * skin->slots;
        if (skin->joint[at] != skin->joint[s->skin_vertex[p->vertex[0]] * skin->slots] || skin->weight[at] != 1.0f)
            return -1;
    }
    int64_t joint = p->vertices ? skin->joint[s->skin_vertex[p->vertex[0]] * skin->slots] : -1;
    return joint >= 0 && s->joint_node[joint] == s->object_node[p->object] ? joint : -1;
}

/* Joints that only carry parts without a skin are none of the skin's. */
static void list_joints(writer *w)
{
    const su_glb_skin *skin = w->glb->skin;
    const su_cache_skin *s = skin->source;
    for (int64_t j = 0; j < s->joints; j++) w->slot[j] = 0;
    for (int i = 0; i < w->parts->count; i++)
        if (w->place[i].carrier >= 0) w->slot[w->place[i].carrier] = -1;
    for (int i = 0; i < w->parts->count; i++)
        for (int64_t v = 0; v < w->parts->part[i].vertices && w->place[i].skinned; v++)
            for (int k = 0; k < skin->slots; k++) {
                int64_t at = s->skin_vertex[w->parts->part[i].vertex[v]] * skin->slots + k;
                if (skin->weight[at] > 0.0f) w->slot[skin->joint[at]] = 0;
            }
    bool skinned = false;
    for (int i = 0; i < w->parts->count; i++) skinned |= w->place[i].skinned;
    for (int64_t j = 0; j < s->joints; j++)
        if (w->slot[j] == 0 && skinned)
            w->slot[j] = (int32_t)w->joints++;
        else
            w->slot[j] = -1;
}

static bool is_joint(const writer *w, int64_t node)
{
    const su_cache_skin *s = w->glb->skin->source;
    for (int64_t j = 0; j < s->joints; j++)
        if (w->slot[j] >= 0 && s->joint_node[j] == node) return true;
    return false;
}

static su_status add_node(writer *w, const char *name, int64_t parent, int64_t *index)
{
    json_t *node = json_pack("{s:o}", "name", su_json_text(name, "node"));
    *index = (int64_t)json_array_size(w->file.nodes);
    w->file.bad |= json_array_append_new(w->file.nodes, node);
    if (parent < 0 || w->file.bad) return w->file.bad ? su_glb_no_memory(&w->file) : SU_OK;
    json_t *above = json_array_get(w->file.nodes, (size_t)parent), *children = json_object_get(above, "children");
    if (!children) {
        w->file.bad |= json_object_set_new(above, "children", json_array());
        children = json_object_get(above, "children");
    }
    w->file.bad |= json_array_append_new(children, json_integer((json_int_t)*index));
    return w->file.bad ? su_glb_no_memory(&w->file) : SU_OK;
}

static void set_numbers(writer *w, json_t *node, const char *name, int count, const double *values,
                        const double *without)
{
    bool same = true;
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        same &= (float)values[i] == (float)without[i];
        w->file.bad |= json_array_append_new(list, json_real((double)(float)values[i]));
    }
    if (same)
        json_decref(list);
    else
        w->file.bad |= json_object_set_new(node, name, list);
}

static void set_rest(writer *w, json_t *node, const double rest[16], bool matrix)
{
    static const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1}, still[4] = {0, 0, 0, 1};
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    double t[3], q[4], s[3], columns[16];
    for (int i = 0; i < 16; i++) columns[i] = rest[4 * (i % 4) + i / 4];
    if (matrix) {
        set_numbers(w, node, "matrix", 16, columns, identity);
        return;
    }
    su_affine_split(rest, t, q, s);
    const double turn[4] = {q[1], q[2], q[3], q[0]};
    set_numbers(w, node, "translation", 3, t, zero);
    set_numbers(w, node, "rotation", 4, turn, still);
    set_numbers(w, node, "scale", 3, s, one);
}

/* The source's tree, joints of one node under it, meshes that have no node of their own; each mesh on its node. */
static su_status place_on_tree(writer *w)
{
    const su_glb *g = w->glb;
    const su_cache_skin *s = g->skin->source;
    int64_t index;
    for (int i = 0; i < w->parts->count; i++) {
        const su_cache_part *p = &w->parts->part[i];
        place *to = &w->place[i];
        to->targets = has_flesh(g, p);
        to->carrier = carrier_of(g->skin, p);
        to->skinned = to->carrier < 0;
    }
    list_joints(w);
    for (int64_t n = 0; n < s->nodes; n++) {
        SU_TRY(add_node(w, s->node_names[n], s->node_parent[n], &index));
        set_rest(w, json_array_get(w->file.nodes, (size_t)index), s->node_rest + 16 * n, g->skin->fixed[n]);
    }
    for (int64_t j = 0; j < s->joints; j++) {
        w->joint_node[j] = s->joint_node[j];
        bool twin = false; /* a node that two meshes bind differently; a list of joints names each node once */
        for (int64_t k = 0; k < j && w->slot[j] >= 0; k++)
            twin |= w->slot[k] >= 0 && s->joint_node[k] == s->joint_node[j];
        if (twin) SU_TRY(add_node(w, s->node_names[s->joint_node[j]], s->joint_node[j], &w->joint_node[j]));
    }
    for (int i = 0; i < w->parts->count; i++) {
        place *to = &w->place[i];
        to->node = s->object_node[w->parts->part[i].object];
        json_t *node = json_array_get(w->file.nodes, (size_t)to->node);
        if (json_object_get(node, "mesh") || (to->skinned && is_joint(w, to->node))) {
            /* skinning does not ask where its mesh stands; a carried one stays below its node */
            SU_TRY(add_node(w, w->parts->part[i].name, to->skinned ? -1 : to->node, &to->node));
            node = json_array_get(w->file.nodes, (size_t)to->node);
        }
        w->file.bad |= json_object_set_new(node, "mesh", json_integer(i));
        if (to->skinned) w->file.bad |= json_object_set_new(node, "skin", json_integer(0));
    }
    return SU_OK;
}

/* All meshes under one node. */
static su_status place_on_root(writer *w)
{
    int64_t root;
    SU_TRY(add_node(w, "root", -1, &root));
    for (int i = 0; i < w->parts->count; i++) {
        place *to = &w->place[i];
        to->carrier = -1, to->targets = w->glb->targets->count > 0;
        SU_TRY(add_node(w, w->parts->part[i].name, root, &to->node));
        w->file.bad |= json_object_set_new(json_array_get(w->file.nodes, (size_t)to->node), "mesh", json_integer(i));
    }
    return SU_OK;
}

static su_status put_skin(writer *w)
{
    const su_cache_skin *s = w->glb->skin->source;
    json_t *joints = json_array();
    float *data;
    if (w->joints == 0) {
        json_decref(joints);
        return SU_OK;
    }
    int matrices = su_glb_accessor(&w->file, w->joints, 16, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &data);
    for (int64_t j = 0; j < s->joints && matrices >= 0; j++) {
        if (w->slot[j] < 0) continue;
        w->file.bad |= json_array_append_new(joints, json_integer((json_int_t)w->joint_node[j]));
        for (int i = 0; i < 16; i++) /* columns */
            data[16 * w->slot[j] + i] = (float)s->joint_bind[16 * j + 4 * (i % 4) + i / 4];
    }
    w->file.bad |= json_array_append_new(w->file.skins,
                                         json_pack("{s:o, s:i}", "joints", joints, "inverseBindMatrices", matrices));
    return matrices < 0 ? su_glb_no_memory(&w->file) : SU_OK;
}

/* ---- the clip ---- */

static void add_channel(writer *w, int input, int output, int64_t node, const char *path)
{
    w->file.bad |= json_array_append_new(
        w->file.samplers, json_pack("{s:i, s:i, s:s}", "input", input, "output", output, "interpolation", "LINEAR"));
    w->file.bad |= json_array_append_new(w->file.channels, json_pack("{s:i, s:{s:I, s:s}}", "sampler",
                                                                     (int)json_array_size(w->file.samplers) - 1,
                                                                     "target", "node", (json_int_t)node, "path", path));
}

/* keys (frames,4) w x y z as glTF has them, each on the side of the one before. */
static void order_quaternions(int64_t frames, const float *keys, int64_t stride, float *out)
{
    for (int64_t f = 0; f < frames; f++, out += 4) {
        double dot = 0.0;
        for (int i = 0; i < 4; i++) out[i] = keys[f * stride + (i + 1) % 4];
        for (int i = 0; i < 4 && f > 0; i++) dot += (double)out[i] * (double)out[i - 4];
        for (int i = 0; i < 4 && dot < 0.0; i++) out[i] = -out[i]; /* the short way between keys */
    }
}

static su_status put_root(writer *w, int input)
{
    const su_glb *g = w->glb;
    float *translation, *rotation, *turns = NULL;
    int moves = su_glb_accessor(&w->file, g->frames, 3, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &translation);
    if (moves < 0) return su_glb_no_memory(&w->file);
    for (int64_t f = 0; f < g->frames; f++)
        for (int i = 0; i < 3; i++) translation[3 * f + i] = (float)g->root[16 * f + 4 * i + 3];
    int index = su_glb_accessor(&w->file, g->frames, 4, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &rotation);
    if (index < 0) return su_glb_no_memory(&w->file);
    SU_TRY(SU_ALLOC(&turns, 4 * g->frames, "glTF keys", w->err));
    for (int64_t f = 0; f < g->frames; f++) {
        double r[9], q[4];
        su_affine_linear(g->root + 16 * f, r);
        su_quaternion_of(r, q);
        for (int i = 0; i < 4; i++) turns[4 * f + i] = (float)q[i];
    }
    order_quaternions(g->frames, turns, 4, rotation);
    free(turns);
    add_channel(w, input, moves, 0, "translation");
    add_channel(w, input, index, 0, "rotation");
    return SU_OK;
}

/* A track of a node: none where it stays at its rest, one key where it stays elsewhere. */
static su_status put_track(writer *w, int input, int *start, int64_t node, const double rest[10], int first, int width,
                           const char *path)
{
    const su_cache_skin *s = w->glb->skin->source;
    const float *keys = s->node_keys + 10 * node + first;
    int64_t stride = 10 * s->nodes, frames = w->glb->frames;
    bool moves = false, away = false;
    float *data;
    for (int i = 0; i < width; i++) {
        away |= keys[i] != (float)rest[first + i];
        for (int64_t f = 1; f < frames; f++) moves |= keys[f * stride + i] != keys[i];
    }
    if (!moves && !away) return SU_OK;
    if (!moves && *start < 0) {
        if ((*start = su_glb_accessor(&w->file, 1, 1, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &data)) < 0)
            return su_glb_no_memory(&w->file);
        su_glb_range(&w->file, *start, 1, 1, data);
    }
    int64_t count = moves ? frames : 1;
    int output = su_glb_accessor(&w->file, count, width, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &data);
    if (output < 0) return su_glb_no_memory(&w->file);
    if (width == 4)
        order_quaternions(count, keys, stride, data);
    else
        for (int64_t f = 0; f < count; f++) memcpy(data + 3 * f, keys + f * stride, 3 * sizeof *data);
    add_channel(w, moves ? input : *start, output, node, path);
    return SU_OK;
}

static su_status put_nodes(writer *w, int input)
{
    const su_glb_skin *skin = w->glb->skin;
    int start = -1; /* key times of tracks with one key */
    for (int64_t n = 0; n < skin->source->nodes; n++) {
        double rest[10];
        if (skin->fixed[n]) continue;
        su_affine_split(skin->source->node_rest + 16 * n, rest, rest + 3, rest + 7);
        SU_TRY(put_track(w, input, &start, n, rest, 0, 3, "translation"));
        SU_TRY(put_track(w, input, &start, n, rest, 3, 4, "rotation"));
        SU_TRY(put_track(w, input, &start, n, rest, 7, 3, "scale"));
    }
    return SU_OK;
}

static su_status put_clip(writer *w)
{
    const su_glb *g = w->glb;
    float *times, *weights;
    int input = su_glb_accessor(&w->file, g->frames, 1, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &times);
    if (input < 0) return su_glb_no_memory(&w->file);
    for (int64_t f = 0; f < g->frames; f++) times[f] = (float)((double)f / g->fps);
    su_glb_range(&w->file, input, g->frames, 1, times);
    if (g->skin)
        SU_TRY(put_nodes(w, input));
    else if (g->root)
        SU_TRY(put_root(w, input));
    bool any = false;
    for (int i = 0; i < w->parts->count; i++) any |= w->place[i].targets;
    if (!any) return SU_OK;
    int64_t count = g->frames * g->targets->count;
    int output = su_glb_accessor(&w->file, count, 1, SU_GLB_FLOAT, SU_GLB_NO_TARGET, &weights);
    if (output < 0) return su_glb_no_memory(&w->file);
    memcpy(weights, g->targets->weights, (size_t)count * sizeof *weights);
    for (int i = 0; i < w->parts->count; i++)
        if (w->place[i].targets) add_channel(w, input, output, w->place[i].node, "weights");
    return SU_OK;
}

/* ---- the file ---- */

/* Nodes that none has as a child. New reference; NULL: no memory. */
static json_t *roots_of(writer *w)
{
    size_t count = json_array_size(w->file.nodes), i, k;
    json_t *roots = json_array(), *node, *child;
    uint8_t *below = su_calloc((int64_t)count, 1);
    json_array_foreach(w->file.nodes, i, node)
        json_array_foreach(json_object_get(node, "children"), k, child) if (below) below[json_integer_value(child)] = 1;
    for (i = 0; i < count && below; i++)
        if (!below[i]) w->file.bad |= json_array_append_new(roots, json_integer((json_int_t)i));
    w->file.bad |= !below;
    free(below);
    return roots;
}

/* New reference. */
static json_t *materials_of(writer *w)
{
    const su_looks *looks = w->glb->looks;
    json_t *list = json_array();
    for (int64_t i = 0; looks && i < looks->materials; i++) {
        double color[4], surface[2];
        for (int k = 0; k < 4; k++) color[k] = fmin(fmax((double)looks->color[4 * i + k], 0.0), 1.0);
        for (int k = 0; k < 2; k++) surface[k] = fmin(fmax((double)looks->surface[2 * i + k], 0.0), 1.0);
        json_t *material =
            json_pack("{s:o, s:{s:[f,f,f,f], s:f, s:f}}", "name", su_json_text(looks->material_names[i], "material"),
                      "pbrMetallicRoughness", "baseColorFactor", color[0], color[1], color[2], color[3],
                      "metallicFactor", surface[0], "roughnessFactor", surface[1]);
        if (material && color[3] < 1.0) w->file.bad |= json_object_set_new(material, "alphaMode", json_string("BLEND"));
        w->file.bad |= json_array_append_new(list, material);
    }
    return list;
}

static json_t *document(writer *w)
{
    const su_glb *g = w->glb;
    json_t *document =
        json_pack("{s:{s:s, s:o, s:{s:o, s:f, s:f}}, s:i, s:[{s:o}], s:O, s:O, s:O, s:O, s:[{s:I}]}", "asset",
                  "version", "2.0", "generator", su_json_text(g->application, ""), "extras", "provenance",
                  su_json_text(g->provenance, ""), "frame_start", g->frame_start, "fps", g->fps, "scene", 0, "scenes",
                  "nodes", roots_of(w), "nodes", w->file.nodes, "meshes", w->file.meshes, "accessors",
                  w->file.accessors, "bufferViews", w->file.views, "buffers", "byteLength", (json_int_t)w->file.count);
    if (document && json_array_size(w->file.skins)) w->file.bad |= json_object_set(document, "skins", w->file.skins);
    json_t *materials = materials_of(w);
    if (document && json_array_size(materials)) w->file.bad |= json_object_set(document, "materials", materials);
    json_decref(materials);
    if (document && json_array_size(w->file.channels))
        w->file.bad |= json_object_set_new(document, "animations",
                                           json_pack("[{s:o, s:O, s:O}]", "name", su_json_text(g->name, "bake"),
                                                     "channels", w->file.channels, "samplers", w->file.samplers));
    return document;
}

su_status su_glb_save(const char *path, const su_glb *glb, const su_cache_parts *parts, su_error *err)
{
    writer w = {.glb = glb, .parts = parts, .err = err};
    int64_t joints = glb->skin ? glb->skin->source->joints : 0;
    json_t *json = NULL;
    su_status status;
    su_glb_file_begin(&w.file, err);
    SU_GO(SU_ALLOC(&w.place, parts->count, "a glTF file", err));
    SU_GO(SU_ALLOC(&w.slot, joints, "a glTF file", err));
    SU_GO(SU_ALLOC(&w.joint_node, joints, "a glTF file", err));
    SU_GO(glb->skin ? place_on_tree(&w) : place_on_root(&w));
    for (int i = 0; i < parts->count; i++) SU_GO(put_part(&w, i));
    if (glb->skin) SU_GO(put_skin(&w));
    if (glb->frames > 0) SU_GO(put_clip(&w));
    json = document(&w);
    status = su_glb_write(&w.file, path, json);
done:
    json_decref(json);
    su_glb_file_free(&w.file);
    free(w.place), free(w.slot), free(w.joint_node);
    return status;
}
