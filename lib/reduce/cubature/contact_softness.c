#include "reduce/cubature/contact_softness.h"

#include "core/json_text.h"
#include "core/memory.h"
#include "geometry/vector.h"
#include "reduce/cubature/contact_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* out (lead) = the gradient of the energy of all pairs at q (r), frame `frame` of a shot. */
static void exert(su_contact_scene *scene, const su_shot *shot, int64_t frame, const double *q, double *out)
{
    const su_contact *pairs = scene->contact;
    int64_t lead = scene->runtime.lead;
    const double some = 1; /* s: no step follows */
    su_contact_scene_pose(scene, shot, frame, 0, &scene->pose);
    su_stepper_start(&scene->stepper, &scene->pose, q, NULL, NULL, some);
    pairs->prepare(pairs->self, &scene->pose, &scene->stepper.subspace, scene->stepper.now, 0, out);
    memset(out, 0, (size_t)lead * sizeof *out);
    pairs->evaluate(pairs->self, scene->stepper.now->q, out, NULL);
}

su_status su_contact_softness(const su_model *model, const su_fit *fit, const su_basis *basis,
                              const su_shot_list *shots, int threads, double *factor, su_error *err)
{
    const bool allow_overlap = strcmp(su_meta_text(basis->file.meta, "self_contact", "none"), "new") == 0;
    const su_contact_flesh flesh = {model, fit, 1, allow_overlap, threads};
    const su_step_settings step = {.stiffness = 1, .newton = 1};
    int64_t r = basis->r;
    double *out = NULL, along = 0, square = 0;
    su_contact_scene scene = {0};
    su_open_shots open = {0};
    su_status status;
    *factor = 1;
    SU_GO(su_contact_scene_create(&flesh, &step, &scene, err));
    SU_GO(SU_ALLOC(&out, scene.runtime.lead, "contact", err));
    SU_GO(su_shots_open(shots, &open, err));
    for (int64_t k = 0; k < basis->f; k++) {
        int shot = basis->state_shot[k];
        if (shot >= open.count || basis->state_frame[k] >= open.anim[shot].F) continue; /* a shot that is not given */
        exert(&scene, open.shot[shot], basis->state_frame[k], basis->state_q + k * r, out);
        along -= su_dot(r, out, basis->state_contact + k * r), square += su_dot(r, out, out);
        if (!isfinite(square))
            SU_GO(su_fail(err, SU_AGAIN, "no memory for contact at frame %d", basis->state_frame[k]));
    }
    if (along > 0) *factor = fmin(1, along / square);
done:
    free(out);
    su_open_shots_free(&open);
    su_contact_scene_free(&scene);
    return status;
}
