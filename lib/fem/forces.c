#include "fem/forces.h"

#include "core/file.h"
#include "geometry/mat3.h"
#include "geometry/polygon.h"
#include "io/stage/anim.h"
#include "io/cache/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static su_status room(su_collider_mesh *mesh, su_arena *arena, int64_t triangles, su_error *err)
{
    mesh->times = su_arena_alloc(arena, mesh->frames, sizeof *mesh->times);
    mesh->points = su_arena_alloc(arena, 3 * mesh->frames * mesh->vertices, sizeof *mesh->points);
    mesh->triangle = su_arena_alloc(arena, 3 * triangles, sizeof *mesh->triangle);
    return mesh->times && mesh->points && mesh->triangle ? SU_OK
                                                         : su_fail(err, SU_AGAIN, "not enough memory for a collider");
}

static su_status read_anim(const char *path, double scale, su_collider_mesh *mesh, su_arena *arena, su_error *err)
{
    su_anim anim;
    SU_TRY(su_anim_load(path, &anim, err));
    mesh->frames = anim.F, mesh->vertices = anim.nbar, mesh->triangles = anim.T;
    su_status status = room(mesh, arena, anim.T, err);
    for (int64_t k = 0; k < anim.F && status == SU_OK; k++) {
        const double *root = anim.root + 16 * k;
        mesh->times[k] = anim.times[k];
        for (int64_t v = k * anim.nbar; v < (k + 1) * anim.nbar; v++)
            for (int i = 0; i < 3; i++) {
                double sum = root[4 * i + 3];
                for (int j = 0; j < 3; j++) sum += root[4 * i + j] * (double)anim.points[3 * v + j];
                mesh->points[3 * v + i] = scale * sum;
            }
    }
    if (status == SU_OK) memcpy(mesh->triangle, anim.triangles, (size_t)(3 * anim.T) * sizeof *anim.triangles);
    su_anim_free(&anim);
    return status;
}

static su_status read_sequence(const char *path, const char *neutral, const su_mesh_source *source,
                               su_collider_mesh *mesh, su_arena *arena, su_error *err)
{
    su_sequence *from;
    SU_TRY(su_sequence_open(path, neutral, &from, err));
    mesh->frames = from->frames, mesh->vertices = from->vertices;
    su_status status =
        from->faces > 0 && from->frames > 0 ? SU_OK : su_fail(err, SU_INPUT, "%s: no faces or no frames", path);
    SU_GO(room(mesh, arena, from->corners, err));
    for (int64_t k = 0; k < from->frames; k++) {
        double *points = mesh->points + 3 * k * from->vertices;
        SU_GO(su_sequence_read(from, k, points, err));
        for (int64_t i = 0; i < 3 * from->vertices; i++) points[i] *= source->scale;
        mesh->times[k] = from->timed ? from->times[k] : source->start + (double)k / source->rate;
    }
    SU_GO(su_polygons_triangulate(from->faces, from->face_counts, from->face_indices, NULL, mesh->points,
                                  mesh->triangle, &mesh->triangles, NULL, err));
done:
    su_sequence_close(from);
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

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
    if (!path || (source->neutral && !neutral))
        status = su_fail(err, SU_AGAIN, "not enough memory for a collider");
    else if (ends_with(path, ".npz"))
        status = read_anim(path, source->scale, collider->mesh, arena, err);
    else
        status = read_sequence(path, neutral, source, collider->mesh, arena, err);
    if (status == SU_OK && su_collider_mesh_finish(collider->mesh, arena, err) != SU_OK)
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
        if (!at.text[0]) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
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

su_status su_forces_load(const char *path, int colliders, const char *const *collider_paths, int64_t nbar,
                         const double *neutral, int64_t T, const int32_t *triangles, su_external *out, su_error *err)
{
    json_t *root;
    int64_t own;
    memset(out, 0, sizeof *out);
    SU_TRY(gather(path, colliders, collider_paths, &own, &root, err));
    su_status status = su_external_parse(root, nbar, neutral, T, triangles, out, err);
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
