#include "reduce/cubature/motion_check.h"

#include "core/json_text.h"
#include "core/memory.h"
#include "core/order.h"
#include "geometry/vector.h"
#include "rig/shot.h"
#include "runtime/pack_model.h"
#include "runtime/simulate.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static su_status allocate(const su_anim *anim, int64_t r, int64_t m, su_sim *sim, su_error *err)
{
    su_file *head = &sim->file;
    sim->F = anim->F, sim->r = r, sim->m = m;
    SU_TRY(SU_FILE_ALLOC_ALL(head, err, SU_WANT(sim->times, sim->F), SU_WANT(sim->q, sim->F * r),
                             SU_WANT(sim->qdot, sim->F * r), SU_WANT(sim->weights, sim->F * m),
                             SU_WANT(sim->basis_weights, sim->F * m), SU_WANT(sim->energy, sim->F * 3),
                             SU_WANT(sim->iterations, sim->F), SU_WANT(sim->status, sim->F)));
    return SU_OK;
}

static double apart(int64_t r, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < r; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* What all stretches of a shot have in common. */
typedef struct check {
    const su_motion_reference *against;
    const su_model *model;
    const su_runtime_model *runtime;
    su_sim_settings settings;
    su_step_settings step;
    double least;   /* added to the size of every state */
    double *errors; /* (f of the basis) of each state; -1: of another shot */
} check;

/* Frames from `first` on, as an animation that borrows all it has. */
static su_anim part_of(const su_anim *anim, int64_t first, int64_t count)
{
    su_anim part = *anim;
    part.F = count;
    part.points += 3 * first * anim->nbar, part.root += 16 * first, part.times += first, part.params += first * anim->s;
    if (part.bones) part.bones += 16 * first * anim->B;
    return part;
}

/* States [from, to) of the basis, which were played from rest at one frame: so is the model. */
static su_status check_stretch(const check *c, int64_t from, int64_t to, su_motion_error *counted, su_error *err)
{
    const su_model *model = c->model;
    const su_basis *basis = c->against->basis;
    const su_shot_target target = {.rig = su_rig_of_model(model), .nbar = model->nbar, .neutral = model->neutral};
    int64_t start = basis->state_start[from], end = basis->state_frame[to - 1] + 1, r = model->r;
    su_anim part = part_of(c->against->anim, start, (end < c->against->anim->F ? end + 1 : end) - start);
    su_progress silent = {0};
    su_simulation *simulation = NULL;
    su_shot *played = NULL;
    su_sim sim = {0};
    su_status status;
    SU_GO(su_shot_create(&part, c->against->path, &target, 0, NULL, &played, NULL, err));
    SU_GO(su_simulation_create(c->runtime, model, played, &c->settings, &c->step, 1, &simulation, err));
    SU_GO(allocate(&part, r, model->m, &sim, err));
    status = su_simulation_run(simulation, part.F, &sim, &silent, err);
    const su_shot_counts *counts = su_simulation_counts(simulation);
    counted->halved = counts->halved, counted->damped = counts->damped, counted->failed = counts->failed;
    for (int64_t k = from; k < to && (status == SU_OK || status == SU_NUMERICS); k++) {
        const double *there = basis->state_q + k * r, *here = sim.q + (basis->state_frame[k] - start) * r;
        /* lost altogether: the worst of marks, not an error */
        c->errors[k] = status == SU_OK ? apart(r, here, there) / fmax(su_norm(r, there) + c->least, DBL_MIN) : INFINITY;
    }
    if (status == SU_NUMERICS) status = SU_OK;
done:
    su_simulation_free(simulation);
    su_shot_free(played);
    su_sim_free(&sim);
    return status;
}

/* That share of the root mean square of the shot's states. */
static double least_size(const su_basis *basis, double share)
{
    double square = 0;
    int64_t count = 0;
    for (int64_t k = 0; k < basis->f; k++)
        if (basis->state_shot[k] == 0) square += pow(su_norm(basis->r, basis->state_q + k * basis->r), 2), count++;
    return share * sqrt(square / fmax((double)count, 1));
}

/* first (f + 1): the states that begin stretches of the shot, and the end of the last. SU_INPUT where a state lies
 * outside the shot. */
static su_status find_stretches(const su_motion_reference *against, int64_t *first, int64_t *count, su_error *err)
{
    const su_basis *basis = against->basis;
    *count = 0;
    for (int64_t k = 0; k < basis->f; k++) {
        if (basis->state_shot[k] != 0 || basis->state_start[k] < 0) continue;
        if (basis->state_frame[k] >= against->anim->F || basis->state_start[k] >= basis->state_frame[k])
            return su_fail(err, SU_INPUT, "%s: has %lld frames; a state of the basis is its frame %d, played from %d",
                           against->path, (long long)against->anim->F, basis->state_frame[k], basis->state_start[k]);
        bool same = *count > 0 && basis->state_shot[k - 1] == 0 && basis->state_start[k - 1] == basis->state_start[k] &&
                    basis->state_frame[k - 1] < basis->state_frame[k];
        if (!same) first[(*count)++] = k;
        first[*count] = k + 1; /* where the next begins, or later */
    }
    return SU_OK;
}

/* Upper quartile over the states that were compared. */
static void summarize(const check *c, su_motion_error *out)
{
    for (int64_t k = 0; k < c->against->basis->f; k++)
        if (c->errors[k] >= 0) c->errors[out->frames++] = c->errors[k];
    su_sort(c->errors, (size_t)out->frames, sizeof *c->errors, su_order_doubles);
    out->error = out->frames > 0 ? c->errors[3 * out->frames / 4] : 0;
}

su_status su_motion_check(const su_motion_reference *against, const su_model *model, const su_training_plan *plan,
                          int threads, su_motion_error *out, su_error *err)
{
    const su_basis *basis = against->basis;
    const su_anim *anim = against->anim;
    su_runtime_model runtime = {0};
    check c = {.against = against,
               .model = model,
               .runtime = &runtime,
               .settings = su_sim_defaults(),
               .step = {.stiffness = 1, .tolerance = SU_STEP_TOLERANCE},
               .least = least_size(basis, plan->least_motion)};
    int64_t *first = NULL, count;
    su_status status;
    *out = (su_motion_error){0};
    SU_GO(SU_ALLOC(&c.errors, basis->f, "errors", err));
    SU_GO(SU_ALLOC(&first, basis->f + 1, "stretches", err));
    for (int64_t k = 0; k < basis->f; k++) c.errors[k] = -1;
    SU_GO(find_stretches(against, first, &count, err));
    su_sim_read_gravity(basis->file.meta, &c.settings); /* as the states were played */
    c.settings.substeps = (int)plan->played_substeps;
    SU_GO(su_sim_settings_resolve(&c.settings, su_meta_number(model->file.meta, "frequency", 0), anim->F, anim->times,
                                  su_meta_number(anim->file.meta, "fps", SU_FILM_FPS), err));
    c.step.alpha = c.settings.alpha, c.step.beta = c.settings.beta;
    SU_GO(su_runtime_model_create(model, SU_COROTATED, 0, NULL, &runtime, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t k = 0; k < count; k++) {
        su_motion_error counted = {0};
        su_error own = {0};
        int64_t end = first[k];
        while (end < first[k + 1] && basis->state_shot[end] == 0 &&
               basis->state_start[end] == basis->state_start[first[k]])
            end++;
        su_status done = check_stretch(&c, first[k], end, &counted, &own);
#pragma omp critical(su_motion_check)
        {
            out->halved += counted.halved, out->damped += counted.damped, out->failed += counted.failed;
            su_keep_first_error(&status, err, done, &own);
        }
    }
    if (status == SU_OK) summarize(&c, out);
done:
    su_runtime_model_free(&runtime);
    su_sim_settings_free(&c.settings);
    free(c.errors), free(first);
    return status;
}
