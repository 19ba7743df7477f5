#include "core/memory.h"
#include "core/order.h"
#include "io/cache/obj.h"
#include "io/cache/ply.h"
#include "io/cache/sequence_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void widen(int64_t count, const float *in, double *out)
{
    for (int64_t i = 0; i < count; i++) out[i] = in[i];
}

/* Topology, names and UVs of an OBJ become the sequence's. */
static su_status take_obj(su_sequence *s, su_obj *obj, su_error *err)
{
    SU_TRY(SU_ALLOC(&s->object_xform, 16 * obj->objects, "objects", err));
    for (int64_t i = 0; i < 16 * obj->objects; i++) s->object_xform[i] = i % 16 % 5 == 0;
    s->vertices = obj->vertices, s->faces = obj->faces, s->corners = obj->corners, s->uvs = obj->uvs,
    s->objects = obj->objects;
    s->face_counts = obj->face_counts, s->face_indices = obj->face_indices, s->uv = obj->uv,
    s->uv_indices = obj->uv_indices;
    s->object_ids = obj->object_ids, s->object_names = obj->object_names;
    s->color = obj->color, s->looks = obj->looks;
    free(obj->library);
    *obj = (su_obj){.points = obj->points};
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

static su_status pc2_open(su_sequence *s, const char *path, su_error *err)
{
    su_pc2 *file = &s->source->pc2;
    SU_TRY(su_pc2_open(file, path, err));
    SU_TRY(su_sequence_count(s, path, file->points, err));
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
    return su_sequence_finite(3 * s->vertices, points, s->source->pc2.path, frame, err);
}

static void pc2_close(su_sequence *s) { su_pc2_close(&s->source->pc2); }

static su_status mdd_open(su_sequence *s, const char *path, su_error *err)
{
    su_mdd *file = &s->source->mdd;
    SU_TRY(su_mdd_open(file, path, err));
    SU_TRY(su_sequence_count(s, path, file->points, err));
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
    return su_sequence_finite(3 * s->vertices, points, s->source->mdd.path, frame, err);
}

static void mdd_close(su_sequence *s) { su_mdd_close(&s->source->mdd); }

/* ---- all ---- */

static const su_sequence_kind kinds[] = {{".obj", mesh_open, obj_read, mesh_close, NULL, NULL},
                                         {".ply", mesh_open, ply_read, mesh_close, NULL, NULL},
                                         {".pc2", pc2_open, pc2_read, pc2_close, NULL, NULL},
                                         {".mdd", mdd_open, mdd_read, mdd_close, NULL, NULL},
                                         {".abc", su_sequence_abc_open, su_sequence_abc_read, su_sequence_abc_close,
                                          su_sequence_abc_xform, su_sequence_abc_times},
                                         {".usda", su_sequence_usd_open, su_sequence_usd_read, su_sequence_usd_close,
                                          su_sequence_usd_xform, su_sequence_usd_times},
                                         {".usdc", su_sequence_usd_open, su_sequence_usd_read, su_sequence_usd_close,
                                          su_sequence_usd_xform, su_sequence_usd_times},
                                         {".usdz", su_sequence_usd_open, su_sequence_usd_read, su_sequence_usd_close,
                                          su_sequence_usd_xform, su_sequence_usd_times},
                                         {".usd", su_sequence_usd_open, su_sequence_usd_read, su_sequence_usd_close,
                                          su_sequence_usd_xform, su_sequence_usd_times}};

static const su_sequence_kind *kind_of(const char *path)
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

/* The median distance of times; 0 where memory is short. */
static double median_gap(int64_t count, const double *times)
{
    double *gap = malloc((size_t)(count - 1) * sizeof *gap), middle = 0.0;
    if (!gap) return 0.0;
    for (int64_t k = 0; k + 1 < count; k++) gap[k] = times[k + 1] - times[k];
    su_sort(gap, (size_t)count - 1, sizeof *gap, su_order_doubles);
    middle = gap[(count - 1) / 2];
    free(gap);
    return middle;
}

/* A rate and a first number from stored times: of even ones by all of them, of others by the usual distance. MDD has
 * them in single precision: what lies on frames up to its rounding comes to lie there exactly, or frames would be
 * interpolated where nothing lies between them. */
static void regular_times(su_sequence *s)
{
    int64_t last = s->frames - 1;
    double rounding = 2.0 * FLT_EPSILON * fmax(fabs(s->times[0]), fabs(s->times[last]));
    if (s->fps == 0.0 && last > 0) {
        double gap = (s->times[last] - s->times[0]) / (double)last, error = rounding / (double)last;
        for (int64_t k = 1; k < last && error < rounding; k++)
            if (fabs(s->times[k] - s->times[0] - (double)k * gap) > 2.0 * rounding) error = rounding;
        if (error == rounding && last > 1) gap = median_gap(s->frames, s->times);
        s->fps = gap > 0.0 ? 1.0 / gap : 0.0;
        s->fps = usual_rate(s->fps, fmax(1e-3, 2.0 * error * s->fps * s->fps));
    } else if (s->fps > 0.0) {
        s->fps = usual_rate(s->fps, 1e-3);
    }
    s->frame_start = s->times[0] * s->fps;
    if (fabs(s->frame_start - round(s->frame_start)) < fmax(1e-3, rounding * s->fps))
        s->frame_start = round(s->frame_start);
    if (!(s->fps > 0.0)) return;
    for (int64_t k = 0; k <= last; k++) {
        double frame = s->frame_start + round(s->times[k] * s->fps - s->frame_start);
        if (!(fabs(s->times[k] - frame / s->fps) <= rounding)) return;
    }
    for (int64_t k = 0; k <= last; k++)
        s->times[k] = (s->frame_start + round(s->times[k] * s->fps - s->frame_start)) / s->fps;
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

/* The first frame of `path` as the neutral mesh, with its topology where the sequence has none of its own. */
static su_status take_neutral(su_sequence *s, const char *path, bool with_topology, su_error *err)
{
    su_sequence *from = NULL;
    SU_TRY(su_sequence_open(path, NULL, &from, err));
    su_status status = SU_OK;
    if (!from->face_counts) {
        status = su_fail(err, SU_INPUT, "%s: has no faces; the neutral mesh is one that has", path);
        goto done;
    }
    SU_GO(SU_ALLOC(&s->neutral, 3 * from->vertices, "the neutral mesh", err));
    SU_GO(su_sequence_read(from, 0, s->neutral, err));
    s->vertices = from->vertices;
    if (!with_topology) goto done;
    s->faces = from->faces, s->corners = from->corners, s->uvs = from->uvs, s->objects = from->objects;
    s->face_counts = from->face_counts, s->face_indices = from->face_indices;
    s->uv = from->uv, s->uv_indices = from->uv_indices, s->color = from->color;
    s->object_ids = from->object_ids, s->object_names = from->object_names, s->object_xform = from->object_xform;
    s->object_hidden = from->object_hidden, s->object_paths = from->object_paths, s->looks = from->looks;
    from->face_counts = from->face_indices = from->uv_indices = from->object_ids = NULL;
    from->uv = from->color = NULL, from->object_names = NULL, from->object_xform = NULL, from->object_hidden = NULL;
    from->object_paths = NULL, from->looks = (su_looks){0};
done:
    su_sequence_close(from);
    return status;
}

su_status su_sequence_open(const char *path, const char *neutral, su_sequence **out, su_error *err)
{
    const su_sequence_kind *kind = kind_of(path);
    if (!kind)
        return su_fail(err, SU_INPUT,
                       "%s: no sequence of vertices: .abc, .usda, .usdc, .pc2, .mdd or numbered .obj, .ply", path);
    su_sequence *s = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&s, 1, "a sequence", err));
    s->up = -1;
    SU_GO(SU_ALLOC(&s->source, 1, "a sequence", err));
    if (neutral) SU_GO(take_neutral(s, neutral, !kind->xform, err));
    s->source->kind = kind; /* from here on its close may run */
    SU_GO(kind->open(s, path, err));
    SU_GO(finish(s, path, err));
    *out = s;
    s = NULL;
done:
    su_sequence_close(s);
    return status;
}

void su_sequence_close(su_sequence *s)
{
    if (!s) return;
    if (s->source) {
        if (s->source->kind) s->source->kind->close(s);
        free(s->source->frame), free(s->source->kept), free(s->source->whole), free(s->source->left_out),
            free(s->source->kept_object);
        free(s->source->other), free(s->source->sample_times);
    }
    for (int64_t i = 0; i < s->objects && s->object_names; i++) free(s->object_names[i]);
    for (int64_t i = 0; i < s->objects && s->object_paths; i++) free(s->object_paths[i]);
    su_looks_free(&s->looks);
    free(s->object_paths);
    free(s->source), free(s->times), free(s->face_counts), free(s->face_indices), free(s->uv), free(s->uv_indices);
    free(s->color), free(s->object_ids), free(s->object_names), free(s->object_xform), free(s->object_hidden),
        free(s->neutral);
    free(s);
}

/* ---- some objects of many ---- */

bool su_sequence_is_object(const su_sequence *s, int64_t object, const char *name)
{
    size_t length = strlen(name);
    if (!s->object_names) return false;
    if (strcmp(s->object_names[object], name) == 0) return true;
    if (*name != '/' || !s->object_paths || !s->object_paths[object]) return false;
    const char *path = s->object_paths[object];
    return strncmp(path, name, length) == 0 && (path[length] == '/' || !path[length]);
}

/* new_object (objects): the number of each kept object, -1 for the others. */
static void keep_objects(su_sequence *s, const int32_t *new_object)
{
    int64_t count = 0;
    for (int64_t i = 0; i < s->objects; i++) {
        if (new_object[i] < 0) {
            free(s->object_names[i]);
            if (s->object_paths) free(s->object_paths[i]);
            continue;
        }
        if (s->object_paths) s->object_paths[count] = s->object_paths[i];
        s->source->kept_object[count] = (int32_t)i;
        if (s->object_hidden) s->object_hidden[count] = s->object_hidden[i];
        memmove(s->object_xform + 16 * count, s->object_xform + 16 * i, 16 * sizeof *s->object_xform);
        s->object_names[count++] = s->object_names[i];
    }
    s->objects = count;
}

/* Faces of kept objects; new_vertex (vertices): 1 at the vertices that they use. A face belongs where its first corner
 * does. */
static su_status keep_faces(su_sequence *s, const int32_t *new_object, int32_t *new_vertex, su_error *err)
{
    int32_t *new_face = NULL;
    SU_TRY(SU_ALLOC(&new_face, s->faces, "faces", err));
    int64_t faces = 0, corners = 0;
    for (int64_t f = 0, at = 0, next; f < s->faces; f++, at = next) {
        int32_t count = s->face_counts[f];
        next = at + count;
        new_face[f] = -1;
        if (new_object[s->object_ids[s->face_indices[at]]] < 0) continue;
        new_face[f] = (int32_t)faces;
        for (int32_t k = 0; k < count; k++) {
            new_vertex[s->face_indices[at + k]] = 1;
            s->face_indices[corners + k] = s->face_indices[at + k];
            if (s->uv_indices) s->uv_indices[corners + k] = s->uv_indices[at + k];
        }
        s->face_counts[faces++] = count;
        corners += count;
    }
    su_status status = su_looks_keep(&s->looks, s->faces, new_face, err);
    free(new_face);
    s->faces = faces, s->corners = corners;
    return status;
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

/* Leaves the objects whose new_object (objects) is 0; the others' is -1. */
static su_status keep(su_sequence *s, const char *path, int32_t *new_object, su_error *err)
{
    int32_t *new_vertex = NULL, kept = 0;
    su_status status;
    SU_GO(SU_ALLOC(&new_vertex, s->vertices, "vertices", err));
    SU_GO(SU_ALLOC(&s->source->kept, s->vertices, "vertices", err));
    SU_GO(SU_ALLOC(&s->source->whole, 3 * s->vertices, "a frame", err));
    SU_GO(SU_ALLOC(&s->source->kept_object, s->objects, "objects", err));
    s->source->all_objects = s->objects;
    for (int64_t i = 0; i < s->objects; i++)
        if (new_object[i] == 0) new_object[i] = kept++;
    if (s->source->kind->xform) {
        SU_GO(SU_ALLOC(&s->source->left_out, s->objects, "objects", err));
        for (int64_t i = 0; i < s->objects; i++) s->source->left_out[i] = new_object[i] < 0;
        SU_GO(s->source->kind->times(s, path, err));
        SU_GO(finish(s, path, err));
    }
    s->source->all = s->vertices;
    SU_GO(keep_faces(s, new_object, new_vertex, err));
    keep_vertices(s, new_object, new_vertex);
    keep_objects(s, new_object);
    if (s->faces == 0) status = su_fail(err, SU_INPUT, "%s: these objects have no faces", path);
done:
    free(new_vertex);
    return status;
}

su_status su_sequence_keep(su_sequence *s, const char *path, int count, const char *const *names, su_error *err)
{
    int32_t *new_object = NULL;
    su_status status;
    if (!s->face_counts || !s->object_ids) return su_fail(err, SU_INPUT, "%s: has no objects to choose from", path);
    SU_GO(SU_ALLOC(&new_object, s->objects, "objects", err));
    for (int64_t i = 0; i < s->objects; i++) new_object[i] = -1;
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (int64_t k = 0; k < s->objects; k++)
            if (su_sequence_is_object(s, k, names[i])) new_object[k] = 0, found = true;
        if (!found) {
            status = su_fail(err, SU_INPUT, "%s: no object is called '%s'; --list names them", path, names[i]);
            goto done;
        }
    }
    SU_GO(keep(s, path, new_object, err));
done:
    free(new_object);
    return status;
}

su_status su_sequence_keep_shown(su_sequence *s, const char *path, su_error *err)
{
    int32_t *new_object = NULL;
    int64_t hidden = 0;
    for (int64_t i = 0; i < s->objects && s->object_hidden; i++) hidden += s->object_hidden[i] == SU_SEQUENCE_HIDDEN;
    if (hidden == 0) return SU_OK;
    if (hidden == s->objects)
        return su_fail(err, SU_INPUT, "%s: every mesh is hidden; name those to take by --object", path);
    SU_TRY(SU_ALLOC(&new_object, s->objects, "objects", err));
    for (int64_t i = 0; i < s->objects; i++) new_object[i] = s->object_hidden[i] == SU_SEQUENCE_HIDDEN ? -1 : 0;
    su_status status = keep(s, path, new_object, err);
    free(new_object);
    return status;
}

su_status su_sequence_xforms(su_sequence *s, double time, double *xforms, su_error *err)
{
    struct su_sequence_source *source = s->source;
    if (!source->kind->xform) {
        memcpy(xforms, s->object_xform, (size_t)(16 * s->objects) * sizeof *xforms);
        return SU_OK;
    }
    for (int64_t i = 0; i < s->objects; i++)
        SU_TRY(source->kind->xform(s, source->kept_object ? source->kept_object[i] : i, time, xforms + 16 * i, err));
    return SU_OK;
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
