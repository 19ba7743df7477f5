/* glTF 2.0 in its binary form: one mesh, one skin, the clips, a material. */
#include "creature.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNSIGNED_BYTE = 5121, UNSIGNED_INT = 5125, FLOAT = 5126, ARRAY_BUFFER = 34962, ELEMENT_BUFFER = 34963 };

typedef struct glb {
    json_t *accessors, *views;
    unsigned char *bytes;
    size_t count, room;
    su_error *err;
    su_status status;
} glb;

/* Appends data as a view and accessor of its own; returns the accessor's number. Errors stick in g->status. */
static int add(glb *g, const void *data, int64_t elements, int components, int type, int target, int bounds)
{
    static const char *const shapes[] = {NULL, "SCALAR", NULL, "VEC3", "VEC4"};
    size_t size = (type == UNSIGNED_BYTE ? 1 : 4) * (size_t)components * (size_t)elements,
           start = (g->count + 3) & ~(size_t)3;
    const char *shape = components == 16 ? "MAT4" : components == 2 ? "VEC2" : shapes[components];
    if (g->status != SU_OK) return 0;
    if (start + size > g->room) {
        size_t room = 2 * (start + size);
        unsigned char *grown = realloc(g->bytes, room);
        if (!grown) {
            g->status = su_fail(g->err, SU_AGAIN, "out of memory for the glTF buffer");
            return 0;
        }
        memset(grown + g->count, 0, room - g->count);
        g->bytes = grown;
        g->room = room;
    }
    memcpy(g->bytes + start, data, size);
    g->count = start + size;

    json_t *view =
        json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)start, "byteLength", (json_int_t)size);
    if (target) json_object_set_new(view, "target", json_integer(target));
    json_t *accessor = json_pack("{s:i, s:i, s:I, s:s}", "bufferView", (int)json_array_size(g->views), "componentType",
                                 type, "count", (json_int_t)elements, "type", shape);
    if (bounds) {
        json_t *low = json_array(), *high = json_array();
        for (int c = 0; c < components; c++) {
            float least = ((const float *)data)[c], most = least;
            for (int64_t i = 1; i < elements; i++) {
                least = fminf(least, ((const float *)data)[i * components + c]);
                most = fmaxf(most, ((const float *)data)[i * components + c]);
            }
            json_array_append_new(low, json_real(least));
            json_array_append_new(high, json_real(most));
        }
        json_object_set_new(accessor, "min", low);
        json_object_set_new(accessor, "max", high);
    }
    json_array_append_new(g->views, view);
    json_array_append_new(g->accessors, accessor);
    return (int)json_array_size(g->accessors) - 1;
}

/* Positions, normals of the shape, side-view texture coordinates, colours. */
static json_t *add_mesh(glb *g, const skeleton *s, const skin *mesh)
{
    int64_t n = mesh->vertex_count;
    float *position = NULL, *normal = NULL, *uv = NULL, *color = NULL;
    json_t *made = NULL;
    const body *b = s->body;
    double low[3], high[3];
    if (g->status != SU_OK || (g->status = SU_ALLOC(&position, 3 * n, "positions", g->err)) != SU_OK ||
        (g->status = SU_ALLOC(&normal, 3 * n, "normals", g->err)) != SU_OK ||
        (g->status = SU_ALLOC(&uv, 2 * n, "texture coordinates", g->err)) != SU_OK ||
        (g->status = SU_ALLOC(&color, 4 * n, "colours", g->err)) != SU_OK)
        goto done;
    shape_bounds(b, low, high);
    for (int64_t v = 0; v < n; v++) {
        const double *x = mesh->points + 3 * v;
        double gradient[3], length;
        shape_gradient(b, x, gradient);
        length = sqrt(gradient[0] * gradient[0] + gradient[1] * gradient[1] + gradient[2] * gradient[2]);
        for (int a = 0; a < 3; a++) {
            position[3 * v + a] = (float)x[a];
            normal[3 * v + a] = (float)(gradient[a] /= length);
        }
        uv[2 * v] = (float)((x[2] - low[2]) / (high[2] - low[2]));
        uv[2 * v + 1] = (float)((high[1] - x[1]) / (high[1] - low[1]));
        shape_colour(s, x, gradient, color + 4 * v);
        color[4 * v + 3] = (float)shape_firmness(b, x); /* painted stiffness; looks are not touched by it */
    }
    json_t *attributes = json_object();
    json_object_set_new(attributes, "POSITION", json_integer(add(g, position, n, 3, FLOAT, ARRAY_BUFFER, 1)));
    json_object_set_new(attributes, "NORMAL", json_integer(add(g, normal, n, 3, FLOAT, ARRAY_BUFFER, 0)));
    json_object_set_new(attributes, "TEXCOORD_0", json_integer(add(g, uv, n, 2, FLOAT, ARRAY_BUFFER, 0)));
    json_object_set_new(attributes, "COLOR_0", json_integer(add(g, color, n, 4, FLOAT, ARRAY_BUFFER, 0)));
    json_object_set_new(attributes, "JOINTS_0",
                        json_integer(add(g, mesh->joints, n, 4, UNSIGNED_BYTE, ARRAY_BUFFER, 0)));
    json_object_set_new(attributes, "WEIGHTS_0", json_integer(add(g, mesh->weights, n, 4, FLOAT, ARRAY_BUFFER, 0)));
    int indices = add(g, mesh->triangles, 3 * mesh->triangle_count, 1, UNSIGNED_INT, ELEMENT_BUFFER, 0);
    made = json_pack("{s:s, s:[{s:o, s:i, s:i}]}", "name", "skin", "primitives", "attributes", attributes, "indices",
                     indices, "material", 0);
done:
    free(position);
    free(normal);
    free(uv);
    free(color);
    return made;
}

/* Joints are nodes 0 to count - 1; the skin's joint list is the weighted ones, `slot` their places in it. */
static json_t *add_skin(glb *g, const skeleton *s, int slot[CREATURE_MAX_JOINTS])
{
    float inverse[16 * CREATURE_MAX_JOINTS] = {0};
    json_t *list = json_array();
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        slot[i] = 0;
        if (!s->joints[i].weighted) continue;
        float *m = inverse + 16 * count; /* column by column: the joint's rest frame is only moved, not turned */
        m[0] = m[5] = m[10] = m[15] = 1;
        for (int a = 0; a < 3; a++) m[12 + a] = (float)-s->joints[i].at[a];
        slot[i] = count++;
        json_array_append_new(list, json_integer(i));
    }
    int matrices = add(g, inverse, count, 16, FLOAT, 0, 0);
    return json_pack("{s:s, s:o, s:i, s:i}", "name", "creature", "joints", list, "inverseBindMatrices", matrices,
                     "skeleton", 0);
}

static json_t *make_nodes(const skeleton *s)
{
    json_t *nodes = json_array();
    for (int i = 0; i < s->count; i++) {
        const joint *j = &s->joints[i];
        json_t *node = json_pack("{s:s}", "name", j->name), *children = json_array(), *move = json_array();
        for (int c = 0; c < s->count; c++)
            if (s->joints[c].parent == i) json_array_append_new(children, json_integer(c));
        for (int a = 0; a < 3; a++)
            json_array_append_new(move,
                                  json_real((float)(j->at[a] - (j->parent < 0 ? 0 : s->joints[j->parent].at[a]))));
        json_object_set_new(node, "translation", move);
        if (json_array_size(children))
            json_object_set_new(node, "children", children);
        else
            json_decref(children);
        json_array_append_new(nodes, node);
    }
    json_array_append_new(nodes, json_pack("{s:s, s:i, s:i}", "name", "creature", "mesh", 0, "skin", 0));
    return nodes;
}

static void add_channel(json_t *samplers, json_t *channels, int input, int output, int node, const char *path)
{
    json_array_append_new(channels, json_pack("{s:i, s:{s:i, s:s}}", "sampler", (int)json_array_size(samplers),
                                              "target", "node", node, "path", path));
    json_array_append_new(samplers,
                          json_pack("{s:i, s:i, s:s}", "input", input, "output", output, "interpolation", "LINEAR"));
}

static json_t *add_clip(glb *g, const skeleton *s, const clip *c)
{
    json_t *samplers = json_array(), *channels = json_array();
    float *times = NULL, *moves = NULL, *turns = NULL;
    pose *poses = NULL;
    int hips = joint_find(s, "hips"), frames = c->frames;
    if (g->status != SU_OK || (g->status = SU_ALLOC(&times, frames, "times", g->err)) != SU_OK ||
        (g->status = SU_ALLOC(&moves, 3 * frames, "translations", g->err)) != SU_OK ||
        (g->status = SU_ALLOC(&turns, 4 * frames, "rotations", g->err)) != SU_OK ||
        (g->status = SU_ALLOC(&poses, frames, "poses", g->err)) != SU_OK)
        goto done;
    for (int f = 0; f < frames; f++) {
        times[f] = (float)((double)f / CREATURE_FPS);
        c->at(s, (double)f / CREATURE_FPS, &poses[f]);
        for (int a = 0; a < 3; a++)
            moves[3 * f + a] =
                (float)(poses[f].move[a] + s->joints[hips].at[a] - s->joints[s->joints[hips].parent].at[a]);
    }
    int input = add(g, times, frames, 1, FLOAT, 0, 1);
    add_channel(samplers, channels, input, add(g, moves, frames, 3, FLOAT, 0, 0), hips, "translation");
    for (int i = 0; i < s->count; i++) {
        if (!s->joints[i].weighted) continue;
        for (int f = 0; f < frames; f++)
            for (int a = 0; a < 4; a++) turns[4 * f + a] = (float)poses[f].rotation[i][a];
        add_channel(samplers, channels, input, add(g, turns, frames, 4, FLOAT, 0, 0), i, "rotation");
    }
done:
    free(times);
    free(moves);
    free(turns);
    free(poses);
    return json_pack("{s:s, s:o, s:o}", "name", c->name, "samplers", samplers, "channels", channels);
}

static void put32(unsigned char *at, size_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> 8 * i);
}

static su_status write_file(const char *path, const json_t *root, const glb *g, su_error *err)
{
    su_status status = SU_OK;
    su_output out = {0};
    unsigned char head[20], chunk[8];
    char *text = su_json_dump(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
    if (!text) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    size_t length = strlen(text), json = (length + 3) & ~(size_t)3, bin = (g->count + 3) & ~(size_t)3;
    memcpy(head, "glTF", 4);
    put32(head + 4, 2);
    put32(head + 8, 12 + 8 + json + 8 + bin);
    put32(head + 12, json);
    memcpy(head + 16, "JSON", 4);
    put32(chunk, bin);
    memcpy(chunk + 4, "BIN\0", 4);
    SU_GO(su_output_open(&out, path, err));
    SU_GO(su_output_write(&out, head, sizeof head, err));
    SU_GO(su_output_write(&out, text, length, err));
    SU_GO(su_output_write(&out, "   ", json - length, err));
    SU_GO(su_output_write(&out, chunk, sizeof chunk, err));
    SU_GO(su_output_write(&out, g->bytes, g->count, err));
    SU_GO(su_output_write(&out, "\0\0\0", bin - g->count, err));
    SU_GO(su_output_commit(&out, err));
done:
    su_output_abandon(&out);
    free(text);
    return status;
}

su_status glb_write(const char *path, const skeleton *s, const skin *mesh, su_error *err)
{
    glb g = {.accessors = json_array(), .views = json_array(), .err = err, .status = SU_OK};
    int slot[CREATURE_MAX_JOINTS];
    uint8_t *joints = mesh->joints;
    json_t *skin_json = add_skin(&g, s, slot);
    for (int64_t i = 0; i < 4 * mesh->vertex_count; i++) joints[i] = (uint8_t)slot[joints[i]];
    json_t *mesh_json = add_mesh(&g, s, mesh), *animations = json_array();
    int clip_count;
    const clip *clips = creature_clips(s, &clip_count);
    for (int i = 0; g.status == SU_OK && i < clip_count; i++)
        json_array_append_new(animations, add_clip(&g, s, &clips[i]));
    su_status status = g.status;
    if (status == SU_OK) {
        /* the colour over that of the vertices, and roughness */
        static const double bases[][4] = {{0.93, 0.55, 0.42, 0.75}, {1, 1, 1, 0.6}};
        const double *base = bases[s->character];
        json_t *root = json_pack(
            "{s:{s:s, s:s}, s:i, s:[{s:s, s:[i,i]}], s:o, s:[o], s:[o], s:[{s:s, s:{s:[f,f,f,f], s:f, s:f}}], s:o, "
            "s:O, s:O, s:[{s:I}]}",
            "asset", "version", "2.0", "generator", "supple-creature", "scene", 0, "scenes", "name", "scene", "nodes",
            0, s->count, "nodes", make_nodes(s), "meshes", mesh_json, "skins", skin_json, "materials", "name", "hide",
            "pbrMetallicRoughness", "baseColorFactor", base[0], base[1], base[2], 1.0, "metallicFactor", 0.0,
            "roughnessFactor", base[3], "animations", animations, "accessors", g.accessors, "bufferViews", g.views,
            "buffers", "byteLength", (json_int_t)((g.count + 3) & ~(size_t)3));
        status = root ? write_file(path, root, &g, err) : su_fail(err, SU_AGAIN, "%s: out of memory", path);
        json_decref(root);
    } else {
        json_decref(mesh_json);
        json_decref(skin_json);
        json_decref(animations);
    }
    json_decref(g.accessors);
    json_decref(g.views);
    free(g.bytes);
    return status;
}
