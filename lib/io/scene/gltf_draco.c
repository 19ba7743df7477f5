#include "io/scene/gltf_draco.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* assimp 5.2 unpacks positions, colours and 16-bit indices, whatever the attributes are called. So positions stay what
 * they are and all else goes as colours, in 32-bit floats, which hold all integers that glTF has for attributes. */

enum { COLORS = 8, MOST_VERTICES = 65536 };

typedef struct packed {
    int64_t position, indices; /* accessors */
    int64_t color[COLORS];
    int colors;
} packed;

static int no_memory(su_gltf *g)
{
    g->arena->failed = true;
    return su_gltf_fail(g, "not enough memory");
}

static bool is_read(const char *name)
{
    return strcmp(name, "TEXCOORD_0") == 0 || strcmp(name, "COLOR_0") == 0 || strncmp(name, "JOINTS_", 7) == 0 ||
           strncmp(name, "WEIGHTS_", 8) == 0;
}

static json_t *accessor(const su_gltf *g, int64_t index, int64_t count, int component_type)
{
    const json_t *from = su_gltf_item(g, "accessors", index);
    const char *type = json_string_value(json_object_get(from, "type"));
    return json_pack("{s:i, s:I, s:s}", "componentType", component_type, "count", (json_int_t)count, "type",
                     type ? type : "SCALAR");
}

static int64_t count_of(const su_gltf *g, int64_t accessor)
{
    return su_gltf_integer(su_gltf_item(g, "accessors", accessor), "count", 0);
}

/* The JSON of the small GLB, of `vertices` vertices; NULL: no memory. */
static json_t *describe(const su_gltf *g, const json_t *primitive, const json_t *draco, size_t bytes, int64_t vertices,
                        packed *p)
{
    const json_t *ids = json_object_get(draco, "attributes"), *numbers = json_object_get(primitive, "attributes");
    json_t *attributes = json_object(), *kept = json_object(), *accessors = json_array();
    const char *name;
    json_t *id;
    int bad = !attributes || !kept || !accessors;
    *p = (packed){.position = -1, .indices = su_gltf_integer(primitive, "indices", -1)};
    bad |= json_array_append_new(accessors, accessor(g, p->indices, count_of(g, p->indices), 5123));
    json_object_foreach((json_t *)ids, name, id)
    {
        char color[24];
        bool position = strcmp(name, "POSITION") == 0;
        int64_t from = su_gltf_integer(numbers, name, -1);
        if (!su_gltf_item(g, "accessors", from) || (!position && (!is_read(name) || p->colors == COLORS))) continue;
        snprintf(color, sizeof color, "COLOR_%d", p->colors);
        if (position)
            p->position = from;
        else
            p->color[p->colors++] = from;
        bad |= json_object_set_new(attributes, position ? name : color,
                                   json_integer((json_int_t)json_array_size(accessors)));
        bad |= json_object_set(kept, position ? name : color, id);
        bad |= json_array_append_new(accessors, accessor(g, from, vertices, 5126));
    }
    json_t *out =
        bad ? NULL
            : json_pack("{s:{s:s}, s:[s], s:[s], s:[{s:I}], s:[{s:i, s:i, s:I}], s:O, s:[{s:[{s:O, s:i, s:i, "
                        "s:{s:{s:i, s:O}}}]}], s:[{s:i}], s:i, s:[{s:[i]}]}",
                        "asset", "version", "2.0", "extensionsUsed", "KHR_draco_mesh_compression", "extensionsRequired",
                        "KHR_draco_mesh_compression", "buffers", "byteLength", (json_int_t)bytes, "bufferViews",
                        "buffer", 0, "byteOffset", 0, "byteLength", (json_int_t)bytes, "accessors", accessors, "meshes",
                        "primitives", "attributes", attributes, "indices", 0, "mode", 4, "extensions",
                        "KHR_draco_mesh_compression", "bufferView", 0, "attributes", kept, "nodes", "mesh", 0, "scene",
                        0, "scenes", "nodes", 0);
    json_decref(attributes);
    json_decref(kept);
    json_decref(accessors);
    return out;
}

static void put32(unsigned char *p, size_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> 8 * i);
}

/* Header, JSON chunk padded by spaces, binary chunk padded by zeros; to be freed. */
static unsigned char *make_glb(const char *text, const su_gltf_bytes *data, size_t *size)
{
    size_t length = strlen(text), json = (length + 3) & ~(size_t)3, binary = (data->size + 3) & ~(size_t)3;
    *size = 12 + 8 + json + 8 + binary;
    unsigned char *out = su_calloc((int64_t)*size, 1);
    if (!out) return NULL;
    memcpy(out, "glTF", 4), put32(out + 4, 2), put32(out + 8, *size);
    put32(out + 12, json), memcpy(out + 16, "JSON", 4);
    memcpy(out + 20, text, length), memset(out + 20 + length, ' ', json - length);
    put32(out + 20 + json, binary), memcpy(out + 24 + json, "BIN", 4);
    memcpy(out + 28 + json, data->data, data->size);
    return out;
}

/* The largest integer of a component type that normalizes to 1; 0: it does not. */
static double whole_range(const json_t *accessor)
{
    static const double range[] = {127, 255, 32767, 65535};
    int64_t type = su_gltf_integer(accessor, "componentType", 0) - 5120;
    return type >= 0 && type < 4 && json_is_true(json_object_get(accessor, "normalized")) ? range[type] : 0.0;
}

/* `components` of `count` items of `step` floats become an accessor's numbers. */
static int keep(su_gltf *g, int64_t index, const float *from, int64_t count, int64_t step)
{
    static const char *const types[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};
    const json_t *a = su_gltf_item(g, "accessors", index);
    const char *type = json_string_value(json_object_get(a, "type"));
    int64_t width = 0;
    for (int k = 0; k < 4; k++)
        if (type && strcmp(type, types[k]) == 0) width = k + 1;
    if (width == 0 || width > step) return su_gltf_fail(g, "its Draco compression is broken");
    double *value = su_arena_alloc(g->arena, count * width, sizeof *value), most = 0.0, range = whole_range(a);
    if (!value) return no_memory(g);
    for (int64_t i = 0; i < count * width; i++) {
        value[i] = (double)from[i / width * step + i % width];
        most = fmax(most, fabs(value[i]));
    }
    /* Draco may have normalized them on the way: encoders differ in whether they tell it. */
    for (int64_t i = 0; i < count * width && range > 0.0 && most > 1.0; i++) value[i] = fmax(value[i] / range, -1.0);
    g->array[index] = (su_gltf_array){value, count, width, su_gltf_integer(a, "componentType", 5126) != 5126};
    return 0;
}

static int keep_faces(su_gltf *g, int64_t index, const struct aiMesh *mesh)
{
    int64_t count = su_gltf_integer(su_gltf_item(g, "accessors", index), "count", -1);
    if (count != 3 * (int64_t)mesh->mNumFaces) return su_gltf_fail(g, "its Draco compression is broken");
    double *value = su_arena_alloc(g->arena, count, sizeof *value);
    if (!value) return no_memory(g);
    for (int64_t i = 0; i < count; i++) {
        if (mesh->mFaces[i / 3].mNumIndices != 3) return su_gltf_fail(g, "its Draco compression is broken");
        value[i] = mesh->mFaces[i / 3].mIndices[i % 3];
    }
    g->array[index] = (su_gltf_array){value, count, 1, true};
    return 0;
}

/* The small GLB of so many vertices through assimp, *scene: NULL where it fails. */
static int import(su_gltf *g, const json_t *primitive, const json_t *draco, const su_gltf_bytes *data, int64_t vertices,
                  packed *p, const struct aiScene **scene)
{
    json_t *json = describe(g, primitive, draco, data->size, vertices, p);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    size_t size = 0;
    unsigned char *glb = text ? make_glb(text, data, &size) : NULL;
    free(text);
    json_decref(json);
    *scene = NULL;
    if (!glb) return no_memory(g);
    if (size <= UINT32_MAX) *scene = aiImportFileFromMemory((const char *)glb, (unsigned)size, 0, "glb");
    free(glb);
    return 0;
}

static int keep_all(su_gltf *g, const packed *p, const struct aiMesh *mesh)
{
    const int64_t step = sizeof(struct aiVector3D) / sizeof(float);
    if (!mesh->mVertices || keep(g, p->position, &mesh->mVertices[0].x, mesh->mNumVertices, step) ||
        keep_faces(g, p->indices, mesh))
        return 1;
    for (int k = 0; k < p->colors; k++)
        if (!mesh->mColors[k] || keep(g, p->color[k], &mesh->mColors[k][0].r, mesh->mNumVertices, 4)) return 1;
    return 0;
}

static int unpack(su_gltf *g, const json_t *primitive, const json_t *draco)
{
    packed p;
    const struct aiScene *scene;
    const json_t *numbers = json_object_get(primitive, "attributes");
    int64_t vertices = count_of(g, su_gltf_integer(numbers, "POSITION", -1)), most = MOST_VERTICES;
    int64_t triangles = count_of(g, su_gltf_integer(primitive, "indices", -1)) / 3;
    const su_gltf_bytes *data = su_gltf_view(g, su_gltf_integer(draco, "bufferView", -1));
    if (!data) return 1;
    if (vertices > most)
        return su_gltf_fail(g,
                            "a primitive of more than %d vertices is Draco-compressed, which is not read; export it "
                            "without Draco (KHR_draco_mesh_compression) or with meshopt, or unpack it: gltf-transform "
                            "copy IN OUT",
                            MOST_VERTICES);
    if (import(g, primitive, draco, data, vertices, &p, &scene)) return 1;
    if (p.position < 0 || p.indices < 0) {
        if (scene) aiReleaseImport(scene);
        return su_gltf_fail(g, "a Draco primitive has no positions or no indices");
    }
    /* Some exporters say too few vertices: assimp then drops the triangles of the others, and takes as many as there
     * are, but no more. */
    while (scene && scene->mNumMeshes == 1 && (int64_t)scene->mMeshes[0]->mNumFaces < triangles && vertices < most) {
        const struct aiScene *more;
        packed q;
        int64_t middle = vertices + (most - vertices + 1) / 2;
        if (import(g, primitive, draco, data, middle, &q, &more)) {
            aiReleaseImport(scene);
            return 1;
        }
        if (!more) {
            most = middle - 1;
            continue;
        }
        aiReleaseImport(scene);
        scene = more, vertices = middle;
    }
    int failed = !scene || scene->mNumMeshes != 1 || keep_all(g, &p, scene->mMeshes[0]);
    if (failed)
        su_gltf_fail(g, "its Draco compression cannot be read: %.300s", scene ? "it is broken" : aiGetErrorString());
    if (scene) aiReleaseImport(scene);
    return failed;
}

int su_gltf_draco(su_gltf *g, const json_t *primitive)
{
    const json_t *draco = json_object_get(json_object_get(primitive, "extensions"), "KHR_draco_mesh_compression");
    int64_t position = su_gltf_integer(json_object_get(primitive, "attributes"), "POSITION", -1);
    if (!draco || json_object_get(su_gltf_item(g, "accessors", position), "bufferView")) return 0;
    return unpack(g, primitive, draco);
}
