#include "runtime/reduced_step.h"

#include "runtime/forces/load_contact.h"
#include "runtime/forces/tets_force.h"

#include <string.h>

su_status su_stepper_create(const su_runtime_model *model, const su_step_settings *settings, su_stepper *stepper,
                            su_error *err)
{
    su_subspace subspace;
    su_force force;
    memset(stepper, 0, sizeof *stepper);
    SU_TRY(su_posed_subspace_create(model, &subspace, err));
    su_status status = su_tets_force_create(model, settings->stiffness, &force, err);
    if (status == SU_OK) return su_stepper_plug(&subspace, &force, settings, stepper, err);
    subspace.release(subspace.self);
    return status;
}

static void frame_of(const void *instant, double Q[9], double c[3])
{
    const su_pose *pose = instant;
    memcpy(Q, pose->Q, sizeof pose->Q);
    memcpy(c, pose->c, sizeof pose->c);
}

su_status su_stepper_set_loads(su_stepper *stepper, const su_runtime_model *model, su_loads *loads, su_error *err)
{
    su_contact contact;
    SU_TRY(su_load_contact_create(loads, model->points.extra_point, &stepper->subspace, frame_of, &contact, err));
    su_stepper_add_contact(stepper, &contact);
    return SU_OK;
}
