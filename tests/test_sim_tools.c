/* supple fullsim, sim and compare as programs, on a beam: results, options, bytes, bad input. */
#include "io/stage/skinning.h"
#include "reduced_scene.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 12 };
static const double poses[] = {0.0, 0.5, -0.5};
static char folder[] = "/tmp/supple-sim-tools-XXXXXX";

static void rig(double t, double *bend, double *root)
{
    *bend = 0.4 * sin(10 * t);
    root[0] = root[5] = cos(0.3 * sin(8 * t)), root[4] = sin(0.3 * sin(8 * t)), root[1] = -root[4];
    root[3] = 0.2 * sin(7 * t);
}

/* Runs a shell line in the folder, programs found in BIN; returns the exit status, output in `out`. */
static int shell(const char *line)
{
    char command[2000];
    snprintf(command, sizeof command, "cd %s && PATH=%s:$PATH && { %s; } >out 2>err", folder, getenv("BIN"), line);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *output(const char *name)
{
    static char text[8000];
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = '\0';
    if (file) fclose(file);
    return text;
}

static int exists(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* Files that a failed run left under a temporary name. */
static int leftovers(void)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));) count += strstr(entry->d_name, ".tmp.") != NULL;
    closedir(dir);
    return count;
}

/* First number after a word of compare's report, in %. */
static double figure(const char *word)
{
    const char *at = strstr(output("out"), word);
    return at ? strtod(at + strcspn(at, "0123456789"), NULL) : NAN;
}

/* Rows of a rig: the mass of the flesh, alone and along the beam; 1: no rows, 2: one twice, 3: one vertex more, 4: meta
 * says that nothing is held. */
static void save_rows(const scene *s, int kind, const char *name)
{
    int64_t n = s->tet.n + (kind == 3);
    char path[400];
    su_error err = {0};
    double eigenvalue = 1, *weights = calloc((size_t)n, sizeof(double)),
           *rows = calloc((size_t)(2 * n), sizeof(double));
    su_skinning file = {.n = n, .k = 1, .rows = kind == 1 ? 0 : 2, .weights = weights, .leak = weights};
    file.eigenvalues = &eigenvalue, file.rig_rows = kind == 1 ? NULL : rows;
    for (int64_t v = 0; v < s->tet.n; v++)
        weights[v] = 1, rows[v] = 1, rows[n + v] = kind == 2 ? 2 : s->tet.vertices[3 * v];
    file.file.meta = json_object();
    if (kind == 4) json_object_set_new(file.file.meta, "held", json_false());
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (su_skinning_save(path, &file, &err) != SU_OK) fprintf(stderr, "%s\n", err.text);
    json_decref(file.file.meta);
    free(weights), free(rows);
}

static int set_up(void **unused)
{
    (void)unused;
    if (!getenv("BIN") || !mkdtemp(folder)) return -1;
    scene s;
    scene_create(&s, 3, 1, 1, 3, poses, FRAMES, 30, rig, 0, NULL);
    scene_save(&s, folder);
    reduced_scene r;
    reduced_options options = {.r = 0, .regions = 1, .stride = 1};
    reduced_create(&r, &s, &options);
    char path[400];
    su_error err = {0};
    r.model.surface = s.tet.surface, r.model.b = s.tet.b;
    json_object_set_new(r.model.file.meta, "material", json_string("neohookean"));
    json_object_set_new(r.model.file.meta, "frequency", json_real(4.0));
    json_object_set_new(r.model.file.meta, "param_names", json_pack("[s]", "bend"));
    save_rows(&s, 0, "s.skinning.npz"), save_rows(&s, 1, "none.skinning.npz"), save_rows(&s, 2, "twice.skinning.npz");
    save_rows(&s, 3, "other.skinning.npz"), save_rows(&s, 4, "loose.skinning.npz");
    snprintf(path, sizeof path, "%s/s.model.npz", folder);
    su_status status = su_model_save(path, &r.model, &err);
    if (status != SU_OK) fprintf(stderr, "%s\n", err.text);
    reduced_free(&r);
    scene_free(&s);
    return status == SU_OK ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    char command[400];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void a_spanning_basis_compares_as_equal(void **unused)
{
    (void)unused;
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o full.npz -j 1"), 0);
    assert_int_equal(shell("supple-sim s.model.npz s.anim.npz -o sim.npz --newton 50 --tolerance 1e-10"), 0);
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz sim.npz full.npz --csv frames.csv"), 0);
    assert_true(figure("error of u") < 1e-3);
    assert_true(figure("largest skin displacement") > 1.0); /* mm */
    int lines = 0;
    for (const char *at = output("frames.csv"); *at; at++) lines += *at == '\n';
    assert_int_equal(lines, FRAMES + 1);
    /* One linear solve a step on both sides is the same approximation. */
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o full1.npz --newton 1"), 0);
    assert_int_equal(shell("supple-sim s.model.npz s.anim.npz -o sim1.npz --newton 1"), 0);
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz sim1.npz full1.npz -o -"), 0);
    assert_true(figure("error of u") < 5e-3); /* per cent; the only solve's matrix is summed in float: 1.6e-3 here */
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz full1.npz full.npz -o report.txt"), 0);
    assert_non_null(strstr(output("report.txt"), "full1.npz against full.npz"));
}

/* An animated mesh on the command line of both programs: a floor that rises into the beam. */
static void both_programs_feel_a_mesh(void **unused)
{
    (void)unused;
    assert_int_equal(shell("for k in 0 1 2; do for v in \"-3 3\" \"3 3\" \"-3 -3\" \"3 -3\"; do set -- $v; "
                           "echo v $1 0.0$((3 * k)) $2; done >floor.$k.obj; echo f 1 2 4 3 >>floor.$k.obj; done"),
                     0);
    assert_int_equal(
        shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o on.npz --collider floor.%d.obj --tolerance 1e-10"), 0);
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o off.npz"), 0);
    assert_int_equal(
        shell("supple-sim s.model.npz s.anim.npz -o sim.npz --collider floor.%d.obj --newton 50 --tolerance 1e-10"), 0);
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz sim.npz on.npz"), 0);
    assert_true(figure("error of u") < 1e-2);
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz off.npz on.npz"), 0);
    assert_true(figure("error of u") > 5);
}

static void threads_and_repeats_give_the_same_bytes(void **unused)
{
    (void)unused;
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o a.npz -j 1"), 0);
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o b.npz -j 2 -q && cmp a.npz b.npz"), 0);
}

/* Told to stop at its first checkpoint, then taken up again; killed, then taken up with other settings. */
static void an_interrupted_run_ends_with_the_same_bytes(void **unused)
{
    (void)unused;
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o whole.npz -q"), 0);
    assert_int_equal(
        shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o part.npz -q --checkpoint 1 & pid=$!; "
              "while ! [ -e part.npz.checkpoint ] && kill -0 $pid; do :; done; kill -TERM $pid; wait $pid; "
              "code=$?; [ $code = 75 ] || [ $code = 0 ]"),
        0);
    assert_int_equal(
        shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o part.npz --resume && cmp whole.npz part.npz"), 0);
    assert_false(exists("part.npz.checkpoint"));
    /* another setting, another run */
    assert_int_equal(
        shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o other.npz -q --checkpoint 1 & pid=$!; "
              "while ! [ -e other.npz.checkpoint ] && kill -0 $pid; do :; done; kill -KILL $pid; wait $pid; "
              "rm -f *.tmp.*; [ -e other.npz.checkpoint ] || exit 0; "
              "supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o other.npz --resume --stiffness 2; [ $? = 3 ]"),
        0);
}

/* What fullsim makes under a constraint is a simulation like any other; without rows it is the one without. */
static void a_rig_constrains_the_flesh(void **unused)
{
    (void)unused;
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o free.npz"), 0);
    assert_int_equal(
        shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o none.npz --complementary none.skinning.npz"), 0);
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz none.npz free.npz"), 0);
    assert_near(figure("error of u"), 0, 0);
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o rows.npz --complementary s.skinning.npz "
                           "--rest neutral --material arap -j 1"),
                     0);
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o again.npz --complementary s.skinning.npz "
                           "--rest neutral --material arap -j 2 && cmp rows.npz again.npz"),
                     0);
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz rows.npz free.npz"), 0);
    assert_true(figure("error of u") > 5);
    assert_int_equal(shell("supple-export s.model.npz s.anim.npz rows.npz -o rows.pc2"), 0);
    assert_int_equal(shell("supple-info rows.npz"), 0);
    assert_non_null(strstr(output("out"), "complementary"));
    assert_non_null(strstr(output("out"), "neutral"));
    assert_non_null(strstr(output("out"), "arap"));
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o held.npz --complementary s.skinning.npz "
                           "--no-hold"),
                     0);
    assert_int_equal(
        shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o loose.npz --complementary loose.skinning.npz"), 0);
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz held.npz loose.npz"), 0);
    assert_near(figure("error of u"), 0, 0);
}

static void compare_warns_of_other_equations(void **unused)
{
    (void)unused;
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o soft.npz --stiffness 50% --decay 0.2"), 0);
    assert_int_equal(shell("supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o hard.npz"), 0);
    assert_int_equal(shell("supple-compare s.model.npz s.anim.npz soft.npz hard.npz"), 0);
    assert_non_null(strstr(output("err"), "different stiffness"));
    assert_non_null(strstr(output("err"), "different beta"));
    assert_null(strstr(output("err"), "different gravity"));
    assert_true(figure("error of u") > 5);
}

static void bad_input_ends_in_a_message(void **unused)
{
    (void)unused;
    static const struct {
        const char *line;
        int status;
        const char *says;
    } cases[] = {
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o x.npz --teleport 99", 2, "99"},
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o x.npz --teleport two", 2, "two"},
        {"supple-fullsim s.tet.npz s.fit.npz -o x.npz", 2, ""},
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o x.npz --stiffness -1", 2, "stiffness"},
        {"supple-fullsim s.tet.npz s.anim.npz s.fit.npz -o x.npz", 3, "supple.fit"},
        {"supple-fullsim s.tet.npz none.npz s.anim.npz -o x.npz", 3, "none.npz"},
        {"head -c 5000 s.fit.npz >cut.npz; supple-fullsim s.tet.npz cut.npz s.anim.npz -o x.npz", 3, "cut.npz"},
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o /nowhere/x.npz", 1, "/nowhere"},
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o x.npz --no-hold", 2, "--complementary"},
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o x.npz --complementary s.fit.npz", 3, "supple.skinning"},
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o x.npz --complementary other.skinning.npz", 3,
         "made for another mesh"},
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o x.npz --complementary twice.skinning.npz", 3,
         "twice.skinning.npz: the rig's row 1 depends on those before it"},
        {"supple-fullsim s.tet.npz s.fit.npz s.anim.npz -o x.npz --rest posed", 2, "rest"},
        {"supple-compare s.model.npz s.anim.npz s.fit.npz s.fit.npz", 3, "supple.sim"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shell(cases[i].line), cases[i].status);
        const char *said = output("err");
        if (!strstr(said, cases[i].says)) fail_msg("%s says: %s", cases[i].line, said);
        assert_false(exists("x.npz"));
        assert_int_equal(leftovers(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spanning_basis_compares_as_equal),
        cmocka_unit_test(both_programs_feel_a_mesh),
        cmocka_unit_test(threads_and_repeats_give_the_same_bytes),
        cmocka_unit_test(an_interrupted_run_ends_with_the_same_bytes),
        cmocka_unit_test(a_rig_constrains_the_flesh),
        cmocka_unit_test(compare_warns_of_other_equations),
        cmocka_unit_test(bad_input_ends_in_a_message),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
