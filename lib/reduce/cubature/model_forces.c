#include "reduce/cubature/model_forces.h"

#include "core/memory.h"
#include "core/threads.h"
#include "rig/shot.h"
#include "runtime/forces/tets_force.h"
#include "runtime/pack_model.h"
#include "runtime/subspace/pose_part.h"
#include "runtime/subspace/shot_lanes.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* States [from, to) of the basis, at most SU_POSE_FRAMES and all of one shot: their pose parts are made together. */
typedef struct batch {
    int64_t from, to;
} batch;

/* What one thread evaluates batches with. */
typedef struct evaluator {
    const su_runtime_model *model; /* borrowed */
    su_force part;
    su_pose poses[SU_FRAMES];
    su_pose_work work;
    su_pose_input inputs[SU_POSE_FRAMES];
    su_blend blends[SU_POSE_FRAMES];
    double *q, *out; /* (lead) */
    su_arena arena;
} evaluator;

static void evaluator_free(evaluator *at)
{
    if (at->part.release) at->part.release(at->part.self);
    for (int k = 0; k < SU_FRAMES; k++) su_pose_free(at->poses + k);
    su_pose_work_free(&at->work);
    for (int k = 0; k < SU_POSE_FRAMES; k++) su_pose_input_free(at->inputs + k);
    su_arena_free(&at->arena);
}

static su_status evaluator_create(const su_runtime_model *model, evaluator *at, su_error *err)
{
    at->model = model;
    SU_TRY(su_tets_force_create(model, 1, &at->part, err));
    for (int k = 0; k < SU_FRAMES; k++) SU_TRY(su_pose_create(model, at->poses + k, err));
    SU_TRY(su_pose_work_create(model, &at->work, err));
    for (int k = 0; k < SU_POSE_FRAMES; k++) {
        SU_TRY(su_pose_input_create(model, false, at->inputs + k, err));
        SU_TRY(su_blend_create(model, at->blends + k, &at->arena, err));
    }
    return SU_TAKE_ALL(&at->arena, "states", err, SU_WANT(at->q, model->lead), SU_WANT(at->out, model->lead));
}

/* force (r) at a pose and coordinates q (r). */
static bool force_at(evaluator *at, const su_pose *pose, const double *q, double *force)
{
    const su_runtime_model *model = at->model;
    memcpy(at->q, q, (size_t)model->r * sizeof *q);
    memset(at->out, 0, (size_t)model->lead * sizeof *at->out);
    const su_force_at where = {.q = at->q, .from = at->q, .tangent = SU_TANGENT_NONE};
    if (!at->part.evaluate(at->part.self, pose, &where)) return false;
    at->part.add_force(at->part.self, pose, &where, at->out);
    memcpy(force, at->out, (size_t)model->r * sizeof *force);
    return true;
}

/* force (f,r): its rows of the batch. */
static su_status evaluate_batch(evaluator *at, const su_basis *basis, const su_open_shots *open, batch b, double *force,
                                su_error *err)
{
    const su_runtime_model *model = at->model;
    const su_shot *shot = open->shot[basis->state_shot[b.from]];
    const su_blend *blends[SU_POSE_FRAMES], *older[SU_POSE_FRAMES][2] = {{NULL}};
    su_shot_instant instants[SU_POSE_FRAMES];
    int64_t count = b.to - b.from;
    for (int64_t i = 0; i < count; i++) {
        su_pose_input *input = at->inputs + i;
        int64_t frame = basis->state_frame[b.from + i];
        bool last = frame + 1 >= su_shot_frames(shot); /* the end of the segment before: none begins there */
        instants[i] = (su_shot_instant){last ? frame - 1 : frame, last ? 1 : 0, input->p};
        su_shot_sample(shot, instants[i].frame, instants[i].fraction, input->p, input->Q, input->c);
        su_blend_evaluate(model, input->p, b.from + i + 1, at->blends + i);
        blends[i] = at->blends + i;
    }
    su_shot_lanes(shot, &model->patch, model->pose_kernels, NULL, count, instants, at->work.moved);
    su_pose_prepare(model, count, at->inputs, blends, older, &at->work);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = b.from + i;
        if (i % SU_FRAMES == 0) su_pose_finish(model, i, at->inputs, blends, older, &at->work, at->poses);
        if (!force_at(at, at->poses + i % SU_FRAMES, basis->state_q + k * basis->r, force + k * basis->r))
            return su_fail(err, SU_NUMERICS, "shot %d: the model's force at frame %d is not finite",
                           basis->state_shot[k] + 1, basis->state_frame[k]);
    }
    return SU_OK;
}

/* batches (f): room for all that there may be. */
static su_status divide(const su_basis *basis, const su_shot_list *shots, const su_open_shots *open, batch *batches,
                        int64_t *count, su_error *err)
{
    *count = 0;
    for (int64_t k = 0; k < basis->f; k++) {
        int shot = basis->state_shot[k], frame = basis->state_frame[k];
        if (shot < 0 || shot >= open->count)
            return su_fail(err, SU_INPUT, "a state of the basis is of shot %d of %d", shot + 1, open->count);
        if (frame < 0 || frame >= open->anim[shot].F)
            return su_fail(err, SU_INPUT, "%s: has %lld frames; a state of the basis is its frame %d",
                           shots->paths[shot], (long long)open->anim[shot].F, frame);
        batch *last = batches + *count - 1;
        if (*count > 0 && basis->state_shot[last->from] == shot && k - last->from < SU_POSE_FRAMES)
            last->to = k + 1;
        else
            batches[(*count)++] = (batch){k, k + 1};
    }
    return SU_OK;
}

su_status su_model_forces(const su_model *model, const su_basis *basis, const su_shot_list *shots, int threads,
                          double *force, su_error *err)
{
    su_runtime_model runtime = {0};
    su_open_shots open = {0};
    evaluator *at = NULL;
    batch *batches = NULL;
    int64_t count;
    su_status status;
    SU_GO(SU_ALLOC(&at, threads, "forces of the model", err));
    SU_GO(SU_ALLOC(&batches, basis->f, "forces of the model", err));
    SU_GO(su_shots_open(shots, &open, err));
    SU_GO(divide(basis, shots, &open, batches, &count, err));
    SU_GO(su_runtime_model_create(model, SU_COROTATED, 0, NULL, &runtime, err));
    for (int k = 0; k < threads; k++) SU_GO(evaluator_create(&runtime, at + k, err));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t i = 0; i < count; i++) {
        su_error own = {0};
        su_status done = evaluate_batch(at + omp_get_thread_num(), basis, &open, batches[i], force, &own);
#pragma omp critical(su_model_forces)
        su_keep_first_error(&status, err, done, &own);
    }
done:
    for (int k = 0; at && k < threads; k++) evaluator_free(at + k);
    free(at), free(batches);
    su_open_shots_free(&open);
    su_runtime_model_free(&runtime);
    return status;
}
