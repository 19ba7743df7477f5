#include "runtime/supple_runtime_internal.h"

#include "core/choice.h"
#include "core/memory.h"
#include "geometry/mat3.h"
#include "io/stage/model.h"
#include "physics/external.h"
#include "runtime/pack_model.h"
#include "runtime/subspace/reconstruct.h"
#include "physics/settings.h"
#include "physics/shot_driver.h"
#include "runtime/forces/tets_force.h"
#include "runtime/forces/trained_pairs.h"
#include "runtime/reduced_step.h"
#include "runtime/skinning/skinning_live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Poses that the host foresees. */
typedef struct foreseen {
    int64_t count, next;
    double *parameters, *points, *roots; /* (SUPPLE_AHEAD, ...) points corrected */
    su_pose poses[SUPPLE_AHEAD];         /* of bases */
    su_pose_input inputs[SUPPLE_AHEAD];
} foreseen;

struct supple_runtime {
    su_model file;
    su_runtime_model model;
    su_skinning_live *skinning; /* in its place, and in that of stepper and poses, with skinning modes */
    double *q;                  /* (r) then */
    su_reconstruct *reconstruct;
    su_stepper stepper;
    su_pose poses[3]; /* rotate: the new one, and those of the last two steps */
    su_pose *pose, *last, *older;
    su_pose_work work;
    su_pose_input input;
    su_sim_settings settings;
    su_shot_driver driver;
    double frequency; /* Hz, of the lowest mode */
    double beta;      /* s, of the step at hand */
    bool corrected, started, stepped, pending;
    int64_t serial;
    int64_t needed;
    int32_t *needed_list;
    int32_t *patch_at, *rebuild_at, *output_at; /* where their skin vertices stand among the needed ones */
    int64_t posed_count, rebuild_count, output_count;
    int32_t *output_list;
    double *points;               /* (needed,3) corrected */
    double *start_points;         /* (needed,3) those of the pose that a start moves to */
    double *rebuild_skin;         /* (rebuild_count,3) */
    double *posed;                /* (posed_count,3) of skinning modes */
    double *sculpt_weights;       /* (a) */
    double *sculpts;              /* (a,needed,3) */
    su_external external;         /* no points: nothing acts from outside */
    su_pair_sets pairs;           /* of contact of the flesh with itself; v = 0: none */
    su_loads loads, *load;        /* of the stepper of bases; those in use, NULL: none */
    int64_t collider_room, known; /* colliders of the last step */
    double *collider_before;      /* (collider_room,3) where they were then */
    int32_t *load_at;             /* (external.points) where they stand among the needed ones */
    double time;
    foreseen *ahead; /* NULL until there are any */
    bool no_ahead;   /* there is no memory for them */
    su_arena arena;
};

static void *take(supple_runtime *r, int64_t count, size_t size, su_error *err)
{
    void *block = su_arena_alloc(&r->arena, count, size);
    if (!block) su_fail(err, SU_AGAIN, "not enough memory");
    return block;
}

void supple_close(supple_runtime *r)
{
    if (!r) return;
    for (int k = 0; k < 3; k++) su_pose_free(r->poses + k);
    for (int k = 0; r->ahead && k < SUPPLE_AHEAD; k++)
        su_pose_free(r->ahead->poses + k), su_pose_input_free(r->ahead->inputs + k);
    su_pose_work_free(&r->work);
    su_pose_input_free(&r->input);
    su_stepper_free(&r->stepper);
    su_skinning_live_free(r->skinning);
    su_loads_free(&r->loads);
    su_external_free(&r->external);
    su_pair_sets_free(&r->pairs);
    su_reconstruct_free(r->reconstruct);
    su_runtime_model_free(&r->model);
    su_model_free(&r->file);
    su_arena_free(&r->arena);
    free(r);
}

/* ---- which skin points ---- */

static su_status places(supple_runtime *r, int64_t count, const int32_t *list, const int32_t *place, int32_t **out,
                        su_error *err)
{
    if (!(*out = take(r, count, sizeof **out, err))) return SU_AGAIN;
    for (int64_t k = 0; k < count; k++) (*out)[k] = place[list[k]];
    return SU_OK;
}

/* The union of what the pose part, the rebuilding of displacements and the output read. */
static su_status gather_points(supple_runtime *r, su_error *err)
{
    const int32_t *rebuild, *posed = r->model.patch.skin;
    int64_t nbar = r->file.nbar, posed_count = r->model.patch.skin_count;
    if (r->skinning) posed_count = su_skinning_live_needed(r->skinning, &posed);
    r->rebuild_count = su_reconstruct_skin_needed(r->reconstruct, &rebuild);
    int32_t *place = take(r, nbar, sizeof *place, err);
    if (!place) return SU_AGAIN;
    for (int64_t k = 0; k < posed_count; k++) place[posed[k]] = 1;
    for (int64_t k = 0; k < r->rebuild_count; k++) place[rebuild[k]] = 1;
    for (int64_t k = 0; k < r->output_count; k++) place[r->output_list[k]] = 1;
    for (int64_t k = 0; k < r->external.points; k++) place[r->external.vertex[k]] = 1;
    for (int64_t v = 0; v < nbar; v++) r->needed += place[v];
    if (!(r->needed_list = take(r, r->needed, sizeof *r->needed_list, err))) return SU_AGAIN;
    int64_t count = 0;
    for (int64_t v = 0; v < nbar; v++)
        if (place[v]) r->needed_list[count] = (int32_t)v, place[v] = (int32_t)count++;
    SU_TRY(places(r, posed_count, posed, place, &r->patch_at, err));
    r->posed_count = posed_count;
    SU_TRY(places(r, r->rebuild_count, rebuild, place, &r->rebuild_at, err));
    SU_TRY(places(r, r->output_count, r->output_list, place, &r->output_at, err));
    SU_TRY(places(r, r->external.points, r->external.vertex, place, &r->load_at, err));
    r->points = take(r, 3 * r->needed, sizeof(double), err);
    r->start_points = take(r, 3 * r->needed, sizeof(double), err);
    r->rebuild_skin = take(r, 3 * r->rebuild_count, sizeof(double), err);
    r->posed = take(r, 3 * posed_count, sizeof(double), err);
    if (!r->points || !r->start_points || !r->rebuild_skin || !r->posed) return SU_AGAIN;
    if (r->corrected || !r->file.psd_shapes) return SU_OK;
    r->sculpt_weights = take(r, r->file.a, sizeof(double), err);
    r->sculpts = take(r, 3 * r->file.a * r->needed, sizeof(double), err);
    if (!r->sculpt_weights || !r->sculpts) return SU_AGAIN;
    for (int64_t i = 0; i < r->file.a; i++)
        for (int64_t k = 0; k < r->needed; k++)
            memcpy(r->sculpts + 3 * (i * r->needed + k), r->file.psd_shapes + 3 * (i * nbar + r->needed_list[k]),
                   3 * sizeof(double));
    return SU_OK;
}

static su_status choose_output(supple_runtime *r, const supple_options *options, su_error *err)
{
    r->output_count = options->vertices ? options->vertex_count : r->file.nbar;
    if (!(r->output_list = take(r, r->output_count, sizeof *r->output_list, err))) return SU_AGAIN;
    for (int64_t k = 0; k < r->output_count; k++) {
        int64_t v = options->vertices ? options->vertices[k] : k;
        if (v < 0 || v >= r->file.nbar)
            return su_fail(err, SU_USAGE, "there is no skin vertex %lld, the skin has %lld", (long long)v,
                           (long long)r->file.nbar);
        r->output_list[k] = (int32_t)v;
    }
    return SU_OK;
}

/* The contact points, and the model with the flesh vertices that carry them and those of contact with itself. */
static su_status open_contacts(supple_runtime *r, su_interpolation interpolation, const supple_options *options,
                               su_error *err)
{
    const su_model *file = &r->file;
    bool skinned = su_is_skinning_model(file); /* which finds the vertices itself */
    if (r->pairs.v > 0 && skinned)
        return su_fail(err, SU_USAGE, "contact of the flesh with itself goes with models of bases only");
    if (r->pairs.v > 0 && r->pairs.vertices[r->pairs.v - 1] >= file->n)
        return su_fail(err, SU_INPUT, "the contact is of other flesh than the model");
    if (options->contact_count <= 0)
        return skinned
                   ? SU_OK
                   : su_runtime_model_create_with(file, interpolation, r->pairs.v, r->pairs.vertices, &r->model, err);
    r->collider_room = options->collider_count > 0 ? options->collider_count : 0;
    SU_TRY(su_external_create(options->contact_count, options->contacts, file->nbar, file->neutral, file->vertices,
                              file->b, file->surface, r->collider_room, &r->external, err));
    if (options->contact_stiffness > 0) r->external.stiffness = options->contact_stiffness;
    int64_t carriers = 4 * r->external.points;
    int32_t *carrier = take(r, carriers + r->pairs.v, sizeof *carrier, err);
    r->collider_before = take(r, 3 * r->collider_room, sizeof *r->collider_before, err);
    if (!carrier || !r->collider_before) return SU_AGAIN;
    for (int64_t i = 0; i < carriers; i++)
        carrier[i] = file->tets[4 * (int64_t)file->embed_tet[r->external.vertex[i / 4]] + i % 4];
    for (int64_t i = 0; i < r->pairs.v; i++) carrier[carriers + i] = r->pairs.vertices[i];
    return skinned ? SU_OK
                   : su_runtime_model_create_with(file, interpolation, carriers + r->pairs.v, carrier, &r->model, err);
}

/* The pose to step to: once more the same where none was set. */
static const su_pose *to_pose(const supple_runtime *r) { return r->pending ? r->pose : r->last; }

static su_status take_step(void *self, double h, double extra, int *solves, su_error *err)
{
    supple_runtime *r = self;
    if (r->skinning)
        return su_skinning_live_step(r->skinning, h, r->beta, extra, solves)
                   ? SU_OK
                   : su_fail(err, SU_NUMERICS, "the step is not finite");
    const su_pose *to = to_pose(r);
    su_gravity gravity = su_sim_gravity(&r->settings, to->Q);
    su_step_end end = su_stepper_advance(&r->stepper, to, h, &gravity, extra);
    *solves = r->stepper.iterations;
    return end == SU_STEP_OK ? SU_OK : su_fail(err, SU_NUMERICS, "%s", su_step_end_text(end));
}

static void follow(void *self, double h)
{
    supple_runtime *r = self;
    if (r->skinning) {
        su_skinning_live_follow(r->skinning, h);
        return;
    }
    su_stepper_follow(&r->stepper, to_pose(r), h);
}

static const su_shot_stepper live = {.step = take_step, .follow = follow};

static su_status open_self_contact(supple_runtime *r, su_error *err)
{
    int64_t first = 4 * r->external.points;
    su_trained_pairs what = {&r->pairs, r->file.vertices, r->model.points.extra_place + first,
                             r->model.points.extra_point + first, r->settings.stiffness};
    su_contact contact;
    SU_TRY(su_trained_pairs_create(&what, &r->stepper.subspace, &contact, err));
    su_stepper_add_contact(&r->stepper, &contact);
    return SU_OK;
}

/* The stepper of bases, and its poses. */
/* Relative residual at which Newton stops, as supple sim's; and the step that is taken for granted until the host says
 * one, s. */
static const double TOLERANCE = 1e-8, FIRST_STEP = 1.0 / 60;

static su_status open_stepper(supple_runtime *r, const supple_options *options, su_error *err)
{
    su_step_settings step = {.alpha = r->settings.alpha,
                             .beta = r->settings.beta,
                             .stiffness = r->settings.stiffness,
                             .newton = options->newton > 0 ? options->newton : 2,
                             .tolerance = TOLERANCE};
    SU_TRY(su_stepper_create(&r->model, &step, &r->stepper, err));
    if (r->external.points > 0) {
        SU_TRY(su_loads_create(&r->external, r->file.embed_tet, r->file.embed_bary, r->file.tets, &r->loads, err));
        SU_TRY(su_stepper_set_loads(&r->stepper, &r->model, &r->loads, err));
        r->load = &r->loads;
    }
    if (r->pairs.v > 0) SU_TRY(open_self_contact(r, err));
    for (int k = 0; k < 3; k++) SU_TRY(su_pose_create(&r->model, r->poses + k, err));
    r->pose = r->poses, r->last = r->poses + 1, r->older = r->poses + 2;
    SU_TRY(su_pose_work_create(&r->model, &r->work, err));
    return su_pose_input_create(&r->model, true, &r->input, err);
}

/* The same of skinning modes. */
static su_status open_skinning(supple_runtime *r, const supple_options *options, su_error *err)
{
    int iterations = options->newton > 0 ? options->newton : SU_SKINNING_ITERATIONS;
    SU_TRY(su_skinning_live_create(&r->file, &r->settings, iterations, &r->external, &r->skinning, err));
    r->load = su_skinning_live_loads(r->skinning);
    return (r->q = take(r, r->file.r, sizeof *r->q, err)) ? SU_OK : SU_AGAIN;
}

static su_status open_model(supple_runtime *r, const supple_options *options, su_error *err)
{
    r->settings = su_sim_defaults();
    if (options->gravity[0] != 0 || options->gravity[1] != 0 || options->gravity[2] != 0)
        memcpy(r->settings.gravity, options->gravity, sizeof r->settings.gravity);
    r->settings.gravity_mode = options->gravity_mode;
    if (options->damping > 0) r->settings.damping = options->damping;
    if (options->stiffness > 0) r->settings.stiffness = options->stiffness;
    r->corrected = options->corrected;
    double still = 0;
    r->frequency = json_number_value(json_object_get(r->file.file.meta, "frequency"));
    SU_TRY(su_sim_settings_resolve(&r->settings, r->frequency, 1, &still, 1 / FIRST_STEP, err));
    const char *way = json_string_value(json_object_get(r->file.file.meta, "interpolation"));
    su_interpolation interpolation = (su_interpolation)su_choice_find(SU_INTERPOLATION_NAMES, way, SU_COROTATED);
    SU_TRY(open_contacts(r, interpolation, options, err));
    r->driver = su_shot_driver_of(&live, r, &r->settings);
    SU_TRY(su_is_skinning_model(&r->file) ? open_skinning(r, options, err) : open_stepper(r, options, err));
    SU_TRY(choose_output(r, options, err));
    SU_TRY(su_reconstruct_create(&r->file, interpolation, r->output_count, r->output_list, 1, &r->reconstruct, err));
    return gather_points(r, err);
}

supple_runtime *supple_open_model(su_model *model, su_pair_sets *contact, const supple_options *options, char *message,
                                  size_t size)
{
    static const supple_options defaults = {.corrected = 0};
    su_error err = {0};
    supple_runtime *r = calloc(1, sizeof *r);
    su_status status = r ? SU_OK : su_fail(&err, SU_AGAIN, "not enough memory");
    if (r) {
        r->file = *model;
        *model = (su_model){0};
        if (contact) r->pairs = *contact, *contact = (su_pair_sets){0};
        status = open_model(r, options ? options : &defaults, &err);
    }
    if (status == SU_OK) return r;
    if (message && size > 0) snprintf(message, size, "%s", err.text);
    supple_close(r);
    su_model_free(model);
    if (contact) su_pair_sets_free(contact);
    return NULL;
}

supple_runtime *supple_open(const char *model_path, const supple_options *options, char *message, size_t size)
{
    su_error err = {0};
    su_model model = {0};
    su_pair_sets contact = {0};
    bool touches = options && options->self_contact;
    su_status status = su_model_load(model_path, &model, &err);
    if (status == SU_OK && touches) status = su_pair_sets_load(options->self_contact, &contact, &err);
    if (status == SU_OK) return supple_open_model(&model, touches ? &contact : NULL, options, message, size);
    su_model_free(&model);
    if (message && size > 0) snprintf(message, size, "%s", err.text);
    return NULL;
}

const su_model *supple_model_of(const supple_runtime *r) { return &r->file; }

int supple_runtime_version(void) { return 1000 * SUPPLE_RUNTIME_MAJOR + SUPPLE_RUNTIME_MINOR; }

int64_t supple_parameters(const supple_runtime *r) { return r->file.s; }

const char *supple_parameter_name(const supple_runtime *r, int64_t index)
{
    return su_file_name(&r->file.file, "param_names", index);
}

int64_t supple_skin_vertices(const supple_runtime *r) { return r->file.nbar; }

int64_t supple_needed(const supple_runtime *r, const int32_t **vertices)
{
    *vertices = r->needed_list;
    return r->needed;
}

int64_t supple_output_vertices(const supple_runtime *r, const int32_t **vertices)
{
    *vertices = r->output_list;
    return r->output_count;
}

/* ---- forces from outside ---- */

int64_t supple_contacts(const supple_runtime *r, const int32_t **vertices)
{
    *vertices = r->external.vertex;
    return r->external.points;
}

void supple_contact_areas(const supple_runtime *r, double *areas)
{
    memcpy(areas, r->external.area, (size_t)r->external.points * sizeof *areas);
}

void supple_set_contact_areas(supple_runtime *r, const double *areas)
{
    memcpy(r->external.area, areas, (size_t)r->external.points * sizeof *areas);
}

void supple_contact_positions(const supple_runtime *r, double *positions)
{
    memcpy(positions, r->load->now, (size_t)(3 * r->external.points) * sizeof *positions);
}

int supple_set_colliders(supple_runtime *r, int64_t count, const supple_collider *colliders)
{
    static const su_collider_shape shapes[] = {SU_PLANE, SU_SPHERE, SU_CAPSULE};
    if (count > r->collider_room) return 1;
    for (int64_t k = 0; k < count; k++) {
        const supple_collider *from = colliders + k;
        bool plane = from->shape == SUPPLE_PLANE;
        if (from->shape < SUPPLE_PLANE || from->shape > SUPPLE_CAPSULE || !(from->friction >= 0) ||
            !(plane ? su_dot3(from->b, from->b) > 0 : from->radius > 0))
            return 1;
    }
    for (int64_t k = 0; k < count; k++) {
        su_collider *to = r->external.collider + k;
        const supple_collider *from = colliders + k;
        double size = from->shape == SUPPLE_PLANE ? sqrt(su_dot3(from->b, from->b)) : 1;
        to->shape = shapes[from->shape], to->radius = from->radius, to->friction = from->friction;
        for (int i = 0; i < 3; i++) to->a[i] = from->a[i], to->b[i] = from->b[i] / size;
    }
    r->external.colliders = count;
    return 0;
}

void supple_set_wind(supple_runtime *r, const double *velocity, double drag)
{
    for (int i = 0; i < 3; i++) r->external.wind[i] = velocity ? velocity[i] : 0;
    r->external.drag = velocity ? drag : 0;
}

void supple_set_force(supple_runtime *r, int64_t index, const double force[3])
{
    su_external *e = &r->external;
    int64_t k = 0;
    if (index < 0 || index >= e->points) return;
    while (k < e->forces && e->force[k].point != index) k++;
    bool none = force[0] == 0 && force[1] == 0 && force[2] == 0;
    if (k == e->forces && none) return;
    if (none) {
        e->force[k] = e->force[--e->forces];
        return;
    }
    if (k == e->forces) e->forces++;
    e->force[k] = (su_point_force){index, {force[0], force[1], force[2]}, -INFINITY, INFINITY};
}

void supple_get_self_contact(const supple_runtime *r, supple_self_contact *out)
{
    *out = (supple_self_contact){0};
    if (r->pairs.v == 0) return;
    su_trained_pairs_now now = su_trained_pairs_state(r->stepper.contact + r->stepper.contacts - 1);
    *out = (supple_self_contact){now.tested, now.pressed, now.deepest, now.left};
}

/* Time and the colliders' way during a step of `seconds`. */
static void advance_colliders(supple_runtime *r, double seconds)
{
    r->time += seconds;
    if (r->load) r->load->t = r->time;
    for (int64_t k = 0; k < r->external.colliders; k++) {
        su_collider *c = r->external.collider + k;
        c->key_time[0] = r->time - seconds, c->key_time[1] = r->time;
        for (int i = 0; i < 3; i++) {
            c->key_offset[i] = k < r->known ? r->collider_before[3 * k + i] - c->a[i] : 0;
            c->key_offset[3 + i] = 0;
            r->collider_before[3 * k + i] = c->a[i];
        }
    }
    r->known = r->external.colliders;
}

/* ---- stepping ---- */

static void split_root(const double root[16], double Q[9], double c[3])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) Q[3 * i + j] = root[4 * i + j];
        c[i] = root[4 * i + 3];
    }
}

/* Into poses, one after the other; the weights before the first are those of the last two steps. */
static void evaluate_basis(supple_runtime *r, int64_t count, const double *parameters, const double *points,
                           const double *roots, su_pose_input *inputs, su_pose *poses)
{
    const su_blend *last = r->last->blend.serial ? &r->last->blend : NULL,
                   *older = r->older->blend.serial ? &r->older->blend : NULL, *before[SUPPLE_AHEAD][2];
    for (int64_t f = 0; f < count; f++) {
        su_pose_input *input = inputs + f;
        memcpy(input->p, parameters + f * r->file.s, (size_t)r->file.s * sizeof(double));
        for (int64_t k = 0; k < r->posed_count; k++)
            memcpy(input->skin + 3 * k, points + 3 * (f * r->needed + r->patch_at[k]), 3 * sizeof(double));
        split_root(roots + 16 * f, input->Q, input->c);
        before[f][0] = last, before[f][1] = older;
        su_blend_evaluate(&r->model, input->p, ++r->serial, &poses[f].blend);
        older = last, last = &poses[f].blend;
    }
    su_pose_evaluate(&r->model, count, inputs, before, &r->work, poses);
}

static void pose_basis(supple_runtime *r, const double *parameters, const double root[16])
{
    /* A pose that was set but never stepped to is simply replaced. */
    evaluate_basis(r, 1, parameters, r->points, root, &r->input, r->pose);
    r->pending = true;
    if (r->started) return;
    su_stepper_start(&r->stepper, r->pose, NULL, NULL, NULL, FIRST_STEP);
    if (r->settings.gravity_mode ==
        SU_GRAVITY_RELATIVE) { /* as shots begin; where there is no rest, it starts at u = 0 */
        su_gravity gravity = su_sim_gravity(&r->settings, r->pose->Q);
        su_stepper_settle(&r->stepper, r->pose, &gravity, SU_SETTLE_SOLVES);
    }
}

static const double *posed_skin(supple_runtime *r, const double *points)
{
    for (int64_t k = 0; k < r->posed_count; k++)
        memcpy(r->posed + 3 * k, points + 3 * r->patch_at[k], 3 * sizeof(double));
    return r->posed;
}

static void pose_skinning(supple_runtime *r, const double *parameters, const double root[16])
{
    double Q[9], c[3];
    split_root(root, Q, c);
    su_skinning_live_pose(r->skinning, parameters, posed_skin(r, r->points), Q, c, !r->started);
}

/* The host's points, with the sculpts of those parameters. */
static void correct_points(supple_runtime *r, const double *parameters, const double *points, double *out)
{
    memcpy(out, points, (size_t)(3 * r->needed) * sizeof *out);
    if (!r->sculpts) return;
    su_rig_sculpt_weights(&r->model.rig, parameters, r->sculpt_weights);
    for (int64_t i = 0; i < r->file.a; i++)
        for (int64_t k = 0; k < 3 * r->needed; k++) out[k] += r->sculpt_weights[i] * r->sculpts[3 * i * r->needed + k];
}

/* Where the contact points are on the rig. */
static void load_points(supple_runtime *r)
{
    for (int64_t k = 0; k < r->external.points; k++)
        memcpy(r->load->skin + 3 * k, r->points + 3 * r->load_at[k], 3 * sizeof(double));
}

static void forget(supple_runtime *r)
{
    if (r->ahead) r->ahead->count = r->ahead->next = 0;
}

void supple_set_pose(supple_runtime *r, const double *parameters, const double *points, const double root[16])
{
    forget(r);
    correct_points(r, parameters, points, r->points);
    load_points(r);
    if (r->skinning)
        pose_skinning(r, parameters, root);
    else
        pose_basis(r, parameters, root);
    r->started = true;
}

static su_status open_foreseen(supple_runtime *r, su_error *err)
{
    foreseen *ahead = take(r, 1, sizeof *ahead, err);
    if (!ahead) return SU_AGAIN;
    ahead->parameters = take(r, SUPPLE_AHEAD * r->file.s, sizeof(double), err);
    ahead->points = take(r, SUPPLE_AHEAD * 3 * r->needed, sizeof(double), err);
    ahead->roots = take(r, SUPPLE_AHEAD * 16, sizeof(double), err);
    if (!ahead->parameters || !ahead->points || !ahead->roots) return SU_AGAIN;
    r->ahead = ahead;
    for (int k = 0; k < SUPPLE_AHEAD && !r->skinning; k++) {
        SU_TRY(su_pose_create(&r->model, ahead->poses + k, err));
        SU_TRY(su_pose_input_create(&r->model, true, ahead->inputs + k, err));
    }
    return SU_OK;
}

int supple_foresee(supple_runtime *r, int64_t count, const double *parameters, const double *points,
                   const double *roots)
{
    forget(r);
    if (!r->started || count > SUPPLE_AHEAD || r->no_ahead) return 1;
    if (!r->ahead && open_foreseen(r, NULL) != SU_OK) return r->no_ahead = true;
    foreseen *ahead = r->ahead;
    memcpy(ahead->parameters, parameters, (size_t)(count * r->file.s) * sizeof(double));
    memcpy(ahead->roots, roots, (size_t)(16 * count) * sizeof(double));
    for (int64_t f = 0; f < count; f++)
        correct_points(r, parameters + f * r->file.s, points + 3 * f * r->needed, ahead->points + 3 * f * r->needed);
    if (!r->skinning) evaluate_basis(r, count, parameters, ahead->points, roots, ahead->inputs, ahead->poses);
    ahead->count = count;
    return 0;
}

int supple_next_pose(supple_runtime *r)
{
    foreseen *ahead = r->ahead;
    if (!ahead || ahead->next >= ahead->count) return 1;
    int64_t f = ahead->next++;
    memcpy(r->points, ahead->points + 3 * f * r->needed, (size_t)(3 * r->needed) * sizeof(double));
    load_points(r);
    if (r->skinning) {
        pose_skinning(r, ahead->parameters + f * r->file.s, ahead->roots + 16 * f);
        return 0;
    }
    su_pose free_one = *r->pose; /* which no step reads any more */
    *r->pose = ahead->poses[f], ahead->poses[f] = free_one;
    r->pending = true;
    return 0;
}

void supple_start_moving(supple_runtime *r, const double *parameters, const double *points, const double root[16],
                         double seconds)
{
    forget(r);
    if (!r->started || !(seconds > 0)) return;
    correct_points(r, parameters, points, r->start_points);
    if (r->skinning) {
        double Q[9], c[3];
        split_root(root, Q, c);
        su_skinning_live_start(r->skinning, parameters, posed_skin(r, r->start_points), Q, c, r->stepped, seconds);
        return;
    }
    const su_stepper *s = &r->stepper;
    r->older->blend.serial = 0; /* nothing reads it any more */
    evaluate_basis(r, 1, parameters, r->start_points, root, &r->input, r->older);
    su_stepper_start(&r->stepper, to_pose(r), s->now->q, s->before->q, r->older, seconds);
    r->older->blend.serial = 0;
}

void supple_restart(supple_runtime *r)
{
    forget(r);
    r->started = r->stepped = false, r->known = 0;
}

void supple_set_flesh(supple_runtime *r, double stiffness, double damping)
{
    if (damping > 0) r->settings.damping = damping;
    if (!(stiffness > 0)) return;
    r->settings.stiffness = stiffness;
    if (r->skinning)
        su_skinning_live_set_stiffness(r->skinning, stiffness);
    else
        su_tets_force_set_stiffness(&r->stepper.force, stiffness);
}

void supple_set_gravity(supple_runtime *r, const double gravity[3], int mode)
{
    memcpy(r->settings.gravity, gravity, sizeof r->settings.gravity);
    r->settings.gravity_mode = mode;
    if (r->skinning) su_skinning_live_set_gravity(r->skinning, &r->settings);
}

int supple_step(supple_runtime *r, double seconds)
{
    if (!r->started || !(seconds > 0)) return SU_STATUS_FAILED;
    advance_colliders(r, seconds);
    r->stepper.settings.beta = r->beta = su_sim_beta(&r->settings, r->frequency, seconds);
    r->driver.status = SU_STATUS_OK;
    r->stepped = true;
    su_shot_step(&r->driver, seconds, NULL); /* a reduced step has no errors of its own */
    if (r->pending) {                        /* of bases */
        su_pose *oldest = r->older;
        r->older = r->last, r->last = r->pose, r->pose = oldest;
        r->pending = false;
    }
    return r->driver.status;
}

void supple_positions(supple_runtime *r, double *positions)
{
    if (r->skinning) {
        su_skinning_live_coordinates(r->skinning, r->q);
        su_reconstruct_one(r->reconstruct, NULL, NULL, NULL, r->q, NULL, positions);
    } else {
        const su_blend *blend = r->pending ? &r->pose->blend : &r->last->blend;
        for (int64_t k = 0; k < r->rebuild_count; k++)
            memcpy(r->rebuild_skin + 3 * k, r->points + 3 * r->rebuild_at[k], 3 * sizeof(double));
        su_reconstruct_one(r->reconstruct, r->rebuild_skin, blend->w, blend->b, r->stepper.now->q, NULL, positions);
    }
    for (int64_t k = 0; k < r->output_count; k++)
        for (int c = 0; c < 3; c++) positions[3 * k + c] += r->points[3 * (int64_t)r->output_at[k] + c];
}
