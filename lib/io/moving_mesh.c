#include "io/moving_mesh.h"

#include "geometry/polygon.h"
#include "io/cache/sequence.h"
#include "io/stage/anim.h"

#include <stdbool.h>
#include <string.h>

static su_status room(su_moving_mesh *mesh, su_arena *arena, int64_t triangles, su_error *err)
{
    mesh->times = su_arena_alloc(arena, mesh->frames, sizeof *mesh->times);
    mesh->points = su_arena_alloc(arena, 3 * mesh->frames * mesh->vertices, sizeof *mesh->points);
    mesh->triangle = su_arena_alloc(arena, 3 * triangles, sizeof *mesh->triangle);
    return mesh->times && mesh->points && mesh->triangle
               ? SU_OK
               : su_fail(err, SU_AGAIN, "not enough memory for a mesh that moves");
}

static su_status read_anim(const char *path, double scale, su_moving_mesh *mesh, su_arena *arena, su_error *err)
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

static su_status read_sequence(const char *path, const char *neutral, double scale, double start, double rate,
                               su_moving_mesh *mesh, su_arena *arena, su_error *err)
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
        for (int64_t i = 0; i < 3 * from->vertices; i++) points[i] *= scale;
        mesh->times[k] = from->timed ? from->times[k] : start + (double)k / rate;
    }
    SU_GO(su_polygons_triangulate(&(su_polygons){from->faces, from->face_counts, from->face_indices}, NULL,
                                  mesh->points, mesh->triangle, &mesh->triangles, NULL, err));
done:
    su_sequence_close(from);
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

su_status su_moving_mesh_load(const char *path, const char *neutral, double scale, double start, double rate,
                              su_arena *arena, su_moving_mesh *out, su_error *err)
{
    return ends_with(path, ".npz") ? read_anim(path, scale, out, arena, err)
                                   : read_sequence(path, neutral, scale, start, rate, out, arena, err);
}
