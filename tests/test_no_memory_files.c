/* Every reader and writer of files with each of its allocations failing in turn. */
#include "core/file.h"
#include "core/npz.h"
#include "failing_memory.h"
#include "physics/external_files.h"
#include "io/cache/cache.h"
#include "io/cache/image.h"
#include "io/cache/obj.h"
#include "io/cache/sequence.h"
#include "io/scene/scene_parse.h"
#include "io/scene/scene_load.h"
#include "io/scene/scene_stream.h"
#include "io/stage/anim.h"
#include "io/table.h"
#include "near.h"
#include "reduced_scene.h"
#include "rig/character.h"
#include "rig/joint_curves.h"
#include "rig/sequence_take.h"
#include "rig/take.h"

#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static char inputs[64]; /* folder of files made by this program */

static const char *input(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", inputs, name);
    return path;
}

static void rig_swing(double t, double *bend, double *root)
{
    *bend = 0.5 * sin(9.0 * t);
    root[3] = 0.3 * sin(7.0 * t);
}

static void write_text(const char *name, const char *text)
{
    FILE *stream = fopen(input(name), "wb");
    if (!stream) abort();
    fputs(text, stream);
    fclose(stream);
}

static const double poses3[] = {0.0, 0.8, -0.8};

static int make_inputs(void **state)
{
    su_error err = {0};
    snprintf(inputs, sizeof inputs, "/tmp/supple-test-inputs-XXXXXX");
    if (!mkdtemp(inputs)) return -1;
    scene s;
    scene_create(&s, 2, 1, 1, 3, poses3, 6, 30, rig_swing, 0, NULL);
    scene_save(&s, inputs);
    reduced_scene r;
    reduced_options options = {.r = 8, .regions = 2, .stride = 2};
    reduced_create(&r, &s, &options);
    json_object_set_new(r.model.file.meta, "frequency", json_real(4.0));
    int32_t none[3] = {0};
    r.model.surface = none;
    if (su_model_save(input("c.model.npz"), &r.model, &err) != SU_OK) return -1;
    reduced_free(&r);
    scene_free(&s);
    write_text("curves.csv", "time,hip.rx,knee.ry,smile\n0,0,0,0\n0.5,0.1,0.2,1\n1,0.3,0.1,0\n");
    write_text("walk.0001.obj", "o one\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\n"
                                "f 1/1 3/2 2/3\nf 1/1 2/2 4/3\no two\nf 2/1 3/2 4/3\nf 3/1 1/2 4/3\n");
    write_text("walk.0002.obj", "o one\nv 0 0 0\nv 1.1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\n"
                                "f 1/1 3/2 2/3\nf 1/1 2/2 4/3\no two\nf 2/1 3/2 4/3\nf 3/1 1/2 4/3\n");
    write_text("forces.json", "{\"points\": 4, \"wind\": {\"velocity\": [3, 0, 0]}, \"colliders\": ["
                              "{\"shape\": \"plane\", \"point\": [0, -1, 0], \"normal\": [0, 1, 0]},"
                              "{\"shape\": \"sphere\", \"centre\": [0, 2, 0], \"radius\": 0.1},"
                              "{\"shape\": \"mesh\", \"file\": \"walk.%04d.obj\"}],"
                              " \"forces\": [{\"vertex\": 1, \"force\": [1, 0, 0]}]}");
    return failing_memory_begin(state);
}

static int remove_inputs(void **state)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", inputs);
    return failing_memory_end(state) | system(command);
}

/* ---- stage files ---- */

typedef struct stage {
    const su_schema *schema;
    const char *path;
} stage;

static void digest(const su_schema *schema, const void *object)
{
    for (int i = 0; i < schema->count; i++) {
        const char *data = *(char *const *)((const char *)object + schema->fields[i].offset);
        if (data) failing_memory_result(schema->fields[i].name, 1), failing_memory_result(data, 1);
    }
}

static su_status load_stage(void *context, int threads, su_error *err)
{
    const stage *at = context;
    char object[2000] = {0};
    (void)threads;
    su_status status = su_schema_load(at->schema, at->path, object, err);
    if (status != SU_OK) return status;
    digest(at->schema, object);
    status = su_schema_save(at->schema, own_folder_path("out.npz"), object, err);
    su_schema_free(at->schema, object);
    if (status == SU_OK) failing_memory_file("out.npz");
    return status;
}

static void stage_files(void **unused)
{
    (void)unused;
    static const char *const files[] = {"s.tet.npz", "s.fit.npz", "s.anim.npz", "c.model.npz"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (const su_schema *const *at = su_schemas; *at; at++) {
            if (!strstr(files[i], (*at)->kind + strlen("supple"))) continue;
            char path[200];
            snprintf(path, sizeof path, "%s", input(files[i]));
            assert_true((*at)->size <= 2000);
            failing_memory_check(files[i], load_stage, &(stage){*at, path});
        }
    }
}

static su_status read_arrays(void *context, int threads, su_error *err)
{
    su_npz *file;
    su_status status = su_npz_open(context, &file, err);
    (void)threads;
    if (status != SU_OK) return status;
    for (int i = 0; i < su_npz_count(file) && status == SU_OK; i++) {
        const void *data;
        const su_npz_entry *entry = su_npz_entry_at(file, i);
        status = su_npz_data(file, entry, &data, err);
        if (status == SU_OK) failing_memory_result(data, (size_t)entry->elements * su_dtype_size(entry->type));
    }
    su_npz_close(file);
    return status;
}

static su_status read_npy(void *context, int threads, su_error *err)
{
    int dimensions;
    int64_t shape[SU_MAX_DIMENSIONS], count = 1;
    void *data;
    (void)threads;
    su_status status = su_npy_load(context, SU_F64, &dimensions, shape, &data, err);
    if (status != SU_OK) return status;
    for (int i = 0; i < dimensions; i++) count *= shape[i];
    FAILING_MEMORY_RESULT((double *)data, count);
    status = su_npy_save(own_folder_path("out.npy"), SU_F64, dimensions, shape, data, err);
    free(data);
    if (status == SU_OK) failing_memory_file("out.npy");
    return status;
}

static void arrays(void **unused)
{
    (void)unused;
    failing_memory_check("deflated.npz", read_arrays, (void *)(uintptr_t) "tests/corpus/npz/deflated.npz");
    failing_memory_check("stored.npz", read_arrays, (void *)(uintptr_t) "tests/corpus/npz/stored.npz");
    failing_memory_check("fortran.npy", read_npy, (void *)(uintptr_t) "tests/corpus/npz/fortran.npy");
}

/* ---- rigged characters ---- */

/* Through the child that parses, or in this process, where what it leaves is counted. */
static su_status load_scene(const char *path, bool child, su_scene *out, su_error *err)
{
    const su_child_limits limits = {.seconds = 60.0, .memory_bytes = (int64_t)4 << 30};
    if (child) return su_scene_load(path, &limits, out, err);
    char message[800] = "";
    su_scene parsed = {0};
    int fd = memfd_create("scene", MFD_CLOEXEC);
    if (fd < 0) abort();
    if (su_scene_parse(path, &parsed, message, sizeof message) != 0) {
        close(fd);
        su_scene_free(&parsed);
        return su_fail(err, strstr(message, "memory") ? SU_AGAIN : SU_INPUT, "%s", message);
    }
    int failed = su_scene_encode(&parsed, fd);
    su_scene_free(&parsed);
    off_t size = lseek(fd, 0, SEEK_END);
    void *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (failed || bytes == MAP_FAILED) abort();
    su_status status = su_scene_decode(bytes, (size_t)size, out, err);
    munmap(bytes, (size_t)size);
    return status == SU_OK ? su_scene_check(out, err) : status;
}

typedef struct rigged {
    const char *path;
    bool child;
} rigged;

static su_status import_rigged(void *context, int threads, su_error *err)
{
    const rigged *file = context;
    const su_character_options wanted = {.up = -1};
    su_scene source = {0};
    su_character character = {0};
    su_take take = {0};
    su_take_range range;
    json_t *meta = NULL;
    su_status status;
    SU_GO(load_scene(file->path, file->child, &source, err));
    SU_GO(su_character_create(&source, &wanted, &character, err));
    FAILING_MEMORY_RESULT(character.neutral, 3 * character.nbar);
    if (!source.clips) goto done;
    SU_GO(su_take_frames(&source, &source.clip[0], 0.0, NAN, NAN, NAN, &range, err));
    if (range.frames > 4) range.frames = 4;
    SU_GO(su_take_create(&character, &source.clip[0], &range, &take, err));
    FAILING_MEMORY_RESULT(take.bones, 16 * range.frames * character.B);
    if (!(meta = json_pack("{s:s, s:i}", "kind", "supple.anim", "version", 1))) {
        status = su_fail(err, SU_AGAIN, "out of memory");
        goto done;
    }
    SU_GO(su_take_save(&take, own_folder_path("out.npz"), &source.clip[0], meta, threads, NULL, err));
    failing_memory_file("out.npz");
done:
    json_decref(meta);
    su_take_free(&take);
    su_character_free(&character);
    su_scene_free(&source);
    return status;
}

static void rigged_files(void **unused)
{
    (void)unused;
    static const rigged files[] = {{"tests/corpus/gltf/hard.glb", false},
                                   {"tests/corpus/gltf/hard.glb", true},
                                   {"tests/corpus/gltf/odd.gltf", false},
                                   {"tests/corpus/gltf/meshopt-0.glb", false},
                                   {"tests/corpus/gltf/meshopt-1.glb", false},
                                   {"tests/corpus/gltf/draco.glb", false},
                                   {"tests/corpus/fbx/fbx-materials-shapes.fbx", false},
                                   {"tests/corpus/collada/collada.dae", false},
                                   {"tests/corpus/usda/usd-shapes.usda", false}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        failing_memory_check(files[i].path, import_rigged, (void *)(uintptr_t)&files[i]);
}

/* ---- sequences ---- */

typedef struct sequence_files {
    const char *path, *neutral;
} sequence_files;

static su_status import_sequence(void *context, int threads, su_error *err)
{
    const sequence_files *files = context;
    const su_sequence_options wanted = {
        .scale = 1.0, .up = 1, .neutral_frame = -1, .first = NAN, .last = NAN, .number = NAN};
    su_sequence *sequence = NULL;
    su_sequence_take take = {0};
    json_t *meta = NULL;
    su_status status;
    (void)threads;
    SU_GO(su_sequence_open(files->path, files->neutral, &sequence, err));
    if (sequence->objects > 1)
        SU_GO(su_sequence_keep(sequence, files->path, 1, (const char *const *)sequence->object_names, err));
    SU_GO(su_sequence_take_create(sequence, files->path, &wanted, NULL, &take, err));
    FAILING_MEMORY_RESULT(take.anim.neutral, 3 * take.anim.nbar);
    if (!(meta = json_pack("{s:s, s:i}", "kind", "supple.anim", "version", 1))) {
        status = su_fail(err, SU_AGAIN, "out of memory");
        goto done;
    }
    SU_GO(su_sequence_take_save(&take, own_folder_path("out.npz"), "clip", meta, NULL, err));
    failing_memory_file("out.npz");
done:
    json_decref(meta);
    su_sequence_take_free(&take);
    su_sequence_close(sequence);
    return status;
}

static void sequences(void **unused)
{
    (void)unused;
    char pattern[200], glob[200], rest[200];
    snprintf(pattern, sizeof pattern, "%s", input("walk.%04d.obj"));
    snprintf(glob, sizeof glob, "%s", input("walk.*.obj"));
    snprintf(rest, sizeof rest, "%s", input("walk.0001.obj"));
    const sequence_files files[] = {{pattern, NULL},
                                    {glob, rest},
                                    {"tests/corpus/ply/ascii.ply", NULL},
                                    {"tests/corpus/ply/little.ply", NULL},
                                    {"tests/corpus/pc2/tet.pc2", rest},
                                    {"tests/corpus/mdd/tet.mdd", rest},
                                    {"tests/corpus/obj/looks.obj", NULL},
                                    {"tests/corpus/usda/hand.usda", NULL},
                                    {"tests/corpus/usda/shot.usda", NULL},
                                    {"tests/corpus/alembic/library-looks.abc", NULL},
                                    {"tests/corpus/alembic/two.abc", NULL}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        failing_memory_check(strrchr(files[i].path, '/') + 1, import_sequence, (void *)(uintptr_t)&files[i]);
}

/* ---- tables and forces ---- */

static su_status read_curves(void *context, int threads, su_error *err)
{
    static const char *shape_name = "smile";
    static su_scene_node node[2] = {{.name = "hip", .parent = -1, .local = {1, [5] = 1, [10] = 1, [15] = 1}},
                                    {.name = "knee", .parent = 0, .local = {1, [5] = 1, [10] = 1, [15] = 1}}};
    su_scene_mesh mesh = {.name = "skin", .shapes = 1, .shape_names = &shape_name, .shape_defaults = (double[]){0.0}};
    su_scene_instance instance = {1, 0};
    su_scene rig = {.node = node, .nodes = 2, .mesh = &mesh, .meshes = 1, .instance = &instance, .instances = 1};
    su_scene_clip clip = {0};
    su_table table = {0};
    (void)threads;
    su_status status = su_table_load(context, &table, err);
    if (status != SU_OK) return status;
    FAILING_MEMORY_RESULT(table.values, table.rows * table.columns);
    status = su_joint_curves(&rig, &table, context, "curves", 24.0, 1.0, &clip, err);
    su_table_free(&table);
    su_arena_free(&rig.arena);
    return status;
}

static su_status read_forces(void *context, int threads, su_error *err)
{
    static const double neutral[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int32_t triangles[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    char collider[200];
    const char *list[] = {collider};
    su_external external = {0};
    (void)threads;
    snprintf(collider, sizeof collider, "%s", input("s.anim.npz"));
    su_status status = su_forces_load(context, 1, list, &(su_load_skin){4, neutral, 4, triangles}, &external, err);
    if (status != SU_OK) return status;
    FAILING_MEMORY_RESULT(external.area, external.points);
    json_t *meta = json_object();
    status = meta ? su_forces_describe(context, &external, meta, err) : su_fail(err, SU_AGAIN, "out of memory");
    if (status == SU_OK) failing_memory_result("described", json_object_size(meta));
    json_decref(meta);
    su_external_free(&external);
    return status;
}

static void tables_and_forces(void **unused)
{
    (void)unused;
    char path[200];
    snprintf(path, sizeof path, "%s", input("curves.csv"));
    failing_memory_check("curves.csv", read_curves, path);
    snprintf(path, sizeof path, "%s", input("forces.json"));
    failing_memory_check("forces.json", read_forces, path);
}

/* ---- caches ---- */

typedef struct cache_case {
    const char *name;
    int texture;
    const char *files[4]; /* that it writes */
    bool skin;
} cache_case;

static su_status write_cache(void *context, int threads, su_error *err)
{
    enum { FRAMES = 6, VERTICES = 4 };
    const cache_case *what = context;
    static const int32_t counts[] = {3, 3, 3, 3}, corners[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    static const int32_t uv_indices[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, ids[] = {0, 0, 0, 0};
    static const float uv[] = {0, 0, 1, 0, 0, 1};
    static const char *const names[] = {"body"}, *const paths[] = {"/grp/body/mesh"};
    static const float color[4 * VERTICES] = {1, 0, 0, 0.5f};
    static const double xforms[16 * FRAMES] = {1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    float albedo[4] = {0.5f, 0.5f, 0.5f, 1}, surface[2] = {0, 1};
    int32_t material[] = {0, 0, -1, -1}, start[] = {0, 2}, chosen[] = {1, 3};
    const su_looks looks = {.materials = 1,
                            .sets = 1,
                            .set_faces = 2,
                            .material_names = (char *[]){(char *)"skin"},
                            .set_names = (char *[]){(char *)"front"},
                            .color = albedo,
                            .surface = surface,
                            .material = material,
                            .start = start,
                            .face = chosen};
    static const char *const nodes[] = {"up", "down", "hat"};
    static const int32_t parents[] = {-1, 0, 1}, joint_nodes[] = {0, 1, 0}, object_nodes[] = {2}, same[] = {0, 1, 2, 3};
    static const double neutral[3 * VERTICES] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const float weights[] = {1, 0, 0.5f, 0.5f, 0, 1, 0.25f, 0.75f};
    double rest[16 * 3] = {0}, root[16 * FRAMES] = {0};
    float keys[10 * 3 * FRAMES] = {0};
    for (int i = 0; i < 12; i++) rest[16 * (i / 4) + 5 * (i % 4)] = 1.0;
    for (int i = 0; i < 4 * FRAMES; i++) root[16 * (i / 4) + 5 * (i % 4)] = 1.0;
    for (int i = 0; i < 3 * FRAMES; i++) {
        keys[10 * i] = 0.1f * (float)i, keys[10 * i + 3] = 1.0f;
        for (int k = 7; k < 10; k++) keys[10 * i + k] = 1.0f;
    }
    const su_cache_skin skin = {.frames = FRAMES,
                                .nodes = 3,
                                .joints = 3,
                                .weighted = 2,
                                .vertices = VERTICES,
                                .node_names = nodes,
                                .node_parent = parents,
                                .node_rest = rest,
                                .node_keys = keys,
                                .joint_node = joint_nodes,
                                .joint_bind = rest,
                                .object_node = object_nodes,
                                .skin_vertex = same,
                                .neutral = neutral,
                                .weights = weights,
                                .most_joints = 4};
    const su_cache_layout layout = {.frames = FRAMES,
                                    .vertices = VERTICES,
                                    .skin = what->skin ? &skin : NULL,
                                    .root = what->skin ? root : NULL,
                                    .morph_error = what->skin ? 0.02 : 0.0,
                                    .faces = 4,
                                    .corners = 12,
                                    .uvs = 3,
                                    .objects = 1,
                                    .face_counts = counts,
                                    .face_indices = corners,
                                    .uv = uv,
                                    .uv_indices = uv_indices,
                                    .object_ids = ids,
                                    .object_names = names,
                                    .object_paths = what->skin ? NULL : paths,
                                    .object_frames = what->skin ? NULL : xforms,
                                    .looks = &looks,
                                    .color = color,
                                    .fps = 24,
                                    .frame_step = 1,
                                    .velocities = true,
                                    .normals = true,
                                    .unit = 1,
                                    .up = 'y',
                                    .morphs = 3,
                                    .texture = what->texture,
                                    .clip = "walk",
                                    .application = "supple",
                                    .provenance = "a test"};
    float points[3 * VERTICES], velocities[3 * VERTICES] = {0}, normals[3 * VERTICES] = {0};
    su_cache_writer *writer;
    su_cache_report report;
    (void)threads;
    su_status status = su_cache_create(own_folder_path(what->name), SU_CACHE_AUTO, &layout, &writer, err);
    if (status != SU_OK) return status;
    for (int k = 0; k < FRAMES && status == SU_OK; k++) {
        for (int i = 0; i < 3 * VERTICES; i++) points[i] = (float)(i % 5 + sin(k * i)), normals[i] = i % 3 == 0;
        status = su_cache_frame(writer, points, velocities, normals, err);
    }
    if (status != SU_OK) {
        su_cache_abandon(writer);
        return status;
    }
    status = su_cache_commit(writer, &report, err);
    for (int i = 0; status == SU_OK && i < 4 && what->files[i]; i++) failing_memory_file(what->files[i]);
    return status;
}

static void caches(void **unused)
{
    (void)unused;
    static const cache_case cases[] = {{"a.abc", 0, {"a.abc"}, false},
                                       {"a.usda", 0, {"a.usda"}, false},
                                       {"a.usdc", 0, {"a.usdc"}, false},
                                       {"a.pc2", 0, {"a.pc2"}, false},
                                       {"a.mdd", 0, {"a.mdd"}, false},
                                       {"a.%04d.obj", 0, {"a.0000.obj", "a.0005.obj"}, false},
                                       {"a.npy", 0, {"a.npy"}, false},
                                       {"a.glb", 0, {"a.glb"}, false},
                                       {"skin.glb", 0, {"skin.glb"}, true},
                                       {"a.vat.json", SU_IMAGE_HALF, {"a.vat.json"}, false},
                                       {"b.vat.json", SU_IMAGE_PNG, {"b.vat.json"}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        failing_memory_check(cases[i].name, write_cache, (void *)(uintptr_t)&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stage_files),       cmocka_unit_test(arrays),
                                       cmocka_unit_test(rigged_files),      cmocka_unit_test(sequences),
                                       cmocka_unit_test(tables_and_forces), cmocka_unit_test(caches)};
    return cmocka_run_group_tests(tests, make_inputs, remove_inputs);
}
