/* The list of all kinds; apart from schema.c, so that a program that reads few kinds links few. */
#include "io/anim.h"
#include "io/basis.h"
#include "io/fit.h"
#include "io/model.h"
#include "io/modes.h"
#include "io/poses.h"
#include "io/sim.h"
#include "io/tet.h"

const su_schema *const su_schemas[] = {
    &su_anim_schema,  &su_poses_schema, &su_tet_schema, &su_fit_schema, &su_modes_schema,
    &su_basis_schema, &su_model_schema, &su_sim_schema, NULL,
};
