#include "physics/external_files.h"

#include "core/file.h"
#include "core/json_text.h"
#include "io/moving_mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file named by the JSON file at `beside` (NULL: the command line). Caller frees; NULL: no memory. */
static char *resolve(const char *beside, const char *file)
{
    char *out;
    int folder = beside && file[0] != '/' ? (int)(su_base_name(beside) - beside) : 0;
    return asprintf(&out, "%.*s%s", folder, beside ? beside : "", file) < 0 ? NULL : out;
}

static su_status read_mesh(const char *beside, su_collider *collider, su_arena *arena, su_error *err)
{
    const su_mesh_source *source = &collider->source;
    char *path = resolve(beside, source->file), *neutral = source->neutral ? resolve(beside, source->neutral) : NULL;
    su_status status;
    su_collider_mesh *mesh = collider->mesh;
    su_moving_mesh from;
    if (!path || (source->neutral && !neutral))
        status = su_fail(err, SU_AGAIN, "not enough memory for a collider");
    else
        status = su_moving_mesh_load(path, neutral, source->scale, source->start, source->rate, arena, &from, err);
    if (status == SU_OK) {
        mesh->frames = from.frames, mesh->vertices = from.vertices, mesh->triangles = from.triangles;
        mesh->times = from.times, mesh->points = from.points, mesh->triangle = from.triangle;
    }
    if (status == SU_OK && su_collider_mesh_finish(mesh, arena, err) != SU_OK)
        status = su_error_context(err, "%s: ", path);
    free(path), free(neutral);
    return status;
}

/* The file's JSON with the colliders of the command line behind its own. */
static su_status gather(const char *path, int count, const char *const *paths, int64_t *own, json_t **out,
                        su_error *err)
{
    json_error_t at;
    json_t *root = path ? json_load_file(path, JSON_REJECT_DUPLICATES, &at) : json_object();
    int bad = 0;
    if (!root && path) {
        if (!at.text[0] || su_json_missed_memory()) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
        return su_fail(err, SU_INPUT, "%s: line %d: %s", path, at.line, at.text);
    }
    json_t *list = json_object_get(root, "colliders");
    *own = json_is_array(list) ? (int64_t)json_array_size(list) : 0;
    if (count > 0 && !list) {
        bad |= json_object_set_new(root, "colliders", json_array());
        list = json_object_get(root, "colliders");
    }
    for (int k = 0; k < count && json_is_array(list); k++)
        bad |= json_array_append_new(list, json_pack("{s:s, s:s}", "shape", "mesh", "file", paths[k]));
    if (!root || bad) {
        json_decref(root);
        return su_fail(err, SU_AGAIN, "not enough memory for the colliders");
    }
    *out = root;
    return SU_OK;
}

su_status su_forces_load(const char *path, int colliders, const char *const *collider_paths, const su_load_skin *skin,
                         su_external *out, su_error *err)
{
    json_t *root;
    int64_t own;
    memset(out, 0, sizeof *out);
    SU_TRY(gather(path, colliders, collider_paths, &own, &root, err));
    su_status status = su_external_parse(root, skin, out, err);
    json_decref(root);
    if (status != SU_OK) return path ? su_error_context(err, "%s: ", path) : status;
    for (int64_t k = 0; k < out->colliders && status == SU_OK; k++)
        if (out->collider[k].shape == SU_MESH)
            status = read_mesh(k < own ? path : NULL, out->collider + k, &out->arena, err);
    if (status != SU_OK) su_external_free(out);
    return status;
}

su_status su_forces_describe(const char *path, const su_external *external, json_t *meta, su_error *err)
{
    char hex[33];
    if (path) {
        SU_TRY(su_file_digest(path, hex, err));
        if (json_object_set_new(meta, "forces", json_string(hex)) != 0)
            return su_fail(err, SU_AGAIN, "not enough memory");
    }
    json_t *list = json_array();
    int bad = !list;
    for (int64_t k = 0; !bad && k < external->colliders; k++) {
        const su_collider_mesh *mesh = external->collider[k].mesh;
        su_digest *digest = mesh ? su_digest_begin() : NULL;
        bad |= mesh && !digest;
        if (!digest) continue;
        su_digest_add(digest, mesh->times, (size_t)mesh->frames * sizeof *mesh->times);
        su_digest_add(digest, mesh->points, (size_t)(3 * mesh->frames * mesh->vertices) * sizeof *mesh->points);
        su_digest_add(digest, mesh->triangle, (size_t)(3 * mesh->triangles) * sizeof *mesh->triangle);
        su_digest_end(digest, hex);
        bad |= json_array_append_new(list, json_string(hex));
    }
    if (json_array_size(list) > 0) bad |= json_object_set(meta, "colliders", list);
    json_decref(list);
    return bad ? su_fail(err, SU_AGAIN, "not enough memory") : SU_OK;
}
