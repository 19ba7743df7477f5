/* supple mesh from the outside: what it writes, what it says, how it ends; TetGen replaced by programs that misbehave.
 */
#include "io/stage/poses.h"
#include "io/stage/tet.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "skins.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/supple-test-mesh-XXXXXX";

static void put_string(json_t *meta, const char *key, const char *value)
{
    json_object_set_new(meta, key, json_string(value));
}

/* A poses file with one pose and, where bones > 0, a chain of bones along y from 0 to `top`, called `word` and a
 * number, all with the same share of every vertex. */
static void write_named_poses(const char *name, skin s, int bones, const char *word, double top, const uint8_t *rigid)
{
    su_poses p = {.m = 1, .nbar = s.n, .T = s.t, .s = 1, .B = bones};
    su_error err = {0};
    double zero[1] = {0.0}, one[1] = {1.0}, segments[60] = {0}, rest[160] = {0}, poses[160] = {0};
    int32_t parent[10];
    float *weights = calloc((size_t)(s.n * (bones + 1)), sizeof *weights);
    json_t *names = json_array();
    char text[40];
    for (int b = 0; b < bones; b++) {
        segments[6 * b + 1] = top * b / bones, segments[6 * b + 4] = top * (b + 1) / bones;
        for (int i = 0; i < 4; i++) rest[16 * b + 5 * i] = poses[16 * b + 5 * i] = 1.0;
        parent[b] = b - 1;
        snprintf(text, sizeof text, "%s%d", word, b);
        json_array_append_new(names, json_string(text));
        for (int64_t v = 0; v < s.n; v++) weights[v * bones + b] = 1.0f / (float)bones;
    }
    p.neutral = p.shapes = p.rigged = s.x, p.triangles = s.triangles, p.params = zero, p.param_scale = one;
    if (bones)
        p.bone_segments = segments, p.bone_rest = rest, p.bones = poses, p.bone_parent = parent, p.weights = weights;
    p.rigid = (uint8_t *)rigid;
    p.file.meta = json_object();
    put_string(p.file.meta, "kind", "supple.poses"), json_object_set_new(p.file.meta, "version", json_integer(1));
    put_string(p.file.meta, "tool", "test"), put_string(p.file.meta, "command", "");
    json_object_set_new(p.file.meta, "inputs", json_array());
    json_t *params = json_array();
    json_array_append_new(params, json_string("p"));
    json_object_set_new(p.file.meta, "param_names", params), json_object_set_new(p.file.meta, "bone_names", names);
    if (su_poses_save(name, &p, &err)) fail_msg("%s", err.text);
    json_decref(p.file.meta);
    free(weights);
    skin_free(&s);
}

static void write_poses(const char *name, skin s, int bones, double top, const uint8_t *rigid)
{
    write_named_poses(name, s, bones, "bone", top, rigid);
}

/* Runs a shell line with the stand-in folder `with` first in PATH; returns the exit status; what it said is in log.txt.
 */
static int run(const char *with, const char *line)
{
    char command[1000];
    snprintf(command, sizeof command, "%s%s%s supple-mesh --progress none %s >log.txt 2>&1", with ? "PATH=$PWD/" : "",
             with ? with : "", with ? ":$PATH" : "", line);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *find_said(const char *text)
{
    static char log[20000];
    FILE *f = fopen("log.txt", "r");
    size_t n = fread(log, 1, sizeof log - 1, f);
    fclose(f);
    log[n] = 0;
    const char *at = strstr(log, text);
    if (!at) print_message("# '%s' not in: %s\n", text, log);
    return at;
}

static int said(const char *text) { return find_said(text) != NULL; }

static int said_at_second_ball(void)
{
    static const char place[] = "they are at (";
    const char *at = find_said(place);
    return at && fabs(strtod(at + sizeof place - 1, NULL) - 0.11) < 0.002;
}

static void stand_in(const char *name, const char *body)
{
    char path[200];
    mkdir(name, 0755);
    snprintf(path, sizeof path, "%s/tetgen", name);
    FILE *f = fopen(path, "w");
    fprintf(f, "#!/bin/sh\n%s\n", body);
    fclose(f);
    chmod(path, 0755);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    mkdir("tmp", 0755);
    setenv("TMPDIR", "tmp", 1);
    write_poses("cube.poses.npz", skin_cube(0.1, 5), 0, 0, NULL);
    write_poses("arm.poses.npz", skin_capsule(0.05, 0.4, 10), 4, 0.4, NULL);
    write_poses("scan.poses.npz", skin_scan(24), 0, 0, NULL);
    stand_in("dies", "kill -9 $$");
    stand_in("hangs", "sleep 61.0625");
    stand_in("silent", "exit 0");
    stand_in("lies",
             "printf '2 3 0 0\\n0 0 0 0\\n1 1 1 1\\n' >skin.1.node; printf '1 4 0\\n0 0 1 7 -1\\n' >skin.1.ele");
    stand_in("flat", "cp skin.smesh s; n=$(head -1 skin.smesh | cut -d' ' -f1); head -$((n+1)) skin.smesh "
                     ">skin.1.node; printf '1 4 0\\n0 0 1 2 2\\n' >skin.1.ele");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") || system(command);
}

static void expect_no_litter(const char *output)
{
    char command[200];
    snprintf(command, sizeof command, "[ -z \"$(ls tmp)\" ] && ! ls %s* 2>/dev/null", output);
    assert_int_equal(system(command), 0);
}

static void test_cube_file(void **state)
{
    (void)state;
    su_tet tet;
    su_error err = {0};
    assert_int_equal(run(NULL, "cube.poses.npz --tets 6000 -o cube.tet.npz --stats s.json"), 0);
    assert_true(said("direct: "));
    if (su_tet_load("cube.tet.npz", &tet, &err)) fail_msg("%s", err.text);
    assert_in_range(tet.t, 4800, 7200);
    assert_true(tet.fixed_count > 0 && !tet.fixed_bone);
    double volume = 0;
    for (int64_t e = 0; e < tet.t; e++) volume += su_tet_volume(tet.vertices, tet.tets + 4 * e);
    assert_true(volume > 0.999e-3 && volume < 1.001e-3);
    json_t *stats = json_load_file("s.json", 0, NULL);
    static const char *const keys[] = {"tets",   "vertices",     "dihedral_min", "dihedral_percentile_1",
                                       "volume", "volume_ratio", "held_share",   "attempts"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        assert_true(json_is_number(json_object_get(stats, keys[k])));
    assert_string_equal(json_string_value(json_object_get(stats, "method")), "direct");
    assert_true(json_integer_value(json_object_get(stats, "tets")) == tet.t);
    json_decref(stats);
    su_tet_free(&tet);
}

static void test_bones_and_free(void **state)
{
    (void)state;
    su_tet all, some;
    su_error err = {0};
    assert_int_equal(run(NULL, "arm.poses.npz --tets 3000 -o arm.tet.npz"), 0);
    assert_int_equal(run(NULL, "arm.poses.npz --tets 3000 --free bone2 -o free.tet.npz"), 0);
    if (su_tet_load("arm.tet.npz", &all, &err) || su_tet_load("free.tet.npz", &some, &err)) fail_msg("%s", err.text);
    assert_true(all.fixed_bone && some.fixed_bone);
    for (int64_t k = 0; k < all.fixed_count; k++) assert_in_range(all.fixed_bone[k], 0, 3);
    for (int64_t k = 0; k < some.fixed_count; k++) assert_in_range(some.fixed_bone[k], 0, 1); /* bone3 hangs on bone2 */
    assert_true(some.fixed_count > 0 && some.fixed_count < all.fixed_count);
    su_tet_free(&all);
    su_tet_free(&some);
    assert_int_equal(run(NULL, "arm.poses.npz --free tail -o x.tet.npz"), 3);
    assert_true(said("no bone 'tail'"));
    assert_int_equal(run(NULL, "cube.poses.npz --tets 2000 --free bone0 -o x.tet.npz"), 3);
    expect_no_litter("x.tet.npz");
}

static void test_bones_and_fixed_files(void **state)
{
    (void)state;
    su_tet tet;
    su_error err = {0};
    FILE *f = fopen("bones.txt", "w");
    fprintf(f, "# head, tail\n0 -0.04 0  0 0.2 0\n");
    fclose(f);
    f = fopen("skin.txt", "w");
    fprintf(f, "5\n17\n");
    fclose(f);
    assert_int_equal(run(NULL, "scan.poses.npz --tets 3000 --bones bones.txt --fixed skin.txt -o x.tet.npz"), 0);
    if (su_tet_load("x.tet.npz", &tet, &err)) fail_msg("%s", err.text);
    assert_null(tet.fixed_bone);
    for (int i = 0; i < 8; i++) {
        int32_t v = tet.tets[4 * (int64_t)tet.embed_tet[i < 4 ? 5 : 17] + i % 4];
        int64_t k = 0;
        while (k < tet.fixed_count && tet.fixed[k] != v) k++;
        assert_true(k < tet.fixed_count);
    }
    su_tet_free(&tet);
    unlink("x.tet.npz");
    f = fopen("bones.txt", "w");
    fprintf(f, "0 1 2 3 4\n");
    fclose(f);
    assert_int_equal(run(NULL, "scan.poses.npz --tets 3000 --bones bones.txt -o x.tet.npz"), 3);
    assert_true(said("bones.txt: line 1"));
    f = fopen("skin.txt", "w");
    fprintf(f, "1000000\n");
    fclose(f);
    assert_int_equal(run(NULL, "scan.poses.npz --tets 3000 --fixed skin.txt -o x.tet.npz"), 3);
    assert_int_equal(run(NULL, "scan.poses.npz --tets 3000 --fixed none.txt -o x.tet.npz"), 3);
    expect_no_litter("x.tet.npz");
}

static void test_rigid_vertices(void **state)
{
    (void)state;
    su_tet tet;
    su_error err = {0};
    skin s = skin_components(2);
    uint8_t *rigid = calloc((size_t)s.n, 1);
    int64_t n = s.n;
    for (int64_t v = n / 2; v < n; v++) rigid[v] = 1;
    write_poses("rigid.poses.npz", s, 0, 0, rigid);
    assert_int_equal(run(NULL, "rigid.poses.npz --tets 2000 -o r.tet.npz"), 0);
    if (su_tet_load("r.tet.npz", &tet, &err)) fail_msg("%s", err.text);
    int outside = 0;
    for (int64_t v = 0; v < 4 * n; v++) {
        if (!rigid[v / 4]) assert_true(tet.embed_bary[v] >= -1e-9);
        outside += tet.embed_bary[v] < -1e-9;
    }
    assert_true(outside > 0);
    su_tet_free(&tet);
    free(rigid);
}

/* Two balls, a bone through the first: the other is named by its place, and each part says how much of it is held. */
static void test_parts_are_named(void **state)
{
    (void)state;
    write_poses("two.poses.npz", skin_components(2), 1, 0.04, NULL);
    assert_int_equal(run(NULL, "two.poses.npz --tets 2000 -o two.tet.npz --stats two.json"), 0);
    assert_true(said("no bone passes through 1 of 2 parts") && said_at_second_ball());
    assert_true(said("by a core"));
    json_t *stats = json_load_file("two.json", 0, NULL), *parts = json_object_get(stats, "part_list");
    assert_int_equal(json_array_size(parts), 2);
    for (size_t k = 0; k < 2; k++) {
        double share = json_number_value(json_object_get(json_array_get(parts, k), "held_share"));
        assert_true(share > 0 && share < 0.5);
    }
    json_decref(stats);
    FILE *f = fopen("all.txt", "w"); /* every skin vertex of the second ball */
    skin s = skin_components(2);
    for (int64_t v = s.n / 2; v < s.n; v++) fprintf(f, "%d\n", (int)v);
    fclose(f);
    skin_free(&s);
    assert_int_equal(run(NULL, "two.poses.npz --tets 2000 --fixed all.txt -o two.tet.npz"), 0);
    assert_true(said("more than half of 1 of 2 parts is held") && said_at_second_ball());
    unlink("two.tet.npz");
}

/* A rod one tet thick, of one short bone: where that is a weapon's the rod is held to its end, and nobody is warned,
 * but not where bones alone are to hold. */
static void test_thin_hard_parts(void **state)
{
    (void)state;
    static const char *const words[] = {"bone", "staff", "staff"}, *const held[] = {"body", "body", "bones"};
    double share[3];
    for (int k = 0; k < 3; k++) {
        char arguments[128];
        write_named_poses("rod.poses.npz", skin_capsule(0.01, 0.4, 8), 1, words[k], 0.02, NULL);
        snprintf(arguments, sizeof arguments,
                 "rod.poses.npz --method sdf --tets 300 --held %s -o rod.tet.npz --stats rod.json", held[k]);
        assert_int_equal(run(NULL, arguments), 0);
        json_t *stats = json_load_file("rod.json", 0, NULL);
        share[k] = json_number_value(json_object_get(stats, "held_share"));
        json_decref(stats);
    }
    assert_true(share[0] < 0.3);
    assert_true(share[1] > 0.8);
    assert_true(share[2] == share[0]);
    unlink("rod.tet.npz");
}

static void test_misbehaving_tetgen(void **state)
{
    (void)state;
    static const char *const stand_ins[] = {"dies", "silent", "lies", "flat"};
    for (int k = 0; k < 4; k++) {
        /* killed from outside, it may do better the next time: no other mesh takes its place */
        bool killed = k == 0;
        assert_int_equal(run(stand_ins[k], "cube.poses.npz --method direct --tets 2000 -o x.tet.npz"), killed ? 75 : 1);
        assert_true(said("TetGen"));
        expect_no_litter("x.tet.npz");
        assert_int_equal(run(stand_ins[k], "cube.poses.npz --tets 2000 -o y.tet.npz"), killed ? 75 : 0);
        if (killed) continue;
        assert_true(said("meshing around the skin") && said("sdf: "));
        unlink("y.tet.npz");
    }
    assert_int_equal(run("hangs", "cube.poses.npz --method direct --tetgen-seconds 0.3 --tets 2000 -o x.tet.npz"), 75);
    assert_true(said("did not end within 0.3 s"));
    expect_no_litter("x.tet.npz");
    assert_int_equal(run("hangs", "cube.poses.npz --tetgen-seconds 0.3 --tets 2000 -o y.tet.npz"), 0);
    unlink("y.tet.npz");
    assert_int_equal(system("! ps -o args | grep -q '[s]leep 61.0625'"), 0);
}

/* The real TetGen: killed again and again while it works, stopped by its limits of time and memory. */
static void test_stopped_tetgen(void **state)
{
    (void)state;
    static const char *const work = "scan.poses.npz --method direct --tets 200000 -o x.tet.npz";
    char line[400];
    snprintf(line, sizeof line,
             "supple-mesh --progress none %s >log.txt 2>&1 & parent=$!; while kill -0 $parent 2>/dev/null; do "
             "for child in $(ps -o pid= --ppid $parent); do [ \"$(ps -o comm= -p $child)\" = tetgen ] && kill -9 "
             "$child; done; sleep 0.05; "
             "done; wait $parent",
             work);
    int status = system(line);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 75);
    assert_true(said("TetGen was killed"));
    expect_no_litter("x.tet.npz");
    snprintf(line, sizeof line, "--tetgen-seconds 1 %s", work);
    assert_int_equal(run(NULL, line), 75);
    assert_true(said("did not end within 1 s"));
    expect_no_litter("x.tet.npz");
#if !defined(__SANITIZE_ADDRESS__)
    snprintf(line, sizeof line, "--tetgen-memory 0.015 %s", work);
    assert_int_equal(run(NULL, line), 75);
    assert_true(said("TetGen ran out of memory"));
    expect_no_litter("x.tet.npz");
#endif
}

/* What a run that was killed left behind goes with the next one; what another one still holds stays. */
static void test_folders_of_killed_runs(void **state)
{
    (void)state;
    assert_int_equal(mkdir("tmp/supple-tetgen-killed", 0700), 0);
    assert_int_equal(mkdir("tmp/supple-tetgen-in-use", 0700), 0);
    FILE *left = fopen("tmp/supple-tetgen-killed/skin.smesh", "w");
    assert_non_null(left);
    fclose(left);
    int held = open("tmp/supple-tetgen-in-use", O_RDONLY | O_DIRECTORY);
    assert_true(held >= 0);
    assert_int_equal(flock(held, LOCK_SH), 0);
    assert_int_equal(run(NULL, "cube.poses.npz --method direct --tets 2000 -o x.tet.npz"), 0);
    assert_int_equal(access("tmp/supple-tetgen-killed", F_OK), -1);
    assert_int_equal(access("tmp/supple-tetgen-in-use", F_OK), 0);
    close(held);
    unlink("x.tet.npz");
    assert_int_equal(run(NULL, "cube.poses.npz --method direct --tets 2000 -o x.tet.npz"), 0);
    unlink("x.tet.npz");
    expect_no_litter("x.tet.npz");
}

/* Runs a shell line beside a file system of 64 kB in the folder `full`; -1 where that is not permitted. */
static int run_beside_full(const char *line)
{
    char command[800];
    mkdir("full", 0755);
    if (system("unshare -rm sh -c 'mount -t tmpfs -o size=64k none full' 2>/dev/null")) return -1;
    /* the last words tell what was left behind */
    snprintf(command, sizeof command,
             "unshare -rm sh -c 'mount -t tmpfs -o size=64k none full; %s >log.txt 2>&1; status=$?; "
             "ls -A full >left.txt; exit $status'",
             line);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static void test_full_disk(void **state)
{
    (void)state;
    const char *const mesh = "supple-mesh --progress none";
    char line[400];
    if (run_beside_full("true") < 0) {
        print_message("# no permission to mount a small file system\n");
        skip();
    }
    static const struct {
        const char *folder, *arguments, *message;
        int status;
    } cases[] = {
        {"full", "scan.poses.npz --method direct --tets 30000 -o x.tet.npz", "the disk is full",
         75}, /* no room for the skin */
        {"full", "cube.poses.npz --method direct --tets 6000 -o x.tet.npz", "the disk is full",
         75}, /* nor for TetGen's result */
        {"full", "cube.poses.npz --tets 6000 -o x.tet.npz", "the disk is full",
         75}, /* with room it gives another mesh */
        {"tmp", "cube.poses.npz --tets 6000 -o full/x.tet.npz", "No space left", 75},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(line, sizeof line, "TMPDIR=%s %s %s", cases[k].folder, mesh, cases[k].arguments);
        assert_int_equal(run_beside_full(line), cases[k].status);
        assert_true(said(cases[k].message));
        assert_int_equal(system("[ ! -s left.txt ]"), 0);
        expect_no_litter("x.tet.npz");
    }
}

static void test_bad_input(void **state)
{
    (void)state;
    assert_int_equal(run(NULL, "none.npz -o x.tet.npz"), 3);
    assert_int_equal(system("head -c 3000 cube.poses.npz >short.npz; printf hello >text.npz"), 0);
    assert_int_equal(run(NULL, "short.npz -o x.tet.npz"), 3);
    assert_int_equal(run(NULL, "text.npz -o x.tet.npz"), 3);
    assert_int_equal(run(NULL, "cube.poses.npz --tets 4000 -o nowhere/x.tet.npz"), 1);
    assert_int_equal(run(NULL, "cube.poses.npz --tets many -o x.tet.npz"), 2);
    assert_int_equal(run(NULL, "cube.poses.npz"), 2);
    assert_int_equal(run(NULL, "arm.poses.npz --tets 3000 -o a.tet.npz"), 0);
    assert_int_equal(run(NULL, "a.tet.npz -o x.tet.npz"), 3);
    assert_true(said("supple.poses"));
    assert_int_equal(run(NULL, "-n cube.poses.npz -o x.tet.npz"), 0);
    expect_no_litter("x.tet.npz");
}

static void test_stop_signal(void **state)
{
    (void)state;
    int status = system("timeout --preserve-status -s TERM 1 supple-mesh -q --progress none --tets 3000000 "
                        "scan.poses.npz -o x.tet.npz >log.txt 2>&1");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 75);
    expect_no_litter("x.tet.npz");
}

static void test_same_bytes(void **state)
{
    (void)state;
    assert_int_equal(run(NULL, "-j 1 arm.poses.npz --tets 3000 -o one.tet.npz"), 0);
    assert_int_equal(run(NULL, "-j 3 arm.poses.npz --tets 3000 -o three.tet.npz"), 0);
    assert_int_equal(system("cmp one.tet.npz three.tet.npz"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cube_file),
        cmocka_unit_test(test_bones_and_free),
        cmocka_unit_test(test_bones_and_fixed_files),
        cmocka_unit_test(test_rigid_vertices),
        cmocka_unit_test(test_parts_are_named),
        cmocka_unit_test(test_thin_hard_parts),
        cmocka_unit_test(test_misbehaving_tetgen),
        cmocka_unit_test(test_folders_of_killed_runs),
        cmocka_unit_test(test_stopped_tetgen),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_stop_signal),
        cmocka_unit_test(test_same_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
