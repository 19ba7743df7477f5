#include "io/cache/glb_internal.h"

#include "core/json_text.h"
#include "core/memory.h"
#include "geometry/affine.h"
#include "geometry/mat3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static int put_vectors(su_glb_writer *w, const su_cache_part *p, const corner_map *map, const float *from,
                       const double *by, vectors kind)
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
static int put_triangles(su_glb_writer *w, const su_cache_part *p, const corner_map *map, const int64_t *first,
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

static int put_color(su_glb_writer *w, const su_cache_part *p, const corner_map *map)
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

static int put_uv(su_glb_writer *w, const su_cache_part *p, const corner_map *map)
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
static int put_lookup(su_glb_writer *w, const su_cache_part *p, const corner_map *map)
{
    float *data;
    int index = su_glb_accessor(&w->file, map->count, 2, SU_GLB_FLOAT, SU_GLB_ATTRIBUTES, &data);
    for (int64_t i = 0; i < map->count && index >= 0; i++)
        memcpy(data + 2 * i, w->glb->lookup + 2 * (int64_t)p->vertex[map->vertex[i]], 2 * sizeof *data);
    return index;
}

/* Joints and weights in sets of four. */
static su_status put_influences(su_glb_writer *w, const su_cache_part *p, const corner_map *map, json_t *attributes)
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

static su_status put_targets(su_glb_writer *w, const su_cache_part *p, const corner_map *map, const double *by,
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
static void describe_targets(su_glb_writer *w, json_t *mesh)
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
static su_status put_primitives(su_glb_writer *w, const su_cache_part *p, const corner_map *map, json_t *attributes,
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

su_status su_glb_put_part(su_glb_writer *w, int number)
{
    const su_glb *g = w->glb;
    const su_cache_part *p = &w->parts->part[number];
    const su_glb_place *to = &w->place[number];
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
