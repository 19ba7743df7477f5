#include "io/scene/gltf_detail.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gltf {
    const char *path;
    su_scene *scene;
    json_t *json;        /* owned */
    unsigned char *file; /* the whole file; owned by the scene's arena */
    size_t size;
    const unsigned char *blob; /* binary chunk of a .glb */
    size_t blob_size;
    int32_t *node; /* (glTF nodes) scene node; -1: not in the scene */
    size_t nodes;
    char *message;
    size_t message_size;
} gltf;

static int complain(gltf *g, const char *text)
{
    snprintf(g->message, g->message_size, "%s", text);
    return 1;
}

static int64_t integer(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static const json_t *element(const gltf *g, const char *list, int64_t index)
{
    return index < 0 ? NULL : json_array_get(json_object_get(g->json, list), (size_t)index);
}

/* ---- file, buffers ---- */

static unsigned char *read_whole(gltf *g, const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    unsigned char *data = NULL;
    if (!in) return NULL;
    if (fseek(in, 0, SEEK_END) == 0) {
        long length = ftell(in);
        rewind(in);
        data = length < 0 ? NULL : su_arena_alloc(&g->scene->arena, length + 1, 1);
        if (data && fread(data, 1, (size_t)length, in) != (size_t)length) data = NULL;
        if (data) *size = (size_t)length;
    }
    fclose(in);
    return data;
}

static uint32_t little32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int open_file(gltf *g)
{
    const unsigned char *text;
    size_t length;
    if (!(g->file = read_whole(g, g->path, &g->size))) return complain(g, "cannot read the file a second time");
    text = g->file, length = g->size;
    if (g->size >= 20 && memcmp(g->file, "glTF", 4) == 0) {
        length = little32(g->file + 12), text = g->file + 20;
        if (length > g->size - 20) return complain(g, "the JSON chunk is cut off");
        size_t next = 20 + ((length + 3) & ~(size_t)3);
        if (next + 8 <= g->size && little32(g->file + next + 4) == 0x004e4942) {
            g->blob = g->file + next + 8;
            g->blob_size = little32(g->file + next);
            if (g->blob_size > g->size - next - 8) return complain(g, "the binary chunk is cut off");
        }
    }
    g->json = json_loadb((const char *)text, length, JSON_DISABLE_EOF_CHECK, NULL);
    return json_is_object(g->json) ? 0 : complain(g, "its JSON cannot be read");
}

static int base64_value(unsigned char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static unsigned char *decode_base64(gltf *g, const char *text, size_t *size)
{
    unsigned char *out = su_arena_alloc(&g->scene->arena, (int64_t)(strlen(text) / 4 * 3 + 3), 1);
    size_t count = 0;
    uint32_t bits = 0;
    int have = 0;
    for (; out && *text && *text != '='; text++) {
        int value = base64_value((unsigned char)*text);
        if (value < 0) return NULL;
        bits = bits << 6 | (uint32_t)value, have += 6;
        if (have >= 8) have -= 8, out[count++] = (unsigned char)(bits >> have & 0xff);
    }
    *size = count;
    return out;
}

/* Bytes of a buffer: the binary chunk, a data URI, or a file beside this one. */
static const unsigned char *buffer_bytes(gltf *g, int64_t index, size_t *size)
{
    const char *uri = json_string_value(json_object_get(element(g, "buffers", index), "uri"));
    if (!uri) {
        *size = g->blob_size;
        return index == 0 ? g->blob : NULL;
    }
    if (strncmp(uri, "data:", 5) == 0) {
        const char *comma = strchr(uri, ',');
        return comma ? decode_base64(g, comma + 1, size) : NULL;
    }
    const char *slash = strrchr(g->path, '/');
    size_t folder = slash ? (size_t)(slash - g->path) + 1 : 0, at = folder;
    char *name = su_arena_alloc(&g->scene->arena, (int64_t)(folder + strlen(uri) + 1), 1);
    if (!name) return NULL;
    memcpy(name, g->path, folder);
    for (; *uri; uri++) {
        unsigned code;
        if (uri[0] == '%' && uri[1] && uri[2] && sscanf(uri + 1, "%2x", &code) == 1)
            name[at++] = (char)code, uri += 2;
        else
            name[at++] = *uri;
    }
    return read_whole(g, name, size);
}

/* ---- accessors ---- */

static double component(const unsigned char *p, int64_t type, int normalized)
{
    switch (type) {
    case 5120:
        return normalized ? fmax((int8_t)p[0] / 127.0, -1.0) : (int8_t)p[0];
    case 5121:
        return normalized ? p[0] / 255.0 : p[0];
    case 5122: {
        int16_t v = (int16_t)(p[0] | p[1] << 8);
        return normalized ? fmax(v / 32767.0, -1.0) : v;
    }
    case 5123:
        return normalized ? (p[0] | p[1] << 8) / 65535.0 : (p[0] | p[1] << 8);
    case 5125:
        return little32(p);
    default: {
        uint32_t bits = little32(p);
        float v;
        memcpy(&v, &bits, sizeof v);
        return (double)v;
    }
    }
}

/* Values of an accessor with `width` components (scalars count singly); NULL where it is broken or sparse. */
static double *read_accessor(gltf *g, int64_t index, int64_t width, int64_t *count)
{
    static const int bytes[] = {1, 1, 2, 2, 0, 4, 4};
    const json_t *a = element(g, "accessors", index), *view = element(g, "bufferViews", integer(a, "bufferView", -1));
    int64_t type = integer(a, "componentType", 0), start, stride, item, n = integer(a, "count", -1);
    size_t size = 0;
    if (!a || !view || json_object_get(a, "sparse") || type < 5120 || type > 5126 || type == 5124 || n < 0) return NULL;
    const unsigned char *data = buffer_bytes(g, integer(view, "buffer", -1), &size);
    item = bytes[type - 5120] * width;
    stride = integer(view, "byteStride", item);
    start = integer(view, "byteOffset", 0);
    int64_t offset = integer(a, "byteOffset", 0), limit = (int64_t)size;
    if (!data || start < 0 || offset < 0 || stride < item || stride > 65536 || start > limit ||
        offset > limit - start || n > limit || (n > 0 && (n - 1) * stride + item > limit - start - offset))
        return NULL;
    double *out = su_arena_alloc(&g->scene->arena, n * width, sizeof *out);
    for (int64_t i = 0; out && i < n * width; i++)
        out[i] = component(data + start + offset + i / width * stride + i % width * bytes[type - 5120], type,
                           json_is_true(json_object_get(a, "normalized")));
    *count = n;
    return out;
}

/* ---- nodes ---- */

/* assimp walks the tree depth first, below a node of its own where the scene has several roots. */
static int number_nodes(gltf *g, const json_t *list, int64_t *next, int depth)
{
    size_t i;
    json_t *child;
    if (depth > 1000) return 1;
    json_array_foreach((json_t *)list, i, child)
    {
        int64_t index = json_is_integer(child) ? (int64_t)json_integer_value(child) : -1;
        const json_t *node = element(g, "nodes", index);
        if (!node || g->node[index] >= 0 || *next >= g->scene->nodes) return 1;
        const char *name = json_string_value(json_object_get(node, "name"));
        if (name && name[0] && strcmp(name, g->scene->node[*next].name) != 0) return 1;
        g->node[index] = (int32_t)(*next)++;
        if (number_nodes(g, json_object_get(node, "children"), next, depth + 1)) return 1;
    }
    return 0;
}

static int map_nodes(gltf *g)
{
    const json_t *roots = json_object_get(element(g, "scenes", integer(g->json, "scene", 0)), "nodes");
    g->nodes = json_array_size(json_object_get(g->json, "nodes"));
    g->node = su_arena_alloc(&g->scene->arena, (int64_t)g->nodes, sizeof *g->node);
    if (!g->node) return complain(g, "not enough memory");
    memset(g->node, 0xff, g->nodes * sizeof *g->node);
    int64_t next = json_array_size(roots) == 1 ? 0 : 1;
    if (number_nodes(g, roots, &next, 0) || next != g->scene->nodes)
        return complain(g, "its nodes cannot be matched with those that assimp made of them");
    return 0;
}

/* ---- keys ---- */

static int replace_track(gltf *g, const json_t *sampler, int32_t mode, int64_t width, int64_t *count, double **times,
                         double **values)
{
    int64_t keys, rows, per_key = su_key_values(mode);
    double *t = read_accessor(g, integer(sampler, "input", -1), 1, &keys);
    double *v = read_accessor(g, integer(sampler, "output", -1), width, &rows);
    if (!t || !v || keys < 1 || rows != keys * per_key)
        return complain(g, "stepped or cubic keys are broken or sparse");
    *count = keys, *times = t, *values = v;
    return 0;
}

/* glTF has quaternions as x, y, z, w. */
static void turn_quaternions(double *q, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double w = q[4 * i + 3];
        memmove(q + 4 * i + 1, q + 4 * i, 3 * sizeof *q);
        q[4 * i] = w;
    }
}

static int correct_weights(gltf *g, const json_t *sampler, int32_t mode, int32_t node, su_scene_clip *clip)
{
    for (int64_t i = 0; i < clip->morph_channels; i++) {
        su_scene_morph_channel *c = &clip->morph_channel[i];
        int64_t keys, total;
        if (c->node != node) continue;
        double *t = read_accessor(g, integer(sampler, "input", -1), 1, &keys);
        double *v = read_accessor(g, integer(sampler, "output", -1), 1, &total);
        int64_t per_key = t && keys > 0 ? total / keys / su_key_values(mode) : 0;
        if (!t || !v || per_key < 1 || per_key > 65535 || per_key * keys * su_key_values(mode) != total)
            return complain(g, "stepped or cubic blend-shape keys are broken or sparse");
        c->mode = mode, c->keys = keys, c->shapes = per_key, c->times = t, c->weights = v;
        return 0;
    }
    return 0;
}

static int correct_channel(gltf *g, const json_t *channel, const json_t *sampler, int32_t mode, su_scene_clip *clip)
{
    const json_t *target = json_object_get(channel, "target");
    const char *path = json_string_value(json_object_get(target, "path"));
    int64_t index = integer(target, "node", -1);
    if (!path || index < 0 || (size_t)index >= g->nodes || g->node[index] < 0) return 0;
    if (strcmp(path, "weights") == 0) return correct_weights(g, sampler, mode, g->node[index], clip);
    for (int64_t i = 0; i < clip->channels; i++) {
        su_scene_channel *c = &clip->channel[i];
        if (c->node != g->node[index]) continue;
        if (strcmp(path, "translation") == 0) {
            c->translation_mode = mode;
            return replace_track(g, sampler, mode, 3, &c->translations, &c->translation_times, &c->translation);
        }
        if (strcmp(path, "scale") == 0) {
            c->scale_mode = mode;
            return replace_track(g, sampler, mode, 3, &c->scales, &c->scale_times, &c->scale);
        }
        c->rotation_mode = mode;
        if (replace_track(g, sampler, mode, 4, &c->rotations, &c->rotation_times, &c->rotation)) return 1;
        turn_quaternions(c->rotation, c->rotations * su_key_values(mode));
    }
    return 0;
}

static int correct_clips(gltf *g)
{
    size_t i, k;
    json_t *animation, *channel;
    json_array_foreach(json_object_get(g->json, "animations"), i, animation)
    {
        json_array_foreach(json_object_get(animation, "channels"), k, channel)
        {
            int64_t index = integer(channel, "sampler", -1);
            const json_t *sampler =
                index < 0 ? NULL : json_array_get(json_object_get(animation, "samplers"), (size_t)index);
            const char *mode = json_string_value(json_object_get(sampler, "interpolation"));
            if (!mode || strcmp(mode, "LINEAR") == 0 || (int64_t)i >= g->scene->clips) continue;
            if (correct_channel(g, channel, sampler, strcmp(mode, "STEP") == 0 ? SU_KEYS_STEP : SU_KEYS_CUBIC,
                                &g->scene->clip[i]))
                return 1;
        }
    }
    return 0;
}

/* ---- repeated names ---- */

/* assimp binds bones and channels by name; where nodes share one, the numbers of the file say which is meant. */
static int names_repeat(gltf *g)
{
    int64_t n = g->scene->nodes;
    const char **name = su_arena_alloc(&g->scene->arena, n, sizeof *name);
    int repeat = 0;
    for (int64_t i = 0; name && i < n; i++) name[i] = g->scene->node[i].name;
    if (name) qsort(name, (size_t)n, sizeof *name, compare_names);
    for (int64_t i = 0; name && i + 1 < n; i++) repeat |= strcmp(name[i], name[i + 1]) == 0;
    return repeat;
}

/* A channel of the node in a clip that has room for it. */
static void add_channel(su_arena *arena, su_scene_clip *clip, int32_t node)
{
    for (int64_t i = 0; i < clip->channels; i++)
        if (clip->channel[i].node == node) return;
    su_scene_channel *c = &clip->channel[clip->channels++];
    c->node = node;
    double **track[] = {&c->translation_times, &c->translation, &c->rotation_times,
                        &c->rotation,          &c->scale_times, &c->scale};
    for (int i = 0; i < 6; i++) *track[i] = su_arena_alloc(arena, 0, sizeof **track[i]); /* until there are keys */
}

static int renew_channel(gltf *g, const json_t *channel, const json_t *sampler, su_scene_clip *clip)
{
    const json_t *target = json_object_get(channel, "target");
    const char *path = json_string_value(json_object_get(target, "path"));
    const char *mode = json_string_value(json_object_get(sampler, "interpolation"));
    int64_t index = integer(target, "node", -1);
    int32_t keys = !mode || strcmp(mode, "LINEAR") == 0 ? SU_KEYS_LINEAR
                   : strcmp(mode, "STEP") == 0          ? SU_KEYS_STEP
                                                        : SU_KEYS_CUBIC;
    if (!path || index < 0 || (size_t)index >= g->nodes || g->node[index] < 0) return 0;
    if (strcmp(path, "weights") == 0) {
        clip->morph_channel[clip->morph_channels++].node = g->node[index];
    } else if (strcmp(path, "translation") == 0 || strcmp(path, "rotation") == 0 || strcmp(path, "scale") == 0) {
        add_channel(&g->scene->arena, clip, g->node[index]);
    } else {
        return 0;
    }
    return correct_channel(g, channel, sampler, keys, clip);
}

/* All tracks of all clips once more, by the numbers of their nodes. */
static int renew_clips(gltf *g)
{
    size_t i, k;
    json_t *animation, *channel;
    json_array_foreach(json_object_get(g->json, "animations"), i, animation)
    {
        const json_t *channels = json_object_get(animation, "channels");
        if ((int64_t)i >= g->scene->clips) break;
        su_scene_clip *clip = &g->scene->clip[i];
        int64_t room = (int64_t)json_array_size(channels);
        clip->channels = clip->morph_channels = 0;
        clip->channel = su_arena_alloc(&g->scene->arena, room, sizeof *clip->channel);
        clip->morph_channel = su_arena_alloc(&g->scene->arena, room, sizeof *clip->morph_channel);
        if (!clip->channel || !clip->morph_channel) return complain(g, "not enough memory");
        json_array_foreach(channels, k, channel)
        {
            int64_t index = integer(channel, "sampler", -1);
            const json_t *samplers = json_object_get(animation, "samplers");
            const json_t *sampler = index < 0 ? NULL : json_array_get(samplers, (size_t)index);
            if (renew_channel(g, channel, sampler, clip)) return 1;
        }
    }
    return 0;
}

/* ---- joints ---- */

/* All weights of a primitive, sorted by bone: one pass to count, one to fill. */
static int replace_weights(gltf *g, const json_t *attributes, su_scene_mesh *mesh, int sets)
{
    double *joints[8], *weights[8];
    int64_t n, total = 0, at = 0;
    for (int s = 0; s < sets; s++) {
        char key[16];
        snprintf(key, sizeof key, "JOINTS_%d", s);
        joints[s] = read_accessor(g, integer(attributes, key, -1), 4, &n);
        if (!joints[s] || n != mesh->vertices) return complain(g, "a set of joints is broken or sparse");
        snprintf(key, sizeof key, "WEIGHTS_%d", s);
        weights[s] = read_accessor(g, integer(attributes, key, -1), 4, &n);
        if (!weights[s] || n != mesh->vertices) return complain(g, "a set of weights is broken or sparse");
        for (int64_t i = 0; i < 4 * n; i++) {
            if (weights[s][i] == 0.0) continue;
            if (!(joints[s][i] >= 0.0 && joints[s][i] < (double)mesh->bones))
                return complain(g, "a joint does not exist");
            total++;
        }
    }
    mesh->influence_vertex = su_arena_alloc(&g->scene->arena, total, sizeof *mesh->influence_vertex);
    mesh->influence_weight = su_arena_alloc(&g->scene->arena, total, sizeof *mesh->influence_weight);
    if (!mesh->influence_vertex || !mesh->influence_weight) return complain(g, "not enough memory");
    for (int64_t b = 0; b < mesh->bones; b++) {
        mesh->bone[b].first = at;
        for (int s = 0; s < sets; s++)
            for (int64_t i = 0; i < 4 * mesh->vertices; i++)
                if (weights[s][i] != 0.0 && (int64_t)joints[s][i] == b) {
                    mesh->influence_vertex[at] = (int32_t)(i / 4);
                    mesh->influence_weight[at++] = weights[s][i];
                }
        mesh->bone[b].count = at - mesh->bone[b].first;
    }
    mesh->influences = total;
    return 0;
}

/* The scene's mesh of a primitive: assimp keeps the primitives of a node in order, but not the meshes of the file. */
static su_scene_mesh *mesh_of(const gltf *g, int32_t node, size_t primitive)
{
    for (int64_t i = 0; i < g->scene->instances; i++)
        if (g->scene->instance[i].node == node && primitive-- == 0) return &g->scene->mesh[g->scene->instance[i].mesh];
    return NULL;
}

/* Bones follow the skin's joints one by one. */
static int renew_bones(gltf *g, const json_t *node, su_scene_mesh *mesh)
{
    const json_t *joints = json_object_get(element(g, "skins", integer(node, "skin", -1)), "joints");
    for (int64_t b = 0; b < mesh->bones; b++) {
        const json_t *joint = json_array_get(joints, (size_t)b);
        int64_t index = json_is_integer(joint) ? (int64_t)json_integer_value(joint) : -1;
        if (index < 0 || (size_t)index >= g->nodes || g->node[index] < 0)
            return complain(g, "a joint of a skin is not in the scene");
        mesh->bone[b].node = g->node[index];
    }
    return 0;
}

static int correct_joints(gltf *g, int renew)
{
    size_t i, k;
    json_t *node, *primitive;
    json_array_foreach(json_object_get(g->json, "nodes"), i, node)
    {
        const json_t *mesh = element(g, "meshes", integer(node, "mesh", -1));
        if (!mesh || g->node[i] < 0 || !json_object_get(node, "skin")) continue;
        json_array_foreach(json_object_get(mesh, "primitives"), k, primitive)
        {
            const json_t *attributes = json_object_get(primitive, "attributes");
            int64_t n = integer(element(g, "accessors", integer(attributes, "POSITION", -1)), "count", -1);
            int sets = 1;
            char key[16];
            for (; sets < 8; sets++) {
                snprintf(key, sizeof key, "JOINTS_%d", sets);
                if (!json_object_get(attributes, key)) break;
            }
            su_scene_mesh *to = mesh_of(g, g->node[i], k);
            if (renew && to && renew_bones(g, node, to)) return 1;
            if (sets == 1) continue;
            if (!to || to->vertices != n)
                return complain(g, "its meshes cannot be matched with those assimp made of them");
            if (to->bones > 0 && replace_weights(g, attributes, to, sets)) return 1;
        }
    }
    return 0;
}

int su_gltf_detail(const char *path, su_scene *scene, char *message, size_t message_size)
{
    gltf g = {.path = path, .scene = scene, .message = message, .message_size = message_size};
    int failed = open_file(&g);
    const char *text = failed ? "" : (const char *)g.file;
    /* Most files need none of this: do not insist on matching nodes then. */
    int wanted = !failed && (memmem(text, g.size, "\"CUBICSPLINE\"", 13) || memmem(text, g.size, "\"STEP\"", 6) ||
                             memmem(text, g.size, "\"JOINTS_1\"", 10));
    int repeat = !failed && names_repeat(&g);
    if (wanted || repeat)
        failed = map_nodes(&g) || (repeat ? renew_clips(&g) : correct_clips(&g)) || correct_joints(&g, repeat);
    json_decref(g.json);
    return failed;
}

int su_gltf_refuse(const char *path, char *message, size_t message_size)
{
    su_scene scene = {0};
    gltf g = {.path = path, .scene = &scene, .message = message, .message_size = message_size};
    size_t i;
    json_t *skin;
    int refused = 0;
    if (open_file(&g) == 0)
        json_array_foreach(json_object_get(g.json, "skins"), i,
                           skin) if (!refused && !json_is_integer(json_object_get(skin, "inverseBindMatrices")))
        {
            snprintf(message, message_size,
                     "skin %zu has no inverse bind matrices, which assimp cannot read; export it with them", i);
            refused = 1;
        }
    if (!refused) message[0] = 0;
    if (scene.arena.failed) refused = complain(&g, "not enough memory") + 1;
    json_decref(g.json);
    su_arena_free(&scene.arena);
    return refused;
}
