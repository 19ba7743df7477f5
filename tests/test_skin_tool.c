/* supple skin as a program, on a beam: results, bytes, frames, poses, bad input. */
#include "scene.h"

#include "io/stage/poses.h"
#include "io/stage/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 30 };
static const double angles[] = {0.0, 0.5, -0.5};
static char folder[] = "/tmp/supple-skin-tool-XXXXXX";

static void rig(double t, double *bend, double *root)
{
    *bend = 0.4 * sin(10 * t);
    root[3] = 0.2 * t;
}

/* Runs a shell line in the folder; returns the exit status. */
static int shell(const char *line)
{
    char command[2000];
    snprintf(command, sizeof command, "cd %s && PATH=%s:$PATH && { %s; } >out 2>err", folder, getenv("BIN"), line);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Did the last run say this? */
static int says(const char *word)
{
    char command[600];
    snprintf(command, sizeof command, "grep -q '%s' %s/err", word, folder);
    return system(command) == 0;
}

static void load(const char *name, su_sim *sim)
{
    char path[400];
    su_error err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (su_sim_load(path, sim, &err) != SU_OK) fail_msg("%s", err.text);
}

static void shots_come_out_the_same_by_every_solver(void **unused)
{
    (void)unused;
    static const char *const solvers[] = {"direct", "volume", "surface", "kept", "coupled"};
    su_sim first, sim;
    for (int k = 0; k < 5; k++) {
        char line[200], name[40];
        snprintf(line, sizeof line,
                 "supple-skin -q --tolerance 1e-8 --solver %s s.tet.npz s.fit.npz s.anim.npz -o %s.npz", solvers[k],
                 solvers[k]);
        assert_int_equal(shell(line), 0);
        snprintf(name, sizeof name, "%s.npz", solvers[k]);
        load(name, k ? &sim : &first);
        if (k == 0) {
            assert_int_equal(first.F, FRAMES);
            assert_true(largest(3 * first.n * first.F, first.u) > 1e-3); /* bending strains flesh, which answers */
            assert_true(first.energy[3 * 4 + 1] > 0);
            continue;
        }
        assert_near(difference(3 * first.n * first.F, sim.u, first.u), 0, 1e-6 * 4);
        for (int64_t f = 0; f < FRAMES; f++) assert_int_equal(sim.status[f], 0);
        su_sim_free(&sim);
    }
    su_sim_free(&first);
}

static void bytes_depend_on_neither_threads_nor_parts(void **unused)
{
    (void)unused;
    assert_int_equal(
        shell("echo '{\"colliders\": [{\"shape\": \"sphere\", \"centre\": [0.5, -0.1, 0], "
              "\"radius\": 0.2}]}' "
              ">ball.json; for j in 1 2 3; do supple-skin -q -j $j --start previous --forces ball.json "
              "s.tet.npz s.fit.npz s.anim.npz -o t$j.npz || exit 9; done; cmp t1.npz t2.npz && cmp t1.npz t3.npz"),
        0);
    assert_int_equal(shell("supple-skin -q --start previous --forces ball.json --frames 14:20 s.tet.npz s.fit.npz "
                           "s.anim.npz -o part.npz"),
                     0);
    su_sim whole, part;
    load("t1.npz", &whole), load("part.npz", &part);
    assert_int_equal(part.F, 6);
    assert_int_equal(memcmp(part.u, whole.u + 14 * 3 * whole.n, (size_t)(6 * 3 * whole.n) * sizeof(double)), 0);
    su_sim_free(&whole), su_sim_free(&part);
}

static void a_collider_that_swallows_everything_gives_numbers(void **unused)
{
    (void)unused;
    assert_int_equal(
        shell("echo '{\"colliders\": [{\"shape\": \"sphere\", \"centre\": [0, 0, 0], \"radius\": 50}]}' "
              ">all.json; supple-skin -q --frames 0:3 --forces all.json s.tet.npz s.fit.npz s.anim.npz -o w.npz"),
        0);
    su_sim sim;
    load("w.npz", &sim); /* loading refuses NaN */
    su_sim_free(&sim);
}

static void still_poses_stay_where_only_contacts_move(void **unused)
{
    (void)unused;
    assert_int_equal(shell("supple-skin -q --rest posed --self-contact all s.tet.npz s.fit.npz s.anim.npz -o p.npz"),
                     0);
    su_sim sim;
    load("p.npz", &sim);
    assert_near(largest(3 * sim.n * sim.F, sim.u), 0, 1e-9);
    su_sim_free(&sim);
}

static void bad_input_is_said(void **unused)
{
    (void)unused;
    assert_int_equal(shell("supple-skin -q --frames 9:3 s.tet.npz s.fit.npz s.anim.npz -o bad.npz"), 2);
    assert_true(says("frames 9:3"));
    assert_int_equal(shell("supple-skin -q --poses --frames 0:3 s.tet.npz s.fit.npz s.anim.npz -o bad.npz"), 2);
    assert_int_equal(shell("supple-skin -q --poses s.tet.npz s.fit.npz s.anim.npz -o bad.npz"), 3);
    assert_int_equal(shell("supple-skin -q s.tet.npz s.tet.npz s.anim.npz -o bad.npz"), 3);
    assert_int_equal(shell("supple-skin -q loose.tet.npz s.fit.npz s.anim.npz -o bad.npz"), 3);
    assert_true(says("no vertex of the flesh is held"));
    assert_int_equal(shell("test -e bad.npz"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shots_come_out_the_same_by_every_solver),
        cmocka_unit_test(bytes_depend_on_neither_threads_nor_parts),
        cmocka_unit_test(a_collider_that_swallows_everything_gives_numbers),
        cmocka_unit_test(still_poses_stay_where_only_contacts_move),
        cmocka_unit_test(bad_input_is_said),
    };
    scene s;
    char path[400];
    if (!mkdtemp(folder)) return 1;
    scene_create(&s, 8, 2, 2, 3, angles, FRAMES, 30, rig, 0, NULL);
    scene_turn_rest(&s, 0.1);
    scene_save(&s, folder);
    int64_t held = s.tet.fixed_count;
    s.tet.fixed_count = 0;
    snprintf(path, sizeof path, "%s/loose.tet.npz", folder);
    su_error err = {0};
    if (su_tet_save(path, &s.tet, &err) != SU_OK) fprintf(stderr, "%s\n", err.text);
    s.tet.fixed_count = held;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_free(&s);
    snprintf(path, sizeof path, "rm -rf %s", folder);
    return failed || system(path) != 0;
}
