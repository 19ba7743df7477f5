#include "runtime/skinning/skinning_live.h"

#include <stdlib.h>
#include <string.h>

void su_skinning_live_free(su_skinning_live *l)
{
    if (!l) return;
    su_skinning_stepper_free(l->stepper);
    su_skinning_work_free(l->work);
    su_skinning_model_free(&l->model);
    su_arena_free(&l->arena);
    free(l);
}

su_status su_skinning_live_create(const su_model *source, const su_sim_settings *settings, int iterations,
                                  const su_external *external, su_skinning_live **out, su_error *err)
{
    su_status status;
    su_skinning_live *l = NULL;
    double *room[2];
    SU_GO(SU_ALLOC(&l, 1, "live model", err));
    l->settings = *settings;
    SU_GO(su_skinning_model_create(source, &l->model, err));
    l->rig = su_skinning_rig_of(&l->model, settings);
    SU_GO(su_skinning_work_create(&l->rig, &l->work, err));
    const su_skinning_settings step = {.alpha = settings->alpha,
                                       .beta = settings->beta,
                                       .stiffness = settings->stiffness,
                                       .iterations = iterations,
                                       .tolerance = SU_SKINNING_TOLERANCE};
    SU_GO(su_skinning_stepper_create(&l->model, &step, external, &l->stepper, err));
    int64_t size = su_skinning_instant_size(&l->model);
    SU_GO(SU_TAKE_ALL(&l->arena, "the live model", err, SU_WANT(room[0], size), SU_WANT(room[1], size),
                      SU_WANT(l->list, source->nbar)));
    l->at = su_skinning_instant_in(&l->model, room[0]), l->next = su_skinning_instant_in(&l->model, room[1]);
    for (int64_t k = 0; k < source->n * source->ties; k++) l->list[source->shepard_index[k]] = 1;
    for (int32_t s = 0; s < source->nbar; s++)
        if (l->list[s]) l->list[l->needed++] = s;
    *out = l;
    l = NULL;
done:
    su_skinning_live_free(l);
    return status;
}

static void pose_instant(su_skinning_live *l, const double *p, const double *skin, const double Q[9], const double c[3],
                         su_skinning_instant *at)
{
    for (int64_t k = 0; k < l->needed; k++)
        memcpy(l->work->skin + 3 * (int64_t)l->list[k], skin + 3 * k, 3 * sizeof *skin);
    su_rig_weights(&l->rig.space, p, l->work->w);
    su_skinning_rig_numbers(&l->rig, l->work, at->N);
    su_skinning_instant_finish(&l->model, at);
    memcpy(at->Q, Q, sizeof at->Q);
    memcpy(at->c, c, sizeof at->c);
}

void su_skinning_live_pose(su_skinning_live *l, const double *p, const double *skin, const double Q[9],
                           const double c[3], bool start)
{
    pose_instant(l, p, skin, Q, c, &l->at);
    if (!start) return;
    su_gravity gravity = su_sim_gravity(&l->settings, l->at.Q);
    su_skinning_rest(l->stepper, &l->at);
    if (l->settings.gravity_mode == SU_GRAVITY_RELATIVE) su_skinning_settle(l->stepper, &l->at, &gravity);
    su_skinning_start(l->stepper, &l->at, NULL, false, l->settings.step);
}

void su_skinning_live_start(su_skinning_live *l, const double *p, const double *skin, const double Q[9],
                            const double c[3], bool stepped, double h)
{
    pose_instant(l, p, skin, Q, c, &l->next);
    su_skinning_start(l->stepper, &l->at, &l->next, stepped, h);
}

void su_skinning_live_set_gravity(su_skinning_live *l, const su_sim_settings *settings)
{
    memcpy(l->settings.gravity, settings->gravity, sizeof l->settings.gravity);
    l->settings.gravity_mode = settings->gravity_mode;
    l->rig = su_skinning_rig_of(&l->model, &l->settings);
}

bool su_skinning_live_step(su_skinning_live *l, double h, double beta, double extra, int *iterations)
{
    su_gravity gravity = su_sim_gravity(&l->settings, l->at.Q);
    su_skinning_set_damping(l->stepper, beta);
    return su_skinning_advance(l->stepper, &l->at, h, &gravity, extra, iterations);
}
