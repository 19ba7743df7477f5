#include "io/cache/sequence.h"

#include "core/memory.h"
#include "geometry/polygon.h"
#include "io/alembic/alembic.h"
#include "io/cache/mdd.h"
#include "io/cache/obj.h"
#include "io/cache/pc2.h"
#include "io/cache/ply.h"
#include "io/cache/sequence_files.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One format behind a sequence. */
typedef struct source_kind {
    const char *extension;
    su_status (*open)(su_sequence *sequence, const char *path, su_error *err);
    su_status (*read)(su_sequence *sequence, int64_t frame, double *points, su_error *err);
    void (*close)(su_sequence *sequence);
} source_kind;

struct su_sequence_source {
    const source_kind *kind;
    float *frame;  /* (vertices of the file,3) scratch of the single-precision formats */
    int64_t all;   /* vertices of the file, where only some are kept; else 0 */
    int32_t *kept; /* (vertices) of the file */
    double *whole; /* (all,3) scratch */
    su_file_list files;
    su_pc2 pc2;
    su_mdd mdd;
    su_alembic *alembic;
    int timing_mesh; /* Alembic: the mesh with most samples */
    bool *left_out;  /* Alembic: (meshes) not wanted; NULL: none */
};

static su_status check_finite(int64_t count, const double *points, const char *path, int64_t frame, su_error *err)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(points[i]))
            return su_fail(err, SU_INPUT, "%s: frame %lld: vertex %lld has no finite position", path, (long long)frame,
                           (long long)(i / 3));
    return SU_OK;
}

static void widen(int64_t count, const float *in, double *out)
{
    for (int64_t i = 0; i < count; i++) out[i] = in[i];
}

/* Topology, names and UVs of an OBJ become the sequence's. */
static su_status take_obj(su_sequence *s, su_obj *obj, su_error *err)
{
    SU_TRY(SU_ALLOC(&s->object_xform, 16 * obj->objects, "objects", err));
    for (int64_t i = 0; i < 16 * obj->objects; i++) s->object_xform[i] = i % 16 % 5 == 0;
    if (obj->color) SU_TRY(SU_ALLOC(&s->color, 4 * obj->vertices, "colours", err));
    for (int64_t i = 0; obj->color && i < 4 * obj->vertices; i++)
        s->color[i] = i % 4 == 3 ? 1.0f : obj->color[i / 4 * 3 + i % 4];
    s->vertices = obj->vertices, s->faces = obj->faces, s->corners = obj->corners, s->uvs = obj->uvs,
    s->objects = obj->objects;
    s->face_counts = obj->face_counts, s->face_indices = obj->face_indices, s->uv = obj->uv,
    s->uv_indices = obj->uv_indices;
    s->object_ids = obj->object_ids, s->object_names = obj->object_names;
    double *points = obj->points;
    free(obj->color);
    *obj = (su_obj){.points = points};
    return SU_OK;
}

/* ---- OBJ, PLY: a file a frame ---- */

static su_status mesh_open(su_sequence *s, const char *path, su_error *err)
{
    su_obj first = {0};
    SU_TRY(su_file_list_find(path, &s->source->files, err));
    const su_file_list *files = &s->source->files;
    su_status status = su_mesh_file_load(files->paths[0], &first, err);
    if (status == SU_OK && first.faces == 0) status = su_fail(err, SU_INPUT, "%s: has no faces", files->paths[0]);
    if (status == SU_OK && s->vertices && s->vertices != first.vertices)
        status = su_fail(err, SU_INPUT, "%s: has %lld vertices, its neutral mesh %lld", files->paths[0],
                         (long long)first.vertices, (long long)s->vertices);
    if (status == SU_OK && !s->vertices) status = take_obj(s, &first, err);
    su_obj_free(&first);
    if (status != SU_OK) return status;
    s->frames = files->count;
    s->frame_start = (double)files->first;
    return SU_OK;
}

static su_status obj_read(su_sequence *s, int64_t frame, double *points, su_error *err)
{
    return su_obj_points(s->source->files.paths[frame], s->vertices, points, err);
}

static su_status ply_read(su_sequence *s, int64_t frame, double *points, su_error *err)
{
    return su_ply_points(s->source->files.paths[frame], s->vertices, points, err);
}

static void mesh_close(su_sequence *s) { su_file_list_free(&s->source->files); }

/* ---- PC2, MDD ---- */

static su_status check_count(su_sequence *s, const char *path, int64_t points, su_error *err)
{
    if (s->vertices && s->vertices != points)
        return su_fail(err, SU_INPUT, "%s: has %lld points, its neutral mesh %lld", path, (long long)points,
                       (long long)s->vertices);
    s->vertices = points;
    return SU_ALLOC(&s->source->frame, 3 * points, "a frame", err);
}

static su_status pc2_open(su_sequence *s, const char *path, su_error *err)
{
    su_pc2 *file = &s->source->pc2;
    SU_TRY(su_pc2_open(file, path, err));
    SU_TRY(check_count(s, path, file->points, err));
    s->frames = file->samples;
    s->frame_start = file->start_frame;
    SU_TRY(SU_ALLOC(&s->times, s->frames, "times", err));
    for (int64_t k = 0; k < s->frames; k++)
        s->times[k] = file->start_frame + (double)k * (file->frames_per_sample > 0 ? file->frames_per_sample : 1.0);
    return SU_OK;
}

static su_status pc2_read(su_sequence *s, int64_t frame, double *points, su_error *err)
{
    SU_TRY(su_pc2_read(&s->source->pc2, frame, s->source->frame, err));
    widen(3 * s->vertices, s->source->frame, points);
    return check_finite(3 * s->vertices, points, s->source->pc2.path, frame, err);
}

static void pc2_close(su_sequence *s) { su_pc2_close(&s->source->pc2); }

static su_status mdd_open(su_sequence *s, const char *path, su_error *err)
{
    su_mdd *file = &s->source->mdd;
    SU_TRY(su_mdd_open(file, path, err));
    SU_TRY(check_count(s, path, file->points, err));
    s->frames = file->samples;
    s->timed = true;
    SU_TRY(SU_ALLOC(&s->times, s->frames, "times", err));
    memcpy(s->times, file->times, (size_t)s->frames * sizeof *s->times);
    return SU_OK;
}

static su_status mdd_read(su_sequence *s, int64_t frame, double *points, su_error *err)
{
    SU_TRY(su_mdd_read(&s->source->mdd, frame, s->source->frame, err));
    widen(3 * s->vertices, s->source->frame, points);
    return check_finite(3 * s->vertices, points, s->source->mdd.path, frame, err);
}

static void mdd_close(su_sequence *s) { su_mdd_close(&s->source->mdd); }

/* ---- Alembic: all meshes one after the other ---- */

static su_status abc_counts(su_sequence *s, const char *path, su_error *err)
{
    const su_alembic *file = s->source->alembic;
    int64_t vertices = 0;
    s->objects = su_alembic_mesh_count(file);
    for (int i = 0; i < s->objects; i++) {
        const su_alembic_mesh *mesh = su_alembic_mesh_at(file, i);
        if (mesh->samples > s->frames) s->frames = mesh->samples, s->source->timing_mesh = i;
        vertices += mesh->points, s->faces += mesh->faces, s->corners += mesh->corners, s->uvs += mesh->uvs;
    }
    for (int i = 0; i < s->objects; i++) {
        const su_alembic_mesh *mesh = su_alembic_mesh_at(file, i);
        if (mesh->samples != 1 && mesh->samples != s->frames)
            return su_fail(err, SU_INPUT, "%s: mesh %s has %lld samples, another %lld", path, mesh->name,
                           (long long)mesh->samples, (long long)s->frames);
        if (s->uvs && !mesh->uvs) s->uvs++; /* one coordinate for a mesh without any */
    }
    if (vertices > INT32_MAX || s->corners > INT32_MAX || s->uvs > INT32_MAX || vertices == 0 || s->faces == 0)
        return su_fail(err, SU_INPUT, "%s: has no faces, or more vertices or corners than supple can number", path);
    return check_count(s, path, vertices, err);
}

static su_status abc_uv(su_sequence *s, int mesh, int64_t uv, int64_t corner, su_error *err)
{
    const su_alembic_mesh *m = su_alembic_mesh_at(s->source->alembic, mesh);
    if (m->uvs) SU_TRY(su_alembic_uv(s->source->alembic, mesh, s->uv + 2 * uv, s->uv_indices + corner, err));
    for (int64_t i = 0; i < m->corners; i++) s->uv_indices[corner + i] += (int32_t)uv;
    return SU_OK;
}

static su_status abc_topology(su_sequence *s, const char *path, su_error *err)
{
    const su_alembic *file = s->source->alembic;
    int64_t vertex = 0, face = 0, corner = 0, uv = 0;
    SU_TRY(SU_ALLOC(&s->face_counts, s->faces, "faces", err));
    SU_TRY(SU_ALLOC(&s->face_indices, s->corners, "faces", err));
    SU_TRY(SU_ALLOC(&s->object_ids, s->vertices, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_names, s->objects, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_xform, 16 * s->objects, "objects", err));
    if (s->uvs) {
        SU_TRY(SU_ALLOC(&s->uv, 2 * s->uvs, "UVs", err));
        SU_TRY(SU_ALLOC(&s->uv_indices, s->corners, "UVs", err));
    }
    for (int i = 0; i < s->objects; i++) {
        const su_alembic_mesh *mesh = su_alembic_mesh_at(file, i);
        SU_TRY(su_alembic_topology(file, i, s->face_counts + face, s->face_indices + corner, err));
        for (int64_t k = 0; k < mesh->corners; k++) s->face_indices[corner + k] += (int32_t)vertex;
        for (int64_t v = 0; v < mesh->points; v++) s->object_ids[vertex + v] = i;
        if (!(s->object_names[i] = strdup(mesh->name))) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
        SU_TRY(su_alembic_xform(file, i, s->times[0], s->object_xform + 16 * i, err));
        if (s->uvs) SU_TRY(abc_uv(s, i, uv, corner, err));
        vertex += mesh->points, face += mesh->faces, corner += mesh->corners, uv += mesh->uvs ? mesh->uvs : 1;
    }
    for (int64_t f = 0; f < s->faces; f++)
        if (s->face_counts[f] < 3)
            return su_fail(err, SU_INPUT, "%s: face %lld has fewer than 3 corners", path, (long long)f);
    if (!s->uvs) return SU_OK;
    return su_polygons_merge_uv(s->vertices, s->corners, s->face_indices, &s->uvs, s->uv, s->uv_indices, err);
}

static su_status abc_open(su_sequence *s, const char *path, su_error *err)
{
    SU_TRY(su_alembic_open(path, &s->source->alembic, err));
    SU_TRY(abc_counts(s, path, err));
    SU_TRY(SU_ALLOC(&s->times, s->frames, "times", err));
    s->timed = true;
    for (int64_t k = 0; k < s->frames; k++)
        s->times[k] = su_alembic_time(s->source->alembic, s->source->timing_mesh, k);
    char text[64];
    if (su_alembic_metadata(s->source->alembic, "_ai_DCC_FPS", text, sizeof text)) s->fps = strtod(text, NULL);
    if (!(s->fps > 0.0 && s->fps < 1e6)) s->fps = 0.0;
    return s->face_counts ? SU_OK : abc_topology(s, path, err);
}

static su_status abc_read(su_sequence *s, int64_t frame, double *points, su_error *err)
{
    const su_alembic *file = s->source->alembic;
    float *local = s->source->frame;
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
        SU_TRY(su_alembic_points(file, i, mesh->samples == 1 ? 0 : frame, local, err));
        SU_TRY(su_alembic_xform(file, i, s->times[frame], m, err));
        for (int64_t v = 0; v < mesh->points; v++)
            for (int k = 0; k < 3; k++)
                points[3 * v + k] = m[4 * k] * local[3 * v] + m[4 * k + 1] * local[3 * v + 1] +
                                    m[4 * k + 2] * local[3 * v + 2] + m[4 * k + 3];
        SU_TRY(check_finite(3 * mesh->points, points, mesh->name, frame, err));
        points += 3 * mesh->points;
    }
    return SU_OK;
}

static void abc_close(su_sequence *s) { su_alembic_close(s->source->alembic); }

/* ---- all ---- */

static const source_kind kinds[] = {{".obj", mesh_open, obj_read, mesh_close},
                                    {".ply", mesh_open, ply_read, mesh_close},
                                    {".pc2", pc2_open, pc2_read, pc2_close},
                                    {".mdd", mdd_open, mdd_read, mdd_close},
                                    {".abc", abc_open, abc_read, abc_close}};

static const source_kind *kind_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcasecmp(dot, kinds[i].extension) == 0) return &kinds[i];
    return NULL;
}

/* The rate that people mean: whole, or NTSC's 1000/1001 of a whole one. */
static double usual_rate(double fps, double tolerance)
{
    double whole = round(fps), ntsc = round(fps * 1.001) / 1.001;
    return whole > 0.0 && fabs(fps - whole) <= tolerance ? whole : fabs(fps - ntsc) <= tolerance ? ntsc : fps;
}

/* A rate and a first number from stored times. MDD has them in single precision: what is uniform up to its rounding
 * becomes exactly so, or frames would be interpolated where nothing lies between them. */
static void regular_times(su_sequence *s)
{
    int64_t last = s->frames - 1;
    double rounding = 2.0 * FLT_EPSILON * fmax(fabs(s->times[0]), fabs(s->times[last]));
    if (s->fps == 0.0 && last > 0) {
        double span = s->times[last] - s->times[0];
        s->fps = (double)last / span;
        s->fps = usual_rate(s->fps, fmax(1e-3, 2.0 * rounding / span * s->fps));
    }
    s->frame_start = s->times[0] * s->fps;
    if (fabs(s->frame_start - round(s->frame_start)) < fmax(1e-3, rounding * s->fps))
        s->frame_start = round(s->frame_start);
    if (!(s->fps > 0.0)) return;
    for (int64_t k = 0; k <= last; k++)
        if (!(fabs(s->times[k] - (s->frame_start + (double)k) / s->fps) <= rounding)) return;
    for (int64_t k = 0; k <= last; k++) s->times[k] = (s->frame_start + (double)k) / s->fps;
}

/* What the formats leave open: frame numbers as times, a rate from the times, the number of the first frame. */
static su_status finish(su_sequence *s, const char *path, su_error *err)
{
    if (!s->times) {
        SU_TRY(SU_ALLOC(&s->times, s->frames, "times", err));
        for (int64_t k = 0; k < s->frames; k++) s->times[k] = s->frame_start + (double)k;
    }
    for (int64_t k = 1; k < s->frames; k++)
        if (!(s->times[k] > s->times[k - 1]))
            return su_fail(err, SU_INPUT, "%s: times do not increase at frame %lld", path, (long long)k);
    if (s->timed) regular_times(s);
    return SU_OK;
}

su_status su_sequence_open(const char *path, const char *neutral, su_sequence **out, su_error *err)
{
    const source_kind *kind = kind_of(path);
    if (!kind)
        return su_fail(err, SU_INPUT, "%s: no sequence of vertices: .abc, .pc2, .mdd or numbered .obj, .ply", path);
    su_sequence *s = NULL;
    su_obj rest = {0};
    su_status status;
    SU_GO(SU_ALLOC(&s, 1, "a sequence", err));
    SU_GO(SU_ALLOC(&s->source, 1, "a sequence", err));
    if (neutral) {
        SU_GO(su_mesh_file_load(neutral, &rest, err));
        if (rest.faces == 0) {
            status = su_fail(err, SU_INPUT, "%s: has no faces", neutral);
            goto done;
        }
        SU_GO(take_obj(s, &rest, err));
        s->neutral = rest.points;
        rest.points = NULL;
    }
    s->source->kind = kind;                  /* from here on its close may run */
    if (kind->open == abc_open && neutral) { /* counts are gathered anew, topology stays that of the OBJ */
        status = su_fail(err, SU_USAGE, "%s: brings its own topology; leave the neutral mesh out", path);
        goto done;
    }
    SU_GO(kind->open(s, path, err));
    SU_GO(finish(s, path, err));
    *out = s;
    s = NULL;
done:
    su_obj_free(&rest);
    su_sequence_close(s);
    return status;
}

void su_sequence_close(su_sequence *s)
{
    if (!s) return;
    if (s->source) {
        if (s->source->kind) s->source->kind->close(s);
        free(s->source->frame), free(s->source->kept), free(s->source->whole), free(s->source->left_out);
    }
    for (int64_t i = 0; i < s->objects && s->object_names; i++) free(s->object_names[i]);
    free(s->source), free(s->times), free(s->face_counts), free(s->face_indices), free(s->uv), free(s->uv_indices);
    free(s->color), free(s->object_ids), free(s->object_names), free(s->object_xform), free(s->neutral);
    free(s);
}

/* ---- some objects of many ---- */

int64_t su_sequence_object(const su_sequence *s, const char *name)
{
    for (int64_t i = 0; i < s->objects && s->object_names; i++)
        if (strcmp(s->object_names[i], name) == 0) return i;
    return -1;
}

/* new_object (objects): the number of each kept object, -1 for the others. */
static void keep_objects(su_sequence *s, const int32_t *new_object)
{
    int64_t count = 0;
    for (int64_t i = 0; i < s->objects; i++) {
        if (new_object[i] < 0) {
            free(s->object_names[i]);
            continue;
        }
        memmove(s->object_xform + 16 * count, s->object_xform + 16 * i, 16 * sizeof *s->object_xform);
        s->object_names[count++] = s->object_names[i];
    }
    s->objects = count;
}

/* Faces of kept objects; new_vertex (vertices): 1 at the vertices that they use. A face belongs where its first corner
 * does. */
static void keep_faces(su_sequence *s, const int32_t *new_object, int32_t *new_vertex)
{
    int64_t faces = 0, corners = 0;
    for (int64_t f = 0, at = 0, next; f < s->faces; f++, at = next) {
        int32_t count = s->face_counts[f];
        next = at + count;
        if (new_object[s->object_ids[s->face_indices[at]]] < 0) continue;
        for (int32_t k = 0; k < count; k++) {
            new_vertex[s->face_indices[at + k]] = 1;
            s->face_indices[corners + k] = s->face_indices[at + k];
            if (s->uv_indices) s->uv_indices[corners + k] = s->uv_indices[at + k];
        }
        s->face_counts[faces++] = count;
        corners += count;
    }
    s->faces = faces, s->corners = corners;
}

/* Vertices of kept objects and those that their faces borrow from others. */
static void keep_vertices(su_sequence *s, const int32_t *new_object, int32_t *new_vertex)
{
    int64_t count = 0;
    for (int64_t v = 0; v < s->vertices; v++) {
        int32_t object = new_object[s->object_ids[v]];
        bool wanted = object >= 0 || new_vertex[v];
        new_vertex[v] = wanted ? (int32_t)count : -1;
        if (!wanted) continue;
        s->object_ids[count] = object >= 0 ? object : 0;
        if (s->neutral) memmove(s->neutral + 3 * count, s->neutral + 3 * v, 3 * sizeof *s->neutral);
        if (s->color) memmove(s->color + 4 * count, s->color + 4 * v, 4 * sizeof *s->color);
        s->source->kept[count++] = (int32_t)v;
    }
    for (int64_t k = 0; k < s->corners; k++) s->face_indices[k] = new_vertex[s->face_indices[k]];
    s->vertices = count;
}

su_status su_sequence_keep(su_sequence *s, const char *path, int count, const char *const *names, su_error *err)
{
    int32_t *new_object = NULL, *new_vertex = NULL, kept = 0;
    su_status status;
    if (!s->face_counts || !s->object_ids) return su_fail(err, SU_INPUT, "%s: has no objects to choose from", path);
    SU_GO(SU_ALLOC(&new_object, s->objects, "objects", err));
    SU_GO(SU_ALLOC(&new_vertex, s->vertices, "vertices", err));
    SU_GO(SU_ALLOC(&s->source->kept, s->vertices, "vertices", err));
    SU_GO(SU_ALLOC(&s->source->whole, 3 * s->vertices, "a frame", err));
    for (int64_t i = 0; i < s->objects; i++) new_object[i] = -1;
    for (int i = 0; i < count; i++) {
        int64_t object = su_sequence_object(s, names[i]);
        if (object < 0) {
            status = su_fail(err, SU_INPUT, "%s: no object is called '%s'; --list names them", path, names[i]);
            goto done;
        }
        new_object[object] = 0;
    }
    for (int64_t i = 0; i < s->objects; i++)
        if (new_object[i] == 0) new_object[i] = kept++;
    if (s->source->alembic) SU_GO(SU_ALLOC(&s->source->left_out, s->objects, "objects", err));
    for (int64_t i = 0; i < s->objects && s->source->alembic; i++) s->source->left_out[i] = new_object[i] < 0;
    s->source->all = s->vertices;
    keep_faces(s, new_object, new_vertex);
    keep_vertices(s, new_object, new_vertex);
    keep_objects(s, new_object);
    if (s->faces == 0) status = su_fail(err, SU_INPUT, "%s: these objects have no faces", path);
done:
    free(new_object), free(new_vertex);
    return status;
}

su_status su_sequence_read(su_sequence *s, int64_t frame, double *points, su_error *err)
{
    struct su_sequence_source *source = s->source;
    if (!source->kept) return source->kind->read(s, frame, points, err);
    int64_t kept = s->vertices;
    s->vertices = source->all; /* the formats know the whole file */
    su_status status = source->kind->read(s, frame, source->whole, err);
    s->vertices = kept;
    for (int64_t v = 0; v < kept && status == SU_OK; v++)
        memcpy(points + 3 * v, source->whole + 3 * (int64_t)source->kept[v], 3 * sizeof *points);
    return status;
}
