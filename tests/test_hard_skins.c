/* The hard skins all the way: meshed, fitted to a bent shape of theirs and given modes, by the programs. */
#include "io/stage/fit.h"
#include "io/stage/modes.h"
#include "io/stage/poses.h"
#include "skins.h"

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

enum { WANTED = 1500 };

static char folder[] = "/tmp/supple-hard-XXXXXX";

static int run(const char *line)
{
    char command[400];
    snprintf(command, sizeof command, "%s >>log 2>&1", line);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* An arc that turns by `angle` over the skin's longest side. */
static void bend(const skin *s, double angle, double *out)
{
    double low[3], high[3];
    int along = 0;
    for (int i = 0; i < 3; i++) {
        low[i] = INFINITY, high[i] = -INFINITY;
        for (int64_t v = 0; v < s->n; v++)
            low[i] = fmin(low[i], s->x[3 * v + i]), high[i] = fmax(high[i], s->x[3 * v + i]);
        if (high[i] - low[i] > high[along] - low[along]) along = i;
    }
    int side = (along + 1) % 3, rest = (along + 2) % 3;
    double radius = (high[along] - low[along]) / angle;
    for (int64_t v = 0; v < s->n; v++) {
        const double *x = s->x + 3 * v;
        double a = angle * (x[along] - low[along]) / (high[along] - low[along]),
               r = radius - (x[side] - 0.5 * (low[side] + high[side]));
        out[3 * v + along] = r * sin(a), out[3 * v + side] = radius - r * cos(a), out[3 * v + rest] = x[rest];
    }
}

static void write_poses(const skin *s)
{
    su_poses p = {.m = 2, .nbar = s->n, .T = s->t, .s = 1};
    su_error err = {0};
    double params[2] = {0, 1}, one = 1;
    p.shapes = malloc(6 * (size_t)s->n * sizeof *p.shapes);
    memcpy(p.shapes, s->x, 3 * (size_t)s->n * sizeof *p.shapes);
    bend(s, 0.8, p.shapes + 3 * s->n);
    p.neutral = s->x, p.rigged = p.shapes, p.triangles = s->triangles, p.params = params, p.param_scale = &one;
    p.file.meta = json_pack("{ss,si,ss,ss,s[],s[s]}", "kind", "supple.poses", "version", 1, "tool", "test", "command",
                            "", "inputs", "param_names", "bend");
    if (su_poses_save("skin.poses.npz", &p, &err)) fail_msg("%s: %s", s->name, err.text);
    json_decref(p.file.meta);
    free(p.shapes);
}

/* linear: linear modes among the nine; 0: as many as supple-modes takes. */
static void check_with(skin s, int tets, int linear)
{
    char line[200];
    su_fit fit;
    su_modes modes;
    su_error err = {0};
    write_poses(&s);
    snprintf(line, sizeof line, "supple-mesh skin.poses.npz --tets %d -o skin.tet.npz --progress none", tets);
    if (run(line)) fail_msg("%s: supple-mesh fails", s.name);
    if (run("supple-fit skin.tet.npz skin.poses.npz -o skin.fit.npz --stats fit.json --progress none"))
        fail_msg("%s: supple-fit fails", s.name);
    snprintf(line, sizeof line,
             "supple-modes -r 9 --linear %d skin.tet.npz skin.fit.npz -o skin.modes.npz --progress none", linear);
    if (run(line)) fail_msg("%s: supple-modes fails", s.name);
    json_t *stats = json_load_file("fit.json", 0, NULL);
    double residual = json_number_value(json_object_get(stats, "residual"));
    int64_t collapsed = json_integer_value(json_object_get(stats, "collapsed"));
    json_decref(stats);
    if (su_fit_load("skin.fit.npz", &fit, &err) || su_modes_load("skin.modes.npz", &modes, &err))
        fail_msg("%s: %s", s.name, err.text);
    print_message("# %-30s %5lld tets, residual %.3f %%, %lld collapsed, lowest %.2f Hz, bent %.2f Hz\n", s.name,
                  (long long)fit.t, 100 * residual, (long long)collapsed, sqrt(modes.eigenvalues[0]) / (2 * M_PI),
                  sqrt(modes.eigenvalues[modes.linear]) / (2 * M_PI));
    assert_true(residual <= 0.002);
    assert_int_equal(collapsed, 0);
    assert_true(fabs(sqrt(modes.eigenvalues[0]) / (2 * M_PI) - 3.5) < 0.01);
    su_fit_free(&fit);
    su_modes_free(&modes);
    skin_free(&s);
}

static void check(skin s, int tets) { check_with(s, tets, 0); }

static void test_all(void **unused)
{
    (void)unused;
    check(skin_sphere(0.1, 10), WANTED);
    check(skin_capsule(0.05, 0.3, 12), WANTED);
    check(skin_nested(0.1, 0.05, 0), WANTED);
    check(skin_nested(0.1, 0.05, 1), WANTED);
    check(skin_half_ear(), WANTED);
    check(skin_fin(), WANTED);
    check(skin_crossing_limbs(), WANTED);
    check_with(skin_components(40), 4000,
               5); /* parts have no derivatives in common: more linear modes for as many directions */
    check(skin_degenerate(), WANTED);
    check(skin_repeated(), WANTED);
    check(skin_membrane(), WANTED);
    check(skin_scan(40), WANTED);
    check(skin_soup(), WANTED);
    check(skin_turned_around(), WANTED);
    check(skin_fingers(0.001), WANTED);
}

static int set_up(void **unused)
{
    (void)unused;
    return !mkdtemp(folder) || chdir(folder);
}

static int tear_down(void **unused)
{
    (void)unused;
    char line[100];
    snprintf(line, sizeof line, "rm -r %s", folder);
    return chdir("/") || system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
