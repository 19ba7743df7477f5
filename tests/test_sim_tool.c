/* supple-sim from the outside: bytes, batches, interruption, bad input. */
#include "core/child.h"
#include "core/file.h"
#include "core/memory.h"
#include "io/stage/anim.h"
#include "io/stage/model.h"
#include "io/stage/sim.h"
#include "reduced_scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRAMES = 40 };

static const double poses3[] = {0.0, 0.8, -0.8};
static char folder[64];

static void rig_swing(double t, double *bend, double *root)
{
    *bend = 0.5 * sin(9.0 * t);
    root[3] = 0.3 * sin(7.0 * t), root[11] = 0.2 * t * t;
}

/* The same, and a leap of the rig that no step of few modes follows. */
static void rig_leap(double t, double *bend, double *root)
{
    rig_swing(t, bend, root);
    root[3] += t > 0.65 ? 30 : 0;
}

static const char *at(const char *name)
{
    static char paths[8][200];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Runs supple-sim with these words; the message in tail. */
static int sim(char tail[2000], const char *const *words)
{
    const char *argv[20];
    int count = 0;
    const char *bin = getenv("BIN");
    char program[300];
    snprintf(program, sizeof program, "%s/supple-sim", bin ? bin : "bin");
    argv[count++] = program;
    for (; *words; words++) argv[count++] = *words;
    argv[count++] = "-q";
    argv[count] = NULL;
    su_child_limits limits = {.seconds = 60};
    su_child_result result;
    su_error err = {0};
    if (su_child_run(argv, NULL, &limits, &result, &err) != SU_OK) fail_msg("%s", err.text);
    if (tail) memcpy(tail, result.tail, sizeof result.tail);
    return result.end == SU_CHILD_EXITED ? result.code : -1;
}
#define SIM(tail, ...) sim(tail, (const char *const[]){__VA_ARGS__, NULL})

static void same_bytes(const char *a, const char *b)
{
    char x[33], y[33];
    su_error err = {0};
    if (su_file_digest(a, x, &err) != SU_OK || su_file_digest(b, y, &err) != SU_OK) fail_msg("%s", err.text);
    assert_string_equal(x, y);
}

static int make_files(void **unused)
{
    (void)unused;
    snprintf(folder, sizeof folder, "/tmp/supple-test-sim-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    scene s;
    scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, rig_swing, 0, NULL);
    reduced_scene r;
    reduced_options options = {.r = 13, .regions = 2, .stride = 2};
    reduced_create(&r, &s, &options);
    json_object_set_new(r.model.file.meta, "frequency", json_real(4.0));
    int32_t none[4] = {0};
    r.model.surface = none;
    su_error err = {0};
    su_anim anim = s.anim;
    int32_t corners[3] = {0, 1, 2}, three[1] = {3};
    anim.T = anim.P = 1, anim.corners = anim.N = 3;
    anim.triangles = anim.face_indices = anim.source_vertex = corners, anim.face_counts = three;
    anim.file.meta = json_object();
    if (su_model_save(at("c.model.npz"), &r.model, &err) != SU_OK ||
        su_anim_save(at("swing.anim.npz"), &anim, &err) != SU_OK ||
        su_anim_save(at("again.anim.npz"), &anim, &err) != SU_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    json_object_set_new(r.model.file.meta, "trained_displacement", json_real(1e-3));
    if (su_model_save(at("shy.model.npz"), &r.model, &err) != SU_OK) return 1;
    /* a model trained for the paper's interpolation */
    reduced_free(&r);
    options.interpolation = SU_LINEAR;
    reduced_create(&r, &s, &options);
    json_object_set_new(r.model.file.meta, "frequency", json_real(4.0));
    json_object_set_new(r.model.file.meta, "interpolation", json_string("linear"));
    r.model.surface = none;
    if (su_model_save(at("linear.model.npz"), &r.model, &err) != SU_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    /* a model whose elastic energy has no lower bound: few of its forces, and a linear part that pushes */
    reduced_free(&r);
    options = (reduced_options){.r = 13, .regions = 1, .stride = 2, .one = true, .lacking = true};
    reduced_create(&r, &s, &options);
    json_object_set_new(r.model.file.meta, "frequency", json_real(4.0));
    r.model.surface = none;
    for (int64_t k = 0; k < r.model.m * r.model.c; k++) r.model.cubature_weights[k] *= 1e-6;
    for (int k = 0; k < 13 * 13; k++) r.model.linear_stiffness[k] = k % 14 ? 0 : -30;
    if (su_model_save(at("negative.model.npz"), &r.model, &err) != SU_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    json_decref(anim.file.meta);
    reduced_free(&r);
    scene_save(&s, folder); /* s.anim.npz: with the whole skin */
    scene_free(&s);
    scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, rig_leap, 0, NULL);
    if (mkdir(at("leap"), 0777) != 0) return 1;
    scene_save(&s, at("leap"));
    scene_free(&s);
    return 0;
}

static int remove_files(void **unused)
{
    (void)unused;
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void bytes_do_not_depend_on_threads_or_checkpoints(void **unused)
{
    (void)unused;
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), "-o", at("a.sim.npz"), "-j", "1"), 0);
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), "-o", at("b.sim.npz"), "-j", "2"), 0);
    assert_int_equal(
        SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), "-o", at("c.sim.npz"), "--checkpoint", "7", "--resume"), 0);
    same_bytes(at("a.sim.npz"), at("b.sim.npz"));
    same_bytes(at("a.sim.npz"), at("c.sim.npz"));
    assert_int_not_equal(access(at("c.sim.npz.checkpoint"), F_OK), 0);
    su_sim result;
    assert_int_equal(su_sim_load(at("a.sim.npz"), &result, NULL), SU_OK);
    assert_int_equal(result.F, FRAMES);
    assert_int_equal(result.r, 13);
    const json_t *meta = result.file.meta;
    assert_string_equal(json_string_value(json_object_get(meta, "gravity_mode")), "relative");
    assert_true(json_number_value(json_object_get(meta, "beta")) > 0);
    assert_int_equal(json_integer_value(json_object_get(meta, "substeps")), 3);
    su_sim_free(&result);
}

static void several_clips_go_into_a_folder(void **unused)
{
    (void)unused;
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), at("again.anim.npz"), "-o", at("out")), 0);
    su_sim a, b;
    assert_int_equal(su_sim_load(at("out/swing.sim.npz"), &a, NULL), SU_OK);
    assert_int_equal(su_sim_load(at("out/again.sim.npz"), &b, NULL), SU_OK);
    assert_memory_equal(a.q, b.q, (size_t)(FRAMES * 13) * sizeof(double));
    su_sim_free(&a), su_sim_free(&b);
}

static void the_model_says_how_to_interpolate(void **unused)
{
    (void)unused;
    assert_int_equal(SIM(NULL, at("linear.model.npz"), at("swing.anim.npz"), "-o", at("own.sim.npz")), 0);
    assert_int_equal(
        SIM(NULL, at("linear.model.npz"), at("swing.anim.npz"), "-o", at("same.sim.npz"), "--interpolation", "linear"),
        0);
    assert_int_equal(SIM(NULL, at("linear.model.npz"), at("swing.anim.npz"), "-o", at("other.sim.npz"),
                         "--interpolation", "corotated"),
                     0);
    su_sim own, same, other;
    assert_int_equal(su_sim_load(at("own.sim.npz"), &own, NULL), SU_OK);
    assert_int_equal(su_sim_load(at("same.sim.npz"), &same, NULL), SU_OK);
    assert_int_equal(su_sim_load(at("other.sim.npz"), &other, NULL), SU_OK);
    assert_string_equal(json_string_value(json_object_get(own.file.meta, "interpolation")), "linear");
    assert_memory_equal(own.q, same.q, (size_t)(FRAMES * 13) * sizeof(double));
    assert_memory_not_equal(own.q, other.q, (size_t)(FRAMES * 13) * sizeof(double));
    su_sim_free(&own), su_sim_free(&same), su_sim_free(&other);
}

static void forces_act_and_survive_interruption(void **unused)
{
    (void)unused;
    char tail[2000];
    FILE *file = fopen(at("forces.json"), "w");
    fputs("{\"points\": 20, \"stiffness\": 1e5, \"wind\": {\"velocity\": [0, 0, 8], \"drag\": 30},\n"
          " \"forces\": [{\"vertex\": 19, \"force\": [0, 0, 5]}],\n"
          " \"colliders\": [{\"shape\": \"plane\", \"point\": [0, -0.1, 0], \"normal\": [0, 1, 0]}]}\n",
          file);
    fclose(file);
    assert_int_equal(
        SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), "-o", at("f.sim.npz"), "--forces", at("forces.json")), 0);
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), "-o", at("g.sim.npz"), "--forces",
                         at("forces.json"), "--checkpoint", "7", "--resume", "-j", "2"),
                     0);
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), "-o", at("h.sim.npz")), 0);
    same_bytes(at("f.sim.npz"), at("g.sim.npz"));
    su_sim with, without;
    assert_int_equal(su_sim_load(at("f.sim.npz"), &with, NULL), SU_OK);
    assert_int_equal(su_sim_load(at("h.sim.npz"), &without, NULL), SU_OK);
    assert_memory_not_equal(with.q + 13, without.q + 13, 13 * sizeof(double));
    su_sim_free(&with), su_sim_free(&without);
    file = fopen(at("forces.json"), "w");
    fputs("{\"colliders\": [{\"shape\": \"cube\"}]}", file);
    fclose(file);
    assert_int_equal(
        SIM(tail, at("c.model.npz"), at("swing.anim.npz"), "-o", at("x.sim.npz"), "--forces", at("forces.json")), 3);
    assert_non_null(strstr(tail, "forces.json"));
    assert_int_equal(
        SIM(tail, at("c.model.npz"), at("swing.anim.npz"), "-o", at("x.sim.npz"), "--forces", at("none.json")), 3);
}

/* A floor that rises, as OBJ files on the command line, and named by a forces file in the same folder. */
static void meshes_push(void **unused)
{
    (void)unused;
    char tail[2000];
    for (int k = 0; k < 3; k++) {
        char name[30];
        snprintf(name, sizeof name, "floor.%d.obj", k);
        FILE *file = fopen(at(name), "w");
        for (int v = 0; v < 4; v++) fprintf(file, "v %d %g %d\n", v & 1 ? 3 : -3, -0.3 + 0.1 * k, v & 2 ? -3 : 3);
        fputs("f 1 2 4 3\n", file);
        fclose(file);
    }
    FILE *file = fopen(at("floor.json"), "w");
    fputs("{\"colliders\": [{\"shape\": \"mesh\", \"file\": \"floor.%d.obj\"}]}", file);
    fclose(file);
    assert_int_equal(
        SIM(tail, at("c.model.npz"), at("s.anim.npz"), "-o", at("f.sim.npz"), "--collider", at("floor.%d.obj")), 0);
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("s.anim.npz"), "-o", at("g.sim.npz"), "--collider",
                         at("floor.%d.obj"), "--checkpoint", "7", "--resume", "-j", "2"),
                     0);
    assert_int_equal(
        SIM(NULL, at("c.model.npz"), at("s.anim.npz"), "-o", at("h.sim.npz"), "--forces", at("floor.json")), 0);
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("s.anim.npz"), "-o", at("i.sim.npz")), 0);
    same_bytes(at("f.sim.npz"), at("g.sim.npz"));
    su_sim on, named, without;
    assert_int_equal(su_sim_load(at("f.sim.npz"), &on, NULL), SU_OK);
    assert_int_equal(su_sim_load(at("h.sim.npz"), &named, NULL), SU_OK);
    assert_int_equal(su_sim_load(at("i.sim.npz"), &without, NULL), SU_OK);
    assert_memory_equal(on.q, named.q, (size_t)(FRAMES * 13) * sizeof(double));
    assert_memory_not_equal(on.q + 13 * (FRAMES - 1), without.q + 13 * (FRAMES - 1), 13 * sizeof(double));
    assert_int_equal(json_array_size(json_object_get(on.file.meta, "colliders")), 1);
    su_sim_free(&on), su_sim_free(&named), su_sim_free(&without);
    assert_int_equal(
        SIM(tail, at("c.model.npz"), at("s.anim.npz"), "-o", at("x.sim.npz"), "--collider", at("none.%d.obj")), 3);
    assert_non_null(strstr(tail, "none.%d.obj"));
    assert_int_equal(
        SIM(tail, at("c.model.npz"), at("s.anim.npz"), "-o", at("x.sim.npz"), "--collider", at("c.model.npz")), 3);
}

static void a_cycle_repeats(void **unused)
{
    (void)unused;
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), "-o", at("cycle.sim.npz"), "--loop"), 0);
    su_sim once, cycle;
    assert_int_equal(SIM(NULL, at("c.model.npz"), at("swing.anim.npz"), "-o", at("once.sim.npz")), 0);
    assert_int_equal(su_sim_load(at("once.sim.npz"), &once, NULL), SU_OK);
    assert_int_equal(su_sim_load(at("cycle.sim.npz"), &cycle, NULL), SU_OK);
    const double *last = cycle.q + (FRAMES - 1) * 13;
    double gap = 0, start = 0, size = 0;
    for (int k = 0; k < 13; k++)
        gap += pow(cycle.q[k] - last[k], 2), start += pow(once.q[k], 2), size += pow(last[k], 2);
    assert_true(start == 0);
    assert_true(gap < 1e-4 * size);
    su_sim_free(&once), su_sim_free(&cycle);
}

/* The worst status of a run. */
static int worst(const su_sim *sim)
{
    int most = 0;
    for (int64_t k = 0; k < sim->F; k++) most = sim->status[k] > most ? sim->status[k] : most;
    return most;
}

static void failed_frames_are_status_4(void **unused)
{
    (void)unused;
    char tail[2000];
    char leap[200];
    snprintf(leap, sizeof leap, "%s", at("leap/s.anim.npz"));
    assert_int_equal(SIM(tail, at("c.model.npz"), leap, "-o", at("leap.sim.npz")), 4);
    assert_non_null(strstr(tail, "follows the rig at frames 19, 21 (2 of 40"));
    assert_non_null(strstr(tail, "--estimate"));
    assert_non_null(strstr(tail, "--accept"));
    assert_int_equal(SIM(tail, at("c.model.npz"), leap, "-o", at("accepted.sim.npz"), "--accept"), 0);
    assert_non_null(strstr(tail, "follows the rig at frames 19, 21"));
    same_bytes(at("leap.sim.npz"), at("accepted.sim.npz"));
    assert_int_equal(SIM(NULL, at("c.model.npz"), leap, at("swing.anim.npz"), "-o", at("both")), 4);
    su_sim failed, other, full;
    assert_int_equal(su_sim_load(at("leap.sim.npz"), &failed, NULL), SU_OK);
    assert_int_equal(su_sim_load(at("both/swing.sim.npz"), &other, NULL), SU_OK); /* goes on */
    assert_int_equal(worst(&failed), 3);
    assert_int_equal(worst(&other), 0);
    /* where the full space is at hand such a shot is played there */
    assert_int_equal(SIM(tail, at("c.model.npz"), leap, "-o", at("full.sim.npz"), "--estimate", at("s.tet.npz"),
                         at("s.fit.npz"), "--stats", at("full.json")),
                     0);
    assert_null(strstr(tail, "follows the rig"));
    assert_int_equal(su_sim_load(at("full.sim.npz"), &full, NULL), SU_OK);
    assert_int_equal(full.full, FRAMES);
    assert_true(worst(&full) < 2);
    su_sim_free(&failed), su_sim_free(&other), su_sim_free(&full);
}

/* A model that saw little is told of where it is made to move far; a sentence on what moved goes into a file. */
static void what_moved_is_told(void **unused)
{
    (void)unused;
    char tail[2000], text[2000] = "";
    assert_int_equal(SIM(tail, at("shy.model.npz"), at("s.anim.npz"), "-o", at("m.sim.npz"), "--moved", at("m.txt"),
                         "--stiffness", "20%"),
                     0);
    assert_non_null(strstr(tail, "times as far as in anything the model was trained on"));
    FILE *file = fopen(at("m.txt"), "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(length > 0);
    assert_ptr_equal(strstr(text, "s.anim.npz: largest displacement "), text);
    assert_null(strstr(text, "--amount"));
    /* stiff as wood it hardly moves */
    assert_int_equal(SIM(tail, at("shy.model.npz"), at("s.anim.npz"), "-o", at("m.sim.npz"), "--moved", at("m.txt"),
                         "--stiffness", "1e6"),
                     0);
    assert_null(strstr(tail, "warning"));
    file = fopen(at("m.txt"), "r");
    length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    fclose(file);
    assert_non_null(strstr(text, "the body stays below 0.3 %: this clip hardly shakes it"));
    assert_int_equal(
        SIM(tail, at("c.model.npz"), at("s.anim.npz"), at("swing.anim.npz"), "-o", at("both"), "--moved", at("m.txt")),
        2);
}

static void negative_energy_is_told(void **unused)
{
    (void)unused;
    char tail[2000];
    assert_int_equal(SIM(tail, at("negative.model.npz"), at("s.anim.npz"), "-o", at("n.sim.npz"), "--accept"), 0);
    assert_non_null(strstr(tail, "elastic energy is negative at frames "));
    assert_int_equal(SIM(tail, at("c.model.npz"), at("s.anim.npz"), "-o", at("n.sim.npz")), 0);
    assert_null(strstr(tail, "warning"));
}

static void bad_input_ends_in_one_message(void **unused)
{
    (void)unused;
    char tail[2000];
    FILE *file = fopen(at("text.npz"), "w");
    fputs("this is no archive", file);
    fclose(file);
    assert_int_equal(SIM(tail, at("missing.npz"), at("swing.anim.npz"), "-o", at("x.sim.npz")), 3);
    assert_non_null(strstr(tail, "missing.npz"));
    assert_int_equal(SIM(tail, at("text.npz"), at("swing.anim.npz"), "-o", at("x.sim.npz")), 3);
    assert_int_equal(SIM(tail, at("swing.anim.npz"), at("c.model.npz"), "-o", at("x.sim.npz")), 3);
    assert_int_equal(SIM(tail, at("c.model.npz"), "-o", at("x.sim.npz")), 2);
    assert_int_equal(SIM(tail, at("c.model.npz"), at("swing.anim.npz"), "-o", at("x.sim.npz"), "--newton", "0"), 2);
    assert_int_equal(SIM(tail, at("c.model.npz"), at("swing.anim.npz"), "-o", at("no/such/x.sim.npz")), 1);
    assert_int_not_equal(access(at("x.sim.npz"), F_OK), 0);
    /* a checkpoint of other settings is not taken up */
    assert_int_equal(SIM(NULL, "-n", at("c.model.npz"), at("swing.anim.npz"), "-o", at("x.sim.npz")), 0);
    file = fopen(at("x.sim.npz.checkpoint"), "w");
    fputs("not a checkpoint", file);
    fclose(file);
    assert_int_equal(SIM(tail, at("c.model.npz"), at("swing.anim.npz"), "-o", at("x.sim.npz"), "--resume"), 3);
    assert_int_not_equal(access(at("x.sim.npz"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_do_not_depend_on_threads_or_checkpoints),
        cmocka_unit_test(several_clips_go_into_a_folder),
        cmocka_unit_test(the_model_says_how_to_interpolate),
        cmocka_unit_test(forces_act_and_survive_interruption),
        cmocka_unit_test(meshes_push),
        cmocka_unit_test(a_cycle_repeats),
        cmocka_unit_test(failed_frames_are_status_4),
        cmocka_unit_test(what_moved_is_told),
        cmocka_unit_test(negative_energy_is_told),
        cmocka_unit_test(bad_input_ends_in_one_message),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
