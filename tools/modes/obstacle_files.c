#include "obstacle_files.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void obstacles_free(int64_t count, obstacle_file *list)
{
    for (int64_t k = 0; list && k < count; k++) su_obj_free(&list[k].mesh), free(list[k].triangles);
    free(list);
}

/* POSE: in front of the rest; the rest where there is none. */
static const char *after_pose(const char *item, int *pose)
{
    size_t digits = strspn(item, "0123456789");
    *pose = -1;
    if (digits == 0 || digits > 6 || item[digits] != ':') return item;
    *pose = atoi(item);
    return item + digits + 1;
}

static su_status read_plane(const char *item, obstacle_file *out, su_error *err)
{
    const char *at = after_pose(item, &out->pose);
    double *numbers[2] = {out->obstacle.point, out->obstacle.normal};
    for (int k = 0; k < 6; k++) {
        char *end;
        double value = strtod(at, &end);
        if (end == at || !isfinite(value) || *end != (k < 5 ? ',' : '\0'))
            return su_fail(err, SU_USAGE, "--plane %s: is not [POSE:]X,Y,Z,NX,NY,NZ", item);
        numbers[k / 3][k % 3] = value;
        at = end + 1;
    }
    const double *n = out->obstacle.normal;
    return n[0] != 0 || n[1] != 0 || n[2] != 0 ? SU_OK : su_fail(err, SU_USAGE, "--plane %s: has no normal", item);
}

static su_status read_collider(const char *item, obstacle_file *out, su_error *err)
{
    const char *path = after_pose(item, &out->pose);
    SU_TRY(su_obj_load(path, &out->mesh, err));
    const su_obj *mesh = &out->mesh;
    SU_TRY(SU_ALLOC(&out->triangles, 3 * mesh->corners, "collider", err));
    int64_t t = 0;
    for (int64_t f = 0, corner = 0; f < mesh->faces; corner += mesh->face_counts[f++])
        for (int k = 2; k < mesh->face_counts[f]; k++, t++) { /* fans */
            out->triangles[3 * t] = mesh->face_indices[corner];
            out->triangles[3 * t + 1] = mesh->face_indices[corner + k - 1];
            out->triangles[3 * t + 2] = mesh->face_indices[corner + k];
        }
    if (t == 0) return su_fail(err, SU_INPUT, "%s: has no faces", path);
    out->obstacle.n = mesh->vertices, out->obstacle.t = t;
    out->obstacle.x = mesh->points, out->obstacle.triangles = out->triangles;
    return SU_OK;
}

su_status obstacles_read(const su_list *planes, const su_list *colliders, int64_t *count, obstacle_file **out,
                         su_error *err)
{
    int64_t all = planes->count + colliders->count;
    *count = 0;
    if (!all) return SU_OK;
    SU_TRY(SU_ALLOC(out, all, "obstacles", err));
    *count = all;
    for (int k = 0; k < planes->count; k++) SU_TRY(read_plane(planes->items[k], &(*out)[k], err));
    for (int k = 0; k < colliders->count; k++)
        SU_TRY(read_collider(colliders->items[k], &(*out)[planes->count + k], err));
    return SU_OK;
}
