/* Contact of the flesh with itself in reduced motion: all pairs against lib/contact and against the full simulation,
 * and trained pairs against all of them, on a beam that is rolled up until its ends lie in each other. */
#include "fem/fullsim.h"
#include "geometry/vector.h"
#include "reduce/cubature/contact_training.h"
#include "reduce/cubature/pair_selection.h"
#include "reduced_scene.h"
#include "runtime/forces/all_pairs.h"
#include "runtime/forces/trained_pairs.h"
#include "runtime/supple_runtime.h"
#include "runtime/subspace/reconstruct.h"

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

enum { FRAMES = 16, FPS = 30 };
static const double angles[] = {0.0, 3.6, 7.2};
/* A full turn brings the ends together; the roll goes on past it. */
static const double most = 6.8;

static void roll(double t, double *bend, double *root)
{
    double s = fmin(t / 0.4, 1);
    (void)root;
    *bend = most * s * s * (3 - 2 * s);
}

typedef struct fixture {
    scene s;
    reduced_scene r;
    su_runtime_model all; /* with every vertex as a point */
    su_sim_settings settings;
    double friction;
    bool allow; /* what the rest shape has overlapping is free of force */
    bool kept;  /* steps as bakes have them, with a factor that is kept */
} fixture;

static void fixture_create(fixture *f, int modes)
{
    su_error err = {0};
    f->friction = 0, f->allow = f->kept = false;
    scene_create(&f->s, 16, 2, 2, 3, angles, FRAMES, FPS, roll, 0, NULL);
    reduced_options options = {.r = modes, .regions = 1, .stride = 1, .one = true};
    reduced_create(&f->r, &f->s, &options);
    int32_t *vertices = calloc((size_t)f->r.model.n, sizeof *vertices);
    for (int64_t v = 0; v < f->r.model.n; v++) vertices[v] = (int32_t)v;
    assert_int_equal(su_runtime_model_create(&f->r.model, SU_COROTATED, f->r.model.n, vertices, &f->all, &err), SU_OK);
    free(vertices);
    f->settings = su_sim_defaults();
    f->settings.gravity_mode = SU_GRAVITY_NONE;
    f->settings.damping = 0.5;
    assert_int_equal(su_sim_settings_resolve(&f->settings, 4, FRAMES, f->s.anim.times, FPS, &err), SU_OK);
}

static void fixture_free(fixture *f)
{
    su_runtime_model_free(&f->all);
    reduced_free(&f->r);
    scene_free(&f->s);
}

static su_all_pairs all_pairs(const fixture *f, bool allow_overlap, int threads)
{
    return (su_all_pairs){.n = f->r.model.n,
                          .t = f->r.model.t,
                          .neutral = f->r.model.vertices,
                          .tets = f->r.model.tets,
                          .young = f->s.fit.young,
                          .poisson = f->s.fit.poisson,
                          .stiffness = 1,
                          .friction = f->friction,
                          .allow_overlap = allow_overlap,
                          .threads = threads,
                          .place = f->all.points.extra_place,
                          .point = f->all.points.extra_point};
}

/* A run that ends before its last frames, and goes on in another. */
typedef struct interruption {
    double *state;
    int64_t done;
} interruption;

/* q (FRAMES,r) of the shot with a contact (all pairs where sets is NULL); counts of it. Caller frees. */
static double *play(fixture *f, const su_pair_sets *sets, bool none, int threads, double stiffness,
                    su_reduced_contact_counts *counts, interruption *kept)
{
    su_error err = {0};
    su_simulation *sim;
    su_contact contact;
    su_runtime_model few = {0};
    const su_runtime_model *model = &f->all;
    const su_step_settings step = {.alpha = f->settings.alpha,
                                   .beta = f->settings.beta,
                                   .stiffness = 1,
                                   .newton = f->kept ? 0 : 30,
                                   .tolerance = f->kept ? SU_STEP_TOLERANCE : 1e-6};
    if (sets) {
        assert_int_equal(su_runtime_model_create(&f->r.model, SU_COROTATED, sets->v, sets->vertices, &few, &err),
                         SU_OK);
        model = &few;
    }
    assert_int_equal(su_simulation_create(model, &f->r.model, f->s.shot, &f->settings, &step, threads, &sim, &err),
                     SU_OK);
    su_stepper *stepper = su_simulation_stepper(sim);
    if (sets) {
        su_trained_pairs what = {sets, f->r.model.vertices, few.points.extra_place, few.points.extra_point,
                                 1,    f->friction};
        assert_int_equal(su_trained_pairs_create(&what, &stepper->subspace, &contact, &err), SU_OK);
    } else {
        su_all_pairs what = all_pairs(f, f->allow, threads);
        what.stiffness = stiffness;
        assert_int_equal(su_all_pairs_create(&what, &stepper->subspace, &contact, &err), SU_OK);
    }
    if (none)
        contact.release(contact.self);
    else
        su_stepper_add_contact(stepper, &contact);
    su_sim *out = &f->r.sim;
    if (kept && kept->done > 0) su_simulation_set_state(sim, kept->state, kept->done);
    int64_t until = kept && kept->done == 0 ? FRAMES - 4 : FRAMES;
    assert_int_equal(su_simulation_run(sim, until, out, NULL, &err), SU_OK);
    if (until < FRAMES) {
        kept->state = malloc((size_t)su_simulation_state_size(sim) * sizeof(double)), kept->done = until;
        su_simulation_get_state(sim, kept->state);
    }
    double *q = malloc((size_t)(FRAMES * f->r.model.r) * sizeof *q);
    memcpy(q, out->q, (size_t)(FRAMES * f->r.model.r) * sizeof *q);
    if (counts && !none) *counts = *contact.counts;
    su_simulation_free(sim);
    su_runtime_model_free(&few);
    return q;
}

/* A pose of the shot, for contacts alone. */
static void pose_at(fixture *f, int64_t frame, su_pose *pose)
{
    su_error err = {0};
    su_pose_work work;
    su_pose_input input;
    const su_blend *none[1][2] = {{NULL, NULL}};
    assert_int_equal(su_pose_create(&f->all, pose, &err), SU_OK);
    assert_int_equal(su_pose_work_create(&f->all, &work, &err), SU_OK);
    assert_int_equal(su_pose_input_create(&f->all, true, &input, &err), SU_OK);
    su_shot_sample(f->s.shot, frame, 0, input.p, input.Q, input.c);
    su_shot_sample_skin(f->s.shot, frame, 0, f->all.patch.skin_count, f->all.patch.skin, 1, input.skin);
    su_blend_evaluate(&f->all, input.p, 1, &pose->blend);
    su_pose_evaluate(&f->all, 1, &input, none, &work, pose);
    su_pose_input_free(&input);
    su_pose_work_free(&work);
}

/* What finds the contacts of the whole flesh; k (n) becomes their stiffness. */
static void open_finder(const fixture *f, su_contact_body *body, su_contact_finder **finder, double *k)
{
    const su_model *model = &f->r.model;
    su_error err = {0};
    assert_int_equal(su_contact_body_create(model->n, model->vertices, model->t, model->tets, body, &err), SU_OK);
    assert_int_equal(su_contact_finder_create(body, 1, finder, &err), SU_OK);
    su_contact_stiffness(body, f->s.fit.young, f->s.fit.poisson, k);
    su_contact_finder_set_stiffness(*finder, k);
}

/* The reduced force is U' times that of lib/contact on the deformed flesh, and the gradient of the energy; without
 * rigid motions among them the projected tangent has no negative direction. */
static void forces_are_those_of_all_pairs_projected(void **unused)
{
    fixture f;
    su_error err = {0};
    su_pose pose;
    su_stepper stepper;
    su_contact contact;
    const su_step_settings step = {.stiffness = 1, .newton = 2};
    (void)unused;
    fixture_create(&f, 12);
    int64_t n = f.r.model.n, r = f.r.model.r;
    pose_at(&f, FRAMES - 1, &pose);
    assert_int_equal(su_stepper_create(&f.all, &step, &stepper, &err), SU_OK);
    su_all_pairs what = all_pairs(&f, false, 1);
    assert_int_equal(su_all_pairs_create(&what, &stepper.subspace, &contact, &err), SU_OK);
    int64_t lead = stepper.subspace.lead;
    double *q = su_calloc(lead, sizeof *q), *out = su_calloc(lead, sizeof *out), *other = su_calloc(lead, sizeof *q),
           *y = calloc((size_t)(3 * n), sizeof *y), *force = calloc((size_t)(3 * n), sizeof *y),
           *A = su_calloc(lead * lead, sizeof *A), *k = calloc((size_t)n, sizeof *k);
    su_stepper_start(&stepper, &pose, NULL, NULL, NULL, 0.01);
    contact.prepare(contact.self, &pose, &stepper.subspace, stepper.now, 0.01, stepper.system.load);
    for (int64_t i = 0; i < r; i++) q[i] = 2e-3 * sin(3.0 * (double)i);
    contact.look(contact.self, q);
    double energy = contact.evaluate(contact.self, q, out, A);
    assert_true(energy > 0);

    stepper.subspace.places(stepper.subspace.self, &pose, q, NULL, n, f.all.points.extra_place, y);
    su_contact_body body;
    su_contact_finder *finder;
    const su_contact_pair *pairs;
    int64_t count;
    open_finder(&f, &body, &finder, k);
    assert_int_equal(su_contact_find(finder, y, &pairs, &count, &err), SU_OK);
    assert_true(count > 3);
    assert_near(su_contact_energy(count, pairs), energy, 1e-9 * energy);
    su_contact_force(&body, count, pairs, force);
    for (int64_t v = 0; v < n; v++)
        stepper.subspace.add_force(stepper.subspace.self, &pose, 1, f.all.points.extra_point + v, (double[]){1},
                                   force + 3 * v, other);
    double size = su_norm(r, other);
    for (int64_t i = 0; i < r; i++) assert_near(other[i], out[i], 1e-6 * size);

    /* along a direction: energy, force, and the tangent's share of its change */
    double step_size = 1e-7, *moved = su_calloc(lead, sizeof *moved), *there = su_calloc(lead, sizeof *moved), e[2];
    for (int side = 0; side < 2; side++) {
        memset(there, 0, (size_t)lead * sizeof *there);
        for (int64_t i = 0; i < r; i++) moved[i] = q[i] + (side ? 1 : -1) * step_size * cos((double)i);
        e[side] = contact.evaluate(contact.self, moved, there, NULL);
    }
    double slope = 0, curve = 0;
    for (int64_t i = 0; i < r; i++) slope += out[i] * cos((double)i);
    assert_near((e[1] - e[0]) / (2 * step_size), slope, 1e-4 * size);
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = i; j < r; j++) curve += (i == j ? 1 : 2) * A[i * lead + j] * cos((double)i) * cos((double)j);
    assert_true(curve > 0);

    /* farther along it the model that the look made is off by much less than what has changed */
    double change = 0, off = 0;
    memset(moved, 0, (size_t)lead * sizeof *moved);
    for (int64_t i = 0; i < r; i++) moved[i] = q[i] + 1e-4 * cos((double)i);
    double *model = other, *exact = there;
    memset(model, 0, (size_t)lead * sizeof *model), memset(exact, 0, (size_t)lead * sizeof *exact);
    contact.evaluate(contact.self, moved, model, NULL);
    contact.look(contact.self, moved);
    contact.evaluate(contact.self, moved, exact, NULL);
    for (int64_t i = 0; i < r; i++)
        change += (exact[i] - out[i]) * (exact[i] - out[i]), off += (exact[i] - model[i]) * (exact[i] - model[i]);
    print_message("the force changes by %.3g of itself, its model by %.3g of that less or more\n", sqrt(change) / size,
                  sqrt(off / change));
    assert_true(change > 0 && sqrt(off) < 0.5 * sqrt(change));

    su_contact_finder_free(finder);
    su_contact_body_free(&body);
    contact.release(contact.self);
    su_stepper_free(&stepper);
    su_pose_free(&pose);
    free(q), free(out), free(other), free(y), free(force), free(A), free(k), free(moved), free(there);
    fixture_free(&f);
}

/* Friction holds what pressed when the step began: its reduced force is U' times that of lib/contact on the deformed
 * flesh, and the gradient of what it adds to the energy; where nothing has slipped yet there is none. */
static void friction_is_that_of_all_pairs_projected(void **unused)
{
    const double h = 0.01, mu = 0.5;
    fixture f;
    su_error err = {0};
    su_pose pose;
    su_stepper stepper;
    const su_step_settings step = {.stiffness = 1, .newton = 2};
    (void)unused;
    fixture_create(&f, 12);
    int64_t n = f.r.model.n, r = f.r.model.r;
    pose_at(&f, FRAMES - 1, &pose);
    assert_int_equal(su_stepper_create(&f.all, &step, &stepper, &err), SU_OK);
    su_subspace *subspace = &stepper.subspace;
    int64_t lead = subspace->lead;
    su_contact contact[2]; /* sliding, gripping */
    double *q = su_calloc(lead, sizeof *q), *other = su_calloc(lead, sizeof *q),
           *y = calloc((size_t)(3 * n), sizeof *y), *before = calloc((size_t)(3 * n), sizeof *y),
           *k = calloc((size_t)n, sizeof *k), *out[2], energy[2];
    su_stepper_start(&stepper, &pose, NULL, NULL, NULL, h);
    for (int way = 0; way < 2; way++) {
        f.friction = way ? mu : 0;
        su_all_pairs what = all_pairs(&f, false, 1);
        assert_int_equal(su_all_pairs_create(&what, subspace, contact + way, &err), SU_OK);
        contact[way].keep(contact[way].self, &pose, subspace, stepper.now);
        contact[way].prepare(contact[way].self, &pose, subspace, stepper.now, h, stepper.system.load);
        out[way] = su_calloc(lead, sizeof **out);
        energy[way] = contact[way].evaluate(contact[way].self, q, out[way], NULL);
    }
    double size = su_norm(r, out[0]);
    assert_near(energy[1], energy[0], 1e-9 * energy[0]); /* nothing has slipped */
    for (int64_t i = 0; i < r; i++) assert_near(out[1][i], out[0][i], 1e-6 * size);

    su_contact_body body;
    su_contact_finder *finder;
    const su_contact_pair *pairs;
    int64_t count, held = 0;
    double expected = 0, *gripped = su_calloc(lead, sizeof *gripped);
    open_finder(&f, &body, &finder, k);
    subspace->places(subspace->self, &pose, q, NULL, n, f.all.points.extra_place, before);
    assert_int_equal(su_contact_find(finder, before, &pairs, &count, &err), SU_OK);
    for (int64_t i = 0; i < r; i++) q[i] = 2e-3 * sin(3.0 * (double)i);
    subspace->places(subspace->self, &pose, q, NULL, n, f.all.points.extra_place, y);
    for (int64_t p = 0; p < count; p++) {
        su_contact_grip grip = su_contact_grip_of(&body, pairs + p, mu, h, before);
        su_contact_slip slip;
        double force[12];
        if (!(grip.limit > 0) || !su_contact_grip_slip(&body, &grip, y, &slip)) continue;
        expected += su_contact_grip_evaluate(&body, &grip, y, force, NULL);
        held++;
        for (int c = 0; c < 4; c++)
            subspace->add_force(subspace->self, &pose, 1, f.all.points.extra_point + slip.corner[c], (double[]){1},
                                force + 3 * c, other);
    }
    assert_true(held > 3);
    for (int way = 0; way < 2; way++) {
        memset(out[way], 0, (size_t)lead * sizeof **out);
        contact[way].look(contact[way].self, q);
        energy[way] = contact[way].evaluate(contact[way].self, q, out[way], NULL);
    }
    for (int64_t i = 0; i < r; i++) gripped[i] = out[1][i] - out[0][i];
    assert_true(expected > 0);
    assert_near(energy[1] - energy[0], expected, 1e-6 * expected);
    size = su_norm(r, gripped);
    assert_true(size > 0);
    for (int64_t i = 0; i < r; i++) assert_near(gripped[i], other[i], 1e-5 * size);

    /* along a direction */
    const double length = 1e-6;
    double slope = 0, change[2];
    for (int side = 0; side < 2; side++) {
        double moved[2];
        for (int64_t i = 0; i < r; i++) q[i] = 2e-3 * sin(3.0 * (double)i) + (side ? 1 : -1) * length * cos((double)i);
        for (int way = 0; way < 2; way++) moved[way] = contact[way].evaluate(contact[way].self, q, other, NULL);
        change[side] = moved[1] - moved[0];
    }
    for (int64_t i = 0; i < r; i++) slope += gripped[i] * cos((double)i);
    assert_near((change[1] - change[0]) / (2 * length), slope, 1e-3 * size);

    su_contact_finder_free(finder);
    su_contact_body_free(&body);
    for (int way = 0; way < 2; way++) contact[way].release(contact[way].self), free(out[way]);
    su_stepper_free(&stepper);
    su_pose_free(&pose);
    free(q), free(other), free(y), free(before), free(k), free(gripped);
    fixture_free(&f);
}

/* With a basis that spans everything reduced motion is the full simulation's. */
static void a_whole_basis_moves_as_the_full_simulation(void **unused)
{
    fixture f;
    su_reduced_contact_counts counts;
    (void)unused;
    fixture_create(&f, 0);
    su_error err = {0};
    int status[FRAMES];
    int64_t size = FRAMES * 3 * f.r.model.n;
    su_fullsim_options options = {.tolerance = 1e-6, .threads = 1, .self_contact = SU_SELF_CONTACT_ALL};
    double *full = scene_full_run_with(&f.s, &f.settings, &options, NULL, status, NULL);
    options.self_contact = SU_SELF_CONTACT_NONE;
    double *apart = scene_full_run_with(&f.s, &f.settings, &options, NULL, status, NULL);
    double *q = play(&f, NULL, false, 1, 1, &counts, NULL), *u = malloc((size_t)size * sizeof *u);
    su_reconstruct *reconstruct;
    assert_int_equal(su_reconstruct_create(&f.r.model, SU_COROTATED, 0, NULL, 1, &reconstruct, &err), SU_OK);
    assert_int_equal(su_reconstruct_shot(reconstruct, f.s.shot, &f.r.sim, 0, FRAMES, &(su_shot_motion){.u = u}, &err),
                     SU_OK);
    double difference = 0, effect = 0;
    for (int64_t i = 0; i < size; i++)
        difference += (u[i] - full[i]) * (u[i] - full[i]), effect += (apart[i] - full[i]) * (apart[i] - full[i]);
    difference = sqrt(difference), effect = sqrt(effect);
    print_message("contact changes |u| by %.3g, full and reduced differ by %.3g; at most %d pairs, %.2g m deep\n",
                  effect, difference, (int)counts.most_pressed, counts.deepest);
    assert_true(counts.most_pressed > 3);
    assert_true(difference < 0.02 * effect);
    su_reconstruct_free(reconstruct);
    free(q), free(u), free(full), free(apart);
    fixture_free(&f);
}

/* Forces of the flesh on itself add up to nothing, are there where it touches, and to ask for them changes no step. */
static void forces_of_contact_add_up_to_nothing(void **unused)
{
    fixture f;
    su_error err = {0};
    su_fullsim *sims[2];
    int touching = 0;
    (void)unused;
    fixture_create(&f, 0);
    su_sim_settings settings = f.settings;
    su_fullsim_options options = {.tolerance = 1e-6, .threads = 1, .self_contact = SU_SELF_CONTACT_ALL};
    assert_int_equal(su_sim_settings_resolve(&settings, 4.0, f.s.anim.F, f.s.anim.times, 0.0, &err), SU_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(su_fullsim_create(&f.s.tet, &f.s.fit, f.s.shot, &settings, &options, &sims[k], &err), SU_OK);
    int64_t n = f.s.tet.n;
    double *force = malloc((size_t)(3 * n) * sizeof *force);
    for (int64_t k = 1; k < f.s.anim.F; k++) {
        su_fullsim_frame state[2];
        double sum[3] = {0}, size = 0;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(su_fullsim_advance(sims[i], &err), SU_OK);
            su_fullsim_state(sims[i], &state[i]);
        }
        assert_memory_equal(state[0].u, state[1].u, (size_t)(3 * n) * sizeof *force);
        assert_int_equal(su_fullsim_contact_force(sims[0], force, &err), SU_OK);
        for (int64_t i = 0; i < 3 * n; i++) sum[i % 3] += force[i], size += fabs(force[i]);
        touching += state[0].contact.pressed > 0;
        assert_true((size > 0) == (state[0].contact.pressed > 0));
        for (int i = 0; i < 3; i++) assert_true(fabs(sum[i]) <= 1e-12 * size);
    }
    assert_true(touching > 3);
    free(force);
    su_fullsim_free(sims[0]), su_fullsim_free(sims[1]);
    fixture_free(&f);
}

/* Few columns reach what was asked for, none has a negative weight, and with a tolerance of nothing all is met. */
static void few_pairs_give_the_force_of_all(void **unused)
{
    enum { ROWS = 12, COUNT = 150 };
    static double a[COUNT * ROWS], b[ROWS], weight[COUNT], left[ROWS];
    uint64_t state = 3;
    su_error err = {0};
    (void)unused;
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < ROWS; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            a[k * ROWS + i] = (double)(state >> 11) / 9007199254740992.0 - 0.3 + 0.2 * sin(0.1 * k * i);
            b[i] += a[k * ROWS + i];
        }
    const double tolerances[] = {0.2, 0.05, 1e-6};
    for (int t = 0; t < 3; t++) {
        int64_t used;
        double error;
        assert_int_equal(
            su_pairs_select(&(su_column_sum){ROWS, COUNT, a, b}, tolerances[t], weight, &used, &error, &err), SU_OK);
        memcpy(left, b, sizeof left);
        for (int k = 0; k < COUNT; k++) {
            assert_true(weight[k] >= 0);
            for (int i = 0; i < ROWS; i++) left[i] -= weight[k] * a[k * ROWS + i];
        }
        assert_true(error <= tolerances[t]);
        assert_near(su_norm(ROWS, left) / su_norm(ROWS, b), error, 1e-9);
        assert_true(used > 0 && used <= 3 * ROWS);
    }
    memset(b, 0, sizeof b);
    int64_t used;
    double error;
    assert_int_equal(su_pairs_select(&(su_column_sum){ROWS, COUNT, a, b}, 0.05, weight, &used, &error, &err), SU_OK);
    assert_int_equal(used, 0);
}

static void train(fixture *f, int threads, su_pair_sets *sets, su_contact_trained *report)
{
    su_error err = {0};
    const su_shot *shots[] = {f->s.shot};
    su_contact_plan plan = {.tet = &f->s.tet,
                            .fit = &f->s.fit,
                            .model = &f->r.model,
                            .shots = 1,
                            .shot = shots,
                            .settings = &f->settings,
                            .poses = 6,
                            .tolerance = 0.05,
                            .rings = 3,
                            .allow_overlap = f->allow,
                            .threads = threads};
    memset(sets, 0, sizeof *sets);
    if (su_contact_train(&plan, sets, report, &err) != SU_OK) fail_msg("%s", err.text);
    sets->file.meta = json_pack("{s:s}", "self_contact", f->allow ? "new" : "all");
}

/* Trained pairs keep the ends apart, threads change no byte, and the file says the same when it is read again, also by
 * a run that is interrupted. */
static void trained_pairs_stand_for_all(void **unused)
{
    fixture f;
    su_pair_sets sets, second, loaded;
    su_contact_trained report;
    su_reduced_contact_counts all, few;
    su_error err = {0};
    char path[64];
    (void)unused;
    fixture_create(&f, 40);
    train(&f, 1, &sets, &report);
    assert_true(report.met > 10 && report.kept > 0 && report.kept <= report.met);
    assert_true(report.worst <= 0.05);
    double *q = play(&f, NULL, false, 1, 1, &all, NULL), *own = play(&f, &sets, false, 1, 1, &few, NULL),
           *twice = play(&f, &sets, false, 2, 1, NULL, NULL), *off = play(&f, NULL, true, 1, 1, NULL, NULL);
    int64_t count = FRAMES * f.r.model.r;
    double difference = 0, effect = 0;
    for (int64_t i = 0; i < count; i++) {
        difference += (q[i] - own[i]) * (q[i] - own[i]), effect += (q[i] - off[i]) * (q[i] - off[i]);
        assert_true(own[i] == twice[i]);
    }
    print_message("kept %d of %d; contact %.3g, trained pairs off by %.3g; depths %.3g, %.3g m; pressed %d, %d\n",
                  (int)report.kept, (int)report.met, sqrt(effect), sqrt(difference), all.deepest, few.deepest,
                  (int)all.most_pressed, (int)few.most_pressed);
    assert_true(sqrt(difference) < 0.1 * sqrt(effect));

    train(&f, 2, &second, &report);
    assert_int_equal(second.p, sets.p);
    assert_memory_equal(second.pair_weight, sets.pair_weight, (size_t)sets.p * sizeof *sets.pair_weight);
    snprintf(path, sizeof path, "/tmp/supple-test-%ld.contact.npz", (long)getpid());
    assert_int_equal(su_pair_sets_save(path, &sets, &err), SU_OK);
    assert_int_equal(su_pair_sets_load(path, &loaded, &err), SU_OK);
    interruption kept = {NULL, 0};
    free(play(&f, &loaded, false, 1, 1, NULL, &kept)); /* the first frames stay in the scene's sim */
    double *again = play(&f, &loaded, false, 1, 1, NULL, &kept);
    free(kept.state);
    assert_memory_equal(again, own, (size_t)count * sizeof *own);
    /* a triangle or a tet of another set is refused */
    int64_t set = 0;
    while (sets.set_start[set + 1] == 0) set++;
    int32_t *of[] = {sets.pair_triangle, sets.pair_tet, sets.tet_triangle + sets.tet_start[set]},
            end[] = {sets.triangle_start[set + 1], sets.tet_start[set + 1], sets.triangle_start[set + 1]};
    for (int i = 0; i < 3; i++) {
        int32_t was = *of[i];
        *of[i] = end[i]; /* the first of the next set, if any */
        assert_int_not_equal(su_pair_sets_save(path, &sets, &err), SU_OK);
        *of[i] = was;
    }
    assert_int_equal(su_pair_sets_save(path, &sets, &err), SU_OK);
    unlink(path);
    su_pair_sets_free(&sets), su_pair_sets_free(&second), su_pair_sets_free(&loaded);
    free(q), free(own), free(twice), free(off), free(again);
    fixture_free(&f);
}

/* `count` items of an array from `first` on, twice; whole numbers become `by` more in the second half. */
static void *twice(const void *items, size_t size, int64_t first, int64_t count, int32_t by)
{
    char *out = malloc(2 * (size_t)count * size);
    for (int half = 0; half < 2; half++)
        memcpy(out + (size_t)(half * count) * size, (const char *)items + (size_t)first * size, (size_t)count * size);
    for (int64_t i = 0; i < count && by; i++) ((int32_t *)(void *)out)[count + i] += by;
    return out;
}

/* The largest of some sets, once or twice over. */
static su_pair_sets largest_set(const su_pair_sets *sets, int copies)
{
    int64_t k = 0;
    for (int64_t i = 0; i < sets->z; i++)
        if (sets->set_start[i + 1] - sets->set_start[i] > sets->set_start[k + 1] - sets->set_start[k]) k = i;
    int64_t p = sets->set_start[k], t = sets->triangle_start[k], e = sets->tet_start[k],
            pairs = sets->set_start[k + 1] - p, triangles = sets->triangle_start[k + 1] - t,
            tets = sets->tet_start[k + 1] - e;
    const int32_t size[] = {(int32_t)pairs, (int32_t)triangles, (int32_t)tets};
    su_pair_sets out = *sets;
    int32_t **start[] = {&out.set_start, &out.triangle_start, &out.tet_start};
    for (int i = 0; i < 3; i++) {
        *start[i] = malloc(3 * sizeof(int32_t));
        for (int j = 0; j < 3; j++) (*start[i])[j] = size[i] * j;
    }
    out.z = copies, out.z1 = copies + 1, out.p = copies * pairs, out.k = copies * triangles, out.t = copies * tets;
    out.set_pair = twice(sets->set_pair, sizeof(int32_t), k, 1, 0);
    out.set_pose = twice(sets->set_pose, SU_PAIR_COORDINATES * sizeof(double), k, 1, 0);
    out.pair_vertex = twice(sets->pair_vertex, sizeof(int32_t), p, pairs, 0);
    out.pair_weight = twice(sets->pair_weight, sizeof(double), p, pairs, 0);
    out.pair_triangle = twice(sets->pair_triangle, sizeof(int32_t), p, pairs, size[1]);
    out.pair_tet = twice(sets->pair_tet, sizeof(int32_t), p, pairs, size[2]);
    out.triangles = twice(sets->triangles, 3 * sizeof(int32_t), t, triangles, 0);
    out.tets = twice(sets->tets, 4 * sizeof(int32_t), e, tets, 0);
    out.tet_triangle = twice(sets->tet_triangle, sizeof(int32_t), e, tets, size[1]);
    for (int64_t i = 0; i < 2 * pairs; i++) {
        out.pair_triangle[i] -= (int32_t)t, out.pair_tet[i] -= (int32_t)e;
    }
    for (int64_t i = 0; i < 2 * tets; i++) out.tet_triangle[i] -= (int32_t)t;
    return out;
}

static void largest_set_free(su_pair_sets *sets)
{
    free(sets->set_start), free(sets->triangle_start), free(sets->tet_start), free(sets->set_pair);
    free(sets->set_pose), free(sets->pair_vertex), free(sets->pair_weight), free(sets->pair_triangle);
    free(sets->pair_tet), free(sets->triangles), free(sets->tets), free(sets->tet_triangle);
}

/* Steps as bakes have them look for contacts a few times each, and end where solves to a hundredth of their tolerance
 * that look every time do. */
static void a_step_looks_seldom(void **unused)
{
    fixture f;
    su_pair_sets sets;
    su_contact_trained report;
    su_reduced_contact_counts counts[2];
    (void)unused;
    fixture_create(&f, 40);
    train(&f, 1, &sets, &report);
    double *off = play(&f, NULL, true, 1, 1, NULL, NULL);
    for (int few = 0; few < 2; few++) {
        double *q[2], difference = 0, effect = 0;
        for (int kept = 0; kept < 2; kept++) {
            f.kept = kept;
            q[kept] = play(&f, few ? &sets : NULL, false, 1, 1, counts + kept, NULL);
        }
        for (int64_t i = 0; i < FRAMES * f.r.model.r; i++)
            difference += (q[0][i] - q[1][i]) * (q[0][i] - q[1][i]), effect += (q[0][i] - off[i]) * (q[0][i] - off[i]);
        double looks = (double)counts[1].searches / (double)counts[1].steps;
        print_message("%s: %.2g looks a step; contact %.3g, steps of bakes are off by %.3g\n",
                      few ? "trained pairs" : "every pair", looks, sqrt(effect), sqrt(difference));
        assert_true(counts[1].most_pressed > 3 && looks < 4);
        assert_true(sqrt(difference) < 0.05 * sqrt(effect));
        free(q[0]), free(q[1]);
    }
    su_pair_sets_free(&sets);
    free(off);
    fixture_free(&f);
}

/* Two sets that say the same share what one of them exerts, and each vertex takes one way. */
static void a_vertex_of_two_sets_takes_one_way(void **unused)
{
    fixture f;
    su_pair_sets sets, own[2];
    su_contact_trained report;
    su_reduced_contact_counts counts[2];
    double *q[2], size = 0, difference = 0;
    (void)unused;
    fixture_create(&f, 40);
    train(&f, 1, &sets, &report);
    for (int i = 0; i < 2; i++) {
        own[i] = largest_set(&sets, i + 1);
        q[i] = play(&f, own + i, false, 1, 1, counts + i, NULL);
    }
    for (int64_t i = 0; i < FRAMES * f.r.model.r; i++)
        size += q[0][i] * q[0][i], difference += (q[0][i] - q[1][i]) * (q[0][i] - q[1][i]);
    assert_true(counts[0].most_pressed > 3);
    assert_int_equal(counts[0].most_pressed, counts[1].most_pressed);
    assert_true(sqrt(difference) < 1e-9 * sqrt(size));
    for (int i = 0; i < 2; i++) largest_set_free(own + i), free(q[i]);
    su_pair_sets_free(&sets);
    fixture_free(&f);
}

/* Where the rig's shape lies in itself trained pairs allow what all pairs do. */
static void trained_pairs_leave_the_rig_alone(void **unused)
{
    fixture f;
    su_pair_sets sets;
    su_contact_trained report;
    su_reduced_contact_counts all, few;
    (void)unused;
    fixture_create(&f, 40);
    f.allow = true;
    train(&f, 1, &sets, &report);
    double *q = play(&f, NULL, false, 1, 1, &all, NULL), *own = play(&f, &sets, false, 1, 1, &few, NULL),
           *off = play(&f, NULL, true, 1, 1, NULL, NULL), difference = 0, effect = 0;
    for (int64_t i = 0; i < FRAMES * f.r.model.r; i++)
        difference += (q[i] - own[i]) * (q[i] - own[i]), effect += (q[i] - off[i]) * (q[i] - off[i]);
    print_message("contact %.3g, trained pairs off by %.3g; depths %.3g, %.3g m; pressed %d, %d\n", sqrt(effect),
                  sqrt(difference), all.deepest, few.deepest, (int)all.most_pressed, (int)few.most_pressed);
    assert_true(few.most_pressed > 0 && sqrt(difference) < 0.3 * sqrt(effect));
    su_pair_sets_free(&sets);
    free(q), free(own), free(off);
    fixture_free(&f);
}

/* Pairs trained without friction serve with it, what it does is much like what all pairs do, and a run that was
 * interrupted goes on with the same bytes. */
static void trained_pairs_hold(void **unused)
{
    fixture f;
    su_pair_sets sets;
    su_contact_trained report;
    (void)unused;
    fixture_create(&f, 40);
    train(&f, 1, &sets, &report);
    int64_t count = FRAMES * f.r.model.r;
    double *q[2][2], held[2] = {0}, apart = 0, *again;
    for (int way = 0; way < 2; way++) {
        f.friction = way ? 0.5 : 0;
        q[way][0] = play(&f, NULL, false, 1, 1, NULL, NULL), q[way][1] = play(&f, &sets, false, 1, 1, NULL, NULL);
    }
    interruption kept = {NULL, 0};
    free(play(&f, &sets, false, 1, 1, NULL, &kept));
    again = play(&f, &sets, false, 1, 1, NULL, &kept);
    assert_memory_equal(again, q[1][1], (size_t)count * sizeof *again);
    kept.done = 0, free(kept.state), free(again);
    free(play(&f, NULL, false, 1, 1, NULL, &kept));
    again = play(&f, NULL, false, 1, 1, NULL, &kept);
    assert_memory_equal(again, q[1][0], (size_t)count * sizeof *again);
    free(kept.state), free(again);
    for (int64_t i = 0; i < count; i++) {
        double all = q[1][0][i] - q[0][0][i], few = q[1][1][i] - q[0][1][i];
        held[0] += all * all, held[1] += few * few, apart += (all - few) * (all - few);
    }
    print_message("friction changes the motion by %.3g with all pairs, %.3g with trained ones, which differ by %.3g\n",
                  sqrt(held[0]), sqrt(held[1]), sqrt(apart));
    assert_true(held[0] > 0 && held[1] > 0);
    for (int way = 0; way < 2; way++) free(q[way][0]), free(q[way][1]);
    su_pair_sets_free(&sets);
    fixture_free(&f);
}

/* The interface for games feels the same contact, says so, and refuses a file that is none. */
static void live_flesh_feels_it_too(void **unused)
{
    fixture f;
    su_pair_sets sets;
    su_contact_trained report;
    su_error err = {0};
    char model[64], contact[64], message[200];
    int32_t none[3] = {0};
    (void)unused;
    fixture_create(&f, 40);
    train(&f, 1, &sets, &report);
    snprintf(model, sizeof model, "/tmp/supple-test-%ld.model.npz", (long)getpid());
    snprintf(contact, sizeof contact, "/tmp/supple-test-%ld.contact.npz", (long)getpid());
    json_object_set_new(f.r.model.file.meta, "frequency", json_real(4.0));
    f.r.model.surface = none;
    assert_int_equal(su_model_save(model, &f.r.model, &err), SU_OK);
    assert_int_equal(su_pair_sets_save(contact, &sets, &err), SU_OK);
    supple_options options = {.self_contact = model};
    assert_null(supple_open(model, &options, message, sizeof message));
    assert_non_null(strstr(message, "supple.contact"));
    double apart = 0;
    double *positions[2] = {NULL};
    for (int with = 0; with < 2; with++) {
        const int32_t *needed;
        supple_self_contact now = {0};
        int64_t pressed = 0;
        options.self_contact = with ? contact : NULL;
        supple_runtime *flesh = supple_open(model, &options, message, sizeof message);
        if (!flesh) fail_msg("%s", message);
        int64_t count = supple_needed(flesh, &needed), skin = supple_skin_vertices(flesh);
        double *points = malloc((size_t)(3 * count) * sizeof *points);
        positions[with] = malloc((size_t)(3 * skin) * sizeof(double));
        for (int64_t k = 0; k < FRAMES; k++) {
            double p, Q[9], c[3], root[16] = {0};
            su_shot_sample(f.s.shot, k, 0, &p, Q, c);
            su_shot_sample_skin(f.s.shot, k, 0, count, needed, 1, points);
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j < 3; j++) root[4 * i + j] = Q[3 * i + j];
                root[4 * i + 3] = c[i];
            }
            root[15] = 1;
            supple_set_pose(flesh, &p, points, root);
            assert_true(supple_step(flesh, 1.0 / FPS) < 3);
            supple_get_self_contact(flesh, &now);
            pressed += now.pressed;
        }
        assert_true(with ? pressed > 0 : pressed == 0);
        supple_positions(flesh, positions[with]);
        for (int64_t i = 0; i < 3 * skin && with; i++) {
            assert_true(isfinite(positions[1][i]));
            apart = fmax(apart, fabs(positions[1][i] - positions[0][i]));
        }
        supple_close(flesh);
        free(points);
    }
    assert_true(apart > 1e-3);
    unlink(model), unlink(contact);
    free(positions[0]), free(positions[1]);
    su_pair_sets_free(&sets);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces_are_those_of_all_pairs_projected),
        cmocka_unit_test(friction_is_that_of_all_pairs_projected),
        cmocka_unit_test(a_whole_basis_moves_as_the_full_simulation),
        cmocka_unit_test(forces_of_contact_add_up_to_nothing),
        cmocka_unit_test(few_pairs_give_the_force_of_all),
        cmocka_unit_test(trained_pairs_stand_for_all),
        cmocka_unit_test(a_step_looks_seldom),
        cmocka_unit_test(a_vertex_of_two_sets_takes_one_way),
        cmocka_unit_test(trained_pairs_leave_the_rig_alone),
        cmocka_unit_test(trained_pairs_hold),
        cmocka_unit_test(live_flesh_feels_it_too),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
