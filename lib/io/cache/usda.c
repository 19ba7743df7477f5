#include "io/cache/usda.h"

#include "core/file.h"
#include "core/memory.h"
#include "io/cache/cache_tree.h"
#include "io/cache/usd_names.h"

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
    su_output spool; /* frames as f32: per frame, channel by channel, part by part */
    int64_t frames, frame_floats;
    float *values; /* one part */
    su_cache_tree tree;
    char **material; /* (materials) valid and unique prim names */
    int indent;
    char *text; /* buffered output */
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

/* A line begins. */
static void begin(su_usda_writer *w)
{
    for (int i = 0; i < w->indent; i++) print(w, "    ");
}

static void open_block(su_usda_writer *w, const char *bracket)
{
    begin(w);
    print(w, "%s\n", bracket);
    w->indent++;
}

static void close_block(su_usda_writer *w, const char *bracket)
{
    w->indent--;
    begin(w);
    print(w, "%s\n", bracket);
}

/* ---- frames ---- */

su_status su_usda_create(const char *path, const su_cache_layout *layout, const su_cache_parts *parts,
                         su_usda_writer **out, su_error *err)
{
    su_usda_writer *w = NULL;
    SU_TRY(SU_ALLOC(&w, 1, "a USD layer", err));
    w->layout = layout, w->parts = parts, w->err = err;
    w->frame_floats = 3 * layout->vertices * (1 + layout->velocities + layout->normals);
    su_status status;
    SU_GO(SU_ALLOC(&w->values, 3 * parts->largest, "a frame", err));
    SU_GO(SU_ALLOC(&w->text, TEXT_BYTES, "text", err));
    SU_GO(su_cache_tree_create(layout, parts, true, &w->tree, err));
    if (layout->looks)
        SU_GO(su_usd_names_create(layout->looks->materials, layout->looks->material_names, &w->material, err));
    SU_GO(su_output_open(&w->out, path, err));
    SU_GO(su_output_open_scratch(&w->spool, path, err));
done:
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
            if (fwrite(w->values, 3 * sizeof(float), (size_t)part->vertices, w->spool.stream) != (size_t)part->vertices)
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
    if (w->status == SU_OK && (fseeko(w->spool.stream, at * (int64_t)sizeof(float), SEEK_SET) != 0 ||
                               fread(w->values, sizeof(float), count, w->spool.stream) != count))
        w->status = su_fail(w->err, SU_AGAIN, "%s: cannot read frames back: %s", w->out.path, strerror(errno));
    return w->values;
}

static void print_samples(su_usda_writer *w, int part, int channel, const char *attribute)
{
    begin(w);
    print(w, "%s.timeSamples = {\n", attribute);
    w->indent++;
    for (int64_t k = 0; k < w->frames && w->status == SU_OK; k++) {
        const float *p = spooled(w, k, channel, part);
        begin(w);
        print(w, "%.9g: [", su_cache_frame_number(w->layout, k));
        for (int64_t v = 0; v < w->parts->part[part].vertices; v++, p += 3)
            print(w, "%s(%.9g, %.9g, %.9g)", v ? ", " : "", (double)p[0], (double)p[1], (double)p[2]);
        print(w, "],\n");
    }
    close_block(w, "}");
}

static void print_extent(su_usda_writer *w, int part)
{
    begin(w);
    print(w, "float3[] extent.timeSamples = {\n");
    w->indent++;
    for (int64_t k = 0; k < w->frames && w->status == SU_OK; k++) {
        const float *p = spooled(w, k, POINTS, part);
        float low[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, high[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
        for (int64_t i = 0; i < 3 * w->parts->part[part].vertices; i++) {
            if (p[i] < low[i % 3]) low[i % 3] = p[i];
            if (p[i] > high[i % 3]) high[i % 3] = p[i];
        }
        begin(w);
        print(w, "%.9g: [(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)],\n", su_cache_frame_number(w->layout, k),
              (double)low[0], (double)low[1], (double)low[2], (double)high[0], (double)high[1], (double)high[2]);
    }
    close_block(w, "}");
}

static void print_matrix(su_usda_writer *w, const double m[16]) /* points are row vectors */
{
    print(w, "(");
    for (int i = 0; i < 4; i++)
        print(w, "%s(%.17g, %.17g, %.17g, %.17g)", i ? ", " : " ", m[i], m[4 + i], m[8 + i], m[12 + i]);
    print(w, " )");
}

static void print_transform(su_usda_writer *w, int64_t index)
{
    const su_cache_layout *l = w->layout;
    const su_cache_node *node = &w->tree.node[index];
    double m[16];
    if (node->object < 0) return;
    begin(w);
    print(w, "matrix4d xformOp:transform");
    if (node->moves) {
        print(w, ".timeSamples = {\n");
        w->indent++;
        for (int64_t f = 0; f < l->frames / (l->samples ? l->samples : 1); f++) {
            su_cache_tree_local(&w->tree, index, f, m);
            begin(w);
            print(w, "%.9g: ", l->frame_start + (double)f * l->frame_step);
            print_matrix(w, m);
            print(w, ",\n");
        }
        close_block(w, "}");
    } else {
        su_cache_tree_local(&w->tree, index, 0, m);
        print(w, " = ");
        print_matrix(w, m);
        print(w, "\n");
    }
    begin(w);
    print(w, "uniform token[] xformOpOrder = [\"xformOp:transform\"]\n");
}

/* Where materials stand: below the one prim at the top, or beside those there are. */
static void print_binding(su_usda_writer *w, int32_t material)
{
    int64_t top = su_usd_single_top(&w->tree);
    begin(w);
    print(w, "rel material:binding = <%s%.500s%s/materials/%.1000s>\n", w->layout->object_paths ? "" : "/bake",
          top >= 0 && w->layout->object_paths ? "/" : "",
          top >= 0 && w->layout->object_paths ? w->tree.node[top].name : "", w->material[material]);
}

static void print_materials(su_usda_writer *w)
{
    const su_looks *looks = w->layout->looks;
    int64_t top = su_usd_single_top(&w->tree);
    if (!looks || looks->materials == 0 || w->layout->over) return;
    print(w, "\n");
    begin(w);
    print(w, "def Scope \"materials\"\n");
    open_block(w, "{");
    for (int64_t i = 0; i < looks->materials; i++) {
        const float *c = looks->color + 4 * i, *surface = looks->surface + 2 * i;
        begin(w);
        print(w, "def Material \"%s\"\n", w->material[i]);
        open_block(w, "{");
        begin(w);
        print(w, "token outputs:surface.connect = <%s%.500s%s/materials/%.900s/surface.outputs:surface>\n",
              w->layout->object_paths ? "" : "/bake", top >= 0 && w->layout->object_paths ? "/" : "",
              top >= 0 && w->layout->object_paths ? w->tree.node[top].name : "", w->material[i]);
        print(w, "\n");
        begin(w);
        print(w, "def Shader \"surface\"\n");
        open_block(w, "{");
        begin(w), print(w, "uniform token info:id = \"UsdPreviewSurface\"\n");
        begin(w),
            print(w, "color3f inputs:diffuseColor = (%.9g, %.9g, %.9g)\n", (double)c[0], (double)c[1], (double)c[2]);
        begin(w), print(w, "float inputs:opacity = %.9g\n", (double)c[3]);
        begin(w), print(w, "float inputs:metallic = %.9g\n", (double)surface[0]);
        begin(w), print(w, "float inputs:roughness = %.9g\n", (double)surface[1]);
        begin(w), print(w, "token outputs:surface\n");
        close_block(w, "}");
        close_block(w, "}");
    }
    close_block(w, "}");
}

static void print_subset(su_usda_writer *w, const su_cache_group *group, const char *name)
{
    print(w, "\n");
    begin(w);
    print(w, "def GeomSubset \"%s\"", name);
    if (group->material >= 0) print(w, " (\n");
    if (group->material >= 0)
        begin(w), print(w, "    prepend apiSchemas = [\"MaterialBindingAPI\"]\n"), begin(w), print(w, ")");
    print(w, "\n");
    open_block(w, "{");
    begin(w), print(w, "uniform token elementType = \"face\"\n");
    begin(w), print(w, "uniform token familyName = \"%s\"\n", group->material >= 0 ? "materialBind" : "sets");
    begin(w), print(w, "int[] indices = ");
    print_integers(w, group->faces, group->face);
    if (group->material >= 0) print_binding(w, group->material);
    close_block(w, "}");
}

static su_status print_subsets(su_usda_writer *w, const su_cache_part *part)
{
    char **names = NULL;
    int done = 0;
    SU_TRY(SU_ALLOC(&names, part->groups, "names", w->err));
    su_status status = SU_OK;
    for (; done < part->groups && status == SU_OK; done++)
        if (!(names[done] = su_usd_prim_name(part->group[done].name, done, names)))
            status = su_fail(w->err, SU_AGAIN, "out of memory for names");
        else
            print_subset(w, &part->group[done], names[done]);
    while (done-- > 0) free(names[done]);
    free(names);
    return status;
}

/* What the asset has of its own is left to it in a layer of opinions. */
static void print_topology(su_usda_writer *w, const su_cache_part *part)
{
    begin(w), print(w, "uniform token subdivisionScheme = \"%s\"\n", w->layout->subdivision ? "catmullClark" : "none");
    begin(w), print(w, "uniform token orientation = \"rightHanded\"\n");
    begin(w), print(w, "int[] faceVertexCounts = ");
    print_integers(w, part->faces, part->face_counts);
    begin(w), print(w, "int[] faceVertexIndices = ");
    print_integers(w, part->corners, part->face_indices);
    if (part->uvs) {
        begin(w), print(w, "texCoord2f[] primvars:st = [");
        for (int64_t i = 0; i < part->uvs; i++)
            print(w, "%s(%.9g, %.9g)", i ? ", " : "", (double)part->uv[2 * i], (double)part->uv[2 * i + 1]);
        print(w, "] (\n");
        begin(w), print(w, "    interpolation = \"faceVarying\"\n");
        begin(w), print(w, ")\n");
        begin(w), print(w, "int[] primvars:st:indices = ");
        print_integers(w, part->corners, part->uv_indices);
    }
    bool clear = false;
    for (int64_t v = 0; v < part->vertices && part->color; v++) clear |= part->color[4 * v + 3] != 1.0f;
    for (int kind = 0; kind < (part->color ? 1 + clear : 0); kind++) {
        begin(w), print(w, kind ? "float[] primvars:displayOpacity = [" : "color3f[] primvars:displayColor = [");
        for (int64_t v = 0; v < part->vertices; v++) {
            const float *c = part->color + 4 * v;
            if (kind)
                print(w, "%s%.9g", v ? ", " : "", (double)c[3]);
            else
                print(w, "%s(%.9g, %.9g, %.9g)", v ? ", " : "", (double)c[0], (double)c[1], (double)c[2]);
        }
        print(w, "] (\n");
        begin(w), print(w, "    interpolation = \"vertex\"\n");
        begin(w), print(w, ")\n");
    }
}

static void print_mesh(su_usda_writer *w, int index)
{
    const su_cache_part *part = &w->parts->part[index];
    bool over = w->layout->over;
    if (!over) print_topology(w, part);
    for (int i = 0; i < part->groups && !over; i++)
        if (part->group[i].material >= 0) {
            begin(w), print(w, "uniform token subsetFamily:materialBind:familyType = \"nonOverlapping\"\n");
            break;
        }
    for (int k = 0; over && w->layout->unskin && k < SU_USD_SKINNED; k++)
        begin(w), print(w, "%s%s %s = None\n", su_usd_skinned[k].uniform ? "uniform " : "", su_usd_skinned[k].type,
                        su_usd_skinned[k].name);
    print_extent(w, index);
    print_samples(w, index, POINTS, "point3f[] points");
    if (w->layout->velocities) print_samples(w, index, VELOCITIES, "vector3f[] velocities");
    if (w->layout->normals) {
        begin(w), print(w, "normal3f[] normals (\n");
        begin(w), print(w, "    interpolation = \"vertex\"\n");
        begin(w), print(w, ")\n");
        print_samples(w, index, NORMALS, "normal3f[] normals");
    }
    if (!over && w->status == SU_OK && part->groups) w->status = print_subsets(w, part);
}

/* Prims below `parent`, from node `at` on; returns the first behind them. */
static int64_t print_prims(su_usda_writer *w, int64_t at, int64_t parent)
{
    while (at < w->tree.count && w->tree.node[at].parent == parent) {
        const su_cache_node *node = &w->tree.node[at];
        bool over = w->layout->over;
        print(w, "\n");
        begin(w);
        print(w, "%s \"%.1000s\"", over ? "over" : node->part >= 0 ? "def Mesh" : "def Xform", node->name);
        if (!over && parent < 0 && node->part < 0 && w->layout->object_paths)
            print(w, " (\n    kind = \"component\"\n)");
        print(w, "\n");
        open_block(w, "{");
        if (node->part >= 0)
            print_mesh(w, node->part);
        else if (!over)
            print_transform(w, at);
        if (parent < 0 && su_usd_single_top(&w->tree) == at && w->layout->object_paths) print_materials(w);
        at = print_prims(w, at + 1, at);
        close_block(w, "}");
    }
    return at;
}

static void print_layer(su_usda_writer *w)
{
    const su_cache_layout *l = w->layout;
    int64_t top = su_usd_single_top(&w->tree);
    print(w, "#usda 1.0\n(\n    customLayerData = {\n        string application = ");
    print_string(w, l->application);
    print(w, "\n        string provenance = ");
    print_string(w, l->provenance);
    print(w, "\n    }\n");
    if (!l->object_paths)
        print(w, "    defaultPrim = \"bake\"\n");
    else if (top >= 0)
        print(w, "    defaultPrim = \"%.1000s\"\n", w->tree.node[top].name);
    print(w, "    endTimeCode = %.9g\n    framesPerSecond = %.9g\n    metersPerUnit = %.9g\n",
          l->frame_start +
              (double)(w->frames > 0 ? (w->frames - 1) / (l->samples ? l->samples : 1) : 0) * l->frame_step,
          l->fps, l->unit);
    print(w, "    startTimeCode = %.9g\n", l->frame_start);
    if (l->asset) print(w, "    subLayers = [\n        @%.1500s@\n    ]\n", l->asset);
    print(w, "    timeCodesPerSecond = %.9g\n    upAxis = \"%c\"\n)\n", l->fps, toupper((unsigned char)l->up));
    if (!l->object_paths) {
        print(w, "\ndef Xform \"bake\" (\n    kind = \"component\"\n)\n");
        open_block(w, "{");
    }
    if (!l->object_paths || top < 0) print_materials(w);
    print_prims(w, 0, -1);
    if (!l->object_paths) close_block(w, "}");
    flush(w);
}

su_status su_usda_commit(su_usda_writer *w, su_error *err)
{
    w->err = err;
    if (fflush(w->spool.stream) != 0)
        w->status = su_fail(err, SU_AGAIN, "%s: cannot write: %s", w->out.path, strerror(errno));
    print_layer(w);
    su_status status = w->status == SU_OK ? su_output_commit(&w->out, err) : w->status;
    su_usda_abandon(w);
    return status;
}

void su_usda_abandon(su_usda_writer *w)
{
    if (!w) return;
    su_output_abandon(&w->spool);
    su_output_abandon(&w->out);
    free(w->values);
    if (w->layout->looks) su_usd_names_free(w->layout->looks->materials, w->material);
    su_cache_tree_free(&w->tree);
    free(w->text);
    free(w);
}
