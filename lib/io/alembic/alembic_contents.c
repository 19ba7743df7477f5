/* Topology, positions, texture coordinates, colours and face sets of the meshes of an opened cache. */
#include "io/alembic/alembic_internal.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* stored (places): which value each place has. */
static su_status param_indices(const su_alembic *file, const su_alembic_source *mesh, const su_alembic_param *p,
                               int32_t *stored, su_error *err)
{
    int64_t places = su_alembic_places(&mesh->mesh, p->scope);
    if (p->indexed)
        SU_TRY(su_abc_samples_read(&file->tree, &p->indices, 0, places, stored, err));
    else
        for (int64_t i = 0; i < places; i++) stored[i] = (int32_t)i;
    for (int64_t i = 0; i < places; i++)
        if (stored[i] < 0 || stored[i] >= p->count)
            return su_fail(err, SU_INPUT, "%s: mesh %s: an index of UVs or colours is out of range",
                           su_ogawa_path(file->tree.file), mesh->mesh.name);
    return SU_OK;
}

su_status su_alembic_topology(const su_alembic *file, int index, int32_t *face_counts, int32_t *face_indices,
                              su_error *err)
{
    const su_alembic_source *mesh = &file->meshes[index];
    const su_alembic_mesh *m = &mesh->mesh;
    const char *path = su_ogawa_path(file->tree.file);
    SU_TRY(su_abc_samples_read(&file->tree, &mesh->face_counts, 0, m->faces, face_counts, err));
    SU_TRY(su_abc_samples_read(&file->tree, &mesh->face_indices, 0, m->corners, face_indices, err));
    int64_t at = 0;
    for (int64_t f = 0; f < m->faces; f++) {
        int32_t n = face_counts[f];
        if (n < 0 || n > m->corners - at)
            return su_fail(err, SU_INPUT, "%s: mesh %s: face %lld has %d corners, %lld are left", path, m->name,
                           (long long)f, n, (long long)(m->corners - at));
        for (int32_t k = 0; k < n / 2; k++) { /* to counter-clockwise */
            int32_t swap = face_indices[at + k];
            face_indices[at + k] = face_indices[at + n - 1 - k];
            face_indices[at + n - 1 - k] = swap;
        }
        at += n;
    }
    if (at != m->corners)
        return su_fail(err, SU_INPUT, "%s: mesh %s: faces use %lld of %lld corners", path, m->name, (long long)at,
                       (long long)m->corners);
    for (int64_t i = 0; i < m->corners; i++)
        if (face_indices[i] < 0 || face_indices[i] >= m->points)
            return su_fail(err, SU_INPUT, "%s: mesh %s: corner %lld names point %d of %lld", path, m->name,
                           (long long)i, face_indices[i], (long long)m->points);
    return SU_OK;
}

su_status su_alembic_uv(const su_alembic *file, int index, float *uv, int32_t *uv_indices, su_error *err)
{
    const su_alembic_source *mesh = &file->meshes[index];
    const su_alembic_mesh *m = &mesh->mesh;
    int32_t *counts = NULL, *points = NULL, *stored = NULL;
    int64_t places = su_alembic_places(m, mesh->uv.scope);
    su_status status;
    SU_GO(SU_ALLOC(&counts, m->faces, "faces", err));
    SU_GO(SU_ALLOC(&points, m->corners, "faces", err));
    SU_GO(SU_ALLOC(&stored, places, "UV indices", err));
    SU_GO(su_alembic_topology(file, index, counts, points, err));
    SU_GO(su_abc_samples_read(&file->tree, &mesh->uv.values, 0, m->uvs, uv, err));
    SU_GO(param_indices(file, mesh, &mesh->uv, stored, err));
    for (int64_t f = 0, at = 0; f < m->faces; at += counts[f], f++)
        for (int32_t k = 0; k < counts[f]; k++)
            uv_indices[at + k] = stored[mesh->uv.scope == 'f' ? at + counts[f] - 1 - k : points[at + k]];
done:
    free(counts);
    free(points);
    free(stored);
    return status;
}

su_status su_alembic_colors(const su_alembic *file, int index, float *color, su_error *err)
{
    const su_alembic_source *mesh = &file->meshes[index];
    const su_alembic_mesh *m = &mesh->mesh;
    const su_alembic_param *p = &mesh->color;
    int32_t *stored = NULL, *corner = NULL;
    float *values = NULL;
    int width = p->values.extent;
    su_status status;
    SU_GO(SU_ALLOC(&stored, su_alembic_places(m, p->scope), "colours", err));
    SU_GO(SU_ALLOC(&corner, m->corners, "colours", err));
    SU_GO(SU_ALLOC(&values, width * p->count, "colours", err));
    SU_GO(su_abc_samples_read(&file->tree, &p->values, 0, p->count, values, err));
    SU_GO(param_indices(file, mesh, p, stored, err));
    for (int64_t v = 0; v < 4 * m->points; v++) color[v] = 1.0f; /* points that no face uses: white */
    if (p->scope == 'f') {
        SU_GO(su_abc_samples_read(&file->tree, &mesh->face_indices, 0, m->corners, corner, err));
        for (int64_t k = 0; k < m->corners; k++)
            if (corner[k] < 0 || corner[k] >= m->points) {
                status =
                    su_fail(err, SU_INPUT, "%s: mesh %s: corner %lld names point %d of %lld",
                            su_ogawa_path(file->tree.file), m->name, (long long)k, corner[k], (long long)m->points);
                goto done;
            }
        for (int64_t k = m->corners - 1; k >= 0; k--)
            memcpy(color + 4 * (int64_t)corner[k], values + width * (int64_t)stored[k], (size_t)width * sizeof *color);
    } else {
        for (int64_t v = 0; v < m->points; v++)
            memcpy(color + 4 * v, values + width * (int64_t)stored[p->scope == 'v' ? v : 0],
                   (size_t)width * sizeof *color);
    }
    for (int64_t v = 0; v < 4 * m->points; v++)
        if (!isfinite(color[v])) color[v] = 0.0f;
done:
    free(stored), free(corner), free(values);
    return status;
}

su_status su_alembic_face_set(const su_alembic *file, int index, int64_t k, const char **name, bool *exclusive,
                              int64_t *count, int32_t **faces, su_error *err)
{
    const su_alembic_source *mesh = &file->meshes[index];
    const su_abc_node *node = mesh->face_sets[k];
    int entries;
    su_abc_entry *list;
    su_abc_samples samples = {0};
    *name = node->name, *exclusive = false, *count = 0, *faces = NULL;
    SU_TRY(su_abc_schema_entries(&file->tree, node, ".faceset", &entries, &list, err));
    su_status status = SU_OK;
    const su_abc_entry *entry = su_abc_find(entries, list, ".faces");
    if (!entry || entry->kind < SU_ABC_ARRAY || entry->type != SU_ABC_I32 || entry->extent != 1 || entry->samples < 1)
        goto done; /* a set without faces */
    const su_abc_entry *flag = su_abc_find(entries, list, ".facesExclusive");
    if (flag && flag->kind == SU_ABC_SCALAR && flag->type == SU_ABC_U32 && flag->extent == 1 && flag->samples > 0) {
        uint32_t value;
        int64_t elements;
        SU_GO(su_abc_samples_open(&file->tree, flag, &samples, err));
        SU_GO(su_abc_samples_count(&file->tree, &samples, 0, &elements, err));
        SU_GO(su_abc_samples_read(&file->tree, &samples, 0, 1, &value, err));
        *exclusive = value != 0;
        su_abc_samples_close(&samples);
    }
    SU_GO(su_abc_samples_open(&file->tree, entry, &samples, err));
    SU_GO(su_abc_samples_count(&file->tree, &samples, 0, count, err));
    SU_GO(SU_ALLOC(faces, *count, "a face set", err));
    SU_GO(su_abc_samples_read(&file->tree, &samples, 0, *count, *faces, err));
    for (int64_t i = 0; i < *count; i++)
        if ((*faces)[i] < 0 || (*faces)[i] >= mesh->mesh.faces) {
            status =
                su_fail(err, SU_INPUT, "%s: mesh %s: face set %s names face %d of %lld", su_ogawa_path(file->tree.file),
                        mesh->mesh.name, node->name, (*faces)[i], (long long)mesh->mesh.faces);
            goto done;
        }
done:
    su_abc_samples_close(&samples);
    su_abc_entries_free(entries, list);
    if (status != SU_OK) free(*faces), *faces = NULL, *count = 0;
    return status;
}

su_status su_alembic_points(const su_alembic *file, int index, int64_t sample, float *points, su_error *err)
{
    const su_alembic_source *mesh = &file->meshes[index];
    int64_t count;
    SU_TRY(su_abc_samples_count(&file->tree, &mesh->p, sample, &count, err));
    if (count != mesh->mesh.points)
        return su_fail(err, SU_INPUT,
                       "%s: mesh %s: %lld points in sample %lld, %lld in the first: topology must not change",
                       su_ogawa_path(file->tree.file), mesh->mesh.name, (long long)count, (long long)sample,
                       (long long)mesh->mesh.points);
    return su_abc_samples_read(&file->tree, &mesh->p, sample, count, points, err);
}

su_status su_alembic_points_at(const su_alembic *file, int index, double time, float *room, float *points,
                               su_error *err)
{
    const su_alembic_source *mesh = &file->meshes[index];
    double fraction;
    int64_t before =
        su_abc_sample_before(&file->tree.times[mesh->p.time_sampling], mesh->mesh.samples, time, &fraction);
    SU_TRY(su_alembic_points(file, index, before, points, err));
    if (fraction == 0.0) return SU_OK;
    SU_TRY(su_alembic_points(file, index, before + 1, room, err));
    for (int64_t i = 0; i < 3 * mesh->mesh.points; i++)
        points[i] = (float)(points[i] + fraction * ((double)room[i] - points[i]));
    return SU_OK;
}
