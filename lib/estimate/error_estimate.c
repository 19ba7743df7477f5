#include "estimate/error_estimate.h"

#include "core/memory.h"
#include "core/threads.h"
#include "estimate/reduced_motion.h"
#include "fem/compare.h"
#include "geometry/rotation.h"
#include "runtime/subspace/reconstruct.h"

#include <math.h>
#include <string.h>

/* Both simulations of the shot, and what is known of them so far. */
typedef struct pair {
    const su_estimate_inputs *in;
    su_reduced_motion motion;
    su_fullsim *sim;
    su_compare *compare;
    double *reduced; /* (n,3) m, root frame */
    su_arena arena;
} pair;

static void pair_free(pair *p)
{
    su_compare_free(p->compare);
    su_fullsim_free(p->sim);
    su_reduced_motion_free(&p->motion);
    su_arena_free(&p->arena);
}

/* The files belong together, and there is an estimate for them. */
static su_status check(const su_estimate_inputs *in, su_error *err)
{
    const su_model *model = in->model;
    if (in->tet->n != model->n || in->tet->t != model->t || in->fit->n != model->n || in->fit->t != model->t ||
        in->fit->k != model->m || memcmp(in->tet->tets, model->tets, (size_t)(4 * model->t) * sizeof *model->tets) != 0)
        return su_fail(err, SU_INPUT,
                       "an estimate of the error needs the flesh and the fit that the model was made from");
    if (su_sim_interpolation(in->sim) != SU_COROTATED)
        return su_fail(err, SU_USAGE, "there is no estimate of the error for linear interpolation");
    return SU_OK;
}

static void lead(void *self, int64_t instant, double *back) { su_reduced_motion_at(self, instant, back); }

static su_status pair_create(pair *p, su_error *err)
{
    const su_estimate_inputs *in = p->in;
    SU_TRY(su_reduced_motion_create(in->model, in->shot, in->settings, in->sim, &p->motion, err));
    const double usual = in->self_contact ? SU_CONTACT_TOLERANCE : SU_LED_TOLERANCE;
    const su_fullsim_options options = {.tolerance = in->tolerance > 0 ? in->tolerance : usual,
                                        .threads = in->threads,
                                        .iterative = true,
                                        .no_energy = true,
                                        .placed = in->cycle,
                                        .self_contact = in->self_contact,
                                        .friction = in->friction,
                                        .contact_stiffness = in->contact_stiffness,
                                        .leader = {lead, &p->motion}};
    SU_TRY(su_fullsim_create(in->tet, in->fit, in->shot, in->settings, &options, &p->sim, err));
    SU_TRY(su_compare_create(in->model->n, su_fullsim_mass(p->sim), 0, su_shot_frames(in->shot), &p->compare, err));
    p->reduced = su_arena_alloc(&p->arena, 3 * in->model->n, sizeof *p->reduced);
    return p->reduced ? SU_OK : su_fail(err, SU_AGAIN, "no memory for %lld flesh vertices", (long long)in->model->n);
}

/* The frame at which the full simulation stands. */
static su_status record(pair *p, int64_t frame, const su_fullsim_frame *state, double *rms, su_error *err)
{
    int64_t n = p->in->model->n;
    double square = 0;
    su_reduced_motion_at(&p->motion, frame * p->in->settings->substeps, p->reduced);
    su_turn_vectors(n, su_fullsim_turn(p->sim), p->reduced, p->reduced);
    su_compare_add(p->compare, p->in->sim->times[frame], p->reduced, NULL, state->u, NULL);
    for (int64_t i = 0; i < 3 * n; i++) {
        double apart = state->u[i] - p->reduced[i];
        square += apart * apart;
    }
    *rms = sqrt(square / (double)(n > 0 ? n : 1));
    return isfinite(*rms) ? SU_OK
                          : su_fail(err, SU_NUMERICS, "frame %lld: a displacement is not finite", (long long)frame);
}

static void conclude(const pair *p, const double *estimate, su_estimate_total *total)
{
    int64_t count;
    double moved = 0, worst = 0;
    const su_compare_frame *frame = su_compare_frames(p->compare, &count);
    const su_shot_counts *counts = su_fullsim_totals(p->sim);
    for (int64_t k = 0; k < count; k++) moved += frame[k].u * frame[k].u, worst = fmax(worst, estimate[k]);
    total->relative = su_compare_result(p->compare).error;
    total->motion = count > 0 ? sqrt(moved / (double)count) : 0;
    total->largest = total->motion > 0 ? worst / total->motion : worst > 0 ? INFINITY : 0;
    total->led = !p->in->self_contact;
    total->damped = counts->damped, total->failed = counts->failed;
}

su_status su_error_estimate(const su_estimate_inputs *inputs, double *estimate, float *full, int32_t *status,
                            su_estimate_total *total, su_progress *progress, su_error *err)
{
    int64_t n3 = 3 * inputs->model->n, F = su_shot_frames(inputs->shot);
    pair p = {.in = inputs};
    double start = su_seconds();
    su_status ended;
    *total = (su_estimate_total){0};
    if ((ended = check(inputs, err)) != SU_OK) return ended;
    ended = pair_create(&p, err);
    for (int64_t k = 0; k < F && ended == SU_OK; k++) {
        su_fullsim_frame state;
        if (k > 0 && (ended = su_fullsim_advance(p.sim, err)) != SU_OK) break;
        su_fullsim_state(p.sim, &state);
        if ((ended = record(&p, k, &state, estimate + k, err)) != SU_OK) break;
        for (int64_t i = 0; full && i < n3; i++) full[k * n3 + i] = (float)state.u[i];
        if (status) status[k] = state.status;
        ended = su_progress_update(progress, (double)(k + 1) / (double)F, err);
    }
    if (ended == SU_OK) conclude(&p, estimate, total);
    total->seconds = su_seconds() - start;
    pair_free(&p);
    return ended;
}
