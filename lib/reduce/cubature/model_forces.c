#include "reduce/cubature/model_forces.h"

#include "core/memory.h"
#include "rig/shot.h"
#include "runtime/forces/tets_force.h"
#include "runtime/pack_model.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/shot_lanes.h"

#include <stdlib.h>
#include <string.h>

/* A packed model at one instant after the other. */
typedef struct evaluator {
    su_runtime_model model;
    su_force part;
    su_pose pose;
    su_pose_work work;
    su_pose_input input;
    double *q, *out; /* (lead) */
} evaluator;

static void evaluator_free(evaluator *at)
{
    if (at->part.release) at->part.release(at->part.self);
    su_pose_free(&at->pose);
    su_pose_work_free(&at->work);
    su_pose_input_free(&at->input);
    su_runtime_model_free(&at->model);
    free(at->q), free(at->out);
}

static su_status evaluator_create(const su_model *model, evaluator *at, su_error *err)
{
    SU_TRY(su_runtime_model_create(model, SU_COROTATED, 0, NULL, &at->model, err));
    SU_TRY(su_tets_force_create(&at->model, 1, &at->part, err));
    SU_TRY(su_pose_create(&at->model, &at->pose, err));
    SU_TRY(su_pose_work_create(&at->model, &at->work, err));
    SU_TRY(su_pose_input_create(&at->model, false, &at->input, err));
    SU_TRY(SU_ALLOC(&at->q, at->model.lead, "states", err));
    return SU_ALLOC(&at->out, at->model.lead, "states", err);
}

/* force (r) at a frame of a shot and coordinates q (r). serial: another one for each instant. */
static bool force_at(evaluator *at, const su_shot *shot, int64_t frame, int64_t serial, const double *q, double *force)
{
    const su_runtime_model *model = &at->model;
    const su_blend *none[2] = {NULL, NULL};
    su_pose_input *input = &at->input;
    const bool last = frame + 1 >= su_shot_frames(shot); /* the end of the segment before: none begins there */
    const su_shot_instant instant = {last ? frame - 1 : frame, last ? 1 : 0, input->p};
    su_shot_sample(shot, instant.frame, instant.fraction, input->p, input->Q, input->c);
    su_shot_lanes(shot, &model->patch, model->pose_kernels, NULL, 1, &instant, at->work.moved);
    su_blend_evaluate(model, input->p, serial, &at->pose.blend);
    su_pose_evaluate(model, 1, input, &none, &at->work, &at->pose);
    memcpy(at->q, q, (size_t)model->r * sizeof *q);
    memset(at->out, 0, (size_t)model->lead * sizeof *at->out);
    const su_force_at where = {.q = at->q, .from = at->q, .tangent = SU_TANGENT_NONE};
    if (!at->part.evaluate(at->part.self, &at->pose, &where)) return false;
    at->part.add_force(at->part.self, &at->pose, &where, at->out);
    memcpy(force, at->out, (size_t)model->r * sizeof *force);
    return true;
}

su_status su_model_forces(const su_model *model, const su_basis *basis, const su_shot_list *shots, double *force,
                          su_error *err)
{
    evaluator at = {0};
    su_open_shots open = {0};
    su_status status;
    SU_GO(evaluator_create(model, &at, err));
    SU_GO(su_shots_open(shots, &open, err));
    for (int64_t k = 0; k < basis->f; k++) {
        int shot = basis->state_shot[k], frame = basis->state_frame[k];
        if (shot < 0 || shot >= open.count) continue;
        if (frame >= open.anim[shot].F)
            SU_GO(su_fail(err, SU_INPUT, "%s: has %lld frames; a state of the basis is its frame %d",
                          shots->paths[shot], (long long)open.anim[shot].F, frame));
        if (!force_at(&at, open.shot[shot], frame, k + 1, basis->state_q + k * basis->r, force + k * basis->r))
            SU_GO(su_fail(err, SU_NUMERICS, "%s: the model's force at frame %d is not finite", shots->paths[shot],
                          frame));
    }
done:
    su_open_shots_free(&open);
    evaluator_free(&at);
    return status;
}
