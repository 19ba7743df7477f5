#include "io/cache/usdc.h"

#include "core/memory.h"
#include "io/cache/cache_tree.h"
#include "io/cache/usd_names.h"
#include "io/usd/usdc_file.h"

#include <ctype.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS, VELOCITIES, NORMALS, EXTENT, CHANNELS };
enum { DEF, OVER };   /* specifiers */
enum { UNIFORM = 1 }; /* variability */

struct su_usdc_writer {
    const su_cache_layout *layout;
    const su_cache_parts *parts;
    su_cache_tree tree;
    su_usdc_file *file;
    char **material;        /* (materials) prim names */
    int64_t *material_path; /* (materials) */
    int64_t *prim;          /* (nodes of the tree) paths */
    int64_t top, scope;     /* path that holds materials and, without groups, all prims; that of the materials */
    int64_t frames;
    float *values;                    /* one part */
    su_usdc_value *samples[CHANNELS]; /* (parts,layout.frames); NULL: not written */
};

/* An attribute of a prim begins. */
static int64_t attribute(su_usdc_writer *w, int64_t prim, const char *name, const char *type, bool uniform)
{
    int64_t path = su_usdc_path(w->file, prim, name, true);
    su_usdc_begin(w->file, path, SU_USDC_ATTRIBUTE);
    su_usdc_field(w->file, "typeName", su_usdc_word(w->file, SU_USDC_TOKEN, type));
    if (uniform) su_usdc_field(w->file, "variability", su_usdc_small(SU_USDC_VARIABILITY, UNIFORM));
    return path;
}

static void set(su_usdc_writer *w, int64_t prim, const char *name, const char *type, bool uniform, su_usdc_value value)
{
    attribute(w, prim, name, type, uniform);
    su_usdc_field(w->file, "default", value);
}

static void set_token(su_usdc_writer *w, int64_t prim, const char *name, const char *text)
{
    set(w, prim, name, "token", true, su_usdc_word(w->file, SU_USDC_TOKEN, text));
}

static void set_integers(su_usdc_writer *w, int64_t prim, const char *name, int64_t count, const int32_t *values)
{
    set(w, prim, name, "int[]", false, su_usdc_array(w->file, SU_USDC_INT, count, values, sizeof *values));
}

static void interpolate(su_usdc_writer *w, const char *how)
{
    su_usdc_field(w->file, "interpolation", su_usdc_word(w->file, SU_USDC_TOKEN, how));
}

static void prim(su_usdc_writer *w, int64_t path, const char *type)
{
    su_usdc_begin(w->file, path, SU_USDC_PRIM);
    su_usdc_field(w->file, "specifier", su_usdc_small(SU_USDC_SPECIFIER, w->layout->over ? OVER : DEF));
    if (!w->layout->over) su_usdc_field(w->file, "typeName", su_usdc_word(w->file, SU_USDC_TOKEN, type));
}

static void bind(su_usdc_writer *w, int64_t path, int32_t material)
{
    su_usdc_begin(w->file, su_usdc_path(w->file, path, "material:binding", true), SU_USDC_RELATIONSHIP);
    su_usdc_field(w->file, "variability", su_usdc_small(SU_USDC_VARIABILITY, UNIFORM));
    su_usdc_field(w->file, "targetPaths", su_usdc_target(w->file, w->material_path[material]));
}

/* ---- prims ---- */

static void put_layer(su_usdc_writer *w)
{
    const su_cache_layout *l = w->layout;
    su_usdc_file *f = w->file;
    const char *const pairs[][2] = {{"application", l->application ? l->application : ""},
                                    {"provenance", l->provenance ? l->provenance : ""}};
    int64_t top = su_usd_single_top(&w->tree), samples = l->samples ? l->samples : 1;
    const char up[2] = {(char)toupper((unsigned char)l->up), 0};
    su_usdc_begin(f, 0, SU_USDC_LAYER);
    su_usdc_field(f, "customLayerData", su_usdc_dictionary(f, 2, pairs));
    if (!l->object_paths || top >= 0)
        su_usdc_field(f, "defaultPrim",
                      su_usdc_word(f, SU_USDC_TOKEN, l->object_paths ? w->tree.node[top].name : "bake"));
    double last = l->frame_start + (double)(w->frames > 0 ? (w->frames - 1) / samples : 0) * l->frame_step;
    su_usdc_field(f, "endTimeCode", su_usdc_double(f, last));
    su_usdc_field(f, "framesPerSecond", su_usdc_double(f, l->fps));
    su_usdc_field(f, "metersPerUnit", su_usdc_double(f, l->unit));
    su_usdc_field(f, "startTimeCode", su_usdc_double(f, l->frame_start));
    if (l->asset) {
        su_usdc_field(f, "subLayers", su_usdc_words(f, SU_USDC_STRING_VECTOR, 1, &l->asset));
        su_usdc_field(f, "subLayerOffsets", su_usdc_no_offsets(f, 1));
    }
    su_usdc_field(f, "timeCodesPerSecond", su_usdc_double(f, l->fps));
    su_usdc_field(f, "upAxis", su_usdc_word(f, SU_USDC_TOKEN, up));
    if (l->object_paths) return;
    prim(w, w->top, "Xform");
    su_usdc_field(f, "kind", su_usdc_word(f, SU_USDC_TOKEN, "component"));
}

static void put_materials(su_usdc_writer *w)
{
    const su_looks *looks = w->layout->looks;
    su_usdc_file *f = w->file;
    if (!looks || looks->materials == 0 || w->layout->over) return;
    prim(w, w->scope, "Scope");
    for (int64_t i = 0; i < looks->materials; i++) {
        const float *c = looks->color + 4 * i, *surface = looks->surface + 2 * i;
        int64_t material = su_usdc_path(f, w->scope, w->material[i], false),
                shader = su_usdc_path(f, material, "surface", false);
        w->material_path[i] = material;
        prim(w, material, "Material");
        int64_t output = su_usdc_path(f, shader, "outputs:surface", true);
        attribute(w, material, "outputs:surface", "token", false);
        su_usdc_field(f, "connectionPaths", su_usdc_target(f, output));
        prim(w, shader, "Shader");
        set_token(w, shader, "info:id", "UsdPreviewSurface");
        set(w, shader, "inputs:diffuseColor", "color3f", false, su_usdc_single(f, SU_USDC_VEC3F, c, 3 * sizeof *c));
        set(w, shader, "inputs:opacity", "float", false, su_usdc_float(c[3]));
        set(w, shader, "inputs:metallic", "float", false, su_usdc_float(surface[0]));
        set(w, shader, "inputs:roughness", "float", false, su_usdc_float(surface[1]));
        su_usdc_begin(f, output, SU_USDC_ATTRIBUTE);
        su_usdc_field(f, "typeName", su_usdc_word(f, SU_USDC_TOKEN, "token"));
    }
}

/* Points are row vectors. */
static su_usdc_value matrix(su_usdc_writer *w, int64_t node, int64_t frame)
{
    double m[16], rows[16];
    su_cache_tree_local(&w->tree, node, frame, m);
    for (int i = 0; i < 16; i++) rows[i] = m[4 * (i % 4) + i / 4];
    return su_usdc_single(w->file, SU_USDC_MATRIX4D, rows, sizeof rows);
}

static su_status put_transform(su_usdc_writer *w, int64_t node, su_error *err)
{
    static const char *const order[] = {"xformOp:transform"};
    const su_cache_layout *l = w->layout;
    int64_t frames = l->frames / (l->samples ? l->samples : 1), path = w->prim[node];
    su_usdc_value *values = NULL;
    double *times = NULL;
    if (w->tree.node[node].object < 0 || l->over) return SU_OK;
    attribute(w, path, order[0], "matrix4d", false);
    su_status status = SU_OK;
    if (w->tree.node[node].moves) {
        SU_GO(SU_ALLOC(&values, frames, "transforms", err));
        SU_GO(SU_ALLOC(&times, frames, "transforms", err));
        for (int64_t k = 0; k < frames; k++) {
            values[k] = matrix(w, node, k);
            times[k] = l->frame_start + (double)k * l->frame_step;
        }
        su_usdc_field(w->file, "timeSamples",
                      su_usdc_samples(w->file, su_usdc_times(w->file, frames, times), frames, values));
    } else {
        su_usdc_field(w->file, "default", matrix(w, node, 0));
    }
    set(w, path, "xformOpOrder", "token[]", true, su_usdc_words(w->file, SU_USDC_TOKEN, 1, order));
done:
    free(values), free(times);
    return status;
}

static void put_colors(su_usdc_writer *w, int64_t path, const su_cache_part *part)
{
    bool clear = false;
    float *value = w->values; /* three numbers a vertex have room */
    if (!part->color) return;
    for (int64_t v = 0; v < part->vertices; v++) {
        memcpy(value + 3 * v, part->color + 4 * v, 3 * sizeof *value);
        clear |= part->color[4 * v + 3] != 1.0f;
    }
    set(w, path, "primvars:displayColor", "color3f[]", false,
        su_usdc_array(w->file, SU_USDC_VEC3F, part->vertices, value, 3 * sizeof *value));
    interpolate(w, "vertex");
    if (!clear) return;
    for (int64_t v = 0; v < part->vertices; v++) value[v] = part->color[4 * v + 3];
    set(w, path, "primvars:displayOpacity", "float[]", false,
        su_usdc_array(w->file, SU_USDC_FLOAT, part->vertices, value, sizeof *value));
    interpolate(w, "vertex");
}

static su_status put_subsets(su_usdc_writer *w, int64_t path, const su_cache_part *part, su_error *err)
{
    static const char *const schemas[] = {"MaterialBindingAPI"};
    char **wanted = NULL, **names = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&wanted, part->groups, "names", err));
    for (int i = 0; i < part->groups; i++) wanted[i] = (char *)part->group[i].name;
    SU_GO(su_usd_names_create(part->groups, wanted, &names, err));
    for (int i = 0; i < part->groups; i++) {
        const su_cache_group *group = &part->group[i];
        int64_t subset = su_usdc_path(w->file, path, names[i], false);
        prim(w, subset, "GeomSubset");
        if (group->material >= 0)
            su_usdc_field(w->file, "apiSchemas", su_usdc_words(w->file, SU_USDC_TOKEN_LIST, 1, schemas));
        set_token(w, subset, "elementType", "face");
        set_token(w, subset, "familyName", group->material >= 0 ? "materialBind" : "sets");
        set_integers(w, subset, "indices", group->faces, group->face);
        if (group->material >= 0) bind(w, subset, group->material);
    }
done:
    su_usd_names_free(part->groups, names);
    free(wanted);
    return status;
}

/* What the asset has of its own is left to it in a layer of opinions. */
static su_status put_topology(su_usdc_writer *w, int64_t path, const su_cache_part *part, su_error *err)
{
    set_token(w, path, "subdivisionScheme", w->layout->subdivision ? "catmullClark" : "none");
    set_token(w, path, "orientation", "rightHanded");
    set_integers(w, path, "faceVertexCounts", part->faces, part->face_counts);
    set_integers(w, path, "faceVertexIndices", part->corners, part->face_indices);
    if (part->uvs) {
        set(w, path, "primvars:st", "texCoord2f[]", false,
            su_usdc_array(w->file, SU_USDC_VEC2F, part->uvs, part->uv, 2 * sizeof *part->uv));
        interpolate(w, "faceVarying");
        set_integers(w, path, "primvars:st:indices", part->corners, part->uv_indices);
    }
    put_colors(w, path, part);
    if (part->groups && part->group[0].material >= 0)
        set_token(w, path, "subsetFamily:materialBind:familyType", "nonOverlapping");
    return put_subsets(w, path, part, err);
}

static void put_samples(su_usdc_writer *w, int64_t path, int part, su_usdc_value times)
{
    static const char *const names[CHANNELS][2] = {
        {"points", "point3f[]"}, {"velocities", "vector3f[]"}, {"normals", "normal3f[]"}, {"extent", "float3[]"}};
    for (int c = 0; c < CHANNELS; c++) {
        if (!w->samples[c]) continue;
        attribute(w, path, names[c][0], names[c][1], false);
        su_usdc_field(w->file, "timeSamples",
                      su_usdc_samples(w->file, times, w->frames, w->samples[c] + part * w->layout->frames));
        if (c == NORMALS) interpolate(w, "vertex");
    }
}

static su_status put_prims(su_usdc_writer *w, su_error *err)
{
    const su_cache_layout *l = w->layout;
    double *codes = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&codes, w->frames, "times", err));
    for (int64_t k = 0; k < w->frames; k++) codes[k] = su_cache_frame_number(l, k);
    su_usdc_value times = su_usdc_times(w->file, w->frames, codes);
    for (int64_t i = 0; i < w->tree.count; i++) {
        const su_cache_node *node = &w->tree.node[i];
        prim(w, w->prim[i], node->part >= 0 ? "Mesh" : "Xform");
        if (node->part < 0) {
            if (node->parent < 0 && l->object_paths && !l->over)
                su_usdc_field(w->file, "kind", su_usdc_word(w->file, SU_USDC_TOKEN, "component"));
            SU_GO(put_transform(w, i, err));
            continue;
        }
        if (!l->over) SU_GO(put_topology(w, w->prim[i], &w->parts->part[node->part], err));
        for (int k = 0; l->over && l->unskin && k < SU_USD_SKINNED; k++)
            set(w, w->prim[i], su_usd_skinned[k].name, su_usd_skinned[k].type, su_usd_skinned[k].uniform,
                su_usdc_small(SU_USDC_BLOCK, 0));
        put_samples(w, w->prim[i], node->part, times);
    }
done:
    free(codes);
    return status;
}

/* ---- the layer ---- */

su_status su_usdc_writer_create(const char *path, const su_cache_layout *layout, const su_cache_parts *parts,
                                su_usdc_writer **out, su_error *err)
{
    const bool wanted[CHANNELS] = {true, layout->velocities, layout->normals, true};
    su_usdc_writer *w = NULL;
    SU_TRY(SU_ALLOC(&w, 1, "a USD layer", err));
    w->layout = layout, w->parts = parts;
    su_status status;
    SU_GO(SU_ALLOC(&w->values, 3 * parts->largest, "a frame", err));
    for (int c = 0; c < CHANNELS; c++)
        if (wanted[c]) SU_GO(SU_ALLOC(&w->samples[c], parts->count * layout->frames, "the index of a USD layer", err));
    SU_GO(su_cache_tree_create(layout, parts, true, &w->tree, err));
    SU_GO(SU_ALLOC(&w->prim, w->tree.count, "prims", err));
    if (layout->looks) {
        SU_GO(su_usd_names_create(layout->looks->materials, layout->looks->material_names, &w->material, err));
        SU_GO(SU_ALLOC(&w->material_path, layout->looks->materials, "materials", err));
    }
    SU_GO(su_usdc_create(path, &w->file, err));
    int64_t root = layout->object_paths ? 0 : su_usdc_path(w->file, 0, "bake", false);
    int64_t top = layout->object_paths ? su_usd_single_top(&w->tree) : -1;
    bool looks = layout->looks && layout->looks->materials > 0 && !layout->over;
    w->top = root;
    for (int64_t i = top < 0 ? -1 : 0; i < w->tree.count; i++) { /* materials stand before the prims beside them */
        if (i >= 0) {
            const su_cache_node *node = &w->tree.node[i];
            w->prim[i] = su_usdc_path(w->file, node->parent < 0 ? root : w->prim[node->parent], node->name, false);
        }
        if (i == top) {
            if (top >= 0) w->top = w->prim[top];
            if (looks) w->scope = su_usdc_path(w->file, w->top, "materials", false);
        }
    }
    status = su_usdc_status(w->file);
done:
    if (status != SU_OK)
        su_usdc_writer_abandon(w);
    else
        *out = w;
    return status;
}

su_status su_usdc_writer_frame(su_usdc_writer *w, const float *points, const float *velocities, const float *normals,
                               su_error *err)
{
    const float *const from[CHANNELS] = {points, velocities, normals, NULL};
    (void)err; /* the file has the one of its creation; callers hand in the same */
    for (int c = 0; c < EXTENT; c++)
        for (int i = 0; i < w->parts->count && w->samples[c]; i++) {
            const su_cache_part *part = &w->parts->part[i];
            int64_t at = i * w->layout->frames + w->frames;
            su_cache_part_gather(part, from[c], w->values);
            w->samples[c][at] = su_usdc_array(w->file, SU_USDC_VEC3F, part->vertices, w->values, 3 * sizeof *w->values);
            if (c != POINTS) continue;
            float box[6] = {FLT_MAX, FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
            for (int64_t k = 0; k < 3 * part->vertices; k++) {
                if (w->values[k] < box[k % 3]) box[k % 3] = w->values[k];
                if (w->values[k] > box[3 + k % 3]) box[3 + k % 3] = w->values[k];
            }
            w->samples[EXTENT][at] = su_usdc_array(w->file, SU_USDC_VEC3F, 2, box, 3 * sizeof *box);
        }
    w->frames++;
    return su_usdc_status(w->file);
}

su_status su_usdc_writer_commit(su_usdc_writer *w, su_error *err)
{
    put_layer(w);
    put_materials(w);
    su_status status = put_prims(w, err);
    if (status == SU_OK) {
        su_usdc_file *file = w->file;
        w->file = NULL; /* freed by the commit in every case */
        status = su_usdc_commit(file, err);
    }
    su_usdc_writer_abandon(w);
    return status;
}

void su_usdc_writer_abandon(su_usdc_writer *w)
{
    if (!w) return;
    su_usdc_abandon(w->file);
    for (int c = 0; c < CHANNELS; c++) free(w->samples[c]);
    if (w->layout->looks) su_usd_names_free(w->layout->looks->materials, w->material);
    free(w->values), free(w->prim), free(w->material_path);
    su_cache_tree_free(&w->tree);
    free(w);
}
