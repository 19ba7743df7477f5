/* Alembic caches: what is written comes back, the format page's own example is reproduced, a cache of another program
 * (Maya's exporter) is read as its OBJ twin says, and no damage crashes the reader. */
#include "io/alembic/abc_archive.h"
#include "io/alembic/alembic.h"
#include "io/cache/sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "near.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

enum { POINTS = 5, FACES = 2, CORNERS = 7, FRAMES = 6 };
static const int32_t counts[FACES] = {4, 3}, corners[CORNERS] = {0, 1, 2, 3, 3, 2, 4},
                     uv_indices[CORNERS] = {0, 1, 2, 3, 3, 2, 1};
static const float uv[8] = {0, 0, 1, 0, 1, 1, 0, 1};
static const double turn[16] = {0, -2, 0, 5, 2, 0, 0, 6, 0, 0, 2, 7, 0, 0, 0, 1};

/* Points of a frame: frames 0 and 1 are equal, as are the last two, so that runs at both ends are folded. */
static void frame_points(int frame, float *points)
{
    int step = frame < 1 ? 1 : frame > FRAMES - 2 ? FRAMES - 2 : frame;
    for (int i = 0; i < 3 * POINTS; i++) points[i] = 0.1f * (float)i + (float)(step * (i % 4));
}

static su_status write_cache(const char *to, su_error *err)
{
    su_alembic_writer *writer;
    static const char *const metadata[][2] = {{"_ai_Application", "supple; test=1"}, {"_ai_DCC_FPS", "30"}};
    su_status status = su_alembic_create(to, 1, (const double[]){11.0 / 30.0}, 1.0 / 30.0, &writer, err);
    if (status != SU_OK) return status;
    int index;
    su_alembic_mesh_in mesh = {.name = "body",
                               .points = POINTS,
                               .faces = FACES,
                               .corners = CORNERS,
                               .face_counts = counts,
                               .face_indices = corners,
                               .uvs = 4,
                               .uv = uv,
                               .uv_indices = uv_indices,
                               .xform = turn,
                               .velocities = true,
                               .normals = true};
    assert_int_equal(su_alembic_add_mesh(writer, &mesh, &index, err), SU_OK);
    mesh = (su_alembic_mesh_in){
        .name = "body", .points = POINTS, .faces = 1, .corners = 4, .face_counts = counts, .face_indices = corners};
    assert_int_equal(su_alembic_add_mesh(writer, &mesh, &index, err), SU_OK);
    assert_int_equal(index, 1);
    for (int k = 0; k < FRAMES; k++) {
        float points[3 * POINTS];
        frame_points(k, points);
        assert_int_equal(su_alembic_frame(writer, 0, points, points, points, err), SU_OK);
        assert_int_equal(su_alembic_frame(writer, 1, points, NULL, NULL, err), SU_OK);
    }
    return su_alembic_commit(writer, 2, metadata, err);
}

static void samples_around_frames_keep_their_times(void **state)
{
    (void)state;
    const double times[] = {0.9 / 24, 1.0 / 24, 1.1 / 24}, early[] = {0.0, 1.0 / 24};
    su_error err;
    su_alembic_writer *writer;
    su_alembic *file;
    int index;
    assert_int_equal(su_alembic_create(path, 2, early, 1.0 / 24, &writer, &err), SU_USAGE); /* touches the next frame */
    assert_int_equal(su_alembic_create(path, 3, times, 1.0 / 24, &writer, &err), SU_OK);
    su_alembic_mesh_in mesh = {.name = "body",
                               .points = POINTS,
                               .faces = FACES,
                               .corners = CORNERS,
                               .face_counts = counts,
                               .face_indices = corners};
    assert_int_equal(su_alembic_add_mesh(writer, &mesh, &index, &err), SU_OK);
    for (int k = 0; k < 6; k++) {
        float points[3 * POINTS];
        for (int i = 0; i < 3 * POINTS; i++) points[i] = (float)(k + i);
        assert_int_equal(su_alembic_frame(writer, 0, points, NULL, NULL, &err), SU_OK);
    }
    assert_int_equal(su_alembic_commit(writer, 0, NULL, &err), SU_OK);
    assert_int_equal(su_alembic_open(path, &file, &err), SU_OK);
    assert_int_equal(su_alembic_mesh_at(file, 0)->samples, 6);
    for (int k = 0; k < 6; k++) {
        float points[3 * POINTS];
        assert_near(su_alembic_time(file, 0, k), times[k % 3] + k / 3 / 24.0, 1e-12);
        assert_int_equal(su_alembic_points(file, 0, k, points, &err), SU_OK);
        assert_true(points[5] == (float)(k + 5));
    }
    su_alembic_close(file);
}

static void cache_comes_back(void **state)
{
    (void)state;
    su_error err;
    su_alembic *file;
    assert_int_equal(write_cache(path, &err), SU_OK);
    assert_int_equal(su_alembic_open(path, &file, &err), SU_OK);
    assert_int_equal(su_alembic_mesh_count(file), 2);
    const su_alembic_mesh *mesh = su_alembic_mesh_at(file, 0);
    assert_string_equal(mesh->name, "body");
    assert_string_not_equal(su_alembic_mesh_at(file, 1)->name, "body");
    assert_int_equal(mesh->samples, FRAMES);
    assert_int_equal(mesh->points, POINTS);
    assert_int_equal(mesh->faces, FACES);
    assert_int_equal(mesh->corners, CORNERS);
    assert_int_equal(mesh->uvs, 4);
    assert_true(mesh->constant_topology);
    int32_t read_counts[FACES], read_corners[CORNERS];
    float read_uv[8];
    assert_int_equal(su_alembic_topology(file, 0, read_counts, read_corners, &err), SU_OK);
    assert_memory_equal(read_counts, counts, sizeof counts);
    assert_memory_equal(read_corners, corners, sizeof corners);
    assert_int_equal(su_alembic_uv(file, 0, read_uv, read_corners, &err), SU_OK);
    assert_memory_equal(read_uv, uv, sizeof uv);
    assert_memory_equal(read_corners, uv_indices, sizeof uv_indices);
    for (int k = 0; k < FRAMES; k++) {
        float expected[3 * POINTS], points[3 * POINTS];
        frame_points(k, expected);
        for (int m = 0; m < 2; m++) {
            assert_int_equal(su_alembic_points(file, m, k, points, &err), SU_OK);
            assert_memory_equal(points, expected, sizeof points);
        }
        assert_true(fabs(su_alembic_time(file, 0, k) - ((11 + k) / 30.0)) <= 1e-12);
    }
    double xform[16];
    assert_int_equal(su_alembic_xform(file, 0, 0.0, xform, &err), SU_OK);
    for (int i = 0; i < 16; i++) assert_true(fabs(xform[i] - (turn[i])) <= 0.0);
    assert_int_equal(su_alembic_xform(file, 1, 0.0, xform, &err), SU_OK);
    for (int i = 0; i < 16; i++) assert_true(fabs(xform[i] - (i % 5 == 0)) <= 0.0);
    char text[64];
    assert_true(su_alembic_metadata(file, "_ai_Application", text, sizeof text));
    assert_string_equal(text, "supple, test:1"); /* what would break the metadata is replaced */
    assert_false(su_alembic_metadata(file, "_ai_Nothing", text, sizeof text));
    su_alembic_close(file);
    unlink(path);
}

/* ---- the annotated file of the format: one triangle, two samples ---- */

/* The 32 bytes of hashes behind the header of the only child `name` of an object. */
static void find_hashes(const uint8_t *bytes, size_t size, const char *name, uint8_t out[32])
{
    uint32_t n = (uint32_t)strlen(name);
    for (size_t i = 0; i + 4 + n + 1 + 32 <= size; i++)
        if (memcmp(bytes + i, &n, 4) == 0 && memcmp(bytes + i + 4, name, n) == 0) {
            memcpy(out, bytes + i + 4 + n + 1, 32);
            return;
        }
    fail_msg("no header of %s", name);
}

static void library_hashes_are_reproduced(void **state)
{
    (void)state;
    su_error err;
    su_abc_archive *archive;
    assert_int_equal(su_abc_archive_create(path, &archive, &err), SU_OK);
    int time = su_abc_time_sampling(archive, 1, (const double[]){1.0 / 24.0}, 1.0 / 24.0);
    static const char xform_schema[] = "schema=AbcGeom_Xform_v3",
                      mesh_schema[] = "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1";
    su_abc_object *xf =
        su_abc_add_object(archive, NULL, "xf", "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform");
    su_abc_object *tri = su_abc_add_object(
        archive, xf, "tri",
        "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1;schemaObjTitle=AbcGeom_PolyMesh_v1:.geom");
    su_abc_property *geom = su_abc_add_compound(archive, su_abc_properties(tri), ".geom", mesh_schema);
    su_abc_property *box =
        su_abc_add_property(archive, geom, ".selfBnds", "interpretation=box", SU_ABC_SCALAR, SU_ABC_F64, 6, time);
    su_abc_property *p =
        su_abc_add_property(archive, geom, "P", "geoScope=vtx;interpretation=point", SU_ABC_ARRAY, SU_ABC_F32, 3, time);
    su_abc_property *faces = su_abc_add_property(archive, geom, ".faceIndices", "", SU_ABC_ARRAY, SU_ABC_I32, 1, time);
    su_abc_property *sizes = su_abc_add_property(archive, geom, ".faceCounts", "", SU_ABC_ARRAY, SU_ABC_I32, 1, time);
    su_abc_property *xform = su_abc_add_compound(archive, su_abc_properties(xf), ".xform", xform_schema);
    su_abc_property *inherits =
        su_abc_add_property(archive, xform, ".inherits", "", SU_ABC_SCALAR, SU_ABC_BOOL, 1, time);
    su_abc_property *ops = su_abc_add_property(archive, xform, ".ops", "", SU_ABC_SCALAR, SU_ABC_U8, 1, 0);
    su_abc_property *values = su_abc_add_property(archive, xform, ".vals", "", SU_ABC_SCALAR, SU_ABC_F64, 3, time);
    su_abc_property *moves =
        su_abc_add_property(archive, xform, "isNotConstantIdentity", "", SU_ABC_SCALAR, SU_ABC_BOOL, 1, 0);
    const double boxes[2][6] = {{0, 0, 0, 1, 1, 0}, {0, 0, 0, 1, 1, 1}}, offset[3] = {1, 2, 3};
    const float points[2][9] = {{0, 0, 0, 1, 0, 0, 0, 1, 0}, {0, 0, 0, 1, 0, 0, 0, 1, 1}};
    const int32_t triangle[3] = {0, 1, 2}, three = 3;
    const uint8_t one = 1, translate = 0x10;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(su_abc_sample(archive, box, boxes[k], 1, &err), SU_OK);
        assert_int_equal(su_abc_sample(archive, p, points[k], 3, &err), SU_OK);
        assert_int_equal(su_abc_sample(archive, faces, triangle, 3, &err), SU_OK);
        assert_int_equal(su_abc_sample(archive, sizes, &three, 1, &err), SU_OK);
    }
    assert_int_equal(su_abc_sample(archive, inherits, &one, 1, &err), SU_OK);
    assert_int_equal(su_abc_sample(archive, ops, &translate, 1, &err), SU_OK);
    assert_int_equal(su_abc_sample(archive, values, offset, 1, &err), SU_OK);
    assert_int_equal(su_abc_sample(archive, moves, &one, 1, &err), SU_OK);
    assert_int_equal(su_abc_archive_commit(archive, "", &err), SU_OK);

    /* hashes that the library wrote for the same content (format page, section 14, at 03ea and 0464) */
    static const uint8_t of_xf[32] = {0x18, 0x4f, 0x6d, 0x7c, 0xbf, 0xfc, 0xf6, 0xe4, 0x34, 0x7b, 0x69,
                                      0x69, 0x4b, 0xde, 0x45, 0x1b, 0x94, 0xc1, 0x79, 0x1f, 0x15, 0x02,
                                      0x37, 0xed, 0x6c, 0x00, 0xb8, 0xab, 0x21, 0xb7, 0x19, 0x9e};
    static const uint8_t of_top[32] = {0x19, 0x09, 0xf5, 0x6b, 0xfc, 0x06, 0x27, 0x23, 0xc7, 0x51, 0xe8,
                                       0xb4, 0x65, 0xee, 0x72, 0x8b, 0x00, 0xe7, 0xee, 0x62, 0x61, 0xe5,
                                       0xb5, 0x59, 0x39, 0xd8, 0x43, 0xe8, 0x53, 0xc3, 0x2e, 0xe3};
    uint8_t bytes[4096], hashes[32];
    FILE *stream = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    find_hashes(bytes, size, "tri", hashes);
    assert_memory_equal(hashes, of_xf, 32);
    find_hashes(bytes, size, "xf", hashes);
    assert_memory_equal(hashes, of_top, 32);
    unlink(path);
}

/* ---- samples: which are stored ---- */

static void equal_samples_are_folded(void **state)
{
    (void)state;
    static const struct {
        const char *samples;
        int first, last, stored;
    } rows[] = {{"A", 0, 0, 1},     {"AAA", 0, 0, 1},   {"AB", 1, 1, 2},   {"ABC", 1, 2, 3},
                {"AABCC", 2, 3, 3}, {"ABBAA", 1, 3, 4}, {"AAAB", 3, 3, 2}, {"ABBBBC", 1, 5, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        su_error err;
        su_abc_archive *archive;
        su_abc_tree tree;
        su_abc_samples samples;
        int n = (int)strlen(rows[i].samples), count;
        assert_int_equal(su_abc_archive_create(path, &archive, &err), SU_OK);
        su_abc_property *property = su_abc_add_property(archive, NULL, "x", "", SU_ABC_ARRAY, SU_ABC_U8, 1, 0);
        for (int k = 0; k < n; k++)
            assert_int_equal(su_abc_sample(archive, property, rows[i].samples + k, 1, &err), SU_OK);
        assert_int_equal(su_abc_archive_commit(archive, "", &err), SU_OK);
        assert_int_equal(su_abc_tree_open(path, &tree, &err), SU_OK);
        su_abc_entry *entries;
        assert_int_equal(su_abc_entries(&tree, tree.nodes[0]->properties, &count, &entries, &err), SU_OK);
        assert_int_equal(count, 1);
        assert_int_equal(entries[0].samples, n);
        assert_int_equal(entries[0].first, rows[i].first);
        assert_int_equal(entries[0].last, rows[i].last);
        assert_int_equal(su_abc_samples_open(&tree, &entries[0], &samples, &err), SU_OK);
        assert_int_equal(samples.ref_count, 2 * rows[i].stored);
        for (int k = 0; k < n; k++) {
            char value;
            int64_t elements;
            assert_int_equal(su_abc_samples_count(&tree, &samples, k, &elements, &err), SU_OK);
            assert_int_equal(elements, 1);
            assert_int_equal(su_abc_samples_read(&tree, &samples, k, 1, &value, &err), SU_OK);
            assert_int_equal(value, rows[i].samples[k]);
        }
        su_abc_samples_close(&samples);
        su_abc_entries_free(count, entries);
        su_abc_tree_close(&tree);
    }
    unlink(path);
}

/* ---- another program's cache ---- */

/* One mesh of a square, or of a square that falls into two triangles at the second frame. */
static void add_square(su_abc_archive *archive, int time, const char *name, bool falls_apart)
{
    static const float corner[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    static const int32_t square[4] = {0, 1, 2, 3}, triangles[6] = {0, 1, 2, 0, 2, 3}, four = 4, threes[2] = {3, 3};
    su_error err;
    su_abc_object *object =
        su_abc_add_object(archive, NULL, name, "schema=AbcGeom_PolyMesh_v1;schemaObjTitle=AbcGeom_PolyMesh_v1:.geom");
    su_abc_property *geom =
        su_abc_add_compound(archive, su_abc_properties(object), ".geom", "schema=AbcGeom_PolyMesh_v1");
    su_abc_property *p =
        su_abc_add_property(archive, geom, "P", "geoScope=vtx;interpretation=point", SU_ABC_ARRAY, SU_ABC_F32, 3, time);
    su_abc_property *faces = su_abc_add_property(archive, geom, ".faceIndices", "", SU_ABC_ARRAY, SU_ABC_I32, 1, time);
    su_abc_property *sizes = su_abc_add_property(archive, geom, ".faceCounts", "", SU_ABC_ARRAY, SU_ABC_I32, 1, time);
    for (int k = 0; k < 3; k++) {
        bool apart = falls_apart && k > 0;
        assert_int_equal(su_abc_sample(archive, p, corner, 4, &err), SU_OK);
        assert_int_equal(su_abc_sample(archive, faces, apart ? triangles : square, apart ? 6 : 4, &err), SU_OK);
        assert_int_equal(su_abc_sample(archive, sizes, apart ? threes : &four, apart ? 2 : 1, &err), SU_OK);
    }
}

static void a_mesh_that_falls_apart_can_be_left_out(void **state)
{
    (void)state;
    su_error err;
    su_abc_archive *archive;
    su_sequence *sequence;
    double points[24];
    const char *square = "square";
    assert_int_equal(su_abc_archive_create(path, &archive, &err), SU_OK);
    int time = su_abc_time_sampling(archive, 1, (const double[]){0.0}, 1.0 / 24.0);
    add_square(archive, time, "smoke", true);
    add_square(archive, time, "square", false);
    assert_int_equal(su_abc_archive_commit(archive, "", &err), SU_OK);
    assert_int_equal(su_sequence_open(path, NULL, &sequence, &err), SU_OK);
    assert_int_equal(su_sequence_read(sequence, 0, points, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "mesh smoke changes its topology"));
    su_sequence_close(sequence);
    assert_int_equal(su_sequence_open(path, NULL, &sequence, &err), SU_OK);
    assert_int_equal(su_sequence_keep(sequence, path, 1, &square, &err), SU_OK);
    assert_int_equal(sequence->vertices, 4);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(su_sequence_read(sequence, k, points, &err), SU_OK);
        assert_true(points[6] == 1 && points[7] == 1 && points[9] == 0);
    }
    su_sequence_close(sequence);
}

static void maya_cache_matches_its_obj_frames(void **state)
{
    (void)state;
    const char *data = getenv("SUPPLE_DATA");
    char name[512];
    snprintf(name, sizeof name, "%s/mesh_sequences/bone/Bone_Anim.abc", data ? data : "");
    if (!data || access(name, R_OK) != 0) skip();
    su_error err;
    su_alembic *file;
    assert_int_equal(su_alembic_open(name, &file, &err), SU_OK);
    assert_int_equal(su_alembic_mesh_count(file), 1);
    const su_alembic_mesh *mesh = su_alembic_mesh_at(file, 0);
    assert_string_equal(mesh->name, "Bone");
    assert_int_equal(mesh->points, 754);
    assert_int_equal(mesh->faces, 752);
    assert_int_equal(mesh->samples, 400);
    assert_true(mesh->constant_topology);
    assert_true(fabs(su_alembic_time(file, 0, 0) - (1.0 / 24)) <= 1e-9);
    assert_true(fabs(su_alembic_time(file, 0, 399) - (400.0 / 24)) <= 1e-9);
    int32_t *sizes = malloc(752 * sizeof *sizes), *faces = malloc((size_t)mesh->corners * sizeof *faces);
    assert_int_equal(su_alembic_topology(file, 0, sizes, faces, &err), SU_OK);
    double xform[16], worst = 0.0;
    assert_int_equal(su_alembic_xform(file, 0, 9.0, xform, &err), SU_OK);
    assert_true(fabs(xform[7] - (0.38511)) <= 1e-5);
    float points[3 * 754];
    for (int k = 0; k < 48; k += 7) {
        snprintf(name, sizeof name, "%s/mesh_sequences/bone/obj/bone_%04d.obj", data, k);
        FILE *stream = fopen(name, "r");
        assert_non_null(stream);
        assert_int_equal(su_alembic_points(file, 0, 201 + k, points, &err), SU_OK);
        char line[256];
        int v = 0, corner = 0;
        while (fgets(line, sizeof line, stream)) {
            double x[3];
            int f[4];
            if (sscanf(line, "v %lf %lf %lf", &x[0], &x[1], &x[2]) == 3) {
                for (int i = 0; i < 3; i++) {
                    double w = xform[4 * i + 3];
                    for (int j = 0; j < 3; j++) w += xform[4 * i + j] * points[3 * v + j];
                    worst = fmax(worst, fabs(w - x[i]));
                }
                v++;
            } else if (sscanf(line, "f %d %d %d %d", &f[0], &f[1], &f[2], &f[3]) == 4) {
                int start = 0; /* the same cycle of corners, wherever it starts */
                while (start < 4 && faces[corner + start] != f[0] - 1) start++;
                for (int i = 0; i < 4; i++) assert_int_equal(faces[corner + (start + i) % 4], f[i] - 1);
                corner += 4;
            }
        }
        fclose(stream);
        assert_int_equal(v, 754);
        assert_int_equal(corner, mesh->corners);
    }
    if (worst > 2e-6) fail_msg("positions differ by %g", worst);
    free(sizes);
    free(faces);
    su_alembic_close(file);
}

/* ---- damage ---- */

/* Reads everything there is; the result does not matter, only that it ends. */
static void read_all(void)
{
    su_error err;
    su_alembic *file;
    if (su_alembic_open(path, &file, &err) != SU_OK) return;
    for (int m = 0; m < su_alembic_mesh_count(file); m++) {
        const su_alembic_mesh *mesh = su_alembic_mesh_at(file, m);
        float *points = malloc((size_t)mesh->points * 12 + 1), *coordinates = malloc((size_t)mesh->uvs * 8 + 1);
        int32_t *sizes = malloc((size_t)mesh->faces * 4 + 1), *faces = malloc((size_t)mesh->corners * 4 + 1);
        double xform[16];
        (void)su_alembic_topology(file, m, sizes, faces, &err);
        if (mesh->uvs) (void)su_alembic_uv(file, m, coordinates, faces, &err);
        for (int64_t k = 0; k < mesh->samples && k < 10; k++) {
            (void)su_alembic_points(file, m, k, points, &err);
            (void)su_alembic_xform(file, m, su_alembic_time(file, m, k), xform, &err);
        }
        free(points);
        free(coordinates);
        free(sizes);
        free(faces);
    }
    su_alembic_close(file);
}

static void damage_never_crashes(void **state)
{
    (void)state;
    su_error err;
    assert_int_equal(write_cache(path, &err), SU_OK);
    static uint8_t bytes[16384], broken[16384];
    FILE *stream = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    assert_true(size > 1000 && size < sizeof bytes);
    for (size_t cut = 0; cut < size; cut += 3) {
        stream = fopen(path, "wb");
        fwrite(bytes, 1, cut, stream);
        fclose(stream);
        su_alembic *file;
        assert_int_equal(su_alembic_open(path, &file, &err), SU_INPUT); /* the root group stands last */
    }
    uint64_t random = 1;
    for (int round = 0; round < 6000; round++) {
        memcpy(broken, bytes, size);
        for (int k = 0; k <= round % 3; k++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            size_t at = 16 + (size_t)(random >> 33) % (size - 16);
            broken[at] = round % 2 ? (uint8_t)(random >> 20) : (uint8_t)(broken[at] ^ 1u << (random >> 60 & 7));
        }
        stream = fopen(path, "wb");
        fwrite(broken, 1, size, stream);
        fclose(stream);
        read_all();
    }
    unlink(path);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/test_alembic_%d.abc", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cache_comes_back),
        cmocka_unit_test(library_hashes_are_reproduced),
        cmocka_unit_test(equal_samples_are_folded),
        cmocka_unit_test(a_mesh_that_falls_apart_can_be_left_out),
        cmocka_unit_test(maya_cache_matches_its_obj_frames),
        cmocka_unit_test(samples_around_frames_keep_their_times),
        cmocka_unit_test(damage_never_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
