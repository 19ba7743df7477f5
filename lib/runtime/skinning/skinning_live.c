#include "runtime/skinning/skinning_live.h"

#include <stdlib.h>
#include <string.h>

struct su_skinning_live {
    su_skinning_model model;
    su_skinning_rig rig;
    su_sim_settings settings;
    su_skinning_work *work;
    su_skinning_stepper *stepper;
    su_skinning_instant at, next;
    int64_t needed;
    int32_t *list; /* (needed) */
    su_arena arena;
};

void su_skinning_live_free(su_skinning_live *l)
{
    if (!l) return;
    su_skinning_stepper_free(l->stepper);
    su_skinning_work_free(l->work);
    su_skinning_model_free(&l->model);
    su_arena_free(&l->arena);
    free(l);
}

/* Skin that any flesh vertex is tied to. */
static su_status find_needed(su_skinning_live *l, su_error *err)
{
    const su_model *source = l->model.source;
    l->list = su_arena_alloc(&l->arena, source->nbar, sizeof *l->list);
    if (!l->list) return su_fail(err, SU_AGAIN, "not enough memory");
    for (int64_t k = 0; k < source->n * source->ties; k++) l->list[source->shepard_index[k]] = 1;
    for (int32_t s = 0; s < source->nbar; s++)
        if (l->list[s]) l->list[l->needed++] = s;
    return SU_OK;
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
    for (int k = 0; k < 2; k++)
        room[k] = su_arena_alloc(&l->arena, su_skinning_instant_size(&l->model), sizeof *room[k]);
    if (l->arena.failed) {
        status = su_fail(err, SU_AGAIN, "not enough memory");
        goto done;
    }
    l->at = su_skinning_instant_in(&l->model, room[0]), l->next = su_skinning_instant_in(&l->model, room[1]);
    SU_GO(find_needed(l, err));
    *out = l;
    l = NULL;
done:
    su_skinning_live_free(l);
    return status;
}

int64_t su_skinning_live_needed(const su_skinning_live *l, const int32_t **list)
{
    *list = l->list;
    return l->needed;
}

su_loads *su_skinning_live_loads(su_skinning_live *l) { return su_skinning_loads(l->stepper); }

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

void su_skinning_live_set_stiffness(su_skinning_live *l, double stiffness)
{
    su_skinning_set_stiffness(l->stepper, stiffness);
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

void su_skinning_live_follow(su_skinning_live *l, double h) { su_skinning_follow(l->stepper, &l->at, h); }

void su_skinning_live_coordinates(const su_skinning_live *l, double *q)
{
    su_skinning_coordinates(l->stepper, q, NULL);
}
