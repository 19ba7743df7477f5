#include "runtime/supple_runtime_internal.h"

#include "core/choice.h"
#include "runtime/forces/trained_pairs.h"
#include "runtime/pack_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Relative residual at which steps of a given number of solves stop, as supple sim's. */
static const double SOLVED = 1e-8;

static su_status places(supple_runtime *r, int64_t count, const int32_t *list, const int32_t *place, int32_t **out,
                        su_error *err)
{
    SU_TRY(SU_RUNTIME_TAKE(r, err, SU_WANT(*out, count)));

    for (int64_t k = 0; k < count; k++) (*out)[k] = place[list[k]];
    return SU_OK;
}

/* The union of what the pose part, the rebuilding of displacements and the output read. */
static su_status gather_points(supple_runtime *r, su_error *err)
{
    const int32_t *rebuild, *posed = r->skinning ? r->skinning->list : r->model.patch.skin;
    int64_t nbar = r->file.nbar, posed_count = r->skinning ? r->skinning->needed : r->model.patch.skin_count;
    r->rebuild_count = su_reconstruct_skin_needed(r->reconstruct, &rebuild);
    int32_t *place;
    SU_TRY(SU_RUNTIME_TAKE(r, err, SU_WANT(place, nbar)));

    for (int64_t k = 0; k < posed_count; k++) place[posed[k]] = 1;
    for (int64_t k = 0; k < r->rebuild_count; k++) place[rebuild[k]] = 1;
    for (int64_t k = 0; k < r->output_count; k++) place[r->output_list[k]] = 1;
    for (int64_t k = 0; k < r->external.points; k++) place[r->external.vertex[k]] = 1;
    for (int64_t v = 0; v < nbar; v++) r->needed += place[v];
    SU_TRY(SU_RUNTIME_TAKE(r, err, SU_WANT(r->needed_list, r->needed), SU_WANT(r->points, 3 * r->needed),
                           SU_WANT(r->start_points, 3 * r->needed), SU_WANT(r->rebuild_skin, 3 * r->rebuild_count),
                           SU_WANT(r->posed, 3 * posed_count)));

    int64_t count = 0;
    for (int64_t v = 0; v < nbar; v++)
        if (place[v]) r->needed_list[count] = (int32_t)v, place[v] = (int32_t)count++;
    SU_TRY(places(r, posed_count, posed, place, &r->patch_at, err));
    r->posed_count = posed_count;
    SU_TRY(places(r, r->rebuild_count, rebuild, place, &r->rebuild_at, err));
    SU_TRY(places(r, r->output_count, r->output_list, place, &r->output_at, err));
    SU_TRY(places(r, r->external.points, r->external.vertex, place, &r->load_at, err));

    if (r->corrected || !r->file.psd_shapes) return SU_OK;
    SU_TRY(
        SU_RUNTIME_TAKE(r, err, SU_WANT(r->sculpt_weights, r->file.a), SU_WANT(r->sculpts, 3 * r->file.a * r->needed)));

    for (int64_t i = 0; i < r->file.a; i++)
        for (int64_t k = 0; k < r->needed; k++)
            memcpy(r->sculpts + 3 * (i * r->needed + k), r->file.psd_shapes + 3 * (i * nbar + r->needed_list[k]),
                   3 * sizeof(double));
    return SU_OK;
}

static su_status choose_output(supple_runtime *r, const supple_options *options, su_error *err)
{
    r->output_count = options->vertices ? options->vertex_count : r->file.nbar;
    SU_TRY(SU_RUNTIME_TAKE(r, err, SU_WANT(r->output_list, r->output_count)));

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
    if (options->contact_count > 0) {
        r->collider_room = options->collider_count > 0 ? options->collider_count : 0;
        const su_load_points points = {options->contact_count, options->contacts, file->nbar,   file->neutral,
                                       file->vertices,         file->b,           file->surface};
        SU_TRY(su_external_create(&points, r->collider_room, &r->external, err));
        if (options->contact_stiffness > 0) r->external.stiffness = options->contact_stiffness;
        SU_TRY(SU_RUNTIME_TAKE(r, err, SU_WANT(r->collider_before, 3 * r->collider_room)));
    }
    if (skinned) return SU_OK;
    int64_t carriers = 4 * r->external.points;
    int32_t *carrier;
    SU_TRY(SU_RUNTIME_TAKE(r, err, SU_WANT(carrier, carriers + r->pairs.v)));
    for (int64_t i = 0; i < carriers; i++)
        carrier[i] = file->tets[4 * (int64_t)file->embed_tet[r->external.vertex[i / 4]] + i % 4];
    for (int64_t i = 0; i < r->pairs.v; i++) carrier[carriers + i] = r->pairs.vertices[i];
    return su_runtime_model_create(file, interpolation, carriers + r->pairs.v, carrier, &r->model, err);
}

static su_status open_self_contact(supple_runtime *r, su_error *err)
{
    int64_t first = 4 * r->external.points;
    su_trained_pairs what = {&r->pairs,
                             r->file.vertices,
                             r->model.points.extra_place + first,
                             r->model.points.extra_point + first,
                             r->settings.stiffness * su_model_contact_softness(&r->file),
                             0};
    su_contact contact;
    SU_TRY(su_trained_pairs_create(&what, &r->stepper.subspace, &contact, err));
    su_stepper_add_contact(&r->stepper, &contact);
    return SU_OK;
}

/* The stepper of bases, and its poses. */
static su_status open_stepper(supple_runtime *r, const supple_options *options, su_error *err)
{
    su_step_settings step = {.alpha = r->settings.alpha,
                             .beta = r->settings.beta,
                             .stiffness = r->settings.stiffness,
                             .newton = options->newton,
                             .tolerance = options->newton > 0 ? SOLVED : SU_STEP_TOLERANCE};
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
    r->load = su_skinning_loads(r->skinning->stepper);
    return SU_RUNTIME_TAKE(r, err, SU_WANT(r->q, r->file.r));
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
    SU_TRY(su_sim_settings_resolve(&r->settings, r->frequency, 1, &still, 1 / SU_RUNTIME_FIRST_STEP, err));
    const char *way = json_string_value(json_object_get(r->file.file.meta, "interpolation"));
    su_interpolation interpolation = (su_interpolation)su_choice_find(SU_INTERPOLATION_NAMES, way, SU_COROTATED);
    SU_TRY(open_contacts(r, interpolation, options, err));
    r->driver = su_shot_driver_of(&su_runtime_steps, r, &r->settings);
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
