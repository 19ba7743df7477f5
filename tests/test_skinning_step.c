/* Steps in skinning eigenmodes (lib/runtime/skinning): with a space that spans everything and a cluster a tet they are
 * the full simulation; they turn with the scene; local-global iterations descend and end where others do. */
#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/tetmesh.h"
#include "runtime/skinning/skinning_bones.h"
#include "runtime/skinning/skinning_simulation.h"
#include "scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "near.h"

enum { FRAMES = 10 };
static const double one_pose[] = {0.0};
static const double smoothing_length = 0.3; /* m */

/* A model of skinning modes in memory, of a scene. */
typedef struct skinned {
    su_model model;
    su_skinning_model space;
    double *u; /* (F,n,3) m, of the last run */
    su_arena arena;
} skinned;

#define TAKE(s, field, count)                                                                                          \
    do {                                                                                                               \
        (field) = su_arena_alloc(&(s)->arena, count, sizeof *(field));                                                 \
        assert_non_null(field);                                                                                        \
    } while (0)

/* Vertices in groups of four that span as much as can be had by shuffling. */
static void spread(const double *x, int count, const int32_t *vertices, int *group)
{
    uint32_t random = 1;
    double best = 0;
    int *trial = malloc((size_t)count * sizeof *trial);
    assert_non_null(trial);
    for (int turn = 0; turn < 20000; turn++) {
        double least = INFINITY;
        for (int k = 0; k < count; k++) trial[k] = turn ? trial[k] : k;
        for (int k = count - 1; k > 0; k--) {
            random = random * 1664525u + 1013904223u;
            int other = (int)((random >> 8) % (uint32_t)(k + 1)), keep = trial[k];
            trial[k] = trial[other], trial[other] = keep;
        }
        for (int k = 0; k < count; k += 4) {
            int32_t tet[4] = {vertices[trial[k]], vertices[trial[k + 1]], vertices[trial[k + 2]],
                              vertices[trial[k + 3]]};
            least = fmin(least, fabs(su_tet_volume(x, tet)));
        }
        if (least <= best) continue;
        best = least;
        for (int k = 0; k < count; k++) group[trial[k]] = k / 4;
    }
    assert_true(best > 0);
    free(trial);
}

static bool is_held(const su_tet *tet, int32_t v)
{
    for (int64_t i = 0; i < tet->fixed_count; i++)
        if (tet->fixed[i] == v) return true;
    return false;
}

/* modes 0: each carries four free vertices, so that with their affine maps they span everything; else smooth fields
 * that vanish at held vertices. clusters 0: one a tet; else slices of the beam. */
static void skin(skinned *out, scene *s, int modes, int clusters, const char *material, const char *rest)
{
    const su_tet *tet = &s->tet;
    su_model *m = &out->model;
    *out = (skinned){0};
    *m = (su_model){.m = s->fit.m,
                    .n = tet->n,
                    .t = tet->t,
                    .c = tet->t,
                    .nbar = tet->nbar,
                    .s = s->fit.s,
                    .ties = tet->ties,
                    .vertices = tet->vertices,
                    .tets = tet->tets,
                    .neutral = tet->vertices,
                    .embed_tet = tet->embed_tet,
                    .embed_bary = tet->embed_bary,
                    .shepard_index = tet->shepard_index,
                    .shepard_weight = tet->shepard_weight,
                    .params = s->fit.params,
                    .param_scale = s->fit.param_scale,
                    .rbf = s->fit.rbf,
                    .corrections = s->fit.corrections,
                    .density = s->fit.density,
                    .young = s->fit.young,
                    .poisson = s->fit.poisson,
                    .n1 = s->fit.n1,
                    .z = s->fit.z,
                    .turn_start = s->fit.turn_start,
                    .turn_node = s->fit.turn_node,
                    .turn_weight = s->fit.turn_weight};
    m->file.meta = json_pack("{s:s, s:s}", "material", material, "rest", rest);
    assert_int_equal((m->n - tet->fixed_count) % 4, 0);
    m->k = modes ? modes : (m->n - tet->fixed_count) / 4;
    m->r = 12 * m->k;
    TAKE(out, m->skinning_weights, m->n * m->k);
    TAKE(out, m->cubature_tets, m->t);
    TAKE(out, m->cluster, m->t);
    int32_t loose[36];
    int group[36], count = 0, at = 0;
    for (int32_t v = 0; v < m->n; v++)
        if (!is_held(tet, v) && count < 36) loose[count++] = v;
    spread(m->vertices, count, loose, group);
    double low = INFINITY, high = -INFINITY;
    for (int64_t v = 0; v < m->n; v++) low = fmin(low, m->vertices[3 * v]), high = fmax(high, m->vertices[3 * v]);
    for (int32_t v = 0; v < m->n; v++) {
        if (is_held(tet, v)) continue;
        double x = (m->vertices[3 * v] - low) / (high - low);
        if (!modes) m->skinning_weights[v * m->k + group[at++]] = 1;
        for (int b = 0; b < modes; b++) m->skinning_weights[v * m->k + b] = sin(1.5 * (b + 1) * x) * x;
    }
    for (int32_t e = 0; e < m->t; e++) {
        double x = (m->vertices[3 * m->tets[4 * e]] - low) / (high - low);
        m->cubature_tets[e] = e;
        m->cluster[e] = clusters ? (int32_t)fmin(x * clusters, clusters - 1) : e;
    }
    su_error err = {0};
    if (su_skinning_model_create(m, &out->space, &err) != SU_OK) fail_msg("%s", err.text);
    TAKE(out, out->u, s->anim.F * 3 * m->n);
}

static void skinned_free(skinned *s)
{
    su_skinning_model_free(&s->space);
    json_decref(s->model.file.meta);
    su_arena_free(&s->arena);
}

/* The shot into s->u; iterations over all frames are returned. */
static int run_shot(skinned *s, scene *of, const su_sim_settings *settings, su_skinning_settings step, double *energy)
{
    su_error err = {0};
    su_sim_settings resolved = *settings;
    int64_t F = of->anim.F, r = s->model.r, K = r / 3;
    su_skinning_simulation *sim;
    su_sim out = {.F = F, .r = r, .m = s->model.m};
    su_arena arena = {0};
    out.q = su_arena_alloc(&arena, F * r, sizeof(double));
    out.weights = su_arena_alloc(&arena, F * out.m, sizeof(double));
    out.energy = su_arena_alloc(&arena, F * 3, sizeof(double));
    out.iterations = su_arena_alloc(&arena, F, sizeof(int32_t));
    out.status = su_arena_alloc(&arena, F, sizeof(int32_t));
    double *phi = su_arena_alloc(&arena, K, sizeof(double));
    assert_int_equal(su_sim_settings_resolve(&resolved, 4.0, F, of->anim.times, 0.0, &err), SU_OK);
    step.alpha = resolved.alpha, step.beta = resolved.beta, step.stiffness = resolved.stiffness;
    if (su_skinning_simulation_create(&s->space, of->shot, &resolved, &step, NULL, 1, &sim, &err) != SU_OK ||
        su_skinning_simulation_run(sim, F, &out, NULL, &err) != SU_OK)
        fail_msg("%s", err.text);
    int iterations = 0;
    for (int64_t k = 0; k < F; k++) {
        iterations += out.iterations[k];
        assert_int_equal(out.status[k], SU_STATUS_OK);
        for (int64_t v = 0; v < s->model.n; v++) {
            double *u = s->u + 3 * (k * s->model.n + v);
            su_skinning_row(&s->model, &s->space.frame, v, phi);
            for (int c = 0; c < 3; c++) {
                u[c] = 0;
                for (int64_t j = 0; j < K; j++) u[c] += phi[j] * out.q[k * r + 3 * j + c];
            }
        }
    }
    if (energy) memcpy(energy, out.energy, (size_t)(3 * F) * sizeof *energy);
    su_skinning_simulation_free(sim);
    su_arena_free(&arena);
    return iterations;
}

static void make_scene(scene *s, scene_rig *rig, const char *material)
{
    scene_create(s, 4, 2, 2, 1, one_pose, FRAMES, 30, rig, 0, NULL);
    scene_turn_rest(s, smoothing_length);
    s->fit.file.meta = json_pack("{s:s, s:f}", "material", material, "frequency", 4.0);
}

static void end(skinned *of, scene *s)
{
    skinned_free(of);
    json_decref(s->fit.file.meta);
    scene_free(s);
}

/* No damping: that of the full simulation is K at the turned displacement, which differs to second order. */
static su_sim_settings undamped(int gravity)
{
    su_sim_settings settings = su_sim_defaults();
    settings.alpha = 0, settings.beta = 0, settings.gravity_mode = gravity, settings.substeps = 1;
    return settings;
}

static const su_skinning_settings precise = {.iterations = 5000, .tolerance = 1e-11};

static void whole_space_is_the_full_simulation(void **state)
{
    (void)state;
    static const char *const materials[] = {"corotational", "neohookean"};
    static const int gravities[] = {SU_GRAVITY_RELATIVE, SU_GRAVITY_ABSOLUTE};
    for (int k = 0; k < 2; k++) {
        scene s;
        skinned whole;
        make_scene(&s, scene_swing, materials[k]);
        skin(&whole, &s, 0, 0, materials[k], "turned");
        su_sim_settings settings = undamped(gravities[k]);
        double *full = scene_full_run(&s, &settings, 1e-11, NULL, NULL, NULL);
        run_shot(&whole, &s, &settings, precise, NULL);
        int64_t count = FRAMES * 3 * s.tet.n;
        assert_true(largest(count, full) > 0.005);
        /* clusters' gradients are stored in float */
        assert_near(difference(count, full, whole.u) / largest(count, full), 0, 2e-6);
        free(full);
        end(&whole, &s);
    }
}

/* Rows of two bones that fade into each other along the beam, as eq. 30 has them, over all vertices and of norm 1:
 * (8,n); and products of two monomials for weight space, which are not (20,n). */
static void bone_rows(const scene *s, double *rows, double *products)
{
    const double *x = s->tet.vertices;
    int64_t n = s->tet.n;
    for (int64_t v = 0; v < n; v++) {
        double one[4] = {1, x[3 * v] - 0.5, 4 * (x[3 * v + 1] - 0.1), 4 * (x[3 * v + 2] - 0.1)};
        for (int b = 0, product = 0; b < 2; b++) {
            double share = x[3 * v] * x[3 * v], weight = is_held(&s->tet, (int32_t)v) ? 0 : b ? share : 1 - share;
            for (int i = 0; i < 4; i++) {
                rows[(4 * b + i) * n + v] = weight * one[i];
                for (int j = i; j < 4; j++) products[product++ * n + v] = weight * one[i] * one[j];
            }
        }
    }
    for (int k = 0; k < 8; k++) {
        double square = 0;
        for (int64_t v = 0; v < n; v++) square += rows[k * n + v] * rows[k * n + v];
        for (int64_t v = 0; v < n; v++) rows[k * n + v] /= sqrt(square);
    }
}

/* Weights (n,k) that all rows (count,n) leave, orthonormal; vertices at which rows are 0 are left out. Returns k. */
static int64_t null_space(int64_t n, int count, const double *rows, const su_tet *tet, double *weights)
{
    double *found = calloc((size_t)(n * n), sizeof *found);
    int64_t total = 0, first = 0;
    assert_non_null(found);
    for (int64_t turn = 0; turn < count + n; turn++) { /* the rows, then what unit vectors have beside them */
        double *next = found + total * n, square = 0, before = 0;
        if (turn == count) first = total;
        if (turn >= count && is_held(tet, (int32_t)(turn - count))) continue;
        if (total == n) break;
        for (int64_t v = 0; v < n; v++) next[v] = turn < count ? rows[turn * n + v] : v == turn - count;
        for (int64_t v = 0; v < n; v++) before += next[v] * next[v];
        for (int twice = 0; twice < 2; twice++)
            for (int64_t k = 0; k < total; k++) {
                double product = 0;
                for (int64_t v = 0; v < n; v++) product += next[v] * found[k * n + v];
                for (int64_t v = 0; v < n; v++) next[v] -= product * found[k * n + v];
            }
        for (int64_t v = 0; v < n; v++) square += next[v] * next[v];
        if (!(square > 1e-10 * before)) {
            memset(next, 0, (size_t)n * sizeof *next);
            continue;
        }
        for (int64_t v = 0; v < n; v++) next[v] /= sqrt(square);
        total++;
    }
    for (int64_t v = 0; v < n; v++)
        for (int64_t k = first; k < total; k++) weights[v * (total - first) + k - first] = found[k * n + v];
    free(found);
    return total - first;
}

/* All that a rig's rows leave, with affine maps of weights that obey their products: the complementary simulation, for
 * both kinds of rest. */
static void whole_space_under_rows(void **state)
{
    (void)state;
    for (int neutral = 0; neutral < 2; neutral++) {
        scene s;
        skinned whole;
        make_scene(&s, scene_swing, "corotational");
        int64_t n = s.tet.n, count = FRAMES * 3 * n;
        double *rows = calloc((size_t)(28 * n), sizeof *rows), *weights = calloc((size_t)(n * n), sizeof *weights);
        assert_non_null(rows);
        assert_non_null(weights);
        bone_rows(&s, rows, rows + 8 * n);
        skin(&whole, &s, 1, 0, "corotational", neutral ? "neutral" : "turned");
        su_skinning_model_free(&whole.space); /* again, of these weights */
        whole.model.k = null_space(n, 20, rows + 8 * n, &s.tet, weights);
        whole.model.r = 12 * whole.model.k, whole.model.skinning_weights = weights;
        assert_true(whole.model.k >= 36 - 20);
        su_error err = {0};
        if (su_skinning_model_create(&whole.model, &whole.space, &err) != SU_OK) fail_msg("%s", err.text);
        assert_int_equal(whole.space.K, 36 - 8); /* and with that they span it all */
        su_sim_settings settings = undamped(SU_GRAVITY_RELATIVE);
        settings.stiffness = 0.02; /* what the rig leaves is stiff */
        const su_skinning file = {.n = n, .rows = 8, .rig_rows = rows};
        const su_fullsim_options options = {
            .tolerance = 1e-11, .threads = 1, .complementary = &file, .neutral = neutral};
        double *full = scene_full_run_with(&s, &settings, &options, NULL, NULL, NULL);
        run_shot(&whole, &s, &settings, precise, NULL);
        assert_true(largest(count, full) > 1e-4);
        assert_near(difference(count, full, whole.u) / largest(count, full), 0, 1e-5);
        free(full), free(rows), free(weights);
        end(&whole, &s);
    }
}

/* At the full simulation's own substeps rotations lie on splines between frames, where it finds them anew. */
static void between_frames_it_is_near(void **state)
{
    (void)state;
    scene s;
    skinned whole;
    make_scene(&s, scene_swing, "corotational");
    skin(&whole, &s, 0, 0, "corotational", "turned");
    su_sim_settings settings = undamped(SU_GRAVITY_RELATIVE);
    settings.substeps = 0;
    double *full = scene_full_run(&s, &settings, 1e-11, NULL, NULL, NULL);
    run_shot(&whole, &s, &settings, precise, NULL);
    int64_t count = FRAMES * 3 * s.tet.n;
    assert_near(difference(count, full, whole.u) / largest(count, full), 0, 5e-4);
    free(full);
    settings = su_sim_defaults(); /* damped: to second order in the step the same */
    full = scene_full_run(&s, &settings, 1e-11, NULL, NULL, NULL);
    run_shot(&whole, &s, &settings, precise, NULL);
    assert_near(difference(count, full, whole.u) / largest(count, full), 0, 0.05);
    free(full);
    end(&whole, &s);
}

/* The same shot seen by someone turned and moved: FCD Fig. 13 and 14, whatever the rest and the material. */
static void turns_with_the_scene(void **state)
{
    (void)state;
    static const char *const rests[] = {"turned", "neutral"}, *const materials[] = {"corotational", "neohookean"};
    for (int k = 0; k < 4; k++) {
        scene here, there;
        skinned a, b;
        make_scene(&here, scene_swing, materials[k / 2]);
        make_scene(&there, scene_swing_elsewhere, materials[k / 2]);
        skin(&a, &here, 3, 4, materials[k / 2], rests[k % 2]);
        skin(&b, &there, 3, 4, materials[k / 2], rests[k % 2]);
        su_sim_settings settings = su_sim_defaults(), turned = settings;
        settings.gravity_mode = turned.gravity_mode = SU_GRAVITY_ABSOLUTE;
        su_mulv3(scene_other_axis, settings.gravity, turned.gravity);
        run_shot(&a, &here, &settings, precise, NULL);
        run_shot(&b, &there, &turned, precise, NULL);
        int64_t count = FRAMES * 3 * here.tet.n; /* in the root frame, which is the same */
        assert_true(largest(count, a.u) > 0.002);
        assert_near(difference(count, a.u, b.u) / largest(count, a.u), 0, 1e-6);
        end(&a, &here);
        end(&b, &there);
    }
}

/* FCD's iterations as printed end where the quasi-Newton method does, after more of them. */
static void both_solvers_end_alike(void **state)
{
    (void)state;
    scene s;
    skinned few;
    make_scene(&s, scene_swing, "corotational");
    skin(&few, &s, 3, 4, "corotational", "turned");
    su_sim_settings settings = su_sim_defaults();
    su_skinning_settings plain = precise;
    plain.plain = true;
    int64_t count = FRAMES * 3 * s.tet.n;
    int fast = run_shot(&few, &s, &settings, precise, NULL);
    double *u = malloc((size_t)count * sizeof *u);
    assert_non_null(u);
    memcpy(u, few.u, (size_t)count * sizeof *u);
    int slow = run_shot(&few, &s, &settings, plain, NULL);
    assert_near(difference(count, u, few.u) / largest(count, u), 0, 1e-6);
    assert_true(slow > 2 * fast);
    free(u);
    end(&few, &s);
}

/* A bent pose that stands still: left alone where rotations are the rest, moved where the neutral shape is. */
static void bent_and_still(double t, double *bend, double *root)
{
    (void)t, (void)root;
    *bend = 0.8;
}

static void still_poses(void **state)
{
    (void)state;
    for (int neutral = 0; neutral < 2; neutral++) {
        scene s;
        skinned few;
        make_scene(&s, bent_and_still, "corotational");
        skin(&few, &s, 3, 4, "corotational", neutral ? "neutral" : "turned");
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = SU_GRAVITY_NONE;
        run_shot(&few, &s, &settings, precise, NULL);
        double most = largest(FRAMES * 3 * s.tet.n, few.u);
        if (neutral)
            assert_true(most > 1e-3);
        else
            assert_near(most, 0, 1e-9);
        end(&few, &s);
    }
}

/* With fewer iterations the step's objective is never better, and a model of no damping and no gravity does not gain
 * energy once its rig stands. */
static void nods(double t, double *bend, double *root)
{
    (void)root;
    *bend = t < 0.1 ? 4 * t : 0.4;
}

static void energy_does_not_grow(void **state)
{
    (void)state;
    scene s;
    skinned few;
    double energy[FRAMES * 3];
    make_scene(&s, nods, "corotational");
    skin(&few, &s, 3, 4, "corotational", "turned");
    su_sim_settings settings = undamped(SU_GRAVITY_NONE);
    settings.substeps = 0;
    run_shot(&few, &s, &settings, precise, energy);
    assert_true(energy[3 * 5] + energy[3 * 5 + 1] > 0.01);
    for (int k = 5; k + 1 < FRAMES; k++) { /* the spline of the rig has come to rest by then */
        double now = energy[3 * k] + energy[3 * k + 1], then = energy[3 * k + 3] + energy[3 * k + 4];
        assert_true(then <= 1.02 * now);
    }
    end(&few, &s);
}

/* Any state saved and set again goes on to the same bytes. */
static void states_are_whole(void **state)
{
    (void)state;
    scene s;
    skinned few;
    su_error err = {0};
    make_scene(&s, scene_swing, "corotational");
    skin(&few, &s, 3, 4, "corotational", "neutral");
    const su_skinning_settings set = {.beta = 0.004, .stiffness = 1, .iterations = 20, .tolerance = 1e-6};
    su_sim_settings settings = su_sim_defaults();
    assert_int_equal(su_sim_settings_resolve(&settings, 4.0, FRAMES, s.anim.times, 0.0, &err), SU_OK);
    su_skinning_shot *shot;
    su_skinning_stepper *a, *b;
    assert_int_equal(su_skinning_shot_create(&few.space, s.shot, &settings, NULL, 1, &shot, &err), SU_OK);
    assert_int_equal(su_skinning_stepper_create(&few.space, &set, NULL, &a, &err), SU_OK);
    assert_int_equal(su_skinning_stepper_create(&few.space, &set, NULL, &b, &err), SU_OK);
    double *room, *keep, qa[36], qb[36];
    TAKE(&few, room, su_skinning_instant_size(&few.space));
    TAKE(&few, keep, su_skinning_state_size(a));
    su_skinning_instant at = su_skinning_instant_in(&few.space, room);
    int done;
    for (int k = 0; k < FRAMES; k++) {
        su_skinning_shot_at(shot, k, 0, &at);
        su_gravity gravity = su_sim_gravity(&settings, at.Q);
        if (k == 0) su_skinning_rest(a, &at), su_skinning_start(a, &at, NULL, false, 1.0 / 30);
        if (k == FRAMES - 1) {
            su_skinning_get_state(a, keep);
            su_skinning_set_state(b, keep);
            assert_true(su_skinning_advance(b, &at, 1.0 / 30, &gravity, 0, &done));
        }
        if (k > 0) assert_true(su_skinning_advance(a, &at, 1.0 / 30, &gravity, 0, &done));
    }
    su_skinning_coordinates(a, qa, NULL);
    su_skinning_coordinates(b, qb, NULL);
    assert_memory_equal(qa, qb, sizeof qa);
    su_skinning_stepper_free(a);
    su_skinning_stepper_free(b);
    su_skinning_shot_free(shot);
    end(&few, &s);
}

/* Poses straight from two bones: what the skin they move makes, for a neutral rest; and rotations where both turn
 * alike. */
/* What is minimized at an instant where inertia is nothing (a step of 1000 s), after 0, 1, 2, ... local-global
 * iterations: it never rises, with ARAP without any search (FCD section 7.1), and ends where the quasi-Newton method
 * ends. */
static void local_global_iterations_descend(void **state)
{
    enum { MOST = 30, SINGLE = 20 }; /* one by one, then doubled */
    (void)state;
    for (int arap = 0; arap < 2; arap++) {
        scene s;
        skinned few;
        su_error err = {0};
        make_scene(&s, scene_swing, "corotational");
        for (int64_t e = 0; e < s.tet.t; e++) s.fit.young[e] *= 0.02; /* so soft that it is far from linear */
        for (int64_t e = 0; arap && e < s.tet.t; e++) s.fit.poisson[e] = 0;
        skin(&few, &s, 3, 4, "corotational", "turned");
        assert_true(few.space.arap == (arap == 1));
        su_sim_settings settings = su_sim_defaults();
        settings.gravity_mode = SU_GRAVITY_ABSOLUTE;
        su_skinning_shot *shot;
        assert_int_equal(su_skinning_shot_create(&few.space, s.shot, &settings, NULL, 1, &shot, &err), SU_OK);
        double *room, energy[3], before = 0, first = 0, last = 0;
        TAKE(&few, room, su_skinning_instant_size(&few.space));
        su_skinning_instant at = su_skinning_instant_in(&few.space, room);
        for (int64_t p = 0; p < few.space.panels; p++)
            for (int k = 0; k < 72; k++) at.turn[72 * p + k] = k / 8 % 4 == 0;
        su_skinning_shot_at(shot, FRAMES - 1, 0, &at);
        const su_gravity gravity = su_sim_gravity(&settings, at.Q);
        for (int k = 0; k <= MOST; k++) { /* the last one by the other method, to its end */
            su_skinning_settings how = precise;
            su_skinning_stepper *stepper;
            how.stiffness = 1, how.plain = k < MOST, how.tolerance = 0;
            how.iterations = k < SINGLE ? k : SINGLE << (k - SINGLE);
            assert_int_equal(su_skinning_stepper_create(&few.space, &how, NULL, &stepper, &err), SU_OK);
            su_skinning_rest(stepper, &at);
            int done;
            assert_true(su_skinning_advance(stepper, &at, 1000, &gravity, 0, &done));
            su_skinning_energy(stepper, &at, &gravity, energy);
            last = energy[1] + energy[2];
            if (k == 0) first = before = last;
            if (k < MOST) {
                assert_true(last <= before + 1e-12 * fabs(before));
                before = last;
            }
            su_skinning_stepper_free(stepper);
        }
        assert_true(last < first);
        assert_near((before - last) / (first - last), 0, 1e-6);
        su_skinning_shot_free(shot);
        end(&few, &s);
    }
}

static void bones_are_the_skin_they_move(void **state)
{
    (void)state;
    for (int neutral = 0; neutral < 2; neutral++) {
        scene s;
        skinned few;
        su_error err = {0};
        make_scene(&s, scene_swing, "corotational");
        skin(&few, &s, 3, 4, "corotational", neutral ? "neutral" : "turned");
        int64_t n = s.tet.n, stride = few.space.stride;
        su_sim_settings settings = su_sim_defaults();
        su_skinning_rig rig = su_skinning_rig_of(&few.space, &settings);
        su_skinning_work *work;
        su_skinning_bones bones;
        float *weights;
        double *numbers, *room, *rooms[2], M[24], v[3] = {0.3, -0.8, 0.5}, q[4], R[9];
        TAKE(&few, weights, 2 * n);
        for (int64_t k = 0; k < n; k++) {
            weights[2 * k + 1] = (float)s.tet.vertices[3 * k];
            weights[2 * k] = 1 - weights[2 * k + 1];
        }
        for (int b = 0; b < 2; b++) {
            if (neutral) v[b] += 0.7;
            su_quaternion_exp(v, q);
            su_quaternion_matrix(q, R);
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j < 3; j++) M[12 * b + 4 * i + j] = R[3 * i + j];
                M[12 * b + 4 * i + 3] = 0.1 * i - 0.2 * b * neutral;
            }
        }
        assert_int_equal(su_skinning_work_create(&rig, &work, &err), SU_OK);
        assert_int_equal(su_skinning_bones_create(&few.space, &settings, 2, weights, s.tet.vertices, &bones, &err),
                         SU_OK);
        for (int k = 0; k < 2; k++) TAKE(&few, rooms[k], su_skinning_instant_size(&few.space));
        su_skinning_instant a = su_skinning_instant_in(&few.space, rooms[0]),
                            b = su_skinning_instant_in(&few.space, rooms[1]);
        for (int64_t k = 0; k < n; k++)
            for (int i = 0; i < 3; i++) {
                double x = 0;
                for (int d = 0; d < 2; d++)
                    for (int j = 0; j < 4; j++)
                        x += (double)weights[2 * k + d] * M[12 * d + 4 * i + j] *
                             (j < 3 ? s.tet.vertices[3 * k + j] : 1);
                work->skin[3 * k + i] = x;
            }
        work->w[0] = 1;
        numbers = a.N;
        su_skinning_rig_numbers(&rig, work, numbers);
        su_skinning_instant_finish(&few.space, &a);
        const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, here[3] = {0, 0, 0};
        TAKE(&few, room, bones.room);
        su_skinning_bones_pose(&bones, M, still, here, room, &b);
        int64_t lanes = 72 * few.space.panels, w = 3 * stride;
        assert_near(difference(lanes, a.N, b.N), 0, 1e-6);
        assert_near(difference(w, a.rig, b.rig) / largest(w, a.rig), 0, 1e-6);
        if (neutral)
            assert_near(difference(w, a.strain, b.strain) / largest(w, a.strain), 0, 1e-5);
        else
            assert_near(difference(w, a.carried, b.carried) / largest(w, a.carried), 0, 1e-6);
        su_skinning_bones_free(&bones);
        su_skinning_work_free(work);
        end(&few, &s);
    }
}

/* All instruction sets, and clusters that no iteration ends at, inverted and flat ones. */
static void kernels_find_rotations(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "avx2", "avx512"};
    static _Alignas(64) double F[72], R[72];
    uint32_t random = 3;
    for (int set = 0; set < 3; set++) {
        const su_kernel_set *kernels = su_kernel_set_choose(names[set]);
        for (int turn = 0; kernels && turn < 500; turn++) {
            uint8_t hard;
            for (int k = 0; k < 72; k++) {
                random = random * 1664525u + 1013904223u;
                F[k] = (double)(random >> 8) / (1 << 23) - 1;
                R[k] = k / 8 % 4 == 0;
                if (turn % 5 == 1 && k / 8 < 3) F[k] *= 1e-9;      /* flat */
                if (turn % 5 == 2) F[k] = 0.1 * F[k] + R[k];       /* near the identity */
                if (turn % 5 == 3) F[k] = 0.3 * F[k] - R[k] * 0.9; /* inside out */
            }
            kernels->clusters.rotations(1, F, R, &hard);
            for (int lane = 0; lane < 8; lane++) {
                double f[9], r[9], found = 0, best = 0;
                for (int a = 0; a < 9; a++) f[a] = F[8 * a + lane];
                su_nearest_rotation(f, r);
                for (int a = 0; a < 9; a++) found += f[a] * R[8 * a + lane], best += f[a] * r[a];
                if (turn % 5 == 2) assert_int_equal(hard, 0);
                if (hard >> lane & 1) continue; /* left to su_nearest_rotation */
                assert_near(found, best, 1e-9);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_space_is_the_full_simulation),
                                       cmocka_unit_test(whole_space_under_rows),
                                       cmocka_unit_test(between_frames_it_is_near),
                                       cmocka_unit_test(turns_with_the_scene),
                                       cmocka_unit_test(both_solvers_end_alike),
                                       cmocka_unit_test(still_poses),
                                       cmocka_unit_test(energy_does_not_grow),
                                       cmocka_unit_test(states_are_whole),
                                       cmocka_unit_test(kernels_find_rotations),
                                       cmocka_unit_test(bones_are_the_skin_they_move),
                                       cmocka_unit_test(local_global_iterations_descend)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
