#include "reduce/modes/parts.h"

#include "rig/rig_space.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the two kinds have in common. */
typedef struct part {
    int64_t k;
    const int32_t *pose;
    const su_file *file;
} part;

static part fit_part(const void *parts, int p)
{
    const su_fit *fit = (const su_fit *)parts + p;
    return (part){fit->k, fit->pose, &fit->file};
}

static part modes_part(const void *parts, int p)
{
    const su_modes *modes = (const su_modes *)parts + p;
    return (part){modes->k, modes->pose, &modes->file};
}

static json_t *digest_at(const su_file *file, int64_t index)
{
    return json_array_get(json_object_get(file->meta, "pose_digests"), (size_t)index);
}

static su_status missing(int64_t m, const su_pose_source *sources, const char *what, su_error *err)
{
    char list[200] = "";
    size_t used = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < m; i++) {
        if (sources[i].part >= 0) continue;
        if (count++ < 20 && used < sizeof list - 24)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%lld", used ? ", " : "", (long long)i);
    }
    if (count == 0) return SU_OK;
    return su_fail(err, SU_INPUT, "no %s file holds pose %s%s of the %lld poses; give the missing files too", what,
                   list, count > 20 ? ", ..." : "", (long long)m);
}

static su_status find_sources(int count, part (*part_at)(const void *, int), const void *parts,
                              const char *const *paths, int64_t m, const char *what, su_pose_source *sources,
                              su_error *err)
{
    for (int64_t i = 0; i < m; i++) sources[i].part = -1;
    for (int p = 0; p < count; p++) {
        const part at = part_at(parts, p);
        for (int64_t a = 0; a < at.k; a++) {
            int32_t i = at.pose[a];
            if (i < 0 || i >= m)
                return su_fail(err, SU_INPUT, "%s: pose %d is not one of the %lld poses", paths[p], (int)i,
                               (long long)m);
            if (sources[i].part < 0) {
                sources[i] = (su_pose_source){p, a};
                continue;
            }
            const part before = part_at(parts, sources[i].part);
            const char *first = json_string_value(digest_at(before.file, sources[i].index)),
                       *second = json_string_value(digest_at(at.file, a));
            if (!first || !second || strcmp(first, second) != 0)
                return su_fail(err, SU_INPUT,
                               "%s: pose %d is also in %s and was made from something else; give one of them", paths[p],
                               (int)i, paths[sources[i].part]);
        }
    }
    return missing(m, sources, what, err);
}

su_status su_modes_sources(int count, const su_modes *parts, const char *const *paths, int64_t m,
                           su_pose_source *sources, su_error *err)
{
    return find_sources(count, modes_part, parts, paths, m, "modes", sources, err);
}

static bool same(int64_t count, const double *a, const double *b)
{
    if (!a || !b) return a == b || count == 0;
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static su_status differ(const char *path, const char *first, const char *what, su_error *err)
{
    return su_fail(err, SU_INPUT, "%s: %s differs from that of %s; the files must come from the same poses and mesh",
                   path, what, first);
}

static su_status fits_agree(int count, const su_fit *parts, const char *const *paths, su_error *err)
{
    const su_fit *a = &parts[0];
    const su_rig_space first = su_rig_of_fit(a);
    const char *material = json_string_value(json_object_get(a->file.meta, "material"));
    for (int p = 1; p < count; p++) {
        const su_fit *b = &parts[p];
        const char *other = json_string_value(json_object_get(b->file.meta, "material"));
        if (a->n != b->n || a->t != b->t) return differ(paths[p], paths[0], "the mesh", err);
        const su_rig_space rig = su_rig_of_fit(b);
        if (!su_rig_same_poses(&first, &rig)) return differ(paths[p], paths[0], "the list of poses", err);
        if (a->z != b->z || !same(a->z, a->turn_weight, b->turn_weight))
            return differ(paths[p], paths[0], "the smoothing of rotations", err);
        if (!same(a->t, a->density, b->density)) return differ(paths[p], paths[0], "density", err);
        if ((material ? 1 : 0) != (other ? 1 : 0) || (material && strcmp(material, other) != 0))
            return differ(paths[p], paths[0], "the material", err);
        if (!su_rig_same_sculpts(&first, &rig)) return differ(paths[p], paths[0], "the sculpted correction", err);
    }
    return SU_OK;
}

/* Rows of each pose out of the part that holds it. */
static void copy_rows(double *to, int64_t i, int64_t size, const double *from, int64_t index)
{
    memcpy(to + i * size, from + index * size, (size_t)size * sizeof *to);
}

static su_status merge_fit(const su_fit *parts, const su_pose_source *sources, su_fit *out, su_error *err)
{
    const su_fit *a = &parts[0];
    int64_t m = a->m, n3 = 3 * a->n, t = a->t;
    su_file *file = &out->file;
    su_rig_space rig = su_rig_of_fit(a), own;
    SU_TRY(su_rig_copy(&rig, file, &own, err));
    su_rig_into_fit(&own, out);
    out->k = m, out->n = a->n, out->t = t;
    SU_TRY(SU_FILE_ALLOC_ALL(file, err, SU_WANT(out->pose, m), SU_WANT(out->shapes, m * n3),
                             SU_WANT(out->corrections, m * n3), SU_WANT(out->young, m * t),
                             SU_WANT(out->poisson, m * t)));
    SU_TRY(SU_FILE_COPY(file, &out->density, t, a->density, err));
    out->n1 = a->n1, out->z = a->z;
    SU_TRY(SU_FILE_COPY(file, &out->turn_start, a->n1, a->turn_start, err));
    SU_TRY(SU_FILE_COPY(file, &out->turn_node, a->z, a->turn_node, err));
    SU_TRY(SU_FILE_COPY(file, &out->turn_weight, a->z, a->turn_weight, err));
    file->meta = a->file.meta ? json_deep_copy(a->file.meta) : json_object();
    json_t *digests = json_array();
    bool known = true;
    for (int64_t i = 0; i < m; i++) {
        const su_fit *from = &parts[sources[i].part];
        int64_t index = sources[i].index;
        out->pose[i] = (int32_t)i;
        copy_rows(out->shapes, i, n3, from->shapes, index);
        copy_rows(out->corrections, i, n3, from->corrections, index);
        copy_rows(out->young, i, t, from->young, index);
        copy_rows(out->poisson, i, t, from->poisson, index);
        json_t *digest = digest_at(&from->file, index);
        known = known && digest && json_array_append(digests, digest) == 0;
    }
    if (file->meta && known)
        json_object_set_new(file->meta, "pose_digests", digests);
    else
        json_decref(digests);
    return file->meta ? SU_OK : su_fail(err, SU_AGAIN, "no memory to merge fit files");
}

su_status su_fit_merge(int count, const su_fit *parts, const char *const *paths, su_fit *out, su_error *err)
{
    *out = (su_fit){0};
    su_pose_source *sources;
    SU_TRY(fits_agree(count, parts, paths, err));
    SU_TRY(SU_ALLOC(&sources, parts[0].m, "poses", err));
    su_status status = find_sources(count, fit_part, parts, paths, parts[0].m, "fit", sources, err);
    if (status == SU_OK) status = merge_fit(parts, sources, out, err);
    if (status != SU_OK) su_fit_free(out);
    free(sources);
    return status;
}

su_status su_modes_agree(int count, const su_modes *parts, const char *const *paths, su_error *err)
{
    const su_modes *a = &parts[0];
    for (int p = 1; p < count; p++) {
        const su_modes *b = &parts[p];
        if (a->n != b->n) return differ(paths[p], paths[0], "the number of flesh vertices", err);
        if (a->r != b->r || a->linear != b->linear) return differ(paths[p], paths[0], "the number of modes", err);
        if (a->d != b->d || memcmp(a->mode_region, b->mode_region, (size_t)a->r * sizeof *a->mode_region) != 0 ||
            !same(a->d * a->n, a->region_weights, b->region_weights))
            return differ(paths[p], paths[0], "the division into regions", err);
    }
    return SU_OK;
}

int64_t su_pose_of_digest(const su_file *file, const char *digest)
{
    const json_t *digests = json_object_get(file->meta, "pose_digests");
    for (size_t i = 0; i < json_array_size(digests); i++) {
        const char *known = json_string_value(json_array_get(digests, i));
        if (known && strcmp(known, digest) == 0) return (int64_t)i;
    }
    return -1;
}
