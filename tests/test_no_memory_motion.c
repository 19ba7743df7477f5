/* From flesh to a shot with each allocation failing in turn: solvers, modes, bases, cubature, simulators. */
#include "beam_space.h"
#include "core/memory.h"
#include "estimate/error_estimate.h"
#include "estimate/what_moved.h"
#include "failing_memory.h"
#include "fem/compare.h"
#include "fem/paint.h"
#include "linalg/cholesky.h"
#include "near.h"
#include "reduce/align/align.h"
#include "reduce/cubature/cubature.h"
#include "reduce/cubature/model_build.h"
#include "reduce/cubature/stiffening.h"
#include "reduce/modes/modes.h"
#include "reduce/modes/motion_basis.h"
#include "reduce/modes/played_shots.h"
#include "reduce/modes/regions.h"
#include "reduced_scene.h"
#include "runtime/simulation_checkpoint.h"
#include "io/expand.h"
#include "runtime/subspace/reconstruct.h"
#include "runtime/supple_runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void openblas_set_num_threads(int);

enum { FRAMES = 5, R = 8, POSES = 3, REDUCED = 10 };

static const double poses3[] = {0.0, 0.8, -0.8};

/* What the calls work on: made once, with all the memory there is. */
static struct {
    scene s;
    reduced_scene r;
    beam_space beam;
    su_sim_settings settings;
    double *path;
    char model[100];
} made;

static int make_all(void **state)
{
    su_error err = {0};
    openblas_set_num_threads(1);
    scene_create(&made.s, 3, 1, 1, POSES, poses3, FRAMES, 30, scene_swing, 0, NULL);
    scene_turn_rest(&made.s, 0.3);
    made.s.fit.file.meta = json_pack("{s:s, s:f}", "material", "neohookean", "frequency", 4.0);
    made.s.anim.file.meta = json_pack("{s:f}", "fps", 30.0);
    reduced_create(&made.r, &made.s, &(reduced_options){.r = REDUCED, .regions = 1, .stride = 2, .one = true});
    json_object_set_new(made.r.model.file.meta, "frequency", json_real(4.0));
    made.settings = su_sim_defaults();
    made.r.sim.substeps = su_sim_substeps(1.0 / 30);
    made.path = calloc((size_t)(FRAMES * made.r.sim.substeps * REDUCED), sizeof *made.path);
    made.r.sim.path = made.path;
    if (reduced_run(&made.r, &made.settings, (su_step_settings){.newton = 60, .tolerance = 1e-11}, 1, NULL) != SU_OK)
        return -1;
    if (su_sim_settings_resolve(&made.settings, 4.0, FRAMES, made.s.anim.times, 0.0, &err) != SU_OK) return -1;
    made.beam = beam_space_create(beam_create(4, 1, 1, 1, 0.25, 0.2), POSES, (const double[]){0, 0.8, 1.6}, R);
    snprintf(made.model, sizeof made.model, "/tmp/supple-test-memory-%ld.model.npz", (long)getpid());
    int32_t none[3] = {0};
    made.r.model.surface = none;
    if (su_model_save(made.model, &made.r.model, &err) != SU_OK) return -1;
    made.r.model.surface = NULL;
    return failing_memory_begin(state);
}

static int free_all(void **state)
{
    int failed = failing_memory_end(state);
    unlink(made.model);
    free(made.path);
    beam_space_free(&made.beam);
    reduced_free(&made.r);
    json_decref(made.s.fit.file.meta), json_decref(made.s.anim.file.meta);
    scene_free(&made.s);
    return failed;
}

/* ---- the full space ---- */

static su_status run_full(void *context, int threads, su_error *err)
{
    const su_fullsim_options options = {
        .tolerance = 1e-8, .threads = threads, .iterative = context != NULL, .newton = context != NULL};
    su_fullsim *sim;
    su_fullsim_frame frame;
    su_status status = su_fullsim_create(&made.s.tet, &made.s.fit, made.s.shot, &made.settings, &options, &sim, err);
    if (status != SU_OK) return status;
    for (int k = 1; k < FRAMES && status == SU_OK; k++) {
        status = su_fullsim_advance(sim, err);
        su_fullsim_state(sim, &frame);
        FAILING_MEMORY_RESULT(frame.u, 3 * made.s.tet.n);
    }
    su_fullsim_free(sim);
    return status;
}

/* The same under the rows of a rig. */
static su_status run_constrained(void *context, int threads, su_error *err)
{
    double rows[2 * 400], shape[3 * 400];
    int64_t n = made.s.tet.n;
    assert_true(n <= 400);
    for (int64_t v = 0; v < n; v++) rows[v] = 1, rows[n + v] = made.s.tet.vertices[3 * v];
    for (int64_t i = 0; i < 3 * n; i++) shape[i] = sin((double)i);
    const su_skinning of = {.n = n, .rows = 2, .shapes = 1, .rig_rows = rows, .rig_shapes = shape};
    const su_fullsim_options options = {
        .tolerance = 1e-8, .threads = threads, .iterative = context != NULL, .neutral = true, .complementary = &of};
    su_fullsim *sim;
    su_status status = su_fullsim_create(&made.s.tet, &made.s.fit, made.s.shot, &made.settings, &options, &sim, err);
    if (status != SU_OK) return status;
    status = su_fullsim_advance(sim, err);
    if (status == SU_OK) {
        su_fullsim_frame frame;
        su_fullsim_state(sim, &frame);
        FAILING_MEMORY_RESULT(frame.u, 3 * n);
    }
    su_fullsim_free(sim);
    return status;
}

static su_status spread_paint(void *context, int threads, su_error *err)
{
    const su_tet *tet = &made.s.tet;
    double values[400], out[4000];
    (void)context, (void)threads;
    assert_true(tet->nbar <= 400 && tet->t <= 4000);
    for (int64_t v = 0; v < tet->nbar; v++) values[v] = 1 + (double)(v % 7);
    su_status status = su_paint_spread(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets},
                                       &(su_paint_skin){tet->nbar, tet->embed_tet, NULL}, 0.1, 1, values, out, err);
    if (status == SU_OK) FAILING_MEMORY_RESULT(out, tet->t);
    return status;
}

static su_status smooth_and_compare(void *context, int threads, su_error *err)
{
    const su_tet *tet = &made.s.tet;
    su_smooth_weights weights;
    su_compare *compare;
    (void)context;
    SU_TRY(su_smooth_weights_create(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets}, 0.2, 0.3, threads,
                                    &weights, err));
    FAILING_MEMORY_RESULT(weights.weight, weights.entries);
    su_smooth_weights_free(&weights);
    SU_TRY(su_compare_create(tet->n, made.r.mass, tet->nbar, FRAMES, &compare, err));
    su_compare_free(compare);
    return SU_OK;
}

static void full_space(void **unused)
{
    (void)unused;
    failing_memory_check("full simulation", run_full, NULL);
    failing_memory_check("playing", run_full, &made);
    failing_memory_check("full simulation under rows", run_constrained, NULL);
    failing_memory_check("playing under rows", run_constrained, &made);
    failing_memory_check("paint", spread_paint, NULL);
    failing_memory_check("smoothing", smooth_and_compare, NULL);
}

/* ---- bases ---- */

static su_status solve_modes(void *context, int threads, su_error *err)
{
    const su_tet *tet = &made.s.tet;
    const su_fit *fit = &made.s.fit;
    const bool *rigid = context;
    su_elastic body;
    su_mode_report report;
    double values[R], *modes = NULL;
    su_status status;
    SU_TRY(su_elastic_create(&body,
                             &(su_elastic_body){.mesh = {tet->n, tet->t, tet->vertices, tet->tets},
                                                .held_count = *rigid ? 0 : tet->fixed_count,
                                                .held = tet->fixed,
                                                .material = SU_NEOHOOKEAN,
                                                .young = fit->young,
                                                .poisson = fit->poisson,
                                                .density = fit->density},
                             err));
    const su_mode_problem problem = {.elastic = &body, .x = tet->vertices, .keep_rigid = *rigid};
    SU_GO(SU_ALLOC(&modes, 3 * R * tet->n, "modes", err));
    SU_GO(su_modes_solve(&problem, *rigid ? R : 4, R, values, modes, &report, threads, err));
    FAILING_MEMORY_RESULT(modes, 3 * R * tet->n);
done:
    free(modes);
    su_elastic_free(&body);
    return status;
}

static su_status play_shots(void *context, int threads, su_error *err)
{
    static const char *const names[] = {"shot"};
    su_training_plan plan =
        su_training_plan_make(&(su_training_case){.one_basis = true, .modes = 3, .region_modes = 3});
    const su_play play = {.tet = &made.s.tet,
                          .fit = &made.s.fit,
                          .plan = &plan,
                          .count = 1,
                          .motions = 1,
                          .paths = names,
                          .anims = &made.s.anim,
                          .forces = true,
                          .threads = threads};
    su_played_shots played;
    su_basis basis = {0};
    su_status status;
    (void)context;
    plan.longest_stretch = 8, plan.run_in_frames = 1, plan.exact_every = 2;
    SU_TRY(su_shots_play(&play, &played, err));
    FAILING_MEMORY_RESULT(played.shapes, 3 * made.s.tet.n * played.count);
    SU_GO(su_motion_basis_create(&play, &played, SU_NEOHOOKEAN, 3, &basis, NULL, err));
    FAILING_MEMORY_RESULT(basis.basis, 3 * made.s.tet.n * basis.r);
    FAILING_MEMORY_RESULT(basis.state_q, basis.f * basis.r);
done:
    su_basis_free(&basis);
    su_played_shots_free(&played);
    return status;
}

static su_status align_bases(void *context, int threads, su_error *err)
{
    const beam_space *s = &made.beam;
    int64_t n = s->shape.n, size = 3 * R * n;
    double *basis = NULL, *mass = NULL, *gram = NULL, angles[POSES * R];
    int32_t parent[POSES];
    su_status status;
    (void)context;
    SU_GO(SU_ALLOC(&basis, POSES * size, "bases", err));
    SU_GO(SU_ALLOC(&mass, n, "mass", err));
    SU_GO(SU_ALLOC(&gram, POSES * POSES * R * R, "gram", err));
    beam_mass(&s->shape, mass);
    memcpy(basis, s->basis.basis, (size_t)(POSES * size) * sizeof *basis);
    const su_alignment what = {
        POSES, R, n, 1, s->fit.params, s->fit.param_scale, mass, s->basis.rotations, s->basis.mode_region};
    SU_GO(su_align(&what, basis, parent, angles, threads, err));
    SU_GO(su_gram(POSES, R, n, mass, basis, gram, threads, err));
    FAILING_MEMORY_RESULT(gram, POSES * POSES * R * R);

done:
    free(basis), free(mass), free(gram);
    return status;
}

static su_status find_regions(void *context, int threads, su_error *err)
{
    const su_tet *tet = &made.s.tet;
    int32_t region[400];
    double W[800];
    int iterations;
    (void)context;
    for (int64_t v = 0; v < tet->n; v++)
        region[v] = tet->vertices[3 * v] < 0.2 ? 0 : tet->vertices[3 * v] > 0.8 ? 1 : -1;
    su_status status = su_bounded_biharmonic(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets}, 2, region, W,
                                             &iterations, threads, err);
    if (status == SU_OK) FAILING_MEMORY_RESULT(W, 2 * tet->n);
    return status;
}

static void bases(void **unused)
{
    (void)unused;
    failing_memory_check("modes", solve_modes, &(bool){false});
    failing_memory_check("free modes", solve_modes, &(bool){true});
    failing_memory_check("played shots", play_shots, NULL);
    failing_memory_check("alignment", align_bases, NULL);
    failing_memory_check("regions", find_regions, NULL);
}

/* ---- cubature ---- */

static su_status train(void *context, int threads, su_error *err)
{
    beam_space *s = &made.beam;
    const su_shot_list no_shots = {.count = 0};
    su_training_plan plan = su_training_plan_make(&(su_training_case){.modes = R, .region_modes = R});
    su_pose_space space;
    su_training_places places = {0};
    su_cubature set = {0};
    su_stiffness_probe *probe = NULL;
    su_stiffening stiffening;
    su_status status;
    (void)context;
    const su_training training = {
        .space = &space, .plan = &plan, .places = &places, .moving = &places, .seed = 1, .memory = (int64_t)1 << 30};
    plan.samples = 6, plan.least_samples = 6, plan.tets = 6, plan.vertices = 4;
    SU_TRY(su_pose_space_create(&space, &s->tet, &s->fit, &s->basis, SU_NEOHOOKEAN, SU_COROTATED, threads, err));
    SU_GO(su_training_places_create(&space, &no_shots, &plan, 0, &places, err));
    SU_GO(su_cubature_train(&training, &set, err));
    FAILING_MEMORY_RESULT(set.tets.points, set.tets.count);
    FAILING_MEMORY_RESULT(set.tets.weights, POSES * set.tets.count);
    FAILING_MEMORY_RESULT(set.vertices.weights, set.vertices.count);
    SU_GO(su_stiffness_probe_create(&space, 4, false, &probe, err));
    SU_GO(su_stiffness_measure(probe, &places.place[1], &stiffening, err));
    FAILING_MEMORY_RESULT(&stiffening.mean, 1);
done:
    su_stiffness_probe_free(probe);
    su_cubature_free(&set);
    su_training_places_free(&places);
    su_pose_space_free(&space);
    return status;
}

static void cubature(void **unused)
{
    (void)unused;
    failing_memory_check("cubature", train, NULL);
}

/* ---- the run time ---- */

static su_status simulate(void *context, int threads, su_error *err)
{
    const su_model *model = &made.r.model;
    const su_step_settings step = {
        .newton = 1, .alpha = made.settings.alpha, .beta = made.settings.beta, .stiffness = made.settings.stiffness};
    su_runtime_model runtime;
    su_simulation *simulation = NULL;
    su_reconstruct *reconstruct = NULL;
    double *u = NULL;
    su_status status;
    (void)context;
    su_sim sim = made.r.sim;
    double q[FRAMES * REDUCED];
    sim.q = q, sim.path = NULL;
    SU_TRY(su_runtime_model_create(model, SU_COROTATED, 0, NULL, &runtime, err));
    SU_GO(su_simulation_create(&runtime, model, made.s.shot, &made.settings, &step, threads, &simulation, err));
    SU_GO(su_simulation_run(simulation, FRAMES, &sim, NULL, err));
    SU_GO(su_checkpoint_save(own_folder_path("c.npz"), "key", (su_interruptible){.bases = simulation}, &sim, err));
    SU_GO(SU_ALLOC(&u, 3 * FRAMES * model->n, "displacements", err));
    SU_GO(su_reconstruct_create(model, SU_COROTATED, 0, NULL, threads, &reconstruct, err));
    SU_GO(su_reconstruct_shot(reconstruct, made.s.shot, &sim, 0, FRAMES, &(su_shot_motion){.u = u}, err));
    FAILING_MEMORY_RESULT(q, FRAMES * REDUCED);
    FAILING_MEMORY_RESULT(u, 3 * FRAMES * model->n);
done:
    if (status != SU_OK) unlink(own_folder_path("c.npz")); /* whole, and meant to stay */
    free(u);
    su_reconstruct_free(reconstruct);
    su_simulation_free(simulation);
    su_runtime_model_free(&runtime);
    return status;
}

static su_status open_runtime(void *context, int threads, su_error *err)
{
    const int32_t contacts[] = {1, 2, 3};
    const supple_options options = {.damping = 0.02,
                                    .stiffness = 1,
                                    .newton = 1,
                                    .contact_count = 3,
                                    .contacts = contacts,
                                    .collider_count = 1,
                                    .contact_stiffness = 1e5};
    char message[1000] = "";
    (void)threads;
    supple_runtime *runtime = supple_open(context, &options, message, sizeof message);
    if (!runtime) return su_fail(err, SU_AGAIN, "%s", message);
    supple_close(runtime);
    return SU_OK;
}

static su_status estimate(void *context, int threads, su_error *err)
{
    const su_estimate_inputs inputs = {.model = &made.r.model,
                                       .tet = &made.s.tet,
                                       .fit = &made.s.fit,
                                       .shot = made.s.shot,
                                       .settings = &made.settings,
                                       .sim = &made.r.sim,
                                       .tolerance = SU_LED_TOLERANCE,
                                       .threads = threads};
    int64_t n3 = 3 * made.s.tet.n;
    double estimates[FRAMES];
    int32_t worst[FRAMES];
    su_estimate_total total;
    su_moved moved = {0};
    float *u = NULL;
    su_status status;
    (void)context;
    SU_GO(SU_ALLOC(&u, FRAMES * n3, "displacements", err));
    SU_GO(su_error_estimate(&inputs, estimates, u, worst, &total, NULL, err));
    FAILING_MEMORY_RESULT(estimates, FRAMES);
    SU_GO(su_moved_measure(&made.r.model, &made.s.anim, made.s.shot, &made.r.sim, threads, &moved, err));
    FAILING_MEMORY_RESULT(moved.frame_largest, FRAMES);
done:
    su_moved_free(&moved);
    free(u);
    return status;
}

static void run_time(void **unused)
{
    (void)unused;
    failing_memory_check("simulation", simulate, NULL);
    failing_memory_check("supple_open", open_runtime, made.model);
    failing_memory_check("estimate", estimate, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(full_space), cmocka_unit_test(bases),
                                       cmocka_unit_test(cubature), cmocka_unit_test(run_time)};
    return cmocka_run_group_tests(tests, make_all, free_all);
}
