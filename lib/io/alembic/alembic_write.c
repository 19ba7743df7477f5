/* Mesh caches as Alembic's schemas want them: AbcGeom_Xform_v3 over AbcGeom_PolyMesh_v1 or AbcGeom_SubD_v1, and
 * AbcGeom_FaceSet_v1 below these. */
#include "io/alembic/alembic.h"

#include "core/memory.h"
#include "io/alembic/abc_archive.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XFORM_SCHEMA "schema=AbcGeom_Xform_v3"
#define XFORM_OBJECT XFORM_SCHEMA ";schemaObjTitle=AbcGeom_Xform_v3:.xform"
#define MESH_SCHEMA "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1"
#define MESH_OBJECT MESH_SCHEMA ";schemaObjTitle=AbcGeom_PolyMesh_v1:.geom"
#define SUBD_SCHEMA "schema=AbcGeom_SubD_v1;schemaBaseType=AbcGeom_GeomBase_v1"
#define SUBD_OBJECT SUBD_SCHEMA ";schemaObjTitle=AbcGeom_SubD_v1:.geom"
#define SET_SCHEMA "schema=AbcGeom_FaceSet_v1;schemaBaseType=AbcGeom_GeomBase_v1"
#define SET_OBJECT SET_SCHEMA ";schemaObjTitle=AbcGeom_FaceSet_v1:.faceset"
#define BOX "interpretation=box"
#define GEOM_PARAM(scope, meaning, extent)                                                                             \
    "arrayExtent=1;geoScope=" scope ";interpretation=" meaning ";isGeomParam=true;podExtent=" extent                   \
    ";podName=float32_t"

typedef struct xform_out {
    su_abc_object *object;
    su_abc_property *bounds; /* of what stands directly below it */
    double box[6];           /* of the frame being gathered */
    int64_t frames;
} xform_out;

typedef struct mesh_out {
    char *name;
    int64_t points, frames;
    double xform[16];    /* to the world, where it does not move */
    const double *world; /* (world_samples,4,4) */
    int64_t world_samples;
    int samples, parent; /* of a frame; transform that was added, -1: none */
    su_abc_property *bounds, *parent_bounds, *p, *face_indices, *face_counts, *velocities, *normals, *uv, *uv_indices,
        *color;
} mesh_out;

struct su_alembic_writer {
    su_abc_archive *archive;
    int time_sampling;
    su_abc_property *scene_bounds;
    int mesh_count, xform_count;
    mesh_out *meshes;
    xform_out *xforms;
    int64_t frame; /* of the scene box being gathered */
    double box[6]; /* min, max in world space */
};

static void empty_box(double box[6])
{
    for (int i = 0; i < 3; i++) box[i] = DBL_MAX, box[3 + i] = -DBL_MAX;
}

static void grow_box(double box[6], const double p[3])
{
    for (int i = 0; i < 3; i++) {
        if (p[i] < box[i]) box[i] = p[i];
        if (p[i] > box[3 + i]) box[3 + i] = p[i];
    }
}

su_status su_alembic_create(const char *path, int count, const double *times, double cycle, su_alembic_writer **out,
                            su_error *err)
{
    for (int i = 0; i < count; i++)
        if (count > SU_ABC_TIMES_MAX || (i > 0 && !(times[i] > times[i - 1])) || !(times[i] - times[0] < cycle))
            return su_fail(err, SU_USAGE, "%s: %d samples a frame do not increase within it", path, count);
    su_alembic_writer *writer = NULL;
    SU_TRY(SU_ALLOC(&writer, 1, "an Alembic cache", err));
    su_status status = su_abc_archive_create(path, &writer->archive, err);
    if (status != SU_OK) {
        su_alembic_abandon(writer);
        return status;
    }
    writer->time_sampling = su_abc_time_sampling(writer->archive, count, times, cycle);
    writer->scene_bounds = su_abc_add_property(writer->archive, NULL, ".childBnds", BOX, SU_ABC_SCALAR, SU_ABC_F64, 6,
                                               writer->time_sampling);
    empty_box(writer->box);
    *out = writer;
    return SU_OK;
}

/* ---- names ---- */

/* A name without what Alembic's paths forbid, and unlike those of the meshes before. */
static char *valid_name(const su_alembic_writer *writer, const char *wanted)
{
    size_t size = (wanted ? strlen(wanted) : 0) + 32;
    char *name = malloc(size);
    if (!name) return NULL;
    snprintf(name, size, "%s", wanted && *wanted ? wanted : "mesh");
    for (char *p = name; *p; p++)
        if (*p == '/' || (unsigned char)*p < 32) *p = '_';
    size_t length = strlen(name);
    for (int number = 1, i = 0; i < writer->mesh_count; i++) {
        if (!writer->meshes[i].name || strcmp(writer->meshes[i].name, name) != 0) continue;
        snprintf(name + length, size - length, "_%d", number++);
        i = -1; /* the new one may be taken as well */
    }
    return name;
}

/* ---- meshes ---- */

static su_status add_xform(su_alembic_writer *writer, su_abc_object *object, int64_t samples, const double *matrices,
                           int times, su_abc_property **bounds, su_error *err)
{
    su_abc_archive *archive = writer->archive;
    su_abc_property *xform = su_abc_add_compound(archive, su_abc_properties(object), ".xform", XFORM_SCHEMA);
    static const uint8_t one = 1, matrix = 0x30;
    bool identity = true;
    *bounds =
        su_abc_add_property(archive, xform, ".childBnds", BOX, SU_ABC_SCALAR, SU_ABC_F64, 6, writer->time_sampling);
    su_abc_property *inherits =
        su_abc_add_property(archive, xform, ".inherits", "", SU_ABC_SCALAR, SU_ABC_BOOL, 1, times);
    su_abc_property *ops = su_abc_add_property(archive, xform, ".ops", "", SU_ABC_SCALAR, SU_ABC_U8, 1, 0);
    su_abc_property *values = su_abc_add_property(archive, xform, ".vals", "", SU_ABC_SCALAR, SU_ABC_F64, 16, times);
    SU_TRY(su_abc_sample(archive, inherits, &one, 1, err));
    SU_TRY(su_abc_repeat(archive, inherits, samples - 1, err));
    SU_TRY(su_abc_sample(archive, ops, &matrix, 1, err));
    for (int64_t k = 0; k < samples; k++) {
        const double *m = matrices + 16 * k;
        double rows[16]; /* points are row vectors: p' = p M, translation in the last row */
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                rows[4 * i + j] = m[4 * j + i];
                if (m[4 * j + i] != (i == j)) identity = false;
            }
        SU_TRY(su_abc_sample(archive, values, rows, 1, err));
    }
    if (samples > 1) { /* the channels that move: any of the matrix */
        uint32_t channels[16];
        for (uint32_t i = 0; i < 16; i++) channels[i] = i;
        su_abc_property *moving =
            su_abc_add_property(archive, xform, ".animChans", "", SU_ABC_ARRAY, SU_ABC_U32, 1, times);
        SU_TRY(su_abc_sample(archive, moving, channels, 16, err));
    }
    if (identity) return SU_OK;
    su_abc_property *moves =
        su_abc_add_property(archive, xform, "isNotConstantIdentity", "", SU_ABC_SCALAR, SU_ABC_BOOL, 1, 0);
    return su_abc_sample(archive, moves, &one, 1, err);
}

su_status su_alembic_add_xform(su_alembic_writer *writer, const su_alembic_xform_in *in, int *index, su_error *err)
{
    su_abc_archive *archive = writer->archive;
    xform_out *grown = realloc(writer->xforms, (size_t)(writer->xform_count + 1) * sizeof *grown);
    if (!grown) return su_fail(err, SU_AGAIN, "out of memory for an Alembic cache");
    writer->xforms = grown;
    xform_out *x = &grown[writer->xform_count];
    *x = (xform_out){
        .object = su_abc_add_object(archive, in->parent < 0 ? NULL : grown[in->parent].object, in->name, XFORM_OBJECT)};
    empty_box(x->box);
    *index = writer->xform_count++;
    int times = in->samples > 1 ? su_abc_time_sampling(archive, 1, &in->start, in->step) : 0;
    return add_xform(writer, x->object, in->samples, in->xforms, times, &x->bounds, err);
}

/* Corners of every face in the opposite order. */
static void reverse_faces(int64_t faces, const int32_t *counts, const int32_t *in, int32_t *out)
{
    for (int64_t f = 0, at = 0; f < faces; at += counts[f], f++)
        for (int32_t k = 0; k < counts[f]; k++) out[at + k] = in[at + counts[f] - 1 - k];
}

static su_status add_topology(su_alembic_writer *writer, su_abc_property *geometry, const su_alembic_mesh_in *in,
                              mesh_out *mesh, su_error *err)
{
    su_abc_archive *archive = writer->archive;
    int time = writer->time_sampling;
    int32_t *reversed = NULL;
    SU_TRY(SU_ALLOC(&reversed, in->corners, "faces", err));
    su_status status;
    mesh->face_indices = su_abc_add_property(archive, geometry, ".faceIndices", "", SU_ABC_ARRAY, SU_ABC_I32, 1, time);
    mesh->face_counts = su_abc_add_property(archive, geometry, ".faceCounts", "", SU_ABC_ARRAY, SU_ABC_I32, 1, time);
    if (in->velocities)
        mesh->velocities = su_abc_add_property(archive, geometry, ".velocities", "interpretation=vector", SU_ABC_ARRAY,
                                               SU_ABC_F32, 3, time);
    reverse_faces(in->faces, in->face_counts, in->face_indices, reversed);
    SU_GO(su_abc_sample(archive, mesh->face_indices, reversed, in->corners, err));
    SU_GO(su_abc_sample(archive, mesh->face_counts, in->face_counts, in->faces, err));
    if (in->color) {
        static const char color_metadata[] = GEOM_PARAM("vtx", "rgba", "4");
        su_abc_property *arbitrary = su_abc_add_compound(archive, geometry, ".arbGeomParams", "");
        mesh->color = su_abc_add_property(archive, arbitrary, "Cd", color_metadata, SU_ABC_ARRAY, SU_ABC_F32, 4, time);
        SU_GO(su_abc_sample(archive, mesh->color, in->color, in->points, err));
    }
    if (in->uvs > 0) {
        static const char uv_metadata[] = GEOM_PARAM("fvr", "vector", "2");
        su_abc_property *uv = su_abc_add_compound(archive, geometry, "uv", uv_metadata);
        mesh->uv = su_abc_add_property(archive, uv, ".vals", uv_metadata, SU_ABC_ARRAY, SU_ABC_F32, 2, time);
        mesh->uv_indices = su_abc_add_property(archive, uv, ".indices", "", SU_ABC_ARRAY, SU_ABC_U32, 1, time);
        reverse_faces(in->faces, in->face_counts, in->uv_indices, reversed);
        SU_GO(su_abc_sample(archive, mesh->uv, in->uv, in->uvs, err));
        SU_GO(su_abc_sample(archive, mesh->uv_indices, reversed, in->corners, err));
    }
    if (in->normals)
        mesh->normals = su_abc_add_property(archive, geometry, "N", GEOM_PARAM("vtx", "normal", "3"), SU_ABC_ARRAY,
                                            SU_ABC_F32, 3, time);
done:
    free(reversed);
    return status;
}

/* Sets do not change. Their bounds are left empty, as they may be: they move with the mesh. */
static su_status add_sets(su_alembic_writer *writer, su_abc_object *mesh, const su_alembic_mesh_in *in, su_error *err)
{
    static const uint32_t exclusive = 1;
    double box[6];
    empty_box(box);
    for (int i = 0; i < in->sets; i++) {
        su_abc_archive *archive = writer->archive;
        su_abc_object *object = su_abc_add_object(archive, mesh, in->set[i].name, SET_OBJECT);
        su_abc_property *set = su_abc_add_compound(archive, su_abc_properties(object), ".faceset", SET_SCHEMA);
        su_abc_property *bounds = su_abc_add_property(archive, set, ".selfBnds", BOX, SU_ABC_SCALAR, SU_ABC_F64, 6, 0);
        su_abc_property *faces = su_abc_add_property(archive, set, ".faces", "", SU_ABC_ARRAY, SU_ABC_I32, 1, 0);
        SU_TRY(su_abc_sample(archive, bounds, box, 1, err));
        SU_TRY(su_abc_sample(archive, faces, in->set[i].faces, in->set[i].count, err));
        if (!in->set[i].exclusive) continue;
        su_abc_property *alone =
            su_abc_add_property(archive, set, ".facesExclusive", "", SU_ABC_SCALAR, SU_ABC_U32, 1, 0);
        SU_TRY(su_abc_sample(archive, alone, &exclusive, 1, err));
    }
    return SU_OK;
}

su_status su_alembic_add_mesh(su_alembic_writer *writer, const su_alembic_mesh_in *in, int *index, su_error *err)
{
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    su_abc_archive *archive = writer->archive;
    mesh_out *grown = realloc(writer->meshes, (size_t)(writer->mesh_count + 1) * sizeof *grown);
    if (!grown) return su_fail(err, SU_AGAIN, "out of memory for an Alembic cache");
    writer->meshes = grown;
    mesh_out *mesh = &grown[writer->mesh_count];
    *mesh = (mesh_out){.points = in->points,
                       .name = in->placed ? NULL : valid_name(writer, in->name),
                       .parent = in->placed ? in->parent : -1,
                       .world = in->placed ? in->world : NULL,
                       .world_samples = in->placed ? in->world_samples : 0,
                       .samples = in->samples > 0 ? in->samples : 1};
    memcpy(mesh->xform, in->xform && !in->placed ? in->xform : identity, sizeof mesh->xform);
    if (!in->placed && !mesh->name) return su_fail(err, SU_AGAIN, "out of memory for an Alembic cache");
    *index = writer->mesh_count++;

    su_abc_object *object;
    const char *metadata = in->subdivision ? SUBD_OBJECT : MESH_OBJECT;
    if (in->placed) {
        object =
            su_abc_add_object(archive, in->parent < 0 ? NULL : writer->xforms[in->parent].object, in->name, metadata);
    } else {
        su_abc_object *transform = su_abc_add_object(archive, NULL, mesh->name, XFORM_OBJECT);
        SU_TRY(add_xform(writer, transform, 1, mesh->xform, 0, &mesh->parent_bounds, err));
        size_t size = strlen(mesh->name) + sizeof "Shape";
        char *shape = malloc(size);
        if (!shape) return su_fail(err, SU_AGAIN, "out of memory for an Alembic cache");
        snprintf(shape, size, "%sShape", mesh->name);
        object = su_abc_add_object(archive, transform, shape, metadata);
        free(shape);
    }
    su_abc_property *geometry =
        su_abc_add_compound(archive, su_abc_properties(object), ".geom", in->subdivision ? SUBD_SCHEMA : MESH_SCHEMA);
    mesh->bounds =
        su_abc_add_property(archive, geometry, ".selfBnds", BOX, SU_ABC_SCALAR, SU_ABC_F64, 6, writer->time_sampling);
    mesh->p = su_abc_add_property(archive, geometry, "P", "geoScope=vtx;interpretation=point", SU_ABC_ARRAY, SU_ABC_F32,
                                  3, writer->time_sampling);
    SU_TRY(add_topology(writer, geometry, in, mesh, err));
    return add_sets(writer, object, in, err);
}

/* ---- frames ---- */

/* Adds the box of one mesh to the scene's by its corners; hands the scene's out when the first mesh starts a new frame.
 */
static su_status scene_box(su_alembic_writer *writer, const mesh_out *mesh, const double box[6], su_error *err)
{
    if (mesh->frames != writer->frame) {
        SU_TRY(su_abc_sample(writer->archive, writer->scene_bounds, writer->box, 1, err));
        empty_box(writer->box);
        writer->frame = mesh->frames;
    }
    for (int corner = 0; corner < 8 && mesh->points > 0; corner++) {
        double p[3], w[3];
        const double *m = mesh->xform;
        int64_t sample = mesh->frames / mesh->samples;
        if (mesh->world) m = mesh->world + 16 * (sample < mesh->world_samples ? sample : mesh->world_samples - 1);
        for (int i = 0; i < 3; i++) p[i] = box[(corner >> i & 1 ? 3 : 0) + i];
        for (int i = 0; i < 3; i++) w[i] = m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3];
        grow_box(writer->box, w);
    }
    return SU_OK;
}

/* The box of the meshes directly below a transform; handed out when the first of them starts a new frame. */
static su_status parent_box(su_alembic_writer *writer, xform_out *x, int64_t frame, const double box[6], su_error *err)
{
    if (frame != x->frames) {
        SU_TRY(su_abc_sample(writer->archive, x->bounds, x->box, 1, err));
        empty_box(x->box);
        x->frames = frame;
    }
    for (int i = 0; i < 2; i++) grow_box(x->box, box + 3 * i);
    return SU_OK;
}

su_status su_alembic_frame(su_alembic_writer *writer, int index, const float *points, const float *velocities,
                           const float *normals, su_error *err)
{
    su_abc_archive *archive = writer->archive;
    mesh_out *mesh = &writer->meshes[index];
    double box[6];
    empty_box(box);
    for (int64_t v = 0; v < mesh->points; v++) {
        const double p[3] = {points[3 * v], points[3 * v + 1], points[3 * v + 2]};
        grow_box(box, p);
    }
    SU_TRY(scene_box(writer, mesh, box, err));
    if (mesh->parent_bounds) SU_TRY(su_abc_sample(archive, mesh->parent_bounds, box, 1, err));
    if (mesh->parent >= 0) SU_TRY(parent_box(writer, &writer->xforms[mesh->parent], mesh->frames, box, err));
    SU_TRY(su_abc_sample(archive, mesh->bounds, box, 1, err));
    SU_TRY(su_abc_sample(archive, mesh->p, points, mesh->points, err));
    if (mesh->velocities) SU_TRY(su_abc_sample(archive, mesh->velocities, velocities, mesh->points, err));
    if (mesh->normals) SU_TRY(su_abc_sample(archive, mesh->normals, normals, mesh->points, err));
    mesh->frames++;
    return SU_OK;
}

/* What does not change gets as many samples as the points have. */
static su_status finish_meshes(su_alembic_writer *writer, su_error *err)
{
    for (int i = 0; i < writer->mesh_count; i++) {
        const mesh_out *mesh = &writer->meshes[i];
        su_abc_property *const still[] = {mesh->face_indices, mesh->face_counts, mesh->uv, mesh->uv_indices,
                                          mesh->color};
        for (int k = 0; k < 5; k++)
            if (still[k]) SU_TRY(su_abc_repeat(writer->archive, still[k], mesh->frames - 1, err));
    }
    for (int i = 0; i < writer->xform_count; i++) { /* groups without a mesh of their own: one empty box */
        xform_out *x = &writer->xforms[i];
        SU_TRY(su_abc_sample(writer->archive, x->bounds, x->box, 1, err));
    }
    return su_abc_sample(writer->archive, writer->scene_bounds, writer->box, 1, err);
}

/* "key=value;key=value": what separates pairs is replaced inside them, control characters and line ends likewise. */
static char *join_metadata(int count, const char *const (*pairs)[2])
{
    size_t size = 1;
    for (int i = 0; i < count; i++) size += strlen(pairs[i][0]) + strlen(pairs[i][1]) + 2;
    char *text = malloc(size), *p = text;
    if (!text) return NULL;
    for (int i = 0; i < count; i++) {
        if (!*pairs[i][1]) continue;
        if (p != text) *p++ = ';';
        for (int k = 0; k < 2; k++) {
            for (const char *c = pairs[i][k]; *c; c++)
                *p++ = *c == ';' ? ',' : *c == '=' ? ':' : (unsigned char)*c < 32 ? ' ' : *c;
            if (k == 0) *p++ = '=';
        }
    }
    *p = 0;
    return text;
}

su_status su_alembic_commit(su_alembic_writer *writer, int count, const char *const (*metadata)[2], su_error *err)
{
    char *text = join_metadata(count, metadata);
    su_status status = text ? finish_meshes(writer, err) : su_fail(err, SU_AGAIN, "out of memory for an Alembic cache");
    if (status == SU_OK) {
        su_abc_archive *archive = writer->archive;
        writer->archive = NULL; /* freed by the commit in every case */
        status = su_abc_archive_commit(archive, text, err);
    }
    free(text);
    su_alembic_abandon(writer);
    return status;
}

void su_alembic_abandon(su_alembic_writer *writer)
{
    if (!writer) return;
    su_abc_archive_abandon(writer->archive);
    for (int i = 0; i < writer->mesh_count; i++) free(writer->meshes[i].name);
    free(writer->meshes);
    free(writer->xforms);
    free(writer);
}
