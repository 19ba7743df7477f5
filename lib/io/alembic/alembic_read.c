/* Mesh caches out of Alembic archives: every PolyMesh with the transforms above it. */
#include "io/alembic/alembic.h"

#include "core/memory.h"
#include "io/alembic/abc_archive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct xform {
    int64_t samples;
    int op_count;
    uint8_t *ops;
    bool inherits;
    su_abc_samples values; /* scalar of all channels, or array of single ones; no refs: identity */
    int channels;
} xform;

typedef struct mesh_in {
    su_alembic_mesh mesh;
    su_abc_samples p, face_counts, face_indices, uv, uv_indices;
    char uv_scope; /* 'f' a value per corner, 'v' per point */
    bool uv_indexed;
    int xform_count;
    xform **xforms; /* from the mesh up to the root; owned by the file */
} mesh_in;

struct su_alembic {
    su_abc_tree tree;
    xform **node_xforms; /* (nodes) NULL where a node is no transform */
    int mesh_count;
    mesh_in *meshes;
};

static bool is_schema(const char *metadata, const char *wanted)
{
    char title[128] = "";
    return su_abc_metadata_value(metadata, "schemaObjTitle", title, sizeof title)
               ? strncmp(title, wanted, strlen(wanted)) == 0
               : su_abc_metadata_value(metadata, "schema", title, sizeof title) && strcmp(title, wanted) == 0;
}

/* Members of the one compound of a schema object. */
static su_status schema_entries(const su_abc_tree *tree, const su_abc_node *node, const char *compound, int *count,
                                su_abc_entry **entries, su_error *err)
{
    int outer_count;
    su_abc_entry *outer;
    *count = 0, *entries = NULL;
    SU_TRY(su_abc_entries(tree, node->properties, &outer_count, &outer, err));
    const su_abc_entry *entry = su_abc_find(outer_count, outer, compound);
    su_status status = SU_OK;
    if (entry && entry->kind == SU_ABC_COMPOUND) status = su_abc_entries(tree, entry->group, count, entries, err);
    su_abc_entries_free(outer_count, outer);
    return status;
}

/* ---- transforms ---- */

static const int op_channels[7] = {3, 3, 4, 16, 1, 1, 1}; /* scale, translate, rotate, matrix, x, y, z */

static void xform_free(xform *x)
{
    if (!x) return;
    free(x->ops);
    su_abc_samples_close(&x->values);
    free(x);
}

static su_status read_ops(const su_abc_tree *tree, const su_abc_node *node, const su_abc_entry *entry, xform *x,
                          su_error *err)
{
    su_abc_samples ops;
    int64_t elements;
    SU_TRY(su_abc_samples_open(tree, entry, &ops, err));
    su_status status;
    SU_GO(su_abc_samples_count(tree, &ops, 0, &elements, err));
    int64_t bytes = elements * ops.extent;
    if (ops.type != SU_ABC_U8 || bytes > 4096) {
        status =
            su_fail(err, SU_INPUT, "%s: transform %s has no valid operations", su_ogawa_path(tree->file), node->name);
        goto done;
    }
    SU_GO(SU_ALLOC(&x->ops, bytes, "operations", err));
    SU_GO(su_abc_samples_read(tree, &ops, 0, elements, x->ops, err));
    x->op_count = (int)bytes;
    for (int i = 0; i < x->op_count; i++) {
        int type = x->ops[i] >> 4;
        if (type > 6) {
            status = su_fail(err, SU_INPUT, "%s: transform %s has an unknown operation %d", su_ogawa_path(tree->file),
                             node->name, type);
            goto done;
        }
        x->channels += op_channels[type];
    }
done:
    su_abc_samples_close(&ops);
    return status;
}

static su_status read_xform(const su_abc_tree *tree, const su_abc_node *node, xform **out, su_error *err)
{
    int count;
    su_abc_entry *entries;
    xform *x = NULL;
    su_abc_samples inherits = {0};
    SU_TRY(schema_entries(tree, node, ".xform", &count, &entries, err));
    su_status status;
    SU_GO(SU_ALLOC(&x, 1, "a transform", err));
    x->inherits = true;
    const su_abc_entry *ops = su_abc_find(count, entries, ".ops"), *values = su_abc_find(count, entries, ".vals"),
                       *inherit = su_abc_find(count, entries, ".inherits");
    if (inherit && inherit->samples > 0) {
        int64_t elements;
        uint8_t flag = 1;
        SU_GO(su_abc_samples_open(tree, inherit, &inherits, err));
        SU_GO(su_abc_samples_count(tree, &inherits, 0, &elements, err));
        if (elements == 1 && inherits.extent == 1 && inherits.type == SU_ABC_BOOL)
            SU_GO(su_abc_samples_read(tree, &inherits, 0, 1, &flag, err));
        x->inherits = flag != 0;
    }
    if (ops && values && ops->samples > 0 && values->samples > 0) {
        SU_GO(read_ops(tree, node, ops, x, err));
        SU_GO(su_abc_samples_open(tree, values, &x->values, err));
        int64_t elements;
        SU_GO(su_abc_samples_count(tree, &x->values, 0, &elements, err));
        if (x->values.type != SU_ABC_F64 || elements * x->values.extent != x->channels) {
            status = su_fail(err, SU_INPUT, "%s: transform %s: operations and values disagree",
                             su_ogawa_path(tree->file), node->name);
            goto done;
        }
        x->samples = x->values.samples;
    }
    *out = x;
    x = NULL;
done:
    xform_free(x);
    su_abc_samples_close(&inherits);
    su_abc_entries_free(count, entries);
    return status;
}

/* out = a b, 4x4 row-major */
static void multiply(const double a[16], const double b[16], double out[16])
{
    double c[16];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            c[4 * i + j] = 0.0;
            for (int k = 0; k < 4; k++) c[4 * i + j] += a[4 * i + k] * b[4 * k + j];
        }
    memcpy(out, c, sizeof c);
}

static void set_identity(double m[16])
{
    for (int i = 0; i < 16; i++) m[i] = i % 5 == 0;
}

/* Column-vector matrix of one operation. */
static void operation(int type, const double *v, double m[16])
{
    set_identity(m);
    if (type == 0) {
        for (int i = 0; i < 3; i++) m[5 * i] = v[i];
    } else if (type == 1) {
        for (int i = 0; i < 3; i++) m[4 * i + 3] = v[i];
    } else if (type == 3) {
        for (int i = 0; i < 16; i++) m[i] = v[4 * (i % 4) + i / 4];
    } else {
        double axis[3] = {type == 4, type == 5, type == 6}, degrees = type == 2 ? v[3] : v[0];
        if (type == 2) memcpy(axis, v, sizeof axis);
        double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
        if (length == 0.0) return;
        double x = axis[0] / length, y = axis[1] / length, z = axis[2] / length;
        double a = degrees * (M_PI / 180.0), c = cos(a), s = sin(a), t = 1.0 - c;
        const double r[9] = {t * x * x + c,     t * x * y - s * z, t * x * z + s * y, t * x * y + s * z, t * y * y + c,
                             t * y * z - s * x, t * x * z - s * y, t * y * z + s * x, t * z * z + c};
        for (int i = 0; i < 9; i++) m[4 * (i / 3) + i % 3] = r[i];
    }
}

/* Local matrix at a time: channels are linear between the samples around it. */
static su_status xform_at(const su_abc_tree *tree, const xform *x, double time, double m[16], su_error *err)
{
    set_identity(m);
    if (!x->op_count) return SU_OK;
    const su_abc_time *sampling = &tree->times[x->values.time_sampling];
    int64_t low = 0, high = x->samples - 1;
    while (low < high) { /* last sample not after time */
        int64_t middle = low + (high - low + 1) / 2;
        if (su_abc_time_of(sampling, middle) <= time + 1e-9)
            low = middle;
        else
            high = middle - 1;
    }
    double *values = NULL, fraction = 0.0;
    SU_TRY(SU_ALLOC(&values, 2 * x->channels, "a transform", err));
    su_status status;
    int64_t next = low + 1 < x->samples ? low + 1 : low, elements = x->channels / x->values.extent;
    if (next > low) {
        double a = su_abc_time_of(sampling, low), b = su_abc_time_of(sampling, next);
        if (b > a && time > a) fraction = (time - a) / (b - a);
        if (fraction < 1e-6) fraction = 0.0; /* rounding of a shared sampling */
    }
    int64_t count;
    for (int k = 0; k < 2; k++) {
        SU_GO(su_abc_samples_count(tree, &x->values, k ? next : low, &count, err));
        if (count != elements) {
            status = su_fail(err, SU_INPUT, "%s: damaged: a transform whose values change in number",
                             su_ogawa_path(tree->file));
            goto done;
        }
        SU_GO(su_abc_samples_read(tree, &x->values, k ? next : low, elements, values + k * x->channels, err));
    }
    for (int i = 0; i < x->channels; i++) {
        if (!isfinite(values[i]) || !isfinite(values[x->channels + i])) {
            status =
                su_fail(err, SU_INPUT, "%s: a transform holds a number that is not finite", su_ogawa_path(tree->file));
            goto done;
        }
        values[i] += fraction * (values[x->channels + i] - values[i]);
    }
    const double *v = values;
    for (int i = 0; i < x->op_count; v += op_channels[x->ops[i] >> 4], i++) {
        double one[16];
        operation(x->ops[i] >> 4, v, one);
        multiply(m, one, m); /* the operation written first is applied to the point last */
    }
done:
    free(values);
    return status;
}

su_status su_alembic_xform(const su_alembic *file, int index, double time, double m[16], su_error *err)
{
    const mesh_in *mesh = &file->meshes[index];
    set_identity(m);
    for (int i = 0; i < mesh->xform_count; i++) {
        double local[16];
        SU_TRY(xform_at(&file->tree, mesh->xforms[i], time, local, err));
        multiply(local, m, m);
        if (!mesh->xforms[i]->inherits) break;
    }
    return SU_OK;
}

/* ---- meshes ---- */

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

/* UVs where they are there and of a known layout; others are left out. */
static su_status open_uv(su_alembic *file, const su_abc_node *node, const su_abc_entry *entry, mesh_in *mesh,
                         su_error *err)
{
    char scope[8] = "";
    if (!entry || !su_abc_metadata_value(entry->metadata, "geoScope", scope, sizeof scope)) return SU_OK;
    bool corner = strcmp(scope, "fvr") == 0, point = strcmp(scope, "vtx") == 0 || strcmp(scope, "var") == 0;
    int count = 0;
    su_abc_entry *inner = NULL;
    const su_abc_entry *values = entry, *indices = NULL;
    su_status status = SU_OK;
    if (!corner && !point) return SU_OK;
    if (entry->kind == SU_ABC_COMPOUND) {
        SU_TRY(su_abc_entries(&file->tree, entry->group, &count, &inner, err));
        values = su_abc_find(count, inner, ".vals"), indices = su_abc_find(count, inner, ".indices");
    }
    if (!values || values->kind < SU_ABC_ARRAY || values->samples == 0 || values->type != SU_ABC_F32 ||
        values->extent != 2)
        goto done;
    SU_GO(su_abc_samples_open(&file->tree, values, &mesh->uv, err));
    int64_t places = corner ? mesh->mesh.corners : mesh->mesh.points, elements;
    if (indices && indices->kind >= SU_ABC_ARRAY && indices->samples > 0) {
        SU_GO(open_array(file, node, indices, SU_ABC_U32, 1, &mesh->uv_indices, err));
        SU_GO(su_abc_samples_count(&file->tree, &mesh->uv_indices, 0, &elements, err));
        if (elements != places) {
            status = no_mesh(file, node, err, "the number of UV indices does not fit the mesh");
            goto done;
        }
        mesh->uv_indexed = true;
    }
    SU_GO(su_abc_samples_count(&file->tree, &mesh->uv, 0, &elements, err));
    if ((!mesh->uv_indexed && elements != places) || elements > INT32_MAX) {
        status = no_mesh(file, node, err, "the number of UVs does not fit the mesh");
        goto done;
    }
    mesh->mesh.uvs = elements;
    mesh->uv_scope = corner ? 'f' : 'v';
done:
    su_abc_entries_free(count, inner);
    return status;
}

static su_status read_mesh(su_alembic *file, const su_abc_node *node, mesh_in *mesh, su_error *err)
{
    int count;
    su_abc_entry *entries;
    SU_TRY(schema_entries(&file->tree, node, ".geom", &count, &entries, err));
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
    SU_GO(open_uv(file, node, su_abc_find(count, entries, "uv"), mesh, err));
done:
    su_abc_entries_free(count, entries);
    return status;
}

/* Transforms from the mesh upwards, and a name. below: meshes directly under each node. */
static su_status place_mesh(su_alembic *file, const su_abc_node *node, const int *below, mesh_in *mesh, su_error *err)
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

static void mesh_close(mesh_in *mesh)
{
    su_abc_samples_close(&mesh->p);
    su_abc_samples_close(&mesh->face_counts);
    su_abc_samples_close(&mesh->face_indices);
    su_abc_samples_close(&mesh->uv);
    su_abc_samples_close(&mesh->uv_indices);
    free(mesh->xforms);
}

su_status su_alembic_open(const char *path, su_alembic **out, su_error *err)
{
    su_alembic *file = NULL;
    int *below = NULL;
    SU_TRY(SU_ALLOC(&file, 1, "an Alembic cache", err));
    su_status status;
    SU_GO(su_abc_tree_open(path, &file->tree, err));
    int nodes = file->tree.node_count, meshes = 0;
    SU_GO(SU_ALLOC(&file->node_xforms, nodes, "transforms", err));
    SU_GO(SU_ALLOC(&below, nodes, "transforms", err));
    for (int i = 1; i < nodes; i++) {
        if (is_schema(file->tree.nodes[i]->metadata, "AbcGeom_Xform_v3"))
            SU_GO(read_xform(&file->tree, file->tree.nodes[i], &file->node_xforms[i], err));
        if (is_schema(file->tree.nodes[i]->metadata, "AbcGeom_PolyMesh_v1"))
            meshes++, below[file->tree.nodes[i]->parent->index]++;
    }
    if (meshes == 0) {
        status = su_fail(err, SU_INPUT, "%s: holds no polygon mesh", path);
        goto done;
    }
    SU_GO(SU_ALLOC(&file->meshes, meshes, "meshes", err));
    for (int i = 1; i < nodes; i++) {
        if (!is_schema(file->tree.nodes[i]->metadata, "AbcGeom_PolyMesh_v1")) continue;
        mesh_in *mesh = &file->meshes[file->mesh_count++];
        SU_GO(read_mesh(file, file->tree.nodes[i], mesh, err));
        SU_GO(place_mesh(file, file->tree.nodes[i], below, mesh, err));
    }
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
    for (int i = 0; i < file->tree.node_count && file->node_xforms; i++) xform_free(file->node_xforms[i]);
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

bool su_alembic_metadata(const su_alembic *file, const char *key, char *text, int size)
{
    return su_abc_metadata_value(file->tree.metadata, key, text, (size_t)size);
}

/* ---- contents ---- */

su_status su_alembic_topology(const su_alembic *file, int index, int32_t *face_counts, int32_t *face_indices,
                              su_error *err)
{
    const mesh_in *mesh = &file->meshes[index];
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
    const mesh_in *mesh = &file->meshes[index];
    const su_alembic_mesh *m = &mesh->mesh;
    int32_t *counts = NULL, *points = NULL, *stored = NULL;
    int64_t places = mesh->uv_scope == 'f' ? m->corners : m->points;
    su_status status;
    SU_GO(SU_ALLOC(&counts, m->faces, "faces", err));
    SU_GO(SU_ALLOC(&points, m->corners, "faces", err));
    SU_GO(SU_ALLOC(&stored, places, "UV indices", err));
    SU_GO(su_alembic_topology(file, index, counts, points, err));
    SU_GO(su_abc_samples_read(&file->tree, &mesh->uv, 0, m->uvs, uv, err));
    if (mesh->uv_indexed)
        SU_GO(su_abc_samples_read(&file->tree, &mesh->uv_indices, 0, places, stored, err));
    else
        for (int64_t i = 0; i < places; i++) stored[i] = (int32_t)i;
    for (int64_t i = 0; i < places; i++)
        if (stored[i] < 0 || stored[i] >= m->uvs) {
            status = su_fail(err, SU_INPUT, "%s: mesh %s: a UV index is out of range", su_ogawa_path(file->tree.file),
                             m->name);
            goto done;
        }
    for (int64_t f = 0, at = 0; f < m->faces; at += counts[f], f++)
        for (int32_t k = 0; k < counts[f]; k++)
            uv_indices[at + k] = stored[mesh->uv_scope == 'f' ? at + counts[f] - 1 - k : points[at + k]];
done:
    free(counts);
    free(points);
    free(stored);
    return status;
}

su_status su_alembic_points(const su_alembic *file, int index, int64_t sample, float *points, su_error *err)
{
    const mesh_in *mesh = &file->meshes[index];
    int64_t count;
    SU_TRY(su_abc_samples_count(&file->tree, &mesh->p, sample, &count, err));
    if (count != mesh->mesh.points)
        return su_fail(err, SU_INPUT,
                       "%s: mesh %s: %lld points in sample %lld, %lld in the first: topology must not change",
                       su_ogawa_path(file->tree.file), mesh->mesh.name, (long long)count, (long long)sample,
                       (long long)mesh->mesh.points);
    return su_abc_samples_read(&file->tree, &mesh->p, sample, count, points, err);
}
