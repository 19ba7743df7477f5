#include "io/cache/glb.h"

#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "geometry/rotation.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT = 5126, U32 = 5125, ARRAY_BUFFER = 34962, ELEMENT_BUFFER = 34963 };

typedef struct writer {
    const su_glb_morphs *morphs;
    json_t *views, *accessors, *meshes, *nodes, *channels, *samplers;
    uint8_t *data; /* the binary chunk */
    size_t count, capacity;
    int bad; /* something of the JSON could not be added: no memory */
    su_error *err;
} writer;

/* ---- the binary chunk ---- */

static void *extend(writer *w, size_t bytes)
{
    size_t room = (bytes + 3) & ~(size_t)3;
    if (room > w->capacity - w->count) {
        size_t capacity = 2 * w->capacity + room + 4096;
        uint8_t *grown = realloc(w->data, capacity);
        if (!grown) return NULL;
        w->data = grown, w->capacity = capacity;
    }
    void *at = w->data + w->count;
    memset(at, 0, room);
    w->count += room;
    return at;
}

/* A new accessor over its own view; -1: no memory. *data: where its elements go (width numbers of 4 bytes each). */
static int accessor(writer *w, int64_t elements, int width, int type, int target, void *data_pointer)
{
    static const char *const names[] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
    size_t bytes = (size_t)elements * (size_t)width * 4, offset = w->count;
    void *data = extend(w, bytes);
    if (!data) return -1;
    memcpy(data_pointer, &data, sizeof data);
    json_t *view =
        json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)offset, "byteLength", (json_int_t)bytes);
    if (target) w->bad |= json_object_set_new(view, "target", json_integer(target));
    w->bad |= json_array_append_new(w->views, view);
    w->bad |= json_array_append_new(w->accessors, json_pack("{s:I, s:i, s:I, s:s}", "bufferView",
                                                            (json_int_t)json_array_size(w->views) - 1, "componentType",
                                                            type, "count", (json_int_t)elements, "type", names[width]));
    return (int)json_array_size(w->accessors) - 1;
}

/* glTF wants the range of positions and of key times. */
static void set_range(writer *w, int index, int64_t elements, int width, const float *values)
{
    json_t *low = json_array(), *high = json_array(), *object = json_array_get(w->accessors, (size_t)index);
    for (int c = 0; c < width; c++) {
        float a = FLT_MAX, b = -FLT_MAX;
        for (int64_t i = 0; i < elements; i++) a = fminf(a, values[width * i + c]), b = fmaxf(b, values[width * i + c]);
        w->bad |= json_array_append_new(low, json_real((double)a));
        w->bad |= json_array_append_new(high, json_real((double)b));
    }
    w->bad |= json_object_set_new(object, "min", low);
    w->bad |= json_object_set_new(object, "max", high);
}

static su_status no_memory(writer *w) { return su_fail(w->err, SU_AGAIN, "out of memory for a glTF file"); }

/* ---- one part ---- */

typedef struct corner_map {
    int64_t count;        /* glTF vertices */
    int32_t *vertex, *uv; /* (count) of the part; uv -1: none */
    int32_t *corner;      /* (corners) glTF vertex of each corner */
} corner_map;

/* Splits vertices by texture coordinate: chains of (vertex, uv) pairs, numbered by first use. */
static su_status map_corners(writer *w, const su_cache_part *p, corner_map *map)
{
    int32_t *first = NULL, *next = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&map->vertex, p->corners, "glTF vertices", w->err));
    SU_GO(SU_ALLOC(&map->uv, p->corners, "glTF vertices", w->err));
    SU_GO(SU_ALLOC(&map->corner, p->corners, "glTF vertices", w->err));
    SU_GO(SU_ALLOC(&first, p->vertices, "glTF vertices", w->err));
    SU_GO(SU_ALLOC(&next, p->corners, "glTF vertices", w->err));
    for (int64_t v = 0; v < p->vertices; v++) first[v] = -1;
    for (int64_t k = 0; k < p->corners; k++) {
        int32_t v = p->face_indices[k], uv = p->uvs ? p->uv_indices[k] : -1, at = first[v];
        while (at >= 0 && map->uv[at] != uv) at = next[at];
        if (at < 0) {
            at = (int32_t)map->count++;
            map->vertex[at] = v, map->uv[at] = uv, next[at] = first[v], first[v] = at;
        }
        map->corner[k] = at;
    }
done:
    free(first);
    free(next);
    return status;
}

/* Area-weighted normals of the part's vertices at positions (vertices,3) + amount * shape. */
static void part_normals(const su_cache_part *p, const float *base, const float *shape, float amount, float *normals)
{
    memset(normals, 0, (size_t)p->vertices * 3 * sizeof *normals);
    for (int64_t f = 0, at = 0; f < p->faces; at += p->face_counts[f], f++)
        for (int32_t k = 2; k < p->face_counts[f]; k++) {
            const int32_t corner[3] = {p->face_indices[at], p->face_indices[at + k - 1], p->face_indices[at + k]};
            double x[3][3], a[3], b[3];
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < 3; i++) {
                    int64_t from = 3 * (int64_t)p->vertex[corner[c]] + i;
                    x[c][i] = (double)base[from] + (shape ? (double)amount * (double)shape[from] : 0.0);
                }
            for (int i = 0; i < 3; i++) a[i] = x[1][i] - x[0][i], b[i] = x[2][i] - x[0][i];
            const double n[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < 3; i++) normals[3 * corner[c] + i] += (float)n[i];
        }
    for (int64_t v = 0; v < p->vertices; v++) {
        float *n = normals + 3 * v, length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        if (length > 0.0f)
            for (int i = 0; i < 3; i++) n[i] /= length;
        else
            n[0] = n[2] = 0.0f, n[1] = 1.0f;
    }
}

/* A VEC3 accessor of values at the part's split vertices; from (.,3) indexed by the layout (through part->vertex) or by
 * the part. */
static int put_vectors(writer *w, const su_cache_part *p, const corner_map *map, const float *from, bool of_layout,
                       bool range)
{
    float *data;
    int index = accessor(w, map->count, 3, FLOAT, ARRAY_BUFFER, &data);
    if (index < 0) return -1;
    for (int64_t i = 0; i < map->count; i++) {
        int64_t v = of_layout ? p->vertex[map->vertex[i]] : map->vertex[i];
        memcpy(data + 3 * i, from + 3 * v, 3 * sizeof *data);
    }
    if (range) set_range(w, index, map->count, 3, data);
    return index;
}

static int put_triangles(writer *w, const su_cache_part *p, const corner_map *map)
{
    int64_t triangles = 0;
    uint32_t *data;
    for (int64_t f = 0; f < p->faces; f++) triangles += p->face_counts[f] > 2 ? p->face_counts[f] - 2 : 0;
    int index = accessor(w, 3 * triangles, 1, U32, ELEMENT_BUFFER, &data);
    if (index < 0) return -1;
    for (int64_t f = 0, at = 0; f < p->faces; at += p->face_counts[f], f++)
        for (int32_t k = 2; k < p->face_counts[f]; k++, data += 3) {
            data[0] = (uint32_t)map->corner[at];
            data[1] = (uint32_t)map->corner[at + k - 1];
            data[2] = (uint32_t)map->corner[at + k];
        }
    return index;
}

static int put_uv(writer *w, const su_cache_part *p, const corner_map *map)
{
    float *data;
    int index = accessor(w, map->count, 2, FLOAT, ARRAY_BUFFER, &data);
    for (int64_t i = 0; i < map->count && index >= 0; i++) {
        data[2 * i] = p->uv[2 * (int64_t)map->uv[i]];
        data[2 * i + 1] = 1.0f - p->uv[2 * (int64_t)map->uv[i] + 1]; /* glTF counts v from the top */
    }
    return index;
}

/* The second set, a pair a vertex. */
static int put_lookup(writer *w, const su_cache_part *p, const corner_map *map)
{
    float *data;
    int index = accessor(w, map->count, 2, FLOAT, ARRAY_BUFFER, &data);
    for (int64_t i = 0; i < map->count && index >= 0; i++)
        memcpy(data + 2 * i, w->morphs->lookup + 2 * (int64_t)p->vertex[map->vertex[i]], 2 * sizeof *data);
    return index;
}

static su_status put_targets(writer *w, const su_cache_part *p, const corner_map *map, const float *normals,
                             json_t *targets)
{
    const su_glb_morphs *m = w->morphs;
    float *moved = NULL;
    SU_TRY(SU_ALLOC(&moved, 3 * p->vertices, "glTF normals", w->err));
    su_status status = SU_OK;
    for (int64_t k = 0; k < m->shapes && status == SU_OK; k++) {
        const float *shape = m->shape + 3 * k * m->vertices;
        part_normals(p, m->base, shape, 1.0f, moved);
        for (int64_t i = 0; i < 3 * p->vertices; i++) moved[i] -= normals[i];
        int position = put_vectors(w, p, map, shape, true, true), normal = put_vectors(w, p, map, moved, false, false);
        if (position < 0 || normal < 0)
            status = no_memory(w);
        else
            w->bad |= json_array_append_new(targets, json_pack("{s:i, s:i}", "POSITION", position, "NORMAL", normal));
    }
    free(moved);
    return status;
}

static su_status put_part(writer *w, const su_cache_part *p)
{
    const su_glb_morphs *m = w->morphs;
    corner_map map = {0};
    float *normals = NULL;
    json_t *targets = json_array(), *start = json_array(), *attributes = json_object();
    su_status status;
    SU_GO(map_corners(w, p, &map));
    SU_GO(SU_ALLOC(&normals, 3 * p->vertices, "glTF normals", w->err));
    part_normals(p, m->base, NULL, 0.0f, normals);
    int position = put_vectors(w, p, &map, m->base, true, true),
        normal = put_vectors(w, p, &map, normals, false, false);
    int uv = p->uvs ? put_uv(w, p, &map) : 0, lookup = m->lookup ? put_lookup(w, p, &map) : 0,
        indices = put_triangles(w, p, &map);
    if (position < 0 || normal < 0 || uv < 0 || lookup < 0 || indices < 0) {
        status = no_memory(w);
        goto done;
    }
    SU_GO(put_targets(w, p, &map, normals, targets));
    w->bad |= json_object_set_new(attributes, "POSITION", json_integer(position));
    w->bad |= json_object_set_new(attributes, "NORMAL", json_integer(normal));
    if (p->uvs) w->bad |= json_object_set_new(attributes, "TEXCOORD_0", json_integer(uv));
    if (m->lookup)
        w->bad |= json_object_set_new(attributes, p->uvs ? "TEXCOORD_1" : "TEXCOORD_0", json_integer(lookup));
    for (int64_t k = 0; k < m->shapes; k++) w->bad |= json_array_append_new(start, json_real((double)m->weights[k]));
    json_t *primitive = json_pack("{s:O, s:i}", "attributes", attributes, "indices", indices);
    if (m->shapes) w->bad |= json_object_set(primitive, "targets", targets);
    json_t *mesh = json_pack("{s:o, s:[o]}", "name", su_json_text(p->name, "mesh"), "primitives", primitive);
    if (m->shapes) w->bad |= json_object_set(mesh, "weights", start);
    w->bad |= json_array_append_new(w->meshes, mesh);
done:
    free(normals), free(map.vertex), free(map.uv), free(map.corner);
    json_decref(targets), json_decref(start), json_decref(attributes);
    return status;
}

/* ---- the clip ---- */

static void add_channel(writer *w, int input, int output, int node, const char *path)
{
    w->bad |= json_array_append_new(
        w->samplers, json_pack("{s:i, s:i, s:s}", "input", input, "output", output, "interpolation", "LINEAR"));
    w->bad |= json_array_append_new(w->channels,
                                    json_pack("{s:i, s:{s:i, s:s}}", "sampler", (int)json_array_size(w->samplers) - 1,
                                              "target", "node", node, "path", path));
}

static su_status put_clip(writer *w, int parts)
{
    const su_glb_morphs *m = w->morphs;
    float *times, *translation, *rotation, *weights;
    int input = accessor(w, m->frames, 1, FLOAT, 0, &times);
    if (input < 0) return no_memory(w);
    for (int64_t f = 0; f < m->frames; f++) times[f] = (float)((double)f / m->fps);
    set_range(w, input, m->frames, 1, times);
    if (m->root) {
        int moves = accessor(w, m->frames, 3, FLOAT, 0, &translation);
        if (moves < 0) return no_memory(w);
        for (int64_t f = 0; f < m->frames; f++)
            for (int i = 0; i < 3; i++) translation[3 * f + i] = (float)m->root[16 * f + 4 * i + 3];
        int turns = accessor(w, m->frames, 4, FLOAT, 0, &rotation);
        if (turns < 0) return no_memory(w);
        for (int64_t f = 0; f < m->frames; f++) {
            double r[9], q[4], dot = 0.0;
            for (int i = 0; i < 9; i++) r[i] = m->root[16 * f + 4 * (i / 3) + i % 3];
            su_quaternion_of(r, q);
            float *out = rotation + 4 * f;
            for (int i = 0; i < 4; i++) out[i] = (float)q[(i + 1) % 4]; /* x y z w */
            for (int i = 0; i < 4 && f > 0; i++) dot += (double)out[i] * (double)out[i - 4];
            for (int i = 0; i < 4 && dot < 0.0; i++) out[i] = -out[i]; /* the short way between keys */
        }
        add_channel(w, input, moves, 0, "translation");
        add_channel(w, input, turns, 0, "rotation");
    }
    if (!m->shapes) return SU_OK;
    int output = accessor(w, m->frames * m->shapes, 1, FLOAT, 0, &weights);
    if (output < 0) return no_memory(w);
    memcpy(weights, m->weights, (size_t)(m->frames * m->shapes) * sizeof *weights);
    for (int i = 0; i < parts; i++) add_channel(w, input, output, 1 + i, "weights");
    return SU_OK;
}

/* ---- the file ---- */

static json_t *document(writer *w, const su_cache_parts *parts)
{
    const su_glb_morphs *m = w->morphs;
    json_t *children = json_array();
    for (int i = 0; i < parts->count; i++) {
        w->bad |= json_array_append_new(children, json_integer(1 + i));
        w->bad |= json_array_append_new(
            w->nodes, json_pack("{s:o, s:i}", "name", su_json_text(parts->part[i].name, "mesh"), "mesh", i));
    }
    w->bad |= json_array_insert_new(w->nodes, 0, json_pack("{s:s, s:o}", "name", "root", "children", children));
    json_t *document = json_pack(
        "{s:{s:s, s:o, s:{s:o, s:f, s:f}}, s:i, s:[{s:[i]}], s:O, s:O, s:O, s:O, s:[{s:I}]}", "asset", "version", "2.0",
        "generator", su_json_text(m->application, ""), "extras", "provenance", su_json_text(m->provenance, ""),
        "frame_start", m->frame_start, "fps", m->fps, "scene", 0, "scenes", "nodes", 0, "nodes", w->nodes, "meshes",
        w->meshes, "accessors", w->accessors, "bufferViews", w->views, "buffers", "byteLength", (json_int_t)w->count);
    if (document && json_array_size(w->channels))
        w->bad |= json_object_set_new(document, "animations",
                                      json_pack("[{s:s, s:O, s:O}]", "name", m->name ? m->name : "bake", "channels",
                                                w->channels, "samplers", w->samplers));
    return document;
}

static su_status write_file(writer *w, const char *path, const json_t *document)
{
    char *text = document && !w->bad ? su_json_dump(document, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (!text) return no_memory(w);
    size_t length = strlen(text), padded = (length + 3) & ~(size_t)3;
    uint64_t total = 12 + 8 + (uint64_t)padded + 8 + w->count;
    su_output out = {0};
    su_status status;
    if (total > UINT32_MAX) {
        status = su_fail(w->err, SU_FAILED, "%s: would need %llu bytes, glTF ends at 4 GiB; write fewer --morphs", path,
                         (unsigned long long)total);
        goto done;
    }
    const uint32_t head[5] = {0x46546c67, 2, (uint32_t)total, (uint32_t)padded, 0x4e4f534a}; /* glTF, JSON */
    const uint32_t binary[2] = {(uint32_t)w->count, 0x004e4942};                             /* BIN */
    SU_GO(su_output_open(&out, path, w->err));
    SU_GO(su_output_write(&out, head, sizeof head, w->err));
    SU_GO(su_output_write(&out, text, length, w->err));
    SU_GO(su_output_write(&out, "   ", padded - length, w->err));
    SU_GO(su_output_write(&out, binary, sizeof binary, w->err));
    SU_GO(su_output_write(&out, w->data, w->count, w->err));
    SU_GO(su_output_commit(&out, w->err));
done:
    su_output_abandon(&out);
    free(text);
    return status;
}

su_status su_glb_save(const char *path, const su_glb_morphs *morphs, const su_cache_parts *parts, su_error *err)
{
    writer w = {.morphs = morphs,
                .views = json_array(),
                .accessors = json_array(),
                .meshes = json_array(),
                .nodes = json_array(),
                .channels = json_array(),
                .samplers = json_array(),
                .err = err};
    su_status status = SU_OK;
    json_t *json = NULL;
    for (int i = 0; i < parts->count && status == SU_OK; i++) status = put_part(&w, &parts->part[i]);
    if (status == SU_OK && morphs->frames > 0) status = put_clip(&w, parts->count);
    if (status == SU_OK) {
        json = document(&w, parts);
        status = write_file(&w, path, json);
    }
    json_decref(json);
    json_decref(w.views), json_decref(w.accessors), json_decref(w.meshes), json_decref(w.nodes);
    json_decref(w.channels), json_decref(w.samplers);
    free(w.data);
    return status;
}
