/* supple fit and supple modes as programs, on a bending bar made here: conventions, single poses, bad input. */
#include "box.h"
#include "geometry/ties.h"
#include "io/stage/fit.h"
#include "io/stage/modes.h"
#include "io/stage/poses.h"
#include "io/stage/tet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/supple-fit-XXXXXX";

/* Runs a command line in the folder, output dropped; returns its exit status. */
static int run(const char *format, ...)
{
    char arguments[2000], line[2600];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    snprintf(line, sizeof line, "cd %s && %s >>log 2>&1", folder, arguments);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *in_folder(const char *name)
{
    static char path[4][200];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof *path, "%s/%s", folder, name);
    return path[turn];
}

static bool exists(const char *name) { return access(in_folder(name), F_OK) == 0; }

static void bend(int64_t count, const double *in, double angle, double *out)
{
    for (int64_t v = 0; v < count; v++) {
        double a = angle * in[3 * v] / 4, radius = angle == 0 ? 0 : 4 / angle, y = in[3 * v + 1] - 0.5;
        out[3 * v] = angle == 0 ? in[3 * v] : (radius - y) * sin(a);
        out[3 * v + 1] = 0.5 + (angle == 0 ? y : radius - (radius - y) * cos(a));
        out[3 * v + 2] = in[3 * v + 2];
    }
}

/* A box of flesh whose skin is its side faces' vertices; x = 0 is held. Poses bend it by 0, 0.8, -0.8 rad. */
static int set_up(void **unused)
{
    (void)unused;
    if (!mkdtemp(folder)) return -1;
    box_mesh box = box_mesh_create(12, 4, 4, 4, 1, 1);
    su_error err = {0};
    su_tet tet = {.n = box.n, .t = box.t};
    su_poses poses = {.m = 3, .s = 1};
    int32_t *skin_of = malloc((size_t)box.n * sizeof *skin_of);
    tet.vertices = box.vertices, tet.tets = box.tets;
    for (int64_t v = 0; v < box.n; v++) {
        const double *x = box.vertices + 3 * v;
        bool side = x[1] < 1e-9 || x[1] > 1 - 1e-9 || x[2] < 1e-9 || x[2] > 1 - 1e-9 || x[0] < 1e-9 || x[0] > 4 - 1e-9;
        skin_of[v] = side ? (int32_t)poses.nbar++ : -1;
        tet.fixed_count += x[0] < 1e-9;
    }
    tet.nbar = poses.nbar;
    tet.fixed = malloc((size_t)tet.fixed_count * sizeof *tet.fixed);
    for (int64_t k = 0; k < tet.fixed_count; k++) tet.fixed[k] = (int32_t)k;
    tet.embed_tet = calloc((size_t)tet.nbar, sizeof(int32_t)),
    tet.embed_bary = calloc(4 * (size_t)tet.nbar, sizeof(double));
    poses.neutral = malloc(3 * (size_t)poses.nbar * sizeof(double));
    poses.triangles = malloc(12 * (size_t)box.t * sizeof(int32_t));
    for (int64_t e = 0; e < box.t; e++)
        for (int a = 0; a < 4; a++) {
            int32_t v = box.tets[4 * e + a], s = skin_of[v];
            if (s < 0) continue;
            tet.embed_tet[s] = (int32_t)e;
            for (int b = 0; b < 4; b++) tet.embed_bary[4 * s + b] = a == b;
            memcpy(poses.neutral + 3 * s, box.vertices + 3 * v, 3 * sizeof(double));
        }
    tet.surface = malloc(12 * (size_t)box.t * sizeof(int32_t));
    static const int face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    for (int64_t e = 0; e < box.t; e++)
        for (int f = 0; f < 4; f++) {
            int32_t v[3];
            int side[6] = {0};
            for (int c = 0; c < 3; c++) {
                v[c] = box.tets[4 * e + face[f][c]];
                for (int i = 0; i < 3; i++) {
                    double high = i == 0 ? 4 : 1;
                    side[2 * i] += box.vertices[3 * v[c] + i] < 1e-9;
                    side[2 * i + 1] += box.vertices[3 * v[c] + i] > high - 1e-9;
                }
            }
            bool boundary = false;
            for (int s = 0; s < 6; s++) boundary |= side[s] == 3;
            if (!boundary) continue;
            for (int c = 0; c < 3; c++) {
                tet.surface[3 * tet.b + c] = v[c];
                poses.triangles[3 * tet.b + c] = skin_of[v[c]];
            }
            tet.b++;
        }
    poses.T = tet.b;
    tet.ties = SU_TIES;
    tet.shepard_index = malloc(SU_TIES * (size_t)tet.n * sizeof(int32_t));
    tet.shepard_weight = malloc(SU_TIES * (size_t)tet.n * sizeof(double));
    su_status status =
        su_ties(tet.n, tet.vertices, NULL, &(su_tie_skin){.count = tet.nbar, .x = poses.neutral}, 1, tet.shepard_index,
                tet.shepard_weight, &err);
    double params[3] = {0, 0.8, -0.8}, scale = 1;
    poses.params = params, poses.param_scale = &scale;
    poses.shapes = malloc(9 * (size_t)poses.nbar * sizeof(double));
    for (int i = 0; i < 3; i++) bend(poses.nbar, poses.neutral, params[i], poses.shapes + 3 * i * poses.nbar);
    poses.rigged = poses.shapes;
    tet.file.meta = json_pack("{ss,si}", "kind", "supple.tet", "version", 1);
    poses.file.meta = json_pack("{ss,si,s[s]}", "kind", "supple.poses", "version", 1, "param_names", "bend");
    if (status == SU_OK) status = su_tet_save(in_folder("bar.tet.npz"), &tet, &err);
    if (status == SU_OK) status = su_poses_save(in_folder("bar.poses.npz"), &poses, &err);
    if (status != SU_OK) printf("# %s\n", err.text);
    free(tet.fixed), free(tet.embed_tet), free(tet.embed_bary), free(tet.surface), free(skin_of);
    free(tet.shepard_index), free(tet.shepard_weight), free(poses.neutral), free(poses.triangles), free(poses.shapes);
    json_decref(tet.file.meta), json_decref(poses.file.meta);
    box_mesh_free(&box);
    return status != SU_OK || run("supple-fit bar.tet.npz bar.poses.npz -o bar.fit.npz") != 0 ||
           run("supple-modes -r 24 bar.tet.npz bar.fit.npz -o bar.modes.npz") != 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    char line[100];
    snprintf(line, sizeof line, "rm -r %s", folder);
    return system(line);
}

static void test_fit_conventions(void **unused)
{
    (void)unused;
    su_tet tet;
    su_fit fit;
    su_poses poses;
    assert_int_equal(su_tet_load(in_folder("bar.tet.npz"), &tet, NULL), SU_OK);
    assert_int_equal(su_fit_load(in_folder("bar.fit.npz"), &fit, NULL), SU_OK);
    assert_int_equal(su_poses_load(in_folder("bar.poses.npz"), &poses, NULL), SU_OK);
    assert_true(fit.k == 3 && fit.m == 3 && fit.pose[2] == 2);
    /* docs/formats.md, convention 3 */
    assert_memory_equal(fit.shapes, tet.vertices, 3 * (size_t)tet.n * sizeof(double));
    for (int64_t i = 0; i < 3 * tet.n; i++) assert_true(fit.corrections[i] == 0);
    /* corrections are what remains against the ties, held vertices included */
    for (int pose = 1; pose < 3; pose++)
        for (int64_t v = 0; v < tet.n; v++)
            for (int i = 0; i < 3; i++) {
                double x = tet.vertices[3 * v + i] + fit.corrections[3 * (pose * tet.n + v) + i];
                for (int64_t k = tet.ties * v; k < tet.ties * (v + 1); k++) {
                    int64_t s = tet.shepard_index[k];
                    x += tet.shepard_weight[k] *
                         (poses.shapes[3 * (pose * tet.nbar + s) + i] - poses.neutral[3 * s + i]);
                }
                assert_true(fabs(x - fit.shapes[3 * (pose * tet.n + v) + i]) < 1e-12);
            }
    assert_string_equal(json_string_value(json_object_get(fit.file.meta, "material")), "tissue");
    assert_int_equal(json_array_size(json_object_get(fit.file.meta, "pose_digests")), 3);
    assert_string_equal(json_string_value(json_array_get(json_object_get(fit.file.meta, "param_names"), 0)), "bend");
    su_tet_free(&tet), su_fit_free(&fit), su_poses_free(&poses);
}

static void test_modes_conventions(void **unused)
{
    (void)unused;
    su_tet tet;
    su_fit fit;
    su_modes modes;
    assert_int_equal(su_tet_load(in_folder("bar.tet.npz"), &tet, NULL), SU_OK);
    assert_int_equal(su_fit_load(in_folder("bar.fit.npz"), &fit, NULL), SU_OK);
    assert_int_equal(su_modes_load(in_folder("bar.modes.npz"), &modes, NULL), SU_OK);
    assert_true(modes.k == 3 && modes.r == 24 && modes.linear == 8 && modes.d == 1);
    /* the default, 3.5 Hz at the neutral pose */
    assert_true(fabs(sqrt(modes.eigenvalues[0]) / (7 * acos(-1.0)) - 1) < 1e-6);
    double *mass = calloc((size_t)tet.n, sizeof *mass);
    for (int64_t e = 0; e < tet.t; e++)
        for (int a = 0; a < 4; a++) mass[tet.tets[4 * e + a]] += 1000 * (4.0 / (12 * 4 * 4 * 6)) / 4;
    for (int64_t p = 0; p < 3; p++)
        for (int64_t i = 0; i < 24; i++)
            for (int64_t j = 0; j <= i; j++) {
                const double *u = modes.modes + 3 * (24 * p + i) * tet.n, *v = modes.modes + 3 * (24 * p + j) * tet.n;
                double product = 0;
                for (int64_t k = 0; k < 3 * tet.n; k++) product += mass[k / 3] * u[k] * v[k];
                assert_true(fabs(product - (i == j)) < 1e-9);
            }
    for (int64_t p = 0; p < 72; p++)
        for (int64_t k = 0; k < tet.fixed_count; k++)
            for (int i = 0; i < 3; i++) assert_true(modes.modes[3 * (p * tet.n + tet.fixed[k]) + i] == 0);
    for (int64_t v = 0; v < tet.n; v++) assert_true(modes.region_weights[v] == (v < tet.fixed_count ? 0 : 1));
    free(mass);
    su_tet_free(&tet), su_fit_free(&fit), su_modes_free(&modes);
}

/* A pose made alone is the pose made with the others: same numbers, same digest. Threads change no byte. */
static void test_single_poses(void **unused)
{
    (void)unused;
    su_fit all, one;
    su_modes modes, single;
    assert_int_equal(run("supple-fit -j 2 bar.tet.npz bar.poses.npz -o two.fit.npz && cmp two.fit.npz bar.fit.npz"), 0);
    assert_int_equal(run("supple-fit -j 1 bar.tet.npz bar.poses.npz -o two.fit.npz && cmp two.fit.npz bar.fit.npz"), 0);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --pose 2 -o one.fit.npz"), 0);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --suggest 2 -o bad.fit.npz"), 2); /* of which shots? */
    assert_false(exists("bad.fit.npz"));
    assert_int_equal(run("supple-modes -r 24 -j 1 bar.tet.npz bar.fit.npz -o two.modes.npz && "
                         "cmp two.modes.npz bar.modes.npz"),
                     0);
    assert_int_equal(run("supple-modes -r 24 bar.tet.npz one.fit.npz --pose 2 -o one.modes.npz"), 0);
    assert_int_equal(su_fit_load(in_folder("bar.fit.npz"), &all, NULL), SU_OK);
    assert_int_equal(su_fit_load(in_folder("one.fit.npz"), &one, NULL), SU_OK);
    assert_int_equal(su_modes_load(in_folder("bar.modes.npz"), &modes, NULL), SU_OK);
    assert_int_equal(su_modes_load(in_folder("one.modes.npz"), &single, NULL), SU_OK);
    assert_true(one.k == 1 && one.pose[0] == 2 && single.k == 1 && single.pose[0] == 2);
    assert_memory_equal(one.shapes, all.shapes + 6 * all.n, 3 * (size_t)all.n * sizeof(double));
    assert_memory_equal(one.young, all.young + 2 * all.t, (size_t)all.t * sizeof(double));
    assert_memory_equal(single.modes, modes.modes + 3 * 48 * all.n, 72 * (size_t)all.n * sizeof(double));
    assert_string_equal(json_string_value(json_array_get(json_object_get(all.file.meta, "pose_digests"), 2)),
                        json_string_value(json_array_get(json_object_get(one.file.meta, "pose_digests"), 0)));
    assert_string_equal(json_string_value(json_array_get(json_object_get(modes.file.meta, "pose_digests"), 2)),
                        json_string_value(json_array_get(json_object_get(single.file.meta, "pose_digests"), 0)));
    assert_string_not_equal(json_string_value(json_array_get(json_object_get(modes.file.meta, "pose_digests"), 1)),
                            json_string_value(json_array_get(json_object_get(single.file.meta, "pose_digests"), 0)));
    su_fit_free(&all), su_fit_free(&one), su_modes_free(&modes), su_modes_free(&single);
}

static void test_young(void **unused)
{
    (void)unused;
    su_fit fit;
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --young 5e4 --poisson 0.3 --density 900 --material stvk "
                         "--softness even -o young.fit.npz"),
                     0);
    assert_int_equal(su_fit_load(in_folder("young.fit.npz"), &fit, NULL), SU_OK);
    assert_true(fit.young[0] == 5e4 && fit.young[3 * fit.t - 1] == 5e4 && fit.poisson[7] == 0.3 &&
                fit.density[9] == 900);
    assert_string_equal(json_string_value(json_object_get(fit.file.meta, "material")), "stvk");
    su_fit_free(&fit);
}

/* Paints the skin of the bar: E twice as stiff for x > 3 at the poses below `from`, `muscle` times for x > 2 at and
 * after. */
static void paint(double muscle, int from, double stiff, const char *name)
{
    su_poses poses;
    assert_int_equal(su_poses_load(in_folder("bar.poses.npz"), &poses, NULL), SU_OK);
    double *young = malloc((size_t)(3 * poses.nbar) * sizeof *young),
           *poisson = malloc((size_t)(3 * poses.nbar) * sizeof *poisson);
    for (int64_t i = 0; i < 3 * poses.nbar; i++) {
        double x = poses.neutral[3 * (i % poses.nbar)];
        young[i] = stiff * (x > 2 && i / poses.nbar >= from ? muscle : 1);
        poisson[i] = x > 2 ? 0.3 : 0.4;
    }
    poses.young = young, poses.poisson = poisson;
    assert_int_equal(su_poses_save(in_folder(name), &poses, NULL), SU_OK);
    free(young), free(poisson);
    poses.young = poses.poisson = NULL;
    su_poses_free(&poses);
}

/* PSSD Fig. 12: a muscle that stiffens in one pose changes that pose's basis and no bit of the others. */
static void test_painted_muscle(void **unused)
{
    (void)unused;
    su_fit soft, stiff;
    su_modes before, after;
    paint(1, 3, 1, "soft.poses.npz"), paint(8, 2, 1, "stiff.poses.npz");
    const char *names[] = {"soft", "stiff"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run("supple-fit bar.tet.npz %s.poses.npz -o %s.fit.npz", names[i], names[i]), 0);
        assert_int_equal(run("supple-modes -r 24 bar.tet.npz %s.fit.npz -o %s.modes.npz", names[i], names[i]), 0);
    }
    assert_int_equal(su_fit_load(in_folder("soft.fit.npz"), &soft, NULL), SU_OK);
    assert_int_equal(su_fit_load(in_folder("stiff.fit.npz"), &stiff, NULL), SU_OK);
    assert_int_equal(su_modes_load(in_folder("soft.modes.npz"), &before, NULL), SU_OK);
    assert_int_equal(su_modes_load(in_folder("stiff.modes.npz"), &after, NULL), SU_OK);
    size_t two = 2 * 3 * 24 * (size_t)soft.n * sizeof(double);
    assert_memory_equal(before.modes, after.modes, two);
    assert_memory_equal(before.eigenvalues, after.eigenvalues, 2 * (size_t)before.linear * sizeof(double));
    assert_memory_equal(soft.young, stiff.young, 2 * (size_t)soft.t * sizeof(double));
    double change = 0, all = 0;
    for (int64_t i = 3 * 48 * soft.n; i < 3 * 72 * soft.n; i++)
        change += pow(before.modes[i] - after.modes[i], 2), all += pow(before.modes[i], 2);
    printf("# stiffened muscle: the pose's basis changes by %.2f of its norm, its lowest frequency %.3f times\n",
           sqrt(change / all), sqrt(after.eigenvalues[2 * before.linear] / before.eigenvalues[2 * before.linear]));
    assert_true(change > 1e-4 * all &&
                after.eigenvalues[2 * before.linear] > 1.005 * before.eigenvalues[2 * before.linear]);
    for (int i = 0; i < 3; i++) { /* and so do the keys by which align reuses poses */
        const char *a = json_string_value(json_array_get(json_object_get(before.file.meta, "pose_digests"), i));
        const char *b = json_string_value(json_array_get(json_object_get(after.file.meta, "pose_digests"), i));
        assert_true((strcmp(a, b) == 0) == (i < 2));
    }
    /* Poisson's ratio is itself, stiffness a factor: 8 in the muscle, 1 far from it; the neutral frequency as asked for
     */
    double least = 1, most = 0, E = stiff.young[0];
    for (int64_t e = 0; e < stiff.t; e++) {
        least = fmin(least, stiff.poisson[e]), most = fmax(most, stiff.poisson[e]);
        assert_true(fabs(stiff.young[e] / E - 1) < 1e-12);
        assert_true(stiff.young[2 * stiff.t + e] > E * (1 - 1e-12) &&
                    stiff.young[2 * stiff.t + e] < 8 * E * (1 + 1e-12));
    }
    assert_true(least >= 0.3 && least < 0.301 && most <= 0.4 && most > 0.399);
    assert_true(fabs(sqrt(after.eigenvalues[0]) / (7 * acos(-1.0)) - 1) < 1e-6);
    su_fit_free(&soft), su_fit_free(&stiff), su_modes_free(&before), su_modes_free(&after);
}

/* Relative and absolute paint; tables of tets instead of it, for all poses or each; density; bad ones. */
static void test_material_options(void **unused)
{
    (void)unused;
    su_fit fit;
    paint(4, 1, 2e4, "pascal.poses.npz");
    assert_int_equal(run("supple-fit bar.tet.npz pascal.poses.npz --paint absolute -o m.fit.npz"), 0);
    assert_int_equal(su_fit_load(in_folder("m.fit.npz"), &fit, NULL), SU_OK);
    assert_true(fit.young[0] == 2e4 && fit.young[2 * fit.t] > 2e4 - 1 && fit.young[3 * fit.t - 1] > 7.9e4);
    int64_t t = fit.t;
    su_fit_free(&fit);
    assert_int_equal(run("supple-fit bar.tet.npz pascal.poses.npz --paint absolute --young 1e5 -o bad.npz"), 2);
    /* (t): heavy tip; (m,t): pose 1 alone stiffer */
    assert_int_equal(run("awk 'BEGIN { for (e = 0; e < %lld; e++) print 1 + 2 * (e > %lld) }' >tip.csv; true",
                         (long long)t, (long long)t * 3 / 4),
                     0);
    assert_int_equal(run("awk 'BEGIN { for (p = 0; p < 3; p++) for (e = 0; e < %lld; e++) "
                         "printf \"%%g%%s\", p == 1 ? 3 : 1, e == %lld - 1 ? \"\\n\" : \",\" }' >each.csv; true",
                         (long long)t, (long long)t),
                     0);
    assert_int_equal(
        run("supple-fit bar.tet.npz pascal.poses.npz --young 1e5 --young-tets each.csv --density-tets tip.csv "
            "-o m.fit.npz"),
        0);
    assert_int_equal(su_fit_load(in_folder("m.fit.npz"), &fit, NULL), SU_OK);
    assert_true(fit.young[0] == 1e5 && fit.young[t] == 3e5 && fit.young[3 * t - 1] == 1e5);
    assert_true(fit.density[0] == 1000 && fit.density[t - 1] == 3000 && fit.poisson[0] > 0.39);
    su_fit_free(&fit);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --frequency 5 --density-tets tip.csv -o m.fit.npz && "
                         "supple-modes -r 10 bar.tet.npz m.fit.npz -o m.modes.npz"),
                     0);
    su_modes modes;
    assert_int_equal(su_modes_load(in_folder("m.modes.npz"), &modes, NULL), SU_OK);
    assert_true(fabs(sqrt(modes.eigenvalues[0]) / (10 * acos(-1.0)) - 1) < 1e-6); /* the heavy tip counts */
    su_modes_free(&modes);
    /* one pose a job gives the same bits */
    assert_int_equal(run("supple-fit bar.tet.npz pascal.poses.npz --paint absolute -o m.fit.npz && "
                         "supple-fit bar.tet.npz pascal.poses.npz --paint absolute --pose 2 -o one.fit.npz"),
                     0);
    su_fit one;
    assert_int_equal(su_fit_load(in_folder("m.fit.npz"), &fit, NULL), SU_OK);
    assert_int_equal(su_fit_load(in_folder("one.fit.npz"), &one, NULL), SU_OK);
    assert_memory_equal(one.young, fit.young + 2 * t, (size_t)t * sizeof(double));
    assert_string_equal(json_string_value(json_array_get(json_object_get(fit.file.meta, "pose_digests"), 2)),
                        json_string_value(json_array_get(json_object_get(one.file.meta, "pose_digests"), 0)));
    su_fit_free(&fit), su_fit_free(&one);
    assert_int_equal(
        run("head -n 10 tip.csv >short.csv; supple-fit bar.tet.npz bar.poses.npz --young-tets short.csv -o bad.npz"),
        3);
    assert_int_equal(
        run("sed 's/3/-3/' tip.csv >minus.csv; supple-fit bar.tet.npz bar.poses.npz --young-tets minus.csv -o bad.npz"),
        3);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --poisson-tets tip.csv -o bad.npz"), 3);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --density-tets absent.npy -o bad.npz"), 3);
    paint(0, 1, 1, "zero.poses.npz");
    assert_int_equal(run("supple-fit bar.tet.npz zero.poses.npz -o bad.npz"), 3);
    assert_false(exists("bad.npz"));
}

/* --handles: regions in order, zero outside, orthonormal inside; --contact: rows of norm 1 that the modes obey. */
static void test_regions(void **unused)
{
    (void)unused;
    su_tet tet;
    su_modes modes;
    assert_int_equal(run("printf 'near,1,0.5,0.5\\nfar,3.4,0.5,0.5\\n' >two.csv; true"), 0);
    assert_int_equal(
        run("supple-modes bar.tet.npz bar.fit.npz --handles two.csv --region-modes far=12 -r 20 --pose 1 0 "
            "--contact pairs --contact-tolerance 0.2 -o two.modes.npz"),
        0);
    assert_int_equal(su_tet_load(in_folder("bar.tet.npz"), &tet, NULL), SU_OK);
    assert_int_equal(su_modes_load(in_folder("two.modes.npz"), &modes, NULL), SU_OK);
    assert_true(modes.d == 2 && modes.r == 22 && modes.linear == 8 && modes.k == 2 && modes.pose[0] == 0 &&
                modes.pose[1] == 1);
    for (int64_t k = 0; k < 22; k++) assert_int_equal(modes.mode_region[k], k >= 10);
    int64_t zero[2] = {0, 0};
    for (int64_t p = 0; p < 2; p++)
        for (int64_t k = 0; k < 22; k++)
            for (int64_t v = 0; v < tet.n; v++) {
                const double *u = modes.modes + 3 * ((22 * p + k) * tet.n + v);
                if (modes.region_weights[modes.mode_region[k] * tet.n + v] != 0) continue;
                zero[modes.mode_region[k]]++;
                assert_true(u[0] == 0 && u[1] == 0 && u[2] == 0);
            }
    assert_true(zero[0] > 1000 && zero[1] > 1000);
    json_t *counts = json_object_get(modes.file.meta, "linear_modes");
    assert_true(json_integer_value(json_array_get(counts, 0)) == 4 &&
                json_integer_value(json_array_get(counts, 1)) == 4);
    assert_string_equal(json_string_value(json_array_get(json_object_get(modes.file.meta, "region_names"), 1)), "far");
    assert_true(modes.contact_offsets && modes.contact_offsets[0] == 0 &&
                modes.row_offset_count == modes.contact_offsets[2] + 1);
    su_tet_free(&tet), su_modes_free(&modes);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --handles two.csv --region-modes ear=12 -o bad.npz"), 2);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --region-modes far=12 -o bad.npz"), 2);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --handles absent.csv -o bad.npz"), 3);
    /* flesh that no region covers is told of, above 5 % in a warning */
    assert_int_equal(
        run("supple-modes bar.tet.npz bar.fit.npz --handles two.csv -r 20 --pose 0 --eta 0.02 -o two.modes.npz "
            "--stats s.json && grep -q '\"warnings\": \\[\\]' s.json && grep -q '\"uncovered_share\": [0-9.e-]*' "
            "s.json"),
        0);
    assert_int_equal(
        run("supple-modes bar.tet.npz bar.fit.npz --handles two.csv -r 20 --pose 0 --eta 0.9 -o two.modes.npz "
            "--stats s.json && grep -q 'is in no region' s.json"),
        0);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --regions hips --bones bar.poses.npz -o bad.npz"), 3);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --regions hips -o bad.npz"), 2);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --bones bar.poses.npz -o bad.npz"), 2);
    assert_int_equal(
        run("supple-modes bar.tet.npz bar.fit.npz --handles two.csv --regions hips --bones bar.poses.npz -o bad.npz"),
        2);
    assert_int_equal(run("echo hello >bad.csv; supple-modes bar.tet.npz bar.fit.npz --handles bad.csv -o bad.npz"), 3);
}

static const void *array_of(su_npz *file, const char *name, int64_t *elements)
{
    const su_npz_entry *entry = su_npz_find(file, name);
    const void *data;
    assert_non_null(entry);
    assert_int_equal(su_npz_data(file, entry, &data, NULL), SU_OK);
    if (elements) *elements = entry->elements;
    return data;
}

/* --dump-matrices: K and M as the file has them, multiplied out here, have the modes as eigenvectors to 1e-8. */
static void test_matrices(void **unused)
{
    (void)unused;
    su_modes modes;
    su_npz *file;
    int64_t size;
    assert_int_equal(run("supple-modes -r 24 --pose 2 --dump-matrices k.npz bar.tet.npz bar.fit.npz -o k.modes.npz"),
                     0);
    assert_int_equal(su_modes_load(in_folder("k.modes.npz"), &modes, NULL), SU_OK);
    assert_int_equal(su_npz_open(in_folder("k.npz"), &file, NULL), SU_OK);
    const int64_t *start = array_of(file, "indptr", NULL);
    const int32_t *row = array_of(file, "indices", NULL), *vertex = array_of(file, "free_vertex", NULL);
    const double *data = array_of(file, "data", NULL), *mass = array_of(file, "mass", &size);
    assert_int_equal(size, 900);
    for (int64_t k = 0; k < modes.linear; k++) {
        double *product = calloc((size_t)size, sizeof *product), left = 0, all = 0;
        const double *u = modes.modes + 3 * k * modes.n;
        for (int64_t j = 0; j < size; j++)
            for (int64_t e = start[j]; e < start[j + 1]; e++) {
                product[row[e]] += data[e] * u[3 * vertex[j / 3] + j % 3];
                if (row[e] != j) product[j] += data[e] * u[3 * vertex[row[e] / 3] + row[e] % 3];
            }
        for (int64_t j = 0; j < size; j++) {
            all += product[j] * product[j];
            left += pow(product[j] - modes.eigenvalues[k] * mass[j] * u[3 * vertex[j / 3] + j % 3], 2);
        }
        assert_true(sqrt(left / all) < 1e-8);
        free(product);
    }
    su_npz_close(file);
    su_modes_free(&modes);
}

/* PSSD Fig. 14: at one pose the flesh stands on the ground, as a plane or as a collider; at the others it is free. */
static void test_ground(void **unused)
{
    (void)unused;
    su_fit fit;
    su_modes plain, ground;
    assert_int_equal(su_fit_load(in_folder("bar.fit.npz"), &fit, NULL), SU_OK);
    assert_int_equal(su_modes_load(in_folder("bar.modes.npz"), &plain, NULL), SU_OK);
    int64_t n = fit.n, size = 3 * 24 * n;
    const double *x = fit.shapes + 6 * n;
    double floor = INFINITY;
    for (int64_t v = 0; v < n; v++) floor = fmin(floor, x[3 * v + 1]);
    FILE *obj = fopen(in_folder("floor.obj"), "w"); /* the flesh is a little below it */
    fprintf(obj, "v -9 %.9f 9\nv 9 %.9f 9\nv 9 %.9f -9\nv -9 %.9f -9\nf 1 2 3 4\n", floor + 0.01, floor + 0.01,
            floor + 0.01, floor + 0.01);
    fclose(obj);
    for (int kind = 0; kind < 3; kind++) {
        const char *contact = kind == 2 ? "--contact fixed" : "";
        if (kind == 1)
            assert_int_equal(run("supple-modes -r 24 --collider 2:floor.obj bar.tet.npz bar.fit.npz -o ground.npz"), 0);
        else
            assert_int_equal(run("supple-modes -r 24 %s --plane 2:0,%.9f,0,0,1,0 bar.tet.npz bar.fit.npz -o ground.npz",
                                 contact, floor),
                             0);
        assert_int_equal(su_modes_load(in_folder("ground.npz"), &ground, NULL), SU_OK);
        assert_memory_equal(ground.modes, plain.modes, 2 * (size_t)size * sizeof(double));
        assert_true(ground.contact_offsets[2] == 0 && ground.contact_offsets[3] >= (kind == 2 ? 9 : 3));
        double sum[2] = {0, 0};
        for (int k = 0; k < 8; k++) {
            const double *with = ground.eigenvalues + 2 * ground.linear,
                         *without = plain.eigenvalues + 2 * plain.linear;
            assert_true(with[k] > (1 - 1e-9) * without[k]); /* constraints raise every one (Courant, Fischer) */
            sum[0] += with[k], sum[1] += without[k];
        }
        assert_true(sum[0] > 1.1 * sum[1]);
        int64_t bottom = 0;
        for (int64_t v = 0; v < n; v++) {
            if (x[3 * v + 1] > floor + 1e-3) continue;
            bottom++;
            for (int k = 0; k < 24; k++)
                for (int i = 0; i < 3; i++)
                    if (i == 1 || kind == 2) assert_true(fabs(ground.modes[2 * size + 3 * (k * n + v) + i]) < 1e-9);
        }
        assert_true(bottom > 0);
        for (int i = 0; i < 3; i++) {
            const char *a = json_string_value(json_array_get(json_object_get(ground.file.meta, "pose_digests"), i));
            const char *b = json_string_value(json_array_get(json_object_get(plain.file.meta, "pose_digests"), i));
            if (i == 2 || kind < 2) assert_true((strcmp(a, b) == 0) == (i < 2));
        }
        su_modes_free(&ground);
    }
    su_fit_free(&fit), su_modes_free(&plain);
    const char *bad[] = {"1,2,3", "0,0,0,0,0,0", "0,0,0,0,1,nan", "x:0,0,0,0,1,0", "2:0,0,0,0,1,0,"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_int_equal(run("supple-modes --plane %s bar.tet.npz bar.fit.npz -o bad.npz", bad[k]), 2);
    assert_int_equal(run("supple-modes --collider absent.obj bar.tet.npz bar.fit.npz -o bad.npz"), 3);
    assert_int_equal(run("echo v 0 0 0 >none.obj; supple-modes --collider none.obj bar.tet.npz bar.fit.npz -o bad.npz"),
                     3);
    assert_false(exists("bad.npz"));
}

/* Flesh that is held nowhere: rigid motions are left out, or kept as the first modes. */
static void test_unheld(void **unused)
{
    (void)unused;
    su_tet tet;
    su_modes without, with;
    assert_int_equal(su_tet_load(in_folder("bar.tet.npz"), &tet, NULL), SU_OK);
    tet.fixed_count = 0;
    assert_int_equal(su_tet_save(in_folder("loose.tet.npz"), &tet, NULL), SU_OK);
    assert_int_equal(run("supple-fit loose.tet.npz bar.poses.npz -o loose.fit.npz"), 0);
    assert_int_equal(run("supple-modes -r 18 --linear 6 loose.tet.npz loose.fit.npz -o without.npz"), 0);
    assert_int_equal(run("supple-modes -r 24 --linear 12 --keep-rigid loose.tet.npz loose.fit.npz -o with.npz"), 0);
    assert_int_equal(su_modes_load(in_folder("without.npz"), &without, NULL), SU_OK);
    assert_int_equal(su_modes_load(in_folder("with.npz"), &with, NULL), SU_OK);
    for (int p = 0; p < 3; p++)
        for (int k = 0; k < 12; k++) {
            double value = with.eigenvalues[12 * p + k];
            if (k < 6)
                assert_true(value == 0);
            else
                assert_true(fabs(value / without.eigenvalues[6 * p + k - 6] - 1) < 1e-6);
        }
    assert_true(fabs(sqrt(without.eigenvalues[0]) / (7 * acos(-1.0)) - 1) <
                1e-6); /* --frequency means the elastic one */
    su_tet_free(&tet), su_modes_free(&without), su_modes_free(&with);
}

static void test_bad_input(void **unused)
{
    (void)unused;
    assert_int_equal(run("supple-modes bar.tet.npz bar.poses.npz -o bad.npz"), 3);
    assert_int_equal(run("supple-modes bar.fit.npz bar.tet.npz -o bad.npz"), 3);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --pose 3 -o bad.npz"), 3);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --pose x -o bad.npz"), 2);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz --pose 1 1 -o bad.npz"), 2);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --pose 2 0 2 -o bad.npz"), 2);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz -r 60 --linear 5 -o bad.npz"), 2);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz -r 2000 -o bad.npz"), 3);
    assert_int_equal(run("supple-modes bar.tet.npz bar.fit.npz"), 2);
    assert_int_equal(run("supple-modes bar.tet.npz absent.npz -o bad.npz"), 3);
    assert_int_equal(run("supple-fit bar.tet.npz bar.fit.npz -o bad.npz"), 3);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --pose 7 -o bad.npz"), 2);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz --poisson 0.5 -o bad.npz"), 2);
    assert_int_equal(run("head -c 20000 bar.fit.npz >short.npz; supple-modes bar.tet.npz short.npz -o bad.npz"), 3);
    assert_int_equal(run("supple-fit bar.tet.npz bar.poses.npz -n -o bad.npz"), 0);
    assert_false(exists("bad.npz"));
    assert_int_equal(run("ls | grep -q tmp"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fit_conventions), cmocka_unit_test(test_modes_conventions),
                                       cmocka_unit_test(test_single_poses),    cmocka_unit_test(test_young),
                                       cmocka_unit_test(test_painted_muscle),  cmocka_unit_test(test_material_options),
                                       cmocka_unit_test(test_regions),         cmocka_unit_test(test_matrices),
                                       cmocka_unit_test(test_ground),          cmocka_unit_test(test_unheld),
                                       cmocka_unit_test(test_bad_input)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
