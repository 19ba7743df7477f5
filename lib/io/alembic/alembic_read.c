/* Mesh caches out of Alembic archives: every PolyMesh and SubD with the transforms above it. */
#include "io/alembic/alembic_internal.h"

#include "core/memory.h"
#include "core/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What an object says of itself (AbcGeom's Visibility.h): the first ancestor that does not defer decides. */
typedef enum visibility { DEFERRED, SHOWN, HIDDEN, CHANGING } visibility;

/* Most samples of a file: 14 hours at 200 a second. */
enum { MOST_SAMPLES = 10000000 };
/* A rate below it is none of film or games: then a cycle is more than a frame. */
#define LEAST_RATE 10.0

su_status su_alembic_xform(const su_alembic *file, int index, double time, double m[16], su_error *err)
{
    const su_alembic_source *mesh = &file->meshes[index];
    su_abc_identity(m);
    for (int i = 0; i < mesh->xform_count; i++) {
        double local[16];
        SU_TRY(su_abc_xform_at(&file->tree, mesh->xforms[i], time, local, err));
        su_abc_multiply(local, m, m);
        if (!mesh->xforms[i]->inherits) break;
    }
    return SU_OK;
}

/* ---- meshes ---- */

static bool is_mesh(const su_abc_node *node)
{
    return su_abc_is_schema(node->metadata, "AbcGeom_PolyMesh_v1") ||
           su_abc_is_schema(node->metadata, "AbcGeom_SubD_v1");
}

static su_status no_mesh(const su_alembic *file, const su_abc_node *node, su_error *err, const char *what)
{
    return su_fail(err, SU_INPUT, "%s: mesh %s: %s", su_ogawa_path(file->tree.file), node->name, what);
}

static su_status open_array(const su_alembic *file, const su_abc_node *node, const su_abc_entry *entry,
                            su_abc_type type, int extent, su_abc_samples *out, su_error *err)
{
    if (!entry || entry->kind == SU_ABC_COMPOUND || entry->kind == SU_ABC_SCALAR || entry->type != type ||
        entry->extent != extent || entry->samples < 1)
        return no_mesh(file, node, err, "P, .faceCounts, .faceIndices or uv is missing or of another type");
    return su_abc_samples_open(&file->tree, entry, out, err);
}

static void param_close(su_alembic_param *p)
{
    su_abc_samples_close(&p->values);
    su_abc_samples_close(&p->indices);
    *p = (su_alembic_param){0};
}

static bool is_scope(const su_abc_entry *entry, char *scope)
{
    char text[8] = "";
    *scope = 0;
    if (!su_abc_metadata_value(entry->metadata, "geoScope", text, sizeof text)) return false;
    if (strcmp(text, "fvr") == 0) *scope = 'f';
    if (strcmp(text, "vtx") == 0 || strcmp(text, "var") == 0) *scope = 'v';
    if (strcmp(text, "con") == 0) *scope = 'c';
    return *scope != 0;
}

/* Numbers of single precision, `least` to `most` of them a value; scope 0 where the parameter is of another layout. */
static su_status open_param(const su_alembic *file, const su_abc_node *node, const su_abc_entry *entry,
                            const su_alembic_mesh *m, int least, int most, su_alembic_param *p, su_error *err)
{
    int count = 0;
    char scope;
    su_abc_entry *inner = NULL;
    const su_abc_entry *values = entry, *indices = NULL;
    su_status status = SU_OK;
    if (!is_scope(entry, &scope)) return SU_OK;
    if (entry->kind == SU_ABC_COMPOUND) {
        SU_TRY(su_abc_entries(&file->tree, entry->group, &count, &inner, err));
        values = su_abc_find(count, inner, ".vals"), indices = su_abc_find(count, inner, ".indices");
    }
    if (!values || values->kind == SU_ABC_COMPOUND || (values->kind == SU_ABC_SCALAR && scope != 'c') ||
        values->samples == 0 || values->type != SU_ABC_F32 || values->extent < least || values->extent > most)
        goto done;
    SU_GO(su_abc_samples_open(&file->tree, values, &p->values, err));
    int64_t places = su_alembic_places(m, scope), elements;
    if (indices && indices->kind >= SU_ABC_ARRAY && indices->samples > 0) {
        SU_GO(open_array(file, node, indices, SU_ABC_U32, 1, &p->indices, err));
        SU_GO(su_abc_samples_count(&file->tree, &p->indices, 0, &elements, err));
        if (elements != places) {
            status = no_mesh(file, node, err, "the number of indices of UVs or colours does not fit the mesh");
            goto done;
        }
        p->indexed = true;
    }
    SU_GO(su_abc_samples_count(&file->tree, &p->values, 0, &elements, err));
    if ((!p->indexed && elements != places) || elements > INT32_MAX) {
        status = no_mesh(file, node, err, "the number of UVs or colours does not fit the mesh");
        goto done;
    }
    p->count = elements;
    p->scope = scope;
done:
    su_abc_entries_free(count, inner);
    return status;
}

/* Is the parameter one of colours? As AbcGeom types them, or by the name that Houdini and others use. */
static bool is_color(const su_abc_entry *entry)
{
    char text[16] = "";
    (void)su_abc_metadata_value(entry->metadata, "interpretation", text, sizeof text);
    return strcmp(text, "rgb") == 0 || strcmp(text, "rgba") == 0 || strcmp(entry->name, "Cd") == 0;
}

/* Texture coordinates, as AbcGeom marks further sets. */
static bool is_uv_set(const su_abc_entry *entry)
{
    char text[16] = "";
    (void)su_abc_metadata_value(entry->metadata, "isUV", text, sizeof text);
    return strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
}

/* Does a name without a type mean texture coordinates? */
static bool is_uv_name(const char *name)
{
    static const char *const names[] = {"uv", "st", "UV", "ST", "map1", "UVMap", "uvSet", "texCoords"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* Arbitrary parameters: the first that are colours (Cd before others), and UVs where the mesh has none of its own. */
static su_status open_arbitrary(const su_alembic *file, const su_abc_node *node, const su_abc_entry *compound,
                                su_alembic_source *mesh, su_error *err)
{
    int count = 0;
    su_abc_entry *list = NULL;
    su_status status = SU_OK;
    if (!compound || compound->kind != SU_ABC_COMPOUND) return SU_OK;
    SU_TRY(su_abc_entries(&file->tree, compound->group, &count, &list, err));
    const su_abc_entry *first = su_abc_find(count, list, "Cd");
    for (int i = -1; i < count; i++) {
        const su_abc_entry *entry = i < 0 ? first : &list[i];
        bool taken = false;
        if (!entry || (i >= 0 && entry == first && mesh->color.scope)) continue; /* colours, at i = -1 */
        if (!mesh->color.scope && is_color(entry)) {
            param_close(&mesh->color);
            SU_GO(open_param(file, node, entry, &mesh->mesh, 3, 4, &mesh->color, err));
            taken = mesh->color.scope != 0;
        } else if (i >= 0 && !mesh->uv.scope && is_uv_name(entry->name)) {
            param_close(&mesh->uv);
            SU_GO(open_param(file, node, entry, &mesh->mesh, 2, 2, &mesh->uv, err));
            taken = mesh->uv.scope != 0;
        }
        if (!taken && i >= 0)
            su_name_list_add(is_color(entry) || is_uv_set(entry) || is_uv_name(entry->name) ? &mesh->mesh.unread
                                                                                            : &mesh->mesh.other,
                             entry->name);
    }
done:
    su_abc_entries_free(count, list);
    return status;
}

static su_status read_mesh(su_alembic *file, const su_abc_node *node, su_alembic_source *mesh, su_error *err)
{
    int count;
    su_abc_entry *entries;
    SU_TRY(su_abc_schema_entries(&file->tree, node, ".geom", &count, &entries, err));
    su_status status;
    su_alembic_mesh *m = &mesh->mesh;
    SU_GO(open_array(file, node, su_abc_find(count, entries, "P"), SU_ABC_F32, 3, &mesh->p, err));
    SU_GO(open_array(file, node, su_abc_find(count, entries, ".faceCounts"), SU_ABC_I32, 1, &mesh->face_counts, err));
    SU_GO(open_array(file, node, su_abc_find(count, entries, ".faceIndices"), SU_ABC_I32, 1, &mesh->face_indices, err));
    SU_GO(su_abc_samples_count(&file->tree, &mesh->p, 0, &m->points, err));
    SU_GO(su_abc_samples_count(&file->tree, &mesh->face_counts, 0, &m->faces, err));
    SU_GO(su_abc_samples_count(&file->tree, &mesh->face_indices, 0, &m->corners, err));
    m->samples = mesh->p.samples;
    m->constant_topology = mesh->face_counts.first == 0 && mesh->face_indices.first == 0;
    if (m->points > INT32_MAX || m->faces > INT32_MAX || m->corners > INT32_MAX) {
        status = no_mesh(file, node, err, "too large");
        goto done;
    }
    const su_abc_entry *uv = su_abc_find(count, entries, "uv");
    if (uv) SU_GO(open_param(file, node, uv, m, 2, 2, &mesh->uv, err));
    SU_GO(open_arbitrary(file, node, su_abc_find(count, entries, ".arbGeomParams"), mesh, err));
    m->uvs = mesh->uv.scope && mesh->uv.scope != 'c' ? mesh->uv.count : 0;
    m->colored = mesh->color.scope != 0;
    m->subdivision = su_abc_is_schema(node->metadata, "AbcGeom_SubD_v1");
done:
    su_abc_entries_free(count, entries);
    return status;
}

/* ---- visibility ---- */

static su_status read_visibility(const su_abc_tree *tree, const su_abc_node *node, visibility *out, su_error *err)
{
    enum { NO = 0, INHERITED = -1 };
    int count;
    su_abc_entry *entries;
    su_abc_samples samples = {0};
    *out = DEFERRED;
    SU_TRY(su_abc_entries(tree, node->properties, &count, &entries, err));
    const su_abc_entry *entry = su_abc_find(count, entries, "visible");
    su_status status = SU_OK;
    if (!entry || entry->kind != SU_ABC_SCALAR || entry->type != SU_ABC_I8 || entry->extent != 1 || entry->samples < 1)
        goto done;
    SU_GO(su_abc_samples_open(tree, entry, &samples, err));
    int64_t stored = samples.first == 0 ? 1 : samples.last - samples.first + 2, hidden = 0, inherited = 0;
    for (int64_t i = 0; i < stored; i++) {
        int64_t elements;
        int8_t value;
        int64_t at = i == 0 ? 0 : samples.first + i - 1;
        SU_GO(su_abc_samples_count(tree, &samples, at, &elements, err));
        SU_GO(su_abc_samples_read(tree, &samples, at, 1, &value, err));
        hidden += value == NO, inherited += value == INHERITED;
    }
    *out = hidden == stored ? HIDDEN : hidden > 0 ? CHANGING : inherited == stored ? DEFERRED : SHOWN;
done:
    su_abc_samples_close(&samples);
    su_abc_entries_free(count, entries);
    return status;
}

static su_status look_up_visibility(const su_alembic *file, const su_abc_node *node, su_alembic_mesh *mesh,
                                    su_error *err)
{
    visibility seen = DEFERRED;
    for (const su_abc_node *p = node; p && p->parent && seen == DEFERRED; p = p->parent)
        SU_TRY(read_visibility(&file->tree, p, &seen, err));
    mesh->hidden = seen == HIDDEN, mesh->sometimes_hidden = seen == CHANGING;
    return SU_OK;
}

/* "/group/object/mesh" */
static su_status name_mesh(const su_abc_node *node, su_alembic_source *mesh, su_error *err)
{
    size_t room = 1;
    for (const su_abc_node *p = node; p->parent; p = p->parent) room += strlen(p->name) + 1;
    SU_TRY(SU_ALLOC(&mesh->path, room, "a path", err));
    char *end = mesh->path + room - 1;
    for (const su_abc_node *p = node; p->parent; p = p->parent) {
        size_t length = strlen(p->name);
        memcpy(end -= length, p->name, length);
        *--end = '/';
    }
    mesh->mesh.path = mesh->path;
    return SU_OK;
}

/* The face sets under all meshes. */
static su_status find_face_sets(su_alembic *file, su_error *err)
{
    int32_t *mesh_of = NULL; /* (nodes) mesh, plus 1 */
    su_status status;
    SU_GO(SU_ALLOC(&mesh_of, file->tree.node_count, "face sets", err));
    for (int i = 1, count = 0; i < file->tree.node_count; i++)
        if (is_mesh(file->tree.nodes[i])) mesh_of[i] = ++count;
    for (int i = 1; i < file->tree.node_count; i++) {
        const su_abc_node *node = file->tree.nodes[i];
        int32_t above = mesh_of[node->parent->index];
        if (above == 0 || !su_abc_is_schema(node->metadata, "AbcGeom_FaceSet_v1")) continue;
        su_alembic_source *mesh = &file->meshes[above - 1];
        const su_abc_node **grown = realloc(mesh->face_sets, (size_t)(mesh->mesh.face_sets + 1) * sizeof *grown);
        if (!grown) {
            status = su_fail(err, SU_AGAIN, "out of memory for face sets");
            goto done;
        }
        mesh->face_sets = grown;
        grown[mesh->mesh.face_sets++] = node;
    }
done:
    free(mesh_of);
    return status;
}

/* Transforms from the mesh upwards, and a name. below: meshes directly under each node. */
static su_status place_mesh(su_alembic *file, const su_abc_node *node, const int *below, su_alembic_source *mesh,
                            su_error *err)
{
    int depth = 0;
    for (const su_abc_node *p = node->parent; p; p = p->parent) depth++;
    SU_TRY(SU_ALLOC(&mesh->xforms, depth, "transforms", err));
    for (const su_abc_node *p = node->parent; p; p = p->parent)
        if (file->node_xforms[p->index]) mesh->xforms[mesh->xform_count++] = file->node_xforms[p->index];
    const su_abc_node *parent = node->parent;
    mesh->mesh.name = parent && parent->parent && below[parent->index] == 1 ? parent->name : node->name;
    return SU_OK;
}

static void mesh_close(su_alembic_source *mesh)
{
    su_abc_samples_close(&mesh->p);
    su_abc_samples_close(&mesh->face_counts);
    su_abc_samples_close(&mesh->face_indices);
    param_close(&mesh->uv);
    param_close(&mesh->color);
    free(mesh->xforms), free(mesh->face_sets), free(mesh->path);
}

su_status su_alembic_open(const char *path, su_alembic **out, su_error *err)
{
    static const char *const others[] = {"AbcGeom_Curve_v2", "AbcGeom_Points_v1", "AbcGeom_NuPatch_v2"};
    su_alembic *file = NULL;
    int *below = NULL;
    SU_TRY(SU_ALLOC(&file, 1, "an Alembic cache", err));
    su_status status;
    SU_GO(su_abc_tree_open(path, &file->tree, err));
    int nodes = file->tree.node_count, meshes = 0;
    SU_GO(SU_ALLOC(&file->node_xforms, nodes, "transforms", err));
    SU_GO(SU_ALLOC(&below, nodes, "transforms", err));
    for (int i = 1; i < nodes; i++) {
        if (su_abc_is_schema(file->tree.nodes[i]->metadata, "AbcGeom_Xform_v3"))
            SU_GO(su_abc_xform_open(&file->tree, file->tree.nodes[i], &file->node_xforms[i], err));
        if (is_mesh(file->tree.nodes[i])) meshes++, below[file->tree.nodes[i]->parent->index]++;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            file->other_count += su_abc_is_schema(file->tree.nodes[i]->metadata, others[k]);
    }
    if (meshes == 0) {
        status = su_fail(err, SU_INPUT, "%s: holds no polygon mesh", path);
        goto done;
    }
    SU_GO(SU_ALLOC(&file->meshes, meshes, "meshes", err));
    for (int i = 1; i < nodes; i++) {
        if (!is_mesh(file->tree.nodes[i])) continue;
        su_alembic_source *mesh = &file->meshes[file->mesh_count++];
        SU_GO(read_mesh(file, file->tree.nodes[i], mesh, err));
        SU_GO(place_mesh(file, file->tree.nodes[i], below, mesh, err));
        SU_GO(name_mesh(file->tree.nodes[i], mesh, err));
        SU_GO(look_up_visibility(file, file->tree.nodes[i], &mesh->mesh, err));
    }
    SU_GO(find_face_sets(file, err));
    *out = file;
    file = NULL;
done:
    free(below);
    su_alembic_close(file);
    return status;
}

void su_alembic_close(su_alembic *file)
{
    if (!file) return;
    for (int i = 0; i < file->mesh_count; i++) mesh_close(&file->meshes[i]);
    for (int i = 0; i < file->tree.node_count && file->node_xforms; i++) su_abc_xform_free(file->node_xforms[i]);
    free(file->meshes);
    free(file->node_xforms);
    su_abc_tree_close(&file->tree);
    free(file);
}

const char *su_alembic_path(const su_alembic *file) { return su_ogawa_path(file->tree.file); }
int su_alembic_mesh_count(const su_alembic *file) { return file->mesh_count; }

const su_alembic_mesh *su_alembic_mesh_at(const su_alembic *file, int mesh) { return &file->meshes[mesh].mesh; }

double su_alembic_time(const su_alembic *file, int mesh, int64_t sample)
{
    return su_abc_time_of(&file->tree.times[file->meshes[mesh].p.time_sampling], sample);
}

int su_alembic_others(const su_alembic *file) { return file->other_count; }

/* Samplings of a mesh and of the transforms above it, k counted from the mesh; samples 0: no more of them. */
static const su_abc_time *sampling_of(const su_alembic *file, const su_alembic_source *mesh, int k, int64_t *samples)
{
    *samples = 0;
    if (k > mesh->xform_count || (k > 1 && !mesh->xforms[k - 2]->inherits)) return NULL;
    const su_abc_samples *values = k == 0 ? &mesh->p : &mesh->xforms[k - 1]->values;
    *samples = k == 0 ? values->samples : mesh->xforms[k - 1]->samples;
    if (*samples < 1) *samples = 1; /* identity */
    return &file->tree.times[values->time_sampling];
}

su_status su_alembic_times(const su_alembic *file, int index, int64_t *count, double **times, su_error *err)
{
    const su_alembic_source *mesh = &file->meshes[index];
    int64_t samples, total = 0;
    *count = 0, *times = NULL;
    for (int k = 0; sampling_of(file, mesh, k, &samples); k++) {
        const su_abc_time *sampling = sampling_of(file, mesh, k, &samples);
        if (samples > MOST_SAMPLES || (sampling->cycle >= SU_ABC_ACYCLIC && samples > 1 && samples > sampling->count))
            return su_fail(err, SU_INPUT, "%s: mesh %s: %lld samples and %u times", su_ogawa_path(file->tree.file),
                           mesh->mesh.name, (long long)samples, sampling->count);
        if (samples > 1) total += samples;
    }
    if (total == 0) return SU_OK;
    SU_TRY(SU_ALLOC(times, total, "times", err));
    for (int k = 0; sampling_of(file, mesh, k, &samples); k++) {
        const su_abc_time *sampling = sampling_of(file, mesh, k, &samples);
        for (int64_t i = 0; i < samples && samples > 1; i++) (*times)[(*count)++] = su_abc_time_of(sampling, i);
    }
    return SU_OK;
}

/* The median distance of stored times; 0: there is one. */
static double median_gap(const su_abc_time *sampling, int64_t samples)
{
    int64_t count = samples < sampling->count ? samples : sampling->count;
    double *gaps = count > 1 ? malloc((size_t)(count - 1) * sizeof *gaps) : NULL, gap = 0.0;
    if (!gaps) return 0.0;
    for (int64_t i = 0; i + 1 < count; i++) gaps[i] = sampling->times[i + 1] - sampling->times[i];
    su_sort(gaps, (size_t)count - 1, sizeof *gaps, su_order_doubles);
    gap = gaps[(count - 1) / 2];
    free(gaps);
    return gap;
}

double su_alembic_rate(const su_alembic *file, int index)
{
    double rate = 0.0;
    int64_t samples;
    for (int k = 0; sampling_of(file, &file->meshes[index], k, &samples) && rate == 0.0; k++) {
        const su_abc_time *sampling = sampling_of(file, &file->meshes[index], k, &samples);
        if (samples < 2) continue;
        if (sampling->cycle < SU_ABC_ACYCLIC) {
            rate = 1.0 / sampling->cycle;
            if (rate < LEAST_RATE) rate *= sampling->count;
        } else {
            double gap = median_gap(sampling, samples);
            rate = gap > 0.0 ? 1.0 / gap : 0.0;
        }
    }
    return rate;
}

bool su_alembic_metadata(const su_alembic *file, const char *key, char *text, int size)
{
    return su_abc_metadata_value(file->tree.metadata, key, text, (size_t)size);
}
