/* The reduced simulator against the full one, against slow direct evaluation, and against invariances of physics. */
#include "core/memory.h"
#include "fem/elastic.h"
#include "fem/fullsim.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_field.h"
#include "reduced_scene.h"
#include "reduce/align/interpolate.h"
#include "runtime/simulation_checkpoint.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/reconstruct.h"
#include "runtime/reduced_step.h"

#include <lapacke.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 12 };

static const double poses3[] = {0.0, 0.8, -0.8};

static void rig_still(double t, double *bend, double *root)
{
    (void)t, (void)root;
    *bend = 0.3;
}

static void rig_drift(double t, double *bend, double *root)
{
    *bend = 0.3;
    root[3] = 3.0 * t, root[7] = -2.0 * t, root[11] = 1000.0 + t;
}

static void rig_leap(double t, double *bend, double *root)
{
    *bend = 0.5 * sin(9.0 * t);
    root[7] = t > 0.5 && t < 0.6 ? 60 : 0;
}

/* Rests and subspaces: posed or turned rest; bases of the poses, or one, also with linear stiffness of its own. */
typedef struct variant {
    bool turned, one, lacking;
} variant;
static const variant variants[] = {{false, false, false}, {false, true, false}, {false, true, true},
                                   {true, false, false},  {true, true, false},  {true, true, true}};
enum { VARIANTS = sizeof variants / sizeof *variants, PAPER = 0, DEFAULT = VARIANTS - 1 };
/* Length over which rotations are smoothed, m: several nodes along the beam of 1 m, some of which all vertices of a
 * section share. */
#define SMOOTHING 0.3

static void set_rest(scene *s, const variant *v)
{
    if (v->turned) scene_turn_rest(s, SMOOTHING);
}

static const su_step_settings one_solve = {.newton = 1};
static const su_step_settings exact = {.newton = 60, .tolerance = 1e-11};
static const su_step_settings kept = {.tolerance = 1e-9};

/* u (F,n,3) of the whole run. */
static double *displacements(reduced_scene *r, su_interpolation interpolation)
{
    su_reconstruct *rec;
    su_error err = {0};
    double *u = calloc((size_t)(r->sim.F * r->model.n * 3), sizeof *u);
    assert_int_equal(su_reconstruct_create(&r->model, interpolation, 0, NULL, 1, &rec, &err), SU_OK);
    assert_int_equal(su_reconstruct_shot(rec, r->scene->shot, &r->sim, 0, r->sim.F, &(su_shot_motion){.u = u}, &err),
                     SU_OK);
    su_reconstruct_free(rec);
    return u;
}

/* ---- tests ---- */

/* Stiffness and Poisson's ratio that differ from pose to pose and from tet to tet (PSSD section 8). */
static void paint(scene *s)
{
    su_fit *fit = &s->fit;
    for (int64_t i = 0; i < fit->m; i++)
        for (int64_t e = 0; e < fit->t; e++) {
            fit->young[i * fit->t + e] *= 1 + 0.7 * (double)i + 0.4 * sin((double)(e + 3 * i));
            fit->poisson[i * fit->t + e] = 0.25 + 0.06 * (double)i + 0.05 * cos((double)e);
        }
}

/* What holds at weights w (PSSD eq. 36, with w+): young, poisson (t). */
static void blended(const scene *s, const double *w, double *young, double *poisson)
{
    const su_fit *fit = &s->fit;
    double sum = 0;
    for (int64_t i = 0; i < fit->m; i++) sum += fmax(w[i], 0);
    for (int64_t e = 0; e < fit->t; e++) {
        young[e] = poisson[e] = 0;
        for (int64_t i = 0; i < fit->m; i++) {
            young[e] += fmax(w[i], 0) / sum * fit->young[i * fit->t + e];
            poisson[e] += fmax(w[i], 0) / sum * fit->poisson[i * fit->t + e];
        }
    }
}

static void spans_everything(const variant *v)
{
    const struct {
        int regions, gravity, start;
        bool settle, no_gram;
        double preroll, alpha;
        int teleport;
    } cases[] = {{1, SU_GRAVITY_RELATIVE, SU_START_MOVING, false, false, 0, 0, 0},
                 {1, SU_GRAVITY_ABSOLUTE, SU_START_STILL, true, true, 0, 2, 0},
                 {1, SU_GRAVITY_ABSOLUTE, SU_START_MOVING, false, false, 0.05, 1, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s;
        scene_create(&s, 3, 1, 1, 3, poses3, FRAMES, 30, scene_swing, cases[i].teleport > 0, &cases[i].teleport);
        set_rest(&s, v);
        if (i > 0) paint(&s);
        reduced_scene r;
        reduced_options options = {
            .regions = cases[i].regions, .stride = 1, .no_gram = cases[i].no_gram, .one = v->one};
        reduced_create(&r, &s, &options);
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = cases[i].gravity, settings.start = cases[i].start, settings.settle = cases[i].settle;
        settings.preroll = cases[i].preroll, settings.alpha = cases[i].alpha;
        assert_int_equal(reduced_run(&r, &settings, exact, 1, NULL), SU_OK);
        double energy[3 * FRAMES], *u = displacements(&r, SU_COROTATED),
                                   *full = scene_full_run(&s, &settings, 1e-12, energy, NULL, NULL);
        int64_t count = FRAMES * 3 * s.tet.n;
        double size = largest(count, full);
        assert_true(size > 0.01);
        printf("# %s rest, %s, case %zu: off by %.1e\n", v->turned ? "turned" : "posed",
               v->one ? "one basis" : "a basis a pose", i, difference(count, u, full) / size);
        /* what a pose part hands to the step is stored in float */
        assert_near(difference(count, u, full) / size, 0.0, 1e-6);
        for (int e = 0; e < 3; e++)
            for (int k = 0; k < FRAMES; k++)
                assert_near(r.sim.energy[3 * k + e], energy[3 * k + e], 1e-4 * (largest(3 * FRAMES, energy) + 1e-6));
        for (int k = 0; k < FRAMES; k++) assert_int_equal(r.sim.status[k], SU_STATUS_OK);
        /* a factor that is kept comes to the same, and is not what the line search had to mend */
        su_shot_counts counts = {0};
        free(u);
        assert_int_equal(reduced_run(&r, &settings, kept, 1, &counts), SU_OK);
        assert_int_equal(counts.halved + counts.damped, 0);
        u = displacements(&r, SU_COROTATED);
        assert_near(difference(count, u, full) / size, 0.0, 1e-6);
        free(u), free(full);
        reduced_free(&r);
        scene_free(&s);
    }
}

static void a_basis_that_spans_everything_gives_the_full_simulation(void **unused)
{
    (void)unused;
    for (int k = 0; k < VARIANTS; k++)
        if (!variants[k].lacking) spans_everything(&variants[k]);
}

/* The two rests differ, or the tests of both would be tests of one. */
static void the_turned_rest_is_another(void **unused)
{
    (void)unused;
    double *u[2], size = 0;
    int64_t count = 0;
    for (int k = 0; k < 2; k++) {
        scene s;
        scene_create(&s, 3, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
        set_rest(&s, &variants[k ? DEFAULT : PAPER]);
        su_sim_settings settings = su_sim_defaults();
        count = FRAMES * 3 * s.tet.n;
        u[k] = scene_full_run(&s, &settings, 1e-10, NULL, NULL, NULL);
        size = largest(count, u[k]);
        scene_free(&s);
    }
    double off = difference(count, u[0], u[1]) / size;
    printf("# turned and posed rest differ by %.2f %%\n", 100 * off);
    assert_true(off > 1e-3 && off < 0.3);
    free(u[0]), free(u[1]);
}

/* The paper's linear interpolation with the consistent inertia: R = 1 there, which only the damping notices; without it
 * a basis that spans everything is the full simulation again. */
static void linear_interpolation_of_everything_is_full_too(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 3, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
    reduced_scene r;
    reduced_options options = {.regions = 1, .stride = 1, .interpolation = SU_LINEAR};
    reduced_create(&r, &s, &options);
    su_sim_settings settings = su_sim_defaults();
    settings.beta = 0, settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
    assert_int_equal(reduced_run(&r, &settings, exact, 1, NULL), SU_OK);
    double energy[3 * FRAMES], *u = displacements(&r, SU_LINEAR),
                               *full = scene_full_run(&s, &settings, 1e-12, energy, NULL, NULL);
    int64_t count = FRAMES * 3 * s.tet.n;
    /* blocks turned to their poses are rounded to float again */
    assert_near(difference(count, u, full) / largest(count, full), 0.0, 1e-5);
    free(u), free(full);
    /* and the paper's inertia is not: the basis moves */
    su_step_settings paper = exact;
    paper.inertia = SU_INERTIA_PAPER;
    assert_int_equal(reduced_run(&r, &settings, paper, 1, NULL), SU_OK);
    u = displacements(&r, SU_LINEAR), full = scene_full_run(&s, &settings, 1e-12, energy, NULL, NULL);
    assert_true(difference(count, u, full) / largest(count, full) > 1e-3);
    free(u), free(full);
    reduced_free(&r);
    scene_free(&s);
}

/* u = R_v sum_i b_i U^_i Y q written out, all vertices; then chosen skin vertices alone, and frames in other blocks. */
static void rebuild_displacements(const variant *v)
{
    scene s;
    scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
    set_rest(&s, v);
    reduced_scene r;
    reduced_options options = {.r = 13, .regions = 2, .stride = 2, .one = v->one};
    reduced_create(&r, &s, &options);
    su_sim_settings settings = su_sim_defaults();
    assert_int_equal(reduced_run(&r, &settings, one_solve, 1, NULL), SU_OK);
    int64_t n = s.tet.n, n3 = 3 * n;
    double *u = displacements(&r, SU_COROTATED), *U = calloc((size_t)(13 * n3), sizeof *U);
    double *skin = calloc((size_t)(FRAMES * n3 + 8), sizeof *skin), *x = calloc((size_t)n3, sizeof *x);
    double *turn = calloc((size_t)(4 * n), sizeof *turn);
    su_rotation_field *field;
    const su_smoothing smoothing = su_fit_smoothing(&s.fit);
    assert_int_equal(su_rotation_field_create(&(su_tet_mesh){n, s.tet.t, s.tet.vertices, s.tet.tets}, &smoothing, 0,
                                              NULL, &field, NULL),
                     SU_OK);
    su_rest_shape shape = {
        n, 3, 4, s.tet.vertices, s.tet.vertices, s.tet.shepard_index, s.tet.shepard_weight, s.fit.corrections};
    su_pose_bases bases = {r.model.bases, 13, n, r.basis, r.rotations, r.mass, SU_COROTATED};
    double size = largest(FRAMES * n3, u);
    assert_true(size > 1e-3);
    for (int64_t k = 0; k < FRAMES; k++) {
        su_shot_sample_skin(s.shot, k, 0, 0, NULL, 1, skin + k * n3);
        su_rest_shape_evaluate(&shape, n, NULL, skin + k * n3, r.sim.weights + 3 * k, x);
        su_rotation_field_evaluate(field, x, turn, 1);
        su_interpolate_basis(&bases, r.sim.basis_weights + 3 * k, turn, U, 1);
        for (int64_t i = 0; i < n3; i++) {
            double sum = 0;
            for (int64_t j = 0; j < 13; j++) sum += U[j * n3 + i] * r.sim.q[13 * k + j];
            assert_near(u[k * n3 + i] / size, sum / size, 1e-6); /* rotations are found in float */
        }
    }
    const int32_t list[] = {13, 12, 17};
    su_reconstruct *rec;
    const int32_t *needed;
    assert_int_equal(su_reconstruct_create(&r.model, SU_COROTATED, 3, list, 1, &rec, NULL), SU_OK);
    int64_t count = su_reconstruct_skin_needed(rec, &needed);
    assert_true(v->turned ? count <= n : count < n); /* smoothed rotations read farther than one ring of tets */
    double *some = calloc((size_t)(FRAMES * 3 * count + 8), sizeof *some), *out = calloc(FRAMES * 9, sizeof *out);
    for (int64_t k = 0; k < FRAMES; k++) su_shot_sample_skin(s.shot, k, 0, count, needed, 1, some + 3 * k * count);
    for (int64_t k = 0; k < FRAMES; k += 5) {
        int64_t frames = FRAMES - k < 5 ? FRAMES - k : 5;
        su_reconstruct_frames(rec, frames, some + 3 * k * count, r.sim.weights + 3 * k, r.sim.basis_weights + 3 * k,
                              r.sim.q + 13 * k, NULL, out + 9 * k);
    }
    /* skin vertices are flesh vertices here */
    for (int64_t k = 0; k < FRAMES; k++)
        for (int j = 0; j < 3; j++)
            for (int c = 0; c < 3; c++) assert_true(out[9 * k + 3 * j + c] == u[k * n3 + 3 * list[j] + c]);
    su_reconstruct_free(rec);

    /* all of the skin and no u: flesh that carries none of it, here because it is rigid, is left out */
    uint8_t *rigid = calloc((size_t)n, 1);
    double *all = calloc((size_t)(FRAMES * n3), sizeof *all);
    for (int64_t i = 0; i < n; i++) rigid[i] = s.tet.vertices[3 * i] > 0.5 * s.tet.vertices[3 * (n - 1)];
    r.model.rigid = rigid;
    const int32_t *carrying;
    assert_int_equal(su_reconstruct_create(&r.model, SU_COROTATED, n, NULL, 2, &rec, NULL), SU_OK);
    assert_true(su_reconstruct_flesh(rec, &carrying) < n);
    assert_int_equal(su_reconstruct_shot(rec, s.shot, &r.sim, 0, FRAMES, &(su_shot_motion){.displacement = all}, NULL),
                     SU_OK);
    assert_int_equal(su_reconstruct_shot(rec, s.shot, &r.sim, 0, FRAMES, &(su_shot_motion){.u = all}, NULL), SU_USAGE);
    for (int64_t k = 0; k < FRAMES * n3; k++) assert_near(all[k] / size, rigid[k % n3 / 3] ? 0.0 : u[k] / size, 1e-6);
    su_reconstruct_free(rec);
    for (int64_t i = 0; i < n; i++) rigid[i] = 1;
    assert_int_equal(su_reconstruct_create(&r.model, SU_COROTATED, n, NULL, 1, &rec, NULL), SU_OK);
    assert_int_equal(su_reconstruct_shot(rec, s.shot, &r.sim, 0, FRAMES, &(su_shot_motion){.displacement = all}, NULL),
                     SU_OK);
    assert_true(largest(FRAMES * n3, all) == 0.0);
    su_reconstruct_free(rec);
    r.model.rigid = NULL;
    free(rigid), free(all);
    su_rotation_field_free(field);
    free(u), free(U), free(skin), free(x), free(turn), free(some), free(out);
    reduced_free(&r);
    scene_free(&s);
}

static void displacements_are_rebuilt(void **unused)
{
    (void)unused;
    rebuild_displacements(&variants[PAPER]);
    rebuild_displacements(&variants[DEFAULT]);
}

static void a_rig_at_rest_moves_nothing(void **unused)
{
    (void)unused;
    for (int k = 0; k < VARIANTS; k++) {
        scene s;
        scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, rig_still, 0, NULL);
        set_rest(&s, &variants[k]);
        reduced_scene r;
        reduced_options options = {
            .r = 12, .regions = 2, .stride = 2, .one = variants[k].one, .lacking = variants[k].lacking};
        reduced_create(&r, &s, &options);
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = SU_GRAVITY_NONE;
        assert_int_equal(reduced_run(&r, &settings, one_solve, 1, NULL), SU_OK);
        assert_true(largest(FRAMES * r.sim.r, r.sim.q) == 0.0);
        settings.gravity_mode = SU_GRAVITY_RELATIVE; /* it is bent: it hangs, and hangs on */
        assert_int_equal(reduced_run(&r, &settings, one_solve, 1, NULL), SU_OK);
        double hangs = largest(r.sim.r, r.sim.q);
        assert_true(hangs > 1e-5);
        for (int64_t f = 1; f < FRAMES; f++)
            assert_near(difference(r.sim.r, r.sim.q + f * r.sim.r, r.sim.q), 0, 1e-5 * hangs);
        reduced_free(&r);
        scene_free(&s);
    }
}

static void a_constant_velocity_moves_nothing(void **unused)
{
    (void)unused;
    for (int k = 0; k < VARIANTS; k++) {
        scene s;
        scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, rig_drift, 0, NULL);
        set_rest(&s, &variants[k]);
        reduced_scene r;
        reduced_options options = {
            .r = 12, .regions = 2, .stride = 2, .one = variants[k].one, .lacking = variants[k].lacking};
        reduced_create(&r, &s, &options);
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = SU_GRAVITY_NONE;
        assert_int_equal(reduced_run(&r, &settings, one_solve, 1, NULL), SU_OK);
        assert_true(largest(FRAMES * r.sim.r, r.sim.q) < 1e-7);
        reduced_free(&r);
        scene_free(&s);
    }
}

static void transform_the_shot(const variant *v)
{
    scene_rig *rigs[] = {scene_swing, scene_swing_elsewhere};
    double *q[2];
    int64_t count = 0;
    for (int i = 0; i < 2; i++) {
        scene s;
        scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, rigs[i], 0, NULL);
        set_rest(&s, v);
        reduced_scene r;
        reduced_options options = {.r = 12, .regions = 2, .stride = 2, .one = v->one, .lacking = v->lacking};
        reduced_create(&r, &s, &options);
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
        if (i == 1) {
            double turned[3];
            su_mulv3(scene_other_axis, settings.gravity, turned);
            memcpy(settings.gravity, turned, sizeof turned);
        }
        assert_int_equal(reduced_run(&r, &settings, one_solve, 1, NULL), SU_OK);
        count = FRAMES * r.sim.r;
        q[i] = calloc((size_t)count, sizeof(double));
        memcpy(q[i], r.sim.q, (size_t)count * sizeof(double));
        reduced_free(&r);
        scene_free(&s);
    }
    assert_true(largest(count, q[0]) > 1e-3);
    /* Displacements of the skin are rounded to float, 6e-8 of a motion that is several times the flesh's. */
    assert_near(difference(count, q[0], q[1]) / largest(count, q[0]), 0.0, 1e-6);
    free(q[0]), free(q[1]);
}

static void a_rigid_transform_of_the_shot_changes_nothing(void **unused)
{
    (void)unused;
    transform_the_shot(&variants[PAPER]);
    transform_the_shot(&variants[DEFAULT]);
}

/* Stopped again and again, after any frame, each time taken up in a fresh simulation. The rig leaps, so that steps are
 * halved too. */
static void resume(const variant *v)
{
    scene s;
    int teleport = 9;
    scene_create(&s, 4, 1, 1, 3, poses3, 30, 30, rig_leap, 1, &teleport);
    set_rest(&s, v);
    reduced_scene r;
    reduced_options options = {.r = 12, .regions = 2, .stride = 2, .one = v->one, .lacking = v->lacking};
    reduced_create(&r, &s, &options);
    su_sim_settings settings = su_sim_defaults();
    su_shot_counts counts;
    assert_int_equal(reduced_run(&r, &settings, one_solve, 1, &counts), SU_OK);
    assert_true(counts.halved > 0);
    int64_t count = 30 * 12;
    double *q = calloc((size_t)count, sizeof *q), energy[90];
    memcpy(q, r.sim.q, (size_t)count * sizeof *q);
    memcpy(energy, r.sim.energy, sizeof energy);
    memset(r.sim.q, 0, (size_t)count * sizeof *q);
    assert_int_equal(su_sim_settings_resolve(&settings, 4.0, 30, s.anim.times, 0.0, NULL), SU_OK);
    su_step_settings step = one_solve;
    step.alpha = settings.alpha, step.beta = settings.beta, step.stiffness = 1;
    char path[64];
    snprintf(path, sizeof path, "/tmp/supple-test-%ld.checkpoint", (long)getpid());
    volatile sig_atomic_t stop = 1;
    su_status status = SU_AGAIN;
    int runs = 0;
    for (; status == SU_AGAIN; runs++) {
        su_progress progress = {.mode = SU_PROGRESS_NONE, .span = 1, .last = -1, .stop = &stop};
        su_simulation *simulation;
        bool found;
        su_error err = {0};
        assert_int_equal(
            su_simulation_create(&r.runtime, &r.model, s.shot, &settings, &step, 1 + runs % 2, &simulation, &err),
            SU_OK);
        if (su_checkpoint_load(path, "key", (su_interruptible){.bases = simulation}, &r.sim, &found, &err) != SU_OK)
            fail_msg("%s", err.text);
        assert_int_equal(found, runs > 0);
        status = su_simulation_run(simulation, 30, &r.sim, &progress, &err);
        assert_int_equal(su_checkpoint_save(path, "key", (su_interruptible){.bases = simulation}, &r.sim, &err), SU_OK);
        su_simulation_free(simulation);
    }
    assert_int_equal(status, SU_OK);
    assert_true(runs > 3);
    assert_memory_equal(q, r.sim.q, (size_t)count * sizeof *q);
    assert_memory_equal(energy, r.sim.energy, sizeof energy);
    su_simulation *other;
    bool found;
    su_error err = {0};
    assert_int_equal(su_simulation_create(&r.runtime, &r.model, s.shot, &settings, &step, 1, &other, &err), SU_OK);
    assert_int_equal(su_checkpoint_load(path, "another key", (su_interruptible){.bases = other}, &r.sim, &found, &err),
                     SU_INPUT);
    su_simulation_free(other);
    unlink(path);
    free(q);
    reduced_free(&r);
    scene_free(&s);
}

static void a_resumed_run_ends_with_the_same_bytes(void **unused)
{
    (void)unused;
    resume(&variants[PAPER]);
    resume(&variants[DEFAULT]);
}

/* The rig is one function of time; frames are only where it is sampled. */
static void frame_rates_agree(void **unused)
{
    (void)unused;
    static const double fps[] = {24, 30, 60};
    double *u[3], size = 0;
    for (int i = 0; i < 3; i++) {
        scene s;
        scene_create(&s, 4, 1, 1, 3, poses3, (int)fps[i] + 1, fps[i], scene_swing, 0, NULL);
        reduced_scene r;
        reduced_options options = {.regions = 1, .stride = 1};
        reduced_create(&r, &s, &options);
        su_sim_settings settings = su_sim_defaults();
        assert_int_equal(reduced_run(&r, &settings, one_solve, 1, NULL), SU_OK);
        double *all = displacements(&r, SU_COROTATED);
        int64_t n3 = 3 * s.tet.n;
        u[i] = calloc((size_t)(7 * n3), sizeof(double));
        for (int k = 0; k < 7; k++)
            memcpy(u[i] + k * n3, all + k * (int64_t)fps[i] / 6 * n3, (size_t)n3 * sizeof(double));
        size = fmax(size, largest((int64_t)(fps[i] + 1) * n3, all));
        if (i > 0) assert_near(difference(7 * n3, u[0], u[i]) / size, 0.0, 0.02);
        free(all);
        reduced_free(&r);
        scene_free(&s);
    }
    for (int i = 0; i < 3; i++) free(u[i]);
}

static void run_on_threads(const variant *v)
{
    scene s;
    scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
    set_rest(&s, v);
    double *q[3];
    int64_t count = 0;
    for (int i = 0; i < 3; i++) {
        reduced_scene r;
        reduced_options options = {.r = 12, .regions = 2, .stride = 2, .one = v->one, .lacking = v->lacking};
        reduced_create(&r, &s, &options);
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
        assert_int_equal(reduced_run(&r, &settings, one_solve, i + 1, NULL), SU_OK);
        count = FRAMES * (r.sim.r + 3);
        q[i] = calloc((size_t)count, sizeof(double));
        memcpy(q[i], r.sim.q, (size_t)(FRAMES * r.sim.r) * sizeof(double));
        memcpy(q[i] + FRAMES * r.sim.r, r.sim.energy, 3 * FRAMES * sizeof(double));
        reduced_free(&r);
    }
    for (int i = 1; i < 3; i++) assert_memory_equal(q[0], q[i], (size_t)count * sizeof(double));
    for (int i = 0; i < 3; i++) free(q[i]);
    scene_free(&s);
}

static void threads_do_not_change_a_bit(void **unused)
{
    (void)unused;
    run_on_threads(&variants[PAPER]);
    run_on_threads(&variants[DEFAULT]);
}

/* ---- a slow direct projection of the same equation ---- */

typedef struct direct {
    double *x, *turn, *U, *u, *y, *before; /* (n,3), (n,4), (r,n,3), ... of the instant reached; y one step earlier */
    double *q;                             /* (r) */
    double Q[9], c[3], h;
} direct;

static void direct_pose(const reduced_scene *r, const su_pose_input *input, const su_pose *pose,
                        su_rotation_field *field, direct *d)
{
    int64_t n = r->model.n;
    su_rest_shape shape = {n,
                           r->model.m,
                           r->model.ties,
                           r->model.vertices,
                           r->model.neutral,
                           r->model.shepard_index,
                           r->model.shepard_weight,
                           r->model.corrections};
    su_rest_shape_evaluate(&shape, n, NULL, input->skin, pose->blend.w, d->x);
    su_rotation_field_evaluate(field, d->x, d->turn, 1);
    su_pose_bases bases = {r->model.bases, r->model.r, n, r->basis, r->rotations, r->mass, SU_COROTATED};
    su_interpolate_basis(&bases, pose->blend.b, d->turn, d->U, 1);
    memcpy(d->Q, input->Q, sizeof d->Q);
    memcpy(d->c, input->c, sizeof d->c);
}

static void direct_alloc(const reduced_scene *r, direct *d)
{
    int64_t n = r->model.n;
    d->x = calloc((size_t)(3 * n), 8), d->turn = calloc((size_t)(4 * n), 8), d->u = calloc((size_t)(3 * n), 8);
    d->U = calloc((size_t)(3 * n * r->model.r), 8), d->y = calloc((size_t)(3 * n), 8),
    d->before = calloc((size_t)(3 * n), 8);
    d->q = calloc((size_t)r->model.r, 8);
}

static void direct_release(direct *d)
{
    free(d->x), free(d->turn), free(d->U), free(d->u), free(d->y), free(d->before), free(d->q);
}

/* One linearized step from `from` to `to` (pose set), written out in the full space; D adds its force D q to the
 * projection. */
static void direct_step(const reduced_scene *r, su_elastic *body, const su_step_settings *settings, const direct *from,
                        direct *to, double h, const su_gravity *g)
{
    const double *D = r->model.linear_stiffness;
    int64_t n = r->model.n, n3 = 3 * n, count = r->model.r, dofs = 3 * body->free_count;
    double *carried = calloc((size_t)n3, 8), *load = calloc((size_t)n3, 8), *force = calloc((size_t)n3, 8);
    double *packed = calloc((size_t)dofs, 8), *product = calloc((size_t)dofs, 8);
    double *W = calloc((size_t)(count * n3), 8), *A = calloc((size_t)(count * count), 8);
    su_sparse K;
    double *q = to->q;
    su_elastic_set_rest(body, to->x, r->model.n1 > 0 ? to->turn : NULL, 1);
    for (int64_t v = 0; v < n; v++) {
        double R[9], local[3];
        su_quaternion_matrix(from->turn + 4 * v, R);
        su_tmulv3(R, from->u + 3 * v, local);
        su_quaternion_matrix(to->turn + 4 * v, R);
        su_mulv3(R, local, carried + 3 * v);
    }
    for (int64_t i = 0; i < n3; i++) force[i] = to->x[i] + carried[i];
    assert_int_equal(su_sparse_clone_pattern(&body->pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(body, force, true, &K, 1);
    su_elastic_force(body, force, load, 1);
    double stiff = 1 + settings->beta / h, mass = 1 / (h * h) + settings->alpha / h;
    /* columns of (mass M + stiff K) U, and K u* */
    for (int64_t k = -1; k < count; k++) {
        const double *u = k < 0 ? carried : to->U + k * n3;
        for (int64_t i = 0; i < dofs; i++) packed[i] = u[3 * body->free_vertex[i / 3] + i % 3];
        su_sparse_multiply(&K, packed, product);
        for (int64_t i = 0; i < dofs; i++) {
            int64_t at = 3 * body->free_vertex[i / 3] + i % 3;
            if (k < 0)
                load[at] -= stiff * product[i] + settings->alpha / h * r->mass[at / 3] * carried[at];
            else
                W[k * n3 + at] = stiff * product[i] + mass * r->mass[at / 3] * u[at];
        }
    }
    for (int64_t v = 0; v < n; v++) {
        double a[3], R[9], held[3];
        for (int c = 0; c < 3; c++) {
            double y = from->y[3 * v + c];
            a[c] = to->c[c] - y - h / from->h * (y - from->before[3 * v + c]);
        }
        su_tmulv3(to->Q, a, a);
        su_quaternion_matrix(to->turn + 4 * v, R);
        su_mulv3(R, g->carried, held);
        for (int c = 0; c < 3; c++)
            load[3 * v + c] += r->mass[v] * ((a[c] + to->x[3 * v + c]) / (h * h) - (g->acts[c] - held[c]));
    }
    for (int64_t i = 0; i < count; i++) {
        q[i] = 0;
        for (int64_t k = 0; k < n3; k++) q[i] -= to->U[i * n3 + k] * load[k];
        for (int64_t j = 0; j < count; j++)
            for (int64_t k = 0; k < n3; k++) A[i * count + j] += to->U[i * n3 + k] * W[j * n3 + k];
        for (int64_t j = 0; D && j < count; j++) {
            A[i * count + j] += stiff * D[i * count + j];
            q[i] += settings->beta / h * D[i * count + j] * from->q[j];
        }
    }
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (int)count, 1, A, (int)count, q, 1), 0);
    for (int64_t i = 0; i < n3; i++) {
        to->u[i] = 0;
        for (int64_t k = 0; k < count; k++) to->u[i] += to->U[k * n3 + i] * q[k];
    }
    for (int64_t v = 0; v < n; v++) {
        double at[3];
        for (int c = 0; c < 3; c++) at[c] = to->x[3 * v + c] + to->u[3 * v + c];
        su_mulv3(to->Q, at, to->y + 3 * v);
        for (int c = 0; c < 3; c++) to->y[3 * v + c] += to->c[c], to->before[3 * v + c] = from->y[3 * v + c];
    }
    to->h = h;
    su_sparse_free(&K);
    free(carried), free(load), free(force), free(packed), free(product), free(W), free(A);
}

/* Instants that share lanes do not touch each other, flesh that collapses in some of them included. */
static void evaluate_poses(const variant *v)
{
    enum { COUNT = FRAMES }; /* more than one half of the lanes, less than both */
    scene s;
    scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
    set_rest(&s, v);
    reduced_scene r;
    reduced_options options = {.r = 13, .regions = 2, .stride = 1, .one = v->one, .lacking = v->lacking};
    reduced_create(&r, &s, &options);
    const su_runtime_model *model = &r.runtime;
    su_pose together[COUNT], alone;
    su_pose_input inputs[COUNT];
    su_pose_work work;
    const su_blend *older[COUNT][2] = {{NULL}};
    assert_int_equal(su_pose_work_create(model, &work, NULL), SU_OK);
    assert_int_equal(su_pose_create(model, &alone, NULL), SU_OK);
    for (int k = 0; k < COUNT; k++) {
        assert_int_equal(su_pose_create(model, &together[k], NULL), SU_OK);
        assert_int_equal(su_pose_input_create(model, true, &inputs[k], NULL), SU_OK);
        su_shot_sample(s.shot, k, 0.3, inputs[k].p, inputs[k].Q, inputs[k].c);
        su_shot_sample_skin(s.shot, k, 0.3, model->patch.skin_count, model->patch.skin, 1, inputs[k].skin);
        for (int64_t i = 0; i < model->patch.skin_count && k % 3 == 1; i++) inputs[k].skin[3 * i + 1] *= 0.005 * k;
        su_blend_evaluate(model, inputs[k].p, k + 1, &together[k].blend);
    }
    su_pose_evaluate(model, COUNT, inputs, older, &work, together);
    for (int k = 0; k < COUNT; k++) {
        su_blend_evaluate(model, inputs[k].p, k + 1, &alone.blend);
        su_pose_evaluate(model, 1, inputs + k, older, &work, &alone);
        const su_pose *one = &together[k];
        const struct {
            const void *a, *b;
            size_t bytes;
        } same[] = {{one->rotation, alone.rotation, 36 * (size_t)model->points.kept_padded},
                    {one->rows, alone.rows, 4 * (size_t)model->points.kept_entries},
                    {one->corner_rotation, alone.corner_rotation, 144 * (size_t)model->tets.padded},
                    {one->B, alone.B, 4 * (size_t)model->tets.B_entries},
                    {one->gradient, alone.gradient, 96 * (size_t)model->tets.padded},
                    {one->volume, alone.volume, 8 * (size_t)model->tets.padded},
                    {one->mu, alone.mu, 8 * (size_t)model->tets.padded},
                    {one->turn, alone.turn, 72 * (size_t)model->inertia.padded},
                    {one->world, alone.world, 24 * (size_t)model->inertia.padded},
                    {one->gram, alone.gram, 4 * (size_t)model->gram.entries}};
        for (size_t i = 0; i < sizeof same / sizeof *same; i++)
            assert_memory_equal(same[i].a, same[i].b, same[i].bytes);
        assert_int_equal(one->collapsed, alone.collapsed);
        if (!v->turned) assert_true(k % 3 == 1 ? one->collapsed > 0 : one->collapsed == 0);
    }
    for (int k = 0; k < COUNT; k++) su_pose_free(&together[k]), su_pose_input_free(&inputs[k]);
    su_pose_free(&alone);
    su_pose_work_free(&work);
    reduced_free(&r);
    scene_free(&s);
}

static void poses_are_what_each_alone_is(void **unused)
{
    (void)unused;
    evaluate_poses(&variants[PAPER]);
    evaluate_poses(&variants[DEFAULT]);
}

/* Steps of unequal length along the swing, alpha and beta large enough to matter: history, damping, elastic force and
 * rig acceleration all enter. A term that is wrong in any of them shows at once. */
static void step_directly(const variant *v)
{
    static const double lengths[] = {0.4, 0.4, 0.2, 0.7, 1.0, 0.3, 0.5};
    enum { STEPS = 7, R = 10 };
    scene s;
    scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
    set_rest(&s, v);
    paint(&s);
    double *materials = calloc((size_t)(2 * s.tet.t), sizeof *materials);
    for (int kind = 0; kind < 3; kind++) {
        reduced_scene r;
        reduced_options options = {
            .r = R, .regions = 1 + (kind > 0), .stride = 1, .no_gram = kind == 2, .one = v->one, .lacking = v->lacking};
        reduced_create(&r, &s, &options);
        /* sixteen abreast, fillers among them where regions overlap, and others by rows */
        assert_int_equal(r.runtime.tets.abreast, 16);
        assert_int_equal(r.runtime.tets.count, kind == 0 ? 24 : 28);
        for (int k = 12; k < 16; k++) assert_int_equal(r.runtime.tets.filler[k], kind > 0);
        su_step_settings settings = {.alpha = 3, .beta = 0.02, .stiffness = 1, .newton = 1};
        const su_smoothing smoothing = su_fit_smoothing(&s.fit);
        su_elastic body;
        su_rotation_field *field;
        su_stepper stepper;
        su_pose pose;
        su_pose_input input;
        su_pose_work work;
        direct states[2];
        double time = 0;
        const su_gravity g = {{1, -9.81, 2}, {3, -7, 1}};
        assert_int_equal(su_elastic_of_fit(&body, &s.tet, &s.fit, SU_NEOHOOKEAN, NULL), SU_OK);
        assert_int_equal(su_rotation_field_create(&(su_tet_mesh){s.tet.n, s.tet.t, s.tet.vertices, s.tet.tets},
                                                  &smoothing, 0, NULL, &field, NULL),
                         SU_OK);
        assert_int_equal(su_stepper_create(&r.runtime, &settings, &stepper, NULL), SU_OK);
        assert_int_equal(su_pose_create(&r.runtime, &pose, NULL), SU_OK);
        assert_int_equal(su_pose_work_create(&r.runtime, &work, NULL), SU_OK);
        assert_int_equal(su_pose_input_create(&r.runtime, true, &input, NULL), SU_OK);
        for (int k = 0; k < 2; k++) direct_alloc(&r, &states[k]);
        double scale = 0, off = 0;
        for (int k = 0; k <= STEPS; k++) {
            double h = k ? lengths[k - 1] / 30 : 0.01;
            if (k) time += lengths[k - 1];
            direct *to = &states[k % 2], *from = &states[(k + 1) % 2];
            /* every vertex is a skin vertex here, and all are points: the patch reads the whole skin */
            double *skin = calloc((size_t)(3 * s.tet.n), sizeof *skin);
            su_shot_sample(s.shot, (int64_t)time, time - floor(time), input.p, input.Q, input.c);
            su_shot_sample_skin(s.shot, (int64_t)time, time - floor(time), 0, NULL, 1, skin);
            for (int64_t i = 0; i < r.runtime.patch.skin_count; i++)
                memcpy(input.skin + 3 * i, skin + 3 * r.runtime.patch.skin[i], 3 * sizeof(double));
            su_blend_evaluate(&r.runtime, input.p, k + 1, &pose.blend);
            const su_blend *none[2] = {NULL, NULL};
            su_pose_evaluate(&r.runtime, 1, &input, &none, &work, &pose);
            su_pose_input all = {input.p, skin, {0}, {0}};
            memcpy(all.Q, input.Q, sizeof all.Q), memcpy(all.c, input.c, sizeof all.c);
            direct_pose(&r, &all, &pose, field, to);
            free(skin);
            if (k == 0) {
                su_stepper_start(&stepper, &pose, NULL, NULL, NULL, h);
                for (int64_t i = 0; i < s.tet.n; i++) {
                    su_mulv3(to->Q, to->x + 3 * i, to->y + 3 * i);
                    for (int c = 0; c < 3; c++) to->before[3 * i + c] = to->y[3 * i + c] += to->c[c];
                }
                to->h = h;
                continue;
            }
            assert_int_equal(su_stepper_advance(&stepper, &pose, h, &g, 0), SU_STEP_OK);
            blended(&s, pose.blend.w, materials, materials + s.tet.t);
            for (int64_t e = 0; r.tet_weights && e < s.tet.t; e++) materials[e] *= r.tet_weights[e];
            su_elastic_set_material(&body, materials, materials + s.tet.t);
            direct_step(&r, &body, &settings, from, to, h, &g);
            scale = fmax(scale, largest(R, to->q));
            /* rows and Gram matrices are stored in float, each vertex is turned by a quaternion in float: up to 4.3e-6,
             * as the compiler rounds */
            off = fmax(off, difference(R, to->q, stepper.now->q) / scale);
            assert_near(difference(R, to->q, stepper.now->q) / scale, 0.0, kind == 2 ? 1e-4 : 6e-6);
        }
        assert_true(scale > 0.005);
        printf("# %s rest, %s%s, kind %d: off by %.1e\n", v->turned ? "turned" : "posed",
               v->one ? "one basis" : "a basis a pose", v->lacking ? " and D" : "", kind, off);
        for (int k = 0; k < 2; k++) direct_release(&states[k]);
        su_pose_input_free(&input);
        su_pose_free(&pose);
        su_pose_work_free(&work);
        su_stepper_free(&stepper);
        su_rotation_field_free(field);
        su_elastic_free(&body);
        reduced_free(&r);
    }
    free(materials);
    scene_free(&s);
}

static void steps_agree_with_direct_evaluation(void **unused)
{
    (void)unused;
    for (int k = 0; k < VARIANTS; k++) step_directly(&variants[k]);
}

static void held_straight(double t, double *bend, double *root)
{
    scene_swing(t, bend, root);
    for (int i = 0; i < 3; i++) root[4 * i + 3] *= 0.1;
    *bend = 0;
}

/* Where the rig stands in the neutral pose and the flesh moves little, tets and what D says that they lack are the
 * flesh. */
static void linear_stiffness_makes_good_what_tets_lack(void **unused)
{
    (void)unused;
    scene s;
    scene_create(&s, 4, 1, 1, 3, poses3, FRAMES, 30, held_straight, 0, NULL);
    set_rest(&s, &variants[DEFAULT]);
    paint(&s);
    for (int newton = 1; newton < 3; newton++) {
        reduced_scene whole, split;
        reduced_options options = {.r = 13, .regions = 2, .stride = 1, .one = true};
        reduced_create(&whole, &s, &options);
        options.lacking = true;
        reduced_create(&split, &s, &options);
        su_sim_settings settings = su_sim_defaults();
        su_step_settings step = {.alpha = 3, .beta = 0.02, .stiffness = 1.5, .newton = newton};
        su_shot_counts counts;
        assert_int_equal(reduced_run(&whole, &settings, step, 1, &counts), SU_OK);
        assert_int_equal(reduced_run(&split, &settings, step, 1, &counts), SU_OK);
        double scale = largest(FRAMES * 13, whole.sim.q);
        double off = difference(FRAMES * 13, whole.sim.q, split.sim.q) / scale;
        double energy =
            difference(FRAMES * 3, whole.sim.energy, split.sim.energy) / largest(FRAMES * 3, whole.sim.energy);
        printf("# motion %.1e: apart by %.1e, in energy by %.1e\n", scale, off, energy);
        assert_true(scale > 1e-5);
        assert_near(off, 0.0, 1e-3);
        assert_near(energy, 0.0, 1e-3);
        reduced_free(&split);
        reduced_free(&whole);
    }
    scene_free(&s);
}

/* Linear interpolation turns nothing smoothly, so that a turned rest has no meaning with it; nor has one basis. */
static void linear_interpolation_refuses_the_new_definitions(void **unused)
{
    (void)unused;
    static const variant refused[] = {{.turned = true}, {.one = true}};
    for (int k = 0; k < 2; k++) {
        scene s;
        scene_create(&s, 3, 1, 1, 3, poses3, FRAMES, 30, scene_swing, 0, NULL);
        set_rest(&s, &refused[k]);
        reduced_scene r;
        reduced_options options = {.r = 6, .regions = 1, .stride = 1, .one = refused[k].one};
        reduced_create(&r, &s, &options);
        su_runtime_model model;
        su_error err = {0};
        assert_int_equal(su_runtime_model_create(&r.model, SU_LINEAR, 0, NULL, &model, &err), SU_INPUT);
        assert_non_null(strstr(err.text, "linear interpolation"));
        reduced_free(&r);
        scene_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_stiffness_makes_good_what_tets_lack),
        cmocka_unit_test(the_turned_rest_is_another),
        cmocka_unit_test(linear_interpolation_refuses_the_new_definitions),
        cmocka_unit_test(a_basis_that_spans_everything_gives_the_full_simulation),
        cmocka_unit_test(steps_agree_with_direct_evaluation),
        cmocka_unit_test(linear_interpolation_of_everything_is_full_too),
        cmocka_unit_test(displacements_are_rebuilt),
        cmocka_unit_test(a_rig_at_rest_moves_nothing),
        cmocka_unit_test(a_constant_velocity_moves_nothing),
        cmocka_unit_test(a_rigid_transform_of_the_shot_changes_nothing),
        cmocka_unit_test(a_resumed_run_ends_with_the_same_bytes),
        cmocka_unit_test(frame_rates_agree),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(poses_are_what_each_alone_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
