#include "readers.h"

#include "core/npz.h"
#include "io/stage/anim.h"
#include "io/cache/obj.h"
#include "io/scene/scene_parse.h"
#include "io/scene/scene_load.h"
#include "io/scene/scene_stream.h"
#include "io/scene/usd_skel.h"
#include "io/cache/sequence.h"
#include "io/table.h"
#include "rig/character.h"
#include "rig/joint_curves.h"
#include "rig/sequence_take.h"
#include "rig/take.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FRAMES = 40, MOST_CLIPS = 3, MOST_VALUES = 300000, MOST_POINTS = 4000 };

static void load_again(const char *path)
{
    su_anim anim = {0};
    su_error err;
    if (su_anim_load(path, &anim, &err) != SU_OK) { /* what import writes, every other program must accept */
        fprintf(stderr, "the written animation is refused: %s\n", err.text);
        abort();
    }
    su_anim_free(&anim);
}

static char *whole_file(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = fd >= 0 && fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    ssize_t got = bytes ? read(fd, bytes, (size_t)st.st_size) : -1;
    if (fd >= 0) close(fd);
    *size = got < 0 ? 0 : (size_t)got;
    return bytes;
}

/* ---- rigged characters ---- */

/* What su_scene_load does, without the child. */
static su_status scene_here(const char *path, const char *folder, su_scene *scene, su_error *err)
{
    char message[800] = "", crossing[500];
    su_scene parsed = {0};
    snprintf(crossing, sizeof crossing, "%s/scene", folder);
    int fd = su_scene_parse(path, &parsed, message, sizeof message) == 0
                 ? open(crossing, O_RDWR | O_CREAT | O_TRUNC, 0600)
                 : -1;
    int failed = fd < 0 || su_scene_encode(&parsed, fd) != 0;
    su_scene_free(&parsed);
    if (fd >= 0) close(fd);
    if (failed) return su_fail(err, SU_INPUT, "%s", message);
    size_t size;
    char *bytes = whole_file(crossing, &size);
    su_status status = bytes ? su_scene_decode(bytes, size, scene, err) : SU_FAILED;
    free(bytes);
    return status == SU_OK ? su_scene_check(scene, err) : status;
}

static void sample_clip(const su_scene *scene, const su_character *character, const su_scene_clip *clip,
                        const char *out, bool dual)
{
    su_take_range range;
    su_take take = {0};
    su_error err;
    if (su_take_frames(scene, clip, 0.0, NAN, NAN, NAN, &range, &err) != SU_OK) return;
    if (range.frames > MOST_FRAMES) range.frames = MOST_FRAMES;
    if (range.frames * (character->nbar + 16 * character->B) > MOST_VALUES) range.frames = 1;
    if (su_take_create(character, clip, &range, &take, &err) == SU_OK) {
        json_t *meta = json_pack("{s:s, s:i}", "kind", "supple.anim", "version", 1);
        take.dual = dual;
        if (su_take_save(&take, out, clip, meta, 1, NULL, &err) == SU_OK) load_again(out);
        json_decref(meta);
    }
    su_take_free(&take);
}

static void read_rigged(const char *path, const char *folder, bool here)
{
    const su_child_limits limits = {.seconds = 60.0, .memory_bytes = (int64_t)4 << 30};
    su_scene scene = {0};
    su_error err;
    char out[500];
    snprintf(out, sizeof out, "%s/out.npz", folder);
    su_status status = here ? scene_here(path, folder, &scene, &err) : su_scene_load(path, &limits, &scene, &err);
    if (status == SU_OK) {
        su_character character = {0};
        const su_character_options wanted = {.up = -1};
        if (su_character_create(&scene, &wanted, &character, &err) == SU_OK &&
            character.nbar * (character.B + 3 * character.K) < MOST_VALUES)
            for (int64_t i = 0; i < scene.clips && i < MOST_CLIPS; i++)
                sample_clip(&scene, &character, &scene.clip[i], out, i % 2);
        su_character_free(&character);
    }
    su_scene_free(&scene);
}

/* ---- sequences ---- */

static void read_sequence(const char *path, const char *neutral, const char *folder)
{
    su_sequence *sequence = NULL;
    su_sequence_take take = {0};
    su_error err;
    char out[500];
    snprintf(out, sizeof out, "%s/out.npz", folder);
    const su_sequence_options wanted = {
        .scale = 1.0, .up = 1, .neutral_frame = -1, .first = NAN, .last = NAN, .number = NAN};
    if (su_sequence_open(path, neutral, &sequence, &err) != SU_OK) return;
    if (su_sequence_take_create(sequence, path, &wanted, NULL, &take, &err) == SU_OK &&
        take.anim.F * take.anim.nbar < MOST_POINTS) {
        json_t *meta = json_pack("{s:s, s:i}", "kind", "supple.anim", "version", 1);
        if (su_sequence_take_save(&take, out, "clip", meta, NULL, &err) == SU_OK) load_again(out);
        json_decref(meta);
    }
    su_sequence_take_free(&take);
    su_sequence_close(sequence);
}

static void read_mesh_sequence(const char *path, const char *folder, bool here)
{
    (void)here;
    read_sequence(path, NULL, folder);
}

/* A cache without faces, on a mesh of four vertices. */
static void read_point_cache(const char *path, const char *folder, bool here)
{
    char neutral[500];
    (void)here;
    snprintf(neutral, sizeof neutral, "%s/neutral.obj", folder);
    if (access(neutral, R_OK) != 0) {
        FILE *file = fopen(neutral, "w");
        if (!file) return;
        fputs("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n", file);
        fclose(file);
    }
    read_sequence(path, neutral, folder);
    read_sequence(path, NULL, folder);
}

static void read_obj(const char *path, const char *folder, bool here)
{
    su_obj obj = {0};
    su_error err;
    char out[500];
    snprintf(out, sizeof out, "%s/out.obj", folder);
    if (su_obj_load(path, &obj, &err) == SU_OK) { /* as a sculpt, and written again */
        float *points = malloc((size_t)(3 * obj.vertices + 1) * sizeof *points);
        for (int64_t i = 0; points && i < 3 * obj.vertices; i++)
            points[i] = (float)fmax(fmin(obj.points[i], 1e30), -1e30);
        if (points) su_obj_save(out, &obj, points, NULL, &err);
        free(points);
        su_obj_free(&obj);
    }
    read_mesh_sequence(path, folder, here);
}

/* ---- arrays and tables ---- */

static void read_npz(const char *path, const char *folder, bool here)
{
    su_npz *file = NULL;
    su_error err;
    char out[500];
    (void)here;
    snprintf(out, sizeof out, "%s/out.npz", folder);
    if (su_npz_open(path, &file, &err) == SU_OK) {
        for (int i = 0; i < su_npz_count(file); i++) {
            const void *data;
            su_npz_data(file, su_npz_entry_at(file, i), &data, &err);
        }
        su_npz_close(file);
    }
    for (const su_schema *const *at = su_schemas; *at; at++) {
        void *object = calloc(1, (*at)->size);
        if (object && su_schema_load(*at, path, object, &err) == SU_OK) {
            su_schema_save(*at, out, object, &err);
            su_schema_free(*at, object);
        }
        free(object);
    }
}

static void read_table(const char *path, const char *folder, bool here)
{
    static const char *shape_name = "smile";
    static su_scene_node node[2] = {{.name = "hip", .parent = -1, .local = {1, [5] = 1, [10] = 1, [15] = 1}},
                                    {.name = "knee", .parent = 0, .local = {1, [5] = 1, [10] = 1, [15] = 1}}};
    su_scene_mesh mesh = {.name = "skin", .shapes = 1, .shape_names = &shape_name, .shape_defaults = (double[]){0.0}};
    su_scene_instance instance = {1, 0};
    su_scene scene = {.node = node, .nodes = 2, .mesh = &mesh, .meshes = 1, .instance = &instance, .instances = 1};
    su_scene_clip clip = {0};
    su_table table = {0};
    su_error err;
    (void)folder, (void)here;
    if (su_table_load(path, &table, &err) == SU_OK) {
        su_joint_curves(&scene, &table, path, "curves", 24.0, 1.0, &clip, &err);
        su_table_free(&table);
        su_arena_free(&scene.arena);
    }
}

static void read_usd(const char *path, const char *folder, bool here)
{
    bool skinned;
    su_error err;
    if (su_usd_is_skinned(path, &skinned, &err) == SU_OK && skinned) read_rigged(path, folder, here);
    read_mesh_sequence(path, folder, here);
}

static void read_npy(const char *path, const char *folder, bool here)
{
    static const su_dtype types[] = {SU_F64, SU_F32, SU_I32, SU_I64, SU_U8};
    su_error err;
    for (int i = 0; i < 5; i++) {
        int dimensions;
        int64_t shape[SU_MAX_DIMENSIONS];
        void *data = NULL;
        if (su_npy_load(path, types[i], &dimensions, shape, &data, &err) == SU_OK) free(data);
    }
    read_table(path, folder, here);
}

static void read_arrays(const char *path, const char *folder, bool here)
{
    size_t length = strlen(path);
    (length > 4 && strcmp(path + length - 4, ".npy") == 0 ? read_npy : read_npz)(path, folder, here);
}

const file_reader file_readers[] = {
    {"gltf", {".glb", ".gltf"}, read_rigged},
    {"fbx", {".fbx"}, read_rigged},
    {"collada", {".dae"}, read_rigged},
    {"obj", {".obj"}, read_obj},
    {"ply", {".ply"}, read_mesh_sequence},
    {"pc2", {".pc2"}, read_point_cache},
    {"mdd", {".mdd"}, read_point_cache},
    {"alembic", {".abc"}, read_mesh_sequence},
    {"usda", {".usda"}, read_usd},
    {"usdc", {".usdc", ".usdz"}, read_usd},
    {"npz", {".npz", ".npy"}, read_arrays},
    {"csv", {".csv"}, read_table},
    {NULL, {NULL}, NULL},
};

const file_reader *file_reader_named(const char *name)
{
    for (const file_reader *at = file_readers; at->name; at++)
        if (strcmp(at->name, name) == 0) return at;
    return NULL;
}
