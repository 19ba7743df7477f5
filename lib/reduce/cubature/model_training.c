#include "reduce/cubature/model_training.h"

#include "core/file.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "core/threads.h"
#include "reduce/cubature/contact_softness.h"
#include "reduce/cubature/linear_fit.h"
#include "reduce/cubature/model_build.h"
#include "reduce/cubature/model_forces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_model_training_free(su_model_training *training)
{
    su_training_places_free(&training->places), su_training_places_free(&training->moving);
    su_chosen_states_free(&training->chosen);
    su_cubature_free(&training->cubature);
    su_model_free(&training->model);
}

bool su_basis_is_one(const su_basis *basis)
{
    return strcmp(su_meta_text(basis->file.meta, "subspace", ""), "one") == 0;
}

int64_t su_basis_region_modes(const su_basis *basis)
{
    int64_t most = 0, here = 0;
    for (int64_t k = 0; k < basis->r; k++) {
        here = k > 0 && basis->mode_region[k] == basis->mode_region[k - 1] ? here + 1 : 1;
        if (here > most) most = here;
    }
    return most;
}

/* ---- places ---- */

/* The shots must be those that the basis was made from. */
static su_status compare_shots(const su_model_parts *parts, su_error *err)
{
    const su_shot_list *shots = &parts->shots;
    const json_t *names = json_object_get(parts->training.space->basis->file.meta, "shots");
    int count = (int)json_array_size(names);
    if (count != shots->count)
        return su_fail(err, SU_USAGE, "%s: was made from %d shots, --shots names %d; give the same, the motion first",
                       parts->basis_path, count, shots->count);
    for (int k = 0; k < count; k++) {
        const char *wanted = json_string_value(json_array_get(names, (size_t)k));
        if (!wanted || strcmp(wanted, su_base_name(shots->paths[k])) != 0)
            return su_fail(err, SU_USAGE,
                           "%s: shot %d of the basis is '%s'; --shots must name the same in the same order",
                           shots->paths[k], k + 1, wanted ? wanted : "");
    }
    return SU_OK;
}

static su_status place_states(const su_model_parts *parts, su_model_training *out, su_error *err)
{
    su_pose_space *space = parts->training.space;
    const su_shot_frames_list *places = &out->chosen.places;
    SU_TRY(compare_shots(parts, err));
    int count = parts->shots.count, own = (int)su_meta_number(space->basis->file.meta, "motions", count);
    SU_TRY(su_choose_states(space->basis, own, space->diagonal, parts->training.plan, &out->chosen, err));
    for (int64_t a = 0; a < places->count; a++)
        if (places->shot[a] < 0 || places->shot[a] >= count)
            return su_fail(err, SU_INPUT, "%s: a state of shot %d", parts->basis_path, places->shot[a]);
    return su_training_places_at(space, &parts->shots, parts->training.plan, places, &out->places, err);
}

su_status su_model_training_create(const su_model_parts *parts, su_model_training *out, su_error *err)
{
    const su_training_plan *plan = parts->training.plan;
    *out = (su_model_training){0};
    if (su_basis_is_one(parts->training.space->basis)) return place_states(parts, out, err);
    SU_TRY(su_training_places_create(parts->training.space, &parts->shots, plan, plan->frames, &out->places, err));
    return su_training_places_create(parts->training.space, &parts->shots, plan,
                                     plan->vertex_frame_factor * plan->frames, &out->moving, err);
}

/* ---- the model ---- */

static json_t *error_list(int64_t m, const su_error_pair *errors)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < m; i++)
        json_array_append_new(list, json_pack("{s:f, s:f}", "mean", errors[i].mean, "rms", errors[i].rms));
    return list;
}

/* linear (r,r), the model's D, drawn to the forces that the flesh has in the full states of its motion (docs/design.md,
 * eq. 14a). */
static su_status fit_linear_force(const su_model_parts *parts, const su_model_training *training, double *linear,
                                  su_linear_fit_error *error, su_error *err)
{
    const su_basis *basis = parts->training.space->basis;
    int64_t size = basis->f * basis->r;
    double *lacking = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&lacking, size, "states", err));
    SU_GO(su_model_forces(&training->model, basis, &parts->shots, parts->training.space->threads, lacking, err));
    for (int64_t i = 0; i < size; i++) lacking[i] = basis->state_force[i] - lacking[i];
    const su_linear_fit fit = {.r = basis->r,
                               .count = basis->f,
                               .stiffness = training->cubature.stiffness,
                               .q = basis->state_q,
                               .lacking = lacking,
                               .least = parts->training.plan->least_motion,
                               .prior = parts->training.plan->linear_prior,
                               .most_taken = parts->training.plan->most_taken};
    SU_GO(su_fit_linear_force(&fit, linear, error, err));
done:
    free(lacking);
    return status;
}

static su_status build(const su_model_parts *parts, const json_t *meta, su_model_training *training, su_error *err)
{
    const su_pose_space *space = parts->training.space;
    const su_cubature *set = &training->cubature;
    su_model_free(&training->model);
    SU_TRY(su_model_build(space, parts->poses, set, &training->model, err));
    json_t *own = json_copy((json_t *)meta);
    if (!own) return su_fail(err, SU_AGAIN, "out of memory");
    training->model.file.meta = own;
    su_model_carry_meta(space->fit->file.meta, space->basis->file.meta, own);
    json_object_set_new(own, "sample_amplitude", json_real(parts->training.plan->amplitude));
    json_object_set_new(own, "samples", json_integer(set->samples));
    json_object_set_new(own, "seed", json_integer((json_int_t)parts->training.seed));
    json_object_set_new(own, "training_error",
                        set->linear ? json_real(set->tets.worst) : error_list(space->m, set->tets.errors));
    json_object_set_new(own, "training_error_inertia",
                        set->linear ? json_real(set->vertices.worst) : error_list(space->m, set->vertices.errors));
    return SU_OK;
}

/* Holds the model against the first shot of its basis: with D as its tets leave it, and drawn to the forces of the
 * motion. The one that moves better stays. */
static su_status judge(const su_model_parts *parts, const su_anim *anim, su_model_training *training, su_error *err)
{
    su_training_try *now = &training->tried[training->tries++];
    const su_motion_reference played = {parts->training.space->basis, anim, parts->shots.paths[0]};
    int64_t size = training->model.r * training->model.r;
    double *own = training->cubature.linear, *linear = training->model.linear_stiffness;
    su_linear_fit_error forces;
    su_motion_error drawn;
    now->tets = training->cubature.tets.count;
    training->linear_error = (su_linear_fit_error){0};
    SU_TRY(su_motion_check(&played, &training->model, parts->training.plan, parts->training.space->threads,
                           &now->motion, err));
    SU_TRY(fit_linear_force(parts, training, linear, &forces, err));
    if (!(forces.before > 0)) return SU_OK;
    SU_TRY(
        su_motion_check(&played, &training->model, parts->training.plan, parts->training.space->threads, &drawn, err));
    if (drawn.error < now->motion.error) {
        memcpy(own, linear, (size_t)size * sizeof *own);
        training->linear_error = forces, now->motion = drawn;
    } else
        memcpy(linear, own, (size_t)size * sizeof *own);
    return SU_OK;
}

/* Was the motion that the basis was made from kept out of itself? A model has no pairs yet, so that its own motion goes
 * elsewhere at folds, whatever its tets. */
static bool in_contact(const su_basis *basis)
{
    return strcmp(su_meta_text(basis->file.meta, "self_contact", "none"), "none") != 0;
}

/* Forces met to a per cent may still be a motion that is far off: more tets are tried, while they help. With contact,
 * where motion does not tell, they are tried until forces are met to `error` of the plan: two flat sides that press
 * each other are states far from those that the few tets of a swing stand for. */
static su_status train_by_motion(const su_model_parts *parts, const su_training *task, bool tets_given,
                                 const json_t *meta, su_model_training *training, su_error *err)
{
    enum { MOST_ERROR = 1000000 }; /* so that the file holds a number where the model is lost */
    const su_training_plan *plan = parts->training.plan;
    const bool contact = in_contact(parts->training.space->basis);
    int64_t most = tets_given ? 0 : plan->retrainings < SU_MOST_RETRAININGS ? plan->retrainings : SU_MOST_RETRAININGS;
    double started = su_seconds();
    su_anim anim = {0};
    su_status status;
    SU_GO(su_anim_load(parts->shots.paths[0], &anim, err));
    SU_GO(judge(parts, &anim, training, err));
    const su_motion_error *now = &training->tried[0].motion;
    while (training->tries <= most && (contact ? training->cubature.tets.worst > plan->error
                                               : now->error > plan->motion_bound && now->frames > 0)) {
        const su_motion_error *before = now;
        int64_t tets = (int64_t)(plan->tet_growth * (double)training->cubature.tets.count);
        SU_GO(su_cubature_train_tets(task, tets, &training->cubature, err));
        SU_GO(build(parts, meta, training, err));
        SU_GO(judge(parts, &anim, training, err));
        now = &training->tried[training->tries - 1].motion;
        if (!contact && now->error > plan->worth * before->error) break;
    }
    if (!contact)
        json_object_set_new(training->model.file.meta, "motion_error", json_real(fmin(now->error, MOST_ERROR)));
    training->seconds_motion = su_seconds() - started;
done:
    su_anim_free(&anim);
    return status;
}

/* Flesh that gives way in fewer ways presses harder. */
static su_status soften_contact(const su_model_parts *parts, su_model_training *training, su_error *err)
{
    const su_pose_space *space = parts->training.space;
    double factor;
    if (!space->basis->state_contact) return SU_OK;
    SU_TRY(
        su_contact_softness(&training->model, space->fit, space->basis, &parts->shots, space->threads, &factor, err));
    json_object_set_new(training->model.file.meta, "contact_softness", json_real(factor));
    return SU_OK;
}

static su_training task_of(const su_model_parts *parts, const su_model_training *training)
{
    const bool one = training->chosen.places.count > 0;
    su_training task = parts->training;
    task.places = &training->places, task.moving = one ? &training->places : &training->moving;
    task.states = one ? &training->chosen.states : NULL;
    return task;
}

su_status su_model_train(const su_model_parts *parts, bool tets_given, const json_t *meta, su_model_training *training,
                         su_error *err)
{
    const su_training task = task_of(parts, training);
    SU_TRY(su_cubature_train(&task, &training->cubature, err));
    SU_TRY(build(parts, meta, training, err));
    if (!task.states) return SU_OK;
    SU_TRY(train_by_motion(parts, &task, tets_given, meta, training, err));
    return soften_contact(parts, training, err);
}

/* ---- fresh samples ---- */

su_status su_model_check(const su_model_parts *parts, int64_t samples, const su_cubature *cubature,
                         su_fresh_errors errors[SU_FRESH_SIZES], su_error *err)
{
    enum { MORE_FRAMES = 5 };
    int64_t m = parts->training.space->m;
    su_model_training fresh = {0};
    su_error_pair *tets = NULL, *vertices = NULL;
    su_status status;
    SU_GO(su_training_places_create(parts->training.space, &parts->shots, parts->training.plan,
                                    MORE_FRAMES * parts->training.plan->frames, &fresh.places, err));
    SU_GO(SU_ALLOC_ALL("errors", err, SU_WANT(tets, fresh.places.count), SU_WANT(vertices, fresh.places.count)));
    const su_training task = task_of(parts, &fresh);
    for (int k = 0; k < SU_FRESH_SIZES; k++) {
        su_fresh_errors *e = &errors[k];
        *e = (su_fresh_errors){.factor = 0.5 * (k + 1)};
        SU_GO(su_cubature_check(&task, cubature, samples, e->factor, tets, vertices, err));
        for (int64_t a = 0; a < fresh.places.count; a++) {
            e->tets = fmax(e->tets, tets[a].mean), e->vertices = fmax(e->vertices, vertices[a].mean);
            if (a >= m) continue;
            e->tets_at_poses = fmax(e->tets_at_poses, tets[a].mean);
            e->vertices_at_poses = fmax(e->vertices_at_poses, vertices[a].mean);
        }
    }
done:
    free(tets), free(vertices);
    su_model_training_free(&fresh);
    return status;
}
