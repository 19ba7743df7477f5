/* The meshes of a USD layer as one sequence. */
#include "core/memory.h"
#include "core/order.h"
#include "geometry/affine.h"
#include "geometry/polygon.h"
#include "io/cache/sequence_internal.h"
#include "io/usd/usd_file.h"
#include "io/usd/usd_primvar.h"
#include "io/usd/usd_stage.h"
#include "io/usd/usd_surface.h"
#include "io/usd/usd_visible.h"
#include "io/usd/usd_xform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct usd_mesh {
    int64_t prim, points, faces, corners;
    int64_t vertex, face, corner; /* first of each in the sequence */
    bool left_handed;
} usd_mesh;

struct su_sequence_usd {
    bool renders; /* there are meshes that proxies stand in for */
    su_usd_layer layer;
    int64_t meshes;
    usd_mesh *mesh;
};

static su_status refuse(const struct su_sequence_usd *u, int64_t prim, su_error *err, const char *what)
{
    su_usd_text name = u->layer.prim[prim].name;
    if (u->layer.no_memory) return su_fail(err, SU_AGAIN, "%s: out of memory", u->layer.path);
    return su_fail(err, SU_INPUT, "%s: mesh %.*s: %s", u->layer.path, (int)name.size, name.at, what);
}

/* ---- what meshes there are ---- */

static su_status find_meshes(struct su_sequence_usd *u, su_sequence *s, const char *path, su_error *err)
{
    const su_usd_layer *layer = &u->layer;
    SU_TRY(SU_ALLOC(&u->mesh, layer->prims, "meshes", err));
    for (int64_t i = 0; i < layer->prims; i++) {
        const su_usd_prim *prim = &layer->prim[i];
        if (!prim->defined || prim->inactive) continue;
        if (su_usd_is(prim->type, "BasisCurves") || su_usd_is(prim->type, "Points") ||
            su_usd_is(prim->type, "NurbsPatch"))
            s->others++;
        if (!su_usd_is(prim->type, "Mesh")) continue;
        usd_mesh *m = &u->mesh[u->meshes];
        *m = (usd_mesh){.prim = i};
        int64_t numbers = su_usd_numbers(su_usd_first(su_usd_find(layer, i, "points")), 0, NULL);
        m->faces = su_usd_numbers(su_usd_first(su_usd_find(layer, i, "faceVertexCounts")), 0, NULL);
        m->corners = su_usd_numbers(su_usd_first(su_usd_find(layer, i, "faceVertexIndices")), 0, NULL);
        if (numbers < 0 || numbers % 3 || m->faces < 0 || m->corners < 0)
            return refuse(u, i, err, "its points or faces cannot be read");
        if (numbers == 0) continue; /* a mesh of nothing */
        m->points = numbers / 3;
        m->left_handed = su_usd_is(su_usd_token(su_usd_first(su_usd_find(layer, i, "orientation"))), "leftHanded");
        m->vertex = s->vertices, m->face = s->faces, m->corner = s->corners;
        s->vertices += m->points, s->faces += m->faces, s->corners += m->corners;
        s->skinned += su_usd_has_joints(layer, i);
        if (s->vertices > INT32_MAX || s->corners > INT32_MAX)
            return su_fail(err, SU_INPUT, "%s: has more vertices or corners than supple can number", path);
        u->meshes++;
    }
    s->objects = u->meshes;
    return s->faces > 0 ? SU_OK
                        : su_fail(err, SU_INPUT, "%s: holds no mesh with points and faces%s%s", path,
                                  layer->missing ? "; it takes from a file that cannot be read: " : "",
                                  layer->missing ? layer->missing : "");
}

/* ---- topology ---- */

/* Whole numbers from 0 below a limit. */
static su_status integers(const struct su_sequence_usd *u, int64_t prim, su_usd_value v, int64_t count, double limit,
                          int32_t *out, const char *what, su_error *err)
{
    double *numbers = NULL;
    SU_TRY(SU_ALLOC(&numbers, count, "a mesh", err));
    su_status status = SU_OK;
    if (su_usd_numbers(v, count, numbers) != count) status = refuse(u, prim, err, what);
    for (int64_t i = 0; i < count && status == SU_OK; i++) {
        if (!(numbers[i] >= 0.0 && numbers[i] < limit)) status = refuse(u, prim, err, what);
        if (status == SU_OK) out[i] = (int32_t)numbers[i];
    }
    free(numbers);
    return status;
}

static char *copy(su_usd_text text) { return strndup(text.at, (size_t)text.size); }

/* "/group/object/mesh", and what the object is called: its mesh, or what holds NAMEShape. */
static su_status name_mesh(const su_usd_layer *layer, int64_t prim, char **path, char **name, su_error *err)
{
    int64_t parent = layer->prim[prim].parent;
    SU_TRY(SU_ALLOC(path, su_usd_path_size(layer, prim) + 1, "a path", err));
    su_usd_write_path(layer, prim, *path);
    su_usd_text own = layer->prim[prim].name, above = parent >= 0 ? layer->prim[parent].name : own;
    bool shape = parent >= 0 && own.size == above.size + 5 && memcmp(own.at, above.at, (size_t)above.size) == 0 &&
                 memcmp(own.at + above.size, "Shape", 5) == 0;
    return (*name = copy(shape ? above : own)) ? SU_OK : su_fail(err, SU_AGAIN, "out of memory for a name");
}

/* ---- values on the mesh ---- */

/* Values on a mesh; arrays are the caller's. */
typedef struct primvar {
    char scope; /* as above */
    int64_t count;
    double *values; /* (count,width) */
    int32_t *index; /* (corners, points or 1) */
} primvar;

/* Values of `width` numbers. Nothing (scope 0) where they do not fit the mesh. */
static su_status read_primvar(const struct su_sequence_usd *u, const usd_mesh *m, const su_usd_attribute *a, int width,
                              primvar *out, su_error *err)
{
    char name[220];
    su_usd_value v = su_usd_first(a);
    int64_t numbers = su_usd_numbers(v, 0, NULL);
    *out = (primvar){su_usd_scope(a), numbers / width, NULL, NULL};
    int64_t places = out->scope == 'f' ? m->corners : out->scope == 'v' ? m->points : 1;
    if (numbers <= 0 || numbers % width || a->name.size > 200) out->scope = 0;
    if (!out->scope) return SU_OK;
    snprintf(name, sizeof name, "%.*s:indices", (int)a->name.size, a->name.at);
    su_usd_value indices = su_usd_first(su_usd_find(&u->layer, m->prim, name));
    if (su_usd_none(indices) && out->count != places) out->scope = 0;
    if (!out->scope) return SU_OK;
    su_status status;
    SU_GO(SU_ALLOC(&out->values, numbers, "values", err));
    SU_GO(SU_ALLOC(&out->index, places, "values", err));
    (void)su_usd_numbers(v, numbers, out->values);
    for (int64_t i = 0; i < places; i++) out->index[i] = (int32_t)i;
    if (!su_usd_none(indices))
        SU_GO(integers(u, m->prim, indices, places, (double)out->count, out->index,
                       "indices of its texture coordinates or colours "
                       "cannot be read",
                       err));
done:
    if (status != SU_OK) free(out->values), free(out->index), out->values = NULL, out->index = NULL;
    return status;
}

static void add_name(su_name_list *list, const su_usd_text *name)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(name->size - 9 < 60 ? name->size - 9 : 60), name->at + 9);
    su_name_list_add(list, text);
}

/* What a mesh has beside what is read of it. */
static void name_unread(su_sequence *s, const su_usd_layer *layer, int64_t prim)
{
    static const char *const known[] = {"primvars:displayColor", "primvars:displayOpacity", "primvars:normals"};
    const su_usd_attribute *st = su_usd_find_uv(layer, prim);
    for (int64_t i = layer->prim[prim].attribute; i >= 0; i = layer->attribute[i].next) {
        const su_usd_attribute *a = &layer->attribute[i];
        bool taken = a == st || a->name.size <= 9 || memcmp(a->name.at, "primvars:", 9) != 0;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) taken |= su_usd_is(a->name, known[k]);
        if (taken || memchr(a->name.at + 9, ':', a->name.size - 9)) continue; /* their indices, skeletons' */
        bool looks = false;
        static const char *const types[] = {"texCoord2f", "color3f", "color4f"};
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) looks |= su_usd_is(a->type, types[k]);
        add_name(looks ? &s->unread : &s->parameters, &a->name);
    }
}

static su_status read_uv(su_sequence *s, struct su_sequence_usd *u, usd_mesh *m, su_error *err)
{
    const su_usd_attribute *a = su_usd_find_uv(&u->layer, m->prim);
    primvar st = {0};
    if (a) SU_TRY(read_primvar(u, m, a, 2, &st, err));
    char scope = st.scope == 'c' ? 0 : st.scope;
    int64_t count = scope ? st.count : 1; /* one coordinate for a mesh without any */
    float *grown = realloc(s->uv, (size_t)(2 * (s->uvs + count)) * sizeof *grown);
    if (grown) s->uv = grown;
    su_status status = grown ? SU_OK : su_fail(err, SU_AGAIN, "out of memory for texture coordinates");
    for (int64_t i = 0; i < 2 * count && grown; i++) s->uv[2 * s->uvs + i] = scope ? (float)st.values[i] : 0.0f;
    for (int64_t k = 0; k < m->corners && grown; k++) {
        int64_t at = scope == 'f' ? k : scope == 'v' ? s->face_indices[m->corner + k] - m->vertex : 0;
        s->uv_indices[m->corner + k] = (int32_t)(s->uvs + (scope ? st.index[at] : 0));
    }
    if (grown && scope == 'f' && m->left_handed) /* they stand with the corners as the file has them */
        su_polygons_turn_round(m->faces, s->face_counts + m->face, s->uv_indices + m->corner);
    s->uvs += count;
    free(st.values), free(st.index);
    return status;
}

/* width numbers of each point from `first` on, of colours by corner those of its first. */
static su_status spread(su_sequence *s, struct su_sequence_usd *u, const usd_mesh *m, const char *name, int width,
                        int first, su_error *err)
{
    const su_usd_attribute *a = su_usd_find(&u->layer, m->prim, name);
    primvar color;
    int32_t *corner = NULL;
    if (!a) return SU_OK;
    SU_TRY(read_primvar(u, m, a, width, &color, err));
    char scope = color.scope;
    su_status status = SU_OK;
    if (scope == 'f') { /* the order of the corners of a face does not matter for it */
        SU_GO(SU_ALLOC(&corner, m->corners, "colours", err));
        memcpy(corner, s->face_indices + m->corner, (size_t)m->corners * sizeof *corner);
        if (m->left_handed) su_polygons_turn_round(m->faces, s->face_counts + m->face, corner);
    }
    int64_t places = scope == 'f' ? m->corners : m->points;
    for (int64_t k = places - 1; k >= 0 && scope; k--) {
        int64_t vertex = scope == 'f' ? corner[k] : m->vertex + k;
        for (int i = 0; i < width; i++)
            s->color[4 * vertex + first + i] = (float)color.values[width * color.index[scope == 'c' ? 0 : k] + i];
    }
done:
    free(color.values), free(color.index), free(corner);
    return status;
}

static bool is_colored(const su_usd_layer *layer, int64_t prim)
{
    const su_usd_attribute *a = su_usd_find(layer, prim, "primvars:displayColor");
    return a && su_usd_scope(a) != 'c' && su_usd_scope(a); /* one colour for all is how it looks, not paint */
}

/* ---- materials ---- */

/* The material that a prim is bound to, entered: *index, -1 where there is none. */
static su_status material_of(su_sequence *s, const su_usd_layer *layer, int64_t prim, int32_t *index, su_error *err)
{
    su_usd_text name;
    int64_t at, before = s->looks.materials;
    *index = -1;
    if (!su_usd_target(layer, su_usd_find(layer, prim, "material:binding"), 0, &name, &at)) return SU_OK;
    char *own = copy(name);
    if (!own) return su_fail(err, SU_AGAIN, "out of memory for a material");
    su_status status = su_looks_material(&s->looks, own, index, err);
    free(own);
    if (status == SU_OK && s->looks.materials > before && at >= 0)
        su_usd_surface(layer, at, s->looks.color + 4 * *index, s->looks.surface + 2 * *index);
    return status;
}

static su_status set_material(su_sequence *s, int64_t face, int32_t index, su_error *err)
{
    if (!s->looks.material) {
        SU_TRY(SU_ALLOC(&s->looks.material, s->faces, "materials", err));
        for (int64_t f = 0; f < s->faces; f++) s->looks.material[f] = -1;
    }
    s->looks.material[face] = index;
    return SU_OK;
}

static su_status read_subset(su_sequence *s, struct su_sequence_usd *u, const usd_mesh *m, int64_t prim, su_error *err)
{
    const su_usd_layer *layer = &u->layer;
    su_usd_value v = su_usd_first(su_usd_find(layer, prim, "indices"));
    int64_t count = su_usd_numbers(v, 0, NULL);
    int32_t *faces = NULL, material;
    char *name = NULL;
    if (count <= 0 || !su_usd_is(su_usd_token(su_usd_first(su_usd_find(layer, prim, "elementType"))), "face"))
        return SU_OK;
    su_status status = material_of(s, layer, prim, &material, err);
    if (status != SU_OK) return status;
    SU_GO(SU_ALLOC(&faces, count, "a subset", err));
    SU_GO(integers(u, m->prim, v, count, (double)m->faces, faces, "a subset names a face that it does not have", err));
    for (int64_t i = 0; i < count; i++) faces[i] += (int32_t)m->face;
    if (material >= 0) {
        for (int64_t i = 0; i < count; i++) SU_GO(set_material(s, faces[i], material, err));
    } else {
        if (!(name = copy(layer->prim[prim].name))) {
            status = su_fail(err, SU_AGAIN, "out of memory for a subset");
            goto done;
        }
        SU_GO(su_looks_add_set(&s->looks, name, count, faces, err));
    }
done:
    free(faces), free(name);
    return status;
}

static su_status read_looks(su_sequence *s, struct su_sequence_usd *u, const usd_mesh *m, su_error *err)
{
    int32_t material = -1;
    for (int64_t at = m->prim; at >= 0 && material < 0; at = u->layer.prim[at].parent) /* bindings are inherited */
        SU_TRY(material_of(s, &u->layer, at, &material, err));
    for (int64_t f = 0; f < m->faces && material >= 0; f++) SU_TRY(set_material(s, m->face + f, material, err));
    for (int64_t i = m->prim + 1; i < u->layer.prims; i++) {
        if (u->layer.prim[i].parent < m->prim) break; /* behind all that stands below it */
        if (u->layer.prim[i].parent == m->prim && su_usd_is(u->layer.prim[i].type, "GeomSubset"))
            SU_TRY(read_subset(s, u, m, i, err));
    }
    return SU_OK;
}

/* ---- the sequence ---- */

static su_status read_mesh(su_sequence *s, struct su_sequence_usd *u, int64_t number, su_error *err)
{
    const su_usd_layer *layer = &u->layer;
    usd_mesh *m = &u->mesh[number];
    int64_t corners = 0;
    SU_TRY(name_mesh(layer, m->prim, &s->object_paths[number], &s->object_names[number], err));
    su_usd_seen seen = su_usd_visibility(layer, m->prim, u->renders);
    s->object_hidden[number] = seen == SU_USD_HIDDEN            ? SU_SEQUENCE_HIDDEN
                               : seen == SU_USD_HIDDEN_AT_TIMES ? SU_SEQUENCE_CHANGING
                                                                : 0;
    SU_TRY(su_usd_world_at(&u->layer, m->prim, s->source->sample_times[0], s->object_xform + 16 * number, err));
    SU_TRY(integers(u, m->prim, su_usd_first(su_usd_find(layer, m->prim, "faceVertexCounts")), m->faces, INT32_MAX,
                    s->face_counts + m->face, "its faces cannot be read", err));
    SU_TRY(integers(u, m->prim, su_usd_first(su_usd_find(layer, m->prim, "faceVertexIndices")), m->corners,
                    (double)m->points, s->face_indices + m->corner, "a face names a point that it does not have", err));
    for (int64_t f = 0; f < m->faces; f++) {
        if (s->face_counts[m->face + f] < 3) return refuse(u, m->prim, err, "a face has fewer than 3 corners");
        corners += s->face_counts[m->face + f];
    }
    if (corners != m->corners) return refuse(u, m->prim, err, "faceVertexCounts and faceVertexIndices disagree");
    for (int64_t k = 0; k < m->corners; k++) s->face_indices[m->corner + k] += (int32_t)m->vertex;
    for (int64_t v = 0; v < m->points; v++) s->object_ids[m->vertex + v] = (int32_t)number;
    if (m->left_handed) su_polygons_turn_round(m->faces, s->face_counts + m->face, s->face_indices + m->corner);
    if (s->uv_indices) SU_TRY(read_uv(s, u, m, err));
    if (s->color) {
        SU_TRY(spread(s, u, m, "primvars:displayColor", 3, 0, err));
        SU_TRY(spread(s, u, m, "primvars:displayOpacity", 1, 3, err));
    }
    SU_TRY(read_looks(s, u, m, err));
    double linear[9];
    su_affine_linear(s->object_xform + 16 * number, linear);
    if (su_det3(linear) < 0.0) { /* outside stays outside */
        su_polygons_turn_round(m->faces, s->face_counts + m->face, s->face_indices + m->corner);
        if (s->uv_indices) su_polygons_turn_round(m->faces, s->face_counts + m->face, s->uv_indices + m->corner);
    }
    return SU_OK;
}

static void add_times(const su_usd_attribute *a, double *times, int64_t *count)
{
    for (int64_t k = 0; a && k < a->samples && a->samples > 1; k++) {
        if (times) times[*count] = a->sample[k].time;
        (*count)++;
    }
}

su_status su_sequence_usd_times(su_sequence *s, const char *path, su_error *err)
{
    const struct su_sequence_usd *u = s->source->usd;
    int64_t count = 0;
    double *all = NULL;
    (void)path;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) SU_TRY(SU_ALLOC(&all, count, "times", err));
        count = 0;
        for (int64_t i = 0; i < u->meshes; i++) {
            if (s->source->left_out && s->source->left_out[i]) continue;
            add_times(su_usd_find(&u->layer, u->mesh[i].prim, "points"), all, &count);
            for (int64_t at = u->mesh[i].prim; at >= 0; at = u->layer.prim[at].parent)
                count += su_usd_xform_codes(&u->layer, at, all ? all + count : NULL);
        }
    }
    if (count > 1) su_sort(all, (size_t)count, sizeof *all, su_order_doubles);
    int64_t kept = 0;
    for (int64_t k = 0; k < count; k++)
        if (kept == 0 || all[k] - all[kept - 1] > SU_USD_SAME_CODE) all[kept++] = all[k];
    free(s->times), free(s->source->sample_times);
    s->times = s->source->sample_times = NULL;
    s->timed = true, s->frames = kept > 0 ? kept : 1;
    s->fps = u->layer.codes_per_second;
    su_status status;
    SU_GO(SU_ALLOC(&s->times, s->frames, "times", err));
    SU_GO(SU_ALLOC(&s->source->sample_times, s->frames, "times", err));
    for (int64_t k = 0; k < kept; k++) s->source->sample_times[k] = all[k];
    for (int64_t k = 0; k < s->frames; k++) s->times[k] = s->source->sample_times[k] / u->layer.codes_per_second;
done:
    free(all);
    return status;
}

su_status su_sequence_usd_open(su_sequence *s, const char *path, su_error *err)
{
    struct su_sequence_usd *u = NULL;
    int64_t neutral = s->vertices; /* of a neutral mesh that was given */
    SU_TRY(SU_ALLOC(&u, 1, "a USD layer", err));
    s->source->usd = u; /* its close frees it from here on */
    SU_TRY(su_usd_open(path, &u->layer, err));
    s->vertices = 0;
    s->missing = u->layer.missing, s->files = u->layer.files, s->file = u->layer.file;
    SU_TRY(find_meshes(u, s, path, err));
    if (neutral && neutral != s->vertices)
        return su_fail(err, SU_INPUT, "%s: has %lld points, its neutral mesh %lld", path, (long long)s->vertices,
                       (long long)neutral);
    SU_TRY(su_sequence_usd_times(s, path, err));
    s->unit = u->layer.says_meters ? u->layer.meters : 0.0, s->up = u->layer.up == 'Z' ? 2 : 1;
    bool uv = false, colored = false;
    for (int64_t i = 0; i < u->meshes; i++) {
        uv |= su_usd_find_uv(&u->layer, u->mesh[i].prim) != NULL;
        colored |= is_colored(&u->layer, u->mesh[i].prim);
        name_unread(s, &u->layer, u->mesh[i].prim);
    }
    SU_TRY(SU_ALLOC(&s->face_counts, s->faces, "faces", err));
    SU_TRY(SU_ALLOC(&s->face_indices, s->corners, "faces", err));
    SU_TRY(SU_ALLOC(&s->object_ids, s->vertices, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_names, s->objects, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_paths, s->objects, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_xform, 16 * s->objects, "objects", err));
    SU_TRY(SU_ALLOC(&s->object_hidden, s->objects, "objects", err));
    if (uv) SU_TRY(SU_ALLOC(&s->uv_indices, s->corners, "UVs", err));
    if (colored) SU_TRY(SU_ALLOC(&s->color, 4 * s->vertices, "colours", err));
    for (int64_t i = 0; i < 4 * s->vertices && colored; i++) s->color[i] = 1.0f;
    u->renders = su_usd_has_renders(&u->layer);
    for (int64_t i = 0; i < u->meshes; i++) SU_TRY(read_mesh(s, u, i, err));
    if (u->layer.no_memory) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    SU_TRY(su_looks_keep_used(&s->looks, s->faces, err));
    if (!uv) return SU_OK;
    return su_polygons_merge_uv(s->vertices, s->corners, s->face_indices, &s->uvs, s->uv, s->uv_indices, err);
}

/* out (points,3) at a time code, linear between samples. */
static su_status points_at(const struct su_sequence_usd *u, const usd_mesh *m, double code, double *out, double *room,
                           su_error *err)
{
    const su_usd_attribute *a = su_usd_find(&u->layer, m->prim, "points");
    int64_t n = 3 * m->points, low = 0;
    while (low + 1 < a->samples && a->sample[low + 1].time <= code + SU_USD_SAME_CODE) low++;
    su_usd_value first = a->samples ? a->sample[low].value : a->value;
    bool between = low + 1 < a->samples && code > a->sample[low].time + SU_USD_SAME_CODE;
    if (su_usd_numbers(first, n, out) != n || (between && su_usd_numbers(a->sample[low + 1].value, n, room) != n))
        return refuse(u, m->prim, err, "a sample has another number of points: topology must not change");
    if (!between) return SU_OK;
    double f = (code - a->sample[low].time) / (a->sample[low + 1].time - a->sample[low].time);
    for (int64_t i = 0; i < n; i++) out[i] += f * (room[i] - out[i]);
    return SU_OK;
}

su_status su_sequence_usd_read(su_sequence *s, int64_t frame, double *points, su_error *err)
{
    const struct su_sequence_usd *u = s->source->usd;
    double code = s->source->sample_times[frame], *room = NULL;
    int64_t largest = 0;
    for (int64_t i = 0; i < u->meshes; i++)
        if (u->mesh[i].points > largest) largest = u->mesh[i].points;
    SU_TRY(SU_ALLOC(&room, 3 * largest, "a frame", err));
    su_status status = SU_OK;
    for (int64_t i = 0; i < u->meshes && status == SU_OK; i++) {
        const usd_mesh *m = &u->mesh[i];
        double world[16], *p = points + 3 * m->vertex;
        if (s->source->left_out && s->source->left_out[i]) continue;
        const su_usd_attribute *faces = su_usd_find(&u->layer, m->prim, "faceVertexIndices");
        if (faces && faces->samples > 1) {
            status = refuse(u, m->prim, err,
                            "its topology changes; only constant topology can be simulated: name the other "
                            "objects by --object");
            break;
        }
        SU_GO(points_at(u, m, code, p, room, err));
        SU_GO(su_usd_world_at(&u->layer, m->prim, code, world, err));
        for (int64_t v = 0; v < m->points; v++) su_affine_point(world, p + 3 * v, p + 3 * v);
    }
done:
    free(room);
    return status;
}

su_status su_sequence_usd_xform(su_sequence *s, int64_t object, double time, double xform[16], su_error *err)
{
    const struct su_sequence_usd *u = s->source->usd;
    return su_usd_world_at(&u->layer, u->mesh[object].prim, time * u->layer.codes_per_second, xform, err);
}

void su_sequence_usd_close(su_sequence *s)
{
    if (!s->source->usd) return;
    su_usd_close(&s->source->usd->layer);
    free(s->source->usd->mesh);
    free(s->source->usd);
}
