#include "reduce/motion_check.h"

#include "core/memory.h"
#include "reduce/played_shots.h"
#include "rig/shot.h"
#include "runtime/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static su_status allocate(const su_anim *anim, int64_t r, int64_t m, su_sim *sim, su_error *err)
{
    su_file *head = &sim->file;
    sim->F = anim->F, sim->r = r, sim->m = m;
    SU_TRY(SU_FILE_ALLOC(head, &sim->times, sim->F, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->q, sim->F * r, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->qdot, sim->F * r, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->weights, sim->F * m, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->basis_weights, sim->F * m, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->energy, sim->F * 3, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->iterations, sim->F, err));
    SU_TRY(SU_FILE_ALLOC(head, &sim->status, sim->F, err));
    return SU_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double size_of(int64_t r, const double *q, const double *other)
{
    double sum = 0;
    for (int64_t i = 0; i < r; i++) sum += (q[i] - (other ? other[i] : 0)) * (q[i] - (other ? other[i] : 0));
    return sqrt(sum);
}

static su_status compare(const su_basis *basis, int shot, const su_sim *sim, su_motion_error *out, su_error *err)
{
    double *errors, square = 0;
    int64_t r = basis->r, count = 0;
    SU_TRY(SU_ALLOC(&errors, basis->f, "errors", err));
    for (int64_t k = 0; k < basis->f; k++)
        if (basis->state_shot[k] == shot) square += pow(size_of(r, basis->state_q + k * r, NULL), 2), count++;
    double least = 0.1 * sqrt(square / fmax((double)count, 1));
    count = 0;
    for (int64_t k = 0; k < basis->f; k++) {
        const double *there = basis->state_q + k * r;
        if (basis->state_shot[k] != shot || basis->state_frame[k] >= sim->F) continue;
        errors[count++] = size_of(r, sim->q + basis->state_frame[k] * r, there) / fmax(size_of(r, there, NULL) + least, 1e-300);
    }
    qsort(errors, (size_t)count, sizeof *errors, compare_doubles);
    out->frames = count;
    out->error = count > 0 ? errors[3 * count / 4] : 0;
    free(errors);
    return SU_OK;
}

su_status su_motion_check(const su_model *model, const su_basis *basis, int shot, const su_anim *anim, const char *path, int threads,
                          su_motion_error *out, su_error *err)
{
    const su_shot_target target = {.nbar = model->nbar, .s = model->s, .a = model->a, .neutral = model->neutral, .params = model->params,
                                   .param_scale = model->param_scale, .param_names = json_object_get(model->file.meta, "param_names"),
                                   .psd_params = model->psd_params, .psd_shapes = model->psd_shapes, .psd_rbf = model->psd_rbf,
                                   .param_mean = model->param_mean, .param_basis = model->param_basis};
    su_runtime_model runtime = {0};
    su_sim_settings settings = su_sim_defaults();
    su_step_settings step = {.stiffness = 1, .newton = 1};
    su_simulation *simulation = NULL;
    su_shot *played = NULL;
    su_sim sim = {0};
    const json_t *frequency = json_object_get(model->file.meta, "frequency"), *fps = json_object_get(anim->file.meta, "fps");
    su_status status;
    *out = (su_motion_error){0};
    SU_GO(su_shot_create(anim, path, &target, 0, NULL, &played, NULL, err));
    settings.substeps = SU_PLAYED_SUBSTEPS;
    SU_GO(su_sim_settings_resolve(&settings, json_is_number(frequency) ? json_number_value(frequency) : 0, anim->F, anim->times,
                                  json_is_number(fps) ? json_number_value(fps) : 24, err));
    step.alpha = settings.alpha, step.beta = settings.beta;
    SU_GO(su_runtime_model_create(model, SU_COROTATED, &runtime, err));
    SU_GO(su_simulation_create(&runtime, model, played, &settings, &step, threads, &simulation, err));
    SU_GO(allocate(anim, model->r, model->m, &sim, err));
    su_progress silent = {0};
    status = su_simulation_run(simulation, anim->F, &sim, &silent, err);
    const su_simulate_counts *counts = su_simulation_counts(simulation);
    out->halved = counts->halved, out->damped = counts->damped, out->failed = counts->failed;
    if (status == SU_NUMERICS) {   /* lost altogether: the worst of marks, not an error */
        status = SU_OK;
        out->error = INFINITY;
        goto done;
    }
    if (status == SU_OK) status = compare(basis, shot, &sim, out, err);
done:
    su_simulation_free(simulation);
    su_runtime_model_free(&runtime);
    su_shot_free(played);
    su_sim_settings_free(&settings);
    su_sim_free(&sim);
    return status;
}
