/* PC2, MDD, OBJ and sequences of them: bytes as the formats say, what is written comes back, bad files are refused. */
#include "io/cache/mdd.h"
#include "io/cache/obj.h"
#include "io/cache/pc2.h"
#include "io/cache/sequence.h"
#include "io/cache/sequence_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *stream = fopen(in_folder(name), "wb");
    fputs(text, stream);
    fclose(stream);
}

static const float frames[2][6] = {{0, 1, 2, 3, 4, 5}, {1.5f, -2, 3.25f, 1e-7f, 123456.789f, 5}};

static void pc2_bytes_are_as_specified(void **state)
{
    (void)state;
    su_error err;
    su_pc2_writer writer;
    assert_int_equal(su_pc2_create(&writer, in_folder("a.pc2"), 2, 2, 1001, 1, &err), SU_OK);
    for (int k = 0; k < 2; k++) assert_int_equal(su_pc2_frame(&writer, frames[k], &err), SU_OK);
    assert_int_equal(su_pc2_commit(&writer, &err), SU_OK);
    uint8_t bytes[100];
    FILE *stream = fopen(path, "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, stream), 32 + 2 * 24);
    fclose(stream);
    static const uint8_t head[32] = {'P',  'O',  'I',  'N',
                                     'T',  'C',  'A',  'C',
                                     'H',  'E',  '2',  0,
                                     1,    0,    0,    0,
                                     2,    0,    0,    0,
                                     0x00, 0x40, 0x7a, 0x44 /* 1001 */,
                                     0,    0,    0x80, 0x3f /* 1 */,
                                     2,    0,    0,    0};
    assert_memory_equal(bytes, head, sizeof head);
    assert_memory_equal(bytes + 32, frames, sizeof frames);

    su_pc2 file;
    float points[6];
    assert_int_equal(su_pc2_open(&file, path, &err), SU_OK);
    assert_int_equal(file.points, 2);
    assert_int_equal(file.samples, 2);
    assert_true(file.start_frame == 1001.0);
    assert_int_equal(su_pc2_read(&file, 1, points, &err), SU_OK);
    assert_memory_equal(points, frames[1], sizeof points);
    su_pc2_close(&file);

    assert_int_equal(truncate(path, 32 + 47), 0);
    assert_int_equal(su_pc2_open(&file, path, &err), SU_INPUT);
    assert_int_equal(truncate(path, 20), 0);
    assert_int_equal(su_pc2_open(&file, path, &err), SU_INPUT);

    assert_int_equal(su_pc2_create(&writer, in_folder("b.pc2"), 2, 2, 1, 1, &err), SU_OK);
    assert_int_equal(su_pc2_frame(&writer, frames[0], &err), SU_OK);
    assert_int_equal(su_pc2_commit(&writer, &err), SU_FAILED); /* a sample is missing */
    assert_int_not_equal(access(path, F_OK), 0);
}

static void mdd_bytes_are_as_specified(void **state)
{
    (void)state;
    su_error err;
    su_mdd_writer writer;
    const double times[2] = {0.5, 1.0};
    assert_int_equal(su_mdd_create(&writer, in_folder("a.mdd"), 2, 2, times, &err), SU_OK);
    for (int k = 0; k < 2; k++) assert_int_equal(su_mdd_frame(&writer, frames[k], &err), SU_OK);
    assert_int_equal(su_mdd_commit(&writer, &err), SU_OK);
    uint8_t bytes[100];
    FILE *stream = fopen(path, "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, stream), 16 + 2 * 24);
    fclose(stream);
    static const uint8_t head[28] = {0, 0, 0, 2, 0, 0, 0,    2,    0x3f, 0, 0,    0, 0x3f, 0x80,
                                     0, 0, 0, 0, 0, 0, 0x3f, 0x80, 0,    0, 0x40, 0, 0,    0}; /* 0 1 2 */
    assert_memory_equal(bytes, head, sizeof head);

    su_mdd file;
    float points[6];
    assert_int_equal(su_mdd_open(&file, path, &err), SU_OK);
    assert_true(file.points == 2 && file.samples == 2 && file.times[0] == 0.5 && file.times[1] == 1.0);
    assert_int_equal(su_mdd_read(&file, 1, points, &err), SU_OK);
    assert_memory_equal(points, frames[1], sizeof points);
    su_mdd_close(&file);
    assert_int_equal(truncate(path, 60), 0);
    assert_int_equal(su_mdd_open(&file, path, &err), SU_INPUT);
    write_text("huge.mdd", "\x7f\xff\xff\xff\x7f\xff\xff\xff    ");
    assert_int_equal(su_mdd_open(&file, path, &err), SU_INPUT);
}

static const char two_objects[] = "# test\n"
                                  "o first\r\n"
                                  "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
                                  "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
                                  "f 1/1 2/2 \\\n 3/3/9 4/4\n"
                                  "o second part\n"
                                  "v 0 0 1.25\nv 1 0 1\nv 1 1 1\n"
                                  "f -3/1 -2/2 -1/3\n"
                                  "l 1 2\n";

static void obj_keeps_order_polygons_and_names(void **state)
{
    (void)state;
    su_error err;
    su_obj obj, again;
    write_text("two.obj", two_objects);
    assert_int_equal(su_obj_load(path, &obj, &err), SU_OK);
    assert_true(obj.vertices == 7 && obj.faces == 2 && obj.corners == 7 && obj.uvs == 4 && obj.objects == 2);
    static const int32_t indices[7] = {0, 1, 2, 3, 4, 5, 6}, uvs[7] = {0, 1, 2, 3, 0, 1, 2},
                         ids[7] = {0, 0, 0, 0, 1, 1, 1};
    assert_memory_equal(obj.face_indices, indices, sizeof indices);
    assert_memory_equal(obj.uv_indices, uvs, sizeof uvs);
    assert_memory_equal(obj.object_ids, ids, sizeof ids);
    assert_string_equal(obj.object_names[1], "second part");
    float points[21];
    for (int i = 0; i < 21; i++) points[i] = 0.1f * (float)i - 1.0f / 3.0f;
    for (int mixed = 0; mixed < 2; mixed++) {
        if (mixed) obj.object_ids[0] = 1, obj.object_ids[4] = 0; /* vertices no longer stand together */
        assert_int_equal(su_obj_save(in_folder("again.obj"), &obj, points, "made by a test", &err), SU_OK);
        assert_int_equal(su_obj_load(path, &again, &err), SU_OK);
        assert_true(again.vertices == 7 && again.faces == 2 && again.objects == 2);
        for (int i = 0; i < 21; i++) assert_true((float)again.points[i] == points[i]); /* nine digits are exact */
        assert_memory_equal(again.face_indices, indices, sizeof indices);
        assert_memory_equal(again.uv_indices, uvs, sizeof uvs);
        assert_memory_equal(again.uv, obj.uv, 8 * sizeof(float));
        su_obj_free(&again);
    }
    su_obj_free(&obj);
}

static void bad_obj_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } rows[] = {{"v 0 0\n", ":1:"},
                {"v 0 0 0\nv 1 nan 0\n", ":2:"},
                {"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", ":4:"},
                {"v 0 0 0\nf 1 1 -2\n", ":2:"},
                {"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/1 2/1 3/1\n", ":4:"},
                {"v 0 0 0\nf 1 2 99999999999999999999\n", ":2:"},
                {"", "no vertices"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        su_error err;
        su_obj obj;
        write_text("bad.obj", rows[i].text);
        assert_int_equal(su_obj_load(path, &obj, &err), SU_INPUT);
        assert_non_null(strstr(err.text, rows[i].line));
    }
}

static void numbered_files_make_a_sequence(void **state)
{
    (void)state;
    su_error err;
    su_sequence *sequence;
    char name[64], text[256];
    for (int k = 9; k <= 12; k++) {
        snprintf(name, sizeof name, "walk.%04d.obj", k);
        snprintf(text, sizeof text, "v 0 0 %d\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", k);
        write_text(name, text);
    }
    static const char *const patterns[] = {"walk.%04d.obj", "walk.*.obj"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(su_sequence_open(in_folder(patterns[i]), NULL, &sequence, &err), SU_OK);
        assert_int_equal(sequence->frames, 4);
        assert_int_equal(sequence->vertices, 3);
        assert_false(sequence->timed);
        assert_true(sequence->frame_start == 9.0 && sequence->times[3] == 12.0);
        double points[9];
        for (int k = 0; k < 4; k++) {
            assert_int_equal(su_sequence_read(sequence, k, points, &err), SU_OK);
            assert_true(points[2] == 9.0 + k);
        }
        su_sequence_close(sequence);
    }
    write_text("walk.0011.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 5 5\nf 1 2 3\n");
    double points[9];
    assert_int_equal(su_sequence_open(in_folder("walk.%04d.obj"), NULL, &sequence, &err), SU_OK);
    assert_int_equal(su_sequence_read(sequence, 2, points, &err), SU_INPUT); /* another topology */
    assert_non_null(strstr(err.text, "4 vertices, 3"));
    su_sequence_close(sequence);
    unlink(in_folder("walk.0011.obj"));
    assert_int_equal(su_sequence_open(in_folder("walk.%04d.obj"), NULL, &sequence, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "frame 11 is missing"));
    assert_int_equal(su_sequence_open(in_folder("run.%04d.obj"), NULL, &sequence, &err), SU_INPUT);
    assert_int_equal(su_sequence_open(in_folder("walk.xyz"), NULL, &sequence, &err), SU_INPUT);

    char *made;
    assert_int_equal(su_pattern_path("out/x%04dy.obj", 7, &made, &err), SU_OK);
    assert_string_equal(made, "out/x0007y.obj");
    free(made);
    assert_int_equal(su_pattern_path("out/x.####.obj", 7, &made, &err), SU_OK);
    assert_string_equal(made, "out/x.0007.obj");
    free(made);
    assert_int_equal(su_pattern_path("out/x.$F3.obj", 7, &made, &err), SU_OK);
    assert_string_equal(made, "out/x.007.obj");
    free(made);
    assert_true(su_is_pattern("a/x.$F.obj") && su_is_pattern("x.##.obj") && su_is_pattern("x*.obj"));
    assert_false(su_is_pattern("take#1.obj") || su_is_pattern("a##/x$G.obj"));
    assert_int_equal(su_pattern_path("out/x%d.####.obj", 7, &made, &err), SU_USAGE);
    assert_int_equal(su_pattern_path("out/x%s.obj", 7, &made, &err), SU_USAGE);
    assert_int_equal(su_pattern_path("out/x%d%d.obj", 7, &made, &err), SU_USAGE);
    assert_int_equal(su_pattern_path("out/x.obj", 7, &made, &err), SU_USAGE);
}

static void point_caches_take_the_topology_of_their_neutral(void **state)
{
    (void)state;
    su_error err;
    su_sequence *sequence;
    su_pc2_writer pc2;
    su_mdd_writer mdd;
    float points[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const double times[3] = {10 / 24.0, 11 / 24.0, 12 / 24.0};
    char neutral[128], cache[128];
    write_text("rest.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    snprintf(neutral, sizeof neutral, "%s", path);
    assert_int_equal(su_pc2_create(&pc2, in_folder("c.pc2"), 3, 3, 10, 1, &err), SU_OK);
    assert_int_equal(su_mdd_create(&mdd, in_folder("c.mdd"), 3, 3, times, &err), SU_OK);
    for (int k = 0; k < 3; k++) {
        points[0] = (float)k;
        assert_int_equal(su_pc2_frame(&pc2, points, &err), SU_OK);
        assert_int_equal(su_mdd_frame(&mdd, points, &err), SU_OK);
    }
    assert_int_equal(su_pc2_commit(&pc2, &err), SU_OK);
    assert_int_equal(su_mdd_commit(&mdd, &err), SU_OK);
    for (int i = 0; i < 2; i++) {
        snprintf(cache, sizeof cache, "%s", in_folder(i ? "c.mdd" : "c.pc2"));
        double read[9];
        assert_int_equal(su_sequence_open(cache, neutral, &sequence, &err), SU_OK);
        assert_true(sequence->frames == 3 && sequence->faces == 1 && sequence->neutral &&
                    sequence->frame_start == 10.0);
        if (i) assert_true(sequence->timed && sequence->fps == 24.0);
        assert_int_equal(su_sequence_read(sequence, 2, read, &err), SU_OK);
        assert_true(read[0] == 2.0 && read[8] == 8.0);
        su_sequence_close(sequence);
        assert_int_equal(su_sequence_open(cache, NULL, &sequence, &err), SU_OK);
        assert_null(sequence->face_counts);
        su_sequence_close(sequence);
    }
    write_text("rest.obj", two_objects);
    assert_int_equal(su_sequence_open(in_folder("c.pc2"), neutral, &sequence, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "3 points, its neutral mesh 7"));
}

static void alembic_and_obj_sequences_agree(void **state)
{
    (void)state;
    const char *data = getenv("SUPPLE_DATA");
    char cache[512], files[512];
    snprintf(cache, sizeof cache, "%s/mesh_sequences/bone/Bone_Anim.abc", data ? data : "");
    snprintf(files, sizeof files, "%s/mesh_sequences/bone/obj/bone_%%04d.obj", data ? data : "");
    if (!data || access(cache, R_OK) != 0) skip();
    su_error err;
    su_sequence *abc, *obj;
    assert_int_equal(su_sequence_open(cache, NULL, &abc, &err), SU_OK);
    assert_int_equal(su_sequence_open(files, NULL, &obj, &err), SU_OK);
    assert_true(abc->frames == 400 && obj->frames == 48 && abc->vertices == obj->vertices &&
                abc->corners == obj->corners);
    assert_true(abc->fps == 24.0 && abc->frame_start == 1.0);
    double *a = malloc((size_t)abc->vertices * 24), *b = malloc((size_t)abc->vertices * 24), worst = 0.0;
    for (int k = 0; k < 48; k += 5) {
        assert_int_equal(su_sequence_read(abc, 201 + k, a, &err), SU_OK);
        assert_int_equal(su_sequence_read(obj, k, b, &err), SU_OK);
        for (int64_t i = 0; i < 3 * abc->vertices; i++) worst = fmax(worst, fabs(a[i] - b[i]));
    }
    if (worst > 2e-6) fail_msg("positions differ by %g", worst);
    free(a);
    free(b);
    su_sequence_close(abc);
    su_sequence_close(obj);
}

/* Every cut and many flips of a small file of each format: no crash, and whatever opens can be read. */
static void damage_never_crashes(void **state)
{
    (void)state;
    static const char *const names[] = {"two.obj", "c.pc2", "c.mdd"};
    uint64_t random = 7;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint8_t bytes[2048], broken[2048];
        char source[128], target[160];
        snprintf(source, sizeof source, "%s", in_folder(names[i]));
        snprintf(target, sizeof target, "%s/broken%s", folder, strrchr(names[i], '.'));
        FILE *stream = fopen(source, "rb");
        size_t size = fread(bytes, 1, sizeof bytes, stream);
        fclose(stream);
        for (int round = 0; round < 1500; round++) {
            size_t count = round < (int)size ? (size_t)round : size;
            memcpy(broken, bytes, count);
            for (int k = 0; k < 2 && count == size; k++) {
                random = random * 6364136223846793005ULL + 1442695040888963407ULL;
                broken[(random >> 33) % size] = (uint8_t)(random >> 20);
            }
            stream = fopen(target, "wb");
            fwrite(broken, 1, count, stream);
            fclose(stream);
            su_error err;
            su_sequence *sequence;
            if (su_sequence_open(target, NULL, &sequence, &err) != SU_OK) continue;
            double *points = malloc((size_t)sequence->vertices * 24);
            for (int64_t k = 0; k < sequence->frames; k++) (void)su_sequence_read(sequence, k, points, &err);
            free(points);
            su_sequence_close(sequence);
        }
    }
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_caches_%d", (int)getpid());
    mkdir(folder, 0777);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc2_bytes_are_as_specified),
        cmocka_unit_test(mdd_bytes_are_as_specified),
        cmocka_unit_test(obj_keeps_order_polygons_and_names),
        cmocka_unit_test(bad_obj_is_refused_with_its_line),
        cmocka_unit_test(numbered_files_make_a_sequence),
        cmocka_unit_test(point_caches_take_the_topology_of_their_neutral),
        cmocka_unit_test(alembic_and_obj_sequences_agree),
        cmocka_unit_test(damage_never_crashes),
    };
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? status : 1;
}
