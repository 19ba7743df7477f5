#include "core/memory.h"
#include "core/order.h"
#include "geometry/polygon.h"
#include "io/cache/sequence_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static su_status count_all(su_sequence *s, const char *path, su_error *err)
{
    const su_alembic *file = s->source->alembic;
    int64_t vertices = 0;
    s->objects = su_alembic_mesh_count(file);
    for (int i = 0; i < s->objects; i++) {
        const su_alembic_mesh *mesh = su_alembic_mesh_at(file, i);
        vertices += mesh->points, s->faces += mesh->faces, s->corners += mesh->corners, s->uvs += mesh->uvs;
    }
    for (int i = 0; i < s->objects; i++)
        if (s->uvs && !su_alembic_mesh_at(file, i)->uvs) s->uvs++; /* one coordinate for a mesh without any */
    if (vertices > INT32_MAX || s->corners > INT32_MAX || s->uvs > INT32_MAX || vertices == 0 || s->faces == 0)
        return su_fail(err, SU_INPUT, "%s: has no faces, or more vertices or corners than supple can number", path);
    SU_TRY(SU_ALLOC(&s->source->other, 3 * vertices, "a frame", err));
    return su_sequence_count(s, path, vertices, err);
}

static su_status abc_uv(su_sequence *s, int mesh, int64_t uv, int64_t corner, su_error *err)
{
    const su_alembic_mesh *m = su_alembic_mesh_at(s->source->alembic, mesh);
    if (m->uvs) SU_TRY(su_alembic_uv(s->source->alembic, mesh, s->uv + 2 * uv, s->uv_indices + corner, err));
    for (int64_t i = 0; i < m->corners; i++) s->uv_indices[corner + i] += (int32_t)uv;
    return SU_OK;
}

static bool is_mirror(const double m[16])
{
    return m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
               m[2] * (m[4] * m[9] - m[5] * m[8]) <
           0.0;
}

/* Face sets by name, whichever meshes they are of. alone (sets): they say that their faces are in no other. */
static su_status abc_looks(su_sequence *s, int mesh, int64_t face, bool **alone, su_error *err)
{
    const su_alembic *file = s->source->alembic;
    for (int64_t k = 0; k < su_alembic_mesh_at(file, mesh)->face_sets; k++) {
        const char *name;
        int64_t count;
        int32_t *faces;
        bool exclusive;
        int64_t sets = s->looks.sets;
        SU_TRY(su_alembic_face_set(file, mesh, k, &name, &exclusive, &count, &faces, err));
        for (int64_t i = 0; i < count; i++) faces[i] += (int32_t)face;
        su_status status = count > 0 ? su_looks_add_set(&s->looks, name, count, faces, err) : SU_OK;
        free(faces);
        SU_TRY(status);
        if (s->looks.sets == sets) continue;
        bool *grown = realloc(*alone, (size_t)s->looks.sets * sizeof *grown);
        if (!grown) return su_fail(err, SU_AGAIN, "out of memory for face sets");
        *alone = grown;
        grown[sets] = exclusive;
    }
    return SU_OK;
}

static su_status abc_colors(su_sequence *s, int mesh, int64_t vertex, su_error *err)
{
    const su_alembic_mesh *m = su_alembic_mesh_at(s->source->alembic, mesh);
    if (m->colored) return su_alembic_colors(s->source->alembic, mesh, s->color + 4 * vertex, err);
    for (int64_t i = 0; i < 4 * m->points; i++) s->color[4 * vertex + i] = 1.0f;
    return SU_OK;
}

static su_status read_topology(su_sequence *s, const char *path, bool **alone, su_error *err)
{
    const su_alembic *file = s->source->alembic;
    int64_t vertex = 0, face = 0, corner = 0, uv = 0;
    SU_TRY(SU_ALLOC(&s->face_counts, s->faces, "faces", err));
    SU_TRY(SU_ALLOC(&s->face_indices, s->corners, "faces", err));
    SU_TRY(SU_ALLOC(&s->object_ids, s->vertices, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_names, s->objects, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_xform, 16 * s->objects, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_hidden, s->objects, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_paths, s->objects, "objects", err));
    bool colored = false;
    for (int i = 0; i < s->objects; i++) colored |= su_alembic_mesh_at(file, i)->colored;
    if (colored) SU_TRY(SU_ALLOC(&s->color, 4 * s->vertices, "colours", err));
    if (s->uvs) {
        SU_TRY(SU_ALLOC(&s->uv, 2 * s->uvs, "UVs", err));
        SU_TRY(SU_ALLOC(&s->uv_indices, s->corners, "UVs", err));
    }
    for (int i = 0; i < s->objects; i++) {
        const su_alembic_mesh *mesh = su_alembic_mesh_at(file, i);
        SU_TRY(su_alembic_topology(file, i, s->face_counts + face, s->face_indices + corner, err));
        for (int64_t k = 0; k < mesh->corners; k++) s->face_indices[corner + k] += (int32_t)vertex;
        for (int64_t v = 0; v < mesh->points; v++) s->object_ids[vertex + v] = i;
        if (!(s->object_names[i] = strdup(mesh->name)) || !(s->object_paths[i] = strdup(mesh->path)))
            return su_fail(err, SU_AGAIN, "%s: out of memory", path);
        s->object_hidden[i] = mesh->hidden ? SU_SEQUENCE_HIDDEN : mesh->sometimes_hidden ? SU_SEQUENCE_CHANGING : 0;
        SU_TRY(su_alembic_xform(file, i, s->source->sample_times[0], s->object_xform + 16 * i, err));
        if (s->uvs) SU_TRY(abc_uv(s, i, uv, corner, err));
        if (colored) SU_TRY(abc_colors(s, i, vertex, err));
        SU_TRY(abc_looks(s, i, face, alone, err));
        if (is_mirror(s->object_xform + 16 * i)) {
            su_polygons_turn_round(mesh->faces, s->face_counts + face, s->face_indices + corner);
            if (s->uvs) su_polygons_turn_round(mesh->faces, s->face_counts + face, s->uv_indices + corner);
        }
        vertex += mesh->points, face += mesh->faces, corner += mesh->corners, uv += mesh->uvs ? mesh->uvs : 1;
    }
    for (int64_t f = 0; f < s->faces; f++)
        if (s->face_counts[f] < 3)
            return su_fail(err, SU_INPUT, "%s: face %lld has fewer than 3 corners", path, (long long)f);
    SU_TRY(su_looks_materials_of_sets(&s->looks, s->faces, *alone, err));
    if (!s->uvs) return SU_OK;
    return su_polygons_merge_uv(s->vertices, s->corners, s->face_indices, &s->uvs, s->uv, s->uv_indices, err);
}

/* Samples of one frame in several objects may differ by rounding, s; no shutter is that fast. */
#define SAME_TIME 1e-5

su_status su_sequence_abc_times(su_sequence *s, const char *path, su_error *err)
{
    const su_alembic *file = s->source->alembic;
    double *all = NULL, *own = NULL;
    int64_t count = 0, most = 0;
    su_status status = SU_OK;
    s->frames = 0, s->fps = s->frame_start = 0.0;
    for (int i = 0; i < su_alembic_mesh_count(file); i++) {
        int64_t samples;
        if (s->source->left_out && s->source->left_out[i]) continue;
        free(own);
        own = NULL;
        SU_GO(su_alembic_times(file, i, &samples, &own, err));
        if (samples == 0) continue;
        if (samples > most) most = samples, s->fps = su_alembic_rate(file, i);
        double *grown = realloc(all, (size_t)(count + samples) * sizeof *all);
        if (!grown) {
            status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
            goto done;
        }
        all = grown;
        memcpy(all + count, own, (size_t)samples * sizeof *all);
        su_sort(all, (size_t)(count += samples), sizeof *all, su_order_doubles);
        samples = count, count = 0; /* each time once */
        for (int64_t k = 0; k < samples; k++)
            if (count == 0 || all[k] - all[count - 1] > SAME_TIME) all[count++] = all[k];
    }
    free(s->times), free(s->source->sample_times);
    s->times = s->source->sample_times = NULL;
    s->timed = true, s->frames = count > 0 ? count : 1;
    SU_GO(SU_ALLOC(&s->times, s->frames, "times", err));
    SU_GO(SU_ALLOC(&s->source->sample_times, s->frames, "times", err));
    if (count == 0)
        s->times[0] = su_alembic_time(file, 0, 0);
    else
        memcpy(s->times, all, (size_t)count * sizeof *all);
    memcpy(s->source->sample_times, s->times, (size_t)s->frames * sizeof *s->times);
    char text[64];
    double said = su_alembic_metadata(file, "_ai_DCC_FPS", text, sizeof text) ? strtod(text, NULL) : 0.0;
    if (said > 0.0 && said < 1e6) s->fps = said;
done:
    free(all), free(own);
    return status;
}

su_status su_sequence_abc_open(su_sequence *s, const char *path, su_error *err)
{
    SU_TRY(su_alembic_open(path, &s->source->alembic, err));
    s->others = su_alembic_others(s->source->alembic);
    for (int i = 0; i < su_alembic_mesh_count(s->source->alembic); i++) {
        const su_alembic_mesh *mesh = su_alembic_mesh_at(s->source->alembic, i);
        su_name_list_add_all(&s->unread, &mesh->unread), su_name_list_add_all(&s->parameters, &mesh->other);
    }
    SU_TRY(count_all(s, path, err));
    SU_TRY(su_sequence_abc_times(s, path, err));
    bool *alone = NULL;
    su_status status = read_topology(s, path, &alone, err);
    free(alone);
    return status;
}

su_status su_sequence_abc_read(su_sequence *s, int64_t frame, double *points, su_error *err)
{
    const su_alembic *file = s->source->alembic;
    float *local = s->source->frame;
    double time = s->source->sample_times[frame];
    for (int i = 0; i < su_alembic_mesh_count(file); i++) {
        const su_alembic_mesh *mesh = su_alembic_mesh_at(file, i);
        double m[16];
        if (s->source->left_out && s->source->left_out[i]) {
            points += 3 * mesh->points;
            continue;
        }
        if (!mesh->constant_topology)
            return su_fail(err, SU_INPUT,
                           "%s: mesh %s changes its topology; only constant topology can be simulated: name the other "
                           "objects by --object",
                           su_alembic_path(file), mesh->name);
        SU_TRY(su_alembic_points_at(file, i, time, s->source->other, local, err));
        SU_TRY(su_alembic_xform(file, i, time, m, err));
        for (int64_t v = 0; v < mesh->points; v++)
            for (int k = 0; k < 3; k++)
                points[3 * v + k] = m[4 * k] * local[3 * v] + m[4 * k + 1] * local[3 * v + 1] +
                                    m[4 * k + 2] * local[3 * v + 2] + m[4 * k + 3];
        SU_TRY(su_sequence_finite(3 * mesh->points, points, mesh->name, frame, err));
        points += 3 * mesh->points;
    }
    return SU_OK;
}

su_status su_sequence_abc_xform(su_sequence *s, int64_t object, double time, double xform[16], su_error *err)
{
    return su_alembic_xform(s->source->alembic, (int)object, time, xform, err);
}

void su_sequence_abc_close(su_sequence *s) { su_alembic_close(s->source->alembic); }
