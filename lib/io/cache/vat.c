#include "io/cache/vat.h"

#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "geometry/polygon.h"
#include "io/cache/glb.h"

#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_SIDE = 16384, POSITIONS = 0, NORMALS = 1, CHANNELS = 2 };

/* Range that a channel's texels stand for: value = offset + scale * texel. */
typedef struct range {
    double scale[3], offset[3];
} range;

struct su_vat_writer {
    const su_cache_layout *layout;
    const su_cache_parts *parts;
    char *path, *stem;
    int64_t width, rows, frames; /* texels of a row, rows a frame, frames so far */
    su_output spool;             /* frames as f32, points then normals; never committed */
    double low[3], high[3];      /* of the points */
    float *values, *texels;      /* one frame (vertices,3); one row (width,3) */
    float *first;                /* (vertices,3) points of the first frame */
};

static su_image_kind kind_of(const su_vat_writer *w) { return (su_image_kind)w->layout->texture; }

static char *beside(const su_vat_writer *w, const char *what, const char *extension)
{
    char *path;
    return asprintf(&path, "%s.%s%s", w->stem, what, extension) < 0 ? NULL : path;
}

/* Rows of the fewest texels that all vertices and frames fit into. */
static su_status choose_size(su_vat_writer *w, su_error *err)
{
    const su_cache_layout *l = w->layout;
    for (int64_t side = 4096; side <= LARGEST_SIDE; side *= 2) {
        w->rows = (l->vertices + side - 1) / side;
        w->width = (l->vertices + w->rows - 1) / w->rows;
        if (w->rows * l->frames <= side) return SU_OK;
    }
    return su_fail(
        err, SU_USAGE,
        "%s: %lld frames of %lld vertices need a texture of %lld x %lld texels, at most %d on a side; fewer --frames",
        w->path, (long long)l->frames, (long long)l->vertices, (long long)w->width, (long long)(w->rows * l->frames),
        LARGEST_SIDE);
}

su_status su_vat_create(const char *path, const su_cache_layout *layout, const su_cache_parts *parts,
                        su_vat_writer **out, su_error *err)
{
    su_vat_writer *w = NULL;
    su_status status;
    if (layout->vertices < 1 || layout->frames < 1) return su_fail(err, SU_INPUT, "%s: nothing to write", path);
    SU_TRY(SU_ALLOC(&w, 1, "textures", err));
    w->layout = layout, w->parts = parts;
    for (int i = 0; i < 3; i++) w->low[i] = DBL_MAX, w->high[i] = -DBL_MAX;
    size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) length -= 5;
    w->path = strdup(path), w->stem = strndup(path, length);
    if (!w->path || !w->stem) {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        goto done;
    }
    SU_GO(choose_size(w, err));
    SU_GO(SU_ALLOC(&w->values, 3 * layout->vertices, "a frame", err));
    SU_GO(SU_ALLOC(&w->first, 3 * layout->vertices, "a frame", err));
    SU_GO(SU_ALLOC(&w->texels, 3 * w->width, "a row", err));
    SU_GO(su_output_open_scratch(&w->spool, path, err));
done:
    if (status != SU_OK)
        su_vat_abandon(w);
    else
        *out = w;
    return status;
}

su_status su_vat_frame(su_vat_writer *w, const float *points, const float *normals, su_error *err)
{
    size_t bytes = 3 * (size_t)w->layout->vertices * sizeof *points;
    if (w->frames == 0) memcpy(w->first, points, bytes);
    for (int64_t i = 0; i < 3 * w->layout->vertices; i++) {
        double x = (double)points[i];
        if (x < w->low[i % 3]) w->low[i % 3] = x;
        if (x > w->high[i % 3]) w->high[i % 3] = x;
    }
    SU_TRY(su_output_write(&w->spool, points, bytes, err));
    if (w->layout->normals) SU_TRY(su_output_write(&w->spool, normals, bytes, err));
    w->frames++;
    return SU_OK;
}

/* PNG texels run from 0 to 1, halves are best about zero, floats are the values themselves. */
static range range_of(const su_vat_writer *w, int channel)
{
    range r = {{1, 1, 1}, {0, 0, 0}};
    for (int i = 0; i < 3; i++) {
        double low = channel == NORMALS ? -1.0 : w->low[i], high = channel == NORMALS ? 1.0 : w->high[i];
        double width = high > low ? high - low : 1.0;
        if (kind_of(w) == SU_IMAGE_PNG)
            r.scale[i] = width, r.offset[i] = low;
        else if (kind_of(w) == SU_IMAGE_HALF && channel == POSITIONS)
            r.scale[i] = 0.5 * width, r.offset[i] = 0.5 * (low + high);
    }
    return r;
}

/* Frame under frame; texels behind the last vertex are zero. Left to be committed. */
static su_status write_texture(su_vat_writer *w, int channel, const char *path, su_image_writer **out, su_error *err)
{
    const su_cache_layout *l = w->layout;
    su_image_kind kind = kind_of(w) == SU_IMAGE_FLOAT && channel == NORMALS ? SU_IMAGE_HALF : kind_of(w);
    range r = range_of(w, channel);
    su_image_writer *image = NULL;
    size_t count = 3 * (size_t)l->vertices;
    SU_TRY(su_image_create(path, kind, w->width, w->rows * w->frames, &image, err));
    su_status status = SU_OK;
    for (int64_t f = 0; f < w->frames && status == SU_OK; f++) {
        int64_t at = (f * (1 + l->normals) + channel) * (int64_t)(count * sizeof(float));
        if (fseeko(w->spool.stream, at, SEEK_SET) != 0 ||
            fread(w->values, sizeof(float), count, w->spool.stream) != count)
            status = su_fail(err, SU_AGAIN, "%s: cannot read frames back", w->path);
        for (int64_t row = 0; row < w->rows && status == SU_OK; row++) {
            int64_t first = row * w->width, here = l->vertices - first < w->width ? l->vertices - first : w->width;
            memset(w->texels, 0, 3 * (size_t)w->width * sizeof *w->texels);
            for (int64_t i = 0; i < 3 * here; i++)
                w->texels[i] = (float)(((double)w->values[3 * first + i] - r.offset[i % 3]) / r.scale[i % 3]);
            status = su_image_row(image, w->texels, err);
        }
    }
    if (status == SU_OK) status = su_image_finish(image, err);
    if (status == SU_OK)
        *out = image;
    else
        su_image_abandon(image);
    return status;
}

/* The first frame, each vertex with the place of its texel there. */
static su_status write_mesh(su_vat_writer *w, const char *path, su_error *err)
{
    const su_cache_layout *l = w->layout;
    float *lookup = NULL;
    double *sum = NULL;
    su_glb_targets still = {.base = w->first};
    su_status status;
    SU_GO(SU_ALLOC(&lookup, 2 * l->vertices, "places in the texture", err));
    SU_GO(SU_ALLOC(&sum, 3 * l->vertices, "normals", err));
    SU_GO(SU_ALLOC(&still.base_normal, 3 * l->vertices, "normals", err));
    const su_polygons polygons = {l->faces, l->face_counts, l->face_indices};
    su_polygons_normals(l->vertices, l->joined, &polygons, w->first, sum, still.base_normal);
    for (int64_t v = 0; v < l->vertices; v++) {
        lookup[2 * v] = (float)(((double)(v % w->width) + 0.5) / (double)w->width);
        lookup[2 * v + 1] = (float)(((double)(v / w->width) + 0.5) / (double)(w->rows * w->frames));
    }
    const su_glb mesh = {.vertices = l->vertices,
                         .fps = l->fps,
                         .targets = &still,
                         .lookup = lookup,
                         .looks = l->looks,
                         .name = l->clip,
                         .application = l->application,
                         .provenance = l->provenance,
                         .frame_start = l->frame_start};
    status = su_glb_save(path, &mesh, w->parts, err);
done:
    free(lookup), free(sum), free(still.base_normal);
    return status;
}

static json_t *describe_texture(const su_vat_writer *w, int channel, const char *path)
{
    range r = range_of(w, channel);
    return json_pack("{s:s, s:[f, f, f], s:[f, f, f]}", "file", su_base_name(path), "offset", r.offset[0], r.offset[1],
                     r.offset[2], "scale", r.scale[0], r.scale[1], r.scale[2]);
}

static su_status write_description(su_vat_writer *w, char *const paths[3], su_error *err)
{
    const su_cache_layout *l = w->layout;
    const char up[2] = {l->up, 0};
    bool uv = false;
    int bad = 0;
    for (int i = 0; i < w->parts->count; i++) uv |= w->parts->part[i].uvs > 0;
    json_t *text = json_pack(
        "{s:s, s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:s, s:{s:[f, f, f], s:[f, f, f]}, s:o}",
        "format", "supple vertex animation", "version", 1, "holds", l->displacement ? "displacement" : "positions",
        "frames", (json_int_t)w->frames, "vertices", (json_int_t)l->vertices, "width", (json_int_t)w->width, "height",
        (json_int_t)(w->rows * w->frames), "rows_per_frame", (json_int_t)w->rows, "fps", l->fps, "frame_start",
        l->frame_start, "frame_step", l->frame_step, "unit", l->unit, "up", up, "bounds", "low", w->low[0], w->low[1],
        w->low[2], "high", w->high[0], w->high[1], w->high[2], "positions", describe_texture(w, POSITIONS, paths[0]));
    if (paths[1]) bad |= json_object_set_new(text, "normals", describe_texture(w, NORMALS, paths[1]));
    if (paths[2])
        bad |= json_object_set_new(text, "mesh",
                                   json_pack("{s:s, s:i}", "file", su_base_name(paths[2]), "texcoord", uv ? 1 : 0));
    const char *const notes[][2] = {{"clip", l->clip}, {"application", l->application}, {"provenance", l->provenance}};
    for (int i = 0; i < 3; i++)
        if (notes[i][1]) bad |= json_object_set_new(text, notes[i][0], json_string(notes[i][1]));
    char *dump = text && !bad ? su_json_dump(text, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    su_output out = {0};
    su_status status = dump ? su_output_open(&out, w->path, err) : su_fail(err, SU_AGAIN, "%s: out of memory", w->path);
    if (status == SU_OK) status = su_output_write(&out, dump, strlen(dump), err);
    if (status == SU_OK) status = su_output_write(&out, "\n", 1, err);
    if (status == SU_OK) status = su_output_commit(&out, err);
    su_output_abandon(&out);
    free(dump);
    json_decref(text);
    return status;
}

su_status su_vat_commit(su_vat_writer *w, su_error *err)
{
    const su_cache_layout *l = w->layout;
    const char *extension = su_image_extension(kind_of(w));
    char *paths[3] = {beside(w, "positions", extension), l->normals ? beside(w, "normals", extension) : NULL,
                      l->displacement ? NULL : beside(w, "mesh", ".glb")};
    su_image_writer *images[CHANNELS] = {NULL, NULL};
    su_status status = SU_OK;
    if (!paths[0] || (l->normals && !paths[1]) || (!l->displacement && !paths[2]))
        status = su_fail(err, SU_AGAIN, "%s: out of memory", w->path);
    else if (fflush(w->spool.stream) != 0)
        status = su_fail(err, SU_AGAIN, "%s: cannot write: %s", w->path, strerror(errno));
    for (int i = 0; i < CHANNELS && status == SU_OK; i++)
        if (paths[i]) status = write_texture(w, i, paths[i], &images[i], err);
    /* Older files are replaced only when all that is large has been written; the description comes last. */
    if (status == SU_OK && paths[2]) status = write_mesh(w, paths[2], err);
    bool mesh = status == SU_OK;
    for (int i = 0; i < CHANNELS; i++) {
        if (status == SU_OK && images[i])
            status = su_image_commit(images[i], err);
        else
            su_image_abandon(images[i]);
    }
    if (status == SU_OK) status = write_description(w, paths, err);
    for (int i = 0; i < 3 && mesh && status != SU_OK; i++)
        if (paths[i]) unlink(paths[i]);
    for (int i = 0; i < 3; i++) free(paths[i]);
    su_vat_abandon(w);
    return status;
}

void su_vat_abandon(su_vat_writer *w)
{
    if (!w) return;
    su_output_abandon(&w->spool);
    free(w->path), free(w->stem), free(w->values), free(w->texels), free(w->first);
    free(w);
}
