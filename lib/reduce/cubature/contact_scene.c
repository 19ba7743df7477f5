#include "reduce/cubature/contact_scene.h"

#include "core/memory.h"

#include <stdlib.h>

void su_contact_scene_free(su_contact_scene *s)
{
    su_pose_free(&s->pose);
    su_pose_work_free(&s->work);
    su_pose_input_free(&s->input);
    su_stepper_free(&s->stepper);
    su_runtime_model_free(&s->runtime);
}

su_status su_contact_scene_create(const su_contact_flesh *flesh, const su_step_settings *step, su_contact_scene *s,
                                  su_error *err)
{
    const su_model *model = flesh->model;
    int32_t *all;
    *s = (su_contact_scene){0};
    SU_TRY(SU_ALLOC(&all, model->n, "vertices", err));
    for (int64_t v = 0; v < model->n; v++) all[v] = (int32_t)v;
    su_status status = su_runtime_model_create(model, SU_COROTATED, model->n, all, &s->runtime, err);
    free(all);
    SU_TRY(status);
    SU_TRY(su_stepper_create(&s->runtime, step, &s->stepper, err));
    SU_TRY(su_pose_create(&s->runtime, &s->pose, err));
    SU_TRY(su_pose_work_create(&s->runtime, &s->work, err));
    SU_TRY(su_pose_input_create(&s->runtime, true, &s->input, err));
    const su_all_pairs what = {.n = model->n,
                               .t = model->t,
                               .neutral = model->vertices,
                               .tets = model->tets,
                               .young = flesh->fit->young,
                               .poisson = flesh->fit->poisson,
                               .stiffness = flesh->stiffness,
                               .allow_overlap = flesh->allow_overlap,
                               .threads = flesh->threads,
                               .place = s->runtime.points.extra_place,
                               .point = s->runtime.points.extra_point};
    su_contact contact;
    SU_TRY(su_all_pairs_create(&what, &s->stepper.subspace, &contact, err));
    su_stepper_add_contact(&s->stepper, &contact);
    s->contact = s->stepper.contact;
    return SU_OK;
}

void su_contact_scene_pose(su_contact_scene *s, const su_shot *shot, int64_t frame, double fraction, su_pose *pose)
{
    const su_blend *none[1][2] = {{NULL, NULL}};
    su_shot_sample(shot, frame, fraction, s->input.p, s->input.Q, s->input.c);
    su_shot_sample_skin(shot, frame, fraction, s->runtime.patch.skin_count, s->runtime.patch.skin, 1, s->input.skin);
    su_blend_evaluate(&s->runtime, s->input.p, ++s->serial, &pose->blend);
    su_pose_evaluate(&s->runtime, 1, &s->input, none, &s->work, pose);
}
