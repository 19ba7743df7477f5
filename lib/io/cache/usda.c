#include "io/cache/usda.h"

#include "core/file.h"
#include "core/memory.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS, VELOCITIES, NORMALS, CHANNELS };

struct su_usda_writer {
    const su_cache_layout *layout;
    const su_cache_parts *parts;
    su_output out;
    su_status status; /* of the text so far; the first failure sticks */
    su_error *err;
    FILE *spool; /* frames as f32: per frame, channel by channel, part by part */
    int64_t frames, frame_floats;
    float *values;     /* one part */
    char (*names)[64]; /* (parts) valid and unique prim names */
    char *text;        /* buffered output */
    size_t used;
};

enum { TEXT_BYTES = 1 << 16, LONGEST = 2048 };

/* ---- text ---- */

static void flush(su_usda_writer *w)
{
    if (w->status == SU_OK && w->used) w->status = su_output_write(&w->out, w->text, w->used, w->err);
    w->used = 0;
}

static void print(su_usda_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(su_usda_writer *w, const char *format, ...)
{
    va_list list;
    if (TEXT_BYTES - w->used < LONGEST) flush(w);
    va_start(list, format);
    int count = vsnprintf(w->text + w->used, LONGEST, format, list);
    va_end(list);
    w->used += count < LONGEST ? (size_t)count : LONGEST - 1;
}

static void print_string(su_usda_writer *w, const char *text)
{
    print(w, "\"");
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '"' || *p == '\\')
            print(w, "\\%c", *p);
        else
            print(w, "%c", (unsigned char)*p < 32 ? ' ' : *p);
    }
    print(w, "\"");
}

static void print_integers(su_usda_writer *w, int64_t count, const int32_t *values)
{
    print(w, "[");
    for (int64_t i = 0; i < count; i++) print(w, "%s%d", i ? ", " : "", values[i]);
    print(w, "]\n");
}

/* ---- names ---- */

static void name_parts(su_usda_writer *w)
{
    for (int i = 0; i < w->parts->count; i++) {
        char *name = w->names[i];
        const char *wanted = w->parts->part[i].name;
        snprintf(name, 48, "%s%s", isdigit((unsigned char)*wanted) || !*wanted ? "_" : "", wanted);
        for (char *p = name; *p; p++)
            if (!isalnum((unsigned char)*p) || (unsigned char)*p > 126) *p = '_';
        size_t length = strlen(name);
        for (int number = 1, k = 0; k < i; k++) {
            if (strcmp(w->names[k], name) != 0) continue;
            snprintf(name + length, 64 - length, "_%d", number++);
            k = -1;
        }
    }
}

/* ---- frames ---- */

su_status su_usda_create(const char *path, const su_cache_layout *layout, const su_cache_parts *parts,
                         su_usda_writer **out, su_error *err)
{
    su_usda_writer *w = NULL;
    char *name = NULL;
    SU_TRY(SU_ALLOC(&w, 1, "a USD layer", err));
    w->layout = layout, w->parts = parts, w->err = err;
    w->frame_floats = 3 * layout->vertices * (1 + layout->velocities + layout->normals);
    su_status status;
    SU_GO(SU_ALLOC(&w->values, 3 * parts->largest, "a frame", err));
    SU_GO(SU_ALLOC(&w->names, parts->count, "names", err));
    SU_GO(SU_ALLOC(&w->text, TEXT_BYTES, "text", err));
    name_parts(w);
    SU_GO(su_output_open(&w->out, path, err));
    if (asprintf(&name, "%s.frames", w->out.temporary) < 0) {
        name = NULL;
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        goto done;
    }
    w->spool = fopen(name, "w+bx");
    if (w->spool)
        unlink(name);
    else
        status = su_fail(err, SU_FAILED, "%s: cannot write here: %s", path, strerror(errno));
done:
    free(name);
    if (status != SU_OK)
        su_usda_abandon(w);
    else
        *out = w;
    return status;
}

su_status su_usda_frame(su_usda_writer *w, const float *points, const float *velocities, const float *normals,
                        su_error *err)
{
    const float *const channels[CHANNELS] = {points, w->layout->velocities ? velocities : NULL,
                                             w->layout->normals ? normals : NULL};
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < w->parts->count && channels[c]; i++) {
            const su_cache_part *part = &w->parts->part[i];
            su_cache_part_gather(part, channels[c], w->values);
            if (fwrite(w->values, 3 * sizeof(float), (size_t)part->vertices, w->spool) != (size_t)part->vertices)
                return su_fail(err, SU_AGAIN, "%s: cannot write: %s", w->out.path, strerror(errno));
        }
    w->frames++;
    return SU_OK;
}

/* ---- the layer ---- */

static const float *spooled(su_usda_writer *w, int64_t frame, int channel, int part)
{
    int64_t at = frame * w->frame_floats;
    if (channel == NORMALS && w->layout->velocities) at += 3 * w->layout->vertices;
    if (channel != POINTS) at += 3 * w->layout->vertices;
    for (int i = 0; i < part; i++) at += 3 * w->parts->part[i].vertices;
    size_t count = 3 * (size_t)w->parts->part[part].vertices;
    if (w->status == SU_OK && (fseeko(w->spool, at * (int64_t)sizeof(float), SEEK_SET) != 0 ||
                               fread(w->values, sizeof(float), count, w->spool) != count))
        w->status = su_fail(w->err, SU_AGAIN, "%s: cannot read frames back: %s", w->out.path, strerror(errno));
    return w->values;
}

static void print_samples(su_usda_writer *w, int part, int channel, const char *attribute)
{
    print(w, "            %s.timeSamples = {\n", attribute);
    for (int64_t k = 0; k < w->frames && w->status == SU_OK; k++) {
        const float *p = spooled(w, k, channel, part);
        print(w, "                %.9g: [", su_cache_frame_number(w->layout, k));
        for (int64_t v = 0; v < w->parts->part[part].vertices; v++, p += 3)
            print(w, "%s(%.9g, %.9g, %.9g)", v ? ", " : "", (double)p[0], (double)p[1], (double)p[2]);
        print(w, "],\n");
    }
    print(w, "            }\n");
}

static void print_extent(su_usda_writer *w, int part)
{
    print(w, "            float3[] extent.timeSamples = {\n");
    for (int64_t k = 0; k < w->frames && w->status == SU_OK; k++) {
        const float *p = spooled(w, k, POINTS, part);
        float low[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, high[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
        for (int64_t i = 0; i < 3 * w->parts->part[part].vertices; i++) {
            if (p[i] < low[i % 3]) low[i % 3] = p[i];
            if (p[i] > high[i % 3]) high[i % 3] = p[i];
        }
        print(w, "                %.9g: [(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)],\n",
              su_cache_frame_number(w->layout, k), (double)low[0], (double)low[1], (double)low[2], (double)high[0],
              (double)high[1], (double)high[2]);
    }
    print(w, "            }\n");
}

static void print_part(su_usda_writer *w, int index)
{
    const su_cache_part *part = &w->parts->part[index];
    print(w, "\n    def Xform \"%s\"\n    {\n", w->names[index]);
    if (part->xform) {
        print(w, "        matrix4d xformOp:transform = ("); /* points are row vectors */
        for (int i = 0; i < 4; i++)
            print(w, "%s(%.17g, %.17g, %.17g, %.17g)", i ? ", " : " ", part->xform[i], part->xform[4 + i],
                  part->xform[8 + i], part->xform[12 + i]);
        print(w, " )\n        uniform token[] xformOpOrder = [\"xformOp:transform\"]\n\n");
    }
    print(w, "        def Mesh \"%sShape\"\n        {\n", w->names[index]);
    print(w, "            uniform token subdivisionScheme = \"none\"\n            uniform token orientation = "
             "\"rightHanded\"\n");
    print(w, "            int[] faceVertexCounts = ");
    print_integers(w, part->faces, part->face_counts);
    print(w, "            int[] faceVertexIndices = ");
    print_integers(w, part->corners, part->face_indices);
    if (part->uvs) {
        print(w, "            texCoord2f[] primvars:st = [");
        for (int64_t i = 0; i < part->uvs; i++)
            print(w, "%s(%.9g, %.9g)", i ? ", " : "", (double)part->uv[2 * i], (double)part->uv[2 * i + 1]);
        print(w, "] (\n                interpolation = \"faceVarying\"\n            )\n            int[] "
                 "primvars:st:indices = ");
        print_integers(w, part->corners, part->uv_indices);
    }
    print_extent(w, index);
    print_samples(w, index, POINTS, "point3f[] points");
    if (w->layout->velocities) print_samples(w, index, VELOCITIES, "vector3f[] velocities");
    if (w->layout->normals) {
        print(w, "            normal3f[] normals (\n                interpolation = \"vertex\"\n            )\n");
        print_samples(w, index, NORMALS, "normal3f[] normals");
    }
    print(w, "        }\n    }\n");
}

static void print_layer(su_usda_writer *w)
{
    const su_cache_layout *l = w->layout;
    print(w, "#usda 1.0\n(\n    customLayerData = {\n        string application = ");
    print_string(w, l->application);
    print(w, "\n        string provenance = ");
    print_string(w, l->provenance);
    print(w,
          "\n    }\n    defaultPrim = \"bake\"\n    endTimeCode = %.9g\n    framesPerSecond = %.9g\n    metersPerUnit "
          "= %.9g\n",
          l->frame_start +
              (double)(w->frames > 0 ? (w->frames - 1) / (l->samples ? l->samples : 1) : 0) * l->frame_step,
          l->fps, l->unit);
    print(w, "    startTimeCode = %.9g\n    timeCodesPerSecond = %.9g\n    upAxis = \"%c\"\n)\n", l->frame_start,
          l->fps, toupper((unsigned char)l->up));
    print(w, "\ndef Xform \"bake\" (\n    kind = \"component\"\n)\n{");
    for (int i = 0; i < w->parts->count; i++) print_part(w, i);
    print(w, "}\n");
    flush(w);
}

su_status su_usda_commit(su_usda_writer *w, su_error *err)
{
    w->err = err;
    if (fflush(w->spool) != 0) w->status = su_fail(err, SU_AGAIN, "%s: cannot write: %s", w->out.path, strerror(errno));
    print_layer(w);
    su_status status = w->status == SU_OK ? su_output_commit(&w->out, err) : w->status;
    su_usda_abandon(w);
    return status;
}

void su_usda_abandon(su_usda_writer *w)
{
    if (!w) return;
    if (w->spool) fclose(w->spool);
    su_output_abandon(&w->out);
    free(w->values);
    free(w->names);
    free(w->text);
    free(w);
}
