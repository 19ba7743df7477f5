#include "io/scene/gltf_draco.h"

#include "io/scene/draco_mesh.h"

#include <math.h>
#include <string.h>

static bool is_read(const char *name)
{
    return strcmp(name, "POSITION") == 0 || strcmp(name, "TEXCOORD_0") == 0 || strcmp(name, "COLOR_0") == 0 ||
           strncmp(name, "JOINTS_", 7) == 0 || strncmp(name, "WEIGHTS_", 8) == 0;
}

/* The Draco attribute of that id becomes an accessor's numbers. */
static int keep(su_gltf *g, int64_t index, const su_draco_mesh *mesh, int64_t id)
{
    const json_t *a = su_gltf_item(g, "accessors", index);
    int64_t type = su_gltf_integer(a, "componentType", SU_GLTF_FLOAT), count = su_draco_mesh_points(mesh),
            width = su_gltf_components(json_string_value(json_object_get(a, "type")));
    bool whole = false;
    if (width == 0) return su_gltf_fail(g, "its Draco compression is broken");
    double *value = su_arena_alloc(g->arena, count * width, sizeof *value), most = 0;
    if (!value) return su_gltf_no_memory(g);
    if (!su_draco_mesh_attribute(mesh, id, width, value, &whole))
        return su_gltf_fail(g, "its Draco compression is broken");
    for (int64_t i = 0; i < count * width; i++) most = fmax(most, fabs(value[i]));
    /* Some encoders store integers as floats, normalized or not. */
    if (json_is_true(json_object_get(a, "normalized")) && (whole || most > 1))
        for (int64_t i = 0; i < count * width; i++) value[i] = su_gltf_normalized(type, value[i]);
    g->array[index] = (su_gltf_array){value, count, width, type != SU_GLTF_FLOAT};
    return 0;
}

static int keep_corners(su_gltf *g, int64_t index, const su_draco_mesh *mesh)
{
    int64_t count = 3 * su_draco_mesh_faces(mesh);
    double *value = su_arena_alloc(g->arena, count, sizeof *value);
    if (!value) return su_gltf_no_memory(g);
    su_draco_mesh_corners(mesh, value);
    g->array[index] = (su_gltf_array){value, count, 1, true};
    return 0;
}

static int keep_all(su_gltf *g, const json_t *primitive, const json_t *draco, const su_draco_mesh *mesh)
{
    const json_t *numbers = json_object_get(primitive, "attributes");
    int64_t indices = su_gltf_integer(primitive, "indices", -1);
    const char *name;
    json_t *id;
    if (!su_gltf_item(g, "accessors", indices)) return su_gltf_fail(g, "a Draco primitive has no indices");
    json_object_foreach(json_object_get(draco, "attributes"), name, id)
    {
        int64_t index = su_gltf_integer(numbers, name, -1);
        if (is_read(name) && su_gltf_item(g, "accessors", index) && keep(g, index, mesh, json_integer_value(id)))
            return 1;
    }
    return keep_corners(g, indices, mesh);
}

int su_gltf_draco(su_gltf *g, const json_t *primitive)
{
    const json_t *draco = json_object_get(json_object_get(primitive, "extensions"), "KHR_draco_mesh_compression");
    int64_t position = su_gltf_integer(json_object_get(primitive, "attributes"), "POSITION", -1);
    char why[300];
    if (!draco || json_object_get(su_gltf_item(g, "accessors", position), "bufferView")) return 0;
    const su_gltf_bytes *data = su_gltf_view(g, su_gltf_integer(draco, "bufferView", -1));
    if (!data) return 1;
    su_draco_mesh *mesh = su_draco_mesh_unpack(data->data, data->size, why, sizeof why);
    if (!mesh) return why[0] ? su_gltf_fail(g, "its Draco compression cannot be read: %s", why) : su_gltf_no_memory(g);
    int failed = keep_all(g, primitive, draco, mesh);
    su_draco_mesh_free(mesh);
    return failed;
}
